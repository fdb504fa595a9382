//! Cells as differences to what can be expected of them, without the low zero bits that all of a column end in.

use super::source::{Cell, Hole, Kind, SHIFTS};
use crate::column::NONE;
use crate::{Column, Num, Rows};

/// A column's kind in records.
pub(super) fn kind(column: Column<'_>) -> Kind {
    match column {
        Column::Num(_) => Kind::Num,
        Column::Text(_) => Kind::Text,
        Column::Sets(_) => Kind::Sets,
        Column::Sparse(_) => Kind::Sparse,
    }
}

/// The number that a cell is expected to be near: its former value, or else that of the row above.
pub(super) fn expected(before: Option<u64>, column: &Num, rows: &Rows, slot: usize) -> u64 {
    let number = |value: Option<u64>| value.filter(|&value| value != NONE);
    let above = || (0..slot).rev().find(|&slot| rows.serial(slot) != 0).and_then(|slot| number(column.raw(slot)));
    number(before).or_else(above).unwrap_or(0)
}

/// The most zero bits of [`SHIFTS`] that all of some numbers end in, given all their bits together.
fn shift(bits: u64) -> u32 {
    SHIFTS.into_iter().rev().find(|&shift| bits & ((1 << shift) - 1) == 0).unwrap_or(0)
}

/// A column's cells, gathered before they are written.
#[derive(Debug, Default)]
pub(super) struct Gather {
    pub(super) numbers: Vec<Cell>,
    /// Rows of pairs: how many of them each has, none when it is unread.
    counts: Vec<Option<usize>>,
    pairs: Vec<(u64, i64)>,
}

impl Gather {
    /// Bytes that it holds on to, about.
    pub(super) fn size(&self) -> usize {
        self.numbers.capacity() * 16 + self.counts.capacity() * 16 + self.pairs.capacity() * 16
    }

    /// Gathers numbers (slot, before, after), those of clocks as differences to each other; returns their shift.
    pub(super) fn numbers(
        &mut self,
        clock: Option<u64>,
        cells: impl Iterator<Item = (usize, Option<u64>, Option<u64>)>,
        column: &Num,
        rows: &Rows,
    ) -> u32 {
        let mut bits = 0;
        self.numbers.clear();
        self.numbers.extend(cells.map(|(slot, before, after)| {
            let value = after.ok_or(Hole::Unread)?;
            if value == NONE {
                return Err(Hole::None);
            }
            let from = if clock.is_some() { 0 } else { expected(before, column, rows, slot) };
            let difference = value.wrapping_sub(from) as i64;
            bits |= difference as u64;
            Ok(difference)
        }));
        let shift = shift(bits);
        let mut last = clock.map(|clock| clock >> shift);
        for cell in self.numbers.iter_mut().flatten() {
            match &mut last {
                Some(last) => {
                    let now = *cell as u64 >> shift;
                    *cell = now.wrapping_sub(*last) as i64;
                    *last = now;
                }
                None => *cell >>= shift,
            }
        }
        shift
    }

    /// Gathers rows of pairs (before, after): those that differ; returns their shift.
    pub(super) fn pairs<'a>(
        &mut self,
        rows: impl Iterator<Item = (Option<&'a [(u32, u64)]>, Option<&'a [(u32, u64)]>)>,
    ) -> u32 {
        self.counts.clear();
        self.pairs.clear();
        for (before, after) in rows {
            let start = self.pairs.len();
            if let Some(after) = after {
                row(before.unwrap_or_default(), after, &mut self.pairs);
            }
            self.counts.push(after.map(|_| self.pairs.len() - start));
        }
        let shift = shift(self.pairs.iter().fold(0, |bits, pair| bits | pair.1 as u64));
        for pair in &mut self.pairs {
            pair.1 >>= shift;
        }
        shift
    }

    /// The gathered rows of pairs.
    pub(super) fn rows(&self) -> impl Iterator<Item = (Option<usize>, &[(u64, i64)])> {
        let mut rest = self.pairs.as_slice();
        self.counts.iter().map(move |&count| {
            let (head, tail) = rest.split_at_checked(count.unwrap_or(0)).unwrap_or_default();
            rest = tail;
            (count, head)
        })
    }
}

/// Appends the ids whose number differs between two sorted rows, each as its step from the one before.
fn row(before: &[(u32, u64)], after: &[(u32, u64)], out: &mut Vec<(u64, i64)>) {
    let (mut old, mut new) = (before.iter().peekable(), after.iter().peekable());
    let mut next = 0;
    loop {
        let (was, is) = (old.peek().copied(), new.peek().copied());
        let id = match (was, is) {
            (Some(was), Some(is)) => was.0.min(is.0),
            (Some(one), None) | (None, Some(one)) => one.0,
            (None, None) => return,
        };
        let was = old.next_if(|pair| pair.0 == id).map_or(0, |pair| pair.1);
        let is = new.next_if(|pair| pair.0 == id).map_or(0, |pair| pair.1);
        if was != is {
            out.push((u64::from(id) - next, is.wrapping_sub(was) as i64));
            next = u64::from(id) + 1;
        }
    }
}
