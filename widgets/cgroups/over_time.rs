//! One control group over time.

use super::cells;
use crate::parts::chart::{Chart, Unit};
use topotop_model::frame::Cgroup;
use topotop_model::history::Headline;
use topotop_model::history::points::{GroupPoint, group_key};
use topotop_model::locale::screen::cgroups as text;

/// The charts of a group: memory against its limit, CPU against its quota, and what it costs to be near them.
pub(super) fn charts<'a>(group: &Cgroup) -> Vec<Chart<'a>> {
    let key = group_key(group);
    let of = |part: fn(&GroupPoint) -> Option<f32>| {
        move |headline: &Headline| headline.points.group(key).and_then(part).map(f64::from)
    };
    let limit = group.memory.as_ref().and_then(cells::bound);
    vec![
        Chart::new(text::CHART_MEMORY, Unit::Bytes, of(|point| point.memory)).limited(limit),
        Chart::new(text::CHART_CPU, Unit::Cores, of(|point| point.cores)).limited(group.cpu.quota_cores.value()),
        Chart::new(text::CHART_STALLED, Unit::Share, of(|point| point.stalled)),
        Chart::new(text::CHART_THROTTLED, Unit::Share, of(|point| point.throttled)),
    ]
}
