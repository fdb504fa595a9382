//! What is written where: samples and events become chunks of bytes at offsets. The writer only has to put them there.

use super::index::{Entry, Index, TAIL_BYTES, tail};
use super::{About, Error, Event, HEAD_BYTES, HEADER_BYTES, Head, Header, Kind, Summary, key_body};
use crate::derive::{Deriver, Settings};
use crate::ring::KEY_EVERY;
use crate::{Snapshot, Window, codec};

/// The usual size of a segment, in bytes.
const SEGMENT: u64 = 8 << 20;
/// The same where old samples are to go after a while: small ones go sooner.
const SMALL_SEGMENT: u64 = 512 << 10;
/// The smallest segment, in bytes.
const LEAST_SEGMENT: u64 = 64 << 10;
/// A ring has at least so many segments, so that little is lost when one is used again.
const SLOTS: u64 = 8;
/// Events that wait for a first sample at most.
const MAX_PENDING: usize = 256;

/// How much a recording keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the file; zero for as many as there are samples for.
    pub cap_bytes: u64,
    /// Age of the oldest samples in ns; zero for any.
    pub max_age_ns: u64,
}

impl Limits {
    /// The size of segments and how many there may be, for a machine whose first record takes so many bytes.
    fn layout(&self, record: u64) -> Result<(u64, usize), Error> {
        let most = if self.max_age_ns > 0 { SMALL_SEGMENT } else { SEGMENT };
        let needed = (record * 3).next_multiple_of(4096);
        if self.cap_bytes == 0 {
            return Ok((most.max(needed), usize::MAX));
        }
        let room = self.cap_bytes.saturating_sub(HEADER_BYTES as u64);
        let segment = (room / SLOTS).clamp(LEAST_SEGMENT, most).max(needed) / 4096 * 4096;
        match usize::try_from(room / segment) {
            Ok(slots) if slots >= 2 => Ok((segment, slots)),
            _ => Err(Error::TooLarge(record)),
        }
    }
}

/// Where a chunk was to go, to go on from there when it could not be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    segment: u32,
    position: u64,
    number: u32,
}

/// Bytes to write, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Offsets in the file, each with what goes there; for a stream only the order counts.
    pub writes: Vec<(u64, Vec<u8>)>,
    /// The argument of [`Composer::restart`] if this is the first chunk that could not be written.
    pub place: Place,
    /// How many samples are in it.
    pub samples: u64,
}

impl Chunk {
    /// How many bytes it has.
    pub fn bytes(&self) -> usize {
        self.writes.iter().map(|write| write.1.len()).sum()
    }
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    segment: u32,
    first_mono_ns: u64,
    last_mono_ns: u64,
}

/// Lays out a recording.
#[derive(Debug)]
pub struct Composer {
    about: About,
    /// None for a stream.
    limits: Option<Limits>,
    segment_bytes: u64,
    max_slots: usize,
    slots: Vec<Slot>,
    slot: usize,
    /// Bytes used of the slot.
    position: u64,
    index: Index,
    number: u32,
    base: Option<Snapshot>,
    since_key: usize,
    last_key: Option<Snapshot>,
    pending: Vec<(u32, Event)>,
    deriver: Deriver,
    begun: bool,
}

impl Composer {
    /// A recording within limits, or an endless one for a stream.
    pub fn new(about: About, limits: Option<Limits>) -> Self {
        let deriver = Deriver::new(Settings { nic_capacity_mbps: about.nic_capacity_mbps.clone() });
        Self {
            about,
            limits,
            segment_bytes: 0,
            max_slots: 1,
            slots: Vec::new(),
            slot: 0,
            position: 0,
            index: Index::default(),
            number: 0,
            base: None,
            since_key: 0,
            last_key: None,
            pending: Vec::new(),
            deriver,
            begun: false,
        }
    }

    /// The next sample, of which nothing is judged.
    pub fn sample(&mut self, snapshot: &Snapshot) -> Result<Chunk, Error> {
        self.judged(snapshot, None)
    }

    /// True if the next sample becomes a key frame in any case: the judge's state goes with it.
    pub fn key_is_due(&self) -> bool {
        self.base.is_none() || self.since_key >= KEY_EVERY
    }

