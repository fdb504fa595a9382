//! Why tasks wait in run queues: the narrowest cause that is full.

use super::demand::{Demand, Task};
use crate::IdSet;
use crate::frame::{CpuShares, Frame, Process};
use crate::rules::parts::above;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Share of throttled periods from which on a quota explains what its group waits for.
pub(super) const THROTTLED: f64 = 0.25;
/// The same while it limits.
pub(super) const THROTTLED_LEAVES: f64 = 0.05;
/// Utilisation from which on CPUs explain what waits for them; below the threshold of a full one, so that values around
/// that do not change the cause.
const EXPLAINS: f64 = 0.85;

/// What a task waits for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cause {
    /// The quota of a group.
    Quota(Arc<str>),
    /// All CPUs.
    Cpus,
    /// The CPUs of a group's cpuset.
    Cpuset(Arc<str>),
    /// The CPUs that the threads of a process are confined to, more than one.
    Affinity(u32, u64),
    /// The one CPU that threads are pinned to.
    Core(u32),
    /// None is full.
    None,
}

/// The waiting for one cause.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    /// Cores' worth of waiting of load-bearing tasks.
    pub(super) wait: f64,
    /// Their demand.
    pub(super) demand: f64,
    /// The CPUs that they are confined to.
    pub(super) cpus: Option<IdSet>,
    /// The CPUs that they could be given.
    pub(super) allowed: Option<IdSet>,
    /// The process that waits most, and how much.
    pub(super) most: Option<(u32, f64)>,
}

impl Queue {
    /// Share of their time.
    pub(super) fn share(&self) -> f64 {
        if self.demand > 0.0 { self.wait / self.demand } else { 0.0 }
    }
}

/// The waiting of load-bearing tasks by cause.
#[derive(Clone, Debug, Default)]
pub(super) struct RunQueue(BTreeMap<Cause, Queue>);

impl RunQueue {
    pub(super) fn of(frame: &Frame, demand: &Demand<'_>) -> Self {
        let mut all = Self::default();
        let machine = utilisation(frame, None).unwrap_or(0.0);
        for task in demand.bearing() {
            for part in parts(frame, task) {
                let cause = cause(frame, task.process, &part, machine);
                all.add(cause, frame, task.process, part);
            }
        }
        all
    }

    fn add(&mut self, cause: Cause, frame: &Frame, process: &Process, part: Part) {
        let queue = self.0.entry(cause).or_default();
        queue.wait += part.wait;
        queue.demand += part.demand;
        if let Some(cpus) = part.cpus {
            queue.cpus = Some(queue.cpus.as_ref().map_or_else(|| cpus.clone(), |known| known.union(&cpus)));
        }
        let allowed = crate::rules::parts::cpuset(frame, process);
        queue.allowed = Some(queue.allowed.as_ref().map_or_else(|| allowed.clone(), |known| known.union(allowed)));
        if queue.most.is_none_or(|most| part.wait > most.1) {
            queue.most = Some((process.pid, part.wait));
        }
    }

    pub(super) fn get(&self, cause: &Cause) -> Option<&Queue> {
        self.0.get(cause)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Cause, &Queue)> {
        self.0.iter()
    }
}

/// Threads of a task with the same CPUs.
struct Part {
    cpus: Option<IdSet>,
    wait: f64,
    demand: f64,
}

fn parts(frame: &Frame, task: &Task<'_>) -> Vec<Part> {
    let threads = frame.threads_of(task.process.pid);
    let known = threads.iter().filter_map(|thread| {
        let (demand, ran) = (thread.demand_cores?, thread.cpu_cores?);
        let cpus = thread.affinity.as_deref().cloned();
        Some(Part { cpus, wait: (demand - ran).max(0.0), demand })
    });
    let mut parts: Vec<Part> = known.collect();
    let (seen, wait): (f64, f64) =
        (parts.iter().map(|part| part.demand).sum(), parts.iter().map(|part| part.wait).sum());
    // The threads that are not looked at wait where the main thread may run.
    let rest = (task.demand() - seen).max(0.0);
    if rest > 0.0 || parts.is_empty() {
        let one = task.process.thread_affinities.len() <= 1;
        let cpus = task.process.affinity.as_deref().filter(|_| one).cloned();
        parts.push(Part { cpus, wait: (task.wait.unwrap_or(0.0) - wait).max(0.0), demand: rest });
    }
    parts
}

fn cause(frame: &Frame, process: &Process, part: &Part, machine: f64) -> Cause {
    let throttled = above(process.quota_group()).find(|path| {
        let ratio = frame.cgroup(path).and_then(|group| group.cpu.throttled_ratio);
        ratio.is_some_and(|ratio| ratio >= THROTTLED_LEAVES)
    });
    if let Some(path) = throttled {
        return Cause::Quota(path.into());
    }
    if machine >= EXPLAINS {
        return Cause::Cpus;
    }
    let is_full = |cpus: &IdSet| utilisation(frame, Some(cpus)).is_some_and(|share| share >= EXPLAINS);
    let (group, set) = cpuset(frame, process).map_or((None, None), |(path, cpus)| (Some(path), Some(cpus)));
    let narrowed = match (part.cpus.as_ref(), set) {
        (Some(cpus), Some(set)) if !set.is_subset(cpus) => Some(cpus.intersection(set)),
        (Some(cpus), None) if !frame.topology.cpus_online.is_subset(cpus) => Some(cpus.clone()),
        _ => None,
    };
    match (narrowed, group, set) {
        (Some(cpus), ..) if is_full(&cpus) => match cpus.single() {
            Some(cpu) => Cause::Core(cpu),
            None => Cause::Affinity(process.pid, process.starttime),
        },
        (None, Some(group), Some(set)) if is_full(set) => Cause::Cpuset(group.into()),
        _ => Cause::None,
    }
}

/// The group that confines a process to some of the CPUs, and those.
pub(super) fn cpuset<'a>(frame: &'a Frame, process: &'a Process) -> Option<(&'a str, &'a IdSet)> {
    let mut groups =
        above(process.cpuset_group()).filter_map(|path| Some((path, frame.cgroup(path)?.cpuset_cpus.as_deref()?)));
    let (path, cpus) = groups.find(|(_, cpus)| !cpus.is_empty())?;
    (!frame.topology.cpus_online.is_subset(cpus)).then_some((path, cpus))
}

/// Busy and stolen share.
pub(super) fn full(shares: &CpuShares) -> f64 {
    (shares.busy + shares.steal).clamp(0.0, 1.0)
}

/// Mean busy and stolen share of CPUs; of all that are not isolated if none are given.
pub(super) fn utilisation(frame: &Frame, cpus: Option<&IdSet>) -> Option<f64> {
    let counted = frame.cpus.iter().filter(|cpu| cpu.online);
    let counted = counted.filter(|cpu| cpus.map_or(!cpu.isolated, |cpus| cpus.contains(cpu.id)));
    let shares: Vec<f64> = counted.filter_map(|cpu| Some(full(&cpu.shares?))).collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}

/// Median busy and stolen share of CPUs without some of them.
pub(super) fn peers(frame: &Frame, allowed: Option<&IdSet>, without: &IdSet) -> Option<f64> {
    let others = frame.cpus.iter().filter(|cpu| cpu.online && !cpu.isolated && !without.contains(cpu.id));
    let others = others.filter(|cpu| allowed.is_none_or(|allowed| allowed.contains(cpu.id)));
    let mut shares: Vec<f64> = others.filter_map(|cpu| Some(full(&cpu.shares?))).collect();
    shares.sort_by(f64::total_cmp);
    shares.get(shares.len() / 2).copied()
}
