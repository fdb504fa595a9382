//! What a denied file requires, by what this program holds already: root is not told to be root.

use crate::Root;
use crate::surroundings;
use std::sync::OnceLock;

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
    let (held, uid) = HELD.get_or_init(|| surroundings::holder(root));
    words(needs, held, *uid)
}

fn words(needs: Needs, held: &[String], uid: u32) -> String {
    let all = needs.capabilities();
    let missing: Vec<&str> = all.iter().copied().filter(|name| !held.iter().any(|held| held == name)).collect();
    match (missing.as_slice(), uid) {
        ([], _) => "a security module, mount option or user namespace that permits it".to_owned(),
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
        assert!(words(Needs::Ptrace, &held(&["CAP_SYS_PTRACE"]), 0).starts_with("a security module"));
    }
}
