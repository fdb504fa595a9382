//! Processes: CPU by node against memory by node, what pins them, and one of them in full.

mod cells;
mod columns;
mod compact;
mod detail;
mod filter;
mod over_time;
mod rows;
mod scheduler;
mod sockets;
mod waits;

pub use compact::{compact, compact_counts};

use crate::parts::browser::{Browser, Deed};
use crate::parts::chart;
use crate::parts::legend;
use crate::parts::related::uses;
use crate::parts::table::{Identity, Listed, Table};
use crate::parts::{names, pane, severity};
use crate::{Action, Cx, Outcome, Panel, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use rows::Row;
use std::collections::HashSet;
use topotop_model::frame::Process;
use topotop_model::locale::Text;
use topotop_model::locale::screen::processes as text;
use topotop_model::locale::screen::shared;
use topotop_model::rules::Severity;

/// A process by pid and start time, since a pid alone may be another process's next second, and one of its threads or 0.
type Id = (u32, u64, u32);

/// The table of processes and the detail of one.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Processes {
    browser: Browser<Row, Id>,
    idle: bool,
    commands: bool,
    tree: bool,
    threads: bool,
    percent: bool,
    no_kernel: bool,
    folded: HashSet<Id>,
    changes: u64,
    area: Rect,
}

impl Default for Processes {
    fn default() -> Self {
        Self {
            browser: Browser::new(
                Table::new(columns::COLUMNS, IDENTITY, columns::by_cpu(columns::COLUMNS))
                    .relating(relates)
                    .flagging(flag),
            ),
            idle: false,
            commands: false,
            tree: false,
            threads: false,
            percent: false,
            no_kernel: false,
            folded: HashSet::new(),
            changes: 0,
            area: Rect::default(),
        }
    }
}

const IDENTITY: Identity<Row, Id> = Identity {
    of: rows::id,
    is: |cx, row, id| rows::id(cx, row) == Some(*id),
    subject: |id| Some(Subject::Process(id.0, id.1)),
    from: |subject| if let Subject::Process(pid, start) = subject { Some((*pid, *start, 0)) } else { None },
};

/// What is found about a process stands at its own line.
fn flag(cx: &Cx<'_>, row: Row) -> Option<Severity> {
    let (pid, start, tid) = rows::id(cx, row)?;
    if tid > 0 { None } else { severity::worst(cx, &Subject::Process(pid, start)) }
}

fn find<'a>(cx: &Cx<'a>, id: Id) -> Option<&'a Process> {
    cx.frame.process(id.0).filter(|process| process.starttime == id.1)
}

/// True if a process belongs to what is selected elsewhere: runs on that CPU or node, in that group, or uses that device.
fn relates(cx: &Cx<'_>, row: Row, subject: &Subject) -> bool {
    let Some(process) = cx.frame.processes.get(row.process) else { return false };
    if let Some(thread) = rows::thread(cx, row) {
        return matches!(subject, Subject::Cpu(cpu) if thread.last_cpu.value() == Some(*cpu));
    }
    match subject {
        Subject::Cpu(cpu) => {
            let pinned = process.thread_affinities.iter().any(|group| group.cpus.single() == Some(*cpu));
            pinned || (process.last_cpu.value() == Some(*cpu) && process.cpu_cores.is_some_and(|cores| cores >= 0.01))
        }
        Subject::Node(node) => process.cpu_by_node.iter().any(|entry| entry.0 == *node && entry.1 >= 0.01),
        Subject::Cgroup(path) => process.groups().iter().any(|group| names::is_below(group, path)),
        _ => uses(cx, process, subject),
    }
}

impl Processes {
    /// Turns a way to list on or off; false where the action is none of them.
    fn switch(&mut self, action: Action, cx: &Cx<'_>) -> bool {
        let mode = match action {
            Action::Idle => &mut self.idle,
            Action::Tree => &mut self.tree,
            Action::Threads => &mut self.threads,
            Action::Percent => &mut self.percent,
            Action::Kernel => &mut self.no_kernel,
            Action::Fold if self.tree => return self.fold(cx),
            _ => return false,
        };
        *mode = !*mode;
        true
    }

    /// Folds or unfolds the selected process; without one, unfolds all.
    fn fold(&mut self, cx: &Cx<'_>) -> bool {
        match self.browser.table.selected_row(cx).and_then(|row| rows::id(cx, Row { thread: None, ..row })) {
            Some(id) if !self.folded.remove(&id) => drop(self.folded.insert(id)),
            Some(_) => {}
            None => self.folded.clear(),
        }
        true
    }

    /// The list, and charts below it.
    fn split(&self, cx: &Cx<'_>, area: Rect) -> (Rect, Rect) {
        chart::below(cx, area, self.browser.table.counts().0, self.browser.open().is_some())
    }

