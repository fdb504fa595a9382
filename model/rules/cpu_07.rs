//! CPU-07: a process may use fewer CPUs than its group, wants more, and they are idle.

use super::{Finding, Hit, Input, Look, Pace, Rule, Subject, Threshold, parts};
use crate::IdSet;
use crate::frame::{Frame, Process};
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "CPU-07",
    name: "a process is kept to fewer CPUs than its group has",
    why: "An affinity mask that was set once, by a start script, a unit or a tool, stays when the machine or the group grows. The process fills the CPUs of its mask while others that it might use idle.",
    reads: &[Input::CpuTimes, Input::Processes, Input::Threads],
    looks_at: &["/proc/PID/task/TID/status", "cpuset.cpus.effective", "/proc/PID/task/TID/schedstat", "/proc/stat"],
    thresholds: &[
        Threshold { name: "demand", value: 1.3, unit: "", about: "threads that run or want to, for each CPU of the mask" },
        Threshold { name: "exit", value: 1.05, unit: "", about: "over below this" },
        Threshold { name: "wait", value: 0.2, unit: "fraction", about: "share of its time that the process waits for a CPU, at least" },
        Threshold { name: "full", value: 0.85, unit: "fraction", about: "mean busy share of the CPUs of the mask, at least" },
        Threshold { name: "idle", value: 0.25, unit: "fraction", about: "share of the group's CPUs that are outside the mask and free" },
        Threshold { name: "free", value: 0.5, unit: "fraction", about: "busy share below which a CPU counts as free" },
    ],
    guards: &["a mask of whole nodes: bound to them on purpose (CPU-04, NUMA-03)", "schedulers that an emulator binds one by one (BEAM-01, CPU-03)", "realtime threads, isolated CPUs", "a mask that is all its group has, or all that the first process has"],
    advice: &["Give it the CPUs of its group: taskset -apc LIST PID", "Take the mask out of what starts it: CPUAffinity= of the unit, taskset in a script"],
    references: &["sched_setaffinity(2)", "taskset(1)", "systemd.exec(5), CPUAffinity="],
    pace: Pace::USUAL,
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    for process in frame.processes.iter().filter(|process| !process.kernel) {
        if !process.cpu_cores.is_some_and(|cores| cores >= 0.5) || is_bound_one_by_one(process) {
            continue;
        }
        let Some(mask) = mask(frame, process) else { continue };
        let allowed = parts::cpuset(frame, process).intersection(&frame.topology.cpus_online);
        if !mask.is_subset(&allowed) || mask == allowed || is_on_purpose(frame, &mask) || is_everybodys(frame, &mask) {
            continue;
        }
        let subject = Subject::Process(process.pid, process.starttime);
        let known = frame.threads_of(process.pid).iter().filter_map(|thread| thread.demand_cores);
        let (Some(wait), wanted) = (process.wait_share, known.sum::<f64>()) else {
            let told = frame.threads_of(process.pid).iter().any(|thread| thread.wait_share.is_some());
            if !told && frame.raw.threads.data().run_ns.value(first_slot(frame, process)).is_none() {
                look.unchecked(subject, "nobody knows whether it waits for a CPU", "CONFIG_SCHED_INFO (schedstat)");
            }
            continue;
        };
        let idle = parts::idle_cpus(look, Some(&allowed), look.limit("free"));
        let outside = IdSet::from_ids(idle.iter().filter(|cpu| !mask.contains(*cpu)));
        let free = outside.len() as f64 >= look.limit("idle") * allowed.len() as f64;
        let size = mask.len() as f64;
        let busy = look.cpus().filter(|(cpu, _)| mask.contains(cpu.id)).map(|(_, shares)| shares.busy).sum::<f64>() / size;
        if outside.is_empty() || wanted < look.limit("exit") * size {
            continue;
        }
        let full = busy >= look.limit("full") && wait >= look.limit("wait");
        let mut hit = Hit::new(subject, 0.7)
            .enters(full && free && wanted >= look.limit("demand") * size)
            .number("demand", wanted, "threads", "/proc/PID/task/TID/schedstat")
            .number("wait", wait, "fraction", "/proc/PID/task/TID/schedstat")
            .number("busy", busy, "fraction", "/proc/stat")
            .text("mask", mask.to_string(), "/proc/PID/task/TID/status Cpus_allowed_list")
            .text("allowed", allowed.to_string(), "cpuset.cpus.effective")
            .text("idle", outside.to_string(), "/proc/stat")
            .text("comm", Arc::clone(&process.comm), "/proc/PID/comm");
        for cpu in mask.iter() {
            hit = hit.covers("CPU-03", Subject::Cpu(cpu)).covers("CPU-01", Subject::Cpu(cpu));
        }
        look.hit(hit);
    }
}

fn is_bound_one_by_one(process: &Process) -> bool {
    process.beam.as_ref().is_some_and(|beam| beam.bound_now.value() == Some(true))
}

/// The CPUs that all its working threads may use; none where one of them is kept by the kernel or in realtime, or
/// where their masks are not one and the same.
fn mask(frame: &Frame, process: &Process) -> Option<IdSet> {
    let mut masks = Vec::new();
    for thread in frame.threads_of(process.pid) {
        if thread.cpu_cores.is_some_and(|cores| cores >= 0.05) {
            if thread.fixed || thread.policy.value().is_some_and(parts::is_real_time) {
                return None;
            }
            masks.push(thread.affinity.as_deref()?);
        }
    }
    let first = *masks.first()?;
    (masks.len() > 1 && masks.iter().all(|mask| *mask == first)).then(|| first.clone())
}

/// True for a mask of whole nodes or with isolated CPUs in it: somebody meant it so.
fn is_on_purpose(frame: &Frame, mask: &IdSet) -> bool {
    let isolated = mask.iter().any(|cpu| frame.cpu(cpu).is_some_and(|cpu| cpu.isolated));
    let nodes = || frame.topology.cpu_nodes();
    let online = &frame.topology.cpus_online;
    let whole = nodes().filter(|node| node.cpus.intersects(mask)).all(|node| node.cpus.intersection(online).is_subset(mask));
    isolated || (nodes().count() > 1 && whole)
}

/// True for the mask that the first process has: the container or the machine was given no more.
fn is_everybodys(frame: &Frame, mask: &IdSet) -> bool {
    frame.process(1).and_then(|first| first.affinity.as_deref()).is_some_and(|all| all.is_subset(mask))
}

fn first_slot(frame: &Frame, process: &Process) -> usize {
    frame.threads_of(process.pid).first().map_or(usize::MAX, |thread| thread.slot)
}

fn title(finding: &Finding) -> String {
    let (demand, mask) = (parts::count(finding.number("demand")), finding.text("mask"));
    let (allowed, idle) = (finding.text("allowed"), finding.text("idle"));
    let who = format!("{} ({})", finding.text("comm"), finding.subject);
    format!("{who} may use CPUs {mask} only of {allowed}, and {demand} of its threads want to run; idle: {idle}")
}
