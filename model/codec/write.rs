//! The encoder: what differs from the base, column by column.

use super::cells::{Gather, kind};
use super::changes::Changes;
use super::rows::{PART, Places};
use super::source::{ColumnHead, Mode, SectionHead};
use super::texts::Written;
use super::varint::Output;
use crate::snapshot::Visit;
use crate::{Column, Gap, Gaps, IdSet, Meaning, Rows, Section, Snapshot, State, Table};
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
pub(super) fn snapshot(base: Option<&Snapshot>, new: &Snapshot, scratch: &mut Scratch) {
    let stamp = base.map(|base| base.stamp).unwrap_or_default();
    scratch.texts.clear();
    let mut cells = std::mem::take(&mut scratch.cells);
    cells.clear();
    let mut output = Output::new(cells);
    let wall = (new.stamp.wall_ns as u64).wrapping_sub(stamp.wall_ns as u64) as i64;
    let (mono, boot) = (diff(stamp.mono_ns, new.stamp.mono_ns), diff(stamp.boot_ns, new.stamp.boot_ns));
    for step in [diff(stamp.seq, new.stamp.seq), mono, wall.wrapping_sub(mono), boot.wrapping_sub(mono)] {
        output.signed(step);
    }
    let mut bases = Bases::default();
    if let Some(base) = base {
        base.visit(&mut bases);
    }
    let (key, mono_ns) = (base.is_none(), new.stamp.mono_ns);
    let mut writer = Writer { output, bases: &bases, key, mono_ns, last: 0, scratch };
    new.visit(&mut writer);
    let Writer { mut output, .. } = writer;
    output.end();
    scratch.cells = output.bytes;
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
    output: Output,
    bases: &'a Bases,
    key: bool,
    mono_ns: u64,
    last: u16,
    scratch: &'a mut Scratch,
}

impl Visit for Writer<'_> {
    fn section<T: Table>(&mut self, _: &'static str, section: &Arc<Section<T>>) {
        let base = self.bases.get::<T>().unwrap_or_default();
        let unchanged = if self.key { is_blank(section) } else { Arc::ptr_eq(&base, section) };
        if !unchanged {
            self.write(&base, section);
        }
    }
}

/// True of a section that was never read.
fn is_blank<T: Table>(section: &Section<T>) -> bool {
    let never = section.state == State::NotCollected && section.read_at_ns == 0 && section.took_ns == 0;
    never && section.gaps.is_empty() && section.data().rows().is_empty()
}

