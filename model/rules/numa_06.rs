//! NUMA-06: a process may run on nodes only whose memory it may not use.

use super::{Finding, Hit, Input, Look, Pace, Preflight, Rule, Severity, Subject, Threshold, before, numa_04};
use crate::IdSet;
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "NUMA-06",
    name: "memory is bound to a node without its CPUs",
    why: "Bound to the CPUs of one node and the memory of another, a process has no local memory at all.",
    reads: &[Input::Processes, Input::Nodes],
    looks_at: &["/proc/PID/status", "/proc/PID/numa_maps"],
    thresholds: &[
        Threshold { name: "memory", value: 67_108_864.0, unit: "bytes", about: "resident memory, at least" },
    ],
    guards: &["memory of nodes without CPUs, as CXL and HBM: only told"],
    advice: &["The same nodes for both: numactl --cpunodebind=N --membind=N"],
    references: &["numactl(8)"],
    pace: Pace::CONFIGURED,
    preflight: Some(Preflight { name: "memory bound to nodes", says: before::policies }),
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    if frame.topology.nodes.iter().filter(|node| node.has_memory).count() < 2 {
        return;
    }
    let has_memory = |node: u32| frame.topology.node(node).is_some_and(|node| node.has_memory);
    for process in frame.processes.iter().filter(|process| !process.kernel) {
        let big = process.rss_bytes.value().is_some_and(|rss| rss as f64 >= look.limit("memory"));
        let Some(affinity) = process.affinity.as_deref().filter(|_| big) else { continue };
        let bound = process.policy.starts_with("bind").then(|| numa_04::policy_nodes(&process.policy));
        let allowed = |node: u32| {
            process.mems_allowed.as_deref().is_none_or(|allowed| allowed.contains(node))
                && bound.as_ref().is_none_or(|bound| bound.contains(node))
                && has_memory(node)
        };
        let places = frame.topology.cpus.iter().filter(|cpu| affinity.contains(cpu.id));
        let mut runs = places.filter_map(|cpu| cpu.node.value());
        // Nearly every process runs where it has memory: its first CPU tells.
        if runs.clone().any(allowed) {
            continue;
        }
        let memory: Vec<u32> = frame.topology.nodes.iter().map(|node| node.id).filter(|node| allowed(*node)).collect();
        let runs = IdSet::from_ids(&mut runs);
        if memory.is_empty() || runs.is_empty() {
            continue;
        }
        let tier = memory.iter().all(|node| frame.topology.node(*node).is_some_and(|node| !node.has_cpus));
        let hit = Hit::new(Subject::Process(process.pid, process.starttime), 0.9)
            .severity(if tier { Severity::Info } else { Severity::Warning })
            .text("comm", Arc::clone(&process.comm), "/proc/PID/comm")
            .text("cpu_nodes", runs.to_string(), "/proc/PID/status Cpus_allowed_list")
            .text("memory_nodes", IdSet::from_ids(memory).to_string(), "/proc/PID/status Mems_allowed_list")
            .text("policy", Arc::clone(&process.policy), "/proc/PID/numa_maps");
        look.hit(hit);
    }
}

fn title(finding: &Finding) -> String {
    let (cpu, memory) = (finding.text("cpu_nodes"), finding.text("memory_nodes"));
    format!("{} ({}) may run on nodes {cpu} only and have memory of nodes {memory} only", finding.text("comm"), finding.subject)
}
