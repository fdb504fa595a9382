//! Other names for people, programs, control groups and addresses: the same for the same, words that say what
//! something is left alone. Captures and recordings share it.

use std::collections::hash_map::RandomState;
use std::fmt::Write as _;
use std::hash::BuildHasher as _;

/// Words that say what something is, not whose it is.
const WORDS: [&str; 98] = [
    "C1",
    "C2",
    "CompilerThre",
    "CompilerThread",
    "G1",
    "GC",
    "Thread",
    "VM",
    "app",
    "apps",
    "async",
    "aux",
    "bash",
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
    "journald",
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
    "nginx",
    "node",
    "nspawn",
    "opt",
    "overlay2",
    "payload",
    "pgbench",
    "pod",
    "podman",
    "poll",
    "postgres",
    "proc",
    "python3",
    "qemu",
    "redis",
    "root",
    "run",
    "sbin",
    "sched",
    "scheduler",
    "scope",
    "server",
    "service",
    "session",
    "sh",
    "share",
    "slice",
    "smp",
    "socket",
    "srv",
    "sshd",
    "sys",
    "system",
    "systemd",
    "thread",
    "tmp",
    "topotop",
    "udevd",
    "unified",
    "user",
    "usr",
    "var",
];

/// Gives names; how is known to its maker alone, so that nobody can try names out.
#[derive(Clone, Debug)]
pub struct Names {
    keys: RandomState,
}

impl Names {
    /// Names that no other keys give.
    pub fn new(keys: RandomState) -> Self {
        Self { keys }
    }

    /// Another word for each; digits, separators and words that only say what something is stay.
    pub fn words(&self, name: &str) -> String {
        self.each_word(name, |word, out| self.word(word, out))
    }

    /// What stands between separators handed to `change`, addresses of hosts replaced.
    pub(super) fn each_word(&self, name: &str, change: impl Fn(&str, &mut String)) -> String {
        let mut out = String::with_capacity(name.len());
        let mut rest = name;
        while let Some(c) = rest.chars().next() {
            // systemd's escapes of a unit's name are separators.
            let escape = rest.strip_prefix("\\x").and_then(|rest| rest.get(..2));
            let end = if escape.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit())) {
                out.push_str(rest.get(..4).unwrap_or_default());
                4
            } else if let Some(end) = address(rest) {
                self.address_v4(rest.get(..end).unwrap_or_default(), &mut out);
                end
            } else if c.is_alphanumeric() {
                let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
                change(rest.get(..end).unwrap_or_default(), &mut out);
                end
            } else {
                out.push(c);
                c.len_utf8()
            };
            rest = rest.get(end..).unwrap_or_default();
        }
        out
    }

    pub(super) fn word(&self, word: &str, out: &mut String) {
        let hex = word.len() >= 4 && word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let pod = word.strip_prefix("pod").filter(|rest| rest.len() == 8 && is_hex(rest));
        if word.len() <= 1 || (word.len() <= 5 && word.bytes().all(|byte| byte.is_ascii_digit())) {
            out.push_str(word);
        } else if let Some(rest) = pod {
            out.push_str("pod");
            out.push_str(&self.hex(rest, rest.len()));
        } else if is_plain(word) {
            out.push_str(word);
        } else if hex {
            out.push_str(&self.hex(word, word.len()));
        } else {
            self.hashed(word, out);
        }
    }

    /// A word that says nothing.
    fn hashed(&self, word: &str, out: &mut String) {
        out.push('n');
        out.push_str(&self.hex(word, 7));
    }

    /// As many hexadecimal digits as asked for.
    pub fn hex(&self, name: &str, len: usize) -> String {
        let mut out = String::with_capacity(len + 16);
        let mut part = 0u32;
        while out.len() < len {
            // Writing to a String cannot fail.
            let _ = write!(out, "{:016x}", self.keys.hash_one((name, part)));
            part += 1;
        }
        out.truncate(len);
        out
    }

    /// Another path with the same number of names.
    pub fn path(&self, path: &str) -> String {
        path.split('/').map(|name| self.words(name)).collect::<Vec<_>>().join("/")
    }

    /// Where something is mounted: the kernel's own file systems and their devices stay where they are.
    pub fn mount_point(&self, path: &str) -> String {
        let own = ["/proc", "/sys", "/dev"].iter().any(|top| path.starts_with(top));
        if own { path.to_owned() } else { self.path(path) }
    }

    /// What a fix was for or what it wrote.
    pub fn of_fix(&self, text: &str) -> String {
        let kernels = ["/proc/irq/", "/proc/sys/", "/sys/devices/"].iter().any(|top| text.starts_with(top));
        let setting = ["vm.", "net.", "kernel."].iter().any(|top| text.starts_with(top));
        if kernels || setting {
            return text.to_owned();
        }
        match text.split_once(':') {
            Some(("nic", name)) => format!("nic:{}", self.interface(name)),
            Some(("cgroup", path)) => format!("cgroup:{}", self.path(path)),
            Some(("host" | "cpu" | "node" | "irq" | "pid" | "disk", _)) => text.to_owned(),
            // A fix is called RULE/SUBJECT/FIX.
            _ => match text.split('/').collect::<Vec<_>>().as_slice() {
                [rule, subject, fix] if !rule.is_empty() => format!("{rule}/{}/{fix}", self.words(subject)),
                _ => self.words(text),
            },
        }
    }

    /// An argument of a program; those by which a runtime's settings are known stay.
    pub fn argument(&self, argument: &str) -> String {
        const BINDINGS: [&str; 10] = ["db", "u", "ns", "ts", "ps", "s", "nnts", "nnps", "tnnps", "true"];
        let kept = (argument.len() <= 6 && argument.starts_with('+'))
            || BINDINGS.contains(&argument)
            || (argument.starts_with("-Xm") && argument.bytes().skip(3).all(|byte| byte.is_ascii_alphanumeric()))
            || (argument.starts_with("-XX:+Use") && argument.bytes().skip(8).all(|byte| byte.is_ascii_alphanumeric()));
        if kept { argument.to_owned() } else { self.words(argument) }
    }

    /// A hardware address; those that say nothing of a device stay.
    pub fn hardware_address(&self, address: &str) -> String {
        if address.bytes().all(|byte| matches!(byte, b'0' | b':' | b'f' | b'\n')) {
            return address.to_owned();
        }
        let mut digits = self.hex(address.trim_end(), address.len()).into_bytes().into_iter();
        let other = |c: char| if c.is_ascii_hexdigit() { digits.next().map_or('0', char::from) } else { c };
        address.chars().map(other).collect()
    }

    /// Another address of a host, of version 4 or 6; the ones that every host has stay.
    pub fn host_address(&self, address: &str) -> String {
        let mut out = String::new();
        if matches!(address, "::" | "::1") {
            out.push_str(address);
        } else if address.contains(':') {
            let hex = self.hex(address, 8);
            let (high, low) = hex.split_at_checked(4).unwrap_or_default();
            // Writing to a String cannot fail.
            let _ = write!(out, "fd00::{high}:{low}");
        } else if address.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
            self.address_v4(address, &mut out);
        } else {
            out = self.words(address);
        }
        out
    }

    /// Another address of a host; the ones that every host has stay.
    fn address_v4(&self, address: &str, out: &mut String) {
        if address.starts_with("127.") || address == "0.0.0.0" || address == "255.255.255.255" {
            return out.push_str(address);
        }
        let hash = self.keys.hash_one(address);
        let [a, b, c, ..] = hash.to_le_bytes();
        // Writing to a String cannot fail.
        let _ = write!(out, "10.{a}.{b}.{c}");
    }
}

