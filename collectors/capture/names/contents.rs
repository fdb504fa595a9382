//! What is inside files that hold names.

use super::Names;
use crate::parse::{fields, number, text};
use std::path::Path;

/// What says of a session whether a person is behind it: the rest says who and from where.
fn session(line: &str) -> String {
    let kept = ["CLASS=", "STATE="].iter().any(|name| line.starts_with(name));
    if kept { line.to_owned() } else { String::new() }
}

/// The kinds of records of utmp, without what else is in them.
fn users(bytes: &[u8]) -> Vec<u8> {
    let kind = size_of::<libc::c_short>();
    bytes.iter().enumerate().map(|(at, &byte)| if at % size_of::<libc::utmpx>() < kind { byte } else { 0 }).collect()
}

/// Kernel threads (PF_KTHREAD) are called the same everywhere.
const KERNEL_THREAD: u64 = 0x0020_0000;

impl Names {
    /// The contents of a file of the tree with other names in it.
    pub(in crate::capture) fn contents(&self, path: &Path, bytes: &[u8]) -> Vec<u8> {
        let parts: Vec<&str> = path.iter().map(|part| part.to_str().unwrap_or_default()).collect();
        match parts.as_slice() {
            ["proc", _, "root" | "cwd", ..] | ["proc", _, .., "environ"] => Vec::new(),
            ["proc", "sys", "kernel", "hostname" | "domainname"] | ["proc", "sys", "kernel", "random", _] => {
                self.words(&text(bytes)).into_bytes()
            }
            ["proc", "sys", ..] => bytes.to_vec(),
            ["run", "systemd", "sessions", _] => Self::lines(bytes, session),
            ["run", "utmp"] => users(bytes),
            ["proc", "cmdline"] => Self::kernel_arguments(bytes),
            ["proc", .., "net", "tcp" | "tcp6" | "udp" | "udp6"] => Self::lines(bytes, |line| self.socket(line)),
            ["proc", _, .., "stat"] => self.stat(bytes),
            ["proc", _, .., "status"] => self.status(bytes),
            ["proc", _, .., "comm"] => self.words(&text(bytes)).into_bytes(),
            ["proc", _, "cmdline"] => self.arguments(bytes),
            ["proc", .., "cgroup"] => Self::lines(bytes, |line| self.group(line)),
            ["proc", .., "mountinfo" | "mounts"] => Self::lines(bytes, |line| self.mount(line)),
            ["proc", _, .., "maps" | "numa_maps" | "smaps"] => Self::lines(bytes, |line| self.mapping(line)),
            [.., "net", _, "address" | "broadcast" | "perm_addr"] => self.hardware_address(&text(bytes)).into_bytes(),
            _ => bytes.to_vec(),
        }
    }

    fn lines(bytes: &[u8], change: impl Fn(&str) -> String) -> Vec<u8> {
        let whole = text(bytes);
        whole
            .split('\n')
            .map(|line| if line.is_empty() { String::new() } else { change(line) })
            .collect::<Vec<_>>()
            .join("\n")
            .into()
    }

    /// `1234 (name) S 1 …`: the name may hold anything, parentheses as well.
    fn stat(&self, bytes: &[u8]) -> Vec<u8> {
        let (Some(open), Some(close)) =
            (bytes.iter().position(|&byte| byte == b'('), bytes.iter().rposition(|&byte| byte == b')'))
        else {
            return bytes.to_vec();
        };
        let (Some(before), Some(name), Some(after)) =
            (bytes.get(..=open), bytes.get(open + 1..close), bytes.get(close..))
        else {
            return Vec::new();
        };
        let flags = fields(after).nth(7).and_then(number).unwrap_or_default();
        if flags & KERNEL_THREAD != 0 {
            return bytes.to_vec();
        }
        [before, self.words(&text(name)).as_bytes(), after].concat()
    }

    fn status(&self, bytes: &[u8]) -> Vec<u8> {
        // Kernel threads have no memory of their own.
        let user = text(bytes).contains("\nVmSize:");
        Self::lines(bytes, |line| match line.strip_prefix("Name:\t") {
            Some(name) if user => format!("Name:\t{}", self.words(name)),
            _ => line.to_owned(),
        })
    }

    /// Arguments, each ended by NUL.
    fn arguments(&self, bytes: &[u8]) -> Vec<u8> {
        let arguments = bytes.split(|&byte| byte == 0).map(|argument| self.argument(&text(argument)));
        arguments.collect::<Vec<_>>().join("\0").into_bytes()
    }

    /// Arguments of the kernel: those about CPUs, nodes and control groups stay, the rest may name disks and hosts.
    fn kernel_arguments(bytes: &[u8]) -> Vec<u8> {
        const KEPT: [&str; 12] = [
            "isolcpus",
            "nohz",
            "nohz_full",
            "rcu_nocbs",
            "irqaffinity",
            "numa",
            "numa_balancing",
            "psi",
            "maxcpus",
            "cgroup_disable",
            "cgroup_no_v1",
            "systemd.unified_cgroup_hierarchy",
        ];
        let whole = text(bytes);
        let kept = whole.split_whitespace().filter(|word| KEPT.contains(&word.split('=').next().unwrap_or_default()));
        format!("{}\n", kept.collect::<Vec<_>>().join(" ")).into_bytes()
    }

