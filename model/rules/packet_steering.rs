//! NIC-05: an interface has one queue and no packet steering.

use super::{
    Finding, Hit, Input, Pace, Preflight, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts, preflight,
};
use super::{core_saturated, nic_rx_drops, softirq_budget, softirq_saturated};
use crate::bottleneck::ResourceKind;
use crate::locale::evidence;
use crate::locale::rule::packet_steering as text;
use std::sync::Arc;

/// The id of the rule.
pub const ID: RuleId = RuleId::new("NIC-05");
pub(crate) const PACKETS: Threshold = ID.threshold(text::threshold::PACKETS, 5000.0, "1/s");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Softirq],
    reads: &[Input::CpuTimes, Input::Nics, Input::Queues],
    sources: &["ethtool -l", "queues/rx-N/rps_cpus", "/proc/stat"],
    thresholds: &[PACKETS],
    references: &["Documentation/networking/scaling.rst"],
    pace: Pace::QUICK,
    preflight: Some(Preflight { name: text::PREFLIGHT, says: preflight::steering }),
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    let hot = parts::hot_cpus(context);
    for nic in frame.nics.iter().filter(|nic| parts::is_physical(nic)) {
        let one = |channel: &crate::frame::Channel| channel.max.value().is_none_or(|max| max <= 1);
        let receiving: Vec<_> = nic.queues.iter().filter(|queue| &*queue.direction != "tx").collect();
        let steered = receiving.iter().any(|queue| queue.rps_cpus.as_ref().is_some_and(|cpus| !cpus.is_empty()));
        if receiving.len() != 1 || steered || !one(&nic.channels.combined) || !one(&nic.channels.rx) {
            continue;
        }
        let Some(hot) = hot.iter().find(|hot| parts::queues_on(nic, hot.id).next().is_some()) else {
            if context.is_before_test() && frame.topology.cpus_online.len() > 1 && nic.carrier.value() != Some(false) {
                context.hit(Hit::new(Subject::Nic(Arc::clone(&nic.name)), 0.8).severity(Severity::Info).would_hurt());
            }
            continue;
        };
        let packets = nic.rx.packets_per_second;
        let idle = parts::idle_cpus(context, None, 0.5);
        let hit = Hit::new(Subject::Nic(Arc::clone(&nic.name)), 0.8)
            .enters(hot.enters && packets.is_some_and(|packets| packets >= context.limit(&PACKETS)))
            .severity(if idle.is_empty() { Severity::Info } else { Severity::Warning })
            .number(evidence::CPU, f64::from(hot.id), "", "/proc/irq/N/effective_affinity_list")
            .number(evidence::SOFTIRQ, hot.share, "fraction", "/proc/stat")
            .known(evidence::PACKETS, packets, "1/s", "/proc/net/dev")
            .text(evidence::FREE_CPUS, idle.to_string(), "/proc/stat")
            .covers(softirq_saturated::ID, Subject::Cpu(hot.id))
            .covers(nic_rx_drops::ID, Subject::Nic(Arc::clone(&nic.name)))
            .covers(core_saturated::ID, Subject::Cpu(hot.id))
            .covers(softirq_budget::ID, Subject::Cpu(hot.id));
        context.hit(hit);
    }
}

fn title(finding: &Finding) -> String {
    let subject = &finding.subject.named();
    match finding.number(evidence::CPU) {
        Some(cpu) => {
            let share = &parts::percent(finding.number(evidence::SOFTIRQ));
            text::Title { subject, cpu: &cpu, share }.to_string()
        }
        None => text::TitleIdle { subject }.to_string(),
    }
}
