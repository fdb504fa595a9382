//! Control groups, nearest to their limits first or as a tree: memory against the limit that binds, CPU against the quota, disks and pressure.

mod cells;
mod columns;
mod compact;
mod detail;
mod over_time;
mod tree;

pub use compact::{compact, compact_counts};
pub(crate) use tree::Row;

use crate::parts::browser::{Browser, Deed};
use crate::parts::chart;
use crate::parts::legend;
use crate::parts::pane;
use crate::parts::panel::{self, Sign};
use crate::parts::related::uses;
use crate::parts::table::{Column, Identity, Listed, Table};
use crate::parts::{Pen, names};
use crate::{Action, Cx, Outcome, Panel, Role, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::collections::HashSet;
use std::sync::Arc;
use topotop_model::frame::{Cgroup, Process};
use topotop_model::locale::Text;
use topotop_model::locale::screen::cgroups as text;
use topotop_model::locale::screen::{processes, shared};

/// A group by path and hierarchy: hybrid machines have a path twice.
type Id = (Arc<str>, u32);

/// What the columns are about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum View {
    #[default]
    Memory,
    Cpu,
    Io,
}

impl View {
    fn next(self) -> Self {
        match self {
            Self::Memory => Self::Cpu,
            Self::Cpu => Self::Io,
            Self::Io => Self::Memory,
        }
    }

    fn title(self) -> Text {
        match self {
            Self::Memory => text::MEMORY_VIEW,
            Self::Cpu => text::CPU_VIEW,
            Self::Io => text::IO_VIEW,
        }
    }

    fn columns(self) -> &'static [Column<Row>] {
        match self {
            Self::Memory => columns::MEMORY,
            Self::Cpu => columns::CPU,
            Self::Io => columns::IO,
        }
    }

    /// The column to sort by at first.
    fn sort(self) -> Option<usize> {
        let title = match self {
            Self::Memory => text::FULL_HEAD,
            Self::Cpu => text::CPU,
            Self::Io => text::WRITE_RATE,
        };
        self.columns().iter().position(|column| column.title == title)
    }
}

/// The list or the tree, and the detail of one group.
pub struct Cgroups {
    browser: Browser<Row, Id>,
    view: View,
    idle: bool,
    tree: bool,
    folded: HashSet<Id>,
    folds: u64,
    area: Rect,
}

impl Default for Cgroups {
    fn default() -> Self {
        let view = View::default();
        let table = Table::new(view.columns(), IDENTITY, view.sort()).relating(relates);
        Self {
            browser: Browser::new(table),
            view,
            idle: false,
            tree: false,
            folded: HashSet::new(),
            folds: 0,
            area: Rect::default(),
        }
    }
}

const IDENTITY: Identity<Row, Id> = Identity {
    of: |cx, row| cx.frame.cgroups.get(row.index).map(|cgroup| (Arc::clone(&cgroup.path), cgroup.version)),
    is: |cx, row, id| {
        cx.frame.cgroups.get(row.index).is_some_and(|cgroup| cgroup.path == id.0 && cgroup.version == id.1)
    },
    subject: |id| Some(Subject::Cgroup(Arc::clone(&id.0))),
    from: |subject| if let Subject::Cgroup(path) = subject { Some((Arc::clone(path), 2)) } else { None },
};

/// True if the process that is selected elsewhere lives in the group, or if one of the group uses the device that is.
fn relates(cx: &Cx<'_>, row: Row, subject: &Subject) -> bool {
    let Some(group) = cx.frame.cgroups.get(row.index) else { return false };
    let lives = |process: &Process| process.groups().contains(&&group.path);
    match subject {
        Subject::Process(pid, _) => cx.frame.process(*pid).is_some_and(lives),
        _ => cx.frame.processes.iter().any(|process| lives(process) && uses(cx, process, subject)),
    }
}

fn find<'a>(cx: &Cx<'a>, id: &Id) -> Option<&'a Cgroup> {
    cx.frame.cgroups.iter().find(|cgroup| cgroup.path == id.0 && cgroup.version == id.1)
}

impl Cgroups {
    /// Folds or unfolds the selected group; without one, everything below the first level.
    fn fold(&mut self, cx: &Cx<'_>) {
        self.folds += 1;
        if let Some(id) = self.browser.table.selected().cloned() {
            if !self.folded.remove(&id) {
                self.folded.insert(id);
            }
        } else if self.folded.is_empty() {
            let deep = cx.frame.cgroups.iter().filter(|cgroup| *cgroup.path != *"/");
            self.folded = deep.map(|cgroup| (Arc::clone(&cgroup.path), cgroup.version)).collect();
        } else {
            self.folded.clear();
        }
    }

    /// The list, and charts below it.
    fn split(&self, cx: &Cx<'_>, area: Rect) -> (Rect, Rect) {
        let main = if has_legend(area) { Rect { height: area.height - 1, ..area } } else { area };
        chart::below(cx, main, self.browser.table.counts().0, self.browser.open().is_some())
    }

