//! The fullest groups for the overview.

use super::{cells, tree};
use crate::parts::{Pen, names, pane, severity, units};
use crate::{Cx, Role, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::sync::Arc;
use topotop_model::bottleneck::ResourceKind;
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
    let rows: Vec<_> = rows.into_iter().take(usize::from(area.height)).collect();
    let endings: Vec<_> = rows.iter().map(|(group, memory)| ending(cx, group, memory)).collect();
    let widest = |widths: &mut dyn Iterator<Item = u16>| widths.max().unwrap_or(0);
    let tail = widest(&mut endings.iter().flatten().map(|ending| names::width(&ending.1) + 1));
    let name = widest(&mut rows.iter().map(|(group, _)| names::width(&names::short(group))));
    // What hurts and when it is full stay whole: bars shrink first, then names.
    let room = area.width.saturating_sub(NUMBERS + tail);
    let name = name.clamp(4, (area.width / 3).max(4)).min(room.max(4));
    for (at, ((group, memory), ending)) in rows.into_iter().zip(endings).enumerate() {
        line(group, memory, (name, room.saturating_sub(name + 1)), &mut Pen::new(cx, area, at as u16, buf));
        if let Some((role, text)) = ending {
            let start = area.width.saturating_sub(tail.saturating_sub(1));
            Pen::new(cx, area, at as u16, buf).skip(start).text(role, &text);
        }
        let subject = Subject::Cgroup(Arc::clone(&group.path));
        severity::beside(cx, whole, at as u16, severity::worst(cx, &subject), buf);
    }
}

/// How many groups it shows in so many rows, and how many there are.
pub fn compact_counts(cx: &Cx<'_>, rows: u16) -> (usize, usize) {
    let all = ranked(cx).len();
    (all.min(usize::from(rows)), all)
}

/// Columns of a share and a limit, each with a blank before it.
const NUMBERS: u16 = 5 + 8;

fn ranked<'a>(cx: &Cx<'a>) -> Vec<(&'a Cgroup, &'a CgroupMemory)> {
    let known = |group: &'a Cgroup| {
        let memory = group.memory.as_ref()?;
        (memory.current_bytes.value().is_some() && *group.path != *"/").then_some((group, memory))
    };
    // The groups of the list on their own screen: a parent beside its child would count the same memory twice.
    let listed = tree::list(cx, false).into_iter().filter_map(|row| cx.frame.cgroups.get(row.index));
    let mut rows: Vec<_> = listed.filter_map(known).collect();
    let mut resources = cx.judgement.resources.iter().filter(|resource| resource.kind == ResourceKind::Memory);
    let named = resources.find_map(|resource| match &resource.subject {
        Some(Subject::Cgroup(path)) => Some(path),
        _ => None,
    });
    // What the answer names is first, whatever equals it.
    let rank = |(group, memory): &(&Cgroup, &CgroupMemory)| {
        if named == Some(&group.path) { f64::MAX } else { cells::order(memory) }
    };
    rows.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
    rows
}

fn line(group: &Cgroup, memory: &CgroupMemory, (name, bar): (u16, u16), pen: &mut Pen<'_>) {
    pen.sub(name).group(Role::Text, &names::short(group));
    pen.skip(1);
    if bar >= 4 {
        cells::bar(memory, &mut pen.sub(bar));
    }
    if bar > 0 {
        pen.skip(u16::from(bar >= 4));
    }
    let role = cells::alarm(group, memory);
    let share = cells::fill(memory).map(units::percent);
    pen.number(role, 4, &share.unwrap_or_else(|| units::or_unknown(None::<f64>, units::percent)));
    pen.skip(1);
    let mut limit = pen.sub(7);
    let start = limit.x();
    cells::limit(memory, &group.path, &mut limit);
    limit.align_right(start);
}

/// What hurts most, else when it will be full.
fn ending(cx: &Cx<'_>, group: &Cgroup, memory: &CgroupMemory) -> Option<(Role, String)> {
    let stall = group.pressure.memory.and_then(|stall| stall.some_ratio).unwrap_or(0.0);
    if let Some(kills) = memory.oom_kills_gained.filter(|&kills| kills > 0) {
        return Some((Role::Critical, format!("OOM +{kills}")));
    }
    if stall >= 0.01 {
        return Some((if stall >= 0.05 { Role::Warn } else { Role::Text }, format!("PSI {}", units::percent(stall))));
    }
    let (role, forecast) = cells::forecast(cx, group, memory)?;
    Some((role, format!("{} {}", text::FULL_IN, forecast.as_str())))
}
