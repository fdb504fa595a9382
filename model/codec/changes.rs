//! Which rows and columns of a table differ from the base.

use super::rows::{Event, PART, Row};
use crate::{Column, Num, Rows, Table};

/// The changes of up to 64 columns of one table.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// The columns with a change, by their place in the table.
    pub(super) columns: Vec<usize>,
    /// The rows with a change; bits of their masks stand for `columns`.
    pub(super) rows: Vec<Row>,
    masks: Vec<u64>,
}

impl Changes {
    /// Compares the columns from `first` on; true if anything differs.
    pub(super) fn find<T: Table>(&mut self, first: usize, old: &T, new: &T) -> bool {
        let bound = new.rows().bound().max(old.rows().bound());
        self.masks.clear();
        self.masks.resize(bound, 0);
        self.columns.clear();
        for index in first..T::COLUMNS.len().min(first + PART) {
            let bit = 1 << self.columns.len();
            let (Some(before), Some(after)) = (old.column(index), new.column(index)) else { continue };
            if mark(&mut self.masks, bit, before, after, old.rows(), new.rows()) {
                self.columns.push(index);
            }
        }
        self.rows.clear();
        let mut serial = 0;
        for (slot, &mask) in self.masks.iter().enumerate() {
            let (before, after) = (old.rows().serial(slot), new.rows().serial(slot));
            let event = match (before == after, after) {
                (true, _) => Event::Changed,
                (false, 0) => Event::Gone,
                (false, _) => Event::Born,
            };
            // Rows come and go with the first columns; for later ones they are there already.
            let event = if first > 0 { Event::Changed } else { event };
            if event == Event::Changed && mask == 0 {
                continue;
            }
            let mut row = Row { slot: slot as u64, event, mask, serial: 0 };
            if event == Event::Born {
                row.serial = after.wrapping_sub(serial) as i64;
                serial = after;
            }
            self.rows.push(row);
        }
        !self.rows.is_empty()
    }
}

/// Sets a bit where a cell differs, and of new rows where there is something; true if there was one.
fn mark(masks: &mut [u64], bit: u64, before: Column<'_>, after: Column<'_>, old: &Rows, new: &Rows) -> bool {
    match (before, after) {
        (Column::Num(a), Column::Num(b)) => mark_numbers(masks, bit, a, b, old, new),
        (Column::Text(a), Column::Text(b)) => {
            let same = |slot| match (a.get(slot), b.get(slot)) {
                (Some(a), Some(b)) => std::sync::Arc::ptr_eq(a, b) || a == b,
                (a, b) => a.is_none() && b.is_none(),
            };
            mark_cells(masks, bit, old, new, same, |slot| b.get(slot).is_some())
        }
        (Column::Sets(a), Column::Sets(b)) => {
            let same = |slot| match (a.get(slot), b.get(slot)) {
                (Some(a), Some(b)) => std::sync::Arc::ptr_eq(a, b) || a == b,
                (a, b) => a.is_none() && b.is_none(),
            };
            mark_cells(masks, bit, old, new, same, |slot| b.get(slot).is_some())
        }
        (Column::Sparse(a), Column::Sparse(b)) => {
            mark_cells(masks, bit, old, new, |slot| a.get(slot) == b.get(slot), |slot| b.get(slot).is_some())
        }
        _ => false,
    }
}

fn mark_cells(
    masks: &mut [u64],
    bit: u64,
    old: &Rows,
    new: &Rows,
    same: impl Fn(usize) -> bool,
    some: impl Fn(usize) -> bool,
) -> bool {
    let mut any = false;
    for slot in new.iter() {
        let differs = if old.same(new, slot) { !same(slot) } else { some(slot) };
        if differs && let Some(mask) = masks.get_mut(slot) {
            *mask |= bit;
            any = true;
        }
    }
    any
}

/// Numbers 64 rows at a time: most of them are unchanged.
fn mark_numbers(masks: &mut [u64], bit: u64, a: &Num, b: &Num, old: &Rows, new: &Rows) -> bool {
    let mut any = false;
    for (chunk, masks) in masks.chunks_mut(64).enumerate() {
        let (first, len) = (chunk * 64, masks.len());
        if a.same_chunk(b, chunk) && old.same_range(new, first, len) {
            continue;
        }
        for (at, mask) in masks.iter_mut().enumerate() {
            let slot = first + at;
            if new.serial(slot) == 0 {
                continue;
            }
            let before = if old.same(new, slot) { a.raw(slot) } else { None };
            if before != b.raw(slot) {
                *mask |= bit;
                any = true;
            }
        }
    }
    any
}
