//! Puts a recording where it belongs, on a thread of its own: neither a slow disk nor a slow link holds the sampler up.

mod sink;

use sink::{Outcome, Sink};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use topotop_model::Snapshot;
use topotop_model::locale::{Text, in_english, recording as text};
use topotop_model::recording::{About, Chunk, Composer, Event, Limits, Place, What};

/// How often what was written is put on the disk for good.
const SYNC_EVERY: Duration = Duration::from_secs(10);
/// Bytes that may wait for a file.
const FILE_BACKLOG: u64 = 16 << 20;
/// How long after a failed write the next attempt follows, in ns.
const RETRY_NS: u64 = 2_000_000_000;
/// Events that are remembered until they are written.
const MAX_EVENTS: usize = 256;
/// How long closing waits for what is still to be written.
const CLOSE: Duration = Duration::from_secs(5);

/// Where a recording goes.
#[derive(Clone, Debug)]
pub enum Target {
    /// A new file, readable by its owner alone.
    File {
        /// Where.
        path: PathBuf,
        /// How much it keeps.
        limits: Limits,
    },
    /// Standard output, thinned to what is taken from it.
    Stdout,
}

/// The status of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Bytes of the file, or bytes sent.
    pub bytes: u64,
    /// Samples written.
    pub samples: u64,
    /// Samples that are missing.
    pub skipped: u64,
    /// Why nothing can be written at the moment.
    pub trouble: Option<String>,
    /// True once the reader of the stream has gone, or it is broken.
    pub gone: bool,
    /// Why the stream ended before its time.
    pub broken: Option<String>,
}

/// What the thread shares with the caller.
#[derive(Debug, Default)]
struct Shared {
    outstanding: AtomicU64,
    bytes: AtomicU64,
    samples: AtomicU64,
    lost: AtomicU64,
    gone: AtomicBool,
    failure: Mutex<Option<Failure>>,
    broken: Mutex<Option<String>>,
    /// The last chunk that was written.
    written: AtomicU64,
}

#[derive(Clone, Debug)]
struct Failure {
    /// Of the first chunk that was not written.
    place: Place,
    epoch: u64,
    error: String,
}

enum Order {
    /// A chunk of an epoch, and its number; after a failure the rest of its epoch is dropped.
    Chunk(u64, u64, Chunk),
    Close(Sender<()>),
}

/// Writes a recording.
#[derive(Debug)]
pub struct Writer {
    composer: Composer,
    orders: Sender<Order>,
    shared: Arc<Shared>,
    /// Bytes that may wait.
    backlog: u64,
    slow: Text,
    epoch: u64,
    skipped: u64,
    /// Missing samples that the recording reports.
    told: u64,
    /// Chunks that were sent.
    sent: u64,
    /// Events and the chunk that each goes with, until that is written: a full disk costs samples, not what they tell.
    events: VecDeque<(u64, Event)>,
    /// Events that go with the next sample of a stream: sent alone they would be what keeps it from going through.
    waiting: VecDeque<Event>,
    reason: String,
    failed: Option<(Failure, u64)>,
    /// The failure that is being recovered from, and how many samples were written until then.
    recovering: Option<(String, u64)>,
    trouble: Option<String>,
}

impl Writer {
    /// Makes the file, which must not exist, or takes standard output. The error is one line.
    pub fn start(target: &Target, about: About) -> Result<Self, String> {
        let (sink, limits, backlog, slow) = match target {
            Target::File { path, limits } => (Sink::create(path)?, Some(*limits), FILE_BACKLOG, text::cause::DISK_SLOW),
            // Nothing waits: what is sent next is as fresh as the link allows.
            Target::Stdout => (Sink::stdout(), None, 0, text::cause::LINK_SLOW),
        };
        let shared = Arc::new(Shared::default());
        let (orders, inbox) = channel();
        let thread = Thread { sink, shared: Arc::clone(&shared), failed_epoch: None, dirty: false };
        let builder = std::thread::Builder::new().name("writer".to_owned());
        builder.spawn(move || thread.run(&inbox)).map_err(|error| text::WriterFailed { error: &error }.to_string())?;
        Ok(Self {
            composer: Composer::new(about, limits),
            orders,
            shared,
            backlog,
            slow,
            epoch: 0,
            skipped: 0,
            told: 0,
            sent: 0,
            events: VecDeque::new(),
            waiting: VecDeque::new(),
            reason: String::new(),
            failed: None,
            recovering: None,
            trouble: None,
        })
    }

    /// The next sample, of which nothing is judged.
    pub fn append(&mut self, snapshot: &Snapshot) {
        self.append_judged(snapshot, None);
    }

