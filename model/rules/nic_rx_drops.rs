//! NIC-06: an interface loses packets before anybody saw them.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts};
use crate::bottleneck::ResourceKind;
use crate::locale::evidence;
use crate::locale::rule::nic_rx_drops as text;
use std::sync::Arc;

/// Its id.
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

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    for nic in frame.nics.iter().filter(|nic| parts::is_physical(nic)) {
        let subject = Subject::Nic(Arc::clone(&nic.name));
        let Some(all) = nic.rx.drops_per_second else {
            context.unchecked(subject, "its drops could not be read", "/proc/net/dev");
            continue;
        };
        // What the card missed is among the drops of /proc/net/dev; many drivers count it as an overrun too.
        let ring = nic.rx_missed_per_second.unwrap_or(0.0).max(nic.rx_fifo_per_second.unwrap_or(0.0));
        let dropped = (all - nic.rx_missed_per_second.unwrap_or(0.0)).max(0.0);
        let packets = nic.rx.packets_per_second.unwrap_or(0.0);
        let share = |lost: f64| lost / (packets + lost).max(1.0);
        let in_ring = |times: f64| {
            let often = ring >= context.limit(&LEAST) * times && share(ring) >= context.limit(&SHARE) * times;
            often || ring >= context.limit(&MANY) * times
        };
        let in_kernel =
            |times: f64| dropped >= context.limit(&DROPPED) * times && share(dropped) >= context.limit(&SHARE) * times;
        if !in_ring(0.5) && !in_kernel(0.5) {
            continue;
        }
        let enters = in_ring(1.0) || in_kernel(1.0);
        let in_ring = in_ring(if enters { 1.0 } else { 0.5 });
        let (lost, confidence) = if in_ring { (ring, 0.8) } else { (dropped, 0.6) };
        let pair = nic.rx_ring.current.value().zip(nic.rx_ring.max.value());
        let known = |value: crate::Known<u64>| value.value().map(|value| value as f64);
        let place = match pair {
            _ if !in_ring => "by the kernel",
            Some((current, max)) if current < max => "in a ring that could be longer",
            Some(_) => "in a ring that is as long as it can be",
            None => "in its ring",
        };
        let hit = Hit::new(subject, confidence)
            .enters(enters)
            .severity(Severity::Warning)
            .number(evidence::LOST, lost, "1/s", if in_ring { "statistics/rx_missed_errors" } else { "/proc/net/dev" })
            .number(evidence::SHARE, share(lost), "fraction", "/proc/net/dev")
            .known(evidence::MISSED, nic.rx_missed_per_second, "1/s", "statistics/rx_missed_errors")
            .known(evidence::OVERRUNS, nic.rx_fifo_per_second, "1/s", "/proc/net/dev")
            .number(evidence::DROPPED, dropped, "1/s", "/proc/net/dev")
            .number(evidence::PACKETS, packets, "1/s", "/proc/net/dev")
            .known(evidence::RING, known(nic.rx_ring.current), "", "ethtool -g")
            .known(evidence::RING_MAX, known(nic.rx_ring.max), "", "ethtool -g")
            .known(evidence::ALLOWANCE_EXCEEDED, nic.allowance_exceeded_per_second, "1/s", "ethtool -S")
            .text(evidence::PLACE, place, "ethtool -g");
        context.hit(hit);
    }
}

fn title(finding: &Finding) -> String {
    let (lost, place) = (parts::count(finding.number(evidence::LOST).map(f64::round)), finding.text(evidence::PLACE));
    let ring = match (finding.number(evidence::RING), finding.number(evidence::RING_MAX)) {
        (Some(ring), Some(max)) if ring < max && place.contains("ring") => {
            format!(" ({} of {})", parts::count(Some(ring)), parts::count(Some(max)))
        }
        _ => String::new(),
    };
    format!("{} loses {lost} packets/s {place}{ring}", finding.subject)
}
