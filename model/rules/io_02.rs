//! IO-02: two services write to one saturated disk.

use super::{Finding, Hit, Input, Look, Pace, Rule, Severity, Subject, Threshold, disk_words, parts};
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "IO-02",
    name: "several services share a saturated disk",
    why: "Two services that write hard to one disk wait for each other; apart, each had its own. A message broker beside a search index on one disk is the classic: given a second disk, the broker's iowait fell and the database behind it doubled from 10,000 to 20,000 a second. iowait shows it only while CPUs have nothing else to do.",
    reads: &[Input::Disks],
    looks_at: &["/proc/diskstats", "io.stat", "/proc/PID/io"],
    thresholds: &[
        Threshold { name: "share", value: 0.15, unit: "fraction", about: "of the bytes or of the writes, each" },
    ],
    guards: &["one service with several processes", "what the kernel writes back for nobody in particular"],
    advice: &[
        "Give one of them a disk of its own: move the data directory of the one whose latency matters",
        "Hold the other back: systemctl set-property --runtime UNIT IOWeight=50, IOWriteIOPSMax=; ionice -c3 -p PID",
        "Fewer flushes where a broker commits each message: publisher confirms instead of transactions (IO-04)",
    ],
    references: &["Documentation/admin-guide/cgroup-v2.rst"],
    pace: Pace::USUAL,
    gained: &["a disk of its own for the broker: the database behind it went from 10,000 to 20,000 a second, the whole system ten times as fast with fewer transactions"],
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
        let services = disk_words::services(frame, disk, look.limit("share"));
        if services.len() < 2 {
            continue;
        }
        let critical = services.iter().any(|service| service.delicate);
        let subject = Subject::Disk(Arc::clone(&disk.name));
        let hit = Hit::new(subject.clone(), 0.85)
            .enters(enters)
            .severity(if critical { Severity::Critical } else { Severity::Warning })
            .known("utilisation", disk.utilisation, "fraction", "/proc/diskstats")
            .known("await", disk.await_ms.value(), "ms", "/proc/diskstats")
            .text("writers", disk_words::names(&services), "io.stat, /proc/PID/io")
            .table("who_writes", disk_words::table(&services), "io.stat, io.pressure, /proc/PID/io")
            .covers("IO-01", subject.clone())
            .covers("IO-05", subject.clone())
            .covers("IO-04", subject)
            .covers("MEM-06", Subject::Host)
            .covers("IO-03", Subject::Host);
        let hit = disk_words::tell(hit, look, disk);
        look.hit(hit);
    }
}

fn title(finding: &Finding) -> String {
    let wait = parts::count(finding.number("await"));
    format!("{} is shared by {}; a request takes {wait} ms", finding.subject, finding.text("writers"))
}
