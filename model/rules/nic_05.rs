//! NIC-05: an interface has one queue only, and nothing spreads its packets.

use super::{Finding, Hit, Input, Look, Pace, Preflight, Rule, Severity, Subject, Threshold, before, parts};
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "NIC-05",
    name: "one queue and no packet steering",
    why: "Where the card cannot spread packets over CPUs the kernel can: RPS hands them on by flow. Off, one core does everything.",
    reads: &[Input::CpuTimes, Input::Nics, Input::Queues],
    looks_at: &["ethtool -l", "queues/rx-N/rps_cpus", "/proc/stat"],
    thresholds: &[
        Threshold { name: "packets", value: 5000.0, unit: "1/s", about: "packets received, at least" },
    ],
    guards: &["several receive queues", "two CPUs of which the other is busy: only told"],
    advice: &["echo MASK > /sys/class/net/NIC/queues/rx-0/rps_cpus, with the CPUs of its node but the interrupted one"],
    references: &["Documentation/networking/scaling.rst"],
    pace: Pace::QUICK,
    preflight: Some(Preflight { name: "queues and steering", says: before::steering }),
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    let hot = parts::hot_cpus(look);
    for nic in frame.nics.iter().filter(|nic| parts::is_physical(nic)) {
        let one = |channel: &crate::frame::Channel| channel.max.value().is_none_or(|max| max <= 1);
        let receiving: Vec<_> = nic.queues.iter().filter(|queue| &*queue.direction != "tx").collect();
        let steered = receiving.iter().any(|queue| queue.rps_cpus.as_ref().is_some_and(|cpus| !cpus.is_empty()));
        if receiving.len() != 1 || steered || !one(&nic.combined) || !one(&nic.rx_channels) {
            continue;
        }
        let Some(hot) = hot.iter().find(|hot| parts::queues_on(nic, hot.id).next().is_some()) else {
            if look.is_before_test() && frame.topology.cpus_online.len() > 1 && nic.carrier.value() != Some(false) {
                look.hit(Hit::new(Subject::Nic(Arc::clone(&nic.name)), 0.8).severity(Severity::Info).would_hurt());
            }
            continue;
        };
        let packets = nic.rx.packets_per_second;
        let idle = parts::idle_cpus(look, None, 0.5);
        let hit = Hit::new(Subject::Nic(Arc::clone(&nic.name)), 0.8)
            .enters(hot.enters && packets.is_some_and(|packets| packets >= look.limit("packets")))
            .severity(if idle.is_empty() { Severity::Info } else { Severity::Warning })
            .number("cpu", f64::from(hot.id), "", "/proc/irq/N/effective_affinity_list")
            .number("softirq", hot.share, "fraction", "/proc/stat")
            .known("packets", packets, "1/s", "/proc/net/dev")
            .text("idle", idle.to_string(), "/proc/stat")
            .covers("IRQ-01", Subject::Cpu(hot.id))
            .covers("NIC-06", Subject::Nic(Arc::clone(&nic.name)))
            .covers("CPU-01", Subject::Cpu(hot.id))
            .covers("NIC-03", Subject::Cpu(hot.id));
        look.hit(hit);
    }
}

fn title(finding: &Finding) -> String {
    if finding.number("cpu").is_none() {
        return format!("{} has one queue and no RPS: one CPU will receive everything", finding.subject);
    }
    let (cpu, share) = (parts::count(finding.number("cpu")), parts::percent(finding.number("softirq")));
    format!("{} has one queue and no RPS; cpu {cpu} spends {share} on it", finding.subject)
}
