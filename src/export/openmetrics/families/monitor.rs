//! The machine and the monitor.

use crate::export::openmetrics::{Family, Kind, Section};
use std::collections::BTreeMap;
use topotop_model::Reason;

pub(super) const MACHINE: &[Family] = &[
    Family {
        name: "build",
        kind: Kind::Info,
        unit: "",
        help: "Version of topotop.",
        labels: &["version"],
        section: Section::Monitor,
        read: |_, rows| rows.info(&[("version", &env!("CARGO_PKG_VERSION"))]),
    },
    Family {
        name: "machine",
        kind: Kind::Info,
        unit: "",
        help: "Kernel, architecture, distribution and hypervisor.",
        labels: &["kernel", "arch", "os", "virtualization"],
        section: Section::Monitor,
        read: |page, rows| {
            let host = &page.frame.host;
            rows.info(&[
                ("kernel", &host.kernel),
                ("arch", &host.arch),
                ("os", &host.os),
                ("virtualization", &host.virtualization),
            ]);
        },
    },
    Family {
        name: "sample_timestamp_seconds",
        kind: Kind::Gauge,
        unit: "seconds",
        help: "Unix time of the last sample.",
        labels: &[],
        section: Section::Monitor,
        read: |page, rows| rows.add(&[], Some((page.taken_ns / 1_000_000) as f64 / 1e3)),
    },
    Family {
        name: "sample_interval_seconds",
        kind: Kind::Gauge,
        unit: "seconds",
        help: "Time between the last two samples.",
        labels: &[],
        section: Section::Monitor,
        read: |page, rows| rows.add(&[], page.frame.interval_seconds),
    },
    Family {
        name: "sample_duration_seconds",
        kind: Kind::Gauge,
        unit: "seconds",
        help: "Duration of the last sample.",
        labels: &[],
        section: Section::Monitor,
        read: |page, rows| rows.add(&[], page.frame.cost.sample_ms.map(|ms| ms / 1e3)),
    },
    Family {
        name: "monitor_cpu_seconds",
        kind: Kind::Counter,
        unit: "seconds",
        help: "CPU time of topotop.",
        labels: &[],
        section: Section::Monitor,
        read: |page, rows| rows.add(&[], page.totals.monitor),
    },
    Family {
        name: "monitor_resident_memory_bytes",
        kind: Kind::Gauge,
        unit: "bytes",
        help: "Resident memory of topotop.",
        labels: &[],
        section: Section::Monitor,
        read: |page, rows| rows.add(&[], page.frame.cost.rss_bytes.map(|bytes| bytes as f64)),
    },
    Family {
        name: "unread_files",
        kind: Kind::Gauge,
        unit: "",
        help: "Files that could not be read, by collector and reason; metrics that come from them are absent.",
        labels: &["collector", "reason"],
        section: Section::Monitor,
        read: |page, rows| {
            let mut counts: BTreeMap<(&str, Reason), u64> = BTreeMap::new();
            for ((section, reason), count) in &page.frame.unread {
                let sum = counts.entry((collector(section), *reason)).or_default();
                *sum = sum.saturating_add(*count);
            }
            for ((collector, reason), count) in counts {
                rows.add(&[("collector", &collector), ("reason", &reason.name())], Some(count as f64));
            }
        },
    },
];

/// The collector that fills a section of a sample; most bear its name.
fn collector(section: &'static str) -> &'static str {
    match section {
        "load" | "cpu_times" => "cpus",
        "cpu_topology" | "node_topology" | "domains" | "pci_devices" => "topology",
        "memory_bandwidth" => "resctrl",
        "accelerator_clients" => "accelerators",
        "cooling_devices" => "cooling",
        "irqs_arch" => "irqs",
        "nic_queues" => "nics",
        "net_stats" | "kernel_tables" => "netstat",
        "cgroup_io" | "cgroup_mounts" => "cgroups",
        "threads" => "processes",
        "socket_owners" | "listeners" | "peers" => "sockets",
        "waits" => "off_cpu",
        same => same,
    }
}

pub(super) const COLLECTORS: &[Family] = &[Family {
    name: "collector_duration_seconds",
    kind: Kind::Gauge,
    unit: "seconds",
    help: "Duration of the last run of each collector.",
    labels: &["collector"],
    section: Section::Monitor,
    read: |page, rows| {
        for row in &page.frame.cost.collectors {
            rows.add(&[("collector", &row.name)], Some(row.took_ms / 1e3));
        }
    },
}];
