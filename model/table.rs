//! Tables: columns over stable rows, defined once by `table!`.

use crate::{Column, ColumnDef, ColumnMut};

/// Which slots of a table are rows. A row's serial tells it from others that had the same slot before it.
#[derive(Clone, Default)]
pub struct Rows {
    serials: Vec<u64>,
    last_serial: u64,
    live: usize,
    free: Vec<u32>,
}

impl Rows {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.live
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// One past the highest slot.
    pub fn bound(&self) -> usize {
        self.serials.len()
    }

    /// The slots that hold rows, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.serials.iter().enumerate().filter(|(_, serial)| **serial != 0).map(|(slot, _)| slot)
    }

    /// The serial of a slot; zero when it holds no row.
    pub fn serial(&self, slot: usize) -> u64 {
        self.serials.get(slot).copied().unwrap_or_default()
    }

    /// True if the slot holds the same row in both: a difference of their values means something.
    pub fn same(&self, other: &Self, slot: usize) -> bool {
        let serial = self.serial(slot);
        serial != 0 && serial == other.serial(slot)
    }

    /// True if so many slots from `first` on hold the same rows in both, or none.
    pub(crate) fn same_range(&self, other: &Self, first: usize, len: usize) -> bool {
        let slots = |end: usize| first.min(end)..(first + len).min(end);
        self.serials.get(slots(self.bound())) == other.serials.get(slots(other.bound()))
    }

    /// The highest serial that was given out.
    pub(crate) fn highest(&self) -> u64 {
        self.last_serial
    }

    /// Adds to every serial, so that no row is the same as one that had its slot and serial.
    pub(crate) fn raise(&mut self, by: u64) {
        self.serials.iter_mut().filter(|serial| **serial != 0).for_each(|serial| *serial += by);
        self.last_serial += by;
    }

    pub(crate) fn insert(&mut self) -> usize {
        let slot = self.free.pop().map_or(self.serials.len(), |slot| slot as usize);
        self.last_serial += 1;
        self.put(slot, self.last_serial);
        slot
    }

    pub(crate) fn remove(&mut self, slot: usize) {
        if let Some(serial) = self.serials.get_mut(slot)
            && *serial != 0
        {
            *serial = 0;
            self.live -= 1;
            self.free.push(slot as u32);
        }
    }

    /// Sets a slot's serial as a decoder does; such rows are never given out by `insert`.
    pub(crate) fn put(&mut self, slot: usize, serial: u64) {
        if self.serials.len() <= slot {
            self.serials.resize(slot + 1, 0);
        }
        if let Some(cell) = self.serials.get_mut(slot) {
            self.live = self.live + usize::from(serial != 0) - usize::from(*cell != 0);
            *cell = serial;
            self.last_serial = self.last_serial.max(serial);
        }
    }

    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.serials.clone_from(&other.serials);
        self.free.clone_from(&other.free);
        self.last_serial = other.last_serial;
        self.live = other.live;
    }
}

/// What decoding gives back too: slots and serials, not which slots are free to be given out.
impl std::fmt::Debug for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter().map(|slot| (slot, self.serial(slot)))).finish()
    }
}

/// Equal when the same slots hold the same rows.
impl PartialEq for Rows {
    fn eq(&self, other: &Self) -> bool {
        (0..self.bound().max(other.bound())).all(|slot| self.serial(slot) == other.serial(slot))
    }
}

impl Eq for Rows {}

/// Columns over rows; see `table!`.
pub trait Table: Clone + Default + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// Its id in recordings: never reused.
    const ID: u16;
    /// Its name.
    const NAME: &'static str;
    /// Its columns, in the order of `column`.
    const COLUMNS: &'static [ColumnDef];

    /// Its rows.
    fn rows(&self) -> &Rows;

    #[doc(hidden)]
    fn rows_mut(&mut self) -> &mut Rows;

    /// A column by its place in `COLUMNS`.
    fn column(&self, index: usize) -> Option<Column<'_>>;

    /// A column by its place in `COLUMNS`, to write to.
    fn column_mut(&mut self, index: usize) -> Option<ColumnMut<'_>>;

    /// Its rows beside a column to write to.
    #[doc(hidden)]
    fn parts_mut(&mut self, index: usize) -> (&Rows, Option<ColumnMut<'_>>);

    /// Copies another table into this one's buffers.
    fn copy_from(&mut self, other: &Self);

    /// Adds an empty row and returns its slot.
    fn insert(&mut self) -> usize {
        let slot = self.rows_mut().insert();
        self.forget(slot);
        slot
    }

    /// Takes a row out; its slot may be used again under another serial.
    fn remove(&mut self, slot: usize) {
        self.rows_mut().remove(slot);
        self.forget(slot);
    }

    /// Forgets every value of a slot.
    fn forget(&mut self, slot: usize) {
        for index in 0..Self::COLUMNS.len() {
            if let Some(mut column) = self.column_mut(index) {
                column.clear(slot);
            }
        }
    }

    /// The only row of a table that describes the machine as a whole; made when it is not there.
    fn only(&mut self) -> usize {
        let first = self.rows().iter().next();
        first.unwrap_or_else(|| self.insert())
    }

    /// The first row's slot, if there is one.
    fn first(&self) -> Option<usize> {
        self.rows().iter().next()
    }
}

