//! `/proc/PID/cgroup` (cgroups(7)): the path of a process as the control groups' own table has it.

use crate::Root;
use crate::mountinfo::Mount;
use crate::parse::{lines, number, whole_lines};

/// Where hierarchies are mounted from: a path of a process is taken below that.
#[derive(Debug, Default)]
pub(super) struct Mounts {
    memory: Vec<u8>,
    unified: Vec<u8>,
}

impl Mounts {
    /// Looks at this process's mounts; a machine that does not say mounts its hierarchies whole.
    pub(super) fn read(root: &Root, buf: &mut Vec<u8>) -> Self {
        match root.read("proc/self/mountinfo", buf) {
            Ok(()) => Self::parse(buf),
            Err(_) => Self::default(),
        }
    }

    fn parse(bytes: &[u8]) -> Self {
        let mut mounts = Self::default();
        for line in lines(whole_lines(bytes).0) {
            let Some(mount) = Mount::parse(line) else { continue };
            let has_memory = mount.options().any(|name| name == "memory");
            match mount.fs.as_slice() {
                b"cgroup2" if mounts.unified.is_empty() => mounts.unified = mount.root,
                b"cgroup" if has_memory && mounts.memory.is_empty() => mounts.memory = mount.root,
                _ => {}
            }
        }
        mounts
    }
}

/// The path: of the memory controller where v1 has one, else of v2, else of the first hierarchy. None when the text
/// has no line of that form.
pub(super) fn path<'a>(bytes: &'a [u8], mounts: &Mounts) -> Option<&'a [u8]> {
    let (mut unified, mut first) = (None, None);
    for line in lines(whole_lines(bytes).0) {
        let mut parts = line.splitn(3, |&byte| byte == b':');
        let (Some(id), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        if number(id).is_none() || !path.starts_with(b"/") {
            continue;
        }
        let path = path.strip_suffix(b" (deleted)").unwrap_or(path);
        if controllers.split(|&byte| byte == b',').any(|name| name == b"memory") {
            return Some(below(path, &mounts.memory));
        }
        if controllers.is_empty() {
            unified = Some(below(path, &mounts.unified));
        } else {
            first = first.or(Some(path));
        }
    }
    unified.or(first)
}

/// A path below where its hierarchy is mounted from; what is not below it stays as it is.
fn below<'a>(path: &'a [u8], mounted: &[u8]) -> &'a [u8] {
    let mounted = mounted.strip_suffix(b"/").unwrap_or(mounted);
    match path.strip_prefix(mounted) {
        Some([]) => b"/",
        Some(rest) if rest.starts_with(b"/") => rest,
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::{Mounts, path};
    use proptest::prelude::*;

    const V1: &[u8] = b"12:cpu,cpuacct:/a\n11:name=systemd:/b\n4:memory,hugetlb:/kubepods/pod:1/c\n0::/d\n";

    #[test]
    fn prefers_memory_then_unified() {
        let mounts = Mounts::default();
        assert_eq!(path(V1, &mounts), Some(&b"/kubepods/pod:1/c"[..]));
        assert_eq!(path(b"1:name=systemd:/b\n0::/x.slice (deleted)\n", &mounts), Some(&b"/x.slice"[..]));
        assert_eq!(path(b"1:name=systemd:/b\n", &mounts), Some(&b"/b"[..]));
        assert_eq!(path(b"0::/../other\n", &mounts), Some(&b"/../other"[..]));
        assert_eq!(path(b"nonsense\n", &mounts), None);
    }

    #[test]
    fn is_below_the_mount() {
        let info = b"35 31 0:32 /docker/1f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n\
            41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:3 - cgroup2 cgroup2 rw\n";
        let mounts = Mounts::parse(info);
        assert_eq!(path(b"4:memory:/docker/1f/x\n", &mounts), Some(&b"/x"[..]));
        assert_eq!(path(b"4:memory:/docker/1f\n", &mounts), Some(&b"/"[..]));
        assert_eq!(path(b"4:memory:/docker/1fff\n", &mounts), Some(&b"/docker/1fff"[..]));
        assert_eq!(path(b"0::/u\n", &mounts), Some(&b"/u"[..]));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = path(&bytes, &Mounts::parse(&bytes));
        }

        #[test]
        fn cut_files_never_give_wrong_paths(cut in 0usize..90) {
            let part = path(&V1[..cut.min(V1.len())], &Mounts::default());
            prop_assert!([None, Some(&b"/a"[..]), Some(&b"/kubepods/pod:1/c"[..])].contains(&part), "{:?}", part);
        }
    }
}