    /// `4:memory:/docker/…`
    fn group(&self, line: &str) -> String {
        match line.splitn(3, ':').collect::<Vec<_>>().as_slice() {
            [id, controllers, path] => format!("{id}:{controllers}:{}", self.path(path)),
            _ => String::new(),
        }
    }

    /// A line of mountinfo or mounts: paths outside the kernel's own file systems are renamed.
    fn mount(&self, line: &str) -> String {
        let parts: Vec<&str> = line.split(' ').collect();
        // mountinfo has source and type behind a dash, mounts has the source first.
        let dash = parts.iter().position(|part| *part == "-");
        let (source, kind) = dash.map_or((0, 2), |dash| (dash + 2, dash + 1));
        let kind = parts.get(kind).copied().unwrap_or_default();
        let field = |(index, part): (usize, &str)| match part {
            path if path.starts_with('/') => self.mount_point(path),
            part if index == source => {
                if part == kind || part == "none" {
                    part.to_owned()
                } else {
                    self.words(part)
                }
            }
            options if options.contains(',') => {
                let kept = options.split(',').filter(|option| !option.contains(['/', '@', ':']));
                kept.collect::<Vec<_>>().join(",")
            }
            path if path.contains('/') => self.path(path),
            other => other.to_owned(),
        };
        parts.iter().copied().enumerate().map(field).collect::<Vec<_>>().join(" ")
    }

    /// A line of maps or numa_maps.
    fn mapping(&self, line: &str) -> String {
        let field = |field: &str| match field.strip_prefix("file=") {
            Some(path) => format!("file={}", self.path(path)),
            None if field.starts_with('/') => self.path(field),
            None => field.to_owned(),
        };
        line.split(' ').map(field).collect::<Vec<_>>().join(" ")
    }

    /// A line of net/tcp: `0: 0100007F:1F90 00000000:0000 0A …`; ports stay, and addresses that every host has.
    fn socket(&self, line: &str) -> String {
        let field = |field: &str| match field.split_once(':') {
            Some((address, port)) if matches!(address.len(), 8 | 32) && port.len() == 4 => {
                let common = address.bytes().all(|byte| byte == b'0')
                    || address.ends_with("7F")
                    || address.ends_with("01000000");
                let address = if common { address.to_owned() } else { self.hex(address, address.len()).to_uppercase() };
                format!("{address}:{port}")
            }
            _ => field.to_owned(),
        };
        line.split(' ').map(field).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::Names;
    use proptest::prelude::*;
    use std::path::Path;

    fn renamed(names: &Names, path: &str, bytes: &[u8]) -> String {
        String::from_utf8(names.contents(Path::new(path), bytes)).expect("text")
    }

    #[test]
    fn names_go_and_numbers_stay() {
        let names = Names::default();
        let secret = names.words("secret");
        let stat = renamed(&names, "proc/7/stat", b"7 (secret) S 1 7 7 0 -1 4194560 12 0 0\n");
        assert_eq!(stat, format!("7 ({secret}) S 1 7 7 0 -1 4194560 12 0 0\n"));
        let kernel = "9 (ksoftirqd/0) S 2 0 0 0 -1 69238848 0\n";
        assert_eq!(renamed(&names, "proc/9/stat", kernel.as_bytes()), kernel);
        let status = renamed(&names, "proc/7/task/8/status", b"Name:\tsecret\nVmSize:\t 8 kB\n");
        assert_eq!(status, format!("Name:\t{secret}\nVmSize:\t 8 kB\n"));
        let arguments = renamed(&names, "proc/7/cmdline", b"/opt/secret/beam.smp\0+sbt\0db\0--\0secret=1\0");
        assert_eq!(arguments, format!("/opt/{secret}/beam.smp\0+sbt\0db\0--\0{secret}=1\0"));
        assert_eq!(renamed(&names, "proc/7/cgroup", b"0::/secret\n"), format!("0::/{secret}\n"));
        let mount = "30 24 0:26 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n";
        assert_eq!(renamed(&names, "proc/self/mountinfo", mount.as_bytes()), mount);
        let mount =
            renamed(&names, "proc/1/mountinfo", b"31 24 8:1 / /secret rw - nfs secret:/x rw,addr=10.0.0.1:5,vers=4\n");
        assert!(!mount.contains("secret") && mount.contains("8:1") && mount.contains("vers=4"), "{mount}");
        let socket = renamed(&names, "proc/net/tcp", b"   0: 0100007F:1F90 0A01A8C0:0000 0A\n");
        assert!(socket.contains("0100007F:1F90") && !socket.contains("0A01A8C0"), "{socket}");
        assert_eq!(renamed(&names, "proc/cmdline", b"root=/dev/secret isolcpus=4-7 quiet\n"), "isolcpus=4-7\n");
        assert_eq!(renamed(&names, "proc/7/environ", b"A=secret\0"), "");
        let address = renamed(&names, "sys/devices/x/net/eth0/address", b"52:54:00:12:34:56\n");
        assert!(address.len() == 18 && address != "52:54:00:12:34:56\n", "{address}");
        assert_eq!(renamed(&names, "proc/meminfo", b"MemTotal: 1 kB\n"), "MemTotal: 1 kB\n");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let names = Names::default();
            for path in ["proc/1/stat", "proc/1/status", "proc/1/cmdline", "proc/1/cgroup", "proc/1/mountinfo",
                "proc/1/numa_maps", "proc/net/tcp", "proc/cmdline", "sys/class/net/x/address"] {
                let _ = names.contents(Path::new(path), &bytes);
            }
        }
    }
}
