//! An interface, a queue or an interrupt in full.

use super::{Id, nic};
use crate::parts::pane::Doc;
use crate::parts::{names, units};
use crate::{Cx, Role};
use std::sync::Arc;
use topotop_model::frame::{Nic, Queue};
use topotop_model::locale::screen::queues as text;
use topotop_model::locale::screen::shared;
use topotop_model::rules::report;
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
    doc.line(vec![(text::GONE.to_string(), Role::Absent)]);
}

fn set(doc: &mut Doc, name: &str, set: Option<&Arc<IdSet>>, empty: &str, room: usize) {
    match set {
        Some(set) if set.is_empty() => doc.pair(name, empty, Role::Dim),
        Some(set) => doc.pair(name, units::id_list(set, room), Role::Text),
        None => doc.pair(name, "?", Role::Absent),
    }
}

fn interface(doc: &mut Doc, nic: &Nic, room: usize) {
    for (name, value) in [(text::DRIVER, &nic.driver), (text::BUS, &nic.bus_info), (text::KIND, &nic.kind)] {
        doc.pair(&name, if value.is_empty() { "?" } else { value }, Role::Text);
    }
    match nic.node {
        Known::Value(node) => doc.pair(&text::NODE, node.to_string(), Role::node(node)),
        Known::None => doc.pair(&text::NODE, shared::NO_NODE, Role::Dim),
        Known::Missing => doc.pair(&text::NODE, "?", Role::Absent),
    }
    set(doc, &text::LOCAL_CPUS, nic.local_cpus.as_ref(), &shared::NONE, room);
    let mbps = |value: Known<u64>| match value {
        Known::Value(mbps) => report::amount(mbps as f64, "Mbit/s"),
        Known::None => shared::UNKNOWN.to_string(),
        Known::Missing => "?".to_owned(),
    };
    doc.pair(&text::SPEED, mbps(nic.speed_mbps), Role::Text);
    doc.pair(&text::CAPACITY, mbps(nic.capacity_mbps), Role::Text);
    doc.gap();
    doc.head(text::CHANNELS_SECTION);
    let kinds = [
        (text::COMBINED, nic.channels.combined),
        (text::RX, nic.channels.rx),
        (text::TX, nic.channels.tx),
        (text::OTHER_KIND, nic.channels.other),
        (text::RX_RING, nic.rx_ring),
    ];
    for (name, channel) in kinds {
        let (text, role) = nic::channel_text(channel, name != text::OTHER_KIND);
        doc.pair(&name, text, role);
    }
    traffic(doc, nic);
}

/// What it moves, and its queues.
fn traffic(doc: &mut Doc, nic: &Nic) {
    doc.gap();
    doc.head(text::TRAFFIC);
    for (name, rates) in [(text::RECEIVED, &nic.rx), (text::SENT, &nic.tx)] {
        let rate = |rate: Option<f64>| units::or_unknown(rate, units::count);
        let rates_text = text::Rates {
            packets: &rate(rates.packets_per_second),
            bytes: &rates.bytes_per_second.map_or_else(|| "?".to_owned(), units::bytes_in_text),
            drops: &rate(rates.drops_per_second),
            errors: &rate(rates.errors_per_second),
        };
        doc.pair(&name, rates_text.to_string(), Role::Text);
        let total = |value: Known<u64>| value.value().map_or_else(|| "?".to_owned(), |value| value.to_string());
        let totals =
            text::Totals { packets: &total(rates.packets), bytes: &total(rates.bytes), drops: &total(rates.drops) };
        doc.pair(&format!("  {}", text::SINCE_BOOT), totals.to_string(), Role::Dim);
    }
    doc.gap();
    doc.head(text::QueueCount { count: nic.queues.len() as u64 }.to_string());
    for queue in &nic.queues {
        let irq = queue.irq.value().map_or_else(|| shared::NONE.to_string(), |irq| irq.to_string());
        let cpus = queue.cpus.as_ref().map_or_else(|| "?".to_owned(), |cpus| units::id_list(cpus, 16));
        let rate = units::or_unknown(super::rows::work(queue), units::count);
        let target = format!("IRQ {irq:>5} → {cpus:<10} {rate:>5}/s");
        doc.pair(&format!("{} {}", queue.direction, queue.queue), target, Role::Text);
    }
}

fn queue(cx: &Cx<'_>, doc: &mut Doc, queue: &Queue, room: usize) {
    let rate = |rate: Option<f64>| units::or_unknown(rate, units::count);
    doc.pair(&text::PACKETS, format!("{}/s", rate(queue.packets_per_second)), Role::Text);
    doc.pair(&text::INTERRUPTS, format!("{}/s", rate(queue.per_second)), Role::Text);
    set(doc, &text::TARGET_CPUS, queue.cpus.as_ref(), &shared::NONE, room);
    doc.pair(&text::SOFTIRQ, units::or_unknown(queue.softirq, units::percent).as_str(), Role::Text);
    if &*queue.direction != "tx" {
        set(doc, "RPS", queue.rps_cpus.as_ref(), &text::OFF, room);
    }
    if &*queue.direction != "rx" {
        set(doc, "XPS", queue.xps_cpus.as_ref(), &text::OFF, room);
    }
    match queue.irq {
        Known::Value(irq) => {
            doc.pair(&text::SOURCE, queue.irq_source, Role::Dim);
            doc.gap();
            interrupt(cx, doc, irq, room);
        }
        Known::None => doc.pair(&text::INTERRUPT, text::NO_INTERRUPT, Role::Dim),
        Known::Missing => doc.pair(&text::INTERRUPT, "?", Role::Absent),
    }
}

fn interrupt(cx: &Cx<'_>, doc: &mut Doc, number: u32, room: usize) {
    doc.head(text::InterruptTitle { id: &number }.to_string());
    let Some(irq) = cx.frame.irq(number) else {
        doc.pair(&text::INTERRUPT, text::NOT_LISTED, Role::Absent);
        return;
    };
    doc.pair(&text::NAME, &*irq.name, Role::Text);
    doc.pair(&text::CHIP, &*irq.chip, Role::Dim);
    doc.pair(&text::DEVICE, if irq.device.is_empty() { "?" } else { &irq.device }, Role::Text);
    set(doc, &text::AFFINITY, irq.affinity.as_ref(), &shared::NONE, room);
    set(doc, &text::EFFECTIVE, irq.effective_affinity.as_ref(), &shared::NONE, room);
    let managed = match irq.managed {
        Known::Value(true) => text::MANAGED_YES.as_str(),
        Known::Value(false) => shared::NO.as_str(),
        Known::None => shared::NOT_APPLICABLE.as_str(),
        Known::Missing => "?",
    };
    doc.pair(&text::MANAGED, managed, Role::Text);
    let total = irq.total.value().map_or_else(|| "?".to_owned(), |total| total.to_string());
    let rate = units::or_unknown(irq.per_second, units::count);
    doc.pair(&text::COUNT, text::CountText { total: &total, rate: &rate }.to_string(), Role::Text);
    let mut rates = irq.per_cpu_per_second.clone();
    rates.sort_by(|a, b| b.1.total_cmp(&a.1));
    for (cpu, rate) in rates.iter().take(64) {
        let node = cx.frame.topology.node_of(*cpu);
        doc.line(vec![
            (names::padded(&format!("  {}", shared::Cpu { id: cpu }), 17), node.map_or(Role::Dim, Role::node)),
            (format!("{:>6}/s", units::count(*rate)), Role::Text),
        ]);
    }
}
