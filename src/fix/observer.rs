//! Findings and frames for plans: from this machine under observation, or from a recording.

use crate::recording;
use crate::source::live::Plan;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use topotop_collectors::{Demand, Root, Sampler};
use topotop_model::bottleneck::Bottleneck;
use topotop_model::derive::{Deriver, Settings};
use topotop_model::frame::Frame;
use topotop_model::judge::Judge;
use topotop_model::rules::Finding;
use topotop_model::{Snapshot, Window};

/// Frames kept for the window before.
const FRAMES: usize = 64;

/// Frames and findings so far.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    /// The newest frames, the newest last.
    pub(crate) frames: VecDeque<Arc<Frame>>,
    /// Every finding so far, in its last state.
    pub(crate) findings: Vec<Finding>,
    /// The answer of the newest sample.
    pub(crate) bottleneck: Bottleneck,
    /// The number of samples.
    pub(crate) samples: u64,
    /// True at the end: a capture is exhausted, or the sampler failed.
    pub(crate) over: bool,
}

/// Derives and judges.
struct Pipeline {
    window: Window,
    deriver: Deriver,
    judge: Judge,
}

impl Pipeline {
    fn new(plan: &Plan) -> Self {
        let deriver = Deriver::new(plan.settings.clone());
        Self { window: Window::default(), deriver, judge: Judge::new(plan.judge.clone()) }
    }

    fn take(&mut self, snapshot: Snapshot, seen: &mut Observed) {
        self.window.push(snapshot);
        let frame = self.deriver.frame(&self.window);
        let judgement = self.judge.step(&frame);
        seen.bottleneck = judgement.bottleneck;
        for finding in judgement.findings {
            let same = |known: &Finding| known.rule.id == finding.rule.id && known.subject == finding.subject;
            seen.findings.retain(|known| !same(known));
            seen.findings.push(finding);
        }
        if seen.frames.len() >= FRAMES {
            seen.frames.pop_front();
        }
        seen.frames.push_back(Arc::new(frame));
        seen.samples += 1;
    }
}

/// The frames and findings of a recording, and its boot id.
pub(crate) fn recorded(path: &Path, plan: &Plan) -> Result<(Observed, String), String> {
    let mut reader = recording::open(path)?;
    let boot_id = reader.about().boot_id.clone();
    let mut mill = Pipeline::new(plan);
    let known = reader.about().nic_capacity_mbps.clone();
    if !known.is_empty() {
        mill.deriver = Deriver::new(Settings { nic_capacity_mbps: known });
    }
    let mut seen = Observed { over: true, ..Observed::default() };
    let mut damaged = recording::Damaged::default();
    while let Some(next) = reader.next_sample() {
        match next {
            Ok((_, snapshot)) => mill.take(snapshot, &mut seen),
            Err(damage) => damaged.add(damage),
        }
    }
    damaged.report(path);
    Ok((seen, boot_id))
}

/// Observes a machine from its own thread, also while the user answers a question.
#[derive(Debug)]
pub(crate) struct Observer {
    shared: Arc<(Mutex<Observed>, Condvar)>,
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Observer {
    pub(crate) fn start(root: Root, plan: &Plan) -> Result<Self, String> {
        let shared = Arc::new((Mutex::new(Observed::default()), Condvar::new()));
        let end = Arc::new(AtomicBool::new(false));
        let plan = plan.clone();
        let (theirs, stop) = (Arc::clone(&shared), Arc::clone(&end));
        let thread = std::thread::Builder::new().name("watch".to_owned());
        let thread = thread.spawn(move || {
            sample(root, &plan, &theirs, &stop);
            lock(&theirs.0).over = true;
            theirs.1.notify_all();
        });
        Ok(Self {
            shared,
            end,
            thread: Some(
                thread.map_err(|error| topotop_model::locale::error::NoSampler { error: &error }.to_string())?,
            ),
        })
    }

    /// Frames and findings so far.
    pub(crate) fn seen(&self) -> MutexGuard<'_, Observed> {
        lock(&self.shared.0)
    }

    /// Waits until `enough`, a timeout or `stop`; false where stopped.
    pub(crate) fn wait(&self, time: Duration, stop: &AtomicBool, mut enough: impl FnMut(&Observed) -> bool) -> bool {
        let start = Instant::now();
        let mut seen = self.seen();
        loop {
            if stop.load(Ordering::Relaxed) {
                return false;
            }
            if enough(&seen) || seen.over || start.elapsed() >= time {
                return true;
            }
            let left = time.saturating_sub(start.elapsed()).min(Duration::from_millis(100));
            let waited = self.shared.1.wait_timeout(seen, left);
            seen = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn sample(root: Root, plan: &Plan, shared: &(Mutex<Observed>, Condvar), end: &AtomicBool) {
    let (live, captured) = (root.is_live(), root.stamps().len().max(1));
    let mut sampler = Sampler::new(root, &plan.options);
    let mut mill = Pipeline::new(plan);
    sampler.demand(Demand { complete: true, process: None });
    let mut due = Instant::now();
    for taken in 1.. {
        let snapshot = sampler.sample();
        mill.take(snapshot, &mut lock(&shared.0));
        shared.1.notify_all();
        sampler.demand(Demand::default());
        if !live && taken >= captured {
            return;
        }
        due = (due + plan.interval).max(Instant::now());
        while live && Instant::now() < due {
            if end.load(Ordering::Relaxed) {
                return;
            }
            std::thread::sleep(due.saturating_duration_since(Instant::now()).min(Duration::from_millis(50)));
        }
        if end.load(Ordering::Relaxed) {
            return;
        }
    }
}
