//! One or two samples of a machine carried on for as long as one likes: every counter at its own rate, give or take a
//! twentieth.
//!
//! Two samples have rates; of one sample each counter is taken to have grown evenly since the machine was started (or
//! since the process was). Time of a CPU always sums up to a hundred ticks a second.

use std::collections::BTreeMap;
use std::sync::Arc;
use topotop_model::tables::processes::{Processes, Threads};
use topotop_model::{Column, ColumnMut, Meaning, Section, Snapshot, Stamp, State, Table, Unit, Visit, VisitMut};

const SECOND_NS: u64 = 1_000_000_000;
/// The clock of the first sample that is made: later than any that was captured needs.
const START_NS: u64 = 1_000_000 * SECOND_NS;
/// Stands for the number of a row where others have an id.
const WHOLE: u32 = u32::MAX;
/// How far a rate is off its mean at most, to both sides together.
const SPREAD: f64 = 0.05;
/// How far gauges of bytes swing below what was captured.
const SWING: f64 = 0.02;
/// How long a machine is taken to be up that does not say so, in seconds.
const SOME_UPTIME: f64 = 864_000.0;

/// By section, column and row: rates by id.
type Rates = BTreeMap<(u16, usize, usize), Vec<(u32, f64)>>;

/// A machine that goes on.
pub(crate) struct Series {
    base: Snapshot,
    /// By section, column and row: rates by id.
    rates: Rates,
}

impl Series {
    /// From one sample.
    pub(crate) fn of_one(snapshot: &Snapshot) -> Self {
        let base = at(snapshot, 0);
        let mut rates = Averages { uptime: uptime(snapshot), rates: BTreeMap::new() };
        base.visit(&mut rates);
        Self { rates: whole_ticks(&base, rates.rates), base }
    }

    /// From two samples some seconds apart; what is in the second one only goes on evenly.
    pub(crate) fn of_two(first: &Snapshot, second: &Snapshot, seconds: f64) -> Self {
        let mut series = Self::of_one(second);
        let mut values = Counters(BTreeMap::new());
        first.visit(&mut values);
        for (key, rates) in &mut series.rates {
            let Some((before, columns)) = values.0.get(key).zip(Some(&mut *rates)) else { continue };
            for (id, rate) in columns {
                let old = before.iter().find(|pair| pair.0 == *id).map_or(0, |pair| pair.1);
                let now = value(&series.base, *key, *id);
                *rate = now.checked_sub(old).map_or(0.0, |gained| gained as f64 / seconds);
            }
        }
        series.rates = whole_ticks(&series.base, series.rates);
        series
    }

    /// The sample so many seconds after the first.
    pub(crate) fn at(&self, second: u64) -> Snapshot {
        let mut snapshot = at(&self.base, second);
        snapshot.visit_mut(&mut Advance { rates: &self.rates, second });
        snapshot
    }

    /// The first sample without any change of time.
    pub(crate) fn base(&self) -> &Snapshot {
        &self.base
    }
}

/// A snapshot as if it had been taken so many seconds after the start: every section was read then.
pub(crate) fn at(snapshot: &Snapshot, second: u64) -> Snapshot {
    struct Shift {
        from: u64,
        to: u64,
    }
    impl VisitMut for Shift {
        fn section<T: Table>(&mut self, _: &'static str, section: &mut Arc<Section<T>>) {
            if section.state == State::NotCollected {
                return;
            }
            let section = Arc::make_mut(section);
            section.read_at_ns = self.to;
            let slots: Vec<usize> = section.data().rows().iter().collect();
            for (index, definition) in T::COLUMNS.iter().enumerate() {
                let Some(ColumnMut::Num(column)) = section.data_mut().column_mut(index) else { continue };
                if definition.meaning != Meaning::Clock {
                    continue;
                }
                for &slot in &slots {
                    if let Some(read) = column.value(slot).filter(|read| *read > 0) {
                        // What was asked later than the sample counts as asked with it.
                        column.set(slot, self.to - self.from.saturating_sub(read).min(self.to / 2));
                    }
                }
            }
        }
    }
    let mut moved = snapshot.clone();
    let to = START_NS + second * SECOND_NS;
    moved.visit_mut(&mut Shift { from: snapshot.stamp.mono_ns, to });
    moved.stamp = Stamp { seq: second + 1, wall_ns: to as i64, mono_ns: to, boot_ns: to };
    moved
}

