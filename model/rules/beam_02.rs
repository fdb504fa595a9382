//! BEAM-02: a scheduler that is bound to a CPU is crowded out there by something else.

use super::{Finding, Hit, Input, Look, Pace, Rule, Subject, Threshold, parts};
use crate::IdSet;
use crate::frame::{Frame, Process, Thread};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "BEAM-02",
    name: "a bound Erlang scheduler is crowded out",
    why: "A scheduler that is bound to its CPU waits while interrupts or another program use it, and the work queued on that scheduler waits with it, although other CPUs idle.",
    reads: &[Input::CpuTimes, Input::Processes, Input::Threads],
    looks_at: &["/proc/PID/task/TID/status", "/proc/PID/task/TID/schedstat", "/proc/stat"],
    thresholds: &[
        Threshold { name: "softirq", value: 0.3, unit: "fraction", about: "share of the CPU that interrupts take" },
        Threshold { name: "foreign", value: 0.3, unit: "fraction", about: "share of the CPU that others run" },
        Threshold { name: "wait", value: 0.2, unit: "fraction", about: "wait share of the scheduler" },
        Threshold { name: "exit", value: 0.1, unit: "fraction", about: "wait share below which it is over" },
        Threshold { name: "idle", value: 0.5, unit: "fraction", about: "busy share below which another CPU counts as free" },
    ],
    guards: &["CPUs that several emulators are bound to (BEAM-01)", "no other CPU of its set is free", "bind type u"],
    advice: &["Set the bind type to u: RABBITMQ_SCHEDULER_BIND_TYPE=u, ERL_FLAGS=+sbt u, vm.args +sbt u", "Move the other one away: taskset -apc LIST PID, or the interrupt: /proc/irq/N/smp_affinity_list"],
    references: &["erl(1), +sbt", "https://www.rabbitmq.com/docs/runtime"],
    pace: Pace::QUICK,
    judge,
    title,
    ..Rule::BASE
};

/// A CPU where a scheduler waits for something else.
struct Crowded {
    cpu: u32,
    wait: f64,
    softirq: f64,
    foreign: f64,
}

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    let bound = |process: &&Process| process.beam.as_ref().is_some_and(|beam| beam.bound_now.value() == Some(true));
    let instances: Vec<&Process> = frame.processes.iter().filter(bound).collect();
    let mut owners: BTreeMap<u32, u32> = BTreeMap::new();
    for process in &instances {
        for cpu in pinned(process).collect::<BTreeSet<u32>>() {
            *owners.entry(cpu).or_default() += 1;
        }
    }
    let mut working = None;
    for process in &instances {
        let subject = Subject::Process(process.pid, process.starttime);
        let mine: Vec<u32> = pinned(process).filter(|cpu| owners.get(cpu) == Some(&1)).collect();
        let threads = frame.threads_of(process.pid);
        let crowded: Vec<Crowded> = mine.iter().filter_map(|cpu| crowded(look, *cpu, threads)).collect();
        let untold = threads.iter().all(|thread| frame.raw.threads.data().run_ns.value(thread.slot).is_none());
        let waits = threads.iter().any(|thread| thread.wait_share.is_some());
        if !mine.is_empty() && untold && !waits && process.cpu_cores.is_some_and(|cores| cores >= 0.1) {
            look.unchecked(subject, "nobody knows whether its schedulers wait", "CONFIG_SCHED_INFO (schedstat)");
            continue;
        }
        if crowded.is_empty() {
            continue;
        }
        let idle = parts::idle_cpus(look, Some(parts::cpuset(frame, process)), look.limit("idle"));
        let idle = IdSet::from_ids(idle.iter().filter(|cpu| !mine.contains(cpu)));
        let Some(worst) = crowded.iter().max_by(|a, b| a.wait.total_cmp(&b.wait)).filter(|_| !idle.is_empty()) else { continue };
        let by = crowd(working.get_or_insert_with(|| working_by_cpu(frame)), process.pid, worst);
        let mut hit = Hit::new(subject, 0.75)
            .enters(worst.wait >= look.limit("wait"))
            .number("wait", worst.wait, "fraction", "/proc/PID/task/TID/schedstat")
            .number("softirq", worst.softirq, "fraction", "/proc/stat")
            .number("foreign", worst.foreign, "fraction", "/proc/stat")
            .number("cpu", f64::from(worst.cpu), "", "/proc/PID/task/TID/status")
            .text("cpus", IdSet::from_ids(crowded.iter().map(|crowded| crowded.cpu)).to_string(), "/proc/PID/task/TID/status")
            .some_text("by", by, "/proc/PID/task/TID/stat")
            .text("idle", idle.to_string(), "/proc/stat")
            .text("comm", Arc::clone(&process.comm), "/proc/PID/comm");
        for crowded in &crowded {
            hit = hit.covers("CPU-03", Subject::Cpu(crowded.cpu)).covers("CPU-01", Subject::Cpu(crowded.cpu));
        }
        look.hit(hit);
    }
}

