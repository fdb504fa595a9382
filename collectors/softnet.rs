//! Packet backlog by CPU from `/proc/net/softnet_stat`: 10 to 15 columns of 32-bit counters in hex.

use crate::files::read;
use crate::files::{MAX_ID, parse_list};
use crate::parse::{fields, hex, lines, whole_lines};
use crate::root::Kept;
use crate::{Collector, Cx};
use topotop_model::tables::irqs::Softnet;
use topotop_model::{Draft, Num, Reason, Slots, State, Table};

/// Columns that the oldest kernels print.
const LEAST: usize = 9;
/// Columns that are read: the CPU is the 13th.
const MOST: usize = 13;

/// Reads `/proc/net/softnet_stat`.
#[derive(Debug, Default)]
pub(crate) struct SoftnetCollector {
    file: Option<Kept>,
    online: Vec<u32>,
    rows: Vec<([u64; MOST], usize)>,
    slots: Slots<u32>,
}

impl Collector for SoftnetCollector {
    fn name(&self) -> &'static str {
        "softnet"
    }

    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        draft.softnet.begin(cx.now_ns);
        self.online(cx, draft);
        match read(&mut self.file, "proc/net/softnet_stat", cx) {
            Ok(()) => self.table(cx.buf, draft),
            Err(reason) => {
                draft.softnet.gaps.add("proc/net/softnet_stat", reason, "");
                draft.softnet.state = State::Missing;
            }
        }
    }
}

impl SoftnetCollector {
    /// The online CPUs, ascending: as /proc/stat showed them a moment ago, else as sysfs lists them.
    fn online(&mut self, cx: &mut Cx<'_>, draft: &Draft) {
        let times = draft.cpu_times.data();
        self.online.clear();
        self.online.extend(times.rows().iter().filter_map(|slot| times.cpu.id(slot).value()));
        if self.online.is_empty() && cx.root.read("sys/devices/system/cpu/online", cx.buf).is_ok() {
            self.online.extend(parse_list(cx.buf).iter().flat_map(topotop_model::IdSet::iter));
        }
        self.online.sort_unstable();
    }

    fn table(&mut self, bytes: &[u8], draft: &mut Draft) {
        let (bytes, cut) = whole_lines(bytes);
        let mut bad = u64::from(cut);
        self.rows.clear();
        for line in lines(bytes) {
            match columns(line) {
                Some(row) => self.rows.push(row),
                None => bad += 1,
            }
        }
        self.slots.begin();
        let numbered = self.rows.iter().all(|(_, count)| *count >= MOST);
        // Without the CPU's number a row's place says which it is: only if none is missing and none came or went.
        let placed = bad == 0 && (self.online.is_empty() || self.online.len() == self.rows.len());
        for (place, (values, _)) in self.rows.iter().enumerate() {
            let id = if numbered { values.last().copied() } else { placed.then(|| self.at(place)) };
            let Some(id) = id.filter(|&id| id <= u64::from(MAX_ID)).map(|id| id as u32) else {
                bad += 1;
                continue;
            };
            write(draft.softnet.data_mut(), &mut self.slots, id, values, self.rows.first().map_or(0, |row| row.1));
        }
        self.slots.finish(draft.softnet.data_mut(), |_, _| {});
        if bad > 0 {
            draft.softnet.gaps.add_many("proc/net/softnet_stat", Reason::Malformed, "", bad);
            if draft.softnet.data().rows().is_empty() {
                draft.softnet.state = State::Missing;
            }
        }
    }

    fn at(&self, place: usize) -> u64 {
        self.online.get(place).map_or(place as u64, |&id| u64::from(id))
    }
}

/// The numbers of a row and how many there are; none when it is not what the kernel prints.
fn columns(line: &[u8]) -> Option<([u64; MOST], usize)> {
    let mut values = [0; MOST];
    let mut count = 0;
    for field in fields(line) {
        let value = hex(field).filter(|_| field.len() <= 8)?;
        if let Some(cell) = values.get_mut(count) {
            *cell = value;
        }
        count += 1;
    }
    (count >= LEAST).then_some((values, count))
}

fn write(table: &mut Softnet, slots: &mut Slots<u32>, id: u32, values: &[u64; MOST], count: usize) {
    let (slot, _) = slots.slot(table, &id);
    table.cpu.set(slot, u64::from(id));
    let columns: [(&mut Num, usize); 6] = [
        (&mut table.processed, 0),
        (&mut table.dropped, 1),
        (&mut table.time_squeeze, 2),
        (&mut table.received_rps, 9),
        (&mut table.flow_limit, 10),
        (&mut table.backlog, 11),
    ];
    for (column, index) in columns {
        column.set_or_clear(slot, values.get(index).copied().filter(|_| index < count));
    }
}

#[cfg(test)]
mod tests {
    use super::SoftnetCollector;
    use proptest::prelude::*;
    use topotop_model::{Draft, Table};

    fn parsed(bytes: &[u8], online: &[u32]) -> Draft {
        let mut draft = Draft::default();
        draft.softnet.begin(1);
        let mut collector = SoftnetCollector { online: online.to_vec(), ..SoftnetCollector::default() };
        collector.table(bytes, &mut draft);
        draft
    }

    fn ids(draft: &Draft) -> Vec<u32> {
        let table = draft.softnet.data();
        table.rows().iter().filter_map(|slot| table.cpu.id(slot).value()).collect()
    }

    const OLD: &str = "000000ff 00000001 00000002 00000000 00000000 00000000 00000000 00000000 00000000 00000004\n";

    #[test]
    fn rows_belong_to_online_cpus_or_name_theirs() {
        let draft = parsed(OLD.repeat(2).as_bytes(), &[0, 3]);
        assert_eq!(ids(&draft), [0, 3]);
        let table = draft.softnet.data();
        assert_eq!((table.processed.value(0), table.received_rps.value(1)), (Some(255), Some(4)));
        assert!(table.flow_limit.get(0).is_missing() && table.backlog.get(0).is_missing());
        let new = OLD.trim_end().to_owned() + " 00000007 00000008 0000000c 00000000 00000000\n";
        let draft = parsed(new.as_bytes(), &[0, 3]);
        assert_eq!(ids(&draft), [12]);
        assert_eq!(draft.softnet.data().backlog.value(0), Some(8));
    }

    #[test]
    fn rows_that_fit_no_cpu_are_left_out() {
        let draft = parsed(OLD.repeat(2).as_bytes(), &[0, 1, 2]);
        assert!(ids(&draft).is_empty());
        assert_eq!(draft.softnet.gaps.iter().map(|gap| gap.count).sum::<u64>(), 2);
        assert!(ids(&parsed(b"1 2 3\n", &[0])).is_empty());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            parsed(&bytes, &[0, 1]);
        }

        #[test]
        fn cut_files_never_give_wrong_numbers(cut in 0usize..300) {
            let whole = OLD.repeat(3);
            let draft = parsed(&whole.as_bytes()[..cut.min(whole.len())], &[0, 1, 2]);
            prop_assert!(matches!(ids(&draft).len(), 0 | 3));
        }
    }
}
