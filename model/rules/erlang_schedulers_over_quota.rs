//! BEAM-03: an Erlang VM has more schedulers than its quota has cores, or far fewer.

use super::threads_over_quota;
use super::{Finding, Hit, Input, Pace, Preflight, Rule, RuleContext, RuleId, Subject, Threshold, parts, preflight};
use crate::bottleneck::ResourceKind;
use crate::locale::evidence;
use crate::locale::rule::erlang_schedulers_over_quota as text;

/// The id of the rule.
pub const ID: RuleId = RuleId::new("BEAM-03");
pub(crate) const THROTTLED: Threshold = ID.threshold(text::threshold::THROTTLED, 0.05, "fraction");
pub(crate) const FEW: Threshold = ID.threshold(text::threshold::FEW, 0.5, "fraction");
pub(crate) const FULL: Threshold = ID.threshold(text::threshold::FULL, 0.85, "cores");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Quota],
    reads: &[Input::Processes, Input::Cgroups],
    sources: &["/proc/PID/task/TID/comm", "/proc/PID/task/TID/schedstat", "cpu.max", "cpu.stat"],
    thresholds: &[THROTTLED, FEW, FULL],
    references: &["erl(1), +S", "https://www.rabbitmq.com/docs/runtime"],
    pace: Pace::USUAL,
    preflight: Some(Preflight { name: text::PREFLIGHT, says: preflight::schedulers }),
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    for process in &frame.processes {
        let Some(beam) = &process.beam else { continue };
        // Since OTP 23 an emulator with a quota has a thread for every CPU and keeps those over the quota offline.
        let Some(schedulers) = beam.schedulers_online.value().or(beam.schedulers.value()) else { continue };
        let Some(quota) = parts::quota_cores(frame, process.quota_group()) else { continue };
        let groups = parts::above(process.quota_group()).filter_map(|path| frame.cgroup(path)?.cpu.throttled_ratio);
        let throttled = groups.max_by(f64::total_cmp);
        let many = schedulers as f64 > quota.ceil()
            && (context.is_before_test() || throttled.is_some_and(|ratio| ratio >= context.limit(&THROTTLED)));
        let each = process.cpu_cores.map(|cores| cores / schedulers.max(1) as f64);
        let few = (schedulers as f64) < context.limit(&FEW) * quota
            && each.is_some_and(|cores| cores >= context.limit(&FULL));
        // Nothing is throttled yet before a test, but too many schedulers will be.
        if !many && !few {
            continue;
        }
        let threads = beam.schedulers.value().map(|threads| threads as f64);
        let subject = Subject::Process(process.pid, process.starttime);
        let hit = Hit::new(subject.clone(), 0.7)
            .covers(threads_over_quota::ID, subject)
            .number(evidence::SCHEDULERS, schedulers as f64, "", "/proc/PID/task/TID/schedstat")
            .known(evidence::SCHEDULER_THREADS, threads, "", "/proc/PID/task/TID/comm")
            .number(evidence::QUOTA, quota, "cores", "cpu.max")
            .known(evidence::THROTTLED, throttled, "fraction", "cpu.stat")
            .text(evidence::INSTANCE, parts::instance_name(frame, process), "/proc/PID/cmdline, /proc/PID/cgroup");
        context.hit(hit);
    }
}

fn title(finding: &Finding) -> String {
    let count = |name| parts::count(finding.number(name));
    text::Title {
        instance: &finding.text(evidence::INSTANCE),
        subject: &finding.subject.named(),
        schedulers: &count(evidence::SCHEDULERS),
        quota: &count(evidence::QUOTA),
    }
    .to_string()
}