    /// True where the next sample becomes a key frame: what the judge's state before it is wanted for.
    pub fn key_is_due(&self) -> bool {
        self.composer.key_is_due()
    }

    /// The next sample, with the judge's state before it. It is skipped, and the recording says so, while the last ones
    /// have not gone through.
    pub fn append_judged(&mut self, snapshot: &Snapshot, state: Option<&[u8]>) {
        if let Some(failure) = lock(&self.shared.failure).take() {
            self.failed = Some((failure, snapshot.stamp.mono_ns));
        }
        if let Some((failure, since)) = &self.failed {
            if snapshot.stamp.mono_ns.saturating_sub(*since) < RETRY_NS {
                self.skip(&failure.error.clone());
                return;
            }
            // The chunks after the one that failed are dropped with it: it is the place to go on.
            self.composer.restart(failure.place);
            self.reason.clone_from(&failure.error);
            self.epoch = failure.epoch + 1;
            self.recovering = Some((failure.error.clone(), self.shared.samples.load(Ordering::Relaxed)));
            self.failed = None;
            self.tell_again();
        }
        if self.shared.outstanding.load(Ordering::Acquire) > self.backlog {
            self.skip(self.slow.english());
            return;
        }
        self.tell_what_waits();
        let missing = self.missing();
        if missing > self.told {
            let what = What::Skipped { samples: missing - self.told, reason: self.reason.clone() };
            self.told = missing;
            self.tell(Event { wall_ns: snapshot.stamp.wall_ns, mono_ns: snapshot.stamp.mono_ns, what });
        }
        match self.composer.judged(snapshot, state) {
            Ok(chunk) => {
                self.trouble = None;
                self.send(chunk);
            }
            Err(error) => {
                self.trouble = Some(error.to_string());
                self.skip(&in_english(|| error.to_string()));
            }
        }
    }

    /// Why the last sample did not fit into the recording at all, whatever room there is for it.
    pub fn refusal(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Something that happened.
    pub fn event(&mut self, event: Event) {
        if self.backlog > 0 {
            return self.tell(event);
        }
        if let (Some(What::Skipped { samples, reason }), What::Skipped { samples: more, reason: same }) =
            (self.waiting.back_mut().map(|event| &mut event.what), &event.what)
            && reason == same
        {
            *samples += more;
            return;
        }
        if self.waiting.len() >= MAX_EVENTS {
            self.waiting.pop_front();
        }
        self.waiting.push_back(event);
    }

    fn tell_what_waits(&mut self) {
        for event in std::mem::take(&mut self.waiting) {
            self.tell(event);
        }
    }

    fn tell(&mut self, event: Event) {
        let written = self.shared.written.load(Ordering::Relaxed);
        while self.events.len() >= MAX_EVENTS || self.events.front().is_some_and(|(chunk, _)| *chunk <= written) {
            self.events.pop_front();
        }
        // It goes at once, or with the next sample.
        self.events.push_back((self.sent + 1, event.clone()));
        if let Some(chunk) = self.composer.event(event) {
            self.send(chunk);
        }
    }

    /// Its status.
    pub fn status(&self) -> Status {
        let failure = lock(&self.shared.failure).as_ref().map(|failure| failure.error.clone());
        let failed = self.failed.as_ref().map(|failed| failed.0.error.clone());
        let samples = self.shared.samples.load(Ordering::Relaxed);
        // Over only once something was written again.
        let recovering = self.recovering.as_ref().filter(|before| before.1 == samples).map(|before| before.0.clone());
        Status {
            bytes: self.shared.bytes.load(Ordering::Relaxed),
            samples,
            skipped: self.missing(),
            trouble: failure.or(failed).or(recovering).or_else(|| self.trouble.clone()),
            gone: self.shared.gone.load(Ordering::Relaxed),
            broken: lock(&self.shared.broken).clone(),
        }
    }

    /// Writes what is left and closes the recording well; waits for a stalled link or disk no longer than 5 s.
    pub fn close(mut self) -> Status {
        self.tell_what_waits();
        if let Some(chunk) = self.composer.finish().filter(|_| self.failed.is_none()) {
            self.send(chunk);
        }
        let (done, wait) = channel();
        if self.orders.send(Order::Close(done)).is_ok() && wait.recv_timeout(CLOSE) == Err(RecvTimeoutError::Timeout) {
            self.trouble = Some(text::EndMissing { why: &self.slow }.to_string());
        }
        self.status()
    }

    /// Hands over the events again that were lost with what could not be written.
    fn tell_again(&mut self) {
        let written = self.shared.written.load(Ordering::Relaxed);
        let lost = std::mem::take(&mut self.events).into_iter().filter(|(chunk, _)| *chunk > written);
        lost.for_each(|(_, event)| self.tell(event));
    }

    fn send(&mut self, chunk: Chunk) {
        self.sent += 1;
        self.shared.outstanding.fetch_add(chunk.bytes() as u64, Ordering::AcqRel);
        // A thread that has gone has reported why.
        let _ = self.orders.send(Order::Chunk(self.epoch, self.sent, chunk));
    }

    fn skip(&mut self, reason: &str) {
        self.skipped += 1;
        reason.clone_into(&mut self.reason);
    }

    fn missing(&self) -> u64 {
        self.skipped + self.shared.lost.load(Ordering::Relaxed)
    }
}

struct Thread {
    sink: Sink,
    shared: Arc<Shared>,
    failed_epoch: Option<u64>,
    dirty: bool,
}

impl Thread {
    fn run(mut self, inbox: &Receiver<Order>) {
        let mut sync = Instant::now() + SYNC_EVERY;
        loop {
            match inbox.recv_timeout(sync.saturating_duration_since(Instant::now())) {
                Ok(Order::Chunk(epoch, number, chunk)) => self.write(epoch, number, &chunk),
                Ok(Order::Close(done)) => {
                    self.sink.sync();
                    // Whoever closes may have stopped waiting.
                    let _ = done.send(());
                    return;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.sink.sync();
                    return;
                }
            }
            if Instant::now() >= sync {
                if std::mem::take(&mut self.dirty) {
                    self.sink.sync();
                }
                sync = Instant::now() + SYNC_EVERY;
            }
        }
    }

