//! NUMA-05: many pages come from other nodes than they were wanted on.

use super::{Finding, Hit, Input, Look, Pace, Rule, Severity, Subject, Threshold, parts};

pub(super) const RULE: Rule = Rule {
    id: "NUMA-05",
    name: "pages are given on other nodes than wanted",
    why: "numa_miss counts pages that a node gave because the one that was wanted had none. Each of them is remote for as long as it lives.",
    reads: &[Input::Nodes, Input::NodeMemory],
    looks_at: &["node*/numastat"],
    thresholds: &[
        Threshold { name: "share", value: 0.01, unit: "fraction", about: "misses among all pages given" },
        Threshold { name: "rate", value: 1000.0, unit: "1/s", about: "misses of all nodes" },
        Threshold { name: "exit", value: 500.0, unit: "1/s", about: "over below this" },
        Threshold { name: "warning", value: 0.1, unit: "fraction", about: "share of misses that costs more than telling is worth" },
    ],
    guards: &["one node with memory", "pages that were asked for elsewhere on purpose, as by interleaving: they are no misses"],
    advice: &["Find the node that lacks memory (numa_foreign counts there) and what fills it", "Spread instances so that each fits its node: numactl --cpunodebind=N --membind=N"],
    references: &["Documentation/admin-guide/numastat.rst"],
    pace: Pace::USUAL,
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    if frame.topology.nodes.iter().filter(|node| node.has_memory).count() < 2 {
        return;
    }
    let (mut hits, mut misses, mut other) = (0.0, 0.0, 0.0);
    let mut short: Option<(u32, f64)> = None;
    for node in &frame.nodes {
        let Some(missed) = node.numa_miss_per_second else {
            look.unchecked(Subject::Node(node.id), "pages given are not counted", "CONFIG_NUMA");
            continue;
        };
        misses += missed;
        hits += node.numa_hit_per_second.unwrap_or(0.0);
        other += node.other_node_per_second.unwrap_or(0.0);
        let foreign = node.numa_foreign_per_second.unwrap_or(0.0);
        if foreign > 0.0 && short.is_none_or(|(_, most)| foreign > most) {
            short = Some((node.id, foreign));
        }
    }
    let share = misses / (hits + misses).max(1.0);
    if misses < look.limit("exit") || share < look.limit("share") / 2.0 {
        return;
    }
    let costs = look.is_loaded() && share >= look.limit("warning");
    let mut hit = Hit::new(Subject::Host, 0.6)
        .enters(misses >= look.limit("rate") && share >= look.limit("share"))
        .severity(if costs { Severity::Warning } else { Severity::Info })
        .number("misses", misses, "1/s", "node*/numastat")
        .number("share", share, "fraction", "node*/numastat")
        .number("other_node", other, "1/s", "node*/numastat");
    if let Some((node, foreign)) = short {
        hit = hit.number("node", f64::from(node), "", "node*/numastat").number("foreign", foreign, "1/s", "node*/numastat");
    }
    look.hit(hit);
}

fn title(finding: &Finding) -> String {
    let (misses, share) = (parts::count(finding.number("misses")), parts::percent(finding.number("share")));
    match finding.number("node") {
        Some(node) => format!("{misses} pages/s ({share}) come from other nodes than wanted; node {node:.0} lacks memory"),
        None => format!("{misses} pages/s ({share}) come from other nodes than wanted"),
    }
}
