//! IO-08: a control group is held back by its own I/O limit.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, disk_text, parts};
use super::{dirty_throttling, iowait};
use crate::Reason;
use crate::bottleneck::ResourceKind;
use crate::frame::{Cgroup, Disk, Frame, IoThrottle, WaitClass};
use crate::locale::evidence;
use crate::locale::rule::io_throttled as text;
use std::collections::HashMap;
use std::sync::Arc;

/// Its id.
pub const ID: RuleId = RuleId::new("IO-08");
pub(crate) const RATE: Threshold = ID.threshold(text::threshold::RATE, 0.95, "fraction");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 0.9, "fraction");
pub(crate) const WAIT: Threshold = ID.threshold(text::threshold::WAIT, 0.1, "fraction");
pub(crate) const CRITICAL: Threshold = ID.threshold(text::threshold::CRITICAL, 0.75, "fraction");
pub(crate) const DEVICE: Threshold = ID.threshold(text::threshold::DEVICE, 0.9, "fraction");
pub(crate) const SHARED: Threshold = ID.threshold(text::threshold::SHARED, 0.7, "fraction");
pub(crate) const OTHERS: Threshold = ID.threshold(text::threshold::OTHERS, 0.1, "fraction");

/// Samples over which tasks that wait are counted where nobody measures how long they wait.
const COUNTED: usize = 10;

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    advises: Some(|finding| if is_shared(finding) { text::ADVICE_SHARED } else { text::ADVICE }),
    limits: |finding| if is_shared(finding) { &[] } else { &[ResourceKind::IoThrottle] },
    reads: &[Input::Cgroups, Input::Disks],
    sources: &["io.max", "io.stat", "io.pressure", "/proc/PID/stat", "/proc/diskstats"],
    thresholds: &[RATE, EXIT, WAIT, CRITICAL, DEVICE, SHARED, OTHERS],
    references: &[
        "Documentation/admin-guide/cgroup-v2.rst",
        "Documentation/admin-guide/cgroup-v1/blkio-controller.rst",
    ],
    pace: Pace::USUAL,
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    let unread = |gap: &&crate::Gap| {
        let is_limit = ["io.max", "bps_device", "iops_device"].iter().any(|file| gap.path.ends_with(file));
        is_limit && gap.reason != Reason::NotFound
    };
    if frame.gaps.iter().any(|gap| unread(&gap)) {
        context.unchecked(Subject::Host, &text::UNREAD, "io.max, blkio.throttle.*_device");
    }
    let groups = frame.cgroups.iter().filter_map(|cgroup| Some((cgroup, cgroup.io_throttle()?)));
    let exit = context.limit(&EXIT);
    let throttled: Vec<_> = groups.filter(|(_, (_, throttle))| throttle.share() >= exit).collect();
    let tasks = if throttled.is_empty() { HashMap::new() } else { tasks(frame) };
    for (cgroup, (io, throttle)) in throttled {
        let disk = frame.disks.iter().find(|disk| disk.dev == io.dev);
        let wait = waits(context, cgroup, tasks.get(&*cgroup.path));
        let busy = disk.and_then(|disk| disk.utilisation);
        let others = disk.map(|disk| others(context, disk, &cgroup.path)).unwrap_or_default();
        let least = if others.is_empty() { &DEVICE } else { &SHARED };
        // What the device could not serve anyway, or others need, is not lost by the limit.
        let shared = busy.is_some_and(|busy| busy >= context.limit(least));
        let severity = match wait {
            _ if shared => Severity::Info,
            Some((wait, _)) if wait >= context.limit(&CRITICAL) => Severity::Critical,
            Some((wait, _)) if wait >= context.limit(&WAIT) => Severity::Warning,
            _ => Severity::Info,
        };
        let hit = Hit::new(Subject::Cgroup(Arc::clone(&cgroup.path)), 0.85)
            .enters(throttle.share() >= context.limit(&RATE))
            .severity(severity);
        let mut hit = measured(hit, cgroup.version, throttle)
            .text(
                evidence::DISK,
                disk.map_or_else(|| number(io.dev).into(), |disk| Arc::clone(&disk.name)),
                "/proc/diskstats",
            )
            .known(evidence::UTILISATION, busy, "fraction", "/proc/diskstats");
        if let Some((wait, source)) = wait {
            hit = hit.number(evidence::WAIT, wait, "fraction", source);
        }
        if shared {
            let names = if others.is_empty() { text::NOBODY.to_string() } else { parts::list(others, 4) };
            hit = hit.text(evidence::OTHER_USERS, names, "io.stat, /proc/PID/io");
        } else if severity > Severity::Info {
            hit = hit
                .covers(iowait::ID, Subject::Host)
                .covers(dirty_throttling::ID, Subject::Cgroup(Arc::clone(&cgroup.path)));
        }
        context.hit(hit);
    }
}

