//! Passes the newest sample from the sampling thread to the answering one.

use crate::export::openmetrics::Totals;
use crate::recording;
use crate::source::live::{Plan, next};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use topotop_collectors::{Demand, Root, Sampler};
use topotop_model::derive::{Deriver, Settings};
use topotop_model::fix::Surroundings;
use topotop_model::frame::Frame;
use topotop_model::history::History;
use topotop_model::judge::{self, Judge, Judgement};
use topotop_model::locale::serve as text;
use topotop_model::text::printable;
use topotop_model::{Snapshot, Stamp, Window};

/// Intervals without a sample after which the last one is stale, and the minimum of that time.
const STALE: (u32, Duration) = (3, Duration::from_secs(5));
/// Maximum wait for the first sample, and the interval between looks.
const FIRST: Duration = Duration::from_secs(5);
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
/// Pause before a recording starts again.
const AGAIN: Duration = Duration::from_secs(1);

/// The newest sample.
#[derive(Debug)]
pub(super) struct Newest {
    /// Its frame.
    pub(super) frame: Frame,
    /// Its judgement.
    pub(super) judgement: Judgement,
    /// Totals up to this frame.
    pub(super) totals: Totals,
    /// Surroundings of the machine that restrict fixes.
    pub(super) surroundings: Arc<Surroundings>,
    /// Time of the sample here, in ns since 1970.
    pub(super) taken_ns: i64,
    /// When it becomes stale; a captured machine never does.
    stale_at: Option<Instant>,
}

impl Newest {
    pub(super) fn is_stale(&self) -> bool {
        self.stale_at.is_some_and(|at| Instant::now() >= at)
    }
}

/// Holds the newest sample.
#[derive(Clone, Debug, Default)]
pub(super) struct Feed(Arc<Mutex<Option<Arc<Newest>>>>);

impl Feed {
    /// Waits for the first sample, so that the request that makes systemd start the service gets a page. Ends early when
    /// something can be read from `ending`.
    pub(super) fn wait(&self, ending: &UnixStream) {
        let start = Instant::now();
        while self.newest().is_none() && start.elapsed() < FIRST {
            let mut polled = [PollFd::new(ending, PollFlags::IN)];
            if !matches!(poll(&mut polled, Some(&LOOK)), Ok(0) | Err(Errno::INTR)) {
                return;
            }
        }
    }

    pub(super) fn newest(&self) -> Option<Arc<Newest>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the previous sample if no other thread holds it.
    fn put(&self, newest: Newest) -> Option<Newest> {
        let before = self.0.lock().unwrap_or_else(PoisonError::into_inner).replace(Arc::new(newest));
        before.and_then(Arc::into_inner)
    }
}

/// Consumes samples.
struct Publisher {
    feed: Feed,
    window: Window,
    deriver: Deriver,
    judge: Judge,
    history: History,
    totals: Totals,
    surroundings: Arc<Surroundings>,
}

impl Publisher {
    fn new(feed: Feed, settings: Settings, judge: judge::Settings) -> Self {
        Self {
            feed,
            window: Window::default(),
            deriver: Deriver::new(settings),
            judge: Judge::new(judge),
            history: History::default(),
            totals: Totals::default(),
            surroundings: Arc::default(),
        }
    }

    fn publish(&mut self, snapshot: Snapshot, interval: Option<Duration>) {
        self.window.push(snapshot);
        let mut frame = self.deriver.frame(&self.window);
        let judgement = self.judge.step(&frame);
        self.history.push(&frame);
        self.history.put_forecasts(&mut frame);
        self.totals.take(&frame);
        let stale = |interval: Duration| Instant::now() + (STALE.0 * interval).max(STALE.1);
        let before = self.feed.put(Newest {
            frame,
            judgement,
            totals: self.totals.clone(),
            surroundings: Arc::clone(&self.surroundings),
            taken_ns: topotop_collectors::now().wall_ns,
            stale_at: interval.map(stale),
        });
        if let Some(before) = before {
            self.deriver.recycle(before.frame);
        }
    }
}

/// Samples a machine until the process ends, a captured one as long as it has samples.
pub(super) fn machine(root: Root, plan: Plan, feed: Feed) -> impl FnOnce() + Send + 'static {
    let captured = root.stamps().len();
    let mut publisher = Publisher::new(feed, plan.settings, plan.judge);
    publisher.surroundings = Arc::new(topotop_collectors::surroundings::read(&root));
    let mut sampler = Sampler::new(root, &plan.options);
    sampler.demand(Demand { complete: captured > 0, process: None });
    move || {
        let mut due = Instant::now();
        for sample in 1.. {
            let is_last = captured > 0 && sample >= captured;
            let interval = (captured == 0).then_some(plan.interval);
            // A panic costs one sample, not the service; after repeated failures the last sample becomes stale.
            let _ = catch_unwind(AssertUnwindSafe(|| publisher.publish(sampler.sample(), interval)));
            if is_last {
                return;
            }
            if captured == 0 {
                due = next(due, plan.interval, Instant::now());
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
            }
        }
    }
}

/// Plays a recording in a loop, at its own pace.
pub(super) fn recording(path: PathBuf, plan: Plan, feed: Feed) -> Result<impl FnOnce() + Send + 'static, String> {
    let shown = path.display().to_string();
    let mut first = recording::open(&path)?;
    let empty = || text::NoSamples { path: &printable(&shown) }.to_string();
    if !std::iter::from_fn(|| first.next_sample()).any(|sample| sample.is_ok()) {
        return Err(empty());
    }
    Ok(move || {
        loop {
            // The file may disappear while it is served: the last sample becomes stale.
            let _ = catch_unwind(AssertUnwindSafe(|| play(&path, &plan, &feed)));
            std::thread::sleep(AGAIN);
        }
    })
}

fn play(path: &Path, plan: &Plan, feed: &Feed) -> Result<(), String> {
    let mut reader = recording::open(path)?;
    let interval = Duration::from_nanos(reader.about().interval_ns).clamp(Duration::from_millis(10), AGAIN * 60);
    let recorded = reader.about().nic_capacity_mbps.clone();
    let settings = if recorded.is_empty() { plan.settings.clone() } else { Settings { nic_capacity_mbps: recorded } };
    let mut publisher = Publisher::new(feed.clone(), settings, plan.judge.clone());
    let mut last: Option<Stamp> = None;
    let mut due = Instant::now();
    while let Some(next) = reader.next_sample() {
        // Damaged samples are skipped.
        let Ok((_, snapshot)) = next else { continue };
        let stamp = snapshot.stamp;
        if let Some(last) = last.replace(stamp) {
            let passed = Duration::from_nanos(stamp.mono_ns.saturating_sub(last.mono_ns));
            due += passed.min(2 * interval);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        publisher.publish(snapshot, Some(interval));
    }
    Ok(())
}
