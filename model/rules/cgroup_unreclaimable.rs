//! MEM-01: a control group is nearly full of unreclaimable memory.

use super::{
    Finding, Hit, Input, Pace, Preflight, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts, preflight,
};
use super::{cgroup_reclaim_stalls, refaults, swapping};
use crate::bottleneck::ResourceKind;
use crate::frame::Frame;
use crate::locale::evidence;
use crate::locale::rule::cgroup_unreclaimable as text;
use std::sync::Arc;

/// Its id.
pub const ID: RuleId = RuleId::new("MEM-01");
pub(crate) const FULL: Threshold = ID.threshold(text::threshold::FULL, 0.85, "fraction");
pub(crate) const CRITICAL: Threshold = ID.threshold(text::threshold::CRITICAL, 0.95, "fraction");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 0.8, "fraction");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Memory],
    reads: &[Input::Cgroups],
    sources: &["memory.current", "memory.max", "memory.stat"],
    thresholds: &[FULL, CRITICAL, EXIT],
    references: &["Documentation/admin-guide/cgroup-v2.rst"],
    pace: Pace::USUAL,
    preflight: Some(Preflight { name: text::PREFLIGHT, says: preflight::memory_limits }),
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    for cgroup in context.frame().cgroups.iter().filter(|cgroup| parts::has_own_limit(cgroup)) {
        let subject = Subject::Cgroup(Arc::clone(&cgroup.path));
        let Some(memory) = &cgroup.memory else { continue };
        let Some(limit) = memory.effective_limit_bytes.value().or(memory.limit_bytes.value()) else { continue };
        let Some(used) = parts::pressing_bytes(context.frame(), memory) else {
            context.unchecked(subject, &text::UNREAD, "memory.stat");
            continue;
        };
        let full = used as f64 / limit.max(1) as f64;
        if full < context.limit(&EXIT) {
            continue;
        }
        let critical = full >= context.limit(&CRITICAL);
        let bytes = |known: crate::Known<u64>| known.value().map(|bytes| bytes as f64);
        let mut hit = Hit::new(subject.clone(), 0.9)
            .enters(full >= context.limit(&FULL))
            .severity(if critical { Severity::Critical } else { Severity::Warning })
            .number(evidence::UNRECLAIMABLE, full, "fraction", "memory.stat")
            .number(evidence::LIMIT, limit as f64, "bytes", "memory.max")
            .known(evidence::ANON, bytes(memory.anon_bytes), "bytes", "memory.stat")
            .known(evidence::SHMEM, bytes(memory.shmem_bytes), "bytes", "memory.stat")
            .known(evidence::DIRTY, bytes(memory.dirty_bytes), "bytes", "memory.stat")
            .known(evidence::SWAP_FREE, swap(context.frame()), "bytes", "/proc/meminfo SwapFree")
            .known(evidence::RECLAIMABLE, bytes(memory.reclaimable_bytes), "bytes", "memory.stat");
        hit = hit.covers(refaults::ID, subject.clone()).covers(cgroup_reclaim_stalls::ID, subject);
        if memory.swap_growth_bytes_per_second.is_some_and(|growth| growth > 0.0) {
            hit = hit.covers(swapping::ID, Subject::Host);
        }
        context.hit(hit);
    }
}

/// Free swap; none on a machine without swap.
fn swap(frame: &Frame) -> Option<f64> {
    frame.memory.swap_total_bytes.value().filter(|total| *total > 0)?;
    frame.memory.swap_free_bytes.value().map(|free| free as f64)
}

fn title(finding: &Finding) -> String {
    text::Title {
        subject: &finding.subject.named(),
        full: &parts::percent(finding.number(evidence::UNRECLAIMABLE)),
        limit: &parts::bytes(finding.number(evidence::LIMIT)),
    }
    .to_string()
}
