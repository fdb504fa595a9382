//! NIC-07: a network link is saturated.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Subject, Threshold, parts};
use crate::bottleneck::ResourceKind;
use crate::locale::evidence;
use crate::locale::rule::link_saturated as text;
use std::sync::Arc;

/// The id of the rule.
pub const ID: RuleId = RuleId::new("NIC-07");
pub(crate) const UTILISATION: Threshold = ID.threshold(text::threshold::UTILISATION, 0.9, "fraction");
pub(crate) const SPEED: Threshold = ID.threshold(text::threshold::SPEED, 1.2, "fraction");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 0.8, "fraction");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: direction,
    reads: &[Input::Nics],
    sources: &["/proc/net/dev", "/sys/class/net/NIC/speed"],
    thresholds: &[UTILISATION, SPEED, EXIT],
    references: &["Documentation/ABI/testing/sysfs-class-net"],
    pace: Pace::USUAL,
    judge,
    title,
    ..Rule::BASE
};

/// The busier direction of a saturated link.
fn direction(finding: &Finding) -> &'static [ResourceKind] {
    let sent = finding.number(evidence::SENT) > finding.number(evidence::RECEIVED);
    if sent { &[ResourceKind::NicOut] } else { &[ResourceKind::NicIn] }
}

fn judge(context: &mut RuleContext<'_>) {
    for nic in context.frame().nics.iter().filter(|nic| parts::is_physical(nic)) {
        let subject = Subject::Nic(Arc::clone(&nic.name));
        let has_traffic = nic.rx.packets_per_second.is_some_and(|packets| packets > 0.0);
        let Some(utilisation) = nic.utilisation else {
            if has_traffic && nic.capacity_mbps.value().is_none() {
                context.unchecked(subject, &text::UNCHECKED_SPEED, &text::NEEDS_CAPACITY);
            }
            continue;
        };
        if utilisation > context.limit(&SPEED) {
            context.unchecked(subject, &text::UNCHECKED_OVER, &text::NEEDS_CAPACITY);
            continue;
        }
        if utilisation < context.limit(&EXIT) {
            continue;
        }
        let hit = Hit::new(subject, 0.9)
            .enters(utilisation >= context.limit(&UTILISATION))
            .number(evidence::UTILISATION, utilisation, "fraction", "/proc/net/dev")
            .known(
                evidence::CAPACITY,
                nic.capacity_mbps.value().map(|mbps| mbps as f64),
                "Mbit/s",
                "/sys/class/net/NIC/speed",
            )
            .known(evidence::RECEIVED, nic.rx.bytes_per_second, "bytes/s", "/proc/net/dev")
            .known(evidence::SENT, nic.tx.bytes_per_second, "bytes/s", "/proc/net/dev");
        context.hit(hit);
    }
}

fn title(finding: &Finding) -> String {
    text::Title {
        subject: &finding.subject.named(),
        share: &parts::percent(finding.number(evidence::UTILISATION)),
        capacity: &finding.number(evidence::CAPACITY).map_or_else(|| "?".to_owned(), |mbps| parts::bits(mbps * 1e6)),
    }
    .to_string()
}
