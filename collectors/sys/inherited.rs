//! Descriptors that a process was started with, taken by their numbers.
#![expect(unsafe_code, reason = "a number becomes a descriptor with an owner")]

use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};

/// Another descriptor of a file that this program was started with: those that it opened itself are not handed on.
pub fn copy(number: RawFd) -> io::Result<File> {
    // SAFETY: asking for the flags of any number is harmless.
    let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
    if flags < 0 || flags & libc::FD_CLOEXEC != 0 {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    // SAFETY: asking for a copy of any number is harmless.
    let copied = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) };
    if copied < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it has just been made, for this owner.
    Ok(unsafe { File::from_raw_fd(copied) })
}

/// Takes a descriptor that nobody else in this process uses; none where there is none of that number, or where it is a
/// standard stream.
pub fn take(number: RawFd) -> Option<OwnedFd> {
    if number <= 2 {
        return None;
    }
    // SAFETY: asking for the flags of any number is harmless.
    if unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
        return None;
    }
    // SAFETY: it is open, and the only thread there is at a program's start has not opened it: it was inherited.
    Some(unsafe { OwnedFd::from_raw_fd(number) })
}
