//! CPU-06: a process has many more runnable threads than its CPU quota has cores.

use super::{
    Finding, Hit, Input, Pace, Preflight, Rule, RuleContext, RuleId, Severity, Subject, Threshold, cpu_throttled,
    parts, preflight,
};
use crate::bottleneck::ResourceKind;
use crate::frame::{Process, Thread};
use crate::locale::rule::threads_over_quota as text;
use crate::locale::{Text, evidence};
use std::sync::Arc;

/// The id of the rule.
pub const ID: RuleId = RuleId::new("CPU-06");
pub(crate) const DEMAND: Threshold = ID.threshold(text::threshold::DEMAND, 2.0, "");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 1.5, "");
pub(crate) const USED: Threshold = ID.threshold(text::threshold::USED, 0.5, "");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Quota],
    needs_load: true,
    reads: &[Input::Processes, Input::Threads, Input::Cgroups],
    sources: &["/proc/PID/task/TID/schedstat", "/proc/PID/task/TID/comm", "cpu.max", "cpu.stat"],
    thresholds: &[DEMAND, EXIT, USED],
    references: &["Documentation/scheduler/sched-bwc.rst", "java(1), -XX:ActiveProcessorCount"],
    pace: Pace::USUAL,
    preflight: Some(Preflight { name: text::PREFLIGHT, says: preflight::quotas }),
    judge,
    title,
    ..Rule::BASE
};

/// Thread pools that a runtime sizes by the number of CPUs, by the prefix of their thread names.
const FAMILIES: [(&str, Text); 9] = [
    ("GC Thread#", text::FAMILY_GC),
    ("G1 Conc#", text::FAMILY_MARKING),
    ("G1 Refine#", text::FAMILY_REFINEMENT),
    ("ParGC Thread#", text::FAMILY_GC),
    ("ZWorker#", text::FAMILY_GC),
    ("Shenandoah GC T", text::FAMILY_GC),
    ("C2 CompilerThre", text::FAMILY_COMPILATION),
    ("C1 CompilerThre", text::FAMILY_COMPILATION),
    (".NET Server GC", text::FAMILY_GC),
];

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    for process in frame.processes.iter().filter(|process| !process.kernel) {
        // Most processes are idle and have no thread in the table: skip the look-up of their cgroups.
        let threads = frame.threads_of(process.pid);
        if threads.is_empty() && process.cpu_cores.is_none_or(|cores| cores < 0.05) {
            continue;
        }
        let family = largest_family(threads);
        if family.is_none() && process.cpu_cores.is_none_or(|cores| cores <= 0.0) {
            continue;
        }
        let Some((path, quota)) = parts::quota(frame, process.quota_group()).filter(|(_, quota)| *quota > 0.0) else {
            continue;
        };
        let demand = demand(process, threads);
        let family = family.filter(|(_, count)| f64::from(*count) > quota.ceil());
        let busy = process.cpu_cores.is_some_and(|cores| cores >= context.limit(&USED) * quota);
        let subject = Subject::Process(process.pid, process.starttime);
        let runnable = match demand {
            Demand::Known(runnable) => runnable,
            Demand::NoWaitTime if busy && family.is_none() => {
                context.unchecked(subject, &text::UNCHECKED_WAIT, "CONFIG_SCHED_INFO (schedstat)");
                continue;
            }
            Demand::Pending | Demand::NoWaitTime => 0.0,
        };
        let many = busy && runnable >= context.limit(&EXIT) * quota;
        if !many && family.is_none() {
            continue;
        }
        let throttled = frame.cgroup(path).and_then(|group| group.cpu.throttled_ratio);
        let throttles = many && throttled.is_some_and(|ratio| ratio >= context.limit(&cpu_throttled::THROTTLED));
        let (name, count) = family.unwrap_or((Text::EMPTY, 0));
        let hit = Hit::new(subject, 0.6)
            .enters(family.is_some() || runnable >= context.limit(&DEMAND) * quota)
            .severity(if throttles { Severity::Warning } else { Severity::Info })
            .number(evidence::QUOTA, quota, "cores", "cpu.max")
            .number(evidence::DEMAND, runnable, "threads", "/proc/PID/task/TID/schedstat")
            .known(evidence::THROTTLED, throttled, "fraction", "cpu.stat")
            .number(evidence::FAMILY, f64::from(count), "threads", "/proc/PID/task/TID/comm")
            .some_text(evidence::FAMILY_NAME, name.as_str(), "/proc/PID/task/TID/comm")
            .text(evidence::GROUP, path, "/proc/PID/cgroup")
            .text(evidence::COMM, Arc::clone(&process.comm), "/proc/PID/comm");
        context.hit(hit.would_hurt());
    }
}

/// Runnable threads of a process: those that run or wait for a CPU.
enum Demand {
    Known(f64),
    /// No rate yet.
    Pending,
    /// The kernel reports no wait time.
    NoWaitTime,
}

fn demand(process: &Process, threads: &[Thread]) -> Demand {
    let known = threads.iter().filter_map(|thread| thread.demand_cores);
    if known.clone().next().is_some() {
        return Demand::Known(known.sum());
    }
    if threads.is_empty() && process.threads.value().is_some_and(|threads| threads <= 1) {
        // The demand of a single thread is at most one core.
        return Demand::Known(process.cpu_cores.map_or(0.0, |cores| cores.min(1.0)));
    }
    let has_wait_time = threads.iter().any(|thread| thread.has_schedstat);
    if has_wait_time || threads.is_empty() { Demand::Pending } else { Demand::NoWaitTime }
}

/// The pool with the most threads and their number.
fn largest_family(threads: &[Thread]) -> Option<(Text, u32)> {
    let mut counts = [0; FAMILIES.len()];
    // Every prefix contains one of these characters: most threads are ruled out by it.
    for thread in threads.iter().filter(|thread| thread.comm.bytes().any(|byte| matches!(byte, b'#' | b' '))) {
        for (count, family) in counts.iter_mut().zip(FAMILIES) {
            *count += u32::from(thread.comm.starts_with(family.0));
        }
    }
    let families = FAMILIES.iter().map(|family| family.1).zip(counts);
    families.filter(|(_, count)| *count > 0).max_by_key(|(_, count)| *count)
}

fn title(finding: &Finding) -> String {
    let count = |name| parts::count(finding.number(name));
    let (comm, subject) = (&finding.text(evidence::COMM), &finding.subject.named());
    let (quota, demand) = (&count(evidence::QUOTA), &count(evidence::DEMAND));
    let (family, threads) = (&finding.text(evidence::FAMILY_NAME), &count(evidence::FAMILY));
    let over = finding
        .number(evidence::DEMAND)
        .is_some_and(|demand| demand >= finding.number(evidence::QUOTA).unwrap_or(f64::MAX));
    match (over, family.is_empty()) {
        (_, true) => text::Title { comm, subject, demand, quota }.to_string(),
        (true, false) => text::TitleBoth { comm, subject, demand, count: threads, family, quota }.to_string(),
        (false, false) => text::TitleFamily { comm, subject, count: threads, family, quota }.to_string(),
    }
}
