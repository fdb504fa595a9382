//! Differences between generations: only between the same rows, only forwards.

use crate::counter::{gain, gain_u32, per_second};
use crate::{Num, Section, Sparse, Table, Window};
use std::sync::Arc;

/// Time between the last two samples in seconds; none with one sample.
pub(super) fn interval(window: &Window) -> Option<f64> {
    let before = window.before.stamp.mono_ns;
    let elapsed = window.now.stamp.mono_ns.checked_sub(before).filter(|&elapsed| before != 0 && elapsed > 0)?;
    Some(elapsed as f64 / 1e9)
}

/// True where a section is of an earlier sample than the newest: what it gained was counted then.
pub(super) fn is_old<T>(window: &Window, section: &Section<T>) -> bool {
    section.read_at_ns < window.now.stamp.mono_ns
}

/// Two generations of a section.
#[derive(Debug)]
pub(super) struct Pair<'a, T> {
    /// The newer one.
    pub(super) now: &'a T,
    before: Option<&'a T>,
    elapsed_ns: u64,
}

impl<T> Clone for Pair<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Pair<'_, T> {}

impl<'a, T: Table> Pair<'a, T> {
    /// The pair of a window's sections; none when the newer one was not read.
    pub(super) fn new(now: &'a Arc<Section<T>>, before: &'a Arc<Section<T>>) -> Option<Self> {
        let elapsed_ns = now.read_at_ns.saturating_sub(before.read_at_ns);
        let earlier = before.value().filter(|_| before.read_at_ns > 0 && elapsed_ns > 0);
        Some(Self { now: now.value()?, before: earlier, elapsed_ns })
    }

    /// Time between the two in ns; zero with one only.
    pub(super) fn elapsed_ns(&self) -> u64 {
        if self.before.is_some() { self.elapsed_ns } else { 0 }
    }

    /// The older table, if the slot holds the same row in both.
    pub(super) fn before(&self, slot: usize) -> Option<&'a T> {
        self.before.filter(|before| before.rows().same(self.now.rows(), slot))
    }

    /// The older table as a whole.
    pub(super) fn earlier(&self) -> Option<&'a T> {
        self.before
    }

    /// What a 64-bit counter gained.
    pub(super) fn gain(&self, slot: usize, column: impl Fn(&T) -> &Num) -> Option<u64> {
        let before = self.before(slot)?;
        gain(column(before).value(slot)?, column(self.now).value(slot)?)
    }

    /// What a 32-bit counter gained.
    pub(super) fn gain_u32(&self, slot: usize, column: impl Fn(&T) -> &Num) -> Option<u64> {
        let before = self.before(slot)?;
        gain_u32(column(before).value(slot)?, column(self.now).value(slot)?)
    }

    /// A 64-bit counter per second.
    pub(super) fn rate(&self, slot: usize, column: impl Fn(&T) -> &Num) -> Option<f64> {
        per_second(self.gain(slot, column)?, self.elapsed_ns)
    }

    /// A 32-bit counter per second.
    pub(super) fn rate_u32(&self, slot: usize, column: impl Fn(&T) -> &Num) -> Option<f64> {
        per_second(self.gain_u32(slot, column)?, self.elapsed_ns)
    }

    /// How fast a gauge moved, per second: negative when it fell.
    pub(super) fn slope(&self, slot: usize, column: impl Fn(&T) -> &Num) -> Option<f64> {
        let before = self.before(slot)?;
        let (old, new) = (column(before).value(slot)?, column(self.now).value(slot)?);
        (self.elapsed_ns > 0).then(|| (new as f64 - old as f64) * 1e9 / self.elapsed_ns as f64)
    }

    /// 32-bit counters by id per second, zeros left out; none without two generations of the row.
    pub(super) fn rates_by_id(&self, slot: usize, column: impl Fn(&T) -> &Sparse) -> Option<Vec<(u32, f64)>> {
        let before = self.before(slot)?;
        let (old, new) = (column(before).get(slot)?, column(self.now).get(slot)?);
        let mut old = old.iter().peekable();
        let mut rates = Vec::new();
        for &(id, value) in new {
            while old.next_if(|pair| pair.0 < id).is_some() {}
            let earlier = old.peek().filter(|pair| pair.0 == id).map_or(0, |pair| pair.1);
            let rate = gain_u32(earlier, value).and_then(|gained| per_second(gained, self.elapsed_ns));
            if let Some(rate) = rate.filter(|&rate| rate > 0.0) {
                rates.push((id, rate));
            }
        }
        Some(rates)
    }
}
