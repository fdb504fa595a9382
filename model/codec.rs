//! Snapshots as bytes: column-wise deltas against a base, each record compressed for itself.
//!
//! A record is a version and blocks with a kind and a length each: the cells, by an arithmetic coder that learns as it
//! goes, and the texts that they name. Tables and columns go by their numeric ids; unknown ones are read past, absent
//! ones keep the base, unknown blocks are skipped by their length. `docs/recording.md` describes every bit.

mod cells;
mod changes;
mod numbers;
mod patterns;
mod range;
mod read;
mod rows;
mod script;
mod texts;
mod write;

use crate::snapshot::Tracks;
use crate::{Snapshot, Stamp, Window};
use std::cell::RefCell;

/// Version of a record's form.
const VERSION: u8 = 1;
/// The block of cells.
const CELLS: u8 = 1;
/// The block of texts as they are.
const TEXTS: u8 = 2;
/// The block of texts compressed by zstd.
const PACKED_TEXTS: u8 = 3;
/// The most texts that are unpacked, in bytes: 5,000 processes with the longest command lines have a tenth of it.
const MAX_TEXTS: usize = 32 << 20;
/// How many times its own size a block of texts may unpack to, beside [`FREE_TEXTS`]: real ones stay below 50.
const MAX_RATIO: usize = 512;
/// What any block of texts may unpack to, in bytes.
const FREE_TEXTS: usize = 1 << 20;
/// The highest slot that a table may use.
const MAX_ROWS: u64 = 1 << 18;
/// The rows, cells and pairs that any record may speak of, and those for each of its bytes: time is bounded by them.
const FREE_CELLS: usize = 1 << 18;
const MAX_CELLS_RATIO: usize = 64;
/// The cells that any record may make room for, in bytes, and those for each of its bytes: rows of which most are free
/// take little to write and much to hold.
const FREE_ROOM: usize = 16 << 20;
const MAX_ROOM_RATIO: usize = 1 << 10;
/// The most sections of a record and gaps of a section.
const MAX_LIST: usize = 1 << 12;
/// zstd levels of key frames, which are rare and have most of the texts, and of the others.
const LEVELS: (i32, i32) = (9, 3);
/// Texts below this are not worth packing.
const MIN_PACKED: usize = 48;
/// Buffers larger than this are not kept for the next record.
const MAX_KEPT: usize = 1 << 20;

/// The records before the one that is sought of which every section is kept.
const NEAR: usize = 3;

/// Why bytes are not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It ends before it should.
    #[error("the record is cut short")]
    Short,
    /// A number, length or text is not possible.
    #[error("the record is damaged")]
    Malformed,
    /// It is larger than any real one.
    #[error("the record asks for more than any machine has")]
    TooLarge,
    /// A difference without the sample before it.
    #[error("the record is a difference and the sample before it is not known")]
    NoBase,
    /// The compressed block does not decompress.
    #[error("the record's compression is damaged")]
    Compression,
    /// Written by a later version in another form.
    #[error("the record is of a later version")]
    Version,
}

/// One encoded sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// When the sample was taken.
    pub stamp: Stamp,
    /// True if it needs no base.
    pub key: bool,
    /// Its blocks.
    pub bytes: Vec<u8>,
}

/// What is kept from record to record for speed, never for the result.
#[derive(Default)]
struct Tools {
    scratch: write::Scratch,
    packers: [Option<zstd::bulk::Compressor<'static>>; 2],
    unpacker: Option<zstd::bulk::Decompressor<'static>>,
}

thread_local! {
    static TOOLS: RefCell<Tools> = RefCell::default();
}

/// Encodes a snapshot: as a difference to `base`, or whole. Pure: the same arguments give the same bytes.
pub fn encode(base: Option<&Snapshot>, new: &Snapshot) -> Result<Record, Error> {
    let bytes = TOOLS.with_borrow_mut(|tools| tools.encode(base, new))?;
    Ok(Record { stamp: new.stamp, key: base.is_none(), bytes })
}

impl Tools {
    fn encode(&mut self, base: Option<&Snapshot>, new: &Snapshot) -> Result<Vec<u8>, Error> {
        let written = write::snapshot(base, new, &mut self.scratch);
        let result = written.and_then(|()| self.blocks(base.is_none()));
        if self.scratch.size() > MAX_KEPT {
            self.scratch = write::Scratch::default();
        }
        result
    }

