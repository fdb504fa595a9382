//! The last minutes in a few rows.

use crate::parts::{Pen, number, panel, spark};
use crate::{Cx, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::history::Headline;

type Series = (&'static str, fn(&Headline) -> Option<f64>);

const SERIES: [Series; 6] = [
    ("busy", |headline| headline.busy),
    ("core", |headline| Some(headline.hottest_cpu?.1)),
    ("softirq", |headline| Some(headline.hottest_softirq?.1)),
    ("disk", |headline| headline.disk),
    ("nic", |headline| headline.nic),
    ("memory", |headline| headline.memory),
];

pub(super) fn draw(cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
    let span = span(cx);
    let span_text = number::seconds(span);
    let title: &str = if span < 1.0 { "History" } else { "History, newest right" };
    let inner = panel::titled(cx, area, title, span_text.as_str(), false, buf);
    let rows = inner.height.max(1);
    let columns = (SERIES.len() as u16).div_ceil(rows).max(1);
    let width = inner.width / columns;
    for (at, (name, of)) in SERIES.iter().enumerate() {
        let place = Rect { x: inner.x + at as u16 % columns * width, width: width.saturating_sub(2), ..inner };
        let mut pen = Pen::new(cx, place, at as u16 / columns, buf);
        pen.field(Role::Dim, 8, name);
        let room = pen.left().saturating_sub(5);
        spark::draw(&mut pen, room, cx.history.iter().map(of));
        pen.share(5, cx.history.iter().next_back().and_then(of));
    }
}

fn span(cx: &Cx<'_>) -> f64 {
    let first = cx.history.iter().next().map_or(0, |headline| headline.mono_ns);
    let last = cx.history.iter().next_back().map_or(0, |headline| headline.mono_ns);
    last.saturating_sub(first) as f64 / 1e9
}
