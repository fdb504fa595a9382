//! NUMA-02: a large process is spread over NUMA nodes.

use super::numa_misses;
use super::{Finding, Hit, Input, Pace, Page, Rule, RuleContext, RuleId, Severity, Subject, Threshold, nodes, parts};
use crate::Total as _;
use crate::bottleneck::ResourceKind;
use crate::frame::{Frame, Process};
use crate::locale::evidence;
use crate::locale::rule::memory_spread as text;
use std::sync::Arc;

/// Its id.
pub const ID: RuleId = RuleId::new("NUMA-02");
pub(crate) const SHARE: Threshold = ID.threshold(text::threshold::SHARE, 0.2, "fraction");
pub(crate) const NODE: Threshold = ID.threshold(text::threshold::NODE, 0.5, "fraction");
pub(crate) const THREADS: Threshold = ID.threshold(text::threshold::THREADS, 4.0, "");
pub(crate) const MEMORY: Threshold = ID.threshold(text::threshold::MEMORY, 268_435_456.0, "bytes");
pub(crate) const LOCAL: Threshold = ID.threshold(text::threshold::LOCAL, 0.8, "fraction");
pub(crate) const DISTANCE: Threshold = ID.threshold(text::threshold::DISTANCE, 12.0, "");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    gained: text::GAINED,
    limits: |_| &[ResourceKind::Remote],
    needs_load: true,
    reads: &[Input::Processes, Input::Nodes],
    sources: &["/proc/PID/task/TID/stat", "move_pages(2), numa_maps, memory.numa_stat"],
    thresholds: &[SHARE, NODE, THREADS, MEMORY, LOCAL, DISTANCE],
    references: &["numactl(8)", "numa(7)"],
    pace: Pace::USUAL,
    tables: &[Page { title: text::TABLE_TITLE, rows: text::TABLE }],
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    if frame.topology.cpu_nodes().filter(|node| node.has_memory).count() < 2 {
        return;
    }
    let node_cpus = online_each(frame);
    for process in frame.processes.iter().filter(|process| !process.kernel) {
        let big = process.rss_bytes.value().is_some_and(|rss| rss as f64 >= context.limit(&MEMORY));
        let busy = process.cpu_cores.is_some_and(|cores| cores >= context.limit(&NODE) * node_cpus as f64);
        let default = process.policy.is_empty() || &*process.policy == "default";
        if !big || !busy || !default || !is_spread(frame, process) {
            continue;
        }
        let threads = frame.threads_of(process.pid);
        let working = threads.iter().filter(|thread| thread.cpu_cores.is_some_and(|cores| cores >= 0.1)).count();
        let many = if threads.is_empty() { process.threads.value().unwrap_or(1) } else { working as u64 };
        if (many as f64) < context.limit(&THREADS) {
            continue;
        }
        let Some(memory) = &process.memory else { continue };
        let balanced = frame.memory.numa_hint_local_ratio.is_some_and(|local| local >= context.limit(&LOCAL));
        let near = f64::from(farthest(frame, process)) <= context.limit(&DISTANCE);
        let hit = Hit::new(Subject::Process(process.pid, process.starttime), 0.6)
            .severity(if balanced || near { Severity::Info } else { Severity::Warning })
            .known(evidence::REMOTE, memory.remote_ratio, "fraction", memory.source.name())
            .known(evidence::CPU, process.cpu_cores, "cores", "/proc/PID/stat")
            .number(evidence::INSTANCES, frame.topology.cpu_nodes().count() as f64, "", "/sys/devices/system/node")
            .text(evidence::COMM, Arc::clone(&process.comm), "/proc/PID/comm")
            .text(evidence::CPU_BY_NODE, shares(&process.cpu_by_node), "/proc/PID/task/TID/stat")
            .text(evidence::MEMORY_BY_NODE, sizes(&memory.by_node), memory.source.name())
            .some_text(evidence::BANDWIDTH, parts::bandwidth(frame), "/sys/fs/resctrl/mon_data")
            .table(evidence::BY_NODE, nodes::matrix(frame, process), memory.source.name())
            .table(evidence::NUMACTL_SHOW, nodes::numactl_show(frame, process), "/proc/PID/status, numa_maps")
            .covers(numa_misses::ID, Subject::Host);
        context.hit(hit);
    }
}

/// Online CPUs of the smallest node: the CPU list of a node includes offline ones.
fn online_each(frame: &Frame) -> u64 {
    let online = |node: &crate::frame::NodePlace| node.cpus.intersection(&frame.topology.cpus_online).len();
    frame.topology.cpu_nodes().map(online).filter(|cpus| *cpus > 0).min().unwrap_or(1)
}

