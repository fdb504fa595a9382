//! The sampler's thread: one sample per interval into the writer, whatever else happens.

use super::judged_writer::JudgedWriter;
use super::missing::{self, Delay};
use crate::recording::Writer;
use crate::source::live;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use topotop_collectors::Sampler;
use topotop_model::Stamp;
use topotop_model::anonymise::Anonymiser;
use topotop_model::locale::recording::cause;
use topotop_model::recording::{Event, What};

/// Rates over less than this, or half an interval, say little: a last sample that is so near to the one before it is left
/// out.
const NEAR_NS: u64 = 200_000_000;

/// Where samples go, until it is closed: then there is no writer any more.
#[derive(Clone)]
pub(super) struct Sink(Arc<Mutex<Option<Writer>>>);

impl Sink {
    pub(super) fn new(writer: Writer) -> Self {
        Self(Arc::new(Mutex::new(Some(writer))))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Option<Writer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes down that something happened now.
    pub(super) fn event(&self, what: What) {
        self.event_at(topotop_collectors::now(), what);
    }

    fn event_at(&self, stamp: Stamp, what: What) {
        if let Some(writer) = self.lock().as_mut() {
            writer.event(Event { wall_ns: stamp.wall_ns, mono_ns: stamp.mono_ns, what });
        }
    }
}

/// Takes samples on the grid of the interval.
pub(super) struct Sampling {
    pub(super) sampler: Sampler,
    pub(super) anonymiser: Option<Anonymiser>,
    pub(super) judge: JudgedWriter,
    pub(super) interval: Duration,
    pub(super) sink: Sink,
    /// The last sample's time.
    pub(super) last: Stamp,
    /// True since the program was stopped and continued.
    pub(super) stopped: Arc<AtomicBool>,
}

impl Sampling {
    /// Samples until `ending` receives a message, then once more; or until its sender has gone.
    pub(super) fn run(mut self, start: Instant, ending: &Receiver<()>) {
        let mut due = live::next(start, self.interval, Instant::now());
        loop {
            match ending.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Err(RecvTimeoutError::Timeout) => self.once(Instant::now().saturating_duration_since(due)),
                Err(RecvTimeoutError::Disconnected) => return,
                Ok(()) => {
                    let age_ns = topotop_collectors::now().mono_ns.saturating_sub(self.last.mono_ns);
                    if age_ns >= NEAR_NS.min(self.interval.as_nanos() as u64 / 2) {
                        self.once(Duration::ZERO);
                    }
                    return;
                }
            }
            due = live::next(due, self.interval, Instant::now());
        }
    }

    /// The samples of a captured machine that are left.
    pub(super) fn rest(mut self) {
        for _ in 1..self.sampler.root().stamps().len() {
            self.once(Duration::ZERO);
        }
    }

    /// A sample, so long after it was due.
    fn once(&mut self, woken_late: Duration) {
        // A defect costs a sample, not the recording.
        if catch_unwind(AssertUnwindSafe(|| self.sample(woken_late))).is_err() {
            self.sink.event(What::Skipped { samples: 1, reason: cause::INTERNAL.english().to_owned() });
        }
    }

    fn sample(&mut self, woken_late: Duration) {
        let mut snapshot = self.sampler.sample();
        let late = Delay::of(self.stopped.swap(false, Ordering::Relaxed), woken_late, self.interval);
        let holes = missing::between(self.last, snapshot.stamp, self.interval, late);
        for what in holes.into_iter().filter(|_| self.sampler.root().is_live()) {
            self.sink.event_at(snapshot.stamp, what);
        }
        self.last = snapshot.stamp;
        if let Some(anonymiser) = &mut self.anonymiser {
            anonymiser.apply(&mut snapshot);
        }
        if let Some(writer) = self.sink.lock().as_mut() {
            self.judge.put(&snapshot, writer);
        }
    }
}
