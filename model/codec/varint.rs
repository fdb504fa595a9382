//! Items of a record as numbers of 7 bits a byte, lowest first; zstd packs them afterwards.
//!
//! A difference has its sign in the lowest bit. [`Output`] writes what [`Input`] reads.

use super::rows::{Event, PART, Row, all};
use super::source::{Budget, Cell, ColumnHead, Hole, Kind, Mode, SHIFTS, SectionHead, Source};
use super::{Error, MAX_LIST, MAX_ROWS};

/// Patterns of changed columns that a part remembers, so that their places take one byte.
const PATTERNS: usize = 40;
/// The events of a row, as a pattern's place is a multiple of so many.
const EVENTS: u64 = Event::ALL.len() as u64;
/// Set in a section's state if its gaps follow.
const GAPS: u64 = 4;

fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Items as they are written.
#[derive(Debug, Default)]
pub(super) struct Output {
    /// What was written.
    pub(super) bytes: Vec<u8>,
    patterns: Vec<u64>,
}

impl Output {
    /// Goes on behind some bytes.
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, patterns: Vec::new() }
    }

    /// A number.
    pub(super) fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// A difference.
    pub(super) fn signed(&mut self, value: i64) {
        self.number(zigzag(value));
    }

    /// A section's beginning. Its step is never zero: tables have different ids.
    pub(super) fn section(&mut self, head: SectionHead) {
        self.signed(head.step);
        self.number(head.state as u64 | if head.gaps { GAPS } else { 0 });
        self.signed(head.read_at);
        self.signed(head.took);
    }

    /// After the last section, or after the last part of one.
    pub(super) fn end(&mut self) {
        self.number(0);
    }

    /// A part's columns and rows.
    pub(super) fn part(&mut self, columns: usize, rows: &[Row]) {
        self.number(columns as u64 + 1);
        self.number(rows.len() as u64);
        let mut next = 0;
        for row in rows {
            self.number(row.slot - next);
            next = row.slot + 1;
        }
        self.patterns.clear();
        match rows {
            // Every column of a part changed in its only row.
            [row] => self.number(row.event as u64),
            rows => rows.iter().for_each(|row| self.row(row)),
        }
        for row in rows.iter().filter(|row| row.event == Event::Born) {
            self.signed(row.serial);
        }
    }

    fn row(&mut self, row: &Row) {
        let event = row.event as u64;
        if row.event == Event::Gone {
            return self.number(event);
        }
        let known = self.patterns.iter().position(|pattern| *pattern == row.mask);
        self.number(event + EVENTS * known.map_or(0, |place| place as u64 + 1));
        if known.is_none() {
            self.number(row.mask);
            if self.patterns.len() < PATTERNS {
                self.patterns.push(row.mask);
            }
        }
    }

    /// A column's beginning; ids ascend from `next` on.
    pub(super) fn column(&mut self, next: u64, head: ColumnHead) {
        let shift = SHIFTS.iter().position(|&shift| shift == head.shift).unwrap_or(0) as u64;
        self.number((head.id - next) << 4 | (head.kind as u64) << 2 | shift);
    }

    /// A number's cell: two values stand for those without one.
    pub(super) fn cell(&mut self, cell: Cell) {
        match cell {
            Err(Hole::Unread) => self.number(0),
            Err(Hole::None) => self.number(1),
            Ok(value) => match zigzag(value).checked_add(2) {
                Some(value) => self.number(value),
                // The two values beyond 64 bits.
                None => self.bytes.extend([
                    0x80 | zigzag(value) as u8 & 1,
                    0x80,
                    0x80,
                    0x80,
                    0x80,
                    0x80,
                    0x80,
                    0x80,
                    0x80,
                    2,
                ]),
            },
        }
    }

    /// A text's cell, with a length or a distance.
    pub(super) fn text(&mut self, mode: Mode, value: u64) {
        self.number(match mode {
            Mode::Again => 0,
            Mode::Unread => 1,
            Mode::New => 2 + (value << 1),
            Mode::Earlier => 3 + (value << 1),
        });
    }

    /// A set's cell, with the number of its ranges.
    pub(super) fn set(&mut self, mode: Mode, ranges: u64) {
        self.text(mode, ranges);
    }

    /// How many pairs follow.
    pub(super) fn pairs(&mut self, count: Option<usize>) {
        self.number(count.map_or(0, |count| count as u64 + 1));
    }
}

