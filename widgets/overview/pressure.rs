//! Pressure in one row.

use crate::parts::{Pen, gaps};
use crate::{Cx, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::locale::screen::overview as text;

/// The share of time in which some task waited for each resource.
pub(super) fn draw(cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
    if cx.frame.pressure.is_empty() {
        gaps::note(cx, &["proc/pressure"], area, 0, buf);
        return;
    }
    let mut pen = Pen::new(cx, area, 0, buf);
    pen.text(Role::Dim, &text::PRESSURE);
    for row in &cx.frame.pressure {
        pen.skip(2).text(Role::Dim, &row.resource).skip(1).heat(row.stall.some_ratio);
        pen.share(4, row.stall.some_ratio);
    }
}
