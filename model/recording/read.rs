//! A recording read back: opened at once whatever its length, sought by time, played on, followed while it grows.

mod contents;
mod find;
mod play;
mod scan;

use super::{About, Error, HEAD_BYTES, HEADER_BYTES, Head, Header, Kind};
use crate::locale::recording::damage as text;
use find::Searched;
use scan::{Table, Window as Bytes};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// The most slots that a file may have: half a terabyte of the usual ones.
const MAX_SLOTS: u64 = 1 << 16;
/// The smallest valid slot, in bytes.
const LEAST_SLOT: u64 = 32 << 10;
/// The damaged places that are distinguished.
const MAX_DAMAGE: usize = 256;
/// Segments whose places are remembered: a step over a boundary needs two.
const TABLES: usize = 3;

/// The size of the pieces that a stream is searched in, in bytes.
const PIECE: u64 = 8 << 20;

/// Bytes at any place: a file, or memory.
pub trait ReadAt {
    /// Reads at an offset as much as there is, up to the length of `buf`.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> std::io::Result<usize>;

    /// How many bytes there are.
    fn size(&self) -> std::io::Result<u64>;

    /// The first offset from this one on that is not in a hole; the size where there is none.
    fn next_data(&self, offset: u64) -> u64 {
        offset
    }
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> std::io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.get(offset..)).unwrap_or_default();
        let count = rest.len().min(buf.len());
        if let (Some(to), Some(from)) = (buf.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        Ok(count)
    }

    fn size(&self) -> std::io::Result<u64> {
        Ok(self.len() as u64)
    }
}

/// When something was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct When {
    /// Wall time in ns since 1970.
    pub wall_ns: i64,
    /// CLOCK_MONOTONIC in ns.
    pub mono_ns: u64,
}

/// Bytes that are no longer what was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", text::Place { offset: &.offset, what: &.what })]
pub struct Damage {
    /// Where in the file.
    pub offset: u64,
    /// How many bytes.
    pub bytes: u64,
    /// What is wrong with them.
    pub what: String,
}

/// Records that follow each other in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    /// Its number; those with larger ones are newer.
    id: u32,
    /// Where it begins.
    start: u64,
    /// Where it ends at the latest.
    end: u64,
    /// The number of its first sample.
    number: u32,
    /// When that was taken.
    when: When,
}

/// Where the next sample is decoded from.
#[derive(Debug)]
struct Cursor {
    /// The current sample; the next one is the first with a larger number.
    number: u32,
    /// That sample, unless it is damaged.
    base: Option<crate::Snapshot>,
}

/// An open recording.
#[derive(Debug)]
pub struct Reader<S> {
    source: S,
    header: Header,
    size: u64,
    /// By number.
    segments: Vec<Segment>,
    /// The newest last, each with the start of its segment and its number.
    tables: Vec<(u64, u32, Table)>,
    bytes: Bytes,
    cursor: Option<Cursor>,
    damage: Vec<Damage>,
    last: Option<(u32, When)>,
    /// How far a stream was searched.
    stream_to: u64,
    /// Slots that do not begin with a key frame: how they begin, where they end, and the first key frame in them.
    searched: BTreeMap<u64, Searched>,
}

impl<S: ReadAt> Reader<S> {
    /// Opens a recording; reads its header and where its segments begin.
    pub fn open(source: S) -> Result<Self, Error> {
        let mut reader = Self::begin(source)?;
        reader.refresh()?;
        Ok(reader)
    }

    /// Opens a recording; reads its header only: it has no samples before it is refreshed.
    pub fn begin(source: S) -> Result<Self, Error> {
        let mut block = vec![0; HEADER_BYTES];
        let count = read_full(&source, 0, &mut block)?;
        let header = Header::parse(block.get(..count).unwrap_or_default())?;
        if header.segment_bytes != 0 && header.segment_bytes < LEAST_SLOT {
            return Err(Error::Header);
        }
        Ok(Self {
            source,
            header,
            size: 0,
            segments: Vec::new(),
            tables: Vec::new(),
            bytes: Bytes::default(),
            cursor: None,
            damage: Vec::new(),
            last: None,
            stream_to: HEADER_BYTES as u64,
            searched: BTreeMap::new(),
        })
    }

    /// What was recorded.
    pub fn about(&self) -> &About {
        &self.header.about
    }

    /// Bytes of the file when it was last refreshed.
    pub fn bytes(&self) -> u64 {
        self.size
    }

    /// The numbers of the first and the last sample; none while there is no sample.
    pub fn numbers(&self) -> Option<RangeInclusive<u64>> {
        Some(u64::from(self.segments.first()?.number)..=u64::from(self.last?.0))
    }

    /// How many samples there are, damaged ones included.
    pub fn len(&self) -> u64 {
        self.numbers().map_or(0, |numbers| numbers.end() - numbers.start() + 1)
    }

    /// True without a sample.
    pub fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    /// When the first and the last sample were taken.
    pub fn span(&self) -> Option<(When, When)> {
        Some((self.segments.first()?.when, self.last?.1))
    }

