//! IRQ-03: the interrupts of several busy queues go to one CPU.

use super::{Finding, Hit, Input, Look, Pace, Rule, Subject, Threshold, parts};
use crate::IdSet;
use crate::frame::{Frame, Nic};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "IRQ-03",
    name: "busy queues share one CPU",
    why: "Queues are there so that several CPUs can receive; when their interrupts go to the same one, they are one queue again.",
    reads: &[Input::CpuTimes, Input::Irqs, Input::Queues],
    looks_at: &["/proc/irq/N/effective_affinity_list", "/proc/interrupts", "/proc/stat"],
    thresholds: &[
        Threshold { name: "softirq", value: 0.5, unit: "fraction", about: "share of interrupts on that CPU" },
        Threshold { name: "exit", value: 0.3, unit: "fraction", about: "over below this" },
    ],
    guards: &["queues without traffic", "managed interrupts cannot be moved: change the channels"],
    advice: &["Give each queue a CPU: echo CPU > /proc/irq/N/smp_affinity_list", "Or start irqbalance"],
    references: &["Documentation/core-api/irq/irq-affinity.rst", "Documentation/networking/scaling.rst"],
    pace: Pace::QUICK,
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    for nic in frame.nics.iter().filter(|nic| parts::is_physical(nic)) {
        let crowds = crowded(frame, nic);
        let shares = crowds.iter().filter_map(|(cpu, queues)| {
            let shares = frame.cpu(*cpu)?.shares?;
            Some((*cpu, *queues, shares.softirq + shares.irq))
        });
        let Some((cpu, queues, share)) = shares.max_by(|a, b| a.2.total_cmp(&b.2)) else { continue };
        if share < look.limit("exit") || look.cpu_count() < 2 {
            continue;
        }
        let irqs: Vec<u32> = parts::queues_on(nic, cpu).filter_map(|queue| queue.irq.value()).collect();
        let managed = irqs.iter().filter_map(|irq| frame.irq(*irq)).any(|irq| irq.managed.value() == Some(true));
        let hit = Hit::new(Subject::Nic(Arc::clone(&nic.name)), 0.85)
            .enters(share >= look.limit("softirq"))
            .number("queues", queues as f64, "", "/proc/irq/N/effective_affinity_list")
            .number("cpu", f64::from(cpu), "", "/proc/irq/N/effective_affinity_list")
            .number("softirq", share, "fraction", "/proc/stat")
            .text("irqs", parts::list(irqs, 8), "/proc/interrupts")
            .text("managed", if managed { "yes" } else { "no" }, "/proc/irq/N/smp_affinity_list")
            .covers("IRQ-01", Subject::Cpu(cpu))
            .covers("NIC-06", Subject::Nic(Arc::clone(&nic.name)))
            .covers("CPU-01", Subject::Cpu(cpu));
        look.hit(hit);
    }
}

/// CPUs that alone serve several receiving queues of an interface that have traffic, with how many. A queue that never
/// runs empty polls and interrupts no more: where nobody counts its packets, it is one that interrupted before, on a CPU
/// that drowns.
pub(super) fn crowded(frame: &Frame, nic: &Nic) -> BTreeMap<u32, usize> {
    let mut queues: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    let rates = frame.interval_seconds.is_some();
    for queue in nic.queues.iter().filter(|queue| &*queue.direction != "tx") {
        let Some(cpu) = queue.cpus.as_deref().and_then(IdSet::single) else { continue };
        let polls = || {
            let drowns = frame.cpu(cpu).and_then(|cpu| cpu.shares).is_some_and(|shares| shares.softirq >= POLLS);
            drowns && queue.total.value().is_some_and(|total| total > 0)
        };
        let works = match (queue.packets_per_second, queue.per_second) {
            (Some(packets), _) => packets > 0.0,
            (None, interrupts) => interrupts.is_none_or(|rate| rate > 0.0) || polls(),
        };
        if queue.irq.value().is_some() && (works || !rates) {
            queues.entry(cpu).or_default().insert(queue.queue);
        }
    }
    queues.into_iter().map(|(cpu, queues)| (cpu, queues.len())).filter(|(_, queues)| *queues > 1).collect()
}

/// Share of soft interrupts from which a CPU that serves queues polls them.
const POLLS: f64 = 0.5;

fn title(finding: &Finding) -> String {
    let (queues, cpu) = (parts::count(finding.number("queues")), parts::count(finding.number("cpu")));
    let share = parts::percent(finding.number("softirq"));
    format!("{queues} busy queues of {} interrupt cpu {cpu}, which spends {share} on it", finding.subject)
}

#[cfg(test)]
mod tests {
    use super::crowded;
    use crate::frame::{Cpu, CpuShares, Frame, Nic, Queue};
    use crate::{IdSet, Known};
    use std::sync::Arc;

    #[test]
    fn queues_that_poll_are_busy_where_their_cpu_drowns() {
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
        let spends = |softirq| {
            let shares = CpuShares { softirq, ..CpuShares::default() };
            let cpus = vec![Cpu { id: 1, shares: Some(shares), ..Cpu::default() }];
            Frame { interval_seconds: Some(1.0), cpus, ..Frame::default() }
        };
        assert_eq!(crowded(&spends(0.9), &nic).get(&1), Some(&2));
        assert!(crowded(&spends(0.1), &nic).is_empty());
    }
}
