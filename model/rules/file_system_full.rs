//! IO-06: a file system is nearly full.

use super::{
    Figure, Finding, Hit, Input, Pace, Preflight, Rule, RuleContext, RuleId, Severity, Strength, Subject, Threshold,
    parts, preflight, series,
};
use crate::bottleneck::ResourceKind;
use crate::frame::{Disk, Frame, Mount};
use crate::locale::evidence;
use crate::locale::rule::file_system_full as text;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Its id.
pub const ID: RuleId = RuleId::new("IO-06");
pub(crate) const FULL: Threshold = ID.threshold(text::threshold::FULL, 0.9, "fraction");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 0.88, "fraction");
pub(crate) const CRITICAL: Threshold = ID.threshold(text::threshold::CRITICAL, 0.97, "fraction");
pub(crate) const PLENTY: Threshold = ID.threshold(text::threshold::PLENTY, 214_748_364_800.0, "bytes");
pub(crate) const HOURS: Threshold = ID.threshold(text::threshold::HOURS, 8.0, "h");
pub(crate) const SOON: Threshold = ID.threshold(text::threshold::SOON, 0.5, "h");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::FileSystem],
    reads: &[Input::Disks],
    sources: &["/proc/self/mountinfo", "statvfs"],
    thresholds: &[FULL, EXIT, CRITICAL, PLENTY, HOURS, SOON],
    references: &["statvfs(3)", "https://www.rabbitmq.com/docs/disk-alarms"],
    pace: Pace::CONFIGURED,
    preflight: Some(Preflight { name: text::PREFLIGHT, says: preflight::space }),
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    if !frame.sections.mounts.is_read() {
        context.unchecked(Subject::Host, &text::MOUNTS_UNREAD, "/proc/self/mountinfo");
        return;
    }
    for (disk, mounts) in by_disk(frame) {
        let subject = Subject::Disk(Arc::clone(&disk.name));
        let mut worst: Option<Hit> = None;
        let mut unread = Vec::new();
        for mount in mounts {
            let Some(full) = full(mount) else {
                if mount.total_bytes.is_missing() {
                    unread.push(Arc::clone(&mount.path));
                }
                continue;
            };
            if let Some(hit) = one(context, &subject, mount, full)
                && worst.as_ref().is_none_or(|worst| rank(&hit) > rank(worst))
            {
                worst = Some(hit);
            }
        }
        if !unread.is_empty() {
            let reason = text::UsageUnread { mounts: &parts::list(unread, 3) }.to_string();
            context.unchecked(subject, &reason, &text::USAGE_UNREAD_REQUIRES);
        }
        if let Some(hit) = worst {
            context.hit(hit);
        }
    }
}

/// Order of hits: those that open a finding first, then by severity and by how full the file system is.
fn rank(hit: &Hit) -> (bool, Severity, u64) {
    let full = hit.evidence.iter().find(|row| row.name == "full").map(|row| &row.value);
    let full = if let Some(Figure::Number(share)) = full { (share * 1e6) as u64 } else { 0 };
    (hit.strength == Strength::Enter, hit.severity, full)
}

/// Every file system once: of the topmost device that it is mounted from.
fn by_disk(frame: &Frame) -> Vec<(&Disk, Vec<&Mount>)> {
    let mut owner: BTreeMap<&str, (&Disk, &Mount)> = BTreeMap::new();
    for disk in &frame.disks {
        for mount in disk.mounts.iter().filter(|mount| !is_made_full(&mount.fs)) {
            let known = owner.entry(&mount.path).or_insert((disk, mount));
            if known.0.lower.is_empty() && !disk.lower.is_empty() {
                *known = (disk, mount);
            }
        }
    }
    let mut rows: Vec<(&Disk, Vec<&Mount>)> = Vec::new();
    for (disk, mount) in owner.into_values() {
        match rows.iter_mut().find(|row| row.0.name == disk.name) {
            Some(row) => row.1.push(mount),
            None => rows.push((disk, vec![mount])),
        }
    }
    rows
}

pub(crate) fn is_made_full(fs: &str) -> bool {
    ["squashfs", "iso9660", "udf", "erofs", "cramfs", "romfs"].contains(&fs)
}

fn is_for_booting(mount: &Mount) -> bool {
    mount.path.starts_with("/boot") || mount.path.starts_with("/efi")
}

