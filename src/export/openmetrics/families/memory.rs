//! Memory of the machine and of its nodes.

use crate::export::openmetrics::{Family, Kind, Page, Section};
use topotop_model::Known;
use topotop_model::frame::Node;

pub(super) const FAMILIES: &[Family] = &[
    Family {
        name: "memory_size_bytes",
        kind: Kind::Gauge,
        unit: "bytes",
        help: "Memory of the machine.",
        labels: &[],
        section: Section::Memory,
        read: |page, rows| rows.add(&[], number(page.frame.memory.total_bytes)),
    },
    Family {
        name: "memory_available_bytes",
        kind: Kind::Gauge,
        unit: "bytes",
        help: "Available memory (MemAvailable).",
        labels: &[],
        section: Section::Memory,
        read: |page, rows| rows.add(&[], number(page.frame.memory.available_bytes)),
    },
    Family {
        name: "memory_dirty_bytes",
        kind: Kind::Gauge,
        unit: "bytes",
        help: "Dirty page cache.",
        labels: &[],
        section: Section::Memory,
        read: |page, rows| rows.add(&[], number(page.frame.memory.dirty_bytes)),
    },
    Family {
        name: "swap_used_bytes",
        kind: Kind::Gauge,
        unit: "bytes",
        help: "Swap space in use.",
        labels: &[],
        section: Section::Memory,
        read: |page, rows| {
            let memory = &page.frame.memory;
            let used = number(memory.swap_total_bytes).zip(number(memory.swap_free_bytes));
            rows.add(&[], used.map(|(total, free)| (total - free).max(0.0)));
        },
    },
    Family {
        name: "node_memory_size_bytes",
        kind: Kind::Gauge,
        unit: "bytes",
        help: "Memory of a node.",
        labels: &["node"],
        section: Section::Memory,
        read: |page, rows| each(page, |node, value| rows.add(&[("node", node)], value), |node| node.memory_total_bytes),
    },
    Family {
        name: "node_memory_free_bytes",
        kind: Kind::Gauge,
        unit: "bytes",
        help: "Unused memory of a node.",
        labels: &["node"],
        section: Section::Memory,
        read: |page, rows| each(page, |node, value| rows.add(&[("node", node)], value), |node| node.memory_free_bytes),
    },
    Family {
        name: "node_memory_file_bytes",
        kind: Kind::Gauge,
        unit: "bytes",
        help: "Page cache of a node, shmem included.",
        labels: &["node"],
        section: Section::Memory,
        read: |page, rows| each(page, |node, value| rows.add(&[("node", node)], value), |node| node.file_bytes),
    },
    Family {
        name: "node_foreign_pages",
        kind: Kind::Counter,
        unit: "",
        help: "Pages intended for a node but allocated elsewhere because it lacked memory (numa_foreign).",
        labels: &["node"],
        section: Section::Memory,
        read: |page, rows| each(page, |node, value| rows.add(&[("node", node)], value), |node| node.numa_foreign),
    },
];

fn number(value: Known<u64>) -> Option<f64> {
    value.value().map(|value| value as f64)
}

fn each(page: &Page<'_>, mut add: impl FnMut(&u32, Option<f64>), value: fn(&Node) -> Known<u64>) {
    for node in &page.frame.nodes {
        add(&node.id, number(value(node)));
    }
}
