//! Files that stay open and are read again and again.

use super::later::{Again, Current};
use super::reason;
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use topotop_model::Reason;

/// The largest file that is read, in bytes: /proc/interrupts of 1,024 CPUs and 2,000 interrupts has 22 MB.
const MAX_FILE: usize = 64 << 20;

/// A file that stays open.
#[derive(Debug)]
pub struct Kept {
    pub(super) fd: OwnedFd,
    pub(super) again: Option<Again>,
    /// True when a read that does not fill the buffer has read all: not asking again for the end saves a call.
    pub(super) one_piece: bool,
}

/// True for files of a running machine that the kernel prints in one piece: attributes of sysfs and of control groups,
/// except lists of tasks.
pub(super) fn is_one_piece(path: &Path) -> bool {
    let is_list = |name: &str| ["cgroup.procs", "cgroup.threads", "tasks"].contains(&name);
    let named = path.file_name().and_then(std::ffi::OsStr::to_str);
    path.starts_with("sys") && named.is_some_and(|name| !is_list(name))
        || ["proc/stat", "proc/meminfo", "proc/loadavg", "proc/softirqs"].iter().any(|whole| path == Path::new(whole))
        || path.starts_with("proc/pressure")
}

impl Kept {
    /// What is read: the file, or in a captured tree the same file of a later sample.
    fn file(&self) -> Result<Current<'_>, Reason> {
        match self.again.as_ref().and_then(Again::open) {
            Some(other) => other.map(Current::Other),
            None => Ok(Current::Own(self.fd.as_fd())),
        }
    }

    /// Reads the whole file from its start into `buf`, replacing what is in it.
    pub fn read(&self, buf: &mut Vec<u8>) -> Result<(), Reason> {
        buf.clear();
        let file = self.file()?;
        if buf.capacity() < 4096 {
            buf.reserve(4096);
        }
        loop {
            if buf.capacity() == buf.len() {
                buf.reserve(buf.len());
            }
            let at = buf.len() as u64;
            match rustix::io::pread(&file, rustix::buffer::spare_capacity(buf), at) {
                Ok(0) => return Ok(()),
                // Long lists of CPUs come in pieces of a page.
                Ok(_) if self.one_piece && buf.len() < buf.capacity() && !buf.len().is_multiple_of(4096) => {
                    return Ok(());
                }
                Ok(_) if buf.len() > MAX_FILE => return Err(Reason::Malformed),
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(reason(errno)),
            }
        }
    }

    /// Reads what one call gives, at most `most` bytes, into `buf`, replacing what is in it: all of a file that the
    /// kernel prints in one piece (`proc/*/stat`), without asking again for its end.
    pub fn read_once(&self, buf: &mut Vec<u8>, most: usize) -> Result<(), Reason> {
        let file = self.file()?;
        buf.resize(most, 0);
        let read = rustix::io::retry_on_intr(|| rustix::io::pread(&file, buf.as_mut_slice(), 0));
        buf.truncate(read.unwrap_or(0));
        read.map(drop).map_err(reason)
    }

    /// Reads the beginning of a file, at most `most` bytes, into `buf`, replacing what is in it.
    pub fn read_start(&self, buf: &mut Vec<u8>, most: usize) -> Result<(), Reason> {
        let file = self.file()?;
        buf.resize(most, 0);
        let mut len = 0;
        while let Some(space) = buf.get_mut(len..).filter(|space| !space.is_empty()) {
            match rustix::io::pread(&file, space, len as u64) {
                Ok(0) => break,
                Ok(read) => len += read,
                Err(Errno::INTR) => {}
                Err(errno) => {
                    buf.clear();
                    return Err(reason(errno));
                }
            }
        }
        buf.truncate(len);
        Ok(())
    }

    /// The file's descriptor.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
