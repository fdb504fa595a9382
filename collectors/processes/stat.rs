//! `/proc/PID/stat` and `/proc/PID/task/TID/stat` (proc_pid_stat(5)).

use crate::parse::{fields, number};

/// PF_KTHREAD of include/linux/sched.h: a kernel thread.
pub(crate) const PF_KTHREAD: u64 = 0x0020_0000;

/// What is taken from the line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stat<'a> {
    /// The name between the parentheses: any bytes.
    pub(crate) comm: &'a [u8],
    /// State letter.
    pub(crate) state: u8,
    /// Parent.
    pub(crate) ppid: u64,
    /// PF_* flags.
    pub(crate) flags: u64,
    /// Faults that read from a disk.
    pub(crate) majflt: u64,
    /// Ticks in user mode.
    pub(crate) utime: u64,
    /// Ticks in kernel mode.
    pub(crate) stime: u64,
    /// Ticks in user mode of children that it has waited for, and of theirs.
    pub(crate) children_utime: u64,
    /// The same in kernel mode.
    pub(crate) children_stime: u64,
    /// Nice value plus 20; absent where it is none.
    pub(crate) nice_plus_20: Option<u64>,
    /// Threads of its process.
    pub(crate) threads: u64,
    /// Ticks since boot when it started.
    pub(crate) starttime: u64,
    /// Virtual size in bytes.
    pub(crate) vsize: u64,
    /// Resident pages.
    pub(crate) rss_pages: u64,
    /// CPU that it ran on last; absent in a line that was cut.
    pub(crate) processor: Option<u64>,
    /// Real-time priority; absent in a line that was cut.
    pub(crate) rt_priority: Option<u64>,
    /// SCHED_*; absent in a line that was cut.
    pub(crate) policy: Option<u64>,
    /// Ticks that it waited for disks, where delay accounting is on; absent in a line that was cut.
    pub(crate) io_delay: Option<u64>,
}

/// The fields behind the name that are taken, by their place there (state is 0); the last one is delayacct_blkio_ticks.
const LAST: usize = 39;

/// The place of the nice value, the only one with a sign.
const NICE: usize = 16;

fn nice_plus_20(text: &[u8]) -> Option<u64> {
    let value: i64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    u64::try_from(value + 20).ok().filter(|_| (-20..20).contains(&value))
}

/// Parses the line. The name may hold blanks, parentheses and newlines, so it ends at the last parenthesis. A field
/// that nothing follows may lack digits and does not count.
pub(crate) fn parse(bytes: &[u8]) -> Option<Stat<'_>> {
    let open = bytes.iter().position(|&byte| byte == b'(')?;
    number(bytes.get(..open)?.trim_ascii())?;
    let close = bytes.iter().rposition(|&byte| byte == b')').filter(|&close| close > open)?;
    let rest = bytes.get(close + 1..)?;
    let end = rest.iter().rposition(|&byte| matches!(byte, b' ' | b'\n'))?;
    let mut parts = fields(rest.get(..end)?);
    let &[state] = parts.next()? else { return None };
    let mut values = [None; LAST + 1];
    for (cell, part) in values.iter_mut().skip(1).zip(parts) {
        *cell = number(part);
    }
    let nice = fields(rest.get(..end)?).nth(NICE).and_then(nice_plus_20);
    let value = |index: usize| values.get(index).copied().flatten();
    Some(Stat {
        comm: bytes.get(open + 1..close)?,
        state,
        ppid: value(1)?,
        flags: value(6)?,
        majflt: value(9)?,
        utime: value(11)?,
        stime: value(12)?,
        children_utime: value(13)?,
        children_stime: value(14)?,
        nice_plus_20: nice,
        threads: value(17)?,
        starttime: value(19)?,
        vsize: value(20)?,
        rss_pages: value(21)?,
        processor: value(36),
        rt_priority: value(37),
        policy: value(38),
        io_delay: value(LAST),
    })
}

#[cfg(test)]
mod tests {
    use super::parse;
    use proptest::prelude::*;

    const LINE: &[u8] = b"4121 (a) R 1 (\x1b[2J) S 77 1 1 0 -1 4194560 10 0 31 0 1234 56 78 9 20 0 12 0 998877 \
        123456789 2048 18446744073709551615 1 1 0 0 0 0 0 4096 81922 0 0 0 17 5 0 2 33 0 0 0 0 0 0 0 0 0 0\n";

    #[test]
    fn names_may_hold_anything() {
        let stat = parse(LINE).expect("parsed");
        assert_eq!(stat.comm, b"a) R 1 (\x1b[2J");
        assert_eq!((stat.state, stat.ppid, stat.flags, stat.majflt), (b'S', 77, 4_194_560, 31));
        assert_eq!((stat.utime, stat.stime, stat.threads, stat.starttime), (1234, 56, 12, 998_877));
        assert_eq!((stat.children_utime, stat.children_stime), (78, 9));
        assert_eq!((stat.vsize, stat.rss_pages), (123_456_789, 2048));
        assert_eq!((stat.processor, stat.policy), (Some(5), Some(2)));
        assert_eq!(stat.io_delay, Some(33));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = parse(&bytes);
        }

        #[test]
        fn cut_lines_never_give_wrong_numbers(cut in 0usize..260) {
            let whole = parse(LINE).expect("parsed");
            if let Some(stat) = parse(&LINE[..cut.min(LINE.len())]) {
                prop_assert!(stat.processor.is_none() || stat.processor == whole.processor);
                prop_assert!(stat.policy.is_none() || stat.policy == whole.policy);
                prop_assert!(stat.io_delay.is_none() || stat.io_delay == whole.io_delay);
                let super::Stat { processor, rt_priority, policy, io_delay, .. } = whole;
                let same = super::Stat { processor, rt_priority, policy, io_delay, ..stat };
                prop_assert_eq!(same, whole);
            }
        }
    }
}
