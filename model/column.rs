//! The four kinds of column that tables are made of, each with a hole for what was not read.

use crate::{IdSet, Known};
use std::sync::Arc;

/// A number that is known to be none or unlimited (`max`, numa_node -1), as it is kept.
pub const NONE: u64 = u64::MAX;

/// Numbers: counters, gauges, ids. `u64::MAX` is "known to be none".
#[derive(Clone, Default)]
pub struct Num {
    values: Vec<u64>,
    valid: Vec<u64>,
}

impl Num {
    /// The number in a row.
    pub fn get(&self, slot: usize) -> Known<u64> {
        match self.raw(slot) {
            None => Known::Missing,
            Some(NONE) => Known::None,
            Some(value) => Known::Value(value),
        }
    }

    /// The number in a row, if there is one.
    pub fn value(&self, slot: usize) -> Option<u64> {
        self.raw(slot).filter(|&value| value != NONE)
    }

    /// The number as an id; ids beyond 32 bits count as unread.
    pub fn id(&self, slot: usize) -> Known<u32> {
        match self.get(slot) {
            Known::Value(value) => Known::or_missing(u32::try_from(value).ok()),
            Known::None => Known::None,
            Known::Missing => Known::Missing,
        }
    }

    /// The floating-point number whose bits are kept, if it is one.
    pub fn float(&self, slot: usize) -> Option<f64> {
        self.value(slot).map(f64::from_bits).filter(|value| value.is_finite())
    }

    /// Sets the bits of a floating-point number; one that is none or endless counts as unread.
    pub fn set_float(&mut self, slot: usize, value: f64) {
        if value.is_finite() {
            self.set(slot, value.to_bits());
        } else {
            self.clear(slot);
        }
    }

    /// The bits as kept, `NONE` included.
    pub fn raw(&self, slot: usize) -> Option<u64> {
        let valid = self.valid.get(slot / 64)? >> (slot % 64) & 1 == 1;
        if valid { self.values.get(slot).copied() } else { None }
    }

    /// Sets the number of a row. A number that large that it stands for none counts as unread: it is no number.
    pub fn set(&mut self, slot: usize, value: u64) {
        if value == NONE {
            self.clear(slot);
        } else {
            self.set_raw(slot, value);
        }
    }

    /// Sets the bits of a row as they are kept.
    pub(crate) fn set_raw(&mut self, slot: usize, value: u64) {
        self.grow(slot + 1);
        if let (Some(cell), Some(word)) = (self.values.get_mut(slot), self.valid.get_mut(slot / 64)) {
            *cell = value;
            *word |= 1 << (slot % 64);
        }
    }

    /// Says that a row is known to have none.
    pub fn set_none(&mut self, slot: usize) {
        self.set_raw(slot, NONE);
    }

    /// Sets a number, known to be none when absent.
    pub fn set_or_none(&mut self, slot: usize, value: Option<u64>) {
        match value {
            Some(value) => self.set(slot, value),
            None => self.set_none(slot),
        }
    }

    /// Sets a number, not read when absent.
    pub fn set_or_clear(&mut self, slot: usize, value: Option<u64>) {
        match value {
            Some(value) => self.set(slot, value),
            None => self.clear(slot),
        }
    }

    /// Says that the number of a row was not read.
    pub fn clear(&mut self, slot: usize) {
        if let Some(word) = self.valid.get_mut(slot / 64) {
            *word &= !(1 << (slot % 64));
        }
        if let Some(cell) = self.values.get_mut(slot) {
            *cell = 0;
        }
    }

    fn grow(&mut self, len: usize) {
        if self.values.len() < len {
            self.values.resize(len, 0);
            self.valid.resize(len.div_ceil(64), 0);
        }
    }

    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.values.clone_from(&other.values);
        self.valid.clone_from(&other.valid);
    }

    /// True if 64 rows from a multiple of 64 on are the same, quick to check; what was cleared is kept as zero.
    pub(crate) fn same_chunk(&self, other: &Self, chunk: usize) -> bool {
        let range = |len: usize| (chunk * 64).min(len)..(chunk * 64 + 64).min(len);
        self.valid.get(chunk) == other.valid.get(chunk)
            && self.values.get(range(self.values.len())) == other.values.get(range(other.values.len()))
    }
}

