//! Did it help? A window before that has gone by, a time to settle, a window after: then a verdict with its table.
//!
//! Fed with frames, live or from a history; nothing in here knows a clock or where frames come from.

mod narrow;
mod trips;
mod verdict;

pub use trips::{Trip, Tripped};
pub use verdict::Verdict;

use super::Verify;
use crate::diff::{Subject, Watch};
use crate::frame::Frame;
use crate::journal::Measured;
use narrow::narrow;
use std::collections::VecDeque;
use trips::Wire;

/// Samples that a window has at least, however short its time: fewer cannot be told from noise.
pub const FEWEST: usize = 12;
/// Samples of the window before that are kept at most.
const MOST: usize = 1200;
/// Samples that one looks at while it settles.
const LOOK: usize = 5;
/// A window is waited for so many times its length at most where samples are rare.
const PATIENCE: f64 = 4.0;

/// Where a verification stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing was applied yet: frames fill the window before.
    Before,
    /// Applied; the effect is on its way.
    Settling,
    /// The window after is filling.
    Measuring,
    /// There is a verdict.
    Done,
}

impl Phase {
    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::Settling => "settling",
            Self::Measuring => "measuring",
            Self::Done => "measured",
        }
    }
}

/// How far a verification is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Where.
    pub phase: Phase,
    /// Seconds until there is a verdict, as far as one can tell; none before it was applied.
    pub left_seconds: Option<f64>,
    /// What is done of the time from applying to the verdict, 0..1.
    pub done: f64,
    /// Samples of the window before.
    pub before: usize,
    /// Samples of the window after.
    pub after: usize,
}

/// Measures what a fix does.
#[derive(Clone, Debug)]
pub struct Verification {
    verify: Verify,
    /// The application's own number, where one was given.
    metric: Option<Watch>,
    /// Everything that is measured.
    watches: Vec<Watch>,
    before: VecDeque<Frame>,
    after: Vec<Frame>,
    /// The newest frames while it settles: for a look, not for the verdict.
    settling: VecDeque<Frame>,
    /// CLOCK_MONOTONIC in ns when it was applied.
    applied_ns: Option<u64>,
    /// The newest frame.
    last_ns: u64,
    done: bool,
    wires: Vec<Wire>,
    tripped: Option<Tripped>,
}

impl Verification {
    /// Begins with the window before; `metric` is the application's own number that carries the load, where given.
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
            Some(_) => {}
        }
        self.progress()
    }

    /// Puts the window before of another one, which saw earlier frames, in front of its own.
    pub fn precede(&mut self, past: Self) {
        let newest = self.before.front().map_or(self.applied_ns.unwrap_or(u64::MAX), |frame| frame.stamp.mono_ns);
        let earlier = past.before.into_iter().filter(|frame| frame.stamp.mono_ns < newest);
        let own = std::mem::take(&mut self.before);
        self.before = earlier.chain(own).collect();
        self.last_ns = self.last_ns.max(self.before.back().map_or(0, |frame| frame.stamp.mono_ns));
        self.forget();
    }

    /// From here on frames are of the time after; `mono_ns` is CLOCK_MONOTONIC when the last item had been written.
    pub fn applied(&mut self, mono_ns: u64) {
        self.applied_ns.get_or_insert(mono_ns);
    }

    /// Where it stands.
    pub fn progress(&self) -> Progress {
        let counts = (self.before.len(), self.after.len());
        let (phase, left, done) = match self.applied_ns {
            None => (Phase::Before, None, 0.0),
            Some(_) if self.done => (Phase::Done, Some(0.0), 1.0),
            Some(applied_ns) => {
                let gone = self.last_ns.saturating_sub(applied_ns) as f64 / 1e9;
                let (settle, whole) = (f64::from(self.verify.settle_seconds), self.whole());
                let phase = if gone < settle { Phase::Settling } else { Phase::Measuring };
                (phase, Some((whole - gone).max(0.0)), (gone / whole.max(1e-9)).min(0.99))
            }
        };
        Progress { phase, left_seconds: left, done, before: counts.0, after: counts.1 }
    }

    /// What is measured so far, load first: for a table that fills while one looks at it.
    pub fn table(&self) -> Vec<Measured> {
        let now: Vec<Frame> = self.settling.iter().cloned().collect();
        let after = if self.after.is_empty() { &now } else { &self.after };
        verdict::table(&self.verify, self.metric.as_ref(), &self.before, after)
    }

    /// What it came to; none before the window after is full.
    pub fn verdict(&self) -> Option<Verdict> {
        self.done.then(|| self.so_far())
    }

    /// What it would come to if it ended here.
    pub fn so_far(&self) -> Verdict {
        verdict::judge(&self.verify, self.metric.as_ref(), &self.before, &self.after)
    }

    /// What says that it has to be undone at once.
    pub fn tripped(&self) -> Option<&Tripped> {
        self.tripped.as_ref()
    }

    /// Seconds from applying to the verdict.
    fn whole(&self) -> f64 {
        f64::from(self.verify.settle_seconds) + f64::from(self.verify.after_seconds)
    }

    fn push_before(&mut self, frame: &Frame) {
        self.before.push_back(narrow(frame, &self.watches));
        self.forget();
    }

    /// Drops what is too old for the window before.
    fn forget(&mut self) {
        let newest = self.before.back().map_or(0, |frame| frame.stamp.mono_ns);
        let since_ns = newest.saturating_sub(u64::from(self.verify.before_seconds) * 1_000_000_000);
        // Where samples are rare, the window is longer than was asked for.
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
        // A sample is of the time before it.
        let from = gone - frame.interval_seconds.unwrap_or_default();
        // Samples do not come to the millisecond.
        if from >= f64::from(self.verify.settle_seconds) - 0.05 {
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
