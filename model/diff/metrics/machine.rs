//! The machine, its CPUs and nodes, and pressure.

use super::super::metric::Better::{Higher, Lower, Neither};
use super::super::metric::{Floor, Measure, Metric, Read};
use super::{Table, rate, share};
use crate::frame::{CpuShares, Frame};

/// Below so many soft interrupts or interrupts per second, who takes most of them says nothing.
const SPREAD_FROM: f64 = 1000.0;

/// The machine.
pub(in super::super) const HOST: Table = &[
    share("host.busy", "busy, mean", Neither, Read::Host(|frame| mean(frame, |shares| shares.busy))),
    share("host.user", "user, mean", Neither, Read::Host(|frame| mean(frame, |shares| shares.user))),
    share("host.system", "system, mean", Neither, Read::Host(|frame| mean(frame, |shares| shares.system))),
    share("host.softirq", "softirq, mean", Lower, Read::Host(|frame| mean(frame, |shares| shares.softirq))),
    share("host.iowait", "iowait, mean", Lower, Read::Host(|frame| mean(frame, |shares| shares.iowait))),
    share("host.steal", "steal, mean", Lower, Read::Host(|frame| mean(frame, |shares| shares.steal))),
    share("host.busiest_cpu", "busiest CPU", Neither, Read::Host(|frame| most(frame, |shares| shares.busy))),
    share(
        "host.busiest_softirq",
        "softirq of the CPU with most",
        Lower,
        Read::Host(|frame| most(frame, |shares| shares.softirq)),
    ),
    share("host.node_imbalance", "busiest node above the idlest", Lower, Read::Host(node_imbalance)),
    share("host.net_rx_on_one_cpu", "NET_RX on one CPU", Lower, Read::Host(net_rx_on_one)),
    share("host.irqs_on_one_cpu", "interrupts on one CPU", Lower, Read::Host(irqs_on_one)),
    Metric::new(
        "host.running",
        "runnable tasks",
        Measure::Count,
        Neither,
        Floor::Both(2.0, 0.2),
        Read::Host(|frame| frame.host.running.value().map(|n| n as f64)),
    ),
    Metric::new(
        "host.blocked",
        "tasks waiting for a disk",
        Measure::Count,
        Lower,
        Floor::Both(1.0, 0.2),
        Read::Host(|frame| frame.host.blocked.value().map(|n| n as f64)),
    ),
    rate(
        "host.context_switches",
        "context switches",
        Neither,
        2000.0,
        Read::Host(|frame| frame.host.context_switches_per_second),
    ),
    rate("host.forks", "forks", Neither, 20.0, Read::Host(|frame| frame.host.forks_per_second)),
    rate("host.interrupts", "interrupts", Neither, 2000.0, Read::Host(|frame| frame.host.interrupts_per_second)),
    share(
        "host.memory_available",
        "memory available",
        Higher,
        Read::Host(|frame| part(frame.memory.available_bytes.value(), frame.memory.total_bytes.value())),
    )
    .drifting(),
    share(
        "host.dirty",
        "dirty pages of the threshold",
        Lower,
        Read::Host(|frame| part(frame.memory.dirty_bytes.value(), frame.memory.dirty_threshold_bytes.value())),
    )
    .drifting(),
    share(
        "host.swap_free",
        "swap free",
        Higher,
        Read::Host(|frame| part(frame.memory.swap_free_bytes.value(), frame.memory.swap_total_bytes.value())),
    )
    .drifting(),
    rate(
        "host.allocstall",
        "allocations that had to reclaim",
        Lower,
        10.0,
        Read::Host(|frame| frame.memory.allocstall_per_second),
    ),
    rate(
        "host.pgscan_direct",
        "pages scanned by tasks",
        Lower,
        1000.0,
        Read::Host(|frame| frame.memory.pgscan_direct_per_second),
    ),
    rate("host.pswpin", "pages swapped in", Lower, 100.0, Read::Host(|frame| frame.memory.pswpin_per_second)),
    rate("host.pswpout", "pages swapped out", Lower, 100.0, Read::Host(|frame| frame.memory.pswpout_per_second)),
    share(
        "host.numa_hint_local",
        "NUMA faults that were local",
        Higher,
        Read::Host(|frame| frame.memory.numa_hint_local_ratio),
    ),
];

/// A CPU.
pub(in super::super) const CPU: Table = &[
    share("cpu.busy", "busy", Neither, Read::Cpu(|cpu| cpu.shares.map(|shares| shares.busy))),
    share("cpu.user", "user", Neither, Read::Cpu(|cpu| cpu.shares.map(|shares| shares.user))),
    share("cpu.system", "system", Neither, Read::Cpu(|cpu| cpu.shares.map(|shares| shares.system))),
    share("cpu.irq", "irq", Lower, Read::Cpu(|cpu| cpu.shares.map(|shares| shares.irq))),
    share("cpu.softirq", "softirq", Lower, Read::Cpu(|cpu| cpu.shares.map(|shares| shares.softirq))),
    share("cpu.iowait", "iowait", Lower, Read::Cpu(|cpu| cpu.shares.map(|shares| shares.iowait))),
    share("cpu.steal", "steal", Lower, Read::Cpu(|cpu| cpu.shares.map(|shares| shares.steal))),
    Metric::new("cpu.mhz", "clock", Measure::Megahertz, Neither, Floor::Both(100.0, 0.15), Read::Cpu(|cpu| cpu.mhz))
        .drifting(),
    rate("cpu.packets", "packets processed", Neither, 1000.0, Read::Softnet(|row| row.processed_per_second)),
    rate(
        "cpu.packets_dropped",
        "packets dropped by the backlog",
        Lower,
        1.0,
        Read::Softnet(|row| row.dropped_per_second),
    ),
    rate("cpu.time_squeeze", "time squeezes", Lower, 10.0, Read::Softnet(|row| row.time_squeeze_per_second)),
    rate("cpu.received_rps", "wake-ups for RPS", Neither, 1000.0, Read::Softnet(|row| row.received_rps_per_second)),
];

