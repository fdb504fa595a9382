//! CPU-03: several threads pinned to one CPU wait there while other CPUs of their cpuset are idle.

use super::core_saturated;
use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts};
use crate::bottleneck::ResourceKind;
use crate::frame::{Frame, Process, Thread};
use crate::locale::evidence;
use crate::locale::rule::pinned_threads as text;
use std::collections::BTreeMap;

/// The id of the rule.
pub const ID: RuleId = RuleId::new("CPU-03");
pub(crate) const DEMAND: Threshold = ID.threshold(text::threshold::DEMAND, 1.3, "cores");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 1.05, "cores");
pub(crate) const WAIT: Threshold = ID.threshold(text::threshold::WAIT, 0.2, "fraction");
pub(crate) const IDLE: Threshold = ID.threshold(text::threshold::IDLE, 0.25, "fraction");
pub(crate) const CRITICAL: Threshold = ID.threshold(text::threshold::CRITICAL, 2.0, "cores");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Core],
    needs_load: true,
    reads: &[Input::CpuTimes, Input::Threads],
    sources: &["/proc/PID/task/TID/status", "/proc/PID/task/TID/schedstat", "/proc/stat"],
    thresholds: &[DEMAND, EXIT, WAIT, IDLE, CRITICAL],
    references: &["sched(7)", "Documentation/admin-guide/cgroup-v2.rst"],
    pace: Pace::QUICK,
    judge,
    title,
    ..Rule::BASE
};

/// Demand in cores below which a thread sleeps.
const ASLEEP: f64 = 0.05;

fn judge(context: &mut RuleContext<'_>) {
    for (cpu, mut pinned) in pinned_threads(context.frame()) {
        // A thread that sleeps waits for nothing.
        pinned.retain(|(_, thread)| thread.demand_cores.is_some_and(|demand| demand >= ASLEEP));
        let demand: f64 = pinned.iter().map(|(_, thread)| thread.demand_cores.unwrap_or(0.0)).sum();
        if demand < context.limit(&EXIT) || pinned.len() < 2 {
            continue;
        }
        let waiting =
            pinned.iter().filter(|(_, thread)| thread.wait_share.is_some_and(|share| share >= context.limit(&WAIT)));
        let cpuset = pinned.first().map(|(process, _)| parts::cpuset(context.frame(), process));
        let allowed = context.cpus().filter(|(cpu, _)| cpuset.is_none_or(|cpuset| cpuset.contains(cpu.id))).count();
        let idle = parts::idle_cpus(context, cpuset, 0.5);
        let has_idle = idle.len() as f64 >= context.limit(&IDLE) * allowed.max(1) as f64;
        let enters = demand >= context.limit(&DEMAND) && waiting.count() >= 2 && has_idle;
        let severity = match context.frame().cpu(cpu) {
            Some(cpu) if cpu.isolated => Severity::Info,
            _ if demand >= context.limit(&CRITICAL) => Severity::Critical,
            _ => Severity::Warning,
        };
        let max_wait = pinned.iter().filter_map(|(_, thread)| thread.wait_share).max_by(f64::total_cmp);
        let names =
            pinned.iter().map(|(process, thread)| format!("{} of {} ({})", thread.comm, process.comm, process.pid));
        let hit = Hit::new(Subject::Cpu(cpu), 0.85)
            .enters(enters)
            .severity(severity)
            .number(evidence::DEMAND, demand, "cores", "/proc/PID/task/TID/schedstat")
            .number(evidence::THREADS, pinned.len() as f64, "", "/proc/PID/task/TID/status")
            .known(evidence::WAIT, max_wait, "fraction", "/proc/PID/task/TID/schedstat")
            .text(evidence::PINNED, parts::list(names, 6), "/proc/PID/task/TID/status")
            .text(evidence::FREE_CPUS, idle.to_string(), "/proc/stat")
            .covers(core_saturated::ID, Subject::Cpu(cpu));
        context.hit(hit);
    }
}

/// Non-realtime threads pinned to a single online CPU, by that CPU.
pub(super) fn pinned_threads(frame: &Frame) -> BTreeMap<u32, Vec<(&Process, &Thread)>> {
    let mut by_cpu: BTreeMap<u32, Vec<(&Process, &Thread)>> = BTreeMap::new();
    for process in frame.processes.iter().filter(|process| !process.kernel) {
        for thread in frame.threads_of(process.pid) {
            // Realtime threads are pinned on purpose.
            let real_time = thread.policy.value().is_some_and(parts::is_real_time);
            if thread.fixed || real_time {
                continue;
            }
            if let Some(cpu) = thread.affinity.as_deref().and_then(|cpus| cpus.single_of(&frame.topology.cpus_online)) {
                by_cpu.entry(cpu).or_default().push((process, thread));
            }
        }
    }
    // On a machine with one CPU every thread is pinned to it.
    if frame.cpus.iter().filter(|cpu| cpu.online).count() < 2 { BTreeMap::new() } else { by_cpu }
}

fn title(finding: &Finding) -> String {
    let count = |name| parts::count(finding.number(name));
    let (subject, threads, demand) = (&finding.subject.named(), count(evidence::THREADS), count(evidence::DEMAND));
    match finding.text(evidence::FREE_CPUS) {
        "" => text::Title { subject, threads: &threads, demand: &demand }.to_string(),
        idle => text::TitleIdle { subject, threads: &threads, demand: &demand, idle: &idle }.to_string(),
    }
}
