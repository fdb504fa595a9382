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

/// A row per group with a limit, the fullest first.
pub(super) fn cgroups(cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
    let fill = |cgroup: &topotop_model::frame::Cgroup| {
        let memory = cgroup.memory.as_ref()?;
        Some(
            memory.current_bytes.value()? as f64
                / memory.effective_limit_bytes.value().filter(|&limit| limit > 0)? as f64,
        )
    };
    let mut rows: Vec<_> = cx.frame.cgroups.iter().filter_map(|cgroup| Some((fill(cgroup)?, cgroup))).collect();
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (row, (share, cgroup)) in rows.into_iter().enumerate().take(area.height.into()) {
        let mut pen = Pen::new(cx, area, row as u16, buf);
        pen.field(Role::Text, 24, &cgroup.path).skip(1);
        let bar = pen.left().saturating_sub(5);
        pen.bar(bar, Some(share)).share(5, Some(share));
    }
}

/// A row per disk.
pub(super) fn disks(cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
    for (row, disk) in cx.frame.disks.iter().enumerate().take(area.height.into()) {
        let mut pen = Pen::new(cx, area, row as u16, buf);
        pen.field(Role::Text, 12, &disk.name).bar(16, disk.utilisation).share(5, disk.utilisation);
        pen.known(Role::Text, 7, disk.await_ms, number::millis);
    }
}