    fn write(&mut self, epoch: u64, number: u64, chunk: &Chunk) {
        let shared = Arc::clone(&self.shared);
        let dropped = shared.gone.load(Ordering::Relaxed) || self.failed_epoch == Some(epoch);
        if dropped {
            shared.lost.fetch_add(chunk.samples, Ordering::Relaxed);
        } else {
            match self.sink.write(chunk) {
                Outcome::Written(bytes) => {
                    self.dirty = true;
                    self.failed_epoch = None;
                    shared.written.store(number, Ordering::Relaxed);
                    shared.bytes.store(bytes, Ordering::Relaxed);
                    shared.samples.fetch_add(chunk.samples, Ordering::Relaxed);
                }
                Outcome::Gone => {
                    shared.gone.store(true, Ordering::Relaxed);
                    shared.lost.fetch_add(chunk.samples, Ordering::Relaxed);
                }
                Outcome::Broken(error) => {
                    *lock(&shared.broken) = Some(error);
                    shared.gone.store(true, Ordering::Relaxed);
                    shared.lost.fetch_add(chunk.samples, Ordering::Relaxed);
                }
                Outcome::Failed(error) => {
                    self.failed_epoch = Some(epoch);
                    shared.lost.fetch_add(chunk.samples, Ordering::Relaxed);
                    *lock(&shared.failure) = Some(Failure { place: chunk.place, epoch, error });
                }
            }
        }
        shared.outstanding.fetch_sub(chunk.bytes() as u64, Ordering::AcqRel);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{Status, Target, Writer};
    use crate::recording::open;
    use std::os::unix::fs::PermissionsExt as _;
    use topotop_collectors::{Options, Root, Sampler};
    use topotop_model::Snapshot;
    use topotop_model::recording::{About, Event, Limits, What};

    #[test]
    fn what_is_written_is_read() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a.rec");
        let target = Target::File { path: path.clone(), limits: Limits { cap_bytes: 64 << 20, max_age_ns: 0 } };
        let mut writer = Writer::start(&target, About::default()).expect("a new file");
        assert!(Writer::start(&target, About::default()).expect_err("it exists").contains("exists"));
        let mut sampler = Sampler::new(Root::live().expect("this machine"), &Options::default());
        let samples: Vec<Snapshot> = (0..70).map(|_| sampler.sample()).collect();
        let mark = Event { wall_ns: 1, mono_ns: 2, what: What::Mark { text: "here".to_owned() } };
        writer.event(mark.clone());
        for sample in &samples {
            writer.append(sample);
        }
        let status = writer.close();
        let bytes = std::fs::metadata(&path).expect("a file").len();
        assert_eq!(status, Status { bytes, samples: 70, ..Status::default() });
        assert_eq!(std::fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
        let mut reader = open(&path).expect("a recording");
        assert!(reader.is_closed());
        for sample in &samples {
            assert!(reader.next_sample().expect("one more").expect("whole").1 == *sample);
        }
        assert_eq!(reader.events(), [(0, mark)]);
    }
}
