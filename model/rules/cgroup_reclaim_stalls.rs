//! MEM-02: page cache fills a control group to its limit, and reclaiming it stalls the workload.

use super::reclaim::Throughput;
use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts, reclaim};
use super::{cache_reclaim, dirty_throttling, oom_kill, refaults, swapping};
use crate::bottleneck::ResourceKind;
use crate::frame::{Cgroup, CgroupMemory};
use crate::locale::evidence;
use crate::locale::rule::cgroup_reclaim_stalls as text;
use std::sync::Arc;

/// Its id.
pub const ID: RuleId = RuleId::new("MEM-02");
pub(crate) const FULL: Threshold = ID.threshold(text::threshold::FULL, 0.97, "fraction");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 0.93, "fraction");
pub(crate) const PRESSURE: Threshold = ID.threshold(text::threshold::PRESSURE, 0.05, "fraction");
pub(crate) const REFAULTS: Threshold = ID.threshold(text::threshold::REFAULTS, 500.0, "1/s");
pub(crate) const SCANNED: Threshold = ID.threshold(text::threshold::SCANNED, 5000.0, "1/s");
pub(crate) const EFFICIENCY: Threshold = ID.threshold(text::threshold::EFFICIENCY, 0.5, "fraction");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    gained: text::GAINED,
    limits: |_| &[ResourceKind::Memory],
    reads: &[Input::Cgroups],
    sources: &["memory.current", "memory.max", "memory.high", "memory.stat", "memory.pressure"],
    thresholds: &[FULL, EXIT, PRESSURE, REFAULTS, SCANNED, EFFICIENCY],
    references: &["Documentation/admin-guide/cgroup-v2.rst", "Documentation/accounting/psi.rst"],
    pace: Pace::QUICK,
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let throughput = Throughput::remember(context);
    for cgroup in &context.frame().cgroups {
        let Some(memory) = &cgroup.memory else { continue };
        let (Some(current), Some(bound)) = (memory.current_bytes.value(), parts::bound(memory)) else { continue };
        let (subject, limit) = (Subject::Cgroup(Arc::clone(&cgroup.path)), bound.bytes);
        let full = current as f64 / limit.max(1) as f64;
        let Some(pain) = pain(context, cgroup, memory) else {
            if full >= context.limit(&EXIT) {
                context.unchecked(subject, &text::UNKNOWN, &text::UNKNOWN_REQUIRES);
            }
            continue;
        };
        let rhythm = reclaim::rhythm(context, cgroup, pain, &throughput);
        let cache = memory.reclaimable_bytes.value().map(|bytes| bytes as f64 / current.max(1) as f64);
        // Bursts that stall the workload count between bursts too.
        let again = rhythm.as_ref().is_some_and(|rhythm| rhythm.hurts);
        let quiet = (full < context.limit(&EXIT) || pain < 1.0 / 3.0) && !again;
        if quiet {
            continue;
        }
        let stall = cgroup.pressure.memory;
        let critical =
            stall.and_then(|stall| stall.full_ratio).is_some_and(|full| full >= 0.1) || context.is_open(oom_kill::ID);
        let mut hit = Hit::new(subject.clone(), 0.8)
            .enters((full >= context.limit(&FULL) && pain >= 1.0) || again)
            .severity(if critical { Severity::Critical } else { Severity::Warning })
            .number(evidence::FULL, full, "fraction", "memory.current")
            .number(evidence::LIMIT, limit as f64, "bytes", bound.file)
            .known(evidence::RECLAIMABLE, cache, "fraction", "memory.stat")
            .known(evidence::PRESSURE, stall.and_then(|stall| stall.some_ratio), "fraction", "memory.pressure")
            .known(evidence::REFAULTS, memory.refault_file_per_second, "1/s", refaults_of(memory))
            .known(evidence::SCANNED, memory.pgscan_direct_per_second, "1/s", "memory.stat pgscan_direct")
            .covers(dirty_throttling::ID, subject.clone())
            .covers(refaults::ID, subject)
            .covers(cache_reclaim::ID, Subject::Host);
        if memory.swap_growth_bytes_per_second.is_some_and(|growth| growth > 0.0) {
            hit = hit.covers(swapping::ID, Subject::Host);
        }
        if let Some(rhythm) = rhythm {
            hit = hit.number(evidence::PERIOD, rhythm.period, "s", "memory.stat pgscan_direct, memory.events max");
            if !rhythm.dips.is_empty() {
                hit = hit.text(evidence::DIPS, rhythm.dips, "/proc/net/dev, cpu.stat, --metric");
            }
        }
        let hit = reclaim::details(hit, context, cgroup, memory);
        context.hit(hit);
    }
}

/// Where refaults of a group are counted.
fn refaults_of(memory: &CgroupMemory) -> &'static str {
    if memory.is_estimated {
        "/proc/vmstat workingset_refault, memory.failcnt"
    } else {
        "memory.stat workingset_refault_file"
    }
}

/// How much reclaim stalls the workload: 1 or more is too much. None if unknown.
pub(super) fn pain(context: &RuleContext<'_>, cgroup: &Cgroup, memory: &CgroupMemory) -> Option<f64> {
    let pressure = cgroup.pressure.memory.and_then(|stall| stall.some_ratio);
    let (refaults, scanned) = (memory.refault_file_per_second, memory.pgscan_direct_per_second);
    if pressure.is_none() && refaults.is_none() && scanned.is_none() {
        return None;
    }
    let stolen = memory.pgsteal_direct_per_second.unwrap_or(0.0);
    let wasted = scanned
        .is_some_and(|scanned| scanned >= context.limit(&SCANNED) && stolen < context.limit(&EFFICIENCY) * scanned);
    let of = |value: Option<f64>, limit: f64| value.map_or(0.0, |value| value / limit);
    let felt = of(pressure, context.limit(&PRESSURE)).max(of(refaults, context.limit(&REFAULTS)));
    Some(felt.max(f64::from(u8::from(wasted))))
}

fn title(finding: &Finding) -> String {
    let mut effects = Vec::new();
    if let Some(pressure) = finding.number(evidence::PRESSURE).filter(|pressure| *pressure >= 0.01) {
        effects.push(text::Pressure { share: &parts::percent(Some(pressure)) }.to_string());
    }
    if let Some(refaults) = finding.number(evidence::REFAULTS).filter(|rate| *rate >= 1.0) {
        effects.push(text::Refaults { rate: &parts::count(Some(refaults)) }.to_string());
    }
    if let Some(period) = finding.number(evidence::PERIOD) {
        effects.push(text::Period { seconds: &format!("{period:.0}") }.to_string());
    }
    let (subject, effects) = (&finding.subject.named(), &parts::list(effects, 3));
    let full = &parts::percent(finding.number(evidence::FULL));
    let limit = &parts::bytes(finding.number(evidence::LIMIT));
    let cache = &parts::percent(finding.number(evidence::RECLAIMABLE));
    if effects.is_empty() {
        return text::Title { subject, full, limit, cache }.to_string();
    }
    text::TitleStalls { subject, full, limit, cache, effects }.to_string()
}
