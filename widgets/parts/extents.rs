//! Findings over time in one row: where each came, how long it stayed, where it went.

use super::{Pen, names, severity, units};
use crate::{Charset, Cx, Mark, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::collections::BTreeMap;
use topotop_model::judge::Change;
use topotop_model::rules::{Severity, Subject};

/// A finding over time, in columns of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Where it came; none where it was there before the first column.
    pub from: Option<u16>,
    /// Where it went; none where it stays to the last column.
    pub to: Option<u16>,
    /// How bad it was.
    pub severity: Severity,
    /// The rule.
    pub rule: String,
}

/// Every finding that came or went between two places, from changes in their order, and those that are open and not
/// among them; `place` says where a change is, `column` the column of a place.
pub fn of<'a>(
    cx: &Cx<'a>,
    (first, last): (u64, u64),
    place: impl Fn(&Change) -> u64,
    column: impl Fn(u64) -> u16,
) -> Vec<Extent> {
    let mut open: BTreeMap<(&'a str, &'a Subject), Extent> = BTreeMap::new();
    let mut all = Vec::new();
    for change in cx.timeline.changes() {
        let at = place(change);
        if at > last {
            break;
        }
        let key = (&*change.rule, &change.subject);
        let (severity, rule) = (change.severity, change.rule.to_string());
        let seen = at >= first;
        if change.came {
            // What the first sample has was there before.
            open.insert(key, Extent { from: (at > first).then(|| column(at)), to: None, severity, rule });
        } else {
            let known = open.remove(&key);
            if seen {
                let from = known.and_then(|extent| extent.from);
                all.push(Extent { from, to: Some(column(at)), severity, rule });
            }
        }
    }
    all.extend(open.into_values());
    all.sort_by_key(|extent| extent.from);
    all
}

/// Draws extents into one row: the worst on top; rules are named where there is room.
pub fn draw(cx: &Cx<'_>, area: Rect, extents: &[Extent], buf: &mut Buffer) {
    let unicode = cx.charset == Charset::Unicode;
    let width = area.width;
    let last = width.saturating_sub(1);
    let (idle, line) = if unicode { ("┈", "━") } else { (".", "=") };
    let mut cells: Vec<(Role, &str)> = vec![(Role::Absent, idle); usize::from(width)];
    let mut marks = vec![false; usize::from(width)];
    let mut order: Vec<&Extent> = extents.iter().collect();
    order.sort_by_key(|extent| extent.severity);
    for extent in &order {
        let (from, to) = (extent.from.unwrap_or(0).min(last), extent.to.unwrap_or(last).min(last));
        for cell in cells.get_mut(usize::from(from)..=usize::from(to.max(from))).into_iter().flatten() {
            *cell = (severity::role(extent.severity), line);
        }
    }
    let mut set = |at: Option<u16>, cell: (Role, &'static str)| {
        let Some(at) = at.map(|at| usize::from(at.min(last))) else { return };
        if let (Some(place), Some(mark)) = (cells.get_mut(at), marks.get_mut(at)) {
            (*place, *mark) = (cell, true);
        }
    };
    for extent in &order {
        set(extent.to, (Role::Ok, severity::fine(cx.charset)));
    }
    for extent in &order {
        set(extent.from, (severity::role(extent.severity), severity::glyph(extent.severity, cx.charset)));
    }
    let mut pen = Pen::new(cx, area, 0, buf);
    for (role, glyph) in &cells {
        pen.glyph(cx.theme.style(*role), glyph);
    }
    // What explains the headline is named first, then the worst.
    let explains = |extent: &Extent| {
        let finding = cx.judgement.bottleneck.finding.as_ref();
        finding.is_some_and(|(rule, _)| rule.as_str() == extent.rule)
    };
    order.sort_by_key(|extent| (explains(extent), extent.severity));
    for extent in order.iter().rev() {
        let at = usize::from(extent.from.map_or(0, |from| from.min(last) + 1));
        let end = at + extent.rule.len();
        let Some(place) = marks.get_mut(at..end) else { continue };
        if place.iter().any(|taken| *taken) {
            continue;
        }
        place.fill(true);
        let field = Rect { x: area.x + at as u16, width: extent.rule.len() as u16, ..area };
        Pen::new(cx, field, 0, buf).text(severity::role(extent.severity), &extent.rule);
    }
}

/// The sign of what was done to the machine.
fn done(mark: &Mark, charset: Charset) -> (&'static str, Role) {
    match (mark.well, charset) {
        (true, Charset::Unicode) => ("✓", Role::Ok),
        (true, Charset::Ascii) => ("v", Role::Ok),
        (false, Charset::Unicode) => ("✗", Role::Critical),
        (false, Charset::Ascii) => ("X", Role::Critical),
    }
}

/// Draws the sign of what was done to the machine at a column of a row.
pub fn mark(cx: &Cx<'_>, row: Rect, column: u16, mark: &Mark, buf: &mut Buffer) {
    let (sign, role) = done(mark, cx.charset);
    Pen::new(cx, row, 0, buf).skip(column).text(role, sign);
}

/// The columns in which findings came or went.
pub fn columns(extents: &[Extent]) -> impl Iterator<Item = u16> {
    extents.iter().flat_map(|extent| [extent.from, extent.to]).flatten()
}

