//! The last minutes: one small chart for each headline value.

use crate::parts::chart::{self, Chart, Times, Unit};
use crate::parts::extents::{self, Extent};
use crate::parts::spark::{self, Tint};
use crate::parts::{Pen, names, number, panel};
use crate::{Cx, Mark, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::fmt::Write as _;
use std::sync::Arc;
use topotop_model::bottleneck::{ResourceKind, Verdict};
use topotop_model::history::Headline;
use topotop_model::locale::Text;
use topotop_model::locale::screen::overview as text;

type Series = (Text, fn(&Headline) -> Option<f64>);

const SERIES: [Series; 6] = [
    (text::SERIES_CORE, |headline| Some(headline.hottest_cpu?.1)),
    (text::SERIES_SOFTIRQ, |headline| Some(headline.hottest_softirq?.1)),
    (text::SERIES_DISK, |headline| headline.disk),
    (text::SERIES_NIC, |headline| headline.nic),
    (text::SERIES_MEMORY_LIMIT, |headline| headline.memory),
    (text::SERIES_BUSY, |headline| headline.busy),
];

/// What the colour of a series says: memory that is full of page cache is no alarm, only memory that limits is.
fn tint(cx: &Cx<'_>, name: Text) -> Tint {
    let memory = || cx.judgement.resources.get(ResourceKind::Memory);
    let calm = name == text::SERIES_MEMORY_LIMIT && memory().is_none_or(|memory| memory.verdict != Verdict::Limiting);
    if calm { Tint::Plain } else { Tint::Heat }
}

/// Columns of a name before what it is of, and of the title on the rule.
const LABEL: u16 = 10;
const TITLE: u16 = 12;

/// The narrowest chart that shows a shape.
const WIDTH: u16 = 38;

/// How many charts stand side by side.
fn columns(width: u16) -> u16 {
    match width / WIDTH {
        0 | 1 => 1,
        2 => 2,
        3..=5 => 3,
        _ => 6,
    }
}

/// True where there is something to see over time: of two samples only the second has rates.
pub(super) fn has_shape(cx: &Cx<'_>) -> bool {
    chart::has_shape(cx)
}

/// The rows of all charts at one row each.
fn charts(width: u16) -> u16 {
    6 / columns(width)
}

/// A screen of so many rows has room for scales and times.
const TALL: u16 = 50;

/// The rows that it could use: those of the charts, and one for findings.
pub(super) fn rows(cx: &Cx<'_>, width: u16, screen: u16) -> u16 {
    let each = if screen >= TALL { chart::LEAST } else { 1 };
    charts(width) * each + u16::from(!cx.timeline.is_empty() || !cx.marks.is_empty())
}

/// When findings appeared and cleared, on the time of charts.
fn extents(cx: &Cx<'_>, times: &Times<'_>) -> Vec<Extent> {
    extents::of(cx, times.span(), |change| change.mono_ns, |at| times.column(at).unwrap_or_default())
}

/// What was done to the machine, on the time of charts.
fn marks<'a>(cx: &Cx<'a>, times: &Times<'_>) -> Vec<(u16, &'a Mark)> {
    cx.marks.iter().filter_map(|mark| Some((times.column(mark.mono_ns)?, mark))).collect()
}

/// Draws when findings came and went: below the charts where there is a row for it, else on the rule above them. Gives
/// what is left for the charts.
fn findings(cx: &Cx<'_>, area: Rect, inner: Rect, note: u16, buf: &mut Buffer) -> Rect {
    let below = inner.height > charts(inner.width);
    let (place, rest) = if below {
        let row =
            Rect { x: inner.x + LABEL, y: inner.bottom() - 1, width: inner.width.saturating_sub(LABEL), height: 1 };
        (row, Rect { height: inner.height - 1, ..inner })
    } else {
        let used = TITLE + if note > 0 { note + 5 } else { 2 };
        (Rect { x: area.x + TITLE, width: area.width.saturating_sub(used), height: area.height.min(1), ..area }, inner)
    };
    let times = Times::new(cx, place.width);
    let (extents, marks) = (extents(cx, &times), marks(cx, &times));
    if (extents.is_empty() && marks.is_empty()) || place.width < 8 {
        return inner;
    }
    if below {
        Pen::new(cx, inner, inner.height - 1, buf).field(Role::Dim, LABEL, &text::SERIES_FINDINGS);
    }
    extents::draw(cx, place, &extents, buf);
    extents::marks(cx, place, &marks, buf);
    rest
}

