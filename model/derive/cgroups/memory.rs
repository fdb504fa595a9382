//! What a group's memory is made of, what could be given back, and when its limit is reached.

use super::{Rates, parent};
use crate::frame::{Cgroup, CgroupEvents, CgroupMemory, NodeBytes};
use crate::tables::cgroups::Cgroups;
use crate::{Known, Num, Snapshot, Table};
use std::collections::HashMap;
use std::sync::Arc;

pub(super) fn derive(pair: &Rates<'_>, slot: usize, slab_share: Option<f64>) -> Option<CgroupMemory> {
    let table = pair.now;
    let current = table.memory_current_bytes.get(slot);
    let (anon, file) = (table.anon_bytes.get(slot), table.file_bytes.get(slot));
    if current.is_missing() && anon.is_missing() && file.is_missing() {
        return None;
    }
    let inactive_file = table.inactive_file_bytes.get(slot);
    let reclaimable = Known::or_missing(reclaimable(table, slot, slab_share));
    Some(CgroupMemory {
        current_bytes: current,
        working_set_bytes: minus(current, inactive_file),
        limit_bytes: or_none_at_top(table, slot, &table.memory_limit_bytes),
        high_bytes: or_none_at_top(table, slot, &table.memory_high_bytes),
        anon_bytes: anon,
        file_bytes: file,
        shmem_bytes: table.shmem_bytes.get(slot),
        dirty_bytes: table.dirty_bytes.get(slot),
        writeback_bytes: table.writeback_bytes.get(slot),
        inactive_file_bytes: inactive_file,
        active_file_bytes: table.active_file_bytes.get(slot),
        unevictable_bytes: table.unevictable_bytes.get(slot),
        reclaimable_bytes: reclaimable,
        unreclaimable_bytes: minus(current, reclaimable),
        growth_bytes_per_second: pair.slope(slot, |table| &table.memory_current_bytes),
        events: CgroupEvents {
            high: table.events_high.get(slot),
            max: table.events_max.get(slot),
            oom: table.events_oom.get(slot),
            oom_kill: table.events_oom_kill.get(slot),
        },
        oom_kills_gained: pair.gain(slot, |table| &table.events_oom_kill),
        ooms_gained: pair.gain(slot, |table| &table.events_oom),
        events_max_per_second: pair.rate(slot, |table| &table.events_max),
        events_high_per_second: pair.rate(slot, |table| &table.events_high),
        pgscan_direct_per_second: pair.rate(slot, |table| &table.pgscan_direct),
        pgsteal_direct_per_second: pair.rate(slot, |table| &table.pgsteal_direct),
        refault_file_per_second: pair.rate(slot, |table| &table.refault_file),
        uncharged_per_second: pair.rate(slot, |table| &table.pgpgout),
        pgmajfault_per_second: pair.rate(slot, |table| &table.pgmajfault),
        pgsteal_per_second: pair.rate(slot, |table| &table.pgsteal),
        file_mapped_bytes: table.file_mapped_bytes.get(slot),
        swap_bytes: table.swap_bytes.get(slot),
        swap_limit_bytes: table.swap_limit_bytes.get(slot),
        swap_growth_bytes_per_second: pair.slope(slot, |table| &table.swap_bytes),
        pagecache_limit_bytes: table.pagecache_limit_bytes.get(slot),
        by_node: by_node(table, slot),
        ..CgroupMemory::default()
    })
}

/// The top has no limit, and in version 2 no file that would say so.
fn or_none_at_top(table: &Cgroups, slot: usize, column: &Num) -> Known<u64> {
    match column.get(slot) {
        Known::Missing if table.path.get(slot).is_some_and(|path| &**path == "/") => Known::None,
        value => value,
    }
}

fn minus(from: Known<u64>, what: Known<u64>) -> Known<u64> {
    match (from, what) {
        (Known::Value(from), Known::Value(what)) => Known::Value(from.saturating_sub(what)),
        _ => Known::Missing,
    }
}

