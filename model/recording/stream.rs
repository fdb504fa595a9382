//! Records as they come in, one after the other: a recording read from a pipe.

use super::{About, Damage, Error, Event, HEAD_BYTES, HEADER_BYTES, Head, Header, Kind, SYNC, What, split_key};
use crate::codec::{self, Record};
use crate::locale::recording::{damage as text, error};
use crate::{Snapshot, Stamp};
use std::io::Read;

/// Bytes that are read at once: a length reserves no memory before the bytes are there.
const CHUNK: usize = 64 << 10;
/// Bytes that are checksummed in vain for each byte that is read, and beside that: as for files.
const PROOF_RATIO: u64 = 4;
const FREE_PROOF: u64 = 64 << 20;

/// What comes out of a stream.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "one at a time, taken apart at once: most are samples")]
pub enum Item {
    /// A sample.
    Sample(Snapshot),
    /// Something that happened.
    Event(Event),
    /// Bytes that are no longer what was written; what can be used again follows.
    Damage(Damage),
}

/// A recording that comes in.
#[derive(Debug)]
pub struct Stream<R> {
    input: R,
    header: Header,
    /// Bytes that were read, and how many of them are used.
    buffer: Vec<u8>,
    used: usize,
    /// How far into the stream the bytes that are not used begin.
    offset: u64,
    /// Bytes that may still be checksummed in vain: a stream made of heads that promise much must not take for ever.
    proof: u64,
    base: Option<(u32, Snapshot)>,
    /// True once differences without a base were reported.
    reported: bool,
    over: bool,
    closed: bool,
}

impl<R: Read> Stream<R> {
    /// Waits for the header.
    pub fn open(input: R) -> Result<Self, Error> {
        let mut stream = Self {
            input,
            header: Header::default(),
            buffer: Vec::new(),
            used: 0,
            offset: 0,
            proof: FREE_PROOF,
            base: None,
            reported: false,
            over: false,
            closed: false,
        };
        if !stream.fill(HEADER_BYTES)? {
            return Err(if stream.rest().is_empty() { Error::Read(error::EMPTY.to_string()) } else { Error::Foreign });
        }
        stream.header = Header::parse(stream.rest().get(..HEADER_BYTES).unwrap_or_default())?;
        stream.drop_bytes(HEADER_BYTES);
        Ok(stream)
    }

    /// What is recorded.
    pub fn about(&self) -> &About {
        &self.header.about
    }

    /// True once the end record has arrived.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Waits for what comes next; none at the end.
    pub fn next_item(&mut self) -> Result<Option<Item>, Error> {
        while !self.over {
            if !self.fill(HEAD_BYTES)? {
                break;
            }
            let Some(head) = Head::parse(self.rest()).filter(|head| head.bytes() <= self.proof) else {
                return Ok(Some(Item::Damage(self.resync()?)));
            };
            let whole = self.fill(head.bytes() as usize)?;
            let record = self.rest().get(..head.bytes() as usize).filter(|record| whole && head.proves(record));
            let Some(record) = record.map(<[u8]>::to_vec) else {
                self.proof -= head.bytes();
                return Ok(Some(Item::Damage(self.resync()?)));
            };
            self.drop_bytes(record.len());
            if let Some(item) = self.take(&head, record.get(HEAD_BYTES..).unwrap_or_default())? {
                return Ok(Some(item));
            }
        }
        Ok(None)
    }

    fn take(&mut self, head: &Head, body: &[u8]) -> Result<Option<Item>, Error> {
        match head.kind {
            Kind::Key | Kind::Delta => return Ok(self.sample(head, body)),
            Kind::Event => {
                let event = |what| Item::Event(Event { wall_ns: head.wall_ns, mono_ns: head.mono_ns, what });
                return Ok(What::parse(body).map(event));
            }
            Kind::End => (self.over, self.closed) = (true, true),
            Kind::Index if self.header.segment_bytes > 0 => {
                // A file in segments: what is left of the slot is empty, unless the recording ends here.
                if self.fill(HEAD_BYTES)? && Head::parse(self.rest()).is_some_and(|head| head.kind == Kind::End) {
                    return Ok(None);
                }
                let inside = (self.offset - HEADER_BYTES as u64) % self.header.segment_bytes;
                self.skip(self.header.segment_bytes - inside)?;
            }
            Kind::Index => {}
        }
        Ok(None)
    }

