//! A whole recording in one line: how hot it was, what was marked, what is missing, and where one is.

use super::extents::{self, Extent};
use super::{Pen, heat, panel, severity};
use crate::{Charset, Cx, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use unicode_width::UnicodeWidthStr;

/// What is known of a recording as a whole. Places are numbers of samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bar {
    /// The oldest sample.
    pub first: u64,
    /// The newest sample.
    pub last: u64,
    /// How hot equal parts of it were, in 1/255; none where that is not known.
    pub heat: Vec<Option<u8>>,
    /// Samples that marks stand before, and what they say.
    pub marks: Vec<(u64, String)>,
    /// The first samples after a hole: a suspend, a stop, samples that were not written.
    pub holes: Vec<u64>,
    /// The first samples after damage.
    pub damage: Vec<u64>,
    /// The time at some samples, for the axis.
    pub times: Vec<(u64, String)>,
}

/// Where one is in it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place<'a> {
    /// The sample that is shown.
    pub sample: u64,
    /// The loop.
    pub span: (Option<u64>, Option<u64>),
    /// What stands at the left end: when it began.
    pub start: &'a str,
    /// What stands at the right end: when it ended.
    pub end: &'a str,
}

/// The narrowest bar that labels may leave.
const NARROWEST: u16 = 30;

impl Bar {
    /// The columns of the line itself, between the labels.
    fn line(area: Rect, place: &Place<'_>) -> Rect {
        let row = Rect { y: area.bottom().saturating_sub(1), height: area.height.min(1), ..area };
        let labels = (place.start.width() + place.end.width() + 4) as u16;
        if row.width < NARROWEST + labels {
            return panel::inset(row);
        }
        let left = place.start.width() as u16 + 2;
        Rect { x: row.x + left, width: row.width - labels, ..row }
    }

    /// The column of a sample on a line of so many columns.
    fn column(&self, sample: u64, width: u16) -> u16 {
        let of = self.last.saturating_sub(self.first);
        let at = sample.clamp(self.first, self.last.max(self.first)) - self.first;
        if of == 0 {
            return width.saturating_sub(1);
        }
        (u128::from(at) * u128::from(width.saturating_sub(1)) / u128::from(of)) as u16
    }

    /// The sample at a column of the terminal.
    pub fn sample_at(&self, area: Rect, place: &Place<'_>, column: u16) -> u64 {
        let line = Self::line(area, place);
        let at = u128::from(column.clamp(line.x, line.right().saturating_sub(1).max(line.x)) - line.x);
        let of = u128::from(self.last.saturating_sub(self.first));
        let steps = u128::from(line.width.saturating_sub(1)).max(1);
        // Rounded up, so that the cursor comes to stand where the click was.
        self.first + (at * of).div_ceil(steps) as u64
    }

    /// The heat of a column: the hottest part of the recording that it stands for.
    fn heat_at(&self, column: u16, width: u16) -> Option<f64> {
        let parts = self.heat.len();
        let edge = |column: u16| usize::from(column) * parts / usize::from(width.max(1));
        let (from, to) = (edge(column), edge(column + 1).max(edge(column) + 1).min(parts));
        let hottest = self.heat.get(from..to)?.iter().flatten().max()?;
        Some(f64::from(*hottest) / 255.0)
    }
}

/// Findings that appeared and cleared, in columns of the line.
fn found(cx: &Cx<'_>, bar: &Bar, width: u16) -> Vec<Extent> {
    extents::of(cx, (bar.first, bar.last), |change| change.sample, |sample| bar.column(sample, width))
}

