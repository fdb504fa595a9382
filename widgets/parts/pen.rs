//! Writing along one row: clipped, printable, wide characters counted, never outside its area.

use super::number::Short;
use super::{bar, heat};
use crate::{Charset, Cx, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use std::borrow::Cow;
use topotop_model::text::{is_plain, printable};
use topotop_model::{Known, Reason};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A place on a row that moves to the right as things are written.
pub struct Pen<'a> {
    cx: &'a Cx<'a>,
    buf: &'a mut Buffer,
    x: u16,
    end: u16,
    y: u16,
}

impl<'a> Pen<'a> {
    /// A pen at the start of a row of an area; rows below the area or the buffer take nothing.
    pub fn new(cx: &'a Cx<'a>, area: Rect, row: u16, buf: &'a mut Buffer) -> Self {
        let y = area.y.saturating_add(row);
        let inside = area.intersection(buf.area);
        let (x, end) = if row < area.height && (inside.top()..inside.bottom()).contains(&y) {
            (inside.left(), inside.right())
        } else {
            (area.x, area.x)
        };
        Self { cx, buf, x, end, y }
    }

    /// What it draws from.
    pub fn cx(&self) -> &'a Cx<'a> {
        self.cx
    }

    /// Its column on the terminal.
    pub fn x(&self) -> u16 {
        self.x
    }

    /// Columns that are left.
    pub fn left(&self) -> u16 {
        self.end.saturating_sub(self.x)
    }

    /// Leaves columns as they are.
    pub fn skip(&mut self, columns: u16) -> &mut Self {
        self.x = self.x.saturating_add(columns).min(self.end);
        self
    }

    /// Goes on at a column of the terminal, not to the left of where it is.
    pub fn to(&mut self, column: u16) -> &mut Self {
        self.x = column.clamp(self.x, self.end.max(self.x));
        self
    }

    /// Writes a text as long as it is, or as far as the row goes; text from outside comes out harmless.
    pub fn text(&mut self, role: Role, text: &str) -> &mut Self {
        let left = self.left();
        self.clipped(self.cx.theme.style(role), text, left, false)
    }

    /// Writes a text into so many columns: clipped with a mark or filled up with what is there.
    pub fn field(&mut self, role: Role, width: u16, text: &str) -> &mut Self {
        self.clipped(self.cx.theme.style(role), text, width, true)
    }

    /// Writes a number to the right edge of so many columns; one that does not fit becomes `#`s, never a wrong number.
    pub fn number(&mut self, role: Role, width: u16, number: &Short) -> &mut Self {
        let width = width.min(self.left());
        let needed = number.width();
        let style = self.cx.theme.style(role);
        if needed > width {
            for _ in 0..width {
                self.glyph(style, "#");
            }
            return self;
        }
        self.skip(width - needed);
        self.clipped(style, number.as_str(), needed, true)
    }

    /// Writes what `format` makes of a value, or the mark of its absence.
    pub fn known<T>(&mut self, role: Role, width: u16, value: Known<T>, format: impl FnOnce(T) -> Short) -> &mut Self {
        match value {
            Known::Value(value) => self.number(role, width, &format(value)),
            Known::None => self.none(width),
            Known::Missing => self.missing(width, None),
        }
    }

    /// As [`Pen::known`] for a rate: none before the second sample.
    pub fn rate<T>(&mut self, role: Role, width: u16, value: Option<T>, format: impl FnOnce(T) -> Short) -> &mut Self {
        self.known(role, width, Known::or_missing(value), format)
    }

    /// A share as a percentage in its heat, or the mark of its absence.
    pub fn share(&mut self, width: u16, share: Option<f64>) -> &mut Self {
        self.rate(Role::heat(share.unwrap_or_default()), width, share, super::number::percent)
    }

    /// The mark of what is known to be none, at the right edge of so many columns.
    pub fn none(&mut self, width: u16) -> &mut Self {
        let mark = if self.cx.charset == Charset::Ascii { "-" } else { "—" };
        self.mark(Role::Absent, width, mark)
    }

    /// The mark of what was not read: the reason's word where it is known and fits, else `?`.
    pub fn missing(&mut self, width: u16, reason: Option<Reason>) -> &mut Self {
        let role = if reason == Some(Reason::PermissionDenied) { Role::Denied } else { Role::Absent };
        let word = reason.map_or("?", super::mark::word);
        self.mark(role, width, if word.width() > usize::from(width) { "?" } else { word })
    }