/// Defines a table: `Name = id "name" { field: Kind = column id (Meaning, Unit, "source"), … }`.
macro_rules! table {
    ($(#[$doc:meta])* $name:ident = $id:literal $text:literal {
        $($(#[$field_doc:meta])* $field:ident: $kind:ident = $column:literal ($meaning:ident, $unit:ident, $source:literal)),+ $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            rows: $crate::Rows,
            $($(#[$field_doc])* pub $field: $crate::$kind,)+
        }

        impl $crate::Table for $name {
            const ID: u16 = $id;
            const NAME: &'static str = $text;
            const COLUMNS: &'static [$crate::ColumnDef] = &[$(
                $crate::ColumnDef {
                    id: $column,
                    name: stringify!($field),
                    meaning: $crate::Meaning::$meaning,
                    unit: $crate::Unit::$unit,
                    source: $source,
                },
            )+];

            fn rows(&self) -> &$crate::Rows {
                &self.rows
            }

            fn rows_mut(&mut self) -> &mut $crate::Rows {
                &mut self.rows
            }

            fn column(&self, index: usize) -> Option<$crate::Column<'_>> {
                let mut at = index;
                $(
                    if at == 0 {
                        return Some($crate::Column::from(&self.$field));
                    }
                    at = at.wrapping_sub(1);
                )+
                let _ = at;
                None
            }

            fn column_mut(&mut self, index: usize) -> Option<$crate::ColumnMut<'_>> {
                let mut at = index;
                $(
                    if at == 0 {
                        return Some($crate::ColumnMut::from(&mut self.$field));
                    }
                    at = at.wrapping_sub(1);
                )+
                let _ = at;
                None
            }

            fn parts_mut(&mut self, index: usize) -> (&$crate::Rows, Option<$crate::ColumnMut<'_>>) {
                let mut at = index;
                $(
                    if at == 0 {
                        return (&self.rows, Some($crate::ColumnMut::from(&mut self.$field)));
                    }
                    at = at.wrapping_sub(1);
                )+
                let _ = at;
                (&self.rows, None)
            }

            fn copy_from(&mut self, other: &Self) {
                self.rows.copy_from(&other.rows);
                $(self.$field.copy_from(&other.$field);)+
            }
        }
    };
}
pub(crate) use table;

/// Finds rows by identity and drops those that are gone: the collector's side of stable slots.
#[derive(Debug)]
pub struct Slots<K> {
    by_key: std::collections::HashMap<K, (usize, u64)>,
    round: u64,
}

impl<K> Default for Slots<K> {
    fn default() -> Self {
        Self { by_key: std::collections::HashMap::new(), round: 0 }
    }
}

impl<K: Eq + std::hash::Hash + Clone> Slots<K> {
    /// Starts a reading: rows that are not asked for until `finish` are dropped by it.
    pub fn begin(&mut self) {
        self.round += 1;
    }

    /// The slot of a key, and whether it was made for it now.
    pub fn slot<T: Table>(&mut self, table: &mut T, key: &K) -> (usize, bool) {
        if let Some(entry) = self.by_key.get_mut(key) {
            entry.1 = self.round;
            return (entry.0, false);
        }
        let slot = table.insert();
        self.by_key.insert(key.clone(), (slot, self.round));
        (slot, true)
    }

    /// The slot of a key that is already there; it does not count as seen.
    pub fn find(&self, key: &K) -> Option<usize> {
        self.by_key.get(key).map(|entry| entry.0)
    }

    /// Drops the rows that were not asked for since `begin`, and tells of each.
    pub fn finish<T: Table>(&mut self, table: &mut T, mut dropped: impl FnMut(&K, usize)) {
        let round = self.round;
        self.by_key.retain(|key, (slot, seen)| {
            if *seen == round {
                return true;
            }
            table.remove(*slot);
            dropped(key, *slot);
            false
        });
    }
}
