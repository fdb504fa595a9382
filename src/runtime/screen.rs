//! What the terminal shows and the few bytes that change it: one write per picture.

mod shown;

use super::terminal;
use crossterm::clipboard::CopyToClipboard;
use ratatui::backend::{Backend as _, CrosstermBackend};
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use shown::Shown;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::fd::AsFd as _;
use topotop_widgets::Charset;

/// A picture of 200x60 has about 30 KiB when all of it changes.
const BUFFER: usize = 64 << 10;

/// The most columns and rows that are drawn: a terminal may claim 65,535 of both, and the picture would not fit in memory.
const MOST: (u16, u16) = (1000, 500);

/// The terminal while it is ours.
pub(super) struct Screen {
    backend: CrosstermBackend<BufWriter<File>>,
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

impl Screen {
    /// Takes the terminal.
    pub(super) fn enter(mouse: bool) -> std::io::Result<Self> {
        let tty = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
        let backend = CrosstermBackend::new(BufWriter::with_capacity(BUFFER, tty.try_clone()?));
        terminal::enter(mouse)?;
        Ok(Self {
            backend,
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
    pub(super) fn leave(&mut self) -> std::io::Result<()> {
        Write::flush(&mut self.backend)?;
        terminal::restore();
        Ok(())
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
        self.backend.write_all(if on { terminal::MOUSE_ON } else { terminal::MOUSE_OFF })?;
        Write::flush(&mut self.backend)
    }

    /// Hands a text to the terminal's clipboard (OSC 52), as far as the terminal takes one.
    pub(super) fn copy(&mut self, text: &str) -> std::io::Result<()> {
        crossterm::execute!(self.backend, CopyToClipboard::to_clipboard_from(text))
    }

    /// Draws a picture over blank cells: what differs from the last one, as one synchronized update.
    pub(super) fn draw(
        &mut self,
        (charset, blank): (Charset, Cell),
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
            self.backend.write_all(b"\x1b[0m\x1b[2J")?;
            self.unknown = false;
        }
        let changes = self.shown.update(&mut self.next, charset);
        self.painting = false;
        if !changes.is_empty() {
            let next = &self.next;
            let cell = |&(x, y): &(u16, u16)| next.cell((x, y)).map(|cell| (x, y, cell));
            self.backend.write_all(b"\x1b[?2026h")?;
            self.backend.draw(changes.iter().filter_map(cell))?;
            self.backend.write_all(b"\x1b[?2026l")?;
        }
        Write::flush(&mut self.backend)?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.leave();
    }
}