    fn sample(&mut self, head: &Head, body: &[u8]) -> Option<Item> {
        let key = head.kind == Kind::Key;
        let damage = |what: &str| {
            Some(Item::Damage(Damage {
                offset: self.offset - head.bytes(),
                bytes: head.bytes(),
                what: what.to_owned(),
            }))
        };
        let base = self.base.as_ref().filter(|base| base.0.checked_add(1) == Some(head.number)).map(|base| &base.1);
        if !key && base.is_none() {
            let reported = std::mem::replace(&mut self.reported, true);
            let reported = if reported { None } else { damage(text::LOST_BASE.as_str()) };
            self.base = None;
            return reported;
        }
        let Some(payload) = (if key { split_key(body).map(|parts| parts.2) } else { Some(body) }) else {
            return damage(text::KEY_INCOMPLETE.as_str());
        };
        let stamp = Stamp { wall_ns: head.wall_ns, mono_ns: head.mono_ns, ..Stamp::default() };
        match codec::decode(base, &Record { stamp, key, bytes: payload.to_vec() }) {
            Ok(snapshot) => {
                self.reported = false;
                self.base = Some((head.number, snapshot.clone()));
                Some(Item::Sample(snapshot))
            }
            Err(error) => {
                let item = damage(&error.to_string());
                self.base = None;
                item
            }
        }
    }

    /// Drops bytes up to the next place that looks like a record.
    fn resync(&mut self) -> Result<Damage, Error> {
        let (offset, mut first) = (self.offset, 1);
        self.base = None;
        loop {
            let rest = self.rest().get(first..).unwrap_or_default();
            if let Some(found) = rest.windows(SYNC.len()).position(|window| window == SYNC) {
                self.drop_bytes(first + found);
                break;
            }
            let held = self.rest().len();
            self.drop_bytes(held.saturating_sub(SYNC.len() - 1).max(first).min(held));
            first = 0;
            let held = self.rest().len();
            if !self.fill(held + 1)? {
                self.drop_bytes(held);
                break;
            }
        }
        let bytes = self.offset - offset;
        Ok(Damage { offset, bytes, what: text::RECORDS_LOST.to_string() })
    }

    /// Reads until so many bytes are there; false at the end of the stream.
    fn fill(&mut self, wanted: usize) -> Result<bool, Error> {
        while self.rest().len() < wanted {
            let held = self.buffer.len();
            self.buffer.resize(held + CHUNK, 0);
            let count = self.input.read(self.buffer.get_mut(held..).unwrap_or_default());
            self.buffer.truncate(held + *count.as_ref().unwrap_or(&0));
            match count {
                Ok(0) => return Ok(false),
                Ok(read) => self.proof = self.proof.saturating_add(read as u64 * PROOF_RATIO),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::Read(error.to_string())),
            }
        }
        Ok(true)
    }

    fn skip(&mut self, mut bytes: u64) -> Result<(), Error> {
        while bytes > 0 && self.fill(1)? {
            let part = bytes.min(self.rest().len() as u64);
            self.drop_bytes(part as usize);
            bytes -= part;
        }
        Ok(())
    }

    /// What is not used yet.
    fn rest(&self) -> &[u8] {
        self.buffer.get(self.used..).unwrap_or_default()
    }

    fn drop_bytes(&mut self, count: usize) {
        let count = count.min(self.rest().len());
        self.used += count;
        self.offset += count as u64;
        // What is left is moved seldom: only once it is less than what is used.
        if self.used > self.buffer.len() / 2 {
            self.buffer.drain(..self.used);
            self.used = 0;
        }
    }
}
