//! IRQ-04: an interface hands its packets to CPUs of another node.

use super::{Finding, Hit, Input, Look, Pace, Rule, Severity, Subject, Threshold, parts};
use crate::Known;
use crate::frame::{Frame, Nic};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "IRQ-04",
    name: "an interface interrupts CPUs of another node",
    why: "A card is attached to one node. Packets that CPUs of another node receive cross the link between the nodes, and the memory that the card writes to is remote to whoever reads it.",
    reads: &[Input::Nics, Input::Queues, Input::Irqs, Input::Nodes],
    looks_at: &[
        "/sys/class/net/NIC/device/numa_node",
        "/proc/irq/N/effective_affinity_list",
        "ethtool -S",
        "/proc/net/dev",
    ],
    thresholds: &[
        Threshold { name: "remote", value: 0.8, unit: "fraction", about: "of what it receives, taken on other nodes" },
        Threshold { name: "exit", value: 0.5, unit: "fraction", about: "over below this" },
        Threshold { name: "packets", value: 50_000.0, unit: "1/s", about: "packets received, at least" },
        Threshold { name: "bytes", value: 125e6, unit: "bytes/s", about: "or bytes received, at least" },
        Threshold { name: "consumer", value: 0.2, unit: "cores", about: "used by a process that counts as a consumer" },
    ],
    guards: &[
        "a card that does not tell its node: virtual ones do not",
        "one node with CPUs",
        "little traffic",
        "a consumer that is bound to the other node: either way crosses the link, so it is only told",
    ],
    advice: &[
        "Move the interrupts to the card's node: echo CPUS > /proc/irq/N/smp_affinity_list, with CPUS of /sys/class/net/NIC/device/local_cpulist",
        "Or run the consumer on the card's node and move both",
    ],
    references: &["Documentation/core-api/irq/irq-affinity.rst", "Documentation/networking/scaling.rst"],
    pace: Pace::USUAL,
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    if frame.topology.cpu_nodes().count() < 2 {
        return;
    }
    for nic in frame.nics.iter().filter(|nic| parts::is_physical(nic)) {
        let subject = Subject::Nic(Arc::clone(&nic.name));
        let of = |rate: Option<f64>, limit| rate.unwrap_or(0.0) / look.limit(limit);
        let load = of(nic.rx.packets_per_second, "packets").max(of(nic.rx.bytes_per_second, "bytes"));
        if load < 0.5 {
            continue;
        }
        let node = match nic.node {
            Known::Value(node) => node,
            Known::None => continue,
            Known::Missing => {
                look.unchecked(subject, "the node of its device could not be read", "/sys/class/net/NIC/device/numa_node");
                continue;
            }
        };
        if frame.topology.node(node).is_none_or(|place| !place.has_cpus) {
            continue;
        }
        let Some(shares) = shares(nic) else {
            look.unchecked(subject, "where its interrupts go could not be read", "/proc/irq/N/effective_affinity_list");
            continue;
        };
        let remote: f64 = shares.iter().filter(|(other, _)| **other != node).map(|(_, share)| share).sum();
        if remote < look.limit("exit") {
            continue;
        }
        let bound = bound_elsewhere(look, frame, node);
        let by_node = shares.iter().map(|(node, share)| format!("node {node} {}", parts::percent(Some(*share))));
        let local = frame.topology.node(node).map(|place| place.cpus.to_string()).unwrap_or_default();
        let severity = if bound.is_empty() { Severity::Warning } else { Severity::Info };
        let mut hit = Hit::new(subject, 0.6)
            .enters(remote >= look.limit("remote") && load >= 1.0)
            .severity(severity)
            .number("node", f64::from(node), "", "/sys/class/net/NIC/device/numa_node")
            .number("remote", remote, "fraction", "/proc/irq/N/effective_affinity_list")
            .text("received_on", parts::list(by_node, 8), "/proc/irq/N/effective_affinity_list")
            .text("local_cpus", local, "/sys/class/net/NIC/device/local_cpulist")
            .known("packets", nic.rx.packets_per_second, "1/s", "/proc/net/dev")
            .known("received", nic.rx.bytes_per_second, "bytes/s", "/proc/net/dev");
        if !bound.is_empty() {
            hit = hit.text("bound_elsewhere", parts::list(bound, 4), "/proc/PID/status");
        }
        look.hit(hit);
    }
}

/// What part of its packets an interface hands to CPUs of each node: by packets where the driver counts them for every
/// queue, else by the softirq share of the CPUs that serve them, else each queue alike.
fn shares(nic: &Nic) -> Option<BTreeMap<u32, f64>> {
    let receiving: Vec<_> = nic.queues.iter().filter(|queue| &*queue.direction != "tx").collect();
    let all = |of: fn(&crate::frame::Queue) -> Option<f64>| {
        let weights: Option<Vec<f64>> = receiving.iter().map(|queue| of(queue)).collect();
        weights.filter(|weights| weights.iter().sum::<f64>() > 0.0)
    };
    let weights = all(|queue| queue.packets_per_second)
        .or_else(|| all(|queue| queue.softirq))
        .unwrap_or_else(|| vec![1.0; receiving.len()]);
    let whole: f64 = weights.iter().sum();
    let mut shares = BTreeMap::new();
    for (queue, weight) in receiving.iter().zip(&weights).filter(|(_, weight)| **weight > 0.0) {
        *shares.entry(queue.node.value()?).or_default() += weight / whole;
    }
    (!shares.is_empty()).then_some(shares)
}

/// Processes that work and may not run on a node.
fn bound_elsewhere(look: &Look<'_>, frame: &Frame, node: u32) -> Vec<String> {
    let Some(place) = frame.topology.node(node) else { return Vec::new() };
    let works = frame.processes.iter().filter(|process| {
        !process.kernel && process.cpu_cores.is_some_and(|cores| cores >= look.limit("consumer"))
    });
    let elsewhere = works.filter(|process| {
        process.affinity.as_deref().is_some_and(|cpus| !cpus.is_empty() && cpus.intersection(&place.cpus).is_empty())
    });
    elsewhere.map(|process| format!("{} ({})", process.comm, process.pid)).collect()
}

fn title(finding: &Finding) -> String {
    let (remote, node) = (parts::percent(finding.number("remote")), parts::count(finding.number("node")));
    format!("{} is on node {node}, and other nodes receive {remote} of its packets", finding.subject)
}
