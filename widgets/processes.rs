//! Processes: CPU by node against memory by node, what pins them, and one of them in full.

mod cells;
mod columns;
mod compact;
mod detail;

pub use compact::compact;

use crate::parts::pane::{self, Doc};
use crate::parts::table::{Did, Identity, Table, matches};
use crate::{Action, Cx, Outcome, Panel, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::frame::Process;

/// A process by pid and start time: a pid alone may be somebody else's next second.
type Id = (u32, u64);

/// The table of processes and the detail of one.
pub struct Processes {
    table: Table<usize, Id>,
    open: Option<Id>,
    doc: Doc,
    scroll: usize,
    idle: bool,
    area: Rect,
    detail: Rect,
}

impl Default for Processes {
    fn default() -> Self {
        Self {
            table: Table::new(columns::COLUMNS, IDENTITY, columns::by_cpu()),
            open: None,
            doc: Doc::default(),
            scroll: 0,
            idle: false,
            area: Rect::default(),
            detail: Rect::default(),
        }
    }
}

const IDENTITY: Identity<usize, Id> = Identity {
    of: |cx, row| cx.frame.processes.get(row).map(|process| (process.pid, process.starttime)),
    is: |cx, row, id| cx.frame.processes.get(row).is_some_and(|process| (process.pid, process.starttime) == *id),
    subject: |id| Some(Subject::Process(id.0, id.1)),
    from: |subject| if let Subject::Process(pid, start) = subject { Some((*pid, *start)) } else { None },
};

fn find<'a>(cx: &Cx<'a>, id: Id) -> Option<&'a Process> {
    cx.frame.process(id.0).filter(|process| process.starttime == id.1)
}

/// True if the filter lets a process through: by pid, name, arguments, group.
fn passes(cx: &Cx<'_>, process: &Process) -> bool {
    let filter = cx.filter;
    filter.is_empty()
        || matches(filter, &process.comm)
        || matches(filter, &process.cmdline)
        || matches(filter, &process.cgroup)
        || filter.parse() == Ok(process.pid)
}

impl Processes {
    fn follow_detail(&mut self) -> Option<Outcome> {
        let selected = self.table.selected().copied();
        if self.open.is_none() || self.open == selected {
            return None;
        }
        self.open = selected;
        self.scroll = 0;
        self.open.map(|(pid, _)| Outcome::Watch(Some(pid)))
    }

    fn toggle(&mut self, cx: &Cx<'_>) -> Outcome {
        if self.open.is_some() {
            return self.close();
        }
        self.table.select_any(cx);
        self.open = self.table.selected().copied();
        self.scroll = 0;
        self.open.map_or(Outcome::Ignored, |(pid, _)| Outcome::Watch(Some(pid)))
    }

    fn close(&mut self) -> Outcome {
        if self.open.take().is_some() {
            return Outcome::Watch(None);
        }
        if self.table.deselect() { Outcome::Changed } else { Outcome::Ignored }
    }

    /// Moves the detail; false where the action is the table's.
    fn scroll_detail(&mut self, action: Action) -> bool {
        let page = usize::from(self.detail.height.saturating_sub(2)).max(1);
        let most = self.doc.len().saturating_sub(page);
        let to = match action {
            Action::PageUp => self.scroll.saturating_sub(page),
            Action::PageDown => self.scroll + page,
            Action::Home => 0,
            Action::End => most,
            _ => return false,
        };
        self.scroll = to.min(most);
        true
    }
}

impl Panel for Processes {
    fn id(&self) -> &'static str {
        "processes"
    }

    fn title(&self) -> &'static str {
        "processes"
    }

    fn arrange(&mut self, cx: &Cx<'_>, area: Rect) {
        self.area = area;
        if self.table.stale(cx, u64::from(self.idle)) {
            let idle = self.idle;
            let shown = |process: &Process| {
                passes(cx, process) && (!idle || process.cpu_cores.is_none_or(|cores| cores >= 0.001))
            };
            let rows = cx.frame.processes.iter().enumerate();
            let rows = rows.filter(|(_, process)| shown(process)).map(|(index, _)| index);
            self.table.fill(cx, rows, cx.frame.processes.len());
        }
        let (list, detail) = if self.open.is_some() { pane::split(area) } else { (area, Rect::default()) };
        self.detail = detail;
        self.table.place(cx, pane::inner(list));
        self.doc = self.open.map(|id| detail::doc(cx, id, pane::inner(detail).width)).unwrap_or_default();
    }

    fn act(&mut self, action: Action, cx: &Cx<'_>) -> Outcome {
        self.arrange(cx, self.area);
        match action {
            Action::Open => return self.toggle(cx),
            Action::Close => return self.close(),
            Action::Idle => {
                self.idle = !self.idle;
                return Outcome::Changed;
            }
            Action::Wheel { .. } | Action::Click { .. } => {}
            _ if self.open.is_some() && self.scroll_detail(action) => return Outcome::Changed,
            _ => {}
        }
        let did = self.table.act(action, cx);
        if did == Did::Opened {
            return self.toggle(cx);
        }
        self.follow_detail().unwrap_or_else(|| self.table.outcome(did))
    }

    fn draw(&self, cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
        let (list, detail) = if self.open.is_some() { pane::split(area) } else { (area, Rect::default()) };
        let (shown, total) = self.table.counts();
        let mut note = pane::count_note(shown, total, cx.filter);
        if self.idle {
            note.push_str(" · idle hidden");
        }
        let inner = pane::frame(cx, list, "Processes: CPU and memory by node", &note, buf);
        self.table.draw(cx, buf);
        if shown == 0 {
            pane::empty(cx, inner, "processes", "proc/*/stat", total, buf);
        }
        if let Some((pid, _)) = self.open {
            let name = self.open.and_then(|id| find(cx, id)).map_or("", |process| &process.comm);
            let inner = pane::frame(cx, detail, &format!("{pid} {name}"), "", buf);
            self.doc.draw(cx, inner, self.scroll, buf);
            pane::more(cx, detail, self.doc.len(), self.scroll, buf);
        }
    }

    fn hints(&self) -> &'static [(Action, &'static str)] {
        &[
            (Action::Open, "all of a process: placement, threads, pins"),
            (Action::Idle, "hide idle processes"),
            (Action::SortNext, "sort by the next column"),
        ]
    }
}

#[cfg(test)]
mod tests;
