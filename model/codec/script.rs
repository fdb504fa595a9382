//! The order in which a record says things, once for writing and reading: what stands where and what is learned there.
//!
//! Nothing here depends on the base or on which tables and columns this version knows: what is unknown is read past.

use super::Error;
use super::numbers::{Choice, Number};
use super::patterns::Patterns;
use super::range::{Bit, Coder};
use super::rows::{Event, Row};

/// The kinds of column as records have them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// Numbers.
    #[default]
    Num,
    /// Texts.
    Text,
    /// Sets of ids.
    Sets,
    /// Numbers by id.
    Sparse,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Num, Self::Text, Self::Sets, Self::Sparse];
}

/// What a column is like in one record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    /// Its id.
    pub(super) id: u64,
    /// Its kind.
    pub(super) kind: Kind,
}

/// Numbers of zero bits that are left out: none, those of KiB, of pages of 4 KiB and of 64 KiB.
pub(super) const SHIFTS: [u32; 4] = [0, 10, 12, 16];

/// How a text or set stands in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// The one that stood in this column before.
    Again,
    /// One that was not yet in this record.
    New,
    /// One that was, some places back.
    Earlier,
    /// Not read.
    Unread,
}

impl Mode {
    const ALL: [Self; 4] = [Self::Again, Self::New, Self::Earlier, Self::Unread];
}

/// Columns with fewer cells than this share what they learn.
const OWN: usize = 6;

/// Says or reads one record.
#[derive(Debug)]
pub(super) struct Script<C> {
    coder: C,
    /// How many more things may be read.
    left: usize,
    more: Bit,
    tables: Number,
    stamps: Number,
    states: Choice<4>,
    read_at: Number,
    counts: Number,
    columns: Number,
    kinds: Choice<4>,
    shifts: [Choice<4>; 4],
    last_shift: usize,
    slots: Number,
    events: [Choice<4>; 4],
    serials: Number,
    modes: Choice<4>,
    lengths: Number,
    ids: Number,
    /// Numbers of columns with few cells, by the size of the one before.
    shared: [Number; 4],
    last_size: usize,
    own: Number,
    holes: [Bit; 2],
    seen: Vec<[Choice<16>; 16]>,
}

impl<C: Coder> Script<C> {
    /// With the most things (rows, cells, pairs) that may be said.
    pub(super) fn new(coder: C, left: usize) -> Self {
        Self {
            coder,
            left,
            more: Bit::EVEN,
            tables: Number::NEW,
            stamps: Number::NEW,
            states: Choice::NEW,
            read_at: Number::NEW,
            counts: Number::NEW,
            columns: Number::NEW,
            kinds: Choice::NEW,
            shifts: [const { Choice::NEW }; 4],
            last_shift: 0,
            slots: Number::NEW,
            events: [const { Choice::NEW }; 4],
            serials: Number::NEW,
            modes: Choice::NEW,
            lengths: Number::NEW,
            ids: Number::NEW,
            shared: [const { Number::NEW }; 4],
            last_size: 0,
            own: Number::NEW,
            holes: [Bit::EVEN; 2],
            seen: Vec::new(),
        }
    }

    /// The coder, to end with.
    pub(super) fn into_coder(self) -> C {
        self.coder
    }

    /// Counts things and stops where a record says more than any does, or ends.
    pub(super) fn take(&mut self, things: usize) -> Result<(), Error> {
        self.left = self.left.checked_sub(things).ok_or(Error::TooLarge)?;
        self.coder.check()
    }

    /// True if another one follows.
    pub(super) fn more(&mut self, more: bool) -> Result<bool, Error> {
        self.take(1)?;
        Ok(self.coder.bit(&mut self.more, more))
    }

    /// A table's id less that of the table before it.
    pub(super) fn table(&mut self, step: i64) -> i64 {
        self.tables.signed(&mut self.coder, step)
    }

    /// A difference between clocks.
    pub(super) fn clock(&mut self, difference: i64) -> i64 {
        self.stamps.signed(&mut self.coder, difference)
    }

    /// A section's state, its generation less the sample's time, and how much longer its reading took.
    pub(super) fn section(&mut self, state: usize, read_at: i64, took: i64) -> (usize, i64, i64) {
        let state = self.states.code(&mut self.coder, state);
        (state, self.read_at.signed(&mut self.coder, read_at), self.read_at.signed(&mut self.coder, took))
    }

    /// How many there are of something.
    pub(super) fn count(&mut self, count: usize, most: usize) -> Result<usize, Error> {
        let count = self.counts.code(&mut self.coder, count as u64);
        let count = usize::try_from(count).ok().filter(|&count| count <= most).ok_or(Error::TooLarge)?;
        self.take(count)?;
        Ok(count)
    }

    /// A difference of counts.
    pub(super) fn step(&mut self, step: i64) -> i64 {
        self.counts.signed(&mut self.coder, step)
    }

    /// A column of a part: ids ascend.
    pub(super) fn column(&mut self, next: u64, head: Head) -> Result<Head, Error> {
        let step = self.columns.code(&mut self.coder, head.id.wrapping_sub(next));
        let kind = self.kinds.code(&mut self.coder, Kind::ALL.iter().position(|kind| *kind == head.kind).unwrap_or(0));
        let kind = Kind::ALL.get(kind).copied().unwrap_or_default();
        Ok(Head { id: next.checked_add(step).ok_or(Error::Malformed)?, kind })
    }

