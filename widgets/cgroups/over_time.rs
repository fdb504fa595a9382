//! One control group over time.

use super::cells;
use crate::parts::chart::{Chart, Unit};
use crate::{Cx, Role, Subject};
use std::sync::Arc;
use topotop_model::bottleneck::{Resource, ResourceKind, Verdict};
use topotop_model::frame::Cgroup;
use topotop_model::history::Headline;
use topotop_model::history::points::{GroupPoint, group_key};
use topotop_model::locale::screen::cgroups as text;

/// True where the memory of a group limits the load, or its alarm is raised: a group full of clean page cache is neither.
fn is_limiting(cx: &Cx<'_>, group: &Cgroup) -> bool {
    let is_own = |resource: &&Resource| {
        resource.kind == ResourceKind::Memory && resource.subject == Some(Subject::Cgroup(Arc::clone(&group.path)))
    };
    let limits = |resource: &Resource| resource.verdict == Verdict::Limiting;
    let alarm = group.memory.as_ref().is_some_and(|memory| cells::alarm(group, memory) == Role::Critical);
    alarm || cx.judgement.resources.iter().find(is_own).is_some_and(limits)
}

/// The charts of a group: memory against its limit, CPU against its quota, and what it costs to be near them.
pub(super) fn charts<'a>(cx: &Cx<'_>, group: &Cgroup) -> Vec<Chart<'a>> {
    let key = group_key(group);
    let of = |part: fn(&GroupPoint) -> Option<f32>| {
        move |headline: &Headline| headline.points.group(key).and_then(part).map(f64::from)
    };
    let limit = group.memory.as_ref().and_then(cells::bound);
    vec![
        Chart::new(text::CHART_MEMORY, Unit::Bytes, of(|point| point.memory))
            .limited(limit)
            .calm(!is_limiting(cx, group)),
        Chart::new(text::CHART_CPU, Unit::Cores, of(|point| point.cores)).limited(group.cpu.quota_cores.value()),
        Chart::new(text::CHART_STALLED, Unit::Share, of(|point| point.stalled)),
        Chart::new(text::CHART_THROTTLED, Unit::Share, of(|point| point.throttled)),
    ]
}
