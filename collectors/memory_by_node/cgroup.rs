//! The cheapest way: the statistics of a control group with one process are those of the process.

use super::{INTERVAL_NS, Known, MemoryByNode, row};
use crate::Cx;
use std::collections::HashMap;
use topotop_model::tables::cgroups::Cgroups;
use topotop_model::tables::processes::Processes;
use topotop_model::{Draft, State, Table};

impl MemoryByNode {
    /// Takes new figures of control groups; true if a row changed.
    pub(super) fn take_from_cgroups(&mut self, cx: &Cx<'_>, draft: &mut Draft) -> bool {
        if draft.cgroups.state != State::Read || draft.cgroups.read_at_ns == self.cgroups_at_ns {
            return false;
        }
        let age = draft.cgroups.read_at_ns.saturating_sub(self.cgroups_at_ns);
        if self.cgroups_at_ns > 0 && age < INTERVAL_NS && !cx.demand.complete {
            return false;
        }
        self.cgroups_at_ns = draft.cgroups.read_at_ns;
        let (cgroups, processes) = (draft.cgroups.data(), draft.processes.data());
        let alone = alone(cgroups);
        let table = draft.process_memory.data_mut();
        let mut changed = false;
        for slot in processes.rows().iter() {
            let Some(pid) = processes.pid.id(slot).value() else { continue };
            let group = alone.get(&u64::from(pid)).filter(|&&group| fits(cgroups, group, processes, slot));
            let starttime = processes.starttime.value(slot).unwrap_or_default();
            let Some(&group) = group else {
                if let Some(known) = self.known.get_mut(&pid) {
                    known.by_cgroup = false;
                }
                continue;
            };
            let known = self.known.entry(pid).or_insert_with(|| Known { starttime, ..Known::default() });
            known.by_cgroup = true;
            let row = row(known, table, pid);
            table.source.set(row, "cgroup");
            table.read_at_ns.set(row, self.cgroups_at_ns);
            table.error.set(row, 0);
            table.cost_ns.set(row, 0);
            table.anon_by_node.set(row, cgroups.anon_by_node.get(group).unwrap_or_default().iter().copied());
            match cgroups.file_by_node.get(group) {
                Some(file) => table.file_by_node.set(row, file.iter().copied()),
                None => table.file_by_node.clear(row),
            }
            changed = true;
        }
        changed
    }
}

/// Control groups by the only process in them and below them.
fn alone(cgroups: &Cgroups) -> HashMap<u64, usize> {
    let mut groups = HashMap::new();
    let inhabited = |slot: &usize| cgroups.processes.value(*slot).is_none_or(|count| count > 0);
    let mut paths: Vec<&str> =
        cgroups.rows().iter().filter(inhabited).filter_map(|slot| cgroups.path.get(slot).map(|path| &**path)).collect();
    paths.sort_unstable();
    for slot in cgroups.rows().iter() {
        let (Some(pid), Some(path)) = (cgroups.only_pid.value(slot), cgroups.path.get(slot)) else { continue };
        let below = format!("{}/", path.trim_end_matches('/'));
        let next = paths.partition_point(|other| **other < *below);
        let crowded = paths.get(next).is_some_and(|other| other.starts_with(&below) && **other != **path);
        if !crowded && cgroups.anon_by_node.get(slot).is_some() {
            groups.insert(pid, slot);
        }
    }
    groups
}

/// True if what the group was charged for is this process's memory: a process that moved in left its pages behind, and
/// huge pages are charged elsewhere.
fn fits(cgroups: &Cgroups, group: usize, processes: &Processes, slot: usize) -> bool {
    let Some(charged) = cgroups.anon_by_node.sum(group) else { return false };
    let own = processes.rss_anon_bytes.value(slot).or_else(|| processes.rss_bytes.value(slot));
    let shared = processes.rss_shmem_bytes.value(slot).unwrap_or(0);
    let huge = processes.hugetlb_bytes.value(slot).unwrap_or(0);
    let Some(own) = own else { return false };
    let low = (own as f64 * 0.8) as u64;
    huge == 0 && charged >= low && charged <= (own.saturating_add(shared) as f64 * 1.25) as u64 + (1 << 20)
}

#[cfg(test)]
mod tests {
    use super::alone;
    use topotop_model::Table;
    use topotop_model::tables::cgroups::Cgroups;

    fn groups(rows: &[(&str, u64, Option<u64>)]) -> Cgroups {
        let mut table = Cgroups::default();
        for &(path, count, only) in rows {
            let slot = table.insert();
            table.path.set(slot, path);
            table.processes.set(slot, count);
            table.only_pid.set_or_clear(slot, only);
            table.anon_by_node.set(slot, [(0, 4096)]);
        }
        table
    }

    #[test]
    fn a_process_with_neighbours_below_is_not_alone() {
        let table = groups(&[("/", 0, None), ("/a", 1, Some(7)), ("/a/b", 1, Some(8)), ("/ab", 1, Some(9))]);
        let alone = alone(&table);
        let mut pids: Vec<_> = alone.keys().copied().collect();
        pids.sort_unstable();
        assert_eq!(pids, [8, 9]);
        let table = groups(&[("/a", 1, Some(7)), ("/a/b", 0, None)]);
        assert!(super::alone(&table).contains_key(&7), "an empty group below changes nothing");
    }
}
