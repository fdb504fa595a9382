//! Where the memory of processes is.

use super::text;
use crate::frame::{MemorySource, Process, ProcessMemory, Topology};
use crate::tables::processes::{ProcessMemory as MemoryTable, Processes};
use crate::{Table, Window};
use std::collections::HashMap;

/// Answers by process.
#[derive(Debug)]
pub(super) struct Rows<'a> {
    table: Option<&'a MemoryTable>,
    by_process: HashMap<(u32, u64), usize>,
    /// Where there is one node with memory, nobody needs to be asked.
    only_node: Option<u32>,
    topology: &'a Topology,
}

impl<'a> Rows<'a> {
    pub(super) fn new(window: &'a Window, topology: &'a Topology) -> Self {
        let table = window.now.process_memory.value();
        let keys = |table: &'a MemoryTable| {
            let key = |slot| Some(((table.pid.id(slot).value()?, table.starttime.value(slot)?), slot));
            table.rows().iter().filter_map(key).collect()
        };
        let mut nodes = topology.nodes.iter().filter(|node| node.has_memory);
        let only_node = nodes.next().filter(|_| nodes.next().is_none()).map(|node| node.id);
        Self { table, by_process: table.map(keys).unwrap_or_default(), only_node, topology }
    }

    fn find(&self, process: &Process) -> Option<(&'a MemoryTable, usize)> {
        Some((self.table?, *self.by_process.get(&(process.pid, process.starttime))?))
    }

    /// The memory of a process and its policy, empty where it was not sampled.
    pub(super) fn fill(&self, process: &mut Process, row: usize, processes: &Processes, now_ns: u64) {
        let mut memory = process.memory.take().unwrap_or_default();
        let known = if let Some((table, slot)) = self.find(process) {
            text(&mut process.policy, table.policy.get(slot));
            answer(&mut memory, table, slot, now_ns)
        } else {
            text(&mut process.policy, None);
            self.only_node.and_then(|node| on_one_node(&mut memory, node, (processes, row), now_ns))
        };
        process.memory = known.map(|()| {
            // Nearly all do nothing: without looking where.
            let ran = process.cpu_cores.is_some_and(|cores| cores > 0.0);
            memory.remote_ratio =
                ran.then(|| remote_ratio(self.topology, &process.cpu_by_node, &memory.by_node)).flatten();
            memory
        });
    }
}

fn on_one_node(memory: &mut ProcessMemory, node: u32, (table, slot): (&Processes, usize), now_ns: u64) -> Option<()> {
    let anon = table.rss_anon_bytes.value(slot)?.saturating_add(table.rss_shmem_bytes.value(slot)?);
    let file = table.rss_file_bytes.value(slot)?;
    let read_at = table.details_at_ns.value(slot)?;
    replace(&mut memory.by_node, &[(node, anon)]);
    replace(&mut memory.file_by_node, &[(node, file)]);
    (memory.source, memory.error) = (MemorySource::OneNode, 0.0);
    memory.age_seconds = now_ns.saturating_sub(read_at) as f64 / 1e9;
    Some(())
}

fn answer(memory: &mut ProcessMemory, table: &MemoryTable, slot: usize, now_ns: u64) -> Option<()> {
    let source = match &**table.source.get(slot)? {
        "cgroup" => MemorySource::Cgroup,
        "numa_maps" => MemorySource::NumaMaps,
        _ => MemorySource::Sampled,
    };
    replace(&mut memory.by_node, table.anon_by_node.get(slot)?);
    replace(&mut memory.file_by_node, table.file_by_node.get(slot).unwrap_or_default());
    memory.source = source;
    memory.error = table.error.value(slot).unwrap_or_default() as f64 / 1e4;
    memory.age_seconds = now_ns.saturating_sub(table.read_at_ns.value(slot)?) as f64 / 1e9;
    Some(())
}

fn replace(row: &mut Vec<(u32, u64)>, by: &[(u32, u64)]) {
    row.clear();
    row.extend_from_slice(by);
}

/// Σ cpu share(n) × (1 − memory share(n)): what share of accesses would be remote if they followed CPU time. To CPUs of a
/// node without memory that of the nearest node is local: there is none nearer.
fn remote_ratio(topology: &Topology, cpu: &[(u32, f64)], memory: &[(u32, u64)]) -> Option<f64> {
    let used: f64 = cpu.iter().map(|pair| pair.1).sum();
    let bytes = memory.iter().map(|pair| pair.1 as f64).sum::<f64>();
    if used <= 0.0 || bytes <= 0.0 {
        return None;
    }
    let share = |node| {
        let homes = topology.memory_homes(node);
        memory.iter().filter(|pair| homes.contains(pair.0)).map(|pair| pair.1 as f64 / bytes).sum::<f64>()
    };
    Some(cpu.iter().map(|&(node, cores)| cores / used * (1.0 - share(node))).sum::<f64>().clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::remote_ratio as ratio;
    use crate::frame::{NodePlace, Topology};

    fn remote_ratio(cpu: &[(u32, f64)], memory: &[(u32, u64)]) -> Option<f64> {
        ratio(&Topology::default(), cpu, memory)
    }

    #[test]
    fn memory_of_the_nearest_node_is_local_to_cpus_that_have_none() {
        let node = |id, has_memory, distances: &[(u32, u32)]| NodePlace {
            id,
            has_memory,
            has_cpus: true,
            distances: distances.to_vec(),
            ..NodePlace::default()
        };
        let nodes = vec![
            node(0, true, &[(0, 10), (1, 12), (2, 32)]),
            node(1, false, &[(0, 12), (1, 10), (2, 32)]),
            node(2, true, &[(0, 32), (1, 32), (2, 10)]),
        ];
        let topology = Topology { nodes, ..Topology::default() };
        assert_eq!(ratio(&topology, &[(1, 1.0)], &[(0, 100)]), Some(0.0));
        assert_eq!(ratio(&topology, &[(1, 1.0)], &[(2, 100)]), Some(1.0));
    }

    #[test]
    fn remote_is_what_runs_where_the_memory_is_not() {
        assert_eq!(remote_ratio(&[(0, 2.0)], &[(3, 100)]), Some(1.0));
        assert_eq!(remote_ratio(&[(0, 2.0)], &[(0, 100)]), Some(0.0));
        assert_eq!(remote_ratio(&[(0, 1.0), (1, 1.0)], &[(0, 50), (1, 50)]), Some(0.5));
        assert_eq!(remote_ratio(&[(0, 0.0)], &[(0, 50)]), None, "nothing ran");
    }
}
