//! The encoder: what differs from the base, column by column.

use super::wire::{put, put_bytes, zigzag};
use crate::column::NONE;
use crate::snapshot::Visit;
use crate::{Column, Gaps, IdSet, Rows, Section, Snapshot, Sparse, State, Table};
use std::sync::Arc;

/// The uncompressed payload of a snapshot.
pub(super) fn payload(base: Option<&Snapshot>, new: &Snapshot) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, u128::from(super::VERSION));
    put(&mut out, u128::from(new.stamp.seq));
    put(&mut out, u128::from(zigzag(0, new.stamp.wall_ns as u64)));
    put(&mut out, u128::from(new.stamp.mono_ns));
    put(&mut out, u128::from(new.stamp.boot_ns));
    let mut bases = Bases::default();
    if let Some(base) = base {
        base.visit(&mut bases);
    }
    new.visit(&mut Writer { out: &mut out, bases: &bases });
    out
}

/// The base's sections by table id.
#[derive(Default)]
struct Bases {
    sections: Vec<(u16, Arc<dyn std::any::Any + Send + Sync>)>,
}

impl Bases {
    fn get<T: Table>(&self) -> Option<Arc<Section<T>>> {
        let found = self.sections.iter().find(|(id, _)| *id == T::ID)?;
        Arc::clone(&found.1).downcast().ok()
    }
}

impl Visit for Bases {
    fn section<T: Table>(&mut self, _: &'static str, section: &Arc<Section<T>>) {
        self.sections.push((T::ID, Arc::clone(section) as _));
    }
}

struct Writer<'a> {
    out: &'a mut Vec<u8>,
    bases: &'a Bases,
}

impl Visit for Writer<'_> {
    fn section<T: Table>(&mut self, _: &'static str, section: &Arc<Section<T>>) {
        let base = self.bases.get::<T>();
        let unchanged = base.as_ref().is_some_and(|base| Arc::ptr_eq(base, section));
        if unchanged || (base.is_none() && section.state == State::NotCollected) {
            return;
        }
        let base = base.unwrap_or_default();
        let mut body = Vec::new();
        write_section(&mut body, &base, section);
        put(self.out, u128::from(T::ID));
        put_bytes(self.out, &body);
    }
}

fn write_section<T: Table>(out: &mut Vec<u8>, base: &Section<T>, new: &Section<T>) {
    out.push(new.state as u8);
    put(out, u128::from(new.read_at_ns));
    put(out, u128::from(new.took_ns));
    write_gaps(out, &base.gaps, &new.gaps);
    let (old, table) = (base.data(), new.data());
    write_rows(out, old.rows(), table.rows());
    for (index, def) in T::COLUMNS.iter().enumerate() {
        let (Some(before), Some(after)) = (old.column(index), table.column(index)) else { continue };
        let mut data = Vec::new();
        let count = write_column(&mut data, before, after, old.rows(), table.rows());
        if count > 0 {
            put(out, u128::from(def.id));
            out.push(kind(after));
            let mut body = Vec::with_capacity(data.len() + 4);
            put(&mut body, count as u128);
            body.extend_from_slice(&data);
            put_bytes(out, &body);
        }
    }
}

/// A column's kind as it stands in records.
pub(super) fn kind(column: Column<'_>) -> u8 {
    match column {
        Column::Num(_) => 0,
        Column::Text(_) => 1,
        Column::Sets(_) => 2,
        Column::Sparse(_) => 3,
    }
}

fn write_gaps(out: &mut Vec<u8>, base: &Gaps, new: &Gaps) {
    if base == new {
        out.push(0);
        return;
    }
    out.push(1);
    put(out, new.iter().len() as u128);
    for gap in new {
        put_bytes(out, gap.path.as_bytes());
        put(out, u128::from(gap.reason.code()));
        put(out, u128::from(gap.count));
        put_bytes(out, gap.needs.as_bytes());
    }
}

fn write_rows(out: &mut Vec<u8>, base: &Rows, new: &Rows) {
    let bound = base.bound().max(new.bound());
    let changed: Vec<usize> = (0..bound).filter(|&slot| base.serial(slot) != new.serial(slot)).collect();
    put(out, changed.len() as u128);
    let mut next = 0;
    for slot in changed {
        put(out, (slot - next) as u128);
        put(out, u128::from(new.serial(slot)));
        next = slot + 1;
    }
}

/// Appends the slots whose value differs, each with its new value; returns how many.
fn write_column(out: &mut Vec<u8>, before: Column<'_>, after: Column<'_>, old: &Rows, new: &Rows) -> usize {
    let (mut next, mut count) = (0, 0);
    for slot in new.iter() {
        let base = old.same(new, slot).then_some(slot);
        let start = out.len();
        put(out, (slot - next) as u128);
        if write_cell(out, before, after, base, slot) {
            next = slot + 1;
            count += 1;
        } else {
            out.truncate(start);
        }
    }
    count
}

fn write_cell(out: &mut Vec<u8>, before: Column<'_>, after: Column<'_>, base: Option<usize>, slot: usize) -> bool {
    match (before, after) {
        (Column::Num(a), Column::Num(b)) => {
            let (old, new) = (base.and_then(|slot| a.raw(slot)), b.raw(slot));
            put(out, number(old, new));
            old != new
        }
        (Column::Text(a), Column::Text(b)) => {
            let (old, new) = (base.and_then(|slot| a.get(slot)), b.get(slot));
            match new {
                None => out.push(0),
                Some(text) => {
                    out.push(1);
                    put_bytes(out, text.as_bytes());
                }
            }
            old != new
        }
        (Column::Sets(a), Column::Sets(b)) => {
            let (old, new) = (base.and_then(|slot| a.get(slot)), b.get(slot));
            write_set(out, new.map(Arc::as_ref));
            old != new
        }
        (Column::Sparse(a), Column::Sparse(b)) => write_sparse(out, a, b, base, slot),
        _ => false,
    }
}

/// 0 is unread, 1 known to be none, the rest a difference.
fn number(old: Option<u64>, new: Option<u64>) -> u128 {
    match new {
        None => 0,
        Some(NONE) => 1,
        Some(value) => 2 + u128::from(zigzag(old.filter(|&old| old != NONE).unwrap_or(0), value)),
    }
}

fn write_set(out: &mut Vec<u8>, set: Option<&IdSet>) {
    let Some(set) = set else {
        out.push(0);
        return;
    };
    out.push(1);
    put(out, set.ranges().len() as u128);
    for &(first, last) in set.ranges() {
        put(out, u128::from(first));
        put(out, u128::from(last - first));
    }
}

fn write_sparse(out: &mut Vec<u8>, before: &Sparse, after: &Sparse, base: Option<usize>, slot: usize) -> bool {
    let (old, new) = (base.and_then(|slot| before.get(slot)), after.get(slot));
    let Some(pairs) = new else {
        out.push(0);
        return old.is_some();
    };
    out.push(1);
    put(out, pairs.len() as u128);
    let (mut next, mut at) = (0u64, 0);
    let earlier = old.unwrap_or_default();
    for &(id, value) in pairs {
        while earlier.get(at).is_some_and(|pair| pair.0 < id) {
            at += 1;
        }
        let before = earlier.get(at).filter(|pair| pair.0 == id).map_or(0, |pair| pair.1);
        put(out, u128::from(u64::from(id) - next));
        put(out, u128::from(zigzag(before, value)));
        next = u64::from(id) + 1;
    }
    old != new
}
