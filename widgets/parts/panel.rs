//! The frame of a panel: a rule with its title, nothing on the other sides, so that space goes to what is shown.

use super::{Pen, names};
use crate::{Charset, Cx, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::locale::Text;

/// Draws a rule with a title and a note at its right end; returns what is below it.
pub fn titled(cx: &Cx<'_>, area: Rect, title: &str, note: &str, focus: bool, buf: &mut Buffer) -> Rect {
    let line = cx.theme.style(if focus { Role::Focus } else { Role::Border });
    let dash = dash(cx.charset);
    let mut pen = Pen::new(cx, area, 0, buf);
    pen.glyph(line, dash).text(Role::Title, " ").text(Role::Title, title).text(Role::Title, " ");
    let note_width = unicode_width::UnicodeWidthStr::width(note) as u16;
    let tail = if note.is_empty() || pen.left() < note_width + 4 { 0 } else { note_width + 3 };
    while pen.left() > tail {
        pen.glyph(line, dash);
    }
    if tail > 0 {
        pen.text(Role::Dim, " ").text(Role::Dim, note).text(Role::Dim, " ").glyph(line, dash);
    }
    below(area, 1)
}

/// Writes a note at the right end of a rule that other text takes so many columns of: whole, or not at all.
pub fn note(cx: &Cx<'_>, area: Rect, used: u16, note: &str, buf: &mut Buffer) {
    let width = names::width(note) + 3;
    if note.is_empty() || area.width < used.saturating_add(width + 1) {
        return;
    }
    let place = Rect { x: area.right() - width, width, ..area };
    let mut pen = Pen::new(cx, place, 0, buf);
    pen.text(Role::Dim, " ").text(Role::Dim, note).text(Role::Dim, " ");
    pen.glyph(cx.theme.style(Role::Border), dash(cx.charset));
}

/// The line of rules.
pub fn dash(charset: Charset) -> &'static str {
    if charset == Charset::Ascii { "-" } else { "─" }
}

/// What is left of an area below its first rows.
pub fn below(area: Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    Rect { y: area.y + rows, height: area.height - rows, ..area }
}

/// An area without its outermost columns, so that text does not stick to what is beside it.
pub fn inset(area: Rect) -> Rect {
    if area.width < 3 { area } else { Rect { x: area.x + 1, width: area.width - 2, ..area } }
}

/// An area without its last column: the first one is for signs.
pub fn left_open(area: Rect) -> Rect {
    if area.width < 3 { area } else { Rect { width: area.width - 1, ..area } }
}

/// A sign and what it stands for.
#[derive(Clone, Copy, Debug)]
pub struct Sign {
    /// Style of the sign.
    pub role: Role,
    /// The sign.
    pub glyph: &'static str,
    /// The sign without Unicode.
    pub ascii: &'static str,
    /// What it stands for.
    pub label: Text,
}

/// Explains signs on a panel's rule.
pub fn legend_on_rule(pen: &mut Pen<'_>, signs: &[Sign]) {
    let cx = pen.cx();
    for sign in signs {
        let glyph = if cx.charset == Charset::Ascii { sign.ascii } else { sign.glyph };
        pen.text(sign.role, glyph).text(Role::Dim, " ").text(Role::Dim, &sign.label).text(Role::Dim, "  ");
    }
}

/// Explains signs in one row; those that do not fit are left out whole.
pub fn legend(pen: &mut Pen<'_>, signs: &[Sign]) {
    let cx = pen.cx();
    for sign in signs {
        let glyph = if cx.charset == Charset::Ascii { sign.ascii } else { sign.glyph };
        if pen.left() < names::width(glyph) + names::width(&sign.label) + 1 {
            return;
        }
        pen.text(sign.role, glyph).skip(1).text(Role::Dim, &sign.label).skip(2);
    }
}
