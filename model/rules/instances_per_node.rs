//! NUMA-03: fewer bound instances than NUMA nodes, and the other nodes are idle.

use super::node_imbalance;
use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts};
use crate::bottleneck::ResourceKind;
use crate::frame::Process;
use crate::locale::evidence;
use crate::locale::rule::instances_per_node as text;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Its id.
pub const ID: RuleId = RuleId::new("NUMA-03");
pub(crate) const BUSY: Threshold = ID.threshold(text::threshold::BUSY, 0.8, "fraction");
pub(crate) const IDLE: Threshold = ID.threshold(text::threshold::IDLE, 0.2, "fraction");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 0.65, "fraction");
pub(crate) const EXIT_IDLE: Threshold = ID.threshold(text::threshold::EXIT_IDLE, 0.35, "fraction");
pub(crate) const WAIT: Threshold = ID.threshold(text::threshold::WAIT, 0.1, "fraction");
pub(crate) const PART: Threshold = ID.threshold(text::threshold::PART, 0.5, "fraction");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Remote],
    needs_load: true,
    reads: &[Input::CpuTimes, Input::Nodes, Input::Processes],
    sources: &["/proc/PID/task/TID/status", "/sys/devices/system/node", "/proc/stat"],
    thresholds: &[BUSY, IDLE, EXIT, EXIT_IDLE, WAIT, PART],
    references: &["numactl(8)"],
    pace: Pace::USUAL,
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let busy: BTreeMap<u32, f64> = parts::node_busy(context).into_iter().collect();
    if busy.len() < 2 {
        return;
    }
    for ((comm, _), instances) in instances(context) {
        let used: BTreeSet<u32> = instances.iter().map(|(_, node)| *node).collect();
        let free: Vec<u32> = busy.keys().copied().filter(|node| !used.contains(node)).collect();
        let share = |node: &u32| busy.get(node).copied().unwrap_or(0.0);
        let least = used.iter().map(share).fold(1.0, f64::min);
        let most = free.iter().map(share).fold(0.0, f64::max);
        let Some((first, _)) = instances.first().filter(|_| !free.is_empty()) else { continue };
        if least < context.limit(&EXIT) || most > context.limit(&EXIT_IDLE) {
            continue;
        }
        let waits = instances.iter().filter_map(|(process, _)| process.wait_share).max_by(f64::total_cmp);
        let nobody_waits = waits.is_some_and(|wait| wait < context.limit(&WAIT));
        let names = instances.iter().map(|(process, node)| text::Placed { pid: &process.pid, node }.to_string());
        let mut hit = Hit::new(Subject::Process(first.pid, first.starttime), 0.7)
            .enters(least >= context.limit(&BUSY) && most <= context.limit(&IDLE))
            .severity(if nobody_waits { Severity::Info } else { Severity::Warning })
            .known(evidence::WAIT, waits, "fraction", "/proc/PID/task/TID/schedstat")
            .number(evidence::INSTANCES, used.len() as f64, "", "/proc/PID/task/TID/status")
            .number(evidence::NODES, busy.len() as f64, "", "/sys/devices/system/node")
            .number(evidence::BUSY, least, "fraction", "/proc/stat")
            .number(evidence::IDLE, most, "fraction", "/proc/stat")
            .text(evidence::UNUSED, parts::list(&free, 16), "/sys/devices/system/node")
            .text(evidence::WHO, parts::list(names, 8), "/proc/PID/task/TID/status")
            .text(evidence::COMM, comm, "/proc/PID/comm");
        for node in &used {
            hit = hit.covers(node_imbalance::ID, Subject::Node(*node));
        }
        context.hit(hit);
    }
}

/// Name and common arguments.
type Program = (Arc<str>, String);

/// Processes that are bound to one node and use a large share of it, by program.
fn instances<'a>(context: &RuleContext<'a>) -> BTreeMap<Program, Vec<(&'a Process, u32)>> {
    let frame = context.frame();
    let mut instances: BTreeMap<Program, Vec<(&Process, u32)>> = BTreeMap::new();
    for process in frame.processes.iter().filter(|process| !process.kernel) {
        let Some(cores) = process.cpu_cores.filter(|cores| *cores >= 0.5) else { continue };
        let Some(node) = parts::bound_node(frame, process) else { continue };
        let cpus =
            frame.topology.node(node).map_or(0, |node| node.cpus.intersection(&frame.topology.cpus_online).len());
        if cores >= context.limit(&PART) * cpus as f64 {
            instances.entry((Arc::clone(&process.comm), program(process))).or_default().push((process, node));
        }
    }
    instances
}

/// The arguments that instances of one program share: those without digits, since ports and directories contain digits.
fn program(process: &Process) -> String {
    let common = process.cmdline.split(' ').filter(|word| !word.bytes().any(|byte| byte.is_ascii_digit()));
    common.collect::<Vec<_>>().join(" ")
}

fn title(finding: &Finding) -> String {
    text::Title {
        comm: &finding.text(evidence::COMM),
        instances: &parts::count(finding.number(evidence::INSTANCES)),
        nodes: &parts::count(finding.number(evidence::NODES)),
        busy: &parts::percent(finding.number(evidence::BUSY)),
        free: &finding.text(evidence::UNUSED),
        idle: &parts::percent(finding.number(evidence::IDLE)),
    }
    .to_string()
}
