//! A value over time in one row.

use super::{Pen, heat};
use crate::{Cx, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// How many samples share one of `width` columns: as many as fill all columns, so that what is oldest may be left out.
pub fn bucket(total: usize, width: u16) -> usize {
    (total / usize::from(width.max(1))).max(1)
}

/// Which samples share which column: the newest stands at the right edge.
#[derive(Clone, Copy, Debug)]
pub struct Columns {
    width: u16,
    total: usize,
    step: usize,
    used: usize,
}

impl Columns {
    /// The columns of so many samples.
    pub fn new(total: usize, width: u16) -> Self {
        let step = bucket(total, width);
        Self { width, total, step, used: (total / step).min(usize::from(width)) }
    }

    /// The oldest sample that is drawn.
    pub fn first(self) -> usize {
        self.total - self.used * self.step
    }

    /// The column of a sample; none where it is too old, or not there.
    pub fn of(self, sample: usize) -> Option<u16> {
        let at = sample.checked_sub(self.first())? / self.step;
        (at < self.used).then(|| self.width - self.used as u16 + at as u16)
    }
}

/// Calls with the column and the value of every column that has samples, the newest at the right edge; several in
/// one column give their maximum.
pub fn columns(
    width: u16,
    mut samples: impl ExactSizeIterator<Item = Option<f64>>,
    mut call: impl FnMut(u16, Option<f64>),
) {
    let all = Columns::new(samples.len(), width);
    samples.by_ref().take(all.first()).for_each(drop);
    for column in width - all.used as u16..width {
        call(column, samples.by_ref().take(all.step).flatten().max_by(f64::total_cmp));
    }
}

/// What the colour of a value says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tint {
    /// Calm where all is well: heat marks what ran hot.
    Heat,
    /// Nothing: more is not worse.
    Plain,
}

impl Tint {
    fn role(self, value: f64) -> Role {
        if self == Self::Heat && value >= 0.8 { Role::heat(value) } else { Role::Focus }
    }
}

/// Draws samples into one row. Samples without a value are marked, columns before the first sample
/// stay empty.
pub fn draw(pen: &mut Pen<'_>, width: u16, tint: Tint, samples: impl ExactSizeIterator<Item = Option<f64>>) {
    let (cx, start) = (pen.cx(), pen.x());
    let width = width.min(pen.left());
    columns(width, samples, |column, value| {
        pen.to(start + column);
        match value {
            Some(value) => pen.glyph(cx.theme.style(tint.role(value)), heat::low_glyph(value, cx.charset)),
            None => pen.glyph(cx.theme.style(Role::Absent), "?"),
        };
    });
    pen.to(start + width);
}

/// Draws samples into all rows of an area as columns that rise from its bottom; a sample without a value has a sign.
pub fn chart(
    cx: &Cx<'_>,
    area: Rect,
    (tint, missing): (Tint, &str),
    samples: impl ExactSizeIterator<Item = Option<f64>>,
    buf: &mut Buffer,
) {
    let area = area.intersection(buf.area);
    if area.height < 2 {
        draw(&mut Pen::new(cx, area, 0, buf), area.width, tint, samples);
        return;
    }
    columns(area.width, samples, |column, value| {
        let x = area.x + column;
        let Some(value) = value else {
            Pen::new(cx, Rect { x, ..area }, area.height - 1, buf).glyph(cx.theme.style(Role::Absent), missing);
            return;
        };
        // Only the top of a column tells its heat: the rest is there to carry it, and looks like its calm neighbours.
        let (top, body) = (cx.theme.style(tint.role(value)), cx.theme.style(Role::Focus));
        let height = value.clamp(0.0, 1.0) * f64::from(area.height);
        for row in 0..area.height {
            let part = height - f64::from(area.height - 1 - row);
            // The lowest row always shows something: a value of zero is a value.
            if part > 0.06 || row + 1 == area.height {
                let glyph = if part >= 1.0 { heat::full(cx.charset) } else { heat::glyph(part, cx.charset) };
                // A top that is only a sliver has the cell below it too, so that neighbours do not look like stripes.
                let is_top = part <= 1.5;
                Pen::new(cx, Rect { x, ..area }, row, buf).glyph(if is_top { top } else { body }, glyph);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::{Columns, Tint, draw};
    use crate::parts::Pen;
    use crate::testing::{row, with_cx};
    use crate::{Charset, demo};
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;

    #[test]
    fn newest_at_the_right_and_peaks_kept() {
        let spark = |values: &[Option<f64>]| {
            let area = Rect::new(0, 0, 6, 1);
            let mut buf = Buffer::empty(area);
            with_cx(&demo::blind(), Charset::Unicode, |cx| {
                draw(&mut Pen::new(cx, area, 0, &mut buf), 6, Tint::Heat, values.iter().copied());
            });
            row(&buf, 0)
        };
        assert_eq!(spark(&[]), "");
        assert_eq!(spark(&[Some(0.0), None, Some(1.0)]), "   ▁?▇");
        let thirteen: Vec<Option<f64>> = (0..13).map(|at| Some(if at == 3 { 1.0 } else { 0.0 })).collect();
        assert_eq!(spark(&thirteen), "▁▇▁▁▁▁");
    }

    #[test]
    fn a_sample_has_one_column() {
        for (total, width) in [(0, 6), (3, 6), (6, 6), (7, 6), (13, 6), (600, 77), (4, 0)] {
            let columns = Columns::new(total, width);
            let placed: Vec<Option<u16>> = (0..total).map(|sample| columns.of(sample)).collect();
            assert!(placed.iter().flatten().all(|column| *column < width) && placed.is_sorted(), "{total} in {width}");
            assert_eq!(columns.of(total), None);
            assert_eq!(placed.last().copied().flatten(), if total > 0 { width.checked_sub(1) } else { None });
            assert_eq!(placed.iter().filter(|column| column.is_none()).count(), columns.first());
        }
    }
}
