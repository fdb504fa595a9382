//! A value over time in one row.

use super::{Pen, heat};
use crate::Role;

/// How many of `total` samples share one of `width` columns.
pub fn bucket(total: usize, width: u16) -> usize {
    total.div_ceil(usize::from(width.max(1))).max(1)
}

/// Draws the newest samples, the newest at the right edge, in the heat of each; several samples in one column show
/// their maximum. Samples without a value are marked, columns before the first sample stay empty.
pub fn draw(pen: &mut Pen<'_>, width: u16, samples: impl DoubleEndedIterator<Item = Option<f64>> + ExactSizeIterator) {
    draw_as(pen, width, samples, Role::heat);
}

/// As [`draw`], with a role of its own for every value.
pub fn draw_as(
    pen: &mut Pen<'_>,
    width: u16,
    mut samples: impl DoubleEndedIterator<Item = Option<f64>> + ExactSizeIterator,
    role: impl Fn(f64) -> Role,
) {
    let cx = pen.cx();
    let total = samples.len();
    let step = bucket(total, width);
    let used = total.div_ceil(step).min(usize::from(width)) as u16;
    pen.skip(width - used);
    // The newest column is the full one; the oldest takes what is left over.
    let mut left = total;
    while left > 0 {
        let take = if left.is_multiple_of(step) { step } else { left % step };
        let value = samples.by_ref().take(take).flatten().max_by(f64::total_cmp);
        left -= take;
        match value {
            Some(value) => pen.glyph(cx.theme.style(role(value)), heat::glyph(value, cx.charset)),
            None => pen.glyph(cx.theme.style(Role::Absent), "?"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::draw;
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
                draw(&mut Pen::new(cx, area, 0, &mut buf), 6, values.iter().copied());
            });
            row(&buf, 0)
        };
        assert_eq!(spark(&[]), "");
        assert_eq!(spark(&[Some(0.0), None, Some(1.0)]), "   ▁?█");
        let thirteen: Vec<Option<f64>> = (0..13).map(|at| Some(if at == 3 { 1.0 } else { 0.0 })).collect();
        assert_eq!(spark(&thirteen), " ▁█▁▁▁");
    }
}