/// The time that the charts span, and how many of them there are where not all fit.
fn note(cx: &Cx<'_>, area: Rect) -> String {
    let span = span(cx);
    let mut note = match span {
        span if span > 0.0 => text::Last { span: &number::seconds(span) }.to_string(),
        _ => String::new(),
    };
    let inner = panel::inset(panel::below(area, 1));
    let (lines, all) = (inner.height.max(1), charts(inner.width));
    if lines < all {
        let shown = text::ChartsShown { shown: &(lines * columns(inner.width)), all: &SERIES.len() };
        let _ = write!(note, "{}{shown}", if note.is_empty() { "" } else { ", " });
    }
    note
}

pub(super) fn draw(cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
    let note = note(cx, area);
    let inner = panel::inset(panel::titled(cx, area, &text::HISTORY_TITLE, &note, false, buf));
    let columns = columns(inner.width);
    let inner = findings(cx, area, inner, names::width(&note), buf);
    let lines = (charts(inner.width)).min(inner.height.max(1));
    if inner.height >= chart::LEAST * charts(inner.width) {
        return chart::grid(cx, with_scales(cx), |times| extents(cx, times), inner, buf);
    }
    let height = (inner.height / lines.max(1)).max(1);
    let width = (inner.width + 2) / columns;
    let own = application(cx);
    let shown = usize::from(lines * columns);
    for (at, index) in order(cx, own.is_some(), shown).into_iter().take(shown).enumerate() {
        let Some((name, of)) = SERIES.get(index) else { continue };
        let (column, line) = (at as u16 % columns, at as u16 / columns);
        let x = inner.x + column * width;
        let place = Rect { x, y: inner.y + line * height, width: width.saturating_sub(2), height };
        match &own {
            // What the machine does on the whole says least beside what the application says itself.
            Some((name, peak)) if index + 1 == SERIES.len() => {
                own_chart(cx, place.intersection(inner), name, *peak, buf);
            }
            _ if *name == text::SERIES_NIC && cx.history.iter().all(|headline| headline.nic.is_none()) => {
                nic_bytes(cx, place.intersection(inner), buf);
            }
            _ => chart(cx, place.intersection(inner), *name, *of, buf),
        }
    }
}

/// The charts in their order; where not all are shown the application's own number is the first, then what limits.
fn order(cx: &Cx<'_>, own: bool, shown: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..SERIES.len()).collect();
    if shown >= SERIES.len() {
        return order;
    }
    let limits = cx.judgement.bottleneck.resource.as_ref().and_then(|resource| match resource.kind {
        ResourceKind::Softirq => Some(text::SERIES_SOFTIRQ),
        ResourceKind::Disk | ResourceKind::IoThrottle => Some(text::SERIES_DISK),
        ResourceKind::NicIn | ResourceKind::NicOut => Some(text::SERIES_NIC),
        ResourceKind::Memory | ResourceKind::Swap => Some(text::SERIES_MEMORY_LIMIT),
        ResourceKind::Cpus => Some(text::SERIES_BUSY),
        _ => None,
    });
    let is_own = |index: usize| own && index + 1 == SERIES.len();
    let is_limit = |index: usize| SERIES.get(index).is_some_and(|(name, _)| Some(*name) == limits);
    order.sort_by_key(|index| (!is_own(*index), !is_limit(*index)));
    order
}

