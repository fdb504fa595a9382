//! IRQ-01: softirq saturates one CPU.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts};
use super::{backlog_drops, core_saturated, nic_rx_drops, softirq_budget};
use crate::bottleneck::ResourceKind;
use crate::locale::evidence;
use crate::locale::rule::softirq_saturated as text;
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

fn title(finding: &Finding) -> String {
    let percent = |name| parts::percent(finding.number(name));
    text::Title {
        subject: &finding.subject.named(),
        share: &percent(evidence::SOFTIRQ),
        others: &percent(evidence::OTHERS),
    }
    .to_string()
}
