//! IO-04: many small flushed writes.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Subject, Threshold, disk_text, parts};
use crate::bottleneck::ResourceKind;
use crate::locale::evidence;
use crate::locale::rule::flush_storm as text;
use std::sync::Arc;

/// Its id.
pub const ID: RuleId = RuleId::new("IO-04");
pub(crate) const FLUSHES: Threshold = ID.threshold(text::threshold::FLUSHES, 0.3, "");
pub(crate) const SIZE: Threshold = ID.threshold(text::threshold::SIZE, 16384.0, "bytes");
pub(crate) const WRITES: Threshold = ID.threshold(text::threshold::WRITES, 50.0, "1/s");
pub(crate) const UTILISATION: Threshold = ID.threshold(text::threshold::UTILISATION, 0.6, "fraction");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 0.4, "fraction");
pub(crate) const SINGLE: Threshold = ID.threshold(text::threshold::SINGLE, 2.0, "");
pub(crate) const PRESSURE: Threshold = ID.threshold(text::threshold::PRESSURE, 0.1, "fraction");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    gained: text::GAINED,
    limits: |_| &[ResourceKind::Disk],
    reads: &[Input::Disks],
    sources: &["/proc/diskstats"],
    thresholds: &[FLUSHES, SIZE, WRITES, UTILISATION, EXIT, PRESSURE, SINGLE],
    references: &["Documentation/admin-guide/iostats.rst", "https://www.rabbitmq.com/docs/confirms"],
    pace: Pace::QUICK,
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    let pressure = frame.pressure("io").and_then(|row| row.stall.some_ratio);
    for disk in frame.disks.iter().filter(|disk| parts::is_judged(disk)) {
        let Some(utilisation) = disk.utilisation.filter(|utilisation| *utilisation >= context.limit(&EXIT)) else {
            continue;
        };
        let subject = Subject::Disk(Arc::clone(&disk.name));
        let (Some(writes), Some(written)) = (disk.writes_per_second, disk.write_bytes_per_second) else { continue };
        let Some(flushes) = disk.flushes_per_second else {
            context.unchecked(subject, &text::UNCOUNTED, "Linux 5.5");
            continue;
        };
        let size = written / writes.max(1.0);
        let small = writes >= context.limit(&WRITES) && size <= context.limit(&SIZE);
        // The kernel sends no flushes to such a cache: whoever waits for each write shows as one request at a time.
        let through = disk.write_through.value() == Some(true) && flushes < context.limit(&FLUSHES) * writes;
        let single = disk.queue_depth.is_some_and(|depth| depth <= context.limit(&SINGLE));
        if !small || (if through { !single } else { flushes < context.limit(&FLUSHES) * writes }) {
            continue;
        }
        if through && pressure.is_none() {
            context.unchecked(subject, &text::WRITE_THROUGH, &text::WRITE_THROUGH_REQUIRES);
            continue;
        }
        let felt = pressure.is_none_or(|ratio| ratio >= context.limit(&PRESSURE));
        let writers = disk_text::services(frame, disk, 0.1);
        let hit = Hit::new(subject.clone(), if through { 0.5 } else { 0.7 })
            .text(
                evidence::CACHE,
                if through { "write through" } else { "write back" },
                "/sys/block/*/queue/write_cache",
            )
            .enters(utilisation >= context.limit(&UTILISATION) && felt)
            .number(evidence::FLUSHES, flushes, "1/s", "/proc/diskstats")
            .number(evidence::WRITES, writes, "1/s", "/proc/diskstats")
            .number(evidence::SIZE, size, "bytes", "/proc/diskstats")
            .number(evidence::UTILISATION, utilisation, "fraction", "/proc/diskstats")
            .known(evidence::PRESSURE, pressure, "fraction", "/proc/pressure/io");
        let hit = if writers.is_empty() {
            hit
        } else {
            hit.text(evidence::WRITERS, disk_text::names(&writers), "io.stat, /proc/PID/io")
        };
        context.hit(hit);
    }
}

fn title(finding: &Finding) -> String {
    let (subject, size) = (&finding.subject.named(), &parts::bytes(finding.number(evidence::SIZE)));
    let flushes = &parts::count(finding.number(evidence::FLUSHES));
    let writes = &parts::count(finding.number(evidence::WRITES));
    if finding.text(evidence::CACHE) == "write through" {
        return match &finding.text(evidence::WRITERS) {
            &"" => text::TitleThrough { subject, writes, size }.to_string(),
            writers => text::TitleThroughWriters { subject, writes, size, writers }.to_string(),
        };
    }
    match &finding.text(evidence::WRITERS) {
        &"" => text::Title { subject, flushes, writes, size }.to_string(),
        writers => text::TitleWriters { subject, flushes, writes, size, writers }.to_string(),
    }
}