/// Draws it: the line in the last row; above it, if there is room, times and what marks say, and when findings came and
/// went.
pub fn draw(cx: &Cx<'_>, bar: &Bar, place: &Place<'_>, area: Rect, buf: &mut Buffer) {
    let line = Bar::line(area, place);
    if line.width == 0 || line.height == 0 {
        return;
    }
    if line.x > area.x + 1 {
        let row = Rect { y: line.y, height: 1, ..area };
        Pen::new(cx, row, 0, buf).skip(1).text(Role::Dim, place.start).to(line.right() + 1).text(Role::Dim, place.end);
    }
    let found = found(cx, bar, line.width);
    let mut pen = Pen::new(cx, line, 0, buf);
    for column in 0..line.width {
        // Without a row of their own findings stand on the line.
        let sign = found.iter().filter(|_| area.height < 3).find_map(|extent| sign(cx, extent, column));
        let (style, glyph) = cell(cx, bar, place, sign, column, line.width);
        pen.glyph(style, glyph);
    }
    if area.height > 2 {
        let above = Rect { y: line.y - 2, height: 1, ..line };
        extents::draw(cx, above, &found, buf);
    }
    if area.height > 1 {
        let above = Rect { y: line.y - 1, ..line };
        labels(cx, bar, place, above, buf);
    }
}

/// The sign of a finding that came or went at a column.
fn sign(cx: &Cx<'_>, extent: &Extent, column: u16) -> Option<(Style, &'static str)> {
    let style = |role| cx.theme.style(role);
    if extent.from == Some(column) {
        return Some((style(severity::role(extent.severity)), severity::glyph(extent.severity, cx.charset)));
    }
    (extent.to == Some(column)).then(|| (style(Role::Ok), severity::fine(cx.charset)))
}

