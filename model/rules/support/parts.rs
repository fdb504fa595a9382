//! What several rules derive from a frame.

pub(crate) use super::devices::{holds_requests, is_judged, is_managed};
use crate::IdSet;
use crate::Total as _;
use crate::frame::{Cgroup, CgroupMemory, Disk, Frame, Nic, Process, Queue};
use crate::locale::finding as text;
use crate::rules::{Overrides, RuleContext, Threshold, disk_saturated, softirq_saturated};
use std::collections::{BTreeMap, BTreeSet};

/// `yes` or `no`.
pub(in crate::rules) fn yes_or_no(holds: bool) -> &'static str {
    if holds { text::YES.as_str() } else { text::NO.as_str() }
}

/// A CPU that soft interrupts keep busy while the others are free of them.
#[derive(Clone, Copy, Debug)]
pub(in crate::rules) struct HotCpu {
    pub(in crate::rules) id: u32,
    /// Share of hard and soft interrupts.
    pub(in crate::rules) share: f64,
    /// The mean of the others.
    pub(in crate::rules) others: f64,
    /// True if it opens a finding, false if it only keeps one open.
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

/// The queues of an interface served by a CPU.
pub(crate) fn queues_on(nic: &Nic, cpu: u32) -> impl Iterator<Item = &Queue> {
    nic.queues.iter().filter(move |queue| queue.cpus.as_ref().is_some_and(|cpus| cpus.contains(cpu)))
}

/// Reserved CPUs, with what reserves them.
pub(crate) fn kept_cpus(frame: &Frame) -> BTreeMap<u32, &'static str> {
    crate::rules::irq_isolated_cpus::reserved_cpus(frame)
}

/// CPUs that nothing but what is pinned to them runs on: not those of an ordinary partition, which balances load.
pub(crate) fn kept_alone(frame: &Frame) -> IdSet {
    let alone = kept_cpus(frame).into_iter().filter(|(_, by)| !by.ends_with("partition root"));
    let isolated = frame.cpus.iter().filter(|cpu| cpu.isolated).map(|cpu| cpu.id);
    IdSet::from_ids(alone.map(|(cpu, _)| cpu).chain(isolated))
}

/// CPUs that each serve several busy receive queues of an interface, with the number of queues.
pub(crate) fn crowded_cpus(frame: &Frame, nic: &Nic) -> BTreeMap<u32, usize> {
    crate::rules::irq_crowding::crowded(frame, nic)
}

/// True for a thread that polls all the time on purpose, by the names of DPDK, Open vSwitch, SPDK, VPP and io_uring.
pub(crate) fn is_poller(comm: &str) -> bool {
    const NAMES: [&str; 7] = ["lcore-worker", "lcore-slave", "dpdk-worker", "pmd-c", "reactor_", "vpp_wk_", "iou-sqp-"];
    NAMES.iter().any(|name| comm.starts_with(name))
}

/// True if the interface has its own device and link.
pub(crate) fn is_physical(nic: &Nic) -> bool {
    &*nic.kind == "physical"
}

/// CPUs below a busy share, of the allowed ones; of all if none are given.
pub(in crate::rules) fn idle_cpus(context: &RuleContext<'_>, allowed: Option<&IdSet>, below: f64) -> IdSet {
    let kept = kept_alone(context.frame());
    let may = |id: u32| allowed.map_or(!kept.contains(id), |allowed| allowed.contains(id));
    let idle = context.cpus().filter(|(cpu, shares)| shares.busy < below && may(cpu.id));
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

/// Nodes with the mean busy share of their CPUs without isolated ones.
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

/// The node of all CPUs that a process may use; none if they are of several nodes, or the machine has one node.
pub(crate) fn bound_node(frame: &Frame, process: &Process) -> Option<u32> {
    let of_threads = process.thread_affinities.iter().fold(IdSet::new(), |all, group| all.union(&group.cpus));
    let mask = if of_threads.is_empty() { process.affinity.as_deref()?.clone() } else { of_threads };
    let mut nodes = frame.topology.cpu_nodes().filter(|node| node.cpus.intersects(&mask));
    let (node, other) = (nodes.next()?, nodes.next());
    let bound = other.is_none() && mask.is_subset(&node.cpus) && frame.topology.cpu_nodes().nth(1).is_some();
    bound.then_some(node.id)
}

/// The effective quota of a control group: its own or the smallest above it.
pub(crate) fn quota_cores(frame: &Frame, path: &str) -> Option<f64> {
    quota(frame, path).map(|(_, quota)| quota)
}

/// The same with the path of the control group that sets it.
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

/// True for a control group with its own limit: findings are reported where the limit is set.
pub(in crate::rules) fn has_own_limit(cgroup: &Cgroup) -> bool {
    cgroup.memory.as_ref().is_some_and(|memory| memory.limit_bytes.value().is_some_and(|limit| limit > 0))
}

/// The memory from which the kernel reclaims from a control group: the lower of its limit and its throttling mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bound {
    pub(crate) bytes: u64,
    /// The file that sets it.
    pub(crate) file: &'static str,
}

