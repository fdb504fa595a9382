//! A file to read a recording from, also while it grows.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use topotop_model::recording::{self, ReadAt};
use topotop_model::text::printable;

/// A file read at any place.
#[derive(Debug)]
pub struct FileAt(File);

impl ReadAt for FileAt {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(buf, offset)
    }

    fn size(&self) -> io::Result<u64> {
        self.0.metadata().map(|metadata| metadata.len())
    }
}

/// A recording in a file.
pub type Reader = recording::Reader<FileAt>;

/// Opens a recording; the error is one line with the file and what is wrong.
pub fn open(path: &Path) -> Result<Reader, String> {
    let wrong = |what: &str| format!("{}: {what}", printable(&path.display().to_string()));
    // A FIFO must not be waited for, nor a device be read.
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path).map_err(|error| wrong(&error.to_string()))?;
    let metadata = file.metadata().map_err(|error| wrong(&error.to_string()))?;
    if !metadata.is_file() {
        return Err(wrong("not a regular file: use - to read a recording from standard input"));
    }
    recording::Reader::open(FileAt(file)).map_err(|error| wrong(&error.to_string()))
}
