//! Where control groups are mounted: by file system type and super options, and in captured trees also by looking.

use crate::Root;
use crate::mountinfo::{self, unescaped};
use crate::parse::{fields, lines, whole_lines};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The controllers that are read, as bits.
pub(super) mod controller {
    /// Memory.
    pub(crate) const MEMORY: u8 = 1;
    /// CPU quota and shares.
    pub(crate) const CPU: u8 = 2;
    /// CPU time.
    pub(crate) const CPUACCT: u8 = 4;
    /// Allowed CPUs and nodes.
    pub(crate) const CPUSET: u8 = 8;
    /// Block I/O.
    pub(crate) const BLKIO: u8 = 16;
    /// Numbers of tasks.
    pub(crate) const PIDS: u8 = 32;
    /// In every hierarchy.
    pub(crate) const ANY: u8 = 0;

    /// The bit of a v1 controller's name; zero for those that are not read.
    pub(crate) fn bit(name: &[u8]) -> u8 {
        match name {
            b"memory" => MEMORY,
            b"cpu" => CPU,
            b"cpuacct" => CPUACCT,
            b"cpuset" => CPUSET,
            b"blkio" => BLKIO,
            b"pids" => PIDS,
            _ => ANY,
        }
    }

    /// The names of some bits, with commas between.
    pub(crate) fn names(bits: u8) -> String {
        let known = [
            ("memory", MEMORY),
            ("cpu", CPU),
            ("cpuacct", CPUACCT),
            ("cpuset", CPUSET),
            ("blkio", BLKIO),
            ("pids", PIDS),
        ];
        let names = known.iter().filter(|(_, bit)| bits & bit != 0).map(|(name, _)| *name);
        names.collect::<Vec<_>>().join(",")
    }
}

/// A mounted hierarchy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Hierarchy {
    /// Its directory below the root.
    pub(super) dir: PathBuf,
    /// 1 or 2.
    pub(super) version: u8,
    /// v1: its controllers.
    pub(super) has: u8,
    /// Directories just below it that belong to something else.
    pub(super) not_its_own: Vec<OsString>,
}

/// Directories under which captured trees hold hierarchies.
const BASES: [&str; 4] = ["sys/fs/cgroup", "cgroup", "dev/cgroup", "mnt/cgroup"];
/// Mounts of control groups at most.
const MOST: usize = 4096;

/// The hierarchies, v2 first, each controller in one of them only.
pub(super) fn find(root: &Root, buf: &mut Vec<u8>) -> Vec<Hierarchy> {
    let mut found = Found::default();
    for mount in mount_table(root, buf) {
        if let Some(dir) = usable(root, &mount) {
            found.add(root, Hierarchy { dir, version: mount.version, has: mount.has, not_its_own: Vec::new() });
        }
    }
    if !root.is_live() || found.list.is_empty() {
        for base in BASES {
            look(root, Path::new(base), &mut found);
        }
    }
    found.list.sort_by_key(|hierarchy| (std::cmp::Reverse(hierarchy.version), hierarchy.has));
    found.list
}

#[derive(Default)]
struct Found {
    list: Vec<Hierarchy>,
    taken: u8,
}

impl Found {
    fn add(&mut self, root: &Root, mut hierarchy: Hierarchy) {
        // Links such as cpu -> cpu,cpuacct lead to one directory.
        if let Ok(real) = root.resolve(&hierarchy.dir) {
            hierarchy.dir = real;
        }
        hierarchy.has &= !self.taken;
        let again = self.list.iter().any(|other| other.dir == hierarchy.dir);
        let second = hierarchy.version == 2 && self.list.iter().any(|other| other.version == 2);
        if again || second || (hierarchy.version == 1 && hierarchy.has == 0) {
            return;
        }
        if hierarchy.version == 2 && !root.is_live() {
            hierarchy.not_its_own = strangers(root, &hierarchy.dir);
        }
        self.taken |= hierarchy.has;
        self.list.push(hierarchy);
    }
}

/// One line of the mount table.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mount {
    dir: PathBuf,
    version: u8,
    has: u8,
    /// Device number as `major:minor`; none where the table has no such field.
    dev: Option<(u64, u64)>,
    /// True if the mount shows the whole hierarchy.
    whole: bool,
}

fn mount_table(root: &Root, buf: &mut Vec<u8>) -> Vec<Mount> {
    let mut mounts = Vec::new();
    for (path, with_ids) in
        [("proc/self/mountinfo", true), ("proc/1/mountinfo", true), ("proc/self/mounts", false), ("proc/mounts", false)]
    {
        if root.read(path, buf).is_ok() {
            mounts = parse(buf, with_ids);
        }
        if !mounts.is_empty() {
            break;
        }
    }
    // The whole hierarchy before a part of it; the sort keeps the order otherwise.
    mounts.sort_by_key(|mount| !mount.whole);
    mounts
}

/// The cgroup mounts of a `mountinfo` (`with_ids`) or a `mounts` table.
fn parse(bytes: &[u8], with_ids: bool) -> Vec<Mount> {
    let parse_line = if with_ids { parse_mountinfo } else { parse_mounts };
    lines(whole_lines(bytes).0).filter_map(parse_line).take(MOST).collect()
}

