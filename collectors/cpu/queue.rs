//! Waiting in run queues, by CPU: `/proc/schedstat` (sched-stats.rst).

use crate::Cx;
use crate::files::{note, read};
use crate::parse::{fields, lines, number, whole_lines};
use crate::root::Kept;
use topotop_model::tables::cpu::CpuTimes;
use topotop_model::{Reason, Section, Slots};

/// A file that is longer costs milliseconds each time: it grows with CPUs times scheduling domains.
const LONGEST: usize = 1 << 20;
/// Where `run_delay` stands behind the CPU's name: since version 12, of Linux 2.6.18.
const RUN_DELAY: usize = 8;

/// Reads it, as long as it is not too long.
#[derive(Debug, Default)]
pub(super) struct Queues {
    file: Option<Kept>,
    too_long: bool,
}

impl Queues {
    pub(super) fn read(&mut self, cx: &mut Cx<'_>, section: &mut Section<CpuTimes>, slots: &Slots<u32>) {
        if self.too_long {
            section.gaps.add("proc/schedstat", Reason::TimedOut, topotop_model::locale::needs::FEWER_CPUS.english());
            return;
        }
        match read(&mut self.file, "proc/schedstat", cx) {
            Ok(()) => {
                self.too_long = cx.buf.len() > LONGEST && cx.root.is_live();
                take(cx.buf, section, slots);
            }
            Err(reason) => note(&mut section.gaps, "proc/schedstat", reason),
        }
    }
}

/// Takes the `cpuN` lines; the lines of domains between them are passed over.
fn take(bytes: &[u8], section: &mut Section<CpuTimes>, slots: &Slots<u32>) {
    let (bytes, cut) = whole_lines(bytes);
    let mut bad = u64::from(cut);
    for line in lines(bytes).filter(|line| line.starts_with(b"cpu")) {
        let mut parts = fields(line);
        let id = parts.next().and_then(|key| key.strip_prefix(b"cpu")).and_then(number);
        let Some(slot) = id.and_then(|id| u32::try_from(id).ok()).and_then(|id| slots.find(&id)) else { continue };
        let waited = parts.nth(RUN_DELAY - 1).and_then(number);
        bad += u64::from(waited.is_none());
        section.data_mut().run_delay_ns.set_or_clear(slot, waited);
    }
    if bad > 0 {
        section.gaps.add_many("proc/schedstat", Reason::Malformed, "", bad);
    }
}

#[cfg(test)]
mod tests {
    use super::take;
    use proptest::prelude::*;
    use topotop_model::tables::cpu::CpuTimes;
    use topotop_model::{Section, Slots, Table};

    const TEXT: &[u8] = b"version 15\ntimestamp 4295\ncpu0 0 0 0 0 0 0 111 222 3\ndomain0 3 1 2 3\n\
        cpu2 0 0 0 0 0 0 444 555 6\n";

    fn taken(bytes: &[u8]) -> (Section<CpuTimes>, Vec<Option<u64>>) {
        let (mut section, mut slots) = (Section::default(), Slots::default());
        let rows: Vec<usize> = [0, 1, 2].iter().map(|id| slots.slot(section.data_mut(), id).0).collect();
        take(bytes, &mut section, &slots);
        let waits = rows.iter().map(|&row| section.data().run_delay_ns.value(row)).collect();
        assert_eq!(section.data().rows().len(), 3, "no CPU is made of it");
        (section, waits)
    }

    #[test]
    fn cpus_that_are_known_have_their_wait() {
        let (section, waits) = taken(TEXT);
        assert_eq!(waits, [Some(222), None, Some(555)]);
        assert!(section.gaps.is_empty());
        let (section, waits) = taken(b"cpu0 1 2\ncpu1 0 0 0 0 0 0 0 x 0\ncpu77 0 0 0 0 0 0 0 9 0\n");
        assert_eq!(waits, [None; 3]);
        assert_eq!(section.gaps.iter().map(|gap| gap.count).sum::<u64>(), 2);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            taken(&bytes);
        }

        #[test]
        fn cut_files_never_give_wrong_numbers(cut in 0usize..120) {
            let (_, waits) = taken(&TEXT[..cut.min(TEXT.len())]);
            prop_assert!(waits.iter().zip([Some(222), None, Some(555)]).all(|(now, whole)| now.is_none() || *now == whole));
        }
    }
}
