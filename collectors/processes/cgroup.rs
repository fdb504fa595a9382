//! `/proc/PID/cgroup` (cgroups(7)): the path of a process as the control groups' own table has it.

use crate::Root;
use crate::mountinfo::Mount;
use crate::parse::{lines, number, whole_lines};

/// Where hierarchies are mounted from: a path of a process is taken below that.
#[derive(Debug, Default)]
pub(super) struct Mounts {
    memory: Vec<u8>,
    cpu: Vec<u8>,
    cpuset: Vec<u8>,
    blkio: Vec<u8>,
    unified: Vec<u8>,
}

/// The control groups of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Paths<'a> {
    /// Of the memory controller where v1 has one, else of v2, else of the first hierarchy.
    pub(super) main: &'a [u8],
    /// Of v1's cpu controller where it is another one.
    pub(super) cpu: Option<&'a [u8]>,
    /// Of v1's cpuset controller where it is another one.
    pub(super) cpuset: Option<&'a [u8]>,
    /// Of v1's blkio controller where it is another one.
    pub(super) io: Option<&'a [u8]>,
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
            let v1 = mount.fs == b"cgroup";
            if mount.fs == b"cgroup2" && mounts.unified.is_empty() {
                mounts.unified.clone_from(&mount.root);
            }
            let controllers = [
                ("memory", &mut mounts.memory),
                ("cpu", &mut mounts.cpu),
                ("cpuset", &mut mounts.cpuset),
                ("blkio", &mut mounts.blkio),
            ];
            for (name, root) in controllers {
                if v1 && root.is_empty() && mount.options().any(|option| option == name) {
                    root.clone_from(&mount.root);
                }
            }
        }
        mounts
    }
}

/// The paths in a process's file. None when the text has no line of that form.
pub(super) fn paths<'a>(bytes: &'a [u8], mounts: &Mounts) -> Option<Paths<'a>> {
    let (mut memory, mut unified, mut first) = (None, None, None);
    let (mut cpu, mut cpuset, mut io) = (None, None, None);
    for line in lines(whole_lines(bytes).0) {
        let mut parts = line.splitn(3, |&byte| byte == b':');
        let (Some(id), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        if number(id).is_none() || !path.starts_with(b"/") {
            continue;
        }
        let path = path.strip_suffix(b" (deleted)").unwrap_or(path);
        if controllers.is_empty() {
            unified = Some(below(path, &mounts.unified));
            continue;
        }
        first = first.or(Some(path));
        for name in controllers.split(|&byte| byte == b',') {
            match name {
                b"memory" => memory = Some(below(path, &mounts.memory)),
                b"cpu" => cpu = Some(below(path, &mounts.cpu)),
                b"cpuset" => cpuset = Some(below(path, &mounts.cpuset)),
                b"blkio" => io = Some(below(path, &mounts.blkio)),
                _ => {}
            }
        }
    }
    let main = memory.or(unified).or(first)?;
    let other = |path: Option<&'a [u8]>| path.filter(|path| *path != main);
    Some(Paths { main, cpu: other(cpu), cpuset: other(cpuset), io: other(io) })
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
    use super::{Mounts, Paths, paths};
    use proptest::prelude::*;

    const V1: &[u8] = b"12:cpu,cpuacct:/a\n11:name=systemd:/b\n4:memory,hugetlb:/kubepods/pod:1/c\n0::/d\n";

    fn path<'a>(bytes: &'a [u8], mounts: &Mounts) -> Option<&'a [u8]> {
        paths(bytes, mounts).map(|paths| paths.main)
    }

    #[test]
    fn other_controllers_have_groups_of_their_own() {
        let info = b"35 31 0:32 /docker/1f /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct\n";
        let text = b"5:blkio:/held\n4:memory:/a\n3:cpu,cpuacct:/docker/1f/x\n2:cpuset:/\n0::/d\n";
        let expected = Paths { main: b"/a", cpu: Some(b"/x"), cpuset: Some(b"/"), io: Some(b"/held") };
        assert_eq!(paths(text, &Mounts::parse(info)), Some(expected));
        let none = Some(Paths { main: b"/a", cpu: None, cpuset: None, io: None });
        assert_eq!(paths(b"5:blkio:/a\n4:memory:/a\n3:cpu,cpuacct:/a\n", &Mounts::default()), none);
        assert_eq!(paths(b"0::/a\n", &Mounts::default()), none);
        let info = b"36 31 0:33 /docker/1f /sys/fs/cgroup/blkio ro - cgroup cgroup rw,blkio\n";
        let inside = paths(b"5:blkio:/docker/1f\n4:memory:/a\n", &Mounts::parse(info));
        assert_eq!(inside.and_then(|paths| paths.io), Some(&b"/"[..]), "the root of what is mounted");
    }

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
            let _ = paths(&bytes, &Mounts::parse(&bytes));
        }

        #[test]
        fn cut_files_never_give_wrong_paths(cut in 0usize..90) {
            let part = path(&V1[..cut.min(V1.len())], &Mounts::default());
            prop_assert!([None, Some(&b"/a"[..]), Some(&b"/kubepods/pod:1/c"[..])].contains(&part), "{:?}", part);
            let cpu = paths(&V1[..cut.min(V1.len())], &Mounts::default()).and_then(|paths| paths.cpu);
            prop_assert!([None, Some(&b"/a"[..])].contains(&cpu), "{:?}", cpu);
        }
    }
}
