//! MEM-06: writers are held because too much waits to be written.

use super::{Finding, Hit, Input, Look, Pace, Rule, Severity, Subject, Threshold, disk_words, parts};
use crate::frame::{Cgroup, Frame};
use std::collections::BTreeSet;
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "MEM-06",
    name: "writers are held for dirty memory",
    why: "What is written goes to memory first. When a limit of what waits there is reached, every writer is slowed to the speed of the disk, the small ones with the big one.",
    reads: &[Input::Memory],
    looks_at: &["/proc/meminfo", "/proc/vmstat nr_dirty_threshold", "memory.stat file_dirty", "/proc/pressure/io"],
    thresholds: &[
        Threshold { name: "dirty", value: 0.8, unit: "fraction", about: "of the limit of dirty memory" },
        Threshold { name: "exit", value: 0.6, unit: "fraction", about: "over below this" },
        Threshold { name: "pressure", value: 0.1, unit: "fraction", about: "of the time that some task waited for I/O" },
        Threshold { name: "group", value: 0.2, unit: "fraction", about: "of a group's limit that is dirty" },
    ],
    guards: &[
        "one writer alone that is as fast as its disk: it is only told",
        "groups of version 1: the kernel holds nobody for them",
    ],
    advice: &[
        "Write back earlier and in smaller portions: sysctl -w vm.dirty_background_bytes=268435456 vm.dirty_bytes=1073741824",
        "Take the big writer elsewhere, or hold it: systemctl set-property --runtime UNIT IOWriteBandwidthMax=",
        "Direct I/O for what nobody reads again soon",
    ],
    references: &["Documentation/admin-guide/sysctl/vm.rst", "Documentation/admin-guide/cgroup-v2.rst"],
    pace: Pace::USUAL,
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    host(look);
    groups(look);
}

fn host(look: &mut Look<'_>) {
    let frame = look.frame();
    let memory = &frame.memory;
    let Some(limit) = memory.dirty_threshold_bytes.value().filter(|limit| *limit > 0) else {
        look.unchecked(Subject::Host, "the limit of dirty memory could not be read", "/proc/vmstat nr_dirty_threshold");
        return;
    };
    let Some(dirty) = memory.dirty_bytes.value() else {
        look.unchecked(Subject::Host, "dirty memory could not be read", "/proc/meminfo");
        return;
    };
    let waiting = dirty.saturating_add(memory.writeback_bytes.value().unwrap_or(0));
    let share = waiting as f64 / limit as f64;
    let pressure = frame.pressure("io").and_then(|row| row.stall.some_ratio);
    if share < look.limit("exit") || pressure.is_some_and(|ratio| ratio < look.limit("pressure") / 2.0) {
        return;
    }
    let held = held(frame);
    let felt = pressure.is_none_or(|ratio| ratio >= look.limit("pressure"));
    let several = concerns_others(frame, &held);
    let mut hit = Hit::new(Subject::Host, 0.7)
        .enters(share >= look.limit("dirty") && felt)
        .severity(if several { Severity::Warning } else { Severity::Info })
        .number("share", share, "fraction", "/proc/meminfo Dirty, Writeback")
        .number("waiting", waiting as f64, "bytes", "/proc/meminfo Dirty, Writeback")
        .number("limit", limit as f64, "bytes", "/proc/vmstat nr_dirty_threshold")
        .known("pressure", pressure, "fraction", "/proc/pressure/io")
        .known("blocked", frame.host.blocked.value().map(|count| count as f64), "", "/proc/stat procs_blocked")
        .text("settings", settings(frame), "/proc/sys/vm");
    if !held.is_empty() {
        hit = hit.text("held", parts::list(held.iter().map(|(name, pid)| format!("{name} ({pid})")), 6), "/proc/PID/stat");
    }
    look.hit(hit);
}

