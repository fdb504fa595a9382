//! IO-02: several services write to one saturated disk.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, disk_text, parts};
use super::{dirty_throttling, disk_capped, disk_saturated, flush_storm, iowait};
use crate::bottleneck::ResourceKind;
use crate::locale::evidence;
use crate::locale::rule::disk_shared as text;
use std::sync::Arc;

/// Its id.
pub const ID: RuleId = RuleId::new("IO-02");
pub(crate) const SHARE: Threshold = ID.threshold(text::threshold::SHARE, 0.15, "fraction");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    gained: text::GAINED,
    limits: |_| &[ResourceKind::Disk],
    reads: &[Input::Disks],
    sources: &["/proc/diskstats", "io.stat", "/proc/PID/io"],
    thresholds: &[SHARE],
    references: &["Documentation/admin-guide/cgroup-v2.rst"],
    pace: Pace::USUAL,
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    for disk in frame.disks.iter().filter(|disk| parts::is_judged(disk)) {
        let (enters, over) = parts::disk_pain(context.overrides, disk);
        if over {
            continue;
        }
        let services = disk_text::services(frame, disk, context.limit(&SHARE));
        if services.len() < 2 {
            continue;
        }
        let critical = services.iter().any(|service| service.delicate);
        let subject = Subject::Disk(Arc::clone(&disk.name));
        let hit = Hit::new(subject.clone(), 0.85)
            .enters(enters)
            .severity(if critical { Severity::Critical } else { Severity::Warning })
            .known(evidence::UTILISATION, disk.utilisation, "fraction", "/proc/diskstats")
            .known(evidence::AWAIT, disk.await_ms.value(), "ms", "/proc/diskstats")
            .text(evidence::WRITERS, disk_text::names(&services), "io.stat, /proc/PID/io")
            .table(evidence::WHO_WRITES, disk_text::table(&services), "io.stat, io.pressure, /proc/PID/io")
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
    text::Title {
        subject: &finding.subject,
        writers: &finding.text(evidence::WRITERS),
        latency: &parts::count(finding.number(evidence::AWAIT)),
    }
    .to_string()
}
