//! Which resource a finding is about.

use super::ResourceKind;
use crate::rules::Finding;

/// The resources that are short while a finding is open.
pub(super) fn of(finding: &Finding) -> &'static [ResourceKind] {
    match finding.rule.id {
        "CPU-02" => &[ResourceKind::Thread],
        "CPU-05" | "CPU-06" | "BEAM-03" => &[ResourceKind::Quota],
        "NIC-07" => direction(finding),
        "MEM-06" => &[ResourceKind::Disk],
        // They say what runs out of space and how the work is written, not which part is too slow.
        "IO-06" | "IO-07" => &[],
        id => match id.split('-').next().unwrap_or_default() {
            "CPU" | "BEAM" => &[ResourceKind::Core],
            "IRQ" | "NIC" => &[ResourceKind::Softirq],
            "NUMA" => &[ResourceKind::Remote],
            "MEM" => &[ResourceKind::Memory],
            "IO" => &[ResourceKind::Disk],
            _ => &[],
        },
    }
}

/// The fuller direction of a full link.
fn direction(finding: &Finding) -> &'static [ResourceKind] {
    if finding.number("sent") > finding.number("received") { &[ResourceKind::NicOut] } else { &[ResourceKind::NicIn] }
}
