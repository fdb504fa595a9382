//! IO-05: a disk runs at a flat rate while requests queue: a rate limit.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts, series};
use crate::bottleneck::ResourceKind;
use crate::frame::{Disk, Frame};
use crate::locale::evidence;
use crate::locale::rule::disk_capped as text;
use std::sync::Arc;

/// Its id.
pub const ID: RuleId = RuleId::new("IO-05");
pub(crate) const UTILISATION: Threshold = ID.threshold(text::threshold::UTILISATION, 0.95, "fraction");
pub(crate) const VARIATION: Threshold = ID.threshold(text::threshold::VARIATION, 0.03, "fraction");
pub(crate) const SECONDS: Threshold = ID.threshold(text::threshold::SECONDS, 30.0, "s");
pub(crate) const QUEUE: Threshold = ID.threshold(text::threshold::QUEUE, 2.0, "");
pub(crate) const AWAIT: Threshold = ID.threshold(text::threshold::AWAIT, 2.0, "ms");
pub(crate) const REQUESTS: Threshold = ID.threshold(text::threshold::REQUESTS, 50.0, "1/s");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Disk],
    reads: &[Input::Disks],
    sources: &["/proc/diskstats"],
    thresholds: &[UTILISATION, VARIATION, SECONDS, QUEUE, REQUESTS, AWAIT],
    references: &["Documentation/admin-guide/iostats.rst"],
    // Each hit is itself about the last half minute.
    pace: Pace { enter: 2, of: 3, warm_up: 29, ..Pace::USUAL },
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    for disk in frame.disks.iter().filter(|disk| parts::is_judged(disk)) {
        let (Some(requests), Some(bytes)) = (
            rate(disk.reads_per_second, disk.writes_per_second),
            rate(disk.read_bytes_per_second, disk.write_bytes_per_second),
        ) else {
            continue;
        };
        let full = disk.utilisation.is_some_and(|share| share >= context.limit(&UTILISATION))
            && disk.queue_depth.is_some_and(|depth| depth >= context.limit(&QUEUE))
            && disk.await_ms.value().is_some_and(|ms| ms >= context.limit(&AWAIT));
        if !full || requests < context.limit(&REQUESTS) {
            continue;
        }
        let key = |what: &str| Subject::Disk(format!("{} {what}", disk.name).into());
        let by_requests = context.remember(&key("requests"), requests);
        let by_bytes = context.remember(&key("bytes"), bytes);
        let (by_requests, by_bytes) = (unbroken(context, &by_requests), unbroken(context, &by_bytes));
        let (requests_vary, bytes_vary) = (varies(context, by_requests), varies(context, by_bytes));
        let most = context.limit(&VARIATION);
        let virtual_disk = is_virtual(frame, disk);
        let severity = if virtual_disk { Severity::Warning } else { Severity::Info };
        if let Some(missing) =
            missing(context, by_requests).filter(|_| is_flat(by_requests, most) || is_flat(by_bytes, most))
        {
            context.gathers(missing, severity);
        }
        let (kind, variation) = match (requests_vary, bytes_vary) {
            (Some(share), _) if share <= most * 1.5 => ("requests", share),
            (_, Some(share)) if share <= most * 1.5 => ("bytes", share),
            _ => continue,
        };
        let hit = Hit::new(Subject::Disk(Arc::clone(&disk.name)), if virtual_disk { 0.6 } else { 0.5 })
            .enters(variation <= most)
            .severity(severity)
            .text(evidence::FLAT, kind, "/proc/diskstats")
            .number(evidence::REQUESTS, requests, "1/s", "/proc/diskstats")
            .number(evidence::BYTES, bytes, "bytes/s", "/proc/diskstats")
            .number(evidence::VARIATION, variation, "fraction", "/proc/diskstats")
            .number(evidence::SECONDS, context.limit(&SECONDS), "s", "/proc/diskstats")
            .known(evidence::UTILISATION, disk.utilisation, "fraction", "/proc/diskstats")
            .known(evidence::QUEUE, disk.queue_depth, "", "/proc/diskstats")
            .known(evidence::AWAIT, disk.await_ms.value(), "ms", "/proc/diskstats")
            .text(
                evidence::MODEL,
                if disk.model.is_empty() { text::UNKNOWN_MODEL.as_str().into() } else { Arc::clone(&disk.model) },
                "/sys/block/DISK/device/model",
            );
        context.hit(hit);
    }
}

fn rate(reads: Option<f64>, writes: Option<f64>) -> Option<f64> {
    Some(reads? + writes?)
}

/// The values of the required duration; none if the disk was not full meanwhile.
fn unbroken<'a>(context: &RuleContext<'_>, values: &'a [series::Point]) -> &'a [series::Point] {
    let from = values.last().map_or(0.0, |newest| newest.0 - context.limit(&SECONDS));
    let recent = values.get(values.partition_point(|point| point.0 < from)..).unwrap_or_default();
    let pause = interval(context).max(1.0) * 2.5;
    let broken = recent.windows(2).any(|pair| matches!(pair, [a, b] if b.0 - a.0 > pause));
    if broken { &[] } else { recent }
}

/// The least values and seconds that show a flat rate.
const VALUES: usize = 10;
const SHARE: f64 = 0.9;

/// Variation over the required duration; none before that has passed.
fn varies(context: &RuleContext<'_>, recent: &[series::Point]) -> Option<f64> {
    let long = recent.len() >= VALUES && series::span(recent) >= context.limit(&SECONDS) * SHARE;
    long.then(|| series::variation(recent)).flatten()
}

/// True if the few values that there are differ little.
fn is_flat(recent: &[series::Point], most: f64) -> bool {
    recent.len() > 2 && series::variation(recent).is_some_and(|share| share <= most)
}

/// Samples that are missing until a finding could open; none where the duration has passed.
fn missing(context: &RuleContext<'_>, recent: &[series::Point]) -> Option<u64> {
    let seconds = context.limit(&SECONDS) * SHARE - series::span(recent);
    let samples = (seconds / interval(context)).ceil().max(VALUES as f64 - recent.len() as f64);
    (samples > 0.0).then(|| samples as u64 + u64::from(context.pace().enter) - 1)
}

fn interval(context: &RuleContext<'_>) -> f64 {
    context.frame().interval_seconds.filter(|seconds| *seconds > 0.0).unwrap_or(1.0)
}

/// True for disks of a hypervisor or a cloud.
fn is_virtual(frame: &Frame, disk: &Disk) -> bool {
    let models = ["Elastic Block Store", "PersistentDisk", "QEMU", "Virtual", "VBOX"];
    !frame.host.virtualization.is_empty()
        || ["vd", "xvd"].iter().any(|prefix| disk.name.starts_with(prefix))
        || models.iter().any(|model| disk.model.contains(model))
}

fn title(finding: &Finding) -> String {
    let rate = if finding.text(evidence::FLAT) == "requests" {
        text::Requests { count: &parts::count(finding.number(evidence::REQUESTS).map(f64::round)) }.to_string()
    } else {
        format!("{}/s", parts::bytes(finding.number(evidence::BYTES)))
    };
    let variation = finding.number(evidence::VARIATION).map_or(0.0, |share| share * 100.0);
    text::Title {
        subject: &finding.subject.named(),
        rate: &rate,
        seconds: &parts::count(finding.number(evidence::SECONDS)),
        variation: &format!("{variation:.1}%"),
    }
    .to_string()
}
