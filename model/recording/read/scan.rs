//! From one head to the next; past damage to the next record that proves itself.

use super::{Damage, ReadAt, Segment, When, read_full, when};
use crate::locale::recording::damage as text;
use crate::recording::{HEAD_BYTES, Head, Kind, SYNC, TAIL_BYTES};

/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;
/// Bytes that are checksummed in search of a record, for each byte that is searched: a file made of heads that promise
/// much must not take for ever.
const PROOF_RATIO: u64 = 4;
/// The same beside it.
const FREE_PROOF: u64 = 64 << 20;
/// Events of a segment that are kept: the newest.
const MAX_EVENTS: usize = 4096;
/// The most places of a segment, as of a month and a half at a sample a second: a table takes 32 bytes for each.
const MAX_PLACES: usize = 1 << 22;
/// A record that was not written to its end is waited for up to this size.
pub(super) const MOST_RECORD: u64 = 64 << 20;

/// A piece of the file.
#[derive(Debug, Default)]
pub(super) struct Window {
    bytes: Vec<u8>,
    at: u64,
    /// Bytes that may still be checksummed in search of records.
    proof: u64,
    /// The size of the file that this was reckoned from.
    size: u64,
    /// How often the file was looked at anew.
    looks: u64,
}

impl Window {
    /// Looks again: the file may have changed, and have this size now.
    pub(super) fn forget(&mut self, size: u64) {
        self.bytes.clear();
        self.looks += 1;
        let free = if self.size == 0 { FREE_PROOF } else { 0 };
        let grown = size.saturating_sub(self.size).saturating_mul(PROOF_RATIO);
        self.proof = self.proof.saturating_add(grown).saturating_add(free);
        self.size = self.size.max(size);
    }

    /// Bytes at an offset; fewer at the end of the file, none past it or where it cannot be read.
    pub(super) fn get(&mut self, source: &impl ReadAt, offset: u64, len: usize) -> Option<&[u8]> {
        let len = len.min(CHUNK);
        let inside = |at: u64, held: usize| offset >= at && offset + len as u64 <= at + held as u64;
        if !inside(self.at, self.bytes.len()) {
            self.bytes.resize(CHUNK, 0);
            let count = read_full(source, offset, &mut self.bytes).unwrap_or(0);
            self.bytes.truncate(count);
            self.at = offset;
        }
        let from = usize::try_from(offset - self.at).ok()?;
        let rest = self.bytes.get(from..)?;
        rest.get(..len.min(rest.len())).filter(|rest| !rest.is_empty())
    }

    /// The first record from `start` on that is what was written and that pleases; where to go on when there is more of
    /// the file otherwise.
    pub(super) fn resync(
        &mut self,
        source: &impl ReadAt,
        start: u64,
        end: u64,
        pleases: impl Fn(&Head) -> bool,
    ) -> Result<(u64, Head), u64> {
        let mut at = start;
        let mut unfinished = None;
        while at + HEAD_BYTES as u64 <= end {
            let Some(bytes) = self.get(source, at, CHUNK) else { break };
            let Some(found) = bytes.windows(SYNC.len()).position(|window| window == SYNC) else {
                let blank = bytes.iter().all(|&byte| byte == 0);
                at += bytes.len().saturating_sub(SYNC.len() - 1).max(1) as u64;
                if blank {
                    // A hole of gigabytes costs no more than one of bytes.
                    at = at.max(source.next_data(at));
                }
                continue;
            };
            at += found as u64;
            let head = self.get(source, at, HEAD_BYTES).and_then(Head::parse);
            if let Some(head) = head.filter(&pleases) {
                if at + head.bytes() > end {
                    // It may be whole one day, if it promises no more than records have.
                    unfinished = unfinished.or((head.bytes() <= MOST_RECORD).then_some(at));
                } else if let Some(proof) = self.proof.checked_sub(head.bytes()) {
                    self.proof = proof;
                    if read_record(source, at, &head).is_some() {
                        return Ok((at, head));
                    }
                } else {
                    return Err(unfinished.unwrap_or(at));
                }
            }
            at += 1;
        }
        Err(unfinished.unwrap_or(at.min(end)))
    }
}

/// A whole record, if it is what was written.
pub(super) fn read_record(source: &impl ReadAt, offset: u64, head: &Head) -> Option<Vec<u8>> {
    let len = usize::try_from(head.bytes()).ok()?;
    // The caller has compared the length with the end of the file.
    let mut record = vec![0; len];
    let count = read_full(source, offset, &mut record).ok()?;
    (count == len && head.proves(&record)).then_some(record)
}

/// A record's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) offset: u64,
    pub(super) kind: Kind,
    pub(super) number: u32,
    pub(super) when: When,
}

/// The samples and events of a segment.
#[derive(Debug, Default)]
pub(super) struct Table {
    places: Vec<Place>,
    /// Where to go on.
    scanned_to: u64,
    /// True when nothing can follow.
    done: bool,
    next_number: u32,
    /// How many of the places are events.
    events: usize,
    /// The look at the file at which nothing was found from `scanned_to` on.
    vain: Option<u64>,
}

impl Table {
    /// Its samples, oldest first.
    pub(super) fn samples(&self) -> impl DoubleEndedIterator<Item = &Place> {
        self.places.iter().filter(|place| place.kind.is_sample())
    }