    /// The next sample; with the judge's state before it, it becomes a key frame.
    pub fn judged(&mut self, snapshot: &Snapshot, state: Option<&[u8]>) -> Result<Chunk, Error> {
        let mut key = self.key_is_due() || state.is_some();
        let state = state.unwrap_or_default();
        let mut summary = Summary::default();
        let mut body = self.body(snapshot, key, &mut summary, state)?;
        let mut writes = Vec::new();
        if !self.begun {
            self.begin(snapshot, body.len() as u64, &mut writes)?;
        } else if self.is_full(body.len() as u64, snapshot.stamp.mono_ns) {
            if !key {
                key = true;
                body = self.body(snapshot, true, &mut summary, state)?;
            }
            self.close_segment(snapshot, &mut writes);
            self.next_slot(snapshot.stamp.mono_ns);
        }
        if self.position + self.needs(body.len() as u64) > self.room() {
            // Rather a sample without the judge's state than none.
            body = self.body(snapshot, key, &mut summary, &[])?;
        }
        if self.position + self.needs(body.len() as u64) > self.room() {
            // It would not fit into an empty segment either: forget the base, so that a smaller one may follow.
            self.base = None;
            return Err(Error::TooLarge(body.len() as u64));
        }
        let place = self.place();
        let stamp = snapshot.stamp;
        let kind = if key { Kind::Key } else { Kind::Delta };
        if key {
            self.remember(Kind::Key, self.number, (stamp.wall_ns, stamp.mono_ns), summary);
            self.last_key = Some(snapshot.clone());
            self.since_key = 0;
        }
        self.put(kind, self.number, (stamp.wall_ns, stamp.mono_ns), &body, &mut writes);
        self.since_key += 1;
        self.base = Some(snapshot.clone());
        if let Some(slot) = self.slots.get_mut(self.slot) {
            slot.last_mono_ns = stamp.mono_ns;
        }
        self.flush(&mut writes);
        self.number = self.number.saturating_add(1);
        Ok(Chunk { writes, place, samples: 1 })
    }

    /// Something that happened; none while it has to wait for the next sample.
    pub fn event(&mut self, event: Event) -> Option<Chunk> {
        if self.pending.len() < MAX_PENDING {
            self.pending.push((self.number, event));
        }
        let (mut writes, place) = (Vec::new(), self.place());
        if self.position > 0 {
            self.flush(&mut writes);
        }
        (!writes.is_empty()).then_some(Chunk { writes, place, samples: 0 })
    }

    /// The last bytes of a recording that is closed well; none if there is no sample.
    pub fn finish(&mut self) -> Option<Chunk> {
        if self.position == 0 {
            return None;
        }
        let (mut writes, place) = (Vec::new(), self.place());
        self.flush(&mut writes);
        let at = self.base.as_ref().map_or((0, 0), |base| (base.stamp.wall_ns, base.stamp.mono_ns));
        self.put(Kind::Index, self.number, at, &self.index.encode(), &mut writes);
        self.put(Kind::End, self.number, at, &[], &mut writes);
        Some(Chunk { writes, place, samples: 0 })
    }

    /// Goes on where a chunk could not be written, with a sample that needs no other.
    pub fn restart(&mut self, place: Place) {
        let here = self.slots.get(self.slot).is_some_and(|slot| slot.segment == place.segment);
        self.position = if here { place.position } else { 0 };
        let position = self.position;
        self.index.entries.retain(|entry| u64::from(entry.offset) < position);
        self.number = place.number;
        self.base = None;
        if self.slots.is_empty() || (place.position == 0 && place.number == 0) {
            // Not even the header was written.
            self.begun = false;
            self.slots.clear();
        }
    }

    /// A sample follows that is no neighbour of the last one: it needs no other.
    pub fn interrupt(&mut self) {
        self.base = None;
    }

    fn body(&mut self, snapshot: &Snapshot, key: bool, summary: &mut Summary, state: &[u8]) -> Result<Vec<u8>, Error> {
        let record = codec::encode(self.base.as_ref().filter(|_| !key), snapshot)?;
        if !key {
            return Ok(record.bytes);
        }
        // Between two key frames: it covers the minute and costs one frame of sixty.
        let mut window = Window::default();
        window.push(self.last_key.clone().unwrap_or_default());
        window.push(snapshot.clone());
        *summary = Summary::of(&self.deriver.frame(&window));
        Ok(key_body(summary, state, &record.bytes))
    }

    fn begin(&mut self, snapshot: &Snapshot, record: u64, writes: &mut Vec<(u64, Vec<u8>)>) -> Result<(), Error> {
        if let Some(limits) = self.limits {
            (self.segment_bytes, self.max_slots) = limits.layout(record)?;
        }
        let header = Header { segment_bytes: self.segment_bytes, about: self.about.clone() };
        writes.push((0, header.encode()));
        let mono_ns = snapshot.stamp.mono_ns;
        self.slots = vec![Slot { segment: 0, first_mono_ns: mono_ns, last_mono_ns: mono_ns }];
        (self.slot, self.position, self.begun) = (0, 0, true);
        Ok(())
    }

