//! IO-03: CPUs wait for disks.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts};
use crate::bottleneck::ResourceKind;
use crate::locale::evidence;
use crate::locale::rule::iowait as text;

/// Its id.
pub const ID: RuleId = RuleId::new("IO-03");
pub(crate) const CPUS: Threshold = ID.threshold(text::threshold::CPUS, 0.5, "cores");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 0.3, "cores");
pub(crate) const PRESSURE: Threshold = ID.threshold(text::threshold::PRESSURE, 0.1, "fraction");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Disk],
    reads: &[Input::CpuTimes, Input::Disks],
    sources: &["/proc/stat", "/proc/pressure/io"],
    thresholds: &[CPUS, EXIT, PRESSURE],
    references: &["proc(5)", "Documentation/accounting/psi.rst"],
    pace: Pace::USUAL,
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    let waiting: f64 = context.cpus().map(|(_, shares)| shares.iowait).sum();
    if waiting < context.limit(&EXIT) {
        return;
    }
    let pressure = frame.pressure("io").and_then(|row| row.stall.some_ratio);
    let saturated = frame
        .disks
        .iter()
        .filter(|disk| parts::is_judged(disk))
        .any(|disk| parts::disk_pain(context.overrides, context.frame, disk).0);
    let felt = pressure.is_some_and(|ratio| ratio >= context.limit(&PRESSURE));
    if !saturated && !felt {
        return;
    }
    let hit = Hit::new(Subject::Host, 0.7)
        .enters(waiting >= context.limit(&CPUS))
        .severity(if saturated { Severity::Warning } else { Severity::Info })
        .number(evidence::IOWAIT, waiting, "cores", "/proc/stat")
        .known(evidence::PRESSURE, pressure, "fraction", "/proc/pressure/io");
    context.hit(hit);
}

fn title(finding: &Finding) -> String {
    text::Title { cores: &parts::count(finding.number(evidence::IOWAIT)) }.to_string()
}
