//! IO-01: a disk is served to its end.

use super::{Finding, Hit, Input, Look, Pace, Rule, Severity, Subject, Threshold, disk_words, parts};
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "IO-01",
    name: "a disk is saturated",
    why: "A disk that is busy all the time with requests waiting is the limit of everything that writes through it. iowait tells of it only while CPUs idle: with other work they show none.",
    reads: &[Input::Disks],
    looks_at: &["/proc/diskstats"],
    thresholds: &[
        Threshold { name: "utilisation", value: 0.9, unit: "fraction", about: "of the time with a request on its way" },
        Threshold { name: "exit", value: 0.7, unit: "fraction", about: "over below this" },
        Threshold { name: "queue", value: 4.0, unit: "", about: "requests on their way, mean" },
        Threshold { name: "await", value: 20.0, unit: "ms", about: "time of a request" },
        Threshold { name: "await_rotating", value: 50.0, unit: "ms", about: "the same on a disk that spins" },
        Threshold { name: "critical", value: 0.2, unit: "fraction", about: "of the time that some task waited for I/O, critical" },
    ],
    guards: &["busy all the time with short waits: fast devices serve many at once", "what stands on another device is judged there", "memory disks"],
    advice: &["See who writes: IO-02", "Fewer flushes: IO-04", "A faster disk, or a second one"],
    references: &["Documentation/admin-guide/iostats.rst"],
    pace: Pace::USUAL,
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    let pressure = frame.pressure("io").and_then(|row| row.stall.some_ratio);
    for disk in frame.disks.iter().filter(|disk| parts::is_judged(disk)) {
        let (enters, over) = parts::disk_pain(look, disk);
        if over {
            continue;
        }
        let critical = pressure.is_some_and(|ratio| ratio >= look.limit("critical"));
        let hit = Hit::new(Subject::Disk(Arc::clone(&disk.name)), 0.85)
            .enters(enters)
            .severity(if critical { Severity::Critical } else { Severity::Warning })
            .known("utilisation", disk.utilisation, "fraction", "/proc/diskstats")
            .known("await", disk.await_ms.value(), "ms", "/proc/diskstats")
            .known("queue", disk.queue_depth, "", "/proc/diskstats")
            .known("written", disk.write_bytes_per_second, "bytes/s", "/proc/diskstats")
            .known("read", disk.read_bytes_per_second, "bytes/s", "/proc/diskstats")
            .known("pressure", pressure, "fraction", "/proc/pressure/io")
            .covers("IO-05", Subject::Disk(Arc::clone(&disk.name)))
            .covers("MEM-06", Subject::Host)
            .covers("IO-03", Subject::Host);
        let hit = disk_words::tell(hit, look, disk);
        look.hit(hit);
    }
}

fn title(finding: &Finding) -> String {
    let (busy, wait) = (parts::percent(finding.number("utilisation")), parts::count(finding.number("await")));
    format!("{} is {busy} busy, a request takes {wait} ms", finding.subject)
}
