//! Memory limits of control groups, the machine's memory, and swap.

use super::demand::Sum;
use super::member_names::group_name;
use super::resource::{FULL, Member, Waits};
use super::{Inputs, ResourceKind, sections};
use crate::frame::{Cgroup, CgroupMemory, Frame, Process};
use crate::locale::resource::note;
use crate::rules::{Subject, cgroup_reclaim_stalls};
use crate::{Known, Reason};
use std::sync::Arc;

/// Share of a limit at which a group is at it, and still at it.
const LIMIT: (f64, f64) = (0.97, 0.90);
/// Share of `memory.high`, where tasks are throttled.
const HIGH: (f64, f64) = (0.98, 0.95);
/// Share of the machine's memory that is not available.
const HOST: (f64, f64) = (0.90, 0.85);
/// Share of a limit that can be reclaimed where page cache fills it.
const CACHE: f64 = 0.15;
/// Share of what a group reads that it had read before and lost: its cache is too small.
const REFAULTED: f64 = 0.5;
/// Share of the time from which on waiting for memory is a limit although nothing is read back.
const STALLED: f64 = 0.2;
/// Pages a second that direct reclaim scans from which on it matters how many of them it gains.
const SCANNED: f64 = 5000.0;
/// The part of the scanned pages that it gains where they are clean cache.
const EFFICIENT: f64 = 0.5;
/// CPU time of a page that comes back: it is reclaimed, allocated and read, in seconds (measured: 3 µs and more).
const REFAULT_SECONDS: f64 = 2e-6;
/// Pages that the machine reads back per second from which on it could matter whose they are.
const READ_BACK: f64 = 500.0;
/// Pages swapped in per second that somebody notices.
const SWAPPED: f64 = 20.0;

pub(super) fn memory(inputs: &Inputs<'_>) -> Vec<Member> {
    let frame = inputs.frame;
    let mut members: Vec<Member> = Vec::new();
    let mut unread = sections::cgroups(frame) && inputs.is_unread(&["memory.max", "memory.limit_in_bytes"]);
    for group in frame.cgroups.iter().filter(|group| &*group.path != "/") {
        let Some(memory) = &group.memory else { continue };
        match (memory.is_limited(), memory.effective_limit_bytes) {
            (_, Known::Missing) => unread = true,
            (true, Known::Value(limit)) if limit > 0 && memory.current_bytes.value().is_none() => unread = true,
            _ => {}
        }
        members.extend(nearest(inputs, group, memory));
    }
    let suspect = inputs.memory_wait().is_none_or(|wait| wait >= super::resource::WAIT);
    if unread {
        members.push(Member::unknown(ResourceKind::Memory, note::LIMIT_UNREAD, suspect));
    }
    members.push(host(inputs).unwrap_or_else(|| Member::unknown(ResourceKind::Memory, note::NOT_READABLE, suspect)));
    members
}

/// A group against the nearer of its limit and `memory.high`.
fn nearest(inputs: &Inputs<'_>, group: &Cgroup, memory: &CgroupMemory) -> Option<Member> {
    let current = memory.current_bytes.value()? as f64;
    let positive = |limit: Known<u64>| limit.value().filter(|limit| *limit > 0).map(|limit| limit as f64);
    // Of groups below a limit the one that has it is at it.
    let elsewhere =
        |path: &str| path != &*group.path && inputs.frame.cgroup(path).is_some_and(|above| above.memory.is_some());
    let is_own = memory.is_limited() && !elsewhere(&memory.limited_by);
    let limit = positive(memory.effective_limit_bytes).filter(|_| is_own).map(|limit| (limit, LIMIT));
    let high = positive(memory.high_bytes).map(|high| (high, HIGH));
    let least = limit.into_iter().chain(high).min_by(|a, b| a.0.total_cmp(&b.0));
    least.map(|(limit, at)| of_group(inputs, group, memory, (current, limit, at)))
}

