//! NIC-02: a CPU drops packets because its backlog is full.

use super::nic_rx_drops;
use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts};
use crate::bottleneck::ResourceKind;
use crate::locale::evidence;
use crate::locale::rule::backlog_drops as text;
use std::sync::Arc;

/// The id of the rule.
pub const ID: RuleId = RuleId::new("NIC-02");
pub(crate) const DROPS: Threshold = ID.threshold(text::threshold::DROPS, 10.0, "1/s");
pub(crate) const CRITICAL: Threshold = ID.threshold(text::threshold::CRITICAL, 0.001, "fraction");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Softirq],
    reads: &[Input::Softnet],
    sources: &["/proc/net/softnet_stat"],
    thresholds: &[DROPS, CRITICAL],
    references: &["Documentation/admin-guide/sysctl/net.rst"],
    pace: Pace { enter: 3, ..Pace::USUAL },
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    for row in &frame.softnet {
        let Some(drops) = row.dropped_per_second.filter(|drops| *drops > 0.0) else { continue };
        let share = row.processed_per_second.filter(|packets| *packets > 0.0).map(|packets| drops / (packets + drops));
        let severity = match share {
            Some(share) if share >= context.limit(&CRITICAL) && drops >= context.limit(&DROPS) => Severity::Critical,
            _ if drops >= context.limit(&DROPS) => Severity::Warning,
            _ => Severity::Info,
        };
        let mut hit = Hit::new(Subject::Cpu(row.cpu), 0.9)
            .severity(severity)
            .number(evidence::DROPS, drops, "1/s", "/proc/net/softnet_stat")
            .known(evidence::SHARE, share, "fraction", "/proc/net/softnet_stat")
            .known(evidence::BACKLOG, row.backlog.value().map(|backlog| backlog as f64), "", "/proc/net/softnet_stat")
            .known(
                evidence::FLOW_LIMIT,
                row.flow_limit.value().map(|drops| drops as f64),
                "",
                "/proc/net/softnet_stat",
            );
        // The kernel counts backlog drops also as drops of the receiving interface.
        let nics = frame.nics.iter().filter(|nic| nic.rx_missed_per_second.unwrap_or(0.0) < 1.0);
        for nic in nics.filter(|nic| nic.rx.drops_per_second.is_some_and(|drops| drops > 0.0)) {
            hit = hit.covers(nic_rx_drops::ID, Subject::Nic(Arc::clone(&nic.name)));
        }
        context.hit(hit);
    }
}

fn title(finding: &Finding) -> String {
    text::Title { subject: &finding.subject.named(), drops: &parts::count(finding.number(evidence::DROPS)) }.to_string()
}
