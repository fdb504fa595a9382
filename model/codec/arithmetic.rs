//! Records of version 1, whose cells were written by an arithmetic coder: they are only read.
//!
//! Each place where a bit can stand has a probability that starts anew in every record. `docs/recording.md` describes
//! it.

mod numbers;
mod patterns;
mod range;

use super::rows::{Event, PART, Row};
use super::source::{Budget, Cell, ColumnHead, Hole, Kind, Mode, SHIFTS, SectionHead, Source};
use super::{Error, MAX_LIST, MAX_ROWS};
use numbers::{Choice, Number};
use patterns::Patterns;
use range::{Bit, Decoder};

/// Columns with fewer cells than this share what they learn.
const OWN: usize = 6;

const MODES: [Mode; 4] = [Mode::Again, Mode::New, Mode::Earlier, Mode::Unread];

/// Reads the cells of one record.
#[derive(Debug)]
pub(super) struct Arithmetic<'a> {
    decoder: Decoder<'a>,
    budget: Budget,
    /// The columns of the part, and the next one of them.
    columns: Vec<(u64, Kind)>,
    column: usize,
    /// The column learns for itself.
    is_own: bool,
    more: Bit,
    tables: Number,
    stamps: Number,
    states: Choice<4>,
    read_at: Number,
    counts: Number,
    steps: Number,
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
    patterns: Vec<[Choice<16>; 16]>,
}

impl<'a> Arithmetic<'a> {
    /// Of bytes that may have so many items.
    pub(super) fn new(bytes: &'a [u8], budget: usize) -> Self {
        Self {
            decoder: Decoder::new(bytes),
            budget: Budget(budget),
            columns: Vec::new(),
            column: 0,
            is_own: false,
            more: Bit::EVEN,
            tables: Number::NEW,
            stamps: Number::NEW,
            states: Choice::NEW,
            read_at: Number::NEW,
            counts: Number::NEW,
            steps: Number::NEW,
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
            patterns: Vec::new(),
        }
    }

    /// Takes items of the budget and stops behind the end.
    fn take(&mut self, items: usize) -> Result<(), Error> {
        self.budget.take(items)?;
        self.decoder.check()
    }

    fn more(&mut self) -> Result<bool, Error> {
        self.take(1)?;
        Ok(self.decoder.bit(&mut self.more))
    }

    fn count(&mut self, most: u64) -> Result<usize, Error> {
        let count = self.counts.decode(&mut self.decoder);
        let count = self.budget.count(count, most)?;
        self.decoder.check()?;
        Ok(count)
    }

    fn rows(&mut self, rows: &mut Vec<Row>, columns: usize) -> Result<(), Error> {
        let count = self.count(MAX_ROWS)?;
        rows.clear();
        rows.resize(count, Row::default());
        let mut patterns = Patterns::new(columns, count);
        if count >= OWN {
            self.patterns.clear();
            self.patterns.resize(16, [const { Choice::NEW }; 16]);
        }
        let (mut next, mut event) = (0u64, Event::Gone);
        for row in rows {
            self.decoder.check()?;
            let step = self.slots.decode(&mut self.decoder);
            row.slot = next.checked_add(step).filter(|&slot| slot < MAX_ROWS).ok_or(Error::TooLarge)?;
            next = row.slot + 1;
            let choice = self.events[event as usize].decode(&mut self.decoder);
            event = Event::ALL.get(choice).copied().ok_or(Error::Malformed)?;
            row.event = event;
            if event == Event::Born {
                row.serial = self.serials.signed(&mut self.decoder);
            }
            row.mask = if event == Event::Gone { 0 } else { patterns.decode(&mut self.decoder, &mut self.patterns) };
        }
        self.budget.take(patterns.flags)
    }

    /// A difference in a column that learns for itself, or with others.
    fn difference(&mut self) -> i64 {
        if self.is_own {
            return self.own.signed(&mut self.decoder);
        }
        let value = self.shared[self.last_size % 4].signed(&mut self.decoder);
        self.last_size = match 64 - value.unsigned_abs().leading_zeros() {
            0..=2 => 0,
            3..=6 => 1,
            7..=12 => 2,
            _ => 3,
        };
        value
    }

