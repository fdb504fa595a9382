//! CPU-06: a process runs many more threads than its CPU quota has cores.

use super::{
    Finding, Hit, Input, Pace, Preflight, Rule, RuleContext, RuleId, Severity, Subject, Threshold, cpu_throttled,
    parts, preflight,
};
use crate::bottleneck::ResourceKind;
use crate::frame::{Frame, Process, Thread};
use crate::locale::evidence;
use crate::locale::rule::threads_over_quota as text;
use std::sync::Arc;

/// Its id.
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

/// Families of threads that a runtime starts by the number of CPUs, by the beginning of their names.
const FAMILIES: [(&str, &str); 9] = [
    ("GC Thread#", "garbage collection"),
    ("G1 Conc#", "concurrent marking"),
    ("G1 Refine#", "refinement"),
    ("ParGC Thread#", "garbage collection"),
    ("ZWorker#", "garbage collection"),
    ("Shenandoah GC T", "garbage collection"),
    ("C2 CompilerThre", "compilation"),
    ("C1 CompilerThre", "compilation"),
    (".NET Server GC", "garbage collection"),
];

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    for process in frame.processes.iter().filter(|process| !process.kernel) {
        // Most processes do nothing and have no thread in the table: their groups need not be looked up.
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
        let demand = demand(frame, process, threads);
        let family = family.filter(|(_, count)| f64::from(*count) > quota.ceil());
        let busy = process.cpu_cores.is_some_and(|cores| cores >= context.limit(&USED) * quota);
        let subject = Subject::Process(process.pid, process.starttime);
        let wanted = match demand {
            Demand::Known(wanted) => wanted,
            Demand::Untold if busy && family.is_none() => {
                context.unchecked(
                    subject,
                    "nobody knows how many of its threads wait",
                    "CONFIG_SCHED_INFO (schedstat)",
                );
                continue;
            }
            Demand::Pending | Demand::Untold => 0.0,
        };
        let many = busy && wanted >= context.limit(&EXIT) * quota;
        if !many && family.is_none() {
            continue;
        }
        let throttled = frame.cgroup(path).and_then(|group| group.cpu.throttled_ratio);
        let hurts = many && throttled.is_some_and(|ratio| ratio >= context.limit(&cpu_throttled::THROTTLED));
        let (name, count) = family.unwrap_or(("", 0));
        let hit = Hit::new(subject, 0.6)
            .enters(family.is_some() || wanted >= context.limit(&DEMAND) * quota)
            .severity(if hurts { Severity::Warning } else { Severity::Info })
            .number(evidence::QUOTA, quota, "cores", "cpu.max")
            .number(evidence::DEMAND, wanted, "threads", "/proc/PID/task/TID/schedstat")
            .known(evidence::THROTTLED, throttled, "fraction", "cpu.stat")
            .number(evidence::FAMILY, f64::from(count), "threads", "/proc/PID/task/TID/comm")
            .some_text(evidence::FAMILY_NAME, name, "/proc/PID/task/TID/comm")
            .text(evidence::GROUP, path, "/proc/PID/cgroup")
            .text(evidence::COMM, Arc::clone(&process.comm), "/proc/PID/comm");
        context.hit(hit.would_hurt());
    }
}

/// How many of a process's threads run or want to.
enum Demand {
    Known(f64),
    /// There is no rate yet.
    Pending,
    /// The kernel does not tell who waits.
    Untold,
}

fn demand(frame: &Frame, process: &Process, threads: &[Thread]) -> Demand {
    let known = threads.iter().filter_map(|thread| thread.demand_cores);
    if known.clone().next().is_some() {
        return Demand::Known(known.sum());
    }
    if threads.is_empty() && process.threads.value().is_some_and(|threads| threads <= 1) {
        // One thread runs or waits; how much it waits adds up to one at most.
        return Demand::Known(process.cpu_cores.map_or(0.0, |cores| cores.min(1.0)));
    }
    let table = frame.raw.threads.data();
    let told = threads.iter().any(|thread| table.run_ns.value(thread.slot).is_some());
    if told || threads.is_empty() { Demand::Pending } else { Demand::Untold }
}

/// The family with most threads, and how many.
fn largest_family(threads: &[Thread]) -> Option<(&'static str, u32)> {
    let mut counts = [0; FAMILIES.len()];
    // Every family's name has one of these: most threads need no closer look.
    for thread in threads.iter().filter(|thread| thread.comm.bytes().any(|byte| matches!(byte, b'#' | b' '))) {
        for (count, family) in counts.iter_mut().zip(FAMILIES) {
            *count += u32::from(thread.comm.starts_with(family.0));
        }
    }
    let families = FAMILIES.iter().map(|family| family.1).zip(counts);
    families.filter(|(_, count)| *count > 0).max_by_key(|(_, count)| *count)
}

fn title(finding: &Finding) -> String {
    let (quota, family) = (parts::count(finding.number(evidence::QUOTA)), finding.text(evidence::FAMILY_NAME));
    let who = format!("{} ({})", finding.text(evidence::COMM), finding.subject);
    let many = finding
        .number(evidence::DEMAND)
        .is_some_and(|demand| demand >= finding.number(evidence::QUOTA).unwrap_or(f64::MAX));
    let runs = format!("{} threads run or want to", parts::count(finding.number(evidence::DEMAND)));
    let kept = format!("{} threads for {family}", parts::count(finding.number(evidence::FAMILY)));
    match (many, family.is_empty()) {
        (_, true) => format!("{who}: {runs} on a quota of {quota} cores"),
        (true, false) => format!("{who}: {runs}, {kept}, on a quota of {quota} cores"),
        (false, false) => format!("{who} has {kept} on a quota of {quota} cores"),
    }
}
