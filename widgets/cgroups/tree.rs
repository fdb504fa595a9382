//! Which groups are on the screen: those that load falls on as a list, or all of them as a tree, siblings as the table is
//! sorted.

use super::Id;
use crate::Cx;
use crate::parts::names;
use crate::parts::table::{Table, matches};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use topotop_model::frame::Cgroup;

/// A group's line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// Its place in the frame.
    pub(crate) index: usize,
    /// How deep it stands.
    pub(crate) depth: u16,
    /// How many groups are right below it.
    pub(crate) children: u32,
    /// True if they are not shown.
    pub(crate) folded: bool,
    /// True in a list, where no parent stands above it.
    pub(crate) listed: bool,
}

/// Groups that pass and have no groups below them, or a limit of their own.
pub(super) fn list(cx: &Cx<'_>, idle: bool) -> Vec<Row> {
    let groups = &cx.frame.cgroups;
    let mut inner = vec![false; groups.len()];
    for parent in parents(groups).into_iter().flatten() {
        inner.get_mut(parent).into_iter().for_each(|inner| *inner = true);
    }
    let limited = |group: &Cgroup| {
        let memory = group.memory.as_ref().is_some_and(|memory| memory.limit_bytes.value().is_some());
        *group.path != *"/" && (memory || group.cpu.quota_cores.value().is_some())
    };
    let rows = groups.iter().enumerate().zip(inner).filter(|((_, group), inner)| !inner || limited(group));
    let rows = rows.filter(|((_, group), _)| passes(cx, group) && !(idle && is_idle(group)));
    rows.map(|((index, _), _)| Row { index, depth: 0, children: 0, folded: false, listed: true }).collect()
}

/// Lines of the groups that pass, each below its nearest known ancestor. Works without recursion: paths are hostile.
pub(super) fn rows(cx: &Cx<'_>, table: &Table<Row, Id>, folded: &HashSet<Id>, idle: bool) -> Vec<Row> {
    let groups = &cx.frame.cgroups;
    let parents = parents(groups);
    let keep = kept(cx, &parents, idle);
    let mut children: Vec<Vec<Row>> = vec![Vec::new(); groups.len()];
    let mut tops = Vec::new();
    for (index, _) in keep.iter().enumerate().filter(|(_, keep)| **keep) {
        let row = Row { index, depth: 0, children: 0, folded: false, listed: false };
        match parents.get(index).copied().flatten().and_then(|parent| children.get_mut(parent)) {
            Some(list) => list.push(row),
            None => tops.push(row),
        }
    }
    table.sort_rows(cx, &mut tops);
    let mut stack: Vec<Row> = tops.into_iter().rev().collect();
    let mut out = Vec::with_capacity(groups.len());
    while let Some(mut row) = stack.pop() {
        let mut below = children.get_mut(row.index).map(std::mem::take).unwrap_or_default();
        row.children = below.len() as u32;
        // A filter looks into folded groups too.
        row.folded = !below.is_empty() && cx.filter.is_empty() && is_folded(cx, folded, row.index);
        out.push(row);
        if !row.folded {
            table.sort_rows(cx, &mut below);
            let depth = row.depth.saturating_add(1);
            stack.extend(below.into_iter().rev().map(|child| Row { depth, ..child }));
        }
    }
    out
}

fn is_folded(cx: &Cx<'_>, folded: &HashSet<Id>, index: usize) -> bool {
    let id = cx.frame.cgroups.get(index).map(|group| (Arc::clone(&group.path), group.version));
    !folded.is_empty() && id.is_some_and(|id| folded.contains(&id))
}

/// The nearest ancestor of each group that is in the frame.
fn parents(groups: &[Cgroup]) -> Vec<Option<usize>> {
    let places: HashMap<(u32, &str), usize> =
        groups.iter().enumerate().map(|(index, group)| ((group.version, &*group.path), index)).collect();
    let parent = |group: &Cgroup| {
        let mut path: &str = &group.path;
        while let Some(at) = path.trim_end_matches('/').rfind('/') {
            path = path.get(..at).unwrap_or("");
            let known = if path.is_empty() { "/" } else { path };
            if let Some(&index) = places.get(&(group.version, known)) {
                return (*known != *group.path).then_some(index);
            }
        }
        None
    };
    groups.iter().map(parent).collect()
}

/// Groups that pass, with their ancestors: a match without its place in the tree would be a riddle.
fn kept(cx: &Cx<'_>, parents: &[Option<usize>], idle: bool) -> Vec<bool> {
    let groups = &cx.frame.cgroups;
    let mut keep = vec![false; groups.len()];
    for (index, group) in groups.iter().enumerate() {
        if !passes(cx, group) || (idle && is_idle(group)) {
            continue;
        }
        let mut at = Some(index);
        while let Some(slot) = at.and_then(|at| keep.get_mut(at)).filter(|slot| !**slot) {
            *slot = true;
            at = at.and_then(|at| parents.get(at).copied().flatten());
        }
    }
    keep
}

/// True if the filter lets a group through: by path, pod, container.
pub(super) fn passes(cx: &Cx<'_>, group: &Cgroup) -> bool {
    cx.filter.is_empty()
        || matches(cx.filter, &group.path)
        || group.container.as_ref().is_some_and(|container| {
            matches(cx.filter, &names::container(container)) || matches(cx.filter, &container.namespace)
        })
}

/// True if it neither runs, nor grows, nor waits.
fn is_idle(group: &Cgroup) -> bool {
    let runs = group.cpu.usage_cores.is_none_or(|cores| cores >= 0.001);
    let grows =
        group.memory.as_ref().and_then(|memory| memory.growth_bytes_per_second).is_some_and(|rate| rate.abs() > 4096.0);
    let moves = group.io.iter().any(|io| io.read_bytes_per_second + io.write_bytes_per_second > 0.0);
    !runs && !grows && !moves
}
