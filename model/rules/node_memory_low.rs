//! NUMA-04: a NUMA node is out of memory while others have free memory.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts};
use super::{memory_low, numa_misses};
use crate::IdSet;
use crate::bottleneck::ResourceKind;
use crate::frame::Node;
use crate::locale::evidence;
use crate::locale::rule::node_memory_low as text;

/// Its id.
pub const ID: RuleId = RuleId::new("NUMA-04");
pub(crate) const FOREIGN: Threshold = ID.threshold(text::threshold::FOREIGN, 100.0, "1/s");
pub(crate) const SCANNED: Threshold = ID.threshold(text::threshold::SCANNED, 100.0, "1/s");
pub(crate) const FREE: Threshold = ID.threshold(text::threshold::FREE, 0.02, "fraction");
pub(crate) const WATERMARK: Threshold = ID.threshold(text::threshold::WATERMARK, 1.5, "");
pub(crate) const OTHERS: Threshold = ID.threshold(text::threshold::OTHERS, 0.25, "fraction");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Remote],
    needs_load: true,
    reads: &[Input::NodeMemory],
    sources: &["node*/meminfo", "node*/numastat", "/proc/zoneinfo"],
    thresholds: &[FOREIGN, SCANNED, FREE, WATERMARK, OTHERS],
    references: &["Documentation/admin-guide/numastat.rst"],
    pace: Pace { enter: 5, ..Pace::USUAL },
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    for node in &frame.nodes {
        let (Some(total), Some(free)) = (node.memory_total_bytes.value(), node.memory_free_bytes.value()) else {
            continue;
        };
        if total == 0 {
            continue;
        }
        let (total, free) = (total as f64, free as f64);
        let low = node.low_watermark_bytes.value().unwrap_or(0) as f64 * context.limit(&WATERMARK);
        let foreign = node.numa_foreign_per_second.unwrap_or(0.0);
        let scanned = node.pgscan_direct_per_second.unwrap_or(0.0);
        let falls_back = foreign >= context.limit(&FOREIGN) || scanned >= context.limit(&SCANNED);
        let share = |node: &Node| {
            Some(
                node.memory_free_bytes.value()? as f64
                    / node.memory_total_bytes.value().filter(|total| *total > 0)? as f64,
            )
        };
        let roomy =
            frame.nodes.iter().filter(|other| other.id != node.id).filter_map(|other| Some((other.id, share(other)?)));
        let Some((helper, room)) = roomy.max_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
        if free >= low.max(context.limit(&FREE) * total) || !falls_back || room < context.limit(&OTHERS) {
            continue;
        }
        let bound = frame
            .processes
            .iter()
            .filter(|process| process.policy.starts_with("bind") && policy_nodes(&process.policy).contains(node.id));
        let names: Vec<String> = bound.map(|process| format!("{} ({})", process.comm, process.pid)).collect();
        let hit = Hit::new(Subject::Node(node.id), 0.8)
            .covers(memory_low::ID, Subject::Host)
            .severity(if names.is_empty() { Severity::Warning } else { Severity::Critical })
            .number(evidence::FREE, free, "bytes", "node*/meminfo")
            .number(evidence::TOTAL, total, "bytes", "node*/meminfo")
            .number(evidence::NUMA_FOREIGN, foreign, "1/s", "node*/numastat")
            .number(evidence::SCANNED, scanned, "1/s", "node*/vmstat")
            .number(evidence::FALLBACK_NODE, f64::from(helper), "", "node*/meminfo")
            .number(evidence::FALLBACK_FREE, room, "fraction", "node*/meminfo")
            .text(evidence::BOUND, parts::list(names, 4), "numa_maps")
            .covers(numa_misses::ID, Subject::Host);
        context.hit(hit);
    }
}

/// The nodes that a policy names: `bind:3`, `bind=static:0-1`.
pub(super) fn policy_nodes(policy: &str) -> IdSet {
    policy.rsplit(':').next().and_then(IdSet::parse_list).unwrap_or_default()
}

fn title(finding: &Finding) -> String {
    text::Title {
        subject: &finding.subject.named(),
        free: &parts::bytes(finding.number(evidence::FREE)),
        total: &parts::bytes(finding.number(evidence::TOTAL)),
        foreign: &parts::count(finding.number(evidence::NUMA_FOREIGN)),
        helper: &parts::count(finding.number(evidence::FALLBACK_NODE)),
        room: &parts::percent(finding.number(evidence::FALLBACK_FREE)),
    }
    .to_string()
}