fn parse_mountinfo(line: &[u8]) -> Option<Mount> {
    let line = mountinfo::Mount::parse(line)?;
    let has = line.options().fold(0, |bits, name| bits | controller::bit(name.as_bytes()));
    let mut mount = of_kind(&line.fs, has, line.point)?;
    mount.dev = Some(line.dev);
    mount.whole = line.root == b"/";
    Some(mount)
}

fn parse_mounts(line: &[u8]) -> Option<Mount> {
    let mut parts = fields(line).skip(1);
    let (dir, kind, options) = (parts.next()?, parts.next()?, parts.next()?);
    of_kind(kind, bits(options), unescaped(dir))
}

fn of_kind(kind: &[u8], controllers: u8, dir: Vec<u8>) -> Option<Mount> {
    let version = match kind {
        b"cgroup" => 1,
        b"cgroup2" => 2,
        _ => return None,
    };
    let has = if version == 1 { controllers } else { 0 };
    Some(Mount { dir: PathBuf::from(OsString::from_vec(dir)), version, has, dev: None, whole: true })
}

/// The mount's directory below the root, if it is there and nothing is mounted over it.
fn usable(root: &Root, mount: &Mount) -> Option<PathBuf> {
    // A root that shows another machine's files knows them by its own paths or by ours.
    let inside = mount.dir.strip_prefix(root.path()).ok().filter(|_| root.path() != Path::new("/"));
    let dirs = [inside, Some(mount.dir.strip_prefix("/").unwrap_or(&mount.dir))];
    dirs.into_iter().flatten().find_map(|dir| {
        let stat = root.directory_stat(dir).ok()?;
        let covered = root.is_live() && mount.dev.is_some_and(|dev| dev != stat.dev);
        let empty = !root.is_live() && root.entries(dir).map_or(true, |entries| entries.is_empty());
        (!covered && !empty).then(|| dir.to_path_buf())
    })
}

/// Looks for hierarchies in and below a directory.
fn look(root: &Root, base: &Path, found: &mut Found) {
    let Ok(mut entries) = root.entries(base) else { return };
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    let names = || entries.iter().map(|entry| entry.name.as_os_str());
    for name in names() {
        let dir = base.join(name);
        if name.as_bytes() == b"unified" && is_v2(root, &dir) {
            found.add(root, Hierarchy { dir, version: 2, ..Hierarchy::default() });
            continue;
        }
        let real = root.resolve(&dir).ok();
        let real = real.as_deref().and_then(Path::file_name).map_or(0, |name| bits(name.as_bytes()));
        let has = bits(name.as_bytes()) | real;
        if has != 0 && root.directory_stat(&dir).is_ok() && !root.exists(dir.join("cgroup.controllers")) {
            found.add(root, Hierarchy { dir, version: 1, has, ..Hierarchy::default() });
        }
    }
    let here = names().fold(0, |bits, name| bits | by_file(name.as_bytes()));
    if is_v2(root, base) {
        found.add(root, Hierarchy { dir: base.to_path_buf(), version: 2, ..Hierarchy::default() });
    } else if here != 0 {
        found.add(root, Hierarchy { dir: base.to_path_buf(), version: 1, has: here, ..Hierarchy::default() });
    }
}

/// The v1 controller that a file in a hierarchy's directory speaks of.
fn by_file(name: &[u8]) -> u8 {
    match name {
        b"memory.usage_in_bytes" => controller::MEMORY,
        b"cpu.shares" => controller::CPU,
        b"cpuacct.usage" => controller::CPUACCT,
        b"cpuset.cpu_exclusive" => controller::CPUSET,
        b"blkio.reset_stats" => controller::BLKIO,
        b"pids.current" => controller::PIDS,
        _ => controller::ANY,
    }
}

/// Directories searched for a sign of version 2, at most.
const MOST_LOOKS: usize = 256;

/// True for a directory that is, or has below it, a group of version 2: captures often lack the files of the top and of
/// whatever has no processes.
fn is_v2(root: &Root, dir: &Path) -> bool {
    const SIGNS: [&str; 6] =
        ["cgroup.controllers", "cgroup.subtree_control", "cgroup.type", "memory.current", "cpu.pressure", "memory.max"];
    let mut todo = std::collections::VecDeque::from([dir.to_path_buf()]);
    for _ in 0..MOST_LOOKS {
        let Some(here) = todo.pop_front() else { return false };
        let entries = root.entries(&here).unwrap_or_default();
        if entries.iter().any(|entry| SIGNS.iter().any(|sign| entry.name == *sign)) {
            return true;
        }
        // A group of version 1 has none of version 2 in it.
        let v1 = entries.iter().any(|entry| entry.name == "tasks" || entry.name == "notify_on_release");
        let below = entries.into_iter().filter(|entry| entry.is_directory && !v1);
        let foreign = |name: &OsString| here == dir && (name == "unified" || bits(name.as_bytes()) != 0);
        todo.extend(below.filter(|entry| !foreign(&entry.name)).map(|entry| here.join(&entry.name)));
    }
    false
}

