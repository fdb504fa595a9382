//! The decoder: everything in it is checked, nothing in it is trusted.

use super::cells::{expected, kind};
use super::rows::{Event, Places, Row};
use super::source::{ColumnHead, Hole, Kind, Mode, SectionHead, Source};
use super::texts::Read;
use super::{Error, FREE_ROOM, MAX_LIST, MAX_ROOM, MAX_ROOM_RATIO};
use crate::snapshot::VisitMut;
use crate::{ColumnMut, Gap, Gaps, IdSet, Meaning, Num, Reason, Section, Snapshot, Stamp, State, Table};
use std::sync::Arc;

/// Applies a record of so many bytes to a snapshot: the base, or an empty one.
pub(super) fn snapshot(out: &mut Snapshot, mut source: impl Source, texts: &[u8], size: usize) -> Result<(), Error> {
    let room = Room(size.saturating_mul(MAX_ROOM_RATIO).saturating_add(FREE_ROOM).min(MAX_ROOM));
    let before = out.stamp;
    let (seq, mono) = (source.clock()?, source.clock()?);
    let (wall, boot) = (source.clock()?.wrapping_add(mono), source.clock()?.wrapping_add(mono));
    let add = |value: u64, step: i64| value.wrapping_add(step as u64);
    out.stamp = Stamp {
        seq: add(before.seq, seq),
        wall_ns: before.wall_ns.wrapping_add(wall),
        mono_ns: add(before.mono_ns, mono),
        boot_ns: add(before.boot_ns, boot),
    };
    let mono_ns = out.stamp.mono_ns;
    let (rows, places) = (Vec::new(), Places::default());
    let mut reader = Reader { source, texts: Read::new(texts), room, mono_ns, rows, places };
    let (mut id, mut sections) = (0i64, 0);
    while let Some(head) = reader.source.section()? {
        sections += 1;
        if sections > MAX_LIST {
            return Err(Error::TooLarge);
        }
        id = id.wrapping_add(head.step);
        let mut visitor = Find { id, head, reader: &mut reader, result: None };
        out.visit_mut(&mut visitor);
        // A table of a later version is read past.
        visitor.result.unwrap_or_else(|| reader.section(head, &mut Section::<Nothing>::default()))?;
    }
    Ok(())
}

mod nothing {
    #![expect(unreachable_pub, reason = "tables are public, this one stands for those that are not known")]

    crate::table::table! {
        /// Stands in for tables that this version does not know: none of its columns is known either.
        Nothing = 0 "nothing" {
            /// No column has this id.
            nothing: Num = 0 (Fact, None, "self"),
        }
    }
}
use nothing::Nothing;

/// Bytes of cells that may still be made.
struct Room(usize);

impl Room {
    /// Takes what a column or the rows need up to a slot, as if they had been empty.
    fn take(&mut self, cells: usize, size: usize) -> Result<(), Error> {
        self.0 = cells.checked_mul(size).and_then(|bytes| self.0.checked_sub(bytes)).ok_or(Error::TooLarge)?;
        Ok(())
    }
}

struct Reader<'a, S> {
    source: S,
    texts: Read<'a>,
    room: Room,
    mono_ns: u64,
    /// Buffers that serve again from part to part.
    rows: Vec<Row>,
    places: Places,
}

/// Gives the section with an id to the reader.
struct Find<'a, 'b, S> {
    id: i64,
    head: SectionHead,
    reader: &'a mut Reader<'b, S>,
    result: Option<Result<(), Error>>,
}

impl<S: Source> VisitMut for Find<'_, '_, S> {
    fn section<T: Table>(&mut self, _: &'static str, section: &mut Arc<Section<T>>) {
        if i64::from(T::ID) == self.id {
            self.result = Some(self.reader.section(self.head, Arc::make_mut(section)));
        }
    }
}

