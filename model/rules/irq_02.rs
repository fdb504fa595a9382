//! IRQ-02: nobody spreads interrupts, and they crowd.

use super::{Finding, Hit, Input, Look, Pace, Preflight, Rule, Severity, Subject, Threshold, before, irq_03, parts};
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "IRQ-02",
    name: "irqbalance is not running",
    why: "Drivers leave the interrupts of their queues where the kernel put them, often on one CPU. irqbalance spreads them; without it several busy queues share a core.",
    reads: &[Input::CpuTimes, Input::Irqs],
    looks_at: &["/proc/PID/comm", "/proc/irq/N/effective_affinity_list", "/proc/stat"],
    thresholds: &[
        Threshold { name: "queues", value: 2.0, unit: "", about: "queues of one interface that one CPU serves" },
    ],
    guards: &["one CPU", "queues that do not share CPUs", "one-shot irqbalance and managed interrupts", "without a hot CPU it is only told"],
    advice: &["systemctl start irqbalance", "Or place them by hand: IRQ-03"],
    references: &["irqbalance(1)", "Documentation/core-api/irq/irq-affinity.rst"],
    pace: Pace { at_once: true, ..Pace::QUICK },
    preflight: Some(Preflight { name: "irqbalance", says: before::irqbalance }),
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    if frame.topology.cpus_online.len() < 2 {
        return;
    }
    let Some(irqbalance) = &frame.irqbalance else {
        look.unchecked(Subject::Host, "whether irqbalance runs could not be read", "a /proc that shows all processes");
        return;
    };
    if !["absent", "failed"].contains(&&*irqbalance.state) {
        return;
    }
    let least = look.limit("queues");
    let hot = parts::hot_cpus(look);
    let mut crowds = Vec::new();
    let mut skewed = false;
    let mut covered = Vec::new();
    for nic in frame.nics.iter().filter(|nic| parts::is_physical(nic)) {
        for (cpu, queues) in irq_03::crowded(frame, nic) {
            if queues as f64 >= least {
                crowds.push(format!("{queues} queues of {} on cpu {cpu}", nic.name));
                covered.push(Subject::Nic(Arc::clone(&nic.name)));
                skewed |= hot.iter().any(|hot| hot.enters && hot.id == cpu);
            }
        }
    }
    if crowds.is_empty() {
        return;
    }
    let severity = if skewed { Severity::Warning } else { Severity::Info };
    let mut hit = Hit::new(Subject::Host, 0.7)
        .severity(severity)
        .would_hurt()
        .text("state", Arc::clone(&irqbalance.state), "/proc/PID/comm")
        .text("crowded", parts::list(crowds, 4), "/proc/irq/N/effective_affinity_list");
    for nic in covered {
        hit = hit.covers("IRQ-03", nic);
    }
    for hot in hot {
        hit = hit.covers("IRQ-01", Subject::Cpu(hot.id)).covers("CPU-01", Subject::Cpu(hot.id));
    }
    look.hit(hit);
}

fn title(finding: &Finding) -> String {
    format!("irqbalance is {}, and interrupts crowd: {}", finding.text("state"), finding.text("crowded"))
}