/// Draws when findings came and went onto a row that has something else: signs without lines and names, the worst on top;
/// `place` gives the column of the sign of a column.
pub fn signs(cx: &Cx<'_>, row: Rect, extents: &[Extent], place: impl Fn(u16) -> u16, buf: &mut Buffer) {
    let mut order: Vec<&Extent> = extents.iter().collect();
    order.sort_by_key(|extent| extent.severity);
    let cleared = order.iter().filter_map(|extent| Some((extent.to?, Role::Ok, severity::fine(cx.charset))));
    let came = order.iter().filter_map(|extent| {
        Some((extent.from?, severity::role(extent.severity), severity::glyph(extent.severity, cx.charset)))
    });
    for (column, role, sign) in cleared.chain(came).filter(|sign| sign.0 < row.width) {
        Pen::new(cx, row, 0, buf).skip(place(column)).text(role, sign);
    }
}

/// Writes what was done to the machine over a row, each at its column with the time of day and what it was as far as
/// there is room: `✓10:33:10 fix applied`.
pub fn marks(cx: &Cx<'_>, area: Rect, marks: &[(u16, &Mark)], buf: &mut Buffer) {
    for (place, (column, mark)) in marks.iter().enumerate() {
        let end = marks.get(place + 1).map_or(area.width, |next| next.0).max(column + 1);
        let (sign, role) = done(mark, cx.charset);
        let text = format!("{} {}", units::time_of_day(mark.wall_ns, cx.zone), mark.text);
        let width = (names::width(&text) + 1).min(end - column);
        // At the right end it stands to the left of its sign.
        let left = *column + 1 + width > area.width && marks.len() == 1 && *column > width;
        let x = if left { *column - width } else { *column };
        let field = Rect { x: area.x + x, width: (width + 1).min(area.width.saturating_sub(x)), height: 1, ..area };
        let mut pen = Pen::new(cx, field, 0, buf);
        if left {
            let from = field.width - 1;
            pen.field(role, from, &text).text(role, sign);
        } else {
            pen.text(role, sign).text(role, &text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Extent, draw, of};
    use crate::testing::{harmless, row, with_cx};
    use crate::{Charset, Cx, demo};
    use proptest::prelude::*;
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use topotop_model::judge::{Change, Timeline};
    use topotop_model::rules::{Severity, Subject};

    fn change(sample: u64, rule: &str, came: bool, severity: Severity) -> Change {
        let (rule, title, subject) = (rule.into(), rule.into(), Subject::Host);
        Change { sample, wall_ns: 0, mono_ns: sample, came, rule, subject, severity, title }
    }

    fn picture(changes: Vec<Change>, span: (u64, u64), width: u16, charset: Charset) -> String {
        let timeline = Timeline::of(changes);
        with_cx(&demo::tiny(), charset, |cx| {
            let cx = Cx { timeline: &timeline, ..*cx };
            let of_all = span.1.saturating_sub(span.0).max(1);
            let column = |at: u64| (u128::from(at - span.0) * u128::from(width.max(1) - 1) / u128::from(of_all)) as u16;
            let extents = of(&cx, span, |change| change.sample, column);
            let area = Rect::new(0, 0, width, 1);
            let mut buf = Buffer::empty(area);
            draw(&cx, area, &extents, &mut buf);
            harmless(&buf, charset);
            row(&buf, 0)
        })
    }

    #[test]
    fn they_come_stay_and_go() {
        let changes = vec![
            change(2, "OLD-01", true, Severity::Info),
            change(14, "OLD-01", false, Severity::Info),
            change(20, "NIC-01", true, Severity::Critical),
            change(40, "NIC-01", false, Severity::Critical),
            change(48, "IO-01", true, Severity::Warning),
            change(70, "LATER-01", true, Severity::Warning),
        ];
        let drawn = |charset| picture(changes.clone(), (10, 60), 51, charset);
        assert_eq!(drawn(Charset::Unicode), "━━━━✓┈┈┈┈┈▲NIC-01━━━━━━━━━━━━━✓┈┈┈┈┈┈┈△IO-01━━━━━━━");
        assert_eq!(drawn(Charset::Ascii), "====v.....!NIC-01=============v.......^IO-01=======");
    }

    proptest! {
        #[test]
        fn nothing_panics(
            changes in prop::collection::vec((0u64..100, 0usize..3, any::<bool>()), 0..30), width in 0u16..90, first in 0u64..90,
        ) {
            let all = changes.into_iter().map(|(at, rule, came)| change(at, ["A-01", "B-01", "C-01"][rule], came, Severity::Warning));
            picture(all.collect(), (first, 90), width, Charset::Unicode);
        }

        #[test]
        fn columns_beyond_the_row_are_its_ends(from: Option<u16>, to: Option<u16>, rule in "[A-Z]{0,12}", width in 0u16..90) {
            let area = Rect::new(0, 0, width, 1);
            let mut buf = Buffer::empty(area);
            with_cx(&demo::tiny(), Charset::Unicode, |cx| {
                draw(cx, area, &[Extent { from, to, severity: Severity::Info, rule }], &mut buf);
            });
        }
    }
}