fn event(code: u64) -> Result<Event, Error> {
    usize::try_from(code).ok().and_then(|code| Event::ALL.get(code)).copied().ok_or(Error::Malformed)
}

/// Items as they are read: nothing in them is trusted.
#[derive(Debug)]
pub(super) struct Input<'a> {
    rest: &'a [u8],
    budget: Budget,
    patterns: Vec<u64>,
    column: u64,
}

impl<'a> Input<'a> {
    /// Of bytes that may have so many items.
    pub(super) fn new(rest: &'a [u8], budget: usize) -> Self {
        Self { rest, budget: Budget(budget), patterns: Vec::new(), column: 0 }
    }

    /// A number of up to 70 bits.
    fn wide(&mut self) -> Result<u128, Error> {
        let mut value = 0u128;
        for shift in (0..70).step_by(7) {
            let (&byte, rest) = self.rest.split_first().ok_or(Error::Short)?;
            self.rest = rest;
            value |= u128::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Error::Malformed)
    }

    fn number(&mut self) -> Result<u64, Error> {
        self.wide()?.try_into().map_err(|_| Error::Malformed)
    }

    fn signed(&mut self) -> Result<i64, Error> {
        Ok(unzigzag(self.number()?))
    }

    fn row(&mut self, row: &mut Row) -> Result<(), Error> {
        let code = self.number()?;
        row.event = event(code % EVENTS)?;
        if row.event == Event::Gone {
            return Ok(());
        }
        if let Some(place) = (code / EVENTS).checked_sub(1) {
            let known = usize::try_from(place).ok().and_then(|place| self.patterns.get(place));
            row.mask = *known.ok_or(Error::Malformed)?;
            return Ok(());
        }
        row.mask = self.number()?;
        if self.patterns.len() < PATTERNS {
            self.patterns.push(row.mask);
        }
        Ok(())
    }
}

impl Source for Input<'_> {
    fn clock(&mut self) -> Result<i64, Error> {
        self.signed()
    }

    fn section(&mut self) -> Result<Option<SectionHead>, Error> {
        let step = self.signed()?;
        if step == 0 {
            return Ok(None);
        }
        self.budget.take(1)?;
        let state = self.number()?;
        let (gaps, state) = (state & GAPS != 0, usize::try_from(state & !GAPS).map_err(|_| Error::Malformed)?);
        Ok(Some(SectionHead { step, state, read_at: self.signed()?, took: self.signed()?, gaps }))
    }

    fn gaps(&mut self) -> Result<usize, Error> {
        let count = self.number()?;
        self.budget.count(count, MAX_LIST as u64)
    }

    fn is_new_gap(&mut self) -> Result<bool, Error> {
        Ok(self.number()? != 0)
    }

    fn reason(&mut self) -> Result<u64, Error> {
        self.number()
    }

    fn step(&mut self) -> Result<i64, Error> {
        self.signed()
    }

    fn part(&mut self, rows: &mut Vec<Row>) -> Result<Option<usize>, Error> {
        let Some(columns) = self.number()?.checked_sub(1) else { return Ok(None) };
        let columns = self.budget.count(columns, PART as u64)?;
        let count = self.number()?;
        let count = self.budget.count(count, MAX_ROWS)?;
        // Each of them takes a byte at least.
        if count > self.rest.len() {
            return Err(Error::Short);
        }
        rows.clear();
        rows.resize(count, Row::default());
        let mut next = 0u64;
        for row in rows.iter_mut() {
            let slot = next.checked_add(self.number()?).filter(|&slot| slot < MAX_ROWS);
            row.slot = slot.ok_or(Error::TooLarge)?;
            next = row.slot + 1;
        }
        self.patterns.clear();
        if let [row] = rows.as_mut_slice() {
            row.event = event(self.number()?)?;
            row.mask = if row.event == Event::Gone { 0 } else { all(columns) };
        } else {
            rows.iter_mut().try_for_each(|row| self.row(row))?;
        }
        for row in rows.iter_mut().filter(|row| row.event == Event::Born) {
            row.serial = self.signed()?;
        }
        self.column = 0;
        Ok(Some(columns))
    }

    fn column(&mut self, cells: usize) -> Result<ColumnHead, Error> {
        let code = self.number()?;
        self.budget.take(cells)?;
        self.column = self.column.checked_add(code >> 4).ok_or(Error::Malformed)?;
        let kind = Kind::ALL.get((code >> 2 & 3) as usize).copied().unwrap_or_default();
        let shift = SHIFTS.get((code & 3) as usize).copied().unwrap_or_default();
        Ok(ColumnHead { id: self.column, kind, shift })
    }

    fn cell(&mut self) -> Result<Cell, Error> {
        Ok(match self.wide()? {
            0 => Err(Hole::Unread),
            1 => Err(Hole::None),
            value => Ok(unzigzag(u64::try_from(value - 2).map_err(|_| Error::Malformed)?)),
        })
    }

    fn text(&mut self) -> Result<(Mode, u64), Error> {
        Ok(match self.number()? {
            0 => (Mode::Again, 0),
            1 => (Mode::Unread, 0),
            value if value % 2 == 0 => (Mode::New, (value >> 1) - 1),
            value => (Mode::Earlier, (value >> 1) - 1),
        })
    }

    fn set(&mut self) -> Result<(Mode, u64), Error> {
        let (mode, ranges) = self.text()?;
        self.budget.take(usize::try_from(ranges).map_err(|_| Error::TooLarge)?)?;
        Ok((mode, ranges))
    }

    fn id(&mut self) -> Result<u64, Error> {
        self.number()
    }

    fn pairs(&mut self) -> Result<Option<usize>, Error> {
        let Some(count) = self.number()?.checked_sub(1) else { return Ok(None) };
        self.budget.count(count, u64::MAX).map(Some)
    }

    fn pair(&mut self) -> Result<(u64, i64), Error> {
        Ok((self.number()?, self.signed()?))
    }
}