/// Cells of one kind; `None` is "not read".
#[derive(Clone, Default)]
pub struct Cells<C> {
    values: Vec<Option<C>>,
}

/// Texts; an empty text is known to be none.
pub type Text = Cells<Arc<str>>;

/// Sets of ids: CPU lists, node lists.
pub type Sets = Cells<Arc<IdSet>>;

/// Numbers by id (counts by CPU, bytes by node), sorted by id; ids that are left out are zero.
pub type Sparse = Cells<Vec<(u32, u64)>>;

impl<C: Clone> Cells<C> {
    /// Says that a row was not read.
    pub fn clear(&mut self, slot: usize) {
        if let Some(cell) = self.values.get_mut(slot) {
            *cell = None;
        }
    }

    fn cell(&mut self, slot: usize) -> Option<&mut Option<C>> {
        if self.values.len() <= slot {
            self.values.resize(slot + 1, None);
        }
        self.values.get_mut(slot)
    }

    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.values.clone_from(&other.values);
    }
}

impl<T: ?Sized> Cells<Arc<T>> {
    /// What is in a row.
    pub fn get(&self, slot: usize) -> Option<&Arc<T>> {
        self.values.get(slot)?.as_ref()
    }

    /// Sets a row to what is shared with others.
    pub fn set_shared(&mut self, slot: usize, value: &Arc<T>) {
        if let Some(cell) = self.cell(slot) {
            *cell = Some(Arc::clone(value));
        }
    }
}

impl Text {
    /// The text in a row, empty when it was not read.
    pub fn or_empty(&self, slot: usize) -> Arc<str> {
        self.get(slot).cloned().unwrap_or_default()
    }

    /// Sets the text of a row; nothing is allocated when it is the same.
    pub fn set(&mut self, slot: usize, value: &str) {
        if let Some(cell) = self.cell(slot).filter(|cell| cell.as_deref() != Some(value)) {
            *cell = Some(value.into());
        }
    }
}

impl Sets {
    /// Sets the set of a row; the old one is kept when it is the same.
    pub fn set(&mut self, slot: usize, value: IdSet) {
        if let Some(cell) = self.cell(slot).filter(|cell| cell.as_deref() != Some(&value)) {
            *cell = Some(Arc::new(value));
        }
    }
}

impl Sparse {
    /// The pairs of a row.
    pub fn get(&self, slot: usize) -> Option<&[(u32, u64)]> {
        self.values.get(slot)?.as_deref()
    }

    /// The number of a row for one id: zero when the row leaves it out.
    pub fn at(&self, slot: usize, id: u32) -> Option<u64> {
        let row = self.get(slot)?;
        Some(row.binary_search_by_key(&id, |pair| pair.0).ok().and_then(|at| row.get(at)).map_or(0, |pair| pair.1))
    }

    /// The sum of a row.
    pub fn sum(&self, slot: usize) -> Option<u64> {
        self.get(slot).map(|row| row.iter().fold(0u64, |sum, pair| sum.saturating_add(pair.1)))
    }

    /// Replaces a row by pairs sorted by id without doubles; zeros are left out.
    pub fn set(&mut self, slot: usize, pairs: impl IntoIterator<Item = (u32, u64)>) {
        let Some(cell) = self.cell(slot) else { return };
        let row = cell.get_or_insert_default();
        row.clear();
        row.extend(pairs.into_iter().filter(|pair| pair.1 != 0));
        if !row.is_sorted_by(|a, b| a.0 < b.0) {
            row.sort_unstable_by_key(|pair| pair.0);
            row.dedup_by_key(|pair| pair.0);
        }
    }
}

impl Sparse {
    /// Adds differences to a row by ids that ascend; an unread row is taken for an empty one. Zeros are left out.
    pub(crate) fn patch(&mut self, slot: usize, steps: &[(u32, i64)]) {
        let Some(cell) = self.cell(slot) else { return };
        let row = cell.get_or_insert_default();
        let (mut at, mut zeros) = (0, false);
        for &(id, step) in steps {
            while row.get(at).is_some_and(|pair| pair.0 < id) {
                at += 1;
            }
            match row.get_mut(at).filter(|pair| pair.0 == id) {
                Some(pair) => {
                    pair.1 = pair.1.wrapping_add(step as u64);
                    zeros |= pair.1 == 0;
                }
                None => row.insert(at, (id, step as u64)),
            }
            zeros |= step == 0;
        }
        if zeros {
            row.retain(|pair| pair.1 != 0);
        }
    }
}

