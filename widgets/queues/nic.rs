//! The two lines of an interface, and the lines that stand for idle ones.

use super::Row;
use crate::parts::units::{self, Short};
use crate::parts::{Pen, mark, names};
use crate::{Cx, Role};
use topotop_model::Known;
use topotop_model::frame::{Channel, Nic, NicRates};
use topotop_model::locale::screen::queues as text;
use topotop_model::locale::screen::shared;

/// Draws the rows that are no queues.
pub(super) fn span(cx: &Cx<'_>, row: Row, pen: &mut Pen<'_>) -> bool {
    match row {
        Row::Nic(at) => {
            if let Some(nic) = cx.frame.nics.get(at) {
                identity(cx, nic, pen);
            }
        }
        Row::Rates(at) => {
            if let Some(nic) = cx.frame.nics.get(at) {
                rates(cx, nic, pen);
            }
        }
        Row::IdleQueues(_, count) => {
            pen.skip(2).text(Role::Dim, &text::IdleQueues { count: count as u64 }.to_string());
        }
        Row::IdleNics(count) => {
            pen.text(Role::Dim, &text::IdleInterfaces { count: count as u64 }.to_string());
        }
        Row::Queue(..) | Row::Irq(_) => return false,
    }
    true
}

/// Driver, speed, node, link, channels, what it belongs to and stands on.
fn identity(cx: &Cx<'_>, nic: &Nic, pen: &mut Pen<'_>) {
    pen.text(Role::Title, &nic.name).skip(1);
    let driver = if nic.driver.is_empty() { &nic.kind } else { &nic.driver };
    pen.text(Role::Dim, if driver.is_empty() { "?" } else { driver }).skip(1);
    speed(nic, pen);
    match nic.node {
        Known::Value(node) => pen.text(Role::node(node), &shared::Node { id: &node }.to_string()),
        Known::None => pen.text(Role::Absent, &text::NO_NUMA_NODE),
        Known::Missing => pen.text(Role::Absent, &text::UNKNOWN_NODE),
    };
    pen.skip(1);
    match nic.carrier {
        Known::Value(true) => pen.text(Role::Ok, &text::UP),
        Known::Value(false) => pen.text(Role::Warn, &text::NO_LINK),
        Known::None => pen.text(Role::Dim, &text::DOWN),
        Known::Missing => pen.text(Role::Absent, &text::UNKNOWN_LINK),
    };
    pen.skip(2);
    channels(cx, nic, pen);
    if let Known::Value(master) = &nic.master {
        pen.skip(1).text(Role::Dim, &text::MEMBER_OF).skip(1).text(Role::Text, master);
    }
    if !nic.lower.is_empty() {
        pen.skip(1).text(Role::Dim, &text::OVER).skip(1).text(Role::Text, &nic.lower.join(" "));
    }
}

/// `25Gbit`; the configured capacity where it differs; `speed unknown` is no zero.
pub(super) fn speed(nic: &Nic, pen: &mut Pen<'_>) {
    match nic.speed_mbps {
        Known::Value(mbps) => pen.text(Role::Text, bits(mbps).as_str()).skip(1),
        _ if nic.capacity_mbps.value().is_some() => pen,
        // Nobody expects a speed of a virtual interface.
        _ if &*nic.kind == "virtual" || &*nic.kind == "loopback" => pen,
        _ => pen.text(Role::Absent, &text::UNKNOWN_SPEED).skip(1),
    };
    if let Some(capacity) = nic.capacity_mbps.value().filter(|_| nic.capacity_mbps != nic.speed_mbps) {
        pen.text(Role::Dim, &text::CAPACITY_SHORT).skip(1).text(Role::Text, bits(capacity).as_str()).skip(1);
    }
}

fn bits(mbps: u64) -> Short {
    Short::from_display(format_args!("{}bit", units::count(mbps as f64 * 1e6).as_str()))
}

/// As `ethtool -l` tells it: current of maximum of every kind that the driver has.
fn channels(cx: &Cx<'_>, nic: &Nic, pen: &mut Pen<'_>) {
    let kinds = [
        (text::COMBINED, nic.channels.combined),
        (text::RX, nic.channels.rx),
        (text::TX, nic.channels.tx),
        (text::OTHER_KIND, nic.channels.other),
    ];
    if kinds.iter().all(|(_, channel)| channel.max.is_missing() && channel.current.is_missing()) {
        let (text, role) = mark::missing(cx, "channels");
        pen.text(Role::Dim, &text::CHANNELS).skip(1).text(role, text);
        return;
    }
    // Kinds that the driver lacks say nothing.
    for (name, channel) in kinds.iter().filter(|(_, channel)| *channel.max.value().as_ref().unwrap_or(&1) > 0) {
        if channel.max == Known::None && channel.current == Known::None {
            continue;
        }
        pen.text(Role::Dim, name).skip(1);
        let (text, role) = channel_text(*channel, *name != text::OTHER_KIND);
        pen.text(role, &text).skip(1);
    }
}

