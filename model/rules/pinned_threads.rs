//! CPU-03: threads pinned to one CPU queue up there while other CPUs of their set are free.

use super::core_saturated;
use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts};
use crate::bottleneck::ResourceKind;
use crate::frame::{Frame, Process, Thread};
use crate::locale::evidence;
use crate::locale::rule::pinned_threads as text;
use std::collections::BTreeMap;

/// Its id.
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

fn judge(context: &mut RuleContext<'_>) {
    for (cpu, pinned) in pinned_threads(context.frame()) {
        let demand: f64 = pinned.iter().map(|(_, thread)| thread.demand_cores.unwrap_or(0.0)).sum();
        if demand < context.limit(&EXIT) || pinned.len() < 2 {
            continue;
        }
        let waiting =
            pinned.iter().filter(|(_, thread)| thread.wait_share.is_some_and(|share| share >= context.limit(&WAIT)));
        let set = pinned.first().map(|(process, _)| parts::cpuset(context.frame(), process));
        let allowed = context.cpus().filter(|(cpu, _)| set.is_none_or(|set| set.contains(cpu.id))).count();
        let idle = parts::idle_cpus(context, set, 0.5);
        let free = idle.len() as f64 >= context.limit(&IDLE) * allowed.max(1) as f64;
        let enters = demand >= context.limit(&DEMAND) && waiting.count() >= 2 && free;
        let severity = match context.frame().cpu(cpu) {
            Some(cpu) if cpu.isolated => Severity::Info,
            _ if demand >= context.limit(&CRITICAL) => Severity::Critical,
            _ => Severity::Warning,
        };
        let most = pinned.iter().filter_map(|(_, thread)| thread.wait_share).max_by(f64::total_cmp);
        let names =
            pinned.iter().map(|(process, thread)| format!("{} of {} ({})", thread.comm, process.comm, process.pid));
        let hit = Hit::new(Subject::Cpu(cpu), 0.85)
            .enters(enters)
            .severity(severity)
            .number(evidence::DEMAND, demand, "cores", "/proc/PID/task/TID/schedstat")
            .number(evidence::THREADS, pinned.len() as f64, "", "/proc/PID/task/TID/status")
            .known(evidence::WAIT, most, "fraction", "/proc/PID/task/TID/schedstat")
            .text(evidence::PINNED, parts::list(names, 6), "/proc/PID/task/TID/status")
            .text(evidence::IDLE, idle.to_string(), "/proc/stat")
            .covers(core_saturated::ID, Subject::Cpu(cpu));
        context.hit(hit);
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
    let (threads, demand) =
        (parts::count(finding.number(evidence::THREADS)), parts::count(finding.number(evidence::DEMAND)));
    format!(
        "{threads} threads pinned to {} want {demand} cores of it; idle: {}",
        finding.subject,
        finding.text(evidence::IDLE)
    )
}
