//! A recording that comes in through a pipe: its newest samples are kept in memory, so that one can pause and step back.

use super::track::{After, Next, Track};
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use topotop_model::recording::{About, Damage, Event, Item, Stream, Summary, When};
use topotop_model::ring::{Log as _, Ring};
use topotop_model::{Snapshot, Stamp, Window, codec};

/// Memory for samples to go back to, in bytes.
const KEPT: usize = 64 << 20;
/// Events that are kept.
const EVENTS: usize = 4096;

/// What came in so far.
struct Kept {
    ring: Ring,
    /// Events by the number of the sample after them.
    events: Vec<(u64, Event)>,
    over: Option<After>,
    trouble: Option<String>,
}

impl Kept {
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
                    self.trouble = Some(format!("a sample was lost: {error}"));
                }
            }
            Item::Event(event) => {
                let number = self.next_number();
                self.events.push((number, event));
                let (oldest, surplus) = (self.ring.dropped(), self.events.len().saturating_sub(EVENTS));
                self.events.drain(..surplus);
                self.events.retain(|event| event.0 >= oldest);
            }
            Item::Damage(damage) => self.trouble = Some(format!("the stream is {damage}")),
        }
    }
}

/// A stream.
pub(super) struct StreamTrack {
    about: About,
    kept: Arc<Mutex<Kept>>,
    /// The sample that was decoded last.
    base: Option<(u64, Snapshot)>,
}

impl StreamTrack {
    /// Waits for the header, so that what is at the other end can still use the terminal to ask for a password; then
    /// reads on a thread of its own, which calls `wake` whenever something came.
    pub(super) fn open(
        input: impl Read + Send + 'static,
        name: &str,
        wake: impl Fn() + Send + 'static,
    ) -> Result<Self, String> {
        let mut stream = Stream::open(input).map_err(|error| format!("{name}: {error}"))?;
        let about = stream.about().clone();
        let ring = Ring::new(KEPT);
        let kept = Arc::new(Mutex::new(Kept { ring, events: Vec::new(), over: None, trouble: None }));
        let shared = Arc::clone(&kept);
        let read = move || {
            loop {
                let item = stream.next_item();
                let mut kept = lock(&shared);
                match item {
                    Ok(Some(item)) => kept.take(item),
                    Ok(None) if stream.is_closed() => kept.over = Some(After::Closed),
                    Ok(None) => kept.over = Some(After::Broken("the stream broke off".to_owned())),
                    Err(error) => kept.over = Some(After::Broken(format!("the stream broke off: {error}"))),
                }
                let over = kept.over.is_some();
                drop(kept);
                wake();
                if over {
                    return;
                }
            }
        };
        let builder = std::thread::Builder::new().name("stream".to_owned());
        builder.spawn(read).map_err(|error| format!("a thread for {name}: {error}"))?;
        Ok(Self { about, kept, base: None })
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        lock(&self.kept)
    }
}

impl Track for StreamTrack {
    fn about(&self) -> &About {
        &self.about
    }

    fn range(&self) -> Option<(u64, u64)> {
        let kept = self.kept();
        Some((kept.ring.dropped(), kept.next_number().checked_sub(1).filter(|_| !kept.ring.is_empty())?))
    }

    fn span(&mut self) -> Option<(When, When)> {
        let (first, last) = self.range()?;
        Some((self.when(first)?, self.when(last)?))
    }

    fn when(&mut self, sample: u64) -> Option<When> {
        self.kept().stamp(sample).map(|stamp| When { wall_ns: stamp.wall_ns, mono_ns: stamp.mono_ns })
    }

    fn nearest(&mut self, wall_ns: i64) -> Option<u64> {
        let kept = self.kept();
        let away = |stamp: Stamp| stamp.wall_ns.saturating_sub(wall_ns).unsigned_abs();
        let found = kept.ring.records().map(|record| away(record.stamp)).enumerate().min_by_key(|found| found.1);
        found.map(|(at, _)| kept.ring.dropped() + at as u64)
    }

    fn window_at(&mut self, sample: u64) -> Result<Window, Damage> {
        self.base = None;
        let lost = |what: String| Damage { offset: 0, bytes: 0, what };
        // Copied out, so that decoding holds up nobody.
        let records = {
            let kept = self.kept();
            kept.position(sample).map(|at| kept.ring.records_for(at))
        };
        let records = records.ok_or_else(|| lost(format!("sample {sample} is no longer kept")))?;
        let window = codec::window(&records).map_err(|error| lost(error.to_string()))?;
        self.base = Some((sample, window.now.clone()));
        Ok(window)
    }

    fn next(&mut self) -> Next {
        let (number, base) = self.base.take()?;
        let record = {
            let kept = self.kept();
            let at = kept.position(number + 1);
            at.and_then(|at| kept.ring.records().nth(at).cloned())
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
        self.kept().trouble.take()
    }

    fn after(&mut self) -> After {
        self.kept().over.clone().unwrap_or(After::More)
    }

    fn is_stream(&self) -> bool {
        true
    }

    fn events(&mut self) -> Vec<(u64, Event)> {
        self.kept().events.clone()
    }

    fn minutes(&mut self) -> Vec<(u64, When, Summary)> {
        Vec::new()
    }

    fn again(&self) -> Result<Box<dyn Track>, String> {
        Ok(Box::new(Self { about: self.about.clone(), kept: Arc::clone(&self.kept), base: None }))
    }
}

fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}