fn is_counter(meaning: Meaning) -> bool {
    matches!(meaning, Meaning::Counter | Meaning::Counter32)
}

/// Counters as they are, by section, column and row.
struct Counters(BTreeMap<(u16, usize, usize), Vec<(u32, u64)>>);

impl Visit for Counters {
    fn section<T: Table>(&mut self, _: &'static str, section: &Arc<Section<T>>) {
        let Some(table) = section.value() else { return };
        for (index, definition) in T::COLUMNS.iter().enumerate().filter(|(_, column)| is_counter(column.meaning)) {
            let _ = definition;
            for slot in table.rows().iter() {
                let cells = match table.column(index) {
                    Some(Column::Num(column)) => column.value(slot).map(|value| vec![(WHOLE, value)]),
                    Some(Column::Sparse(column)) => column.get(slot).map(<[(u32, u64)]>::to_vec),
                    _ => None,
                };
                if let Some(cells) = cells {
                    self.0.insert((T::ID, index, slot), cells);
                }
            }
        }
    }
}

fn value(snapshot: &Snapshot, key: (u16, usize, usize), id: u32) -> u64 {
    struct One((u16, usize, usize), u32, u64);
    impl Visit for One {
        fn section<T: Table>(&mut self, _: &'static str, section: &Arc<Section<T>>) {
            if T::ID == self.0.0 {
                self.2 = match section.data().column(self.0.1) {
                    Some(Column::Num(column)) => column.value(self.0.2),
                    Some(Column::Sparse(column)) => column.at(self.0.2, self.1),
                    _ => None,
                }
                .unwrap_or(0);
            }
        }
    }
    let mut one = One(key, id, 0);
    snapshot.visit(&mut one);
    one.2
}

/// What each counter gained a second since the machine was started.
struct Averages {
    uptime: f64,
    rates: Rates,
}

impl Visit for Averages {
    fn section<T: Table>(&mut self, name: &'static str, section: &Arc<Section<T>>) {
        let mut counters = Counters(BTreeMap::new());
        counters.section(name, section);
        for (key, cells) in counters.0 {
            let age = match T::ID {
                // Processes began later than the machine.
                Processes::ID | Threads::ID => age(section.data(), key.2, self.uptime),
                _ => self.uptime,
            };
            let most = match T::COLUMNS[key.1].unit {
                Unit::Milliseconds => 1e3,
                Unit::Microseconds => 1e6,
                Unit::Nanoseconds => 1e9,
                _ => f64::INFINITY,
            };
            let rates = cells.into_iter().map(|(id, value)| (id, (value as f64 / age).min(most))).collect();
            self.rates.insert(key, rates);
        }
    }
}

fn age<T: Table>(table: &T, slot: usize, uptime: f64) -> f64 {
    let started = T::COLUMNS.iter().position(|column| column.name == "starttime").and_then(|at| table.column(at));
    let Some(Column::Num(started)) = started else { return uptime };
    let age = uptime - started.value(slot).unwrap_or(0) as f64 / 100.0;
    if age >= 10.0 { age } else { uptime }
}

/// How long the machine was up: what it says, else as long as a CPU counted ticks.
fn uptime(snapshot: &Snapshot) -> f64 {
    let host = snapshot.host.data();
    let reported = host.rows().iter().find_map(|slot| host.uptime_seconds.value(slot));
    let times = snapshot.cpu_times.data();
    let ticks = times.rows().iter().map(|slot| {
        let columns = [&times.user, &times.nice, &times.system, &times.idle, &times.iowait, &times.irq, &times.softirq];
        columns.iter().filter_map(|column| column.value(slot)).fold(0u64, u64::saturating_add) / 100
    });
    let counted = ticks.max().filter(|seconds| *seconds > 0);
    reported.filter(|seconds| *seconds > 0).or(counted).map_or(SOME_UPTIME, |seconds| seconds as f64)
}

