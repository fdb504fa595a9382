//! NIC-02: packets are dropped because a CPU does not get to them.

use super::{Finding, Hit, Input, Look, Pace, Rule, Severity, Subject, Threshold, parts};
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "NIC-02",
    name: "a CPU drops packets from its backlog",
    why: "Packets wait for their CPU in a queue of limited length. What does not fit is lost and comes again only after a timeout.",
    reads: &[Input::Softnet],
    looks_at: &["/proc/net/softnet_stat"],
    thresholds: &[
        Threshold { name: "drops", value: 10.0, unit: "1/s", about: "drops that are a warning" },
        Threshold { name: "critical", value: 0.001, unit: "fraction", about: "share of all packets that is critical" },
    ],
    guards: &["single drops are only told"],
    advice: &["More CPUs for the packets: channels, RPS", "sysctl -w net.core.netdev_max_backlog=4000"],
    references: &["Documentation/admin-guide/sysctl/net.rst"],
    pace: Pace { enter: 3, ..Pace::USUAL },
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    for row in &frame.softnet {
        let Some(drops) = row.dropped_per_second.filter(|drops| *drops > 0.0) else { continue };
        let share = row.processed_per_second.filter(|packets| *packets > 0.0).map(|packets| drops / (packets + drops));
        let severity = match share {
            Some(share) if share >= look.limit("critical") && drops >= look.limit("drops") => Severity::Critical,
            _ if drops >= look.limit("drops") => Severity::Warning,
            _ => Severity::Info,
        };
        let mut hit = Hit::new(Subject::Cpu(row.cpu), 0.9)
            .severity(severity)
            .number("drops", drops, "1/s", "/proc/net/softnet_stat")
            .known("share", share, "fraction", "/proc/net/softnet_stat")
            .known("backlog", row.backlog.value().map(|backlog| backlog as f64), "", "/proc/net/softnet_stat")
            .known("flow_limit", row.flow_limit.value().map(|drops| drops as f64), "", "/proc/net/softnet_stat");
        // Drops of a backlog count at the interface that the packets came from, too.
        let nics = frame.nics.iter().filter(|nic| nic.rx_missed_per_second.unwrap_or(0.0) < 1.0);
        for nic in nics.filter(|nic| nic.rx.drops_per_second.is_some_and(|drops| drops > 0.0)) {
            hit = hit.covers("NIC-06", Subject::Nic(Arc::clone(&nic.name)));
        }
        look.hit(hit);
    }
}

fn title(finding: &Finding) -> String {
    format!("{} drops {} packets/s from its backlog", finding.subject, parts::count(finding.number("drops")))
}
