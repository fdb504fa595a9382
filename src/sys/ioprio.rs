//! The I/O class and level of a thread, set.
#![expect(unsafe_code, reason = "no library wraps ioprio_set(2)")]

use rustix::io::Errno;

/// IOPRIO_WHO_PROCESS of linux/ioprio.h: one thread.
const PROCESS: libc::c_int = 1;

/// Gives a thread a class << 13 | level.
pub fn set_ioprio(tid: u32, value: u32) -> Result<(), Errno> {
    let pid = libc::pid_t::try_from(tid).map_err(|_| Errno::SRCH)?;
    // Zero would be the calling thread.
    if tid == 0 {
        return Err(Errno::INVAL);
    }
    // SAFETY: the call takes three numbers.
    if unsafe { libc::syscall(libc::SYS_ioprio_set, PROCESS, pid, value) } < 0 {
        let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or_default();
        return Err(Errno::from_raw_os_error(errno));
    }
    Ok(())
}
