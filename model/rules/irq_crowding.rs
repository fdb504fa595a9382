//! IRQ-03: several busy queues interrupt one CPU.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Subject, Threshold, parts};
use super::{core_saturated, nic_rx_drops, softirq_saturated};
use crate::IdSet;
use crate::bottleneck::ResourceKind;
use crate::frame::{Frame, Nic};
use crate::locale::evidence;
use crate::locale::rule::irq_crowding as text;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The id of the rule.
pub const ID: RuleId = RuleId::new("IRQ-03");
pub(crate) const SOFTIRQ: Threshold = ID.threshold(text::threshold::SOFTIRQ, 0.5, "fraction");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 0.3, "fraction");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Softirq],
    needs_load: true,
    reads: &[Input::CpuTimes, Input::Irqs, Input::Queues],
    sources: &["/proc/irq/N/effective_affinity_list", "/proc/interrupts", "/proc/stat"],
    thresholds: &[SOFTIRQ, EXIT],
    references: &["Documentation/core-api/irq/irq-affinity.rst", "Documentation/networking/scaling.rst"],
    pace: Pace::QUICK,
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    for nic in frame.nics.iter().filter(|nic| parts::is_physical(nic)) {
        let crowds = crowded(frame, nic);
        let shares = crowds.iter().filter_map(|(cpu, queues)| {
            let shares = frame.cpu(*cpu)?.shares?;
            Some((*cpu, *queues, shares.softirq + shares.irq))
        });
        let Some((cpu, queues, share)) = shares.max_by(|a, b| a.2.total_cmp(&b.2)) else { continue };
        if share < context.limit(&EXIT) || context.cpu_count() < 2 {
            continue;
        }
        let irqs: Vec<u32> = parts::queues_on(nic, cpu).filter_map(|queue| queue.irq.value()).collect();
        let managed = irqs.iter().filter_map(|irq| frame.irq(*irq)).any(|irq| irq.managed.value() == Some(true));
        let hit = Hit::new(Subject::Nic(Arc::clone(&nic.name)), 0.85)
            .enters(share >= context.limit(&SOFTIRQ))
            .number(evidence::QUEUES, queues as f64, "", "/proc/irq/N/effective_affinity_list")
            .number(evidence::CPU, f64::from(cpu), "", "/proc/irq/N/effective_affinity_list")
            .number(evidence::SOFTIRQ, share, "fraction", "/proc/stat")
            .text(evidence::IRQS, parts::list(irqs, 8), "/proc/interrupts")
            .text(evidence::MANAGED, if managed { "yes" } else { "no" }, "/proc/irq/N/smp_affinity_list")
            .covers(softirq_saturated::ID, Subject::Cpu(cpu))
            .covers(nic_rx_drops::ID, Subject::Nic(Arc::clone(&nic.name)))
            .covers(core_saturated::ID, Subject::Cpu(cpu));
        context.hit(hit);
    }
}

/// CPUs that alone serve several busy receive queues of an interface, with the number of queues. A queue that never runs
/// empty polls and raises no interrupts: without a packet counter it counts as busy if it raised interrupts before and
/// its CPU is busy with softirq.
pub(super) fn crowded(frame: &Frame, nic: &Nic) -> BTreeMap<u32, usize> {
    let mut queues: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    let rates = frame.interval_seconds.is_some();
    for queue in nic.queues.iter().filter(|queue| &*queue.direction != "tx") {
        let Some(cpu) = queue.cpus.as_deref().and_then(IdSet::single) else { continue };
        let polls = || {
            let saturated = frame.cpu(cpu).and_then(|cpu| cpu.shares).is_some_and(|shares| shares.softirq >= POLLING);
            saturated && queue.total.value().is_some_and(|total| total > 0)
        };
        let busy = match (queue.packets_per_second, queue.per_second) {
            (Some(packets), _) => packets > 0.0,
            (None, interrupts) => interrupts.is_none_or(|rate| rate > 0.0) || polls(),
        };
        if queue.irq.value().is_some() && (busy || !rates) {
            queues.entry(cpu).or_default().insert(queue.queue);
        }
    }
    queues.into_iter().map(|(cpu, queues)| (cpu, queues.len())).filter(|(_, queues)| *queues > 1).collect()
}

/// Softirq share from which a CPU polls its queues.
const POLLING: f64 = 0.5;

fn title(finding: &Finding) -> String {
    let count = |name| parts::count(finding.number(name));
    text::Title {
        queues: &count(evidence::QUEUES),
        subject: &finding.subject,
        cpu: &count(evidence::CPU),
        share: &parts::percent(finding.number(evidence::SOFTIRQ)),
    }
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::crowded;
    use crate::frame::{Cpu, CpuShares, Frame, Nic, Queue};
    use crate::{IdSet, Known};
    use std::sync::Arc;

    #[test]
    fn polling_queues_are_busy_on_a_cpu_saturated_by_softirq() {
        let queue = |queue, direction: &str, total| Queue {
            queue,
            direction: direction.into(),
            irq: Known::Value(60 + queue),
            cpus: Some(Arc::new(IdSet::from_ids([1]))),
            total: Known::Value(total),
            per_second: Some(0.0),
            ..Queue::default()
        };
        let queues = vec![queue(0, "rx", 150), queue(1, "rx", 58), queue(2, "rx", 0), queue(3, "tx", 400)];
        let nic = Nic { queues, ..Nic::default() };
        let frame = |softirq| {
            let shares = CpuShares { softirq, ..CpuShares::default() };
            let cpus = vec![Cpu { id: 1, shares: Some(shares), ..Cpu::default() }];
            Frame { interval_seconds: Some(1.0), cpus, ..Frame::default() }
        };
        assert_eq!(crowded(&frame(0.9), &nic).get(&1), Some(&2));
        assert!(crowded(&frame(0.1), &nic).is_empty());
    }
}
