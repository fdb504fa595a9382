//! The CPUs that a thread may run on, asked by system call: a thirtieth of what `/proc/PID/status` costs.
#![expect(unsafe_code, reason = "no library takes masks of more than 1,024 CPUs")]

use crate::root::reason;
use rustix::io::Errno;
use topotop_model::{IdSet, Reason};

/// CPUs that the buffer holds: NR_CPUS of the biggest kernels.
const CPUS: usize = 8192;
const WORD: usize = libc::c_ulong::BITS as usize;

/// The CPUs that a thread may run on and that are active (sched_getaffinity(2)). Ids are those of this program's own
/// pid namespace.
pub fn affinity(tid: u32) -> Result<IdSet, Reason> {
    let mut words: [libc::c_ulong; CPUS / WORD] = [0; CPUS / WORD];
    let pid = libc::pid_t::try_from(tid).map_err(|_| Reason::NotFound)?;
    // SAFETY: the kernel writes at most as many bytes as the array has, and nothing keeps the pointer.
    let bytes =
        unsafe { libc::syscall(libc::SYS_sched_getaffinity, pid, std::mem::size_of_val(&words), words.as_mut_ptr()) };
    let Ok(bytes) = usize::try_from(bytes) else {
        let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or_default();
        return Err(reason(Errno::from_raw_os_error(errno)));
    };
    let filled = words.get(..bytes / size_of::<libc::c_ulong>()).unwrap_or(&words);
    let mut set = IdSet::new();
    for (index, &word) in filled.iter().enumerate() {
        let mut bits = word;
        while bits != 0 {
            set.insert((index * WORD) as u32 + bits.trailing_zeros());
            bits &= bits - 1;
        }
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    #[test]
    fn this_thread_may_run_somewhere() {
        assert!(super::affinity(0).is_ok_and(|cpus| !cpus.is_empty()));
        assert!(super::affinity(u32::MAX).is_err());
    }
}
