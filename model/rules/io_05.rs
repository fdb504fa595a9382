//! IO-05: a disk delivers the same rate whatever is asked of it: a cap, not a limit of its own.

use super::{Finding, Hit, Input, Look, Pace, Rule, Severity, Subject, Threshold, parts, series};
use crate::frame::{Disk, Frame};
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "IO-05",
    name: "a disk is held at a cap",
    why: "Volumes of a cloud have a rate that was paid for. At it requests wait although the device behind has time; the rate stays flat to the percent, which no device of its own does.",
    reads: &[Input::Disks],
    looks_at: &["/proc/diskstats"],
    thresholds: &[
        Threshold { name: "utilisation", value: 0.95, unit: "fraction", about: "of the time with a request on its way" },
        Threshold { name: "variation", value: 0.03, unit: "fraction", about: "of the rate around its mean, at most" },
        Threshold { name: "seconds", value: 30.0, unit: "s", about: "for so long" },
        Threshold { name: "queue", value: 2.0, unit: "", about: "requests on their way, mean, at least" },
        Threshold { name: "requests", value: 50.0, unit: "1/s", about: "requests, at least" },
    ],
    guards: &[
        "one writer that waits for each write: its rate is flat, and nothing waits behind it",
        "a disk of a machine that is not virtual: it is only told",
        "what stands on another device is judged there",
    ],
    advice: &[
        "A volume with a higher rate, or several striped",
        "Fewer and larger requests: batches, group commit, a larger block",
    ],
    references: &["Documentation/admin-guide/iostats.rst"],
    pace: Pace { warm_up: 30, ..Pace::USUAL },
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    for disk in frame.disks.iter().filter(|disk| parts::is_judged(disk)) {
        let (Some(requests), Some(bytes)) = (rate(disk.reads_per_second, disk.writes_per_second), rate(disk.read_bytes_per_second, disk.write_bytes_per_second)) else {
            continue;
        };
        let full = disk.utilisation.is_some_and(|share| share >= look.limit("utilisation"))
            && disk.queue_depth.is_some_and(|depth| depth >= look.limit("queue"));
        if !full || requests < look.limit("requests") {
            continue;
        }
        let key = |what: &str| Subject::Disk(format!("{} {what}", disk.name).into());
        let by_requests = look.remember(&key("requests"), requests);
        let by_bytes = look.remember(&key("bytes"), bytes);
        let (requests_vary, bytes_vary) = (varies(look, &by_requests), varies(look, &by_bytes));
        let most = look.limit("variation");
        let (kind, variation) = match (requests_vary, bytes_vary) {
            (Some(share), _) if share <= most * 1.5 => ("requests", share),
            (_, Some(share)) if share <= most * 1.5 => ("bytes", share),
            _ => continue,
        };
        let virtual_disk = is_virtual(frame, disk);
        let hit = Hit::new(Subject::Disk(Arc::clone(&disk.name)), if virtual_disk { 0.6 } else { 0.5 })
            .enters(variation <= most)
            .severity(if virtual_disk { Severity::Warning } else { Severity::Info })
            .text("flat", kind, "/proc/diskstats")
            .number("requests", requests, "1/s", "/proc/diskstats")
            .number("bytes", bytes, "bytes/s", "/proc/diskstats")
            .number("variation", variation, "fraction", "/proc/diskstats")
            .number("seconds", look.limit("seconds"), "s", "/proc/diskstats")
            .known("utilisation", disk.utilisation, "fraction", "/proc/diskstats")
            .known("queue", disk.queue_depth, "", "/proc/diskstats")
            .known("await", disk.await_ms.value(), "ms", "/proc/diskstats")
            .text("model", if disk.model.is_empty() { "unknown".into() } else { Arc::clone(&disk.model) }, "/sys/block/DISK/device/model");
        look.hit(hit);
    }
}

fn rate(reads: Option<f64>, writes: Option<f64>) -> Option<f64> {
    Some(reads? + writes?)
}

/// How much it varied over the time that counts; none before so long has passed, or where it was not full in between.
fn varies(look: &Look<'_>, values: &[series::Point]) -> Option<f64> {
    let seconds = look.limit("seconds");
    let from = values.last()?.0 - seconds;
    let recent = values.get(values.partition_point(|point| point.0 < from)..)?;
    let pause = look.frame().interval_seconds.unwrap_or(1.0).max(1.0) * 2.5;
    let broken = recent.windows(2).any(|pair| matches!(pair, [a, b] if b.0 - a.0 > pause));
    let long = recent.len() >= 10 && series::span(recent) >= seconds * 0.9;
    (long && !broken).then(|| series::variation(recent)).flatten()
}

/// True for disks that a hypervisor or a cloud lends.
fn is_virtual(frame: &Frame, disk: &Disk) -> bool {
    let models = ["Elastic Block Store", "PersistentDisk", "QEMU", "Virtual", "VBOX"];
    !frame.host.virtualization.is_empty()
        || ["vd", "xvd"].iter().any(|prefix| disk.name.starts_with(prefix))
        || models.iter().any(|model| disk.model.contains(model))
}

fn title(finding: &Finding) -> String {
    let what = if finding.text("flat") == "requests" {
        format!("{} requests/s", parts::count(finding.number("requests").map(f64::round)))
    } else {
        format!("{}/s", parts::bytes(finding.number("bytes")))
    };
    let seconds = parts::count(finding.number("seconds"));
    let vary = finding.number("variation").map_or(0.0, |share| share * 100.0);
    format!("{} stays at {what} for {seconds} s (±{vary:.1} %) while requests wait: it looks like a cap", finding.subject)
}
