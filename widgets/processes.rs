//! Processes: CPU by node against memory by node, what pins them, and one of them in full.

mod cells;
mod columns;
mod compact;
mod detail;
mod filter;
mod sockets;
mod waits;

pub use compact::compact;

use crate::parts::browser::{Browser, Deed};
use crate::parts::table::{Identity, Listed, Table};
use crate::parts::{names, pane};
use crate::{Action, Cx, Outcome, Panel, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::frame::Process;
use topotop_model::locale::Text;
use topotop_model::locale::screen::processes as text;
use topotop_model::locale::screen::shared;

/// A process by pid and start time: a pid alone may be somebody else's next second.
type Id = (u32, u64);

/// The table of processes and the detail of one.
pub struct Processes {
    browser: Browser<usize, Id>,
    idle: bool,
    commands: bool,
}

impl Default for Processes {
    fn default() -> Self {
        Self {
            browser: Browser::new(
                Table::new(columns::COLUMNS, IDENTITY, columns::by_cpu(columns::COLUMNS)).relating(relates),
            ),
            idle: false,
            commands: false,
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

/// True if a process belongs to what is selected elsewhere: runs on that CPU or node, or in that group.
fn relates(cx: &Cx<'_>, row: usize, subject: &Subject) -> bool {
    let Some(process) = cx.frame.processes.get(row) else { return false };
    match subject {
        Subject::Cpu(cpu) => {
            let pinned = process.thread_affinities.iter().any(|group| group.cpus.single() == Some(*cpu));
            pinned || (process.last_cpu.value() == Some(*cpu) && process.cpu_cores.is_some_and(|cores| cores >= 0.01))
        }
        Subject::Node(node) => process.cpu_by_node.iter().any(|entry| entry.0 == *node && entry.1 >= 0.01),
        Subject::Cgroup(path) => names::is_below(&process.cgroup, path),
        _ => false,
    }
}

impl Panel for Processes {
    fn id(&self) -> &'static str {
        "processes"
    }

    fn title(&self) -> Text {
        text::TAB
    }

    fn arrange(&mut self, cx: &Cx<'_>, area: Rect) {
        if self.browser.table.stale(cx, u64::from(self.idle)) {
            let idle = self.idle;
            let filter = filter::of(cx);
            let shown = |process: &Process| {
                filter.passes(process) && (!idle || process.cpu_cores.is_none_or(|cores| cores >= 0.001))
            };
            let rows = cx.frame.processes.iter().enumerate();
            let rows = rows.filter(|(_, process)| shown(process)).map(|(index, _)| index);
            // Equal ones, and all of them before there are rates: the biggest first.
            let mut rows: Vec<usize> = rows.collect();
            let size = |&row: &usize| cx.frame.processes.get(row).and_then(|process| process.rss_bytes.value());
            rows.sort_by_cached_key(|row| std::cmp::Reverse(size(row)));
            self.browser.table.fill(cx, rows.into_iter(), cx.frame.processes.len());
        }
        self.browser.place(cx, area, |&id, width| detail::doc(cx, id, width));
    }

    fn act(&mut self, action: Action, cx: &Cx<'_>) -> Outcome {
        self.arrange(cx, self.browser.area());
        if action == Action::Idle {
            self.idle = !self.idle;
            return Outcome::Changed;
        }
        if action == Action::Commands {
            self.commands = !self.commands;
            let columns = if self.commands { columns::COMMANDS } else { columns::COLUMNS };
            self.browser.table.set_columns(columns, columns::by_cpu(columns));
            return Outcome::Changed;
        }
        match self.browser.act(action, cx) {
            Deed::Opened => Outcome::Watch(self.browser.open().map(|id| id.0)),
            Deed::Closed => Outcome::Watch(None),
            deed => self.browser.outcome(deed),
        }
    }

    fn draw(&self, cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
        let (shown, total) = self.browser.table.counts();
        let mut note = pane::count_note(cx, shown, total);
        if self.idle {
            note = format!("{note} · {}", shared::IDLE_HIDDEN);
        }
        let open = self.browser.open().copied();
        let name = open.map(|id| format!("{} {}", id.0, find(cx, id).map_or("", |process| &process.comm)));
        let inner = self.browser.draw(cx, area, &text::TITLE, &note, &name.unwrap_or_default(), buf);
        if shown == 0 {
            pane::empty(cx, inner, &text::PROCESSES, "proc/*", total, buf);
        }
    }

    fn reveal(&mut self, _: &Subject, _: &Cx<'_>) {
        self.idle = false;
    }

    fn table(&mut self) -> Option<&mut dyn Listed> {
        Some(&mut self.browser.table)
    }

    fn hints(&self) -> &'static [(Action, Text)] {
        &[
            (Action::Open, shared::HINT_DETAILS),
            (Action::Idle, shared::HINT_IDLE),
            (Action::Commands, text::HINT_COMMANDS),
            (Action::SortNext, shared::HINT_SORT),
        ]
    }
}

#[cfg(test)]
mod tests;
