//! MEM-09: reclaimed pages are read again at once.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Subject, Threshold, parts};
use crate::bottleneck::ResourceKind;
use crate::frame::{Cgroup, Frame};
use crate::locale::evidence;
use crate::locale::rule::refaults as text;
use std::sync::Arc;

/// Its id.
pub const ID: RuleId = RuleId::new("MEM-09");
pub(crate) const FAULTS: Threshold = ID.threshold(text::threshold::FAULTS, 200.0, "1/s");
pub(crate) const REFAULTS: Threshold = ID.threshold(text::threshold::REFAULTS, 0.2, "fraction");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 60.0, "1/s");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Memory],
    reads: &[Input::Cgroups, Input::Memory],
    sources: &["memory.stat pgmajfault, workingset_refault_file, pgsteal", "/proc/vmstat"],
    thresholds: &[FAULTS, REFAULTS, EXIT],
    references: &["Documentation/admin-guide/cgroup-v2.rst", "Documentation/admin-guide/mm/concepts.rst"],
    pace: Pace::QUICK,
    judge,
    title,
    ..Rule::BASE
};

/// Reclaimed and refaulted pages per second.
struct Rates {
    faults: f64,
    refaults: Option<f64>,
    stolen: Option<f64>,
}

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    let mut reported = false;
    let limited: Vec<&Cgroup> = frame.cgroups.iter().filter(|cgroup| parts::has_own_limit(cgroup)).collect();
    for (at, cgroup) in limited.iter().enumerate() {
        let Some(memory) = &cgroup.memory else { continue };
        let subject = Subject::Cgroup(Arc::clone(&cgroup.path));
        let rates = |memory: &crate::frame::CgroupMemory| {
            let (refaults, stolen) = (memory.refault_file_per_second, memory.pgsteal_per_second);
            Some(Rates { faults: memory.pgmajfault_per_second?, refaults, stolen })
        };
        let Some(own) = rates(memory) else { continue };
        if own.faults < context.limit(&EXIT) {
            continue;
        }
        // Of nested control groups, only the lowest one that thrashes is reported.
        let below = limited.iter().skip(at + 1).filter(|other| parts::is_below(&other.path, &cgroup.path));
        let lower =
            below.filter_map(|other| rates(other.memory.as_ref()?)).any(|rates| rates.faults >= own.faults * 0.8);
        if lower {
            continue;
        }
        let mapped = memory.file_mapped_bytes.value().map(|bytes| bytes as f64);
        let who = maps(frame, cgroup);
        reported |= report(context, subject, &own, "memory.stat", mapped, &who);
    }
    let memory = &frame.memory;
    let Some(faults) = memory.pgmajfault_per_second else {
        context.unchecked(Subject::Host, &text::FAULTS_UNREAD, "/proc/vmstat pgmajfault");
        return;
    };
    // The counters of the machine do not include what control groups reclaim at their own limits.
    if !reported && faults >= context.limit(&EXIT) && memory.pgsteal_per_second.is_some_and(|stolen| stolen > 0.0) {
        let rates = Rates { faults, refaults: memory.refault_file_per_second, stolen: memory.pgsteal_per_second };
        report(context, Subject::Host, &rates, "/proc/vmstat", None, "");
    }
}

fn report(
    context: &mut RuleContext<'_>,
    subject: Subject,
    rates: &Rates,
    source: &'static str,
    mapped: Option<f64>,
    who: &str,
) -> bool {
    let (Some(refaults), Some(stolen)) = (rates.refaults, rates.stolen) else {
        if rates.faults >= context.limit(&FAULTS) {
            context.unchecked(subject, &text::UNKNOWN, &text::UNKNOWN_REQUIRES);
        }
        return false;
    };
    let share = refaults / stolen.max(1.0);
    let limit = context.limit(&REFAULTS);
    if stolen < 1.0 || share < limit / 2.0 {
        return false;
    }
    let mut hit = Hit::new(subject, 0.7)
        .enters(rates.faults >= context.limit(&FAULTS) && share >= limit)
        .number(evidence::FAULTS, rates.faults, "1/s", source)
        .number(evidence::REFAULTS, refaults, "1/s", source)
        .number(evidence::RECLAIMED, stolen, "1/s", source)
        .number(evidence::SHARE, share.min(1.0), "fraction", source)
        .known(evidence::MAPPED, mapped, "bytes", source);
    if !who.is_empty() {
        hit = hit.text(evidence::MAPS, who, "/proc/PID/status RssFile");
    }
    context.hit(hit);
    true
}

/// Processes that map files, largest first.
fn maps(frame: &Frame, cgroup: &Cgroup) -> String {
    let mut rows: Vec<_> = frame
        .processes
        .iter()
        .filter(|process| process.cgroup == cgroup.path)
        .filter_map(|process| Some((process.rss_file_bytes.value().filter(|bytes| *bytes > 0)?, process)))
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.0));
    let names = rows
        .iter()
        .map(|(bytes, process)| format!("{} ({}) {}", process.comm, process.pid, parts::bytes(Some(*bytes as f64))));
    parts::list(names, 3)
}

fn title(finding: &Finding) -> String {
    text::Title {
        subject: &finding.subject.named(),
        faults: &parts::count(finding.number(evidence::FAULTS).map(f64::round)),
        share: &parts::percent(finding.number(evidence::SHARE)),
    }
    .to_string()
}
