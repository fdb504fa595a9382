//! Interfaces, interrupts and backlog of the made-up machines.

use super::machine::Shape;
use crate::frame::{ArchIrq, Channel, Frame, Irq, Irqbalance, Nic, NicRates, Queue, Softirq, SoftnetRow};
use crate::{IdSet, Known};
use std::sync::Arc;

pub(super) fn server(frame: &mut Frame, second: u64) {
    let trouble = Shape::SERVER.trouble(second);
    let mut eth0 = nic("eth0", 2, "mlx5_core", 25_000, Some(2), 94_000.0 * trouble, 41_000.0 * trouble);
    eth0.channels.combined = channel(1, 8);
    eth0.bus_info = "0000:81:00.0".into();
    eth0.local_cpus = Some(Arc::new([16..24, 48..56].into_iter().flatten().collect()));
    eth0.queues = vec![queue(0, 141, 17, Some(2), 94_000.0 * trouble, 0.08 + 0.88 * trouble)];
    let mut eth1 = nic("eth1", 3, "ixgbe", 10_000, Some(0), 2_100.0, 1_900.0);
    eth1.channels.combined = channel(4, 63);
    eth1.queues = (0..4).map(|index| queue(index, 160 + index, index * 2, Some(0), 500.0, 0.01)).collect();
    let mut virt = nic("cali7f3a", 9, "veth", 0, None, 880.0, 760.0);
    (virt.kind, virt.speed_mbps, virt.capacity_mbps, virt.utilisation) =
        ("virtual".into(), Known::None, Known::None, None);
    frame.nics = vec![loopback(), eth0, eth1, virt];
    irqs(frame);
    backlog(frame, 17, trouble);
    frame.irqbalance = Some(Irqbalance { state: "absent".into(), ..Irqbalance::default() });
}

pub(super) fn wide(frame: &mut Frame) {
    let mut eth0 = nic("ens1f0np0", 2, "mlx5_core", 100_000, Some(7), 1_200_000.0, 900_000.0);
    eth0.channels.combined = channel(64, 64);
    eth0.queues = (0..64).map(|index| queue(index, 200 + index, 224 + index % 32, Some(7), 18_750.0, 0.2)).collect();
    frame.nics = vec![loopback(), eth0];
    irqs(frame);
    backlog(frame, 225, 0.4);
    frame.irqbalance = Some(Irqbalance { state: "running".into(), pid: 1188.into(), ..Irqbalance::default() });
}

/// A virtual interface whose capacity nobody knows.
pub(super) fn tiny(frame: &mut Frame) {
    let mut ens3 = nic("ens3", 2, "virtio_net", 0, None, 210.0, 180.0);
    (ens3.speed_mbps, ens3.capacity_mbps, ens3.utilisation, ens3.node) =
        (Known::None, Known::None, None, Known::Value(0));
    ens3.channels.combined = channel(1, 1);
    ens3.queues = vec![queue(0, 27, 1, Some(0), 210.0, 0.01)];
    frame.nics = vec![loopback(), ens3];
    irqs(frame);
    backlog(frame, 1, 0.0);
    frame.irqbalance = Some(Irqbalance { state: "running".into(), pid: 410.into(), ..Irqbalance::default() });
}

fn nic(name: &str, ifindex: u32, driver: &str, mbps: u64, node: Option<u32>, rx: f64, tx: f64) -> Nic {
    let rates = |packets: f64| NicRates {
        bytes: 91_233_412_991.into(),
        packets: 112_334_555.into(),
        drops: 31.into(),
        bytes_per_second: Some(packets * 1_180.0),
        packets_per_second: Some(packets),
        drops_per_second: Some(0.0),
        errors_per_second: Some(0.0),
    };
    Nic {
        name: name.into(),
        ifindex,
        driver: driver.into(),
        kind: "physical".into(),
        node: Known::or_none(node),
        carrier: true.into(),
        carrier_changes: Some(0),
        speed_mbps: mbps.into(),
        capacity_mbps: mbps.into(),
        utilisation: (mbps > 0).then(|| rx.max(tx) * 1_180.0 * 8.0 / (mbps as f64 * 1e6)),
        rx: rates(rx),
        tx: rates(tx),
        rx_missed_per_second: Some(0.0),
        master: Known::None,
        ..Nic::default()
    }
}

