//! Soft and hard interrupts of one core.

use super::resource::{Member, Waits};
use super::run_queue::{full, peers};
use super::{Inputs, ResourceKind};
use crate::IdSet;
use crate::frame::CpuShares;
use crate::rules::Subject;

/// Share of a core at which interrupts are at its limit, and still at it.
const FULL: (f64, f64) = (0.85, 0.70);

pub(super) fn softirq(inputs: &Inputs<'_>) -> Vec<Member> {
    let frame = inputs.frame;
    let share = |shares: &CpuShares| shares.softirq + shares.irq;
    let cpus = frame.cpus.iter().filter(|cpu| cpu.online && !cpu.isolated);
    let hottest = cpus.filter_map(|cpu| Some((cpu.id, cpu.shares?))).max_by(|a, b| share(&a.1).total_cmp(&share(&b.1)));
    let Some((id, shares)) = hottest else {
        return vec![inputs.unmeasured(ResourceKind::Softirq, super::sections::cpu_times(frame), false)];
    };
    let mut member = Member::between(ResourceKind::Softirq, share(&shares), FULL.0, FULL.1);
    member.resource.subject = Some(Subject::Cpu(id));
    member.peers = peers(frame, None, &IdSet::from_ids([id]));
    let lost = frame
        .softnet
        .iter()
        .find(|row| row.cpu == id)
        .map(|row| row.dropped_per_second.unwrap_or(0.0) + row.time_squeeze_per_second.unwrap_or(0.0));
    let missed: f64 = frame.nics.iter().filter_map(|nic| nic.rx_missed_per_second).sum();
    let lost = lost.map(|lost| lost + missed).or((missed > 0.0).then_some(missed));
    // What is squeezed or dropped is there again in every round: the time of the core is what waits.
    let wait = lost.map(|lost| if lost > 0.0 { share(&shares) } else { 0.0 });
    member.suspect = member.enters && wait.is_none();
    vec![member.waits(wait, full(&shares), Waits { what: "drops", value: lost.unwrap_or(0.0), unit: "1/s" })]
}
