//! NUMA-10: the NUMA nodes of the machine differ.

use super::{
    Finding, Hit, Input, Pace, Preflight, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts, preflight,
};
use crate::IdSet;
use crate::bottleneck::ResourceKind;
use crate::frame::{Frame, NodePlace};
use crate::locale::evidence;
use crate::locale::rule::asymmetric_nodes as text;

/// Its id.
pub const ID: RuleId = RuleId::new("NUMA-10");
pub(crate) const MEMORY: Threshold = ID.threshold(text::threshold::MEMORY, 0.25, "fraction");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Remote],
    reads: &[Input::Nodes],
    sources: &[
        "/sys/devices/system/node/node*/cpulist",
        "/sys/devices/system/node/node*/meminfo",
        "/sys/devices/system/cpu/online",
    ],
    thresholds: &[MEMORY],
    references: &["Documentation/admin-guide/cputopology.rst", "numactl(8), --hardware"],
    pace: Pace::CONFIGURED,
    preflight: Some(Preflight { name: text::PREFLIGHT, says: preflight::nodes }),
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    let nodes: Vec<&NodePlace> = frame.topology.cpu_nodes().collect();
    if nodes.len() < 2 {
        return;
    }
    let cpus: Vec<(u32, usize)> = nodes.iter().map(|node| (node.id, online(frame, node))).collect();
    let uneven = cpus.iter().any(|(_, count)| Some(*count) != cpus.first().map(|first| first.1));
    let offline = IdSet::from_ids(frame.topology.cpus.iter().filter(|cpu| !cpu.online).map(|cpu| cpu.id));
    if nodes.iter().all(|node| !node.has_memory) {
        context.unchecked(Subject::Host, &text::MEMORY_UNREAD, "/sys/devices/system/node/node*/meminfo");
        return;
    }
    let bare: Vec<u32> = nodes.iter().filter(|node| !node.has_memory).map(|node| node.id).collect();
    let sizes: Vec<(u32, f64)> = nodes
        .iter()
        .filter(|node| node.has_memory)
        .filter_map(|node| Some((node.id, frame_memory(frame, node)? as f64)))
        .collect();
    let largest = sizes.iter().map(|(_, size)| *size).fold(0.0, f64::max);
    let smallest = sizes.iter().map(|(_, size)| *size).fold(f64::MAX, f64::min);
    let lopsided = sizes.len() > 1 && smallest < largest * (1.0 - context.limit(&MEMORY));
    let mut differences = Vec::new();
    if uneven {
        let cpus = parts::list(cpus.iter().map(|(node, count)| format!("n{node} {count}")), 16);
        differences.push(text::Cpus { cpus: &cpus }.to_string());
        if !offline.is_empty() {
            differences.push(text::Offline { cpus: &offline }.to_string());
        }
    }
    if lopsided {
        let sizes = sizes.iter().map(|(node, size)| format!("n{node} {}", parts::bytes(Some(*size))));
        differences.push(text::Memory { sizes: &parts::list(sizes, 16) }.to_string());
    }
    if !bare.is_empty() {
        differences.push(text::NoMemory { nodes: &parts::list(bare, 16) }.to_string());
    }
    if differences.is_empty() {
        return;
    }
    let hit = Hit::new(Subject::Host, 0.9)
        .severity(Severity::Info)
        .text(evidence::NODES, differences.join("; "), "/sys/devices/system/node")
        .some_text(evidence::OFFLINE, offline.to_string(), "/sys/devices/system/cpu/online");
    context.hit(hit);
}

fn online(frame: &Frame, node: &NodePlace) -> usize {
    node.cpus.intersection(&frame.topology.cpus_online).len() as usize
}

fn frame_memory(frame: &Frame, node: &NodePlace) -> Option<u64> {
    frame.node(node.id).and_then(|node| node.memory_total_bytes.value()).or(node.memory_total_bytes.value())
}

fn title(finding: &Finding) -> String {
    text::Title { differences: &finding.text(evidence::NODES) }.to_string()
}
