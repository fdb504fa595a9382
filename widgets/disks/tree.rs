//! The order of disks: what stands on a disk comes below it.

use crate::Cx;
use crate::parts::table::{Table, matches};
use std::collections::HashMap;
use std::sync::Arc;
use topotop_model::frame::Disk;

/// A disk's line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// Its place in the frame.
    pub(crate) index: usize,
    /// How deep it stands.
    pub(crate) depth: u16,
}

/// Lines of the disks that pass; one that stands on several is below the first of them. A ring of devices, which no
/// kernel has, shows each of them once.
pub(super) fn rows(cx: &Cx<'_>, table: &Table<Row, Arc<str>>, idle: bool) -> Vec<Row> {
    let disks = &cx.frame.disks;
    let places: HashMap<&str, usize> = disks.iter().enumerate().map(|(index, disk)| (&*disk.name, index)).collect();
    let shown = |disk: &Disk| passes(cx, disk) && !(idle && cx.filter.is_empty() && is_unused(disk));
    let mut children: Vec<Vec<Row>> = vec![Vec::new(); disks.len()];
    let mut tops = Vec::new();
    for (index, disk) in disks.iter().enumerate().filter(|(_, disk)| shown(disk)) {
        let row = Row { index, depth: 0 };
        let lower = disk.lower.iter().filter_map(|name| places.get(&**name).copied());
        let below = lower.into_iter().find(|&at| at != index && disks.get(at).is_some_and(shown));
        match below.and_then(|at| children.get_mut(at)) {
            Some(list) => list.push(row),
            None => tops.push(row),
        }
    }
    table.sort_rows(cx, &mut tops);
    let mut stack: Vec<Row> = tops.into_iter().rev().collect();
    let mut out: Vec<Row> = Vec::with_capacity(disks.len());
    while let Some(row) = stack.pop() {
        let mut above = children.get_mut(row.index).map(std::mem::take).unwrap_or_default();
        out.push(row);
        table.sort_rows(cx, &mut above);
        stack.extend(above.into_iter().rev().map(|child| Row { depth: row.depth + 1, ..child }));
    }
    // What a ring kept from being reached.
    out.extend(children.into_iter().flatten());
    out
}

pub(super) fn passes(cx: &Cx<'_>, disk: &Disk) -> bool {
    cx.filter.is_empty()
        || matches(cx.filter, &disk.name)
        || matches(cx.filter, &disk.model)
        || disk.mounts.iter().any(|mount| matches(cx.filter, &mount.path))
}

/// Loop, RAM and zram devices that hold nothing and do nothing: most machines have dozens.
pub(super) fn is_unused(disk: &Disk) -> bool {
    let pseudo = matches!(&*disk.kind, "loop" | "ram" | "zram" | "floppy" | "nbd");
    let name = &*disk.name;
    let pseudo = pseudo || ["loop", "ram", "zram", "nbd", "fd"].iter().any(|kind| name.starts_with(kind));
    pseudo && disk.mounts.is_empty() && disk.utilisation.is_none_or(|share| share == 0.0)
}
