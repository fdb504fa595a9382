//! What belongs to one process: its descriptors.

use super::{Root, Use, reason};
use rustix::fs::OFlags;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use topotop_model::Reason;

/// Entries of a directory of a process at most.
const MOST_LOOKED_AT: usize = 1 << 16;

impl Root {
    /// Shows the links of a process's descriptors, by descriptor. Only those that are taken are remembered for a capture:
    /// which files somebody has open is nobody's business.
    pub(crate) fn links_of(
        &self,
        pid: u32,
        most: usize,
        mut take: impl FnMut(&str, &str) -> bool,
    ) -> Result<(), Reason> {
        let path = format!("proc/{pid}/fd");
        let directory = self.open_at(Path::new(&path), OFlags::RDONLY | OFlags::DIRECTORY)?;
        let mut space = Vec::with_capacity(32 << 10);
        let mut entries = rustix::fs::RawDir::new(&directory, space.spare_capacity_mut());
        let mut target = Vec::new();
        let mut count = 0;
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(reason)?;
            let name = entry.file_name();
            if name.to_bytes().first() == Some(&b'.') {
                continue;
            }
            count += 1;
            if count > most {
                break;
            }
            // One that was closed meanwhile is none.
            let Ok(read) = rustix::fs::readlinkat(&directory, name, target) else {
                target = Vec::new();
                continue;
            };
            let taken = name.to_str().ok().zip(read.to_str().ok()).is_some_and(|(fd, link)| take(fd, link));
            if taken && self.trace.is_some() {
                self.note(&Path::new(&path).join(std::ffi::OsStr::from_bytes(name.to_bytes())), Use::Link);
            }
            target = read.into_bytes();
        }
        Ok(())
    }
}

/// The names in a directory that begin with `prefix`, up to a number, sorted.
pub(super) fn names_with(directory: &OwnedFd, prefix: &str, most: usize) -> Result<Vec<String>, Reason> {
    let mut space = Vec::with_capacity(32 << 10);
    let mut entries = rustix::fs::RawDir::new(directory, space.spare_capacity_mut());
    let (mut names, mut count) = (Vec::new(), 0);
    while let Some(entry) = entries.next() {
        let entry = entry.map_err(reason)?;
        count += 1;
        if count > MOST_LOOKED_AT || names.len() >= most {
            break;
        }
        let name = entry.file_name().to_str().ok().filter(|name| name.starts_with(prefix));
        names.extend(name.map(str::to_owned));
    }
    names.sort_unstable();
    Ok(names)
}
