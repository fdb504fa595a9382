//! IO-01: a disk is saturated.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, disk_text, parts};
use super::{dirty_throttling, disk_capped, iowait};
use crate::bottleneck::ResourceKind;
use crate::frame::Disk;
use crate::locale::rule::disk_saturated as text;
use crate::locale::{Texts, evidence};
use std::sync::Arc;

/// Its id.
pub const ID: RuleId = RuleId::new("IO-01");
pub(crate) const UTILISATION: Threshold = ID.threshold(text::threshold::UTILISATION, 0.9, "fraction");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 0.7, "fraction");
pub(crate) const QUEUE: Threshold = ID.threshold(text::threshold::QUEUE, 4.0, "");
pub(crate) const AWAIT: Threshold = ID.threshold(text::threshold::AWAIT, 20.0, "ms");
pub(crate) const AWAIT_ROTATING: Threshold = ID.threshold(text::threshold::AWAIT_ROTATING, 50.0, "ms");
pub(crate) const AWAIT_QUEUED: Threshold = ID.threshold(text::threshold::AWAIT_QUEUED, 5.0, "ms");
pub(crate) const CAPACITY: Threshold = ID.threshold(text::threshold::CAPACITY, 0.5, "fraction");
pub(crate) const CRITICAL: Threshold = ID.threshold(text::threshold::CRITICAL, 0.2, "fraction");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    advises: Some(advises),
    limits: |_| &[ResourceKind::Disk],
    reads: &[Input::Disks],
    sources: &["/proc/diskstats"],
    thresholds: &[UTILISATION, EXIT, QUEUE, AWAIT, AWAIT_ROTATING, AWAIT_QUEUED, CAPACITY, CRITICAL],
    references: &["Documentation/admin-guide/iostats.rst"],
    pace: Pace::USUAL,
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    let pressure = frame.pressure("io").and_then(|row| row.stall.some_ratio);
    let judged = |disk: &&Disk| parts::is_judged(disk) || parts::holds_requests(frame, disk);
    for disk in frame.disks.iter().filter(judged) {
        let (enters, over) = parts::disk_pain(context.overrides, context.frame, disk);
        if over {
            continue;
        }
        let critical = pressure.is_some_and(|ratio| ratio >= context.limit(&CRITICAL));
        // What the kernel reads by itself, as when it checks an array, nobody waits for.
        let severity = match () {
            () if !crate::bottleneck::is_asked_for(frame, disk) => Severity::Info,
            // What encrypts on the way to a disk has no CPU to do it.
            () if !disk.lower.is_empty() && crate::bottleneck::are_full(frame) => Severity::Info,
            () if critical => Severity::Critical,
            () => Severity::Warning,
        };
        let hit = Hit::new(Subject::Disk(Arc::clone(&disk.name)), 0.85)
            .enters(enters)
            .severity(severity)
            .known(evidence::UTILISATION, disk.utilisation, "fraction", "/proc/diskstats")
            .known(evidence::AWAIT, disk.await_ms.value(), "ms", "/proc/diskstats")
            .known(evidence::QUEUE, disk.queue_depth, "", "/proc/diskstats")
            .known(evidence::WRITTEN, disk.write_bytes_per_second, "bytes/s", "/proc/diskstats")
            .known(evidence::READ, disk.read_bytes_per_second, "bytes/s", "/proc/diskstats")
            .known(evidence::PRESSURE, pressure, "fraction", "/proc/pressure/io")
            .covers(disk_capped::ID, Subject::Disk(Arc::clone(&disk.name)))
            .covers(dirty_throttling::ID, Subject::Host)
            .covers(iowait::ID, Subject::Host);
        // Of reads nobody keeps account by disk.
        let writes = disk.write_bytes_per_second.unwrap_or(0.0) >= disk.read_bytes_per_second.unwrap_or(0.0);
        let writers = if writes { disk_text::services(frame, disk, WRITES) } else { Vec::new() };
        let hit = hit.some_text(evidence::WRITERS, disk_text::names(&writers), "io.stat, /proc/PID/io");
        let hit = disk_text::details(hit, context, disk);
        context.hit(hit);
    }
}

/// Where a disk is read rather than written, flushes and writers do not matter.
fn advises(finding: &Finding) -> Texts {
    let rate = |name| finding.number(name).unwrap_or(0.0);
    let reads = rate(evidence::READ) > MOSTLY * rate(evidence::WRITTEN);
    if reads { text::ADVICE_READS } else { text::ADVICE }
}

/// How many times as much is read where reads are what fills a disk.
const MOSTLY: f64 = 4.0;

/// Share of the writes from which a writer is named.
const WRITES: f64 = 0.1;

fn title(finding: &Finding) -> String {
    let (subject, busy) = (&finding.subject.named(), &parts::percent(finding.number(evidence::UTILISATION)));
    let latency = &parts::count(finding.number(evidence::AWAIT));
    match &finding.text(evidence::WRITERS) {
        &"" => text::Title { subject, busy, latency }.to_string(),
        writers => text::TitleWriters { subject, busy, latency, writers }.to_string(),
    }
}
