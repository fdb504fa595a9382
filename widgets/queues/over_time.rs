//! One interface over time: a queue of it with the CPU that serves it, and what all of it carries.

use super::{Id, rows};
use crate::Cx;
use crate::parts::chart::{Chart, Unit};
use topotop_model::Known;
use topotop_model::frame::{Nic, Queue};
use topotop_model::history::Headline;
use topotop_model::history::points::{NicPoint, QueuePoint, nic_key, queue_key};
use topotop_model::locale::screen::queues as text;

/// The interface that charts are of, and a queue of it: the selected ones, else the busiest.
pub(super) fn subject<'a>(cx: &Cx<'a>, selected: Option<&Id>) -> Option<(&'a Nic, Option<&'a Queue>)> {
    let named = |name: &str| cx.frame.nics.iter().find(|nic| &*nic.name == name);
    let busiest = |nic: &'a Nic| nic.queues.iter().max_by(|a, b| order(rows::work(a), rows::work(b)));
    let chosen = match selected {
        Some(Id::Nic(name)) => named(name).map(|nic| (nic, busiest(nic))),
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
    let traffic = |nic: &Nic| Some(nic.rx.packets_per_second? + nic.tx.packets_per_second?);
    chosen.or_else(|| {
        let with_queues = cx.frame.nics.iter().filter(|nic| !nic.queues.is_empty());
        let nic = with_queues.max_by(|a, b| order(traffic(a), traffic(b)))?;
        Some((nic, busiest(nic)))
    })
}

fn order(a: Option<f64>, b: Option<f64>) -> std::cmp::Ordering {
    a.unwrap_or(-1.0).total_cmp(&b.unwrap_or(-1.0))
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
