//! The machine, its CPUs and nodes, and pressure.

use super::super::metric::Better::{Higher, Lower, Neither};
use super::super::metric::{Floor, Measure, Metric, Read};
use super::{Table, rate, share};
use crate::frame::{CpuShares, Frame};
use crate::locale::metric as text;

/// Below so many soft interrupts or interrupts per second, who takes most of them says nothing.
const SPREAD_FROM: f64 = 1000.0;

/// The machine.
pub(in super::super) const HOST: Table = &[
    share("host.busy", text::host::BUSY, Neither, Read::Host(|frame| mean(frame, |shares| shares.busy))),
    share("host.user", text::host::USER, Neither, Read::Host(|frame| mean(frame, |shares| shares.user))),
    share("host.system", text::host::SYSTEM, Neither, Read::Host(|frame| mean(frame, |shares| shares.system))),
    share("host.softirq", text::host::SOFTIRQ, Lower, Read::Host(|frame| mean(frame, |shares| shares.softirq))),
    share("host.iowait", text::host::IOWAIT, Lower, Read::Host(|frame| mean(frame, |shares| shares.iowait))),
    share("host.steal", text::host::STEAL, Lower, Read::Host(|frame| mean(frame, |shares| shares.steal))),
    share("host.busiest_cpu", text::host::BUSIEST_CPU, Neither, Read::Host(|frame| most(frame, |shares| shares.busy))),
    Metric::new(
        "host.thermal_throttles",
        text::host::THERMAL_THROTTLES,
        Measure::Count,
        Lower,
        Floor::Both(1.0, 0.5),
        Read::Host(|frame| {
            let gained = frame.cpus.iter().filter_map(|cpu| cpu.throttles_gained);
            gained.fold(None, |sum: Option<f64>, count| Some(sum.unwrap_or_default() + count as f64))
        }),
    ),
    share(
        "host.busiest_softirq",
        text::host::BUSIEST_SOFTIRQ,
        Lower,
        Read::Host(|frame| most(frame, |shares| shares.softirq)),
    ),
    share("host.node_imbalance", text::host::NODE_IMBALANCE, Lower, Read::Host(node_imbalance)),
    share("host.net_rx_on_one_cpu", text::host::NET_RX_ON_ONE_CPU, Lower, Read::Host(net_rx_on_one)),
    share("host.irqs_on_one_cpu", text::host::IRQS_ON_ONE_CPU, Lower, Read::Host(irqs_on_one)),
    Metric::new(
        "host.running",
        text::host::RUNNING,
        Measure::Count,
        Neither,
        Floor::Both(2.0, 0.2),
        Read::Host(|frame| frame.host.running.value().map(|n| n as f64)),
    ),
    Metric::new(
        "host.blocked",
        text::host::BLOCKED,
        Measure::Count,
        Lower,
        Floor::Both(1.0, 0.2),
        Read::Host(|frame| frame.host.blocked.value().map(|n| n as f64)),
    ),
    rate(
        "host.context_switches",
        text::host::CONTEXT_SWITCHES,
        Neither,
        2000.0,
        Read::Host(|frame| frame.host.context_switches_per_second),
    ),
    rate("host.forks", text::host::FORKS, Neither, 20.0, Read::Host(|frame| frame.host.forks_per_second)),
    rate(
        "host.interrupts",
        text::host::INTERRUPTS,
        Neither,
        2000.0,
        Read::Host(|frame| frame.host.interrupts_per_second),
    ),
    share(
        "host.memory_available",
        text::host::MEMORY_AVAILABLE,
        Higher,
        Read::Host(|frame| part(frame.memory.available_bytes.value(), frame.memory.total_bytes.value())),
    )
    .drifting(),
    share(
        "host.dirty",
        text::host::DIRTY,
        Lower,
        Read::Host(|frame| part(frame.memory.dirty_bytes.value(), frame.memory.dirty_threshold_bytes.value())),
    )
    .drifting(),
    share(
        "host.swap_free",
        text::host::SWAP_FREE,
        Higher,
        Read::Host(|frame| part(frame.memory.swap_free_bytes.value(), frame.memory.swap_total_bytes.value())),
    )
    .drifting(),
    rate(
        "host.allocstall",
        text::host::ALLOCSTALL,
        Lower,
        10.0,
        Read::Host(|frame| frame.memory.allocstall_per_second),
    ),
    rate(
        "host.pgscan_direct",
        text::host::PGSCAN_DIRECT,
        Lower,
        1000.0,
        Read::Host(|frame| frame.memory.pgscan_direct_per_second),
    ),
    rate("host.pswpin", text::host::PSWPIN, Lower, 100.0, Read::Host(|frame| frame.memory.pswpin_per_second)),
    rate("host.pswpout", text::host::PSWPOUT, Lower, 100.0, Read::Host(|frame| frame.memory.pswpout_per_second)),
    share(
        "host.numa_hint_local",
        text::host::NUMA_HINT_LOCAL,
        Higher,
        Read::Host(|frame| frame.memory.numa_hint_local_ratio),
    ),
];