fn pinned(process: &Process) -> impl Iterator<Item = u32> {
    process.beam.iter().flat_map(|beam| beam.pinned.iter().map(|(cpu, _)| *cpu))
}

/// What takes a CPU from the schedulers that are bound to it.
fn crowded(look: &Look<'_>, cpu: u32, threads: &[Thread]) -> Option<Crowded> {
    let shares = look.frame().cpu(cpu)?.shares?;
    let here = |thread: &&Thread| thread.affinity.as_deref().and_then(IdSet::single) == Some(cpu);
    let wait = threads.iter().filter(here).filter_map(|thread| thread.wait_share).max_by(f64::total_cmp)?;
    let last = threads.iter().filter(|thread| thread.last_cpu.value() == Some(cpu));
    let own: f64 = last.filter_map(|thread| thread.cpu_cores).sum();
    let softirq = shares.softirq + shares.irq;
    let foreign = (shares.busy - softirq - own).max(0.0);
    let taken = softirq >= look.limit("softirq") || foreign >= look.limit("foreign");
    (taken && wait >= look.limit("exit")).then_some(Crowded { cpu, wait, softirq, foreign })
}

/// The processes that work, by the CPU that they ran on last.
fn working_by_cpu(frame: &Frame) -> BTreeMap<u32, Vec<&Process>> {
    let mut by_cpu: BTreeMap<u32, Vec<&Process>> = BTreeMap::new();
    for process in &frame.processes {
        let threads = frame.threads_of(process.pid);
        let mut cores: BTreeMap<u32, f64> = BTreeMap::new();
        for thread in threads {
            if let (Some(cpu), Some(used)) = (thread.last_cpu.value(), thread.cpu_cores) {
                *cores.entry(cpu).or_default() += used;
            }
        }
        if let Some(cpu) = process.last_cpu.value().filter(|_| threads.is_empty()) {
            cores.insert(cpu, process.cpu_cores.unwrap_or(0.0));
        }
        for (cpu, _) in cores.into_iter().filter(|(_, cores)| *cores >= 0.05) {
            by_cpu.entry(cpu).or_default().push(process);
        }
    }
    by_cpu
}

/// Who it is: interrupts, or the processes that ran there last.
fn crowd(working: &BTreeMap<u32, Vec<&Process>>, pid: u32, crowded: &Crowded) -> String {
    let here = working.get(&crowded.cpu).into_iter().flatten().filter(|process| process.pid != pid);
    let names = here.map(|process| format!("{} ({})", process.comm, process.pid));
    let interrupts = (crowded.softirq >= crowded.foreign).then(|| "interrupts".to_owned());
    parts::list(interrupts.into_iter().chain(names), 4)
}

fn title(finding: &Finding) -> String {
    let (wait, cpu) = (parts::percent(finding.number("wait")), parts::count(finding.number("cpu")));
    let who = format!("{} ({})", finding.text("comm"), finding.subject);
    let by = match finding.text("by") {
        "" => "others",
        by => by,
    };
    format!("{who} is bound to CPU {cpu} and waits {wait} of its time for {by}; idle: {}", finding.text("idle"))
}
