//! Interrupts by CPU from `/proc/interrupts`, with where they may go and whose they are.

mod devices;
mod facts;
mod rows;

pub(crate) use rows::{Label, Matrix};

use crate::files::read;
use crate::parse::{number, text};
use crate::root::Kept;
use crate::{Collector, Cx};
use devices::Devices;
use facts::Facts;
use topotop_model::tables::irqs::{ArchIrqs, Irqs};
use topotop_model::{Draft, Reason, Section, Slots, State, Table};

/// The longest time between two readings of the matrix, in ns.
const MAX_PERIOD_NS: u64 = 5_000_000_000;
/// A reading may cost a hundredth of the time until the next one.
const DUTY: u64 = 100;
/// Text below this size is read every sample, whatever a slow moment made of its cost.
const SMALL: usize = 1 << 20;

/// Reads `/proc/interrupts`, `/proc/irq` and the PCI devices' lists of interrupts.
#[derive(Debug, Default)]
pub(crate) struct IrqCollector {
    file: Option<Kept>,
    matrix: Matrix,
    irqs: Slots<u32>,
    arch: Slots<Label>,
    facts: Facts,
    devices: Devices,
    period_ns: u64,
}

impl Collector for IrqCollector {
    fn name(&self) -> &'static str {
        "irqs"
    }

    fn period_ns(&self) -> u64 {
        self.period_ns
    }

    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        let started = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        draft.irqs.begin(cx.now_ns);
        draft.irqs_arch.begin(cx.now_ns);
        match read(&mut self.file, "proc/interrupts", cx) {
            Ok(()) => self.rows(cx.buf, draft),
            Err(reason) => {
                draft.irqs.gaps.add("proc/interrupts", reason, "");
                draft.irqs.state = State::Missing;
                draft.irqs_arch.state = State::Missing;
                return;
            }
        }
        let size = cx.buf.len();
        self.devices.update(cx, &mut draft.irqs);
        self.facts.update(cx, &mut draft.irqs);
        let spent = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime) - started;
        let spent = (spent.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(spent.tv_nsec as u64);
        self.period_ns = if size < SMALL { 0 } else { spent.saturating_mul(DUTY).min(MAX_PERIOD_NS) };
    }
}

impl IrqCollector {
    fn rows(&mut self, bytes: &[u8], draft: &mut Draft) {
        self.irqs.begin();
        self.arch.begin();
        if self.matrix.is_of_other_cpus(bytes) {
            // A CPU that was offline has no column, and what it counted before comes back with it: no rate may come of
            // that, so all rows are new ones.
            self.irqs.finish(draft.irqs.data_mut(), |_, _| {});
            self.arch.finish(draft.irqs_arch.data_mut(), |_, _| {});
        }
        let bad = self.matrix.rows(bytes, |row, counts| match number(row.label) {
            Some(irq) => {
                let Ok(irq) = u32::try_from(irq) else { return false };
                device_row(irq, row, counts, &mut draft.irqs, &mut self.irqs);
                true
            }
            None => arch_row(row, counts, &mut draft.irqs_arch, &mut self.arch).is_some(),
        });
        self.irqs.finish(draft.irqs.data_mut(), |_, _| {});
        self.arch.finish(draft.irqs_arch.data_mut(), |_, _| {});
        if bad > 0 {
            draft.irqs.gaps.add_many("proc/interrupts", Reason::Malformed, "", bad);
            if draft.irqs.data().rows().is_empty() && draft.irqs_arch.data().rows().is_empty() {
                draft.irqs.state = State::Missing;
                draft.irqs_arch.state = State::Missing;
            }
        }
    }
}

fn device_row(
    irq: u32,
    row: &rows::Row<'_>,
    counts: &[(u32, u64)],
    section: &mut Section<Irqs>,
    slots: &mut Slots<u32>,
) {
    let (chip, hwirq, name) = rows::description(row.rest);
    let table = section.data_mut();
    let (slot, _) = slots.slot(table, &irq);
    table.irq.set(slot, u64::from(irq));
    table.name.set(slot, &text(name));
    table.chip.set(slot, &text(chip));
    table.hwirq.set(slot, &text(hwirq));
    table.total.set(slot, row.total);
    table.per_cpu.set(slot, counts.iter().copied());
}