/// True if each of two nodes has a large share of its CPU time and of its memory.
pub(super) fn is_spread(frame: &Frame, process: &Process) -> bool {
    let Some(memory) = &process.memory else { return false };
    let nodes = frame.topology.cpu_nodes().filter(|node| node.has_memory).count().max(1);
    // An even share of many nodes is a small one.
    let least = SHARE.value.min(EVEN / nodes as f64);
    let cpu: f64 = process.cpu_by_node.iter().map(|(_, cores)| cores).sum();
    let bytes = memory.by_node.iter().map(|(_, bytes)| *bytes).total();
    let both = |node: &crate::frame::NodePlace| {
        let cores = process.cpu_by_node.iter().find(|(id, _)| *id == node.id).map_or(0.0, |(_, cores)| *cores);
        let here = memory.by_node.iter().find(|(id, _)| *id == node.id).map_or(0, |(_, bytes)| *bytes);
        cores >= least * cpu && cpu > 0.0 && here as f64 >= least * bytes as f64 && bytes > 0
    };
    frame.topology.cpu_nodes().filter(|node| both(node)).count() >= 2
}

/// Part of an even share that is enough where there are many nodes.
const EVEN: f64 = 0.8;
/// Share of CPU time or memory from which a node counts for the distance.
const COUNTS: f64 = 0.05;

/// The largest distance between a node that a process runs on and one that it has its memory on; zero if unknown.
pub(super) fn farthest(frame: &Frame, process: &Process) -> u32 {
    let Some(memory) = &process.memory else { return 0 };
    let cores: f64 = process.cpu_by_node.iter().map(|(_, cores)| cores).sum();
    let bytes = memory.by_node.iter().map(|(_, bytes)| *bytes).total();
    let runs = process.cpu_by_node.iter().filter(|(_, here)| *here >= COUNTS * cores && *here > 0.0);
    let lives: Vec<u32> = memory
        .by_node
        .iter()
        .filter(|(_, here)| *here > 0 && *here as f64 >= COUNTS * bytes as f64)
        .map(|(node, _)| *node)
        .collect();
    let pairs = runs.flat_map(|(from, _)| lives.iter().map(move |to| (*from, *to)));
    pairs.filter_map(|(from, to)| frame.topology.distance(from, to)).max().unwrap_or(0)
}

/// With what decides whether one node could hold the whole process.
pub(super) fn with_room(hit: Hit, frame: &Frame, process: &Process) -> Hit {
    let largest = frame.nodes.iter().filter_map(|node| node.memory_total_bytes.value()).max();
    hit.known(evidence::RESIDENT, process.rss_bytes.value().map(|rss| rss as f64), "bytes", "/proc/PID/statm").known(
        evidence::LARGEST_NODE,
        largest.map(|bytes| bytes as f64),
        "bytes",
        "/sys/devices/system/node/node*/meminfo",
    )
}

/// False where no node has the memory that a process of a finding uses.
pub(super) fn fits_a_node(finding: &Finding) -> bool {
    let sizes = finding.number(evidence::RESIDENT).zip(finding.number(evidence::LARGEST_NODE));
    sizes.is_none_or(|(resident, largest)| resident <= largest)
}

/// `n0 1.9 cores, n1 0.1 cores`.
pub(super) fn shares(by_node: &[(u32, f64)]) -> String {
    let parts = by_node.iter().filter(|(_, cores)| *cores >= 0.005);
    parts::list(parts.map(|(node, cores)| text::Cores { node, cores: &format!("{cores:.2}") }.to_string()), 8)
}

/// `n0 12.1 GiB, n1 0.2 GiB`.
pub(super) fn sizes(by_node: &[(u32, u64)]) -> String {
    let parts = by_node.iter().filter(|(_, bytes)| *bytes > 0);
    parts::list(parts.map(|(node, bytes)| format!("n{node} {}", parts::bytes(Some(*bytes as f64)))), 8)
}

fn title(finding: &Finding) -> String {
    text::Title {
        comm: &finding.text(evidence::COMM),
        subject: &finding.subject.named(),
        cpu: &finding.text(evidence::CPU_BY_NODE),
        memory: &finding.text(evidence::MEMORY_BY_NODE),
        nodes: &parts::count(finding.number(evidence::INSTANCES)),
    }
    .to_string()
}
