//! Charts over time, the same on every screen: a name with its newest value, a scale with its unit, times of day, and
//! what was done to the machine where it was done.

mod axis;
mod scale;
mod time;

pub use axis::Axis;
pub use scale::Unit;
pub use time::Times;

use super::extents::{self, Extent};
use super::panel::Sign;
use super::spark::{self, Columns, Tint};
use super::{Pen, heat, mark, names, number, panel, split};
use crate::{Charset, Cx, Mark, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Color;
use topotop_model::history::Headline;
use topotop_model::locale::screen::shared as text;

/// Rows of a chart: its name, three of values and the times.
pub const LEAST: u16 = 5;
/// Columns of the narrowest chart that stands beside another.
pub const NARROWEST: u16 = 34;
/// Higher charts only where there is nothing else to show.
const TALLEST: u16 = 24;
/// Columns between charts.
const GAP: u16 = 2;
/// Columns of the scale.
const SCALE: u16 = 6;

type Value<'a> = Box<dyn Fn(&Headline) -> Option<f64> + 'a>;

/// A value over time.
pub struct Chart<'a> {
    name: String,
    unit: Unit,
    of: Value<'a>,
    limit: Option<f64>,
    tint: Tint,
    calm: bool,
    note: String,
    idle: bool,
}

impl<'a> Chart<'a> {
    /// A chart of a value; shares are hot when they are high.
    pub fn new(name: impl Into<String>, unit: Unit, of: impl Fn(&Headline) -> Option<f64> + 'a) -> Self {
        let tint = if unit == Unit::Share { Tint::Heat } else { Tint::Plain };
        Self {
            name: name.into(),
            unit,
            of: Box::new(of),
            limit: None,
            tint,
            calm: false,
            note: String::new(),
            idle: false,
        }
    }

    /// The same against a limit: that is the top of its scale, and what is near it is hot.
    #[must_use]
    pub fn limited(mut self, limit: Option<f64>) -> Self {
        if let Some(limit) = limit.filter(|limit| *limit > 0.0) {
            (self.limit, self.tint) = (Some(limit), Tint::Heat);
        }
        self
    }

    /// The same where being near the limit is no alarm: page cache fills a group up to its limit.
    #[must_use]
    pub fn calm(mut self, calm: bool) -> Self {
        self.calm = calm;
        self
    }

    /// The colours of its values.
    fn tint(&self) -> Tint {
        if self.calm { Tint::Plain } else { self.tint }
    }

    /// The same of a value that there is only while something happens: no value is no gap.
    #[must_use]
    pub fn of_work(mut self) -> Self {
        self.idle = true;
        self
    }

    /// The same with a note beside its name.
    #[must_use]
    pub fn noted(mut self, note: String) -> Self {
        self.note = note;
        self
    }

    /// True if any sample has a value.
    fn has_values(&self, cx: &Cx<'_>) -> bool {
        cx.history.iter().any(|headline| (self.of)(headline).is_some())
    }

    /// The top of its scale, where the highest value is known. What exceeds its limit a little stays as hot as it is.
    fn top(&self, most: f64) -> f64 {
        self.limit.map_or_else(|| self.unit.top(most), |limit| limit.max(most))
    }

    /// The name, the newest value and the highest one that is drawn.
    fn title(&self, cx: &Cx<'_>, area: Rect, most: Option<f64>, buf: &mut Buffer) {
        let mut pen = Pen::new(cx, area, 0, buf);
        let written = |value: f64| format!("{}{}", self.unit.label(value), self.unit.suffix());
        let newest = cx.history.iter().next_back().and_then(|headline| (self.of)(headline));
        let missing = if self.idle { mark::dash(cx.charset) } else { "?" };
        let value = newest.map_or_else(|| missing.to_owned(), written);
        let room = pen.left().saturating_sub(names::width(&value) + 1);
        pen.text(Role::Head, &names::clean(&self.name, usize::from(room))).skip(1);
        let role = match newest {
            None => Role::Absent,
            Some(value)
                if self.tint() == Tint::Heat && value >= 0.8 * self.limit.unwrap_or_else(|| self.unit.top(value)) =>
            {
                Role::heat(1.0)
            }
            Some(_) => Role::Text,
        };
        pen.text(role, &value);
        aside(&mut pen, &self.note);
        if let Some(limit) = self.limit {
            aside(&mut pen, &text::LimitAt { value: &written(limit) }.to_string());
        }
        if let Some(most) = most {
            aside(&mut pen, &text::Maximum { value: &written(most) }.to_string());
        }
    }

    /// Draws it into an area of at least [`LEAST`] rows; a smaller one has the columns alone.
    fn draw(&self, cx: &Cx<'_>, signs: &[Extent], area: Rect, buf: &mut Buffer) {
        let plot = Plot::of(area);
        let times = Times::new(cx, plot.values.width);
        let from = Columns::new(cx.history.len(), plot.values.width).first();
        let most = cx.history.iter().skip(from).filter_map(|headline| (self.of)(headline)).max_by(f64::total_cmp);
        self.title(cx, area, most, buf);
        let top = self.top(most.unwrap_or(0.0));
        let shares = cx.history.iter().map(|headline| (self.of)(headline).map(|value| value / top));
        spark::chart(cx, plot.values, (self.tint(), if self.idle { " " } else { "?" }), shares, buf);
        plot.scale(cx, self.unit, top, buf);
        plot.times(cx, &times, signs, buf);
    }
}

