//! The encoder: what differs from the base, column by column.

use super::cells::{Gather, kind};
use super::changes::Changes;
use super::range::Encoder;
use super::rows::{PART, Places};
use super::script::{Head, Mode, Script};
use super::texts::Written;
use super::{Error, MAX_LIST, MAX_ROWS};
use crate::snapshot::Visit;
use crate::{Column, Gap, Gaps, IdSet, Meaning, Section, Snapshot, State, Table};
use std::sync::Arc;

/// Buffers that serve again from record to record.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// The texts that the cells name.
    pub(super) texts: Written,
    /// The cells.
    pub(super) cells: Vec<u8>,
    changes: Changes,
    places: Places,
    gather: Gather,
}

impl Scratch {
    /// Bytes that it holds on to, about.
    pub(super) fn size(&self) -> usize {
        self.texts.bytes.capacity() + self.cells.capacity() + self.gather.size()
    }
}

/// Writes a snapshot, as what differs from a base, into the scratch.
pub(super) fn snapshot(base: Option<&Snapshot>, new: &Snapshot, scratch: &mut Scratch) -> Result<(), Error> {
    let stamp = base.map(|base| base.stamp).unwrap_or_default();
    scratch.texts.clear();
    let mut cells = std::mem::take(&mut scratch.cells);
    cells.clear();
    let mut script = Script::new(Encoder::new(&mut cells), usize::MAX);
    let wall = (new.stamp.wall_ns as u64).wrapping_sub(stamp.wall_ns as u64) as i64;
    let (mono, boot) = (diff(stamp.mono_ns, new.stamp.mono_ns), diff(stamp.boot_ns, new.stamp.boot_ns));
    for step in [diff(stamp.seq, new.stamp.seq), mono, wall.wrapping_sub(mono), boot.wrapping_sub(mono)] {
        script.clock(step);
    }
    let mut bases = Bases::default();
    if let Some(base) = base {
        base.visit(&mut bases);
    }
    let (key, mono_ns) = (base.is_none(), new.stamp.mono_ns);
    let mut writer = Writer { script, bases: &bases, key, mono_ns, last: 0, scratch, result: Ok(()) };
    new.visit(&mut writer);
    let Writer { mut script, result, .. } = writer;
    let ended = script.more(false);
    script.into_coder().finish();
    scratch.cells = cells;
    result.and(ended.map(|_| ()))
}

fn diff(before: u64, now: u64) -> i64 {
    now.wrapping_sub(before) as i64
}

/// The base's sections by table id.
#[derive(Default)]
struct Bases {
    sections: Vec<(u16, Arc<dyn std::any::Any + Send + Sync>)>,
}

impl Bases {
    fn get<T: Table>(&self) -> Option<Arc<Section<T>>> {
        let found = self.sections.iter().find(|(id, _)| *id == T::ID)?;
        Arc::clone(&found.1).downcast().ok()
    }
}

impl Visit for Bases {
    fn section<T: Table>(&mut self, _: &'static str, section: &Arc<Section<T>>) {
        self.sections.push((T::ID, Arc::clone(section) as _));
    }
}

struct Writer<'a> {
    script: Script<Encoder<'a>>,
    bases: &'a Bases,
    key: bool,
    mono_ns: u64,
    last: u16,
    scratch: &'a mut Scratch,
    result: Result<(), Error>,
}

impl Visit for Writer<'_> {
    fn section<T: Table>(&mut self, _: &'static str, section: &Arc<Section<T>>) {
        let base = self.bases.get::<T>().unwrap_or_default();
        let unchanged = if self.key { is_blank(section) } else { Arc::ptr_eq(&base, section) };
        if !unchanged && self.result.is_ok() {
            self.result = self.write(&base, section);
        }
    }
}

/// True of a section that nobody ever read.
fn is_blank<T: Table>(section: &Section<T>) -> bool {
    let never = section.state == State::NotCollected && section.read_at_ns == 0 && section.took_ns == 0;
    never && section.gaps.is_empty() && section.data().rows().is_empty()
}