/// True where more than one writer alone is held. Threads that wait are not seen where their process's first one does
/// not: then whoever writes to a disk is held.
fn concerns_others(frame: &Frame, held: &[(Arc<str>, u32)]) -> bool {
    let shared = |disk: &&crate::frame::Disk| disk_words::services(frame, disk, 0.15).len() > 1;
    services(held) > 1
        || held.iter().any(|(name, _)| parts::is_delicate(name))
        || frame.disks.iter().filter(|disk| parts::is_judged(disk)).any(|disk| shared(&disk))
}

/// Processes that wait where nothing can interrupt them, with a thread at least.
fn held(frame: &Frame) -> Vec<(Arc<str>, u32)> {
    let waits = frame.processes.iter().filter(|process| !process.kernel && process.state == 'D');
    waits.map(|process| (Arc::clone(&process.comm), process.pid)).collect()
}

fn services(held: &[(Arc<str>, u32)]) -> usize {
    held.iter().map(|held| &held.0).collect::<BTreeSet<_>>().len()
}

fn settings(frame: &Frame) -> String {
    let names = ["vm.dirty_background_bytes", "vm.dirty_background_ratio", "vm.dirty_bytes", "vm.dirty_ratio"];
    let set = frame.sysctls.iter().filter(|(name, value)| names.contains(&&**name) && &**value != "0");
    parts::list(set.map(|(name, value)| format!("{name}={value}")), 4)
}

fn groups(look: &mut Look<'_>) {
    let frame = look.frame();
    for cgroup in frame.cgroups.iter().filter(|cgroup| cgroup.version == 2 && parts::has_own_limit(cgroup)) {
        let Some(memory) = &cgroup.memory else { continue };
        let (Some(dirty), Some(limit)) = (memory.dirty_bytes.value(), memory.limit_bytes.value()) else { continue };
        let waiting = dirty.saturating_add(memory.writeback_bytes.value().unwrap_or(0));
        let share = waiting as f64 / limit.max(1) as f64;
        let pressure = cgroup.io_pressure.and_then(|stall| stall.some_ratio);
        if share < look.limit("group") * 0.75 || pressure.is_none_or(|ratio| ratio < look.limit("pressure") / 2.0) {
            continue;
        }
        let felt = pressure.is_some_and(|ratio| ratio >= look.limit("pressure"));
        let subject = Subject::Cgroup(Arc::clone(&cgroup.path));
        let hit = Hit::new(subject.clone(), 0.7)
            .enters(share >= look.limit("group") && felt)
            .severity(if look.is_open_at("MEM-02", &subject) { Severity::Warning } else { Severity::Info })
            .number("share", share, "fraction", "memory.stat file_dirty, file_writeback")
            .number("waiting", waiting as f64, "bytes", "memory.stat file_dirty, file_writeback")
            .number("limit", limit as f64, "bytes", "memory.max")
            .known("pressure", pressure, "fraction", "io.pressure")
            .text("written_by", writers(frame, cgroup), "/proc/PID/io");
        look.hit(hit);
    }
}

/// Its processes that write, most first.
fn writers(frame: &Frame, cgroup: &Cgroup) -> String {
    let mut writers: Vec<_> = frame
        .processes
        .iter()
        .filter(|process| process.cgroup == cgroup.path)
        .filter_map(|process| Some((process.write_bytes_per_second.filter(|rate| *rate > 0.0)?, process)))
        .collect();
    writers.sort_by(|a, b| b.0.total_cmp(&a.0));
    let names = writers.iter().map(|(rate, process)| {
        format!("{} ({}) {}/s", process.comm, process.pid, parts::bytes(Some(*rate)))
    });
    parts::list(names, 3)
}

fn title(finding: &Finding) -> String {
    let (share, limit) = (parts::percent(finding.number("share")), parts::bytes(finding.number("limit")));
    let waiting = parts::bytes(finding.number("waiting"));
    if finding.subject == Subject::Host {
        let held = finding.text("held");
        let who = if held.is_empty() { String::new() } else { format!("; held: {held}") };
        return format!("{waiting} wait to be written, {share} of the {limit} at which writers are held{who}");
    }
    format!("{}: {waiting} wait to be written, {share} of its {limit}", finding.subject)
}
