//! CPU-06: a process runs many more threads than its CPU quota has cores.

use super::{Finding, Hit, Input, Look, Pace, Preflight, Rule, Severity, Subject, Threshold, before, cpu_05, parts};
use crate::frame::{Frame, Process, Thread};
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "CPU-06",
    name: "more threads run than the CPU quota has cores",
    why: "Runtimes size their pools by the CPUs that they see, and many see those of the machine. All their threads together use the quota of a period up in a fraction of it, then all of them stand still, garbage collectors in the middle of a pause.",
    reads: &[Input::Processes, Input::Threads, Input::Cgroups],
    looks_at: &["/proc/PID/task/TID/schedstat", "/proc/PID/task/TID/comm", "cpu.max", "cpu.stat"],
    thresholds: &[
        Threshold { name: "demand", value: 2.0, unit: "", about: "threads that run or want to, for each core of the quota" },
        Threshold { name: "exit", value: 1.5, unit: "", about: "over below this" },
        Threshold { name: "used", value: 0.5, unit: "", about: "share of the quota that the process uses, at least" },
    ],
    guards: &["groups without a quota", "while the quota does not throttle it is only told"],
    advice: &["Tell the runtime its CPUs: -XX:ActiveProcessorCount=N, GOMAXPROCS=N, DOTNET_PROCESSOR_COUNT=N, +S N:N", "Raise the quota (CPU-05) if the threads are needed"],
    references: &["Documentation/scheduler/sched-bwc.rst", "java(1), -XX:ActiveProcessorCount"],
    pace: Pace::USUAL,
    preflight: Some(Preflight { name: "CPU quotas", says: before::quotas }),
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

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
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
        let Some((path, quota)) = parts::quota(frame, process.quota_group()).filter(|(_, quota)| *quota > 0.0) else { continue };
        let demand = demand(frame, process, threads);
        let family = family.filter(|(_, count)| f64::from(*count) > quota.ceil());
        let busy = process.cpu_cores.is_some_and(|cores| cores >= look.limit("used") * quota);
        let subject = Subject::Process(process.pid, process.starttime);
        let wanted = match demand {
            Demand::Known(wanted) => wanted,
            Demand::Untold if busy && family.is_none() => {
                look.unchecked(subject, "nobody knows how many of its threads wait", "CONFIG_SCHED_INFO (schedstat)");
                continue;
            }
            Demand::Pending | Demand::Untold => 0.0,
        };
        let many = busy && wanted >= look.limit("exit") * quota;
        if !many && family.is_none() {
            continue;
        }
        let throttled = frame.cgroup(path).and_then(|group| group.cpu.throttled_ratio);
        let hurts = many && throttled.is_some_and(|ratio| ratio >= look.limit_of(&cpu_05::RULE, "throttled"));
        let (name, count) = family.unwrap_or(("", 0));
        let hit = Hit::new(subject, 0.6)
            .enters(family.is_some() || wanted >= look.limit("demand") * quota)
            .severity(if hurts { Severity::Warning } else { Severity::Info })
            .number("quota", quota, "cores", "cpu.max")
            .number("demand", wanted, "threads", "/proc/PID/task/TID/schedstat")
            .known("throttled", throttled, "fraction", "cpu.stat")
            .number("family", f64::from(count), "threads", "/proc/PID/task/TID/comm")
            .some_text("family_name", name, "/proc/PID/task/TID/comm")
            .text("group", path, "/proc/PID/cgroup")
            .text("comm", Arc::clone(&process.comm), "/proc/PID/comm");
        look.hit(hit.would_hurt());
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
    let (quota, family) = (parts::count(finding.number("quota")), finding.text("family_name"));
    let who = format!("{} ({})", finding.text("comm"), finding.subject);
    let many = finding.number("demand").is_some_and(|demand| demand >= finding.number("quota").unwrap_or(f64::MAX));
    let runs = format!("{} threads run or want to", parts::count(finding.number("demand")));
    let kept = format!("{} threads for {family}", parts::count(finding.number("family")));
    match (many, family.is_empty()) {
        (_, true) => format!("{who}: {runs} on a quota of {quota} cores"),
        (true, false) => format!("{who}: {runs}, {kept}, on a quota of {quota} cores"),
        (false, false) => format!("{who} has {kept} on a quota of {quota} cores"),
    }
}
