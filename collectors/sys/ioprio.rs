//! The I/O class and level of a thread.
#![expect(unsafe_code, reason = "no library wraps ioprio_get(2)")]

use crate::root::reason;
use rustix::io::Errno;
use topotop_model::Reason;

/// IOPRIO_WHO_PROCESS of linux/ioprio.h: one thread.
const PROCESS: libc::c_int = 1;

/// What ioprio_get(2) says of a thread: class << 13 | level.
pub fn ioprio(tid: u32) -> Result<u32, Reason> {
    let pid = libc::pid_t::try_from(tid).map_err(|_| Reason::NotFound)?;
    // SAFETY: the call takes two numbers and returns one.
    let answer = unsafe { libc::syscall(libc::SYS_ioprio_get, PROCESS, pid) };
    u32::try_from(answer).map_err(|_| {
        let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or_default();
        reason(Errno::from_raw_os_error(errno))
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn this_thread_has_one() {
        assert!(super::ioprio(0).is_ok_and(|value| value >> 13 <= 3));
        assert!(super::ioprio(u32::MAX).is_err());
    }
}