/// What reclaim could give back now: file pages that are neither tmpfs, locked, dirty nor being written, and slab that
/// says so. The two lists of file pages are just what is neither tmpfs nor locked; where they are unread, the page
/// cache without tmpfs and without whatever is locked is no more than that.
fn reclaimable(table: &Cgroups, slot: usize, slab_share: Option<f64>) -> Option<u64> {
    let value = |column: &Num| column.value(slot);
    let lists = value(&table.active_file_bytes).zip(value(&table.inactive_file_bytes));
    let lists = lists.map(|(active, inactive)| active.saturating_add(inactive));
    let cache = value(&table.file_bytes);
    let without_shmem = cache.zip(value(&table.shmem_bytes)).map(|(cache, shmem)| cache.saturating_sub(shmem));
    let evictable = match (lists, without_shmem) {
        (Some(lists), Some(cache)) => lists.min(cache),
        (Some(lists), None) => cache.map_or(lists, |cache| lists.min(cache)),
        (None, Some(cache)) => cache.saturating_sub(value(&table.unevictable_bytes)?),
        (None, None) => return None,
    };
    // Version 1 tells of neither on many kernels: then this is an upper bound.
    let busy = value(&table.dirty_bytes).unwrap_or(0).saturating_add(value(&table.writeback_bytes).unwrap_or(0));
    // Version 1 counts kernel memory as one: what of it are dentries and inodes is as on the machine.
    let estimated = || Some((value(&table.kernel_bytes)? as f64 * slab_share?) as u64);
    let slab = value(&table.slab_reclaimable_bytes).or_else(estimated).unwrap_or(0);
    Some(evictable.saturating_sub(busy).saturating_add(slab))
}

fn by_node(table: &Cgroups, slot: usize) -> Vec<NodeBytes> {
    let (file, anon) = (table.file_by_node.get(slot), table.anon_by_node.get(slot));
    let mut nodes: Vec<u32> = [file, anon].into_iter().flatten().flatten().map(|pair| pair.0).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let row = |node| NodeBytes {
        node,
        file_bytes: table.file_by_node.at(slot, node),
        anon_bytes: table.anon_by_node.at(slot, node),
    };
    nodes.into_iter().map(row).collect()
}

/// The limits from a group up to the top.
#[derive(Clone, Default)]
struct Limits {
    /// The lowest one and the group that has it.
    lowest: Option<(u64, Arc<str>)>,
    /// One of them could not be read, and it might be lower.
    unread: bool,
}

impl Limits {
    /// Takes the kernel's own word for the lowest limit: it knows the groups that a namespace hides, and whether limits
    /// above count at all. A limit of none of the groups that are seen is put down to the top.
    fn reported(&mut self, reported: u64) {
        self.unread = false;
        if self.lowest.as_ref().is_none_or(|(lowest, _)| *lowest != reported) {
            self.lowest = Some((reported, Arc::from("/")));
        }
    }
}

/// Fills in the lowest limit from each group up to the top, and the machine's memory where nothing is lower. Groups are
/// sorted by path, so that parents come first.
pub(super) fn effective_limits(table: &Cgroups, now: &Snapshot, cgroups: &mut [Cgroup]) {
    let machine = now.memory.data();
    let machine = machine.first().and_then(|slot| machine.total_bytes.value(slot));
    let mut known: HashMap<Arc<str>, Limits> = HashMap::with_capacity(cgroups.len());
    for cgroup in cgroups {
        let mut limits = parent(&cgroup.path).and_then(|parent| known.get(parent)).cloned().unwrap_or_default();
        match own(table, cgroup) {
            Known::Missing => limits.unread = true,
            Known::None => {}
            Known::Value(own) if limits.lowest.as_ref().is_some_and(|(lowest, _)| *lowest <= own) => {}
            Known::Value(own) => limits.lowest = Some((own, Arc::clone(&cgroup.path))),
        }
        match table.memory_hierarchical_limit_bytes.get(cgroup.slot) {
            Known::Missing => {}
            Known::None => limits = Limits::default(),
            Known::Value(reported) => limits.reported(reported),
        }
        if let Some(memory) = &mut cgroup.memory {
            let of_group = limits.lowest.clone().filter(|(lowest, _)| machine.is_none_or(|machine| *lowest < machine));
            let (limit, path) = of_group.map_or((machine, None), |(limit, path)| (Some(limit), Some(path)));
            memory.effective_limit_bytes = Known::or_missing(limit.filter(|_| !limits.unread));
            memory.limited_by = path.filter(|_| !limits.unread).unwrap_or_default();
        }
        known.insert(Arc::clone(&cgroup.path), limits);
    }
}

/// A group's own limit. Where there is no memory controller there is none: at the top of version 2, and on groups
/// without any memory values.
fn own(table: &Cgroups, cgroup: &Cgroup) -> Known<u64> {
    match table.memory_limit_bytes.get(cgroup.slot) {
        Known::Missing if cgroup.memory.is_none() || &*cgroup.path == "/" => Known::None,
        limit => limit,
    }
}

