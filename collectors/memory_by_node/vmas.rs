//! `/proc/PID/maps` (proc_pid_maps(5)): where pages of a process may be.

use crate::parse::{fields, hex, lines, number, whole_lines};

/// What pages of a mapping are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Anonymous or shared memory.
    Anon,
    /// A file's.
    File,
    /// Of a huge page pool: not part of the resident memory that the kernel reports.
    Huge,
}

/// A mapping that may be read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Vma {
    /// First address.
    pub(super) start: u64,
    /// Its size in bytes.
    pub(super) len: u64,
    /// What its pages are.
    pub(super) kind: Kind,
}

/// File systems without a disk, by device number.
#[derive(Clone, Debug, Default)]
pub(super) struct MemoryFs {
    tmpfs: Vec<(u64, u64)>,
    hugetlbfs: Vec<(u64, u64)>,
}

impl MemoryFs {
    /// Finds tmpfs and hugetlbfs among the mounts of `/proc/self/mountinfo`.
    pub(super) fn parse(mountinfo: &[u8]) -> Self {
        let mut found = Self::default();
        for line in lines(whole_lines(mountinfo).0) {
            let device = fields(line).nth(2).and_then(|device| {
                let mut parts = device.splitn(2, |&byte| byte == b':');
                Some((number(parts.next()?)?, number(parts.next()?)?))
            });
            let kind = fields(line).skip_while(|part| *part != b"-").nth(1);
            match (device, kind) {
                (Some(device), Some(b"tmpfs" | b"devtmpfs" | b"ramfs")) => found.tmpfs.push(device),
                (Some(device), Some(b"hugetlbfs")) => found.hugetlbfs.push(device),
                _ => {}
            }
        }
        found
    }
}

/// Parses the mappings; none when the file is cut or has lines of another form. Mappings without any permission are
/// reservations and left out.
pub(super) fn parse(bytes: &[u8], memory_fs: &MemoryFs) -> Option<Vec<Vma>> {
    let (whole, cut) = whole_lines(bytes);
    if cut {
        return None;
    }
    let mut vmas = Vec::new();
    for line in lines(whole) {
        let mut parts = fields(line);
        let mut range = parts.next()?.splitn(2, |&byte| byte == b'-');
        let (start, end) = (hex(range.next()?)?, hex(range.next()?)?);
        let permissions = parts.next()?;
        let mut device = parts.nth(1)?.splitn(2, |&byte| byte == b':');
        let device = (hex(device.next()?)?, hex(device.next()?)?);
        let inode = number(parts.next()?)?;
        let name = parts.next().unwrap_or_default();
        let len = end.checked_sub(start)?;
        // The vsyscall page lies in the kernel's half.
        if permissions.starts_with(b"---") || start >= 1 << 63 || len == 0 {
            continue;
        }
        vmas.push(Vma { start, len, kind: kind(name, device, inode, memory_fs) });
    }
    Some(vmas)
}

fn kind(name: &[u8], device: (u64, u64), inode: u64, memory_fs: &MemoryFs) -> Kind {
    if name.starts_with(b"/anon_hugepage") || memory_fs.hugetlbfs.contains(&device) {
        Kind::Huge
    } else if inode == 0 || is_shared_memory(name) || memory_fs.tmpfs.contains(&device) {
        Kind::Anon
    } else {
        Kind::File
    }
}

/// True for files that are memory by their name: System V segments, memfds, shared anonymous mappings, POSIX shared
/// memory, huge page pools.
pub(super) fn is_shared_memory(name: &[u8]) -> bool {
    [&b"/SYSV"[..], b"/memfd:", b"/dev/zero", b"/dev/shm/", b"/dev/hugepages", b"/anon_hugepage", b"/mnt/huge"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::{Kind, MemoryFs, parse};
    use proptest::prelude::*;

    const TEXT: &[u8] = b"00400000-00402000 r-xp 00000000 08:01 123 /usr/bin/an app\n\
        01a00000-01b00000 rw-p 00000000 00:00 0 [heap]\n\
        7f0000000000-7f1000000000 ---p 00000000 00:00 0\n\
        7f1000000000-7f1000200000 rw-s 00000000 00:0f 77 /anon_hugepage (deleted)\n\
        7f2000000000-7f2000001000 rw-s 00000000 00:19 5 /tmp/on-tmpfs\n\
        7f3000000000-7f3000001000 rw-s 00000000 00:01 6 /SYSV00000000 (deleted)\n\
        ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n";

    #[test]
    fn tells_memory_from_files() {
        let mounts = MemoryFs::parse(b"30 23 0:25 / /tmp rw shared:2 - tmpfs tmpfs rw\n31 23 8:1 / / rw - ext4 x rw\n");
        let kinds: Vec<_> = parse(TEXT, &mounts).expect("parsed").iter().map(|vma| (vma.kind, vma.len)).collect();
        let expected = [
            (Kind::File, 0x2000),
            (Kind::Anon, 0x10_0000),
            (Kind::Huge, 0x20_0000),
            (Kind::Anon, 0x1000),
            (Kind::Anon, 0x1000),
        ];
        assert_eq!(kinds, expected);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = parse(&bytes, &MemoryFs::parse(&bytes));
        }

        #[test]
        fn cut_files_are_noticed(cut in 0usize..420) {
            let part = &TEXT[..cut.min(TEXT.len())];
            prop_assert_eq!(parse(part, &MemoryFs::default()).is_some(), part.is_empty() || part.ends_with(b"\n"));
        }
    }
}