/// Scales the time of each CPU to a hundred ticks a second.
fn whole_ticks(base: &Snapshot, mut rates: Rates) -> Rates {
    use topotop_model::tables::cpu::CpuTimes;
    let parts = |index: &usize| {
        let name = CpuTimes::COLUMNS[*index].name;
        is_counter(CpuTimes::COLUMNS[*index].meaning) && !name.starts_with("guest")
    };
    let columns: Vec<usize> = (0..CpuTimes::COLUMNS.len()).filter(parts).collect();
    for slot in base.cpu_times.data().rows().iter() {
        let cells = |index: &usize| rates.get(&(CpuTimes::ID, *index, slot)).and_then(|cells| cells.first());
        let sum: f64 = columns.iter().filter_map(cells).map(|cell| cell.1).sum();
        for index in columns.iter().filter(|_| sum > 0.0) {
            if let Some(cells) = rates.get_mut(&(CpuTimes::ID, *index, slot)) {
                for cell in cells {
                    cell.1 *= 100.0 / sum;
                }
            }
        }
    }
    rates
}

/// A number from 0 to 1 that looks like chance and is always the same.
pub(crate) fn chance(of: impl IntoIterator<Item = u64>) -> f64 {
    let mixed = of.into_iter().fold(0x9e37_79b9_7f4a_7c15u64, |state, value| {
        let state = (state ^ value).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (state ^ (state >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb)
    });
    ((mixed ^ (mixed >> 32)) >> 11) as f64 / (1u64 << 53) as f64
}

/// Lets every counter gain what it gains in so many seconds, and every amount of memory swing a little.
struct Advance<'a> {
    rates: &'a Rates,
    second: u64,
}

impl Advance<'_> {
    fn gained(&self, key: (u16, usize, usize), id: u32, rate: f64) -> u64 {
        let noise = chance([u64::from(key.0), key.1 as u64, key.2 as u64, u64::from(id), self.second]);
        (rate * (self.second as f64 + SPREAD * noise)) as u64
    }
}

impl VisitMut for Advance<'_> {
    fn section<T: Table>(&mut self, _: &'static str, section: &mut Arc<Section<T>>) {
        if section.state != State::Read {
            return;
        }
        let table = Arc::make_mut(section).data_mut();
        let slots: Vec<usize> = table.rows().iter().collect();
        for (index, definition) in T::COLUMNS.iter().enumerate() {
            let swings = definition.meaning == Meaning::Gauge && definition.unit == Unit::Bytes;
            if !is_counter(definition.meaning) && !swings {
                continue;
            }
            for &slot in &slots {
                let key = (T::ID, index, slot);
                let rates = self.rates.get(&key).map(Vec::as_slice).unwrap_or_default();
                match table.column_mut(index) {
                    Some(ColumnMut::Num(column)) if swings => {
                        let low = 1.0 - SWING * chance([u64::from(T::ID), slot as u64, self.second]);
                        if let Some(value) = column.value(slot) {
                            column.set(slot, (value as f64 * low) as u64);
                        }
                    }
                    Some(ColumnMut::Num(column)) => {
                        if let Some((value, (_, rate))) = column.value(slot).zip(rates.first()) {
                            column.set(slot, value.saturating_add(self.gained(key, WHOLE, *rate)));
                        }
                    }
                    Some(ColumnMut::Sparse(column)) if !swings => {
                        let old = column.get(slot).unwrap_or_default().iter().zip(rates);
                        let new: Vec<(u32, u64)> = old
                            .map(|((id, value), (_, rate))| (*id, value.saturating_add(self.gained(key, *id, *rate))))
                            .collect();
                        if !new.is_empty() {
                            column.set(slot, new);
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}
