//! I/O limits of control groups (v2 `io.max`, v1 `blkio.throttle.*_device`).

use super::member_names::group_name;
use super::resource::{Member, Waits};
use super::{Inputs, ResourceKind, sections};
use crate::frame::{Cgroup, CgroupIoRate, IoThrottle, Process};
use crate::locale::resource::note;
use crate::rules::Subject;
use std::sync::Arc;

/// Utilisation of a device from which on it may be the device that holds the group.
pub(super) const DEVICE: f64 = 0.9;

pub(super) fn io_throttle(inputs: &Inputs<'_>) -> Vec<Member> {
    let frame = inputs.frame;
    let members: Vec<Member> = frame.cgroups.iter().filter_map(|group| nearest(inputs, group)).collect();
    match () {
        () if !members.is_empty() => members,
        () if !sections::cgroups(frame) && frame.cgroups.is_empty() => {
            vec![Member::unknown(ResourceKind::IoThrottle, note::NOT_READABLE, inputs.waits_for_disks())]
        }
        () if inputs.is_unread(&["io.max", "bps_device", "iops_device"]) => {
            vec![Member::unknown(ResourceKind::IoThrottle, note::LIMIT_UNREAD, inputs.waits_for_disks())]
        }
        () => vec![Member::absent(ResourceKind::IoThrottle, note::NO_IO_LIMIT)],
    }
}

/// The limit that a group is nearest to.
fn nearest(inputs: &Inputs<'_>, group: &Cgroup) -> Option<Member> {
    let (io, throttle) = group.io_throttle()?;
    Some(one(inputs, group, io, throttle))
}

fn one(inputs: &Inputs<'_>, group: &Cgroup, io: &CgroupIoRate, throttle: IoThrottle) -> Member {
    let mut member = Member::measured(ResourceKind::IoThrottle, throttle.share());
    let sum = inputs.demand.within(&group.path, Process::io_group);
    let device = inputs.frame.disks.iter().find(|disk| disk.dev == io.dev);
    let busy = device.and_then(|disk| disk.utilisation).unwrap_or(0.0);
    // The kernel counts no throttled time. A rate that stays at the limit while the device has time is held by it, also
    // where requests are asynchronous and nobody sleeps for them.
    member.alone = busy < DEVICE;
    member.proxy = true;
    let bears = sum.bears || inputs.demand.total < 0.2;
    let asleep = if sum.demand() > 0.0 { sum.blocked / sum.demand() } else { 0.0 };
    let pressure = group.pressure.io.as_ref().and_then(|stall| stall.some_ratio).unwrap_or(0.0);
    member.alone &= bears || asleep.max(pressure) >= super::resource::WAIT;
    let wait = asleep.max(pressure);
    let waits = Waits { what: "throttled", value: throttle.rate, unit: "1/s" };
    let unit = if throttle.what.ends_with("bytes") { "bytes/s" } else { "1/s" };
    let member = member.about(Subject::Cgroup(Arc::clone(&group.path)), &group_name(group));
    member.waits(Some(wait), sum.demand().max(1.0), waits).of(Some(throttle.rate), Some(throttle.limit), unit)
}
