//! The thread that plays: orders in, pictures out, the newest one only.

mod limiting;
mod publish;

use super::assessor::Task;
use super::buffer::ReplayBuffer;
use super::indexer::{Job, Update};
use super::sample_reader::After;
use super::{Clocks, PlayerMessage, Shared, Start, lock};
use crate::app::transport::{Order, RecordingIndex as _, Transport};
use crate::units;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};
use topotop_model::locale::replay as text;
use topotop_model::recording::Damage;

/// Time that is enough to decode the next sample before it is due.
const SPARE: Duration = Duration::from_millis(5);
/// How often a growing file is read.
const LOOK: Duration = Duration::from_millis(250);
/// Beyond this, in ns, two machines did not record the same time.
const APART_NS: i64 = 3_000_000_000;

pub(super) struct Player {
    pub(super) buffers: Vec<ReplayBuffer>,
    pub(super) names: Vec<String>,
    pub(super) machine: usize,
    pub(super) transport: Transport,
    pub(super) clocks: Clocks,
    pub(super) inbox: Receiver<PlayerMessage>,
    pub(super) indexer: Sender<Job>,
    /// Compares the clocks of two machines, which takes longer than the picture's history may wait.
    pub(super) timekeeper: Option<Sender<Job>>,
    /// Judges what was jumped to, and what was not judged when it was recorded.
    pub(super) assessor: Sender<Task>,
    /// True while it has not answered.
    pub(super) judging: bool,
    /// When each recording was judged to its end, and what there was of it then.
    pub(super) swept: Vec<(Instant, Option<(u64, u64)>)>,
    pub(super) shared: Arc<Shared>,
    pub(super) wake: Box<dyn Fn() + Send>,
    pub(super) started: Instant,
    /// True while the indexer has not answered.
    pub(super) indexing: bool,
    pub(super) refreshed: Instant,
    pub(super) surveyed: Vec<(Instant, Option<(u64, u64)>)>,
    pub(super) compared: (u32, Instant),
    /// When the newest sample came, and its number.
    pub(super) newest: (Instant, Option<u64>),
    pub(super) shown: Option<(usize, u64)>,
    /// How long nothing had arrived when that was last shown.
    pub(super) quiet: Option<u64>,
    pub(super) leaving: bool,
}

impl Player {
    pub(super) fn run(mut self, start: &Start) {
        // On this thread: the screen answers keys meanwhile.
        let mut troubles = Vec::new();
        for buffer in &mut self.buffers {
            troubles.extend(buffer.reader.refresh());
            buffer.after = buffer.reader.after();
        }
        self.report_all(troubles);
        self.begin(start);
        let mut changed = true;
        loop {
            let now = self.now_ns();
            if let Some(report) = self.with_buffer(|transport, buffer| transport.advance(now, buffer)) {
                self.report(report);
            }
            // A defect costs a picture, not the player.
            changed |= catch_unwind(AssertUnwindSafe(|| self.show())).unwrap_or_else(|_| {
                self.report(text::FRAME_DROPPED.to_string());
                true
            });
            self.publish(changed);
            self.request();
            changed = false;
            match self.listen() {
                Some(received) => changed |= received,
                None => return,
            }
            if self.leaving {
                return;
            }
            if self.refreshed.elapsed() >= LOOK {
                changed |= self.refresh();
            }
        }
    }

    /// Handles messages until something is due; true if there were any, none once all senders have gone.
    fn listen(&mut self) -> Option<bool> {
        let mut wait = self.wait();
        let mut received = self.drain();
        if !received && wait > SPARE && self.transport.playing {
            self.buffer(ReplayBuffer::look_ahead);
            wait = self.wait();
        }
        match self.inbox.recv_timeout(if received { Duration::ZERO } else { wait }) {
            Ok(message) => received |= self.take(message),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return None,
        }
        Some(received | self.drain())
    }

    fn drain(&mut self) -> bool {
        let mut received = false;
        while let Ok(message) = self.inbox.try_recv() {
            received |= self.take(message);
        }
        received
    }

