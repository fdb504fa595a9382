//! NUMA-07: the kernel reclaims on a full node before it allocates on another one.

use super::{Finding, Hit, Input, Pace, Preflight, Rule, RuleContext, RuleId, Severity, Subject, Threshold, preflight};
use crate::bottleneck::ResourceKind;
use crate::locale::evidence;
use crate::locale::rule::zone_reclaim as text;
use std::sync::Arc;

/// Its id.
pub const ID: RuleId = RuleId::new("NUMA-07");
pub(crate) const SCANNED: Threshold = ID.threshold(text::threshold::SCANNED, 100.0, "1/s");
pub(crate) const RECLAIMS: Threshold = ID.threshold(text::threshold::RECLAIMS, 10.0, "1/s");
pub(crate) const OTHERS: Threshold = ID.threshold(text::threshold::OTHERS, 0.25, "fraction");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Remote],
    needs_load: true,
    reads: &[Input::Nodes],
    sources: &["/proc/sys/vm/zone_reclaim_mode", "/proc/vmstat zone_reclaim_*", "node*/vmstat"],
    thresholds: &[SCANNED, RECLAIMS, OTHERS],
    references: &["Documentation/admin-guide/sysctl/vm.rst"],
    pace: Pace { at_once: true, ..Pace::QUICK },
    preflight: Some(Preflight { name: text::PREFLIGHT, says: preflight::zone_reclaim }),
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    if frame.topology.nodes.iter().filter(|node| node.has_memory).count() < 2 {
        return;
    }
    let Some((_, mode)) = frame.sysctls.iter().find(|(name, _)| &**name == "vm.zone_reclaim_mode") else {
        context.unchecked(Subject::Host, &text::UNREAD, "CONFIG_NUMA");
        return;
    };
    if &**mode == "0" {
        return;
    }
    let free = |node: &crate::frame::Node| {
        Some(
            node.memory_free_bytes.value()? as f64 / node.memory_total_bytes.value().filter(|total| *total > 0)? as f64,
        )
    };
    let scanned = frame.nodes.iter().filter_map(|node| node.pgscan_direct_per_second).fold(0.0, f64::max);
    let roomy = frame.nodes.iter().filter_map(free).any(|share| share >= context.limit(&OTHERS));
    // Most kernels count direct reclaim of the machine only, but reclaims for this setting apart.
    let reclaims = frame.memory.zone_reclaims_per_second;
    let many = reclaims.is_some_and(|reclaims| reclaims >= context.limit(&RECLAIMS));
    let hurts = (many || scanned >= context.limit(&SCANNED)) && roomy;
    let hit = Hit::new(Subject::Host, 0.8)
        .severity(if hurts { Severity::Warning } else { Severity::Info })
        .would_hurt()
        .text(evidence::MODE, Arc::clone(mode), "/proc/sys/vm/zone_reclaim_mode")
        .known(evidence::RECLAIMS, reclaims, "1/s", "/proc/vmstat zone_reclaim_*")
        .number(evidence::SCANNED, scanned, "1/s", "node*/vmstat");
    context.hit(hit);
}

fn title(finding: &Finding) -> String {
    text::Title { mode: &finding.text(evidence::MODE) }.to_string()
}
