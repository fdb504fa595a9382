//! What a record's bytes give, one item after the other, whichever coding they have.

use super::Error;
use super::rows::Row;

/// The kinds of column.
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
    pub(super) const ALL: [Self; 4] = [Self::Num, Self::Text, Self::Sets, Self::Sparse];
}

/// How a text or set stands in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// The same as in the cell before it in this column.
    Again,
    /// The first of its kind in this record.
    New,
    /// One of this record, counted back.
    Earlier,
    /// Not read.
    Unread,
}

/// Why a number's cell has no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hole {
    /// Not read.
    Unread,
    /// Known to be none.
    None,
}

/// A number's cell: a difference, or why there is none.
pub(super) type Cell = Result<i64, Hole>;

/// Low zero bits that a column's differences may omit: none, those of KiB, of pages of 4 KiB and of 64 KiB.
pub(super) const SHIFTS: [u32; 4] = [0, 10, 12, 16];

/// A section's beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SectionHead {
    /// The id of its table less that of the table before.
    pub(super) step: i64,
    /// Its state, as a number.
    pub(super) state: usize,
    /// When it was read less the sample's time, in ns.
    pub(super) read_at: i64,
    /// How much longer reading took than before, in ns.
    pub(super) took: i64,
    /// True if its gaps follow.
    pub(super) gaps: bool,
}

/// A column's beginning within a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ColumnHead {
    /// Its id.
    pub(super) id: u64,
    /// Its kind.
    pub(super) kind: Kind,
    /// How many low bits, all zero, its differences omit.
    pub(super) shift: u32,
}

/// The items of a record in their order.
pub(super) trait Source {
    /// A difference of clocks.
    fn clock(&mut self) -> Result<i64, Error>;

    /// The next section; none after the last one.
    fn section(&mut self) -> Result<Option<SectionHead>, Error>;

    /// How many gaps a section has.
    fn gaps(&mut self) -> Result<usize, Error>;

    /// True if a gap's path, reason and need follow; otherwise they are as before.
    fn is_new_gap(&mut self) -> Result<bool, Error>;

    /// The code of a gap's reason.
    fn reason(&mut self) -> Result<u64, Error>;

    /// The change of a gap's count.
    fn step(&mut self) -> Result<i64, Error>;

    /// The next part of a section: how many columns it has, with its rows; none after the last one.
    fn part(&mut self, rows: &mut Vec<Row>) -> Result<Option<usize>, Error>;

    /// The next column of a part, which has so many cells.
    fn column(&mut self, cells: usize) -> Result<ColumnHead, Error>;

    /// A number's cell.
    fn cell(&mut self) -> Result<Cell, Error>;

    /// A text, with the length of a new one or the distance to an earlier one.
    fn text(&mut self) -> Result<(Mode, u64), Error>;

    /// A set, with the number of ranges of a new one.
    fn set(&mut self) -> Result<(Mode, u64), Error>;

    /// One end of a range, less the least that it can be.
    fn id(&mut self) -> Result<u64, Error>;

    /// How many pairs of a row of numbers by id changed; none when it is unread.
    fn pairs(&mut self) -> Result<Option<usize>, Error>;

    /// One of those pairs: its id less the least that it can be, and a difference.
    fn pair(&mut self) -> Result<(u64, i64), Error>;
}

/// How many more items (rows, cells, pairs, ranges) a record may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget(pub(super) usize);

impl Budget {
    /// Takes some of it.
    pub(super) fn take(&mut self, items: usize) -> Result<(), Error> {
        self.0 = self.0.checked_sub(items).ok_or(Error::TooLarge)?;
        Ok(())
    }

    /// Takes as many as follow, at most so many.
    pub(super) fn count(&mut self, count: u64, most: u64) -> Result<usize, Error> {
        let count = usize::try_from(count).ok().filter(|_| count <= most).ok_or(Error::TooLarge)?;
        self.take(count)?;
        Ok(count)
    }
}
