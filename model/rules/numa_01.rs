//! NUMA-01: a process runs on one node and has its memory on another.

use super::{Finding, Hit, Input, Look, Pace, Rule, Severity, Subject, Threshold, nodes, numa_02, parts};
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "NUMA-01",
    name: "a process works on remote memory",
    why: "Memory of another node takes longer to reach and shares the link between the packages. A process whose memory is elsewhere waits for it at nearly every access.",
    reads: &[Input::Processes, Input::Nodes],
    looks_at: &["/proc/PID/task/TID/stat", "move_pages(2), numa_maps, memory.numa_stat"],
    thresholds: &[
        Threshold { name: "remote", value: 0.5, unit: "fraction", about: "accesses that are remote if they follow CPU time" },
        Threshold { name: "critical", value: 0.8, unit: "fraction", about: "share that is critical" },
        Threshold { name: "exit", value: 0.3, unit: "fraction", about: "over below this" },
        Threshold { name: "memory", value: 268_435_456.0, unit: "bytes", about: "resident memory, at least" },
        Threshold { name: "cpu", value: 0.5, unit: "cores", about: "CPU used, at least" },
        Threshold { name: "age", value: 60.0, unit: "s", about: "age of the answer, at most" },
    ],
    guards: &["one node with memory", "interleaved on purpose", "spread over nodes on both sides: that is NUMA-02"],
    advice: &["Bind CPUs and memory to one node: numactl --cpunodebind=N --membind=N", "Move it: cpuset.cpus and cpuset.mems of its group, migratepages"],
    references: &["numactl(8)", "Documentation/admin-guide/mm/numa_memory_policy.rst"],
    pace: Pace::QUICK,
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    if frame.topology.nodes.iter().filter(|node| node.has_memory).count() < 2 {
        return;
    }
    for process in frame.processes.iter().filter(|process| !process.kernel) {
        let big = process.rss_bytes.value().is_some_and(|rss| rss as f64 >= look.limit("memory"));
        let busy = process.cpu_cores.is_some_and(|cores| cores >= look.limit("cpu"));
        if !big || !busy {
            continue;
        }
        let subject = Subject::Process(process.pid, process.starttime);
        let Some(memory) = process.memory.as_ref().filter(|memory| memory.age_seconds <= look.limit("age")) else {
            look.unchecked(subject, "where its memory is was not asked yet or could not be", "CAP_SYS_PTRACE or root");
            continue;
        };
        let Some(remote) = memory.remote_ratio.filter(|remote| *remote >= look.limit("exit")) else { continue };
        if process.policy.starts_with("interleave") || process.policy.starts_with("weighted") || numa_02::is_spread(frame, process) {
            continue;
        }
        let enters = remote - memory.error >= look.limit("remote");
        let far = remote >= look.limit("critical") && numa_02::farthest(frame) >= 20;
        let hit = Hit::new(subject.clone(), 0.8)
            .enters(enters)
            .severity(if far { Severity::Critical } else { Severity::Warning })
            .number("remote", remote, "fraction", memory.source.name())
            .number("error", memory.error, "fraction", memory.source.name())
            .known("cpu", process.cpu_cores, "cores", "/proc/PID/stat")
            .text("comm", Arc::clone(&process.comm), "/proc/PID/comm")
            .text("cpu_by_node", numa_02::shares(&process.cpu_by_node), "/proc/PID/task/TID/stat")
            .text("memory_by_node", numa_02::sizes(&memory.by_node), memory.source.name())
            .text("policy", Arc::clone(&process.policy), "numa_maps")
            .table("by_node", nodes::matrix(frame, process), memory.source.name())
            .table("numactl_show", nodes::numactl_show(frame, process), "/proc/PID/status, numa_maps")
            .covers("NUMA-06", subject)
            .covers("NUMA-05", Subject::Host);
        look.hit(hit);
    }
}

fn title(finding: &Finding) -> String {
    let remote = parts::percent(finding.number("remote"));
    let (cpu, memory) = (finding.text("cpu_by_node"), finding.text("memory_by_node"));
    format!("{} ({}): {remote} remote: CPU on {cpu}, memory on {memory}", finding.text("comm"), finding.subject)
}
