//! A table with the detail of one of its rows: what keys do to both.

use super::pane::{self, Doc};
use super::severity;
use super::table::{Did, Table};
use crate::{Action, Cx, Outcome, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::locale::screen::shared as text;

/// What an action did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Nothing.
    Nothing,
    /// Something looks different.
    Changed,
    /// Another row is selected.
    Selected,
    /// The detail shows another row now.
    Opened,
    /// The detail is closed.
    Closed,
}

/// A table and perhaps a detail.
pub struct Browser<R: 'static, K> {
    /// The table.
    pub table: Table<R, K>,
    open: Option<K>,
    doc: Doc,
    scroll: usize,
    area: Rect,
    detail: Rect,
}

impl<R: Copy + 'static, K: Clone + PartialEq> Browser<R, K> {
    /// A browser over a table, without a detail.
    pub fn new(table: Table<R, K>) -> Self {
        Self { table, open: None, doc: Doc::default(), scroll: 0, area: Rect::default(), detail: Rect::default() }
    }

    /// The area of the last arrangement.
    pub fn area(&self) -> Rect {
        self.area
    }

    /// What the detail shows.
    pub fn open(&self) -> Option<&K> {
        self.open.as_ref()
    }

    /// Settles the table and the detail, which `doc` writes for a width.
    pub fn place(&mut self, cx: &Cx<'_>, area: Rect, doc: impl FnOnce(&K, u16) -> Doc) {
        self.area = area;
        let (list, detail) = self.split(area);
        self.detail = detail;
        self.table.place(cx, pane::inner(list));
        let width = pane::inner(detail).width;
        self.doc = self.open.as_ref().map(|key| self.detail(cx, key, doc(key, width), width)).unwrap_or_default();
    }

    /// A detail with what is found about its subject before it.
    fn detail(&self, cx: &Cx<'_>, key: &K, doc: Doc, width: u16) -> Doc {
        let mut whole = Doc::default();
        if let Some(subject) = self.table.subject_of(key) {
            severity::lines(cx, &mut whole, &subject, width);
        }
        if whole.is_empty() {
            return doc;
        }
        whole.append(doc);
        whole
    }

    fn split(&self, area: Rect) -> (Rect, Rect) {
        if self.open.is_some() { pane::split(area, self.table.counts().0) } else { (area, Rect::default()) }
    }

    /// Reacts; the rows must be those of `cx`.
    pub fn act(&mut self, action: Action, cx: &Cx<'_>) -> Deed {
        match action {
            Action::Open => return self.toggle(cx),
            Action::Close => return self.close(),
            Action::Wheel { rows, column, row } if self.detail.contains((column, row).into()) => {
                return self.wheel(rows);
            }
            Action::Click { column, row } if self.detail.contains((column, row).into()) => return Deed::Nothing,
            Action::Wheel { .. } | Action::Click { .. } => {}
            _ if self.open.is_some() && self.scroll(action) => return Deed::Changed,
            _ => {}
        }
        match self.table.act(action, cx) {
            Did::Nothing => Deed::Nothing,
            Did::Changed => Deed::Changed,
            Did::Opened => self.toggle(cx),
            Did::Selected if self.open.is_some() => self.follow(),
            Did::Selected => Deed::Selected,
        }
    }

    fn follow(&mut self) -> Deed {
        self.open = self.table.selected().cloned();
        self.scroll = 0;
        Deed::Opened
    }

    fn toggle(&mut self, cx: &Cx<'_>) -> Deed {
        if self.open.take().is_some() {
            return Deed::Closed;
        }
        self.table.select_any(cx);
        self.follow();
        if self.open.is_some() { Deed::Opened } else { Deed::Nothing }
    }

    fn close(&mut self) -> Deed {
        if self.open.take().is_some() {
            Deed::Closed
        } else if self.table.deselect() {
            Deed::Changed
        } else {
            Deed::Nothing
        }
    }

    /// The wheel over the detail moves the detail.
    fn wheel(&mut self, rows: i16) -> Deed {
        let page = usize::from(self.detail.height.saturating_sub(1)).max(1);
        let to = self.scroll.saturating_add_signed(isize::from(rows)).min(self.doc.len().saturating_sub(page));
        if std::mem::replace(&mut self.scroll, to) == to { Deed::Nothing } else { Deed::Changed }
    }

    /// Moves the detail; false where the action is the table's.
    fn scroll(&mut self, action: Action) -> bool {
        let page = usize::from(self.detail.height.saturating_sub(1)).max(1);
        let most = self.doc.len().saturating_sub(page);
        let to = match action {
            Action::PageUp => self.scroll.saturating_sub(page),
            Action::PageDown => self.scroll + page,
            Action::Home => 0,
            Action::End => most,
            _ => return false,
        };
        self.scroll = to.min(most);
        true
    }

    /// A command of the program.
    pub fn outcome(&self, deed: Deed) -> Outcome {
        match deed {
            Deed::Nothing => Outcome::Ignored,
            Deed::Changed | Deed::Closed => Outcome::Changed,
            Deed::Selected | Deed::Opened => self.subject().map_or(Outcome::Changed, Outcome::Selected),
        }
    }

    fn subject(&self) -> Option<Subject> {
        self.table.subject()
    }

    /// Draws the table below its title, and the detail below its own; gives what is inside the table's pane.
    pub fn draw(&self, cx: &Cx<'_>, area: Rect, title: &str, note: &str, name: &str, buf: &mut Buffer) -> Rect {
        let (list, detail) = self.split(area);
        let inner = pane::frame(cx, list, title, note, buf);
        self.table.draw(cx, buf);
        if self.open.is_some() {
            let inside = pane::frame(cx, detail, name, &text::ESCAPE_CLOSES, buf);
            self.doc.draw(cx, inside, self.scroll, buf);
            pane::more(cx, detail, self.doc.len(), self.scroll, buf);
        }
        inner
    }
}
