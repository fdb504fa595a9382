//! CPU-04: one node works, another one idles.

use super::{Finding, Hit, Input, Look, Pace, Rule, Severity, Subject, Threshold, parts};
use crate::frame::Process;

pub(super) const RULE: Rule = Rule {
    id: "CPU-04",
    name: "one node is busy while another idles",
    why: "The scheduler moves work between nodes reluctantly, and what is bound to a node cannot move at all. One node is full then and the mean over the machine looks harmless.",
    reads: &[Input::CpuTimes, Input::Nodes, Input::Processes],
    looks_at: &["/proc/stat", "/sys/devices/system/node/node*/cpulist", "/proc/PID/task/TID/status"],
    thresholds: &[
        Threshold { name: "busy", value: 0.8, unit: "fraction", about: "mean busy share of the busiest node" },
        Threshold { name: "apart", value: 0.5, unit: "fraction", about: "difference to the idlest node" },
        Threshold { name: "exit", value: 0.7, unit: "fraction", about: "over below this" },
        Threshold { name: "exit_apart", value: 0.35, unit: "fraction", about: "over when they are closer than this" },
        Threshold { name: "full", value: 0.95, unit: "fraction", about: "share at which a node that work is bound to is full" },
        Threshold { name: "wait", value: 0.1, unit: "fraction", about: "share of its time that some of it waits for a CPU" },
    ],
    guards: &["while nobody waits for a CPU it is only told", "work that is bound to the node on purpose, as long as the node is not full: only told", "one thread that works alone", "nodes without CPUs", "isolated CPUs"],
    advice: &["One instance per node, each bound to its own: numactl --cpunodebind=N --membind=N", "Let the processes use the CPUs of other nodes: taskset -apc LIST PID"],
    references: &["numactl(8)", "Documentation/scheduler/sched-domains.rst"],
    pace: Pace { enter: 25, of: 30, ..Pace::USUAL },
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let means = parts::node_busy(look);
    let by_busy = |a: &&(u32, f64), b: &&(u32, f64)| a.1.total_cmp(&b.1);
    let (Some(hot), Some(cool)) = (means.iter().max_by(by_busy), means.iter().min_by(by_busy)) else { return };
    let apart = hot.1 - cool.1;
    if hot.0 == cool.0 || hot.1 < look.limit("exit") || apart < look.limit("exit_apart") {
        return;
    }
    let workers = workers(look, hot.0);
    if let [(process, cores)] = workers.as_slice()
        && *cores <= 1.05
        && look.frame().threads_of(process.pid).iter().filter(|thread| thread.cpu_cores >= Some(0.2)).count() <= 1
    {
        return;
    }
    let bound = !workers.is_empty() && workers.iter().all(|(process, _)| parts::bound_node(look.frame(), process) == Some(hot.0));
    // Where nobody waits there is nothing to gain by moving; one that works alone cannot be spread.
    let waits = workers.iter().filter_map(|(process, _)| process.wait_share).max_by(f64::total_cmp);
    let in_vain = waits.is_some_and(|wait| wait < look.limit("wait")) || (bound && hot.1 < look.limit("full"));
    let names = workers.iter().map(|(process, cores)| format!("{} ({}) {cores:.1}", process.comm, process.pid));
    let nodes = means.iter().map(|(node, busy)| format!("n{node} {}", parts::percent(Some(*busy))));
    let hit = Hit::new(Subject::Node(hot.0), 0.6)
        .enters(hot.1 >= look.limit("busy") && apart >= look.limit("apart"))
        .severity(if in_vain { Severity::Info } else { Severity::Warning })
        .number("busy", hot.1, "fraction", "/proc/stat")
        .number("idlest", cool.1, "fraction", "/proc/stat")
        .number("idlest_node", f64::from(cool.0), "", "/proc/stat")
        .known("wait", waits, "fraction", "/proc/PID/task/TID/schedstat")
        .text("nodes", parts::list(nodes, 16), "/proc/stat")
        .text("bound", if bound { "yes" } else { "no" }, "/proc/PID/task/TID/status")
        .some_text("who", parts::list(names, 4), "/proc/PID/task/TID/stat");
    look.hit(hit);
}

/// The processes that use a good part of a CPU on a node, with what they use there, most first.
fn workers<'a>(look: &Look<'a>, node: u32) -> Vec<(&'a Process, f64)> {
    let here = |process: &Process| process.cpu_by_node.iter().find(|(id, _)| *id == node).map(|(_, cores)| *cores);
    let processes = look.frame().processes.iter().filter(|process| !process.kernel);
    let mut workers: Vec<(&Process, f64)> =
        processes.filter_map(|process| Some((process, here(process).filter(|cores| *cores >= 0.2)?))).collect();
    workers.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.pid.cmp(&b.0.pid)));
    workers
}

fn title(finding: &Finding) -> String {
    let (busy, idlest) = (parts::percent(finding.number("busy")), parts::percent(finding.number("idlest")));
    let (other, bound) = (parts::count(finding.number("idlest_node")), finding.text("bound") == "yes");
    let why = if bound { "; what runs there is bound to it" } else { "" };
    format!("{} is {busy} busy, node {other} {idlest}{why}", finding.subject)
}
