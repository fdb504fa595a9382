//! BEAM-03: an Erlang VM has more schedulers than its quota has cores, or far fewer.

use super::{Finding, Hit, Input, Look, Pace, Preflight, Rule, Subject, Threshold, before, parts};
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "BEAM-03",
    name: "Erlang schedulers do not fit the CPU quota",
    why: "More schedulers than the quota has cores spin the quota away and are throttled together; far fewer leave it unused while they are full.",
    reads: &[Input::Processes, Input::Cgroups],
    looks_at: &["/proc/PID/task/TID/comm", "cpu.max", "cpu.stat"],
    thresholds: &[
        Threshold { name: "throttled", value: 0.05, unit: "fraction", about: "share of throttled periods that makes too many hurt" },
        Threshold { name: "few", value: 0.5, unit: "fraction", about: "schedulers for each core of the quota below which they are few" },
        Threshold { name: "full", value: 0.85, unit: "cores", about: "use of each scheduler that makes too few hurt" },
    ],
    guards: &["no quota"],
    advice: &["As many schedulers as the quota has cores: +S n:n, and +sbwt none"],
    references: &["erl(1), +S", "https://www.rabbitmq.com/docs/runtime"],
    pace: Pace::USUAL,
    preflight: Some(Preflight { name: "Erlang schedulers", says: before::schedulers }),
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    for process in &frame.processes {
        let Some(schedulers) = process.beam.as_ref().and_then(|beam| beam.schedulers.value()) else { continue };
        let Some(quota) = parts::quota_cores(frame, process.quota_group()) else { continue };
        let groups = parts::above(process.quota_group()).filter_map(|path| frame.cgroup(path)?.cpu.throttled_ratio);
        let throttled = groups.max_by(f64::total_cmp);
        let many = schedulers as f64 > quota.ceil() && (look.is_before_test() || throttled.is_some_and(|ratio| ratio >= look.limit("throttled")));
        let each = process.cpu_cores.map(|cores| cores / schedulers.max(1) as f64);
        let few = (schedulers as f64) < look.limit("few") * quota && each.is_some_and(|cores| cores >= look.limit("full"));
        // Before a test nothing throttles yet; more schedulers than cores will.
        if !many && !few {
            continue;
        }
        let subject = Subject::Process(process.pid, process.starttime);
        let hit = Hit::new(subject.clone(), 0.7)
            .covers("CPU-06", subject)
            .number("schedulers", schedulers as f64, "", "/proc/PID/task/TID/comm")
            .number("quota", quota, "cores", "cpu.max")
            .known("throttled", throttled, "fraction", "cpu.stat")
            .text("comm", Arc::clone(&process.comm), "/proc/PID/comm");
        look.hit(hit);
    }
}

fn title(finding: &Finding) -> String {
    let (schedulers, quota) = (parts::count(finding.number("schedulers")), parts::count(finding.number("quota")));
    format!("{} ({}) has {schedulers} schedulers for a quota of {quota} cores", finding.text("comm"), finding.subject)
}
