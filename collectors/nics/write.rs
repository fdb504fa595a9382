//! From answers to rows.

use super::ask::{Answer, Nic};
use super::dev::COLUMNS;
use super::queues::Queue;
use super::statistics::{Counters, Statistics};
use crate::files::put;
use crate::live::{Channels, Qdisc, Xdp};
use std::collections::HashMap;
use std::sync::Arc;
use topotop_model::tables::nics::Nics;
use topotop_model::{Draft, IdSet, Known, Num, Sets, Slots, Table as _, Text};

/// Numbers of /proc/net/dev.
pub(super) fn counters(table: &mut Nics, slot: usize, values: &[Option<u64>; COLUMNS]) {
    let columns: [(&mut Num, usize); 9] = [
        (&mut table.rx_bytes, 0),
        (&mut table.rx_packets, 1),
        (&mut table.rx_errors, 2),
        (&mut table.rx_drops, 3),
        (&mut table.rx_fifo, 4),
        (&mut table.tx_bytes, 8),
        (&mut table.tx_packets, 9),
        (&mut table.tx_errors, 10),
        (&mut table.tx_drops, 11),
    ];
    for (column, index) in columns {
        column.set_or_clear(slot, values.get(index).copied().flatten());
    }
}

/// Puts an answer into the interfaces' rows.
pub(super) fn answer(answer: Answer, dev: bool, slots: &Slots<String>, draft: &mut Draft) {
    let table = draft.nics.data_mut();
    for (name, statistics) in &answer.statistics {
        if let Some(slot) = slots.find(name) {
            let allowances = statistics.allowances;
            table.allowance_exceeded.set_or_clear(slot, allowances.iter().flatten().copied().reduce(u64::wrapping_add));
            let [rx, tx, packets, connections] = allowances;
            table.allowance_rx.set_or_clear(slot, rx);
            table.allowance_tx.set_or_clear(slot, tx);
            table.allowance_packets.set_or_clear(slot, packets);
            table.allowance_connections.set_or_clear(slot, connections);
            table.unbuffered.set_or_clear(slot, statistics.unbuffered());
        }
    }
    for nic in answer.nics.into_iter().flatten() {
        let Some(slot) = slots.find(&nic.name) else { continue };
        if let Some(values) = nic.counters.as_ref().filter(|_| !dev) {
            counters(table, slot, values);
        }
        facts(table, slot, nic);
    }
    if let Some(all) = &answer.shapers {
        shapers(table, all);
    }
    if let Some(all) = &answer.programs {
        programs(table, all);
    }
}

/// Programs at interfaces; empty for those without.
fn programs(table: &mut Nics, all: &[Xdp]) {
    for slot in table.rows().iter().collect::<Vec<_>>() {
        let index = table.ifindex.value(slot);
        let xdp = all.iter().find(|xdp| Some(xdp.ifindex) == index);
        put_text(&mut table.xdp, slot, index.map(|_| xdp.map_or("", |xdp| xdp.mode)));
        table.xdp_program.set_or_clear(slot, xdp.map(|xdp| xdp.program));
    }
}

/// What shapes interfaces; those without are cleared.
fn shapers(table: &mut Nics, all: &[Qdisc]) {
    for slot in table.rows().iter().collect::<Vec<_>>() {
        let index = table.ifindex.value(slot);
        let qdisc = all.iter().find(|qdisc| Some(qdisc.ifindex) == index);
        put_text(&mut table.shaper, slot, qdisc.map(|qdisc| qdisc.kind.as_str()));
        table.shaper_rate.set_or_clear(slot, qdisc.and_then(|qdisc| qdisc.rate));
        table.shaper_backlog.set_or_clear(slot, qdisc.map(|qdisc| qdisc.backlog));
        table.shaper_overlimits.set_or_clear(slot, qdisc.map(|qdisc| qdisc.overlimits));
        table.shaper_drops.set_or_clear(slot, qdisc.map(|qdisc| qdisc.drops));
    }
}

