//! What the terminal shows and the few bytes that change it.

mod link;
mod pace;
mod shown;

use super::terminal;
use crate::app::Asks;
use crossterm::clipboard::CopyToClipboard;
use link::Link;
use ratatui::backend::{Backend as _, CrosstermBackend};
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use rustix::fs::{Mode, OFlags};
use shown::Shown;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use topotop_widgets::Charset;

/// Asks for the background (OSC 11).
const ASK_BACKGROUND: &[u8] = b"\x1b]11;?\x1b\\";
/// Draws characters of ambiguous width at the left edge and asks where the cursor is then.
const ASK_WIDTH: &str = "\x1b[H─█●▲\x1b[6n";
/// Where the cursor is after them, where each takes one column.
pub(super) const NARROW: (u16, u16) = (1, 5);

/// The most columns and rows that are drawn: a terminal may claim 65,535 of both, and the picture would not fit in memory.
const MOST: (u16, u16) = (1000, 500);

/// The terminal while it is ours.
pub(super) struct Screen {
    link: Link,
    tty: File,
    /// Columns and rows that are drawn, as they were measured last.
    size: (u16, u16),
    shown: Shown,
    next: Buffer,
    /// What its cells hold before anything is drawn.
    blank: Cell,
    /// True while it is painted; afterwards only if that panicked.
    painting: bool,
    /// True when what the terminal shows is not known.
    unknown: bool,
}

/// The terminal opened once more, so that a write to a slow line takes what fits instead of holding up keys: a flag on the
/// descriptor itself would be the shell's as well.
fn unblocked() -> std::io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(rustix::fs::open("/proc/self/fd/1", flags, Mode::empty())?.into())
}

impl Screen {
    /// Takes the terminal.
    pub(super) fn enter(mouse: bool, asks: Asks, now_ns: u64) -> std::io::Result<Self> {
        let tty = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
        let mut link = Link::new(unblocked().map_or_else(|_| tty.try_clone(), Ok)?, now_ns);
        terminal::enter(mouse)?;
        if asks.background {
            link.write_all(ASK_BACKGROUND)?;
        }
        if asks.width {
            link.write_all(ASK_WIDTH.as_bytes())?;
        }
        link.ask(now_ns);
        link.flush()?;
        Ok(Self {
            link,
            tty,
            size: (80, 24),
            shown: Shown::default(),
            next: Buffer::default(),
            blank: Cell::EMPTY,
            painting: true,
            unknown: true,
        })
    }

    /// Gives it back for a while.
    pub(super) fn leave(&mut self) {
        self.link.forget();
        terminal::restore();
    }

    /// Takes it again, whatever was done to it.
    pub(super) fn reenter(&mut self, mouse: bool) -> std::io::Result<()> {
        crossterm::terminal::disable_raw_mode()?;
        terminal::enter(mouse)?;
        self.forget();
        Ok(())
    }

    /// Measures columns and rows that are drawn from here on: pictures are arranged for what was measured, not for what the
    /// terminal has become since.
    pub(super) fn measure(&mut self) -> (u16, u16) {
        self.size = match rustix::termios::tcgetwinsize(&self.tty) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col.min(MOST.0), size.ws_row.min(MOST.1)),
            _ => (80, 24),
        };
        self.size
    }

    /// The next picture is drawn whole.
    pub(super) fn forget(&mut self) {
        self.unknown = true;
    }

    /// Mouse on or off.
    pub(super) fn mouse(&mut self, on: bool) -> std::io::Result<()> {
        self.link.write_all(if on { terminal::MOUSE_ON } else { terminal::MOUSE_OFF })?;
        self.link.flush()
    }

    /// Hands a text to the terminal's clipboard (OSC 52), as far as the terminal takes one.
    pub(super) fn copy(&mut self, text: &str) -> std::io::Result<()> {
        crossterm::execute!(self.link, CopyToClipboard::to_clipboard_from(text))
    }

    /// Whether an answer is awaited, for whoever reads it.
    pub(super) fn asked(&self) -> Arc<AtomicBool> {
        self.link.shared()
    }

    /// Everything is drawn that was written before the oldest question.
    pub(super) fn answered(&mut self, now_ns: u64) {
        self.link.answered(now_ns);
    }

    /// True while the terminal may still answer.
    pub(super) fn owes_an_answer(&self, now_ns: u64) -> bool {
        self.link.owes_an_answer(now_ns)
    }

    /// Goes on writing; true if the last picture is drawn, as far as the terminal tells.
    pub(super) fn is_ready(&mut self, now_ns: u64) -> std::io::Result<bool> {
        self.link.flush()?;
        Ok(self.link.is_ready(now_ns))
    }

    /// When to look again; none if nothing is left to write or draw.
    pub(super) fn retry(&self, dirty: bool) -> Option<Duration> {
        match (self.link.is_written(), dirty) {
            (false, _) => Some(Duration::from_millis(20)),
            (true, true) => Some(Duration::from_millis(100)),
            (true, false) => None,
        }
    }

    /// Draws a picture over blank cells: what differs from the last one, as one synchronized update.
    pub(super) fn draw(
        &mut self,
        (charset, blank): (Charset, Cell),
        now_ns: u64,
        paint: impl FnOnce(&mut Buffer),
    ) -> std::io::Result<()> {
        let (width, height) = self.size;
        let area = Rect::new(0, 0, width, height);
        // Painted before anything is written: should it panic, nothing is left that would be written afterwards.
        if area != self.next.area || blank != self.blank || self.painting {
            self.next.resize(area);
            self.next.content.fill(blank.clone());
            self.blank = blank;
        } else {
            self.shown.empty(&mut self.next, &self.blank);
        }
        self.painting = true;
        paint(&mut self.next);
        if self.shown.area() != area || self.unknown {
            self.shown.clear(area);
            self.link.write_all(b"\x1b[0m\x1b[2J")?;
            self.unknown = false;
        }
        if self.link.is_to_be_tried(now_ns) {
            self.shown.doubt();
        }
        let changes = self.shown.update(&mut self.next, charset);
        self.painting = false;
        if !changes.is_empty() {
            let next = &self.next;
            let cell = |&(x, y): &(u16, u16)| next.cell((x, y)).map(|cell| (x, y, cell));
            self.link.write_all(b"\x1b[?2026h")?;
            CrosstermBackend::new(&mut self.link).draw(changes.iter().filter_map(cell))?;
            self.link.write_all(b"\x1b[?2026l")?;
            self.link.ask(now_ns);
        }
        self.link.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.leave();
    }
}
