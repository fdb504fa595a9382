//! NUMA-04: a node is out of memory while others have plenty.

use super::{Finding, Hit, Input, Look, Pace, Rule, Severity, Subject, Threshold, parts};
use crate::IdSet;
use crate::frame::Node;

pub(super) const RULE: Rule = Rule {
    id: "NUMA-04",
    name: "a node is out of memory while others have plenty",
    why: "What wants memory of a full node gets it from another one, far away, or reclaims and waits; what is bound to it may be killed although the machine has memory.",
    reads: &[Input::NodeMemory],
    looks_at: &["node*/meminfo", "node*/numastat", "/proc/zoneinfo"],
    thresholds: &[
        Threshold { name: "foreign", value: 100.0, unit: "1/s", about: "pages that the node could not give" },
        Threshold { name: "scanned", value: 100.0, unit: "1/s", about: "pages scanned on it by allocating tasks" },
        Threshold { name: "free", value: 0.02, unit: "fraction", about: "of its memory that is free, at most" },
        Threshold { name: "watermark", value: 1.5, unit: "", about: "times the low watermark" },
        Threshold { name: "others", value: 0.25, unit: "fraction", about: "free on another node, at least" },
    ],
    guards: &["page cache that filled a node is normal: somebody must be turned away", "numa_foreign names the node that lacked memory, numa_miss the one that helped"],
    advice: &["Prefer instead of bind: numactl --preferred=N", "Move something off the node: migratepages PID N M"],
    references: &["Documentation/admin-guide/numastat.rst"],
    pace: Pace { enter: 5, ..Pace::USUAL },
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    for node in &frame.nodes {
        let (Some(total), Some(free)) = (node.memory_total_bytes.value(), node.memory_free_bytes.value()) else { continue };
        if total == 0 {
            continue;
        }
        let (total, free) = (total as f64, free as f64);
        let low = node.low_watermark_bytes.value().unwrap_or(0) as f64 * look.limit("watermark");
        let foreign = node.numa_foreign_per_second.unwrap_or(0.0);
        let scanned = node.pgscan_direct_per_second.unwrap_or(0.0);
        let turned_away = foreign >= look.limit("foreign") || scanned >= look.limit("scanned");
        let share = |node: &Node| Some(node.memory_free_bytes.value()? as f64 / node.memory_total_bytes.value().filter(|total| *total > 0)? as f64);
        let roomy = frame.nodes.iter().filter(|other| other.id != node.id).filter_map(|other| Some((other.id, share(other)?)));
        let Some((helper, room)) = roomy.max_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
        if free >= low.max(look.limit("free") * total) || !turned_away || room < look.limit("others") {
            continue;
        }
        let bound = frame.processes.iter().filter(|process| process.policy.starts_with("bind") && policy_nodes(&process.policy).contains(node.id));
        let names: Vec<String> = bound.map(|process| format!("{} ({})", process.comm, process.pid)).collect();
        let hit = Hit::new(Subject::Node(node.id), 0.8)
            .covers("MEM-05", Subject::Host)
            .severity(if names.is_empty() { Severity::Warning } else { Severity::Critical })
            .number("free", free, "bytes", "node*/meminfo")
            .number("total", total, "bytes", "node*/meminfo")
            .number("foreign", foreign, "1/s", "node*/numastat")
            .number("scanned", scanned, "1/s", "node*/vmstat")
            .number("helper", f64::from(helper), "", "node*/meminfo")
            .number("room", room, "fraction", "node*/meminfo")
            .text("bound", parts::list(names, 4), "numa_maps")
            .covers("NUMA-05", Subject::Host);
        look.hit(hit);
    }
}

/// The nodes of a policy's text: `bind:3`, `bind=static:0-1`.
pub(super) fn policy_nodes(policy: &str) -> IdSet {
    policy.rsplit(':').next().and_then(IdSet::parse_list).unwrap_or_default()
}

fn title(finding: &Finding) -> String {
    let (free, total) = (parts::bytes(finding.number("free")), parts::bytes(finding.number("total")));
    let (foreign, room) = (parts::count(finding.number("foreign")), parts::percent(finding.number("room")));
    let helper = parts::count(finding.number("helper"));
    format!("{} has {free} of {total} free and turns away {foreign} pages/s, while node {helper} is {room} free", finding.subject)
}
