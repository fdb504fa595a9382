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

/// Splits this process, which has no other thread, with all that it has; true in the new one.
pub(crate) fn twin() -> std::io::Result<bool> {
    // SAFETY: the new process has this thread only, and no other one held a lock.
    match unsafe { libc::fork() } {
        -1 => Err(std::io::Error::last_os_error()),
        child => Ok(child == 0),
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
    if gaps(kept).into_iter().all(|(first, last)| close_range(first, last)) {
        std::mem::forget(null);
        return;
    }
    // A kernel before 5.9.
    let open = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let open: Vec<RawFd> = open.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for fd in open.into_iter().filter(|fd| *fd > 2 && !kept.contains(fd)) {
        // SAFETY: their owners are never dropped in this process: it ends by `leave`.
        unsafe { libc::close(fd) };
    }
    std::mem::forget(null);
}

/// Numbers from 3 on that are not kept, first and last.
fn gaps(kept: &[RawFd]) -> Vec<(u32, u32)> {
    let mut kept: Vec<u32> = kept.iter().filter_map(|fd| u32::try_from(*fd).ok()).collect();
    kept.sort_unstable();
    let firsts = std::iter::once(3).chain(kept.iter().map(|fd| fd + 1));
    let lasts = kept.iter().map(|fd| fd.saturating_sub(1)).chain([u32::MAX]);
    firsts.zip(lasts).filter(|(first, last)| first <= last).collect()
}

/// Closes all descriptors from one on.
pub(crate) fn close_from(first: u32) {
    close_range(first, u32::MAX);
}

fn close_range(first: u32, last: u32) -> bool {
    // SAFETY: the owners of what is closed are never dropped in this process: it ends by `leave`.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) == 0 }
}

/// Ends this process at once, without what the one that it was split from would do at its end.
pub(crate) fn leave() -> ! {
    // SAFETY: ends the process and returns to nobody.
    unsafe { libc::_exit(0) }
}

#[cfg(test)]
mod tests {
    use super::gaps;

    #[test]
    fn what_lies_between_is_closed() {
        assert_eq!(gaps(&[7, 5]), [(3, 4), (6, 6), (8, u32::MAX)]);
        assert_eq!(gaps(&[3, 4]), [(5, u32::MAX)]);
        assert_eq!(gaps(&[]), [(3, u32::MAX)]);
    }
}