/// A node.
pub(in super::super) const NODE: Table = &[
    share("node.busy", "busy, mean", Neither, Read::Node(|node| node.busy)),
    share("node.softirq", "softirq, mean", Lower, Read::Node(|node| node.softirq)),
    share("node.iowait", "iowait, mean", Lower, Read::Node(|node| node.iowait)),
    share(
        "node.memory_free",
        "memory free",
        Neither,
        Read::Node(|node| part(node.memory_free_bytes.value(), node.memory_total_bytes.value())),
    )
    .drifting(),
    share(
        "node.memory_file",
        "memory holding files",
        Neither,
        Read::Node(|node| part(node.file_bytes.value(), node.memory_total_bytes.value())),
    )
    .drifting(),
    share(
        "node.memory_anon",
        "anonymous memory",
        Neither,
        Read::Node(|node| part(node.anon_bytes.value(), node.memory_total_bytes.value())),
    )
    .drifting(),
    rate(
        "node.numa_foreign",
        "pages it lacked (numa_foreign)",
        Lower,
        100.0,
        Read::Node(|node| node.numa_foreign_per_second),
    ),
    rate(
        "node.other_node",
        "pages for tasks of other nodes",
        Lower,
        1000.0,
        Read::Node(|node| node.other_node_per_second),
    ),
    rate(
        "node.pgscan_direct",
        "pages scanned by tasks",
        Lower,
        1000.0,
        Read::Node(|node| node.pgscan_direct_per_second),
    ),
];

/// Pressure on a resource.
pub(in super::super) const PRESSURE: Table = &[
    share("pressure.some", "some task waited", Lower, Read::Pressure(|stall| stall.some_ratio)),
    share("pressure.full", "all tasks waited", Lower, Read::Pressure(|stall| stall.full_ratio)),
];

/// A part of a whole as a share; none when the whole is nothing.
pub(super) fn part(part: Option<u64>, whole: Option<u64>) -> Option<f64> {
    let whole = whole.filter(|&whole| whole > 0)?;
    Some(part? as f64 / whole as f64)
}

fn shares(frame: &Frame) -> impl Iterator<Item = CpuShares> + '_ {
    frame.cpus.iter().filter(|cpu| cpu.online).filter_map(|cpu| cpu.shares)
}

fn mean(frame: &Frame, share: fn(CpuShares) -> f64) -> Option<f64> {
    let (sum, count) = shares(frame).fold((0.0, 0.0), |sum, shares| (sum.0 + share(shares), sum.1 + 1.0));
    (count > 0.0).then(|| sum / count)
}

fn most(frame: &Frame, share: fn(CpuShares) -> f64) -> Option<f64> {
    shares(frame).map(share).max_by(f64::total_cmp)
}

fn node_imbalance(frame: &Frame) -> Option<f64> {
    let busy = || frame.nodes.iter().filter_map(|node| node.busy);
    let (low, high) = (busy().min_by(f64::total_cmp)?, busy().max_by(f64::total_cmp)?);
    (busy().count() > 1).then_some(high - low)
}

/// Share of the CPU with most of what is counted by CPU; none below a rate at which it says something.
pub(super) fn on_one<'a>(rates: impl Iterator<Item = &'a (u32, f64)>, from: f64) -> Option<f64> {
    let mut by_cpu: Vec<(u32, f64)> = Vec::new();
    for &(cpu, rate) in rates {
        match by_cpu.binary_search_by_key(&cpu, |pair| pair.0) {
            Ok(at) => by_cpu.get_mut(at)?.1 += rate,
            Err(at) => by_cpu.insert(at, (cpu, rate)),
        }
    }
    let sum: f64 = by_cpu.iter().map(|pair| pair.1).sum();
    let most = by_cpu.iter().map(|pair| pair.1).max_by(f64::total_cmp)?;
    (sum >= from).then(|| most / sum)
}

/// With one CPU there is nobody else to take any.
fn several(frame: &Frame) -> Option<()> {
    (frame.topology.cpus_online.len() > 1).then_some(())
}

fn net_rx_on_one(frame: &Frame) -> Option<f64> {
    several(frame)?;
    let row = frame.softirqs.iter().find(|row| &*row.name == "NET_RX")?;
    on_one(row.per_cpu_per_second.iter(), SPREAD_FROM)
}

fn irqs_on_one(frame: &Frame) -> Option<f64> {
    several(frame)?;
    on_one(frame.irqs.iter().flat_map(|irq| irq.per_cpu_per_second.iter()), SPREAD_FROM)
}
