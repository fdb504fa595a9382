//! Other names for hosts, people, programs, control groups and addresses: the same for the same, in all files.

use crate::parse::text;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::path::{Path, PathBuf};

mod contents;

/// Words that say what something is, not whose it is.
const WORDS: [&str; 84] = [
    "C1",
    "C2",
    "G1",
    "GC",
    "Thread",
    "VM",
    "app",
    "apps",
    "async",
    "aux",
    "beam",
    "besteffort",
    "bin",
    "boot",
    "burstable",
    "cgroup",
    "containerd",
    "cpu",
    "cri",
    "crio",
    "cron",
    "data",
    "dbus",
    "dev",
    "dirty",
    "docker",
    "erts",
    "etc",
    "garden",
    "gc",
    "guaranteed",
    "home",
    "init",
    "io",
    "irqbalance",
    "java",
    "k8s",
    "kubelet",
    "kubepods",
    "lib",
    "lib64",
    "libpod",
    "local",
    "log",
    "lxc",
    "machine",
    "media",
    "memory",
    "mnt",
    "monitor",
    "mount",
    "mysqld",
    "nspawn",
    "opt",
    "overlay2",
    "payload",
    "pod",
    "podman",
    "poll",
    "postgres",
    "proc",
    "qemu",
    "root",
    "run",
    "sbin",
    "sched",
    "scheduler",
    "scope",
    "service",
    "session",
    "share",
    "slice",
    "smp",
    "socket",
    "srv",
    "sys",
    "system",
    "systemd",
    "thread",
    "tmp",
    "unified",
    "user",
    "usr",
    "var",
];

/// Gives names; how is known to this capture alone, so that nobody can try names out.
#[derive(Debug, Default)]
pub(super) struct Names {
    keys: RandomState,
}

impl Names {
    /// Another word; digits, separators and words that only say what something is stay.
    pub(super) fn words(&self, name: &str) -> String {
        let mut out = String::with_capacity(name.len());
        let mut word = String::new();
        for c in name.chars() {
            if c.is_alphanumeric() {
                word.push(c);
            } else {
                self.word(&mut word, &mut out);
                out.push(c);
            }
        }
        self.word(&mut word, &mut out);
        out
    }

    fn word(&self, word: &mut String, out: &mut String) {
        let hex = word.len() >= 4 && word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let pod =
            word.strip_prefix("pod").filter(|rest| rest.len() == 8 && rest.bytes().all(|b| b.is_ascii_hexdigit()));
        if word.len() <= 1 || (word.len() <= 5 && word.bytes().all(|byte| byte.is_ascii_digit())) {
            out.push_str(word);
        } else if let Some(rest) = pod {
            out.push_str("pod");
            out.push_str(&self.hex(rest, rest.len()));
        } else if WORDS.contains(&word.as_str()) {
            out.push_str(word);
        } else if hex {
            out.push_str(&self.hex(word, word.len()));
        } else {
            out.push('n');
            out.push_str(&self.hex(word, 7));
        }
        word.clear();
    }

    /// As many hexadecimal digits as asked for.
    pub(super) fn hex(&self, name: &str, len: usize) -> String {
        let mut out = String::with_capacity(len + 16);
        let mut part = 0u32;
        while out.len() < len {
            // Writing to a String cannot fail.
            let _ = std::fmt::Write::write_fmt(&mut out, format_args!("{:016x}", self.keys.hash_one((name, part))));
            part += 1;
        }
        out.truncate(len);
        out
    }

    /// Another path with the same number of names.
    pub(super) fn path(&self, path: &str) -> String {
        path.split('/').map(|name| self.words(name)).collect::<Vec<_>>().join("/")
    }

    /// What a link says, with other names.
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
    let rest = path.strip_prefix("sys/fs/cgroup/").or_else(|| path.strip_prefix("cgroup/"))?;
    let (first, below) = rest.split_once('/').unwrap_or((rest, ""));
    match first {
        "unified" => Some(below),
        first if CONTROLLERS.contains(&first) => Some(below),
        _ => Some(rest),
    }
}

#[cfg(test)]
mod tests {
    use super::Names;
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
        assert_eq!(place("sys/fs/cgroup/secret", true), format!("sys/fs/cgroup/{group}"));
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
