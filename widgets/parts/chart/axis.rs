//! The line below charts: times of day, and room for signs between them.

use super::Times;
use crate::parts::Pen;
use crate::parts::number::Short;
use crate::{Charset, Cx, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::ops::Range;

/// A time of day: the column of its moment, and the text right or left of it.
#[derive(Debug)]
struct Label {
    tick: u16,
    start: u16,
    text: Short,
}

impl Label {
    fn columns(&self) -> Range<u16> {
        self.start..self.start + self.text.width()
    }
}

/// Where times of day stand on a line.
#[derive(Debug)]
pub struct Axis {
    labels: Vec<Label>,
}

impl Axis {
    /// The times on a line of so many columns, some of them taken by signs: a time goes right of its moment, or left of it
    /// where a sign is in the way. Where there is no room at either side it is left out; the first and the last one stay.
    pub fn new(times: &Times<'_>, width: u16, taken: &[u16]) -> Self {
        let mut all = times.labels();
        all.retain(|(tick, text)| tick + text.width() < width);
        let last = all.len().saturating_sub(1);
        let mut labels: Vec<Label> = Vec::new();
        for (at, (tick, text)) in all.into_iter().enumerate() {
            let free_from = labels.last().map_or(0, |label| label.columns().end.max(label.tick + 1) + 1);
            let is_free = |start: &u16| !taken.iter().any(|sign| (*start..start + text.width()).contains(sign));
            let left = tick.checked_sub(text.width()).filter(|start| *start >= free_from && is_free(start));
            let right = Some(tick + 1).filter(|start| is_free(start) || at == 0 || at == last);
            let start = right.filter(is_free).or(left).or(right);
            labels.extend(start.map(|start| Label { tick, start, text }));
        }
        Self { labels }
    }

    /// The column of a sign: times stay readable, so that a sign below the text of one stands at its moment.
    pub fn place(&self, column: u16) -> u16 {
        let below = |label: &&Label| label.columns().contains(&column);
        self.labels.iter().find(below).map_or(column, |label| label.tick)
    }

    /// Draws the line.
    pub fn draw(&self, cx: &Cx<'_>, row: Rect, buf: &mut Buffer) {
        let (line, tick) = if cx.charset == Charset::Ascii { ("-", "+") } else { ("─", "┴") };
        Pen::new(cx, row, 0, buf).repeat(Role::Border, line, row.width);
        for label in &self.labels {
            Pen::new(cx, row, 0, buf).skip(label.tick).glyph(cx.theme.style(Role::Border), tick);
            Pen::new(cx, row, 0, buf).skip(label.start).text(Role::Dim, label.text.as_str());
        }
    }
}