/// A CPU.
pub(in super::super) const CPU: Table = &[
    share("cpu.busy", text::cpu::BUSY, Neither, Read::Cpu(|cpu| cpu.shares.map(|shares| shares.busy))),
    share("cpu.user", text::cpu::USER, Neither, Read::Cpu(|cpu| cpu.shares.map(|shares| shares.user))),
    share("cpu.system", text::cpu::SYSTEM, Neither, Read::Cpu(|cpu| cpu.shares.map(|shares| shares.system))),
    share("cpu.irq", text::cpu::IRQ, Lower, Read::Cpu(|cpu| cpu.shares.map(|shares| shares.irq))),
    share("cpu.softirq", text::cpu::SOFTIRQ, Lower, Read::Cpu(|cpu| cpu.shares.map(|shares| shares.softirq))),
    share("cpu.iowait", text::cpu::IOWAIT, Lower, Read::Cpu(|cpu| cpu.shares.map(|shares| shares.iowait))),
    share("cpu.steal", text::cpu::STEAL, Lower, Read::Cpu(|cpu| cpu.shares.map(|shares| shares.steal))),
    Metric::new(
        "cpu.mhz",
        text::cpu::MHZ,
        Measure::Megahertz,
        Neither,
        Floor::Both(100.0, 0.15),
        Read::Cpu(|cpu| cpu.mhz),
    )
    .drifting(),
    rate("cpu.packets", text::cpu::PACKETS, Neither, 1000.0, Read::Softnet(|row| row.processed_per_second)),
    rate("cpu.packets_dropped", text::cpu::PACKETS_DROPPED, Lower, 1.0, Read::Softnet(|row| row.dropped_per_second)),
    rate("cpu.time_squeeze", text::cpu::TIME_SQUEEZE, Lower, 10.0, Read::Softnet(|row| row.time_squeeze_per_second)),
    rate(
        "cpu.received_rps",
        text::cpu::RECEIVED_RPS,
        Neither,
        1000.0,
        Read::Softnet(|row| row.received_rps_per_second),
    ),
];

/// A node.
pub(in super::super) const NODE: Table = &[
    share("node.busy", text::node::BUSY, Neither, Read::Node(|node| node.busy)),
    share("node.softirq", text::node::SOFTIRQ, Lower, Read::Node(|node| node.softirq)),
    share("node.iowait", text::node::IOWAIT, Lower, Read::Node(|node| node.iowait)),
    share(
        "node.memory_free",
        text::node::MEMORY_FREE,
        Neither,
        Read::Node(|node| part(node.memory_free_bytes.value(), node.memory_total_bytes.value())),
    )
    .drifting(),
    share(
        "node.memory_file",
        text::node::MEMORY_FILE,
        Neither,
        Read::Node(|node| part(node.file_bytes.value(), node.memory_total_bytes.value())),
    )
    .drifting(),
    share(
        "node.memory_anon",
        text::node::MEMORY_ANON,
        Neither,
        Read::Node(|node| part(node.anon_bytes.value(), node.memory_total_bytes.value())),
    )
    .drifting(),
    rate("node.numa_foreign", text::node::NUMA_FOREIGN, Lower, 100.0, Read::Node(|node| node.numa_foreign_per_second)),
    rate("node.other_node", text::node::OTHER_NODE, Lower, 1000.0, Read::Node(|node| node.other_node_per_second)),
    rate(
        "node.pgscan_direct",
        text::node::PGSCAN_DIRECT,
        Lower,
        1000.0,
        Read::Node(|node| node.pgscan_direct_per_second),
    ),
];

/// Pressure on a resource.
pub(in super::super) const PRESSURE: Table = &[
    share("pressure.some", text::pressure::SOME, Lower, Read::Pressure(|stall| stall.some_ratio)),
    share("pressure.full", text::pressure::FULL, Lower, Read::Pressure(|stall| stall.full_ratio)),
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
