//! Resources of control groups: CPU quota and memory.

use super::{Inputs, Resource, ResourceKind, Verdict};
use crate::frame::Cgroup;
use crate::locale::Text;
use crate::locale::resource::note;
use crate::rules;
use crate::rules::Subject;
use crate::{Known, Reason};
use std::sync::Arc;

/// The name of a control group: its pod or container, else the last part of its path.
pub(super) fn group_name(cgroup: &Cgroup) -> Arc<str> {
    let container = cgroup.container.as_ref();
    let mut named = container.into_iter().flat_map(|container| [&container.pod_name, &container.container_name]);
    named.find(|name| !name.is_empty()).map_or_else(
        || Arc::from(cgroup.path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(&cgroup.path)),
        Arc::clone,
    )
}

/// True if a limit of some control group exists but is not readable.
fn is_unread(inputs: &Inputs<'_>, files: &[&str]) -> bool {
    let about = |path: &str| files.iter().any(|file| path.ends_with(file));
    inputs.frame.gaps.iter().any(|gap| gap.reason != Reason::NotFound && about(&gap.path))
}

pub(super) fn quota(inputs: &Inputs<'_>) -> Resource {
    let frame = inputs.frame;
    if !frame.sections.cgroups.is_read() && frame.cgroups.is_empty() {
        return Resource::unknown(ResourceKind::Quota, note::NOT_READABLE);
    }
    let (at, throttled) = (QUOTA_FULL, inputs.limit(&rules::cpu_throttled::THROTTLED));
    let periods = inputs.limit(&rules::cpu_throttled::PERIODS);
    let limited = || {
        frame
            .cgroups
            .iter()
            .filter_map(|group| Some((group, group.cpu.quota_cores.value().filter(|quota| *quota > 0.0)?)))
    };
    let held = |group: &Cgroup| {
        let ran = rules::cpu_throttled::ran_periods(frame, &group.cpu) >= periods;
        ran && group.cpu.throttled_ratio.is_some_and(|ratio| ratio >= throttled)
    };
    let key = |group: &Cgroup| {
        (inputs.is_blamed(ResourceKind::Quota, &Subject::Cgroup(Arc::clone(&group.path))), held(group))
    };
    let measured =
        limited().filter_map(|(group, quota)| Some((key(group), group.cpu.usage_cores? / quota, group, quota)));
    let fullest = measured.max_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let unread = is_unread(inputs, &["cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us"]);
    match fullest {
        Some((_, share, group, quota)) if held(group) || share >= at || !unread => {
            let resource = Resource::measured(ResourceKind::Quota, share.min(1.0), at);
            let resource = resource.about(Subject::Cgroup(Arc::clone(&group.path)), &group_name(group));
            let used = group.cpu.usage_cores.map(|cores| (cores, "cores"));
            // A group throttled in many periods is limiting, however little it used between.
            let (verdict, note) =
                if held(group) { (Verdict::Limiting, note::THROTTLED) } else { (resource.verdict, Text::EMPTY) };
            Resource { verdict, note, used, limit: Some((quota, "cores")), ..resource }
        }
        _ if unread => Resource::unknown(ResourceKind::Quota, note::QUOTA_UNREAD),
        Some(_) | None if limited().next().is_some() => {
            Resource::unknown(ResourceKind::Quota, inputs.no_rates().unwrap_or(note::USE_NOT_MEASURED))
        }
        _ if frame.host.in_container.value() == Some(true) => {
            Resource::unknown(ResourceKind::Quota, note::QUOTA_HIDDEN)
        }
        _ => Resource::absent(ResourceKind::Quota, note::NO_QUOTA),
    }
}

/// Share of a quota from which it is limiting.
const QUOTA_FULL: f64 = 0.95;
/// Share of the machine's memory from which too little is left for page cache.
const HOST_FULL: f64 = 0.9;

/// Unreclaimable memory of a control group or of the machine.
struct Fill {
    resource: Resource,
    blamed: bool,
}

pub(super) fn memory(inputs: &Inputs<'_>) -> Resource {
    let frame = inputs.frame;
    let at = inputs.limit(&rules::cgroup_unreclaimable::FULL);
    let mut unread = frame.sections.cgroups.is_read() && is_unread(inputs, &["memory.max", "memory.limit_in_bytes"]);
    let mut fills: Vec<Fill> = host(inputs).into_iter().collect();
    let unknown_host = fills.is_empty();
    // A control group without a limit is limited by the machine only.
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
        let blamed = inputs.is_blamed(ResourceKind::Memory, &subject);
        let current = memory.current_bytes.value().map(|bytes| bytes as f64);
        let unreclaimable = memory.unreclaimable_bytes.value().map(|bytes| bytes as f64);
        // Unreclaimable memory is at most all of it.
        let Some(used) = unreclaimable.or(current.filter(|current| *current < at * limit)) else {
            unread = true;
            continue;
        };
        let resource = Resource::measured(ResourceKind::Memory, used / limit, at).about(subject, &group_name(group));
        fills.push(Fill {
            blamed,
            resource: Resource { used: Some((used, "bytes")), limit: Some((limit, "bytes")), ..resource },
        });
    }
    let over = |resource: &Resource| resource.share.unwrap_or(0.0) / resource.limit_at;
    let fullest =
        fills.into_iter().max_by(|a, b| a.blamed.cmp(&b.blamed).then(over(&a.resource).total_cmp(&over(&b.resource))));
    match fullest {
        Some(fill) if fill.blamed || fill.resource.verdict == Verdict::Limiting => fill.resource,
        _ if unread => Resource::unknown(ResourceKind::Memory, note::LIMIT_UNREAD),
        _ if unknown_host => Resource::unknown(ResourceKind::Memory, note::NOT_READABLE),
        Some(fill) => fill.resource,
        None => Resource::unknown(ResourceKind::Memory, note::NOT_READABLE),
    }
}

/// The memory of the machine that is not available.
fn host(inputs: &Inputs<'_>) -> Option<Fill> {
    let memory = &inputs.frame.memory;
    let total = memory.total_bytes.value().filter(|total| *total > 0)? as f64;
    let used = total - memory.available_bytes.value()? as f64;
    let resource = Resource::measured(ResourceKind::Memory, (used / total).clamp(0.0, 1.0), HOST_FULL);
    let resource = resource.about(Subject::Host, &Arc::from(note::HOST.as_str()));
    let blamed = inputs.is_blamed(ResourceKind::Memory, &Subject::Host);
    Some(Fill {
        blamed,
        resource: Resource { used: Some((used.max(0.0), "bytes")), limit: Some((total, "bytes")), ..resource },
    })
}
