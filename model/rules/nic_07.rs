//! NIC-07: a link is full.

use super::{Finding, Hit, Input, Look, Pace, Rule, Subject, Threshold, parts};
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "NIC-07",
    name: "a link is full",
    why: "Nothing inside the machine makes a full link faster: there is no setting to change, so no fix is offered.",
    reads: &[Input::Nics],
    looks_at: &["/proc/net/dev", "/sys/class/net/NIC/speed"],
    thresholds: &[
        Threshold { name: "utilisation", value: 0.9, unit: "fraction", about: "of one direction" },
        Threshold { name: "speed", value: 1.2, unit: "fraction", about: "beyond this the speed that it tells is not its own" },
        Threshold { name: "exit", value: 0.8, unit: "fraction", about: "over below this" },
    ],
    guards: &["each direction for itself, each leg of a bond for itself", "a speed that nobody knows is not guessed", "virtual interfaces that carry more than the speed they tell"],
    advice: &["A faster link, or a second one", "capacity = \"25Gbit\" in the configuration where the driver does not tell"],
    references: &["Documentation/ABI/testing/sysfs-class-net"],
    pace: Pace::USUAL,
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    for nic in look.frame().nics.iter().filter(|nic| parts::is_physical(nic)) {
        let subject = Subject::Nic(Arc::clone(&nic.name));
        let moves = nic.rx.packets_per_second.is_some_and(|packets| packets > 0.0);
        let Some(utilisation) = nic.utilisation else {
            if moves && nic.capacity_mbps.value().is_none() {
                look.unchecked(subject, "nobody knows its speed", "capacity in the configuration: [nic.NAME] capacity");
            }
            continue;
        };
        if utilisation > look.limit("speed") {
            let needs = "capacity in the configuration: [nic.NAME] capacity";
            look.unchecked(subject, "it carries more than the speed that it tells", needs);
            continue;
        }
        if utilisation < look.limit("exit") {
            continue;
        }
        let hit = Hit::new(subject, 0.9)
            .enters(utilisation >= look.limit("utilisation"))
            .number("utilisation", utilisation, "fraction", "/proc/net/dev")
            .known("capacity", nic.capacity_mbps.value().map(|mbps| mbps as f64), "Mbit/s", "/sys/class/net/NIC/speed")
            .known("received", nic.rx.bytes_per_second, "bytes/s", "/proc/net/dev")
            .known("sent", nic.tx.bytes_per_second, "bytes/s", "/proc/net/dev");
        look.hit(hit);
    }
}

fn title(finding: &Finding) -> String {
    let (share, capacity) = (parts::percent(finding.number("utilisation")), parts::count(finding.number("capacity")));
    format!("{} is at {share} of its {capacity} Mbit/s", finding.subject)
}