#[cfg(test)]
mod tests {
    use super::{Budget, Event, Hole, Input, Mode, Output, Row, Source as _};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn cells_come_back(values in prop::collection::vec(prop_oneof![any::<i64>(), -3i64..3, Just(i64::MIN), Just(i64::MAX)], 0..99)) {
            let mut output = Output::default();
            for &value in &values {
                output.cell(Ok(value));
                output.cell(Err(Hole::None));
                output.cell(Err(Hole::Unread));
            }
            let mut input = Input::new(&output.bytes, 0);
            for &value in &values {
                prop_assert_eq!(input.cell()?, Ok(value));
                prop_assert_eq!(input.cell()?, Err(Hole::None));
                prop_assert_eq!(input.cell()?, Err(Hole::Unread));
            }
            prop_assert!(input.cell().is_err());
        }

        #[test]
        fn rows_come_back(made in prop::collection::vec((0u64..9, 0usize..3, 0u64..99), 0..200)) {
            let mut slot = 0;
            let row = |&(step, event, mask): &(u64, usize, u64)| {
                slot += step + 1;
                let event = Event::ALL[event];
                let mask = if event == Event::Gone { 0 } else if made.len() == 1 { 127 } else { mask };
                Row { slot, event, mask, serial: if event == Event::Born { slot as i64 - 50 } else { 0 } }
            };
            let rows: Vec<Row> = made.iter().map(row).collect();
            let mut output = Output::default();
            output.part(7, &rows);
            output.text(Mode::Earlier, 3);
            let (mut input, mut back) = (Input::new(&output.bytes, rows.len() + 7), Vec::new());
            prop_assert_eq!(input.part(&mut back)?, Some(7));
            prop_assert_eq!(&back, &rows);
            prop_assert_eq!(input.text()?, (Mode::Earlier, 3));
            prop_assert!(Input::new(&output.bytes, rows.len() + 6).part(&mut back).is_err());
        }
    }

    #[test]
    fn a_budget_is_kept() {
        let mut budget = Budget(5);
        assert_eq!(budget.count(3, 4), Ok(3));
        assert!(budget.count(3, 4).is_err() && budget.count(2, 1).is_err());
        assert_eq!(budget.take(2), Ok(()));
    }
}
