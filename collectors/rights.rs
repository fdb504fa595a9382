//! Rights that a denied file requires beyond those that this process has.

use crate::Root;
use crate::parse::{fields, hex, lines, number, trim};
use std::sync::OnceLock;

/// Capabilities by their number (linux/capability.h).
const CAPABILITIES: [&str; 41] = [
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "KILL",
    "SETGID",
    "SETUID",
    "SETPCAP",
    "LINUX_IMMUTABLE",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_ADMIN",
    "NET_RAW",
    "IPC_LOCK",
    "IPC_OWNER",
    "SYS_MODULE",
    "SYS_RAWIO",
    "SYS_CHROOT",
    "SYS_PTRACE",
    "SYS_PACCT",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_NICE",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "MKNOD",
    "LEASE",
    "AUDIT_WRITE",
    "AUDIT_CONTROL",
    "SETFCAP",
    "MAC_OVERRIDE",
    "MAC_ADMIN",
    "SYSLOG",
    "WAKE_ALARM",
    "BLOCK_SUSPEND",
    "AUDIT_READ",
    "PERFMON",
    "BPF",
    "CHECKPOINT_RESTORE",
];

/// What reading needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Another process's accounting and memory (`PTRACE_MODE_READ`).
    Ptrace,
    /// The same, and files of other users below it.
    PtraceAndFiles,
    /// Sockets of another network namespace.
    Namespaces,
    /// Files of root.
    Files,
}

impl Needs {
    fn capabilities(self) -> &'static [&'static str] {
        match self {
            Self::Ptrace => &["CAP_SYS_PTRACE"],
            Self::PtraceAndFiles => &["CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH"],
            Self::Namespaces => &["CAP_SYS_ADMIN", "CAP_SYS_PTRACE"],
            Self::Files => &["CAP_DAC_READ_SEARCH"],
        }
    }
}

/// What is missing, in words; of a captured tree nobody's rights are known.
pub(crate) fn needs(root: &Root, needs: Needs) -> String {
    static HELD: OnceLock<(Vec<String>, u32)> = OnceLock::new();
    if !root.is_live() {
        return words(needs, &[], 1);
    }
    let (held, uid) = HELD.get_or_init(|| holder(root));
    words(needs, held, *uid)
}

/// Effective capabilities, as `CAP_SYS_PTRACE`, and effective user id of this process.
pub fn holder(root: &Root) -> (Vec<String>, u32) {
    let mut bytes = Vec::new();
    if root.read("proc/self/status", &mut bytes).is_err() {
        return (Vec::new(), rustix::process::geteuid().as_raw());
    }
    let value = |name: &[u8]| lines(&bytes).find_map(|line| line.strip_prefix(name));
    let mask = value(b"CapEff:").and_then(|field| hex(trim(field))).unwrap_or_default();
    let held = CAPABILITIES.iter().enumerate().filter(|(bit, _)| mask >> bit & 1 == 1);
    let uid = value(b"Uid:").and_then(|field| number(fields(field).nth(1)?));
    let uid = uid.map_or_else(|| rustix::process::geteuid().as_raw(), |uid| uid as u32);
    (held.map(|(_, name)| format!("CAP_{name}")).collect(), uid)
}

fn words(needs: Needs, held: &[String], uid: u32) -> String {
    let all = needs.capabilities();
    let missing: Vec<&str> = all.iter().copied().filter(|name| !held.iter().any(|held| held == name)).collect();
    match (missing.as_slice(), uid) {
        ([], _) => topotop_model::locale::needs::PERMISSION.english().to_owned(),
        (missing, 0) => format!("{}, which root lacks here", missing.join(" and ")),
        _ if needs == Needs::Files => "root".to_owned(),
        ([one], _) => format!("{one} or root"),
        (missing, _) => format!("{}, or root", missing.join(" and ")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Needs, words};

    #[test]
    fn root_is_told_what_it_lacks() {
        let held = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(words(Needs::Ptrace, &[], 1000), "CAP_SYS_PTRACE or root");
        assert_eq!(words(Needs::PtraceAndFiles, &[], 1000), "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH, or root");
        assert_eq!(words(Needs::Files, &[], 1000), "root");
        assert_eq!(words(Needs::Ptrace, &held(&["CAP_DAC_READ_SEARCH"]), 0), "CAP_SYS_PTRACE, which root lacks here");
        assert_eq!(words(Needs::Namespaces, &held(&["CAP_SYS_PTRACE"]), 1000), "CAP_SYS_ADMIN or root");
        assert!(words(Needs::Ptrace, &held(&["CAP_SYS_PTRACE"]), 0).starts_with("an LSM policy"));
    }
}
