//! NIC-06: an interface loses packets before anybody saw them.

use super::{Finding, Hit, Input, Look, Pace, Rule, Severity, Subject, Threshold, parts};
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "NIC-06",
    name: "an interface loses received packets",
    why: "A card puts packets into a ring until a CPU takes them out. A ring that is full loses what comes next, and whoever sent it waits for a timeout.",
    reads: &[Input::Nics],
    looks_at: &["/proc/net/dev", "statistics/rx_missed_errors", "ethtool -g", "ethtool -S"],
    thresholds: &[
        Threshold { name: "share", value: 0.0001, unit: "fraction", about: "of the packets lost in the ring, or more" },
        Threshold { name: "least", value: 1.0, unit: "1/s", about: "lost in the ring, at least" },
        Threshold { name: "many", value: 10.0, unit: "1/s", about: "lost in the ring whatever their share" },
        Threshold { name: "dropped", value: 100.0, unit: "1/s", about: "dropped by the kernel, not the ring" },
    ],
    guards: &[
        "single drops: frames of protocols that nobody listens for count as drops",
        "bonds, bridges and VLANs: their lower interfaces are judged",
    ],
    advice: &[
        "Longer rings: ethtool -G NIC rx MAX (the link may flap)",
        "More CPUs for the packets where one is hot: NIC-01, IRQ-03",
        "Exceeded allowances of a cloud: a larger instance, fewer packets",
    ],
    references: &["Documentation/networking/statistics.rst", "ethtool(8)"],
    pace: Pace { enter: 5, ..Pace::USUAL },
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    for nic in frame.nics.iter().filter(|nic| parts::is_physical(nic)) {
        let subject = Subject::Nic(Arc::clone(&nic.name));
        let Some(all) = nic.rx.drops_per_second else {
            look.unchecked(subject, "its drops could not be read", "/proc/net/dev");
            continue;
        };
        // What the card missed is among the drops of /proc/net/dev; many drivers count it as an overrun too.
        let ring = nic.rx_missed_per_second.unwrap_or(0.0).max(nic.rx_fifo_per_second.unwrap_or(0.0));
        let dropped = (all - nic.rx_missed_per_second.unwrap_or(0.0)).max(0.0);
        let packets = nic.rx.packets_per_second.unwrap_or(0.0);
        let share = |lost: f64| lost / (packets + lost).max(1.0);
        let in_ring = |times: f64| {
            let often = ring >= look.limit("least") * times && share(ring) >= look.limit("share") * times;
            often || ring >= look.limit("many") * times
        };
        let in_kernel =
            |times: f64| dropped >= look.limit("dropped") * times && share(dropped) >= look.limit("share") * times;
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
            .number("lost", lost, "1/s", if in_ring { "statistics/rx_missed_errors" } else { "/proc/net/dev" })
            .number("share", share(lost), "fraction", "/proc/net/dev")
            .known("missed", nic.rx_missed_per_second, "1/s", "statistics/rx_missed_errors")
            .known("overruns", nic.rx_fifo_per_second, "1/s", "/proc/net/dev")
            .number("dropped", dropped, "1/s", "/proc/net/dev")
            .number("packets", packets, "1/s", "/proc/net/dev")
            .known("ring", known(nic.rx_ring.current), "", "ethtool -g")
            .known("ring_max", known(nic.rx_ring.max), "", "ethtool -g")
            .known("allowance_exceeded", nic.allowance_exceeded_per_second, "1/s", "ethtool -S")
            .text("place", place, "ethtool -g");
        look.hit(hit);
    }
}

fn title(finding: &Finding) -> String {
    let (lost, place) = (parts::count(finding.number("lost").map(f64::round)), finding.text("place"));
    let ring = match (finding.number("ring"), finding.number("ring_max")) {
        (Some(ring), Some(max)) if ring < max && place.contains("ring") => {
            format!(" ({} of {})", parts::count(Some(ring)), parts::count(Some(max)))
        }
        _ => String::new(),
    };
    format!("{} loses {lost} packets/s {place}{ring}", finding.subject)
}
