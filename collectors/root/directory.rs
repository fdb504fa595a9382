//! What is in a directory, and facts of one.

use super::{MAX_ENTRIES, Root, Use, reason, relative};
use rustix::fs::{AtFlags, FileType, OFlags};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use topotop_model::Reason;

/// Something in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: OsString,
    /// Its inode.
    pub inode: u64,
    /// True for a directory.
    pub is_directory: bool,
}

/// Facts of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectoryStat {
    /// Its inode.
    pub inode: u64,
    /// Its links: two and one per directory in it, where the file system counts so.
    pub links: u64,
    /// Its size where the running kernel tells one.
    pub size: u64,
    /// Device number of its file system as (major, minor).
    pub dev: (u64, u64),
    /// The user that it belongs to.
    pub uid: u32,
}

impl Root {
    /// What is in a directory, unsorted, with the inode and whether it is a directory itself; links are neither.
    pub fn entries(&self, path: impl AsRef<Path>) -> Result<Vec<Entry>, Reason> {
        let path = path.as_ref();
        let fd = self.open_at(path, OFlags::RDONLY | OFlags::DIRECTORY);
        self.note(path, if fd.is_ok() { Use::Directory } else { Use::Absent });
        let fd = fd?;
        let mut found = Vec::new();
        let mut space = Vec::with_capacity(32 << 10);
        let mut entries = rustix::fs::RawDir::new(&fd, space.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(reason)?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            if found.len() > MAX_ENTRIES {
                return Err(Reason::Malformed);
            }
            let is_directory = match entry.file_type() {
                FileType::Unknown => rustix::fs::statat(&fd, name, AtFlags::SYMLINK_NOFOLLOW)
                    .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory),
                kind => kind == FileType::Directory,
            };
            let name = OsString::from_vec(name.to_bytes().to_vec());
            found.push(Entry { name, inode: entry.ino(), is_directory });
        }
        Ok(found)
    }

    /// Facts of a directory: in kernel file systems its link count is that of its directories.
    pub fn directory_stat(&self, path: impl AsRef<Path>) -> Result<DirectoryStat, Reason> {
        let path = path.as_ref();
        let stat = if self.live {
            rustix::fs::statat(&self.fd, relative(path), AtFlags::empty()).map_err(reason)
        } else {
            self.open_at(path, OFlags::PATH).and_then(|fd| rustix::fs::fstat(&fd).map_err(reason))
        };
        let stat = stat.and_then(|stat| match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Ok(stat),
            _ => Err(Reason::NotFound),
        });
        self.note(path, if stat.is_ok() { Use::Link } else { Use::Absent });
        let stat = stat?;
        let dev = (u64::from(rustix::fs::major(stat.st_dev)), u64::from(rustix::fs::minor(stat.st_dev)));
        let size = u64::try_from(stat.st_size).ok().filter(|_| self.live).unwrap_or(0);
        Ok(DirectoryStat { inode: stat.st_ino, links: u64::from(stat.st_nlink as u32), size, dev, uid: stat.st_uid })
    }
}