    /// The process that charts are of: the selected one, else the first of the list.
    fn subject<'a>(&self, cx: &Cx<'a>) -> Option<&'a Process> {
        let selected = self.browser.table.selected().and_then(|id| find(cx, *id));
        let first = || self.browser.table.rows().first().and_then(|row| cx.frame.processes.get(row.process));
        selected.or_else(first)
    }

    /// The process whose threads are wanted: the one in the detail, or the selected one.
    fn watch(&self) -> Outcome {
        let selected = self.browser.table.selected().filter(|_| self.threads);
        Outcome::Watch(self.browser.open().or(selected).map(|id| id.0))
    }
}

impl Panel for Processes {
    fn id(&self) -> &'static str {
        "processes"
    }

    fn title(&self) -> Text {
        text::TAB
    }

    fn tab_short(&self) -> Text {
        text::TAB_SHORT
    }

    fn arrange(&mut self, cx: &Cx<'_>, area: Rect) {
        if self.browser.table.stale(cx, self.changes) {
            let table = &mut self.browser.table;
            table.replace(if self.tree || self.threads { columns::BRANCH } else { columns::NAME });
            table.replace(if self.percent { columns::PERCENT } else { columns::CORES });
            table.rank(if self.threads { columns::rank_of_threads } else { |column| column.priority });
            let rows = rows::rows(cx, self);
            let all = cx.frame.processes.len() + rows.iter().filter(|row| row.thread.is_some()).count();
            self.browser.table.fill_ordered(rows, all);
        }
        self.area = area;
        let (list, _) = self.split(cx, area);
        self.browser.place(cx, list, |&id, width| detail::doc(cx, id, width));
    }

    fn act(&mut self, action: Action, cx: &Cx<'_>) -> Outcome {
        self.arrange(cx, self.area);
        if self.switch(action, cx) {
            self.changes += 1;
            return if action == Action::Threads { self.watch() } else { Outcome::Changed };
        }
        if action == Action::Commands {
            self.commands = !self.commands;
            let columns = if self.commands { columns::COMMANDS } else { columns::COLUMNS };
            self.browser.table.set_columns(columns, columns::by_cpu(columns));
            return Outcome::Changed;
        }
        match self.browser.act(action, cx) {
            Deed::Opened => Outcome::Watch(self.browser.open().map(|id| id.0)),
            Deed::Selected if self.threads => self.watch(),
            Deed::Closed => self.watch(),
            deed => self.browser.outcome(deed),
        }
    }

    fn thread(&self) -> Option<u32> {
        self.browser.table.selected().map(|id| id.2).filter(|tid| *tid > 0)
    }

    fn modes(&self) -> Vec<Action> {
        let modes = [
            (self.idle, Action::Idle),
            (self.tree, Action::Tree),
            (self.threads, Action::Threads),
            (self.percent, Action::Percent),
            (self.no_kernel, Action::Kernel),
        ];
        modes.into_iter().filter(|(on, _)| *on).map(|(_, action)| action).collect()
    }

    fn draw(&self, cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
        let (shown, total) = self.browser.table.counts();
        let mut note = pane::count_note(cx, shown, total);
        if self.idle {
            note = format!("{note} · {}", shared::IDLE_HIDDEN);
        }
        if self.no_kernel {
            note = format!("{note} · {}", text::KERNEL_HIDDEN);
        }
        let open = self.browser.open().copied();
        let name = open.map(|id| format!("{} {}", id.0, find(cx, id).map_or("", |process| &process.comm)));
        let (list, charts) = self.split(cx, area);
        let inner = self.browser.draw(cx, list, &text::TITLE, &note, &name.unwrap_or_default(), buf);
        if shown == 0 {
            match filter::unknown_field(cx.filter).filter(|_| total > 0) {
                Some(field) => {
                    let said = text::UnknownField { field: &field, fields: &filter::FIELDS };
                    pane::say(cx, inner, &said.to_string(), buf);
                }
                None => pane::empty(cx, inner, &text::PROCESSES, "proc/*", total, buf),
            }
        }
        if let Some(process) = self.subject(cx) {
            let name = format!("{} {}", process.comm, process.pid);
            chart::pane(cx, charts, &name, over_time::charts(process), buf);
        }
    }

    fn reveal(&mut self, _: &Subject, _: &Cx<'_>) {
        (self.idle, self.no_kernel) = (false, false);
        self.folded.clear();
        self.changes += 1;
    }

    fn table(&mut self) -> Option<&mut dyn Listed> {
        Some(&mut self.browser.table)
    }

    fn legend(&self) -> Vec<crate::parts::panel::Sign> {
        legend::of(&[legend::TABLE, legend::PROCESSES, legend::CHART], false)
    }

    fn hints(&self) -> &'static [(Action, Text)] {
        &[
            (Action::Open, shared::HINT_DETAILS),
            (Action::Idle, shared::HINT_IDLE),
            (Action::Commands, text::HINT_COMMANDS),
            (Action::Threads, text::HINT_THREADS),
            (Action::Tree, text::HINT_TREE),
        ]
    }
}

#[cfg(test)]
mod tests;
