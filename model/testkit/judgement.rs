//! What is found on the made-up machines. The rules are named here, so that pictures stay the same as rules are added.

use super::stamp;
use crate::Stamp;
use crate::judge::timeline::At;
use crate::judge::{Change, Judgement, Standing, Timeline};
use crate::rules::{self, Evidence, Figure, Finding, Severity, Subject, Unchecked};
use std::sync::Arc;

const RULES: [&str; 28] = [
    "CPU-01", "CPU-03", "CPU-05", "BEAM-01", "BEAM-03", "IRQ-01", "IRQ-02", "IRQ-03", "NIC-01", "NIC-02", "NIC-03",
    "NIC-05", "NIC-07", "NUMA-01", "NUMA-02", "NUMA-04", "NUMA-06", "NUMA-07", "MEM-01", "MEM-02", "MEM-03", "MEM-04",
    "MEM-07", "IO-01", "IO-02", "IO-03", "IO-04", "META-01",
];

/// The server in trouble: an interface on one queue with the core that drowns, a shared disk, a full cache, memory far
/// away; and what could not be looked at.
pub fn sick() -> Judgement {
    sick_with(|subject| subject, |text| text.into())
}

/// The same with names that try to steer the terminal.
pub fn sick_hostile() -> Judgement {
    let evil = "\u{1b}[31mred\u{7}\u{202e}\n名前が長いプロセス\u{200b}";
    let rename = |subject| match subject {
        Subject::Nic(_) => Subject::Nic(evil.into()),
        Subject::Disk(_) => Subject::Disk(evil.into()),
        Subject::Accelerator(_) => Subject::Accelerator(evil.into()),
        Subject::Cgroup(_) => Subject::Cgroup(format!("/0{evil}").into()),
        other => other,
    };
    sick_with(rename, |_| evil.into())
}

/// A machine on which nothing is wrong, as far as could be looked.
pub fn healthy() -> Judgement {
    judgement(Vec::new())
}