    /// Bytes that a body takes with everything that must still fit behind it: its head, the index with one more entry,
    /// the end, the tail.
    fn needs(&self, body: u64) -> u64 {
        HEAD_BYTES as u64 * 2 + body + self.index.bytes() + 64 + TAIL_BYTES as u64
    }

    fn room(&self) -> u64 {
        if self.limits.is_some() { self.segment_bytes } else { u64::MAX }
    }

    fn is_full(&self, body: u64, mono_ns: u64) -> bool {
        let Some(limits) = self.limits else { return false };
        let first = self.slots.get(self.slot).map_or(mono_ns, |slot| slot.first_mono_ns);
        let old = limits.max_age_ns > 0 && mono_ns.saturating_sub(first) > limits.max_age_ns / SLOTS;
        self.position > 0 && (old || self.position + self.needs(body) > self.room())
    }

    fn place(&self) -> Place {
        let segment = self.slots.get(self.slot).map_or(0, |slot| slot.segment);
        Place { segment, position: self.position, number: self.number }
    }

    fn start(&self) -> u64 {
        HEADER_BYTES as u64 + self.slot as u64 * self.segment_bytes
    }

    fn remember(&mut self, kind: Kind, number: u32, at: (i64, u64), summary: Summary) {
        // A stream has no index: it has no end that anybody could go to.
        if self.limits.is_some() {
            let offset = self.position as u32;
            self.index.entries.push(Entry { offset, kind, number, wall_ns: at.0, mono_ns: at.1, summary });
        }
    }

    fn put(&mut self, kind: Kind, number: u32, at: (i64, u64), body: &[u8], writes: &mut Vec<(u64, Vec<u8>)>) {
        let segment = self.slots.get(self.slot).map_or(0, |slot| slot.segment);
        let record = Head::record(kind, segment, number, at, body);
        let offset = self.start() + self.position;
        self.position += record.len() as u64;
        match writes.last_mut() {
            Some((start, bytes)) if *start + bytes.len() as u64 == offset => bytes.extend_from_slice(&record),
            _ => writes.push((offset, record)),
        }
    }

    /// Writes the events that wait, as far as the segment has room.
    fn flush(&mut self, writes: &mut Vec<(u64, Vec<u8>)>) {
        for (number, event) in std::mem::take(&mut self.pending) {
            let body = event.what.encode();
            if self.position + self.needs(body.len() as u64) > self.room() {
                self.pending.push((number, event));
                continue;
            }
            let at = (event.wall_ns, event.mono_ns);
            self.remember(Kind::Event, number, at, Summary::default());
            self.put(Kind::Event, number, at, &body, writes);
        }
    }

    fn close_segment(&mut self, next: &Snapshot, writes: &mut Vec<(u64, Vec<u8>)>) {
        let (offset, index) = (self.position as u32, std::mem::take(&mut self.index));
        let at = (next.stamp.wall_ns, next.stamp.mono_ns);
        self.put(Kind::Index, self.number, at, &index.encode(), writes);
        let segment = self.slots.get(self.slot).map_or(0, |slot| slot.segment);
        writes.push((self.start() + self.segment_bytes - TAIL_BYTES as u64, tail(segment, offset).to_vec()));
    }

    /// Goes on in a new slot, or in the one with the oldest samples.
    fn next_slot(&mut self, mono_ns: u64) {
        let newest = self.slots.iter().map(|slot| slot.segment).max().unwrap_or(0);
        let fresh = Slot { segment: newest.saturating_add(1), first_mono_ns: mono_ns, last_mono_ns: mono_ns };
        let others = self.slots.iter().enumerate().filter(|(at, _)| *at != self.slot);
        let oldest = others.min_by_key(|(_, slot)| slot.segment).map(|(at, slot)| (at, slot.last_mono_ns));
        let max_age_ns = self.limits.map_or(0, |limits| limits.max_age_ns);
        let reuse = oldest.filter(|(_, last)| {
            let expired = max_age_ns > 0 && mono_ns.saturating_sub(*last) > max_age_ns;
            expired || self.slots.len() >= self.max_slots
        });
        if let Some((at, _)) = reuse {
            self.slot = at;
            if let Some(slot) = self.slots.get_mut(at) {
                *slot = fresh;
            }
        } else {
            self.slot = self.slots.len();
            self.slots.push(fresh);
        }
        self.position = 0;
    }
}
