//! Horizontal bars: one value in halves of a column, or several parts against a whole.

use super::Pen;
use crate::{Charset, Role};

/// One part of a stacked bar: its share of the whole width, its role, its glyph and its ASCII glyph.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Share of the whole.
    pub share: f64,
    /// Style.
    pub role: Role,
    /// Glyph.
    pub glyph: &'static str,
    /// Glyph without Unicode.
    pub ascii: &'static str,
}

impl Part {
    /// A part drawn with full blocks.
    pub fn new(share: f64, role: Role, glyph: &'static str, ascii: &'static str) -> Self {
        Self { share, role, glyph, ascii }
    }
}

/// What an empty column of a bar shows.
fn track(charset: Charset) -> &'static str {
    if charset == Charset::Ascii { "." } else { "┈" }
}

/// Draws a bar in halves of a column; a share that is not zero shows at least one. It is not as high as its row, so that
/// bars of neighbouring rows stay apart.
pub(super) fn draw(pen: &mut Pen<'_>, width: u16, share: f64, role: Role) {
    halves(pen, width, share, role, track(pen.cx().charset));
}

/// Draws the same on a line.
pub(super) fn meter(pen: &mut Pen<'_>, width: u16, share: f64, role: Role) {
    let line = if pen.cx().charset == Charset::Ascii { "." } else { "─" };
    halves(pen, width, share, role, line);
}

fn halves(pen: &mut Pen<'_>, width: u16, share: f64, role: Role, rest: &'static str) {
    let cx = pen.cx();
    let (style, free) = (cx.theme.style(role), cx.theme.style(Role::Free));
    let ascii = cx.charset == Charset::Ascii;
    let halves = (f64::from(width) * 2.0 * share.clamp(0.0, 1.0)).round() as u32;
    let halves = if share > 0.0 { halves.max(1) } else { 0 };
    for column in 0..u32::from(width) {
        match halves.saturating_sub(column * 2).min(2) {
            2 => pen.glyph(style, if ascii { "#" } else { "━" }),
            1 => pen.glyph(style, if ascii { "=" } else { "╸" }),
            _ => pen.glyph(free, rest),
        };
    }
}

/// Draws parts one after the other; columns are rounded so that the sum is right and no part that is there vanishes
/// while there is room.
pub(super) fn stacked(pen: &mut Pen<'_>, width: u16, parts: &[Part]) {
    let cx = pen.cx();
    let ascii = cx.charset == Charset::Ascii;
    let mut sum = 0.0;
    let mut at = 0_u16;
    for part in parts {
        let share = part.share.clamp(0.0, 1.0);
        sum = (sum + share).min(1.0);
        let edge = ((sum * f64::from(width)).round() as u16).min(width);
        let edge = if share > 0.004 { edge.max((at + 1).min(width)) } else { edge };
        let style = cx.theme.style(part.role);
        while at < edge {
            pen.glyph(style, if ascii { part.ascii } else { part.glyph });
            at += 1;
        }
    }
    let free = cx.theme.style(Role::Free);
    while at < width {
        pen.glyph(free, track(cx.charset));
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::Part;
    use crate::parts::Pen;
    use crate::testing::{row, with_cx};
    use crate::{Charset, Role, demo};
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;

    fn drawn(charset: Charset, draw: impl Fn(&mut Pen<'_>)) -> String {
        let area = Rect::new(0, 0, 10, 1);
        let mut buf = Buffer::empty(area);
        with_cx(&demo::blind(), charset, |cx| draw(&mut Pen::new(cx, area, 0, &mut buf)));
        row(&buf, 0)
    }

    #[test]
    fn halves_of_columns() {
        let bar = |share| {
            drawn(Charset::Unicode, |pen| {
                pen.bar(10, Some(share));
            })
        };
        assert_eq!(bar(0.0), "┈┈┈┈┈┈┈┈┈┈");
        assert_eq!(bar(0.001), "╸┈┈┈┈┈┈┈┈┈");
        assert_eq!(bar(0.55), "━━━━━╸┈┈┈┈");
        assert_eq!(bar(1.0), "━━━━━━━━━━");
        assert_eq!(bar(7.0), "━━━━━━━━━━");
        assert_eq!(
            drawn(Charset::Ascii, |pen| {
                pen.bar(10, Some(0.55));
            }),
            "#####=...."
        );
    }

    #[test]
    fn parts_add_up() {
        let parts = [
            Part::new(0.5, Role::Anon, "▓", "#"),
            Part::new(0.01, Role::Dirty, "▒", "%"),
            Part::new(0.2, Role::Cache, "░", "+"),
        ];
        assert_eq!(
            drawn(Charset::Unicode, |pen| {
                pen.stacked(10, &parts);
            }),
            "▓▓▓▓▓▒░┈┈┈"
        );
        assert_eq!(
            drawn(Charset::Ascii, |pen| {
                pen.stacked(10, &parts);
            }),
            "#####%+..."
        );
        let full = [Part::new(0.9, Role::Anon, "▓", "#"), Part::new(0.9, Role::Cache, "░", "+")];
        assert_eq!(
            drawn(Charset::Unicode, |pen| {
                pen.stacked(10, &full);
            }),
            "▓▓▓▓▓▓▓▓▓░"
        );
    }
}