/// A finding: rule, about what, how bad, how sure, since which second, and its numbers.
type Row = (&'static str, Subject, Severity, f64, u64, Vec<Evidence>);

fn sick_with(subject: impl Fn(Subject) -> Subject, text: impl Fn(&str) -> Arc<str>) -> Judgement {
    let mut children = Vec::new();
    let mut findings = Vec::new();
    for (id, about, severity, confidence, since, mut evidence) in rows() {
        for row in &mut evidence {
            if let Figure::Text(words) = &row.value {
                row.value = Figure::Text(text(words));
            }
        }
        let Some(rule) = rules::find(id) else { continue };
        let (subject, since) = (subject(about), stamp(since));
        let finding = Finding { rule, subject, severity, confidence, since, evidence, children: Vec::new() };
        // The core drowns since the interface has one queue.
        if id == "IRQ-01" { children.push(finding) } else { findings.push(finding) }
    }
    if let Some(cause) = findings.first_mut() {
        cause.children = children;
    }
    judgement(findings)
}

fn number(name: &'static str, value: f64, unit: &'static str, source: &'static str) -> Evidence {
    Evidence { name, value: Figure::Number(value), unit, source }
}

fn words(name: &'static str, value: &str, source: &'static str) -> Evidence {
    Evidence { name, value: Figure::Text(value.into()), unit: "", source }
}

fn rows() -> [Row; 5] {
    let group = "/kubepods.slice/pod8a1c0000/cri-containerd-000000000000.scope";
    [
        ("NIC-01", Subject::Nic("eth0".into()), Severity::Critical, 0.95, 62, queue()),
        ("IRQ-01", Subject::Cpu(17), Severity::Critical, 0.9, 71, core()),
        ("IO-02", Subject::Disk("nvme1n1".into()), Severity::Critical, 0.85, 118, disk()),
        ("MEM-02", Subject::Cgroup(group.into()), Severity::Warning, 0.9, 131, cache()),
        ("NUMA-01", Subject::Process(7741, 239_971), Severity::Info, 0.8, 190, far()),
    ]
}

fn queue() -> Vec<Evidence> {
    vec![
        number("current", 1.0, "", "ethtool -l"),
        number("max", 8.0, "", "ethtool -l"),
        number("recommended", 8.0, "", "ethtool -l"),
        words("kind", "combined", "ethtool -l"),
        number("packets", 94_000.0, "1/s", "/proc/net/dev"),
        number("utilisation", 0.04, "fraction", "/proc/net/dev"),
        number("cpu", 17.0, "", "/proc/irq/N/effective_affinity_list"),
        number("softirq", 0.96, "fraction", "/proc/stat"),
        words("free_cpus", "0-16,18-63", "/proc/stat"),
    ]
}

fn core() -> Vec<Evidence> {
    vec![
        number("softirq", 0.96, "fraction", "/proc/stat"),
        number("others", 0.01, "fraction", "/proc/stat"),
        number("squeezed", 312.0, "1/s", "/proc/net/softnet_stat"),
        words("nics", "eth0", "/proc/irq/N/effective_affinity_list"),
    ]
}

fn disk() -> Vec<Evidence> {
    vec![
        number("utilisation", 0.98, "fraction", "/proc/diskstats"),
        number("await", 11.4, "ms", "/proc/diskstats"),
        words("writers", "/system.slice/postgresql.service 93%, broker-0 18%", "io.stat, /proc/PID/io"),
        words("mounts", "/var/lib/postgresql", "/proc/self/mountinfo"),
    ]
}

fn cache() -> Vec<Evidence> {
    vec![
        number("full", 0.99, "fraction", "memory.current"),
        number("limit", 4_294_967_296.0, "bytes", "memory.max"),
        number("reclaimable", 0.35, "fraction", "memory.stat"),
        number("pressure", 0.06, "fraction", "memory.pressure"),
        number("refaults", 612.0, "1/s", "memory.stat workingset_refault_file"),
        number("scanned", 3_700.0, "1/s", "memory.stat pgscan_direct"),
    ]
}

fn far() -> Vec<Evidence> {
    vec![
        number("remote", 0.61, "fraction", "sampled"),
        number("error", 0.018, "fraction", "sampled"),
        number("cpu", 2.2, "cores", "/proc/PID/stat"),
        words("comm", "postgres", "/proc/PID/comm"),
        words("cpu_by_node", "n0 86%, n1 14%", "/proc/PID/task/TID/stat"),
        words("memory_by_node", "n0 14.0G, n1 27.0G", "sampled"),
    ]
}

/// When they came, some seconds after they began; one more appeared and cleared.
pub fn timeline() -> Timeline {
    let at = |second| {
        let Stamp { seq: sample, wall_ns, mono_ns, .. } = stamp(second);
        At { sample, wall_ns, mono_ns }
    };
    let sick = sick();
    let seconds = [70, 79, 126, 139, 198];
    let mut changes: Vec<Change> =
        sick.all().into_iter().zip(seconds).map(|(finding, second)| Change::of(finding, true, at(second))).collect();
    if let Some(rule) = rules::find("NIC-03") {
        let (subject, severity, since) = (Subject::Cpu(17), Severity::Warning, stamp(20));
        let (evidence, children) = (Vec::new(), Vec::new());
        let passed = Finding { rule, subject, severity, confidence: 0.7, since, evidence, children };
        changes.extend([Change::of(&passed, true, at(24)), Change::of(&passed, false, at(58))]);
    }
    Timeline::of(changes)
}

fn judgement(findings: Vec<Finding>) -> Judgement {
    let fires = |id: &str| {
        let is = |finding: &Finding| finding.rule.id == id;
        findings.iter().any(|finding| is(finding) || finding.children.iter().any(is))
    };
    let unchecked = |subject, reason: &str, needs: &str| {
        Standing::NotChecked(vec![Unchecked { subject, reason: reason.to_owned(), needs: needs.to_owned() }])
    };
    let standing = |id: &str| match id {
        id if fires(id) => Standing::Firing,
        "NUMA-02" => unchecked(Subject::Host, "cannot read memory by node", "CAP_SYS_PTRACE or root"),
        "NIC-05" => unchecked(Subject::Nic("eth1".into()), "cannot read its queues", "per-queue counters"),
        "MEM-07" => unchecked(Subject::Host, "3 of the 8 samples it needs", ""),
        _ => Standing::Quiet,
    };
    let rules = RULES.iter().filter_map(|id| Some((rules::find(id)?, standing(id)))).collect();
    Judgement { findings, rules, ..Judgement::default() }
}
