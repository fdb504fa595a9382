//! IO-02: two services write to one saturated disk.

use super::{Finding, Hit, Input, Look, Pace, Rule, Severity, Subject, Threshold, parts};
use crate::frame::{Frame, WriterId};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "IO-02",
    name: "several services share a saturated disk",
    why: "Two services that write hard to one disk wait for each other. Apart, each had its own.",
    reads: &[Input::Disks],
    looks_at: &["/proc/diskstats", "io.stat", "/proc/PID/io"],
    thresholds: &[
        Threshold { name: "share", value: 0.15, unit: "fraction", about: "of the bytes or of the writes, each" },
    ],
    guards: &["one service with several processes", "what the kernel writes back for nobody in particular"],
    advice: &["Give one of them a disk of its own", "Hold the other back: systemctl set-property --runtime UNIT IOWeight=50, IOWriteIOPSMax="],
    references: &["Documentation/admin-guide/cgroup-v2.rst"],
    pace: Pace::USUAL,
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    for disk in frame.disks.iter().filter(|disk| parts::is_judged(disk)) {
        let (enters, over) = parts::disk_pain(look, disk);
        if over {
            continue;
        }
        let least = look.limit("share");
        let mut services: BTreeMap<String, f64> = BTreeMap::new();
        for writer in &disk.writers {
            let share = writer.bytes_share.into_iter().chain(writer.ops_share).fold(0.0, f64::max);
            if let Some(name) = service(frame, &writer.who).filter(|_| share >= least) {
                *services.entry(name).or_default() += share;
            }
        }
        if services.len() < 2 {
            continue;
        }
        let critical = services.keys().any(|name| parts::is_delicate(name));
        let names = services.iter().map(|(name, share)| format!("{name} {}", parts::percent(Some(*share))));
        let subject = Subject::Disk(Arc::clone(&disk.name));
        let hit = Hit::new(subject.clone(), 0.85)
            .enters(enters)
            .severity(if critical { Severity::Critical } else { Severity::Warning })
            .known("utilisation", disk.utilisation, "fraction", "/proc/diskstats")
            .known("await", disk.await_ms.value(), "ms", "/proc/diskstats")
            .text("writers", parts::list(names, 6), "io.stat, /proc/PID/io")
            .text("mounts", parts::list(disk.mounts.iter().map(|mount| &mount.path), 3), "/proc/self/mountinfo")
            .covers("IO-01", subject.clone())
            .covers("IO-05", subject.clone())
            .covers("IO-04", subject)
            .covers("IO-03", Subject::Host);
        look.hit(hit);
    }
}

/// What a writer belongs to: its group, or its name where it has none of its own.
fn service(frame: &Frame, who: &WriterId) -> Option<String> {
    match who {
        WriterId::Cgroup(path) if &**path == "/" => None,
        WriterId::Cgroup(path) => Some(path.to_string()),
        WriterId::Process(pid) => frame.process(*pid).filter(|process| !process.kernel).map(|process| process.comm.to_string()),
    }
}

fn title(finding: &Finding) -> String {
    let wait = parts::count(finding.number("await"));
    format!("{} is shared by {}; a request takes {wait} ms", finding.subject, finding.text("writers"))
}
