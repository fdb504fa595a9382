//! Captured trees that hold several samples: when each was taken, and the files of those after the first.
//!
//! `topotop/samples` has a line per sample: where its files are (`.`, `t1`, `t2`, …), then three clocks. The proc and sys
//! of a later sample are in a directory of their own; whatever else is asked for is there once, except answers of the
//! kernel that this directory has as well.

use super::SAMPLES;
use crate::parse::{fields, lines, number, signed, whole_lines};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use topotop_model::{Reason, Stamp};

/// The samples of one tree that are believed.
const MOST: usize = 4096;

/// The directory of a later sample's files.
pub(crate) fn directory(index: usize) -> String {
    format!("t{index}")
}

/// The files of the sample that is read, if it is a later one.
#[derive(Debug, Default)]
pub(super) struct Later(RwLock<(usize, Option<Arc<OwnedFd>>)>);

impl Later {
    /// From now on the files of this sample are read.
    pub(super) fn turn_to(&self, index: usize, fd: OwnedFd) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = (index, Some(Arc::new(fd)));
    }

    /// Which sample is read.
    pub(super) fn index(&self) -> usize {
        self.0.read().unwrap_or_else(PoisonError::into_inner).0
    }

    fn fd(&self) -> Option<Arc<OwnedFd>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).1.clone()
    }

    /// Where a path is looked up, if it is among these files and they are to be read.
    pub(super) fn base(&self, relative: &Path) -> Option<Arc<OwnedFd>> {
        let changes = relative.starts_with("proc") || relative.starts_with("sys");
        let answers = relative.starts_with("topotop") && relative != Path::new(SAMPLES);
        let fd = if changes || answers { self.fd()? } else { return None };
        (changes || super::open_regular(&fd, relative).is_ok()).then_some(fd)
    }
}

/// How a kept file of such a tree is found again among the files of a later sample.
#[derive(Debug)]
pub(super) struct Again {
    pub(super) later: Arc<Later>,
    pub(super) path: PathBuf,
}

impl Again {
    /// The same file of a later sample, once that is read.
    pub(super) fn open(&self) -> Option<Result<OwnedFd, Reason>> {
        let base = self.later.base(&self.path)?;
        let opened = super::open_regular(&base, &self.path);
        Some(opened.map_err(|reason| if reason == Reason::NotFound { Reason::Vanished } else { reason }))
    }
}

/// A kept file's own descriptor, or that of the same file in a later sample.
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
        let place = if index == 0 { ".".to_owned() } else { directory(index) };
        (parts.next()? == place.as_bytes()).then_some(())?;
        let wall_ns = signed(parts.next()?)?;
        let (mono_ns, boot_ns) = (number(parts.next()?)?, number(parts.next()?)?);
        Some(Stamp { seq: index as u64 + 1, wall_ns, mono_ns, boot_ns })
    };
    let stamps: Option<Vec<Stamp>> = lines(whole).take(MOST + 1).enumerate().map(stamp).collect();
    let believable = |stamps: &Vec<Stamp>| {
        stamps.len() <= MOST
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
        let three = [TEXT, b"t2 1700000002000000000 7000000000 8000000000\n"].concat();
        assert_eq!(stamps(&three).len(), 3);
        assert!(stamps(&[TEXT, b"t3 1700000002000000000 7000000000 8000000000\n"].concat()).is_empty());
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
