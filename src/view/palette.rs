//! The command palette over the screen.

use super::overlay::{Line, Listing};
use crate::app::{App, List, Palette};
use ratatui::layout::Rect;
use topotop_model::locale::palette as text;
use topotop_model::text::printable;
use topotop_widgets::Charset;

/// Columns of a name.
const WIDEST: usize = 60;

/// The entries, scrolled to the selected one.
pub(super) fn listing(app: &App, palette: &Palette, area: Rect) -> Listing {
    let mark = if app.look.charset == Charset::Unicode { "▶" } else { ">" };
    let entries = app.entries(&palette.typed);
    let at = palette.at.min(entries.len().saturating_sub(1));
    let line = |(row, entry): (usize, &crate::app::Entry)| {
        let title: String = printable(&entry.title).chars().take(WIDEST).collect();
        Line::new(format!("{} {title}", if row == at { mark } else { " " }), entry.about.as_str())
    };
    let lines: Vec<Line> = entries.iter().enumerate().map(line).collect();
    let rows = usize::from(area.height.saturating_sub(2)).max(1);
    let list = List { scroll: (at + 1).saturating_sub(rows), ..List::default() };
    Listing { titles: (text::TITLE, text::KEYS), list, lines }
}