/// Writes something less important, whole or not at all.
fn aside(pen: &mut Pen<'_>, text: &str) {
    if !text.is_empty() && pen.left() >= names::width(text) + 2 {
        pen.skip(2).text(Role::Dim, text);
    }
}

/// The parts of a chart's area.
struct Plot {
    area: Rect,
    values: Rect,
}

impl Plot {
    fn of(area: Rect) -> Self {
        let below = panel::below(area, 1);
        let scale = if below.width > SCALE + 8 { SCALE + 1 } else { 0 };
        // Of an even number of rows, one begins at half of the scale.
        let rows = below.height.saturating_sub(1);
        let rows = if rows >= 5 { rows - rows % 2 } else { rows };
        let values = Rect { x: below.x + scale, width: below.width - scale, height: rows, ..below };
        Self { area: below, values }
    }

    /// The scale at the left: what the upper edge of a row stands for, and zero on the line of times.
    fn scale(&self, cx: &Cx<'_>, unit: Unit, top: f64, buf: &mut Buffer) {
        let rows = self.values.height;
        if self.values.x == self.area.x {
            return;
        }
        let (tick, line) = if cx.charset == Charset::Ascii { ("+", "|") } else { ("┤", "│") };
        let half = if rows >= 5 { Some(rows / 2) } else { None };
        for row in 0..rows {
            let mut pen = Pen::new(cx, self.area, row, buf);
            let label = match row {
                0 => Some(top),
                row if Some(row) == half => Some(top * f64::from(rows - row) / f64::from(rows)),
                _ => None,
            };
            match label {
                Some(value) => pen.number(Role::Dim, SCALE, &unit.label(value)),
                None => pen.skip(SCALE),
            };
            pen.glyph(cx.theme.style(Role::Border), if label.is_some() { tick } else { line });
        }
        let mut pen = Pen::new(cx, self.area, rows, buf);
        pen.number(Role::Dim, SCALE, &number::Short::from_display(format_args!("0")));
        pen.glyph(cx.theme.style(Role::Border), if cx.charset == Charset::Ascii { "+" } else { "└" });
    }

    /// Times of day below, with what appeared, cleared and was done.
    fn times(&self, cx: &Cx<'_>, times: &Times<'_>, signs: &[Extent], buf: &mut Buffer) {
        let row = Rect { y: self.values.bottom(), height: 1, ..self.values };
        if row.y >= self.area.bottom() {
            return;
        }
        let marks: Vec<(u16, &Mark)> =
            cx.marks.iter().filter_map(|mark| Some((times.column(mark.mono_ns)?, mark))).collect();
        let taken: Vec<u16> = extents::columns(signs).chain(marks.iter().map(|mark| mark.0)).collect();
        let axis = Axis::new(times, row.width, &taken);
        axis.draw(cx, row, buf);
        extents::signs(cx, row, signs, |column| axis.place(column), buf);
        for (column, mark) in marks {
            extents::mark(cx, row, axis.place(column), mark, buf);
        }
    }
}

/// How many charts stand side by side, and in how many rows; fewer than there are where there is no room for all.
fn layout(count: usize, area: Rect) -> (u16, u16) {
    let count = u16::try_from(count).unwrap_or(u16::MAX);
    let most = ((area.width + GAP) / (NARROWEST + GAP)).max(1);
    let rows_there = area.height / LEAST;
    if count == 0 || rows_there == 0 || area.width < NARROWEST / 2 {
        return (0, 0);
    }
    let mut rows = count.div_ceil(most).min(rows_there);
    while rows < rows_there.min(count) && area.height / rows > TALLEST {
        rows += 1;
    }
    let columns = count.div_ceil(rows).min(most);
    (columns, count.div_ceil(columns).min(rows))
}