/// The larger of the shares of space and inodes in use, and which of the two.
fn full(mount: &Mount) -> Option<(f64, &'static str)> {
    let space = mount.full()?;
    match mount.inodes_full() {
        Some(inodes) if inodes > space => Some((inodes, "inodes")),
        _ => Some((space, "space")),
    }
}

fn one(
    context: &mut RuleContext<'_>,
    subject: &Subject,
    mount: &Mount,
    (share, what): (f64, &'static str),
) -> Option<Hit> {
    let free = mount.free_bytes.value()? as f64;
    let open = context.is_open_at(ID, subject);
    let growth = growth(context, subject, mount, free, if open { STILL_STEADY } else { STEADY });
    let within = context.limit(&HOURS);
    let hours = growth.map(|(rate, _)| free / rate / 3600.0);
    let hours = hours.filter(|hours| *hours <= if open { within * STILL_WITHIN } else { within });
    let soon = hours.zip(growth).is_some_and(|(hours, (_, span))| hours <= context.limit(&SOON) && span >= 300.0);
    if share < context.limit(&EXIT) && hours.is_none() {
        return None;
    }
    let enough = is_for_booting(mount) || (what == "space" && free >= context.limit(&PLENTY));
    let severity = match () {
        () if share >= context.limit(&CRITICAL) && !enough => Severity::Critical,
        () if (share >= context.limit(&EXIT) && !enough) || soon => Severity::Warning,
        () => Severity::Info,
    };
    Some(
        Hit::new(subject.clone(), 0.9)
            .enters(share >= context.limit(&FULL) || hours.is_some_and(|hours| hours <= within))
            .severity(severity)
            .text(evidence::MOUNT, Arc::clone(&mount.path), "/proc/self/mountinfo")
            .text(evidence::FILE_SYSTEM, Arc::clone(&mount.fs), "/proc/self/mountinfo")
            .text(evidence::WHAT, what, "statvfs")
            .number(evidence::FULL, share, "fraction", "statvfs")
            .number(evidence::FREE, free, "bytes", "statvfs")
            .known(evidence::FREE_INODES, mount.inodes_free.value().map(|inodes| inodes as f64), "", "statvfs")
            .known(evidence::GROWTH, growth.map(|(rate, _)| rate), "bytes/s", "statvfs")
            .known(evidence::HOURS, hours, "h", "statvfs"),
    )
}

/// Rank correlation from which on growth counts as steady, and at which an open finding still takes it for that; and how
/// many times the hours may be left then: growth that varies does not open and close a finding.
const STEADY: f64 = 0.9;
const STILL_STEADY: f64 = 0.5;
const STILL_WITHIN: f64 = 2.0;

/// How fast it fills, and over how many seconds that was observed; none without steady growth.
fn growth(
    context: &mut RuleContext<'_>,
    subject: &Subject,
    mount: &Mount,
    free: f64,
    steady: f64,
) -> Option<(f64, f64)> {
    let key = Subject::Disk(format!("{subject} {}", mount.path).into());
    let mut steps = context.remembered(&key);
    // Free space is sampled every few seconds: only changes count, or none for a long time.
    let now = context.frame().stamp.mono_ns as f64 / 1e9;
    if steps.last().is_none_or(|last| last.1.to_bits() != free.to_bits() || now - last.0 >= 30.0) {
        steps = context.remember(&key, free);
    }
    let span = series::span(&steps);
    let recent = series::newest(&steps, 60);
    if steps.len() < 6 || span < 60.0 || series::rank_correlation(recent) > -steady {
        return None;
    }
    let rate = -series::theil_sen(recent)?;
    (rate > 0.0).then_some((rate, span))
}

fn title(finding: &Finding) -> String {
    let (mount, subject) = (&finding.text(evidence::MOUNT), &finding.subject.named());
    let full = &parts::percent(finding.number(evidence::FULL));
    let free = &parts::bytes(finding.number(evidence::FREE));
    let time = finding.number(evidence::HOURS).map(|hours| match hours {
        _ if hours < 1.0 => format!("{:.0} min", hours * 60.0),
        _ => format!("{hours:.1} h"),
    });
    match (finding.text(evidence::WHAT) == "inodes", &time) {
        (false, None) => text::Title { mount, subject, full, free }.to_string(),
        (false, Some(time)) => text::TitleGrowing { mount, subject, full, free, time }.to_string(),
        (true, None) => text::Inodes { mount, subject, full, free }.to_string(),
        (true, Some(time)) => text::InodesGrowing { mount, subject, full, free, time }.to_string(),
    }
}
