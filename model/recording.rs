//! Recordings as bytes: a header block, then records in segments of equal size. `docs/recording.md` describes the form.
//!
//! Each record is whole in itself: a head with lengths, times and a checksum, and a body. Samples are the log's own
//! records; a key frame starts every segment, so that segments can be overwritten, lost or damaged one by one.

mod compose;
mod event;
mod finding;
mod fix;
mod head;
mod header;
mod index;
mod join;
mod read;
mod stream;
mod summary;
#[cfg(test)]
mod tests;

pub use compose::{Chunk, Composer, Limits, Place};
pub use event::{Event, MAX_EVENT, MAX_TEXT, What};
pub use finding::{RecordedEvidence, RecordedFinding, RecordedFindings, Value, finding_events};
pub use fix::{FixState, RecordedFix, changes as fix_changes};
pub use head::{HEAD_BYTES, Head, Kind, MAX_BODY, SYNC};
pub use header::{About, HEADER_BYTES, Header};
pub use index::{Entry, Index, TAIL_BYTES, index_at, tail};
pub use join::Join;
pub use read::{Damage, ReadAt, Reader, When};
pub use stream::{Item, Stream};
pub use summary::{Summary, key_body, split_key};

use crate::locale::recording::error as text;

/// Version of the file's form.
pub const VERSION: u32 = 2;

/// Why bytes are not a recording.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It does not begin as a recording does.
    #[error("{}", text::FOREIGN)]
    Foreign,
    /// Another form of the file.
    #[error("{}", text::Later { version: &.0, known: &VERSION })]
    Later(u32),
    /// The header block is damaged.
    #[error("{}", text::HEADER)]
    Header,
    /// It cannot be read.
    #[error("{0}")]
    Read(String),
    /// A sample that does not fit.
    #[error("{}", text::TooLarge { bytes: &.0 })]
    TooLarge(u64),
    /// A sample that cannot be encoded or decoded.
    #[error(transparent)]
    Codec(#[from] crate::codec::Error),
}