/// When the effective limit would be reached at the growth of this interval; none at the limit, where what is left is
/// the swing between reclaim, which frees in steps, and charges, which CPUs take in steps.
pub(super) fn time_to_limit(cgroup: &mut Cgroup) {
    let Some(memory) = &mut cgroup.memory else { return };
    memory.time_to_limit_seconds = match memory.growth_bytes_per_second {
        None => Known::Missing,
        Some(growth) if growth <= 0.0 => Known::None,
        Some(growth) => match (memory.effective_limit_bytes, memory.current_bytes) {
            (Known::Value(limit), Known::Value(current)) if at_limit(memory, limit, current) => Known::None,
            (Known::Value(limit), Known::Value(current)) => Known::Value(limit.saturating_sub(current) as f64 / growth),
            _ => Known::Missing,
        },
    };
}

/// True where the last per cent or two will not fill: the limit was hit in this interval, or cache would make room.
fn at_limit(memory: &CgroupMemory, limit: u64, current: u64) -> bool {
    let left = limit.saturating_sub(current);
    let hit = memory.events_max_per_second.is_some_and(|hits| hits > 0.0);
    let gives = matches!(memory.reclaimable_bytes, Known::Value(bytes) if bytes > left);
    left <= limit / 64 && (hit || gives)
}

#[cfg(test)]
pub(super) mod tests {
    use crate::derive::Deriver;
    use crate::frame::Frame;
    use crate::{Known, Snapshot, Table, Window};
    use std::sync::Arc;

    const SECOND: u64 = 1_000_000_000;
    pub(in super::super) const MIB: u64 = 1 << 20;

    /// A snapshot with a machine of 1 GiB and the groups that `fill` makes.
    pub(in super::super) fn snapshot(second: u64, fill: impl FnOnce(&mut crate::tables::cgroups::Cgroups)) -> Snapshot {
        let mut snapshot = Snapshot::default();
        snapshot.stamp.mono_ns = second * SECOND;
        let memory = Arc::make_mut(&mut snapshot.memory);
        memory.begin(second * SECOND);
        let only = memory.data_mut().only();
        memory.data_mut().total_bytes.set(only, 1024 * MIB);
        let cgroups = Arc::make_mut(&mut snapshot.cgroups);
        cgroups.begin(second * SECOND);
        fill(cgroups.data_mut());
        snapshot
    }

    pub(in super::super) fn group(
        table: &mut crate::tables::cgroups::Cgroups,
        path: &str,
        current: u64,
        limit: Known<u64>,
    ) -> usize {
        let slot = table.insert();
        table.path.set(slot, path);
        table.version.set(slot, 2);
        table.memory_current_bytes.set(slot, current);
        match limit {
            Known::Value(limit) => table.memory_limit_bytes.set(slot, limit),
            Known::None => table.memory_limit_bytes.set_none(slot),
            Known::Missing => {}
        }
        slot
    }

    pub(in super::super) fn frame(snapshots: Vec<Snapshot>) -> Frame {
        let mut window = Window::default();
        for snapshot in snapshots {
            window.push(snapshot);
        }
        Deriver::default().frame(&window)
    }

    fn limit(frame: &Frame, path: &str) -> (Known<u64>, String) {
        let memory = frame.cgroup(path).and_then(|cgroup| cgroup.memory.clone()).unwrap_or_default();
        (memory.effective_limit_bytes, memory.limited_by.to_string())
    }

    #[test]
    fn the_lowest_limit_above_counts() {
        let frame = frame(vec![snapshot(1, |table| {
            group(table, "/a/b/c", MIB, Known::Value(300 * MIB));
            group(table, "/", 0, Known::Missing);
            group(table, "/a", MIB, Known::Value(200 * MIB));
            group(table, "/a/b", MIB, Known::None);
            group(table, "/a-b", MIB, Known::Value(4096 * MIB));
            group(table, "/x", MIB, Known::Missing);
            group(table, "/x/y", MIB, Known::Value(MIB));
        })]);
        assert_eq!(limit(&frame, "/"), (Known::Value(1024 * MIB), String::new()));
        assert_eq!(limit(&frame, "/a/b"), (Known::Value(200 * MIB), "/a".to_owned()));
        assert_eq!(limit(&frame, "/a/b/c"), (Known::Value(200 * MIB), "/a".to_owned()));
        assert_eq!(limit(&frame, "/a-b"), (Known::Value(1024 * MIB), String::new()));
        assert_eq!(limit(&frame, "/x/y"), (Known::Missing, String::new()), "what is above could not be read");
    }

