//! NUMA-07: the kernel reclaims on a node before it takes memory of another.

use super::{Finding, Hit, Input, Look, Pace, Preflight, Rule, Severity, Subject, Threshold, before};
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "NUMA-07",
    name: "zone_reclaim_mode is on",
    why: "With vm.zone_reclaim_mode set, a full node throws out page cache, or writes and swaps, while the next node is free. File servers and databases stall on it.",
    reads: &[Input::Nodes],
    looks_at: &["/proc/sys/vm/zone_reclaim_mode", "node*/vmstat"],
    thresholds: &[
        Threshold { name: "scanned", value: 100.0, unit: "1/s", about: "pages scanned on a node by allocating tasks" },
        Threshold { name: "others", value: 0.25, unit: "fraction", about: "free on another node, at least" },
    ],
    guards: &["set and without effect it is only told"],
    advice: &["sysctl -w vm.zone_reclaim_mode=0"],
    references: &["Documentation/admin-guide/sysctl/vm.rst"],
    pace: Pace { at_once: true, ..Pace::QUICK },
    preflight: Some(Preflight { name: "zone_reclaim_mode", says: before::zone_reclaim }),
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    if frame.topology.nodes.iter().filter(|node| node.has_memory).count() < 2 {
        return;
    }
    let Some((_, mode)) = frame.sysctls.iter().find(|(name, _)| &**name == "vm.zone_reclaim_mode") else {
        look.unchecked(Subject::Host, "vm.zone_reclaim_mode could not be read", "CONFIG_NUMA");
        return;
    };
    if &**mode == "0" {
        return;
    }
    let free = |node: &crate::frame::Node| Some(node.memory_free_bytes.value()? as f64 / node.memory_total_bytes.value().filter(|total| *total > 0)? as f64);
    let scanned = frame.nodes.iter().filter_map(|node| node.pgscan_direct_per_second).fold(0.0, f64::max);
    let roomy = frame.nodes.iter().filter_map(free).any(|share| share >= look.limit("others"));
    let hurts = scanned >= look.limit("scanned") && roomy;
    let hit = Hit::new(Subject::Host, 0.8)
        .severity(if hurts { Severity::Warning } else { Severity::Info })
        .would_hurt()
        .text("mode", Arc::clone(mode), "/proc/sys/vm/zone_reclaim_mode")
        .number("scanned", scanned, "1/s", "node*/vmstat");
    look.hit(hit);
}

fn title(finding: &Finding) -> String {
    format!("vm.zone_reclaim_mode is {}: nodes reclaim before they take memory of others", finding.text("mode"))
}