    /// A share as heat: colour and glyph in one column.
    pub fn heat(&mut self, share: Option<f64>) -> &mut Self {
        let (role, glyph) = match share {
            None => heat::unknown(self.cx.frame.interval_seconds.is_some(), self.cx.charset),
            share => heat::cell(share, self.cx.charset),
        };
        self.glyph(self.cx.theme.style(role), glyph)
    }

    /// One glyph of one column.
    pub fn glyph(&mut self, style: Style, glyph: &str) -> &mut Self {
        if self.left() > 0
            && let Some(cell) = self.buf.cell_mut((self.x, self.y))
        {
            cell.set_symbol(glyph).set_style(style);
            self.x += 1;
        }
        self
    }

    /// A thin bar in the share's heat, for bars that stand close above each other.
    pub fn meter(&mut self, width: u16, share: Option<f64>) -> &mut Self {
        bar::meter(self, width, share.unwrap_or_default(), Role::heat(share.unwrap_or_default()));
        self
    }

    /// A bar of so many columns in the share's heat.
    pub fn bar(&mut self, width: u16, share: Option<f64>) -> &mut Self {
        self.bar_as(Role::heat(share.unwrap_or_default()), width, share)
    }

    /// A bar of so many columns in a role.
    pub fn bar_as(&mut self, role: Role, width: u16, share: Option<f64>) -> &mut Self {
        bar::draw(self, width, share.unwrap_or_default(), role);
        self
    }

    /// A bar of parts, each a share of the whole width.
    pub fn stacked(&mut self, width: u16, parts: &[bar::Part]) -> &mut Self {
        bar::stacked(self, width, parts);
        self
    }

    /// Writes a glyph into a column of its row that is still blank.
    pub fn fill_blank(&mut self, column: u16, style: Style, glyph: &str) -> &mut Self {
        if let Some(cell) = self.buf.cell_mut((column, self.y)).filter(|cell| cell.symbol() == " ") {
            cell.set_symbol(glyph).set_style(style);
        }
        self
    }

    /// Patches a style onto the columns from one on up to here.
    pub fn restyle(&mut self, from: u16, style: Style) -> &mut Self {
        let area = Rect::new(from, self.y, self.x.saturating_sub(from), 1).intersection(self.buf.area);
        self.buf.set_style(area, style);
        self
    }

    /// A pen for the next columns of the same row; this one goes on behind them.
    pub fn sub(&mut self, columns: u16) -> Pen<'_> {
        let start = self.x;
        self.skip(columns);
        Pen { cx: self.cx, buf: self.buf, x: start, end: self.x, y: self.y }
    }

    /// One glyph so many times.
    pub fn repeat(&mut self, role: Role, glyph: &str, times: u16) -> &mut Self {
        let style = self.cx.theme.style(role);
        for _ in 0..times.min(self.left()) {
            self.glyph(style, glyph);
        }
        self
    }

    /// Moves what was written since column `from` to the right end.
    pub fn align_right(&mut self, from: u16) {
        let gap = self.left();
        if gap == 0 {
            return;
        }
        for x in (from..self.x).rev() {
            let Some(cell) = self.buf.cell_mut((x, self.y)) else { continue };
            let moved = std::mem::take(cell);
            if let Some(target) = self.buf.cell_mut((x + gap, self.y)) {
                *target = moved;
            }
        }
        self.x = self.end;
    }

    fn mark(&mut self, role: Role, width: u16, mark: &str) -> &mut Self {
        let width = width.min(self.left());
        let needed = (mark.width() as u16).min(width);
        self.skip(width - needed);
        self.clipped(self.cx.theme.style(role), mark, needed, true)
    }

    fn clipped(&mut self, style: Style, text: &str, width: u16, fill: bool) -> &mut Self {
        let width = width.min(self.left());
        if width == 0 {
            return self;
        }
        if is_plain(text) {
            return self.plain(style, text, width, fill);
        }
        let text = printable(text);
        let text = in_charset(text, self.cx.charset);
        let needed = text.width();
        let end = self.x + width;
        if needed <= usize::from(width) {
            let (x, _) = self.buf.set_stringn(self.x, self.y, &text, usize::from(width), style);
            self.x = if fill { end } else { x.min(end) };
            return self;
        }
        self.buf.set_stringn(self.x, self.y, &text, usize::from(width - 1), style);
        self.x = end - 1;
        self.cut(style)
    }

    /// The same for printable ASCII, whose widths need no looking up.
    fn plain(&mut self, style: Style, text: &str, width: u16, fill: bool) -> &mut Self {
        let end = self.x + width;
        let fits = text.len() <= usize::from(width);
        let columns = if fits { text.len() as u16 } else { width - 1 };
        let start = self.buf.index_of(self.x, self.y);
        let cells = self.buf.content.get_mut(start..start + usize::from(columns)).unwrap_or_default();
        for (cell, byte) in cells.iter_mut().zip(text.bytes()) {
            cell.set_char(char::from(byte)).set_style(style);
        }
        self.x = if fits && fill { end } else { self.x + columns };
        if fits { self } else { self.cut(style) }
    }

    /// The mark of a text that goes on.
    fn cut(&mut self, style: Style) -> &mut Self {
        self.glyph(style, if self.cx.charset == Charset::Ascii { "~" } else { "…" })
    }
}

