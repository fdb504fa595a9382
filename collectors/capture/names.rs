//! Other names for hosts, people, programs, control groups and addresses: the same for the same, in all files.

use crate::parse::text;
use std::path::{Path, PathBuf};

mod contents;

/// Where everything that names somebody is known and gets another name; what runtimes, logs and homes hold is left out.
pub(super) fn is_known(path: &Path) -> bool {
    const PLACES: [&str; 10] = ["proc", "sys", "topotop", "dev", "cgroup", "etc", "usr", "sbin", "bin", ".dockerenv"];
    const RUN: [&str; 4] = ["systemd", "utmp", "openrc", ".containerenv"];
    // What a process sees below its root has names that it chose.
    if path.starts_with("proc") && path.iter().nth(2).is_some_and(|part| part == "root") && path.iter().nth(3).is_some()
    {
        return false;
    }
    let mut parts = path.iter().map(|part| part.to_str().unwrap_or_default());
    match parts.next() {
        Some("run") => parts.next().is_none_or(|part| RUN.contains(&part)),
        Some("mnt") => parts.next().is_none_or(|part| part == "cgroup"),
        first => first.is_none_or(|part| PLACES.contains(&part)),
    }
}

/// Gives names to what a tree holds.
#[derive(Debug)]
pub(super) struct Names(topotop_model::anonymise::Names);

impl Default for Names {
    /// Names of one capture.
    fn default() -> Self {
        Self(topotop_model::anonymise::Names::new(std::collections::hash_map::RandomState::new()))
    }
}

impl std::ops::Deref for Names {
    type Target = topotop_model::anonymise::Names;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Names {
    /// The target of a link, with other names.
    pub(super) fn target(&self, target: &Path) -> PathBuf {
        PathBuf::from(self.path(&text(target.as_os_str().as_encoded_bytes())))
    }

    /// Where a path of the tree goes: control groups and mount points are renamed, the kernel's own names stay.
    pub(super) fn place(&self, path: &Path, directory: bool) -> PathBuf {
        let Some(shown) = path.to_str() else {
            return PathBuf::from(self.path(&text(path.as_os_str().as_encoded_bytes())));
        };
        let Some(rest) = below_cgroups(shown) else { return path.to_path_buf() };
        let kept = shown.strip_suffix(rest).unwrap_or_default();
        let (groups, file) = match rest.rsplit_once('/') {
            _ if directory => (rest, ""),
            Some((groups, file)) => (groups, file),
            None => return path.to_path_buf(),
        };
        let slash = if directory { "" } else { "/" };
        PathBuf::from(format!("{kept}{}{slash}{file}", self.path(groups)))
    }
}

/// What is below a mounted hierarchy of control groups: the names of groups, then of the kernel's file.
fn below_cgroups(path: &str) -> Option<&str> {
    const CONTROLLERS: [&str; 17] = [
        "blkio",
        "cpu",
        "cpu,cpuacct",
        "cpuacct",
        "cpuset",
        "devices",
        "freezer",
        "hugetlb",
        "memory",
        "misc",
        "net_cls",
        "net_cls,net_prio",
        "net_prio",
        "perf_event",
        "pids",
        "rdma",
        "systemd",
    ];
    const BASES: [&str; 4] = ["sys/fs/cgroup/", "cgroup/", "dev/cgroup/", "mnt/cgroup/"];
    let rest = BASES.iter().find_map(|base| path.strip_prefix(base))?;
    let (first, below) = rest.split_once('/').unwrap_or((rest, ""));
    match first {
        "unified" => Some(below),
        first if CONTROLLERS.contains(&first) => Some(below),
        _ => Some(rest),
    }
}

#[cfg(test)]
mod tests {
    use super::{Names, is_known};
    use proptest::prelude::*;
    use std::path::Path;

    #[test]
    fn the_same_name_is_the_same_everywhere() {
        let names = Names::default();
        assert_eq!(names.words("system.slice"), "system.slice");
        let id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
        let scope = names.words(&format!("docker-{id}.scope"));
        assert!(
            scope.starts_with("docker-")
                && scope.get(71..) == Some(".scope")
                && scope.len() == 77
                && !scope.contains(id)
        );
        let uid = names.words("kubepods-burstable-pod0a1b2c3d_1111_2222_3333_0123456789ab.slice");
        assert!(uid.starts_with("kubepods-burstable-pod") && uid.len() == 64 && !uid.contains("0a1b2c3d"), "{uid}");
        let place = |path: &str, directory| names.place(Path::new(path), directory).display().to_string();
        let group = names.words("secret");
        assert_eq!(
            place("sys/fs/cgroup/memory/secret/memory.stat", false),
            format!("sys/fs/cgroup/memory/{group}/memory.stat")
        );
        for base in ["sys/fs/cgroup", "cgroup", "dev/cgroup", "mnt/cgroup"] {
            let path = format!("{base}/secret");
            assert_eq!((place(&path, true), is_known(Path::new(&path))), (format!("{base}/{group}"), true));
        }
        assert!(
            ["mnt/secret", "var/log/pods", "home/ann", "run/containerd"].iter().all(|path| !is_known(Path::new(path)))
        );
        assert_eq!(place("sys/fs/cgroup/memory", true), "sys/fs/cgroup/memory");
        assert_eq!(place("sys/fs/cgroup/memory.stat", false), "sys/fs/cgroup/memory.stat");
        assert_eq!(place("sys/class/net/eth0", true), "sys/class/net/eth0");
    }

    proptest! {
        #[test]
        fn no_name_panics(name in ".*", directory: bool) {
            let names = Names::default();
            let _ = names.place(Path::new(&name), directory);
            let _ = names.place(Path::new(&format!("sys/fs/cgroup/{name}")), directory);
        }
    }
}