/// True for a word of the list, with a short number behind it or without.
fn is_plain(word: &str) -> bool {
    let stem = word.trim_end_matches(|c: char| c.is_ascii_digit());
    WORDS.contains(&word) || (word.len() - stem.len() <= 3 && WORDS.contains(&stem))
}

pub(super) fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Where an IPv4 address that a text begins with ends.
fn address(text: &str) -> Option<usize> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let digits = text.get(..end)?.trim_end_matches('.');
    let next = text.get(digits.len()..)?.chars().next();
    let mut octets = 0;
    for octet in digits.split('.') {
        let number: u16 = octet.parse().ok().filter(|_| octet.len() <= 3)?;
        octets += usize::from(number <= 255);
    }
    let four = octets == 4 && digits.matches('.').count() == 3;
    (four && next.is_none_or(|c| !c.is_alphanumeric())).then_some(digits.len())
}

#[cfg(test)]
mod tests {
    use super::Names;
    use proptest::prelude::*;
    use std::collections::hash_map::RandomState;

    fn names() -> Names {
        Names::new(RandomState::new())
    }

    #[test]
    fn what_says_what_something_is_stays() {
        let names = names();
        for kept in ["system.slice", "beam.smp", "1_scheduler", "erts_sched_12", "java", "G1 Conc#0", "/usr/bin"] {
            let stays = kept.replace("Conc", &names.words("Conc"));
            assert_eq!(names.words(kept), stays, "{kept}");
        }
        let secret = names.words("secret");
        assert!(secret.len() == 8 && secret != "secret");
        assert_eq!(names.words("secret/secret.service"), format!("{secret}/{secret}.service"));
        assert_eq!(names.words("a\\x2dsecret"), format!("a\\x2d{secret}"));
        assert_ne!(self::names().words("secret"), secret, "another recording, another name");
    }

    #[test]
    fn addresses_of_hosts_go() {
        let names = names();
        let text = names.words("epmd@10.20.30.40:4369 127.0.0.1 1.2.3");
        assert!(!text.contains("20.30.40") && text.contains(":4369 127.0.0.1 1.2.3"), "{text}");
        assert_eq!(names.words("10.20.30.40"), names.words("x=10.20.30.40").split_once('=').expect("a word").1);
        let hardware = names.hardware_address("52:54:00:12:34:56\n");
        assert!(hardware.len() == 18 && hardware != "52:54:00:12:34:56\n", "{hardware}");
        assert_eq!(names.hardware_address("ff:ff:ff:ff:ff:ff"), "ff:ff:ff:ff:ff:ff");
    }

    #[test]
    fn ids_keep_their_form() {
        let names = names();
        let id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
        let scope = names.words(&format!("docker-{id}.scope"));
        assert_eq!(scope, format!("docker-{}.scope", names.words(id)), "a container is called the same by its id");
        let uid = names.words("kubepods-burstable-pod0a1b2c3d_1111_2222_3333_0123456789ab.slice");
        assert!(uid.starts_with("kubepods-burstable-pod") && uid.len() == 64 && !uid.contains("0a1b2c3d"), "{uid}");
    }

    proptest! {
        #[test]
        fn no_name_panics(name in ".*") {
            let names = names();
            let _ = (names.words(&name), names.path(&name), names.argument(&name), names.hardware_address(&name), names.of_fix(&name));
        }

        #[test]
        fn no_private_word_stays(word in "[g-z]{6,12}", around in "[./@: -]{1,2}") {
            prop_assume!(!super::WORDS.contains(&word.as_str()));
            let name = format!("{around}{word}{around}");
            prop_assert!(!names().words(&name).contains(&word));
        }
    }
}
