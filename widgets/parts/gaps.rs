//! One line that names what a panel could not read, why, and what it requires.

use super::Pen;
use crate::{Cx, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::locale::screen::shared as text;
use topotop_model::locale::{join, pair};
use topotop_model::{Gap, Reason};

/// The gaps of a frame whose path starts with one of the prefixes.
pub fn of<'a>(cx: &Cx<'a>, prefixes: &'a [&'a str]) -> impl Iterator<Item = &'a Gap> {
    cx.frame.gaps.iter().filter(move |gap| prefixes.iter().any(|prefix| gap.path.starts_with(prefix)))
}

/// The reason of the first gap whose path starts with one of the prefixes: for the word in a cell.
pub fn reason(cx: &Cx<'_>, prefixes: &[&str]) -> Option<Reason> {
    of(cx, prefixes).next().map(|gap| gap.reason)
}

/// True if [`note`] would draw a line.
pub fn any(cx: &Cx<'_>, prefixes: &[&str]) -> bool {
    of(cx, prefixes).next().is_some()
}

/// Draws the line into a row of an area: `3 × /proc/*/numa_maps: permission denied; requires CAP_SYS_PTRACE or root`.
/// A file of a process that has exited gets the line only where there is no other gap.
pub fn note(cx: &Cx<'_>, prefixes: &[&str], area: Rect, row: u16, buf: &mut Buffer) {
    let weight = |gap: &Gap| (gap.reason != Reason::Vanished, gap.count);
    let Some(first) = of(cx, prefixes).max_by_key(|gap| weight(gap)) else { return };
    let role = if first.reason == Reason::PermissionDenied { Role::Denied } else { Role::Absent };
    let mut pen = Pen::new(cx, area, row, buf);
    if first.count > 1 {
        pen.text(role, super::number::whole(first.count).as_str()).text(role, " × ");
    }
    pen.text(role, &pair(first.shown_path(), first.reason.text()));
    if !first.needs.is_empty() {
        pen.text(Role::Dim, &join::CLAUSES).text(Role::Dim, &text::Needs { what: &first.shown_needs() }.to_string());
    }
    let others = of(cx, prefixes).count() - 1;
    if others > 0 {
        pen.skip(2).text(Role::Dim, &text::AndMore { count: &others }.to_string());
    }
}
