//! NUMA-06: a process is bound to CPUs and memory of different NUMA nodes.

use super::{
    Finding, Hit, Input, Pace, Preflight, Rule, RuleContext, RuleId, Severity, Subject, Threshold, memory_spread,
    node_memory_low, preflight,
};
use crate::IdSet;
use crate::bottleneck::ResourceKind;
use crate::locale::rule::membind_mismatch as text;
use crate::locale::{Texts, evidence};
use std::sync::Arc;

/// Its id.
pub const ID: RuleId = RuleId::new("NUMA-06");
pub(crate) const MEMORY: Threshold = ID.threshold(text::threshold::MEMORY, 67_108_864.0, "bytes");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    advises: Some(advises),
    limits: |_| &[ResourceKind::Remote],
    needs_load: true,
    reads: &[Input::Processes, Input::Nodes],
    sources: &["/proc/PID/status", "/proc/PID/numa_maps"],
    thresholds: &[MEMORY],
    references: &["numactl(8)"],
    pace: Pace::CONFIGURED,
    preflight: Some(Preflight { name: text::PREFLIGHT, says: preflight::policies }),
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    if frame.topology.nodes.iter().filter(|node| node.has_memory).count() < 2 {
        return;
    }
    let has_memory = |node: u32| frame.topology.node(node).is_some_and(|node| node.has_memory);
    for process in frame.processes.iter().filter(|process| !process.kernel) {
        let big = process.rss_bytes.value().is_some_and(|rss| rss as f64 >= context.limit(&MEMORY));
        let Some(affinity) = process.affinity.as_deref().filter(|_| big) else { continue };
        let bound = process.policy.starts_with("bind").then(|| node_memory_low::policy_nodes(&process.policy));
        let allowed = |node: u32| {
            process.mems_allowed.as_deref().is_none_or(|allowed| allowed.contains(node))
                && bound.as_ref().is_none_or(|bound| bound.contains(node))
                && has_memory(node)
        };
        let places = frame.topology.cpus.iter().filter(|cpu| affinity.contains(cpu.id));
        let mut runs = places.filter_map(|cpu| cpu.node.value());
        // Nearly every process may allocate on the node of its first CPU. A node without memory has none to give: its
        // nearest ones do.
        if runs.clone().any(|node| frame.topology.memory_homes(node).iter().any(allowed)) {
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
            .text(evidence::COMM, Arc::clone(&process.comm), "/proc/PID/comm")
            .text(evidence::CPU_NODES, runs.to_string(), "/proc/PID/status Cpus_allowed_list")
            .text(evidence::MEMORY_NODES, IdSet::from_ids(memory).to_string(), "/proc/PID/status Mems_allowed_list")
            .text(evidence::POLICY, Arc::clone(&process.policy), "/proc/PID/numa_maps");
        context.hit(memory_spread::with_room(hit, frame, process));
    }
}

fn advises(finding: &Finding) -> Texts {
    if memory_spread::fits_a_node(finding) { text::ADVICE } else { text::ADVICE_LARGER }
}

fn title(finding: &Finding) -> String {
    text::Title {
        comm: &finding.text(evidence::COMM),
        subject: &finding.subject.named(),
        cpu: &finding.text(evidence::CPU_NODES),
        memory: &finding.text(evidence::MEMORY_NODES),
    }
    .to_string()
}
