//! The lines of the list: processes in order or as a tree, and below each its threads.

use super::filter::Filter;
use super::{Id, Processes};
use crate::Cx;
use crate::parts::table::Table;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use topotop_model::frame::{Process, Thread};

/// A line: a process, or one of its threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    /// The place of the process in the frame.
    pub(crate) process: usize,
    /// The place of the thread in the frame.
    pub(crate) thread: Option<usize>,
    /// How deep it stands.
    pub(crate) depth: u16,
    /// True if what is below it is not shown.
    pub(crate) folded: bool,
    /// Of the last 64 levels above it and of its own, those that go on below it, its own the lowest bit.
    pub(crate) more: u64,
}

/// The most threads of a process that are listed.
const MOST: usize = 1024;

/// What a thread's line is about.
pub(super) fn thread<'a>(cx: &Cx<'a>, row: Row) -> Option<&'a Thread> {
    cx.frame.threads.get(row.thread?)
}

/// What a line is, whatever its place.
pub(super) fn id(cx: &Cx<'_>, row: Row) -> Option<Id> {
    let process = cx.frame.processes.get(row.process)?;
    let tid = if row.thread.is_some() { thread(cx, row)?.tid } else { 0 };
    Some((process.pid, process.starttime, tid))
}

/// The lines, in order.
pub(super) fn rows(cx: &Cx<'_>, panel: &Processes) -> Vec<Row> {
    let (filter, table) = (super::filter::of(cx), &panel.browser.table);
    let all = &cx.frame.processes;
    let keep: Vec<bool> = all.iter().map(|process| is_shown(panel, &filter, process)).collect();
    let mut order: Vec<Row> = (0..all.len()).map(|process| Row { process, ..Row::default() }).collect();
    // Equal ones, and all of them before there are rates: the biggest first.
    order.sort_by_cached_key(|row| Reverse(all.get(row.process).and_then(|process| process.rss_bytes.value())));
    let lines = if panel.tree {
        tree(cx, table, order, keep, &panel.folded)
    } else {
        order.retain(|row| keep.get(row.process) == Some(&true));
        table.sort_rows(cx, &mut order);
        order
    };
    if panel.threads { with_threads(cx, table, lines, panel.idle) } else { lines }
}

fn is_shown(panel: &Processes, filter: &Filter<'_>, process: &Process) -> bool {
    filter.passes(process)
        && !(panel.no_kernel && process.kernel)
        && (!panel.idle || process.cpu_cores.is_none_or(|cores| cores >= 0.001))
}

/// Children below their parents, siblings as the table is sorted. Without recursion: parents are hostile.
fn tree(
    cx: &Cx<'_>,
    table: &Table<Row, Id>,
    mut order: Vec<Row>,
    mut keep: Vec<bool>,
    folded: &HashSet<Id>,
) -> Vec<Row> {
    let all = &cx.frame.processes;
    let places: HashMap<u32, usize> = all.iter().enumerate().map(|(at, process)| (process.pid, at)).collect();
    let parent = |at: usize| {
        let parent = all.get(at)?.ppid.value()?;
        places.get(&parent).copied().filter(|parent| *parent != at)
    };
    // A match without its ancestors would be a riddle.
    for start in 0..all.len() {
        let mut at = Some(start).filter(|at| keep.get(*at) == Some(&true)).and_then(parent);
        while let Some(kept) = at.and_then(|at| keep.get_mut(at)).filter(|kept| !**kept) {
            *kept = true;
            at = at.and_then(parent);
        }
    }
    order.retain(|row| keep.get(row.process) == Some(&true));
    table.sort_rows(cx, &mut order);
    let mut children: HashMap<usize, Vec<Row>> = HashMap::new();
    let mut tops = Vec::new();
    for &row in &order {
        match parent(row.process) {
            Some(parent) => children.entry(parent).or_default().push(row),
            None => tops.push(row),
        }
    }
    let mut out = Vec::with_capacity(order.len());
    let mut walk = |stack: Vec<Row>, children: &mut HashMap<usize, Vec<Row>>| {
        let mut stack: Vec<Row> = stack.into_iter().rev().collect();
        while let Some(mut row) = stack.pop() {
            let below = children.remove(&row.process).unwrap_or_default();
            // A filter looks into folded processes too.
            let is_folded = || id(cx, row).is_some_and(|id| folded.contains(&id));
            row.folded = !below.is_empty() && cx.filter.is_empty() && is_folded();
            out.push(row);
            let depth = row.depth.saturating_add(1);
            if row.folded {
                // What is below it is left out, however deep.
                let mut left = below;
                while let Some(child) = left.pop() {
                    left.extend(children.remove(&child.process).unwrap_or_default());
                }
            } else {
                let more = |is_last: bool| row.more << 1 | u64::from(!is_last);
                let below = below.into_iter().rev().enumerate();
                stack.extend(below.map(|(at, child)| Row { depth, more: more(at == 0), ..child }));
            }
        }
    };
    walk(tops, &mut children);
    // Parents in a circle, which a recording may have.
    while let Some(&parent) = children.keys().min() {
        let below = children.remove(&parent).unwrap_or_default();
        walk(below, &mut children);
    }
    out
}

/// Below each process of several threads those that are looked at.
fn with_threads(cx: &Cx<'_>, table: &Table<Row, Id>, lines: Vec<Row>, idle: bool) -> Vec<Row> {
    let all = &cx.frame.threads;
    let mut out = Vec::with_capacity(lines.len() + all.len());
    let mut lines = lines.into_iter().peekable();
    while let Some(line) = lines.next() {
        out.push(line);
        // Processes below it stand after its threads.
        let is_parent = lines.peek().is_some_and(|next| next.depth > line.depth);
        let Some(process) = cx.frame.processes.get(line.process) else { continue };
        let start = all.partition_point(|thread| thread.pid < process.pid);
        let count = all.iter().skip(start).take_while(|thread| thread.pid == process.pid).count();
        if count < 2 || line.folded {
            continue;
        }
        let depth = line.depth.saturating_add(1);
        let busy = |at: &usize| {
            !idle || all.get(*at).is_some_and(|thread| thread.cpu_cores.is_none_or(|cores| cores >= 0.001))
        };
        let threads = (start..start + count).filter(busy);
        let row = |at| Row { process: line.process, thread: Some(at), depth, folded: false, more: line.more << 1 | 1 };
        let mut threads: Vec<Row> = threads.map(row).collect();
        threads.sort_by(|a, b| {
            let cores = |row: &Row| thread(cx, *row).and_then(|thread| thread.cpu_cores).unwrap_or(-1.0);
            cores(b).total_cmp(&cores(a))
        });
        table.sort_rows(cx, &mut threads);
        out.extend(threads.into_iter().take(MOST));
        if let Some(last) = out.last_mut().filter(|last| last.thread.is_some() && !is_parent) {
            last.more &= !1;
        }
    }
    out
}
