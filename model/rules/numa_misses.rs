//! NUMA-05: many pages are allocated on another node than intended.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts};
use crate::bottleneck::ResourceKind;
use crate::locale::evidence;
use crate::locale::rule::numa_misses as text;

/// Its id.
pub const ID: RuleId = RuleId::new("NUMA-05");
pub(crate) const SHARE: Threshold = ID.threshold(text::threshold::SHARE, 0.01, "fraction");
pub(crate) const RATE: Threshold = ID.threshold(text::threshold::RATE, 1000.0, "1/s");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 500.0, "1/s");
pub(crate) const WARNING: Threshold = ID.threshold(text::threshold::WARNING, 0.1, "fraction");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Remote],
    needs_load: true,
    reads: &[Input::Nodes, Input::NodeMemory],
    sources: &["node*/numastat"],
    thresholds: &[SHARE, RATE, EXIT, WARNING],
    references: &["Documentation/admin-guide/numastat.rst"],
    pace: Pace::USUAL,
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    if frame.topology.nodes.iter().filter(|node| node.has_memory).count() < 2 {
        return;
    }
    let (mut hits, mut misses, mut other) = (0.0, 0.0, 0.0);
    let mut short: Option<(u32, f64)> = None;
    for node in &frame.nodes {
        let Some(missed) = node.numa_miss_per_second else {
            context.unchecked(Subject::Node(node.id), &text::UNCOUNTED, "CONFIG_NUMA");
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
    if misses < context.limit(&EXIT) || share < context.limit(&SHARE) / 2.0 {
        return;
    }
    let costs = context.is_loaded() && share >= context.limit(&WARNING);
    let mut hit = Hit::new(Subject::Host, 0.6)
        .enters(misses >= context.limit(&RATE) && share >= context.limit(&SHARE))
        .severity(if costs { Severity::Warning } else { Severity::Info })
        .number(evidence::MISSES, misses, "1/s", "node*/numastat")
        .number(evidence::SHARE, share, "fraction", "node*/numastat")
        .number(evidence::OTHER_NODE, other, "1/s", "node*/numastat");
    if let Some((node, foreign)) = short {
        hit = hit.number(evidence::NODE, f64::from(node), "", "node*/numastat").number(
            evidence::NUMA_FOREIGN,
            foreign,
            "1/s",
            "node*/numastat",
        );
    }
    context.hit(hit);
}

fn title(finding: &Finding) -> String {
    let misses = &parts::count(finding.number(evidence::MISSES));
    let share = &parts::percent(finding.number(evidence::SHARE));
    match &finding.number(evidence::NODE) {
        Some(node) => text::TitleNode { misses, share, node }.to_string(),
        None => text::Title { misses, share }.to_string(),
    }
}
