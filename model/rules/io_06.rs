//! IO-06: a file system is nearly full.

use super::{Figure, Finding, Hit, Input, Look, Pace, Preflight, Rule, Severity, Strength, Subject, Threshold, before, parts, series};
use crate::Known;
use crate::frame::{Disk, Frame, Mount};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "IO-06",
    name: "a file system is nearly full",
    why: "Brokers and databases stop taking writes before their disk is full: RabbitMQ blocks every publisher at its free-disk limit, Elasticsearch makes indices read-only at 95 %. Inodes run out just so.",
    reads: &[Input::Disks],
    looks_at: &["/proc/self/mountinfo", "statvfs"],
    thresholds: &[
        Threshold { name: "full", value: 0.9, unit: "fraction", about: "of its space or inodes in use" },
        Threshold { name: "exit", value: 0.88, unit: "fraction", about: "over below this" },
        Threshold { name: "critical", value: 0.97, unit: "fraction", about: "of its space or inodes, critical" },
        Threshold { name: "plenty", value: 214_748_364_800.0, unit: "bytes", about: "free: then it is only told, however large the disk" },
        Threshold { name: "hours", value: 8.0, unit: "h", about: "to the end, as it grew lately: told" },
        Threshold { name: "soon", value: 0.5, unit: "h", about: "to the end: a warning once it grew for five minutes" },
    ],
    guards: &[
        "file systems that are made full: squashfs, ISO images, EROFS",
        "what only the boot loader needs (/boot, EFI): it is only told",
        "growth over less than a minute",
    ],
    advice: &[
        "Free space, or a larger file system, before the broker blocks its publishers",
        "Shorter retention: fileReservedTime of RocketMQ, message TTL, log rotation",
        "See what fills it: du -x, lsof +L1 for files that are deleted and open",
    ],
    references: &["statvfs(3)", "https://www.rabbitmq.com/docs/disk-alarms"],
    pace: Pace::CONFIGURED,
    preflight: Some(Preflight { name: "free disk", says: before::space }),
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    if frame.raw.mounts.value().is_none() {
        look.unchecked(Subject::Host, "what is mounted could not be read", "/proc/self/mountinfo");
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
            if let Some(hit) = one(look, &subject, mount, full)
                && worst.as_ref().is_none_or(|worst| rank(&hit) > rank(worst))
            {
                worst = Some(hit);
            }
        }
        if !unread.is_empty() {
            let reason = format!("how full {} is could not be asked", parts::list(unread, 3));
            look.unchecked(subject, &reason, "a file system that answers, and the right to ask");
        }
        if let Some(hit) = worst {
            look.hit(hit);
        }
    }
}

/// What is worse than another: what opens a finding, then by severity and by how full it is.
fn rank(hit: &Hit) -> (bool, Severity, u64) {
    let full = hit.evidence.iter().find(|row| row.name == "full").map(|row| &row.value);
    let full = if let Some(Figure::Number(share)) = full { (share * 1e6) as u64 } else { 0 };
    (hit.strength == Strength::Enter, hit.severity, full)
}

/// Every file system once: under the topmost device that it is mounted from.
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

fn is_made_full(fs: &str) -> bool {
    ["squashfs", "iso9660", "udf", "erofs", "cramfs", "romfs"].contains(&fs)
}

fn is_for_booting(mount: &Mount) -> bool {
    mount.path.starts_with("/boot") || mount.path.starts_with("/efi")
}

/// Share in use of what runs out first, and what that is.
fn full(mount: &Mount) -> Option<(f64, &'static str)> {
    let used = |total: Known<u64>, free: Known<u64>| {
        let (total, free) = (total.value().filter(|total| *total > 0)?, free.value()?);
        Some(1.0 - free.min(total) as f64 / total as f64)
    };
    // As df counts: of what could be used, which is less than the size where some is kept back.
    let usable = match (mount.used_bytes, mount.free_bytes) {
        (Known::Value(used), Known::Value(free)) => Known::Value(used.saturating_add(free)),
        _ => mount.total_bytes,
    };
    let space = used(usable, mount.free_bytes)?;
    // Some file systems make inodes as they need them: they have none to run out of.
    match used(mount.inodes_total, mount.inodes_free) {
        Some(inodes) if inodes > space => Some((inodes, "inodes")),
        _ => Some((space, "space")),
    }
}

fn one(look: &mut Look<'_>, subject: &Subject, mount: &Mount, (share, what): (f64, &'static str)) -> Option<Hit> {
    let free = mount.free_bytes.value()? as f64;
    let growth = growth(look, subject, mount, free);
    let hours = growth.map(|(rate, _)| free / rate / 3600.0).filter(|hours| *hours <= look.limit("hours"));
    let soon = hours.zip(growth).is_some_and(|(hours, (_, span))| hours <= look.limit("soon") && span >= 300.0);
    if share < look.limit("exit") && hours.is_none() {
        return None;
    }
    let enough = is_for_booting(mount) || (what == "space" && free >= look.limit("plenty"));
    let severity = match () {
        () if share >= look.limit("critical") && !enough => Severity::Critical,
        () if (share >= look.limit("exit") && !enough) || soon => Severity::Warning,
        () => Severity::Info,
    };
    Some(
        Hit::new(subject.clone(), 0.9)
            .enters(share >= look.limit("full") || hours.is_some())
            .severity(severity)
            .text("mount", Arc::clone(&mount.path), "/proc/self/mountinfo")
            .text("file_system", Arc::clone(&mount.fs), "/proc/self/mountinfo")
            .text("what", what, "statvfs")
            .number("full", share, "fraction", "statvfs")
            .number("free", free, "bytes", "statvfs")
            .known("free_inodes", mount.inodes_free.value().map(|inodes| inodes as f64), "", "statvfs")
            .known("growth", growth.map(|(rate, _)| rate), "bytes/s", "statvfs")
            .known("hours", hours, "h", "statvfs"),
    )
}

/// How fast it fills and over how many seconds that was seen; none where it does not, or not steadily.
fn growth(look: &mut Look<'_>, subject: &Subject, mount: &Mount, free: f64) -> Option<(f64, f64)> {
    let key = Subject::Disk(format!("{subject} {}", mount.path).into());
    let mut steps = look.remembered(&key);
    // Space is asked for every few seconds: only what changed says anything, or that nothing did for long.
    let now = look.frame().stamp.mono_ns as f64 / 1e9;
    if steps.last().is_none_or(|last| last.1.to_bits() != free.to_bits() || now - last.0 >= 30.0) {
        steps = look.remember(&key, free);
    }
    let span = series::span(&steps);
    let recent = series::newest(&steps, 60);
    if steps.len() < 6 || span < 60.0 || series::rank_correlation(recent) > -0.9 {
        return None;
    }
    let rate = -series::theil_sen(recent)?;
    (rate > 0.0).then_some((rate, span))
}

fn title(finding: &Finding) -> String {
    let (mount, full) = (finding.text("mount"), parts::percent(finding.number("full")));
    let what = if finding.text("what") == "inodes" { " of its inodes" } else { "" };
    let free = parts::bytes(finding.number("free"));
    let hours = finding.number("hours").map_or_else(String::new, |hours| {
        if hours < 1.0 { format!("; full in {:.0} min as it grows", hours * 60.0) } else { format!("; full in {hours:.1} h as it grows") }
    });
    format!("{mount} ({}) is {full} full{what}, {free} free{hours}", finding.subject)
}