/// The v1 controllers in a directory's name such as `cpu,cpuacct`.
fn bits(name: &[u8]) -> u8 {
    name.split(|&byte| byte == b',').fold(0, |bits, name| bits | controller::bit(name))
}

/// Directories in a captured version 2 tree that are hierarchies of version 1.
fn strangers(root: &Root, dir: &Path) -> Vec<OsString> {
    let below = root.entries(dir).unwrap_or_default().into_iter().filter(|entry| entry.is_directory);
    let v1 = |name: &OsString| {
        bits(name.as_bytes()) != 0
            || ["tasks", "notify_on_release"].iter().any(|mark| root.exists(dir.join(name).join(mark)))
    };
    below.map(|entry| entry.name).filter(|name| name == "unified" || v1(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::{controller, find, parse};
    use crate::Root;
    use proptest::prelude::*;
    use std::path::Path;

    const TABLE: &[u8] = b"30 24 0:27 / /sys/fs/cgroup ro,nosuid shared:8 - tmpfs tmpfs rw,mode=755\n\
        31 30 0:28 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n\
        32 30 0:29 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n\
        33 30 0:30 /docker/x /odd\\040place/cpu,cpuacct rw shared:1 master:2 - cgroup cgroup rw,cpu,cpuacct\n\
        34 30 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

    #[test]
    fn reads_types_and_super_options() {
        let mounts = parse(TABLE, true);
        assert_eq!(mounts.len(), 4);
        assert_eq!((mounts[0].version, mounts[0].dev), (2, Some((0, 28))));
        assert_eq!((mounts[1].version, mounts[1].has), (1, 0));
        assert_eq!(mounts[2].dir, Path::new("/odd place/cpu,cpuacct"));
        assert_eq!((mounts[2].has, mounts[2].whole), (controller::CPU | controller::CPUACCT, false));
        let old = parse(b"none /dev/cpuset cgroup rw,relatime,cpuset,noprefix 0 0\n", false);
        assert_eq!((old[0].has, old[0].version), (controller::CPUSET, 1));
    }

    fn tree(files: &[&str]) -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for file in files {
            crate::testing::put(dir.path(), file, "0\n");
        }
        let root = Root::at(dir.path()).expect("opened");
        (dir, root)
    }

    fn seen(root: &Root) -> Vec<(String, u8, u8)> {
        let found = find(root, &mut Vec::new());
        found.iter().map(|one| (one.dir.display().to_string(), one.version, one.has)).collect()
    }

    #[test]
    fn finds_hierarchies_by_looking() {
        let (dir, root) = tree(&[
            "sys/fs/cgroup/cpu,cpuacct/cpu.shares",
            "sys/fs/cgroup/memory/memory.stat",
            "sys/fs/cgroup/devices/tasks",
            "sys/fs/cgroup/app.slice/memory.current",
            "cgroup/cpuset/tasks",
        ]);
        std::os::unix::fs::symlink("cpu,cpuacct", dir.path().join("sys/fs/cgroup/cpu")).expect("linked");
        assert_eq!(
            seen(&root),
            [
                ("sys/fs/cgroup".to_owned(), 2, 0),
                ("sys/fs/cgroup/memory".to_owned(), 1, 1),
                ("sys/fs/cgroup/cpu,cpuacct".to_owned(), 1, 6),
                ("cgroup/cpuset".to_owned(), 1, 8),
            ]
        );
        let found = find(&root, &mut Vec::new());
        assert!(
            ["cpu,cpuacct", "devices", "memory"].iter().all(|name| found[0].not_its_own.iter().any(|own| own == name))
        );
    }

    #[test]
    fn finds_unified_and_joined_hierarchies() {
        let (_dir, root) = tree(&["sys/fs/cgroup/cgroup.controllers", "sys/fs/cgroup/a.slice/memory.current"]);
        assert_eq!(seen(&root), [("sys/fs/cgroup".to_owned(), 2, 0)]);
        let (_dir, root) = tree(&["sys/fs/cgroup/a.slice/b.slice/c.scope/memory.current"]);
        assert_eq!(seen(&root), [("sys/fs/cgroup".to_owned(), 2, 0)], "only the lowest group has files");
        let (_dir, root) = tree(&["cgroup/cpu.shares", "cgroup/memory.usage_in_bytes"]);
        assert_eq!(seen(&root), [("cgroup".to_owned(), 1, 3)]);
        let (_dir, root) = tree(&["sys/fs/cgroup/unified/cgroup.controllers", "sys/fs/cgroup/memory/tasks"]);
        assert_eq!(seen(&root).len(), 2);
        let (_dir, root) = tree(&["proc/stat"]);
        assert!(seen(&root).is_empty());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, with_ids: bool) {
            parse(&bytes, with_ids);
        }

        #[test]
        fn a_cut_table_never_gives_a_wrong_mount(cut in 0..TABLE.len()) {
            let whole = parse(TABLE, true);
            for mount in parse(&TABLE[..cut], true) {
                prop_assert!(whole.contains(&mount));
            }
        }
    }
}
