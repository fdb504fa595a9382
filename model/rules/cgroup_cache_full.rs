//! MEM-11: page cache fills a control group to its limit, without harm so far.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts};
use super::{cgroup_reclaim_stalls, cgroup_unreclaimable};
use crate::locale::evidence;
use crate::locale::rule::cgroup_cache_full as text;
use std::sync::Arc;

/// Its id.
pub const ID: RuleId = RuleId::new("MEM-11");
pub(crate) const FULL: Threshold = ID.threshold(text::threshold::FULL, 0.97, "fraction");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 0.93, "fraction");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    reads: &[Input::Cgroups],
    sources: &["memory.current", "memory.max", "memory.high", "memory.stat"],
    thresholds: &[FULL, EXIT],
    references: &["Documentation/admin-guide/cgroup-v2.rst"],
    pace: Pace::USUAL,
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    for cgroup in &context.frame().cgroups {
        let Some(memory) = &cgroup.memory else { continue };
        let (Some(current), Some(bound)) = (memory.current_bytes.value(), parts::bound(memory)) else { continue };
        let full = current as f64 / bound.bytes as f64;
        let subject = Subject::Cgroup(Arc::clone(&cgroup.path));
        // Where reclaim stalls it, or nobody can tell, MEM-02 says so; where little can be reclaimed, MEM-01.
        let stalls = cgroup_reclaim_stalls::pain(context, cgroup, memory).is_none_or(|pain| pain >= 1.0)
            || context.is_open_at(cgroup_reclaim_stalls::ID, &subject);
        let Some(stuck) = parts::stuck_bytes(memory) else { continue };
        let share = stuck as f64 / bound.bytes as f64;
        if full < context.limit(&EXIT) || stalls || share >= context.limit(&cgroup_unreclaimable::EXIT) {
            continue;
        }
        let cache = memory.reclaimable_bytes.value().map(|bytes| bytes as f64);
        let hit = Hit::new(subject, 0.9)
            .enters(full >= context.limit(&FULL))
            .severity(Severity::Info)
            .number(evidence::FULL, full, "fraction", "memory.current")
            .number(evidence::LIMIT, bound.bytes as f64, "bytes", bound.file)
            .known(evidence::RECLAIMABLE, cache, "bytes", "memory.stat")
            .number(evidence::UNRECLAIMABLE, share, "fraction", "memory.stat")
            .known(evidence::AT_LIMIT, memory.events_max_per_second, "1/s", "memory.events max");
        context.hit(hit);
    }
}

fn title(finding: &Finding) -> String {
    text::Title {
        subject: &finding.subject.named(),
        full: &parts::percent(finding.number(evidence::FULL)),
        limit: &parts::bytes(finding.number(evidence::LIMIT)),
        cache: &parts::bytes(finding.number(evidence::RECLAIMABLE)),
    }
    .to_string()
}
