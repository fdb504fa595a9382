//! Soft interrupts by kind and CPU from `/proc/softirqs`.

use crate::cpu::read;
use crate::irqs::{header, row};
use crate::parse::{lines, text, whole_lines};
use crate::root::Kept;
use crate::{Collector, Cx};
use topotop_model::{Draft, Reason, Slots, State, Table};

/// Reads `/proc/softirqs`.
#[derive(Debug, Default)]
pub(crate) struct SoftirqCollector {
    file: Option<Kept>,
    cpus: Vec<u32>,
    counts: Vec<(u32, u64)>,
    slots: Slots<[u8; 16]>,
}

impl Collector for SoftirqCollector {
    fn name(&self) -> &'static str {
        "softirqs"
    }

    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        draft.softirqs.begin(cx.now_ns);
        match read(&mut self.file, "proc/softirqs", cx) {
            Ok(()) => self.matrix(cx.buf, draft),
            Err(reason) => {
                draft.softirqs.gaps.add("proc/softirqs", reason, "");
                draft.softirqs.state = State::Missing;
            }
        }
    }
}

impl SoftirqCollector {
    fn matrix(&mut self, bytes: &[u8], draft: &mut Draft) {
        self.slots.begin();
        let (bytes, cut) = whole_lines(bytes);
        let mut lines = lines(bytes);
        let mut bad = u64::from(cut);
        if lines.next().is_some_and(|line| header(line, &mut self.cpus)) {
            for line in lines {
                bad += u64::from(!self.line(line, draft));
            }
        } else {
            bad += 1;
        }
        self.slots.finish(draft.softirqs.data_mut(), |_, _| {});
        if bad > 0 {
            draft.softirqs.gaps.add_many("proc/softirqs", Reason::Malformed, "", bad);
            if draft.softirqs.data().rows().is_empty() {
                draft.softirqs.state = State::Missing;
            }
        }
    }

    fn line(&mut self, line: &[u8], draft: &mut Draft) -> bool {
        let Some(row) = row(line, &self.cpus, &mut self.counts).filter(|row| !row.single) else { return false };
        let mut label = [0; 16];
        let Some(space) = label.get_mut(..row.label.len()) else { return false };
        space.copy_from_slice(row.label);
        let table = draft.softirqs.data_mut();
        let (slot, _) = self.slots.slot(table, &label);
        table.name.set(slot, &text(row.label));
        table.total.set(slot, row.total);
        table.per_cpu.set(slot, self.counts.iter().copied());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::SoftirqCollector;
    use proptest::prelude::*;
    use topotop_model::{Draft, Table};

    const WHOLE: &[u8] =
        b"                    CPU0       CPU1       \n          HI:          0         12\n      NET_TX:         \
        34         56\n      NET_RX:         78         90\n";

    fn parsed(bytes: &[u8]) -> Draft {
        let mut draft = Draft::default();
        draft.softirqs.begin(1);
        SoftirqCollector::default().matrix(bytes, &mut draft);
        draft
    }

    #[test]
    fn kinds_by_cpu() {
        let draft = parsed(WHOLE);
        let table = draft.softirqs.data();
        let names: Vec<_> = table.rows().iter().map(|slot| table.name.or_empty(slot)).collect();
        assert_eq!(names.iter().map(|name| &**name).collect::<Vec<_>>(), ["HI", "NET_TX", "NET_RX"]);
        assert_eq!((table.total.value(2), table.per_cpu.at(2, 1)), (Some(168), Some(90)));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, tail: Vec<u8>) {
            parsed(&bytes);
            parsed(&[b"  CPU0  CPU1\n", &tail[..]].concat());
        }

        #[test]
        fn cut_files_never_give_wrong_numbers(cut in 0usize..200) {
            let draft = parsed(&WHOLE[..cut.min(WHOLE.len())]);
            let table = draft.softirqs.data();
            for slot in table.rows().iter() {
                prop_assert!(matches!(table.total.value(slot), Some(12 | 90 | 168)));
            }
        }
    }
}
