//! Disks: at their capacity when requests take longer because there are others.

use super::resource::{FULL, FULL_LEAVES, Member, Waits};
use super::{Inputs, ResourceKind, sections};
use crate::frame::{Disk, Frame};
use crate::locale::resource::note;
use crate::rules::{Subject, parts};
use std::sync::Arc;

/// A queue of so many requests is one; half of that still.
const DEEP: f64 = 4.0;
/// Against its latency without a queue.
const SLOWER: f64 = 3.0;
/// Latency in ms of a drive that requests queue for where its latency without a queue was never seen: without moving
/// parts, and with them.
const SLOW: (f64, f64) = (5.0, 30.0);
/// The same of a virtual machine's: what it says of moving parts is a default.
const SLOW_VIRTUAL: f64 = 10.0;
/// So many requests at a time keep every disk busy that is no faster for more, whatever the ticks of its clock show.
const FLOODED: f64 = 16.0;
/// Utilisation from which on they do.
const BUSY_FLOODED: f64 = 0.85;
/// Pressure from which on there is a disk, seen or not.
const HIDDEN: f64 = 0.2;
/// Latency in ms below which nothing queues.
const LEAST_MS: f64 = 0.3;
/// The same of hardware that takes many times as many requests at a time, and the share of them that are few.
const LEAST_DEEP_MS: f64 = 1.0;
const FAR: f64 = 0.05;
/// Share of the time with a flush under way from which on a disk is at its limit of commits, and still is.
const FLUSHING: f64 = 0.70;
const FLUSHING_LEAVES: f64 = 0.50;
/// Bytes in flight from which on more gain nothing: 8 GB/s times half a millisecond, which no drive of that speed takes.
const IN_FLIGHT: f64 = 4e6;
/// Bytes of a request from which on more of them at a time gain nothing.
const LARGE: f64 = 256.0 * 1024.0;
/// Bytes read per second from which on reads that no task asked for are an array's check, the share of them that tasks
/// asked for at most, and the share of the tasks that has to be known.
const RESYNC: f64 = 1e6;
const UNASKED: f64 = 0.1;
const READABLE: f64 = 0.95;
/// How much longer than its requests take tasks wait for a disk, for what samples miss.
const WAITED: f64 = 1.25;
/// Utilisation from which on an unreadable queue could be what limits.
const BUSY: f64 = 0.3;

pub(super) fn disk(inputs: &Inputs<'_>) -> Vec<Member> {
    let frame = inputs.frame;
    let judged = || frame.disks.iter().filter(|disk| parts::is_judged(disk) || parts::holds_requests(frame, disk));
    let members: Vec<Member> = judged().filter_map(|disk| one(inputs, disk)).collect();
    if !members.is_empty() {
        return members;
    }
    let pressure = frame.pressure("io").and_then(|row| row.stall.some_ratio).unwrap_or(0.0);
    if sections::disks(frame) && judged().next().is_none() {
        // Where tasks wait for I/O there is a disk, hidden as in a container whose files are made up.
        let is_hidden = pressure >= HIDDEN;
        let hidden = || Member::unknown(ResourceKind::Disk, note::NO_DISK, true);
        return vec![if is_hidden { hidden() } else { Member::absent(ResourceKind::Disk, note::NO_DISK) }];
    }
    let suspect = inputs.waits_for_disks();
    vec![inputs.unmeasured(ResourceKind::Disk, sections::disks(frame), suspect)]
}

fn one(inputs: &Inputs<'_>, disk: &Disk) -> Option<Member> {
    let share = disk.utilisation?;
    let mut member = Member::measured(ResourceKind::Disk, share);
    let moves = disk.rotational.value() == Some(true);
    let virtualized = moves && !inputs.frame.host.virtualization.is_empty();
    let spins = moves && !virtualized;
    // What serves many requests at once may be busy all the time and take much more.
    member.scales = spins;
    let (ms, depth) = (disk.await_ms.value(), disk.queue_depth);
    let unread = ms.is_none() && depth.is_none() && share >= FULL;
    let quiet = inputs.quiet_ms.get(&disk.name).copied();
    let least = least(spins, virtualized);
    let slow = |times: f64| match (ms, quiet) {
        (Some(ms), Some(quiet)) => ms >= times * quiet && ms >= LEAST_MS,
        (Some(ms), None) => ms >= least * times / SLOWER,
        (None, _) => true,
    };
    let deep = |least: f64| depth.is_none_or(|depth| depth >= least);
    let busy = (member.enters, member.stays);
    let flooded = depth.is_some_and(|depth| depth >= FLOODED) && share >= BUSY_FLOODED;
    member.enters = (share >= FULL || flooded) && deep(if spins { DEEP / 2.0 } else { DEEP }) && slow(SLOWER);
    member.stays =
        (share >= FULL_LEAVES || flooded) && deep(if spins { 1.0 } else { DEEP / 2.0 }) && slow(SLOWER / 2.0);
    // Flushes come one after the other: a disk that does hardly anything else commits no faster.
    let flushing = disk.flush_share.unwrap_or(0.0);
    let streams = spins && is_sequential(disk) || in_flight(disk).is_some_and(|bytes| bytes >= IN_FLIGHT);
    (member.enters, member.stays) = (member.enters || busy.0 && streams, member.stays || busy.1 && streams);
    let queues = member.enters;
    member.enters |= flushing >= FLUSHING;
    member.stays |= flushing >= FLUSHING_LEAVES;
    // Neither fast for certain nor slow for certain: what it takes without a queue would tell.
    let unclear = flooded && !member.stays && quiet.is_none() && ms.is_some_and(|ms| ms >= queueless_ms(disk));
    let unknown = unread || unclear;
    let (wait, demand) = waiting(inputs, disk);
    member.proxy = quiet.is_none() || wait.is_some_and(|(_, proxy)| proxy);
    let wait = wait.map(|(wait, _)| wait).filter(|_| !unknown);
    member.suspect = (unknown || wait.is_none()) && share >= BUSY;
    let remark = match () {
        () if unclear => note::UNQUEUED_UNSEEN,
        () if unread => note::QUEUEING_UNKNOWN,
        () if member.enters && !queues => note::FLUSHES,
        () if busy.0 && !member.enters => note::NOT_QUEUEING,
        () => crate::locale::Text::EMPTY,
    };
    if unknown {
        member.resource.verdict = super::Verdict::Unknown;
    }
    let member = member.about(Subject::Disk(Arc::clone(&disk.name)), &disk.name).note(remark);
    let waits = Waits { what: "requests", value: depth.unwrap_or(0.0), unit: "requests" };
    let mut member = member.waits(wait, demand, waits);
    member.resource.used = ms.map(|ms| (ms, "ms"));
    Some(member)
}

