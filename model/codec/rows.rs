//! The rows of a part of a table, and the cells of its columns.

/// The most columns of a part: a row's changes are the bits of one word.
pub(super) const PART: usize = 64;

/// The mask of so many columns.
pub(super) fn all(columns: usize) -> u64 {
    if columns == 0 { 0 } else { u64::MAX >> (PART - columns.min(PART)) }
}

/// What happened to a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Event {
    /// Some of its values changed.
    #[default]
    Changed,
    /// It is a new one, whatever was in its slot.
    Born,
    /// It is gone.
    Gone,
}

impl Event {
    pub(super) const ALL: [Self; 3] = [Self::Changed, Self::Born, Self::Gone];
}

/// A row of a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    /// Its slot.
    pub(super) slot: u64,
    /// What happened to it.
    pub(super) event: Event,
    /// Which columns of the part have a new value there.
    pub(super) mask: u64,
    /// Of a new row: its serial less that of the new row before it.
    pub(super) serial: i64,
}

/// The slots of each column's cells, sorted out from the rows in one go.
#[derive(Debug, Default)]
pub(super) struct Places {
    slots: Vec<usize>,
    ends: Vec<usize>,
}

impl Places {
    /// Takes in the rows of a part with so many columns.
    pub(super) fn sort(&mut self, rows: &[Row], columns: usize) {
        let mut next = [0; PART + 1];
        each(rows, columns, |column, _| next[column + 1] += 1);
        for column in 0..PART {
            next[column + 1] += next[column];
        }
        self.ends.clear();
        self.ends.extend_from_slice(&next);
        self.slots.clear();
        self.slots.resize(next[PART], 0);
        each(rows, columns, |column, slot| {
            if let Some(place) = self.slots.get_mut(next[column]) {
                *place = slot;
            }
            next[column] += 1;
        });
    }

    /// The slots of a column's cells, ascending.
    pub(super) fn of(&self, column: usize) -> &[usize] {
        let range = self.ends.get(column).zip(self.ends.get(column + 1));
        range.and_then(|(&start, &end)| self.slots.get(start..end)).unwrap_or_default()
    }
}

/// Calls with the column and slot of each cell.
fn each(rows: &[Row], columns: usize, mut cell: impl FnMut(usize, usize)) {
    for row in rows {
        let mut mask = row.mask;
        while mask != 0 {
            let column = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            if column < columns.min(PART) {
                cell(column, row.slot as usize);
            }
        }
    }
}
