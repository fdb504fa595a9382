//! Panes of a panel: a list, and the detail of one of its rows, made of lines.

use super::{Pen, mark, names, panel};
use crate::{Cx, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::borrow::Cow;
use topotop_model::locale::screen::shared as text;
use topotop_model::text::printable;

/// Draws a pane's rule with a title left and a note right; gives what is below it, without the scroll bar's column.
pub fn frame(cx: &Cx<'_>, area: Rect, title: &str, note: &str, buf: &mut Buffer) -> Rect {
    let title = printable(title);
    let note = printable(note);
    panel::titled(cx, area, &title, &note, false, buf);
    inner(area)
}

/// What is inside a pane.
pub fn inner(area: Rect) -> Rect {
    let area = panel::below(area, 1);
    Rect { width: area.width.saturating_sub(1), ..area }
}

/// `5` of all, or `5 of 310` when some are hidden; after one sample, that rates are missing.
pub fn count_note(cx: &Cx<'_>, shown: usize, total: usize) -> String {
    let count = match (shown == total, cx.filter.is_empty()) {
        (true, true) => shown.to_string(),
        (false, true) => text::SomeOf { shown: &shown, total: &total }.to_string(),
        (_, false) => text::Matching { shown: &shown, total: &total, filter: &cx.filter }.to_string(),
    };
    with_rates_note(cx, count)
}

/// A note after the hint that one sample has no rates, where there is one only.
pub fn with_rates_note(cx: &Cx<'_>, note: String) -> String {
    if cx.frame.interval_seconds.is_none() { format!("{} · {note}", text::NO_RATES) } else { note }
}

/// A detail: lines of styled pieces, scrolled by the panel.
#[derive(Clone, Debug, Default)]
pub struct Doc {
    lines: Vec<Vec<(String, Role)>>,
}

impl Doc {
    /// An empty line.
    pub fn gap(&mut self) {
        self.lines.push(Vec::new());
    }

    /// A heading.
    pub fn head(&mut self, text: impl Into<String>) {
        self.lines.push(vec![(text.into(), Role::Head)]);
    }

    /// A name and a value.
    pub fn pair(&mut self, name: &str, value: impl Into<String>, role: Role) {
        self.lines.push(vec![(names::padded(name, 17), Role::Dim), (value.into(), role)]);
    }

    /// A name and the mark of what was not read.
    pub fn unread(&mut self, cx: &Cx<'_>, name: &str, file: &str) {
        let (text, role) = mark::missing(cx, file);
        self.pair(name, text, role);
    }

    /// All of it without colours; what would steer a terminal is spelled out.
    pub fn text(&self) -> String {
        let line = |pieces: &Vec<(String, Role)>| pieces.iter().map(|piece| printable(&piece.0)).collect::<String>();
        self.lines.iter().map(line).map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
    }

    /// A line of pieces.
    pub fn line(&mut self, pieces: Vec<(String, Role)>) {
        self.lines.push(pieces);
    }

    /// The lines of another one below its own.
    pub fn append(&mut self, mut other: Self) {
        self.lines.append(&mut other.lines);
    }

    /// How many lines there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Draws from line `scroll` on; the last page stays full. Gives false if something is below the area.
    pub fn draw(&self, cx: &Cx<'_>, area: Rect, scroll: usize, buf: &mut Buffer) -> bool {
        let page = usize::from(area.height);
        let scroll = scroll.min(self.lines.len().saturating_sub(page));
        for (at, pieces) in self.lines.iter().skip(scroll).take(page).enumerate() {
            let strip = Rect { y: area.y + at as u16, height: 1, ..area };
            let mut pen = Pen::new(cx, strip, 0, buf);
            for (text, role) in pieces {
                pen.text(*role, text);
            }
        }
        scroll + page >= self.lines.len()
    }
}

/// A list of so many rows and the detail of one of them: side by side where there is room, else below it.
pub fn split(area: Rect, rows: usize) -> (Rect, Rect) {
    if area.width >= 180 {
        let detail = (area.width * 2 / 5).min(96);
        let list = Rect { width: area.width - detail, ..area };
        return (list, Rect { x: list.right(), width: detail, ..area });
    }
    let detail = (area.height * 3 / 5).max(area.height.saturating_sub(16)).min(area.height.saturating_sub(5));
    // A short list leaves the rest to the detail.
    let needed = u16::try_from(rows + 2).unwrap_or(u16::MAX);
    let detail = detail.max(area.height.saturating_sub(needed));
    let list = Rect { height: area.height - detail, ..area };
    (list, Rect { y: list.bottom(), height: detail, ..area })
}

/// Says in the last line of a detail how far it goes on.
pub fn more(cx: &Cx<'_>, area: Rect, lines: usize, scroll: usize, buf: &mut Buffer) {
    let page = usize::from(area.height.saturating_sub(1));
    let below = lines.saturating_sub(scroll.min(lines.saturating_sub(page)) + page);
    let text = format!(" {} ", text::MoreLines { count: below as u64 });
    let width = names::width(&text);
    if area.height > 1 && below > 0 && width + 4 <= area.width {
        let strip = Rect { x: area.right() - width, y: area.bottom() - 1, width, height: 1 };
        Pen::new(cx, strip, 0, buf).text(Role::Dim, &text);
    }
}

/// Why a short list is empty: nothing of `total` passes the filter, or there is nothing.
pub fn nothing<'a>(cx: &Cx<'_>, what: &str, total: usize, otherwise: &'a str) -> Cow<'a, str> {
    if total > 0 && !cx.filter.is_empty() {
        Cow::Owned(text::NoneMatch { total: &total, what: &what, filter: &cx.filter }.to_string())
    } else {
        Cow::Borrowed(otherwise)
    }
}

/// Says in an empty list why it is.
pub fn say(cx: &Cx<'_>, inner: Rect, said: &str, buf: &mut Buffer) {
    let strip = Rect { x: inner.x + 1, y: inner.y + 1, width: inner.width.saturating_sub(2), height: 1 };
    if inner.height >= 2 {
        Pen::new(cx, strip, 0, buf).text(Role::Dim, said);
    }
}

/// Says why a list is empty.
pub fn empty(cx: &Cx<'_>, inner: Rect, what: &str, path: &str, total: usize, buf: &mut Buffer) {
    let strip = Rect { x: inner.x + 1, y: inner.y + 1, width: inner.width.saturating_sub(2), height: 1 };
    if inner.height < 2 {
        return;
    }
    let mut pen = Pen::new(cx, strip, 0, buf);
    if total > 0 && !cx.filter.is_empty() {
        pen.text(Role::Dim, &nothing(cx, what, total, ""));
    } else if total > 0 {
        pen.text(Role::Dim, &text::AllHidden { total: &total, what: &what }.to_string());
    } else if let Some(gap) = cx.frame.gaps.iter().find(|gap| gap.path.starts_with(path)) {
        pen.text(Role::Denied, mark::word(gap.reason)).skip(2).text(Role::Text, &gap.shown_path());
        if !gap.needs.is_empty() {
            pen.skip(2).text(Role::Dim, &text::Needs { what: &gap.shown_needs() }.to_string());
        }
    } else {
        pen.text(Role::Dim, &text::Nothing { what: &what }.to_string());
    }
}
