//! NIC-04: one of several receive queues gets most packets.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Subject, Threshold, parts};
use super::{core_saturated, softirq_budget, softirq_saturated};
use crate::Total as _;
use crate::bottleneck::ResourceKind;
use crate::frame::{Nic, Queue};
use crate::locale::rule::rss_skew as text;
use crate::locale::{Text, evidence};
use std::sync::Arc;

/// The id of the rule.
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
            context.unchecked(subject, &text::UNCHECKED_COUNTERS, &text::NEEDS_COUNTERS);
            continue;
        }
        let sum: f64 = rates.iter().map(|rate| rate.1).sum();
        let Some((hottest, most)) = rates.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
        let busiest =
            hottest.cpus.iter().flat_map(|cpus| cpus.iter()).filter_map(|cpu| Some((cpu, frame.cpu(cpu)?.busy()?)));
        let Some((cpu, busy)) = busiest.max_by(|a, b| a.1.total_cmp(&b.1)) else {
            context.unchecked(subject, &text::UNCHECKED_CPUS, "/proc/irq/N/effective_affinity_list");
            continue;
        };
        // Queues that the table leaves out receive nothing by design: they are no peers.
        let peers = nic.rss_indirection.iter().filter(|entry| entry.1 > 0).count();
        let peers = if peers == 0 { queues.len() } else { peers.min(queues.len()) };
        let (share, count) = (most / sum.max(1.0), peers as f64);
        let skew = share * count;
        if skew < context.limit(&EXIT) || busy < context.limit(&BUSY) * 0.75 {
            continue;
        }
        let (table, evenness) = indirection(nic, hottest.queue, peers);
        let hit = Hit::new(subject, if evenness == Evenness::Uneven { 0.8 } else { 0.6 })
            .enters((skew >= context.limit(&SKEW) || share >= 0.9) && busy >= context.limit(&BUSY))
            .number(evidence::QUEUE, f64::from(hottest.queue), "", "ethtool -S")
            .number(evidence::SHARE, share, "fraction", "ethtool -S")
            .number(evidence::SKEW, skew, "", "ethtool -S")
            .number(evidence::QUEUES, count, "", "ethtool -S")
            .number(evidence::CPU, f64::from(cpu), "", "/proc/irq/N/effective_affinity_list")
            .number(evidence::BUSY, busy, "fraction", "/proc/stat")
            .known(evidence::PACKETS, nic.rx.packets_per_second, "1/s", "/proc/net/dev")
            .text(evidence::INDIRECTION, table, "ethtool -x")
            .text(evidence::BECAUSE, evenness.text().english(), "ethtool -x")
            .covers(softirq_saturated::ID, Subject::Cpu(cpu))
            .covers(core_saturated::ID, Subject::Cpu(cpu))
            .covers(softirq_budget::ID, Subject::Cpu(cpu));
        context.hit(hit);
    }
}

/// True where one of several queues gets nearly everything although the table treats them alike.
pub(super) fn is_one_flow(nic: &Nic) -> bool {
    let rates: Option<Vec<(u32, f64)>> =
        nic.queues.iter().map(|queue| Some((queue.queue, queue.packets_per_second?))).collect();
    let Some(rates) = rates.filter(|rates| rates.len() > 1) else { return false };
    let sum: f64 = rates.iter().map(|rate| rate.1).sum();
    let Some((queue, most)) = rates.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1)) else { return false };
    let peers = nic.rss_indirection.iter().filter(|entry| entry.1 > 0).count();
    peers > 1 && most >= ONE * sum && sum >= 1.0 && indirection(nic, queue, peers).1 == Evenness::Even
}

/// Share of the packets of an interface that one flow has where it is alone.
const ONE: f64 = 0.9;

/// Whether the indirection table explains a skew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Evenness {
    Unknown,
    Even,
    Uneven,
}

impl Evenness {
    fn text(self) -> Text {
        match self {
            Self::Unknown => text::BECAUSE_UNKNOWN,
            Self::Even => text::BECAUSE_EVEN,
            Self::Uneven => text::BECAUSE_UNEVEN,
        }
    }
}

/// The share of each queue in the table, and whether the table favours the busiest.
fn indirection(nic: &Nic, hottest: u32, peers: usize) -> (String, Evenness) {
    let entries = &nic.rss_indirection;
    let sum = entries.iter().map(|entry| entry.1).total();
    if sum == 0 {
        return (text::TABLE_UNKNOWN.to_string(), Evenness::Unknown);
    }
    let own = entries.iter().find(|entry| entry.0 == hottest).map_or(0, |entry| entry.1);
    let uneven = own as f64 / sum as f64 * peers as f64 >= 2.0;
    let shares =
        entries.iter().map(|(queue, count)| format!("{queue}: {}", parts::percent(Some(*count as f64 / sum as f64))));
    (parts::list(shares, 16), if uneven { Evenness::Uneven } else { Evenness::Even })
}

fn title(finding: &Finding) -> String {
    let percent = |name| parts::percent(finding.number(name));
    let count = |name| parts::count(finding.number(name));
    // Evidence is English; the title is in the selected language.
    let because = finding.text(evidence::BECAUSE);
    let texts = [text::BECAUSE_UNKNOWN, text::BECAUSE_EVEN, text::BECAUSE_UNEVEN];
    text::Title {
        subject: &finding.subject.named(),
        queue: &count(evidence::QUEUE),
        queues: &count(evidence::QUEUES),
        share: &percent(evidence::SHARE),
        cpu: &count(evidence::CPU),
        busy: &percent(evidence::BUSY),
        because: &texts.iter().find(|text| text.english() == because).map_or(because, |text| text.as_str()),
    }
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::is_one_flow;
    use crate::frame::{Nic, Queue};

    #[test]
    fn one_flow_is_one_busy_queue_of_an_even_table() {
        let queue = |queue, rate| Queue { queue, packets_per_second: Some(rate), ..Queue::default() };
        let nic = |rates: &[f64], table: &[(u32, u64)]| Nic {
            queues: (0..).zip(rates).map(|(at, &rate)| queue(at, rate)).collect(),
            rss_indirection: table.to_vec(),
            ..Nic::default()
        };
        let even = [(0, 32), (1, 32), (2, 32), (3, 32)];
        assert!(is_one_flow(&nic(&[900_000.0, 300.0, 300.0, 300.0], &even)));
        assert!(!is_one_flow(&nic(&[500_000.0, 300_000.0, 300.0, 300.0], &even)), "two flows");
        assert!(!is_one_flow(&nic(&[900_000.0, 0.0, 0.0, 0.0], &[(0, 128)])), "the table names one queue");
        assert!(!is_one_flow(&nic(&[900_000.0], &[(0, 128)])), "one queue is all there is");
        assert!(!is_one_flow(&nic(&[0.0, 0.0], &even)), "nothing comes");
    }
}
