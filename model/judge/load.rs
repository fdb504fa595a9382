//! Whether there is load, and what is only told while there is none.

use crate::frame::{Frame, Metric};
use crate::locale::evidence;
use crate::rules::{Hit, Rule, Severity};

/// What the application's own numbers say of load: any that works is load. None where none of them is known.
fn told(frame: &Frame) -> Option<bool> {
    frame.metrics.iter().filter_map(Metric::shows_load).reduce(|one, other| one || other)
}

/// True where something of the machine is really used: some CPU, disk or link, or somebody waits. Where an application's
/// own number is known, it says alone whether there is load.
pub(super) fn is_loaded(frame: &Frame) -> bool {
    if let Some(told) = told(frame) {
        return told;
    }
    let busy = frame.cpus.iter().filter_map(|cpu| cpu.shares).any(|shares| shares.busy >= 0.7);
    let disk = frame.disks.iter().filter_map(|disk| disk.utilisation).any(|utilisation| utilisation >= 0.6);
    let packets = frame.nics.iter().filter_map(|nic| nic.rx.packets_per_second).any(|packets| packets >= 10_000.0);
    let waits = frame.pressure.iter().filter_map(|row| row.stall.some_ratio).any(|ratio| ratio >= 0.1);
    busy || disk || packets || waits
}

/// Makes what is spread badly a mere information while the application itself says that it does nothing.
pub(super) fn gate(rule: &Rule, frame: &Frame, mut hit: Hit) -> Hit {
    if hit.severity == Severity::Info || told(frame) != Some(false) || !rule.needs_load {
        return hit;
    }
    let idle = frame.metrics.iter().filter(|metric| metric.shows_load() == Some(false));
    let said = idle.map(|metric| format!("{} = {}", metric.name, metric.value.unwrap_or_default()));
    let said = said.collect::<Vec<_>>().join(", ");
    hit.severity = Severity::Info;
    hit.text(evidence::APPLICATION, format!("none: {said}"), "--metric")
}
