//! CPU-05: a cgroup is throttled by its CPU quota.

use super::threads_over_quota;
use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts};
use crate::bottleneck::ResourceKind;
use crate::frame::{CgroupCpu, Frame, Process};
use crate::locale::evidence;
use crate::locale::rule::cpu_throttled as text;
use std::sync::Arc;

/// The id of the rule.
pub const ID: RuleId = RuleId::new("CPU-05");
pub(crate) const THROTTLED: Threshold = ID.threshold(text::threshold::THROTTLED, 0.25, "fraction");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 0.05, "fraction");
pub(crate) const CRITICAL: Threshold = ID.threshold(text::threshold::CRITICAL, 0.75, "fraction");
pub(crate) const PERIODS: Threshold = ID.threshold(text::threshold::PERIODS, 0.5, "fraction");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Quota],
    reads: &[Input::Cgroups],
    sources: &["cpu.stat", "cpu.max"],
    thresholds: &[THROTTLED, EXIT, CRITICAL, PERIODS],
    references: &["Documentation/scheduler/sched-bwc.rst"],
    pace: Pace { enter: 5, ..Pace::USUAL },
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    let least = context.limit(&PERIODS);
    // Sorted by path, as the cgroups are: busy_below searches by path.
    let mut hits: Vec<(&str, Hit)> = Vec::new();
    for cgroup in &frame.cgroups {
        let (Some(ratio), Some(quota)) = (cgroup.cpu.throttled_ratio, cgroup.cpu.quota_cores.value()) else { continue };
        if ratio < context.limit(&EXIT) {
            continue;
        }
        let ran = ran_periods(frame, &cgroup.cpu) >= least;
        let critical = ratio >= context.limit(&CRITICAL);
        let hit = Hit::new(Subject::Cgroup(Arc::clone(&cgroup.path)), 0.9)
            .enters(ran && ratio >= context.limit(&THROTTLED))
            .severity(if critical { Severity::Critical } else { Severity::Warning })
            .number(evidence::THROTTLED, ratio, "fraction", "cpu.stat")
            .number(evidence::QUOTA, quota, "cores", "cpu.max")
            .known(evidence::USAGE, cgroup.cpu.usage_cores, "cores", "cpu.stat")
            .known(
                evidence::PRESSURE,
                cgroup.pressure.cpu.and_then(|stall| stall.some_ratio),
                "fraction",
                "cpu.pressure",
            );
        hits.push((&*cgroup.path, hit));
    }
    for (process, path) in busy_below(context, &hits) {
        // A finding about too many threads is grouped below the quota that throttles them.
        if let Some((_, hit)) = hits.get_mut(path) {
            hit.covers.push((threads_over_quota::ID, Subject::Process(process.pid, process.starttime)));
        }
    }
    for (_, hit) in hits {
        context.hit(hit);
    }
}

/// Default length of a period, in seconds.
const PERIOD: f64 = 0.1;

/// Periods in which a group had something to run, as a share of the periods of the interval; 1 where a single period is
/// longer than the interval.
pub(crate) fn ran_periods(frame: &Frame, cpu: &CgroupCpu) -> f64 {
    let period = cpu.period_seconds.filter(|seconds| *seconds > 0.0).unwrap_or(PERIOD);
    let all = (frame.interval_seconds.unwrap_or(1.0) / period).floor().max(1.0);
    (cpu.periods.unwrap_or(0) as f64 / all).min(1.0)
}

/// Busy processes, each with the index of every group that contains it.
fn busy_below<'a>(context: &RuleContext<'a>, groups: &[(&str, Hit)]) -> Vec<(&'a Process, usize)> {
    if groups.is_empty() {
        return Vec::new();
    }
    let busy = context.frame().processes.iter().filter(|process| process.cpu_cores.is_some_and(|cores| cores >= 0.05));
    let group_indexes = |process: &'a Process| {
        let indexes = parts::above(process.quota_group())
            .filter_map(|path| groups.binary_search_by(|group| group.0.cmp(path)).ok());
        indexes.map(move |index| (process, index)).collect::<Vec<_>>()
    };
    busy.flat_map(group_indexes).collect()
}

fn title(finding: &Finding) -> String {
    text::Title {
        subject: &finding.subject.named(),
        ratio: &parts::percent(finding.number(evidence::THROTTLED)),
        quota: &parts::count(finding.number(evidence::QUOTA)),
    }
    .to_string()
}
