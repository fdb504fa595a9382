//! Snapshots as bytes: column-wise differences to a base, each record compressed for itself.
//!
//! A record is a version and blocks with a kind and a length each: the cells as numbers of 7 bits a byte with the texts
//! that they name, compressed by zstd. Tables and columns go by their numeric ids; unknown ones are read past, absent
//! ones keep the base, unknown blocks are skipped by their length. `docs/recording.md` describes the form. Records of
//! version 1 had another one, which is still read.

mod arithmetic;
mod cells;
mod changes;
mod read;
mod rows;
mod source;
mod texts;
mod varint;
mod write;

use crate::locale::recording::codec as text;
use crate::snapshot::Tracks;
use crate::{Snapshot, Stamp, Window};
use arithmetic::Arithmetic;
use std::borrow::Cow;
use std::cell::RefCell;
use varint::Input;

/// Version of a record's form.
const VERSION: u8 = 2;
/// The block with the length of the cells, the cells and the texts.
const CONTENT: u8 = 1;
/// The same compressed by zstd.
const PACKED_CONTENT: u8 = 2;
/// The form whose cells were written by an arithmetic coder.
const ARITHMETIC: u8 = 1;
/// Its blocks: cells, texts, texts compressed by zstd.
const ARITHMETIC_CELLS: u8 = 1;
const ARITHMETIC_TEXTS: u8 = 2;
const ARITHMETIC_PACKED_TEXTS: u8 = 3;
/// The most that a block unpacks to, in bytes: 5,000 processes with the longest command lines have a tenth of it.
const MAX_CONTENT: usize = 32 << 20;
/// How many times its own size a block may unpack to, beside [`FREE_CONTENT`]: real ones stay below 50.
const MAX_RATIO: usize = 512;
/// What any block may unpack to, in bytes.
const FREE_CONTENT: usize = 1 << 20;
/// The highest slot that a table may use.
const MAX_ROWS: u64 = 1 << 18;
/// The rows, cells and pairs that any record may have, and those for each of its bytes: time is bounded by them.
const FREE_CELLS: usize = 1 << 18;
const MAX_CELLS_RATIO: usize = 64;
/// The cells that any record may make room for, in bytes, and those for each of its bytes: rows of which most are free
/// take little to write and much to hold.
const FREE_ROOM: usize = 16 << 20;
const MAX_ROOM_RATIO: usize = 1 << 10;
/// The same of any record: a machine of 1,152 CPUs and 5,000 processes has a fifth of it.
const MAX_ROOM: usize = 192 << 20;
/// The most sections of a record and gaps of a section.
const MAX_LIST: usize = 1 << 12;
/// zstd levels of key frames, which are rare and have most of the texts, and of the others, whose numbers no level packs
/// better.
const LEVELS: (i32, i32) = (9, 1);
/// Content below this is not worth packing.
const MIN_PACKED: usize = 48;
/// Buffers larger than this are freed after a record.
const MAX_KEPT: usize = 1 << 20;

/// The records before the requested one of which every section is retained.
const NEAR: usize = 3;

/// Why bytes are not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It ends before it should.
    #[error("{}", text::SHORT)]
    Short,
    /// A number, length or text is not possible.
    #[error("{}", text::MALFORMED)]
    Malformed,
    /// It is larger than any real one.
    #[error("{}", text::TOO_LARGE)]
    TooLarge,
    /// A difference without the sample before it.
    #[error("{}", text::NO_BASE)]
    NoBase,
    /// The compressed block does not decompress.
    #[error("{}", text::COMPRESSION)]
    Compression,
    /// Written by a later version in another form.
    #[error("{}", text::VERSION)]
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

