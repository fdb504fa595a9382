//! The sampler's thread: sample, log, derive, judge, hand over. Nothing on the screen stops it.

mod judgements;
mod screen_recording;

use super::{About, GoneBy, Sample, Source, Target, locate};
use crate::app::Recording;
use crate::record::missing::Delay;
use judgements::Judgements;
use screen_recording::{RecorderMessage, SampleEntry, ScreenRecording};
use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use topotop_collectors::{Demand, Options, Root, Sampler};
use topotop_model::codec::Record;
use topotop_model::derive::{Deriver, Settings};
use topotop_model::frame::Frame;
use topotop_model::history::History;
use topotop_model::judge::{self, Judge, Judgement};
use topotop_model::recording::What;
use topotop_model::ring::{KEY_EVERY, Log as _, Ring};
use topotop_model::{Snapshot, Stamp, Window, codec};

/// Memory for samples to go back to.
const RING_BYTES: usize = 3 << 20;
/// The second sample comes early, so that rates are there almost at once.
const SECOND: Duration = Duration::from_millis(200);

/// Frames after which one is unused: the screen has the newest, and may still draw the one before.
const FRAMES_IN_USE: usize = 2;

/// An order to the sampler.
enum Order {
    Interval(Duration),
    Watch(Option<u32>),
}

/// What the sampler's thread shares with the screen's.
struct Shared {
    /// The newest sample that was not taken yet.
    newest: Mutex<Option<Sample>>,
    ring: Mutex<Ring>,
    /// What was judged of the samples in the ring; taken after it, never before.
    past: Mutex<Judgements>,
    /// Where samples go that are recorded; taken with the ring held, so that each goes in once.
    feed: Mutex<Option<Sender<RecorderMessage>>>,
    /// True since the program was continued after a stop.
    stopped: Arc<AtomicBool>,
    /// What went wrong, until it is reported.
    trouble: Mutex<Option<String>>,
}

/// A machine that is sampled for the screen: this one, or once a captured one.
pub struct Live {
    about: About,
    shared: Arc<Shared>,
    orders: Sender<Order>,
    deriver: Deriver,
    history: Arc<History>,
    interval: Cell<Duration>,
    settings: Settings,
    recording: Option<ScreenRecording>,
}

/// How to sample.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Time between samples.
    pub interval: Duration,
    /// What to read with.
    pub options: Options,
    /// What the user knows better than the kernel.
    pub settings: Settings,
    /// By which limits to judge.
    pub judge: judge::Settings,
}

impl Live {
    /// Starts sampling; `wake` is called when there is a sample to take.
    pub fn start(root: Root, plan: Plan, wake: impl Fn() + Send + 'static) -> std::io::Result<Self> {
        let captured = (!root.is_live()).then(|| root.path().display().to_string());
        let shared = Arc::new(Shared {
            newest: Mutex::new(None),
            ring: Mutex::new(Ring::new(RING_BYTES)),
            past: Mutex::default(),
            feed: Mutex::default(),
            stopped: Arc::default(),
            trouble: Mutex::default(),
        });
        // In the signal itself: before the sampler can run again.
        signal_hook::flag::register(signal_hook::consts::SIGCONT, Arc::clone(&shared.stopped))?;
        let (orders, inbox) = channel();
        let settings = plan.settings.clone();
        let thread = Thread {
            once: captured.is_some(),
            sampler: Sampler::new(root, &plan.options),
            deriver: Deriver::new(plan.settings),
            judge: Judge::new(plan.judge),
            window: Window::default(),
            history: History::default(),
            frames: VecDeque::new(),
            shared: Arc::clone(&shared),
            interval: plan.interval,
            woken_late: Duration::ZERO,
            inbox,
        };
        std::thread::Builder::new().name("sampler".to_owned()).spawn(move || thread.run(wake))?;
        let deriver = Deriver::new(settings.clone());
        let (about, history) = (About { captured, ..About::default() }, Arc::default());
        Ok(Self {
            about,
            shared,
            orders,
            deriver,
            history,
            interval: Cell::new(plan.interval),
            settings,
            recording: None,
        })
    }
}

