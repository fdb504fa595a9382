//! Disks: how busy, how slow, what stands on them, who writes.

mod cells;
mod columns;
mod compact;
mod detail;
mod over_time;
mod tree;

pub use compact::{compact, compact_counts, compact_rows};
pub(crate) use tree::Row;

use crate::parts::browser::Browser;
use crate::parts::chart;
use crate::parts::legend;
use crate::parts::related::uses;
use crate::parts::table::{Identity, Listed, Table};
use crate::parts::{Pen, pane, units};
use crate::{Action, Cx, Outcome, Panel, Role, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::sync::Arc;
use topotop_model::Known;
use topotop_model::frame::{Disk, WriterId};
use topotop_model::locale::Text;
use topotop_model::locale::screen::disks as text;
use topotop_model::locale::screen::shared;

/// The table of disks, who writes, and the detail of one disk.
pub struct Disks {
    browser: Browser<Row, Arc<str>>,
    idle: bool,
    area: Rect,
}

impl Default for Disks {
    fn default() -> Self {
        let table = Table::new(columns::COLUMNS, IDENTITY, columns::by_utilisation()).relating(relates);
        Self { browser: Browser::new(table), idle: true, area: Rect::default() }
    }
}

const IDENTITY: Identity<Row, Arc<str>> = Identity {
    of: |cx, row| cx.frame.disks.get(row.index).map(|disk| Arc::clone(&disk.name)),
    is: |cx, row, name| cx.frame.disks.get(row.index).is_some_and(|disk| disk.name == *name),
    subject: |name| Some(Subject::Disk(Arc::clone(name))),
    from: |subject| if let Subject::Disk(name) = subject { Some(Arc::clone(name)) } else { None },
};

/// True if who is selected elsewhere writes to the disk, or if the disk is at the selected node.
fn relates(cx: &Cx<'_>, row: Row, subject: &Subject) -> bool {
    let Some(disk) = cx.frame.disks.get(row.index) else { return false };
    match subject {
        Subject::Node(node) => disk.node == Known::Value(*node),
        Subject::Process(pid, _) => {
            let device = Subject::Disk(Arc::clone(&disk.name));
            cx.frame.process(*pid).is_some_and(|process| uses(cx, process, &device))
        }
        Subject::Cgroup(path) => disk.writers.iter().any(|writer| writer.who == WriterId::Cgroup(Arc::clone(path))),
        _ => false,
    }
}

fn find<'a>(cx: &Cx<'a>, name: &str) -> Option<&'a Disk> {
    cx.frame.disks.iter().find(|disk| *disk.name == *name)
}

impl Disks {
    /// The disk whose writers and charts are shown: the selected one, else the one that is written to most, else the busiest.
    fn subject<'a>(&self, cx: &Cx<'a>) -> Option<&'a Disk> {
        let selected = self.browser.table.selected().and_then(|name| find(cx, name));
        let rate = |disk: &&Disk| disk.writers.iter().map(|writer| writer.bytes_per_second).sum::<f64>();
        let busiest = || {
            let disks = cx.frame.disks.iter().filter(|disk| !disk.writers.is_empty());
            disks.max_by(|a, b| rate(a).total_cmp(&rate(b)))
        };
        let used = |disk: &&Disk| disk.utilisation.unwrap_or(-1.0);
        let fullest = || cx.frame.disks.iter().max_by(|a, b| used(a).total_cmp(&used(b)));
        selected.or_else(busiest).or_else(fullest)
    }

    /// The list above, who writes, charts, and the pressure line.
    fn split(&self, cx: &Cx<'_>, area: Rect) -> Parts {
        let (upper, pressure) = cut(area, area.height.saturating_sub(1));
        let open = self.browser.open().is_some();
        let rows = self.browser.table.counts().0;
        if open || area.height < 12 {
            // An open detail takes the writers' place and names them itself.
            let (list, charts) = chart::below(cx, upper, rows, open || area.height < 12);
            let (list, writers) = cut(list, list.height);
            return Parts { list, writers, charts, pressure };
        }
        let writers = self.subject(cx).map_or(1, |disk| disk.writers.len().max(1));
        // The list and the writers get what they need: that is where charts begin.
        let (upper, charts) = chart::below(cx, upper, rows.saturating_add(writers + 2), false);
        let rows = u16::try_from(rows).unwrap_or(u16::MAX);
        // The list gets what it needs up to two thirds.
        let below = (upper.height / 3).max(upper.height.saturating_sub(rows.saturating_add(3)));
        let (list, writers) = cut(upper, upper.height - below);
        Parts { list, writers, charts, pressure }
    }
}