impl Writer<'_> {
    fn write<T: Table>(&mut self, old: &Section<T>, new: &Section<T>) {
        let gaps = old.gaps != new.gaps;
        self.output.section(SectionHead {
            step: i64::from(T::ID) - i64::from(self.last),
            state: new.state as usize,
            read_at: diff(self.mono_ns, new.read_at_ns),
            took: diff(old.took_ns, new.took_ns),
            gaps,
        });
        self.last = T::ID;
        if gaps {
            self.gaps(&old.gaps, &new.gaps);
        }
        let mut changes = std::mem::take(&mut self.scratch.changes);
        for first in (0..T::COLUMNS.len().max(1)).step_by(PART) {
            if changes.find(first, old.data(), new.data()) {
                self.part(&changes, old.data(), new);
            }
        }
        self.scratch.changes = changes;
        self.output.end();
    }

    fn gaps(&mut self, old: &Gaps, new: &Gaps) {
        self.output.number(new.iter().len() as u64);
        let same = |a: &Gap, b: &Gap| a.path == b.path && a.reason == b.reason && a.needs == b.needs;
        for (index, gap) in new.iter().enumerate() {
            let before = old.iter().nth(index).filter(|before| same(before, gap));
            self.output.number(u64::from(before.is_none()));
            if before.is_none() {
                self.text(None, &gap.path);
                self.output.number(gap.reason.code());
                self.text(None, &gap.needs);
            }
            self.output.signed(diff(before.map_or(0, |gap| gap.count), gap.count));
        }
    }

    /// A text by its place in the record's pool.
    fn text(&mut self, last: Option<&Arc<str>>, text: &Arc<str>) {
        let (mode, value) = self.scratch.texts.place(last, text);
        self.output.text(mode, value);
    }

    /// Up to 64 columns: which rows changed, then each column with its cells.
    fn part<T: Table>(&mut self, changes: &Changes, old: &T, section: &Section<T>) {
        self.output.part(changes.columns.len(), &changes.rows);
        let mut places = std::mem::take(&mut self.scratch.places);
        places.sort(&changes.rows, changes.columns.len());
        let mut next = 0;
        for (bit, &index) in changes.columns.iter().enumerate() {
            let (Some(def), Some(before), Some(after)) =
                (T::COLUMNS.get(index), old.column(index), section.data().column(index))
            else {
                continue;
            };
            let head = ColumnHead { id: u64::from(def.id), kind: kind(after), shift: 0 };
            let clock = (def.meaning == Meaning::Clock).then_some(section.read_at_ns);
            let rows = (old.rows(), section.data().rows());
            self.column(next, head, clock, places.of(bit), (before, after), rows);
            next = head.id;
        }
        self.scratch.places = places;
    }

    fn column(
        &mut self,
        next: u64,
        head: ColumnHead,
        clock: Option<u64>,
        slots: &[usize],
        (before, after): (Column<'_>, Column<'_>),
        (old, new): (&Rows, &Rows),
    ) {
        let slots = || slots.iter().copied();
        let base = |slot: usize| old.same(new, slot).then_some(slot);
        match (before, after) {
            (Column::Num(before), Column::Num(after)) => {
                let cells = slots().map(|slot| (slot, base(slot).and_then(|slot| before.raw(slot)), after.raw(slot)));
                let shift = self.scratch.gather.numbers(clock, cells, after, new);
                self.output.column(next, ColumnHead { shift, ..head });
                for &cell in &self.scratch.gather.numbers {
                    self.output.cell(cell);
                }
            }
            (Column::Sparse(before), Column::Sparse(after)) => {
                let rows = slots().map(|slot| (base(slot).and_then(|slot| before.get(slot)), after.get(slot)));
                let shift = self.scratch.gather.pairs(rows);
                self.output.column(next, ColumnHead { shift, ..head });
                for (pairs, steps) in self.scratch.gather.rows() {
                    self.output.pairs(pairs);
                    for &(step, value) in steps {
                        self.output.number(step);
                        self.output.signed(value);
                    }
                }
            }
            (_, Column::Text(after)) => {
                self.output.column(next, head);
                self.texts(slots().map(|slot| after.get(slot)));
            }
            (_, Column::Sets(after)) => {
                self.output.column(next, head);
                self.sets(slots().map(|slot| after.get(slot)));
            }
            _ => {}
        }
    }

    fn texts<'b>(&mut self, texts: impl Iterator<Item = Option<&'b Arc<str>>>) {
        let mut last = None;
        for text in texts {
            match text {
                Some(text) => {
                    self.text(last, text);
                    last = Some(text);
                }
                None => self.output.text(Mode::Unread, 0),
            }
        }
    }

    fn sets<'b>(&mut self, sets: impl Iterator<Item = Option<&'b Arc<IdSet>>>) {
        let mut last: Option<&Arc<IdSet>> = None;
        for set in sets {
            let Some(set) = set else {
                self.output.set(Mode::Unread, 0);
                continue;
            };
            if last == Some(set) {
                self.output.set(Mode::Again, 0);
                continue;
            }
            last = Some(set);
            self.output.set(Mode::New, set.ranges().len() as u64);
            let mut next = 0;
            for &(first, end) in set.ranges() {
                self.output.number(u64::from(first) - next);
                self.output.number(u64::from(end - first));
                next = u64::from(end) + 1;
            }
        }
    }
}
