//! IRQ-05: devices interrupt isolated or reserved CPUs.

use super::{
    Finding, Hit, Input, Pace, Preflight, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts, preflight,
};
use crate::IdSet;
use crate::bottleneck::ResourceKind;
use crate::frame::{Frame, Irq};
use crate::locale::evidence;
use crate::locale::rule::irq_isolated_cpus as text;
use std::collections::BTreeMap;

/// The id of the rule.
pub const ID: RuleId = RuleId::new("IRQ-05");
pub(crate) const INTERRUPTS: Threshold = ID.threshold(text::threshold::INTERRUPTS, 10.0, "1/s");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 3.0, "1/s");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Softirq],
    reads: &[Input::Irqs],
    sources: &[
        "/sys/devices/system/cpu/isolated",
        "/sys/devices/system/cpu/nohz_full",
        "cpuset.cpus.partition",
        "/proc/interrupts",
    ],
    thresholds: &[INTERRUPTS, EXIT],
    references: &[
        "Documentation/admin-guide/kernel-parameters.txt",
        "Documentation/core-api/irq/irq-affinity.rst",
        "irqbalance(1)",
    ],
    pace: Pace::USUAL,
    preflight: Some(Preflight { name: text::PREFLIGHT, says: preflight::isolated }),
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    if !frame.sections.cpu_topology.is_read() {
        context.unchecked(Subject::Host, &text::UNCHECKED_CPUS, "/sys/devices/system/cpu");
        return;
    }
    let reserved = reserved_cpus(frame);
    if reserved.is_empty() {
        return;
    }
    // Interrupts of a device that a guest has belong where its virtual CPUs are.
    let moves = |irq: &&Irq| !parts::is_managed(irq) && !irq.name.starts_with("vfio-");
    if context.is_before_test() {
        for irq in frame.irqs.iter().filter(moves) {
            let target = irq.effective_affinity.as_deref().or(irq.affinity.as_deref()).and_then(IdSet::single);
            if let Some((cpu, reserved_by)) = target.and_then(|cpu| Some((cpu, *reserved.get(&cpu)?))) {
                let hit = Hit::new(Subject::Cpu(cpu), 0.6).severity(Severity::Info).would_hurt();
                context.hit(hit.text(evidence::KEPT_BY, reserved_by, "/sys/devices/system/cpu").text(
                    evidence::IRQS,
                    format!("{} {}", irq.irq, irq.name),
                    "/proc/irq/N/effective_affinity_list",
                ));
            }
        }
        return;
    }
    let mut by_cpu: BTreeMap<u32, Vec<(f64, String)>> = BTreeMap::new();
    for irq in frame.irqs.iter().filter(moves) {
        for (cpu, rate) in irq.per_cpu_per_second.iter().filter(|(cpu, _)| reserved.contains_key(cpu)) {
            let name = format!("{} {} {}/s", irq.irq, irq.name, parts::count(Some(rate.round())));
            by_cpu.entry(*cpu).or_default().push((*rate, name));
        }
    }
    for (cpu, mut irqs) in by_cpu {
        let sum: f64 = irqs.iter().map(|irq| irq.0).sum();
        let Some(reserved_by) = reserved.get(&cpu).filter(|_| sum >= context.limit(&EXIT)) else { continue };
        irqs.sort_by(|a, b| b.0.total_cmp(&a.0));
        let isolated = *reserved_by != "cpuset.cpus.partition root";
        let hit = Hit::new(Subject::Cpu(cpu), 0.6)
            .enters(sum >= context.limit(&INTERRUPTS))
            .severity(if isolated { Severity::Warning } else { Severity::Info })
            .number(evidence::INTERRUPTS, sum, "1/s", "/proc/interrupts")
            .text(evidence::KEPT_BY, *reserved_by, "/sys/devices/system/cpu")
            .text(evidence::IRQS, parts::list(irqs.into_iter().map(|irq| irq.1), 6), "/proc/interrupts");
        context.hit(hit);
    }
}

/// CPUs reserved for some workload, with the setting that reserves them.
pub(super) fn reserved_cpus(frame: &Frame) -> BTreeMap<u32, &'static str> {
    let mut reserved = BTreeMap::new();
    for (partition, reserved_by) in
        [("root", "cpuset.cpus.partition root"), ("isolated", "cpuset.cpus.partition isolated")]
    {
        for cgroup in frame.cgroups.iter().filter(|cgroup| &*cgroup.cpuset_partition == partition) {
            let cpus = cgroup.cpuset_cpus.iter().flat_map(|cpus| cpus.iter());
            reserved.extend(cpus.map(|cpu| (cpu, reserved_by)));
        }
    }
    let marked = |mark: fn(&crate::frame::CpuPlace) -> bool| {
        frame.topology.cpus.iter().filter(move |cpu| cpu.online && mark(cpu)).map(|cpu| cpu.id)
    };
    reserved.extend(marked(|cpu| cpu.nohz_full).map(|cpu| (cpu, "nohz_full")));
    reserved.extend(marked(|cpu| cpu.isolated).map(|cpu| (cpu, "isolcpus")));
    reserved
}

fn title(finding: &Finding) -> String {
    let (subject, reserved_by) = (&finding.subject.named(), &finding.text(evidence::KEPT_BY));
    match finding.number(evidence::INTERRUPTS) {
        Some(rate) => {
            let rate = &parts::count(Some(rate.round()));
            text::Title { subject, reserved_by, rate }.to_string()
        }
        None => text::TitleAffinity { subject, reserved_by, irqs: &finding.text(evidence::IRQS) }.to_string(),
    }
}