    fn blocks(&mut self, key: bool) -> Result<Vec<u8>, Error> {
        let texts = &self.scratch.texts.bytes;
        let mut packed = None;
        if texts.len() >= MIN_PACKED {
            let (packer, level) = if key { (&mut self.packers[0], LEVELS.0) } else { (&mut self.packers[1], LEVELS.1) };
            if packer.is_none() {
                *packer = Some(zstd::bulk::Compressor::new(level).map_err(|_| Error::Compression)?);
            }
            if let Some(packer) = packer {
                let bytes = packer.compress(texts).map_err(|_| Error::Compression)?;
                packed = Some(bytes).filter(|bytes| bytes.len() < texts.len());
            }
        }
        let mut out = Vec::with_capacity(self.scratch.cells.len() + packed.as_ref().unwrap_or(texts).len() + 16);
        out.push(VERSION);
        match &packed {
            Some(packed) => block(&mut out, PACKED_TEXTS, packed),
            None if texts.is_empty() => {}
            None => block(&mut out, TEXTS, texts),
        }
        block(&mut out, CELLS, &self.scratch.cells);
        Ok(out)
    }
}

/// Appends a block: its kind, its length with 7 bits a byte, lowest first, and its bytes.
fn block(out: &mut Vec<u8>, kind: u8, bytes: &[u8]) {
    out.push(kind);
    let mut len = bytes.len();
    while len >= 0x80 {
        out.push(len as u8 | 0x80);
        len >>= 7;
    }
    out.push(len as u8);
    out.extend_from_slice(bytes);
}

/// Decodes a record; a difference needs the snapshot that it was made against.
///
/// Whatever stands in a record, beside its base it takes at most 64 MiB and 8 KiB for each byte of the record.
pub fn decode(base: Option<&Snapshot>, record: &Record) -> Result<Snapshot, Error> {
    let mut out = match base {
        Some(base) => base.clone(),
        None if record.key => Snapshot::default(),
        None => return Err(Error::NoBase),
    };
    decode_into(&mut out, record)?;
    Ok(out)
}

/// Makes the snapshot that a record was made against into the one that it is of. Sections that it says nothing of stay
/// shared; others are changed in place unless somebody else holds them. After an error the snapshot is of no use.
pub fn decode_into(snapshot: &mut Snapshot, record: &Record) -> Result<(), Error> {
    if record.key {
        *snapshot = Snapshot::default();
    }
    let (mut cells, mut texts) = (None, std::borrow::Cow::Borrowed(&[][..]));
    let (&version, mut rest) = record.bytes.split_first().ok_or(Error::Short)?;
    if version != VERSION {
        return Err(Error::Version);
    }
    while let Some((&kind, after)) = rest.split_first() {
        let bytes = split_block(&mut rest, after)?;
        match kind {
            CELLS => cells = Some(bytes),
            TEXTS => texts = bytes.into(),
            PACKED_TEXTS => texts = unpack(bytes)?.into(),
            // Something of a later version.
            _ => {}
        }
    }
    read::snapshot(snapshot, cells.ok_or(Error::Short)?, &texts, record.bytes.len())
}

/// The window after some records, the first of them a key frame: as if each were decoded and pushed, but most of them
/// are decoded in place.
pub fn window(records: &[Record]) -> Result<Window, Error> {
    let (mut window, mut tracks) = (Window::default(), Tracks::default());
    for (index, record) in records.iter().enumerate() {
        let near = records.len() - index <= NEAR;
        window.step(&mut tracks, near, |now| decode_next(index == 0, now, record))?;
    }
    if tracks.are_whole() {
        return Ok(window);
    }
    // A section that was read every time no longer is: rare enough to begin again.
    let (mut window, mut tracks) = (Window::default(), Tracks::default());
    for (index, record) in records.iter().enumerate() {
        window.step(&mut tracks, true, |now| decode_next(index == 0, now, record))?;
    }
    Ok(window)
}

fn decode_next(first: bool, now: &mut Snapshot, record: &Record) -> Result<(), Error> {
    if first && !record.key { Err(Error::NoBase) } else { decode_into(now, record) }
}

/// The bytes of a block whose length comes next; `rest` goes on behind it.
fn split_block<'a>(rest: &mut &'a [u8], mut after: &'a [u8]) -> Result<&'a [u8], Error> {
    let mut len = 0usize;
    for shift in (0..5).map(|index| index * 7) {
        let (&byte, tail) = after.split_first().ok_or(Error::Short)?;
        after = tail;
        len |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            let (bytes, tail) = after.split_at_checked(len).ok_or(Error::Short)?;
            *rest = tail;
            return Ok(bytes);
        }
    }
    Err(Error::Malformed)
}

/// Packed texts, if the size that they say that they have is believable: so much memory is taken for them.
fn unpack(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let told = zstd::zstd_safe::get_frame_content_size(bytes).ok().flatten().ok_or(Error::Compression)?;
    let most = bytes.len().saturating_mul(MAX_RATIO).saturating_add(FREE_TEXTS).min(MAX_TEXTS);
    let size = usize::try_from(told).ok().filter(|&size| size <= most).ok_or(Error::TooLarge)?;
    TOOLS.with_borrow_mut(|tools| {
        if tools.unpacker.is_none() {
            tools.unpacker = Some(zstd::bulk::Decompressor::new().map_err(|_| Error::Compression)?);
        }
        let unpacker = tools.unpacker.as_mut().ok_or(Error::Compression)?;
        unpacker.decompress(bytes, size).map_err(|_| Error::Compression)
    })
}

#[cfg(test)]
mod tests;
