//! Tables of the CPU time and the memory of a process by NUMA node.

use crate::IdSet;
use crate::Total as _;
use crate::frame::{Frame, Process};
use crate::locale::table as text;
use crate::rules::{Cell, Grid, node_memory_low};

/// Maximum rows.
const MOST: usize = 16;

/// CPU and memory of a process by node: cores, their share, bytes, their share.
pub(in crate::rules) fn matrix(frame: &Frame, process: &Process) -> Grid {
    let columns = [
        (text::CPU.as_str(), "cores"),
        (text::CPU_SHARE.as_str(), "fraction"),
        (text::MEMORY.as_str(), "bytes"),
        (text::MEMORY_SHARE.as_str(), "fraction"),
    ];
    let mut grid = Grid::new(columns);
    let empty = Vec::new();
    let memory = process.memory.as_ref().map_or(&empty, |memory| &memory.by_node);
    let (cores, bytes): (f64, u64) =
        (process.cpu_by_node.iter().map(|(_, cores)| cores).sum(), memory.iter().map(|(_, bytes)| *bytes).total());
    for node in frame.topology.nodes.iter().take(MOST) {
        let here = process.cpu_by_node.iter().find(|(id, _)| *id == node.id).map_or(0.0, |(_, cores)| *cores);
        let has = memory.iter().find(|(id, _)| *id == node.id).map_or(0, |(_, bytes)| *bytes);
        let cpu_known = !process.cpu_by_node.is_empty();
        let (here, has) = (cpu_known.then_some(here), (!memory.is_empty()).then_some(has as f64));
        let share = |part: Option<f64>, all: f64| Cell::of(part.filter(|_| all > 0.0).map(|part| part / all));
        // A node without CPUs runs nothing: not a measured zero.
        let (cpu, cpu_share) =
            if node.has_cpus { (Cell::of(here), share(here, cores)) } else { (Cell::None, Cell::None) };
        grid.push(text::Node { node: &node.id }.to_string(), [cpu, cpu_share, Cell::of(has), share(has, bytes as f64)]);
    }
    grid
}

/// The output of `numactl --show` for the process and for the whole machine.
pub(in crate::rules) fn numactl_show(frame: &Frame, process: &Process) -> Grid {
    let topology = &frame.topology;
    let cpus = process.affinity.as_deref().map(|cpus| cpus.intersection(&topology.cpus_online));
    let runs = cpus.as_ref().map(|cpus| IdSet::from_ids(cpus.iter().filter_map(|cpu| topology.node_of(cpu))));
    let policy = process.policy.split([':', '=', ' ']).next().unwrap_or_default();
    let bound = policy.starts_with("bind").then(|| node_memory_low::policy_nodes(&process.policy));
    let preferred = match () {
        () if process.policy.is_empty() => Cell::Unknown,
        () if policy.starts_with("prefer") => ids(Some(&node_memory_low::policy_nodes(&process.policy))),
        () => Cell::text("current"),
    };
    let may = bound.as_ref().or(process.mems_allowed.as_deref());
    let with_cpus = IdSet::from_ids(topology.cpu_nodes().map(|node| node.id));
    let with_memory = IdSet::from_ids(topology.nodes.iter().filter(|node| node.has_memory).map(|node| node.id));
    let known = if policy.is_empty() { Cell::Unknown } else { Cell::text(policy) };
    Grid::new([(text::THIS_PROCESS.as_str(), ""), (text::WHOLE_MACHINE.as_str(), "")])
        .row("policy", [known, Cell::text("default")])
        .row("preferred node", [preferred, Cell::text("current")])
        .row("physcpubind", [ids(cpus.as_ref()), ids(Some(&topology.cpus_online))])
        .row("cpubind", [ids(runs.as_ref()), ids(Some(&with_cpus))])
        .row("nodebind", [ids(runs.as_ref()), ids(Some(&with_cpus))])
        .row("membind", [ids(may), ids(Some(&with_memory))])
}

fn ids(set: Option<&IdSet>) -> Cell {
    set.map_or(Cell::Unknown, |set| if set.is_empty() { Cell::None } else { Cell::text(set.to_string()) })
}

#[cfg(test)]
mod tests {
    use super::{matrix, numactl_show};
    use crate::frame::{CpuPlace, Frame, NodePlace, Process, ProcessMemory, Topology};
    use crate::rules::Cell;
    use crate::{IdSet, Known};
    use std::sync::Arc;

    /// Two nodes with three CPUs and one, and one with memory only.
    fn frame() -> Frame {
        let node = |id, has_cpus| NodePlace { id, has_cpus, has_memory: true, ..NodePlace::default() };
        let place = |id| CpuPlace { id, node: Known::Value(id / 3), online: true, ..CpuPlace::default() };
        let topology = Topology {
            cpus_online: IdSet::parse_list("0-3").expect("a list"),
            cpus: (0..4).map(place).collect(),
            nodes: vec![node(0, true), node(1, true), node(4, false)],
            ..Topology::default()
        };
        Frame { topology: Arc::new(topology), ..Frame::default() }
    }

    #[test]
    fn a_bound_process_beside_the_machine() {
        let set = |list: &str| Some(Arc::new(IdSet::parse_list(list).expect("a list")));
        let process = Process {
            affinity: set("0-1"),
            mems_allowed: set("0-1,4"),
            policy: "bind:1".into(),
            cpu_by_node: vec![(0, 1.5)],
            memory: Some(ProcessMemory { by_node: vec![(1, 300), (4, 100)], ..ProcessMemory::default() }),
            ..Process::default()
        };
        let show = numactl_show(&frame(), &process);
        let row = |name: &str| show.rows.iter().find(|row| &*row.0 == name).map(|row| row.1.clone()).expect("a row");
        assert_eq!(row("physcpubind"), [Cell::text("0-1"), Cell::text("0-3")]);
        assert_eq!(row("cpubind"), [Cell::text("0"), Cell::text("0-1")]);
        // The policy counts, not the kernel's list of allowed nodes.
        assert_eq!(row("membind"), [Cell::text("1"), Cell::text("0-1,4")]);
        assert_eq!(row("policy")[0], Cell::text("bind"));
        let matrix = matrix(&frame(), &process);
        assert_eq!(matrix.rows[0].1, [Cell::Number(1.5), Cell::Number(1.0), Cell::Number(0.0), Cell::Number(0.0)]);
        assert_eq!(matrix.rows[2].1, [Cell::None, Cell::None, Cell::Number(100.0), Cell::Number(0.25)]);
    }

    #[test]
    fn what_was_not_read_is_unknown() {
        let show = numactl_show(&Frame::default(), &Process::default());
        assert!(show.rows.iter().all(|(_, cells)| cells[0] == Cell::Unknown), "{show:?}");
        let matrix = matrix(&frame(), &Process::default());
        assert_eq!(matrix.rows[0].1, [Cell::Unknown, Cell::Unknown, Cell::Unknown, Cell::Unknown]);
    }
}
