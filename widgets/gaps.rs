//! What could not be read and what would fill it, and what the monitor itself costs.

use crate::parts::pane;
use crate::parts::table::{Column, Did, Identity, Key, Table, Width, matches};
use crate::parts::{Pen, mark, units};
use crate::{Action, Cx, Outcome, Panel, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::sync::Arc;
use topotop_model::{Gap, Reason};

/// A gap by path and reason.
type Id = (Arc<str>, Reason);

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

/// The reason in words, and how much it is the reader's to change.
fn reason(reason: Reason) -> (&'static str, Role) {
    match reason {
        Reason::PermissionDenied => ("permission denied", Role::Denied),
        Reason::NotFound => ("not there", Role::Absent),
        Reason::NotSupported => ("not supported", Role::Absent),
        Reason::Vanished => ("gone meanwhile", Role::Dim),
        Reason::Malformed => ("not understood", Role::Warn),
        Reason::TimedOut => ("no answer in time", Role::Stale),
        Reason::Exhausted => ("nothing left to read it with", Role::Warn),
    }
}

static COLUMNS: &[Column<usize>] = &[
    Column::left(
        "WHAT",
        0,
        |_| Width::flex(20, 40, 2),
        |cx, row, pen| {
            if let Some(gap) = get(cx, row) {
                pen.text(Role::Text, &gap.path);
            }
        },
    )
    .lowest(|cx, row| get(cx, row).map_or(Key::None, |gap| Key::Text(&gap.path))),
    Column::left(
        "WHY",
        1,
        |_| Width::range(8, 18),
        |cx, row, pen| {
            if let Some(gap) = get(cx, row) {
                let (text, role) = reason(gap.reason);
                let fits = text.len() <= usize::from(pen.left());
                pen.text(role, if fits { text } else { gap.reason.word() });
            }
        },
    )
    .lowest(|cx, row| get(cx, row).map_or(Key::None, |gap| Key::Text(gap.reason.word()))),
    Column::right(
        "FILES",
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
        "WHAT WOULD FILL IT",
        0,
        |_| Width::flex(18, 30, 3),
        |cx, row, pen| {
            let Some(gap) = get(cx, row) else { return };
            if gap.needs.is_empty() {
                pen.text(Role::Absent, mark::dash(cx.charset));
            } else {
                pen.text(Role::Info, &gap.needs);
            }
        },
    )
    .lowest(|cx, row| get(cx, row).map_or(Key::None, |gap| Key::Text(&gap.needs))),
];

impl Gaps {
    /// Gaps above, cost below; side by side where there is room.
    fn split(&self, cx: &Cx<'_>, area: Rect) -> (Rect, Rect) {
        if area.width >= 160 {
            let list = Rect { width: area.width - 60, ..area };
            return (list, Rect { x: list.right(), width: 60, ..area });
        }
        let wanted = cx.frame.cost.collectors.len() as u16 + 3;
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

    fn title(&self) -> &'static str {
        "gaps"
    }

    fn arrange(&mut self, cx: &Cx<'_>, area: Rect) {
        self.area = area;
        if self.table.stale(cx, 0) {
            let passes = |gap: &Gap| matches(cx.filter, &gap.path) || matches(cx.filter, &gap.needs);
            let rows = cx.frame.gaps.iter().enumerate().filter(|(_, gap)| passes(gap)).map(|(index, _)| index);
            self.table.fill(cx, rows, cx.frame.gaps.len());
        }
        let (list, _) = self.split(cx, area);
        self.table.place(cx, pane::inner(list));
    }

    fn act(&mut self, action: Action, cx: &Cx<'_>) -> Outcome {
        self.arrange(cx, self.area);
        if action == Action::Close {
            return if self.table.deselect() { Outcome::Changed } else { Outcome::Ignored };
        }
        match self.table.act(action, cx) {
            Did::Nothing => Outcome::Ignored,
            Did::Changed | Did::Selected | Did::Opened => Outcome::Changed,
        }
    }

    fn draw(&self, cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
        let (list, below) = self.split(cx, area);
        let (shown, total) = self.table.counts();
        let note = if shown == total { total.to_string() } else { format!("{shown} of {total}") };
        let inner = pane::frame(cx, list, "Gaps: what could not be read", &note, buf);
        if total == 0 {
            Pen::new(cx, inner, 1, buf).skip(1).text(Role::Ok, "everything that was looked for was read");
        } else {
            self.table.draw(cx, buf);
        }
        if shown == 0 && total > 0 {
            pane::empty(cx, inner, "gaps", "", total, buf);
        }
        cost(cx, below, buf);
    }

    fn hints(&self) -> &'static [(Action, &'static str)] {
        &[(Action::SortNext, "sort by the next column")]
    }
}

/// What the monitor takes for itself, by collector.
fn cost(cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
    if area.height < 2 {
        return;
    }
    let cost = &cx.frame.cost;
    let inner = pane::frame(cx, area, "Cost of this monitor", &cost.backend, buf);
    let mut pen = Pen::new(cx, inner, 0, buf);
    pen.skip(1).text(Role::Text, units::or_unknown(cost.sample_ms, units::millis).as_str());
    pen.text(Role::Dim, " ms a sample   CPU ");
    pen.text(Role::Text, units::or_unknown(cost.cpu_cores, units::fine_percent).as_str());
    pen.text(Role::Dim, " of a core   memory ");
    pen.text(Role::Text, units::or_unknown(cost.rss_bytes.map(|bytes| bytes as f64), units::bytes).as_str());
    let mut collectors: Vec<_> = cost.collectors.iter().collect();
    collectors.sort_by(|a, b| b.took_ms.total_cmp(&a.took_ms));
    let most = collectors.first().map_or(0.0, |collector| collector.took_ms);
    for (at, collector) in collectors.iter().take(usize::from(inner.height.saturating_sub(1))).enumerate() {
        let mut pen = Pen::new(cx, inner, 1 + at as u16, buf);
        pen.skip(1).field(Role::Text, 14, &collector.name).skip(1);
        pen.number(Role::Text, 6, &units::millis(collector.took_ms)).text(Role::Dim, " ms ");
        let width = pen.left().min(60);
        pen.bar_as(Role::Info, width, (most > 0.0).then(|| collector.took_ms / most));
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