/// The rate and the limit, and the files of the group's version that have them.
fn measured(hit: Hit, version: u32, throttle: IoThrottle) -> Hit {
    let IoThrottle { what, rate, limit, .. } = throttle;
    let is_bytes = what.ends_with("bytes");
    let (name, unit) = if is_bytes { (evidence::BYTES, "bytes/s") } else { (evidence::REQUESTS, "1/s") };
    let (counted, limited) = match (version, what) {
        (1, "read_bytes") => ("blkio.throttle.io_service_bytes", "blkio.throttle.read_bps_device"),
        (1, "write_bytes") => ("blkio.throttle.io_service_bytes", "blkio.throttle.write_bps_device"),
        (1, "reads") => ("blkio.throttle.io_serviced", "blkio.throttle.read_iops_device"),
        (1, _) => ("blkio.throttle.io_serviced", "blkio.throttle.write_iops_device"),
        _ => ("io.stat", "io.max"),
    };
    let direction = if what.starts_with("read") { text::READS } else { text::WRITES };
    hit.number(name, rate, unit, counted).number(evidence::LIMIT, limit, unit, limited).text(
        evidence::THROTTLED_IO,
        direction.as_str(),
        limited,
    )
}

/// What the tasks of a group and of those below it wait for.
#[derive(Clone, Copy, Debug, Default)]
struct Inside {
    /// True while one of them is blocked.
    blocked: bool,
    /// Of the one that sleeps most for a disk, the share of the time.
    asleep: Option<f64>,
}

/// Groups with tasks in them or below them.
fn tasks(frame: &Frame) -> HashMap<&str, Inside> {
    let mut groups: HashMap<&str, Inside> = HashMap::new();
    for process in frame.processes.iter().filter(|process| !process.kernel) {
        let blocked = process.blocked_threads > 0 || process.state == 'D';
        let asleep = process.off_cpu.as_ref().map(|off_cpu| off_cpu.share(WaitClass::Disk));
        for path in from(process.io_group()) {
            let inside = groups.entry(path).or_default();
            inside.blocked |= blocked;
            inside.asleep = inside.asleep.into_iter().chain(asleep).max_by(f64::total_cmp);
        }
    }
    groups
}

/// A group's path and those of the groups above it.
fn from(path: &str) -> impl Iterator<Item = &str> {
    let above = std::iter::successors(Some(path), |path| path.rsplit_once('/').map(|(above, _)| above));
    above.chain((path != "/").then_some("/"))
}

/// Share of the time in which some task of a group waits for I/O, and where that is from: of what is known the most, since
/// pressure counts no asynchronous requests and states are samples. None where nothing is known.
fn waits(context: &mut RuleContext<'_>, cgroup: &Cgroup, inside: Option<&Inside>) -> Option<(f64, &'static str)> {
    let pressure = cgroup.pressure.io.and_then(|stall| stall.some_ratio).map(|ratio| (ratio, "io.pressure"));
    let asleep = inside.and_then(|inside| inside.asleep).map(|share| (share, "/proc/PID/task/TID/syscall"));
    let state = inside.map(|inside| {
        let key = Subject::Cgroup(Arc::clone(&cgroup.path));
        let seen = context.remember_newest(&key, f64::from(u8::from(inside.blocked)), COUNTED);
        (seen.iter().map(|(_, value)| value).sum::<f64>() / seen.len().max(1) as f64, "/proc/PID/stat")
    });
    [pressure, state, asleep].into_iter().flatten().max_by(|a, b| a.0.total_cmp(&b.0))
}

