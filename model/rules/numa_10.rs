//! NUMA-10: the nodes of the machine are not alike.

use super::{Finding, Hit, Input, Look, Pace, Preflight, Rule, Severity, Subject, Threshold, before, parts};
use crate::IdSet;
use crate::frame::{Frame, NodePlace};

pub(super) const RULE: Rule = Rule {
    id: "NUMA-10",
    name: "the nodes are not alike",
    why: "Plans count on nodes that are the same: as many CPUs and as much memory in each. An offline CPU, a node without memory or a missing module makes one instance slower than the others, and every figure per node misleads.",
    reads: &[Input::Nodes],
    looks_at: &["/sys/devices/system/node/node*/cpulist", "/sys/devices/system/node/node*/meminfo", "/sys/devices/system/cpu/online"],
    thresholds: &[
        Threshold { name: "memory", value: 0.25, unit: "fraction", about: "how much less memory one node has than another" },
    ],
    guards: &["one node", "nodes without CPUs, as CXL and HBM", "CPUs that are offline in every node alike, as with SMT off"],
    advice: &["Size each instance by its own node", "Look for disabled cores and missing memory modules: dmidecode -t memory, the firmware's log"],
    references: &["Documentation/admin-guide/cputopology.rst", "numactl(8), --hardware"],
    pace: Pace::CONFIGURED,
    preflight: Some(Preflight { name: "nodes alike", says: before::nodes }),
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    let nodes: Vec<&NodePlace> = frame.topology.cpu_nodes().collect();
    if nodes.len() < 2 {
        return;
    }
    let cpus: Vec<(u32, usize)> = nodes.iter().map(|node| (node.id, online(frame, node))).collect();
    let uneven = cpus.iter().any(|(_, count)| Some(*count) != cpus.first().map(|first| first.1));
    let offline = IdSet::from_ids(frame.topology.cpus.iter().filter(|cpu| !cpu.online).map(|cpu| cpu.id));
    if nodes.iter().all(|node| !node.has_memory) {
        look.unchecked(Subject::Host, "memory of the nodes could not be read", "/sys/devices/system/node/node*/meminfo");
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
    let lopsided = sizes.len() > 1 && smallest < largest * (1.0 - look.limit("memory"));
    let mut told = Vec::new();
    if uneven {
        told.push(format!("CPUs {}", parts::list(cpus.iter().map(|(node, count)| format!("n{node} {count}")), 16)));
        if !offline.is_empty() {
            told.push(format!("CPUs {offline} are offline"));
        }
    }
    if lopsided {
        let sizes = sizes.iter().map(|(node, size)| format!("n{node} {}", parts::bytes(Some(*size))));
        told.push(format!("memory {}", parts::list(sizes, 16)));
    }
    if !bare.is_empty() {
        told.push(format!("no memory on node {}", parts::list(bare, 16)));
    }
    if told.is_empty() {
        return;
    }
    let hit = Hit::new(Subject::Host, 0.9)
        .severity(Severity::Info)
        .text("nodes", told.join("; "), "/sys/devices/system/node")
        .some_text("offline", offline.to_string(), "/sys/devices/system/cpu/online");
    look.hit(hit);
}

fn online(frame: &Frame, node: &NodePlace) -> usize {
    node.cpus.intersection(&frame.topology.cpus_online).len() as usize
}

fn frame_memory(frame: &Frame, node: &NodePlace) -> Option<u64> {
    frame.node(node.id).and_then(|node| node.memory_total_bytes.value()).or(node.memory_total_bytes.value())
}

fn title(finding: &Finding) -> String {
    format!("the nodes are not alike: {}", finding.text("nodes"))
}