    /// The rows that a part speaks of, ascending; `rows` is filled when read.
    pub(super) fn rows(&mut self, rows: &mut Vec<Row>, columns: usize, most: u64) -> Result<(), Error> {
        let count = self.count(rows.len(), usize::try_from(most).unwrap_or(usize::MAX))?;
        rows.resize(count, Row::default());
        let mut patterns = Patterns::new(columns, count);
        if count >= OWN {
            self.seen.clear();
            self.seen.resize(16, [const { Choice::NEW }; 16]);
        }
        let (mut next, mut event) = (0u64, Event::Gone);
        for row in rows {
            self.coder.check()?;
            let step = self.slots.code(&mut self.coder, row.slot.wrapping_sub(next));
            row.slot = next.checked_add(step).filter(|&slot| slot < most).ok_or(Error::TooLarge)?;
            next = row.slot + 1;
            let choice = self.events[event as usize].code(&mut self.coder, row.event as usize);
            row.event = Event::ALL.get(choice).copied().ok_or(Error::Malformed)?;
            event = row.event;
            if event == Event::Born {
                row.serial = self.serials.signed(&mut self.coder, row.serial);
            }
            row.mask = if event == Event::Gone { 0 } else { patterns.code(&mut self.coder, &mut self.seen, row.mask) };
        }
        self.left = self.left.checked_sub(patterns.flags).ok_or(Error::TooLarge)?;
        Ok(())
    }

    /// Starts the cells of a column: of how many of their lowest bits, all zero, they are without.
    pub(super) fn cells(&mut self, kind: Kind, count: usize, shift: u32) -> Result<Cells, Error> {
        self.take(count)?;
        let own = count >= OWN;
        if own {
            self.own = Number::NEW;
        }
        self.modes = Choice::NEW;
        self.holes = [Bit::new(60_000, 1), Bit::EVEN];
        if matches!(kind, Kind::Num | Kind::Sparse) && count > 0 {
            let place = SHIFTS.iter().position(|&one| one == shift).unwrap_or(0);
            self.last_shift = self.shifts[self.last_shift % 4].code(&mut self.coder, place);
        }
        Ok(Cells { own, shift: SHIFTS[self.last_shift % 4] })
    }

    /// A difference in a column that learns for itself, or with others.
    fn difference(&mut self, cells: Cells, value: i64) -> i64 {
        if cells.own {
            return self.own.signed(&mut self.coder, value);
        }
        let value = self.shared[self.last_size % 4].signed(&mut self.coder, value);
        self.last_size = match 64 - value.unsigned_abs().leading_zeros() {
            0..=2 => 0,
            3..=6 => 1,
            7..=12 => 2,
            _ => 3,
        };
        value
    }

    /// A number's cell: a difference, or that it is unread or known to be none.
    pub(super) fn number(&mut self, cells: Cells, cell: Result<i64, Hole>) -> Result<i64, Hole> {
        if self.coder.bit(&mut self.holes[0], cell.is_err()) {
            let none = self.coder.bit(&mut self.holes[1], cell == Err(Hole::None));
            return Err(if none { Hole::None } else { Hole::Unread });
        }
        Ok(self.difference(cells, cell.unwrap_or_default()))
    }

    /// How a text or set stands in its cell.
    pub(super) fn mode(&mut self, mode: Mode) -> Mode {
        let choice = self.modes.code(&mut self.coder, Mode::ALL.iter().position(|one| *one == mode).unwrap_or(0));
        Mode::ALL.get(choice).copied().unwrap_or(Mode::Unread)
    }

    /// A length, or how far back.
    pub(super) fn length(&mut self, length: u64) -> u64 {
        self.lengths.code(&mut self.coder, length)
    }

    /// An id less the one that it must at least be.
    pub(super) fn id(&mut self, step: u64) -> u64 {
        self.ids.code(&mut self.coder, step)
    }

    /// How many pairs of a row of numbers by id changed; none when it is unread.
    pub(super) fn pairs(&mut self, count: Option<usize>) -> Result<Option<usize>, Error> {
        if self.coder.bit(&mut self.holes[0], count.is_none()) {
            return Ok(None);
        }
        let count = self.lengths.code(&mut self.coder, count.unwrap_or_default() as u64);
        let count = usize::try_from(count).map_err(|_| Error::TooLarge)?;
        self.take(count)?;
        Ok(Some(count))
    }

    /// One of those pairs: its id's step and its difference.
    pub(super) fn pair(&mut self, cells: Cells, step: u64, value: i64) -> (u64, i64) {
        let step = self.ids.code(&mut self.coder, step);
        (step, self.difference(cells, value))
    }
}

/// How the cells of a column are said.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cells {
    /// The column learns for itself.
    own: bool,
    /// How many of the lowest bits of all its differences are left out.
    pub(super) shift: u32,
}

/// Why a number's cell has no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hole {
    /// Not read.
    Unread,
    /// Known to be none.
    None,
}