impl Source for Live {
    fn about(&self) -> About {
        self.about.clone()
    }

    fn take(&mut self) -> Option<Sample> {
        let sample = lock(&self.shared.newest).take()?;
        self.history = Arc::clone(&sample.history);
        Some(sample)
    }

    fn trouble(&mut self) -> Option<String> {
        lock(&self.shared.trouble).take()
    }

    fn seek(&mut self, from: Stamp, target: Target) -> Option<Sample> {
        // Records are copied out, so that decoding does not hold the sampler up.
        let records = {
            let ring = lock(&self.shared.ring);
            let stamps: Vec<Stamp> = ring.records().map(|record| record.stamp).collect();
            let index = locate(&stamps, from, target)?;
            ring.records_for(index)
        };
        let window = codec::window(&records).ok()?;
        let frame = Arc::new(self.deriver.frame(&window));
        let history = Arc::new(self.history.until(frame.stamp.mono_ns));
        let past = lock(&self.shared.past);
        let (judgement, timeline) = (Arc::new(past.at(frame.stamp.seq)), past.timeline());
        Some(Sample { frame, history, judgement, timeline })
    }

    fn set_interval(&self, interval: Duration) {
        self.interval.set(interval);
        // If the sampler has gone, the screen shows the age of the last sample.
        let _ = self.orders.send(Order::Interval(interval));
    }

    fn watch(&self, pid: Option<u32>) {
        let _ = self.orders.send(Order::Watch(pid));
    }

    fn record(&mut self, path: &Path) -> Result<(), String> {
        if self.about.captured.is_some() || self.recording.is_some() {
            return Err(topotop_model::locale::error::ONE_RECORDING.into());
        }
        let ring = lock(&self.shared.ring);
        let past: Vec<Record> = ring.records().cloned().collect();
        let told = lock(&self.shared.past).events_from(past.first().map_or(0, |record| record.stamp.seq));
        let (recording, feed) = ScreenRecording::start(path, (past, told), self.interval.get(), &self.settings)?;
        *lock(&self.shared.feed) = Some(feed);
        self.recording = Some(recording);
        Ok(())
    }

    fn recording(&self) -> Option<Recording> {
        self.recording.as_ref().map(ScreenRecording::recording)
    }

    fn mark(&mut self, text: String) {
        if let Some(recording) = &self.recording {
            recording.mark(text);
        }
    }

    fn tell(&mut self, what: What) {
        if let Some(recording) = &self.recording {
            recording.tell(what);
        }
    }

    fn past(&self, seconds: u32) -> Option<GoneBy> {
        let ring = lock(&self.shared.ring);
        let newest = ring.records().last()?.stamp.mono_ns;
        let since = newest.saturating_sub(u64::from(seconds) * 1_000_000_000);
        let late = ring.records().take_while(|record| record.stamp.mono_ns < since).count();
        // The first one has to stand for itself.
        let is_key = |record: &Record| record.key;
        let start = ring.records().take(late + 1).enumerate().filter(|(_, record)| is_key(record)).last();
        let records = ring.records().skip(start.map_or(0, |(at, _)| at)).cloned().collect();
        Some(GoneBy { records, settings: self.settings.clone() })
    }

    fn end_recording(&mut self) -> Option<String> {
        lock(&self.shared.feed).take();
        self.recording.take().map(ScreenRecording::end)
    }
}

struct Thread {
    once: bool,
    sampler: Sampler,
    deriver: Deriver,
    judge: Judge,
    window: Window,
    history: History,
    /// The newest frames, oldest first.
    frames: VecDeque<Arc<Frame>>,
    shared: Arc<Shared>,
    interval: Duration,
    /// How long after the last sample was due the thread ran.
    woken_late: Duration,
    inbox: Receiver<Order>,
}

