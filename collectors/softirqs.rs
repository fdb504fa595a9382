//! Soft interrupts by kind and CPU from `/proc/softirqs`.

use crate::files::read;
use crate::irqs::{Label, Matrix};
use crate::parse::text;
use crate::root::Kept;
use crate::{Collector, Cx};
use topotop_model::{Draft, Reason, Slots, State, Table};

/// Reads `/proc/softirqs`.
#[derive(Debug, Default)]
pub(crate) struct SoftirqCollector {
    file: Option<Kept>,
    matrix: Matrix,
    slots: Slots<Label>,
}

impl Collector for SoftirqCollector {
    fn name(&self) -> &'static str {
        "softirqs"
    }

    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        draft.softirqs.begin(cx.now_ns);
        match read(&mut self.file, "proc/softirqs", cx) {
            Ok(()) => self.rows(cx.buf, draft),
            Err(reason) => {
                draft.softirqs.gaps.add("proc/softirqs", reason, "");
                draft.softirqs.state = State::Missing;
            }
        }
    }
}

impl SoftirqCollector {
    fn rows(&mut self, bytes: &[u8], draft: &mut Draft) {
        self.slots.begin();
        let table = draft.softirqs.data_mut();
        let bad = self.matrix.rows(bytes, |row, counts| {
            let Some(key) = row.key().filter(|_| !row.single) else { return false };
            let (slot, _) = self.slots.slot(table, &key);
            table.name.set(slot, &text(row.label));
            table.total.set(slot, row.total);
            table.per_cpu.set(slot, counts.iter().copied());
            true
        });
        self.slots.finish(table, |_, _| {});
        if bad > 0 {
            draft.softirqs.gaps.add_many("proc/softirqs", Reason::Malformed, "", bad);
            if draft.softirqs.data().rows().is_empty() {
                draft.softirqs.state = State::Missing;
            }
        }
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
        SoftirqCollector::default().rows(bytes, &mut draft);
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
