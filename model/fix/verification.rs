//! Measures the effect of a fix: a window before, a time to settle, a window after, then a verdict with its table.
//!
//! Takes frames, live or from a history; knows no clock.

mod narrow;
mod settle;
mod trips;
mod verdict;

pub use trips::{Trip, Tripped};
pub use verdict::{Verdict, label};

use super::Verify;
use crate::diff::{Subject, Watch, reading};
use crate::frame::Frame;
use crate::journal::Measured;
use crate::locale::Text;
use crate::locale::fix::verification as text;
use narrow::narrow;
use settle::Settle;
use std::collections::VecDeque;
use trips::Wire;

/// Samples of a window, at least: fewer cannot be distinguished from noise.
pub const FEWEST: usize = 20;
/// Samples of the window before, at most.
const MOST: usize = 1200;
/// Samples shown while it settles.
const LOOK: usize = 5;
/// The longest wait for a window, as a multiple of its length, where samples are rare.
const PATIENCE: f64 = 4.0;
/// Seconds by which samples may be early: they are not exact to the millisecond.
const EARLY: f64 = 0.05;

/// The phase of a verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Not applied yet: frames fill the window before.
    Before,
    /// Applied; waiting for the effect, as long as the load still moves.
    Settling,
    /// The window after is filling.
    Measuring,
    /// There is a verdict.
    Done,
    /// Undone again: the window after the undo is filling.
    Undone,
}

impl Phase {
    /// Its name on screens.
    pub fn name(self) -> Text {
        match self {
            Self::Before => text::PHASE_BEFORE,
            Self::Settling => text::PHASE_SETTLING,
            Self::Measuring => text::PHASE_MEASURING,
            Self::Done => text::PHASE_DONE,
            Self::Undone => text::PHASE_UNDONE,
        }
    }
}

/// The progress of a verification.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Its phase.
    pub phase: Phase,
    /// Estimated seconds until the verdict; none before the fix is applied.
    pub left_seconds: Option<f64>,
    /// Elapsed share of the time from applying to the verdict, 0..1.
    pub done: f64,
    /// Samples of the window before.
    pub before: usize,
    /// Samples of the window after.
    pub after: usize,
}

/// Measures the effect of a fix.
#[derive(Clone, Debug)]
pub struct Verification {
    verify: Verify,
    /// The application's own load metric, where one was given.
    metric: Option<Watch>,
    /// All measured metrics.
    watches: Vec<Watch>,
    before: VecDeque<Frame>,
    after: Vec<Frame>,
    /// The newest frames while it settles: shown, not judged.
    settling: VecDeque<Frame>,
    /// CLOCK_MONOTONIC in ns when it was applied.
    applied_ns: Option<u64>,
    /// When the effect is there.
    settle: Settle,
    /// CLOCK_MONOTONIC in ns when it was undone to compare.
    undone_ns: Option<u64>,
    undone: Vec<Frame>,
    /// The newest frame.
    last_ns: u64,
    done: bool,
    wires: Vec<Wire>,
    tripped: Option<Tripped>,
}

impl Verification {
    /// Starts with the window before; `metric` is the application's own load metric, where given.
    pub fn new(verify: &Verify, metric: Option<&str>) -> Self {
        let metric = metric.map(|name| Watch { subject: Subject::Metric(name.into()), metric: "metric.work" });
        let one = [&metric, &verify.load, &verify.cost].into_iter().flatten();
        let more = verify.guards.iter().chain(&verify.shown).chain(verify.trips.iter().map(|trip| &trip.watch));
        let watches = one.chain(more).cloned().collect();
        Self {
            verify: verify.clone(),
            metric,
            watches,
            before: VecDeque::new(),
            after: Vec::new(),
            settling: VecDeque::new(),
            applied_ns: None,
            settle: Settle::new(f64::from(verify.settle_seconds)),
            undone_ns: None,
            undone: Vec::new(),
            last_ns: 0,
            done: false,
            wires: verify.trips.iter().cloned().map(Wire::new).collect(),
            tripped: None,
        }
    }

    /// Takes in the next frame. Those that are no newer than the last one are left out, so that a history and what is
    /// live may overlap.
    pub fn push(&mut self, frame: &Frame) -> Progress {
        let now_ns = frame.stamp.mono_ns;
        if now_ns <= self.last_ns && self.last_ns > 0 {
            return self.progress();
        }
        self.last_ns = now_ns;
        match self.applied_ns {
            None => self.push_before(frame),
            Some(applied_ns) if !self.done => self.push_after(frame, applied_ns),
            Some(_) => self.push_undone(frame),
        }
        self.progress()
    }

    /// It was undone to compare: later frames belong to the time after the undo.
    pub fn undone(&mut self, mono_ns: u64) {
        if self.done {
            self.undone_ns.get_or_insert(mono_ns);
        }
    }

    /// The verdict by the windows before, after and after the undo; none before the last is full.
    pub fn compared(&self) -> Option<Verdict> {
        (self.undone_ns.is_some() && self.undone.len() >= self.after.len()).then(|| self.so_far())
    }

    /// Prepends the window before of another verification, which saw earlier frames.
    pub fn precede(&mut self, past: Self) {
        let newest = self.before.front().map_or(self.applied_ns.unwrap_or(u64::MAX), |frame| frame.stamp.mono_ns);
        let earlier = past.before.into_iter().filter(|frame| frame.stamp.mono_ns < newest);
        let own = std::mem::take(&mut self.before);
        self.before = earlier.chain(own).collect();
        self.last_ns = self.last_ns.max(self.before.back().map_or(0, |frame| frame.stamp.mono_ns));
        self.forget();
    }