/// A group against a limit.
fn of_group(inputs: &Inputs<'_>, group: &Cgroup, memory: &CgroupMemory, against: (f64, f64, (f64, f64))) -> Member {
    let (current, limit, at) = against;
    let (enter, leave) = at;
    let mut member = Member::between(ResourceKind::Memory, current / limit, enter, leave);
    member.scales = false;
    let sum = inputs.demand.within(&group.path, |process: &Process| &process.cgroup);
    let refaults = refaults(inputs, group, memory).unwrap_or(0.0);
    let (wait, proxy) = group_wait(inputs, group, memory, &sum);
    // Who exceeds `memory.high` is put to sleep, whatever it does with its pages.
    let stall = group.pressure.memory.as_ref().and_then(|stall| stall.some_ratio).filter(|_| at == HIGH);
    // Without pressure those tell who sleep where they exceed it.
    let throttled = memory.events_high_per_second.filter(|rate| *rate > 0.0 && at == HIGH && stall.is_none());
    let asleep = throttled.map(|_| (sum.blocked / sum.demand().max(f64::MIN_POSITIVE)).min(1.0));
    let wait = wait.into_iter().chain(stall).chain(asleep).reduce(f64::max);
    member.proxy = proxy || throttled.is_some();
    // Without load nothing is lost.
    let bears = sum.bears || sum.demand() >= 0.1 * inputs.demand.total;
    let wait = wait.map(|wait| if bears { wait } else { 0.0 });
    // What is unknown of one that is full.
    member.suspect = member.enters && wait.is_none();
    let member = member.about(Subject::Cgroup(Arc::clone(&group.path)), &group_name(group));
    let full = member.enters && wait.is_some_and(|wait| wait < super::resource::WAIT);
    let member = member.waits(wait, sum.demand(), Waits { what: "refaults", value: refaults, unit: "1/s" });
    let member = member.of(Some(current), Some(limit), "bytes");
    // Where next to nothing of it can be reclaimed it is no cache.
    let is_cache = memory.reclaimable_bytes.value().is_some_and(|bytes| bytes as f64 >= CACHE * limit);
    // Nor is it harmless where a rule says what harm it does.
    let harms = inputs.findings.iter().any(|finding| {
        finding.rule.id == cgroup_reclaim_stalls::ID && finding.subject == Subject::Cgroup(Arc::clone(&group.path))
    });
    match () {
        () if member.suspect => member.note(note::REFAULTS_UNKNOWN),
        () if full && is_cache && !harms => member.note(note::CACHE_FILLS),
        () => member,
    }
}

/// True where reclaim scans much and gains little: what fills the group is no cache that nobody wants.
fn struggles(memory: &CgroupMemory) -> bool {
    let scanned = memory.pgscan_direct_per_second.filter(|scanned| *scanned >= SCANNED);
    scanned.is_some_and(|scanned| memory.pgsteal_direct_per_second.is_some_and(|gained| gained < EFFICIENT * scanned))
}

/// How often per second a group is at its limit.
fn hits(memory: &CgroupMemory) -> f64 {
    memory.events_max_per_second.unwrap_or(0.0)
}

/// Pages per second that a group read again, in the mean of the last samples.
fn refaults(inputs: &Inputs<'_>, group: &Cgroup, memory: &CgroupMemory) -> Option<f64> {
    memory.refault_file_per_second.map(|now| inputs.refaults.get(&group.path).copied().unwrap_or(now))
}

/// Share of their time that the tasks of a group wait for its memory, and whether that is a stand-in.
fn group_wait(inputs: &Inputs<'_>, group: &Cgroup, memory: &CgroupMemory, sum: &Sum) -> (Option<f64>, bool) {
    let page = inputs.frame.memory.page_bytes.value().unwrap_or(4096) as f64;
    let refaults = refaults(inputs, group, memory);
    let swapping = memory.swap_bytes.value().unwrap_or(0) > 0 && memory.pgmajfault_per_second.unwrap_or(0.0) >= SWAPPED;
    let read: f64 = group.io.iter().map(|io| io.read_bytes_per_second).sum();
    let lost = refaults.unwrap_or(0.0) * page;
    // Where no reads are known, cache that comes back at all was read before.
    let part = if memory.is_estimated { REFAULTED / 2.0 } else { REFAULTED };
    let churns = lost > 0.0 && (read <= 0.0 || lost >= part * read);
    let stall = |stall: &Option<crate::frame::PressureStall>| stall.as_ref().and_then(|stall| stall.some_ratio);
    if !churns && !swapping {
        // Where the kernel says that tasks wait for memory much of their time, they do, whatever is read back.
        let felt = |stall: &f64| *stall >= STALLED || refaults.is_none() || struggles(memory);
        if let Some(stall) = stall(&group.pressure.memory).filter(felt) {
            return (Some(stall), false);
        }
        // Of several groups of version 1 at their limits, and of old kernels, nobody knows whose pages are read back.
        let read_back = inputs.frame.memory.refault_file_per_second.is_none_or(|rate| rate >= READ_BACK);
        if group.version == 1 && refaults.is_none() && hits(memory) > 0.0 && read_back {
            return (None, true);
        }
        // Reads of what was never there, and reclaim of what nobody wants back, are no sign of a limit.
        return (refaults.or(memory.pgmajfault_per_second).map(|_| 0.0), false);
    }
    let pressure = stall(&group.pressure.memory).map(|memory| memory + stall(&group.pressure.io).unwrap_or(0.0));
    let demand = sum.demand().max(f64::MIN_POSITIVE);
    // The CPU time of what comes back is lost as well.
    let estimate = (sum.blocked + refaults.unwrap_or(0.0) * REFAULT_SECONDS) / demand;
    match pressure {
        Some(pressure) => (Some(pressure.max(estimate).min(1.0)), false),
        None => (Some(estimate.min(1.0)), true),
    }
}

