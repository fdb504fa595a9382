//! IRQ-01: softirq saturates one CPU.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts};
use super::{backlog_drops, core_saturated, nic_rx_drops, softirq_budget};
use crate::bottleneck::ResourceKind;
use crate::frame::{Frame, Irq};
use crate::locale::rule::softirq_saturated as text;
use crate::locale::{Texts, evidence};
use std::sync::Arc;

/// The id of the rule.
pub const ID: RuleId = RuleId::new("IRQ-01");
pub(crate) const SOFTIRQ: Threshold = ID.threshold(text::threshold::SOFTIRQ, 0.6, "fraction");
pub(crate) const CRITICAL: Threshold = ID.threshold(text::threshold::CRITICAL, 0.9, "fraction");
pub(crate) const OTHERS: Threshold = ID.threshold(text::threshold::OTHERS, 0.15, "fraction");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 0.4, "fraction");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    advises: Some(advises),
    limits: |_| &[ResourceKind::Softirq],
    needs_load: true,
    reads: &[Input::CpuTimes],
    sources: &["/proc/stat", "/proc/softirqs", "/proc/net/softnet_stat"],
    thresholds: &[SOFTIRQ, CRITICAL, OTHERS, EXIT],
    references: &["Documentation/networking/scaling.rst"],
    pace: Pace::QUICK,
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    for hot in parts::hot_cpus(context) {
        let rate = |name: &str| {
            let row = frame.softirqs.iter().find(|row| &*row.name == name)?;
            row.per_cpu_per_second.iter().find(|(cpu, _)| *cpu == hot.id).map(|(_, rate)| *rate)
        };
        let softnet = frame.softnet.iter().find(|row| row.cpu == hot.id);
        let nics: Vec<_> = frame.nics.iter().filter(|nic| parts::queues_on(nic, hot.id).next().is_some()).collect();
        let critical = hot.share >= context.limit(&CRITICAL);
        let mut hit = Hit::new(Subject::Cpu(hot.id), 0.9)
            .enters(hot.enters)
            .severity(if critical { Severity::Critical } else { Severity::Warning })
            .number(evidence::SOFTIRQ, hot.share, "fraction", "/proc/stat")
            .number(evidence::OTHERS, hot.others, "fraction", "/proc/stat")
            .known(evidence::HARD, hard(frame, hot.id), "fraction", "/proc/stat")
            .some_text(evidence::INTERRUPT, busiest_irq(frame, hot.id), "/proc/interrupts")
            .known(evidence::NET_RX, rate("NET_RX"), "1/s", "/proc/softirqs")
            .known(evidence::PACKETS, softnet.and_then(|row| row.processed_per_second), "1/s", "/proc/net/softnet_stat")
            .known(
                evidence::SQUEEZED,
                softnet.and_then(|row| row.time_squeeze_per_second),
                "1/s",
                "/proc/net/softnet_stat",
            )
            .text(
                evidence::NICS,
                parts::list(nics.iter().map(|nic| &nic.name), 4),
                "/proc/irq/N/effective_affinity_list",
            )
            .covers(core_saturated::ID, Subject::Cpu(hot.id))
            .covers(softirq_budget::ID, Subject::Cpu(hot.id))
            .covers(backlog_drops::ID, Subject::Cpu(hot.id));
        for nic in nics {
            hit = hit.covers(nic_rx_drops::ID, Subject::Nic(Arc::clone(&nic.name)));
        }
        context.hit(hit);
    }
}

/// Share of hardware interrupts on a CPU; none where that of soft interrupts is larger.
fn hard(frame: &Frame, cpu: u32) -> Option<f64> {
    let shares = frame.cpu(cpu)?.shares?;
    (shares.irq > shares.softirq).then_some(shares.irq)
}

/// The interrupt that comes most often to a CPU whose time goes to hardware interrupts.
fn busiest_irq(frame: &Frame, cpu: u32) -> String {
    let rate = |irq: &Irq| irq.per_cpu_per_second.iter().find(|(id, _)| *id == cpu).map_or(0.0, |(_, rate)| *rate);
    let busiest = frame.irqs.iter().max_by(|a, b| rate(a).total_cmp(&rate(b)));
    let busiest = busiest.filter(|irq| rate(irq) >= 1.0 && hard(frame, cpu).is_some());
    busiest.map_or_else(String::new, |irq| format!("{} {}", irq.irq, irq.name))
}

fn advises(finding: &Finding) -> Texts {
    if finding.number(evidence::HARD).is_some() { text::ADVICE_HARD } else { text::ADVICE }
}

fn title(finding: &Finding) -> String {
    let percent = |name| parts::percent(finding.number(name));
    if finding.number(evidence::HARD).is_some() {
        let (subject, share) = (&finding.subject.named(), &percent(evidence::SOFTIRQ));
        let irq = &finding.text(evidence::INTERRUPT);
        return match &**irq {
            "" => text::TitleHard { subject, share }.to_string(),
            _ => text::TitleHardIrq { subject, share, irq }.to_string(),
        };
    }
    text::Title {
        subject: &finding.subject.named(),
        share: &percent(evidence::SOFTIRQ),
        others: &percent(evidence::OTHERS),
    }
    .to_string()
}
