//! An interface, a queue or an interrupt in full.

use super::{Id, nic};
use crate::parts::pane::Doc;
use crate::parts::units;
use crate::{Cx, Role};
use std::sync::Arc;
use topotop_model::frame::{Nic, Queue};
use topotop_model::{IdSet, Known};

/// The detail of a row.
pub(super) fn doc(cx: &Cx<'_>, id: &Id, width: u16) -> Doc {
    let mut doc = Doc::default();
    let room = usize::from(width.saturating_sub(18)).max(12);
    match id {
        Id::Nic(name) => match cx.frame.nic(name) {
            Some(nic) => interface(&mut doc, nic, room),
            None => gone(&mut doc),
        },
        Id::Queue(name, direction, number) => {
            let find = |nic: &&Nic| nic.name == *name;
            let nic = cx.frame.nics.iter().find(find);
            let same = |queue: &&Queue| queue.direction == *direction && queue.queue == *number;
            match nic.and_then(|nic| nic.queues.iter().find(same)) {
                Some(found) => queue(cx, &mut doc, found, room),
                None => gone(&mut doc),
            }
        }
        Id::Irq(number) => interrupt(cx, &mut doc, *number, room),
    }
    doc
}

fn gone(doc: &mut Doc) {
    doc.line(vec![("it is gone".to_owned(), Role::Absent)]);
}

fn set(doc: &mut Doc, name: &str, set: Option<&Arc<IdSet>>, empty: &str, room: usize) {
    match set {
        Some(set) if set.is_empty() => doc.pair(name, empty, Role::Dim),
        Some(set) => doc.pair(name, units::id_list(set, room), Role::Text),
        None => doc.pair(name, "?", Role::Absent),
    }
}

fn interface(doc: &mut Doc, nic: &Nic, room: usize) {
    for (name, text) in [("driver", &nic.driver), ("bus", &nic.bus_info), ("kind", &nic.kind)] {
        doc.pair(name, if text.is_empty() { "?" } else { text }, Role::Text);
    }
    match nic.node {
        Known::Value(node) => doc.pair("node", node.to_string(), Role::node(node)),
        Known::None => doc.pair("node", "of no node", Role::Dim),
        Known::Missing => doc.pair("node", "?", Role::Absent),
    }
    set(doc, "CPUs next to it", nic.local_cpus.as_ref(), "none", room);
    let mbps = |value: Known<u64>| match value {
        Known::Value(mbps) => format!("{mbps} Mbit/s"),
        Known::None => "nobody knows".to_owned(),
        Known::Missing => "?".to_owned(),
    };
    doc.pair("speed", mbps(nic.speed_mbps), Role::Text);
    doc.pair("capacity", mbps(nic.capacity_mbps), Role::Text);
    doc.gap();
    doc.head("Channels, current of maximum (ethtool -l) and ring (ethtool -g)");
    let kinds = [
        ("combined", nic.combined),
        ("rx", nic.rx_channels),
        ("tx", nic.tx_channels),
        ("other", nic.other_channels),
        ("rx ring", nic.rx_ring),
    ];
    for (name, channel) in kinds {
        let (text, role) = nic::channel_text(channel, name != "other");
        doc.pair(name, text, role);
    }
    traffic(doc, nic);
}

/// What it moves, and its queues.
fn traffic(doc: &mut Doc, nic: &Nic) {
    doc.gap();
    doc.head("Traffic");
    for (name, rates) in [("received", &nic.rx), ("sent", &nic.tx)] {
        let rate = |rate: Option<f64>, format: fn(f64) -> units::Short| units::or_unknown(rate, format);
        let text = format!(
            "{} packets/s, {}/s, {} dropped/s, {} errors/s",
            rate(rates.packets_per_second, units::count),
            rate(rates.bytes_per_second, units::bytes),
            rate(rates.drops_per_second, units::count),
            rate(rates.errors_per_second, units::count)
        );
        doc.pair(name, text, Role::Text);
        let total = |value: Known<u64>| value.value().map_or_else(|| "?".to_owned(), |value| value.to_string());
        let text =
            format!("{} packets, {} bytes, {} dropped", total(rates.packets), total(rates.bytes), total(rates.drops));
        doc.pair("  since boot", text, Role::Dim);
    }
    doc.gap();
    doc.head(format!("{} queues", nic.queues.len()));
    for queue in &nic.queues {
        let irq = queue.irq.value().map_or_else(|| "none".to_owned(), |irq| irq.to_string());
        let cpus = queue.cpus.as_ref().map_or_else(|| "?".to_owned(), |cpus| units::id_list(cpus, 16));
        let rate = units::or_unknown(super::rows::work(queue), units::count);
        let text = format!("irq {irq:>5} → {cpus:<10} {rate:>5}/s");
        doc.pair(&format!("{} {}", queue.direction, queue.queue), text, Role::Text);
    }
}

fn queue(cx: &Cx<'_>, doc: &mut Doc, queue: &Queue, room: usize) {
    let rate = |rate: Option<f64>| units::or_unknown(rate, units::count);
    doc.pair("packets", format!("{}/s", rate(queue.packets_per_second)), Role::Text);
    doc.pair("interrupts", format!("{}/s", rate(queue.per_second)), Role::Text);
    set(doc, "goes to CPUs", queue.cpus.as_ref(), "none", room);
    doc.pair("softirq there", units::or_unknown(queue.softirq, units::percent).as_str(), Role::Text);
    if &*queue.direction != "tx" {
        set(doc, "RPS", queue.rps_cpus.as_ref(), "off", room);
    }
    if &*queue.direction != "rx" {
        set(doc, "XPS", queue.xps_cpus.as_ref(), "off", room);
    }
    match queue.irq {
        Known::Value(irq) => {
            doc.pair("found by", queue.irq_source, Role::Dim);
            doc.gap();
            interrupt(cx, doc, irq, room);
        }
        Known::None => doc.pair("interrupt", "none of its own", Role::Dim),
        Known::Missing => doc.pair("interrupt", "?", Role::Absent),
    }
}

fn interrupt(cx: &Cx<'_>, doc: &mut Doc, number: u32, room: usize) {
    doc.head(format!("Interrupt {number}"));
    let Some(irq) = cx.frame.irq(number) else {
        doc.pair("interrupt", "not in /proc/interrupts", Role::Absent);
        return;
    };
    doc.pair("name", &*irq.name, Role::Text);
    doc.pair("chip", &*irq.chip, Role::Dim);
    doc.pair("device", if irq.device.is_empty() { "?" } else { &irq.device }, Role::Text);
    set(doc, "allowed", irq.affinity.as_ref(), "none", room);
    set(doc, "effective", irq.effective_affinity.as_ref(), "none", room);
    let managed = match irq.managed {
        Known::Value(true) => "yes: the kernel refuses to move it",
        Known::Value(false) => "no",
        Known::None => "n/a",
        Known::Missing => "?",
    };
    doc.pair("managed", managed, Role::Text);
    let total = irq.total.value().map_or_else(|| "?".to_owned(), |total| total.to_string());
    doc.pair("count", format!("{total} since boot, {}/s", units::or_unknown(irq.per_second, units::count)), Role::Text);
    let mut rates = irq.per_cpu_per_second.clone();
    rates.sort_by(|a, b| b.1.total_cmp(&a.1));
    for (cpu, rate) in rates.iter().take(64) {
        let node = cx.frame.topology.node_of(*cpu);
        doc.line(vec![
            (format!("{:<16} ", format!("  cpu {cpu}")), node.map_or(Role::Dim, Role::node)),
            (format!("{:>6}/s", units::count(*rate)), Role::Text),
        ]);
    }
}
