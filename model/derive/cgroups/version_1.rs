//! What version 1 of control groups does not count, from what it does count and from the machine's counters.

use crate::frame::{Cgroup, CgroupIoRate, Frame};
use crate::{Num, Snapshot, Table};

/// Reclaimable slab as a share of the machine's slab.
pub(super) fn slab_share(now: &Snapshot) -> Option<f64> {
    let table = now.memory.data();
    let slot = table.first()?;
    let value = |column: &Num| column.value(slot);
    let reclaimable = value(&table.slab_reclaimable_bytes)?;
    let all = reclaimable.saturating_add(value(&table.slab_unreclaimable_bytes)?);
    (all > 0).then(|| reclaimable as f64 / all as f64)
}

/// Share of the limit hits from which a group is the one whose pages are read back.
const ALONE: f64 = 0.8;

/// Major faults a second from which on the pages that a group loses are among those that the machine reads back.
const MISSED: f64 = 100.0;

/// Version 1 counts neither refaults (before Linux 5.16) nor reclaim by group. Where one group alone hits its limit,
/// the machine's refaults are its own, without those of pages that the machine reclaimed for all, where these are fewer; what it reclaimed is
/// what was uncharged, at most what it read and wrote.
pub(super) fn estimate(frame: &mut Frame) {
    let hits = |cgroup: &Cgroup| cgroup.memory.as_ref().and_then(|memory| memory.events_max_per_second);
    let old = |cgroup: &&Cgroup| cgroup.version == 1;
    let all: f64 = frame.cgroups.iter().filter(old).filter_map(hits).sum();
    let machine = &frame.memory;
    let (read_back, stolen) = (machine.refault_file_per_second, machine.pgsteal_per_second.unwrap_or(0.0));
    let page = machine.page_bytes.value().unwrap_or(4096) as f64;
    // Of several that hit their limits each has of them what it reads of what all of these read.
    let at_limit = || frame.cgroups.iter().filter(old).filter(|cgroup| hits(cgroup).is_some_and(|rate| rate > 0.0));
    let reads: Option<f64> = at_limit().map(|cgroup| read(&cgroup.io)).sum();
    for cgroup in frame.cgroups.iter_mut().filter(|cgroup| cgroup.version == 1) {
        let (Some(own), io) = (hits(cgroup), bytes(&cgroup.io)) else { continue };
        let part = read(&cgroup.io).zip(reads).filter(|(_, all)| *all > 0.0).map(|(own, all)| own / all);
        let Some(memory) = &mut cgroup.memory else { continue };
        let reclaimed = memory.uncharged_per_second.map(|pages| io.map_or(pages, |bytes| pages.min(bytes / page)));
        let refaults = read_back.and_then(|rate| match rate - stolen {
            own if own >= rate / 2.0 => Some(own.max(0.0)),
            // Of what it reclaimed and what the machine did, as much of either comes back; but it may be all the machine's.
            _ if memory.pgmajfault_per_second.is_some_and(|faults| faults >= MISSED) => {
                reclaimed.map(|pages| rate * pages / (pages + stolen).max(f64::MIN_POSITIVE))
            }
            _ => None,
        });
        if memory.refault_file_per_second.is_none() {
            memory.refault_file_per_second = match part {
                _ if own <= 0.0 => Some(0.0),
                _ if own >= ALONE * all => refaults,
                Some(part) => refaults.map(|rate| rate * part),
                None => None,
            };
            memory.is_estimated = memory.refault_file_per_second.is_some();
        }
        if memory.pgsteal_per_second.is_none() && own > 0.0 {
            memory.pgsteal_per_second = reclaimed;
        }
    }
}

/// Read per second; none where it is not known.
fn read(io: &[CgroupIoRate]) -> Option<f64> {
    (!io.is_empty()).then(|| io.iter().map(|row| row.read_bytes_per_second).sum())
}

/// Read and written per second.
fn bytes(io: &[CgroupIoRate]) -> Option<f64> {
    let bytes = io.iter().map(|row| row.read_bytes_per_second + row.write_bytes_per_second);
    (!io.is_empty()).then(|| bytes.sum())
}

#[cfg(test)]
mod tests {
    use super::super::memory::tests::{MIB, frame, group, snapshot};
    use crate::frame::Frame;
    use crate::{Known, Table};
    use std::sync::Arc;

    /// Version 1 without counters of groups: `/a` hits its limit, `/b` as often as given.
    fn old_kernel(hits: u64, machine: [u64; 2], faults: u64) -> Frame {
        let at = |second: u64, gained: u64| {
            let mut snapshot = snapshot(second, |table| {
                for (path, hits) in [("/a", 8000), ("/b", hits)] {
                    let slot = group(table, path, 100 * MIB, Known::Value(100 * MIB));
                    table.version.set(slot, 1);
                    table.events_max.set(slot, gained * hits);
                    table.pgpgout.set(slot, gained * 90_000);
                    table.pgmajfault.set(slot, gained * faults);
                }
            });
            let memory = Arc::make_mut(&mut snapshot.memory).data_mut();
            let only = memory.only();
            memory.workingset_refault_file.set(only, gained * machine[0]);
            memory.pgsteal_kswapd.set(only, gained * machine[1]);
            memory.pgsteal_direct.set(only, 0);
            snapshot
        };
        frame(vec![at(1, 1), at(2, 2)])
    }

    #[test]
    fn refaults_of_the_machine_are_of_the_only_group_at_its_limit() {
        let refaults = |frame: &Frame, at: usize| {
            let memory = frame.cgroups[at].memory.as_ref().expect("memory");
            (memory.refault_file_per_second, memory.is_estimated)
        };
        let alone = old_kernel(0, [20_000, 3_000], 0);
        assert_eq!(refaults(&alone, 0), (Some(17_000.0), true), "without what the machine reclaimed for all");
        assert_eq!(refaults(&alone, 1), (Some(0.0), true));
        let memory = alone.cgroups[0].memory.as_ref().expect("memory");
        assert_eq!(memory.pgsteal_per_second, Some(90_000.0));
        let two = old_kernel(8000, [20_000, 0], 0);
        assert_eq!((refaults(&two, 0), refaults(&two, 1)), ((None, false), (None, false)), "either may be it");
        let busy = [20_000, 30_000];
        assert_eq!(refaults(&old_kernel(0, busy, 0), 0), (None, false), "all of it may be what the machine reclaimed");
        assert_eq!(refaults(&old_kernel(0, busy, 1500), 0), (Some(15_000.0), true), "its part of what was reclaimed");
    }

    #[test]
    fn dentries_and_inodes_of_version_1_are_reclaimable() {
        let mut snapshot = snapshot(1, |table| {
            let slot = group(table, "/a", 100 * MIB, Known::Value(100 * MIB));
            table.version.set(slot, 1);
            table.file_bytes.set(slot, 10 * MIB);
            table.shmem_bytes.set(slot, 0);
            table.unevictable_bytes.set(slot, 0);
            table.kernel_bytes.set(slot, 80 * MIB);
        });
        let memory = Arc::make_mut(&mut snapshot.memory).data_mut();
        let only = memory.only();
        memory.slab_reclaimable_bytes.set(only, 300 * MIB);
        memory.slab_unreclaimable_bytes.set(only, 100 * MIB);
        let memory = frame(vec![snapshot]).cgroups[0].memory.clone().expect("memory");
        assert_eq!(memory.reclaimable_bytes, Known::Value(70 * MIB), "10 of page cache, 60 of slab");
    }
}
