//! One line that says what a panel could not see, why, and what would show it.

use super::Pen;
use crate::{Cx, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::{Gap, Reason};

/// The gaps of a frame whose path starts with one of the prefixes.
pub fn of<'a>(cx: &Cx<'a>, prefixes: &'a [&'a str]) -> impl Iterator<Item = &'a Gap> {
    cx.frame.gaps.iter().filter(move |gap| prefixes.iter().any(|prefix| gap.path.starts_with(prefix)))
}

/// The reason of the first gap whose path starts with one of the prefixes: for the word in a cell.
pub fn reason(cx: &Cx<'_>, prefixes: &[&str]) -> Option<Reason> {
    of(cx, prefixes).next().map(|gap| gap.reason)
}

/// The sentence for a reason.
fn because(reason: Reason) -> &'static str {
    match reason {
        Reason::PermissionDenied => "permission denied",
        Reason::NotFound => "not there",
        Reason::NotSupported => "not supported",
        Reason::Vanished => "gone meanwhile",
        Reason::Malformed => "not understood",
        Reason::TimedOut => "no answer in time",
        Reason::Exhausted => "nothing left to read it with",
    }
}

/// True if [`note`] would draw a line.
pub fn any(cx: &Cx<'_>, prefixes: &[&str]) -> bool {
    of(cx, prefixes).next().is_some()
}

/// Draws the line into a row of an area: `3 × proc/*/numa_maps: permission denied; CAP_SYS_PTRACE or root would show
/// them`. Gaps that came from one process that ended are not worth a line unless they are all there is.
pub fn note(cx: &Cx<'_>, prefixes: &[&str], area: Rect, row: u16, buf: &mut Buffer) {
    let weight = |gap: &Gap| (gap.reason != Reason::Vanished, gap.count);
    let Some(first) = of(cx, prefixes).max_by_key(|gap| weight(gap)) else { return };
    let role = if first.reason == Reason::PermissionDenied { Role::Denied } else { Role::Absent };
    let mut pen = Pen::new(cx, area, row, buf);
    if first.count > 1 {
        pen.text(role, super::number::whole(first.count).as_str()).text(role, " × ");
    }
    pen.text(role, &first.path).text(role, ": ").text(role, because(first.reason));
    if !first.needs.is_empty() {
        pen.text(Role::Dim, "; needs ").text(Role::Dim, &first.needs);
    }
    let others = of(cx, prefixes).count() - 1;
    if others > 0 {
        pen.text(Role::Dim, "  and ").text(Role::Dim, super::number::whole(others as u64).as_str());
        pen.text(Role::Dim, " more");
    }
}
