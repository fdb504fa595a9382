//! Interfaces, their queues and the chain down to the CPU that serves each.

mod evidence;
mod names;
mod queues;
mod vectors;

pub(super) use evidence::function_of;

use super::Settings;
use super::rates::Pair;
use crate::frame::{Channel, Channels, Frame, Nic, NicRates};
use crate::tables::nics::Nics;
use crate::{Known, Num, Table, Window};
use queues::{Builder, by_nic};
use std::collections::HashMap;
use std::sync::Arc;
use vectors::{Interrupts, Subject};

pub(super) fn derive(window: &Window, settings: &Settings, frame: &mut Frame) {
    let (now, before) = (&window.now, &window.before);
    let Some(pair) = Pair::new(&now.nics, &before.nics) else { return };
    let queue_pair = Pair::new(&now.nic_queues, &before.nic_queues);
    let rows = by_nic(queue_pair.as_ref());
    let interrupts = Interrupts::new(frame, now.irqs.data());
    let mut sharing: HashMap<Arc<str>, u32> = HashMap::new();
    for slot in pair.now.rows().iter() {
        if let Some(pci) = pair.now.pci.get(slot) {
            *sharing.entry(Arc::clone(pci)).or_default() += 1;
        }
    }
    let mut owners = Vec::new();
    for slot in pair.now.rows().iter() {
        let Some(mut nic) = interface(&pair, slot, settings) else { continue };
        let own_rows = rows.get(&nic.name);
        if !matches!(&*nic.kind, "virtual" | "loopback") {
            let pci = pair.now.pci.get(slot);
            let subject = Subject {
                name: &nic.name,
                pci: pci.map(|pci| &**pci),
                virtio: pair.now.virtio.get(slot).map(|virtio| &**virtio),
                msi_irqs: pair.now.msi_irqs.get(slot).map(|set| &**set),
                alone: pci.and_then(|pci| sharing.get(pci)).is_none_or(|&count| count == 1),
                rx: own_rows.map(|rows| rows.rx.len() as u32).filter(|&count| count > 0),
                tx: own_rows.map(|rows| rows.tx.len() as u32).filter(|&count| count > 0),
            };
            let served = interrupts.served(frame, &subject);
            if subject.alone {
                owners.extend(served.own.iter().map(|&at| (at, Arc::clone(&nic.name))));
            }
            nic.queues = Builder { frame, pair: queue_pair.as_ref(), served: &served }.build(own_rows);
        } else if own_rows.is_some() {
            let served = vectors::Served::default();
            nic.queues = Builder { frame, pair: queue_pair.as_ref(), served: &served }.build(own_rows);
            for queue in &mut nic.queues {
                queue.irq = Known::None;
            }
        }
        frame.nics.push(nic);
    }
    frame.nics.sort_by(|a, b| a.ifindex.cmp(&b.ifindex).then_with(|| a.name.cmp(&b.name)));
    for (at, name) in owners {
        // A line shared by several devices stays nobody's.
        if let Some(irq) = frame.irqs.get_mut(at).filter(|irq| !irq.name.contains(", ")) {
            irq.device = name;
        }
    }
}

