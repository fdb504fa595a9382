//! Sets of CPUs that groups and processes are confined to.

use super::member_names::{group_name, process_name};
use super::resource::{Member, Waits};
use super::run_queue::{Cause, Queue, peers, utilisation};
use super::{Inputs, ResourceKind};
use crate::IdSet;
use crate::locale::resource::note;
use crate::rules::Subject;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) fn cpuset(inputs: &Inputs<'_>) -> Vec<Member> {
    let frame = inputs.frame;
    // The sets of those that bear load.
    let mut groups: BTreeMap<&str, &IdSet> = BTreeMap::new();
    for task in inputs.demand.bearing() {
        groups.extend(super::run_queue::cpuset(frame, task.process));
    }
    let mut members: Vec<Member> = Vec::new();
    for (path, cpus) in groups {
        let Some(share) = utilisation(frame, Some(cpus)) else { continue };
        let queue = inputs.queues.get(&Cause::Cpuset(path.into()));
        let name = frame.cgroup(path).map_or_else(|| Arc::from(path), group_name);
        let member = Member::measured(ResourceKind::Cpuset, share).about(Subject::Cgroup(path.into()), &name);
        members.push(waiting(member, queue, cpus.len()));
    }
    for (cause, queue) in inputs.queues.iter() {
        let (Cause::Affinity(pid, start), Some(cpus)) = (cause, &queue.cpus) else { continue };
        let Some(share) = utilisation(frame, Some(cpus)) else { continue };
        let name = process_name(frame, *pid);
        let member = Member::measured(ResourceKind::Cpuset, share).about(Subject::Process(*pid, *start), &name);
        let mut member = waiting(member, Some(queue), cpus.len());
        member.peers = peers(frame, queue.allowed.as_ref(), cpus);
        members.push(member);
    }
    if members.is_empty() {
        members.push(Member::absent(ResourceKind::Cpuset, note::NO_CPUSET));
    }
    members
}

fn waiting(member: Member, queue: Option<&Queue>, cpus: u64) -> Member {
    let share = member.resource.share;
    let waits = Waits { what: "run_queue", value: queue.map_or(0.0, |queue| queue.wait), unit: "tasks" };
    let wait = Some(queue.map_or(0.0, Queue::share));
    let member = member.waits(wait, queue.map_or(0.0, |queue| queue.demand), waits);
    member.of(share.map(|share| share * cpus as f64), Some(cpus as f64), "cores")
}