/// Latency in ms below which nothing queues: of hardware that takes many times as many requests as there are, a higher one.
fn queueless_ms(disk: &Disk) -> f64 {
    let is_far = disk.depth.zip(disk.queue_depth).is_some_and(|(most, depth)| depth < FAR * most as f64);
    if is_far { LEAST_DEEP_MS } else { LEAST_MS }
}

/// Latency in ms that is slow where none without a queue was seen.
fn least(spins: bool, virtualized: bool) -> f64 {
    match (spins, virtualized) {
        (true, _) => SLOW.1,
        (false, true) => SLOW_VIRTUAL,
        (false, false) => SLOW.0,
    }
}

/// False for a disk that is read by the kernel alone: tasks read next to nothing, and all of them are known.
pub(crate) fn is_asked_for(frame: &Frame, disk: &Disk) -> bool {
    let tasks = || frame.processes.iter().filter(|process| !process.comm.ends_with("_resync"));
    let known = tasks().filter(|process| process.kernel || process.has_io).count();
    let read: f64 = tasks().filter_map(|process| process.read_bytes_per_second).sum();
    let all = disk.read_bytes_per_second.unwrap_or(0.0);
    let is_known = known > 0 && known as f64 >= READABLE * tasks().count() as f64;
    !is_known || all < RESYNC || read >= UNASKED * all
}

/// Mean bytes of the requests in flight.
fn in_flight(disk: &Disk) -> Option<f64> {
    let requests = disk.reads_per_second? + disk.writes_per_second?;
    let bytes = disk.read_bytes_per_second? + disk.write_bytes_per_second?;
    Some(disk.queue_depth? * bytes / requests.max(1.0))
}

/// True for a disk with moving parts that reads or writes large pieces one after the other as fast as it can.
fn is_sequential(disk: &Disk) -> bool {
    let requests = disk.reads_per_second.unwrap_or(0.0) + disk.writes_per_second.unwrap_or(0.0);
    let bytes = disk.read_bytes_per_second.unwrap_or(0.0) + disk.write_bytes_per_second.unwrap_or(0.0);
    requests >= 1.0 && bytes / requests >= LARGE
}

/// Share of their time that load-bearing tasks wait for a disk, whether that is a stand-in, and their demand.
fn waiting(inputs: &Inputs<'_>, disk: &Disk) -> (Option<(f64, bool)>, f64) {
    let share = disk.utilisation.unwrap_or(0.0);
    let known = inputs.demand.io_wait();
    // Nobody waits for a disk that does nothing.
    let known = if share < 0.05 { Some((0.0, 0.0)) } else { known };
    // Nor longer than it has requests, where its flushes are counted as well.
    let most = disk.flush_share.map_or(1.0, |flushing| (share + flushing) * WAITED + 0.02);
    let known = known.map(|(wait, demand)| (wait.min(most), demand));
    // Requests that no task sleeps for (asynchronous I/O) are waited for as well, except writeback, which nobody awaits.
    let reads = disk.reads_per_second.unwrap_or(0.0);
    let writes = disk.writes_per_second.unwrap_or(0.0);
    let writeback = inputs.frame.memory.writeback_bytes.value().is_none_or(|bytes| bytes > 1 << 20);
    let awaited = if writeback { reads } else { reads + writes };
    // Reads of the kernel by itself, as when it checks an array, are nobody's wait.
    let awaited = if is_asked_for(inputs.frame, disk) { awaited } else { 0.0 };
    let outstanding = disk.queue_depth.unwrap_or(0.0) * awaited / (reads + writes).max(f64::MIN_POSITIVE);
    let asleep = known.map_or(0.0, |(share, demand)| share * demand);
    if outstanding >= DEEP && outstanding > 4.0 * asleep.max(0.25) {
        // Each of them is somebody's wait, beside what the load runs meanwhile.
        let share = outstanding / (outstanding + inputs.demand.total.max(0.0));
        return (Some((share, true)), known.map_or(1.0, |(_, demand)| demand.max(2.0)));
    }
    let pressure = inputs.frame.pressure("io").and_then(|row| row.stall.some_ratio);
    match (known, pressure) {
        (Some((wait, demand)), _) => (Some((wait, false)), demand),
        (None, Some(pressure)) => (Some((pressure, true)), inputs.demand.total),
        (None, None) => (None, 0.0),
    }
}
