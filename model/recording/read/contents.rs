//! What a recording holds besides samples: its events, and what its minutes were like.

use super::scan::{Place, tail_at};
use super::{HEAD_BYTES, ReadAt, Reader, When};
use crate::recording::{Event, Head, Index, Kind, Summary, TAIL_BYTES, What, index_at, split_key};

/// The events that are given back at most: the newest.
const MAX_EVENTS: usize = 4096;
/// The most minutes that are distinguished; more become pairs, then fours.
const MAX_MINUTES: usize = 4096;
/// The longest valid index, in bytes: beyond it the segment is scanned.
const MAX_INDEX: u64 = 1 << 20;

impl<S: ReadAt> Reader<S> {
    /// The events, oldest first, each with the number of the sample that came after it; the newest 4,096.
    pub fn events(&mut self) -> Vec<(u64, Event)> {
        let mut found = Vec::new();
        for at in (0..self.segments.len()).rev() {
            let places = self.marks(at).into_iter().map(|(place, _)| place);
            let events: Vec<Place> = places.filter(|place| place.kind == Kind::Event).collect();
            let room = MAX_EVENTS - found.len();
            found.extend(events.iter().rev().filter_map(|place| self.event(place)).take(room));
            if found.len() >= MAX_EVENTS {
                break;
            }
        }
        found.reverse();
        found
    }

    /// What the recording was like from one key frame to the next, oldest first; neighbours are one where there are
    /// more than 4,096, with the larger values of both.
    pub fn timeline(&mut self) -> Vec<(When, Summary)> {
        self.minutes().into_iter().map(|(_, when, summary)| (when, summary)).collect()
    }

    /// As [`Reader::timeline`], each with the number of its key frame.
    pub fn minutes(&mut self) -> Vec<(u64, When, Summary)> {
        let mut minutes: Vec<(u64, When, Summary)> = Vec::new();
        let (mut stride, mut taken) = (1usize, 0usize);
        for at in 0..self.segments.len() {
            for (place, summary) in self.marks(at) {
                if place.kind != Kind::Key {
                    continue;
                }
                match minutes.last_mut().filter(|_| taken % stride != 0) {
                    Some(last) => last.2 = last.2.larger(&summary),
                    None => minutes.push((u64::from(place.number), place.when, summary)),
                }
                taken += 1;
                if minutes.len() > MAX_MINUTES {
                    minutes = minutes.chunks(2).filter_map(pair).collect();
                    stride *= 2;
                    taken = minutes.len() * stride;
                }
            }
        }
        minutes
    }

    fn event(&mut self, place: &Place) -> Option<(u64, Event)> {
        let (_, record) = self.record(place)?;
        let what = What::parse(record.get(HEAD_BYTES..)?)?;
        Some((u64::from(place.number), Event { wall_ns: place.when.wall_ns, mono_ns: place.when.mono_ns, what }))
    }

    /// The key frames and events of a segment: from its index, or by scanning where it has none that fits.
    fn marks(&mut self, at: usize) -> Vec<(Place, Summary)> {
        if let Some(marks) = self.indexed(at) {
            return marks;
        }
        let places: Vec<Place> = self.table(at).marks().copied().collect();
        places.into_iter().map(|place| (place, self.summary(&place))).collect()
    }

    /// The summary at the start of a key frame; nothing but that is read.
    fn summary(&mut self, place: &Place) -> Summary {
        let body = self.bytes.get(&self.source, place.offset + HEAD_BYTES as u64, 17);
        let whole = body.filter(|_| place.kind == Kind::Key).map(|body| [body, &[0; 4]].concat());
        whole.and_then(|body| split_key(&body).map(|parts| parts.0)).unwrap_or_default()
    }

    fn indexed(&mut self, at: usize) -> Option<Vec<(Place, Summary)>> {
        let segment = self.segments.get(at).copied().filter(|_| self.header.segment_bytes > 0)?;
        let tail = self.bytes.get(&self.source, tail_at(segment)?, TAIL_BYTES)?.to_vec();
        let offset = segment.start + u64::from(index_at(&tail, segment.id)?);
        let head = self.bytes.get(&self.source, offset, HEAD_BYTES).and_then(Head::parse)?;
        let fits = head.kind == Kind::Index && head.segment == segment.id && offset + head.bytes() <= segment.end;
        if !fits || head.bytes() > MAX_INDEX {
            return None;
        }
        let place = Place { offset, kind: head.kind, number: head.number, when: super::when(&head) };
        let (_, record) = self.record(&place)?;
        let index = Index::parse(record.get(HEAD_BYTES..)?);
        let entry = |entry: &crate::recording::Entry| {
            let when = When { wall_ns: entry.wall_ns, mono_ns: entry.mono_ns };
            let offset = segment.start + u64::from(entry.offset);
            (Place { offset, kind: entry.kind, number: entry.number, when }, entry.summary)
        };
        Some(index.entries.iter().map(entry).collect())
    }
}

fn pair(pair: &[(u64, When, Summary)]) -> Option<(u64, When, Summary)> {
    let first = pair.first()?;
    Some((first.0, first.1, pair.get(1).map_or(first.2, |second| first.2.larger(&second.2))))
}
