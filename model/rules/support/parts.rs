//! What several rules ask of a frame.

use crate::IdSet;
use crate::frame::{Cgroup, CgroupMemory, Disk, Frame, Nic, Process, Queue};
use crate::rules::{Overrides, RuleContext, Threshold, disk_saturated, softirq_saturated};
use std::collections::{BTreeMap, BTreeSet};

/// A CPU that soft interrupts keep busy while others are free of them.
#[derive(Clone, Copy, Debug)]
pub(in crate::rules) struct HotCpu {
    pub(in crate::rules) id: u32,
    /// Share of hard and soft interrupts.
    pub(in crate::rules) share: f64,
    /// The mean of the others.
    pub(in crate::rules) others: f64,
    /// True where it opens a finding, false where it only keeps one.
    pub(in crate::rules) enters: bool,
}

/// The CPUs that IRQ-01 calls hot.
pub(in crate::rules) fn hot_cpus(context: &RuleContext<'_>) -> Vec<HotCpu> {
    let enter = context.limit(&softirq_saturated::SOFTIRQ);
    let (others_most, exit) = (context.limit(&softirq_saturated::OTHERS), context.limit(&softirq_saturated::EXIT));
    context
        .against_others(|shares| shares.softirq + shares.irq)
        .filter_map(|(cpu, share, others)| {
            let enters = share >= enter && others <= others_most;
            (enters || share >= exit).then_some(HotCpu { id: cpu.id, share, others, enters })
        })
        .collect()
}

/// The queues of an interface that a CPU serves.
pub(crate) fn queues_on(nic: &Nic, cpu: u32) -> impl Iterator<Item = &Queue> {
    nic.queues.iter().filter(move |queue| queue.cpus.as_ref().is_some_and(|cpus| cpus.contains(cpu)))
}

/// CPUs that are kept for somebody, with what keeps them.
pub(crate) fn kept_cpus(frame: &Frame) -> BTreeMap<u32, &'static str> {
    crate::rules::irq_isolated_cpus::reserved_cpus(frame)
}

/// CPUs that alone serve several busy receiving queues of an interface, with how many.
pub(crate) fn crowded_cpus(frame: &Frame, nic: &Nic) -> BTreeMap<u32, usize> {
    crate::rules::irq_crowding::crowded(frame, nic)
}

/// True where the interface has an own device and a link: limits and queues are its own.
pub(crate) fn is_physical(nic: &Nic) -> bool {
    &*nic.kind == "physical"
}

/// CPUs that do next to nothing, of those that a set allows; all where it is none.
pub(in crate::rules) fn idle_cpus(context: &RuleContext<'_>, allowed: Option<&IdSet>, below: f64) -> IdSet {
    let idle = context
        .cpus()
        .filter(|(cpu, shares)| shares.busy < below && allowed.is_none_or(|allowed| allowed.contains(cpu.id)));
    IdSet::from_ids(idle.map(|(cpu, _)| cpu.id))
}

/// The CPUs that a process may use: its group's, else all that are online.
pub(crate) fn cpuset<'a>(frame: &'a Frame, process: &Process) -> &'a IdSet {
    let mut groups = above(process.cpuset_group()).filter_map(|path| frame.cgroup(path)?.cpuset_cpus.as_deref());
    groups.find(|cpus| !cpus.is_empty()).unwrap_or(&frame.topology.cpus_online)
}

/// True for SCHED_FIFO, SCHED_RR and SCHED_DEADLINE.
pub(crate) fn is_real_time(policy: u64) -> bool {
    [1, 2, 6].contains(&policy)
}

/// Nodes with the mean busy share of their CPUs, isolated ones left out.
pub(in crate::rules) fn node_busy(context: &RuleContext<'_>) -> Vec<(u32, f64)> {
    let mut nodes: Vec<(u32, f64, u32)> = Vec::new();
    for (cpu, shares) in context.cpus() {
        let Some(node) = cpu.node.value() else { continue };
        match nodes.iter_mut().find(|known| known.0 == node) {
            Some(known) => (known.1, known.2) = (known.1 + shares.busy, known.2 + 1),
            None => nodes.push((node, shares.busy, 1)),
        }
    }
    nodes.sort_unstable_by_key(|node| node.0);
    nodes.into_iter().map(|(node, sum, count)| (node, sum / f64::from(count))).collect()
}

