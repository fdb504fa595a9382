//! MEM-01: a group is nearly full of memory that cannot be taken back.

use super::{Finding, Hit, Input, Look, Pace, Preflight, Rule, Severity, Subject, Threshold, before, parts};
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "MEM-01",
    name: "a group is nearly full of memory that cannot be reclaimed",
    why: "At its limit a group first gives page cache back. What it uses besides, anonymous and shared memory, dirty and locked pages, stays: when that reaches the limit, a process is killed.",
    reads: &[Input::Cgroups],
    looks_at: &["memory.current", "memory.max", "memory.stat"],
    thresholds: &[
        Threshold { name: "full", value: 0.85, unit: "fraction", about: "of the limit" },
        Threshold { name: "critical", value: 0.95, unit: "fraction", about: "of the limit, critical" },
        Threshold { name: "exit", value: 0.8, unit: "fraction", about: "over below this" },
    ],
    guards: &["page cache does not count, shared memory does", "page cache that has to be written first", "a group whose own limit it is"],
    advice: &["Raise the limit: systemctl set-property --runtime UNIT MemoryMax=", "Find what grows: anonymous memory or shared memory"],
    references: &["Documentation/admin-guide/cgroup-v2.rst"],
    pace: Pace::USUAL,
    preflight: Some(Preflight { name: "memory limits", says: before::memory_limits }),
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    for cgroup in look.frame().cgroups.iter().filter(|cgroup| parts::has_own_limit(cgroup)) {
        let subject = Subject::Cgroup(Arc::clone(&cgroup.path));
        let Some(memory) = &cgroup.memory else { continue };
        let Some(limit) = memory.effective_limit_bytes.value().or(memory.limit_bytes.value()) else { continue };
        let Some(used) = parts::stuck_bytes(memory) else {
            look.unchecked(subject, "what of its memory is reclaimable could not be read", "memory.stat");
            continue;
        };
        let full = used as f64 / limit.max(1) as f64;
        if full < look.limit("exit") {
            continue;
        }
        let critical = full >= look.limit("critical");
        let bytes = |known: crate::Known<u64>| known.value().map(|bytes| bytes as f64);
        let mut hit = Hit::new(subject.clone(), 0.9)
            .enters(full >= look.limit("full"))
            .severity(if critical { Severity::Critical } else { Severity::Warning })
            .number("full", full, "fraction", "memory.stat")
            .number("limit", limit as f64, "bytes", "memory.max")
            .known("anon", bytes(memory.anon_bytes), "bytes", "memory.stat")
            .known("shmem", bytes(memory.shmem_bytes), "bytes", "memory.stat")
            .known("dirty", bytes(memory.dirty_bytes), "bytes", "memory.stat")
            .known("reclaimable", bytes(memory.reclaimable_bytes), "bytes", "memory.stat");
        hit = hit.covers("MEM-09", subject);
        if memory.swap_growth_bytes_per_second.is_some_and(|growth| growth > 0.0) {
            hit = hit.covers("MEM-08", Subject::Host);
        }
        look.hit(hit);
    }
}

fn title(finding: &Finding) -> String {
    let (full, limit) = (parts::percent(finding.number("full")), parts::bytes(finding.number("limit")));
    format!("{}: {full} of its {limit} cannot be reclaimed", finding.subject)
}
