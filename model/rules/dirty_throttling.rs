//! MEM-06: writers are throttled by dirty memory.

use super::cgroup_reclaim_stalls;
use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, disk_text, parts};
use crate::bottleneck::ResourceKind;
use crate::frame::{Cgroup, Frame};
use crate::locale::evidence;
use crate::locale::rule::dirty_throttling as text;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Its id.
pub const ID: RuleId = RuleId::new("MEM-06");
pub(crate) const DIRTY: Threshold = ID.threshold(text::threshold::DIRTY, 0.8, "fraction");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 0.6, "fraction");
pub(crate) const PRESSURE: Threshold = ID.threshold(text::threshold::PRESSURE, 0.1, "fraction");
pub(crate) const GROUP: Threshold = ID.threshold(text::threshold::GROUP, 0.2, "fraction");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Disk],
    reads: &[Input::Memory],
    sources: &["/proc/meminfo", "/proc/vmstat nr_dirty_threshold", "memory.stat file_dirty", "/proc/pressure/io"],
    thresholds: &[DIRTY, EXIT, PRESSURE, GROUP],
    references: &["Documentation/admin-guide/sysctl/vm.rst", "Documentation/admin-guide/cgroup-v2.rst"],
    pace: Pace::USUAL,
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    host(context);
    groups(context);
}

fn host(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    let memory = &frame.memory;
    let Some(limit) = memory.dirty_threshold_bytes.value().filter(|limit| *limit > 0) else {
        context.unchecked(Subject::Host, &text::LIMIT_UNREAD, "/proc/vmstat nr_dirty_threshold");
        return;
    };
    let Some(dirty) = memory.dirty_bytes.value() else {
        context.unchecked(Subject::Host, &text::DIRTY_UNREAD, "/proc/meminfo");
        return;
    };
    let waiting = dirty.saturating_add(memory.writeback_bytes.value().unwrap_or(0));
    let share = waiting as f64 / limit as f64;
    let pressure = frame.pressure("io").and_then(|row| row.stall.some_ratio);
    if share < context.limit(&EXIT) || pressure.is_some_and(|ratio| ratio < context.limit(&PRESSURE) / 2.0) {
        return;
    }
    let blocked = blocked(frame);
    let felt = pressure.is_none_or(|ratio| ratio >= context.limit(&PRESSURE));
    let several = concerns_others(frame, &blocked);
    let mut hit = Hit::new(Subject::Host, 0.7)
        .enters(share >= context.limit(&DIRTY) && felt)
        .severity(if several { Severity::Warning } else { Severity::Info })
        .number(evidence::SHARE, share, "fraction", "/proc/meminfo Dirty, Writeback")
        .number(evidence::DIRTY_WRITEBACK, waiting as f64, "bytes", "/proc/meminfo Dirty, Writeback")
        .number(evidence::LIMIT, limit as f64, "bytes", "/proc/vmstat nr_dirty_threshold")
        .known(evidence::PRESSURE, pressure, "fraction", "/proc/pressure/io")
        .known(evidence::BLOCKED, frame.host.blocked.value().map(|count| count as f64), "", "/proc/stat procs_blocked")
        .text(evidence::SETTINGS, settings(frame), "/proc/sys/vm");
    if !blocked.is_empty() {
        hit = hit.text(
            evidence::BLOCKED_WRITERS,
            parts::list(blocked.iter().map(|(name, pid)| format!("{name} ({pid})")), 6),
            "/proc/PID/stat",
        );
    }
    context.hit(hit);
}

/// True if more than a single writer is throttled. A process is in state D only if its first thread is: other blocked
/// threads are not visible, and then every writer of a shared disk counts.
fn concerns_others(frame: &Frame, blocked: &[(Arc<str>, u32)]) -> bool {
    let shared = |disk: &&crate::frame::Disk| disk_text::services(frame, disk, 0.15).len() > 1;
    services(blocked) > 1
        || blocked.iter().any(|(name, _)| parts::is_delicate(name))
        || frame.disks.iter().filter(|disk| parts::is_judged(disk)).any(|disk| shared(&disk))
}

