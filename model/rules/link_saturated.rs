//! NIC-07: a link is full.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Subject, Threshold, parts};
use crate::bottleneck::ResourceKind;
use crate::locale::evidence;
use crate::locale::rule::link_saturated as text;
use std::sync::Arc;

/// Its id.
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

/// The fuller direction of a full link.
fn direction(finding: &Finding) -> &'static [ResourceKind] {
    let sent = finding.number(evidence::SENT) > finding.number(evidence::RECEIVED);
    if sent { &[ResourceKind::NicOut] } else { &[ResourceKind::NicIn] }
}

fn judge(context: &mut RuleContext<'_>) {
    for nic in context.frame().nics.iter().filter(|nic| parts::is_physical(nic)) {
        let subject = Subject::Nic(Arc::clone(&nic.name));
        let moves = nic.rx.packets_per_second.is_some_and(|packets| packets > 0.0);
        let Some(utilisation) = nic.utilisation else {
            if moves && nic.capacity_mbps.value().is_none() {
                context.unchecked(
                    subject,
                    "nobody knows its speed",
                    "capacity in the configuration: [nic.NAME] capacity",
                );
            }
            continue;
        };
        if utilisation > context.limit(&SPEED) {
            let needs = "capacity in the configuration: [nic.NAME] capacity";
            context.unchecked(subject, "it carries more than the speed that it tells", needs);
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
    let (share, capacity) =
        (parts::percent(finding.number(evidence::UTILISATION)), parts::count(finding.number(evidence::CAPACITY)));
    format!("{} is at {share} of its {capacity} Mbit/s", finding.subject)
}
