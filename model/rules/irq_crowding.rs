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
            .text(evidence::MANAGED, parts::yes_or_no(managed), "/proc/irq/N/smp_affinity_list")
            .covers(softirq_saturated::ID, Subject::Cpu(cpu))
            .covers(nic_rx_drops::ID, Subject::Nic(Arc::clone(&nic.name)))
            .covers(core_saturated::ID, Subject::Cpu(cpu));
        context.hit(hit);
    }
}

/// CPUs that alone serve more busy receive queues of an interface than an even spread gives them, with their number. A queue that never runs
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
    let busy: usize = queues.values().map(BTreeSet::len).sum();
    // With more queues than CPUs some CPU has to serve several.
    let even = busy.div_ceil(usable(frame, nic).max(1)).max(1);
    queues.into_iter().map(|(cpu, queues)| (cpu, queues.len())).filter(|(_, queues)| *queues > even).collect()
}

/// CPUs that the queues of an interface could use: those of its node that are not isolated, else all.
fn usable(frame: &Frame, nic: &Nic) -> usize {
    let open = |cpus: &IdSet| cpus.iter().filter(|cpu| frame.cpu(*cpu).is_none_or(|cpu| !cpu.isolated)).count();
    let online = &frame.topology.cpus_online;
    let node = nic.node.value().and_then(|node| frame.topology.node(node)).map(|node| &node.cpus);
    let near = node.map_or(0, |cpus| open(&cpus.intersection(online)));
    if near > 0 { near } else { open(online) }
}

/// Softirq share from which a CPU polls its queues.
const POLLING: f64 = 0.5;

fn title(finding: &Finding) -> String {
    let count = |name| parts::count(finding.number(name));
    text::Title {
        queues: &count(evidence::QUEUES),
        subject: &finding.subject.named(),
        cpu: &count(evidence::CPU),
        share: &parts::percent(finding.number(evidence::SOFTIRQ)),
    }
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::crowded;
    use crate::frame::{Cpu, CpuShares, Frame, Nic, Queue, Topology};
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
            let topology = Topology { cpus_online: IdSet::from_ids(0..4), ..Topology::default() };
            Frame { interval_seconds: Some(1.0), cpus, topology: Arc::new(topology), ..Frame::default() }
        };
        assert_eq!(crowded(&frame(0.9), &nic).get(&1), Some(&2));
        assert!(crowded(&frame(0.1), &nic).is_empty());
    }

    #[test]
    fn an_even_card_with_more_queues_than_cpus_crowds_nobody() {
        let queue = |queue, cpu| Queue {
            queue,
            direction: "rx".into(),
            irq: Known::Value(60 + queue),
            cpus: Some(Arc::new(IdSet::from_ids([cpu]))),
            packets_per_second: Some(1000.0),
            ..Queue::default()
        };
        let topology = Topology { cpus_online: IdSet::from_ids(0..8), ..Topology::default() };
        let frame = Frame { interval_seconds: Some(1.0), topology: Arc::new(topology), ..Frame::default() };
        let even = Nic { queues: (0..16).map(|id| queue(id, id % 8)).collect(), ..Nic::default() };
        assert!(crowded(&frame, &even).is_empty());
        let uneven =
            Nic { queues: (0..16).map(|id| queue(id, if id < 5 { 0 } else { id % 8 })).collect(), ..Nic::default() };
        assert_eq!(crowded(&frame, &uneven).into_iter().collect::<Vec<_>>(), [(0, 6)]);
        let half = Nic { queues: (0..8).map(|id| queue(id, id % 4)).collect(), ..Nic::default() };
        assert_eq!(crowded(&frame, &half).len(), 4, "four CPUs have none");
    }
}
