//! The I/O class and level of a thread.
#![expect(unsafe_code, reason = "no library wraps ioprio_get(2) and ioprio_set(2)")]

use super::last_errno;
use crate::root::reason;
use rustix::io::Errno;
use topotop_model::Reason;

/// IOPRIO_WHO_PROCESS of linux/ioprio.h: one thread.
const PROCESS: libc::c_int = 1;

/// The I/O priority of a thread (ioprio_get(2)): class << 13 | level.
pub fn ioprio(tid: u32) -> Result<u32, Reason> {
    let pid = libc::pid_t::try_from(tid).map_err(|_| Reason::NotFound)?;
    // SAFETY: the call takes two numbers and returns one.
    let answer = unsafe { libc::syscall(libc::SYS_ioprio_get, PROCESS, pid) };
    u32::try_from(answer).map_err(|_| reason(last_errno()))
}

/// Gives a thread a class << 13 | level (ioprio_set(2)).
pub fn set_ioprio(tid: u32, value: u32) -> Result<(), Errno> {
    let pid = libc::pid_t::try_from(tid).map_err(|_| Errno::SRCH)?;
    // Zero would be the calling thread.
    if tid == 0 {
        return Err(Errno::INVAL);
    }
    // SAFETY: the call takes three numbers.
    let done = unsafe { libc::syscall(libc::SYS_ioprio_set, PROCESS, pid, value) };
    if done < 0 { Err(last_errno()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn this_thread_has_one() {
        assert!(super::ioprio(0).is_ok_and(|value| value >> 13 <= 3));
        assert!(super::ioprio(u32::MAX).is_err());
    }
}
