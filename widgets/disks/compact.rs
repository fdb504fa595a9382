//! The busiest disks for the overview.

use super::{cells, tree};
use crate::parts::{Pen, names, pane, severity, units};
use crate::{Cx, Role, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::sync::Arc;
use topotop_model::frame::Disk;
use topotop_model::locale::screen::disks as text;

/// The rows that it could use.
pub fn compact_rows(cx: &Cx<'_>) -> usize {
    cx.frame.disks.iter().filter(|disk| !tree::is_unused(disk)).count()
}

/// The disks that it has rows for.
fn listed<'a>(cx: &Cx<'a>) -> impl Iterator<Item = &'a Disk> {
    cx.frame.disks.iter().filter(|disk| tree::passes(cx, disk) && !tree::is_unused(disk))
}

/// How many disks it shows in so many rows, and how many there are.
pub fn compact_counts(cx: &Cx<'_>, rows: u16) -> (usize, usize) {
    let all = listed(cx).count();
    (all.min(usize::from(rows)), all)
}

/// Draws the busiest disks, one line each: name, busy bar, await, writes, who writes most. The first column is for signs.
pub fn compact(cx: &Cx<'_>, whole: Rect, buf: &mut Buffer) {
    let area = severity::gutter(whole);
    let mut disks: Vec<&Disk> = listed(cx).collect();
    if disks.is_empty() {
        let why = pane::nothing(cx, &text::DISKS, cx.frame.disks.len(), &text::NO_DISKS);
        Pen::new(cx, area, 0, buf).text(Role::Dim, &why);
        return;
    }
    // Among those that are equally busy, or before there are rates: hardware before files and memory that play disks.
    let minor = |disk: &Disk| ["loop", "ram", "zram", "sr", "fd"].iter().any(|kind| disk.name.starts_with(kind));
    disks.sort_by(|a, b| {
        let busy = |disk: &Disk| disk.utilisation.unwrap_or(-1.0);
        busy(b).total_cmp(&busy(a)).then(minor(a).cmp(&minor(b)))
    });
    let rows = usize::from(area.height);
    let name = disks.iter().take(rows).map(|disk| names::width(&disk.name)).max().unwrap_or(0).clamp(3, 12);
    for (at, disk) in disks.into_iter().take(rows).enumerate() {
        let subject = Subject::Disk(Arc::clone(&disk.name));
        severity::beside(cx, whole, at as u16, severity::worst(cx, &subject), buf);
        let mut pen = Pen::new(cx, area, at as u16, buf);
        pen.field(Role::Text, name, &disk.name).skip(1);
        let busy = pen.left().saturating_sub(14).clamp(5, 26);
        cells::utilisation(disk, &mut pen.sub(busy));
        pen.skip(1);
        let mut wait = pen.sub(7);
        let start = wait.x();
        cells::wait(disk, disk.await_ms, &mut wait);
        if disk.await_ms.value().is_some() {
            wait.text(Role::Dim, "ms");
        }
        wait.align_right(start);
        let unit = if pen.left() >= 36 { "/s" } else { "" };
        for (name, rate) in [("w ", disk.write_bytes_per_second), ("r ", disk.read_bytes_per_second)] {
            if pen.left() >= 9 {
                pen.skip(1).text(Role::Dim, name).rate(Role::Text, 5, rate, units::bytes).text(Role::Dim, unit);
            }
        }
        if pen.left() >= 14 && !disk.writers.is_empty() {
            pen.skip(2);
            cells::top_writer(cx, disk, &mut pen);
        }
    }
}
