//! NUMA-03: there are fewer bound instances than nodes, and the other nodes idle.

use super::{Finding, Hit, Input, Look, Pace, Rule, Severity, Subject, Threshold, parts};
use crate::frame::Process;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "NUMA-03",
    name: "fewer instances than nodes",
    why: "One instance per node, each with its own CPUs and memory, uses the whole machine without remote accesses. Where there are fewer instances than nodes with CPUs, the rest of the machine is paid for and idle.",
    reads: &[Input::CpuTimes, Input::Nodes, Input::Processes],
    looks_at: &["/proc/PID/task/TID/status", "/sys/devices/system/node", "/proc/stat"],
    thresholds: &[
        Threshold { name: "busy", value: 0.8, unit: "fraction", about: "mean busy share of each node with an instance" },
        Threshold { name: "idle", value: 0.2, unit: "fraction", about: "mean busy share of each node without one, at most" },
        Threshold { name: "exit", value: 0.65, unit: "fraction", about: "over when a node with an instance is below this" },
        Threshold { name: "exit_idle", value: 0.35, unit: "fraction", about: "over when a node without one is above this" },
        Threshold { name: "wait", value: 0.1, unit: "fraction", about: "share of its time that an instance waits for a CPU" },
        Threshold { name: "part", value: 0.5, unit: "fraction", about: "part of its node's CPUs that an instance uses, at least" },
    ],
    guards: &["instances that are not bound to one node each", "nodes without CPUs", "instances that leave their nodes CPUs free", "while no instance waits for a CPU it is only told"],
    advice: &["As many instances as there are nodes with CPUs: numactl --cpunodebind=N --membind=N, each with ports and folders of its own"],
    references: &["numactl(8)"],
    pace: Pace::USUAL,
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let busy: BTreeMap<u32, f64> = parts::node_busy(look).into_iter().collect();
    if busy.len() < 2 {
        return;
    }
    for ((comm, _), instances) in instances(look) {
        let used: BTreeSet<u32> = instances.iter().map(|(_, node)| *node).collect();
        let free: Vec<u32> = busy.keys().copied().filter(|node| !used.contains(node)).collect();
        let share = |node: &u32| busy.get(node).copied().unwrap_or(0.0);
        let least = used.iter().map(share).fold(1.0, f64::min);
        let most = free.iter().map(share).fold(0.0, f64::max);
        let Some((first, _)) = instances.first().filter(|_| !free.is_empty()) else { continue };
        if least < look.limit("exit") || most > look.limit("exit_idle") {
            continue;
        }
        let waits = instances.iter().filter_map(|(process, _)| process.wait_share).max_by(f64::total_cmp);
        let in_vain = waits.is_some_and(|wait| wait < look.limit("wait"));
        let names = instances.iter().map(|(process, node)| format!("{} on n{node}", process.pid));
        let mut hit = Hit::new(Subject::Process(first.pid, first.starttime), 0.7)
            .enters(least >= look.limit("busy") && most <= look.limit("idle"))
            .severity(if in_vain { Severity::Info } else { Severity::Warning })
            .known("wait", waits, "fraction", "/proc/PID/task/TID/schedstat")
            .number("instances", used.len() as f64, "", "/proc/PID/task/TID/status")
            .number("nodes", busy.len() as f64, "", "/sys/devices/system/node")
            .number("busy", least, "fraction", "/proc/stat")
            .number("idle", most, "fraction", "/proc/stat")
            .text("free", parts::list(&free, 16), "/sys/devices/system/node")
            .text("who", parts::list(names, 8), "/proc/PID/task/TID/status")
            .text("comm", comm, "/proc/PID/comm");
        for node in &used {
            hit = hit.covers("CPU-04", Subject::Node(*node));
        }
        look.hit(hit);
    }
}

/// Name and common arguments.
type Program = (Arc<str>, String);

/// Processes that are bound to one node and use a good part of it, by program.
fn instances<'a>(look: &Look<'a>) -> BTreeMap<Program, Vec<(&'a Process, u32)>> {
    let frame = look.frame();
    let mut found: BTreeMap<Program, Vec<(&Process, u32)>> = BTreeMap::new();
    for process in frame.processes.iter().filter(|process| !process.kernel) {
        let Some(cores) = process.cpu_cores.filter(|cores| *cores >= 0.5) else { continue };
        let Some(node) = parts::bound_node(frame, process) else { continue };
        let cpus = frame.topology.node(node).map_or(0, |node| node.cpus.intersection(&frame.topology.cpus_online).len());
        if cores >= look.limit("part") * cpus as f64 {
            found.entry((Arc::clone(&process.comm), program(process))).or_default().push((process, node));
        }
    }
    found
}

/// The arguments that instances of one program have in common: those without digits, since ports and folders have some.
fn program(process: &Process) -> String {
    let common = process.cmdline.split(' ').filter(|word| !word.bytes().any(|byte| byte.is_ascii_digit()));
    common.collect::<Vec<_>>().join(" ")
}

fn title(finding: &Finding) -> String {
    let (instances, nodes) = (parts::count(finding.number("instances")), parts::count(finding.number("nodes")));
    let (busy, idle) = (parts::percent(finding.number("busy")), parts::percent(finding.number("idle")));
    let free = finding.text("free");
    format!("{} fills {instances} of {nodes} nodes ({busy} busy); idle: {free} ({idle} busy)", finding.text("comm"))
}
