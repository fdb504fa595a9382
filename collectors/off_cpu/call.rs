//! `/proc/PID/task/TID/syscall` (proc_pid_syscall(5)): what a thread waits in, and whether for a while only.

use crate::parse::{fields, hex, number};

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// It runs, or waits for a CPU.
    Running,
    /// It sleeps, in no system call: a page fault, or it was stopped.
    Nothing,
    /// It sleeps in a system call: its number and arguments.
    Call(u64, [u64; 6]),
}

/// What the file says; none where that is nothing that the kernel prints.
pub(super) fn parse(bytes: &[u8]) -> Option<Doing> {
    let line = bytes.strip_suffix(b"\n")?;
    if line == b"running" {
        return Some(Doing::Running);
    }
    let mut parts = fields(line);
    let first = parts.next()?;
    if first == b"-1" {
        return Some(Doing::Nothing);
    }
    let mut arguments = [0; 6];
    for cell in &mut arguments {
        *cell = hex(parts.next()?.strip_prefix(b"0x")?)?;
    }
    // The stack and instruction pointers follow.
    parts.nth(1)?;
    Some(Doing::Call(number(first)?, arguments))
}

/// What a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    /// A futex: the place of its timeout.
    Futex,
    /// A descriptor, its first argument, that may be a disk's.
    Descriptor,
    /// Events of several descriptors: the place of the timeout, and whether that is a pointer.
    Events(usize, bool),
    /// Time.
    Time,
    /// Something that its name tells; in interruptible sleep.
    Named,
    /// The same, perhaps a disk.
    Disk,
}

/// A call by its name and what it waits for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) name: &'static str,
    pub(super) waits: Waits,
}

/// Calls that threads wait in: number on x86-64 and on the architectures that share one table (aarch64, riscv64),
/// name, what they wait for. None where a table lacks the call.
const CALLS: [(Option<u64>, Option<u64>, &str, Waits); 50] = [
    (Some(202), Some(98), "futex", Waits::Futex),
    (Some(449), Some(449), "futex_waitv", Waits::Named),
    (Some(0), Some(63), "read", Waits::Descriptor),
    (Some(1), Some(64), "write", Waits::Descriptor),
    (Some(17), Some(67), "pread64", Waits::Descriptor),
    (Some(18), Some(68), "pwrite64", Waits::Descriptor),
    (Some(19), Some(65), "readv", Waits::Descriptor),
    (Some(20), Some(66), "writev", Waits::Descriptor),
    (Some(295), Some(69), "preadv", Waits::Descriptor),
    (Some(296), Some(70), "pwritev", Waits::Descriptor),
    (Some(327), Some(286), "preadv2", Waits::Descriptor),
    (Some(328), Some(287), "pwritev2", Waits::Descriptor),
    (Some(40), Some(71), "sendfile", Waits::Descriptor),
    (Some(275), Some(76), "splice", Waits::Descriptor),
    (Some(45), Some(207), "recvfrom", Waits::Descriptor),
    (Some(47), Some(212), "recvmsg", Waits::Descriptor),
    (Some(299), Some(243), "recvmmsg", Waits::Descriptor),
    (Some(44), Some(206), "sendto", Waits::Descriptor),
    (Some(46), Some(211), "sendmsg", Waits::Descriptor),
    (Some(43), Some(202), "accept", Waits::Named),
    (Some(288), Some(242), "accept4", Waits::Named),
    (Some(42), Some(203), "connect", Waits::Descriptor),
    (Some(232), None, "epoll_wait", Waits::Events(3, false)),
    (Some(281), Some(22), "epoll_pwait", Waits::Events(3, false)),
    (Some(441), Some(441), "epoll_pwait2", Waits::Events(3, true)),
    (Some(7), None, "poll", Waits::Events(2, false)),
    (Some(271), Some(73), "ppoll", Waits::Events(2, true)),
    (Some(23), None, "select", Waits::Events(4, true)),
    (Some(270), Some(72), "pselect6", Waits::Events(4, true)),
    (Some(35), Some(101), "nanosleep", Waits::Time),
    (Some(230), Some(115), "clock_nanosleep", Waits::Time),
    (Some(34), None, "pause", Waits::Named),
    (Some(128), Some(137), "rt_sigtimedwait", Waits::Named),
    (Some(130), Some(133), "rt_sigsuspend", Waits::Named),
    (Some(61), Some(260), "wait4", Waits::Named),
    (Some(247), Some(95), "waitid", Waits::Named),
    (Some(65), Some(193), "semop", Waits::Named),
    (Some(220), Some(192), "semtimedop", Waits::Named),
    (Some(72), Some(25), "fcntl", Waits::Named),
    (Some(73), Some(32), "flock", Waits::Named),
    (Some(74), Some(82), "fsync", Waits::Disk),
    (Some(75), Some(83), "fdatasync", Waits::Disk),
    (Some(26), Some(227), "msync", Waits::Disk),
    (Some(277), Some(84), "sync_file_range", Waits::Disk),
    (Some(306), Some(267), "syncfs", Waits::Disk),
    (Some(162), Some(81), "sync", Waits::Disk),
    (Some(208), Some(4), "io_getevents", Waits::Disk),
    (Some(333), Some(292), "io_pgetevents", Waits::Disk),
    (Some(426), Some(426), "io_uring_enter", Waits::Disk),
    (Some(76), Some(45), "truncate", Waits::Disk),
];

