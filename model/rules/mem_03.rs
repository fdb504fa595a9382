//! MEM-03: a group grows towards its limit.

use super::{Finding, Hit, Input, Look, Pace, Rule, Severity, Subject, Threshold, parts, reclaim, series};
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "MEM-03",
    name: "a group will reach its limit soon",
    why: "Memory that cannot be reclaimed and grows steadily ends in an OOM kill. The time is told while something can be done.",
    reads: &[Input::Cgroups],
    looks_at: &["memory.stat", "memory.max"],
    thresholds: &[
        Threshold { name: "seconds", value: 600.0, unit: "s", about: "time to the limit, at most" },
        Threshold { name: "critical", value: 120.0, unit: "s", about: "time that is critical" },
        Threshold { name: "samples", value: 15.0, unit: "", about: "samples of the trend, at least" },
        Threshold { name: "correlation", value: 0.9, unit: "", about: "rank correlation of time and usage" },
        Threshold { name: "slope", value: 0.001, unit: "1/s", about: "growth in shares of the limit" },
    ],
    guards: &["page cache that grows to a limit is normal and not forecast", "a trend that does not hold"],
    advice: &["Find what grows, or raise the limit before it is reached: systemctl set-property --runtime UNIT MemoryMax="],
    references: &["Documentation/admin-guide/cgroup-v2.rst"],
    pace: Pace { enter: 3, of: 5, exit: 5, latch_seconds: 0, warm_up: 15, at_once: false },
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    for cgroup in look.frame().cgroups.iter().filter(|cgroup| parts::has_own_limit(cgroup)) {
        let subject = Subject::Cgroup(Arc::clone(&cgroup.path));
        let Some(memory) = &cgroup.memory else { continue };
        let (Some(used), Some(limit)) = (parts::stuck_bytes(memory), memory.limit_bytes.value()) else { continue };
        let (used, limit) = (used as f64, limit as f64);
        // What went on lately: a pause or a jump before it must not hide a steady growth.
        let series = look.remember_newest(&subject, used, MOST);
        if (series.len() as f64) < look.limit("samples") || used >= limit {
            continue;
        }
        let least = look.limit("slope") * limit;
        if !may_grow(&series, least) {
            continue;
        }
        let Some(slope) = series::theil_sen(&series) else { continue };
        let seconds = (limit - used) / slope;
        let steady = slope >= least && series::rank_correlation(&series) >= look.limit("correlation");
        if !steady || seconds > look.limit("seconds") {
            continue;
        }
        let hit = Hit::new(subject.clone(), 0.8)
            .severity(if seconds <= look.limit("critical") { Severity::Critical } else { Severity::Warning })
            .number("seconds", seconds, "s", "memory.stat")
            .number("growth", slope, "bytes/s", "memory.stat")
            .number("used", used, "bytes", "memory.stat")
            .number("limit", limit, "bytes", "memory.max")
            .covers("MEM-01", subject);
        let hit = reclaim::tell_java(hit, look.frame(), cgroup);
        look.hit(hit);
    }
}

/// Samples that the trend is taken over at most.
const MOST: usize = 60;

/// False where the means of the first and the last third are too close for a steady growth: to tell costs next to
/// nothing, and is enough for nearly every group.
fn may_grow(series: &[(f64, f64)], least: f64) -> bool {
    let third = series.len() / 3;
    let mean = |part: &[(f64, f64)]| {
        let sum = part.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
        (sum.0 / part.len() as f64, sum.1 / part.len() as f64)
    };
    let (Some(first), Some(last)) = (series.get(..third), series.get(series.len() - third..)) else { return false };
    if first.is_empty() {
        return true;
    }
    let (first, last) = (mean(first), mean(last));
    last.1 - first.1 >= least / 2.0 * (last.0 - first.0)
}

fn title(finding: &Finding) -> String {
    let (growth, limit) = (parts::bytes(finding.number("growth")), parts::bytes(finding.number("limit")));
    let seconds = parts::count(finding.number("seconds").map(f64::round));
    format!("{} grows by {growth}/s and reaches its {limit} in {seconds} s", finding.subject)
}
