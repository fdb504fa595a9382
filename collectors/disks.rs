//! Block devices: counters from `/proc/diskstats` each time, facts from sysfs now and then.

mod facts;
mod mountinfo;
mod mounts;
mod space;
mod stats;

pub(crate) use mounts::MountsCollector;

use crate::files::read;
use crate::root::Kept;
use crate::{Collector, Cx};
use facts::Facts;
use stats::Row;
use std::hash::{DefaultHasher, Hash, Hasher};
use topotop_model::tables::disks::Disks;
use topotop_model::{Draft, Gaps, Num, Reason, Slots, State, Table};

/// Facts change with hardware and settings only.
const FACTS_NS: u64 = 60_000_000_000;
const STATS: &str = "proc/diskstats";

/// Device number and a hash of the name: a number that another device takes over is another row.
type Key = (u64, u64);

/// Reads `/proc/diskstats` and `/sys/block`.
#[derive(Debug, Default)]
pub(crate) struct DisksCollector {
    diskstats: Option<Kept>,
    slots: Slots<Key>,
    facts_ns: Option<u64>,
    facts_gaps: Gaps,
}

impl Collector for DisksCollector {
    fn name(&self) -> &'static str {
        "disks"
    }

    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        draft.disks.begin(cx.now_ns);
        if let Err(reason) = read(&mut self.diskstats, STATS, cx) {
            draft.disks.state = State::Missing;
            draft.disks.gaps.add(STATS, reason, "");
            return;
        }
        let bytes = std::mem::take(cx.buf);
        let new = self.stats(&bytes, draft);
        *cx.buf = bytes;
        let old = self.facts_ns.is_none_or(|last| cx.now_ns.saturating_sub(last) >= FACTS_NS);
        if new || old || cx.demand.complete {
            self.facts_ns = Some(cx.now_ns);
            self.facts_gaps.clear();
            self.facts(cx, draft);
        }
        for gap in &self.facts_gaps {
            draft.disks.gaps.add_many(&gap.path, gap.reason, &gap.needs, gap.count);
        }
    }
}

impl DisksCollector {
    /// Takes the counters of all rows; true if there are new ones.
    fn stats(&mut self, bytes: &[u8], draft: &mut Draft) -> bool {
        self.slots.begin();
        let (rows, bad) = stats::rows(bytes);
        let table = draft.disks.data_mut();
        let mut new = false;
        for row in rows {
            let (slot, made) = self.slots.slot(table, &(row.dev, hash(row.name)));
            new |= made;
            put(&row, table, slot);
        }
        self.slots.finish(table, |_, _| {});
        if bad > 0 {
            draft.disks.gaps.add_many(STATS, Reason::Malformed, "", bad);
        }
        new
    }

    fn facts(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        let names: Vec<(usize, String)> = {
            let table = draft.disks.data();
            table.rows().iter().filter_map(|slot| Some((slot, table.name.get(slot)?.to_string()))).collect()
        };
        let all: std::collections::HashSet<&str> = names.iter().map(|(_, name)| name.as_str()).collect();
        if let Err(reason) = cx.root.list("sys/block") {
            self.facts_gaps.add("sys/block", reason, "");
        }
        for (slot, name) in &names {
            Facts::read(cx, name, &all, &mut self.facts_gaps).put(draft.disks.data_mut(), *slot);
        }
    }
}

fn put(row: &Row<'_>, table: &mut Disks, slot: usize) {
    table.dev.set(slot, row.dev);
    if table.name.get(slot).is_none() {
        table.name.set(slot, &crate::parse::text(row.name));
    }
    let columns: [(&mut Num, Option<u64>); 12] = [
        (&mut table.reads, row.reads),
        (&mut table.read_bytes, row.read_sectors.and_then(bytes)),
        (&mut table.read_ms, row.read_ms),
        (&mut table.writes, row.writes),
        (&mut table.write_bytes, row.write_sectors.and_then(bytes)),
        (&mut table.write_ms, row.write_ms),
        // Kernels have counted below zero: what they print then is no number of requests.
        (&mut table.in_flight, row.in_flight.filter(|&count| count < 1 << 31)),
        (&mut table.io_ms, row.io_ms),
        (&mut table.weighted_io_ms, row.weighted_io_ms),
        (&mut table.discards, row.discards),
        (&mut table.flushes, row.flushes),
        (&mut table.flush_ms, row.flush_ms),
    ];
    for (column, value) in columns {
        column.set_or_clear(slot, value);
    }
}

fn hash(name: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

/// The kernel counts sectors of 512 bytes, whatever the device's are.
fn bytes(sectors: u64) -> Option<u64> {
    sectors.checked_mul(512)
}

#[cfg(test)]
mod tests;
