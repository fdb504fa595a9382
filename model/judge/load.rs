//! Whether the machine is under load, and which findings are info only while it is idle.

use crate::frame::{Frame, Metric};
use crate::locale::{evidence, join, judge as text};
use crate::rules::{Hit, Rule, Severity};

/// Load by the metrics of the application: load if any of them shows it, none if no metric is known.
fn application_load(frame: &Frame) -> Option<bool> {
    frame.metrics.iter().filter_map(Metric::shows_load).reduce(|one, other| one || other)
}

/// True if some CPU, disk or link is busy, or tasks wait. A metric of the application, if known, decides alone.
pub(super) fn is_loaded(frame: &Frame) -> bool {
    if let Some(load) = application_load(frame) {
        return load;
    }
    let busy = frame.cpus.iter().filter_map(|cpu| cpu.shares).any(|shares| shares.busy >= 0.7);
    let disk = frame.disks.iter().filter_map(|disk| disk.utilisation).any(|utilisation| utilisation >= 0.6);
    let packets = frame.nics.iter().filter_map(|nic| nic.rx.packets_per_second).any(|packets| packets >= 10_000.0);
    let waits = frame.pressure.iter().filter_map(|row| row.stall.some_ratio).any(|ratio| ratio >= 0.1);
    busy || disk || packets || waits
}

/// Turns placement findings into info while the metrics of the application show that it is idle, or without any while the
/// machine is.
pub(super) fn gate(rule: &Rule, frame: &Frame, is_idle: bool, mut hit: Hit) -> Hit {
    let load = application_load(frame);
    if hit.severity == Severity::Info || !rule.needs_load || load.unwrap_or(!is_idle) {
        return hit;
    }
    if load.is_none() {
        hit.severity = Severity::Info;
        return hit;
    }
    let idle = frame.metrics.iter().filter(|metric| metric.shows_load() == Some(false));
    let metrics = idle.map(|metric| format!("{} = {}", metric.name, metric.value.unwrap_or_default()));
    let metrics = metrics.collect::<Vec<_>>().join(&join::ITEMS);
    hit.severity = Severity::Info;
    hit.text(evidence::APPLICATION, text::NoLoad { metrics: &metrics }.to_string(), "--metric")
}