    fn mode(&mut self) -> Mode {
        let choice = self.modes.decode(&mut self.decoder);
        MODES.get(choice).copied().unwrap_or(Mode::Unread)
    }
}

impl Source for Arithmetic<'_> {
    fn clock(&mut self) -> Result<i64, Error> {
        Ok(self.stamps.signed(&mut self.decoder))
    }

    fn section(&mut self) -> Result<Option<SectionHead>, Error> {
        if !self.more()? {
            return Ok(None);
        }
        let step = self.tables.signed(&mut self.decoder);
        let state = self.states.decode(&mut self.decoder);
        let read_at = self.read_at.signed(&mut self.decoder);
        let took = self.read_at.signed(&mut self.decoder);
        Ok(Some(SectionHead { step, state, read_at, took, gaps: self.more()? }))
    }

    fn gaps(&mut self) -> Result<usize, Error> {
        self.count(MAX_LIST as u64)
    }

    fn is_new_gap(&mut self) -> Result<bool, Error> {
        self.more()
    }

    fn reason(&mut self) -> Result<u64, Error> {
        Ok(self.lengths.decode(&mut self.decoder))
    }

    fn step(&mut self) -> Result<i64, Error> {
        Ok(self.counts.signed(&mut self.decoder))
    }

    fn part(&mut self, rows: &mut Vec<Row>) -> Result<Option<usize>, Error> {
        if !self.more()? {
            return Ok(None);
        }
        let columns = self.count(PART as u64)?;
        self.columns.clear();
        self.column = 0;
        let mut id = 0u64;
        for _ in 0..columns {
            id = id.checked_add(self.steps.decode(&mut self.decoder)).ok_or(Error::Malformed)?;
            let kind = self.kinds.decode(&mut self.decoder);
            self.columns.push((id, Kind::ALL.get(kind).copied().unwrap_or_default()));
        }
        self.rows(rows, columns)?;
        Ok(Some(columns))
    }

    fn column(&mut self, cells: usize) -> Result<ColumnHead, Error> {
        let &(id, kind) = self.columns.get(self.column).ok_or(Error::Malformed)?;
        self.column += 1;
        self.take(cells)?;
        self.is_own = cells >= OWN;
        if self.is_own {
            self.own = Number::NEW;
        }
        self.modes = Choice::NEW;
        self.holes = [Bit::new(60_000, 1), Bit::EVEN];
        if matches!(kind, Kind::Num | Kind::Sparse) && cells > 0 {
            self.last_shift = self.shifts[self.last_shift % 4].decode(&mut self.decoder);
        }
        Ok(ColumnHead { id, kind, shift: SHIFTS[self.last_shift % 4] })
    }

    fn cell(&mut self) -> Result<Cell, Error> {
        if self.decoder.bit(&mut self.holes[0]) {
            let is_none = self.decoder.bit(&mut self.holes[1]);
            return Ok(Err(if is_none { Hole::None } else { Hole::Unread }));
        }
        Ok(Ok(self.difference()))
    }

    fn text(&mut self) -> Result<(Mode, u64), Error> {
        let mode = self.mode();
        let has_value = matches!(mode, Mode::New | Mode::Earlier);
        Ok((mode, if has_value { self.lengths.decode(&mut self.decoder) } else { 0 }))
    }

    fn set(&mut self) -> Result<(Mode, u64), Error> {
        let mode = self.mode();
        let ranges = if mode == Mode::New { self.lengths.decode(&mut self.decoder) } else { 0 };
        self.take(usize::try_from(ranges).map_err(|_| Error::TooLarge)?)?;
        Ok((mode, ranges))
    }

    fn id(&mut self) -> Result<u64, Error> {
        Ok(self.ids.decode(&mut self.decoder))
    }

    fn pairs(&mut self) -> Result<Option<usize>, Error> {
        if self.decoder.bit(&mut self.holes[0]) {
            return Ok(None);
        }
        let count = self.lengths.decode(&mut self.decoder);
        let count = self.budget.count(count, u64::MAX)?;
        self.decoder.check()?;
        Ok(Some(count))
    }

    fn pair(&mut self) -> Result<(u64, i64), Error> {
        let step = self.ids.decode(&mut self.decoder);
        Ok((step, self.difference()))
    }
}
