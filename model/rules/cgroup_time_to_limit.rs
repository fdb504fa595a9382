//! MEM-03: a control group grows towards its memory limit.

use super::cgroup_unreclaimable;
use super::{
    Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts, reclaim, series,
};
use crate::bottleneck::ResourceKind;
use crate::locale::evidence;
use crate::locale::rule::cgroup_time_to_limit as text;
use crate::trend::{self, Trend};
use std::sync::Arc;

/// Its id.
pub const ID: RuleId = RuleId::new("MEM-03");
pub(crate) const SECONDS: Threshold = ID.threshold(text::threshold::SECONDS, 600.0, "s");
pub(crate) const CRITICAL: Threshold = ID.threshold(text::threshold::CRITICAL, 120.0, "s");
pub(crate) const SAMPLES: Threshold = ID.threshold(text::threshold::SAMPLES, 15.0, "");
pub(crate) const CORRELATION: Threshold = ID.threshold(text::threshold::CORRELATION, 0.9, "");
pub(crate) const SLOPE: Threshold = ID.threshold(text::threshold::SLOPE, 0.001, "1/s");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Memory],
    reads: &[Input::Cgroups],
    sources: &["memory.stat", "memory.max"],
    thresholds: &[SECONDS, CRITICAL, SAMPLES, CORRELATION, SLOPE],
    references: &["Documentation/admin-guide/cgroup-v2.rst"],
    pace: Pace { enter: 3, of: 5, exit: 5, latch_seconds: 0, warm_up: 17, at_once: false },
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    for cgroup in context.frame().cgroups.iter().filter(|cgroup| parts::has_own_limit(cgroup)) {
        let subject = Subject::Cgroup(Arc::clone(&cgroup.path));
        let Some(memory) = &cgroup.memory else { continue };
        let (Some(used), Some(limit)) = (parts::stuck_bytes(memory), memory.limit_bytes.value()) else { continue };
        let (used, limit) = (used as f64, limit as f64);
        // Only recent samples: an earlier pause or jump must not hide steady growth.
        let series = context.remember_newest(&subject, used, MOST);
        if used >= limit {
            continue;
        }
        let least = context.limit(&SLOPE) * limit;
        if !may_grow(&series, least) {
            continue;
        }
        let newest = series.last().map_or(0.0, |point| point.0);
        let recent = series.partition_point(|point| point.0 < newest - trend::SECONDS);
        let Some(trend) = series.get(recent..).and_then(Trend::of) else { continue };
        let slope = trend.growth;
        let seconds = (limit - used) / slope;
        let steady = slope >= least && series::rank_correlation(&series) >= context.limit(&CORRELATION);
        if !steady || seconds > context.limit(&SECONDS) {
            continue;
        }
        let severity = if seconds <= context.limit(&CRITICAL) { Severity::Critical } else { Severity::Warning };
        let missing = context.limit(&SAMPLES) - series.len() as f64;
        if missing > 0.0 {
            context.gathers(missing.ceil() as u64 + u64::from(context.pace().enter) - 1, severity);
            continue;
        }
        let hit = Hit::new(subject.clone(), 0.8)
            .severity(severity)
            .number(evidence::SECONDS, seconds, "s", "memory.stat")
            .number(evidence::SECONDS_LOW, trend.range(limit - used).0, "s", "memory.stat")
            .known(evidence::SECONDS_HIGH, trend.range(limit - used).1, "s", "memory.stat")
            .number(evidence::GROWTH, slope, "bytes/s", "memory.stat")
            .number(evidence::USED, used, "bytes", "memory.stat")
            .number(evidence::LIMIT, limit, "bytes", "memory.max")
            .covers(cgroup_unreclaimable::ID, subject);
        let hit = reclaim::java_memory(hit, context.frame(), cgroup);
        context.hit(hit);
    }
}

/// Maximum samples of the trend.
const MOST: usize = 60;

/// False if the means of the first and the last third are too close for steady growth: a cheap test that decides for
/// nearly every control group.
fn may_grow(series: &[(f64, f64)], least: f64) -> bool {
    let third = series.len() / 3;
    let mean = |part: &[(f64, f64)]| {
        let sum = part.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
        (sum.0 / part.len() as f64, sum.1 / part.len() as f64)
    };
    let (Some(first), Some(last)) = (series.get(..third), series.get(series.len() - third..)) else { return false };
    if first.is_empty() {
        return true;
    }
    let (first, last) = (mean(first), mean(last));
    last.1 - first.1 >= least / 2.0 * (last.0 - first.0)
}

fn title(finding: &Finding) -> String {
    text::Title {
        subject: &finding.subject.named(),
        growth: &parts::bytes(finding.number(evidence::GROWTH)),
        limit: &parts::bytes(finding.number(evidence::LIMIT)),
        seconds: &parts::count(finding.number(evidence::SECONDS).map(f64::round)),
    }
    .to_string()
}
