//! NIC-04: one of many queues gets nearly all packets.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Subject, Threshold, parts};
use super::{core_saturated, softirq_budget, softirq_saturated};
use crate::bottleneck::ResourceKind;
use crate::frame::{Nic, Queue};
use crate::locale::evidence;
use crate::locale::rule::rss_skew as text;
use std::sync::Arc;

/// Its id.
pub const ID: RuleId = RuleId::new("NIC-04");
pub(crate) const SKEW: Threshold = ID.threshold(text::threshold::SKEW, 4.0, "");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 2.5, "");
pub(crate) const QUEUES: Threshold = ID.threshold(text::threshold::QUEUES, 4.0, "");
pub(crate) const BUSY: Threshold = ID.threshold(text::threshold::BUSY, 0.8, "fraction");
pub(crate) const PACKETS: Threshold = ID.threshold(text::threshold::PACKETS, 5000.0, "1/s");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Softirq],
    reads: &[Input::CpuTimes, Input::Nics, Input::Queues],
    sources: &["ethtool -S", "ethtool -x", "/proc/irq/N/effective_affinity_list", "/proc/stat"],
    thresholds: &[SKEW, EXIT, QUEUES, BUSY, PACKETS],
    references: &["Documentation/networking/scaling.rst", "ethtool(8)"],
    pace: Pace::USUAL,
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    for nic in frame.nics.iter().filter(|nic| parts::is_physical(nic)) {
        let subject = Subject::Nic(Arc::clone(&nic.name));
        let queues: Vec<&Queue> = nic.queues.iter().filter(|queue| &*queue.direction != "tx").collect();
        let loaded = nic.rx.packets_per_second.is_some_and(|packets| packets >= context.limit(&PACKETS));
        if (queues.len() as f64) < context.limit(&QUEUES) || !loaded {
            continue;
        }
        let rates: Vec<(&Queue, f64)> =
            queues.iter().filter_map(|queue| Some((*queue, queue.packets_per_second?))).collect();
        if rates.len() < queues.len() {
            context.unchecked(subject, "its driver counts no packets by queue", "ethtool -S with counters by queue");
            continue;
        }
        let sum: f64 = rates.iter().map(|rate| rate.1).sum();
        let Some((hottest, most)) = rates.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
        let busiest =
            hottest.cpus.iter().flat_map(|cpus| cpus.iter()).filter_map(|cpu| Some((cpu, frame.cpu(cpu)?.busy()?)));
        let Some((cpu, busy)) = busiest.max_by(|a, b| a.1.total_cmp(&b.1)) else {
            context.unchecked(
                subject,
                "the CPUs of its queues could not be read",
                "/proc/irq/N/effective_affinity_list",
            );
            continue;
        };
        let (share, count) = (most / sum.max(1.0), queues.len() as f64);
        let skew = share * count;
        if skew < context.limit(&EXIT) || busy < context.limit(&BUSY) * 0.75 {
            continue;
        }
        let (table, said) = spread(nic, hottest.queue, queues.len());
        let hit = Hit::new(subject, if said == Spread::Uneven { 0.8 } else { 0.6 })
            .enters((skew >= context.limit(&SKEW) || share >= 0.9) && busy >= context.limit(&BUSY))
            .number(evidence::QUEUE, f64::from(hottest.queue), "", "ethtool -S")
            .number(evidence::SHARE, share, "fraction", "ethtool -S")
            .number(evidence::SKEW, skew, "", "ethtool -S")
            .number(evidence::QUEUES, count, "", "ethtool -S")
            .number(evidence::CPU, f64::from(cpu), "", "/proc/irq/N/effective_affinity_list")
            .number(evidence::BUSY, busy, "fraction", "/proc/stat")
            .known(evidence::PACKETS, nic.rx.packets_per_second, "1/s", "/proc/net/dev")
            .text(evidence::INDIRECTION, table, "ethtool -x")
            .text(evidence::BECAUSE, said.text(), "ethtool -x")
            .covers(softirq_saturated::ID, Subject::Cpu(cpu))
            .covers(core_saturated::ID, Subject::Cpu(cpu))
            .covers(softirq_budget::ID, Subject::Cpu(cpu));
        context.hit(hit);
    }
}

/// What the indirection table says of a skew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spread {
    Unknown,
    Even,
    Uneven,
}

impl Spread {
    fn text(self) -> &'static str {
        match self {
            Self::Unknown => "the table could not be read",
            Self::Even => "few flows: the table spreads evenly, and one flow cannot be split",
            Self::Uneven => "the table favours that queue",
        }
    }
}

/// The table by queue, and whether it favours one.
fn spread(nic: &Nic, hottest: u32, queues: usize) -> (String, Spread) {
    let entries = &nic.rss_indirection;
    let sum: u64 = entries.iter().map(|entry| entry.1).sum();
    if sum == 0 {
        return ("unread".to_owned(), Spread::Unknown);
    }
    let own = entries.iter().find(|entry| entry.0 == hottest).map_or(0, |entry| entry.1);
    let uneven = own as f64 / sum as f64 * queues as f64 >= 2.0;
    let text =
        entries.iter().map(|(queue, count)| format!("{queue}: {}", parts::percent(Some(*count as f64 / sum as f64))));
    (parts::list(text, 16), if uneven { Spread::Uneven } else { Spread::Even })
}

fn title(finding: &Finding) -> String {
    let figure = |name| parts::count(finding.number(name));
    let share = parts::percent(finding.number(evidence::SHARE));
    let busy = parts::percent(finding.number(evidence::BUSY));
    let (nic, queue, queues, cpu) =
        (&finding.subject, figure(evidence::QUEUE), figure(evidence::QUEUES), figure(evidence::CPU));
    format!(
        "{nic}: queue {queue} of {queues} gets {share} of the packets, its cpu {cpu} is {busy} busy: {}",
        finding.text(evidence::BECAUSE)
    )
}