/// Who else uses a device: writers, and groups that read from it, each with a share worth a name.
fn others(context: &RuleContext<'_>, disk: &Disk, own: &str) -> Vec<String> {
    let frame = context.frame();
    let least = context.limit(&OTHERS);
    let is_own = |path: &str| path == own || parts::is_below(path, own) || path != "/" && parts::is_below(own, path);
    let mut names = disk_text::other_writers(frame, disk, least, &is_own);
    names.extend(readers(frame, disk, least, &is_own));
    names.sort();
    names.dedup();
    names
}

/// Groups without others below them that read a share from a device.
fn readers(frame: &Frame, disk: &Disk, least: f64, is_own: &dyn Fn(&str) -> bool) -> Vec<String> {
    let (bytes, reads) = (disk.read_bytes_per_second.unwrap_or(0.0), disk.reads_per_second.unwrap_or(0.0));
    let reads_much = |group: &&Cgroup| {
        group.io.iter().filter(|io| io.dev == disk.dev).any(|io| {
            let much = |own: f64, all: f64| own >= 1.0 && own >= least * all;
            much(io.read_bytes_per_second, bytes) || much(io.reads_per_second, reads)
        })
    };
    let is_leaf = |group: &&Cgroup| {
        !frame.cgroups.iter().any(|other| !other.io.is_empty() && parts::is_below(&other.path, &group.path))
    };
    let groups = frame.cgroups.iter().filter(|group| &*group.path != "/" && !is_own(&group.path));
    let names = groups.filter(reads_much).filter(is_leaf);
    names.map(|group| parts::container_name(group).unwrap_or_else(|| group.path.to_string())).collect()
}

/// `8:16`.
fn number(dev: u64) -> String {
    format!("{}:{}", dev >> 20, dev & 0xf_ffff)
}

/// True where a higher limit takes from others, or gains nothing.
fn is_shared(finding: &Finding) -> bool {
    !finding.text(evidence::OTHER_USERS).is_empty()
}

fn title(finding: &Finding) -> String {
    let subject = &finding.subject.named();
    let limit = finding.number(evidence::LIMIT);
    let is_bytes = finding.number(evidence::BYTES).is_some();
    let limit = &if is_bytes { format!("{}/s", parts::bytes(limit)) } else { format!("{}/s", parts::count(limit)) };
    let io = &finding.text(evidence::THROTTLED_IO);
    let (disk, others) = (&finding.text(evidence::DISK), &finding.text(evidence::OTHER_USERS));
    let busy = &parts::percent(finding.number(evidence::UTILISATION));
    let wait = finding.number(evidence::WAIT).filter(|wait| *wait >= WAIT.value);
    match wait {
        _ if **others == *text::NOBODY.as_str() => text::TitleFull { subject, limit, io, disk, busy }.to_string(),
        _ if is_shared(finding) => text::TitleShared { subject, limit, io, disk, busy, others }.to_string(),
        Some(wait) => text::Title { subject, limit, io, disk, busy, wait: &parts::percent(Some(wait)) }.to_string(),
        None => text::TitleCalm { subject, limit, io, disk, busy }.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{from, parts};
    use proptest::prelude::*;

    proptest! {
        /// The map has the tasks of a group under each group that it is below, and under no other.
        #[test]
        fn a_group_is_below_those_above_it(path in "/?[ab/]{0,6}", other in "/?[ab/]{0,6}") {
            let is_inside = path == other || parts::is_below(&path, &other);
            prop_assert_eq!(from(&path).any(|above| above == other), is_inside);
            prop_assert!(from(&path).any(|above| above == "/"));
        }
    }
}
