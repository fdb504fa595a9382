//! The decoder: everything in it is checked, nothing in it is trusted.

use super::wire::{Error, Reader, unzigzag};
use super::{FREE_CELLS, MAX_CELLS_RATIO, MAX_LIST, MAX_ROWS, write};
use crate::column::NONE;
use crate::snapshot::VisitMut;
use crate::{ColumnMut, Gap, Gaps, IdSet, Reason, Section, Snapshot, Sparse, Stamp, State, Table};
use std::sync::Arc;

/// A snapshot from an uncompressed payload.
pub(super) fn snapshot(base: Option<&Snapshot>, payload: &[u8]) -> Result<Snapshot, Error> {
    let mut reader = Reader::new(payload);
    if reader.number()? != super::VERSION {
        return Err(Error::Version);
    }
    let stamp = Stamp {
        seq: reader.number()?,
        wall_ns: unzigzag(0, reader.number()?) as i64,
        mono_ns: reader.number()?,
        boot_ns: reader.number()?,
    };
    let mut bodies = Vec::new();
    while !reader.is_empty() {
        if bodies.len() >= MAX_LIST {
            return Err(Error::TooLarge);
        }
        bodies.push((reader.number()?, reader.bytes()?));
    }
    let room = Room(payload.len().saturating_mul(MAX_CELLS_RATIO).saturating_add(FREE_CELLS));
    let mut out = base.cloned().unwrap_or_default();
    out.stamp = stamp;
    let mut visitor = Sections { bodies: &bodies, room, result: Ok(()) };
    out.visit_mut(&mut visitor);
    visitor.result.map(|()| out)
}

/// Bytes of cells that may still be made.
struct Room(usize);

impl Room {
    /// Takes what a column or the rows need up to a slot, as if they had been empty.
    fn take(&mut self, cells: usize, size: usize) -> Result<(), Error> {
        self.0 = cells.checked_mul(size).and_then(|bytes| self.0.checked_sub(bytes)).ok_or(Error::TooLarge)?;
        Ok(())
    }
}

struct Sections<'a> {
    bodies: &'a [(u64, &'a [u8])],
    room: Room,
    result: Result<(), Error>,
}

impl VisitMut for Sections<'_> {
    fn section<T: Table>(&mut self, _: &'static str, section: &mut Arc<Section<T>>) {
        let Some((_, body)) = self.bodies.iter().find(|(id, _)| *id == u64::from(T::ID)) else { return };
        if self.result.is_err() {
            return;
        }
        match read_section(section, body, &mut self.room) {
            Ok(next) => *section = Arc::new(next),
            Err(error) => self.result = Err(error),
        }
    }
}

fn read_section<T: Table>(base: &Section<T>, body: &[u8], room: &mut Room) -> Result<Section<T>, Error> {
    let mut reader = Reader::new(body);
    let mut next = base.clone();
    next.state = match reader.number()? {
        0 => State::NotCollected,
        1 => State::Read,
        2 => State::Missing,
        _ => return Err(Error::Malformed),
    };
    next.read_at_ns = reader.number()?;
    next.took_ns = reader.number()?;
    if let Some(gaps) = read_gaps(&mut reader)? {
        next.gaps = gaps;
    }
    read_rows(&mut reader, next.data_mut(), room)?;
    while !reader.is_empty() {
        let id = reader.number()?;
        let kind = reader.number()?;
        let data = reader.bytes()?;
        read_column(next.data_mut(), id, kind, data, room)?;
    }
    Ok(next)
}

fn read_gaps(reader: &mut Reader<'_>) -> Result<Option<Gaps>, Error> {
    if reader.number()? == 0 {
        return Ok(None);
    }
    let mut rows = Vec::new();
    let count = reader.count()?;
    if count > MAX_LIST {
        return Err(Error::TooLarge);
    }
    for _ in 0..count {
        let path = reader.text()?.into();
        let reason = Reason::from_code(reader.number()?).ok_or(Error::Malformed)?;
        rows.push(Gap { path, reason, count: reader.number()?, needs: reader.text()?.into() });
    }
    Ok(Some(Gaps::from_rows(rows)))
}