impl Thread {
    fn run(mut self, wake: impl Fn()) {
        if self.once {
            self.sampler.demand(Demand { complete: true, process: None });
            if self.sampler.root().stamps().len() > 1 {
                // Two samples were captured: the second one is shown, with the rates between them.
                self.window.push(self.sampler.sample());
                self.judge.step(&self.deriver.frame(&self.window));
            }
        }
        let mut due = Instant::now() + SECOND.min(self.interval);
        loop {
            // A defect costs a sample, not the monitor.
            if catch_unwind(AssertUnwindSafe(|| self.sample())).is_err() {
                let text = topotop_model::locale::error::SAMPLE_DROPPED.as_str();
                *lock(&self.shared.trouble) = Some(text.to_owned());
            }
            wake();
            if self.once || !self.wait_until(due) {
                return;
            }
            self.woken_late = Instant::now().saturating_duration_since(due);
            due = next(due, self.interval, Instant::now());
        }
    }

    fn sample(&mut self) {
        let snapshot = self.sampler.sample();
        let late = Delay::of(self.shared.stopped.swap(false, Ordering::Relaxed), self.woken_late, self.interval);
        // As often as key frames come, so that a recording has it there.
        let state = (snapshot.stamp.seq % KEY_EVERY as u64 == 1).then(|| self.judge.save());
        let seen = catch_unwind(AssertUnwindSafe(|| self.see(snapshot.clone())));
        // What cannot be shown is recorded all the same.
        let last = || Judgement::clone(&lock(&self.shared.past).last());
        let judgement = seen.as_ref().map_or_else(|_| last(), |(_, judgement)| judgement.clone());
        self.keep(snapshot, judgement, state, late);
        let frame = seen.unwrap_or_else(|defect| resume_unwind(defect)).0;
        let (judgement, timeline) = {
            let past = lock(&self.shared.past);
            (past.last(), past.timeline())
        };
        let history = Arc::new(self.history.clone());
        *lock(&self.shared.newest) = Some(Sample { frame, history, judgement, timeline });
    }

    fn see(&mut self, snapshot: Snapshot) -> (Arc<Frame>, Judgement) {
        self.window.push(snapshot);
        let old = if self.frames.len() >= FRAMES_IN_USE { self.frames.pop_front() } else { None };
        if let Some(old) = old.and_then(Arc::into_inner) {
            self.deriver.recycle(old);
        }
        let frame = Arc::new(self.deriver.frame(&self.window));
        self.frames.push_back(Arc::clone(&frame));
        self.history.push(&frame);
        let judgement = self.judge.step(&frame);
        (frame, judgement)
    }

    /// Puts a sample with what was judged of it into the past, and into the recording.
    fn keep(&self, snapshot: Snapshot, judgement: Judgement, state: Option<Vec<u8>>, late: Delay) {
        let stamp = snapshot.stamp;
        let mut ring = lock(&self.shared.ring);
        // A sample that cannot be encoded is missing from the past only.
        let _ = ring.append(&snapshot);
        let mut past = lock(&self.shared.past);
        let events = past.push(stamp, judgement);
        if let Some(state) = &state {
            past.save(stamp.seq, state.clone());
        }
        past.forget_before(ring.records().next().map_or(0, |record| record.stamp.seq));
        if let Some(feed) = &*lock(&self.shared.feed) {
            let interval = self.interval;
            // A recording that has gone has reported it.
            let _ =
                feed.send(RecorderMessage::Sample(Box::new(SampleEntry { snapshot, events, state, interval, late })));
        }
    }

    /// Follows orders until the deadline; false once the screen has gone.
    fn wait_until(&mut self, mut due: Instant) -> bool {
        loop {
            match self.inbox.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(Order::Interval(interval)) => {
                    due = due.min(Instant::now() + interval);
                    self.interval = interval;
                }
                Ok(Order::Watch(process)) => self.sampler.demand(Demand { complete: false, process }),
                Err(RecvTimeoutError::Timeout) => return true,
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
    }
}

/// The next deadline: on the grid of the interval, without making up for samples that were missed.
pub(crate) fn next(due: Instant, interval: Duration, now: Instant) -> Instant {
    let next = due + interval;
    if next > now { next } else { now + interval }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
