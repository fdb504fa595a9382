//! MEM-02: page cache fills a group to its limit, and reclaiming it hurts.

use super::{Finding, Hit, Input, Look, Pace, Rule, Severity, Subject, Threshold, parts};
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "MEM-02",
    name: "page cache at the limit is reclaimed under pain",
    why: "Page cache that grows to the limit is normal. When every new page has to take one away first, and pages that were taken are read again, the work waits for reclaim: throughput jitters.",
    reads: &[Input::Cgroups],
    looks_at: &["memory.current", "memory.max", "memory.stat", "memory.pressure"],
    thresholds: &[
        Threshold { name: "full", value: 0.97, unit: "fraction", about: "of the limit" },
        Threshold { name: "exit", value: 0.93, unit: "fraction", about: "over below this" },
        Threshold { name: "file", value: 0.3, unit: "fraction", about: "of the usage that is reclaimable" },
        Threshold { name: "pressure", value: 0.05, unit: "fraction", about: "of the time that some task waited for memory" },
        Threshold { name: "refaults", value: 500.0, unit: "1/s", about: "file pages read again" },
        Threshold { name: "scanned", value: 5000.0, unit: "1/s", about: "pages scanned by its own tasks" },
        Threshold { name: "efficiency", value: 0.5, unit: "fraction", about: "of scanned pages reclaimed, at most" },
    ],
    guards: &["a full group without pain", "a writer that only appends: it scans, and loses nothing"],
    advice: &["Reclaim in the background before it hurts: vm.cache_reclaim_* where the kernel has them (MEM-07)", "Raise the limit, or take the growth away: smaller dirty limits, direct I/O"],
    references: &["Documentation/admin-guide/cgroup-v2.rst", "Documentation/accounting/psi.rst"],
    pace: Pace::QUICK,
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    for cgroup in look.frame().cgroups.iter().filter(|cgroup| parts::has_own_limit(cgroup)) {
        let subject = Subject::Cgroup(Arc::clone(&cgroup.path));
        let Some(memory) = &cgroup.memory else { continue };
        let (Some(current), Some(limit)) = (memory.current_bytes.value(), memory.limit_bytes.value()) else { continue };
        let full = current as f64 / limit.max(1) as f64;
        let cache = memory.reclaimable_bytes.value().map(|bytes| bytes as f64 / current.max(1) as f64);
        if full < look.limit("exit") || cache.is_some_and(|cache| cache < look.limit("file")) {
            continue;
        }
        let stall = cgroup.memory_pressure;
        let pressure = stall.and_then(|stall| stall.some_ratio);
        let (refaults, scanned) = (memory.refault_file_per_second, memory.pgscan_direct_per_second);
        if pressure.is_none() && refaults.is_none() && scanned.is_none() {
            look.unchecked(subject, "full, and nobody knows whether it hurts", "cgroup v2 with memory.pressure, or refaults in memory.stat");
            continue;
        }
        let stolen = memory.pgsteal_direct_per_second.unwrap_or(0.0);
        let wasted = scanned.is_some_and(|scanned| scanned >= look.limit("scanned") && stolen < look.limit("efficiency") * scanned);
        let of = |value: Option<f64>, limit: f64| value.map_or(0.0, |value| value / limit);
        let pain = of(pressure, look.limit("pressure")).max(of(refaults, look.limit("refaults"))).max(f64::from(u8::from(wasted)));
        if pain < 1.0 / 3.0 {
            continue;
        }
        let critical = stall.and_then(|stall| stall.full_ratio).is_some_and(|full| full >= 0.1) || look.is_open("MEM-04");
        let hit = Hit::new(subject.clone(), 0.8)
            .enters(full >= look.limit("full") && pain >= 1.0)
            .severity(if critical { Severity::Critical } else { Severity::Warning })
            .number("full", full, "fraction", "memory.current")
            .number("limit", limit as f64, "bytes", "memory.max")
            .known("reclaimable", cache, "fraction", "memory.stat")
            .known("pressure", pressure, "fraction", "memory.pressure")
            .known("refaults", refaults, "1/s", "memory.stat workingset_refault_file")
            .known("scanned", scanned, "1/s", "memory.stat pgscan_direct")
            .covers("MEM-07", Subject::Host);
        look.hit(hit);
    }
}

fn title(finding: &Finding) -> String {
    let (full, limit) = (parts::percent(finding.number("full")), parts::bytes(finding.number("limit")));
    let cache = parts::percent(finding.number("reclaimable"));
    let mut pain = Vec::new();
    if let Some(pressure) = finding.number("pressure").filter(|pressure| *pressure >= 0.01) {
        pain.push(format!("waits {}", parts::percent(Some(pressure))));
    }
    if let Some(refaults) = finding.number("refaults").filter(|rate| *rate >= 1.0) {
        pain.push(format!("{} refaults/s", parts::count(Some(refaults))));
    }
    format!("{} is at {full} of {limit}, {cache} of it page cache: {}", finding.subject, parts::list(pain, 2))
}
