//! A recording that comes in through a pipe: its newest samples are received in memory, so that one can pause and step back.

use super::sample_reader::{After, Next, SampleReader};
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use topotop_model::locale::{error as errors, pair, replay as text};
use topotop_model::recording::{About, Damage, Event, Item, Stream, Summary, When};
use topotop_model::ring::{Log as _, Ring};
use topotop_model::{Snapshot, Stamp, Window, codec};

/// Memory for samples to go back to, in bytes.
const RETAINED: usize = 64 << 20;
/// Events that are received.
const EVENTS: usize = 4096;

/// What came in so far.
struct Received {
    ring: Ring,
    /// Events by the number of the sample after them.
    events: Vec<(u64, Event)>,
    over: Option<After>,
    trouble: Option<String>,
}

impl Received {
    fn next_number(&self) -> u64 {
        self.ring.dropped() + self.ring.len() as u64
    }

    fn position(&self, sample: u64) -> Option<usize> {
        let at = usize::try_from(sample.checked_sub(self.ring.dropped())?).ok()?;
        (at < self.ring.len()).then_some(at)
    }

    fn stamp(&self, sample: u64) -> Option<Stamp> {
        Some(self.ring.records().nth(self.position(sample)?)?.stamp)
    }

    fn take(&mut self, item: Item) {
        match item {
            Item::Sample(snapshot) => {
                if let Err(error) = self.ring.append(&snapshot) {
                    self.trouble = Some(text::SampleLost { error: &error }.to_string());
                }
            }
            Item::Event(event) => {
                let number = self.next_number();
                self.events.push((number, event));
                let (oldest, surplus) = (self.ring.dropped(), self.events.len().saturating_sub(EVENTS));
                self.events.drain(..surplus);
                self.events.retain(|event| event.0 >= oldest);
            }
            Item::Damage(damage) => self.trouble = Some(text::StreamDamage { damage: &damage }.to_string()),
        }
    }
}

/// A stream.
pub(super) struct StreamReader {
    about: About,
    received: Arc<Mutex<Received>>,
    /// The sample that was decoded last.
    base: Option<(u64, Snapshot)>,
}

impl StreamReader {
    /// Waits for the header, so that what is at the other end can still use the terminal to ask for a password; then
    /// reads on a thread of its own, which calls `wake` whenever something came.
    pub(super) fn open(
        input: impl Read + Send + 'static,
        name: &str,
        wake: impl Fn() + Send + 'static,
    ) -> Result<Self, String> {
        let mut stream = Stream::open(input).map_err(|error| pair(name, error))?;
        let about = stream.about().clone();
        let ring = Ring::new(RETAINED);
        let received = Arc::new(Mutex::new(Received { ring, events: Vec::new(), over: None, trouble: None }));
        let shared = Arc::clone(&received);
        let read = move || {
            loop {
                let item = stream.next_item();
                let mut received = lock(&shared);
                match item {
                    Ok(Some(item)) => received.take(item),
                    Ok(None) if stream.is_closed() => received.over = Some(After::Closed),
                    Ok(None) => received.over = Some(After::Broken(text::STREAM_INTERRUPTED.to_string())),
                    Err(error) => {
                        received.over = Some(After::Broken(text::StreamInterruptedBy { error: &error }.to_string()));
                    }
                }
                let over = received.over.is_some();
                drop(received);
                wake();
                if over {
                    return;
                }
            }
        };
        let builder = std::thread::Builder::new().name("stream".to_owned());
        builder.spawn(read).map_err(|error| errors::ThreadOf { name: &name, error: &error }.to_string())?;
        Ok(Self { about, received, base: None })
    }

    fn received(&self) -> MutexGuard<'_, Received> {
        lock(&self.received)
    }
}

impl SampleReader for StreamReader {
    fn about(&self) -> &About {
        &self.about
    }

    fn range(&self) -> Option<(u64, u64)> {
        let received = self.received();
        Some((received.ring.dropped(), received.next_number().checked_sub(1).filter(|_| !received.ring.is_empty())?))
    }

    fn span(&mut self) -> Option<(When, When)> {
        let (first, last) = self.range()?;
        Some((self.when(first)?, self.when(last)?))
    }

    fn when(&mut self, sample: u64) -> Option<When> {
        self.received().stamp(sample).map(|stamp| When { wall_ns: stamp.wall_ns, mono_ns: stamp.mono_ns })
    }

    fn nearest(&mut self, wall_ns: i64) -> Option<u64> {
        let received = self.received();
        let away = |stamp: Stamp| stamp.wall_ns.saturating_sub(wall_ns).unsigned_abs();
        let found = received.ring.records().map(|record| away(record.stamp)).enumerate().min_by_key(|found| found.1);
        found.map(|(at, _)| received.ring.dropped() + at as u64)
    }

    fn window_at(&mut self, sample: u64) -> Result<Window, Damage> {
        self.base = None;
        let lost = |what: String| Damage { offset: 0, bytes: 0, what };
        // Copied out, so that decoding does not block the reading thread.
        let records = {
            let received = self.received();
            received.position(sample).map(|at| received.ring.records_for(at))
        };
        let records = records.ok_or_else(|| lost(errors::SampleGone { sample: &sample }.to_string()))?;
        let window = codec::window(&records).map_err(|error| lost(error.to_string()))?;
        self.base = Some((sample, window.now.clone()));
        Ok(window)
    }

    fn next(&mut self) -> Next {
        let (number, base) = self.base.take()?;
        let record = {
            let received = self.received();
            let at = received.position(number + 1);
            at.and_then(|at| received.ring.records().nth(at).cloned())
        };
        let Some(record) = record else {
            self.base = Some((number, base));
            return None;
        };
        Some(match codec::decode(Some(&base), &record) {
            Ok(snapshot) => {
                self.base = Some((number + 1, snapshot.clone()));
                Ok((number + 1, snapshot))
            }
            Err(error) => Err(Damage { offset: 0, bytes: 0, what: error.to_string() }),
        })
    }

    fn lost_before(&mut self, _: u64) -> Option<Damage> {
        None
    }

    fn refresh(&mut self) -> Option<String> {
        self.received().trouble.take()
    }

    fn after(&mut self) -> After {
        self.received().over.clone().unwrap_or(After::More)
    }

    fn is_stream(&self) -> bool {
        true
    }

    fn events(&mut self) -> Vec<(u64, Event)> {
        self.received().events.clone()
    }

    fn minutes(&mut self) -> Vec<(u64, When, Summary)> {
        Vec::new()
    }

    fn again(&self) -> Result<Box<dyn SampleReader>, String> {
        Ok(Box::new(Self { about: self.about.clone(), received: Arc::clone(&self.received), base: None }))
    }
}

fn lock(received: &Mutex<Received>) -> MutexGuard<'_, Received> {
    received.lock().unwrap_or_else(PoisonError::into_inner)
}