    /// Those after a sample; places are ordered by their numbers.
    pub(super) fn samples_after(&self, number: Option<u32>) -> impl Iterator<Item = &Place> {
        let from = number.map_or(0, |number| self.places.partition_point(|place| place.number <= number));
        self.places.get(from..).unwrap_or_default().iter().filter(|place| place.kind.is_sample())
    }

    /// Those up to a sample.
    pub(super) fn samples_to(&self, number: u32) -> impl DoubleEndedIterator<Item = &Place> {
        let to = self.places.partition_point(|place| place.number <= number);
        self.places.get(..to).unwrap_or_default().iter().filter(|place| place.kind.is_sample())
    }

    /// Its key frames and events.
    pub(super) fn marks(&self) -> impl Iterator<Item = &Place> {
        self.places.iter().filter(|place| place.kind != Kind::Delta)
    }

    /// A sample and where in the table it is.
    pub(super) fn sample(&self, number: u32) -> Option<(usize, &Place)> {
        // Events have the number of the sample after them: the sample is the last of its number.
        let after = self.places.partition_point(|place| place.number <= number);
        let before = self.places.get(..after)?.iter().enumerate().rev();
        before.take_while(|(_, place)| place.number == number).find(|(_, place)| place.kind.is_sample())
    }

    /// Where a sample is, and where the place before it is.
    pub(super) fn around(&self, number: u32) -> Option<(Option<u64>, u64)> {
        let (at, place) = self.sample(number)?;
        let before = at.checked_sub(1).and_then(|before| self.places.get(before));
        Some((before.map(|before| before.offset), place.offset))
    }

    /// The places of samples from one position of the table to another.
    pub(super) fn between(&self, from: usize, to: usize) -> impl Iterator<Item = &Place> {
        self.places.get(from..=to).unwrap_or_default().iter().filter(|place| place.kind.is_sample())
    }

    /// The position of the key frame at or before a position.
    pub(super) fn key_before(&self, at: usize) -> Option<usize> {
        self.places.get(..=at)?.iter().rposition(|place| place.kind == Kind::Key)
    }

    /// How many places there are.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Where more may follow; none after the end.
    pub(super) fn open_end(&self) -> Option<u64> {
        (!self.done).then_some(self.scanned_to)
    }

    /// Scans what was not scanned yet; returns what is damaged.
    pub(super) fn extend(
        &mut self,
        source: &impl ReadAt,
        bytes: &mut Window,
        segment: Segment,
        is_newest: bool,
    ) -> Vec<Damage> {
        let mut damage = Vec::new();
        if self.vain == Some(bytes.looks) {
            return damage;
        }
        let mut at = self.scanned_to.max(segment.start);
        while !self.done && at + HEAD_BYTES as u64 <= segment.end {
            let head = bytes.get(source, at, HEAD_BYTES).and_then(Head::parse);
            if let Some(head) = head.filter(|head| head.segment == segment.id && at + head.bytes() <= segment.end) {
                self.take(at, &head);
                at += head.bytes();
                continue;
            }
            let Ok((next, _)) = bytes.resync(source, at + 1, segment.end, |head| head.segment == segment.id) else {
                // What was not overwritten yet of an older segment may follow the newest one.
                if !is_newest {
                    damage.push(lost(at, segment.end - at, text::END_LOST.as_str()));
                    self.done = true;
                }
                self.vain = Some(bytes.looks);
                break;
            };
            damage.push(lost(at, next - at, text::RECORDS_LOST.as_str()));
            at = next;
        }
        self.scanned_to = at;
        damage
    }

    fn take(&mut self, offset: u64, head: &Head) {
        match head.kind {
            Kind::Index | Kind::End => self.done = true,
            Kind::Event => {
                // Events were written when they happened, and have the number of what came after.
                let number = head.number.max(self.newest());
                self.places.push(Place { offset, kind: head.kind, number, when: when(head) });
                self.events += 1;
                if self.events > 2 * MAX_EVENTS {
                    self.forget_events();
                }
            }
            Kind::Key | Kind::Delta if self.places.len() >= MAX_PLACES => self.done = true,
            Kind::Key | Kind::Delta
                if self.places.is_empty() || (head.number >= self.next_number && head.number >= self.newest()) =>
            {
                self.next_number = head.number.saturating_add(1);
                self.places.push(Place { offset, kind: head.kind, number: head.number, when: when(head) });
            }
            Kind::Key | Kind::Delta => {}
        }
    }

    /// The number of the last place.
    fn newest(&self) -> u32 {
        self.places.last().map_or(0, |place| place.number)
    }

    /// Keeps the newest events: more are never given back.
    fn forget_events(&mut self) {
        let mut old = self.events - MAX_EVENTS;
        self.places.retain(|place| {
            let is_old = place.kind == Kind::Event && old > 0;
            old -= usize::from(is_old);
            !is_old
        });
        self.events = MAX_EVENTS;
    }
}

fn lost(offset: u64, bytes: u64, what: &str) -> Damage {
    Damage { offset, bytes, what: what.to_owned() }
}

/// Where the tail of a slot is.
pub(super) fn tail_at(segment: Segment) -> Option<u64> {
    segment.end.checked_sub(TAIL_BYTES as u64)
}
