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

/// CPUs that alone serve several queues of an interface that have traffic, with how many.
pub(super) fn crowded(frame: &Frame, nic: &Nic) -> BTreeMap<u32, usize> {
    let mut irqs: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    let rates = frame.interval_seconds.is_some();
    for queue in &nic.queues {
        let Some(cpu) = queue.cpus.as_deref().and_then(IdSet::single) else { continue };
        let works = queue.packets_per_second.or(queue.per_second).is_none_or(|rate| rate > 0.0);
        if let Some(irq) = queue.irq.value().filter(|_| works || !rates) {
            irqs.entry(cpu).or_default().insert(irq);
        }
    }
    irqs.into_iter().map(|(cpu, irqs)| (cpu, irqs.len())).filter(|(_, queues)| *queues > 1).collect()
}

fn title(finding: &Finding) -> String {
    let (queues, cpu) = (parts::count(finding.number("queues")), parts::count(finding.number("cpu")));
    let share = parts::percent(finding.number("softirq"));
    format!("{queues} busy queues of {} interrupt cpu {cpu}, which spends {share} on it", finding.subject)
}
