//! IO-02: several services use one saturated disk, or one of them starves the others.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, disk_text, parts};
use super::{dirty_throttling, disk_capped, disk_saturated, flush_storm, iowait};
use crate::bottleneck::ResourceKind;
use crate::locale::evidence;
use crate::locale::rule::disk_shared as text;
use std::sync::Arc;

/// Its id.
pub const ID: RuleId = RuleId::new("IO-02");
pub(crate) const SHARE: Threshold = ID.threshold(text::threshold::SHARE, 0.15, "fraction");
pub(crate) const HOG: Threshold = ID.threshold(text::threshold::HOG, 0.5, "fraction");
pub(crate) const STARVED: Threshold = ID.threshold(text::threshold::STARVED, 0.3, "fraction");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    gained: text::GAINED,
    limits: |_| &[ResourceKind::Disk],
    reads: &[Input::Disks],
    sources: &["/proc/diskstats", "io.stat", "io.pressure", "/proc/PID/io", "/proc/PID/stat"],
    thresholds: &[SHARE, HOG, STARVED],
    references: &["Documentation/admin-guide/cgroup-v2.rst"],
    pace: Pace::USUAL,
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    for disk in frame.disks.iter().filter(|disk| parts::is_judged(disk)) {
        let (enters, over) = parts::disk_pain(context.overrides, context.frame, disk);
        if over {
            continue;
        }
        let share = context.limit(&SHARE);
        let services = disk_text::services(frame, disk, share);
        // A bulk writer leaves the others so little that they have no share: they are who waits.
        let is_hog = services.len() == 1 && services.iter().any(|service| service.share >= context.limit(&HOG));
        let least = context.limit(&STARVED);
        let starved = if is_hog { disk_text::starved(context, disk, share, least) } else { Vec::new() };
        if services.len() < 2 && starved.is_empty() {
            continue;
        }
        let critical = services.iter().chain(&starved).any(|service| service.delicate);
        let all: Vec<_> = services.iter().chain(&starved).cloned().collect();
        let subject = Subject::Disk(Arc::clone(&disk.name));
        let hit = Hit::new(subject.clone(), 0.85)
            .enters(enters)
            .severity(if critical { Severity::Critical } else { Severity::Warning })
            .known(evidence::UTILISATION, disk.utilisation, "fraction", "/proc/diskstats")
            .known(evidence::AWAIT, disk.await_ms.value(), "ms", "/proc/diskstats")
            .text(evidence::WRITERS, disk_text::names(&services), "io.stat, /proc/PID/io")
            .some_text(evidence::WAITING_SERVICES, disk_text::waiting(&starved), "io.pressure, /proc/PID/stat")
            .table(evidence::WHO_WRITES, disk_text::table(&all), "io.stat, io.pressure, /proc/PID/io")
            .covers(disk_saturated::ID, subject.clone())
            .covers(disk_capped::ID, subject.clone())
            .covers(flush_storm::ID, subject)
            .covers(dirty_throttling::ID, Subject::Host)
            .covers(iowait::ID, Subject::Host);
        let hit = disk_text::details(hit, context, disk);
        context.hit(hit);
    }
}

fn title(finding: &Finding) -> String {
    let (subject, writers) = (&finding.subject.named(), &finding.text(evidence::WRITERS));
    let latency = &parts::count(finding.number(evidence::AWAIT));
    match finding.text(evidence::WAITING_SERVICES) {
        "" => text::Title { subject, writers, latency }.to_string(),
        starved => text::TitleStarved { subject, writers, starved: &starved, latency }.to_string(),
    }
}
