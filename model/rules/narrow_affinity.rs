//! CPU-07: a process is limited to fewer CPUs than its cpuset has and wants more while others are idle.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Subject, Threshold, parts};
use super::{core_saturated, pinned_threads};
use crate::IdSet;
use crate::bottleneck::ResourceKind;
use crate::frame::{Frame, Process};
use crate::locale::evidence;
use crate::locale::rule::narrow_affinity as text;
use std::sync::Arc;

/// The id of the rule.
pub const ID: RuleId = RuleId::new("CPU-07");
pub(crate) const DEMAND: Threshold = ID.threshold(text::threshold::DEMAND, 1.3, "");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 1.05, "");
pub(crate) const WAIT: Threshold = ID.threshold(text::threshold::WAIT, 0.2, "fraction");
pub(crate) const FULL: Threshold = ID.threshold(text::threshold::FULL, 0.85, "fraction");
pub(crate) const IDLE: Threshold = ID.threshold(text::threshold::IDLE, 0.25, "fraction");
pub(crate) const FREE: Threshold = ID.threshold(text::threshold::FREE, 0.5, "fraction");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Core],
    needs_load: true,
    reads: &[Input::CpuTimes, Input::Processes, Input::Threads],
    sources: &["/proc/PID/task/TID/status", "cpuset.cpus.effective", "/proc/PID/task/TID/schedstat", "/proc/stat"],
    thresholds: &[DEMAND, EXIT, WAIT, FULL, IDLE, FREE],
    references: &["sched_setaffinity(2)", "taskset(1)", "systemd.exec(5), CPUAffinity="],
    pace: Pace::USUAL,
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    for process in frame.processes.iter().filter(|process| !process.kernel) {
        if !process.cpu_cores.is_some_and(|cores| cores >= 0.5) || has_bound_schedulers(process) {
            continue;
        }
        let Some(mask) = mask(frame, process) else { continue };
        let allowed = parts::cpuset(frame, process).intersection(&frame.topology.cpus_online);
        if !mask.is_subset(&allowed) || mask == allowed || is_on_purpose(frame, &mask) || is_inherited(frame, &mask) {
            continue;
        }
        let subject = Subject::Process(process.pid, process.starttime);
        let demands = frame.threads_of(process.pid).iter().filter_map(|thread| thread.demand_cores);
        let (Some(wait), runnable) = (process.wait_share, demands.sum::<f64>()) else {
            let has_wait_time = frame.threads_of(process.pid).iter().any(|thread| thread.wait_share.is_some());
            if !has_wait_time && !frame.threads_of(process.pid).first().is_some_and(|thread| thread.has_schedstat) {
                context.unchecked(subject, &text::UNCHECKED_WAIT, "CONFIG_SCHED_INFO (schedstat)");
            }
            continue;
        };
        let idle = parts::idle_cpus(context, Some(&allowed), context.limit(&FREE));
        let outside = IdSet::from_ids(idle.iter().filter(|cpu| !mask.contains(*cpu)));
        let has_idle = outside.len() as f64 >= context.limit(&IDLE) * allowed.len() as f64;
        let size = mask.len() as f64;
        let busy =
            context.cpus().filter(|(cpu, _)| mask.contains(cpu.id)).map(|(_, shares)| shares.busy).sum::<f64>() / size;
        if outside.is_empty() || runnable < context.limit(&EXIT) * size {
            continue;
        }
        let full = busy >= context.limit(&FULL) && wait >= context.limit(&WAIT);
        let mut hit = Hit::new(subject, 0.7)
            .enters(full && has_idle && runnable >= context.limit(&DEMAND) * size)
            .number(evidence::DEMAND, runnable, "threads", "/proc/PID/task/TID/schedstat")
            .number(evidence::WAIT, wait, "fraction", "/proc/PID/task/TID/schedstat")
            .number(evidence::BUSY, busy, "fraction", "/proc/stat")
            .text(evidence::MASK, mask.to_string(), "/proc/PID/task/TID/status Cpus_allowed_list")
            .text(evidence::ALLOWED, allowed.to_string(), "cpuset.cpus.effective")
            .text(evidence::FREE_CPUS, outside.to_string(), "/proc/stat")
            .text(evidence::COMM, Arc::clone(&process.comm), "/proc/PID/comm");
        for cpu in mask.iter() {
            hit = hit.covers(pinned_threads::ID, Subject::Cpu(cpu)).covers(core_saturated::ID, Subject::Cpu(cpu));
        }
        context.hit(hit);
    }
}

fn has_bound_schedulers(process: &Process) -> bool {
    process.beam.as_ref().is_some_and(|beam| beam.bound_now.value() == Some(true))
}

/// The affinity mask shared by all busy threads; none where the kernel fixes a mask, a thread is realtime, or masks
/// differ.
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

/// True for a mask of whole nodes or with isolated CPUs: set on purpose.
fn is_on_purpose(frame: &Frame, mask: &IdSet) -> bool {
    let isolated = mask.iter().any(|cpu| frame.cpu(cpu).is_some_and(|cpu| cpu.isolated));
    let nodes = || frame.topology.cpu_nodes();
    let online = &frame.topology.cpus_online;
    let whole =
        nodes().filter(|node| node.cpus.intersects(mask)).all(|node| node.cpus.intersection(online).is_subset(mask));
    isolated || (nodes().count() > 1 && whole)
}

/// True for a mask that includes all CPUs of process 1: the container or the machine has no more.
fn is_inherited(frame: &Frame, mask: &IdSet) -> bool {
    frame.process(1).and_then(|first| first.affinity.as_deref()).is_some_and(|all| all.is_subset(mask))
}

fn title(finding: &Finding) -> String {
    text::Title {
        comm: &finding.text(evidence::COMM),
        subject: &finding.subject.named(),
        mask: &finding.text(evidence::MASK),
        allowed: &finding.text(evidence::ALLOWED),
        demand: &parts::count(finding.number(evidence::DEMAND)),
        idle: &finding.text(evidence::FREE_CPUS),
    }
    .to_string()
}
