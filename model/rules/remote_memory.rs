//! NUMA-01: a process runs on one NUMA node and has its memory on another.

use super::{
    Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, memory_spread, nodes, parts,
};
use super::{membind_mismatch, numa_misses};
use crate::bottleneck::ResourceKind;
use crate::frame::Frame;
use crate::locale::rule::remote_memory as text;
use crate::locale::{Texts, evidence};
use std::sync::Arc;

/// Its id.
pub const ID: RuleId = RuleId::new("NUMA-01");
pub(crate) const REMOTE: Threshold = ID.threshold(text::threshold::REMOTE, 0.5, "fraction");
pub(crate) const CRITICAL: Threshold = ID.threshold(text::threshold::CRITICAL, 0.8, "fraction");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 0.3, "fraction");
pub(crate) const MEMORY: Threshold = ID.threshold(text::threshold::MEMORY, 268_435_456.0, "bytes");
pub(crate) const CPU: Threshold = ID.threshold(text::threshold::CPU, 0.5, "cores");
pub(crate) const AGE: Threshold = ID.threshold(text::threshold::AGE, 60.0, "s");

/// Share of the remote memory that makes a tier of it.
const TIERED: f64 = 0.9;

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    advises: Some(advises),
    limits: |_| &[ResourceKind::Remote],
    needs_load: true,
    reads: &[Input::Processes, Input::Nodes],
    sources: &["/proc/PID/task/TID/stat", "move_pages(2), numa_maps, memory.numa_stat"],
    thresholds: &[REMOTE, CRITICAL, EXIT, MEMORY, CPU, AGE],
    references: &["numactl(8)", "Documentation/admin-guide/mm/numa_memory_policy.rst"],
    pace: Pace::QUICK,
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    if frame.topology.nodes.iter().filter(|node| node.has_memory).count() < 2 {
        return;
    }
    for process in frame.processes.iter().filter(|process| !process.kernel) {
        let big = process.rss_bytes.value().is_some_and(|rss| rss as f64 >= context.limit(&MEMORY));
        let busy = process.cpu_cores.is_some_and(|cores| cores >= context.limit(&CPU));
        if !big || !busy {
            continue;
        }
        let subject = Subject::Process(process.pid, process.starttime);
        let Some(memory) = process.memory.as_ref().filter(|memory| memory.age_seconds <= context.limit(&AGE)) else {
            context.unchecked(subject, &text::UNSAMPLED, &text::UNSAMPLED_REQUIRES);
            continue;
        };
        let Some(remote) = memory.remote_ratio.filter(|remote| *remote >= context.limit(&EXIT)) else { continue };
        if process.policy.starts_with("interleave")
            || process.policy.starts_with("weighted")
            || memory_spread::is_spread(frame, process)
        {
            continue;
        }
        let enters = remote - memory.error >= context.limit(&REMOTE);
        let distance = memory_spread::farthest(frame, process);
        let severity = match distance {
            // Halves of one package (SNC, NPS) are hardly farther than the node itself.
            1.. if f64::from(distance) <= memory_spread::DISTANCE.value => Severity::Info,
            // On a node without CPUs memory is remote to everybody, and what the kernel moves there is what is not used.
            _ if is_tiered(frame, &memory.by_node, remote) => Severity::Info,
            20.. if remote >= context.limit(&CRITICAL) => Severity::Critical,
            _ => Severity::Warning,
        };
        let hit = Hit::new(subject.clone(), 0.8)
            .enters(enters)
            .severity(severity)
            .number(evidence::REMOTE, remote, "fraction", memory.source.name())
            .number(evidence::ERROR, memory.error, "fraction", memory.source.name())
            .known(evidence::CPU, process.cpu_cores, "cores", "/proc/PID/stat")
            .text(evidence::COMM, Arc::clone(&process.comm), "/proc/PID/comm")
            .text(evidence::CPU_BY_NODE, memory_spread::shares(&process.cpu_by_node), "/proc/PID/task/TID/stat")
            .text(evidence::MEMORY_BY_NODE, memory_spread::sizes(&memory.by_node), memory.source.name())
            .text(evidence::POLICY, Arc::clone(&process.policy), "numa_maps")
            .some_text(evidence::BANDWIDTH, parts::bandwidth(frame), "/sys/fs/resctrl/mon_data")
            .table(evidence::BY_NODE, nodes::matrix(frame, process), memory.source.name())
            .table(evidence::NUMACTL_SHOW, nodes::numactl_show(frame, process), "/proc/PID/status, numa_maps")
            .covers(membind_mismatch::ID, subject)
            .covers(numa_misses::ID, Subject::Host);
        context.hit(memory_spread::with_room(hit, frame, process));
    }
}

/// True where nearly all that is remote is on nodes without CPUs.
fn is_tiered(frame: &Frame, by_node: &[(u32, u64)], remote: f64) -> bool {
    let tier = |node: u32| frame.topology.node(node).is_some_and(|node| !node.has_cpus);
    let sum = |all: &mut dyn Iterator<Item = &(u32, u64)>| all.map(|entry| entry.1 as f64).sum::<f64>();
    let (all, tiered) = (sum(&mut by_node.iter()), sum(&mut by_node.iter().filter(|entry| tier(entry.0))));
    tiered >= TIERED * remote * all
}

fn advises(finding: &Finding) -> Texts {
    if memory_spread::fits_a_node(finding) { text::ADVICE } else { text::ADVICE_LARGER }
}

fn title(finding: &Finding) -> String {
    text::Title {
        comm: &finding.text(evidence::COMM),
        subject: &finding.subject.named(),
        remote: &parts::percent(finding.number(evidence::REMOTE)),
        cpu: &finding.text(evidence::CPU_BY_NODE),
        memory: &finding.text(evidence::MEMORY_BY_NODE),
    }
    .to_string()
}