fn arch_row(
    row: &rows::Row<'_>,
    counts: &[(u32, u64)],
    section: &mut Section<ArchIrqs>,
    slots: &mut Slots<Label>,
) -> Option<()> {
    let table = section.data_mut();
    let (slot, _) = slots.slot(table, &row.key()?);
    table.name.set(slot, &text(row.label));
    table.description.set(slot, &text(crate::parse::trim(row.rest)));
    table.total.set(slot, row.total);
    table.per_cpu.set(slot, counts.iter().copied());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::IrqCollector;
    use proptest::prelude::*;
    use topotop_model::{Draft, Known, Table};

    const WHOLE: &[u8] = b"            CPU0       CPU2       \n\
        \x20 0:         11          7   IO-APIC   2-edge      timer\n\
        \x2040:         12          0   PCI-MSI 1048577-edge      eth0-TxRx-0\n\
        NMI:          3          4   Non-maskable interrupts\n\
        ERR:          9\n";

    fn parsed(bytes: &[u8]) -> Draft {
        let mut draft = Draft::default();
        draft.irqs.begin(1);
        draft.irqs_arch.begin(1);
        IrqCollector::default().rows(bytes, &mut draft);
        draft
    }

    #[test]
    fn a_cpu_that_comes_back_makes_no_rate_of_what_it_counted_before() {
        let mut draft = Draft::default();
        let mut collector = IrqCollector::default();
        let mut serial = |bytes: &[u8]| {
            draft.irqs.begin(1);
            draft.irqs_arch.begin(1);
            collector.rows(bytes, &mut draft);
            let (irqs, arch) = (draft.irqs.data(), draft.irqs_arch.data());
            assert_eq!((irqs.rows().len(), arch.rows().len()), (2, 2));
            (irqs.rows().serial(0), arch.rows().serial(0))
        };
        let less = b" CPU0\n 0: 11 IO-APIC 2-edge timer\n 40: 12 PCI-MSI 1-edge eth0\nNMI: 3 Non-maskable\nERR: 9\n";
        let first = serial(WHOLE);
        assert_eq!(serial(WHOLE), first);
        let without = serial(less);
        assert!(without.0 != first.0 && without.1 != first.1);
        let again = serial(WHOLE);
        assert!(again.0 != without.0 && again.1 != without.1);
    }

    #[test]
    fn devices_and_architecture_stand_apart() {
        let draft = parsed(WHOLE);
        let (irqs, arch) = (draft.irqs.data(), draft.irqs_arch.data());
        assert_eq!((irqs.rows().len(), arch.rows().len()), (2, 2));
        assert_eq!(irqs.irq.get(1), Known::Value(40));
        assert_eq!(irqs.per_cpu.at(0, 2), Some(7));
        assert_eq!(irqs.hwirq.get(1).map(|text| &**text), Some("1048577-edge"));
        assert_eq!(arch.total.get(0), Known::Value(7));
        assert_eq!(arch.description.get(0).map(|text| &**text), Some("Non-maskable interrupts"));
        assert_eq!((arch.total.get(1), arch.per_cpu.get(1)), (Known::Value(9), Some(&[][..])));
        assert!(draft.irqs.gaps.is_empty());
    }

    #[test]
    fn rows_that_do_not_fit_the_header_are_left_out() {
        let draft = parsed(b"  CPU0 CPU1\n 1: 5 x\n 2: 1 2  IO-APIC 1-edge a\n99999999999: 1 2 x\n: 1 2\n");
        assert_eq!(draft.irqs.data().rows().len(), 1);
        assert_eq!(draft.irqs.gaps.iter().map(|gap| gap.count).sum::<u64>(), 3);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, tail: Vec<u8>) {
            parsed(&bytes);
            parsed(&[b"  CPU0  CPU1\n", &tail[..]].concat());
        }

        #[test]
        fn cut_files_never_give_wrong_numbers(cut in 0usize..300) {
            let draft = parsed(&WHOLE[..cut.min(WHOLE.len())]);
            let irqs = draft.irqs.data();
            for slot in irqs.rows().iter() {
                let expected = if irqs.irq.value(slot) == Some(0) { 18 } else { 12 };
                prop_assert_eq!(irqs.total.value(slot), Some(expected));
            }
            for slot in draft.irqs_arch.data().rows().iter() {
                prop_assert!(matches!(draft.irqs_arch.data().total.value(slot), Some(7 | 9)));
            }
        }
    }
}
