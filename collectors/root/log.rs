//! The kernel's log: a device, one record a read.

use super::{Root, reason};
use rustix::fs::{Mode, OFlags, SeekFrom};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::OnceLock;
use topotop_model::Reason;

const FLAGS: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// The log of this machine, opened while the program had the right to.
static HELD: OnceLock<OwnedFd> = OnceLock::new();

/// Opens the log of this machine before the program gives up CAP_SYSLOG: the kernel asks for it at open alone
/// (kernel/printk/printk.c, `devkmsg_open`).
pub fn hold() {
    let log = rustix::fs::open("/dev/kmsg", FLAGS, Mode::empty());
    if let Some(log) = log.ok().filter(|log| rustix::fs::seek(log, SeekFrom::End(0)).is_ok()) {
        let _ = HELD.set(log);
    }
}

/// The log, from the record after the last one.
#[derive(Debug)]
pub(crate) struct KernelLog(OwnedFd);

impl Root {
    /// Opens the log of this machine behind its last record.
    pub(crate) fn kernel_log(&self) -> Result<KernelLog, Reason> {
        match (self.open_at(Path::new("dev/kmsg"), FLAGS), HELD.get()) {
            (Ok(fd), _) => {
                rustix::fs::seek(&fd, SeekFrom::End(0)).map_err(reason)?;
                Ok(KernelLog(fd))
            }
            (Err(Reason::PermissionDenied), Some(held)) => {
                held.try_clone().map(KernelLog).map_err(|_| Reason::Exhausted)
            }
            (Err(reason), _) => Err(reason),
        }
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
