//! Pressure stall information of the machine, and the parser that control groups share.

use crate::files::read;
use crate::parse::{fields, hundredths, lines, number, whole_lines};
use crate::root::Kept;
use crate::{Collector, Cx};
use topotop_model::tables::pressure::Pressure;
use topotop_model::{Draft, Reason, Section, Slots, State};

/// Resources and the files below `/proc/pressure`, in the order of display.
const RESOURCES: [(&str, &str); 4] = [
    ("cpu", "proc/pressure/cpu"),
    ("memory", "proc/pressure/memory"),
    ("io", "proc/pressure/io"),
    ("irq", "proc/pressure/irq"),
];

/// Reads `/proc/pressure/*`.
#[derive(Debug, Default)]
pub(crate) struct PressureCollector {
    kept: [Option<Kept>; 4],
    /// Files that this kernel does not have; a running one does not get them.
    absent: [bool; 4],
    slots: Slots<&'static str>,
}

impl Collector for PressureCollector {
    fn name(&self) -> &'static str {
        "pressure"
    }

    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        let section = &mut draft.pressure;
        section.begin(cx.now_ns);
        self.slots.begin();
        let mut absent = 0;
        let known = self.kept.iter_mut().zip(&mut self.absent);
        for ((resource, path), (kept, is_absent)) in RESOURCES.into_iter().zip(known) {
            let file = if *is_absent && !cx.demand.complete { Err(Reason::NotFound) } else { read(kept, path, cx) };
            match file {
                Ok(()) => take(&mut self.slots, resource, path, cx.buf, section),
                Err(Reason::NotFound) => (absent, *is_absent) = (absent + 1, cx.root.is_live()),
                Err(reason) => section.gaps.add(path, reason, needs(reason)),
            }
        }
        // irq came with Linux 6.1 and needs a kernel option: its absence alone is no gap.
        if absent == RESOURCES.len() {
            section.gaps.add("proc/pressure/*", Reason::NotFound, needs(Reason::NotFound));
        }
        self.slots.finish(section.data_mut(), |_, _| {});
        if topotop_model::Table::rows(section.data()).is_empty() {
            section.state = State::Missing;
        }
    }
}

fn take(
    slots: &mut Slots<&'static str>,
    resource: &'static str,
    path: &str,
    bytes: &[u8],
    section: &mut Section<Pressure>,
) {
    let (stall, whole) = parse(bytes);
    if !whole {
        section.gaps.add(path, Reason::Malformed, "");
    }
    if stall == Stall::default() {
        return;
    }
    let table = section.data_mut();
    let (slot, _) = slots.slot(table, &resource);
    table.resource.set(slot, resource);
    table.some_total_us.set_or_clear(slot, stall.some.map(|line| line.total_us));
    table.full_total_us.set_or_clear(slot, stall.full.map(|line| line.total_us));
    table.some_avg10.set_or_clear(slot, stall.some.map(|line| line.avg10));
    table.full_avg10.set_or_clear(slot, stall.full.map(|line| line.avg10));
}

/// What would make the kernel report it.
pub(crate) fn needs(reason: Reason) -> &'static str {
    match reason {
        Reason::NotFound => "CONFIG_PSI (Linux 4.20), psi=1",
        Reason::NotSupported => "psi=1",
        _ => "",
    }
}

/// One line of a pressure file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// Stalled time in µs.
    pub(crate) total_us: u64,
    /// The 10 s average in hundredths of a percent.
    pub(crate) avg10: u64,
}

/// A pressure file. `full` is absent for CPUs before Linux 5.13, `some` for interrupts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stall {
    /// Some task waited.
    pub(crate) some: Option<Line>,
    /// All tasks waited.
    pub(crate) full: Option<Line>,
}

/// Parses a pressure file; false when a line was damaged and left out, or when there was none.
pub(crate) fn parse(bytes: &[u8]) -> (Stall, bool) {
    let (bytes, cut) = whole_lines(bytes);
    let mut stall = Stall::default();
    let mut whole = !cut;
    for line in lines(bytes) {
        let parsed = parse_line(line);
        match fields(line).next() {
            Some(b"some") => stall.some = parsed,
            Some(b"full") => stall.full = parsed,
            _ => {}
        }
        whole &= parsed.is_some();
    }
    (stall, whole && stall != Stall::default())
}

fn parse_line(line: &[u8]) -> Option<Line> {
    let value = |key: &[u8]| fields(line).find_map(|field| field.strip_prefix(key)?.strip_prefix(b"="));
    Some(Line { total_us: number(value(b"total")?)?, avg10: hundredths(value(b"avg10")?)? })
}

#[cfg(test)]
mod tests {
    use super::{Line, parse};
    use proptest::prelude::*;

    const WHOLE: &[u8] = b"some avg10=1.25 avg60=0.07 avg300=0.23 total=15557783\nfull avg10=0.50 avg60=0.00 avg300=0.00 total=5516278\n";
    const SOME: Line = Line { total_us: 15_557_783, avg10: 125 };
    const FULL: Line = Line { total_us: 5_516_278, avg10: 50 };

    #[test]
    fn takes_both_lines_or_one() {
        let (stall, whole) = parse(WHOLE);
        assert_eq!((stall.some, stall.full, whole), (Some(SOME), Some(FULL), true));
        let (stall, whole) = parse(b"full avg10=0.50 avg60=0.00 avg300=0.00 total=5516278\n");
        assert_eq!((stall.some, stall.full, whole), (None, Some(FULL), true));
        assert!(!parse(b"").1);
        assert!(!parse(b"some avg10=x total=1\n").1);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            parse(&bytes);
        }

        #[test]
        fn a_cut_file_never_gives_a_wrong_number(cut in 0..WHOLE.len()) {
            let (stall, _) = parse(&WHOLE[..cut]);
            prop_assert!(stall.some.is_none_or(|line| line == SOME));
            prop_assert!(stall.full.is_none_or(|line| line == FULL));
        }
    }
}
