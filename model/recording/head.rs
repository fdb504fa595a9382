//! The head of every record.

/// Bytes of a head.
pub const HEAD_BYTES: usize = 36;
/// How a head begins; its fourth byte is the kind.
pub const SYNC: [u8; 3] = [0xb7, b'T', b'p'];
/// The longest valid body.
pub const MAX_BODY: u32 = 64 << 20;

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A sample that needs no other.
    Key,
    /// A sample as a difference to the one before it.
    Delta,
    /// Something that happened: JSON.
    Event,
    /// Where a segment's key frames and events are.
    Index,
    /// Nothing follows: the recording was closed well.
    End,
}

impl Kind {
    const ALL: [Self; 5] = [Self::Key, Self::Delta, Self::Event, Self::Index, Self::End];

    fn code(self) -> u8 {
        match self {
            Self::Key => 1,
            Self::Delta => 2,
            Self::Event => 3,
            Self::Index => 4,
            Self::End => 5,
        }
    }

    /// True for samples.
    pub fn is_sample(self) -> bool {
        matches!(self, Self::Key | Self::Delta)
    }
}

/// A record's head: 36 bytes, little endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// What it is.
    pub kind: Kind,
    /// The segment it belongs to; in a slot that is used again, older records have a smaller one.
    pub segment: u32,
    /// Bytes of the body.
    pub length: u32,
    /// The number of the sample, or of the next one where it is none.
    pub number: u32,
    /// Wall time in ns since 1970.
    pub wall_ns: i64,
    /// CLOCK_MONOTONIC in ns.
    pub mono_ns: u64,
    /// Checksum of the head before it and of the body.
    pub crc: u32,
}

impl Head {
    /// A whole record: head and body.
    pub fn record(kind: Kind, segment: u32, number: u32, at: (i64, u64), body: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEAD_BYTES + body.len());
        out.extend_from_slice(&SYNC);
        out.push(kind.code());
        out.extend_from_slice(&segment.to_le_bytes());
        out.extend_from_slice(&(body.len() as u32).to_le_bytes());
        out.extend_from_slice(&number.to_le_bytes());
        out.extend_from_slice(&at.0.to_le_bytes());
        out.extend_from_slice(&at.1.to_le_bytes());
        let crc = checksum(&out, body);
        out.extend_from_slice(&crc.to_le_bytes());
        out.extend_from_slice(body);
        out
    }

    /// The head that bytes begin with; its body is not looked at. None if they are no head, or one of a kind that a
    /// later version may have: whoever scans goes on at the next sync word.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; HEAD_BYTES] = bytes.get(..HEAD_BYTES)?.try_into().ok()?;
        if !bytes.starts_with(&SYNC) {
            return None;
        }
        let kind = Kind::ALL.into_iter().find(|kind| kind.code() == bytes[3])?;
        let length = word(bytes, 8);
        (length <= MAX_BODY).then(|| Self {
            kind,
            segment: word(bytes, 4),
            length,
            number: word(bytes, 12),
            wall_ns: long(bytes, 16) as i64,
            mono_ns: long(bytes, 24),
            crc: word(bytes, 32),
        })
    }

    /// Bytes of the whole record.
    pub fn bytes(&self) -> u64 {
        HEAD_BYTES as u64 + u64::from(self.length)
    }

    /// True if `record` (head and body) is what was written.
    pub fn proves(&self, record: &[u8]) -> bool {
        let body = record.get(HEAD_BYTES..).filter(|body| body.len() as u64 == u64::from(self.length));
        let head = record.get(..HEAD_BYTES - 4);
        head.zip(body).is_some_and(|(head, body)| checksum(head, body) == self.crc)
    }
}

fn checksum(head: &[u8], body: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(head);
    crc.update(body);
    crc.finalize()
}

fn word(bytes: &[u8; HEAD_BYTES], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|part| part.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn long(bytes: &[u8; HEAD_BYTES], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|part| part.try_into().ok()).map_or(0, u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::{HEAD_BYTES, Head, Kind};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_record_gives_its_head_back(segment: u32, number: u32, wall_ns: i64, mono_ns: u64, body: Vec<u8>) {
            let record = Head::record(Kind::Delta, segment, number, (wall_ns, mono_ns), &body);
            let head = Head::parse(&record).ok_or_else(|| TestCaseError::fail("a head"))?;
            prop_assert_eq!((head.kind, head.segment, head.number), (Kind::Delta, segment, number));
            prop_assert_eq!((head.wall_ns, head.mono_ns, head.bytes()), (wall_ns, mono_ns, record.len() as u64));
            prop_assert!(head.proves(&record));
        }

        #[test]
        fn one_changed_bit_is_seen(body: Vec<u8>, at: usize, bit in 0u8..8) {
            let mut record = Head::record(Kind::Key, 1, 2, (3, 4), &body);
            let at = at % record.len();
            record[at] ^= 1 << bit;
            prop_assert!(!Head::parse(&record).is_some_and(|head| head.proves(&record)));
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = Head::parse(&bytes).map(|head| head.proves(&bytes));
        }
    }

    #[test]
    fn a_head_has_its_size() {
        assert_eq!(Head::record(Kind::End, 0, 0, (0, 0), &[]).len(), HEAD_BYTES);
    }
}