/// The call of a number on this architecture; none of one that is not in the table.
pub(super) fn known(number: u64) -> Option<Known> {
    let of_here = |x86: Option<u64>, others: Option<u64>| match () {
        () if cfg!(target_arch = "x86_64") => x86,
        () if cfg!(any(target_arch = "aarch64", target_arch = "riscv64", target_arch = "loongarch64")) => others,
        () => None,
    };
    let found = CALLS.iter().find(|(x86, others, ..)| of_here(*x86, *others) == Some(number));
    found.map(|&(_, _, name, waits)| Known { name, waits })
}

/// What a thread waits in: a wait for the events of no descriptors is the sleep that it was before there were others.
pub(super) fn of(number: u64, arguments: &[u64; 6]) -> Option<Known> {
    let call = known(number)?;
    let descriptors = match call.name {
        "select" | "pselect6" => arguments.first(),
        "poll" | "ppoll" => arguments.get(1),
        _ => None,
    };
    let sleeps = descriptors == Some(&0) && call.is_timed(arguments);
    Some(if sleeps { Known { name: "nanosleep", waits: Waits::Time } } else { call })
}

impl Known {
    /// True where the call ends by itself after a time.
    pub(super) fn is_timed(self, arguments: &[u64; 6]) -> bool {
        match self.waits {
            Waits::Futex => arguments[3] != 0,
            Waits::Events(at, true) => arguments.get(at).is_some_and(|&pointer| pointer != 0),
            // An `int` in milliseconds: negative is for ever.
            Waits::Events(at, false) => arguments.get(at).is_some_and(|&timeout| (timeout as u32).cast_signed() >= 0),
            Waits::Time => true,
            Waits::Descriptor | Waits::Named | Waits::Disk => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CALLS, Doing, Waits, known, of, parse};
    use proptest::prelude::*;

    #[test]
    fn lines_as_kernels_print_them() {
        assert_eq!(parse(b"running\n"), Some(Doing::Running));
        assert_eq!(parse(b"-1 0x7ffc1 0x7f2\n"), Some(Doing::Nothing));
        let line = b"202 0x7f00 0x189 0x0 0x0 0x0 0xffffffff 0x7ffd 0x7f3\n";
        assert_eq!(parse(line), Some(Doing::Call(202, [0x7f00, 0x189, 0, 0, 0, 0xffff_ffff])));
        assert_eq!(parse(b"202 0x7f00 0x189\n"), None);
        assert_eq!(parse(&line[..line.len() - 1]), None, "cut");
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn timeouts_are_where_each_call_has_them() {
        let timed = |number, arguments| known(number).map(|call| call.is_timed(&arguments));
        assert_eq!(timed(202, [1, 0, 0, 0, 0, 0]), Some(false));
        assert_eq!(timed(202, [1, 0, 0, 0x7ffc, 0, 0]), Some(true));
        assert_eq!(timed(232, [3, 1, 9, 0xffff_ffff, 0, 0]), Some(false));
        assert_eq!(timed(232, [3, 1, 9, 100, 0, 0]), Some(true));
        assert_eq!(timed(271, [3, 1, 0, 0, 0, 0]), Some(false));
        let name = |number, arguments| of(number, &arguments).map(|call| call.name);
        assert_eq!(name(270, [0, 0, 0, 0, 0x7ff, 0]), Some("nanosleep"), "select of nothing");
        assert_eq!(name(7, [0, 0, 100, 0, 0, 0]), Some("nanosleep"), "poll of nothing");
        assert_eq!(name(270, [5, 0x7ff, 0, 0, 0x7ff, 0]), Some("pselect6"));
        assert_eq!(name(7, [0x7ff, 1, 100, 0, 0, 0]), Some("poll"));
        assert_eq!(known(232).map(|call| call.waits), Some(Waits::Events(3, false)));
        assert!(known(9999).is_none());
    }

    #[test]
    fn no_number_is_two_calls() {
        for column in [0, 1] {
            let numbers = CALLS.iter().filter_map(|call| if column == 0 { call.0 } else { call.1 });
            let mut numbers: Vec<_> = numbers.collect();
            let count = numbers.len();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), count);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = parse(&bytes);
        }
    }
}
