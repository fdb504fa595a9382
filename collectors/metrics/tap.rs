//! Lines that come in pieces: the newest number of them.

use super::pick::{Pick, Work};
use std::sync::{Mutex, PoisonError};

/// The longest line that is searched, in bytes.
const MOST_LINE: usize = 64 << 10;

/// Takes in what a command prints and keeps the newest number.
#[derive(Debug)]
pub struct Tap {
    pick: Pick,
    lines: Mutex<Lines>,
}

impl Tap {
    pub(super) fn new(pick: Pick) -> Self {
        Self { pick, lines: Mutex::default() }
    }

    /// Takes in bytes that were printed at a time of CLOCK_MONOTONIC.
    pub fn feed(&self, bytes: &[u8], at_ns: u64) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.feed(&self.pick, bytes, at_ns);
    }

    /// The newest number and when it came. Until it is asked again as much is searched as for one sample.
    pub(super) fn newest(&self) -> Option<(f64, u64)> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.work = Work::default();
        lines.newest
    }

    /// True where more was printed since the last sample than is searched for one.
    pub(super) fn is_exhausted(&self) -> bool {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).work.is_exhausted()
    }
}

/// A line that is not complete yet, and the newest number of those that were.
#[derive(Debug, Default)]
pub(super) struct Lines {
    part: Vec<u8>,
    /// True in a line that is too long.
    lost: bool,
    /// What may still be searched until the next sample.
    pub(super) work: Work,
    pub(super) newest: Option<(f64, u64)>,
}

impl Lines {
    /// Takes in bytes; lines end with a newline, or with a return as progress displays do.
    pub(super) fn feed(&mut self, pick: &Pick, bytes: &[u8], at_ns: u64) {
        let mut pieces = bytes.split(|byte| matches!(byte, b'\n' | b'\r')).peekable();
        while let Some(piece) = pieces.next() {
            if self.part.len() + piece.len() > MOST_LINE {
                self.lost = true;
                self.part.clear();
            }
            if !self.lost {
                self.part.extend_from_slice(piece);
            }
            if pieces.peek().is_some() {
                self.end(pick, at_ns);
            }
        }
    }

    /// Takes what there is of a line for the whole of it.
    pub(super) fn end(&mut self, pick: &Pick, at_ns: u64) {
        if !self.lost && !self.part.is_empty() && !self.work.is_exhausted() {
            let line = String::from_utf8_lossy(&self.part);
            self.newest = pick.line(&line, &mut self.work).map(|value| (value, at_ns)).or(self.newest);
        }
        self.part.clear();
        self.lost = false;
    }

    pub(super) fn has_part(&self) -> bool {
        !self.part.is_empty()
    }

    /// Goes on elsewhere: in the middle of a line, or where one begins.
    pub(super) fn restart(&mut self, middle: bool) {
        *self = Self { newest: self.newest, lost: middle, ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::{Pick, Tap};
    use proptest::prelude::*;
    use regex_lite::Regex;

    fn tap() -> Tap {
        Tap::new(Pick::Line(Regex::new("tps = ([0-9.]+)").expect("a pattern")))
    }

    #[test]
    fn an_unfinished_line_is_no_number_yet() {
        let tap = tap();
        tap.feed(b"tps = 12", 1);
        assert_eq!(tap.newest(), None);
        tap.feed(b"34.5\nnothing\r", 2);
        assert_eq!(tap.newest(), Some((1234.5, 2)));
        tap.feed(b"tps = 7\r", 3);
        assert_eq!(tap.newest(), Some((7.0, 3)));
        tap.feed(b"\xff\xfe binary \0 \n", 4);
        assert_eq!(tap.newest(), Some((7.0, 3)));
    }

    #[test]
    fn hostile_lines_do_not_hold_a_command_up() {
        let tap = Tap::new(Pick::Line(Regex::new("([0-9])(.*x)?").expect("a pattern")));
        for _ in 0..64 {
            tap.feed("1 ".repeat(16 << 10).as_bytes(), 1);
            tap.feed(b"\n", 1);
        }
        assert!(tap.is_exhausted());
        assert_eq!(tap.newest(), None);
        tap.feed(b"5\n", 2);
        assert_eq!(tap.newest(), Some((5.0, 2)));
    }

    #[test]
    fn a_line_without_end_takes_no_memory() {
        let tap = tap();
        for _ in 0..64 {
            tap.feed(&[b'x'; 8192], 1);
        }
        assert!(tap.lines.lock().expect("a lock").part.capacity() < 256 << 10);
        tap.feed(b"tps = 3\n", 2);
        assert_eq!(tap.newest(), None, "its end is not a line");
        tap.feed(b"tps = 4\n", 3);
        assert_eq!(tap.newest(), Some((4.0, 3)));
    }

    proptest! {
        #[test]
        fn pieces_are_as_good_as_the_whole(bytes in "(tps = [0-9]{1,3}|[a-z \n\r]{0,4}){0,12}\n", cuts in proptest::collection::vec(0usize..80, 0..6)) {
            let (whole, pieces) = (tap(), tap());
            whole.feed(bytes.as_bytes(), 1);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            for pair in cuts.windows(2) {
                pieces.feed(&bytes.as_bytes()[pair[0]..pair[1]], 1);
            }
            prop_assert_eq!(whole.newest(), pieces.newest());
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            tap().feed(&bytes, 1);
        }
    }
}