/// True where what is swapped out stays in memory, compressed.
pub(crate) fn swaps_to_memory(frame: &Frame) -> bool {
    frame.disks.iter().any(|disk| &*disk.kind == "zram")
}

/// True where most of what is swapped goes to zswap and comes back from there.
pub(crate) fn swaps_to_zswap(frame: &Frame) -> bool {
    let memory = &frame.memory;
    let sum = |rates: [Option<f64>; 2]| rates.into_iter().flatten().sum::<f64>();
    let compressed = sum([memory.zswpin_per_second, memory.zswpout_per_second]);
    compressed > sum([memory.pswpin_per_second, memory.pswpout_per_second])
}

/// The own bound of a control group; none without one.
pub(crate) fn bound(memory: &CgroupMemory) -> Option<Bound> {
    let limit = memory.limit_bytes.value().map(|bytes| Bound { bytes, file: "memory.max" });
    let high = memory.high_bytes.value().map(|bytes| Bound { bytes, file: "memory.high" });
    limit.into_iter().chain(high).filter(|bound| bound.bytes > 0).min_by_key(|bound| bound.bytes)
}

/// Swap that a control group may still use.
fn swap_room(frame: &Frame, memory: &CgroupMemory) -> u64 {
    let of_machine = frame.memory.swap_free_bytes.value().unwrap_or(0);
    let of_group = memory.swap_limit_bytes.value();
    of_group.map_or(of_machine, |limit| of_machine.min(limit.saturating_sub(memory.swap_bytes.value().unwrap_or(0))))
}

/// Memory of a control group that has nowhere to go. Half of what fits into swap counts: it can go, at a price.
pub(in crate::rules) fn pressing_bytes(frame: &Frame, memory: &CgroupMemory) -> Option<u64> {
    let swappable = [memory.anon_bytes, memory.shmem_bytes].iter().filter_map(|bytes| bytes.value()).total();
    Some(stuck_bytes(memory)?.saturating_sub(swappable.min(swap_room(frame, memory)) / 2))
}

/// Unreclaimable memory of a control group, without dirty pages: those are reclaimable after writeback.
pub(in crate::rules) fn stuck_bytes(memory: &CgroupMemory) -> Option<u64> {
    let written = [memory.dirty_bytes, memory.writeback_bytes].iter().filter_map(|bytes| bytes.value()).total();
    Some(memory.unreclaimable_bytes.value()?.saturating_sub(written))
}

/// Whether a disk is saturated (nearly always busy while requests queue), and whether that is over.
pub(crate) fn disk_pain(overrides: &Overrides, frame: &Frame, disk: &Disk) -> (bool, bool) {
    let limit = |threshold: &Threshold| threshold.configured(overrides);
    let Some(utilisation) = disk.utilisation else { return (false, false) };
    let slow_ms = limit(if disk.rotational.value() == Some(true) {
        &disk_saturated::AWAIT_ROTATING
    } else {
        &disk_saturated::AWAIT
    });
    let slowest = [disk.write_await_ms, disk.read_await_ms].iter().filter_map(|ms| ms.value()).max_by(f64::total_cmp);
    let slow = slowest.is_some_and(|ms| ms >= slow_ms);
    let queues = disk.queue_depth.is_some_and(|depth| depth >= limit(&disk_saturated::QUEUE));
    // What does not spin serves many requests at once: a queue is pain where it costs time, or fills the hardware.
    let costs = |part: f64| slowest.is_some_and(|ms| ms >= limit(&disk_saturated::AWAIT_QUEUED) * part);
    let fills = disk
        .queue_depth
        .zip(disk.depth)
        .is_some_and(|(depth, most)| depth >= most as f64 * limit(&disk_saturated::CAPACITY));
    // What a virtual disk says of moving parts is a default.
    let spins = disk.rotational.value() != Some(false) && frame.host.virtualization.is_empty();
    let deep = |part: f64| queues && (spins || fills || costs(part));
    let enter = utilisation >= limit(&disk_saturated::UTILISATION) && (slow || deep(1.0));
    let over =
        utilisation < limit(&disk_saturated::EXIT) || !(deep(0.5) || slowest.is_some_and(|ms| ms >= slow_ms / 2.0));
    (enter, over)
}

/// True if each of two nodes has a large share of a process's CPU time and of its memory.
pub(crate) fn is_spread(frame: &Frame, process: &Process) -> bool {
    crate::rules::memory_spread::is_spread(frame, process)
}

/// Erlang instances that bind schedulers to the same CPUs, and those CPUs.
pub(crate) fn colliding_beams(frame: &Frame) -> (BTreeSet<u32>, IdSet) {
    crate::rules::erlang_bind_overlap::colliding(frame)
}

/// An instance of a runtime by the most telling name: its container, its Erlang node, its service, else its command.
pub(crate) fn instance(frame: &Frame, process: &Process) -> String {
    format!("{} ({})", instance_name(frame, process), process.pid)
}

/// The same without its number.
pub(in crate::rules) fn instance_name(frame: &Frame, process: &Process) -> String {
    let group = || above(&process.cgroup).filter_map(|path| frame.cgroup(path)).find_map(container_name);
    let service = || above(&process.cgroup).filter_map(|path| path.rsplit('/').next()).find_map(service_name);
    let name = group().or_else(|| erlang_node(&process.cmdline)).or_else(|| service().map(str::to_owned));
    name.unwrap_or_else(|| process.comm.to_string())
}

