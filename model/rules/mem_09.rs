//! MEM-09: what is reclaimed is read again at once.

use super::{Finding, Hit, Input, Look, Pace, Rule, Subject, Threshold, parts};
use crate::frame::{Cgroup, Frame};
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "MEM-09",
    name: "memory thrashes: what is reclaimed is read again",
    why: "Mapped files, programs and logs that are read through memory, live in the page cache. When they are reclaimed and wanted again, each access is a fault that waits for the disk.",
    reads: &[Input::Cgroups, Input::Memory],
    looks_at: &["memory.stat pgmajfault, workingset_refault_file, pgsteal", "/proc/vmstat"],
    thresholds: &[
        Threshold { name: "faults", value: 200.0, unit: "1/s", about: "faults that read from a disk" },
        Threshold { name: "refaults", value: 0.2, unit: "fraction", about: "of what is reclaimed that is read again" },
        Threshold { name: "exit", value: 60.0, unit: "1/s", about: "faults, over below this" },
    ],
    guards: &["programs that start: they fault, and nothing was reclaimed", "a scan that reads everything once"],
    advice: &[
        "More memory for the group: systemctl set-property --runtime UNIT MemoryMax=",
        "Keep what is mapped: systemctl set-property --runtime UNIT MemoryLow=, mlock of hot segments",
        "A broker that maps its log: fewer mapped segments, direct reads of old messages, warm mapped files",
    ],
    references: &["Documentation/admin-guide/cgroup-v2.rst", "Documentation/admin-guide/mm/concepts.rst"],
    pace: Pace::QUICK,
    judge,
    title,
    ..Rule::BASE
};

/// What is reclaimed and comes back, in pages per second.
struct Rates {
    faults: f64,
    refaults: Option<f64>,
    stolen: Option<f64>,
}

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    let mut told = false;
    let limited: Vec<&Cgroup> = frame.cgroups.iter().filter(|cgroup| parts::has_own_limit(cgroup)).collect();
    for (at, cgroup) in limited.iter().enumerate() {
        let Some(memory) = &cgroup.memory else { continue };
        let subject = Subject::Cgroup(Arc::clone(&cgroup.path));
        let rates = |memory: &crate::frame::CgroupMemory| {
            let (refaults, stolen) = (memory.refault_file_per_second, memory.pgsteal_per_second);
            Some(Rates { faults: memory.pgmajfault_per_second?, refaults, stolen })
        };
        let Some(own) = rates(memory) else { continue };
        if own.faults < look.limit("exit") {
            continue;
        }
        // Of groups below each other the lowest that thrashes is told.
        let below = limited.iter().skip(at + 1).filter(|other| parts::is_below(&other.path, &cgroup.path));
        let lower = below.filter_map(|other| rates(other.memory.as_ref()?)).any(|rates| rates.faults >= own.faults * 0.8);
        if lower {
            continue;
        }
        let mapped = memory.file_mapped_bytes.value().map(|bytes| bytes as f64);
        let who = maps(frame, cgroup);
        told |= tell(look, subject, &own, "memory.stat", mapped, &who);
    }
    let memory = &frame.memory;
    let Some(faults) = memory.pgmajfault_per_second else {
        look.unchecked(Subject::Host, "faults that read from a disk could not be read", "/proc/vmstat pgmajfault");
        return;
    };
    // The machine's counts of what is reclaimed are without what groups reclaim at limits of their own.
    if !told && faults >= look.limit("exit") && memory.pgsteal_per_second.is_some_and(|stolen| stolen > 0.0) {
        let rates = Rates { faults, refaults: memory.refault_file_per_second, stolen: memory.pgsteal_per_second };
        tell(look, Subject::Host, &rates, "/proc/vmstat", None, "");
    }
}

fn tell(look: &mut Look<'_>, subject: Subject, rates: &Rates, source: &'static str, mapped: Option<f64>, who: &str) -> bool {
    let (Some(refaults), Some(stolen)) = (rates.refaults, rates.stolen) else {
        if rates.faults >= look.limit("faults") {
            let needs = "refaults and reclaimed pages in memory.stat (cgroup v2)";
            look.unchecked(subject, "it faults, and nobody knows whether what was reclaimed comes back", needs);
        }
        return false;
    };
    let share = refaults / stolen.max(1.0);
    let limit = look.limit("refaults");
    if stolen < 1.0 || share < limit / 2.0 {
        return false;
    }
    let mut hit = Hit::new(subject, 0.7)
        .enters(rates.faults >= look.limit("faults") && share >= limit)
        .number("faults", rates.faults, "1/s", source)
        .number("refaults", refaults, "1/s", source)
        .number("reclaimed", stolen, "1/s", source)
        .number("share", share.min(1.0), "fraction", source)
        .known("mapped", mapped, "bytes", source);
    if !who.is_empty() {
        hit = hit.text("maps", who, "/proc/PID/status RssFile");
    }
    look.hit(hit);
    true
}

/// Who maps files, most first.
fn maps(frame: &Frame, cgroup: &Cgroup) -> String {
    let mut rows: Vec<_> = frame
        .processes
        .iter()
        .filter(|process| process.cgroup == cgroup.path)
        .filter_map(|process| Some((process.rss_file_bytes.value().filter(|bytes| *bytes > 0)?, process)))
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.0));
    let names = rows.iter().map(|(bytes, process)| {
        format!("{} ({}) {}", process.comm, process.pid, parts::bytes(Some(*bytes as f64)))
    });
    parts::list(names, 3)
}

fn title(finding: &Finding) -> String {
    let (faults, share) = (parts::count(finding.number("faults").map(f64::round)), parts::percent(finding.number("share")));
    let what = if finding.subject == Subject::Host { "the machine".to_owned() } else { finding.subject.to_string() };
    format!("{what}: {faults} faults/s read from a disk, {share} of what is reclaimed is read again")
}
