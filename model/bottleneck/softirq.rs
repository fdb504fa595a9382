//! Soft and hard interrupts of one core.

use super::resource::{FULL, Member, Waits};
use super::run_queue::{full, peers};
use super::{Inputs, ResourceKind, thread};
use crate::IdSet;
use crate::frame::Process;
use crate::rules::Subject;

/// Share of a core at which interrupts are at its limit, and still at it.
const LIMIT: (f64, f64) = (0.85, 0.70);

pub(super) fn softirq(inputs: &Inputs<'_>) -> Vec<Member> {
    let frame = inputs.frame;
    let cpus = frame.cpus.iter().filter(|cpu| cpu.online && !cpu.isolated && cpu.shares.is_some());
    let hottest = cpus.max_by(|a, b| inputs.interrupts(a.id).total_cmp(&inputs.interrupts(b.id)));
    let Some((id, shares)) = hottest.and_then(|cpu| Some((cpu.id, cpu.shares?))) else {
        return vec![inputs.unmeasured(ResourceKind::Softirq, super::sections::cpu_times(frame), false)];
    };
    let share = inputs.interrupts(id);
    // Of now is what is shown; what decides is the mean, since the kernel counts by ticks.
    let now = shares.softirq + shares.irq;
    let mut member = Member::between(ResourceKind::Softirq, now, LIMIT.0, LIMIT.1);
    (member.enters, member.stays) = (share >= LIMIT.0, share >= LIMIT.1);
    member.resource.subject = Some(Subject::Cpu(id));
    member.peers = peers(frame, None, &IdSet::from_ids([id]));
    let row = frame.softnet.iter().find(|row| row.cpu == id);
    let lost = row.map(|row| row.dropped_per_second.unwrap_or(0.0) + row.time_squeeze_per_second.unwrap_or(0.0));
    let missed: f64 = frame.nics.iter().filter_map(|nic| nic.rx_missed_per_second).sum();
    let lost = lost.map(|lost| lost + missed).or((missed > 0.0).then_some(missed));
    // Tasks of the load on this core wait for its interrupts, also where they are charged with them.
    let here = |pid: u32| frame.process(pid).and_then(|process| process.last_cpu.value()) == Some(id);
    let delays = full(&shares) >= FULL && inputs.demand.bearing().any(|task| here(task.process.pid));
    if delays && share >= thread::INTERRUPTS {
        (member.enters, member.stays) = (true, true);
    }
    // A thread that polls a queue alone is not squeezed: it is full when its core is.
    let polls = |process: &&Process| process.comm.starts_with("napi/") && process.last_cpu.value() == Some(id);
    let polled = frame.processes.iter().filter(polls).filter_map(|process| process.cpu_cores).fold(0.0, f64::max);
    member.alone |= polled >= LIMIT.0;
    // What is squeezed or dropped is there again in every round: the time of the core is what waits.
    let waits = lost.map(|lost| if lost > 0.0 || delays { share } else { 0.0 });
    member.suspect = member.enters && waits.is_none();
    // Packets that it has no time for are demand as well.
    let done = row.and_then(|row| row.processed_per_second).unwrap_or(0.0).max(1.0);
    let demand = full(&shares) * (1.0 + lost.unwrap_or(0.0) / done).min(10.0);
    vec![member.waits(waits, demand, Waits { what: "drops", value: lost.unwrap_or(0.0), unit: "1/s" })]
}
