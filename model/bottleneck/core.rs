//! Cores: full ones with tasks that may run nowhere else.

use super::resource::{FULL, Member, WAIT, Waits};
use super::run_queue::{Cause, Queue, full, peers};
use super::{Inputs, ResourceKind};
use crate::IdSet;
use crate::frame::{Cpu, CpuShares};
use crate::locale::Text;
use crate::locale::resource::note;
use crate::rules::Subject;
use std::collections::BTreeSet;

pub(super) fn core(inputs: &Inputs<'_>) -> Vec<Member> {
    let frame = inputs.frame;
    let cpus = frame.cpus.iter().filter(|cpu| cpu.online && !cpu.isolated);
    let cpus: Vec<(&Cpu, CpuShares)> = cpus.filter_map(|cpu| Some((cpu, cpu.shares?))).collect();
    let Some((hottest, _)) = cpus.iter().max_by(|a, b| full(&a.1).total_cmp(&full(&b.1))) else {
        return vec![inputs.unmeasured(ResourceKind::Core, super::sections::cpu_times(frame), true)];
    };
    let pinned: BTreeSet<u32> = inputs
        .queues
        .iter()
        .filter_map(|(cause, _)| if let Cause::Core(cpu) = cause { Some(*cpu) } else { None })
        .collect();
    let shown = cpus.iter().filter(|(cpu, _)| cpu.id == hottest.id || pinned.contains(&cpu.id));
    shown.map(|(cpu, shares)| one(inputs, cpu, shares)).collect()
}

fn one(inputs: &Inputs<'_>, cpu: &Cpu, shares: &CpuShares) -> Member {
    let (id, share) = (cpu.id, full(shares));
    let queue: Option<&Queue> = inputs.queues.get(&Cause::Core(id));
    let mut member = Member::measured(ResourceKind::Core, share);
    member.resource.subject = Some(Subject::Cpu(id));
    member.scales = false;
    member.peers = peers(inputs.frame, queue.and_then(|queue| queue.allowed.as_ref()), &IdSet::from_ids([id]));
    let remark = if shares.steal >= 0.1 { note::STEAL } else { Text::EMPTY };
    // Nobody who may not leave it waits for it: what waits for a moment moves to another one.
    let hidden = share >= FULL && !inputs.demand.waits_known && !is_unqueued(cpu, share);
    let wait = if hidden { None } else { Some(queue.map_or(0.0, Queue::share)) };
    member.suspect = hidden;
    let waits = Waits { what: "run_queue", value: queue.map_or(0.0, |queue| queue.wait), unit: "tasks" };
    member.note(if hidden { note::WAIT_UNREAD } else { remark }).waits(
        wait,
        queue.map_or(0.0, |queue| queue.demand),
        waits,
    )
}

/// True where the kernel says that little waits for a CPU, whoever runs on it: programs that end between two samples tell
/// nothing of their own.
fn is_unqueued(cpu: &Cpu, share: f64) -> bool {
    cpu.run_wait_cores.is_some_and(|waits| waits < WAIT * (waits + share))
}
