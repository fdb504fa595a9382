//! `/proc/PID/status` (proc_pid_status(5)): what `stat` does not say, and a stand-in where there is no `stat`.

use crate::parse::{fields, lines, number, whole_lines};
use topotop_model::IdSet;

/// What is taken from the file; what it lacks is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Status<'a> {
    /// Its name, with escapes of the kernel's.
    pub(crate) name: Option<&'a [u8]>,
    /// State letter.
    pub(crate) state: Option<u8>,
    /// Parent.
    pub(crate) ppid: Option<u64>,
    /// Real user.
    pub(crate) uid: Option<u64>,
    /// Its pid in its own pid namespace.
    pub(crate) inner_pid: Option<u64>,
    /// Virtual size in bytes.
    pub(crate) vm_size: Option<u64>,
    /// Resident bytes.
    pub(crate) vm_rss: Option<u64>,
    /// Resident anonymous bytes.
    pub(crate) rss_anon: Option<u64>,
    /// Resident bytes of files.
    pub(crate) rss_file: Option<u64>,
    /// Resident bytes of tmpfs and shared memory.
    pub(crate) rss_shmem: Option<u64>,
    /// Bytes out of huge page pools.
    pub(crate) hugetlb: Option<u64>,
    /// Bytes in swap.
    pub(crate) swap: Option<u64>,
    /// Threads.
    pub(crate) threads: Option<u64>,
    /// CPUs that it may run on.
    pub(crate) cpus: Option<IdSet>,
    /// Nodes that it may have memory from.
    pub(crate) mems: Option<IdSet>,
}

/// Parses the file; an unfinished last line does not count.
pub(crate) fn parse(bytes: &[u8]) -> Status<'_> {
    let mut status = Status::default();
    for line in lines(whole_lines(bytes).0) {
        let Some(colon) = line.iter().position(|&byte| byte == b':') else { continue };
        let (key, value) = (line.get(..colon).unwrap_or_default(), line.get(colon + 1..).unwrap_or_default());
        match key {
            b"Name" => status.name = Some(value.strip_prefix(b"\t").unwrap_or(value)),
            b"State" => status.state = fields(value).next().and_then(|word| word.first().copied()),
            b"PPid" => status.ppid = first(value),
            b"Uid" => status.uid = first(value),
            b"NSpid" => status.inner_pid = fields(value).last().and_then(number),
            b"VmSize" => status.vm_size = kilobytes(value),
            b"VmRSS" => status.vm_rss = kilobytes(value),
            b"RssAnon" => status.rss_anon = kilobytes(value),
            b"RssFile" => status.rss_file = kilobytes(value),
            b"RssShmem" => status.rss_shmem = kilobytes(value),
            b"HugetlbPages" => status.hugetlb = kilobytes(value),
            b"VmSwap" => status.swap = kilobytes(value),
            b"Threads" => status.threads = first(value),
            b"Cpus_allowed" => status.cpus = map(value),
            b"Cpus_allowed_list" => status.cpus = list(value).or(status.cpus),
            b"Mems_allowed" => status.mems = map(value),
            b"Mems_allowed_list" => status.mems = list(value).or(status.mems),
            _ => {}
        }
    }
    status
}

/// True for a process that is root's in every respect: one that took root's rights may be anybody's.
pub(crate) fn is_of_root(bytes: &[u8]) -> Option<bool> {
    let line = lines(whole_lines(bytes).0).find_map(|line| line.strip_prefix(b"Uid:"))?;
    let mut users = fields(line).map(number).peekable();
    users.peek()?;
    Some(users.all(|user| user == Some(0)))
}

/// True for a process of a pid namespace below that of /proc, as a container's are; none before Linux 4.1.
pub(crate) fn is_nested(bytes: &[u8]) -> Option<bool> {
    let line = lines(whole_lines(bytes).0).find_map(|line| line.strip_prefix(b"NSpid:"))?;
    Some(fields(line).count() > 1)
}

fn first(value: &[u8]) -> Option<u64> {
    fields(value).next().and_then(number)
}

fn kilobytes(value: &[u8]) -> Option<u64> {
    let mut parts = fields(value);
    let count = parts.next().and_then(number)?;
    (parts.next() == Some(b"kB")).then(|| count.checked_mul(1024)).flatten()
}

fn list(value: &[u8]) -> Option<IdSet> {
    IdSet::parse_list(std::str::from_utf8(value).ok()?)
}

fn map(value: &[u8]) -> Option<IdSet> {
    IdSet::parse_map(std::str::from_utf8(value).ok()?)
}

#[cfg(test)]
mod tests {
    use super::{Status, parse};
    use proptest::prelude::*;
    use topotop_model::IdSet;

    const TEXT: &[u8] = b"Name:\tbeam.smp\nState:\tS (sleeping)\nPPid:\t41\nUid:\t997\t998\t997\t997\n\
        NSpid:\t4121\t17\nVmSize:\t  123456 kB\nVmRSS:\t   54321 kB\nRssAnon:\t   50000 kB\nRssFile:\t    4321 kB\nRssShmem:\t       0 kB\nHugetlbPages:\t    2048 kB\nVmSwap:\t      16 kB\nThreads:\t25\nCpus_allowed:\t00000000,0000000d\n\
        Cpus_allowed_list:\t0,2-3\nMems_allowed:\t00000000,00000003\nMems_allowed_list:\t0-1\n";

    #[test]
    fn takes_what_stat_lacks() {
        let status = parse(TEXT);
        let expected = Status {
            name: Some(b"beam.smp"),
            state: Some(b'S'),
            ppid: Some(41),
            uid: Some(997),
            inner_pid: Some(17),
            vm_size: Some(123_456 << 10),
            vm_rss: Some(54_321 << 10),
            rss_anon: Some(50_000 << 10),
            rss_file: Some(4_321 << 10),
            rss_shmem: Some(0),
            hugetlb: Some(2 << 20),
            swap: Some(16 << 10),
            threads: Some(25),
            cpus: IdSet::parse_list("0,2-3"),
            mems: IdSet::parse_list("0-1"),
        };
        assert_eq!(status, expected);
        assert_eq!(parse(b"Cpus_allowed:\tff\n").cpus, IdSet::parse_list("0-7"), "kernels before 2.6.26");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = parse(&bytes);
        }

        #[test]
        fn cut_files_never_give_wrong_numbers(cut in 0usize..370) {
            let (whole, part) = (parse(TEXT), parse(&TEXT[..cut.min(TEXT.len())]));
            prop_assert!(part.uid.is_none() || part.uid == whole.uid);
            prop_assert!(part.vm_rss.is_none() || part.vm_rss == whole.vm_rss);
            prop_assert!(part.rss_anon.is_none() || part.rss_anon == whole.rss_anon);
            prop_assert!(part.threads.is_none() || part.threads == whole.threads);
            prop_assert!(part.inner_pid.is_none() || part.inner_pid == whole.inner_pid);
            prop_assert!(part.cpus.is_none() || part.cpus == whole.cpus);
            prop_assert!(part.mems.is_none() || part.mems == whole.mems);
        }
    }
}