/// Processes in uninterruptible sleep (state D).
fn blocked(frame: &Frame) -> Vec<(Arc<str>, u32)> {
    let waits = frame.processes.iter().filter(|process| !process.kernel && process.state == 'D');
    waits.map(|process| (Arc::clone(&process.comm), process.pid)).collect()
}

fn services(blocked: &[(Arc<str>, u32)]) -> usize {
    blocked.iter().map(|process| &process.0).collect::<BTreeSet<_>>().len()
}

fn settings(frame: &Frame) -> String {
    let names = ["vm.dirty_background_bytes", "vm.dirty_background_ratio", "vm.dirty_bytes", "vm.dirty_ratio"];
    let set = frame.sysctls.iter().filter(|(name, value)| names.contains(&&**name) && &**value != "0");
    parts::list(set.map(|(name, value)| format!("{name}={value}")), 4)
}

fn groups(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    for cgroup in frame.cgroups.iter().filter(|cgroup| cgroup.version == 2 && parts::has_own_limit(cgroup)) {
        let Some(memory) = &cgroup.memory else { continue };
        let (Some(dirty), Some(limit)) = (memory.dirty_bytes.value(), memory.limit_bytes.value()) else { continue };
        let waiting = dirty.saturating_add(memory.writeback_bytes.value().unwrap_or(0));
        let share = waiting as f64 / limit.max(1) as f64;
        let pressure = cgroup.pressure.io.and_then(|stall| stall.some_ratio);
        if share < context.limit(&GROUP) * 0.75 || pressure.is_none_or(|ratio| ratio < context.limit(&PRESSURE) / 2.0) {
            continue;
        }
        let felt = pressure.is_some_and(|ratio| ratio >= context.limit(&PRESSURE));
        let subject = Subject::Cgroup(Arc::clone(&cgroup.path));
        let hit = Hit::new(subject.clone(), 0.7)
            .enters(share >= context.limit(&GROUP) && felt)
            .severity(if context.is_open_at(cgroup_reclaim_stalls::ID, &subject) {
                Severity::Warning
            } else {
                Severity::Info
            })
            .number(evidence::SHARE, share, "fraction", "memory.stat file_dirty, file_writeback")
            .number(evidence::DIRTY_WRITEBACK, waiting as f64, "bytes", "memory.stat file_dirty, file_writeback")
            .number(evidence::LIMIT, limit as f64, "bytes", "memory.max")
            .known(evidence::PRESSURE, pressure, "fraction", "io.pressure")
            .text(evidence::WRITTEN_BY, writers(frame, cgroup), "/proc/PID/io");
        context.hit(hit);
    }
}

/// Its writing processes, largest first.
fn writers(frame: &Frame, cgroup: &Cgroup) -> String {
    let mut writers: Vec<_> = frame
        .processes
        .iter()
        .filter(|process| process.cgroup == cgroup.path)
        .filter_map(|process| Some((process.write_bytes_per_second.filter(|rate| *rate > 0.0)?, process)))
        .collect();
    writers.sort_by(|a, b| b.0.total_cmp(&a.0));
    let names = writers
        .iter()
        .map(|(rate, process)| format!("{} ({}) {}/s", process.comm, process.pid, parts::bytes(Some(*rate))));
    parts::list(names, 3)
}

fn title(finding: &Finding) -> String {
    let share = &parts::percent(finding.number(evidence::SHARE));
    let limit = &parts::bytes(finding.number(evidence::LIMIT));
    let dirty = &parts::bytes(finding.number(evidence::DIRTY_WRITEBACK));
    match (&finding.subject, &finding.text(evidence::BLOCKED_WRITERS)) {
        (Subject::Host, &"") => text::Title { dirty, share, limit }.to_string(),
        (Subject::Host, processes) => text::TitleBlocked { dirty, share, limit, processes }.to_string(),
        (subject, _) => text::TitleGroup { subject: &subject.named(), dirty, share, limit }.to_string(),
    }
}
