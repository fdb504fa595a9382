//! The affinity mask of a thread, by system call: a thirtieth of the cost of `/proc/PID/status`.
#![expect(unsafe_code, reason = "no library takes masks of more than 1,024 CPUs")]

use super::last_errno;
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
    let bytes = usize::try_from(bytes).map_err(|_| reason(last_errno()))?;
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

/// Lets a thread run on these CPUs only (sched_setaffinity(2)); its cpuset narrows them further.
pub fn set_affinity(tid: u32, cpus: &IdSet) -> Result<(), Errno> {
    let pid = libc::pid_t::try_from(tid).map_err(|_| Errno::SRCH)?;
    let mut words: [libc::c_ulong; CPUS / WORD] = [0; CPUS / WORD];
    // Zero would be the calling thread.
    if tid == 0 || cpus.last().is_none_or(|last| last as usize >= CPUS) {
        return Err(Errno::INVAL);
    }
    for cpu in cpus.iter() {
        if let Some(word) = words.get_mut(cpu as usize / WORD) {
            *word |= 1 << (cpu as usize % WORD);
        }
    }
    // SAFETY: the kernel reads as many bytes as the array has, and nothing keeps the pointer.
    let done =
        unsafe { libc::syscall(libc::SYS_sched_setaffinity, pid, std::mem::size_of_val(&words), words.as_ptr()) };
    if done < 0 { Err(last_errno()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::{affinity, set_affinity};
    use rustix::io::Errno;
    use topotop_model::IdSet;

    #[test]
    fn this_thread_may_run_somewhere() {
        assert!(super::affinity(0).is_ok_and(|cpus| !cpus.is_empty()));
        assert!(super::affinity(u32::MAX).is_err());
    }

    #[test]
    fn a_thread_stays_where_it_is_put() {
        std::thread::spawn(|| {
            let tid = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
            let before = affinity(tid).expect("a mask");
            let last = before.last().expect("a CPU");
            set_affinity(tid, &IdSet::from_ids([last])).expect("set");
            assert_eq!(affinity(tid).expect("a mask").single(), Some(last));
            set_affinity(tid, &before).expect("set back");
            assert_eq!(affinity(tid), Ok(before));
        })
        .join()
        .expect("the thread ends well");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert_eq!(set_affinity(0, &IdSet::from_ids([0])), Err(Errno::INVAL));
        assert_eq!(set_affinity(u32::MAX, &IdSet::from_ids([0])), Err(Errno::SRCH));
        assert_eq!(set_affinity(1 << 30, &IdSet::from_ids([0])), Err(Errno::SRCH));
        assert_eq!(set_affinity(1, &IdSet::new()), Err(Errno::INVAL));
        assert_eq!(set_affinity(1, &IdSet::from_ids([8192])), Err(Errno::INVAL));
    }
}
