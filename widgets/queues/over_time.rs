//! One interface over time: a queue of it with the CPU that serves it, and what all of it carries.

use super::Id;
use crate::Cx;
use crate::parts::chart::{Chart, Unit};
use std::collections::BTreeMap;
use topotop_model::Known;
use topotop_model::frame::{Nic, Queue};
use topotop_model::history::Headline;
use topotop_model::history::points::{NicPoint, Points, QueuePoint, nic_key, queue_key};
use topotop_model::locale::screen::queues as text;

/// Of several that did about as much, the first one stays on the charts: what is within this share of the busiest.
const ABOUT: f64 = 0.9;

/// The interface that charts are of, and a queue of it: the selected ones, else the busiest.
pub(super) fn subject<'a>(cx: &Cx<'a>, selected: Option<&Id>) -> Option<(&'a Nic, Option<&'a Queue>)> {
    let named = |name: &str| cx.frame.nics.iter().find(|nic| &*nic.name == name);
    let chosen = match selected {
        Some(Id::Nic(name)) => named(name).map(|nic| (nic, busiest_queue(cx, nic))),
        Some(Id::Queue(name, direction, number)) => named(name).map(|nic| {
            let is = |queue: &&Queue| queue.direction == *direction && queue.queue == *number;
            (nic, nic.queues.iter().find(is))
        }),
        Some(Id::Irq(irq)) => cx.frame.nics.iter().find_map(|nic| {
            let queue = nic.queues.iter().find(|queue| queue.irq == Known::Value(*irq))?;
            Some((nic, Some(queue)))
        }),
        None => None,
    };
    chosen.or_else(|| {
        let packets = sums(cx, Points::packets_of_nics);
        let with_queues = cx.frame.nics.iter().filter(|nic| !nic.queues.is_empty() && !super::rows::is_idle_nic(nic));
        let nic = busiest(with_queues.map(|nic| (nic, packets.get(&nic_key(nic)).copied())))?;
        Some((nic, busiest_queue(cx, nic)))
    })
}

fn busiest_queue<'a>(cx: &Cx<'a>, nic: &'a Nic) -> Option<&'a Queue> {
    let work = sums(cx, Points::work_of_queues);
    busiest(nic.queues.iter().map(|queue| (queue, work.get(&queue_key(nic, queue)).copied())))
}

/// What each did over the whole history: by the last sample alone, charts would change their subject from sample to
/// sample where work is balanced.
fn sums<'a, I: Iterator<Item = (u64, f64)>>(cx: &Cx<'a>, of: impl Fn(&'a Points) -> I) -> BTreeMap<u64, f64> {
    let mut sums: BTreeMap<u64, f64> = BTreeMap::new();
    for (key, value) in cx.history.iter().flat_map(|headline| of(&headline.points)) {
        *sums.entry(key).or_default() += value;
    }
    sums
}

/// The first of those that did about as much as the busiest.
fn busiest<T>(all: impl Iterator<Item = (T, Option<f64>)>) -> Option<T> {
    let all: Vec<(T, Option<f64>)> = all.collect();
    let most = all.iter().filter_map(|one| one.1).max_by(f64::total_cmp);
    all.into_iter().find(|one| most.is_none_or(|most| one.1.is_some_and(|sum| sum >= ABOUT * most))).map(|one| one.0)
}

/// What a queue is called on its charts: `q7`, `rx 0`.
fn name(queue: &Queue) -> String {
    match &*queue.direction {
        "rxtx" => format!("q{}", queue.queue),
        direction => format!("{direction} {}", queue.queue),
    }
}

/// The charts, the most telling first.
pub(super) fn charts<'a>(nic: &Nic, queue: Option<&Queue>) -> Vec<Chart<'a>> {
    let mut charts = Vec::new();
    if let Some(queue) = queue {
        let key = queue_key(nic, queue);
        let of = |part: fn(&QueuePoint) -> Option<f32>| {
            move |headline: &Headline| headline.points.queue(key).and_then(part).map(f64::from)
        };
        let name = name(queue);
        let softirq = text::ChartSoftirq { queue: &name }.to_string();
        charts.push(Chart::new(softirq, Unit::Share, of(|point| point.softirq)));
        charts.push(if queue.packets_per_second.is_some() {
            let title = text::ChartPackets { queue: &name }.to_string();
            Chart::new(title, Unit::Rate, of(|point| point.packets))
        } else {
            let title = text::ChartInterrupts { queue: &name }.to_string();
            Chart::new(title, Unit::Rate, of(|point| point.interrupts))
        });
    }
    let key = nic_key(nic);
    let of = |part: fn(&NicPoint) -> Option<f32>| {
        move |headline: &Headline| headline.points.nic(key).and_then(part).map(f64::from)
    };
    charts.extend([
        Chart::new(text::CHART_RX_PACKETS, Unit::Rate, of(|point| point.rx_packets)),
        Chart::new(text::CHART_TX_PACKETS, Unit::Rate, of(|point| point.tx_packets)),
        Chart::new(text::CHART_RX_BYTES, Unit::ByteRate, of(|point| point.rx_bytes)),
        Chart::new(text::CHART_TX_BYTES, Unit::ByteRate, of(|point| point.tx_bytes)),
        Chart::new(text::CHART_DROPS, Unit::Rate, of(|point| point.drops)),
    ]);
    charts
}