/// A text with ASCII in the place of everything else, where the terminal shows nothing else.
fn in_charset(text: Cow<'_, str>, charset: Charset) -> Cow<'_, str> {
    if charset == Charset::Unicode || text.is_ascii() {
        return text;
    }
    let han = !topotop_model::locale::is_english();
    let ascii = |c| match c {
        c if c <= '\x7f' => c,
        // The text of a language that was chosen although the locale is not its own.
        c if han && c.width() == Some(2) => c,
        '─' | '━' | '—' | '–' | '▄' | '▃' | '▂' => '-',
        '│' | '┃' => '|',
        '█' | '▇' | '▓' => '#',
        '▆' | '▅' | '▒' => '=',
        '▁' | '░' | '·' | '┈' => '.',
        '▲' | '△' | '↑' => '^',
        '○' => 'o',
        '✓' | '▼' | '↓' | '▾' => 'v',
        '▶' | '→' | '▸' => '>',
        '◀' | '←' => '<',
        '├' | '└' | '┌' | '┐' | '┘' | '┤' | '┬' | '┴' | '┼' => '+',
        '×' => 'x',
        '●' | '•' => '*',
        '…' | '±' => '~',
        '≠' | '⚠' => '!',
        _ => '?',
    };
    Cow::Owned(text.chars().filter(|c| c.width() != Some(0)).map(ascii).collect())
}

#[cfg(test)]
mod tests {
    use super::Pen;
    use crate::parts::number;
    use crate::testing::{row, with_cx};
    use crate::{Charset, Role, demo};
    use ratatui::buffer::{Buffer, Cell};
    use ratatui::layout::Rect;
    use topotop_model::{Known, Reason};

    #[test]
    fn stays_in_its_row_and_clips_wide_characters() {
        with_cx(&demo::blind(), Charset::Unicode, |cx| {
            let area = Rect::new(0, 0, 8, 1);
            let mut buf = Buffer::empty(area);
            Pen::new(cx, area, 0, &mut buf).field(Role::Text, 5, "名前が").text(Role::Text, "abcdef");
            assert_eq!(row(&buf, 0), "名前…ab…");
            Pen::new(cx, area, 1, &mut buf).text(Role::Text, "x");
            Pen::new(cx, Rect::new(6, 0, 20, 9), 0, &mut buf).text(Role::Text, "\u{1b}[2J");
            assert_eq!(row(&buf, 0), "名前…a\\…");
        });
    }

    #[test]
    fn plain_text_is_clipped_and_filled_like_any_other() {
        with_cx(&demo::blind(), Charset::Unicode, |cx| {
            let area = Rect::new(0, 0, 12, 1);
            for (plain, other) in [("abcd", "äbcd"), ("abcdefgh", "äbcdefgh"), ("", "")] {
                for width in 0..14 {
                    for fill in [true, false] {
                        let drawn = |text: &str| {
                            let mut buf = Buffer::empty(area);
                            let mut pen = Pen::new(cx, area, 0, &mut buf);
                            pen.skip(2).clipped(cx.theme.style(Role::Head), text, width, fill).text(Role::Text, "|");
                            let x = pen.x();
                            (row(&buf, 0).replace('ä', "a"), x, buf.content.iter().map(Cell::style).collect::<Vec<_>>())
                        };
                        assert_eq!(drawn(plain), drawn(other), "{plain} in {width}");
                    }
                }
            }
        });
    }

    #[test]
    fn absent_values_are_neither_zero_nor_blank() {
        with_cx(&demo::blind(), Charset::Unicode, |cx| {
            let area = Rect::new(0, 0, 24, 1);
            let mut buf = Buffer::empty(area);
            let mut pen = Pen::new(cx, area, 0, &mut buf);
            pen.known(Role::Text, 5, Known::Value(1.5e10), number::bytes);
            pen.known(Role::Text, 3, Known::None, number::bytes).known(Role::Text, 3, Known::Missing, number::bytes);
            pen.missing(7, Some(Reason::PermissionDenied)).number(Role::Text, 2, &number::percent(1.0));
            assert_eq!(row(&buf, 0), "14.0G  —  ? denied##");
        });
    }
}