impl Writer<'_> {
    fn write<T: Table>(&mut self, old: &Section<T>, new: &Section<T>) -> Result<(), Error> {
        self.script.more(true)?;
        self.script.table(i64::from(T::ID) - i64::from(self.last));
        self.last = T::ID;
        let at = diff(self.mono_ns, new.read_at_ns);
        self.script.section(new.state as usize, at, diff(old.took_ns, new.took_ns));
        self.gaps(&old.gaps, &new.gaps)?;
        let mut changes = std::mem::take(&mut self.scratch.changes);
        for first in (0..T::COLUMNS.len().max(1)).step_by(PART) {
            if changes.find(first, old.data(), new.data()) {
                self.script.more(true)?;
                self.part(&mut changes, old.data(), new)?;
            }
        }
        self.scratch.changes = changes;
        self.script.more(false).map(|_| ())
    }

    fn gaps(&mut self, old: &Gaps, new: &Gaps) -> Result<(), Error> {
        if !self.script.more(old != new)? {
            return Ok(());
        }
        self.script.count(new.iter().len(), MAX_LIST)?;
        let same = |a: &Gap, b: &Gap| a.path == b.path && a.reason == b.reason && a.needs == b.needs;
        for (index, gap) in new.iter().enumerate() {
            let before = old.iter().nth(index).filter(|before| same(before, gap));
            if self.script.more(before.is_none())? {
                self.text(None, &gap.path);
                self.script.length(gap.reason.code());
                self.text(None, &gap.needs);
            }
            self.script.step(diff(before.map_or(0, |gap| gap.count), gap.count));
        }
        Ok(())
    }

    /// A text by its place in the record's pool.
    fn text(&mut self, last: Option<&Arc<str>>, text: &Arc<str>) {
        let (mode, value) = self.scratch.texts.place(last, text);
        self.script.mode(mode);
        if mode != Mode::Again {
            self.script.length(value);
        }
    }

    /// Up to 64 columns: which ones, which rows, then the cells of each column.
    fn part<T: Table>(&mut self, changes: &mut Changes, old: &T, section: &Section<T>) -> Result<(), Error> {
        self.script.count(changes.columns.len(), PART)?;
        let mut next = 0;
        for &index in &changes.columns {
            let (Some(def), Some(column)) = (T::COLUMNS.get(index), section.data().column(index)) else { continue };
            next = self.script.column(next, Head { id: u64::from(def.id), kind: kind(column) })?.id;
        }
        self.script.rows(&mut changes.rows, changes.columns.len(), MAX_ROWS)?;
        let mut places = std::mem::take(&mut self.scratch.places);
        places.sort(&changes.rows, changes.columns.len());
        let mut columns = changes.columns.iter().enumerate();
        let written = columns.try_for_each(|(bit, &index)| self.column(index, places.of(bit), old, section));
        self.scratch.places = places;
        written
    }

    fn column<T: Table>(&mut self, index: usize, slots: &[usize], old: &T, section: &Section<T>) -> Result<(), Error> {
        let new = section.data();
        let (Some(def), Some(before), Some(after)) = (T::COLUMNS.get(index), old.column(index), new.column(index))
        else {
            return Ok(());
        };
        let count = slots.len();
        let slots = || slots.iter().copied();
        let base = |slot: usize| old.rows().same(new.rows(), slot).then_some(slot);
        match (before, after) {
            (Column::Num(before), Column::Num(after)) => {
                let clock = (def.meaning == Meaning::Clock).then_some(section.read_at_ns);
                let cells = slots().map(|slot| (slot, base(slot).and_then(|slot| before.raw(slot)), after.raw(slot)));
                let shift = self.scratch.gather.numbers(clock, cells, after, new.rows());
                let cells = self.script.cells(kind(Column::Num(after)), count, shift)?;
                for &cell in &self.scratch.gather.numbers {
                    _ = self.script.number(cells, cell);
                }
            }
            (Column::Sparse(before), Column::Sparse(after)) => {
                let rows = slots().map(|slot| (base(slot).and_then(|slot| before.get(slot)), after.get(slot)));
                let shift = self.scratch.gather.pairs(rows);
                let cells = self.script.cells(kind(Column::Sparse(after)), count, shift)?;
                for (pairs, steps) in self.scratch.gather.rows() {
                    self.script.pairs(pairs)?;
                    for &(step, value) in steps {
                        self.script.pair(cells, step, value);
                    }
                }
            }
            (_, Column::Text(after)) => {
                self.script.cells(kind(Column::Text(after)), count, 0)?;
                self.texts(slots().map(|slot| after.get(slot)));
            }
            (_, Column::Sets(after)) => {
                self.script.cells(kind(Column::Sets(after)), count, 0)?;
                self.sets(slots().map(|slot| after.get(slot)));
            }
            _ => {}
        }
        Ok(())
    }

    fn texts<'a>(&mut self, texts: impl Iterator<Item = Option<&'a Arc<str>>>) {
        let mut last = None;
        for text in texts {
            match text {
                Some(text) => {
                    self.text(last, text);
                    last = Some(text);
                }
                None => _ = self.script.mode(Mode::Unread),
            }
        }
    }

    fn sets<'a>(&mut self, sets: impl Iterator<Item = Option<&'a Arc<IdSet>>>) {
        let mut last: Option<&Arc<IdSet>> = None;
        for set in sets {
            let Some(set) = set else {
                self.script.mode(Mode::Unread);
                continue;
            };
            if last == Some(set) {
                self.script.mode(Mode::Again);
                continue;
            }
            self.script.mode(Mode::New);
            last = Some(set);
            self.script.length(set.ranges().len() as u64);
            let mut next = 0;
            for &(first, end) in set.ranges() {
                self.script.id(u64::from(first) - next);
                self.script.id(u64::from(end - first));
                next = u64::from(end) + 1;
            }
        }
    }
}
