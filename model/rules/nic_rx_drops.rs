//! NIC-06: an interface drops received packets.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts};
use crate::bottleneck::ResourceKind;
use crate::locale::evidence;
use crate::locale::rule::nic_rx_drops as text;
use std::sync::Arc;

/// The id of the rule.
pub const ID: RuleId = RuleId::new("NIC-06");
pub(crate) const SHARE: Threshold = ID.threshold(text::threshold::SHARE, 0.0001, "fraction");
pub(crate) const LEAST: Threshold = ID.threshold(text::threshold::LEAST, 1.0, "1/s");
pub(crate) const MANY: Threshold = ID.threshold(text::threshold::MANY, 10.0, "1/s");
pub(crate) const DROPPED: Threshold = ID.threshold(text::threshold::DROPPED, 100.0, "1/s");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Softirq],
    reads: &[Input::Nics],
    sources: &["/proc/net/dev", "statistics/rx_missed_errors", "ethtool -g", "ethtool -S"],
    thresholds: &[SHARE, LEAST, MANY, DROPPED],
    references: &["Documentation/networking/statistics.rst", "ethtool(8)"],
    pace: Pace { enter: 5, ..Pace::USUAL },
    judge,
    title,
    ..Rule::BASE
};

#[expect(clippy::too_many_lines, reason = "the counters are judged one after the other")]
fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    for nic in frame.nics.iter().filter(|nic| parts::is_physical(nic)) {
        let subject = Subject::Nic(Arc::clone(&nic.name));
        let Some(all_drops) = nic.rx.drops_per_second else {
            context.unchecked(subject, &text::UNCHECKED_DROPS, "/proc/net/dev");
            continue;
        };
        // The drops of /proc/net/dev include packets missed by the card; many drivers count these as overruns too.
        let unbuffered = nic.rx_unbuffered_per_second.unwrap_or(0.0);
        let ring = nic.rx_missed_per_second.unwrap_or(0.0).max(nic.rx_fifo_per_second.unwrap_or(0.0)).max(unbuffered);
        let dropped = (all_drops - nic.rx_missed_per_second.unwrap_or(0.0)).max(0.0);
        let packets = nic.rx.packets_per_second.unwrap_or(0.0);
        let share = |lost: f64| lost / (packets + lost).max(1.0);
        let in_ring = |times: f64| {
            let frequent = ring >= context.limit(&LEAST) * times && share(ring) >= context.limit(&SHARE) * times;
            frequent || ring >= context.limit(&MANY) * times
        };
        let in_kernel =
            |times: f64| dropped >= context.limit(&DROPPED) * times && share(dropped) >= context.limit(&SHARE) * times;
        if !in_ring(0.5) && !in_kernel(0.5) {
            continue;
        }
        let enters = in_ring(1.0) || in_kernel(1.0);
        let in_ring = in_ring(if enters { 1.0 } else { 0.5 });
        let (lost, confidence) = if in_ring { (ring, 0.8) } else { (dropped, 0.6) };
        let source = match () {
            () if !in_ring => "/proc/net/dev",
            () if unbuffered >= ring => "ethtool -S",
            () => "statistics/rx_missed_errors",
        };
        let ring_sizes = nic.rx_ring.current.value().zip(nic.rx_ring.max.value());
        let known = |value: crate::Known<u64>| value.value().map(|value| value as f64);
        let place = match ring_sizes {
            _ if !in_ring => text::PLACE_KERNEL,
            Some((current, max)) if current < max => text::PLACE_RING_SIZE,
            Some(_) => text::PLACE_RING_MAX,
            None => text::PLACE_RING,
        };
        let hit = Hit::new(subject, confidence)
            .enters(enters)
            .severity(Severity::Warning)
            .number(evidence::LOST, lost, "1/s", source)
            .number(evidence::SHARE, share(lost), "fraction", "/proc/net/dev")
            .known(evidence::MISSED, nic.rx_missed_per_second, "1/s", "statistics/rx_missed_errors")
            .known(evidence::UNBUFFERED, nic.rx_unbuffered_per_second, "1/s", "ethtool -S")
            .known(evidence::OVERRUNS, nic.rx_fifo_per_second, "1/s", "/proc/net/dev")
            .number(evidence::DROPPED, dropped, "1/s", "/proc/net/dev")
            .number(evidence::PACKETS, packets, "1/s", "/proc/net/dev")
            .known(evidence::RING, known(nic.rx_ring.current), "", "ethtool -g")
            .known(evidence::RING_MAX, known(nic.rx_ring.max), "", "ethtool -g")
            .known(evidence::ALLOWANCE_EXCEEDED, nic.allowance_exceeded_per_second, "1/s", "ethtool -S")
            .text(evidence::PLACE, place.english(), "ethtool -g");
        context.hit(hit);
    }
}

/// True for a finding about drops in the kernel, not in the receive ring.
pub(crate) fn is_in_kernel(finding: &Finding) -> bool {
    finding.text(evidence::PLACE) == text::PLACE_KERNEL.english()
}

fn title(finding: &Finding) -> String {
    let count = |value: f64| parts::count(Some(value));
    let (subject, lost) = (&finding.subject.named(), &parts::count(finding.number(evidence::LOST).map(f64::round)));
    match (finding.number(evidence::RING), finding.number(evidence::RING_MAX)) {
        _ if is_in_kernel(finding) => text::TitleKernel { subject, lost }.to_string(),
        (Some(ring), Some(max)) if ring < max => {
            text::TitleRingSize { subject, lost, ring: &count(ring), max: &count(max) }.to_string()
        }
        (Some(_), Some(_)) => text::TitleRingMax { subject, lost }.to_string(),
        _ => text::TitleRing { subject, lost }.to_string(),
    }
}