/// What stands in a column: the cursor, else damage, else a mark, else a finding that came or went, else an end of the
/// loop, else a hole, else heat.
fn cell(
    cx: &Cx<'_>,
    bar: &Bar,
    place: &Place<'_>,
    finding: Option<(Style, &'static str)>,
    column: u16,
    width: u16,
) -> (Style, &'static str) {
    let unicode = cx.charset == Charset::Unicode;
    let sign = |unicode_sign, ascii| if unicode { unicode_sign } else { ascii };
    let here = |sample: u64| bar.column(sample, width) == column;
    let style = |role| cx.theme.style(role);
    let (start, end) = place.span;
    if here(place.sample) {
        return (style(Role::Replay).add_modifier(Modifier::BOLD), sign("┃", "|"));
    }
    if bar.damage.iter().any(|&sample| here(sample)) {
        return (style(Role::Critical), sign("×", "x"));
    }
    if bar.marks.iter().any(|mark| here(mark.0)) {
        return (style(Role::Info), sign("◆", "M"));
    }
    if let Some(finding) = finding {
        return finding;
    }
    if start.is_some_and(here) {
        return (style(Role::Key), "[");
    }
    if end.is_some_and(here) {
        return (style(Role::Key), "]");
    }
    if bar.holes.iter().any(|&sample| here(sample)) {
        return (style(Role::Absent), sign("┊", "/"));
    }
    let (role, glyph) = match bar.heat_at(column, width) {
        Some(share) => (Role::heat(share), heat::low_glyph(share, cx.charset)),
        None => heat::unknown(false, cx.charset),
    };
    let inside = |at: u64| column > bar.column(at, width);
    let looped = start.is_some_and(inside) && end.is_some_and(|end| column < bar.column(end, width));
    let style = if looped { style(role).add_modifier(Modifier::UNDERLINED) } else { style(role) };
    (style, glyph)
}

/// Above the line: what marks say where they stand, and times between them.
fn labels(cx: &Cx<'_>, bar: &Bar, place: &Place<'_>, row: Rect, buf: &mut Buffer) {
    let mut taken: Vec<(u16, u16)> = Vec::new();
    let sign = if cx.charset == Charset::Unicode { "◆ " } else { "M " };
    // The mark that was gone to last is listed first, then the ones after it.
    let near = |mark: &&(u64, String)| (mark.0 > place.sample, mark.0.abs_diff(place.sample));
    let mut marks: Vec<&(u64, String)> = bar.marks.iter().collect();
    marks.sort_by_key(near);
    let marks = marks.into_iter().take(64).map(|(at, text)| (*at, format!("{sign}{text}"), Role::Info));
    let times = bar.times.iter().map(|(at, text)| (*at, text.clone(), Role::Dim));
    for (sample, text, role) in marks.chain(times) {
        let width = (text.width() as u16).min(24);
        let column = bar.column(sample, row.width).min(row.width.saturating_sub(width));
        let (from, to) = (column, column + width + 2);
        if width > row.width || taken.iter().any(|&(start, end)| from < end && start < to) {
            continue;
        }
        taken.push((from, to));
        let field = Rect { x: row.x + column, width, ..row };
        Pen::new(cx, field, 0, buf).field(role, width, &text);
    }
}

#[cfg(test)]
mod tests {
    use super::{Bar, Place, draw};
    use crate::testing::{harmless, text, with_cx};
    use crate::{Charset, demo};
    use proptest::prelude::*;
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use std::fmt::Write as _;

    fn hour() -> Bar {
        let heat = |at: u32| match at {
            0..200 => Some(20 + (at % 7) as u8),
            200..600 => Some((at * 7 % 150) as u8 + 100),
            600..700 => None,
            _ => Some(60),
        };
        Bar {
            first: 0,
            last: 3599,
            heat: (0..1024).map(heat).collect(),
            marks: vec![
                (700, "load up".to_owned()),
                (1500, "4 clients → 8".to_owned()),
                (2100, "load down".to_owned()),
            ],
            holes: vec![2600],
            damage: vec![3000],
            times: (0..7).map(|at| (at * 600, format!("14:{at}0"))).collect(),
        }
    }

    fn place() -> Place<'static> {
        Place { sample: 1200, span: (Some(900), Some(1800)), start: "14:00:00", end: "15:00:00" }
    }

    fn picture(bar: &Bar, place: &Place<'_>, (width, height): (u16, u16), charset: Charset) -> Buffer {
        let area = Rect::new(0, 0, width, height);
        let mut buf = Buffer::empty(area);
        with_cx(&demo::tiny(), charset, |cx| draw(cx, bar, place, area, &mut buf));
        harmless(&buf, charset);
        buf
    }

    #[test]
    fn an_hour_in_a_line() {
        let mut out = String::new();
        for (width, height) in [(40, 1), (80, 1), (120, 2), (200, 2)] {
            for charset in [Charset::Unicode, Charset::Ascii] {
                let _ = writeln!(
                    out,
                    "== {width}x{height}\n{}",
                    text(&picture(&hour(), &place(), (width, height), charset))
                );
            }
        }
        insta::assert_snapshot!(out);
    }

    #[test]
    fn a_click_comes_to_stand_where_it_was() {
        let (bar, place) = (hour(), place());
        for (width, height) in [(40, 1), (80, 1), (200, 2)] {
            let area = Rect::new(0, 0, width, height);
            let line = Bar::line(area, &place);
            for column in line.x..line.right() {
                let sample = bar.sample_at(area, &place, column);
                assert_eq!(line.x + bar.column(sample, line.width), column);
            }
            assert_eq!((bar.sample_at(area, &place, 0), bar.sample_at(area, &place, u16::MAX)), (0, 3599));
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(
            first: u64, count: u64, sample: u64, heat: Vec<Option<u8>>, marks: Vec<(u64, String)>, holes: Vec<u64>,
            span: (Option<u64>, Option<u64>), width in 0u16..220, height in 0u16..4, column: u16, unicode: bool,
        ) {
            let last = first.saturating_add(count);
            let bar = Bar { first, last, heat, times: marks.clone(), marks, damage: holes.clone(), holes };
            let place = Place { sample, span, start: "a", end: "b" };
            let charset = if unicode { Charset::Unicode } else { Charset::Ascii };
            picture(&bar, &place, (width, height), charset);
            let found = bar.sample_at(Rect::new(0, 0, width, height), &place, column);
            prop_assert!((first..=last).contains(&found));
        }
    }
}
