//! Pressure in one row.

use crate::parts::{Pen, gaps};
use crate::{Cx, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Some tasks waited for …
pub(super) fn draw(cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
    let mut pen = Pen::new(cx, area, 0, buf);
    pen.text(Role::Dim, "waiting for");
    if cx.frame.pressure.is_empty() {
        pen.skip(2).missing(6, gaps::reason(cx, &["proc/pressure"]));
        return;
    }
    for row in &cx.frame.pressure {
        pen.skip(2).text(Role::Dim, &row.resource).skip(1).heat(row.stall.some_ratio);
        pen.share(4, row.stall.some_ratio);
    }
}
