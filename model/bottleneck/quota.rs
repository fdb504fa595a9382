//! CPU quotas of control groups.

use super::member_names::group_name;
use super::resource::{FULL, Member, Waits};
use super::run_queue::{Cause, Queue, THROTTLED, THROTTLED_LEAVES};
use super::{Inputs, ResourceKind, sections};
use crate::frame::{Cgroup, Process};
use crate::locale::resource::note;
use crate::rules::Subject;
use std::sync::Arc;

pub(super) fn quota(inputs: &Inputs<'_>) -> Vec<Member> {
    let frame = inputs.frame;
    if !sections::cgroups(frame) && frame.cgroups.is_empty() {
        return vec![Member::unknown(ResourceKind::Quota, note::NOT_READABLE, inputs.waits_for_cpus())];
    }
    let limited = frame
        .cgroups
        .iter()
        .filter_map(|group| Some((group, group.cpu.quota_cores.value().filter(|quota| *quota > 0.0)?)));
    let limited: Vec<(&Cgroup, f64)> = limited.collect();
    let mut members: Vec<Member> = limited.iter().filter_map(|(group, quota)| one(inputs, group, *quota)).collect();
    if inputs.is_unread(&["cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us"]) {
        members.push(Member::unknown(ResourceKind::Quota, note::QUOTA_UNREAD, inputs.waits_for_cpus()));
    } else if members.is_empty() {
        members.push(match () {
            () if !limited.is_empty() => {
                let note = inputs.no_rates().unwrap_or(note::USE_NOT_MEASURED);
                // A group that is not throttled is not at its quota, however much it uses.
                let may = |ratio: Option<f64>| ratio.is_none_or(|ratio| ratio >= THROTTLED_LEAVES);
                let suspect = limited.iter().any(|(group, _)| may(group.cpu.throttled_ratio));
                Member::unknown(ResourceKind::Quota, note, suspect && inputs.waits_for_cpus())
            }
            () if frame.host.in_container.value() == Some(true) => {
                Member::unknown(ResourceKind::Quota, note::QUOTA_HIDDEN, inputs.waits_for_cpus())
            }
            () => Member::absent(ResourceKind::Quota, note::NO_QUOTA),
        });
    }
    members
}

fn one(inputs: &Inputs<'_>, group: &Cgroup, quota: f64) -> Option<Member> {
    let sum = inputs.demand.within(&group.path, Process::quota_group);
    // Of version 1, CPU time may be counted in another group than the one with the quota: what its tasks run tells.
    let counted = group.cpu.usage_cores.filter(|cores| *cores > 0.0 || sum.run <= 0.0);
    // Unless nothing is known of the group: what its tasks run is less where some of them are hidden.
    let tells = group.cpu.throttled_ratio.is_some() || group.cpu.periods.is_some();
    let counted = counted.or((sum.run > 0.0 && tells).then_some(sum.run));
    // Without a period nothing ran.
    let used = counted.or((group.cpu.periods == Some(0)).then_some(0.0))?;
    let throttled =
        group.cpu.throttled_ratio.filter(|_| group.cpu.periods.is_none_or(|periods| periods > 0)).unwrap_or(0.0);
    let mut member = Member::measured(ResourceKind::Quota, used / quota);
    // A group throttled in many periods is at its quota, however little it used between.
    member.enters = throttled >= THROTTLED;
    member.stays = throttled >= THROTTLED_LEAVES;
    let queue = inputs.queues.get(&Cause::Quota(Arc::clone(&group.path)));
    // Its own tasks are hidden: a period that was throttled is one in which somebody waited.
    let hidden = !sum.waits_known;
    let wait = if hidden { throttled } else { queue.map_or(0.0, Queue::share) };
    let demand = if hidden { used / (1.0 - throttled).max(0.05) } else { queue.map_or(0.0, |queue| queue.demand) };
    let bears = demand >= 0.1 * inputs.demand.total;
    member.proxy = hidden;
    let waits = Waits { what: "throttled", value: throttled, unit: "fraction" };
    let member = member.about(Subject::Cgroup(Arc::clone(&group.path)), &group_name(group));
    let member = member.waits(Some(if bears { wait } else { 0.0 }), demand, waits).of(Some(used), Some(quota), "cores");
    let is_throttled = throttled >= THROTTLED || used / quota >= FULL && throttled > 0.0;
    Some(if is_throttled { member.note(note::THROTTLED) } else { member })
}
