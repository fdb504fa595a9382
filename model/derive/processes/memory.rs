//! Where the memory of processes is.

use crate::frame::{Frame, MemorySource, Process, ProcessMemory};
use crate::tables::processes::{ProcessMemory as MemoryTable, Processes};
use crate::{Table, Window};
use std::collections::HashMap;
use std::sync::Arc;

/// Answers by process.
#[derive(Debug)]
pub(super) struct Rows<'a> {
    table: Option<&'a MemoryTable>,
    by_process: HashMap<(u32, u64), usize>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(window: &'a Window) -> Self {
        let table = window.now.process_memory.value();
        let keys = |table: &'a MemoryTable| {
            let key = |slot| Some(((table.pid.id(slot).value()?, table.starttime.value(slot)?), slot));
            table.rows().iter().filter_map(key).collect()
        };
        Self { table, by_process: table.map(keys).unwrap_or_default() }
    }

    fn find(&self, process: &Process) -> Option<(&'a MemoryTable, usize)> {
        Some((self.table?, *self.by_process.get(&(process.pid, process.starttime))?))
    }

    /// The memory policy of a process; empty when nobody asked.
    pub(super) fn policy(&self, process: &Process) -> Arc<str> {
        self.find(process).map(|(table, slot)| table.policy.or_empty(slot)).unwrap_or_default()
    }

    /// Where its memory is.
    pub(super) fn of(&self, process: &Process, processes: &Processes, frame: &Frame) -> Option<ProcessMemory> {
        let mut memory = match self.find(process) {
            Some((table, slot)) => answer(table, slot, frame.stamp.mono_ns)?,
            None => on_one_node(process, processes, frame)?,
        };
        memory.remote_ratio = remote_ratio(&process.cpu_by_node, &memory.by_node);
        Some(memory)
    }
}

fn answer(table: &MemoryTable, slot: usize, now_ns: u64) -> Option<ProcessMemory> {
    let source = match &**table.source.get(slot)? {
        "cgroup" => MemorySource::Cgroup,
        "numa_maps" => MemorySource::NumaMaps,
        _ => MemorySource::Sampled,
    };
    Some(ProcessMemory {
        by_node: table.anon_by_node.get(slot)?.to_vec(),
        file_by_node: table.file_by_node.get(slot).unwrap_or_default().to_vec(),
        source,
        error: table.error.value(slot).unwrap_or_default() as f64 / 1e4,
        age_seconds: now_ns.saturating_sub(table.read_at_ns.value(slot)?) as f64 / 1e9,
        remote_ratio: None,
    })
}

/// Where there is one node with memory, nobody needs to be asked.
fn on_one_node(process: &Process, processes: &Processes, frame: &Frame) -> Option<ProcessMemory> {
    let mut nodes = frame.topology.nodes.iter().filter(|node| node.has_memory);
    let (node, None) = (nodes.next()?.id, nodes.next()) else { return None };
    let slot = process.slot;
    let anon = processes.rss_anon_bytes.value(slot)?.saturating_add(processes.rss_shmem_bytes.value(slot)?);
    let read_at = processes.details_at_ns.value(slot)?;
    Some(ProcessMemory {
        by_node: vec![(node, anon)],
        file_by_node: vec![(node, processes.rss_file_bytes.value(slot)?)],
        source: MemorySource::OneNode,
        error: 0.0,
        age_seconds: frame.stamp.mono_ns.saturating_sub(read_at) as f64 / 1e9,
        remote_ratio: None,
    })
}

/// Σ cpu share(n) × (1 − memory share(n)): what share of accesses would be remote if they followed CPU time.
fn remote_ratio(cpu: &[(u32, f64)], memory: &[(u32, u64)]) -> Option<f64> {
    let used: f64 = cpu.iter().map(|pair| pair.1).sum();
    let bytes = memory.iter().map(|pair| pair.1 as f64).sum::<f64>();
    if used <= 0.0 || bytes <= 0.0 {
        return None;
    }
    let share = |node| memory.iter().find(|pair| pair.0 == node).map_or(0.0, |pair| pair.1 as f64 / bytes);
    Some(cpu.iter().map(|&(node, cores)| cores / used * (1.0 - share(node))).sum::<f64>().clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::remote_ratio;

    #[test]
    fn remote_is_what_runs_where_the_memory_is_not() {
        assert_eq!(remote_ratio(&[(0, 2.0)], &[(3, 100)]), Some(1.0));
        assert_eq!(remote_ratio(&[(0, 2.0)], &[(0, 100)]), Some(0.0));
        assert_eq!(remote_ratio(&[(0, 1.0), (1, 1.0)], &[(0, 50), (1, 50)]), Some(0.5));
        assert_eq!(remote_ratio(&[(0, 0.0)], &[(0, 50)]), None, "nothing ran");
    }
}
