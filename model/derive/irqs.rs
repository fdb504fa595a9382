//! Interrupts, hard and soft, the backlog and irqbalance. `Irq::device` is the PCI function here; interfaces put their
//! names over it when they find their interrupts.

use super::rates::Pair;
use crate::frame::{ArchIrq, Counts, Frame, Irq, Irqbalance, Softirq, SoftnetRow};
use crate::tables::irqs::{Irqs, Softnet};
use crate::{Sparse, Table, Window};
use std::sync::Arc;

pub(super) fn derive(window: &Window, frame: &mut Frame) {
    let (now, before) = (&window.now, &window.before);
    if let Some(pair) = Pair::new(&now.irqs, &before.irqs) {
        frame.irqs = pair.now.rows().iter().filter_map(|slot| device(&pair, slot)).collect();
        frame.irqs.sort_unstable_by_key(|irq| irq.irq);
    }
    if let Some(pair) = Pair::new(&now.irqs_arch, &before.irqs_arch) {
        let rows = pair.now.rows().iter().map(|slot| ArchIrq {
            name: pair.now.name.or_empty(slot),
            description: pair.now.description.or_empty(slot),
            total: pair.now.total.get(slot),
            per_cpu: counts(&pair.now.per_cpu, slot),
            per_second: rate_of(pair.rates_by_id(slot, |table| &table.per_cpu).as_deref(), pair.now.per_cpu.get(slot))
                .or_else(|| pair.rate(slot, |table| &table.total)),
        });
        frame.irqs_arch = rows.collect();
    }
    if let Some(pair) = Pair::new(&now.softirqs, &before.softirqs) {
        let rows = pair.now.rows().iter().map(|slot| {
            let by_cpu = pair.rates_by_id(slot, |table| &table.per_cpu);
            Softirq {
                name: pair.now.name.or_empty(slot),
                total: pair.now.total.get(slot),
                per_cpu: counts(&pair.now.per_cpu, slot),
                per_second: sum(by_cpu.as_deref()),
                per_cpu_per_second: by_cpu.unwrap_or_default(),
            }
        });
        frame.softirqs = rows.collect();
    }
    if let Some(pair) = Pair::new(&now.softnet, &before.softnet) {
        frame.softnet = pair.now.rows().iter().filter_map(|slot| backlog(&pair, slot)).collect();
        frame.softnet.sort_unstable_by_key(|row| row.cpu);
    }
    frame.irqbalance = now.irqbalance.value().and_then(|table| {
        let slot = table.rows().iter().next()?;
        let state = Arc::clone(table.state.get(slot)?);
        Some(Irqbalance {
            state,
            pid: table.pid.id(slot),
            installed: table.installed.get(slot).map(|installed| installed == 1),
            banned_cpus: table.banned_cpus.get(slot).cloned(),
            banned_irqs: table.banned_irqs.get(slot).cloned(),
        })
    });
}

fn device(pair: &Pair<'_, Irqs>, slot: usize) -> Option<Irq> {
    let table = pair.now;
    let by_cpu = pair.rates_by_id(slot, |table| &table.per_cpu);
    let device = table.device.get(slot).cloned();
    let function = device.or_else(|| {
        let (chip, hwirq) = (table.chip.get(slot)?, table.hwirq.get(slot)?);
        Some(super::nics::function_of(chip, hwirq)?.0.into())
    });
    Some(Irq {
        slot,
        irq: table.irq.id(slot).value()?,
        name: table.name.or_empty(slot),
        chip: table.chip.or_empty(slot),
        total: table.total.get(slot),
        per_cpu: counts(&table.per_cpu, slot),
        per_second: sum(by_cpu.as_deref()),
        per_cpu_per_second: by_cpu.unwrap_or_default(),
        affinity: table.affinity.get(slot).cloned(),
        effective_affinity: table.effective_affinity.get(slot).cloned(),
        managed: table.managed.get(slot).map(|managed| managed != 0),
        node: table.node.id(slot),
        device: function.unwrap_or_default(),
    })
}

fn counts(column: &Sparse, slot: usize) -> Option<Counts> {
    column.get(slot).map(|counts| Counts(counts.to_vec()))
}

/// The sum of rates by CPU: a sum of counters would hide that each of them wraps at 32 bits.
fn sum(rates: Option<&[(u32, f64)]>) -> Option<f64> {
    rates.map(|rates| rates.iter().fold(0.0, |sum, rate| sum + rate.1))
}

/// The sum of rates by CPU; none for rows that have one number for the machine.
fn rate_of(rates: Option<&[(u32, f64)]>, counts: Option<&[(u32, u64)]>) -> Option<f64> {
    counts.filter(|counts| !counts.is_empty())?;
    sum(rates)
}

fn backlog(pair: &Pair<'_, Softnet>, slot: usize) -> Option<SoftnetRow> {
    let table = pair.now;
    Some(SoftnetRow {
        cpu: table.cpu.id(slot).value()?,
        processed: table.processed.get(slot),
        dropped: table.dropped.get(slot),
        time_squeeze: table.time_squeeze.get(slot),
        received_rps: table.received_rps.get(slot),
        flow_limit: table.flow_limit.get(slot),
        backlog: table.backlog.get(slot),
        processed_per_second: pair.rate_u32(slot, |table| &table.processed),
        dropped_per_second: pair.rate_u32(slot, |table| &table.dropped),
        time_squeeze_per_second: pair.rate_u32(slot, |table| &table.time_squeeze),
        received_rps_per_second: pair.rate_u32(slot, |table| &table.received_rps),
    })
}
