//! IRQ-01: one CPU drowns in soft interrupts.

use super::{Finding, Hit, Input, Look, Pace, Rule, Severity, Subject, Threshold, parts};
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "IRQ-01",
    name: "a CPU drowns in soft interrupts",
    why: "Packets are received on the CPU that their interrupt goes to. When all go to one, that CPU is the limit of the network, and whatever else runs there starves.",
    reads: &[Input::CpuTimes],
    looks_at: &["/proc/stat", "/proc/softirqs", "/proc/net/softnet_stat"],
    thresholds: &[
        Threshold { name: "softirq", value: 0.6, unit: "fraction", about: "share of hard and soft interrupts on the CPU" },
        Threshold { name: "critical", value: 0.9, unit: "fraction", about: "share that is critical" },
        Threshold { name: "others", value: 0.15, unit: "fraction", about: "mean share of the others, at most" },
        Threshold { name: "exit", value: 0.4, unit: "fraction", about: "over below this" },
    ],
    guards: &["counts of interrupts say nothing of load: a busy queue polls", "one CPU alone"],
    advice: &["The cause is told above it where it is known: channels (NIC-01), interrupts on one CPU (IRQ-03), one queue (NIC-05)"],
    references: &["Documentation/networking/scaling.rst"],
    pace: Pace::QUICK,
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    for hot in parts::hot_cpus(look) {
        let rate = |name: &str| {
            let row = frame.softirqs.iter().find(|row| &*row.name == name)?;
            row.per_cpu_per_second.iter().find(|(cpu, _)| *cpu == hot.id).map(|(_, rate)| *rate)
        };
        let softnet = frame.softnet.iter().find(|row| row.cpu == hot.id);
        let nics: Vec<_> = frame.nics.iter().filter(|nic| parts::queues_on(nic, hot.id).next().is_some()).collect();
        let critical = hot.share >= look.limit("critical");
        let mut hit = Hit::new(Subject::Cpu(hot.id), 0.9)
            .enters(hot.enters)
            .severity(if critical { Severity::Critical } else { Severity::Warning })
            .number("softirq", hot.share, "fraction", "/proc/stat")
            .number("others", hot.others, "fraction", "/proc/stat")
            .known("net_rx", rate("NET_RX"), "1/s", "/proc/softirqs")
            .known("packets", softnet.and_then(|row| row.processed_per_second), "1/s", "/proc/net/softnet_stat")
            .known("squeezed", softnet.and_then(|row| row.time_squeeze_per_second), "1/s", "/proc/net/softnet_stat")
            .text("nics", parts::list(nics.iter().map(|nic| &nic.name), 4), "/proc/irq/N/effective_affinity_list")
            .covers("CPU-01", Subject::Cpu(hot.id))
            .covers("NIC-03", Subject::Cpu(hot.id))
            .covers("NIC-02", Subject::Cpu(hot.id));
        for nic in nics {
            hit = hit.covers("NIC-06", Subject::Nic(Arc::clone(&nic.name)));
        }
        look.hit(hit);
    }
}

fn title(finding: &Finding) -> String {
    let (share, others) = (parts::percent(finding.number("softirq")), parts::percent(finding.number("others")));
    format!("{} spends {share} in interrupts, the others {others}", finding.subject)
}