/// Where everything is.
struct Parts {
    list: Rect,
    writers: Rect,
    charts: Rect,
    pressure: Rect,
}

/// So many rows, and what is below them.
fn cut(area: Rect, rows: u16) -> (Rect, Rect) {
    (Rect { height: rows, ..area }, Rect { y: area.y + rows, height: area.height - rows, ..area })
}

impl Panel for Disks {
    fn id(&self) -> &'static str {
        "disks"
    }

    fn title(&self) -> Text {
        text::TAB
    }

    fn tab_short(&self) -> Text {
        text::TAB_SHORT
    }

    fn arrange(&mut self, cx: &Cx<'_>, area: Rect) {
        self.area = area;
        if self.browser.table.stale(cx, u64::from(self.idle)) {
            let rows = tree::rows(cx, &self.browser.table, self.idle);
            self.browser.table.fill_ordered(rows, cx.frame.disks.len());
        }
        let list = self.split(cx, area).list;
        self.browser.place(cx, list, |name, width| detail::doc(cx, name, width));
    }

    fn act(&mut self, action: Action, cx: &Cx<'_>) -> Outcome {
        self.arrange(cx, self.area);
        if action == Action::Idle {
            let (shown, total) = self.browser.table.counts();
            if self.idle && shown == total {
                return Outcome::Ignored;
            }
            self.idle = !self.idle;
            return Outcome::Changed;
        }
        let deed = self.browser.act(action, cx);
        self.browser.outcome(deed)
    }

    fn draw(&self, cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
        let Parts { list, writers, charts, pressure } = self.split(cx, area);
        let (shown, total) = self.browser.table.counts();
        let mut note = pane::count_note(cx, shown, total);
        if self.idle && shown < total && cx.filter.is_empty() {
            note = format!("{note} · {}", text::UNUSED_HIDDEN);
        }
        let name = self.browser.open().map_or("", |name| &**name);
        let inner = self.browser.draw(cx, list, &text::TITLE, &note, name, buf);
        if shown == 0 {
            pane::empty(cx, inner, &text::DISKS, "sys/block", total, buf);
        }
        if writers.height > 1 {
            self.writers(cx, writers, buf);
        }
        if let Some(disk) = self.subject(cx) {
            chart::pane(cx, charts, &disk.name, over_time::charts(disk), buf);
        }
        cells::pressure(cx, &mut Pen::new(cx, pressure, 0, buf));
    }

    fn reveal(&mut self, _: &Subject, _: &Cx<'_>) {
        self.idle = false;
    }

    fn table(&mut self) -> Option<&mut dyn Listed> {
        Some(&mut self.browser.table)
    }

    fn legend(&self) -> Vec<crate::parts::panel::Sign> {
        legend::of(&[legend::TABLE, legend::BAR, legend::CHART], false)
    }

    fn hints(&self) -> &'static [(Action, Text)] {
        &[
            (Action::Open, shared::HINT_DETAILS),
            (Action::Idle, text::HINT_UNUSED),
            (Action::SortNext, shared::HINT_SORT),
        ]
    }
}

impl Disks {
    fn writers(&self, cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
        let disk = self.subject(cx);
        let title =
            disk.map_or_else(|| text::WRITERS.to_string(), |disk| text::WritersOf { disk: &disk.name }.to_string());
        let inner = pane::frame(cx, area, &title, "", buf);
        let Some(disk) = disk else {
            Pen::new(cx, inner, 0, buf).skip(1).text(Role::Dim, &unknown(cx));
            return;
        };
        let rows = inner.height;
        for (at, writer) in disk.writers.iter().take(usize::from(rows)).enumerate() {
            let mut pen = Pen::new(cx, inner, at as u16, buf);
            pen.skip(1);
            cells::writer(cx, writer, &mut pen);
        }
        let known: f64 = disk.writers.iter().filter_map(|writer| writer.bytes_share).sum();
        let at = disk.writers.len() as u16;
        if at > 0 && at < rows && known < MOST {
            let rest = text::Unattributed { share: &units::percent(1.0 - known) };
            Pen::new(cx, inner, at, buf).skip(1).text(Role::Absent, &rest.to_string());
        }
        if disk.writers.is_empty() {
            Pen::new(cx, inner, 0, buf).skip(1).text(Role::Dim, &unknown(cx));
        }
    }
}

/// The share of the writers that are known above which the rest is not worth a line.
const MOST: f64 = 0.9;

/// Why there is no writer.
fn unknown(cx: &Cx<'_>) -> Text {
    if cx.frame.interval_seconds.is_none() { shared::NO_RATES } else { text::NO_WRITERS }
}

#[cfg(test)]
mod tests;
