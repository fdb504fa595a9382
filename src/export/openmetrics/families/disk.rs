//! Disks.

use crate::export::openmetrics::{Family, Kind, Page, Section};
use topotop_model::frame::Disk;

pub(super) const FAMILIES: &[Family] = &[
    Family {
        name: "disk_utilization_ratio",
        kind: Kind::Gauge,
        unit: "ratio",
        help: "Share of the last interval with a request in flight.",
        labels: &["device"],
        section: Section::Disk,
        read: |page, rows| listed(page).for_each(|disk| rows.add(&[("device", &disk.name)], disk.utilisation)),
    },
    Family {
        name: "disk_bytes",
        kind: Kind::Counter,
        unit: "bytes",
        help: "Bytes since topotop started, by disk and direction.",
        labels: &["device", "direction"],
        section: Section::Disk,
        read: |page, rows| {
            for disk in listed(page) {
                if let Some([read, written]) = page.totals.disks.get(&disk.name) {
                    rows.add(&[("device", &disk.name), ("direction", &"read")], Some(*read));
                    rows.add(&[("device", &disk.name), ("direction", &"write")], Some(*written));
                }
            }
        },
    },
];

pub(super) const AWAIT: &[Family] = &[Family {
    name: "disk_await_seconds",
    kind: Kind::Gauge,
    unit: "seconds",
    help: "Mean request latency in the last interval; absent without requests.",
    labels: &["device"],
    section: Section::Disk,
    read: |page, rows| {
        for disk in listed(page) {
            rows.add(&[("device", &disk.name)], disk.await_ms.value().map(|ms| ms / 1e3));
        }
    },
}];

/// Memory and files that look like disks are left out.
fn listed<'a>(page: &Page<'a>) -> impl Iterator<Item = &'a Disk> {
    page.frame.disks.iter().filter(|disk| !["loop", "zram", "ram", "rom"].contains(&&*disk.kind))
}
