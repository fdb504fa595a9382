//! MEM-02: page cache fills a group to its limit, and reclaiming it hurts.

use super::{Finding, Hit, Input, Look, Pace, Rule, Severity, Subject, Threshold, parts, reclaim};
use super::reclaim::Throughput;
use crate::frame::{Cgroup, CgroupMemory};
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
    advice: &[
        "Reclaim in the background before it hurts: vm.cache_reclaim_* of openEuler (MEM-07), vm.pagecache_limit_* of TencentOS and SLES, memory.pagecache_limit.* of Alibaba Cloud Linux; a little at a time through memory.reclaim elsewhere",
        "Raise the limit: systemctl set-property --runtime UNIT MemoryMax=",
        "Take the growth away: smaller dirty limits (vm.dirty_background_bytes), direct I/O, shorter retention",
        "RocketMQ: transientStorePoolEnable=true writes past the page cache that readers use, warmMapedFileEnable=true touches mapped files before they are needed, a shorter fileReservedTime keeps fewer",
    ],
    references: &["Documentation/admin-guide/cgroup-v2.rst", "Documentation/accounting/psi.rst"],
    pace: Pace::QUICK,
    gained: &[
        "One report of RocketMQ on a kernel with periodic reclaim switched on: no dips in long tests at 20 000 messages/s of 1 KB and 14 000/s of 4 KB, where there were some before.",
        "Figures of one site: measure before and after.",
    ],
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let throughput = Throughput::remember(look);
    for cgroup in look.frame().cgroups.iter().filter(|cgroup| parts::has_own_limit(cgroup)) {
        let subject = Subject::Cgroup(Arc::clone(&cgroup.path));
        let Some(memory) = &cgroup.memory else { continue };
        let (Some(current), Some(limit)) = (memory.current_bytes.value(), memory.limit_bytes.value()) else { continue };
        let full = current as f64 / limit.max(1) as f64;
        let Some(pain) = pain(look, cgroup, memory) else {
            if full >= look.limit("exit") {
                let needs = "cgroup v2 with memory.pressure, or refaults in memory.stat";
                look.unchecked(subject, "full, and nobody knows whether it hurts", needs);
            }
            continue;
        };
        let rhythm = reclaim::rhythm(look, cgroup, pain, &throughput);
        let cache = memory.reclaimable_bytes.value().map(|bytes| bytes as f64 / current.max(1) as f64);
        // Bursts that hurt are as bad between them.
        let again = rhythm.as_ref().is_some_and(|rhythm| rhythm.hurts);
        let quiet = (full < look.limit("exit") || pain < 1.0 / 3.0) && !again;
        if quiet || cache.is_some_and(|cache| cache < look.limit("file")) {
            continue;
        }
        let stall = cgroup.memory_pressure;
        let critical = stall.and_then(|stall| stall.full_ratio).is_some_and(|full| full >= 0.1) || look.is_open("MEM-04");
        let mut hit = Hit::new(subject.clone(), 0.8)
            .enters((full >= look.limit("full") && pain >= 1.0) || again)
            .severity(if critical { Severity::Critical } else { Severity::Warning })
            .number("full", full, "fraction", "memory.current")
            .number("limit", limit as f64, "bytes", "memory.max")
            .known("reclaimable", cache, "fraction", "memory.stat")
            .known("pressure", stall.and_then(|stall| stall.some_ratio), "fraction", "memory.pressure")
            .known("refaults", memory.refault_file_per_second, "1/s", "memory.stat workingset_refault_file")
            .known("scanned", memory.pgscan_direct_per_second, "1/s", "memory.stat pgscan_direct")
            .covers("MEM-06", subject.clone())
            .covers("MEM-09", subject)
            .covers("MEM-07", Subject::Host);
        if memory.swap_growth_bytes_per_second.is_some_and(|growth| growth > 0.0) {
            hit = hit.covers("MEM-08", Subject::Host);
        }
        if let Some(rhythm) = rhythm {
            hit = hit.number("period", rhythm.period, "s", "memory.stat pgscan_direct, memory.events max");
            if !rhythm.dips.is_empty() {
                hit = hit.text("dips", rhythm.dips, "/proc/net/dev, cpu.stat, --metric");
            }
        }
        let hit = reclaim::tell(hit, look, cgroup, memory);
        look.hit(hit);
    }
}

/// How much reclaim hurts: from 1 on too much. None where nothing tells.
fn pain(look: &Look<'_>, cgroup: &Cgroup, memory: &CgroupMemory) -> Option<f64> {
    let pressure = cgroup.memory_pressure.and_then(|stall| stall.some_ratio);
    let (refaults, scanned) = (memory.refault_file_per_second, memory.pgscan_direct_per_second);
    if pressure.is_none() && refaults.is_none() && scanned.is_none() {
        return None;
    }
    let stolen = memory.pgsteal_direct_per_second.unwrap_or(0.0);
    let wasted =
        scanned.is_some_and(|scanned| scanned >= look.limit("scanned") && stolen < look.limit("efficiency") * scanned);
    let of = |value: Option<f64>, limit: f64| value.map_or(0.0, |value| value / limit);
    let felt = of(pressure, look.limit("pressure")).max(of(refaults, look.limit("refaults")));
    Some(felt.max(f64::from(u8::from(wasted))))
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
    let every = finding.number("period").map_or_else(String::new, |period| format!(", reclaim every {period:.0} s"));
    format!("{} is at {full} of {limit}, {cache} of it page cache: {}{every}", finding.subject, parts::list(pain, 2))
}
