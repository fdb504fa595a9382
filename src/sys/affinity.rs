//! The CPUs that a thread may run on, set by system call: libraries know no more than 1,024.
#![expect(unsafe_code, reason = "no library takes masks of more than 1,024 CPUs")]

use rustix::io::Errno;
use topotop_model::IdSet;

/// CPUs that a mask holds: NR_CPUS of the biggest kernels.
const CPUS: u32 = 8192;
const WORD: u32 = libc::c_ulong::BITS;

/// Lets a thread run on these CPUs and no others, as far as its set has them.
pub fn set_affinity(tid: u32, cpus: &IdSet) -> Result<(), Errno> {
    let pid = libc::pid_t::try_from(tid).map_err(|_| Errno::SRCH)?;
    if tid == 0 || cpus.last().is_none_or(|last| last >= CPUS) {
        return Err(Errno::INVAL);
    }
    let mut words: [libc::c_ulong; (CPUS / WORD) as usize] = [0; (CPUS / WORD) as usize];
    for cpu in cpus.iter() {
        if let Some(word) = words.get_mut((cpu / WORD) as usize) {
            *word |= 1 << (cpu % WORD);
        }
    }
    // SAFETY: the kernel reads as many bytes as the array has, and nothing keeps the pointer.
    let answer =
        unsafe { libc::syscall(libc::SYS_sched_setaffinity, pid, std::mem::size_of_val(&words), words.as_ptr()) };
    if answer < 0 {
        let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or_default();
        return Err(Errno::from_raw_os_error(errno));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::set_affinity;
    use rustix::io::Errno;
    use topotop_collectors::sys::affinity::affinity;
    use topotop_model::IdSet;

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
