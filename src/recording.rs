//! Recordings in files and pipes: what `topotop_model::recording` lays out, put where it belongs and read from there.

mod copy;
mod damaged;
mod file;
mod judged;
mod writer;

pub use copy::Copy;
pub use damaged::Damaged;
pub use file::{FileAt, Reader, begin, open};
pub use judged::judge_before;
pub use writer::{Status, Target, Writer};
