//! BEAM-01: Erlang instances bind their schedulers to the same first CPUs.

use super::{Finding, Hit, Input, Look, Pace, Rule, Severity, Subject, Threshold, parts};
use crate::IdSet;
use crate::frame::Thread;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const RULE: Rule = Rule {
    id: "BEAM-01",
    name: "Erlang instances bind to the same CPUs",
    why: "With a bind type other than u every Erlang VM pins its schedulers to CPUs counted from the first one it sees. Several instances in containers see the same machine: they share the first CPUs while the rest idle.",
    reads: &[Input::Processes, Input::Threads],
    looks_at: &["/proc/PID/cmdline", "/proc/PID/task/TID/status", "/proc/PID/task/TID/schedstat", "/proc/stat"],
    thresholds: &[
        Threshold { name: "wait", value: 0.2, unit: "fraction", about: "wait share of a bound scheduler" },
        Threshold { name: "critical", value: 0.3, unit: "fraction", about: "wait share that is critical" },
        Threshold { name: "idle", value: 0.5, unit: "fraction", about: "busy share below which another CPU counts as free" },
    ],
    guards: &["instances whose CPUs do not overlap", "one instance alone", "bind type u", "no CPU is free: there is nothing to move to", "without load it is only told"],
    advice: &["Set the bind type to u: RABBITMQ_SCHEDULER_BIND_TYPE=u, ERL_FLAGS=+sbt u, vm.args +sbt u", "For the running node: rabbitmqctl eval erlang:system_flag(scheduler_bind_type, unbound).", "Until a restart: taskset -apc LIST PID"],
    references: &["erl(1), +sbt", "https://www.rabbitmq.com/docs/runtime"],
    pace: Pace { at_once: true, ..Pace::QUICK },
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    let mut by_cpu: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for process in &frame.processes {
        let Some(beam) = process.beam.as_ref().filter(|beam| beam.bound_now.value() != Some(false)) else { continue };
        for (cpu, _) in &beam.pinned {
            by_cpu.entry(*cpu).or_default().insert(process.pid);
        }
    }
    by_cpu.retain(|_, pids| pids.len() > 1);
    let Some((&first, _)) = by_cpu.first_key_value() else { return };
    let pids: BTreeSet<u32> = by_cpu.values().flatten().copied().collect();
    let shared = IdSet::from_ids(by_cpu.keys().copied());
    let idle = parts::idle_cpus(look, None, look.limit("idle"));
    let rates = frame.interval_seconds.is_some();
    if rates && idle.is_empty() {
        return;
    }
    let on_shared = |thread: &&Thread| {
        thread.affinity.as_deref().and_then(IdSet::single).is_some_and(|cpu| shared.contains(cpu))
    };
    let waits = pids.iter().flat_map(|pid| frame.threads_of(*pid)).filter(on_shared);
    let wait = waits.filter_map(|thread| thread.wait_share).max_by(f64::total_cmp);
    let severity = match wait {
        Some(wait) if wait >= look.limit("critical") => Severity::Critical,
        Some(wait) if wait >= look.limit("wait") => Severity::Warning,
        _ => Severity::Info,
    };
    let names = pids.iter().filter_map(|pid| frame.process(*pid)).map(|process| {
        let bind = process.beam.as_ref().and_then(|beam| beam.bind_type_configured.clone().value());
        let pinned = process.beam.iter().flat_map(|beam| beam.pinned.iter().map(|(cpu, _)| *cpu));
        let cpus = IdSet::from_ids(pinned);
        format!("{} ({}) +sbt {} on {cpus}", process.comm, process.pid, bind.as_deref().unwrap_or("?"))
    });
    let mut hit = Hit::new(Subject::Cpu(first), 0.95)
        .severity(severity)
        .number("instances", pids.len() as f64, "", "/proc/PID/cmdline")
        .known("wait", wait, "fraction", "/proc/PID/task/TID/schedstat")
        .text("shared", shared.to_string(), "/proc/PID/task/TID/status")
        .text("idle", idle.to_string(), "/proc/stat")
        .text("who", parts::list(names, 6), "/proc/PID/cmdline");
    for cpu in shared.iter() {
        hit = hit.covers("CPU-03", Subject::Cpu(cpu)).covers("CPU-01", Subject::Cpu(cpu));
    }
    look.hit(hit);
}

fn title(finding: &Finding) -> String {
    let (instances, shared) = (parts::count(finding.number("instances")), finding.text("shared"));
    match finding.text("idle") {
        "" => format!("{instances} Erlang instances bind their schedulers to the same CPUs {shared}"),
        idle => format!("{instances} Erlang instances bind their schedulers to the same CPUs {shared}; {idle} idle"),
    }
}
