//! Where segments begin: by slots, or by pieces of a stream. What was searched in vain is not searched again.

use super::scan::MOST_RECORD;
use super::{HEAD_BYTES, HEADER_BYTES, Head, Kind, MAX_SLOTS, PIECE, ReadAt, Reader, Segment, when};
use crate::locale::recording::damage as text;

/// What was found in a slot, as long as it begins and ends the same.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Searched {
    start: Vec<u8>,
    end: u64,
    found: Option<(u64, Head)>,
}

impl<S: ReadAt> Reader<S> {
    /// Slots by the heads that they begin with.
    pub(super) fn find_slots(&mut self) {
        let slot_bytes = self.header.segment_bytes;
        let count = self.size.saturating_sub(HEADER_BYTES as u64).div_ceil(slot_bytes).min(MAX_SLOTS);
        let mut found = Vec::new();
        let mut slot = 0;
        while slot < count {
            let start = HEADER_BYTES as u64 + slot * slot_bytes;
            let end = (start + slot_bytes).min(self.size);
            let data = self.source.next_data(start);
            if data >= end {
                slot = (data.saturating_sub(HEADER_BYTES as u64) / slot_bytes).max(slot + 1);
                continue;
            }
            slot += 1;
            match self.first_key(start, end) {
                Some((at, head)) => {
                    if at > start {
                        self.note(start, at - start, text::START_LOST.as_str());
                    }
                    found.push(Segment { id: head.segment, start: at, end, number: head.number, when: when(&head) });
                }
                None if !self.is_blank(start, end) => self.note(start, end - start, text::NO_KEY.as_str()),
                None => {}
            }
        }
        found.sort_by_key(|segment| segment.id);
        // Samples are numbered on through all segments: what does not fit in was not written here.
        let mut last: Option<Segment> = None;
        found.retain(|segment| {
            let fits = last.is_none_or(|last| last.id < segment.id && last.number < segment.number);
            if fits {
                last = Some(*segment);
            }
            fits
        });
        self.segments = found;
    }

    /// A stream has no slots: pieces of it that begin with key frames serve instead.
    pub(super) fn find_stream_segments(&mut self) {
        let mut at = self.stream_to;
        while at + HEAD_BYTES as u64 <= self.size {
            let head = self.bytes.get(&self.source, at, HEAD_BYTES).and_then(Head::parse);
            let Some(head) = head.filter(|head| at + head.bytes() <= self.size) else {
                let unfinished = head.is_some_and(|head| head.bytes() <= MOST_RECORD);
                match self.bytes.resync(&self.source, at + 1, self.size, |_| true) {
                    Ok((next, _)) => at = next,
                    Err(unsearched) => {
                        at = if unfinished { at } else { unsearched };
                        break;
                    }
                }
                continue;
            };
            let far = self.segments.last().is_none_or(|last| at - last.start >= PIECE && last.number < head.number);
            if head.kind == Kind::Key && far {
                let segment = Segment { id: 0, start: at, end: self.size, number: head.number, when: when(&head) };
                self.segments.push(segment);
            }
            at += head.bytes();
        }
        self.stream_to = at;
        let ends: Vec<u64> = self.segments.iter().skip(1).map(|next| next.start).chain([self.size]).collect();
        self.segments.iter_mut().zip(ends).for_each(|(segment, end)| segment.end = end);
    }

    /// The first whole key frame between two offsets.
    fn first_key(&mut self, start: u64, end: u64) -> Option<(u64, Head)> {
        let head = self.bytes.get(&self.source, start, HEAD_BYTES).and_then(Head::parse);
        match head.filter(|head| head.kind == Kind::Key && start + head.bytes() <= end) {
            Some(head) => {
                self.searched.remove(&start);
                Some((start, head))
            }
            None => self.searched_key(start, end),
        }
    }

    /// The same by searching, once for what begins and ends the same.
    fn searched_key(&mut self, start: u64, end: u64) -> Option<(u64, Head)> {
        let begins = self.bytes.get(&self.source, start, HEAD_BYTES).map(<[u8]>::to_vec).unwrap_or_default();
        if let Some(known) = self.searched.get(&start).filter(|known| known.start == begins && known.end == end) {
            return known.found;
        }
        let found = self.bytes.resync(&self.source, start, end, |head| head.kind == Kind::Key).ok();
        self.searched.insert(start, Searched { start: begins, end, found });
        found
    }

    fn is_blank(&mut self, start: u64, end: u64) -> bool {
        let len = usize::try_from(end - start).unwrap_or(usize::MAX).min(64);
        self.bytes.get(&self.source, start, len).is_none_or(|bytes| bytes.iter().all(|&byte| byte == 0))
    }
}