/// Draws as many of some charts as there is room for, the first ones first; those without any value are left out.
/// `signs` says when findings appeared and cleared, in columns of charts that are so wide.
pub fn grid(
    cx: &Cx<'_>,
    charts: Vec<Chart<'_>>,
    signs: impl Fn(&Times<'_>) -> Vec<Extent>,
    area: Rect,
    buf: &mut Buffer,
) {
    let charts: Vec<Chart<'_>> = charts.into_iter().filter(|chart| chart.has_values(cx)).collect();
    let (columns, rows) = layout(charts.len(), area);
    if columns == 0 {
        return;
    }
    for (row, charts) in (0..rows).zip(charts.chunks(usize::from(columns))) {
        let here = charts.len() as u16;
        // Charts of a last row are wider where each of them gets as many whole columns.
        let beside = if columns.is_multiple_of(here) { here } else { columns };
        let width = (area.width + GAP) / beside - GAP;
        let signs = signs(&Times::new(cx, Plot::of(Rect { width, ..area }).values.width));
        let (top, end) = (area.height * row / rows, area.height * (row + 1) / rows);
        for (column, chart) in (0..here).zip(charts) {
            let place = Rect { x: area.x + column * (width + GAP), y: area.y + top, width, height: end - top };
            chart.draw(cx, &signs, place, buf);
        }
    }
}

/// True where there is something to see over time: of two samples only the second has rates.
pub fn has_shape(cx: &Cx<'_>) -> bool {
    cx.history.len() > 2
}

/// A screen of so many rows has charts also below an open detail.
const BESIDE_DETAIL: u16 = 36;

/// What is left for charts below a list of so many rows, its title, its heads and a blank row included; all of an area is
/// the list's where that is too little, or where there is nothing to see yet.
pub fn below(cx: &Cx<'_>, area: Rect, rows: usize, open: bool) -> (Rect, Rect) {
    let needed = u16::try_from(rows.saturating_add(3)).unwrap_or(u16::MAX);
    let spare = match open {
        true if area.height >= BESIDE_DETAIL => area.height / 3,
        true => 0,
        false => area.height.saturating_sub(needed),
    };
    let spare = if has_shape(cx) && spare > LEAST { spare } else { 0 };
    let list = Rect { height: area.height - spare, ..area };
    (list, Rect { y: list.bottom(), height: spare, ..area })
}

/// Draws charts below a rule that names what they are of.
pub fn pane(cx: &Cx<'_>, area: Rect, name: &str, charts: Vec<Chart<'_>>, buf: &mut Buffer) {
    if area.height > LEAST {
        let inner = super::pane::frame(cx, area, &text::OverTime { name: &name }.to_string(), "", buf);
        let inner = panel::inset(inner);
        if charts.iter().all(|chart| !chart.has_values(cx)) {
            Pen::new(cx, inner, 0, buf).text(Role::Absent, &text::NO_HISTORY);
        }
        grid(cx, charts, |_| Vec::new(), inner, buf);
    }
}

/// The signs of kinds of time on a chart. Glyphs that are lower than a cell leave stripes between rows, so that they stand
/// only where there are no colours.
pub fn signs_of_kinds(cx: &Cx<'_>) -> [Sign; 5] {
    split::SIGNS.map(|sign| {
        let coloured = cx.theme.style(sign.role).fg.is_some_and(|colour| colour != Color::Reset);
        if coloured && cx.charset == Charset::Unicode { Sign { glyph: heat::full(cx.charset), ..sign } } else { sign }
    })
}

/// Draws a CPU's kinds of time over time, one above the other, in the glyphs of [`signs_of_kinds`].
pub fn kinds(cx: &Cx<'_>, of: impl Fn(&Headline) -> Option<[f64; 5]>, area: Rect, buf: &mut Buffer) {
    let plot = Plot::of(area);
    let times = Times::new(cx, plot.values.width);
    let mut columns: Vec<Option<[f64; 5]>> = vec![None; usize::from(plot.values.width)];
    let sum = |shares: &[f64; 5]| shares.iter().sum::<f64>();
    let all = Columns::new(cx.history.len(), plot.values.width);
    let mut seen = vec![false; columns.len()];
    for (sample, headline) in cx.history.iter().enumerate() {
        let Some(at) = all.of(sample).map(usize::from) else { continue };
        let (Some(slot), Some(seen)) = (columns.get_mut(at), seen.get_mut(at)) else { continue };
        *seen = true;
        // Several samples in one column give the one that was busiest.
        if let Some(shares) = of(headline).filter(|shares| slot.as_ref().is_none_or(|held| sum(shares) > sum(held))) {
            *slot = Some(shares);
        }
    }
    for (column, shares) in columns.iter().enumerate() {
        let place = Rect { x: plot.values.x + column as u16, width: 1, ..plot.values };
        match shares {
            Some(shares) => stack(cx, shares, place, buf),
            None if seen.get(column) == Some(&true) => {
                Pen::new(cx, place, place.height.saturating_sub(1), buf).glyph(cx.theme.style(Role::Absent), "?");
            }
            None => {}
        }
    }
    plot.scale(cx, Unit::Share, 1.0, buf);
    plot.times(cx, &times, &[], buf);
}

/// One column of kinds of time, from the bottom.
fn stack(cx: &Cx<'_>, shares: &[f64; 5], place: Rect, buf: &mut Buffer) {
    let (mut sum, mut at) = (0.0, 0);
    for (sign, share) in signs_of_kinds(cx).iter().zip(shares) {
        sum = (sum + share.clamp(0.0, 1.0)).min(1.0);
        let edge = (sum * f64::from(place.height)).round() as u16;
        let glyph = if cx.charset == Charset::Ascii { sign.ascii } else { sign.glyph };
        while at < edge.min(place.height) {
            at += 1;
            Pen::new(cx, place, place.height - at, buf).glyph(cx.theme.style(sign.role), glyph);
        }
    }
    // A value of zero is a value.
    if at == 0 && place.height > 0 {
        Pen::new(cx, place, place.height - 1, buf).glyph(cx.theme.style(Role::Focus), heat::glyph(0.0, cx.charset));
    }
}

#[cfg(test)]
mod tests;
