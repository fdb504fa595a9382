//! The log in memory: the newest records within a cap in bytes, decodable at any place.

use crate::codec::{self, Error, Record};
use crate::{Snapshot, Window};
use std::collections::VecDeque;

/// Samples from one key frame to the next.
pub const KEY_EVERY: usize = 60;

/// What a log can do, whether it is kept in memory, a file or a pipe.
pub trait Log {
    /// Appends a sample.
    fn append(&mut self, snapshot: &Snapshot) -> Result<(), Error>;

    /// How many samples it holds.
    fn len(&self) -> usize;

    /// True if it holds none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The window as it was when sample `index` (0 is the oldest held) came in.
    fn window_at(&self, index: usize) -> Result<Window, Error>;
}

/// Encoded samples, oldest dropped first.
#[derive(Debug)]
pub struct Ring {
    records: VecDeque<Record>,
    bytes: usize,
    cap_bytes: usize,
    last: Option<Snapshot>,
    since_key: usize,
    dropped: u64,
}

impl Ring {
    /// An empty ring that keeps at most about `cap_bytes`.
    pub fn new(cap_bytes: usize) -> Self {
        Self { records: VecDeque::new(), bytes: 0, cap_bytes, last: None, since_key: 0, dropped: 0 }
    }

    /// The records, oldest first; the first one is a key frame.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.records.iter()
    }

    /// The records that [`Log::window_at`] decodes for `index`, to be decoded without holding on to the ring.
    pub fn records_for(&self, index: usize) -> Vec<Record> {
        let start = self.start_for(index);
        self.records.iter().skip(start).take((index + 1).saturating_sub(start)).cloned().collect()
    }

    /// How many bytes the records take.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many samples were dropped since the start: index 0 is sample number `dropped`.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    fn trim(&mut self) {
        while self.bytes > self.cap_bytes {
            let Some(next_key) = self.records.iter().skip(1).position(|record| record.key) else { return };
            for record in self.records.drain(..=next_key) {
                self.bytes -= record.bytes.len();
                self.dropped += 1;
            }
        }
    }

    /// The key frame to start from so that slower sections have two generations at `index`.
    fn start_for(&self, index: usize) -> usize {
        let mut keys = (0..=index).rev().filter(|&at| self.records.get(at).is_some_and(|record| record.key));
        let nearest = keys.next().unwrap_or(0);
        keys.next().unwrap_or(nearest)
    }
}

impl Log for Ring {
    fn append(&mut self, snapshot: &Snapshot) -> Result<(), Error> {
        let key = self.since_key == 0;
        let record = codec::encode(self.last.as_ref().filter(|_| !key), snapshot)?;
        self.since_key = (self.since_key + 1) % KEY_EVERY;
        self.bytes += record.bytes.len();
        self.records.push_back(record);
        self.last = Some(snapshot.clone());
        self.trim();
        Ok(())
    }

    fn len(&self) -> usize {
        self.records.len()
    }

    fn window_at(&self, index: usize) -> Result<Window, Error> {
        codec::window(&self.records_for(index))
    }
}