/// `1/8`; fewer channels than the hardware has is worth a colour.
pub(super) fn channel_text(channel: Channel, counts: bool) -> (String, Role) {
    let number = |value: Known<u64>| match value {
        Known::Value(value) => value.to_string(),
        Known::None => shared::NOT_APPLICABLE.to_string(),
        Known::Missing => "?".to_owned(),
    };
    match (channel.current, channel.max) {
        (Known::None, Known::None) => (shared::NOT_APPLICABLE.to_string(), Role::Absent),
        (Known::Missing, Known::Missing) => ("?".to_owned(), Role::Absent),
        (current, max) => {
            let few = counts && matches!((current, max), (Known::Value(current), Known::Value(max)) if current < max);
            (format!("{}/{}", number(current), number(max)), if few { Role::Warn } else { Role::Text })
        }
    }
}

/// Packets, bytes and fill of both directions, and what was dropped.
fn rates(cx: &Cx<'_>, nic: &Nic, pen: &mut Pen<'_>) {
    pen.skip(2);
    if cx.frame.interval_seconds.is_none() {
        totals("rx", &nic.rx, pen);
        totals("tx", &nic.tx, pen);
        pen.text(Role::Dim, &text::SINCE_BOOT);
        return;
    }
    direction("rx", nic, &nic.rx, pen);
    pen.skip(2);
    direction("tx", nic, &nic.tx, pen);
    let virt = matches!(&*nic.kind, "virtual" | "loopback");
    if nic.capacity_mbps.value().is_none() && !virt {
        pen.skip(1).text(Role::Absent, &text::UNKNOWN_CAPACITY);
    }
    let drops = [
        (text::DROPS, nic.rx.drops_per_second),
        (text::TX_DROPS, nic.tx.drops_per_second),
        (text::MISSED, nic.rx_missed_per_second),
        (text::ERRORS, nic.rx.errors_per_second),
    ];
    for (name, rate) in drops {
        // Nothing lost is worth its place for the first of them only.
        if name != text::DROPS && rate.is_none_or(|rate| rate <= 0.0) {
            continue;
        }
        pen.skip(1).text(Role::Dim, &name).skip(1);
        pen.some(rate, "statistics/rx_dropped", |rate| {
            (units::count(rate), if rate > 0.0 { Role::Warn } else { Role::Dim })
        });
    }
    if let Some(changes) = nic.carrier_changes.filter(|&changes| changes > 0) {
        pen.skip(1).text(Role::Critical, &text::LinkChanges { count: changes }.to_string());
    }
}

fn direction(name: &str, nic: &Nic, rates: &NicRates, pen: &mut Pen<'_>) {
    pen.text(Role::Dim, name).skip(1).rate(Role::Text, 4, rates.packets_per_second, units::count);
    pen.skip(1)
        .text(Role::Dim, &text::PACKET_RATE)
        .skip(1)
        .rate(Role::Text, 5, rates.bytes_per_second, units::bytes)
        // Speeds of links are in bits.
        .text(Role::Dim, "/s ");
    let width = (pen.left() / 10).clamp(3, 16);
    let capacity = nic.capacity_mbps.value().filter(|&mbps| mbps > 0);
    if let (Some(mbps), Some(bytes)) = (capacity, rates.bytes_per_second) {
        let share = bytes * 8.0 / (mbps as f64 * 1e6);
        pen.bar(width, Some(share)).skip(1).number(Role::heat(share), 4, &units::percent(share));
    }
}

/// Counts since boot, where there is one sample only: never shown as rates.
fn totals(name: &str, rates: &NicRates, pen: &mut Pen<'_>) {
    pen.text(Role::Dim, name).skip(1);
    pen.value(rates.packets, &shared::NONE, "statistics", |count| (units::count(count as f64), Role::Text));
    pen.skip(1).text(Role::Dim, &text::PACKETS).skip(1);
    pen.value(rates.bytes, &shared::NONE, "statistics", |bytes| (units::bytes(bytes as f64), Role::Text));
    pen.skip(1).text(Role::Dim, &text::DROPPED).skip(1);
    pen.value(rates.drops, &shared::NONE, "statistics", |count| (units::count(count as f64), Role::Text));
    pen.skip(2);
}

/// The longest name of some interfaces, within bounds.
pub(super) fn name_width<'a>(nics: impl Iterator<Item = &'a Nic>) -> u16 {
    nics.map(|nic| names::width(&nic.name)).max().unwrap_or(0).clamp(4, 15)
}
