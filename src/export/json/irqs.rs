//! Interrupts, hard and soft, the packet backlog, irqbalance.

use super::value::{ById, Set, Text, by_id, object, set, text};
use topotop_model::Known;
use topotop_model::frame::{self, Frame, SoftnetRow};

object! {
    pub(crate) IrqRow {
        irq: u32,
        name: Text,
        chip: Option<Text>,
        total: Known<u64>,
        per_cpu: Option<ById<u64>>,
        per_second: Option<f64>,
        per_cpu_per_second: Option<ById<f64>>,
        affinity: Option<Set>,
        effective_affinity: Option<Set>,
        managed: Known<bool>,
        node: Known<u32>,
        device: Option<Text>,
    }
}

pub(super) fn irq(frame: &Frame, irq: &frame::Irq) -> IrqRow {
    IrqRow {
        irq: irq.irq,
        name: Text::from(&irq.name),
        chip: text(&irq.chip),
        total: irq.total,
        per_cpu: frame.irq_per_cpu(irq).map(counts),
        per_second: irq.per_second,
        per_cpu_per_second: by_id(&irq.per_cpu_per_second),
        affinity: set(irq.affinity.as_ref()),
        effective_affinity: set(irq.effective_affinity.as_ref()),
        managed: irq.managed,
        node: irq.node,
        device: text(&irq.device),
    }
}

/// Counts by CPU as read: an empty map is "on none".
fn counts(pairs: &[(u32, u64)]) -> ById<u64> {
    ById(pairs.to_vec())
}

object! {
    pub(crate) ArchIrq {
        name: Text,
        description: Option<Text>,
        total: Known<u64>,
        per_cpu: Option<ById<u64>>,
        per_second: Option<f64>,
    }
}

pub(super) fn arch_irq(frame: &Frame, irq: &frame::ArchIrq) -> ArchIrq {
    ArchIrq {
        name: Text::from(&irq.name),
        description: text(&irq.description),
        total: irq.total,
        per_cpu: frame.raw.irqs_arch.data().per_cpu.get(irq.slot).map(counts),
        per_second: irq.per_second,
    }
}

object! {
    pub(crate) Irqbalance {
        state: Option<Text>,
        pid: Known<u32>,
        banned_cpus: Option<Set>,
        banned_irqs: Option<Set>,
    }
}

pub(super) fn irqbalance(row: &frame::Irqbalance) -> Irqbalance {
    Irqbalance {
        state: text(&row.state),
        pid: row.pid,
        banned_cpus: set(row.banned_cpus.as_ref()),
        banned_irqs: set(row.banned_irqs.as_ref()),
    }
}

object! {
    pub(crate) Softirq {
        total: Known<u64>,
        per_cpu: Option<ById<u64>>,
        per_second: Option<f64>,
        per_cpu_per_second: Option<ById<f64>>,
    }
}

pub(super) fn softirq(frame: &Frame, row: &frame::Softirq) -> (Text, Softirq) {
    let softirq = Softirq {
        total: row.total,
        per_cpu: frame.raw.softirqs.data().per_cpu.get(row.slot).map(counts),
        per_second: row.per_second,
        per_cpu_per_second: by_id(&row.per_cpu_per_second),
    };
    (Text::from(&row.name), softirq)
}

object! {
    pub(crate) Softnet {
        cpu: u32,
        processed: Known<u64>,
        dropped: Known<u64>,
        time_squeeze: Known<u64>,
        received_rps: Known<u64>,
        flow_limit: Known<u64>,
        backlog: Known<u64>,
        processed_per_second: Option<f64>,
        dropped_per_second: Option<f64>,
        time_squeeze_per_second: Option<f64>,
        received_rps_per_second: Option<f64>,
    }
}

pub(super) fn softnet(row: &SoftnetRow) -> Softnet {
    Softnet {
        cpu: row.cpu,
        processed: row.processed,
        dropped: row.dropped,
        time_squeeze: row.time_squeeze,
        received_rps: row.received_rps,
        flow_limit: row.flow_limit,
        backlog: row.backlog,
        processed_per_second: row.processed_per_second,
        dropped_per_second: row.dropped_per_second,
        time_squeeze_per_second: row.time_squeeze_per_second,
        received_rps_per_second: row.received_rps_per_second,
    }
}
