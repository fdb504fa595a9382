//! Interfaces and their queues.

use super::value::{Set, Text, object, set, text};
use topotop_model::Known;
use topotop_model::frame;

object! {
    pub(crate) Nic {
        name: Text,
        ifindex: u32,
        driver: Option<Text>,
        bus_info: Option<Text>,
        kind: Option<Text>,
        node: Known<u32>,
        local_cpus: Option<Set>,
        carrier: Known<bool>,
        carrier_changes: Option<u64>,
        speed_mbps: Known<u64>,
        capacity_mbps: Known<u64>,
        utilisation: Option<f64>,
        lower: Vec<Text>,
        master: Known<Text>,
        rx_bytes: Known<u64>,
        rx_packets: Known<u64>,
        rx_drops: Known<u64>,
        rx_bytes_per_second: Option<f64>,
        rx_packets_per_second: Option<f64>,
        rx_drops_per_second: Option<f64>,
        rx_errors_per_second: Option<f64>,
        rx_missed_per_second: Option<f64>,
        tx_bytes: Known<u64>,
        tx_packets: Known<u64>,
        tx_drops: Known<u64>,
        tx_bytes_per_second: Option<f64>,
        tx_packets_per_second: Option<f64>,
        tx_drops_per_second: Option<f64>,
        tx_errors_per_second: Option<f64>,
        channels: Option<Channels>,
        rx_ring: Known<Channel>,
        queues: Vec<QueueRow>,
    }
}

object! {
    pub(crate) Channels {
        combined: Known<Channel>,
        rx: Known<Channel>,
        tx: Known<Channel>,
        other: Known<Channel>,
    }
}

object! {
    pub(crate) Channel {
        current: Known<u64>,
        max: Known<u64>,
    }
}

object! {
    pub(crate) QueueRow {
        queue: u32,
        direction: Text,
        irq: Known<u32>,
        irq_source: Option<&'static str>,
        cpus: Option<Set>,
        node: Known<u32>,
        total: Known<u64>,
        per_second: Option<f64>,
        packets_per_second: Option<f64>,
        rps_cpus: Option<Set>,
        xps_cpus: Option<Set>,
        softirq: Option<f64>,
    }
}

pub(super) fn nic(nic: &frame::Nic) -> Nic {
    Nic {
        name: Text::from(&nic.name),
        ifindex: nic.ifindex,
        driver: text(&nic.driver),
        bus_info: text(&nic.bus_info),
        kind: text(&nic.kind),
        node: nic.node,
        local_cpus: set(nic.local_cpus.as_ref()),
        carrier: nic.carrier,
        carrier_changes: nic.carrier_changes,
        speed_mbps: nic.speed_mbps,
        capacity_mbps: nic.capacity_mbps,
        utilisation: nic.utilisation,
        lower: nic.lower.iter().map(Text::from).collect(),
        master: nic.master.as_ref().map(Text::from),
        rx_bytes: nic.rx.bytes,
        rx_packets: nic.rx.packets,
        rx_drops: nic.rx.drops,
        rx_bytes_per_second: nic.rx.bytes_per_second,
        rx_packets_per_second: nic.rx.packets_per_second,
        rx_drops_per_second: nic.rx.drops_per_second,
        rx_errors_per_second: nic.rx.errors_per_second,
        rx_missed_per_second: nic.rx_missed_per_second,
        tx_bytes: nic.tx.bytes,
        tx_packets: nic.tx.packets,
        tx_drops: nic.tx.drops,
        tx_bytes_per_second: nic.tx.bytes_per_second,
        tx_packets_per_second: nic.tx.packets_per_second,
        tx_drops_per_second: nic.tx.drops_per_second,
        tx_errors_per_second: nic.tx.errors_per_second,
        channels: channels(nic),
        rx_ring: channel(&nic.rx_ring),
        queues: nic.queues.iter().map(queue).collect(),
    }
}

fn channels(nic: &frame::Nic) -> Option<Channels> {
    let channels = Channels {
        combined: channel(&nic.combined),
        rx: channel(&nic.rx_channels),
        tx: channel(&nic.tx_channels),
        other: channel(&nic.other_channels),
    };
    let kinds = [&channels.combined, &channels.rx, &channels.tx, &channels.other];
    kinds.iter().any(|kind| !kind.is_missing()).then_some(channels)
}

/// Null where the driver has no such kind.
fn channel(channel: &frame::Channel) -> Known<Channel> {
    match (channel.current, channel.max) {
        (Known::Missing, Known::Missing) => Known::Missing,
        (_, Known::None) => Known::None,
        (current, max) => Known::Value(Channel { current, max }),
    }
}

fn queue(queue: &frame::Queue) -> QueueRow {
    QueueRow {
        queue: queue.queue,
        direction: Text::from(&queue.direction),
        irq: queue.irq,
        irq_source: (!queue.irq_source.is_empty()).then_some(queue.irq_source),
        cpus: set(queue.cpus.as_ref()),
        node: queue.node,
        total: queue.total,
        per_second: queue.per_second,
        packets_per_second: queue.packets_per_second,
        rps_cpus: set(queue.rps_cpus.as_ref()),
        xps_cpus: set(queue.xps_cpus.as_ref()),
        softirq: queue.softirq,
    }
}
