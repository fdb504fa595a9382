//! Short lists of what has no screen of its own yet.

use crate::parts::{Pen, number};
use crate::{Cx, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// A row per interface.
pub(super) fn queues(cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
    for (row, nic) in cx.frame.nics.iter().filter(|nic| &*nic.kind == "physical").enumerate().take(area.height.into()) {
        let mut pen = Pen::new(cx, area, row as u16, buf);
        pen.field(Role::Text, 12, &nic.name).field(Role::Dim, 12, &nic.driver);
        pen.text(Role::Dim, "channels").known(Role::Text, 4, nic.combined.current, number::whole);
        pen.text(Role::Dim, "/").known(Role::Text, 3, nic.combined.max, number::whole);
    }
}
