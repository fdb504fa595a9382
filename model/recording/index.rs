//! Where a segment's key frames and events are.

use super::summary::Summary;
use super::{HEAD_BYTES, Kind, SYNC};

/// Bytes at the end of a slot: the position of its index.
pub const TAIL_BYTES: usize = 16;
/// Bytes of an entry.
const ENTRY: usize = 41;

/// A key frame or an event of a segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// Where its record is, from the start of the slot.
    pub offset: u32,
    /// Key or event.
    pub kind: Kind,
    /// The number of the sample, or of the one after the event.
    pub number: u32,
    /// Wall time in ns since 1970.
    pub wall_ns: i64,
    /// CLOCK_MONOTONIC in ns.
    pub mono_ns: u64,
    /// A key frame's summary of the minute before it.
    pub summary: Summary,
}

/// Everything in a segment that is worth going to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Index {
    /// In the order of the segment.
    pub entries: Vec<Entry>,
}

impl Index {
    /// Bytes of its record.
    pub(super) fn bytes(&self) -> u64 {
        (HEAD_BYTES + self.entries.len() * ENTRY) as u64
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.entries.len() * ENTRY);
        for entry in &self.entries {
            out.extend_from_slice(&entry.offset.to_le_bytes());
            out.push(u8::from(entry.kind == Kind::Event));
            out.extend_from_slice(&entry.number.to_le_bytes());
            out.extend_from_slice(&entry.wall_ns.to_le_bytes());
            out.extend_from_slice(&entry.mono_ns.to_le_bytes());
            out.extend_from_slice(&entry.summary.encode());
        }
        out
    }

    /// The index of a body; what is left over at its end is ignored.
    pub fn parse(body: &[u8]) -> Self {
        Self { entries: body.chunks_exact(ENTRY).filter_map(entry).collect() }
    }
}

fn entry(bytes: &[u8]) -> Option<Entry> {
    let (offset, rest) = bytes.split_first_chunk::<4>()?;
    let (kind, rest) = rest.split_first()?;
    let (number, rest) = rest.split_first_chunk::<4>()?;
    let (wall, rest) = rest.split_first_chunk::<8>()?;
    let (mono, summary) = rest.split_first_chunk::<8>()?;
    Some(Entry {
        offset: u32::from_le_bytes(*offset),
        kind: if *kind == 0 { Kind::Key } else { Kind::Event },
        number: u32::from_le_bytes(*number),
        wall_ns: i64::from_le_bytes(*wall),
        mono_ns: u64::from_le_bytes(*mono),
        summary: Summary::parse(summary),
    })
}

/// The bytes at the end of a full slot: where in it the index is.
pub fn tail(segment: u32, offset: u32) -> [u8; TAIL_BYTES] {
    let mut out = [0; TAIL_BYTES];
    let parts = [u32::from_le_bytes([SYNC[0], SYNC[1], SYNC[2], b'#']), segment, offset];
    for (place, part) in out.chunks_exact_mut(4).zip(parts.into_iter().chain([sum(parts)])) {
        place.copy_from_slice(&part.to_le_bytes());
    }
    out
}

/// Where the index of a segment is, by the slot's last bytes.
pub fn index_at(bytes: &[u8], segment: u32) -> Option<u32> {
    let offset = u32::from_le_bytes(bytes.get(8..12)?.try_into().ok()?);
    (bytes == tail(segment, offset)).then_some(offset)
}

fn sum(parts: [u32; 3]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    for part in parts {
        crc.update(&part.to_le_bytes());
    }
    crc.finalize()
}

#[cfg(test)]
mod tests {
    use super::{Entry, Index, Kind, Summary, index_at, tail};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_index_comes_back(offsets: Vec<u32>, wall_ns: i64) {
            let entry = |&offset| Entry {
                offset,
                kind: if offset % 2 == 0 { Kind::Key } else { Kind::Event },
                number: offset / 2,
                wall_ns,
                mono_ns: u64::from(offset) << 20,
                summary: Summary::default(),
            };
            let index = Index { entries: offsets.iter().map(entry).collect() };
            prop_assert_eq!(Index::parse(&index.encode()), index);
        }

        #[test]
        fn a_tail_is_its_segments_own(segment: u32, other: u32, offset: u32) {
            prop_assert_eq!(index_at(&tail(segment, offset), segment), Some(offset));
            prop_assert_eq!(index_at(&tail(segment, offset), other).is_some(), segment == other);
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = Index::parse(&bytes);
            let _ = index_at(&bytes, 1);
        }
    }
}