    /// The group that charts are of: the selected one, else the first of the list.
    fn subject<'a>(&self, cx: &Cx<'a>) -> Option<&'a Cgroup> {
        let selected = self.browser.table.selected().and_then(|id| find(cx, id));
        let first = || self.browser.table.rows().first().and_then(|row| cx.frame.cgroups.get(row.index));
        selected.or_else(first)
    }

    fn turn(&mut self) {
        self.view = self.view.next();
        self.browser.table.set_columns(self.view.columns(), self.view.sort());
    }
}

impl Panel for Cgroups {
    fn id(&self) -> &'static str {
        "cgroups"
    }

    fn title(&self) -> Text {
        text::TAB
    }

    fn tab_short(&self) -> Text {
        text::TAB_SHORT
    }

    fn arrange(&mut self, cx: &Cx<'_>, area: Rect) {
        if self.browser.table.stale(cx, self.folds * 4 + u64::from(self.tree) * 2 + u64::from(self.idle)) {
            let total = cx.frame.cgroups.len();
            if self.tree {
                let rows = tree::rows(cx, &self.browser.table, &self.folded, self.idle);
                self.browser.table.fill_ordered(rows, total);
            } else {
                self.browser.table.fill(cx, tree::list(cx, self.idle).into_iter(), total);
            }
        }
        self.area = area;
        let (list, _) = self.split(cx, area);
        self.browser.place(cx, list, |id, width| detail::doc(cx, id, width));
    }

    fn act(&mut self, action: Action, cx: &Cx<'_>) -> Outcome {
        self.arrange(cx, self.area);
        match action {
            Action::Idle => self.idle = !self.idle,
            Action::Mode => self.turn(),
            Action::Tree => self.tree = !self.tree,
            Action::Fold if self.tree => self.fold(cx),
            Action::Fold => return Outcome::Ignored,
            _ => {
                let deed: Deed = self.browser.act(action, cx);
                return self.browser.outcome(deed);
            }
        }
        Outcome::Changed
    }

    fn draw(&self, cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
        let (shown, total) = self.browser.table.counts();
        let mut note = pane::count_note(cx, shown, total);
        if self.idle {
            note = format!("{note} · {}", shared::IDLE_HIDDEN);
        }
        if self.tree && !self.folded.is_empty() {
            note = format!("{note} · {}", text::FOLDED);
        }
        let open = self.browser.open();
        let name = open.and_then(|id| find(cx, id)).map(names::short).unwrap_or_default();
        let (main, charts) = self.split(cx, area);
        let inner = self.browser.draw(cx, main, &self.view.title(), &note, &name, buf);
        if shown == 0 {
            pane::empty(cx, inner, &text::GROUPS, "sys/fs/cgroup", total, buf);
        }
        if let Some(group) = self.subject(cx) {
            chart::pane(cx, charts, &names::short(group), over_time::charts(cx, group), buf);
        }
        if has_legend(area) {
            let mut pen = Pen::new(cx, area, area.height - 1, buf);
            pen.skip(1);
            match self.view {
                View::Memory => panel::legend(&mut pen, cells::SIGNS),
                View::Cpu | View::Io => panel::legend(&mut pen, PRESSURE),
            }
        }
    }

    fn reveal(&mut self, subject: &Subject, cx: &Cx<'_>) {
        let Subject::Cgroup(path) = subject else { return };
        let Some(group) = cx.frame.cgroup(path) else { return };
        self.idle = false;
        self.folds += 1;
        let is = |row: &Row| cx.frame.cgroups.get(row.index).is_some_and(|other| std::ptr::eq(other, group));
        self.tree |= !tree::list(cx, false).iter().any(is);
        self.folded.retain(|id| *id.0 != *"/" && (id.0 == *path || !names::is_below(path, &id.0)));
        self.browser.table.choose((Arc::clone(path), group.version));
    }

    fn modes(&self) -> Vec<Action> {
        self.tree.then_some(Action::Tree).into_iter().collect()
    }

    fn table(&mut self) -> Option<&mut dyn Listed> {
        Some(&mut self.browser.table)
    }

    fn legend(&self) -> Vec<Sign> {
        let pressure = if self.view == View::Memory { cells::SIGNS } else { PRESSURE };
        legend::of(&[legend::TABLE, legend::BAR, pressure, legend::TREE, legend::CHART], false)
    }

    fn hints(&self) -> &'static [(Action, Text)] {
        &[
            (Action::Mode, text::HINT_VIEW),
            (Action::Tree, processes::HINT_TREE),
            (Action::Fold, text::HINT_FOLD),
            (Action::Open, shared::HINT_DETAILS),
            (Action::Idle, shared::HINT_IDLE),
        ]
    }
}

/// True if there is room for a line that explains glyphs.
fn has_legend(area: Rect) -> bool {
    area.height >= 16
}

const PRESSURE: &[Sign] = &[Sign { role: Role::Dim, glyph: "PSI", ascii: "PSI", label: text::PRESSURE_LEGEND }];

#[cfg(test)]
mod tests;