/// The memory of the machine that is not available.
fn host(inputs: &Inputs<'_>) -> Option<Member> {
    let memory = &inputs.frame.memory;
    let total = memory.total_bytes.value().filter(|total| *total > 0)? as f64;
    let used = (total - memory.available_bytes.value()? as f64).max(0.0);
    let mut member = Member::between(ResourceKind::Memory, used / total, HOST.0, HOST.1);
    member.scales = false;
    member.proxy = inputs.frame.pressure("memory").is_none();
    let member = member.about(Subject::Host, &Arc::from(note::HOST.as_str()));
    let waits = Waits { what: "refaults", value: memory.refault_file_per_second.unwrap_or(0.0), unit: "1/s" };
    Some(member.waits(inputs.memory_wait(), inputs.demand.total, waits).of(Some(used), Some(total), "bytes"))
}

/// Share of the time that tasks of the whole machine wait for memory; none if nothing tells.
pub(super) fn wait(inputs: &Inputs<'_>) -> Option<f64> {
    let memory = &inputs.frame.memory;
    if let Some(share) = inputs.frame.pressure("memory").and_then(|row| row.stall.some_ratio) {
        return Some(share);
    }
    let swapped = memory.pswpin_per_second;
    let (stalls, refaults) = (memory.allocstall_per_second, memory.refault_file_per_second);
    if swapped.is_none() && stalls.is_none() && refaults.is_none() {
        return None;
    }
    let hurts = swapped.unwrap_or(0.0) >= SWAPPED || stalls.unwrap_or(0.0) >= 1.0 && refaults.unwrap_or(0.0) >= 1000.0;
    // Those in uninterruptible sleep wait for what comes back.
    Some(if hurts { inputs.demand.io_wait().map_or(0.0, |(share, _)| share) } else { 0.0 })
}

pub(super) fn swap(inputs: &Inputs<'_>) -> Vec<Member> {
    let memory = &inputs.frame.memory;
    let (Some(total), Some(free)) = (memory.swap_total_bytes.value(), memory.swap_free_bytes.value()) else {
        return vec![Member::unknown(ResourceKind::Swap, note::NOT_READABLE, false)];
    };
    if total == 0 {
        return vec![Member::absent(ResourceKind::Swap, note::NO_SWAP)];
    }
    let (used, total) = (total.saturating_sub(free) as f64, total as f64);
    let mut member = Member::measured(ResourceKind::Swap, used / total);
    member.scales = false;
    // Space is no capacity: pages that come back are.
    // What zswap has compressed comes back without a disk, and still costs those that want it.
    let swapped = memory.pswpin_per_second.unwrap_or(0.0) + memory.zswpin_per_second.unwrap_or(0.0);
    (member.enters, member.stays) = (used / total >= FULL || swapped >= SWAPPED, swapped >= SWAPPED / 2.0);
    let wait = if swapped > 0.0 { inputs.memory_wait() } else { Some(0.0) };
    let member = member.about(Subject::Host, &Arc::default());
    let waits = Waits { what: "swap_in", value: swapped, unit: "1/s" };
    vec![member.waits(wait, inputs.demand.total, waits).of(Some(used), Some(total), "bytes")]
}

/// True if a file of some control group exists but is not readable.
pub(super) fn is_unread(frame: &Frame, files: &[&str]) -> bool {
    let about = |path: &str| files.iter().any(|file| path.ends_with(file));
    frame.gaps.iter().any(|gap| gap.reason != Reason::NotFound && about(&gap.path))
}
