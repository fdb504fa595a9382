//! CPU time by node, and each CPU where there are not too many.

use crate::export::openmetrics::encode::CPUS as LISTED;
use crate::export::openmetrics::rows::Rows;
use crate::export::openmetrics::totals::{MODES, node};
use crate::export::openmetrics::{Family, Kind, Page, Section};
use std::collections::BTreeMap;
use topotop_model::frame::CpuShares;

/// The share of its time from which on a CPU is hot.
const HOT: f64 = 0.9;

pub(super) const NODES: &[Family] = &[
    Family {
        name: "online_cpus",
        kind: Kind::Gauge,
        unit: "",
        help: "Online CPUs by node.",
        labels: &["node"],
        section: Section::Cpu,
        read: |page, rows| {
            let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
            for cpu in page.frame.cpus.iter().filter(|cpu| cpu.online) {
                if let Some(node) = node(page.frame, cpu.id) {
                    *counts.entry(node).or_default() += 1;
                }
            }
            for (node, count) in counts {
                rows.add(&[("node", &node)], Some(f64::from(count)));
            }
        },
    },
    Family {
        name: "node_cpu_seconds",
        kind: Kind::Counter,
        unit: "seconds",
        help: "CPU time by node and mode since topotop started; user includes nice.",
        labels: &["node", "mode"],
        section: Section::Cpu,
        read: |page, rows| {
            for (node, sums) in &page.totals.cpu {
                for (mode, seconds) in MODES.iter().zip(sums) {
                    rows.add(&[("node", node), ("mode", mode)], Some(*seconds));
                }
            }
        },
    },
    Family {
        name: "node_hot_cpus",
        kind: Kind::Gauge,
        unit: "",
        help: "CPUs of a node that were busy, or in softirq, for at least 90% of the last interval; above 128 CPUs only.",
        labels: &["node", "mode"],
        section: Section::Cpu,
        read: hot,
    },
];

pub(super) const CPUS: &[Family] = &[
    Family {
        name: "cpu_busy_ratio",
        kind: Kind::Gauge,
        unit: "ratio",
        help: "Share of the last interval in which a CPU was busy; up to 128 CPUs.",
        labels: &["cpu", "node"],
        section: Section::Cpu,
        read: |page, rows| each(page, rows, |shares| shares.busy),
    },
    Family {
        name: "cpu_softirq_ratio",
        kind: Kind::Gauge,
        unit: "ratio",
        help: "Share of the last interval in which a CPU was in softirq; up to 128 CPUs.",
        labels: &["cpu", "node"],
        section: Section::Cpu,
        read: |page, rows| each(page, rows, |shares| shares.softirq),
    },
];

fn each(page: &Page<'_>, rows: &mut Rows<'_>, share: fn(&CpuShares) -> f64) {
    if page.frame.cpus.len() > LISTED {
        return;
    }
    for cpu in &page.frame.cpus {
        let node = node(page.frame, cpu.id).map(|node| node.to_string()).unwrap_or_default();
        rows.add(&[("cpu", &cpu.id), ("node", &node)], cpu.shares.as_ref().map(share));
    }
}

fn hot(page: &Page<'_>, rows: &mut Rows<'_>) {
    if page.frame.cpus.len() <= LISTED {
        return;
    }
    let mut counts: BTreeMap<u32, [u32; 2]> = BTreeMap::new();
    for cpu in &page.frame.cpus {
        if let (Some(shares), Some(node)) = (&cpu.shares, node(page.frame, cpu.id)) {
            let count = counts.entry(node).or_default();
            count[0] += u32::from(shares.busy >= HOT);
            count[1] += u32::from(shares.softirq >= HOT);
        }
    }
    for (node, [busy, softirq]) in counts {
        rows.add(&[("node", &node), ("mode", &"busy")], Some(f64::from(busy)));
        rows.add(&[("node", &node), ("mode", &"softirq")], Some(f64::from(softirq)));
    }
}
