//! The kernel's log: a device, one record a read.

use super::{Root, reason};
use rustix::fs::{OFlags, SeekFrom};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::Path;
use topotop_model::Reason;

/// The log, from the record after the last one.
#[derive(Debug)]
pub(crate) struct KernelLog(OwnedFd);

impl Root {
    /// Opens the log of this machine behind its last record.
    pub(crate) fn kernel_log(&self) -> Result<KernelLog, Reason> {
        let fd = self.open_at(Path::new("dev/kmsg"), OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
        rustix::fs::seek(&fd, SeekFrom::End(0)).map_err(reason)?;
        Ok(KernelLog(fd))
    }
}

impl KernelLog {
    /// The next record; none if there is no other.
    pub(crate) fn next<'a>(&self, buf: &'a mut [u8]) -> Result<Option<&'a [u8]>, Reason> {
        // What was overwritten meanwhile is lost: the next read has the oldest one left.
        for _ in 0..2 {
            match rustix::io::read(&self.0, &mut *buf) {
                Err(Errno::PIPE | Errno::INTR) => {}
                Err(Errno::AGAIN) | Ok(0) => return Ok(None),
                Err(errno) => return Err(reason(errno)),
                Ok(length) => return Ok(buf.get(..length)),
            }
        }
        Ok(None)
    }
}
