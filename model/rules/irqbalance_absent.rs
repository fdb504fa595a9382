//! IRQ-02: irqbalance does not run, and queues share CPUs.

use super::{
    Finding, Hit, Input, Pace, Preflight, Rule, RuleContext, RuleId, Severity, Subject, Threshold, irq_crowding, parts,
    preflight,
};
use super::{core_saturated, softirq_saturated};
use crate::bottleneck::ResourceKind;
use crate::locale::evidence;
use crate::locale::rule::irqbalance_absent as text;
use std::sync::Arc;

/// The id of the rule.
pub const ID: RuleId = RuleId::new("IRQ-02");
pub(crate) const QUEUES: Threshold = ID.threshold(text::threshold::QUEUES, 2.0, "");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Softirq],
    needs_load: true,
    reads: &[Input::CpuTimes, Input::Irqs],
    sources: &["/proc/PID/comm", "/proc/irq/N/effective_affinity_list", "/proc/stat"],
    thresholds: &[QUEUES],
    references: &["irqbalance(1)", "Documentation/core-api/irq/irq-affinity.rst"],
    pace: Pace { at_once: true, ..Pace::QUICK },
    preflight: Some(Preflight { name: text::PREFLIGHT, says: preflight::irqbalance }),
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    if frame.topology.cpus_online.len() < 2 {
        return;
    }
    let Some(irqbalance) = &frame.irqbalance else {
        context.unchecked(Subject::Host, &text::UNCHECKED_STATE, &text::NEEDS_PROC);
        return;
    };
    if !["absent", "failed"].contains(&&*irqbalance.state) {
        return;
    }
    let min_queues = context.limit(&QUEUES);
    let hot = parts::hot_cpus(context);
    let mut crowds = Vec::new();
    let mut saturated = false;
    let mut covered = Vec::new();
    for nic in frame.nics.iter().filter(|nic| parts::is_physical(nic)) {
        for (cpu, queues) in irq_crowding::crowded(frame, nic) {
            if queues as f64 >= min_queues {
                crowds.push(text::Crowd { cpu: &cpu, queues: &queues, nic: &nic.name }.to_string());
                covered.push(Subject::Nic(Arc::clone(&nic.name)));
                saturated |= hot.iter().any(|hot| hot.enters && hot.id == cpu);
            }
        }
    }
    if crowds.is_empty() {
        return;
    }
    let severity = if saturated { Severity::Warning } else { Severity::Info };
    let mut hit = Hit::new(Subject::Host, 0.7)
        .severity(severity)
        .would_hurt()
        .text(evidence::STATE, Arc::clone(&irqbalance.state), "/proc/PID/comm")
        .text(evidence::SHARED_IRQ_CPUS, parts::list(crowds, 4), "/proc/irq/N/effective_affinity_list");
    for nic in covered {
        hit = hit.covers(irq_crowding::ID, nic);
    }
    for hot in hot {
        hit = hit.covers(softirq_saturated::ID, Subject::Cpu(hot.id)).covers(core_saturated::ID, Subject::Cpu(hot.id));
    }
    context.hit(hit);
}

fn title(finding: &Finding) -> String {
    let crowds = &finding.text(evidence::SHARED_IRQ_CPUS);
    match finding.text(evidence::STATE) {
        "failed" => text::TitleFailed { crowds }.to_string(),
        _ => text::TitleAbsent { crowds }.to_string(),
    }
}
