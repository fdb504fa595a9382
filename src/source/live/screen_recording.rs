//! A recording that is begun on the screen: a thread that writes what the ring holds, then what comes.

use super::judgements::RecordedPast;
use crate::app::Recording;
use crate::record::missing::Delay;
use crate::record::{about, missing, summary};
use crate::recording::{Status, Target, Writer};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use topotop_model::codec::{self, Record};
use topotop_model::derive::Settings;
use topotop_model::locale::{error as errors, join, recording as text};
use topotop_model::recording::{Event, Limits, What};
use topotop_model::{Snapshot, Stamp};

/// Limits of a recording from the screen: as `topotop record` without flags.
const LIMITS: Limits = Limits { cap_bytes: 512 << 20, max_age_ns: 24 * 3_600_000_000_000 };
/// How long the end is waited for.
const PATIENCE: Duration = Duration::from_secs(8);

/// What goes to the thread.
pub(super) enum RecorderMessage {
    /// A sample.
    Sample(Box<SampleEntry>),
    /// A mark, or what became of a fix.
    Event(Stamp, What),
    /// Close it and return its status.
    End(Sender<Status>),
}

/// A sample with what belongs to it.
pub(super) struct SampleEntry {
    pub(super) snapshot: Snapshot,
    /// Findings that appeared and cleared with it.
    pub(super) events: Vec<Event>,
    /// The judge's state before it, if saved.
    pub(super) state: Option<Vec<u8>>,
    /// The time that was to pass before it.
    pub(super) interval: Duration,
    /// Why it may be late.
    pub(super) late: Delay,
}

/// The screen's side of a recording.
pub(super) struct ScreenRecording {
    path: String,
    since: Stamp,
    /// How much of the past is in it.
    past: Duration,
    begun: Instant,
    feed: Sender<RecorderMessage>,
    status: Arc<Mutex<Status>>,
}

impl ScreenRecording {
    /// Makes the file and a thread that first writes the past.
    pub(super) fn start(
        path: &Path,
        (past, judged): (Vec<Record>, RecordedPast),
        interval: Duration,
        settings: &Settings,
    ) -> Result<(Self, Sender<RecorderMessage>), String> {
        let now = topotop_collectors::now();
        let held = past.first().map_or(0, |record| now.mono_ns.saturating_sub(record.stamp.mono_ns));
        let first = past.first().and_then(|record| codec::decode(None, record).ok()).unwrap_or_default();
        let target = Target::File { path: path.to_path_buf(), limits: LIMITS };
        let writer = Writer::start(&target, about(&first, interval, settings, None))?;
        let (feed, inbox) = channel();
        let status = Arc::new(Mutex::new(Status::default()));
        let shared = Arc::clone(&status);
        let thread = std::thread::Builder::new().name("recorder".to_owned());
        thread
            .spawn(move || run(writer, (past, judged), interval, &inbox, &shared))
            .map_err(|error| errors::NoThread { error: &error }.to_string())?;
        let path = path.display().to_string();
        let (past, begun) = (Duration::from_nanos(held), Instant::now());
        let recording = Self { path, since: now, past, begun, feed: feed.clone(), status };
        Ok((recording, feed))
    }

    /// Its status.
    pub(super) fn recording(&self) -> Recording {
        let Status { bytes, skipped, trouble, .. } = lock(&self.status).clone();
        Recording { path: self.path.clone(), since_ns: self.since.mono_ns, bytes, skipped, trouble }
    }

    /// Writes a mark.
    pub(super) fn mark(&self, text: String) {
        // A thread that is gone has no recording either.
        let _ = self.feed.send(RecorderMessage::Event(topotop_collectors::now(), What::Mark { text }));
    }

    /// Writes an event.
    pub(super) fn tell(&self, what: What) {
        // As for marks.
        let _ = self.feed.send(RecorderMessage::Event(topotop_collectors::now(), what));
    }

    /// Closes it and returns a summary.
    pub(super) fn end(self) -> String {
        let (done, wait) = channel();
        let status = self.feed.send(RecorderMessage::End(done)).ok().and_then(|()| wait.recv_timeout(PATIENCE).ok());
        let status = status.unwrap_or_else(|| Status {
            trouble: Some(text::EndMissing { why: &text::cause::DISK_SLOW }.to_string()),
            ..lock(&self.status).clone()
        });
        let said = summary(&self.path, &status, self.past + self.begun.elapsed());
        status.trouble.map_or(said.clone(), |trouble| format!("{said}{}{trouble}", join::CLAUSES))
    }
}

fn run(
    mut writer: Writer,
    (past, mut judged): (Vec<Record>, RecordedPast),
    interval: Duration,
    inbox: &Receiver<RecorderMessage>,
    status: &Mutex<Status>,
) {
    let mut last = None;
    let mut base = None;
    for record in past {
        // What cannot be decoded cannot be shown either.
        let Ok(snapshot) = codec::decode(base.as_ref(), &record) else { break };
        let seq = snapshot.stamp.seq;
        while let Some((_, event)) = judged.events.pop_front_if(|event| event.0 <= seq) {
            writer.event(event);
        }
        while judged.states.pop_front_if(|state| state.0 < seq).is_some() {}
        let state = judged.states.front().filter(|state| state.0 == seq).map(|state| &*state.1);
        writer.append_judged(&snapshot, state);
        *lock(status) = writer.status();
        last = Some((snapshot.stamp, interval));
        base = Some(snapshot);
    }
    for feed in inbox {
        match feed {
            RecorderMessage::Sample(entry) => {
                let SampleEntry { snapshot, events, state, interval, late } = *entry;
                if let Some((before, was)) = last {
                    // Where the interval was changed, the longer one was what was agreed.
                    for what in missing::between(before, snapshot.stamp, interval.max(was), late) {
                        writer.event(event(snapshot.stamp, what));
                    }
                }
                last = Some((snapshot.stamp, interval));
                for event in events {
                    writer.event(event);
                }
                writer.append_judged(&snapshot, state.as_deref());
            }
            RecorderMessage::Event(stamp, what) => writer.event(event(stamp, what)),
            RecorderMessage::End(done) => {
                // Whoever ended it may have stopped waiting.
                let _ = done.send(writer.close());
                return;
            }
        }
        *lock(status) = writer.status();
    }
    writer.close();
}

fn event(stamp: Stamp, what: What) -> Event {
    Event { wall_ns: stamp.wall_ns, mono_ns: stamp.mono_ns, what }
}

fn lock(status: &Mutex<Status>) -> std::sync::MutexGuard<'_, Status> {
    status.lock().unwrap_or_else(PoisonError::into_inner)
}
