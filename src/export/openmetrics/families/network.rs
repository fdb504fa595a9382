//! Network cards, their queues, and the backlog.

use crate::export::openmetrics::rows::Rows;
use crate::export::openmetrics::totals::node;
use crate::export::openmetrics::{Family, Kind, Page, Section};
use std::collections::BTreeMap;
use topotop_model::Known;
use topotop_model::Total as _;
use topotop_model::frame::{Channel, Nic, NicRates, SoftnetRow};

/// Interfaces that are listed at most.
const LISTED: usize = 16;

pub(super) const FAMILIES: &[Family] = &[
    Family {
        name: "nic_bytes",
        kind: Kind::Counter,
        unit: "bytes",
        help: "Bytes since boot, by interface and direction.",
        labels: &["device", "direction"],
        section: Section::Network,
        read: |page, rows| both(page, rows, |rates| rates.bytes),
    },
    Family {
        name: "nic_packets",
        kind: Kind::Counter,
        unit: "",
        help: "Packets since boot, by interface and direction.",
        labels: &["device", "direction"],
        section: Section::Network,
        read: |page, rows| both(page, rows, |rates| rates.packets),
    },
    Family {
        name: "nic_dropped_packets",
        kind: Kind::Counter,
        unit: "",
        help: "Packets dropped since boot, by interface and direction.",
        labels: &["device", "direction"],
        section: Section::Network,
        read: |page, rows| both(page, rows, |rates| rates.drops),
    },
    Family {
        name: "nic_utilization_ratio",
        kind: Kind::Gauge,
        unit: "ratio",
        help: "Utilisation of the busier direction in the last interval; absent where the capacity is unknown.",
        labels: &["device"],
        section: Section::Network,
        read: |page, rows| each(page, rows, |nic| nic.utilisation),
    },
    Family {
        name: "nic_channels",
        kind: Kind::Gauge,
        unit: "",
        help: "Receive channels in use (ethtool -l).",
        labels: &["device"],
        section: Section::Network,
        read: |page, rows| each(page, rows, |nic| channels(nic, |channel| channel.current)),
    },
    Family {
        name: "nic_channels_max",
        kind: Kind::Gauge,
        unit: "",
        help: "Maximum receive channels.",
        labels: &["device"],
        section: Section::Network,
        read: |page, rows| each(page, rows, |nic| channels(nic, |channel| channel.max)),
    },
    Family {
        name: "nic_busiest_queue_ratio",
        kind: Kind::Gauge,
        unit: "ratio",
        help: "Share of the busiest queue: of packets where the driver counts them by queue, else of interrupts; 1 means that one queue handles all.",
        labels: &["device"],
        section: Section::Network,
        read: |page, rows| each(page, rows, busiest_queue),
    },
    Family {
        name: "softnet_dropped_packets",
        kind: Kind::Counter,
        unit: "",
        help: "Packets dropped since boot because a CPU's backlog was full, by node of the CPU.",
        labels: &["node"],
        section: Section::Network,
        read: |page, rows| softnet(page, rows, |row| row.dropped),
    },
    Family {
        name: "softnet_squeezed",
        kind: Kind::Counter,
        unit: "",
        help: "Polling cycles (NAPI) since boot that ended with packets left, by node of the CPU.",
        labels: &["node"],
        section: Section::Network,
        read: |page, rows| softnet(page, rows, |row| row.time_squeeze),
    },
];

/// Cards and what stands on them, else whatever is not loopback: ends of containers' links are not listed beside a card.
fn listed<'a>(page: &Page<'a>) -> impl Iterator<Item = &'a Nic> {
    let is_card = |nic: &Nic| *nic.kind == *"physical" || !nic.lower.is_empty();
    let cards = page.frame.nics.iter().any(is_card);
    page.frame.nics.iter().filter(move |nic| if cards { is_card(nic) } else { *nic.kind != *"loopback" })
}

fn each(page: &Page<'_>, rows: &mut Rows<'_>, value: fn(&Nic) -> Option<f64>) {
    for nic in listed(page).take(LISTED) {
        rows.add(&[("device", &nic.name)], value(nic));
    }
    rows.dropped += listed(page).skip(LISTED).filter(|nic| value(nic).is_some()).count();
}

fn both(page: &Page<'_>, rows: &mut Rows<'_>, value: fn(&NicRates) -> Known<u64>) {
    let number = |rates| value(rates).value().map(|value| value as f64);
    for nic in listed(page).take(LISTED) {
        rows.add(&[("device", &nic.name), ("direction", &"receive")], number(&nic.rx));
        rows.add(&[("device", &nic.name), ("direction", &"transmit")], number(&nic.tx));
    }
    rows.dropped += 2 * listed(page).skip(LISTED).filter(|nic| number(&nic.rx).is_some()).count();
}

fn channels(nic: &Nic, of: fn(&Channel) -> Known<u64>) -> Option<f64> {
    let kinds = [of(&nic.channels.combined).value(), of(&nic.channels.rx).value()];
    kinds.iter().any(Option::is_some).then(|| kinds.iter().flatten().copied().total() as f64)
}

/// Where something moves through it.
fn busiest_queue(nic: &Nic) -> Option<f64> {
    let receives = || nic.queues.iter().filter(|queue| *queue.direction != *"tx");
    let by_packets = receives().any(|queue| queue.packets_per_second.is_some());
    let rates = receives().filter_map(|queue| if by_packets { queue.packets_per_second } else { queue.per_second });
    let (sum, most) = rates.fold((0.0, 0.0_f64), |(sum, most), rate| (sum + rate, most.max(rate)));
    (sum > 0.0).then(|| most / sum)
}

fn softnet(page: &Page<'_>, rows: &mut Rows<'_>, value: fn(&SoftnetRow) -> Known<u64>) {
    let mut sums: BTreeMap<u32, u64> = BTreeMap::new();
    for row in &page.frame.softnet {
        if let (Some(value), Some(node)) = (value(row).value(), node(page.frame, row.cpu)) {
            let sum = sums.entry(node).or_default();
            *sum = sum.saturating_add(value);
        }
    }
    for (node, sum) in sums {
        rows.add(&[("node", &node)], Some(sum as f64));
    }
}
