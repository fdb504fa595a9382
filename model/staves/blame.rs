//! Which stave a finding is about.

use super::Kind;
use crate::rules::Finding;

/// The staves that are short while a finding is open.
pub(super) fn of(finding: &Finding) -> &'static [Kind] {
    match finding.rule.id {
        "CPU-02" => &[Kind::Thread],
        "CPU-05" | "CPU-06" | "BEAM-03" => &[Kind::Quota],
        "NIC-07" => direction(finding),
        "MEM-06" => &[Kind::Disk],
        // They say what runs out of space and how the work is written, not which part is too slow.
        "IO-06" | "IO-07" => &[],
        id => match id.split('-').next().unwrap_or_default() {
            "CPU" | "BEAM" => &[Kind::Core],
            "IRQ" | "NIC" => &[Kind::Softirq],
            "NUMA" => &[Kind::Remote],
            "MEM" => &[Kind::Memory],
            "IO" => &[Kind::Disk],
            _ => &[],
        },
    }
}

/// The fuller direction of a full link.
fn direction(finding: &Finding) -> &'static [Kind] {
    if finding.number("sent") > finding.number("received") { &[Kind::NicOut] } else { &[Kind::NicIn] }
}
