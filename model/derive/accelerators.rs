//! GPUs and other accelerators: how busy they are, and by whom.

use super::rates::Pair;
use crate::frame::{Accelerator, AcceleratorClient, Frame};
use crate::tables::accelerators::AcceleratorClients;
use crate::{Known, Table, Window};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Shares by kind of engine, and memory by client.
type Engines = BTreeMap<Arc<str>, f64>;
type Memory = BTreeMap<u64, u64>;

pub(super) fn derive(window: &Window, frame: &mut Frame) {
    let Some(pair) = Pair::new(&window.now.accelerators, &window.before.accelerators) else { return };
    let clients = Pair::new(&window.now.accelerator_clients, &window.before.accelerator_clients);
    // Clients that nobody may see use it too.
    let all_seen = window.now.accelerator_clients.gaps.is_empty();
    let of = |slot| {
        let name = pair.now.name.or_empty(slot);
        let (engines, clients) = clients.map(|clients| used(&clients, &name)).unwrap_or_default();
        let percent = pair.now.busy_percent.value(slot).map(|percent| percent as f64 / 100.0);
        let time = || pair.rate(slot, |table| &table.busy_ns).map(|ns| ns / 1e9);
        let by_engine = || engines.filter(|_| all_seen);
        Accelerator {
            address: pair.now.address.or_empty(slot),
            driver: pair.now.driver.or_empty(slot),
            id: pair.now.id.or_empty(slot),
            node: pair.now.node.id(slot),
            utilisation: percent.or_else(time).or_else(by_engine).map(|share| share.clamp(0.0, 1.0)),
            memory_used_bytes: pair.now.memory_used_bytes.get(slot),
            memory_total_bytes: pair.now.memory_total_bytes.get(slot),
            clients,
            name,
        }
    };
    frame.accelerators = pair.now.rows().iter().map(of).collect();
    frame.accelerators.sort_unstable_by(|a, b| a.name.cmp(&b.name));
}

/// The share of its busiest kind of engine, if every client's is known, and who uses it.
fn used(pair: &Pair<'_, AcceleratorClients>, name: &str) -> (Option<f64>, Vec<AcceleratorClient>) {
    let mut engines: Engines = BTreeMap::new();
    let mut by_process: BTreeMap<u32, (Engines, Memory)> = BTreeMap::new();
    for slot in pair.now.rows().iter().filter(|&slot| *pair.now.device.or_empty(slot) == *name) {
        let Known::Value(pid) = pair.now.pid.id(slot) else { continue };
        let process = by_process.entry(pid).or_default();
        if let Some(bytes) = pair.now.memory_bytes.value(slot) {
            process.1.insert(pair.now.client.value(slot).unwrap_or_default(), bytes);
        }
        if let Some(share) = share(pair, slot) {
            let engine = pair.now.engine.or_empty(slot);
            *process.0.entry(Arc::clone(&engine)).or_default() += share;
            *engines.entry(engine).or_default() += share;
        }
    }
    let most = |engines: &Engines| engines.values().copied().reduce(f64::max);
    let client = |(pid, (engines, memory)): (u32, (Engines, Memory))| AcceleratorClient {
        pid,
        utilisation: most(&engines).map(|share| share.clamp(0.0, 1.0)),
        memory_bytes: memory.values().copied().reduce(u64::saturating_add),
    };
    (most(&engines), by_process.into_iter().map(client).collect())
}

/// The share of a kind of engine that a client had.
fn share(pair: &Pair<'_, AcceleratorClients>, slot: usize) -> Option<f64> {
    let capacity = pair.now.capacity.value(slot).unwrap_or(1).max(1) as f64;
    let time = pair.rate(slot, |table| &table.busy_ns).map(|ns| ns / 1e9);
    let cycles = || {
        let total = pair.gain(slot, |table| &table.total_cycles).filter(|total| *total > 0)?;
        Some(pair.gain(slot, |table| &table.cycles)? as f64 / total as f64)
    };
    Some(time.or_else(cycles)? / capacity)
}
