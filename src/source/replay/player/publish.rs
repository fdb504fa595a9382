//! What the player publishes to the screen, and what it requests from the indexer.

use super::super::assessor::Task;
use super::super::buffer::ReplayBuffer;
use super::super::indexer::Job;
use super::super::sample_reader::After;
use super::super::{Clocks, lock};
use super::Player;
use crate::app::transport::RecordingIndex as _;
use crate::source::playback::{End, Playback};
use std::time::{Duration, Instant};

/// How often marks, holes and minutes of a growing recording are updated.
const SURVEY: Duration = Duration::from_secs(5);
/// How often what came since is judged of what grows.
const SWEEP: Duration = Duration::from_secs(1);
/// How often clocks are compared again while their offset is unknown.
const COMPARE: Duration = Duration::from_secs(30);
/// How often they are compared at most.
const COMPARED: u32 = 20;
/// Headlines per request.
const BATCH: u64 = 120;
/// Recordings up to this many samples are indexed by sample; of growing ones this many of the newest.
const SHORT: u64 = 7200;
/// Above this speed pictures are too far apart for filling in between them.
const CALM: f64 = 20.0;

impl Player {
    pub(super) fn publish(&mut self, changed: bool) {
        if !changed {
            return;
        }
        let sample = self.buffers.get(self.machine).and_then(ReplayBuffer::sample);
        let playback = self.playback();
        if let Some(sample) = sample {
            *lock(&self.shared.newest) = Some(sample);
        }
        *lock(&self.shared.playback) = playback;
        (self.wake)();
    }

    fn playback(&mut self) -> Option<Playback> {
        let short = self.limiting().unwrap_or_default();
        let machines = self.names.clone();
        let clocks = if self.buffers.len() > 1 { self.clocks.text() } else { String::new() };
        let quiet = self.quiet_seconds();
        let (machine, transport) = (self.machine, self.transport.clone());
        let buffer = self.buffers.get_mut(machine)?;
        let (first, last) = buffer.reader.span()?;
        let end = match &buffer.after {
            After::More => End::Open,
            _ if buffer.reader.is_stream() => End::Over,
            After::Closed | After::Broken(_) => End::Closed,
        };
        Some(Playback {
            machines,
            machine,
            clocks,
            short,
            playing: transport.playing,
            following: transport.following,
            speed: transport.speed(),
            sample: transport.sample,
            at: buffer.when(transport.sample)?,
            first,
            last,
            span: transport.span,
            end,
            quiet_seconds: quiet,
            bar: buffer.bar(),
        })
    }

    /// How long the newest sample has been the newest, where the next one should have come.
    pub(super) fn quiet_seconds(&self) -> Option<u64> {
        let buffer = self.buffers.get(self.machine).filter(|buffer| buffer.grows_now())?;
        let age = self.newest.0.elapsed();
        let patience = Duration::from_nanos(buffer.interval_ns().saturating_mul(3)) + Duration::from_secs(1);
        (age > patience && self.newest.1.is_some()).then_some(age.as_secs())
    }

    /// Asks the indexer for what is missing most.
    pub(super) fn request(&mut self) {
        self.request_clocks();
        self.request_judgement();
        if self.indexing {
            return;
        }
        if let Some(job) = self.job() {
            self.indexing = self.indexer.send(job).is_ok();
        }
    }

    /// Asks for what is to be judged: the sample that is shown first, then whole recordings.
    fn request_judgement(&mut self) {
        if self.judging {
            return;
        }
        let shown = self.buffers.get(self.machine).and_then(|buffer| buffer.judging.wants(buffer.shown()));
        let task = shown.map(|sample| Task::Judge(self.machine, sample)).or_else(|| {
            let machines = self.buffers.iter().zip(&self.swept).enumerate();
            let mut due = machines.filter(|(_, (buffer, swept))| {
                let range = buffer.reader.range();
                range.is_some() && swept.1 != range && (swept.1.is_none() || swept.0.elapsed() > SWEEP)
            });
            due.next().map(|(machine, _)| Task::Sweep(machine))
        });
        if let Some(task) = task {
            self.judging = self.assessor.send(task).is_ok();
        }
    }

    /// Requests a comparison of clocks, again while their offset is unknown and samples arrive.
    fn request_clocks(&mut self) {
        let (times, when) = self.compared;
        let open = matches!(self.clocks, Clocks::Unknown | Clocks::Wall);
        let due = times == 0 || (when.elapsed() > COMPARE && self.buffers.iter().any(ReplayBuffer::grows_now));
        let Some(timekeeper) = self.timekeeper.as_ref().filter(|_| open && due && times < COMPARED) else { return };
        // One that is gone has no answer.
        let _ = timekeeper.send(Job::Clocks);
        self.compared = (times + 1, Instant::now());
    }

    fn job(&mut self) -> Option<Job> {
        let calm = !self.transport.playing || self.transport.speed() <= CALM;
        let buffer = self.buffers.get(self.machine)?;
        let (first, last) = buffer.reader.range()?;
        if let Some(to) = buffer.shown().filter(|_| calm).and_then(|shown| buffer.headlines.missing(shown, first)) {
            let from = to.saturating_sub(BATCH - 1).max(first);
            return Some(Job::Headlines(self.machine, from..=to));
        }
        for (machine, (buffer, surveyed)) in self.buffers.iter().zip(&mut self.surveyed).enumerate() {
            let range = buffer.reader.range();
            let due = surveyed.1.is_none() || surveyed.0.elapsed() > SURVEY;
            if range.is_some() && due && surveyed.1 != range {
                *surveyed = (Instant::now(), range);
                return Some(Job::Survey(machine));
            }
        }
        let buffer = self.buffers.get(self.machine)?;
        let short = last - first < SHORT || buffer.grows_now();
        let from = first.max(last.saturating_sub(SHORT));
        let from = buffer.headlines.cold(from..=last).filter(|_| short && calm)?;
        Some(Job::Headlines(self.machine, from..=last.min(from + BATCH - 1)))
    }
}
