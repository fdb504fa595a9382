//! Limits of control groups: CPU quota and memory.

use super::{Barrel, Kind, Stave, Verdict};
use crate::frame::Cgroup;
use crate::rules::Subject;
use crate::{Known, Reason, State};
use std::sync::Arc;

/// What people call a group: its container, pod, or the end of its path.
pub(super) fn group_name(cgroup: &Cgroup) -> Arc<str> {
    let container = cgroup.container.as_ref();
    let mut named = container.into_iter().flat_map(|container| [&container.pod_name, &container.container_name]);
    named.find(|name| !name.is_empty()).map_or_else(
        || Arc::from(cgroup.path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(&cgroup.path)),
        Arc::clone,
    )
}

/// True where a limit of some group is there and was not to be had.
fn is_unread(barrel: &Barrel<'_>, files: &[&str]) -> bool {
    let about = |path: &str| files.iter().any(|file| path.ends_with(file));
    barrel.frame.gaps.iter().any(|gap| gap.reason != Reason::NotFound && about(&gap.path))
}

pub(super) fn quota(barrel: &Barrel<'_>) -> Stave {
    let frame = barrel.frame;
    if frame.raw.cgroups.state != State::Read && frame.cgroups.is_empty() {
        return Stave::unknown(Kind::Quota, "not read");
    }
    let (at, throttled) = (QUOTA_FULL, barrel.limit("CPU-05", "throttled", 0.25));
    let periods = barrel.limit("CPU-05", "periods", 5.0) * frame.interval_seconds.unwrap_or(1.0);
    let limited = || {
        frame
            .cgroups
            .iter()
            .filter_map(|group| Some((group, group.cpu.quota_cores.value().filter(|quota| *quota > 0.0)?)))
    };
    let held = |group: &Cgroup| {
        let ran = group.cpu.periods.is_some_and(|ran| ran as f64 >= periods.max(1.0));
        ran && group.cpu.throttled_ratio.is_some_and(|ratio| ratio >= throttled)
    };
    let key = |group: &Cgroup| (barrel.is_blamed(Kind::Quota, &Subject::Cgroup(Arc::clone(&group.path))), held(group));
    let measured =
        limited().filter_map(|(group, quota)| Some((key(group), group.cpu.usage_cores? / quota, group, quota)));
    let fullest = measured.max_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let unread = is_unread(barrel, &["cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us"]);
    match fullest {
        Some((_, share, group, quota)) if held(group) || share >= at || !unread => {
            let stave = Stave::measured(Kind::Quota, share.min(1.0), at);
            let stave = stave.about(Subject::Cgroup(Arc::clone(&group.path)), &group_name(group));
            let used = group.cpu.usage_cores.map(|cores| (cores, "cores"));
            // One that was throttled in many periods is full, however little it used between.
            let (verdict, note) = if held(group) { (Verdict::Guilty, "throttled") } else { (stave.verdict, "") };
            Stave { verdict, note, used, limit: Some((quota, "cores")), ..stave }
        }
        _ if unread => Stave::unknown(Kind::Quota, "a quota could not be read"),
        Some(_) | None if limited().next().is_some() => {
            Stave::unknown(Kind::Quota, barrel.no_rates().unwrap_or("use not measured"))
        }
        _ if frame.host.in_container.value() == Some(true) => {
            Stave::unknown(Kind::Quota, "quotas above the container are hidden")
        }
        _ => Stave::absent(Kind::Quota, "no quota"),
    }
}

/// Use of a quota that leaves nothing, in shares of it.
const QUOTA_FULL: f64 = 0.95;
/// Use of the machine's memory that leaves too little for page cache.
const HOST_FULL: f64 = 0.9;

/// How full of memory that stays one is, with what and of what.
struct Fill {
    stave: Stave,
    blamed: bool,
}

pub(super) fn memory(barrel: &Barrel<'_>) -> Stave {
    let frame = barrel.frame;
    let at = barrel.limit("MEM-01", "full", 0.85);
    let mut unread =
        frame.raw.cgroups.state == State::Read && is_unread(barrel, &["memory.max", "memory.limit_in_bytes"]);
    let mut fills: Vec<Fill> = host(barrel).into_iter().collect();
    let unknown_host = fills.is_empty();
    // Where only the machine's memory limits a group, only the machine counts.
    for group in frame.cgroups.iter().filter(|group| &*group.path != "/") {
        let Some(memory) = &group.memory else { continue };
        let limit = match (memory.is_limited(), memory.effective_limit_bytes) {
            (_, Known::Missing) => {
                unread = true;
                continue;
            }
            (true, Known::Value(limit)) if limit > 0 => limit as f64,
            _ => continue,
        };
        let subject = Subject::Cgroup(Arc::clone(&group.path));
        let blamed = barrel.is_blamed(Kind::Memory, &subject);
        let current = memory.current_bytes.value().map(|bytes| bytes as f64);
        let stays = memory.unreclaimable_bytes.value().map(|bytes| bytes as f64);
        // What stays is no more than all of it.
        let Some(used) = stays.or(current.filter(|current| *current < at * limit)) else {
            unread = true;
            continue;
        };
        let stave = Stave::measured(Kind::Memory, used / limit, at).about(subject, &group_name(group));
        fills.push(Fill {
            blamed,
            stave: Stave { used: Some((used, "bytes")), limit: Some((limit, "bytes")), ..stave },
        });
    }
    let over = |stave: &Stave| stave.share.unwrap_or(0.0) / stave.guilty_at;
    let fullest =
        fills.into_iter().max_by(|a, b| a.blamed.cmp(&b.blamed).then(over(&a.stave).total_cmp(&over(&b.stave))));
    match fullest {
        Some(fill) if fill.blamed || fill.stave.verdict == Verdict::Guilty => fill.stave,
        _ if unread => Stave::unknown(Kind::Memory, "a limit could not be read"),
        _ if unknown_host => Stave::unknown(Kind::Memory, "not read"),
        Some(fill) => fill.stave,
        None => Stave::unknown(Kind::Memory, "not read"),
    }
}

/// The machine's memory against what is available.
fn host(barrel: &Barrel<'_>) -> Option<Fill> {
    let memory = &barrel.frame.memory;
    let total = memory.total_bytes.value().filter(|total| *total > 0)? as f64;
    let used = total - memory.available_bytes.value()? as f64;
    let stave = Stave::measured(Kind::Memory, (used / total).clamp(0.0, 1.0), HOST_FULL);
    let stave = stave.about(Subject::Host, &Arc::from("host"));
    let blamed = barrel.is_blamed(Kind::Memory, &Subject::Host);
    Some(Fill { blamed, stave: Stave { used: Some((used.max(0.0), "bytes")), limit: Some((total, "bytes")), ..stave } })
}
