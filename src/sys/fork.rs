//! A process that goes on with what this one knows.
#![expect(unsafe_code, reason = "no library splits a process safely: whoever asks has no other thread yet")]

use std::os::fd::RawFd;

/// Splits this process; true in the new one, which has no descriptors but `kept` and /dev/null as its standard streams.
/// No other thread may run that could hold a lock.
pub(crate) fn split(kept: &[RawFd]) -> std::io::Result<bool> {
    // SAFETY: the new process has this thread only, and no other one held a lock.
    match unsafe { libc::fork() } {
        -1 => Err(std::io::Error::last_os_error()),
        0 => {
            close_all_but(kept);
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// What ends with somebody else's last descriptor must not wait for this process.
fn close_all_but(kept: &[RawFd]) {
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null").ok();
    for stream in 0..3 {
        match &null {
            // SAFETY: both are descriptors of this process; what is replaced is a standard stream that is not used here.
            Some(null) => _ = unsafe { libc::dup2(std::os::fd::AsRawFd::as_raw_fd(null), stream) },
            // SAFETY: as above.
            None => _ = unsafe { libc::close(stream) },
        }
    }
    let open = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let open: Vec<RawFd> = open.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for fd in open.into_iter().filter(|fd| *fd > 2 && !kept.contains(fd)) {
        // SAFETY: their owners are never dropped in this process: it ends by `leave`.
        unsafe { libc::close(fd) };
    }
    std::mem::forget(null);
}

/// Ends this process at once, without what the one that it was split from would do at its end.
pub(crate) fn leave() -> ! {
    // SAFETY: ends the process and returns to nobody.
    unsafe { libc::_exit(0) }
}
