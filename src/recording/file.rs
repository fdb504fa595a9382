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

    fn next_data(&self, offset: u64) -> u64 {
        // Reading is by places: where the descriptor stands does not matter.
        match rustix::fs::seek(&self.0, rustix::fs::SeekFrom::Data(offset)) {
            Ok(data) => data.max(offset),
            Err(rustix::io::Errno::NXIO) => self.size().unwrap_or(offset).max(offset),
            Err(_) => offset,
        }
    }
}

/// A recording in a file.
pub type Reader = recording::Reader<FileAt>;

/// Opens a recording; the error is one line with the file and what is wrong.
pub fn open(path: &Path) -> Result<Reader, String> {
    let mut reader = begin(path)?;
    let refreshed = reader.refresh();
    refreshed.map_err(|error| format!("{}: {error}", printable(&path.display().to_string())))?;
    Ok(reader)
}

/// The same without a look at what is in it: refreshing it does that.
pub fn begin(path: &Path) -> Result<Reader, String> {
    let wrong = |what: &str| format!("{}: {what}", printable(&path.display().to_string()));
    // A FIFO must not be waited for, nor a device be read.
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file = File::options()
        .read(true)
        .custom_flags(flags)
        .open(path)
        .map_err(|error| wrong(&crate::trust::said(&error)))?;
    let metadata = file.metadata().map_err(|error| wrong(&crate::trust::said(&error)))?;
    if !metadata.is_file() {
        return Err(wrong(&topotop_model::locale::error::NOT_REGULAR_RECORDING));
    }
    recording::Reader::begin(FileAt(file)).map_err(|error| wrong(&error.to_string()))
}
