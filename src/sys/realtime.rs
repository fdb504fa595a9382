//! The scheduling policy of a thread of this program (sched_setscheduler(2)).
#![expect(unsafe_code, reason = "no library sets a policy for a thread that is not the caller's")]

use rustix::io::Errno;

/// Whether what a thread starts has its policy as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heirs {
    Yes,
    No,
}

/// The policy of a thread, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// SCHED_OTHER.
    Ordinary,
    /// SCHED_RR at its lowest priority.
    LowestRoundRobin,
    /// Another one: somebody chose it.
    Other,
}

/// The policy of the caller.
pub(crate) fn policy() -> Policy {
    let mut parameters = no_parameters();
    // SAFETY: the first takes no pointer; the kernel fills the structure, which outlives the call.
    let (policy, read) = unsafe { (libc::sched_getscheduler(0), libc::sched_getparam(0, &raw mut parameters)) };
    match policy & !libc::SCHED_RESET_ON_FORK {
        libc::SCHED_OTHER => Policy::Ordinary,
        libc::SCHED_RR if read == 0 && parameters.sched_priority == 1 => Policy::LowestRoundRobin,
        _ => Policy::Other,
    }
}

/// SCHED_RR at its lowest priority, for a thread or with 0 for the caller.
pub(crate) fn set_round_robin(tid: u32, heirs: Heirs) -> Result<(), Errno> {
    let reset = if heirs == Heirs::Yes { 0 } else { libc::SCHED_RESET_ON_FORK };
    set(tid, libc::SCHED_RR | reset, 1)
}

/// SCHED_OTHER, for a thread or with 0 for the caller.
pub(crate) fn set_ordinary(tid: u32) -> Result<(), Errno> {
    // A thread without rights cannot take the flag back, nor has it to.
    set(tid, libc::SCHED_OTHER, 0).or_else(|_| set(tid, libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK, 0))
}

fn set(tid: u32, policy: libc::c_int, priority: libc::c_int) -> Result<(), Errno> {
    let tid = libc::pid_t::try_from(tid).map_err(|_| Errno::SRCH)?;
    let mut parameters: libc::sched_param = no_parameters();
    parameters.sched_priority = priority;
    // SAFETY: the kernel reads the structure, which outlives the call.
    let done = unsafe { libc::sched_setscheduler(tid, policy, &raw const parameters) };
    let errno = || Errno::from_raw_os_error(std::io::Error::last_os_error().raw_os_error().unwrap_or_default());
    if done < 0 { Err(errno()) } else { Ok(()) }
}

fn no_parameters() -> libc::sched_param {
    // SAFETY: it is plain data.
    unsafe { std::mem::zeroed() }
}