    /// Later frames belong to the time after; `mono_ns` is CLOCK_MONOTONIC when the last item had been written.
    pub fn applied(&mut self, mono_ns: u64) {
        self.applied_ns.get_or_insert(mono_ns);
    }

    /// Its progress.
    pub fn progress(&self) -> Progress {
        let counts = (self.before.len(), self.after.len());
        let (phase, left, done) = match self.applied_ns {
            None => (Phase::Before, None, 0.0),
            Some(_) if self.undone_ns.is_some() && self.undone.len() < self.after.len() => {
                let seconds = self.last_ns.saturating_sub(self.undone_ns.unwrap_or_default()) as f64 / 1e9;
                let left = (f64::from(self.verify.settle_seconds + self.verify.after_seconds) - seconds).max(0.0);
                (Phase::Undone, Some(left), self.undone.len() as f64 / self.after.len().max(1) as f64)
            }
            Some(_) if self.done => (Phase::Done, Some(0.0), 1.0),
            Some(applied_ns) => {
                let gone = self.last_ns.saturating_sub(applied_ns) as f64 / 1e9;
                let (settle, whole) = (self.settle.seconds(), self.whole());
                let phase = if gone < settle { Phase::Settling } else { Phase::Measuring };
                (phase, Some((whole - gone).max(0.0)), (gone / whole.max(1e-9)).min(0.99))
            }
        };
        Progress { phase, left_seconds: left, done, before: counts.0, after: counts.1 }
    }

    /// The measurements so far, load first.
    pub fn table(&self) -> Vec<Measured> {
        let now: Vec<Frame> = self.settling.iter().cloned().collect();
        let after = if self.after.is_empty() { &now } else { &self.after };
        verdict::table(&self.verify, self.metric.as_ref(), &self.before, after)
    }

    /// The verdict; none before the window after is full.
    pub fn verdict(&self) -> Option<Verdict> {
        self.done.then(|| self.so_far())
    }

    /// The verdict if it ended here.
    pub fn so_far(&self) -> Verdict {
        let undone: &[Frame] = if self.undone.len() >= self.after.len() { &self.undone } else { &[] };
        let ran_on = self.settle.ran_on();
        let windows = verdict::Windows { before: &self.before, after: &self.after, undone, ran_on };
        verdict::judge(&self.verify, self.metric.as_ref(), &windows)
    }

    /// The limit whose violation requires an immediate rollback.
    pub fn tripped(&self) -> Option<&Tripped> {
        self.tripped.as_ref()
    }

    /// Seconds from applying to the verdict.
    fn whole(&self) -> f64 {
        self.settle.seconds() + f64::from(self.verify.after_seconds)
    }

    /// What the load is read by.
    fn load(&self) -> Option<&Watch> {
        let measured = |watch: &&Watch| self.before.back().is_some_and(|frame| reading(frame, watch).is_some());
        self.metric.as_ref().filter(measured).or(self.verify.load.as_ref())
    }

    fn push_before(&mut self, frame: &Frame) {
        self.before.push_back(narrow(frame, &self.watches));
        self.forget();
    }

    fn push_undone(&mut self, frame: &Frame) {
        let Some(undone_ns) = self.undone_ns.filter(|_| self.undone.len() < self.after.len()) else { return };
        let gone = frame.stamp.mono_ns.saturating_sub(undone_ns) as f64 / 1e9;
        if gone - frame.interval_seconds.unwrap_or_default() >= f64::from(self.verify.settle_seconds) - EARLY {
            self.undone.push(narrow(frame, &self.watches));
        }
    }

    /// Drops what is too old for the window before.
    fn forget(&mut self) {
        let newest = self.before.back().map_or(0, |frame| frame.stamp.mono_ns);
        let since_ns = newest.saturating_sub(u64::from(self.verify.before_seconds) * 1_000_000_000);
        // Where samples are rare, the window is longer than requested.
        let old = |frame: &Frame| frame.stamp.mono_ns < since_ns;
        while self.before.len() > MOST || (self.before.len() > FEWEST && self.before.front().is_some_and(old)) {
            self.before.pop_front();
        }
    }

    fn push_after(&mut self, frame: &Frame, applied_ns: u64) {
        let frame = narrow(frame, &self.watches);
        for wire in &mut self.wires {
            let tripped = wire.push(&frame, applied_ns);
            self.tripped = self.tripped.take().or(tripped);
        }
        let gone = frame.stamp.mono_ns.saturating_sub(applied_ns) as f64 / 1e9;
        // A sample covers the interval before it.
        let from = gone - frame.interval_seconds.unwrap_or_default();
        if self.after.is_empty()
            && from >= -EARLY
            && let Some(value) = self.load().and_then(|load| reading(&frame, load))
        {
            let mut settle = std::mem::take(&mut self.settle);
            settle.push(value, gone, || self.before.iter().filter_map(|frame| reading(frame, self.load()?)).collect());
            self.settle = settle;
        }
        if from >= self.settle.seconds() - EARLY {
            self.after.push(frame);
        } else {
            self.settling.push_back(frame);
            if self.settling.len() > LOOK {
                self.settling.pop_front();
            }
        }
        let whole = self.whole();
        self.done = gone >= whole && (self.after.len() >= FEWEST || gone >= PATIENCE * whole);
    }
}

#[cfg(test)]
mod noise;
#[cfg(test)]
mod tests;
