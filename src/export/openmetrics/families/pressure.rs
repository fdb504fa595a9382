//! Pressure.

use crate::export::openmetrics::{Family, Kind, Section};

pub(super) const FAMILIES: &[Family] = &[Family {
    name: "pressure_seconds",
    kind: Kind::Counter,
    unit: "seconds",
    help: "Time since topotop started in which some, or all, tasks waited for a resource (PSI).",
    labels: &["resource", "tasks"],
    section: Section::Pressure,
    read: |page, rows| {
        for (resource, [some, full]) in &page.totals.pressure {
            rows.add(&[("resource", resource), ("tasks", &"some")], *some);
            rows.add(&[("resource", resource), ("tasks", &"full")], *full);
        }
    },
}];
