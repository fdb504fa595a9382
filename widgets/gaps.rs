//! Data that could not be read and what it requires, and the cost of the monitor itself.

use crate::parts::legend;
use crate::parts::pane;
use crate::parts::table::{Column, Did, Identity, Key, Table, Width, matches};
use crate::parts::{Pen, mark, names, severity, units};
use crate::{Action, Cx, Outcome, Panel, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::sync::Arc;
use topotop_model::locale::screen::gaps as text;
use topotop_model::locale::screen::shared;
use topotop_model::locale::{Text, join};
use topotop_model::{Gap, Reason};

/// A gap by path and reason.
type Id = (Arc<str>, Reason);

/// The most rows of the selected gap.
const MOST: usize = 4;

/// The table of gaps, and costs below it.
pub struct Gaps {
    table: Table<usize, Id>,
    area: Rect,
}

impl Default for Gaps {
    fn default() -> Self {
        Self { table: Table::new(COLUMNS, IDENTITY, None), area: Rect::default() }
    }
}

const IDENTITY: Identity<usize, Id> = Identity {
    of: |cx, row| cx.frame.gaps.get(row).map(|gap| (Arc::clone(&gap.path), gap.reason)),
    is: |cx, row, id| cx.frame.gaps.get(row).is_some_and(|gap| gap.path == id.0 && gap.reason == id.1),
    subject: |_| None,
    from: |_| None,
};

fn get<'a>(cx: &Cx<'a>, row: usize) -> Option<&'a Gap> {
    cx.frame.gaps.get(row)
}

/// The style of a reason.
fn role(reason: Reason) -> Role {
    match reason {
        Reason::PermissionDenied => Role::Denied,
        Reason::NotFound | Reason::NotSupported => Role::Absent,
        Reason::Vanished => Role::Dim,
        Reason::Malformed | Reason::Exhausted => Role::Warn,
        Reason::TimedOut => Role::Stale,
    }
}

static COLUMNS: &[Column<usize>] = &[
    Column::left(
        text::PATH_HEAD,
        0,
        |_| Width::flex(20, 40, 2),
        |cx, row, pen| {
            if let Some(gap) = get(cx, row) {
                pen.text(Role::Text, &gap.shown_path());
            }
        },
    )
    .lowest(|cx, row| get(cx, row).map_or(Key::None, |gap| Key::Text(&gap.path))),
    Column::left(
        text::REASON_HEAD,
        1,
        |_| Width::range(8, 18),
        |cx, row, pen| {
            if let Some(gap) = get(cx, row) {
                let reason = gap.reason.text();
                let fits = names::width(&reason) <= pen.left();
                pen.text(role(gap.reason), if fits { &reason } else { mark::word(gap.reason) });
            }
        },
    )
    .lowest(|cx, row| get(cx, row).map_or(Key::None, |gap| Key::Text(mark::word(gap.reason)))),
    Column::right(
        text::FILES_HEAD,
        2,
        |_| Width::fixed(6),
        |cx, row, pen| {
            if let Some(gap) = get(cx, row) {
                pen.text(Role::Text, units::full(gap.count).as_str());
            }
        },
    )
    .highest(|cx, row| get(cx, row).map_or(Key::None, |gap| Key::Number(gap.count as f64))),
    Column::left(
        text::NEEDS_HEAD,
        0,
        |_| Width::flex(18, 30, 3),
        |cx, row, pen| {
            let Some(gap) = get(cx, row) else { return };
            if gap.needs.is_empty() {
                pen.text(Role::Absent, mark::dash(cx.charset));
            } else {
                pen.text(Role::Info, &gap.shown_needs());
            }
        },
    )
    .lowest(|cx, row| get(cx, row).map_or(Key::None, |gap| Key::Text(&gap.needs))),
];

impl Gaps {
    /// The selected gap in full: a row of the list has room for little of it.
    fn detail(&self, cx: &Cx<'_>, width: u16) -> Vec<String> {
        let Some(gap) = self
            .table
            .selected()
            .and_then(|id| cx.frame.gaps.iter().find(|gap| gap.path == id.0 && gap.reason == id.1))
        else {
            return Vec::new();
        };
        let mut said = format!("{}: {}", gap.shown_path(), gap.reason.text());
        if !gap.needs.is_empty() {
            said = format!("{said}{}{}", join::CLAUSES, shared::Needs { what: &gap.shown_needs() });
        }
        let mut lines = severity::wrapped(&said, width.saturating_sub(2));
        lines.truncate(MOST);
        lines
    }

    /// The list without the last rows, which the selected gap takes.
    fn list(&self, cx: &Cx<'_>, list: Rect) -> (Rect, Vec<String>) {
        let lines = self.detail(cx, list.width);
        let rows = lines.len() as u16 + 1;
        if lines.is_empty() || list.height < rows + 4 {
            (list, Vec::new())
        } else {
            (Rect { height: list.height - rows, ..list }, lines)
        }
    }