/// The one node that all the CPUs that a process may use are of; none where it may use several, or there is one only.
pub(crate) fn bound_node(frame: &Frame, process: &Process) -> Option<u32> {
    let of_threads = process.thread_affinities.iter().fold(IdSet::new(), |all, group| all.union(&group.cpus));
    let mask = if of_threads.is_empty() { process.affinity.as_deref()?.clone() } else { of_threads };
    let mut nodes = frame.topology.cpu_nodes().filter(|node| node.cpus.intersects(&mask));
    let (node, other) = (nodes.next()?, nodes.next());
    let bound = other.is_none() && mask.is_subset(&node.cpus) && frame.topology.cpu_nodes().nth(1).is_some();
    bound.then_some(node.id)
}

/// The quota that holds for a group: its own or the smallest above it.
pub(crate) fn quota_cores(frame: &Frame, path: &str) -> Option<f64> {
    quota(frame, path).map(|(_, quota)| quota)
}

/// The same with the path of the group whose it is.
pub(crate) fn quota<'a>(frame: &Frame, path: &'a str) -> Option<(&'a str, f64)> {
    let quotas = above(path).filter_map(|path| Some((path, frame.cgroup(path)?.cpu.quota_cores.value()?)));
    quotas.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// A path and those above it, the root last.
pub(crate) fn above(path: &str) -> impl Iterator<Item = &str> {
    let mut next = Some(path);
    std::iter::from_fn(move || {
        let here = next?;
        next = match here.rfind('/') {
            Some(0) if here.len() > 1 => Some("/"),
            Some(at) if at > 0 => here.get(..at),
            _ => None,
        };
        Some(here)
    })
}

/// True for a group that has a limit of its own: what is over it is told once, where it is set.
pub(in crate::rules) fn has_own_limit(cgroup: &Cgroup) -> bool {
    cgroup.memory.as_ref().is_some_and(|memory| memory.limit_bytes.value().is_some_and(|limit| limit > 0))
}

/// What of a group's memory nothing gives back: pages that only have to be written first are not meant.
pub(in crate::rules) fn stuck_bytes(memory: &CgroupMemory) -> Option<u64> {
    let written = [memory.dirty_bytes, memory.writeback_bytes].iter().filter_map(|bytes| bytes.value()).sum();
    Some(memory.unreclaimable_bytes.value()?.saturating_sub(written))
}

/// True where a disk is served to its end: busy nearly always, and requests wait. Second: true where that is over.
pub(crate) fn disk_pain(overrides: &Overrides, disk: &Disk) -> (bool, bool) {
    let limit = |threshold: &Threshold| threshold.configured(overrides);
    let Some(utilisation) = disk.utilisation else { return (false, false) };
    let slow_ms = limit(if disk.rotational.value() == Some(true) {
        &disk_saturated::AWAIT_ROTATING
    } else {
        &disk_saturated::AWAIT
    });
    let slowest = [disk.write_await_ms, disk.read_await_ms].iter().filter_map(|ms| ms.value()).max_by(f64::total_cmp);
    let slow = slowest.is_some_and(|ms| ms >= slow_ms);
    let deep = disk.queue_depth.is_some_and(|depth| depth >= limit(&disk_saturated::QUEUE));
    let enter = utilisation >= limit(&disk_saturated::UTILISATION) && (slow || deep);
    let over = utilisation < limit(&disk_saturated::EXIT) || !(deep || slowest.is_some_and(|ms| ms >= slow_ms / 2.0));
    (enter, over)
}

/// True for devices whose figures say nothing of their own: memory, and what stands on others.
pub(crate) fn is_judged(disk: &Disk) -> bool {
    !["zram", "ram"].contains(&&*disk.kind) && disk.lower.is_empty()
}

/// True where two nodes each have a good part of a process's CPU time and of its memory.
pub(crate) fn is_spread(frame: &Frame, process: &Process) -> bool {
    crate::rules::memory_spread::is_spread(frame, process)
}

/// Erlang instances that bind schedulers to the same CPUs, and those CPUs.
pub(crate) fn colliding_beams(frame: &Frame) -> (BTreeSet<u32>, IdSet) {
    crate::rules::erlang_bind_overlap::colliding(frame)
}

/// The nodes that a memory policy names: `bind:3`, `prefer (many):0-1`.
pub(crate) fn policy_nodes(policy: &str) -> IdSet {
    crate::rules::node_memory_low::policy_nodes(policy)
}

/// Period, weight and reach in bytes a second of the least periodic reclaim that gives so much.
pub(crate) fn smallest_reclaim(frame: &Frame, needed: f64) -> (u64, u64, f64) {
    crate::rules::cache_reclaim::proposal(frame, needed)
}

/// Bytes a second that periodic reclaim gives with a period and a weight.
pub(crate) fn reclaim_reach(frame: &Frame, period: u64, weight: u64) -> f64 {
    crate::rules::cache_reclaim::unit(frame) * weight as f64 / period.max(1) as f64
}

/// Services whose latency others wait for.
const DELICATE: &[&str] =
    &["rabbit", "beam", "mysql", "mariadb", "postgres", "etcd", "kafka", "mongo", "redis", "zookeeper"];

/// True for the name or path of such a service.
pub(crate) fn is_delicate(name: &str) -> bool {
    DELICATE.iter().any(|word| name.contains(word))
}

/// True for a path below another one.
pub(in crate::rules) fn is_below(path: &str, above: &str) -> bool {
    path != above && (above == "/" || path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/')))
}

/// `94 %`.
pub(crate) fn percent(fraction: Option<f64>) -> String {
    fraction.map_or_else(|| "?".to_owned(), |fraction| format!("{:.0} %", fraction * 100.0))
}

/// `1.5 GiB`.
pub(crate) fn bytes(bytes: Option<f64>) -> String {
    let Some(mut value) = bytes else { return "?".to_owned() };
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value.abs() < 1024.0 {
            return if unit == "B" { format!("{value:.0} B") } else { format!("{value:.1} {unit}") };
        }
        value /= 1024.0;
    }
    format!("{value:.1} TiB")
}

/// A number without more digits than it deserves.
pub(crate) fn count(value: Option<f64>) -> String {
    match value {
        None => "?".to_owned(),
        Some(value) if value.abs() >= 100_000.0 => format!("{:.0}k", value / 1000.0),
        Some(value) if value.abs() >= 100.0 || value.fract() == 0.0 => format!("{value:.0}"),
        Some(value) => format!("{value:.1}"),
    }
}

/// Names in one text, so many of them at most.
pub(crate) fn list<T: std::fmt::Display>(items: impl IntoIterator<Item = T>, most: usize) -> String {
    let all: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    let rest = all.len().saturating_sub(most);
    let mut text = all.get(..all.len() - rest).unwrap_or_default().join(", ");
    if rest > 0 {
        text = format!("{text} and {rest} more");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{above, bytes, is_below, list, stuck_bytes};
    use crate::Known;
    use crate::frame::CgroupMemory;

    #[test]
    fn paths_lead_to_the_root() {
        assert_eq!(above("/a/b").collect::<Vec<_>>(), ["/a/b", "/a", "/"]);
        assert_eq!(above("/").collect::<Vec<_>>(), ["/"]);
        assert_eq!(above("").collect::<Vec<_>>(), [""]);
        assert!(is_below("/a/b", "/a") && is_below("/a", "/") && !is_below("/ab", "/a") && !is_below("/a", "/a"));
    }

    #[test]
    fn what_has_to_be_written_is_not_stuck() {
        let memory = CgroupMemory {
            unreclaimable_bytes: Known::Value(59),
            dirty_bytes: Known::Value(50),
            writeback_bytes: Known::Value(7),
            ..CgroupMemory::default()
        };
        assert_eq!(stuck_bytes(&memory), Some(2));
        assert_eq!(stuck_bytes(&CgroupMemory::default()), None);
    }

    #[test]
    fn figures_are_short() {
        assert_eq!(bytes(Some(1536.0 * 1024.0 * 1024.0)), "1.5 GiB");
        assert_eq!(list([1, 2, 3], 2), "1, 2 and 1 more");
    }
}