fn facts(table: &mut Nics, slot: usize, nic: Nic) {
    table.ifindex.set_or_clear(slot, nic.ifindex);
    table.mtu.set_or_clear(slot, nic.mtu);
    for (column, value) in [
        (&mut table.driver, nic.driver.as_deref()),
        (&mut table.bus_info, nic.bus_info.as_deref()),
        (&mut table.lower, nic.lower.as_deref()),
        (&mut table.master, nic.master.as_deref()),
        (&mut table.kind, Some(nic.kind).filter(|kind| !kind.is_empty())),
        (&mut table.operstate, nic.operstate.as_deref()),
        (&mut table.address, nic.address.as_deref()),
        (&mut table.pci, nic.pci.as_deref()),
        (&mut table.virtio, nic.virtio.as_deref()),
        (&mut table.port, nic.port.as_deref()),
    ] {
        put_text(column, slot, value);
    }
    put(&mut table.node, slot, nic.node);
    table.vfs.set_or_clear(slot, nic.vfs);
    put(&mut table.carrier, slot, nic.carrier);
    put(&mut table.speed_mbps, slot, nic.speed);
    put_set(&mut table.local_cpus, slot, nic.local_cpus);
    put_set(&mut table.msi_irqs, slot, nic.msi_irqs);
    match nic.indirection {
        Some(entries) => table.rss_indirection.set(slot, entries),
        None => table.rss_indirection.clear(slot),
    }
    put_pair(&mut table.combined, &mut table.combined_max, slot, nic.channels.map(|all| all.combined));
    put_pair(&mut table.rx_channels, &mut table.rx_channels_max, slot, nic.channels.map(|all| all.rx));
    put_pair(&mut table.tx_channels, &mut table.tx_channels_max, slot, nic.channels.map(|all| all.tx));
    put_pair(&mut table.other_channels, &mut table.other_channels_max, slot, nic.channels.map(|all| all.other));
    put_pair(&mut table.rx_ring, &mut table.rx_ring_max, slot, nic.rings.map(|Channels { rx, .. }| rx));
}

fn put_text(column: &mut Text, slot: usize, value: Option<&str>) {
    match value {
        Some(value) => column.set(slot, value),
        None => column.clear(slot),
    }
}

fn put_set(column: &mut Sets, slot: usize, value: Option<IdSet>) {
    match value {
        Some(value) => column.set(slot, value),
        None => column.clear(slot),
    }
}

/// A kind that the driver lacks has a maximum of zero.
fn put_pair(now: &mut Num, most: &mut Num, slot: usize, pair: Known<(u32, u32)>) {
    let pair = match pair {
        Known::Value((0, 0)) => Known::None,
        pair => pair,
    };
    put(now, slot, pair.map(|pair| u64::from(pair.0)));
    put(most, slot, pair.map(|pair| u64::from(pair.1)));
}

/// A queue's key: interface, whether it sends, number.
type Key = (Arc<str>, bool, u32);

/// The rows of queues.
#[derive(Debug, Default)]
pub(super) struct QueueRows {
    slots: Slots<Key>,
    queues: Vec<(Arc<str>, Option<u64>, Queue)>,
    counters: HashMap<Key, Counters>,
}

impl QueueRows {
    /// Takes in which queues there are.
    pub(super) fn learn(&mut self, nics: &[Nic]) {
        self.queues.clear();
        for nic in nics {
            let name: Arc<str> = nic.name.as_str().into();
            let queues = nic.queues.iter().map(|queue| (Arc::clone(&name), nic.ifindex, queue.clone()));
            self.queues.extend(queues);
        }
    }

    /// Takes in what drivers count.
    pub(super) fn count(&mut self, statistics: &[(String, Statistics)]) {
        self.counters.clear();
        for (name, statistics) in statistics {
            let name: Arc<str> = name.as_str().into();
            for (&(sends, queue), counters) in &statistics.queues {
                self.counters.insert((Arc::clone(&name), sends, queue), *counters);
            }
        }
    }

    /// Forgets what drivers count.
    pub(super) fn forget(&mut self) {
        self.counters.clear();
    }

    /// Writes the rows as they were at a time.
    pub(super) fn write(&mut self, at_ns: u64, draft: &mut Draft) {
        if at_ns <= draft.nic_queues.read_at_ns {
            return;
        }
        draft.nic_queues.begin(at_ns);
        let table = draft.nic_queues.data_mut();
        self.slots.begin();
        for (nic, ifindex, queue) in &self.queues {
            let key = (Arc::clone(nic), queue.sends, queue.number);
            let (slot, new) = self.slots.slot(table, &key);
            if new {
                table.nic.set_shared(slot, nic);
                table.direction.set(slot, if queue.sends { "tx" } else { "rx" });
                table.queue.set(slot, u64::from(queue.number));
            }
            table.ifindex.set_or_clear(slot, *ifindex);
            put_set(&mut table.rps_cpus, slot, queue.rps_cpus.clone());
            put_set(&mut table.xps_cpus, slot, queue.xps_cpus.clone());
            table.rps_flow_count.set_or_clear(slot, queue.rps_flow_count);
            table.channel_cpu.set_or_clear(slot, queue.channel_cpu);
            let counters = self.counters.get(&key).copied().unwrap_or_default();
            table.packets.set_or_clear(slot, counters.packets);
            table.bytes.set_or_clear(slot, counters.bytes);
            table.drops.set_or_clear(slot, counters.drops);
        }
        self.slots.finish(table, |_, _| {});
    }
}