fn service_name(part: &str) -> Option<&str> {
    part.strip_suffix(".service").filter(|name| !name.is_empty())
}

/// The node that an Erlang command line names.
fn erlang_node(cmdline: &str) -> Option<String> {
    let mut words = cmdline.split_whitespace();
    words.find(|word| matches!(*word, "-sname" | "-name"))?;
    words.next().map(str::to_owned)
}

/// The name of the container of a control group, if known.
pub(in crate::rules) fn container_name(cgroup: &Cgroup) -> Option<String> {
    let container = cgroup.container.as_ref()?;
    let names = [&container.pod_name, &container.container_name];
    let names: Vec<&str> = names.iter().map(|name| &***name).filter(|name| !name.is_empty()).collect();
    (!names.is_empty()).then(|| names.join("/"))
}

/// Memory bandwidth of each L3 through resctrl; empty where it is not mounted.
pub(in crate::rules) fn bandwidth(frame: &Frame) -> String {
    let rates = frame.memory_bandwidth.iter().filter_map(|row| Some((row.l3, row.bytes_per_second?)));
    list(rates.map(|(l3, rate)| format!("L3 {l3}: {}/s", bytes(Some(rate)))), 16)
}

/// The nodes of a memory policy: `bind:3`, `prefer (many):0-1`.
pub(crate) fn policy_nodes(policy: &str) -> IdSet {
    crate::rules::node_memory_low::policy_nodes(policy)
}

/// Period, weight and rate in bytes/s of the smallest sufficient periodic reclaim.
pub(crate) fn smallest_reclaim(frame: &Frame, needed: f64) -> (u64, u64, f64) {
    crate::rules::cache_reclaim::proposal(frame, needed)
}

/// Rate of periodic reclaim in bytes/s with a period and a weight.
pub(crate) fn reclaim_reach(frame: &Frame, period: u64, weight: u64) -> f64 {
    crate::rules::cache_reclaim::unit(frame) * weight as f64 / period.max(1) as f64
}

/// Latency-sensitive services.
const DELICATE: &[&str] =
    &["rabbit", "beam", "mysql", "mariadb", "postgres", "etcd", "kafka", "mongo", "redis", "zookeeper"];

/// True for the name or path of such a service.
pub(crate) fn is_delicate(name: &str) -> bool {
    DELICATE.iter().any(|word| name.contains(word))
}

/// True for a path below another one.
pub(crate) fn is_below(path: &str, above: &str) -> bool {
    path != above && (above == "/" || path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/')))
}

/// `94%`.
pub(crate) fn percent(fraction: Option<f64>) -> String {
    fraction.map_or_else(|| "?".to_owned(), |fraction| format!("{:.0}%", fraction * 100.0))
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

/// Bits per second as `9.4 Gbit/s`.
pub(crate) fn bits(bits: f64) -> String {
    match bits {
        _ if bits >= 1e9 => format!("{:.1} Gbit/s", bits / 1e9),
        _ if bits >= 1e6 => format!("{:.0} Mbit/s", bits / 1e6),
        _ => format!("{:.0} kbit/s", bits / 1e3),
    }
}

/// A number with at most one decimal.
pub(crate) fn count(value: Option<f64>) -> String {
    match value {
        None => "?".to_owned(),
        Some(value) if value.abs() >= 100_000.0 => format!("{:.0}k", value / 1000.0),
        Some(value) if value.abs() >= 100.0 || value.fract() == 0.0 => format!("{value:.0}"),
        Some(value) => tenths(value),
    }
}

/// A number with two digits that count: `12`, `1.2`, `0.25`, `0.019`.
pub(crate) fn two_digits(value: f64) -> String {
    let places = if value > 0.0 { (1.0 - value.log10().floor()).clamp(0.0, 3.0) } else { 0.0 };
    format!("{value:.*}", places as usize)
}

/// With one decimal; small shares of a core with two, since a quota of 20 ms in a second is not none.
pub(crate) fn tenths(value: f64) -> String {
    if (0.005..0.095).contains(&value.abs()) { format!("{value:.2}") } else { format!("{value:.1}") }
}

/// Items in one line, at most `most` of them.
pub(crate) fn list<T: std::fmt::Display>(items: impl IntoIterator<Item = T>, most: usize) -> String {
    joined(items, most, ", ")
}

/// The same for items that have commas themselves.
pub(crate) fn clauses<T: std::fmt::Display>(items: impl IntoIterator<Item = T>, most: usize) -> String {
    joined(items, most, "; ")
}

fn joined<T: std::fmt::Display>(items: impl IntoIterator<Item = T>, most: usize, separator: &str) -> String {
    let all: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    let rest = all.len().saturating_sub(most);
    let items = all.get(..all.len() - rest).unwrap_or_default().join(separator);
    if rest > 0 { text::List { items: &items, count: &rest }.to_string() } else { items }
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
    fn dirty_pages_are_reclaimable() {
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
