//! Captured trees that hold two samples: when each was taken, and the files of the second one.
//!
//! `topotop/samples` has a line per sample: where its files are, then three clocks. The second sample's proc and sys
//! are in a directory of their own; whatever else is asked for is there once.

use crate::capture::{SAMPLES, SECOND};
use crate::parse::{fields, lines, number, signed, whole_lines};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use topotop_model::{Reason, Stamp};

/// The files of the second sample.
#[derive(Debug)]
pub(super) struct Second {
    fd: OwnedFd,
    on: AtomicBool,
}

impl Second {
    pub(super) fn new(fd: OwnedFd) -> Self {
        Self { fd, on: AtomicBool::new(false) }
    }

    pub(super) fn turn_on(&self) {
        self.on.store(true, Ordering::Release);
    }

    pub(super) fn is_on(&self) -> bool {
        self.on.load(Ordering::Acquire)
    }

    /// Where a path is looked up, if it is among these files and they are to be read.
    pub(super) fn base(&self, relative: &Path) -> Option<&OwnedFd> {
        let changes = relative.starts_with("proc") || relative.starts_with("sys");
        (changes && self.is_on()).then_some(&self.fd)
    }
}

/// How a kept file of such a tree is found again among the files of the second sample.
#[derive(Debug)]
pub(super) struct Again {
    pub(super) second: Arc<Second>,
    pub(super) path: PathBuf,
}

impl Again {
    /// The same file of the second sample, once that is read.
    pub(super) fn open(&self) -> Option<Result<OwnedFd, Reason>> {
        let base = self.second.base(&self.path)?;
        let opened = super::open_regular(base, &self.path);
        Some(opened.map_err(|reason| if reason == Reason::NotFound { Reason::Vanished } else { reason }))
    }
}

/// A kept file's own descriptor, or that of the same file in the second sample.
#[derive(Debug)]
pub(super) enum Current<'a> {
    Own(BorrowedFd<'a>),
    Other(OwnedFd),
}

impl AsFd for Current<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Own(fd) => *fd,
            Self::Other(fd) => fd.as_fd(),
        }
    }
}

/// Clocks that are believed: later ones could not be added to.
const LAST_NS: u64 = 1 << 62;

/// When the samples of a tree were taken; nothing where its index is not believable.
pub(super) fn stamps(bytes: &[u8]) -> Vec<Stamp> {
    let (whole, cut) = whole_lines(bytes);
    let stamp = |(index, line): (usize, &[u8])| {
        let mut parts = fields(line);
        let directory = if index == 0 { "." } else { SECOND };
        (parts.next()? == directory.as_bytes()).then_some(())?;
        let wall_ns = signed(parts.next()?)?;
        let (mono_ns, boot_ns) = (number(parts.next()?)?, number(parts.next()?)?);
        Some(Stamp { seq: index as u64 + 1, wall_ns, mono_ns, boot_ns })
    };
    let stamps: Option<Vec<Stamp>> = lines(whole).take(3).enumerate().map(stamp).collect();
    let believable = |stamps: &Vec<Stamp>| {
        stamps.len() <= 2
            && stamps.iter().all(|stamp| stamp.mono_ns > 0 && stamp.mono_ns < LAST_NS && stamp.boot_ns < LAST_NS)
            && stamps.is_sorted_by(|a, b| a.mono_ns < b.mono_ns)
    };
    stamps.filter(believable).filter(|_| !cut).unwrap_or_default()
}

/// The index of a tree.
pub(super) const INDEX: &str = SAMPLES;

#[cfg(test)]
mod tests {
    use super::stamps;
    use proptest::prelude::*;

    const TEXT: &[u8] = b". 1700000000000000000 5000000000 6000000000\nt1 1700000001000000000 6000000000 7000000000\n";

    #[test]
    fn believes_clocks_that_go_forward() {
        let mono: Vec<_> = stamps(TEXT).iter().map(|stamp| (stamp.seq, stamp.mono_ns)).collect();
        assert_eq!(mono, [(1, 5_000_000_000), (2, 6_000_000_000)]);
        assert!(stamps(b". 1 2 3\nt1 2 2 3\n").is_empty());
        assert!(stamps(b". 1 0 3\n").is_empty());
        assert!(stamps(b". 1 18446744073709551615 3\n").is_empty());
        assert!(stamps(b". 1 2 18446744073709551615\n").is_empty());
        assert!(stamps(b"/etc 1 2 3\n").is_empty());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            stamps(&bytes);
        }

        #[test]
        fn cut_files_never_give_wrong_times(cut in 0usize..TEXT.len()) {
            let whole = stamps(TEXT);
            prop_assert!(stamps(&TEXT[..cut]).iter().all(|stamp| whole.contains(stamp)));
        }
    }
}