#[expect(clippy::too_many_lines, reason = "a field for each value of an interface")]
fn interface(pair: &Pair<'_, Nics>, slot: usize, settings: &Settings) -> Option<Nic> {
    let table = pair.now;
    let name = Arc::clone(table.name.get(slot)?);
    let speed = table.speed_mbps.get(slot);
    let configured = settings.nic_capacity_mbps.iter().find(|(nic, _)| **nic == *name).map(|(_, capacity)| *capacity);
    let capacity = configured.filter(|&capacity| capacity > 0).map_or(speed, Known::Value);
    let (rx, tx) = rates(pair, slot);
    let fuller = rx.bytes_per_second.into_iter().chain(tx.bytes_per_second).reduce(f64::max);
    let channel = |now: &Num, most: &Num| Channel { current: now.get(slot), max: most.get(slot) };
    Some(Nic {
        ifindex: table.ifindex.id(slot).value().unwrap_or_default(),
        driver: table.driver.or_empty(slot),
        bus_info: table.bus_info.or_empty(slot),
        kind: kind(table, slot),
        vfs: table.vfs.value(slot),
        xdp: table.xdp.or_empty(slot),
        xdp_program: table.xdp_program.value(slot),
        node: table.node.id(slot),
        local_cpus: table.local_cpus.get(slot).cloned(),
        carrier: table.carrier.get(slot).map(|carrier| carrier != 0),
        carrier_changes: pair.gain(slot, |table| &table.carrier_changes),
        speed_mbps: speed,
        capacity_mbps: capacity,
        utilisation: fuller.zip(capacity.value()).map(|(bytes, mbps)| bytes * 8.0 / (mbps as f64 * 1e6)),
        lower: table.lower.or_empty(slot).split_whitespace().map(Arc::from).collect(),
        master: master(table, slot),
        rx,
        tx,
        rx_missed_per_second: pair.rate(slot, |table| &table.rx_missed),
        rx_fifo_per_second: pair.rate(slot, |table| &table.rx_fifo),
        rx_unbuffered_per_second: pair.rate(slot, |table| &table.unbuffered),
        allowance_exceeded_per_second: pair.rate(slot, |table| &table.allowance_exceeded),
        allowance_rx_per_second: pair.rate(slot, |table| &table.allowance_rx),
        allowance_tx_per_second: pair.rate(slot, |table| &table.allowance_tx),
        allowance_packets_per_second: pair.rate(slot, |table| &table.allowance_packets),
        allowance_connections_per_second: pair.rate(slot, |table| &table.allowance_connections),
        shaper: table.shaper.or_empty(slot),
        shaper_bytes_per_second: table.shaper_rate.value(slot),
        shaper_backlog_bytes: table.shaper_backlog.value(slot),
        shaper_overlimits_per_second: pair.rate(slot, |table| &table.shaper_overlimits),
        shaper_drops_per_second: pair.rate(slot, |table| &table.shaper_drops),
        rss_indirection: table.rss_indirection.get(slot).unwrap_or_default().to_vec(),
        channels: Channels {
            combined: channel(&table.combined, &table.combined_max),
            rx: channel(&table.rx_channels, &table.rx_channels_max),
            tx: channel(&table.tx_channels, &table.tx_channels_max),
            other: channel(&table.other_channels, &table.other_channels_max),
        },
        mtu: table.mtu.get(slot),
        rx_ring: channel(&table.rx_ring, &table.rx_ring_max),
        queues: Vec::new(),
        name,
    })
}

fn master(table: &Nics, slot: usize) -> Known<Arc<str>> {
    match table.master.get(slot) {
        None => Known::Missing,
        Some(master) if master.is_empty() => Known::None,
        Some(master) => Known::Value(Arc::clone(master)),
    }
}

/// The kind that the kernel's tree tells, but what stands for hardware of another interface is virtual: its traffic would
/// count twice.
fn kind(table: &Nics, slot: usize) -> Arc<str> {
    let kind = table.kind.or_empty(slot);
    if &*kind != "physical" {
        return kind;
    }
    let is_physical = |name: &str| {
        let named = |other: &usize| table.name.get(*other).is_some_and(|known| **known == *name);
        let mut rows = table.rows().iter();
        rows.find(named).is_some_and(|other| table.kind.get(other).is_some_and(|kind| &**kind == "physical"))
    };
    // Azure's netvsc and virtio's failover: packets go by the virtual function below while it is there.
    let hands_on = table.lower.get(slot).is_some_and(|lower| lower.split_whitespace().any(is_physical));
    let represents = table.port.get(slot).is_some_and(|port| is_representor(port));
    if hands_on || represents { Arc::from("virtual") } else { kind }
}

/// True for names of ports inside a card: `pf0vf3`, `c1pf0vf3`, `pf0sf88`; `p0` and `p1s2` are outside.
fn is_representor(port: &str) -> bool {
    let numbered = |text: &str, word: &str| -> Option<String> {
        let rest = text.strip_prefix(word)?;
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        (digits > 0).then(|| rest.get(digits..).unwrap_or_default().to_owned())
    };
    let port = numbered(port, "c").unwrap_or_else(|| port.to_owned());
    let function = numbered(&port, "pf");
    function.is_some_and(|rest| rest.is_empty() || ["vf", "sf"].iter().any(|word| numbered(&rest, word).is_some()))
}

fn rates(pair: &Pair<'_, Nics>, slot: usize) -> (NicRates, NicRates) {
    let table = pair.now;
    let rx = NicRates {
        bytes: table.rx_bytes.get(slot),
        packets: table.rx_packets.get(slot),
        drops: table.rx_drops.get(slot),
        bytes_per_second: pair.rate(slot, |table| &table.rx_bytes),
        packets_per_second: pair.rate(slot, |table| &table.rx_packets),
        drops_per_second: pair.rate(slot, |table| &table.rx_drops),
        errors_per_second: pair.rate(slot, |table| &table.rx_errors),
    };
    let tx = NicRates {
        bytes: table.tx_bytes.get(slot),
        packets: table.tx_packets.get(slot),
        drops: table.tx_drops.get(slot),
        bytes_per_second: pair.rate(slot, |table| &table.tx_bytes),
        packets_per_second: pair.rate(slot, |table| &table.tx_packets),
        drops_per_second: pair.rate(slot, |table| &table.tx_drops),
        errors_per_second: pair.rate(slot, |table| &table.tx_errors),
    };
    (rx, tx)
}

#[cfg(test)]
mod tests;
