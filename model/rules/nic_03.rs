//! NIC-03: a CPU does not finish its packets in one go.

use super::{Finding, Hit, Input, Look, Pace, Rule, Severity, Subject, Threshold, parts};

pub(super) const RULE: Rule = Rule {
    id: "NIC-03",
    name: "a CPU runs out of its packet budget",
    why: "Receiving is cut off after a budget of packets or time, so that other work gets its turn. Often cut off means packets wait.",
    reads: &[Input::Softnet],
    looks_at: &["/proc/net/softnet_stat", "/proc/softirqs"],
    thresholds: &[
        Threshold { name: "squeezed", value: 10.0, unit: "1/s", about: "rounds that ended with work left" },
        Threshold { name: "share", value: 0.01, unit: "fraction", about: "of all rounds, at least" },
    ],
    guards: &["alone it is harmless and only told"],
    advice: &["More CPUs for the packets first", "sysctl -w net.core.netdev_budget=600 net.core.netdev_budget_usecs=8000"],
    references: &["Documentation/admin-guide/sysctl/net.rst"],
    pace: Pace::QUICK,
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    let hot = parts::hot_cpus(look);
    for row in &frame.softnet {
        let Some(squeezed) = row.time_squeeze_per_second.filter(|rate| *rate >= look.limit("squeezed")) else { continue };
        let net_rx = frame.softirqs.iter().find(|softirq| &*softirq.name == "NET_RX");
        let rounds = net_rx.and_then(|row_of| row_of.per_cpu_per_second.iter().find(|(cpu, _)| *cpu == row.cpu));
        if rounds.is_some_and(|(_, rounds)| squeezed < look.limit("share") * rounds) {
            continue;
        }
        let with_heat = hot.iter().any(|hot| hot.enters && hot.id == row.cpu);
        let hit = Hit::new(Subject::Cpu(row.cpu), 0.7)
            .severity(if with_heat { Severity::Warning } else { Severity::Info })
            .number("squeezed", squeezed, "1/s", "/proc/net/softnet_stat")
            .known("rounds", rounds.map(|(_, rounds)| *rounds), "1/s", "/proc/softirqs");
        look.hit(hit);
    }
}

fn title(finding: &Finding) -> String {
    format!("{} runs out of its packet budget {} times/s", finding.subject, parts::count(finding.number("squeezed")))
}
