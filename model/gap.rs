//! What could not be read, and why.

use crate::document::{Absent, Text, absent};
use crate::locale::screen::shared as text;
use crate::locale::{self, translated};
use serde::Serialize;
use serde_with::apply;
use std::borrow::Cow;
use std::sync::Arc;

/// Why something could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// EACCES, EPERM: readable only by another user or with a capability.
    PermissionDenied,
    /// ENOENT: this kernel or machine does not have it.
    NotFound,
    /// EOPNOTSUPP, EINVAL, not a regular file: it exists but cannot be read.
    NotSupported,
    /// ESRCH, ENODEV, or gone between listing and reading.
    Vanished,
    /// Its format is not the one that the kernel documents.
    Malformed,
    /// It did not answer in time.
    TimedOut,
    /// EMFILE, ENFILE, ENOMEM: out of file descriptors or memory.
    Exhausted,
}

impl Absent for Reason {}

impl Reason {
    /// Every reason, in the order of their codes in recordings.
    pub const ALL: [Self; 7] = [
        Self::PermissionDenied,
        Self::NotFound,
        Self::NotSupported,
        Self::Vanished,
        Self::Malformed,
        Self::TimedOut,
        Self::Exhausted,
    ];

    /// Its code in recordings.
    pub fn code(self) -> u64 {
        Self::ALL.iter().position(|&reason| reason == self).unwrap_or_default() as u64
    }

    /// The reason of a code, if it is one.
    pub fn from_code(code: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(code).ok()?).copied()
    }

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::PermissionDenied => "permission_denied",
            Self::NotFound => "not_found",
            Self::NotSupported => "not_supported",
            Self::Vanished => "vanished",
            Self::Malformed => "malformed",
            Self::TimedOut => "timed_out",
            Self::Exhausted => "exhausted",
        }
    }

    /// In a few words.
    pub fn text(self) -> locale::Text {
        match self {
            Self::PermissionDenied => text::PERMISSION_DENIED,
            Self::NotFound => text::NOT_FOUND,
            Self::NotSupported => text::NOT_SUPPORTED,
            Self::Vanished => text::VANISHED,
            Self::Malformed => text::NOT_UNDERSTOOD,
            Self::TimedOut => text::TIMED_OUT,
            Self::Exhausted => text::NO_RESOURCES,
        }
    }
}

/// Files of one pattern that could not be read for one reason.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Gap {
    /// The pattern, below the root: `proc/*/numa_maps`.
    #[serde_with(skip_apply)]
    #[serde(serialize_with = "Text::serialize")]
    pub path: Arc<str>,
    /// Why.
    pub reason: Reason,
    /// How many files.
    pub count: u64,
    /// What would fill it: `CAP_SYS_PTRACE`, `Linux 5.2`, or nothing known.
    pub needs: Arc<str>,
}

impl Gap {
    /// The pattern as readers name files: `/proc/*/numa_maps`.
    pub fn shown_path(&self) -> Cow<'_, str> {
        let is_file = ["proc/", "sys/"].iter().any(|root| self.path.starts_with(root));
        if is_file { Cow::Owned(format!("/{}", self.path)) } else { Cow::Borrowed(&self.path) }
    }

    /// What would fill it, in the language of the reader.
    pub fn shown_needs(&self) -> Cow<'_, str> {
        translated(&["needs."], &self.needs)
    }
}

impl<'a> IntoIterator for &'a Gaps {
    type Item = &'a Gap;
    type IntoIter = std::slice::Iter<'a, Gap>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The gaps of one section, one row per pattern and reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    list: Vec<Gap>,
}

impl Gaps {
    /// Counts one more unreadable file.
    pub fn add(&mut self, path: &str, reason: Reason, needs: &str) {
        self.add_many(path, reason, needs, 1);
    }

    /// Counts `count` more unreadable files.
    pub fn add_many(&mut self, path: &str, reason: Reason, needs: &str, count: u64) {
        if let Some(gap) = self.list.iter_mut().find(|gap| *gap.path == *path && gap.reason == reason) {
            gap.count += count;
        } else {
            // Whatever file it is, the same would fill it.
            let of_files = reason == Reason::Exhausted && !path.starts_with("metric:");
            let needs = if of_files { crate::locale::needs::OPEN_FILES.english() } else { needs };
            self.list.push(Gap { path: path.into(), reason, count, needs: needs.into() });
        }
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.list.clear();
    }

    /// The rows.
    pub fn iter(&self) -> std::slice::Iter<'_, Gap> {
        self.list.iter()
    }

    /// True if nothing is missing.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Builds the list from rows, as a decoder does.
    pub fn from_rows(rows: Vec<Gap>) -> Self {
        Self { list: rows }
    }
}