/// What is reused from record to record for speed, without effect on the result.
#[derive(Default)]
struct Tools {
    scratch: write::Scratch,
    content: Vec<u8>,
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
        write::snapshot(base, new, &mut self.scratch);
        let result = self.blocks(base.is_none());
        if self.scratch.size() > MAX_KEPT {
            self.scratch = write::Scratch::default();
        }
        result
    }

    fn blocks(&mut self, key: bool) -> Result<Vec<u8>, Error> {
        let (cells, texts) = (&self.scratch.cells, &self.scratch.texts.bytes);
        self.content.clear();
        length(&mut self.content, cells.len());
        self.content.extend_from_slice(cells);
        self.content.extend_from_slice(texts);
        let mut packed = None;
        if self.content.len() >= MIN_PACKED {
            let (packer, level) = if key { (&mut self.packers[0], LEVELS.0) } else { (&mut self.packers[1], LEVELS.1) };
            if packer.is_none() {
                *packer = Some(zstd::bulk::Compressor::new(level).map_err(|_| Error::Compression)?);
            }
            if let Some(packer) = packer {
                let bytes = packer.compress(&self.content).map_err(|_| Error::Compression)?;
                packed = Some(bytes).filter(|bytes| bytes.len() < self.content.len());
            }
        }
        let (kind, content) = packed.as_ref().map_or((CONTENT, &self.content), |packed| (PACKED_CONTENT, packed));
        let mut out = Vec::with_capacity(content.len() + 8);
        out.push(VERSION);
        block(&mut out, kind, content);
        if self.content.capacity() > MAX_KEPT {
            self.content = Vec::new();
        }
        Ok(out)
    }
}

/// Appends a block: its kind, its length and its bytes.
fn block(out: &mut Vec<u8>, kind: u8, bytes: &[u8]) {
    out.push(kind);
    length(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// Appends a length with 7 bits a byte, lowest first.
fn length(out: &mut Vec<u8>, mut length: usize) {
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
}

/// Decodes a record; a difference needs the snapshot that it was made against.
///
/// Any record takes at most 64 MiB and 8 KiB for each of its bytes besides its base.
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
    let (&version, blocks) = record.bytes.split_first().ok_or(Error::Short)?;
    let size = record.bytes.len();
    let budget = size.saturating_mul(MAX_CELLS_RATIO).saturating_add(FREE_CELLS);
    match version {
        VERSION => {
            let content = content(blocks)?;
            let mut rest = &*content;
            let (cells, texts) = (split_length(&mut rest)?, rest);
            read::snapshot(snapshot, Input::new(cells, budget), texts, size)
        }
        ARITHMETIC => {
            let (cells, texts) = arithmetic_blocks(blocks)?;
            read::snapshot(snapshot, Arithmetic::new(cells, budget), &texts, size)
        }
        _ => Err(Error::Version),
    }
}

/// The content of a record's blocks.
fn content(mut rest: &[u8]) -> Result<Cow<'_, [u8]>, Error> {
    let mut content = Err(Error::Short);
    while let Some((&kind, after)) = rest.split_first() {
        rest = after;
        let bytes = split_length(&mut rest)?;
        match kind {
            CONTENT => content = Ok(bytes.into()),
            PACKED_CONTENT => content = Ok(unpack(bytes)?.into()),
            // Something of a later version.
            _ => {}
        }
    }
    content
}

/// The cells and texts of version 1.
fn arithmetic_blocks(mut rest: &[u8]) -> Result<(&[u8], Cow<'_, [u8]>), Error> {
    let (mut cells, mut texts) = (Err(Error::Short), Cow::Borrowed(&[][..]));
    while let Some((&kind, after)) = rest.split_first() {
        rest = after;
        let bytes = split_length(&mut rest)?;
        match kind {
            ARITHMETIC_CELLS => cells = Ok(bytes),
            ARITHMETIC_TEXTS => texts = bytes.into(),
            ARITHMETIC_PACKED_TEXTS => texts = unpack(bytes)?.into(),
            _ => {}
        }
    }
    Ok((cells?, texts))
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

/// The bytes whose length comes first; `rest` goes on behind them.
fn split_length<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], Error> {
    let mut length = 0usize;
    for shift in (0..5).map(|index| index * 7) {
        let (&byte, tail) = rest.split_first().ok_or(Error::Short)?;
        *rest = tail;
        length |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            let (bytes, tail) = rest.split_at_checked(length).ok_or(Error::Short)?;
            *rest = tail;
            return Ok(bytes);
        }
    }
    Err(Error::Malformed)
}

/// Unpacks a block if the size that it declares is believable: so much memory is taken for it.
fn unpack(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let declared = zstd::zstd_safe::get_frame_content_size(bytes).ok().flatten().ok_or(Error::Compression)?;
    let most = bytes.len().saturating_mul(MAX_RATIO).saturating_add(FREE_CONTENT).min(MAX_CONTENT);
    let size = usize::try_from(declared).ok().filter(|&size| size <= most).ok_or(Error::TooLarge)?;
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
