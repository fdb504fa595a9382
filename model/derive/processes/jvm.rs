//! Java virtual machines: what share of their time they are stopped.

use super::{Pair, Span};
use crate::frame::{Jvm, Process};
use crate::tables::jvm::Jvms;
use crate::{Num, Table, Window};
use std::collections::BTreeMap;

/// Rows by process.
#[derive(Debug, Default)]
pub(super) struct Machines<'a> {
    pair: Option<Pair<'a, Jvms>>,
    slots: BTreeMap<(u32, u64), usize>,
}

impl<'a> Machines<'a> {
    pub(super) fn new(window: &'a Window) -> Self {
        let Some(pair) = Pair::new(&window.now.jvms, &window.before.jvms) else { return Self::default() };
        let key = |slot| Some(((pair.now.pid.id(slot).value()?, pair.now.starttime.value(slot)?), slot));
        Self { pair: Some(pair), slots: pair.now.rows().iter().filter_map(key).collect() }
    }

    pub(super) fn of(&self, process: &Process) -> Option<Jvm> {
        let (pair, slot) = (self.pair?, *self.slots.get(&(process.pid, process.starttime))?);
        let table = pair.now;
        let span = Span::new(pair, slot, |table| &table.read_at_ns);
        let rate = |column: fn(&Jvms) -> &Num| span.and_then(|span| span.rate(column));
        // Times are added when a collection ends: one that began before the interval counts whole.
        let share = |column: fn(&Jvms) -> &Num| rate(column).map(|ns| (ns / 1e9).clamp(0.0, 1.0));
        Some(Jvm {
            gc_time_ratio: share(|table| &table.gc_time_ns),
            gc_per_second: rate(|table| &table.gc_count),
            safepoint_ratio: share(|table| &table.safepoint_time_ns),
            contended_per_second: rate(|table| &table.contended_locks),
            heap_used_bytes: table.heap_used_bytes.get(slot),
            heap_capacity_bytes: table.heap_capacity_bytes.get(slot),
            heap_max_bytes: table.heap_max_bytes.get(slot),
            collectors: table.collectors.or_empty(slot),
            version: table.version.or_empty(slot),
        })
    }
}