    fn begin(&mut self, start: &Start) {
        self.transport.set_speed(start.speed);
        self.transport.playing = !start.paused;
        let Some((first, _)) = self.buffers.get(self.machine).and_then(|buffer| buffer.reader.range()) else { return };
        self.transport.sample = first;
        if let Some(from) = start.from {
            let report = self.with_buffer(|transport, buffer| transport.order(&Order::Go(from), buffer));
            self.report_all(report);
        } else if self.buffers.get(self.machine).is_some_and(ReplayBuffer::grows_now) && !start.paused {
            self.with_buffer(|transport, buffer| transport.order(&Order::End, buffer));
        }
        if let Some(to) = start.to {
            let from = self.transport.sample;
            let report = self.with_buffer(|transport, buffer| {
                transport.order(&Order::LoopStart, buffer);
                transport.order(&Order::Go(to), buffer);
                let report = transport.order(&Order::LoopEnd, buffer);
                transport.go(from);
                report
            });
            self.report_all(report);
        }
        let broken = self.buffers.iter().filter_map(|buffer| match &buffer.after {
            After::Broken(what) if !buffer.reader.is_stream() => Some(what.clone()),
            _ => None,
        });
        self.report_all(broken.collect::<Vec<_>>());
    }

    fn now_ns(&self) -> u64 {
        self.started.elapsed().as_nanos() as u64
    }

    fn buffer<T>(&mut self, call: impl FnOnce(&mut ReplayBuffer) -> T) -> Option<T> {
        self.buffers.get_mut(self.machine).map(call)
    }

    fn with_buffer<T>(&mut self, call: impl FnOnce(&mut Transport, &mut ReplayBuffer) -> Option<T>) -> Option<T> {
        let transport = &mut self.transport;
        self.buffers.get_mut(self.machine).and_then(|buffer| call(transport, buffer))
    }

    fn report(&self, text: String) {
        let mut trouble = lock(&self.shared.trouble);
        *trouble = Some(match trouble.take() {
            Some(before) if before != text => format!("{before}; {text}"),
            _ => text,
        });
    }

    fn report_all(&self, texts: impl IntoIterator<Item = String>) {
        for text in texts {
            self.report(text);
        }
    }

    /// How long nothing happens by itself.
    fn wait(&mut self) -> Duration {
        let due = self.with_buffer(|transport, buffer| transport.due_ns(buffer));
        let due = due.map_or(LOOK, |due| Duration::from_nanos(due.saturating_sub(self.now_ns())));
        due.min(LOOK)
    }

    fn take(&mut self, message: PlayerMessage) -> bool {
        match message {
            PlayerMessage::Order(Order::Machine) => self.switch_machine(),
            PlayerMessage::Order(order) => {
                if let Some(report) = self.with_buffer(|transport, buffer| transport.order(&order, buffer)) {
                    self.report(report);
                }
            }
            PlayerMessage::Update(update) => self.update(update),
            PlayerMessage::Came => return self.refresh(),
            PlayerMessage::Leave => self.leaving = true,
        }
        true
    }

    fn update(&mut self, update: Update) {
        self.indexing &= matches!(update, Update::Clocks(_) | Update::Judged(..) | Update::Swept(..));
        self.judging &= !matches!(update, Update::Judged(..) | Update::Swept(..));
        match update {
            Update::Headlines(machine, range, headlines) => {
                let shown = self.transport.sample;
                if let Some(buffer) = self.buffers.get_mut(machine) {
                    buffer.headlines.fill(range, headlines, shown);
                    buffer.stale = true;
                }
            }
            Update::Judged(machine, sample, judged) => {
                if let Some(buffer) = self.buffers.get_mut(machine) {
                    let shown = buffer.shown();
                    buffer.judging.take(sample, judged.map(|judged| *judged), shown);
                }
            }
            Update::Swept(machine, swept) => {
                if let Some(place) = self.swept.get_mut(machine).filter(|_| swept.done) {
                    *place = (Instant::now(), self.buffers.get(machine).and_then(|buffer| buffer.reader.range()));
                }
                let Some(buffer) = self.buffers.get_mut(machine) else { return };
                if swept.done {
                    buffer.judging.finish();
                }
                if let Some(to) = swept.to {
                    buffer.judging.sweep(swept.changes, to);
                }
            }
            Update::Survey(machine, found, minutes, recorded) => {
                if let Some(buffer) = self.buffers.get_mut(machine) {
                    let damage = std::mem::take(&mut buffer.survey.damage);
                    buffer.survey = super::headlines::Survey { damage, ..found };
                    buffer.headlines.minutes = minutes;
                    let shown = buffer.shown();
                    buffer.judging.note(*recorded, shown);
                    buffer.stale = true;
                }
            }
            Update::Clocks(Some((offset, by))) => self.clocks = Clocks::Measured(offset, by),
            Update::Clocks(None) => self.clocks = Clocks::Wall,
        }
    }