fn loopback() -> Nic {
    let mut lo = nic("lo", 1, "", 0, None, 40.0, 40.0);
    (lo.kind, lo.speed_mbps, lo.capacity_mbps, lo.utilisation) = ("loopback".into(), Known::None, Known::None, None);
    lo
}

fn channel(current: u64, max: u64) -> Channel {
    Channel { current: current.into(), max: max.into() }
}

fn queue(queue: u32, irq: u32, cpu: u32, node: Option<u32>, packets: f64, softirq: f64) -> Queue {
    Queue {
        queue,
        direction: "rxtx".into(),
        irq: irq.into(),
        irq_source: "msi_irqs",
        cpus: Some(Arc::new(IdSet::from_ids([cpu]))),
        node: Known::or_missing(node),
        total: 81_233_000.into(),
        per_second: Some(packets / 9.0),
        packets_per_second: Some(packets),
        rps_cpus: Some(Arc::default()),
        xps_cpus: Some(Arc::default()),
        softirq: Some(softirq),
    }
}

/// One interrupt per queue, and one of a disk controller.
fn irqs(frame: &mut Frame) {
    let mut irqs = Vec::new();
    for nic in &frame.nics {
        for queue in &nic.queues {
            let cpu = queue.cpus.as_ref().and_then(|cpus| cpus.first()).unwrap_or_default();
            irqs.push(Irq {
                irq: queue.irq.value().unwrap_or_default(),
                name: format!("{}-{}", nic.name, queue.queue).into(),
                chip: "IR-PCI-MSIX-0000:81:00.0".into(),
                total: queue.total,
                per_second: queue.per_second,
                per_cpu_per_second: queue.per_second.map(|rate| (cpu, rate)).into_iter().collect(),
                affinity: queue.cpus.clone(),
                effective_affinity: queue.cpus.clone(),
                managed: false.into(),
                node: nic.node,
                device: Arc::clone(&nic.name),
                ..Irq::default()
            });
        }
    }
    irqs.push(Irq {
        irq: 900,
        name: "nvme0q1".into(),
        chip: "IR-PCI-MSIX-0000:01:00.0".into(),
        total: 4_000_120.into(),
        per_second: Some(2_100.0),
        per_cpu_per_second: vec![(0, 1_400.0), (1, 700.0)],
        affinity: Some(Arc::new(IdSet::from_ids([0, 1]))),
        effective_affinity: Some(Arc::new(IdSet::from_ids([0]))),
        managed: true.into(),
        node: 0.into(),
        device: "0000:01:00.0".into(),
        ..Irq::default()
    });
    irqs.sort_by_key(|irq| irq.irq);
    frame.irqs = irqs;
    let arch = |name: &str, description: &str, rate| ArchIrq {
        name: name.into(),
        description: description.into(),
        total: 90_000_000.into(),
        per_second: Some(rate),
        ..ArchIrq::default()
    };
    frame.irqs_arch =
        vec![arch("LOC", "Local timer interrupts", 9_800.0), arch("RES", "Rescheduling interrupts", 2_400.0)];
}

fn backlog(frame: &mut Frame, hot: u32, trouble: f64) {
    frame.softnet = frame
        .cpus
        .iter()
        .filter(|cpu| cpu.online)
        .map(|cpu| SoftnetRow {
            cpu: cpu.id,
            processed: 11_000.into(),
            dropped: 0.into(),
            time_squeeze: 12.into(),
            received_rps: 0.into(),
            flow_limit: 0.into(),
            backlog: 0.into(),
            processed_per_second: Some(if cpu.id == hot { 94_000.0 * trouble } else { 20.0 }),
            dropped_per_second: Some(0.0),
            time_squeeze_per_second: Some(if cpu.id == hot { 312.0 * trouble } else { 0.0 }),
            received_rps_per_second: Some(0.0),
        })
        .collect();
    let kind = |name: &str, rate: f64| Softirq {
        name: name.into(),
        total: 52_000_000.into(),
        per_second: Some(rate),
        per_cpu_per_second: vec![(hot, rate)],
        ..Softirq::default()
    };
    frame.softirqs =
        vec![kind("TIMER", 9_000.0), kind("NET_TX", 120.0), kind("NET_RX", 31_000.0 * trouble), kind("RCU", 4_000.0)];
}