impl<S: Source> Reader<'_, S> {
    fn section<T: Table>(&mut self, head: SectionHead, section: &mut Section<T>) -> Result<(), Error> {
        section.state = match head.state {
            0 => State::NotCollected,
            1 => State::Read,
            2 => State::Missing,
            _ => return Err(Error::Malformed),
        };
        section.read_at_ns = self.mono_ns.wrapping_add(head.read_at as u64);
        section.took_ns = section.took_ns.wrapping_add(head.took as u64);
        if head.gaps {
            section.gaps = self.gaps(&section.gaps)?;
        }
        let (mut rows, mut places) = (std::mem::take(&mut self.rows), std::mem::take(&mut self.places));
        let mut parts = 0;
        while let Some(columns) = self.source.part(&mut rows)? {
            parts += 1;
            if parts > MAX_LIST {
                return Err(Error::TooLarge);
            }
            if T::ID != Nothing::ID {
                self.rows(&rows, section.data_mut())?;
            }
            places.sort(&rows, columns);
            for column in 0..columns {
                let slots = places.of(column);
                let head = self.source.column(slots.len())?;
                self.column(head, slots, section)?;
            }
        }
        (self.rows, self.places) = (rows, places);
        Ok(())
    }

    fn gaps(&mut self, old: &Gaps) -> Result<Gaps, Error> {
        let mut rows = Vec::new();
        for index in 0..self.source.gaps()? {
            let mut gap = match (self.source.is_new_gap()?, old.iter().nth(index)) {
                (true, _) => {
                    let path = self.text()?;
                    let reason = Reason::from_code(self.source.reason()?).ok_or(Error::Malformed)?;
                    Gap { path, reason, count: 0, needs: self.text()? }
                }
                (false, Some(gap)) => gap.clone(),
                // Of a section that this version does not know.
                (false, None) => {
                    Gap { path: Arc::default(), reason: Reason::NotFound, count: 0, needs: Arc::default() }
                }
            };
            gap.count = gap.count.wrapping_add(self.source.step()? as u64);
            rows.push(gap);
        }
        Ok(Gaps::from_rows(rows))
    }

    fn text(&mut self) -> Result<Arc<str>, Error> {
        match self.source.text()? {
            (mode @ (Mode::New | Mode::Earlier), value) => self.texts.text(mode, value),
            (Mode::Again | Mode::Unread, _) => Err(Error::Malformed),
        }
    }

    fn rows<T: Table>(&mut self, rows: &[Row], table: &mut T) -> Result<(), Error> {
        let mut serial = 0u64;
        for row in rows {
            let slot = row.slot as usize;
            match row.event {
                Event::Changed if table.rows().serial(slot) == 0 => return Err(Error::Malformed),
                Event::Changed => {}
                Event::Born => {
                    self.room.take((slot + 1).saturating_sub(table.rows().bound()), size_of::<u64>())?;
                    serial = serial.wrapping_add(row.serial as u64);
                    if serial == 0 {
                        return Err(Error::Malformed);
                    }
                    table.forget(slot);
                    table.rows_mut().put(slot, serial);
                }
                Event::Gone => {
                    table.forget(slot);
                    if slot < table.rows().bound() {
                        table.rows_mut().put(slot, 0);
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads one column; the cells of one that this version does not know, or knows as another kind, are read past.
    fn column<T: Table>(&mut self, head: ColumnHead, slots: &[usize], section: &mut Section<T>) -> Result<(), Error> {
        let index = T::COLUMNS.iter().position(|column| u64::from(column.id) == head.id);
        let index = index.filter(|_| T::ID != Nothing::ID);
        let index = index.filter(|&index| section.data().column(index).is_some_and(|one| kind(one) == head.kind));
        let Some((index, size)) = index.and_then(|index| Some((index, section.data().column(index)?.cell_size())))
        else {
            return self.skip(head, slots.len());
        };
        let bound = section.data().rows().bound();
        self.room.take(bound, size)?;
        let clock = T::COLUMNS.get(index).is_some_and(|column| column.meaning == Meaning::Clock);
        let clock = clock.then_some(section.read_at_ns);
        let (rows, column) = section.data_mut().parts_mut(index);
        match column {
            Some(ColumnMut::Num(column)) => self.numbers(head.shift, clock, slots, column, rows)?,
            Some(ColumnMut::Text(column)) => {
                let mut last = None;
                for &slot in slots {
                    match self.text_cell(&mut last)? {
                        Some(text) => column.set_shared(slot, text),
                        None => column.clear(slot),
                    }
                }
            }
            Some(ColumnMut::Sets(column)) => {
                let mut last = None;
                for &slot in slots {
                    match self.set_cell(&mut last)? {
                        Some(set) => column.set_shared(slot, set),
                        None => column.clear(slot),
                    }
                }
            }
            Some(ColumnMut::Sparse(column)) => {
                let mut steps = Vec::new();
                for &slot in slots {
                    match self.pairs(head.shift, &mut steps)? {
                        Some(grown) => {
                            self.room.take(grown, size_of::<(u32, u64)>())?;
                            column.patch(slot, &steps);
                        }
                        None => column.clear(slot),
                    }
                }
            }
            None => {}
        }
        Ok(())
    }

    fn skip(&mut self, head: ColumnHead, count: usize) -> Result<(), Error> {
        let (mut text, mut set, mut steps) = (None, None, Vec::new());
        for _ in 0..count {
            match head.kind {
                Kind::Num => _ = self.source.cell()?,
                Kind::Text => _ = self.text_cell(&mut text)?,
                Kind::Sets => _ = self.set_cell(&mut set)?,
                Kind::Sparse => _ = self.pairs(head.shift, &mut steps)?,
            }
        }
        Ok(())
    }

    fn numbers(
        &mut self,
        shift: u32,
        clock: Option<u64>,
        slots: &[usize],
        column: &mut Num,
        rows: &crate::Rows,
    ) -> Result<(), Error> {
        let mut last = clock.map(|clock| clock >> shift);
        for &slot in slots {
            let step = match self.source.cell()? {
                Ok(step) => step,
                Err(Hole::Unread) => {
                    column.clear(slot);
                    continue;
                }
                Err(Hole::None) => {
                    column.set_none(slot);
                    continue;
                }
            };
            let value = if let Some(last) = &mut last {
                *last = last.wrapping_add(step as u64);
                *last << shift
            } else {
                let from = expected(column.raw(slot), column, rows, slot);
                from.wrapping_add((step << shift) as u64)
            };
            column.set(slot, value);
        }
        Ok(())
    }

    fn text_cell<'b>(&mut self, last: &'b mut Option<Arc<str>>) -> Result<Option<&'b Arc<str>>, Error> {
        match self.source.text()? {
            (Mode::Unread, _) => return Ok(None),
            (Mode::Again, _) if last.is_none() => return Err(Error::Malformed),
            (Mode::Again, _) => {}
            (mode @ (Mode::New | Mode::Earlier), value) => *last = Some(self.texts.text(mode, value)?),
        }
        Ok(last.as_ref())
    }

    fn set_cell<'b>(&mut self, last: &'b mut Option<Arc<IdSet>>) -> Result<Option<&'b Arc<IdSet>>, Error> {
        match self.source.set()? {
            (Mode::Unread, _) => return Ok(None),
            (Mode::New, ranges) => *last = Some(Arc::new(self.ranges(ranges)?)),
            (Mode::Again, _) if last.is_some() => {}
            (Mode::Again | Mode::Earlier, _) => return Err(Error::Malformed),
        }
        Ok(last.as_ref())
    }

    fn ranges(&mut self, count: u64) -> Result<IdSet, Error> {
        let (mut set, mut next) = (IdSet::new(), 0u64);
        let count = usize::try_from(count).map_err(|_| Error::Malformed)?;
        self.room.take(count, size_of::<(u32, u32)>())?;
        for _ in 0..count {
            let first = next.checked_add(self.source.id()?).ok_or(Error::Malformed)?;
            let last = first.checked_add(self.source.id()?).ok_or(Error::Malformed)?;
            let id = |id: u64| u32::try_from(id).map_err(|_| Error::Malformed);
            set.push_range(id(first)?, id(last)?);
            next = last + 1;
        }
        Ok(set)
    }

    /// Reads the changed pairs of a row as ids and differences; their number, or none when the row is unread.
    fn pairs(&mut self, shift: u32, out: &mut Vec<(u32, i64)>) -> Result<Option<usize>, Error> {
        out.clear();
        let Some(count) = self.source.pairs()? else { return Ok(None) };
        let mut next = 0u64;
        for _ in 0..count {
            let (step, value) = self.source.pair()?;
            let id = next.checked_add(step).ok_or(Error::Malformed)?;
            out.push((u32::try_from(id).map_err(|_| Error::Malformed)?, value << shift));
            next = id + 1;
        }
        Ok(Some(count))
    }
}
