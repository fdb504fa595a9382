//! CPU-03: threads pinned to one CPU queue up there while other CPUs of their set are free.

use super::{Finding, Hit, Input, Look, Pace, Rule, Severity, Subject, Threshold, parts};
use crate::frame::{Frame, Process, Thread};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "CPU-03",
    name: "pinned threads pile up on a CPU",
    why: "A thread that may run on one CPU only waits there however free the others are. Runtimes pin by default to the first CPUs, and every instance counts from the same one.",
    reads: &[Input::CpuTimes, Input::Threads],
    looks_at: &["/proc/PID/task/TID/status", "/proc/PID/task/TID/schedstat", "/proc/stat"],
    thresholds: &[
        Threshold { name: "demand", value: 1.3, unit: "cores", about: "what the pinned threads want of the CPU" },
        Threshold { name: "exit", value: 1.05, unit: "cores", about: "over below this" },
        Threshold { name: "wait", value: 0.2, unit: "fraction", about: "wait share of at least two of them" },
        Threshold { name: "idle", value: 0.25, unit: "fraction", about: "share of the CPUs of their set that are less than half busy" },
        Threshold { name: "critical", value: 2.0, unit: "cores", about: "demand that is critical" },
    ],
    guards: &["kernel threads and those whose mask the kernel keeps", "realtime and deadline threads", "isolated CPUs: only told"],
    advice: &["Let them run anywhere in their set: taskset -apc LIST PID", "Give each instance CPUs of its own"],
    references: &["sched(7)", "Documentation/admin-guide/cgroup-v2.rst"],
    pace: Pace::QUICK,
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    for (cpu, pinned) in pinned_threads(look.frame()) {
        let demand: f64 = pinned.iter().map(|(_, thread)| thread.demand_cores.unwrap_or(0.0)).sum();
        if demand < look.limit("exit") || pinned.len() < 2 {
            continue;
        }
        let waiting = pinned.iter().filter(|(_, thread)| thread.wait_share.is_some_and(|share| share >= look.limit("wait")));
        let set = pinned.first().map(|(process, _)| parts::cpuset(look.frame(), process));
        let allowed = look.cpus().filter(|(cpu, _)| set.is_none_or(|set| set.contains(cpu.id))).count();
        let idle = parts::idle_cpus(look, set, 0.5);
        let free = idle.len() as f64 >= look.limit("idle") * allowed.max(1) as f64;
        let enters = demand >= look.limit("demand") && waiting.count() >= 2 && free;
        let severity = match look.frame().cpu(cpu) {
            Some(cpu) if cpu.isolated => Severity::Info,
            _ if demand >= look.limit("critical") => Severity::Critical,
            _ => Severity::Warning,
        };
        let most = pinned.iter().filter_map(|(_, thread)| thread.wait_share).max_by(f64::total_cmp);
        let names = pinned.iter().map(|(process, thread)| format!("{} of {} ({})", thread.comm, process.comm, process.pid));
        let hit = Hit::new(Subject::Cpu(cpu), 0.85)
            .enters(enters)
            .severity(severity)
            .number("demand", demand, "cores", "/proc/PID/task/TID/schedstat")
            .number("threads", pinned.len() as f64, "", "/proc/PID/task/TID/status")
            .known("wait", most, "fraction", "/proc/PID/task/TID/schedstat")
            .text("pinned", parts::list(names, 6), "/proc/PID/task/TID/status")
            .text("idle", idle.to_string(), "/proc/stat")
            .covers("CPU-01", Subject::Cpu(cpu));
        look.hit(hit);
    }
}

/// Ordinary threads that may run on one online CPU only, by that CPU.
pub(super) fn pinned_threads(frame: &Frame) -> BTreeMap<u32, Vec<(&Process, &Thread)>> {
    let mut by_cpu: BTreeMap<u32, Vec<(&Process, &Thread)>> = BTreeMap::new();
    for process in frame.processes.iter().filter(|process| !process.kernel) {
        for thread in frame.threads_of(process.pid) {
            // In realtime they are pinned on purpose.
            let real_time = thread.policy.value().is_some_and(parts::is_real_time);
            if thread.fixed || real_time {
                continue;
            }
            if let Some(cpu) = thread.affinity.as_deref().and_then(|cpus| cpus.single_of(&frame.topology.cpus_online)) {
                by_cpu.entry(cpu).or_default().push((process, thread));
            }
        }
    }
    // Where there is one CPU, everything is on it.
    if frame.cpus.iter().filter(|cpu| cpu.online).count() < 2 { BTreeMap::new() } else { by_cpu }
}

fn title(finding: &Finding) -> String {
    let (threads, demand) = (parts::count(finding.number("threads")), parts::count(finding.number("demand")));
    format!("{threads} threads pinned to {} want {demand} cores of it; idle: {}", finding.subject, finding.text("idle"))
}