fn read_rows<T: Table>(reader: &mut Reader<'_>, table: &mut T, room: &mut Room) -> Result<(), Error> {
    let mut last = None;
    for _ in 0..reader.count()? {
        let slot = reader.slot(&mut last, MAX_ROWS)?;
        room.take((slot + 1).saturating_sub(table.rows().bound()), size_of::<u64>())?;
        let serial = reader.number()?;
        table.forget(slot);
        table.rows_mut().put(slot, serial);
    }
    Ok(())
}

/// Applies one column; one that this version does not know, or knows as another kind, is skipped.
fn read_column<T: Table>(table: &mut T, id: u64, kind: u64, data: &[u8], room: &mut Room) -> Result<(), Error> {
    let Some(index) = T::COLUMNS.iter().position(|column| u64::from(column.id) == id) else { return Ok(()) };
    if table.column(index).map(|column| u64::from(write::kind(column))) != Some(kind) {
        return Ok(());
    }
    let bound = table.rows().bound() as u64;
    let mut reader = Reader::new(data);
    let mut last = None;
    let count = reader.count()?;
    if count > 0 {
        let size = table.column(index).map_or(0, |column| column.cell_size());
        room.take(bound as usize, size)?;
    }
    for _ in 0..count {
        let slot = reader.slot(&mut last, bound)?;
        if table.rows().serial(slot) == 0 {
            return Err(Error::Malformed);
        }
        if let Some(mut column) = table.column_mut(index) {
            read_cell(&mut reader, &mut column, slot)?;
        }
    }
    Ok(())
}

fn read_cell(reader: &mut Reader<'_>, column: &mut ColumnMut<'_>, slot: usize) -> Result<(), Error> {
    if let ColumnMut::Num(column) = column {
        let code = reader.wide()?;
        match code {
            0 => column.clear(slot),
            1 => column.set_none(slot),
            code => {
                let delta = u64::try_from(code - 2).map_err(|_| Error::Malformed)?;
                let before = column.raw(slot).filter(|&value| value != NONE).unwrap_or(0);
                column.set(slot, unzigzag(before, delta));
            }
        }
        return Ok(());
    }
    if reader.number()? == 0 {
        column.clear(slot);
        return Ok(());
    }
    match column {
        ColumnMut::Text(column) => column.set(slot, reader.text()?),
        ColumnMut::Sets(column) => column.set(slot, read_set(reader)?),
        ColumnMut::Sparse(column) => read_sparse(reader, column, slot)?,
        ColumnMut::Num(_) => {}
    }
    Ok(())
}

fn read_set(reader: &mut Reader<'_>) -> Result<IdSet, Error> {
    let mut set = IdSet::new();
    let mut floor = None;
    for _ in 0..reader.count()? {
        let first = reader.id()?;
        let last = first.checked_add(reader.id()?).ok_or(Error::Malformed)?;
        if floor.is_some_and(|floor| first <= floor) {
            return Err(Error::Malformed);
        }
        set.push_range(first, last);
        floor = Some(last);
    }
    Ok(set)
}

fn read_sparse(reader: &mut Reader<'_>, column: &mut Sparse, slot: usize) -> Result<(), Error> {
    let count = reader.count()?;
    let mut pairs = Vec::with_capacity(count.min(1 << 16));
    let mut next = 0u64;
    for _ in 0..count {
        let id = next.checked_add(reader.number()?).ok_or(Error::Malformed)?;
        let id32 = u32::try_from(id).map_err(|_| Error::Malformed)?;
        let before = column.at(slot, id32).unwrap_or(0);
        pairs.push((id32, unzigzag(before, reader.number()?)));
        next = id + 1;
    }
    column.set(slot, pairs);
    Ok(())
}
