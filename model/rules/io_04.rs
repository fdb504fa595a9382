//! IO-04: small writes, each flushed.

use super::{Finding, Hit, Input, Look, Pace, Rule, Subject, Threshold, disk_words, parts};
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "IO-04",
    name: "a storm of small flushed writes",
    why: "A write that must be on the disk before the next one costs a flush, and a disk does few of them a second. Transactions do one each; confirms and batches share them: 100,000 messages took 321 s with transactions and 10 s without.",
    reads: &[Input::Disks],
    looks_at: &["/proc/diskstats"],
    thresholds: &[
        Threshold { name: "flushes", value: 0.3, unit: "", about: "flushes for each write" },
        Threshold { name: "size", value: 16384.0, unit: "bytes", about: "mean size of a write, at most" },
        Threshold { name: "writes", value: 50.0, unit: "1/s", about: "writes, at least" },
        Threshold { name: "utilisation", value: 0.6, unit: "fraction", about: "of the time with a request on its way" },
        Threshold { name: "exit", value: 0.4, unit: "fraction", about: "over below this" },
        Threshold { name: "pressure", value: 0.1, unit: "fraction", about: "of the time that some task waited for I/O, where known" },
    ],
    guards: &["kernels before 5.5 count no flushes"],
    advice: &[
        "RabbitMQ: publisher confirms instead of transactions. Keep the transaction where the producer's database commit must be seen first: events that are read back (a change log); commands can do with confirms",
        "Group commit, larger batches: one flush for many",
        "The write-ahead log on a disk of its own, with power-loss protection",
    ],
    references: &["Documentation/admin-guide/iostats.rst", "https://www.rabbitmq.com/docs/confirms"],
    pace: Pace::QUICK,
    gained: &[
        "One report of 100 000 messages: 320.8 s with a transaction for each, 10.2 s without, on one local SSD.",
        "Figures of one site: measure before and after, and see whether the transactions are needed.",
    ],
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    let pressure = frame.pressure("io").and_then(|row| row.stall.some_ratio);
    for disk in frame.disks.iter().filter(|disk| parts::is_judged(disk)) {
        let Some(utilisation) = disk.utilisation.filter(|utilisation| *utilisation >= look.limit("exit")) else { continue };
        let subject = Subject::Disk(Arc::clone(&disk.name));
        let (Some(writes), Some(written)) = (disk.writes_per_second, disk.write_bytes_per_second) else { continue };
        let Some(flushes) = disk.flushes_per_second else {
            look.unchecked(subject, "flushes are not counted", "Linux 5.5");
            continue;
        };
        let size = written / writes.max(1.0);
        let many = writes >= look.limit("writes") && flushes >= look.limit("flushes") * writes && size <= look.limit("size");
        if !many {
            continue;
        }
        let felt = pressure.is_none_or(|ratio| ratio >= look.limit("pressure"));
        let writers = disk_words::services(frame, disk, 0.1);
        let hit = Hit::new(subject.clone(), 0.7)
            .enters(utilisation >= look.limit("utilisation") && felt)
            .number("flushes", flushes, "1/s", "/proc/diskstats")
            .number("writes", writes, "1/s", "/proc/diskstats")
            .number("size", size, "bytes", "/proc/diskstats")
            .number("utilisation", utilisation, "fraction", "/proc/diskstats")
            .known("pressure", pressure, "fraction", "/proc/pressure/io");
        let hit = if writers.is_empty() { hit } else { hit.text("writers", disk_words::names(&writers), "io.stat, /proc/PID/io") };
        look.hit(hit);
    }
}

fn title(finding: &Finding) -> String {
    let (flushes, writes) = (parts::count(finding.number("flushes")), parts::count(finding.number("writes")));
    let size = parts::bytes(finding.number("size"));
    let who = finding.text("writers");
    let who = if who.is_empty() { String::new() } else { format!("; by {who}") };
    format!("{}: {flushes} flushes/s with {writes} writes/s of {size}{who}", finding.subject)
}
