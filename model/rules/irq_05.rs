//! IRQ-05: devices interrupt CPUs that are kept for others.

use super::{Finding, Hit, Input, Look, Pace, Preflight, Rule, Severity, Subject, Threshold, before, parts};
use crate::IdSet;
use crate::frame::Frame;
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "IRQ-05",
    name: "device interrupts on isolated CPUs",
    why: "CPUs are isolated so that nothing disturbs what runs there. An interrupt that goes there does, each time, and brings the soft interrupts of its packets along.",
    reads: &[Input::Irqs],
    looks_at: &[
        "/sys/devices/system/cpu/isolated",
        "/sys/devices/system/cpu/nohz_full",
        "cpuset.cpus.partition",
        "/proc/interrupts",
    ],
    thresholds: &[
        Threshold { name: "interrupts", value: 10.0, unit: "1/s", about: "device interrupts on one such CPU" },
        Threshold { name: "exit", value: 3.0, unit: "1/s", about: "over below this" },
    ],
    guards: &[
        "timers and other interrupts of the CPU itself",
        "managed interrupts: the kernel places them, and they come only for work that the CPU itself asked for",
        "CPUs of a partition that is not isolated, only exclusive: it is only told",
    ],
    advice: &[
        "Move them: echo CPUS > /proc/irq/N/smp_affinity_list, with CPUS that are not isolated",
        "Keep irqbalance from them: IRQBALANCE_BANNED_CPULIST= in its environment file",
        "At boot: irqaffinity=CPUS, isolcpus=managed_irq,CPUS",
    ],
    references: &["Documentation/admin-guide/kernel-parameters.txt", "Documentation/core-api/irq/irq-affinity.rst", "irqbalance(1)"],
    pace: Pace::USUAL,
    preflight: Some(Preflight { name: "isolated CPUs", says: before::isolated }),
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    if frame.raw.cpu_topology.value().is_none() {
        look.unchecked(Subject::Host, "which CPUs are isolated could not be read", "/sys/devices/system/cpu");
        return;
    }
    let kept = kept(frame);
    if kept.is_empty() {
        return;
    }
    if look.is_before_test() {
        for irq in frame.irqs.iter().filter(|irq| irq.managed.value() != Some(true)) {
            let goes = irq.effective_affinity.as_deref().or(irq.affinity.as_deref()).and_then(IdSet::single);
            if let Some((cpu, why)) = goes.and_then(|cpu| Some((cpu, *kept.get(&cpu)?))) {
                let hit = Hit::new(Subject::Cpu(cpu), 0.6).severity(Severity::Info).would_hurt();
                look.hit(hit.text("kept_by", why, "/sys/devices/system/cpu").text(
                    "irqs",
                    format!("{} {}", irq.irq, irq.name),
                    "/proc/irq/N/effective_affinity_list",
                ));
            }
        }
        return;
    }
    let mut by_cpu: BTreeMap<u32, Vec<(f64, String)>> = BTreeMap::new();
    for irq in frame.irqs.iter().filter(|irq| irq.managed.value() != Some(true)) {
        for (cpu, rate) in irq.per_cpu_per_second.iter().filter(|(cpu, _)| kept.contains_key(cpu)) {
            let name = format!("{} {} {}/s", irq.irq, irq.name, parts::count(Some(rate.round())));
            by_cpu.entry(*cpu).or_default().push((*rate, name));
        }
    }
    for (cpu, mut irqs) in by_cpu {
        let sum: f64 = irqs.iter().map(|irq| irq.0).sum();
        let Some(why) = kept.get(&cpu).filter(|_| sum >= look.limit("exit")) else { continue };
        irqs.sort_by(|a, b| b.0.total_cmp(&a.0));
        let isolated = *why != "cpuset.cpus.partition root";
        let hit = Hit::new(Subject::Cpu(cpu), 0.6)
            .enters(sum >= look.limit("interrupts"))
            .severity(if isolated { Severity::Warning } else { Severity::Info })
            .number("interrupts", sum, "1/s", "/proc/interrupts")
            .text("kept_by", *why, "/sys/devices/system/cpu")
            .text("irqs", parts::list(irqs.into_iter().map(|irq| irq.1), 6), "/proc/interrupts");
        look.hit(hit);
    }
}

/// CPUs that are kept for somebody, with what keeps them.
pub(super) fn kept(frame: &Frame) -> BTreeMap<u32, &'static str> {
    let mut kept = BTreeMap::new();
    for (partition, why) in
        [("root", "cpuset.cpus.partition root"), ("isolated", "cpuset.cpus.partition isolated")]
    {
        for cgroup in frame.cgroups.iter().filter(|cgroup| &*cgroup.cpuset_partition == partition) {
            let cpus = cgroup.cpuset_cpus.iter().flat_map(|cpus| cpus.iter());
            kept.extend(cpus.map(|cpu| (cpu, why)));
        }
    }
    let marked = |mark: fn(&crate::frame::CpuPlace) -> bool| {
        frame.topology.cpus.iter().filter(move |cpu| cpu.online && mark(cpu)).map(|cpu| cpu.id)
    };
    kept.extend(marked(|cpu| cpu.nohz_full).map(|cpu| (cpu, "nohz_full")));
    kept.extend(marked(|cpu| cpu.isolated).map(|cpu| (cpu, "isolcpus")));
    kept
}

fn title(finding: &Finding) -> String {
    if finding.number("interrupts").is_none() {
        let (kept, irqs) = (finding.text("kept_by"), finding.text("irqs"));
        return format!("{} is kept by {kept}, and interrupt {irqs} goes there", finding.subject);
    }
    let rate = parts::count(finding.number("interrupts").map(f64::round));
    format!("{} is kept by {} and takes {rate} device interrupts/s", finding.subject, finding.text("kept_by"))
}