    /// Looks for new samples; true if there are any.
    fn refresh(&mut self) -> bool {
        self.refreshed = Instant::now();
        let mut changed = false;
        let mut report = None;
        for buffer in &mut self.buffers {
            if buffer.after == After::Closed {
                continue;
            }
            let before = buffer.reader.range();
            report = buffer.reader.refresh().or(report);
            let after = buffer.reader.after();
            if after != buffer.after {
                changed = true;
                report = match &after {
                    After::Closed if buffer.reader.is_stream() => Some(text::STREAM_ENDED.to_string()),
                    After::Broken(what) if buffer.reader.is_stream() => Some(what.clone()),
                    After::Closed => Some(text::RECORDING_ENDED.to_string()),
                    After::Broken(what) => Some(what.clone()),
                    After::More => Some(text::RECORDING_RESUMED.to_string()),
                };
                buffer.after = after;
            }
            if let Some(range) = buffer.reader.range().filter(|range| Some(*range) != before) {
                changed = true;
                buffer.stale = true;
                buffer.headlines.forget_before(range.0);
            }
        }
        self.report_all(report);
        let newest = self.buffers.get(self.machine).and_then(|buffer| buffer.reader.range()).map(|range| range.1);
        if newest != self.newest.1 {
            self.newest = (Instant::now(), newest);
        }
        let quiet = self.quiet_seconds();
        changed |= std::mem::replace(&mut self.quiet, quiet) != quiet;
        if self.transport.following && !self.buffers.get(self.machine).is_some_and(ReplayBuffer::grows_now) {
            // Nothing will follow any more.
            (self.transport.following, self.transport.playing) = (false, false);
        }
        changed
    }

    /// Shows the other machine at the same instant.
    fn switch_machine(&mut self) {
        if self.buffers.len() < 2 {
            self.report(text::ONE_MACHINE.to_string());
            return;
        }
        let sample = self.transport.sample;
        let Some(when) = self.buffer(|buffer| buffer.when(sample)).flatten() else { return };
        let from = self.machine;
        self.machine = (from + 1) % self.buffers.len();
        let clocks = self.clocks.clone();
        let found = self.buffer(|buffer| match clocks {
            Clocks::OneBoot => buffer.by_own_time(when.mono_ns),
            ref clocks => buffer.nearest(when.wall_ns.saturating_add(clocks.shift_ns(from))),
        });
        let span = std::mem::take(&mut self.transport.span);
        let following = self.transport.following;
        if let Some(found) = found.flatten() {
            self.transport.go(found);
            self.transport.following = following && self.buffers.get(self.machine).is_some_and(ReplayBuffer::grows_now);
            let there = self.buffer(|buffer| buffer.when(found)).flatten();
            let apart = there.map_or(0, |there| match clocks {
                Clocks::OneBoot => there.mono_ns as i64 - when.mono_ns as i64,
                ref clocks => there.wall_ns - when.wall_ns.saturating_add(clocks.shift_ns(from)),
            });
            if apart.abs() > APART_NS && !following {
                let time = &units::span(apart.unsigned_abs() / 1_000_000_000);
                self.report(if apart > 0 {
                    text::NearestLater { time }.to_string()
                } else {
                    text::NearestEarlier { time }.to_string()
                });
            }
        }
        if span != (None, None) {
            self.report(text::LOOP_CLEARED.to_string());
        }
    }

    /// Decodes and derives what is to be shown; true if that is something new.
    fn show(&mut self) -> bool {
        let wanted = self.transport.sample;
        let machine = self.machine;
        let Some(buffer) = self.buffers.get_mut(machine).filter(|buffer| buffer.reader.range().is_some()) else {
            return false;
        };
        if buffer.shown() == Some(wanted) && self.shown == Some((machine, wanted)) {
            return false;
        }
        let (found, damage) = buffer.go(wanted);
        if let Some(found) = found {
            // If the requested sample is lost, time continues from its replacement.
            self.transport.sample = found;
        }
        self.shown = Some((machine, self.transport.sample));
        if let Some(damage) = damage {
            self.report(damaged(&damage, wanted, found));
        }
        true
    }
}

impl ReplayBuffer {
    fn grows_now(&self) -> bool {
        self.after == After::More
    }
}

/// Describes damage and what it cost.
fn damaged(damage: &Damage, wanted: u64, found: Option<u64>) -> String {
    let left_out = found.map_or(0, |found| found.abs_diff(wanted));
    match (found, left_out) {
        (None, _) => text::NothingFollows { damage }.to_string(),
        (_, 0) => text::NothingLost { damage }.to_string(),
        (_, count) => text::SamplesLost { damage, count }.to_string(),
    }
}
