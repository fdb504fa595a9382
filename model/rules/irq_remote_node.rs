//! IRQ-04: CPUs of a remote node receive the packets of an interface.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, memory_spread, parts};
use crate::Known;
use crate::bottleneck::ResourceKind;
use crate::frame::{Frame, Nic};
use crate::locale::evidence;
use crate::locale::rule::irq_remote_node as text;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The id of the rule.
pub const ID: RuleId = RuleId::new("IRQ-04");
pub(crate) const REMOTE: Threshold = ID.threshold(text::threshold::REMOTE, 0.8, "fraction");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 0.5, "fraction");
pub(crate) const PACKETS: Threshold = ID.threshold(text::threshold::PACKETS, 50_000.0, "1/s");
pub(crate) const BYTES: Threshold = ID.threshold(text::threshold::BYTES, 125e6, "bytes/s");
pub(crate) const CONSUMER: Threshold = ID.threshold(text::threshold::CONSUMER, 0.2, "cores");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Softirq],
    needs_load: true,
    reads: &[Input::Nics, Input::Queues, Input::Irqs, Input::Nodes],
    sources: &[
        "/sys/class/net/NIC/device/numa_node",
        "/proc/irq/N/effective_affinity_list",
        "ethtool -S",
        "/proc/net/dev",
    ],
    thresholds: &[REMOTE, EXIT, PACKETS, BYTES, CONSUMER],
    references: &["Documentation/core-api/irq/irq-affinity.rst", "Documentation/networking/scaling.rst"],
    pace: Pace::USUAL,
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    if frame.topology.cpu_nodes().count() < 2 {
        return;
    }
    for nic in frame.nics.iter().filter(|nic| parts::is_physical(nic)) {
        let subject = Subject::Nic(Arc::clone(&nic.name));
        let ratio = |rate: Option<f64>, limit| rate.unwrap_or(0.0) / context.limit(limit);
        let load = ratio(nic.rx.packets_per_second, &PACKETS).max(ratio(nic.rx.bytes_per_second, &BYTES));
        if load < 0.5 {
            continue;
        }
        let node = match nic.node {
            Known::Value(node) => node,
            Known::None => continue,
            Known::Missing => {
                context.unchecked(subject, &text::UNCHECKED_NODE, "/sys/class/net/NIC/device/numa_node");
                continue;
            }
        };
        if frame.topology.node(node).is_none_or(|place| !place.has_cpus) {
            continue;
        }
        let Some(shares) = shares(nic) else {
            context.unchecked(subject, &text::UNCHECKED_IRQS, "/proc/irq/N/effective_affinity_list");
            continue;
        };
        let remote: f64 = shares.iter().filter(|(other, _)| **other != node).map(|(_, share)| share).sum();
        if remote < context.limit(&EXIT) {
            continue;
        }
        let bound = bound_elsewhere(context, frame, node);
        let by_node = shares.iter().map(|(node, share)| format!("node {node} {}", parts::percent(Some(*share))));
        let local = frame.topology.node(node).map(|place| place.cpus.to_string()).unwrap_or_default();
        let far = shares.keys().filter_map(|other| frame.topology.distance(node, *other)).max();
        // Halves of one package are no long way apart.
        let near = far.is_some_and(|far| f64::from(far) <= memory_spread::DISTANCE.value);
        let severity = if bound.is_empty() && !near { Severity::Warning } else { Severity::Info };
        let mut hit = Hit::new(subject, 0.6)
            .enters(remote >= context.limit(&REMOTE) && load >= 1.0)
            .severity(severity)
            .number(evidence::NODE, f64::from(node), "", "/sys/class/net/NIC/device/numa_node")
            .number(evidence::REMOTE, remote, "fraction", "/proc/irq/N/effective_affinity_list")
            .text(evidence::RECEIVED_ON, parts::list(by_node, 8), "/proc/irq/N/effective_affinity_list")
            .text(evidence::LOCAL_CPUS, local, "/sys/class/net/NIC/device/local_cpulist")
            .known(evidence::PACKETS, nic.rx.packets_per_second, "1/s", "/proc/net/dev")
            .known(evidence::RECEIVED, nic.rx.bytes_per_second, "bytes/s", "/proc/net/dev");
        if !bound.is_empty() {
            hit = hit.text(evidence::BOUND_ELSEWHERE, parts::list(bound, 4), "/proc/PID/status");
        }
        context.hit(hit);
    }
}

/// The share of packets that each node receives, weighted by packets where the driver counts them per queue, else by
/// the softirq share of the serving CPUs, else equally per queue.
fn shares(nic: &Nic) -> Option<BTreeMap<u32, f64>> {
    let receiving: Vec<_> = nic.queues.iter().filter(|queue| &*queue.direction != "tx").collect();
    let weigh = |weight: fn(&crate::frame::Queue) -> Option<f64>| {
        let weights: Option<Vec<f64>> = receiving.iter().map(|queue| weight(queue)).collect();
        weights.filter(|weights| weights.iter().sum::<f64>() > 0.0)
    };
    let weights = weigh(|queue| queue.packets_per_second)
        .or_else(|| weigh(|queue| queue.softirq))
        .unwrap_or_else(|| vec![1.0; receiving.len()]);
    let total: f64 = weights.iter().sum();
    let mut shares = BTreeMap::new();
    for (queue, weight) in receiving.iter().zip(&weights).filter(|(_, weight)| **weight > 0.0) {
        *shares.entry(queue.node.value()?).or_default() += weight / total;
    }
    (!shares.is_empty()).then_some(shares)
}

/// Busy processes that may not run on a node.
fn bound_elsewhere(context: &RuleContext<'_>, frame: &Frame, node: u32) -> Vec<String> {
    let Some(place) = frame.topology.node(node) else { return Vec::new() };
    let busy = frame
        .processes
        .iter()
        .filter(|process| !process.kernel && process.cpu_cores.is_some_and(|cores| cores >= context.limit(&CONSUMER)));
    let elsewhere = busy.filter(|process| {
        process.affinity.as_deref().is_some_and(|cpus| !cpus.is_empty() && cpus.intersection(&place.cpus).is_empty())
    });
    elsewhere.map(|process| format!("{} ({})", process.comm, process.pid)).collect()
}

fn title(finding: &Finding) -> String {
    text::Title {
        subject: &finding.subject.named(),
        node: &parts::count(finding.number(evidence::NODE)),
        remote: &parts::percent(finding.number(evidence::REMOTE)),
    }
    .to_string()
}