    #[test]
    fn the_kernel_knows_limits_that_are_hidden() {
        let frame = frame(vec![snapshot(1, |table| {
            let slot = group(table, "/", 0, Known::None);
            table.memory_hierarchical_limit_bytes.set(slot, 300 * MIB);
            let slot = group(table, "/a", MIB, Known::Value(100 * MIB));
            table.memory_hierarchical_limit_bytes.set(slot, 100 * MIB);
            let slot = group(table, "/b", MIB, Known::Missing);
            table.memory_hierarchical_limit_bytes.set_none(slot);
        })]);
        assert_eq!(limit(&frame, "/"), (Known::Value(300 * MIB), "/".to_owned()));
        assert_eq!(limit(&frame, "/a"), (Known::Value(100 * MIB), "/a".to_owned()));
        assert_eq!(limit(&frame, "/b"), (Known::Value(1024 * MIB), String::new()));
    }

    #[test]
    fn tmpfs_locked_and_dirty_pages_cannot_be_given_back() {
        let fill = |table: &mut crate::tables::cgroups::Cgroups, lists: bool| {
            let slot = group(table, "/a", 100 * MIB, Known::None);
            table.file_bytes.set(slot, 60 * MIB);
            table.shmem_bytes.set(slot, 20 * MIB);
            table.unevictable_bytes.set(slot, 5 * MIB);
            table.dirty_bytes.set(slot, 3 * MIB);
            table.writeback_bytes.set(slot, MIB);
            table.slab_reclaimable_bytes.set(slot, 2 * MIB);
            if lists {
                table.active_file_bytes.set(slot, 10 * MIB);
                table.inactive_file_bytes.set(slot, 25 * MIB);
            }
        };
        for lists in [false, true] {
            let frame = frame(vec![snapshot(1, |table| fill(table, lists))]);
            let memory = frame.cgroups[0].memory.clone().unwrap_or_default();
            assert_eq!(memory.reclaimable_bytes, Known::Value(33 * MIB), "60 - 20 - 5 - 3 - 1 + 2");
            assert_eq!(memory.unreclaimable_bytes, Known::Value(67 * MIB));
            let working_set = if lists { Known::Value(75 * MIB) } else { Known::Missing };
            assert_eq!(memory.working_set_bytes, working_set);
        }
    }

    #[test]
    fn growth_gives_the_time_to_the_limit() {
        let at = |second, current| {
            snapshot(second, |table| {
                group(table, "/a", current, Known::Value(200 * MIB));
            })
        };
        let memory = |frame: Frame| frame.cgroups[0].memory.clone().unwrap_or_default();
        let growing = memory(frame(vec![at(1, 100 * MIB), at(3, 120 * MIB)]));
        assert_eq!(growing.growth_bytes_per_second, Some(10.0 * MIB as f64));
        assert_eq!(growing.time_to_limit_seconds, Known::Value(8.0));
        let still = memory(frame(vec![at(1, 100 * MIB), at(3, 100 * MIB)]));
        assert_eq!(still.time_to_limit_seconds, Known::None);
        assert_eq!(memory(frame(vec![at(1, MIB)])).time_to_limit_seconds, Known::Missing);
    }

    #[test]
    fn cache_at_its_limit_does_not_fill() {
        let at = |second, current: u64, cache: u64, hits: u64| {
            snapshot(second, |table| {
                let slot = group(table, "/a", current, Known::Value(64 * MIB));
                table.file_bytes.set(slot, cache);
                table.shmem_bytes.set(slot, 0);
                table.unevictable_bytes.set(slot, 0);
                table.events_max.set(slot, hits);
            })
        };
        let memory = |snapshots| frame(snapshots).cgroups[0].memory.clone().expect("memory").time_to_limit_seconds;
        let (low, high) = (64 * MIB - (MIB >> 1), 64 * MIB - (MIB >> 2));
        let swing = memory(vec![at(1, low, 60 * MIB, 7), at(2, high, 60 * MIB, 7)]);
        assert_eq!(swing, Known::None, "cache makes room");
        let hit = memory(vec![at(1, low, 0, 7), at(2, high, 0, 9)]);
        assert_eq!(hit, Known::None, "it was reached");
        let full = memory(vec![at(1, low, 0, 7), at(2, high, 0, 7)]);
        assert_eq!(full, Known::Value(1.0), "nothing makes room");
        let filling = memory(vec![at(1, 30 * MIB, 30 * MIB, 7), at(2, 32 * MIB, 32 * MIB, 9)]);
        assert_eq!(filling, Known::Value(16.0), "far from it");
    }
}
