//! Drawing of what is seen of a table.

use super::super::{Pen, severity};
use super::{Align, Place, Table, columns};
use crate::{Charset, Cx, Role, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use topotop_model::rules::Severity;

/// The sign of the column that rows are sorted by. In ASCII it is no `v` and no `^`: those are of findings.
fn order(descending: bool, charset: Charset) -> &'static str {
    match (descending, charset) {
        (true, Charset::Unicode) => "▼",
        (false, Charset::Unicode) => "▲",
        (true, Charset::Ascii) => "\\",
        (false, Charset::Ascii) => "/",
    }
}

impl<R: Copy + 'static, K: Clone + PartialEq> Table<R, K> {
    /// Draws heads, visible rows and, on the column right of the area, the scroll bar.
    pub fn draw(&self, cx: &Cx<'_>, buf: &mut Buffer) {
        let area = self.area.intersection(buf.area);
        if area.is_empty() {
            return;
        }
        self.heads(cx, buf);
        for (line, (&row, key)) in self.rows.iter().skip(self.offset).zip(&self.visible).enumerate() {
            let y = area.y + 1 + line as u16;
            if y >= area.bottom() {
                break;
            }
            let strip = Rect { y, height: 1, ..area };
            self.row(cx, row, strip, buf);
            self.mark(cx, row, key.as_ref(), strip, buf);
        }
        self.bar(cx, buf);
    }

    fn heads(&self, cx: &Cx<'_>, buf: &mut Buffer) {
        let style = cx.theme.style(Role::Head);
        let line = Rect { height: 1, ..self.area };
        buf.set_style(line.intersection(buf.area), style);
        for place in &self.places {
            let Some(column) = self.columns.get(place.column) else { continue };
            let title = columns::head_width(&column.title);
            let is_order = self.sort == Some(place.column);
            let indent = match column.align {
                Align::Left => 0,
                // The sort mark has the last cell where there is room.
                Align::Right => place.width.saturating_sub(title + u16::from(is_order)),
            };
            // The sort mark stands behind the title, at most in the gap to the next column.
            let cell = Rect { x: place.x, y: self.area.y, width: place.width + 1, height: 1 };
            let mut pen = Pen::new(cx, cell.intersection(self.area), 0, buf);
            pen.skip(indent);
            pen.sub(place.width - indent).text(Role::Head, &column.title);
            if is_order {
                let mut pen = Pen::new(cx, cell.intersection(self.area), 0, buf);
                pen.skip((indent + title).min(place.width));
                pen.text(Role::Key, order(self.descending, cx.charset));
            }
        }
    }

    fn row(&self, cx: &Cx<'_>, row: R, strip: Rect, buf: &mut Buffer) {
        if let Some(span) = self.span {
            let inner = Rect { x: strip.x + 1, width: strip.width.saturating_sub(1), ..strip };
            if span(cx, row, &mut Pen::new(cx, inner, 0, buf)) {
                return;
            }
        }
        for &Place { column, x, width } in &self.places {
            let Some(column) = self.columns.get(column) else { continue };
            let mut pen = Pen::new(cx, Rect { x, width, ..strip }, 0, buf);
            (column.draw)(cx, row, &mut pen);
            if column.align == Align::Right {
                pen.align_right(x);
            }
        }
    }

    /// The selected row, and rows that belong to what is selected elsewhere.
    fn mark(&self, cx: &Cx<'_>, row: R, key: Option<&K>, strip: Rect, buf: &mut Buffer) {
        let selected = key.is_some() && self.selected.as_ref() == key;
        let flag = self.flagged(cx, row, key);
        let (role, glyph) = match cx.selected {
            _ if selected => (Role::Selected, "▶"),
            Some(subject) if self.belongs(cx, row, key, subject) => (Role::Related, "•"),
            _ => {
                if let Some(severity) = flag {
                    Pen::new(cx, Rect { width: 1, ..strip }, 0, buf).severity(severity);
                }
                return;
            }
        };
        buf.set_style(strip.intersection(buf.area), cx.theme.style(role));
        let mut pen = Pen::new(cx, Rect { width: 1, ..strip }, 0, buf);
        // The mark of a finding stays; on the selected row it is reversed, since grounds differ too little to be found.
        match flag {
            Some(severity) => {
                let x = pen.x();
                pen.severity(severity);
                if selected {
                    pen.restyle(x, Style::new().add_modifier(Modifier::REVERSED));
                }
            }
            None => {
                pen.text(role, glyph);
            }
        }
    }

    /// The worst that is found about a row.
    fn flagged(&self, cx: &Cx<'_>, row: R, key: Option<&K>) -> Option<Severity> {
        if cx.judgement.findings.is_empty() {
            return None;
        }
        match self.flag {
            Some(flag) => flag(cx, row),
            None => severity::worst(cx, &(self.identity.subject)(key?)?),
        }
    }

    fn belongs(&self, cx: &Cx<'_>, row: R, key: Option<&K>, subject: &Subject) -> bool {
        key.and_then(|key| (self.identity.subject)(key)).is_some_and(|own| own == *subject)
            || self.relation.is_some_and(|relation| relation(cx, row, subject))
    }

    fn bar(&self, cx: &Cx<'_>, buf: &mut Buffer) {
        let page = self.page();
        let (rows, height) = (self.rows.len(), self.area.height.saturating_sub(1));
        if rows <= page || height < 3 {
            return;
        }
        let long = ((page * usize::from(height)) / rows).max(1) as u16;
        let most = rows - page;
        let top = (self.offset * usize::from(height - long)).div_ceil(most.max(1)) as u16;
        let (track, thumb) = if cx.charset == Charset::Unicode { ("│", "┃") } else { ("|", "]") };
        for line in 0..height {
            let inside = (top..top + long).contains(&line);
            let cell = Rect { x: self.area.right(), y: self.area.y + 1 + line, width: 1, height: 1 };
            let (role, glyph) = if inside { (Role::Focus, thumb) } else { (Role::Border, track) };
            Pen::new(cx, cell, 0, buf).text(role, glyph);
        }
    }
}
