//! The way to the terminal: bytes go as far as it takes them, and the next picture waits until the last one is drawn. So a
//! slow line loses pictures in between, but is never more than one behind.

use super::pace::Pace;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Asks the terminal to answer once everything before is drawn (DSR).
const ASK: &[u8] = b"\x1b[5n";
/// Bytes that are written at once: a slow line takes them while a key waits.
const CHUNK: usize = 1024;
/// The first answer comes by then, or pictures do not wait for it.
const FIRST_NS: u64 = 500_000_000;
/// An answer is waited for so long at least when the terminal is given back.
const LEAST_NS: u64 = 80_000_000;
/// A terminal that has answered nothing by then is not asked again.
const SILENT_NS: u64 = 10_000_000_000;
/// From then on a terminal that has answered nothing is sent whole pictures until its speed is known.
const TRY_NS: u64 = 8_000_000_000;
/// An answer that has not come by then is lost.
const LOST_NS: u64 = 30_000_000_000;

/// The terminal as what takes bytes and answers.
#[derive(Debug)]
pub(super) struct Link {
    tty: File,
    /// Bytes to write, and how many of them are written.
    bytes: Vec<u8>,
    written: usize,
    /// Bytes written so far in all.
    taken: u64,
    /// Its speed, where it answers nothing.
    pace: Pace,
    /// Questions without an answer, and when the last one was asked.
    open: usize,
    asked_ns: u64,
    /// Questions that were asked.
    asked: usize,
    /// True once it answered.
    answers: bool,
    /// The longest time that an answer took.
    slowest_ns: u64,
    /// Since when it could have.
    since_ns: u64,
    /// True while a question is open, for whoever reads the answer.
    shared: Arc<AtomicBool>,
}

impl Link {
    pub(super) fn new(tty: File, now_ns: u64) -> Self {
        Self {
            tty,
            bytes: Vec::new(),
            written: 0,
            taken: 0,
            pace: Pace::default(),
            open: 0,
            asked_ns: now_ns,
            asked: 0,
            answers: false,
            slowest_ns: 0,
            since_ns: now_ns,
            shared: Arc::default(),
        }
    }

    /// Whether an answer is awaited.
    pub(super) fn shared(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.shared)
    }

    /// Asks for an answer to what was written, unless the terminal gives none.
    pub(super) fn ask(&mut self, now_ns: u64) {
        if !self.answers && now_ns.saturating_sub(self.since_ns) > SILENT_NS {
            return self.set_open(0);
        }
        self.bytes.extend_from_slice(ASK);
        self.asked_ns = now_ns;
        self.asked += 1;
        self.set_open(self.open + 1);
    }

    /// It answered.
    pub(super) fn answered(&mut self, now_ns: u64) {
        self.answers = true;
        if self.open == 1 {
            self.slowest_ns = self.slowest_ns.max(now_ns.saturating_sub(self.asked_ns));
        }
        self.set_open(self.open.saturating_sub(1));
    }

    fn set_open(&mut self, open: usize) {
        self.open = open;
        self.shared.store(open > 0, Ordering::Relaxed);
    }

    /// True when a picture would be drawn at once.
    pub(super) fn is_ready(&mut self, now_ns: u64) -> bool {
        let waited = now_ns.saturating_sub(self.asked_ns);
        if self.answers && self.open > 0 && waited > LOST_NS {
            (self.answers, self.since_ns) = (false, now_ns);
            self.set_open(0);
        }
        // The first picture waits for nothing.
        let waits = self.asked > 1 && (self.answers || now_ns.saturating_sub(self.since_ns) < FIRST_NS);
        self.pace.look(now_ns, self.taken, !self.is_written());
        self.is_written() && (self.answers || self.pace.is_drawn(now_ns)) && (self.open == 0 || !waits)
    }

    /// True where a whole picture would tell whether the terminal is slow: it answers nothing and took little so far.
    pub(super) fn is_to_be_tried(&self, now_ns: u64) -> bool {
        !self.answers && now_ns.saturating_sub(self.since_ns) > TRY_NS && self.pace.may_be_slow()
    }

    /// Whether all bytes are on their way.
    pub(super) fn is_written(&self) -> bool {
        self.bytes.is_empty()
    }

    /// True while it may still answer. A terminal that answers takes about as long as before, unless bytes are still on
    /// their way to it; whoever quits does not wait longer for one that never did.
    pub(super) fn owes_an_answer(&self, now_ns: u64) -> bool {
        let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        let patience = if self.answers { self.slowest_ns.saturating_mul(4).max(LEAST_NS) } else { LEAST_NS };
        let waits = now_ns.saturating_sub(self.asked_ns) < patience || (self.answers && !self.is_written());
        self.open > 0 && waits && !self.can(PollFlags::empty(), gone)
    }

    fn can(&self, asked: PollFlags, wanted: PollFlags) -> bool {
        let mut waiting = [PollFd::new(&self.tty, asked)];
        poll(&mut waiting, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok() && waiting[0].revents().intersects(wanted)
    }

    /// Forgets what is not written and what was asked: somebody else had the terminal, or will have it.
    pub(super) fn forget(&mut self) {
        self.bytes.clear();
        self.written = 0;
        self.set_open(0);
    }
}

impl Write for Link {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    /// Writes as much as the terminal takes now.
    fn flush(&mut self) -> std::io::Result<()> {
        let ready = PollFlags::OUT | PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        while let Some(rest) = self.bytes.get(self.written..).filter(|rest| !rest.is_empty()) {
            if !self.can(PollFlags::OUT, ready) {
                return Ok(());
            }
            let chunk = rest.get(..CHUNK.min(rest.len())).unwrap_or_default();
            match self.tty.write(chunk) {
                Ok(count) => {
                    self.written += count;
                    self.taken += count as u64;
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.bytes.clear();
        self.written = 0;
        Ok(())
    }
}
