//! NUMA-02: a large process is spread over nodes.

use super::{Finding, Hit, Input, Look, Pace, Page, Rule, Severity, Subject, Threshold, nodes, parts};
use crate::frame::{Frame, Process};
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "NUMA-02",
    name: "a large process is spread over nodes",
    why: "Threads of one process on several nodes find most of their memory elsewhere. One instance for each node, bound to it, reported twice the throughput.",
    reads: &[Input::Processes, Input::Nodes],
    looks_at: &["/proc/PID/task/TID/stat", "move_pages(2), numa_maps, memory.numa_stat"],
    thresholds: &[
        Threshold { name: "share", value: 0.2, unit: "fraction", about: "of its CPU time and memory on each of two nodes" },
        Threshold { name: "node", value: 0.5, unit: "fraction", about: "of the CPUs of one node that it uses" },
        Threshold { name: "threads", value: 4.0, unit: "", about: "busy threads, at least" },
        Threshold { name: "memory", value: 268_435_456.0, unit: "bytes", about: "resident memory, at least" },
        Threshold { name: "local", value: 0.8, unit: "fraction", about: "local hint faults that show that the kernel keeps up" },
        Threshold { name: "distance", value: 12.0, unit: "", about: "distance between nodes that does not matter" },
    ],
    guards: &["interleaved on purpose", "automatic balancing that keeps faults local: only told", "nodes that are next to each other: only told"],
    advice: &["One instance for each node that has CPUs: numactl --cpunodebind=N --membind=N", "Smaller ones onto one node: cpuset.cpus and cpuset.mems"],
    references: &["numactl(8)", "numa(7)"],
    pace: Pace::USUAL,
    tables: &[Page {
        title: "numactl --show, line by line",
        columns: &["line", "what it tells"],
        rows: &[
            &["policy", "where new memory comes from: default (the node that asks), bind, preferred, interleave"],
            &["preferred node", "the node that is asked first; current is the one that the thread runs on"],
            &["physcpubind", "the CPUs that it may run on"],
            &["cpubind, nodebind", "the nodes of those CPUs: those of the whole machine are as many as instances"],
            &["membind", "the nodes that it may have memory of; nodes without CPUs are among them"],
        ],
    }],
    gained: &[
        "One report of a machine with two nodes, one instance bound to each: from 150 to 310 transactions/s, from 3 to 1.3 s a response, a fifth less CPU.",
        "Figures of one site and its application: measure before and after.",
    ],
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    if frame.topology.cpu_nodes().filter(|node| node.has_memory).count() < 2 {
        return;
    }
    let node_cpus = online_each(frame);
    for process in frame.processes.iter().filter(|process| !process.kernel) {
        let big = process.rss_bytes.value().is_some_and(|rss| rss as f64 >= look.limit("memory"));
        let busy = process.cpu_cores.is_some_and(|cores| cores >= look.limit("node") * node_cpus as f64);
        let default = process.policy.is_empty() || &*process.policy == "default";
        if !big || !busy || !default || !is_spread(frame, process) {
            continue;
        }
        let threads = frame.threads_of(process.pid);
        let working = threads.iter().filter(|thread| thread.cpu_cores.is_some_and(|cores| cores >= 0.1)).count();
        let many = if threads.is_empty() { process.threads.value().unwrap_or(1) } else { working as u64 };
        if (many as f64) < look.limit("threads") {
            continue;
        }
        let Some(memory) = &process.memory else { continue };
        let balanced = frame.memory.numa_hint_local_ratio.is_some_and(|local| local >= look.limit("local"));
        let near = f64::from(farthest(frame)) <= look.limit("distance");
        let hit = Hit::new(Subject::Process(process.pid, process.starttime), 0.6)
            .severity(if balanced || near { Severity::Info } else { Severity::Warning })
            .known("remote", memory.remote_ratio, "fraction", memory.source.name())
            .known("cpu", process.cpu_cores, "cores", "/proc/PID/stat")
            .number("instances", frame.topology.cpu_nodes().count() as f64, "", "/sys/devices/system/node")
            .text("comm", Arc::clone(&process.comm), "/proc/PID/comm")
            .text("cpu_by_node", shares(&process.cpu_by_node), "/proc/PID/task/TID/stat")
            .text("memory_by_node", sizes(&memory.by_node), memory.source.name())
            .table("by_node", nodes::matrix(frame, process), memory.source.name())
            .table("numactl_show", nodes::numactl_show(frame, process), "/proc/PID/status, numa_maps")
            .covers("NUMA-05", Subject::Host);
        look.hit(hit);
    }
}

/// CPUs of the smallest node that are online: lists of nodes name the others too.
fn online_each(frame: &Frame) -> u64 {
    let online = |node: &crate::frame::NodePlace| node.cpus.intersection(&frame.topology.cpus_online).len();
    frame.topology.cpu_nodes().map(online).filter(|cpus| *cpus > 0).min().unwrap_or(1)
}

/// True where two nodes each have a good part of its CPU time and of its memory.
pub(super) fn is_spread(frame: &Frame, process: &Process) -> bool {
    let Some(memory) = &process.memory else { return false };
    let least = RULE.thresholds.iter().find(|threshold| threshold.name == "share").map_or(0.2, |threshold| threshold.value);
    let cpu: f64 = process.cpu_by_node.iter().map(|(_, cores)| cores).sum();
    let bytes: u64 = memory.by_node.iter().map(|(_, bytes)| bytes).sum();
    let both = |node: &crate::frame::NodePlace| {
        let cores = process.cpu_by_node.iter().find(|(id, _)| *id == node.id).map_or(0.0, |(_, cores)| *cores);
        let here = memory.by_node.iter().find(|(id, _)| *id == node.id).map_or(0, |(_, bytes)| *bytes);
        cores >= least * cpu && cpu > 0.0 && here as f64 >= least * bytes as f64 && bytes > 0
    };
    frame.topology.cpu_nodes().filter(|node| both(node)).count() >= 2
}

/// The largest distance between two nodes; zero where none is told.
pub(super) fn farthest(frame: &Frame) -> u32 {
    frame.topology.nodes.iter().flat_map(|node| &node.distances).map(|(_, distance)| *distance).max().unwrap_or(0)
}

/// `n0 1.9 cores, n1 0.1 cores`.
pub(super) fn shares(by_node: &[(u32, f64)]) -> String {
    let parts = by_node.iter().filter(|(_, cores)| *cores >= 0.005);
    parts::list(parts.map(|(node, cores)| format!("n{node} {cores:.2} cores")), 8)
}

/// `n0 12.1 GiB, n1 0.2 GiB`.
pub(super) fn sizes(by_node: &[(u32, u64)]) -> String {
    let parts = by_node.iter().filter(|(_, bytes)| *bytes > 0);
    parts::list(parts.map(|(node, bytes)| format!("n{node} {}", parts::bytes(Some(*bytes as f64)))), 8)
}

fn title(finding: &Finding) -> String {
    let (cpu, memory) = (finding.text("cpu_by_node"), finding.text("memory_by_node"));
    let instances = parts::count(finding.number("instances"));
    let spread = format!("{} ({}) is spread over nodes: CPU on {cpu}, memory on {memory}", finding.text("comm"), finding.subject);
    format!("{spread}; {instances} nodes have CPUs: {instances} instances")
}
