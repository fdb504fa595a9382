//! The fullest groups for the overview.

use super::{cells, tree};
use crate::parts::{Pen, names, pane, severity, units};
use crate::{Cx, Role, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::sync::Arc;
use topotop_model::frame::{Cgroup, CgroupMemory};
use topotop_model::locale::screen::cgroups as text;

/// Draws the groups that are nearest to a limit, one line each: name, bar, how full, limit, when full or what hurts.
/// Where no group has a limit, the biggest ones against the machine's memory. The first column is for signs.
pub fn compact(cx: &Cx<'_>, whole: Rect, buf: &mut Buffer) {
    let area = severity::gutter(whole);
    let rows = ranked(cx);
    if rows.is_empty() && area.height > 0 {
        let mut pen = Pen::new(cx, area, 0, buf);
        let total = cx.frame.cgroups.len();
        let otherwise = if total == 0 { text::NO_GROUPS } else { text::NO_MEMORY };
        pen.text(Role::Dim, &pane::nothing(cx, &text::GROUPS, total, &otherwise));
        return;
    }
    let longest = rows.iter().take(usize::from(area.height)).map(|(group, _)| names::width(&names::short(group))).max();
    let name = longest.unwrap_or(0).clamp(4, (area.width / 3).max(4));
    for (at, (group, memory)) in rows.into_iter().take(usize::from(area.height)).enumerate() {
        line(cx, group, memory, name, &mut Pen::new(cx, area, at as u16, buf));
        let subject = Subject::Cgroup(Arc::clone(&group.path));
        severity::beside(cx, whole, at as u16, severity::worst(cx, &subject), buf);
    }
}

fn ranked<'a>(cx: &Cx<'a>) -> Vec<(&'a Cgroup, &'a CgroupMemory)> {
    let known = |group: &'a Cgroup| {
        let memory = group.memory.as_ref()?;
        (memory.current_bytes.value().is_some() && *group.path != *"/").then_some((group, memory))
    };
    let mut rows: Vec<_> = cx.frame.cgroups.iter().filter(|group| tree::passes(cx, group)).filter_map(known).collect();
    let rank = |memory: &CgroupMemory| (cells::bound(memory).is_some(), cells::fill(memory).unwrap_or(0.0));
    rows.sort_by(|a, b| {
        let (a, b) = (rank(a.1), rank(b.1));
        b.0.cmp(&a.0).then(b.1.total_cmp(&a.1))
    });
    rows
}

fn line(cx: &Cx<'_>, group: &Cgroup, memory: &CgroupMemory, name: u16, pen: &mut Pen<'_>) {
    pen.sub(name).text(Role::Text, &names::short(group));
    pen.skip(1);
    let bar = pen.left().saturating_sub(6 + 8 + 9);
    if bar >= 6 {
        cells::bar(memory, &mut pen.sub(bar));
        pen.skip(1);
    }
    let role = cells::alarm(group, memory);
    let share = cells::fill(memory).map(units::percent);
    pen.number(role, 4, &share.unwrap_or_else(|| units::or_unknown(None::<f64>, units::percent)));
    pen.skip(1);
    let mut limit = pen.sub(7);
    let start = limit.x();
    cells::limit(memory, &group.path, &mut limit);
    limit.align_right(start);
    pen.skip(1);
    ending(cx, group, memory, pen);
}

/// What hurts most, else when it will be full.
fn ending(cx: &Cx<'_>, group: &Cgroup, memory: &CgroupMemory, pen: &mut Pen<'_>) {
    let stall = group.pressure.memory.and_then(|stall| stall.some_ratio).unwrap_or(0.0);
    if let Some(kills) = memory.oom_kills_gained.filter(|&kills| kills > 0) {
        pen.text(Role::Critical, &format!("OOM +{kills}"));
    } else if stall >= 0.01 {
        let role = if stall >= 0.05 { Role::Warn } else { Role::Text };
        pen.text(role, "PSI ").text(role, units::percent(stall).as_str());
    } else if cx.history.forecast(group).value().is_some() {
        pen.text(Role::Dim, &text::FULL_IN).skip(1);
        cells::full_in(cx, group, memory, pen);
    }
}
