//! Recordings in files and pipes: what `topotop_model::recording` lays out, put where it belongs and read from there.

mod copy;
mod file;
mod writer;

pub use copy::{Copy, print};
pub use file::{FileAt, Reader, open};
pub use writer::{Status, Target, Writer};