/// What a column's values are: it decides how they are encoded and whether a rate makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Names the row or another one.
    Id,
    /// Grows; 64 bits.
    Counter,
    /// Grows; 32 bits in the kernel, wraps.
    Counter32,
    /// Goes up and down.
    Gauge,
    /// CLOCK_MONOTONIC when something was read: near those of the other rows.
    Clock,
    /// A setting or a description.
    Fact,
}

/// What a column's numbers count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nothing: ids, texts, flags (0 or 1), codes.
    None,
    /// Events, packets, pages' events, requests.
    Count,
    /// Bytes.
    Bytes,
    /// Pages.
    Pages,
    /// Clock ticks of 1/100 s (USER_HZ).
    Ticks,
    /// Nanoseconds.
    Nanoseconds,
    /// Microseconds.
    Microseconds,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
    /// Megabits per second.
    MegabitsPerSecond,
    /// Kilohertz.
    Kilohertz,
    /// Hundredths of a percent.
    Permyriad,
    /// Whatever the user says, as the bits of a floating-point number: [`Num::float`].
    Float,
}

/// One column: feeds the codec, exports, sorting, help and documentation.
#[derive(Clone, Copy, Debug)]
pub struct ColumnDef {
    /// Its id in recordings: never reused within a table.
    pub id: u16,
    /// Its name, unique within the table.
    pub name: &'static str,
    /// What its values are.
    pub meaning: Meaning,
    /// What they count.
    pub unit: Unit,
    /// The file each value comes from, below the root.
    pub source: &'static str,
}

/// A borrowed column of any kind.
#[derive(Clone, Copy, Debug)]
pub enum Column<'a> {
    /// Numbers.
    Num(&'a Num),
    /// Texts.
    Text(&'a Text),
    /// Sets of ids.
    Sets(&'a Sets),
    /// Numbers by id.
    Sparse(&'a Sparse),
}

impl Column<'_> {
    /// Bytes that a row takes in the column itself.
    pub(crate) fn cell_size(&self) -> usize {
        match self {
            Self::Num(_) => size_of::<u64>(),
            Self::Text(_) => size_of::<Option<Arc<str>>>(),
            Self::Sets(_) => size_of::<Option<Arc<IdSet>>>(),
            Self::Sparse(_) => size_of::<Option<Vec<(u32, u64)>>>(),
        }
    }
}

/// A mutably borrowed column of any kind.
#[derive(Debug)]
pub enum ColumnMut<'a> {
    /// Numbers.
    Num(&'a mut Num),
    /// Texts.
    Text(&'a mut Text),
    /// Sets of ids.
    Sets(&'a mut Sets),
    /// Numbers by id.
    Sparse(&'a mut Sparse),
}

impl ColumnMut<'_> {
    /// Forgets the value of a row.
    pub fn clear(&mut self, slot: usize) {
        match self {
            Self::Num(column) => column.clear(slot),
            Self::Text(column) => column.clear(slot),
            Self::Sets(column) => column.clear(slot),
            Self::Sparse(column) => column.clear(slot),
        }
    }
}

macro_rules! same_cells {
    ($($kind:ident: $cell:ident),*) => {$(
        /// Equal when every row is, however many unread rows follow.
        impl PartialEq for $kind {
            fn eq(&self, other: &Self) -> bool {
                (0..self.values.len().max(other.values.len())).all(|slot| self.$cell(slot) == other.$cell(slot))
            }
        }
        impl Eq for $kind {}

        /// What decoding gives back too: the rows that were read.
        impl std::fmt::Debug for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let read = (0..self.values.len()).filter_map(|slot| Some((slot, self.$cell(slot)?)));
                f.debug_map().entries(read).finish()
            }
        }
    )*};
}
same_cells!(Num: raw, Text: get, Sets: get, Sparse: get);

macro_rules! column_ref {
    ($($kind:ident),*) => {$(
        impl<'a> From<&'a $kind> for Column<'a> {
            fn from(column: &'a $kind) -> Self { Self::$kind(column) }
        }
        impl<'a> From<&'a mut $kind> for ColumnMut<'a> {
            fn from(column: &'a mut $kind) -> Self { Self::$kind(column) }
        }
    )*};
}
column_ref!(Num, Text, Sets, Sparse);
