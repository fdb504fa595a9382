//! The machine's CPUs as a whole, and what the hypervisor takes of them.

use super::resource::{FULL, FULL_LEAVES, Member, Waits};
use super::run_queue::{Cause, full, utilisation};
use super::{Inputs, ResourceKind};
use crate::frame::Frame;
use crate::locale::resource::note;
use crate::rules::Subject;
use std::sync::Arc;

/// Share of the time that CPUs are wanted which the hypervisor takes: high, and high still.
const STEAL: (f64, f64) = (0.10, 0.05);
/// Utilisation of all CPUs from which on a full thread is not what limits: above that at which they may, since two threads on
/// two CPUs make them as full as they are themselves.
const SHORT: f64 = 0.97;
/// Crowded CPUs limit from this utilisation on if tasks wait this share of their time, and still do at the second pair.
/// Programs that wake up at random leave idle gaps (measured: x264 at 89 % of two CPUs ran 1.86 times as fast as on one).
const CROWDED: [(f64, f64); 2] = [(0.87, 0.40), (0.83, 0.30)];
/// Cores of a thread from which on it may be what the others wait for.
const LEADS: f64 = 0.8;
/// Demand in cores below which stolen time hurts nobody.
const LEAST: f64 = 0.2;
/// Share of a CPU that somebody wants from which on it hurts.
const WANTS: f64 = 0.5;
/// The same of all CPUs together.
const WANTS_ALL: f64 = 0.25;

pub(super) fn cpus(inputs: &Inputs<'_>) -> Vec<Member> {
    let frame = inputs.frame;
    let Some(share) = utilisation(frame, None) else {
        return vec![inputs.unmeasured(ResourceKind::Cpus, super::sections::cpu_times(frame), true)];
    };
    let mut member = Member::measured(ResourceKind::Cpus, share).about(Subject::Host, &Arc::default());
    let online = online(frame);
    // Each CPU full is the machine full: nothing has to queue.
    member.alone = online.iter().all(|share| *share >= FULL_LEAVES);
    let (wait, proxy) = queue(inputs, online.iter().sum());
    member.proxy = proxy;
    let crowded = |(busy, waiting): (f64, f64)| {
        share >= busy && !proxy && wait.is_some_and(|wait| wait >= waiting) && !has_leader(frame)
    };
    let [enters, stays] = CROWDED.map(crowded);
    (member.enters, member.stays) = (member.enters || enters, member.stays || stays);
    let demand = inputs.demand.total.max(online.iter().sum());
    let waits = Waits { what: "run_queue", value: wait.unwrap_or(0.0) * demand, unit: "tasks" };
    let injected = frame.idle_injection().is_some();
    let member = if injected { member.note(note::IDLE_INJECTED) } else { member };
    let member = member.waits(wait, demand, waits).of(Some(online.iter().sum()), Some(online.len() as f64), "cores");
    vec![member]
}

/// Utilisation of each CPU that tasks are given.
fn online(frame: &Frame) -> Vec<f64> {
    let given = frame.cpus.iter().filter(|cpu| cpu.online && !cpu.isolated);
    given.filter_map(|cpu| Some(full(&cpu.shares?))).collect()
}

/// True where a thread is so busy that what waits may wait for it.
fn has_leader(frame: &Frame) -> bool {
    let threads = frame.threads.iter().filter_map(|thread| thread.cpu_cores);
    let single = frame.processes.iter().filter(|process| process.threads.value() == Some(1));
    threads.chain(single.filter_map(|process| process.cpu_cores)).any(|cores| cores >= LEADS)
}

/// True where more CPUs are what everything is short of.
pub(crate) fn are_full(frame: &Frame) -> bool {
    utilisation(frame, None).is_some_and(|share| share >= SHORT) && online(frame).iter().all(|share| *share >= FULL)
}

/// Share of their time that tasks wait for any CPU, and whether that is a stand-in.
fn queue(inputs: &Inputs<'_>, used: f64) -> (Option<f64>, bool) {
    let queues = [Cause::Cpus, Cause::None].map(|cause| inputs.queues.get(&cause).cloned().unwrap_or_default());
    let (wait, demand): (f64, f64) =
        (queues.iter().map(|queue| queue.wait).sum(), queues.iter().map(|queue| queue.demand).sum());
    if inputs.demand.waits_known && demand > 0.0 {
        return (Some(wait / demand), false);
    }
    // Runnable tasks beyond those that run; one of them is this program.
    let running = inputs.frame.host.running.value().map(|running| (running as f64 - 1.0 - used).max(0.0));
    let pressure = inputs.frame.pressure("cpu").and_then(|row| row.stall.some_ratio);
    let running = running.map(|waiting| waiting / (waiting + used).max(1.0));
    match (running, pressure) {
        (None, None) if inputs.demand.total < LEAST => (Some(0.0), true),
        // Both are right at times only: the lesser does not claim what is not there.
        (Some(one), Some(other)) => (Some(one.min(other)), true),
        (one, other) => (one.or(other), true),
    }
}

/// Cores that are used, and that the hypervisor takes.
fn stolen(frame: &Frame) -> (f64, f64) {
    let shares = frame.cpus.iter().filter(|cpu| cpu.online && !cpu.isolated).filter_map(|cpu| cpu.shares);
    shares.fold((0.0, 0.0), |(busy, steal), share| (busy + share.busy, steal + share.steal))
}

/// Cores that a thread which wants one all the time gets of it.
pub(super) fn reachable(frame: &Frame) -> f64 {
    let (busy, steal) = stolen(frame);
    if steal > 0.0 { busy / (busy + steal) } else { 1.0 }
}

pub(super) fn steal(inputs: &Inputs<'_>) -> Vec<Member> {
    let (busy, steal) = stolen(inputs.frame);
    if steal <= 0.0 || busy + steal <= 0.0 {
        return vec![Member::absent(ResourceKind::Steal, note::NO_STEAL)];
    }
    let share = steal / (busy + steal);
    let mut member = Member::between(ResourceKind::Steal, share, STEAL.0, STEAL.1);
    member.scales = false;
    // A machine of which nothing wants much of a CPU loses nothing.
    let cpus = inputs.frame.cpus.iter().filter(|cpu| cpu.online && !cpu.isolated).filter_map(|cpu| cpu.shares);
    let each: Vec<f64> = cpus.map(|shares| shares.busy + shares.steal).collect();
    let most = each.iter().copied().fold(0.0, f64::max);
    let wanted = busy + steal >= LEAST && (most >= WANTS || busy + steal >= WANTS_ALL * each.len() as f64);
    if !wanted {
        (member.enters, member.stays) = (false, false);
    }
    let waits = Waits { what: "steal", value: steal, unit: "cores" };
    let member = member.about(Subject::Host, &Arc::default());
    vec![member.waits(Some(if wanted { share } else { 0.0 }), busy + steal, waits)]
}