    /// Gaps above, cost below; side by side where there is room.
    fn split(&self, cx: &Cx<'_>, area: Rect) -> (Rect, Rect) {
        if area.width >= 160 {
            let list = Rect { width: area.width - 60, ..area };
            return (list, Rect { x: list.right(), width: 60, ..area });
        }
        let wanted = cx.frame.cost.collectors.len() as u16 + 4;
        let needed = self.table.counts().0 as u16 + 2;
        let below = wanted.min((area.height / 2).max(area.height.saturating_sub(needed)));
        let list = Rect { height: area.height - below, ..area };
        (list, Rect { y: list.bottom(), height: below, ..area })
    }
}

impl Panel for Gaps {
    fn id(&self) -> &'static str {
        "gaps"
    }

    fn title(&self) -> Text {
        text::TAB
    }

    fn tab_short(&self) -> Text {
        text::TAB_SHORT
    }

    fn arrange(&mut self, cx: &Cx<'_>, area: Rect) {
        self.area = area;
        if self.table.stale(cx, 0) {
            let passes = |gap: &Gap| matches(cx.filter, &gap.shown_path()) || matches(cx.filter, &gap.needs);
            let rows = cx.frame.gaps.iter().enumerate().filter(|(_, gap)| passes(gap)).map(|(index, _)| index);
            self.table.fill(cx, rows, cx.frame.gaps.len());
        }
        let (list, _) = self.split(cx, area);
        self.table.place(cx, pane::inner(self.list(cx, list).0));
    }

    fn act(&mut self, action: Action, cx: &Cx<'_>) -> Outcome {
        self.arrange(cx, self.area);
        if action == Action::Close {
            return if self.table.deselect() { Outcome::Changed } else { Outcome::Ignored };
        }
        // What is opened is shown below the list.
        let action = if action == Action::Open && self.table.selected().is_none() { Action::Down } else { action };
        match self.table.act(action, cx) {
            Did::Nothing => Outcome::Ignored,
            Did::Changed | Did::Selected | Did::Opened => Outcome::Changed,
        }
    }

    fn draw(&self, cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
        let (whole, below) = self.split(cx, area);
        let (list, detail) = self.list(cx, whole);
        for (at, line) in detail.iter().enumerate() {
            Pen::new(cx, Rect { y: list.bottom(), ..whole }, at as u16, buf).skip(1).text(Role::Info, line);
        }
        let (shown, total) = self.table.counts();
        let note = if shown == total {
            total.to_string()
        } else {
            shared::SomeOf { shown: &shown, total: &total }.to_string()
        };
        let inner = pane::frame(cx, list, &text::TITLE, &note, buf);
        if total == 0 {
            Pen::new(cx, inner, 1, buf).skip(1).text(Role::Ok, &text::NONE);
        } else {
            self.table.draw(cx, buf);
        }
        if shown == 0 && total > 0 {
            pane::empty(cx, inner, &text::GAPS, "", total, buf);
        }
        cost(cx, below, buf);
    }

    fn legend(&self) -> Vec<crate::parts::panel::Sign> {
        legend::of(&[legend::TABLE, legend::BAR], false)
    }

    fn hints(&self) -> &'static [(Action, Text)] {
        &[(Action::SortNext, shared::HINT_SORT)]
    }
}

/// What the monitor takes for itself, by collector.
fn cost(cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
    if area.height < 2 {
        return;
    }
    let cost = &cx.frame.cost;
    let inner = pane::frame(cx, area, &text::COST_TITLE, "", buf);
    let mut pen = Pen::new(cx, inner, 0, buf);
    let memory = cost.rss_bytes.map_or_else(|| "?".to_owned(), |bytes| units::bytes_in_text(bytes as f64));
    let total = text::Cost {
        time: &units::or_unknown(cost.sample_ms, units::millis),
        cpu: &units::or_unknown(cost.cpu_cores, units::fine_percent),
        memory: &memory,
    };
    pen.skip(1).text(Role::Text, &total.to_string());
    let mut collectors: Vec<_> = cost.collectors.iter().collect();
    collectors.sort_by(|a, b| b.took_ms.total_cmp(&a.took_ms));
    let total: f64 = collectors.iter().map(|collector| collector.took_ms).sum();
    // Their sum is not the time of a sample: some run less often.
    Pen::new(cx, inner, 1, buf).skip(1).text(Role::Dim, &text::COST_PARTS);
    for (at, collector) in collectors.iter().take(usize::from(inner.height.saturating_sub(2))).enumerate() {
        let mut pen = Pen::new(cx, inner, 2 + at as u16, buf);
        pen.skip(1).field(Role::Text, 14, &collector.name).skip(1);
        pen.number(Role::Text, 6, &units::millis(collector.took_ms)).text(Role::Dim, " ms ");
        let width = pen.left().min(60);
        pen.bar_as(Role::Info, width, (total > 0.0).then(|| collector.took_ms / total));
    }
}

#[cfg(test)]
mod tests {
    use super::Gaps;
    use crate::testing::survives;

    #[test]
    fn every_machine_size_and_action() {
        survives(|| Box::new(Gaps::default()));
    }
}