/// The same charts where there is room for scales and times.
fn with_scales<'a>(cx: &Cx<'_>) -> Vec<Chart<'a>> {
    let mut charts: Vec<Chart<'a>> = SERIES
        .iter()
        .map(|(name, of)| Chart::new(name.as_str(), Unit::Share, *of).calm(tint(cx, *name) == Tint::Plain))
        .collect();
    // The share of a link whose speed is unknown is unknown; what it carries is not.
    if cx.history.iter().all(|headline| headline.nic.is_none()) {
        let bytes = |headline: &Headline| headline.nic_bytes.map(|(received, sent)| received + sent);
        let at = SERIES.iter().position(|(name, _)| *name == text::SERIES_NIC);
        if let Some(place) = at.and_then(|at| charts.get_mut(at)) {
            *place = Chart::new(text::SERIES_NIC, Unit::ByteRate, bytes);
        }
    }
    if let Some((name, _)) = application(cx) {
        charts.pop();
        charts.push(Chart::new(name.to_string(), Unit::Count, |headline| Some(headline.metric.as_ref()?.1)));
    }
    charts
}

/// A name, the values over time, and the newest one.
fn chart(cx: &Cx<'_>, area: Rect, name: Text, of: fn(&Headline) -> Option<f64>, buf: &mut Buffer) {
    // With rows to spare, one stays empty between charts.
    let height = if area.height > 2 { area.height - 1 } else { area.height };
    let mut pen = Pen::new(cx, area, 0, buf);
    pen.field(Role::Dim, LABEL, &name);
    let last = cx.history.iter().next_back().and_then(of);
    let room = pen.left().saturating_sub(5);
    let x = pen.x();
    let tint = tint(cx, name);
    match tint {
        Tint::Heat => pen.skip(room).share(5, last),
        Tint::Plain => pen.skip(room).rate(Role::Text, 5, last, number::percent),
    };
    let place = Rect { x, width: room, height, ..area };
    spark::chart(cx, place, (tint, "?"), cx.history.iter().map(of), buf);
}

/// The application's own number, if there is one: its name and the largest value that is drawn.
fn application(cx: &Cx<'_>) -> Option<(Arc<str>, f64)> {
    let name = cx.history.iter().rev().find_map(|headline| Some(Arc::clone(&headline.metric.as_ref()?.0)))?;
    let values = cx.history.iter().filter_map(|headline| Some(headline.metric.as_ref()?.1));
    Some((name, values.fold(0.0, f64::max)))
}

/// As [`chart`], of the application's own number: against the largest that is drawn.
fn own_chart(cx: &Cx<'_>, area: Rect, name: &str, peak: f64, buf: &mut Buffer) {
    let value = |headline: &Headline| Some(headline.metric.as_ref()?.1);
    unlimited(cx, area, &names::clean(name, usize::from(LABEL - 1)), peak, number::small, value, buf);
}

/// As [`chart`], of the bytes that interfaces of unknown speed carry.
fn nic_bytes(cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
    let value = |headline: &Headline| headline.nic_bytes.map(|(received, sent)| received + sent);
    let peak = cx.history.iter().filter_map(value).fold(0.0, f64::max);
    unlimited(cx, area, &text::SERIES_NIC, peak, number::bytes, value, buf);
}

/// A value that has no limit, against the largest that is drawn.
fn unlimited(
    cx: &Cx<'_>,
    area: Rect,
    name: &str,
    peak: f64,
    format: fn(f64) -> number::Short,
    of: impl Fn(&Headline) -> Option<f64>,
    buf: &mut Buffer,
) {
    let height = if area.height > 2 { area.height - 1 } else { area.height };
    let mut pen = Pen::new(cx, area, 0, buf);
    pen.field(Role::Dim, LABEL, name);
    let last = cx.history.iter().next_back().and_then(&of);
    let room = pen.left().saturating_sub(5);
    let x = pen.x();
    pen.skip(room).rate(Role::Text, 5, last, format);
    let place = Rect { x, width: room, height, ..area };
    let share = |value: f64| if peak > 0.0 { (value / peak).clamp(0.0, 1.0) } else { 0.0 };
    spark::chart(cx, place, (Tint::Plain, "?"), cx.history.iter().map(|headline| of(headline).map(share)), buf);
}

fn span(cx: &Cx<'_>) -> f64 {
    let first = cx.history.iter().next().map_or(0, |headline| headline.mono_ns);
    let last = cx.history.iter().next_back().map_or(0, |headline| headline.mono_ns);
    last.saturating_sub(first) as f64 / 1e9
}