    /// The damaged places that were met so far.
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }

    /// Where the file is truncated within a record; none where it ends after one, closed or not.
    pub fn cut_short(&mut self) -> Option<Damage> {
        let newest = self.segments.len().checked_sub(1)?;
        let segment = *self.segments.get(newest)?;
        let at = self.table(newest).open_end().filter(|&at| at < segment.end)?;
        let rest = segment.end - at;
        let bytes = self.bytes.get(&self.source, at, HEAD_BYTES)?;
        let begun = Head::parse(bytes).is_some_and(|head| head.segment == segment.id)
            || (rest < HEAD_BYTES as u64 && bytes.starts_with(&super::SYNC));
        begun.then(|| Damage { offset: at, bytes: rest, what: text::TRUNCATED.to_string() })
    }

    /// True if the recording was closed well: nothing will follow.
    pub fn is_closed(&mut self) -> bool {
        self.segments.len().checked_sub(1).is_some_and(|newest| self.table(newest).open_end().is_none())
    }

    /// Looks whether the file has more than before; true if it has.
    pub fn refresh(&mut self) -> Result<bool, Error> {
        let before = (self.segments.first().copied(), self.last);
        let known = self.size;
        self.size = self.source.size().map_err(|error| Error::Read(error.to_string()))?;
        self.bytes.forget(self.size);
        if self.header.segment_bytes == 0 {
            // What was searched in vain is searched again when there is more.
            if self.size != known {
                self.find_stream_segments();
            }
        } else {
            self.find_slots();
        }
        let segments = &self.segments;
        self.tables
            .retain(|(start, id, _)| segments.iter().any(|segment| (segment.start, segment.id) == (*start, *id)));
        self.find_last();
        Ok(before != (self.segments.first().copied(), self.last))
    }

    /// The number of the sample nearest to a wall time.
    pub fn locate(&mut self, wall_ns: i64) -> Option<u64> {
        // Clocks are set back: the last segment that began before is taken, and what is next to it.
        let after = self.segments.iter().rposition(|segment| segment.when.wall_ns <= wall_ns).unwrap_or(0);
        let mut best: Option<(u128, u32)> = None;
        for at in after..(after + 2).min(self.segments.len()) {
            for place in self.table(at).samples() {
                let distance = (i128::from(place.when.wall_ns) - i128::from(wall_ns)).unsigned_abs();
                if best.is_none_or(|best| distance < best.0) {
                    best = Some((distance, place.number));
                }
            }
        }
        best.map(|best| u64::from(best.1))
    }

    /// When a sample was taken; none if there is no such sample or its record is lost.
    pub fn when(&mut self, number: u64) -> Option<When> {
        let number = u32::try_from(number).ok()?;
        let at = self.segment_of(number)?;
        self.table(at).sample(number).map(|(_, place)| place.when)
    }

    /// What is wrong between a sample and the one before it, if anything is.
    pub fn lost_before(&mut self, number: u64) -> Option<Damage> {
        let number = u32::try_from(number).ok()?;
        let at = self.segment_of(number)?;
        let slot = self.header.segment_bytes;
        let (before, here) = self.table(at).around(number)?;
        // The first one of a segment: what is lost may be anywhere in its slot.
        let from = before.unwrap_or_else(|| here.saturating_sub(slot).max(HEADER_BYTES as u64));
        self.damage.iter().find(|damage| (from..here).contains(&damage.offset)).cloned()
    }

    /// The segment that a sample would be in.
    fn segment_of(&self, number: u32) -> Option<usize> {
        self.segments.partition_point(|segment| segment.number <= number).checked_sub(1)
    }

    fn find_last(&mut self) {
        self.last = None;
        for at in (0..self.segments.len()).rev() {
            let last = self.table(at).samples().next_back().map(|place| (place.number, place.when));
            self.last = last;
            if self.last.is_some() {
                return;
            }
        }
    }

    /// The places of a segment, found by scanning it where they are not remembered.
    fn table(&mut self, at: usize) -> &Table {
        let segment = self.segments.get(at).copied();
        let (start, id) = segment.map_or((0, 0), |segment| (segment.start, segment.id));
        let known = self.tables.iter().position(|table| (table.0, table.1) == (start, id));
        let mut entry = known.map_or_else(|| (start, id, Table::default()), |known| self.tables.remove(known));
        if let Some(segment) = segment {
            let is_newest = at + 1 == self.segments.len();
            for damage in entry.2.extend(&self.source, &mut self.bytes, segment, is_newest) {
                self.note(damage.offset, damage.bytes, &damage.what);
            }
        }
        while self.tables.len() >= TABLES {
            self.tables.remove(0);
        }
        self.tables.push(entry);
        // Pushed just now.
        &self.tables[self.tables.len() - 1].2
    }

    fn note(&mut self, offset: u64, bytes: u64, what: &str) {
        if self.damage.len() < MAX_DAMAGE && !self.damage.iter().any(|known| known.offset == offset) {
            self.damage.push(Damage { offset, bytes, what: what.to_owned() });
        }
    }
}

fn when(head: &Head) -> When {
    When { wall_ns: head.wall_ns, mono_ns: head.mono_ns }
}

/// Reads until `buf` is full or nothing is left; returns how much.
fn read_full(source: &impl ReadAt, offset: u64, buf: &mut [u8]) -> Result<usize, Error> {
    let mut done = 0;
    while let Some(rest) = buf.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match source.read_at(offset + done as u64, rest) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::Read(error.to_string())),
        }
    }
    Ok(done)
}
