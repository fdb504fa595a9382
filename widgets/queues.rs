//! The chain from an interface to the CPUs that do its work: NIC, queue, interrupt, CPU, L3, node; and interrupts × CPUs.

mod cells;
mod columns;
mod compact;
mod detail;
mod foot;
mod nic;
mod over_time;
mod rows;
mod strip;

pub use compact::{compact, compact_counts, compact_rows};
pub(crate) use rows::Row;

use crate::parts::browser::Browser;
use crate::parts::chart;
use crate::parts::legend;
use crate::parts::pane;
use crate::parts::table::{Identity, Listed, Table};
use crate::{Action, Cx, Outcome, Panel, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::sync::Arc;
use topotop_model::locale::screen::queues as text;
use topotop_model::locale::screen::shared;
use topotop_model::locale::{Text, join};

/// What a row is, whatever its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Id {
    /// An interface.
    Nic(Arc<str>),
    /// A queue: interface, direction, number.
    Queue(Arc<str>, Arc<str>, u32),
    /// An interrupt.
    Irq(u32),
}

/// The chain, or the matrix; the backlog below.
pub struct Queues {
    browser: Browser<Row, Id>,
    matrix: bool,
    idle: bool,
    area: Rect,
}

impl Default for Queues {
    fn default() -> Self {
        let table =
            Table::new(columns::CHAIN, IDENTITY, None).spanning(nic::span).relating(rows::relates).flagging(rows::flag);
        Self { browser: Browser::new(table), matrix: false, idle: true, area: Rect::default() }
    }
}

const IDENTITY: Identity<Row, Id> = Identity {
    of: rows::id,
    is: rows::is,
    subject: |id| {
        Some(match id {
            Id::Nic(name) | Id::Queue(name, ..) => Subject::Nic(Arc::clone(name)),
            Id::Irq(irq) => Subject::Irq(*irq),
        })
    },
    from: |subject| match subject {
        Subject::Nic(name) => Some(Id::Nic(Arc::clone(name))),
        Subject::Irq(irq) => Some(Id::Irq(*irq)),
        _ => None,
    },
};

impl Queues {
    fn turn(&mut self) {
        self.matrix = !self.matrix;
        if self.matrix {
            self.browser.table.set_columns(columns::MATRIX, columns::by_rate());
        } else {
            self.browser.table.set_columns(columns::CHAIN, None);
        }
    }

    /// The list above, charts, and what the work does to CPUs.
    fn split(&self, cx: &Cx<'_>, area: Rect) -> (Rect, Rect, Rect) {
        let open = self.browser.open().is_some();
        let room = if open || area.height < 10 { 0 } else { area.height / 4 };
        let below = foot::height(cx).min(room);
        let upper = Rect { height: area.height - below, ..area };
        let foot = Rect { y: upper.bottom(), height: below, ..area };
        let (list, charts) = chart::below(cx, upper, self.browser.table.counts().0, open);
        (list, charts, foot)
    }

    fn name(&self, cx: &Cx<'_>) -> String {
        match self.browser.open() {
            Some(Id::Nic(name)) => name.to_string(),
            Some(Id::Queue(name, direction, queue)) => format!("{name} {direction} {queue}"),
            Some(Id::Irq(irq)) => {
                text::IrqTitle { id: irq, name: &cx.frame.irq(*irq).map_or("", |row| &row.name) }.to_string()
            }
            None => String::new(),
        }
    }
}

impl Panel for Queues {
    fn id(&self) -> &'static str {
        "queues"
    }

    fn title(&self) -> Text {
        text::TAB
    }

    fn tab_short(&self) -> Text {
        text::TAB_SHORT
    }

    fn arrange(&mut self, cx: &Cx<'_>, area: Rect) {
        self.area = area;
        // What fits is shown whole: before a load starts, where queues go is what there is to see.
        let hide = self.idle && (self.matrix || rows::all(cx) + 2 > usize::from(area.height));
        let table = &mut self.browser.table;
        if table.stale(cx, u64::from(hide) + 2 * u64::from(self.matrix) + 4 * u64::from(self.idle)) {
            if self.matrix {
                table.fill(cx, rows::irqs(cx, hide).into_iter(), cx.frame.irqs.len());
            } else {
                let rows = rows::chain(cx, table, self.idle, hide);
                table.fill_ordered(rows, cx.frame.nics.len());
            }
        }
        let (list, ..) = self.split(cx, area);
        self.browser.place(cx, list, |id, width| detail::doc(cx, id, width));
    }

    fn act(&mut self, action: Action, cx: &Cx<'_>) -> Outcome {
        self.arrange(cx, self.area);
        match action {
            Action::Idle => self.idle = !self.idle,
            Action::Mode => self.turn(),
            _ => {
                let deed = self.browser.act(action, cx);
                return self.browser.outcome(deed);
            }
        }
        Outcome::Changed
    }

    fn draw(&self, cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
        let (list, charts, below) = self.split(cx, area);
        let (shown, total) = self.browser.table.counts();
        let title = if self.matrix { text::MATRIX_TITLE } else { text::TITLE };
        let note = self.note(cx, shown, total);
        let inner = self.browser.draw(cx, list, &title, &note, &self.name(cx), buf);
        if self.matrix {
            let place = self.browser.table.place_of(text::BY_CPU_HEAD);
            strip::heads(cx, place.map(|(x, width)| Rect::new(x, inner.y, width, 1)), buf);
        }
        if shown == 0 {
            let (what, path) =
                if self.matrix { (text::INTERRUPTS, "proc/interrupts") } else { (text::INTERFACES, "sys/class/net") };
            pane::empty(cx, inner, &what, path, total, buf);
        }
        if charts.height > 0
            && let Some((nic, queue)) = over_time::subject(cx, self.browser.table.selected())
        {
            chart::pane(cx, charts, &nic.name, over_time::charts(nic, queue), buf);
        }
        foot::draw(cx, below, buf);
    }

    fn reveal(&mut self, subject: &Subject, _: &Cx<'_>) {
        self.idle = false;
        // Interrupts have rows in the matrix only.
        if self.matrix != matches!(subject, Subject::Irq(_)) {
            self.turn();
        }
    }

    fn table(&mut self) -> Option<&mut dyn Listed> {
        Some(&mut self.browser.table)
    }

    fn legend(&self) -> Vec<crate::parts::panel::Sign> {
        legend::of(&[legend::TABLE, legend::BAR, legend::QUEUES, legend::CHART], false)
    }

    fn hints(&self) -> &'static [(Action, Text)] {
        &[(Action::Mode, text::HINT_VIEW), (Action::Idle, text::HINT_IDLE), (Action::Open, shared::HINT_DETAILS)]
    }
}

impl Queues {
    fn note(&self, cx: &Cx<'_>, shown: usize, total: usize) -> String {
        let mut note = if self.matrix {
            pane::count_note(cx, shown, total)
        } else {
            let queues: usize = cx.frame.nics.iter().map(|nic| nic.queues.len()).sum();
            let interfaces = text::InterfaceCount { count: total as u64 }.to_string();
            let counts = [interfaces, text::QueueCount { count: queues as u64 }.to_string()];
            pane::with_rates_note(cx, counts.join(&join::ITEMS))
        };
        let hidden = |row: &Row| matches!(row, Row::IdleQueues(..) | Row::IdleNics(_));
        if self.idle && (self.matrix || self.browser.table.rows().iter().any(hidden)) {
            note = format!("{note} · {}", shared::IDLE_HIDDEN);
        }
        note
    }
}

#[cfg(test)]
mod tests;
