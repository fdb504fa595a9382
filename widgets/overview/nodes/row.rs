//! What stands beside a node's cells.

use crate::parts::bar::Part;
use crate::parts::machine::{Machine, Section};
use crate::parts::{Pen, names, number, severity};
use crate::{Cx, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::Known;
use topotop_model::frame::{CpuShares, Node};
use topotop_model::locale::screen::overview as text;
use topotop_model::locale::screen::shared;

/// Columns of the numbers with the shortest bar.
pub(super) const WIDTH: u16 = 5 + 10 + 1 + BAR.0 + 1 + 5 + 8;

/// The shortest and the longest bar of memory.
const BAR: (u16, u16) = (5, 18);

/// What the CPUs of a section do.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Load {
    pub(super) busy: Option<f64>,
    softirq: Option<f64>,
    iowait: Option<f64>,
    /// The CPU with most softirq, where that is worth naming.
    hottest: Option<(u32, f64)>,
}

impl Load {
    pub(super) fn of(cx: &Cx<'_>, machine: &Machine, section: &Section) -> Self {
        let cpus = machine.cpus_of(machine.cores_of(section));
        let shares = || cpus.iter().filter_map(|&id| Some((id, cx.frame.cpu(id)?.shares?)));
        let count = shares().count() as f64;
        let mean = |of: fn(&CpuShares) -> f64| {
            (count > 0.0).then(|| shares().map(|(_, shares)| of(&shares)).sum::<f64>() / count)
        };
        Self {
            busy: mean(|shares| shares.busy),
            softirq: mean(|shares| shares.softirq),
            iowait: mean(|shares| shares.iowait),
            hottest: shares().map(|(id, shares)| (id, shares.softirq)).max_by(|a, b| a.1.total_cmp(&b.1)),
        }
    }
}

/// Where the numbers stand.
pub(super) struct Columns {
    busy: u16,
    softirq: u16,
    memory: u16,
    bar: u16,
    total: bool,
    foreign: u16,
}

impl Columns {
    pub(super) fn new(area: Rect, start: u16) -> Self {
        let spare = area.width.saturating_sub(start + WIDTH);
        // The bar shows how much of the total is used; the total itself comes when there is room.
        let total = spare >= 6 + 4;
        let bar = (BAR.0 + spare - if total { 6 } else { 0 }).min(BAR.1);
        let busy = area.x + start;
        let softirq = busy + 5;
        let memory = softirq + 10 + 1;
        Self { busy, softirq, memory, bar, total, foreign: memory + bar + 1 + if total { 11 } else { 5 } }
    }

    /// Names the columns on the panel's rule.
    pub(super) fn heads(&self, cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
        for (end, name) in [
            (self.busy + 6, text::BUSY_HEAD),
            (self.softirq + 10, text::SOFTIRQ_HEAD),
            (self.foreign + 1, text::MEMORY_HEAD),
            (self.foreign + 9, text::FOREIGN_HEAD),
        ] {
            let mut pen = Pen::new(cx, area, 0, buf);
            let name = format!(" {name} ");
            pen.to(end.saturating_sub(names::width(&name))).text(Role::Head, &name);
        }
    }

    pub(super) fn section(&self, pen: &mut Pen<'_>, machine: &Machine, section: &Section) {
        let cx = pen.cx();
        let load = Load::of(cx, machine, section);
        pen.to(self.busy).share(5, load.busy).to(self.softirq);
        match load.hottest {
            // One CPU's share, since the mean over a node hides it.
            Some((id, share)) if share >= 0.1 => {
                pen.share(4, Some(share));
                let name = number::Short::from_display(format_args!(" c{id}"));
                pen.field(Role::heat(share), 6, name.as_str());
            }
            _ => {
                pen.share(4, load.softirq);
            }
        }
        match section.node {
            Some(node) => self.memory_of(pen, cx.frame.node(node)),
            // CPUs that are offline have no node; where there are nodes, the memory is theirs.
            None if machine.sections.iter().any(|other| other.node.is_some()) => {
                pen.to(self.memory).none(self.foreign - self.memory).none(8);
            }
            None => self.memory_of_host(pen),
        }
    }

    pub(super) fn memory_of(&self, pen: &mut Pen<'_>, node: Option<&Node>) {
        let Some(node) = node else {
            pen.to(self.memory).missing(self.foreign - self.memory, None).missing(8, None);
            return;
        };
        let total = node.memory_total_bytes;
        let parts = [node.anon_bytes, node.file_bytes];
        self.memory(pen, total, node.memory_free_bytes, parts);
        let foreign = node.numa_foreign_per_second;
        let role = if foreign.is_some_and(|rate| rate >= 1.0) { Role::Warn } else { Role::Dim };
        match foreign {
            Some(rate) => pen.to(self.foreign).number(role, 6, &number::count(rate)).text(Role::Dim, "/s"),
            None => pen.to(self.foreign).missing(8, None),
        };
    }

    fn memory_of_host(&self, pen: &mut Pen<'_>) {
        let memory = &pen.cx().frame.memory;
        self.memory(pen, memory.total_bytes, memory.free_bytes, [memory.anon_bytes, memory.cached_bytes]);
        pen.to(self.foreign).none(8);
    }

    /// A bar of what the memory is used for, and used of total.
    fn memory(&self, pen: &mut Pen<'_>, total: Known<u64>, free: Known<u64>, parts: [Known<u64>; 2]) {
        pen.to(self.memory);
        let Some((all, free)) = total.value().filter(|&total| total > 0).zip(free.value()) else {
            if total == Known::Value(0) || total == Known::None {
                pen.none(self.foreign - self.memory);
            } else {
                pen.missing(self.foreign - self.memory, None);
            }
            return;
        };
        let used = all.saturating_sub(free);
        let share = |bytes: u64| bytes as f64 / all as f64;
        let [anon, file] = parts.map(|part| part.value().unwrap_or(0).min(used));
        pen.stacked(
            self.bar,
            &[
                Part::new(share(anon), Role::Anon, "▇", "#"),
                Part::new(share(used.saturating_sub(anon.saturating_add(file))), Role::Pinned, "▆", "%"),
                Part::new(share(file), Role::Cache, "▂", ":"),
            ],
        );
        let role = if share(used) >= 0.9 { Role::Warn } else { Role::Text };
        pen.skip(1).number(role, 5, &number::whole_bytes(used));
        if self.total {
            pen.text(Role::Dim, "/").field(Role::Dim, 5, number::whole_bytes(all).as_str());
        }
    }

    /// The second row of a node, where there is room for one.
    pub(super) fn more(&self, pen: &mut Pen<'_>, machine: &Machine, section: &Section) {
        let cx = pen.cx();
        let load = Load::of(cx, machine, section);
        pen.to(self.busy + 1).text(Role::Dim, &shared::IOWAIT).share(5, load.iowait);
        let Some(node) = section.node.and_then(|node| cx.frame.node(node)) else { return };
        pen.to(self.memory);
        for (role, name, bytes) in
            [(Role::Anon, text::ANON, node.anon_bytes), (Role::Cache, text::FILE, node.file_bytes)]
        {
            if pen.x() + 11 > self.foreign {
                break;
            }
            pen.text(role, &name).known(Role::Dim, 6, bytes, number::whole_bytes).skip(1);
        }
    }
}

/// A CPU on a row of its own: a bar of what it does, and the same in numbers.
pub(super) fn cpu(pen: &mut Pen<'_>, id: u32) {
    let cx = pen.cx();
    let flag = severity::worst_cpu(cx, &[id]);
    pen.skip(1);
    match flag {
        Some(severity) => pen.severity(severity),
        None => pen.skip(1),
    };
    pen.field(Role::Dim, 5, number::Short::from_display(format_args!("c{id}")).as_str());
    let Some(shares) = cx.frame.cpu(id).and_then(|cpu| cpu.shares) else {
        let one = cx.frame.interval_seconds.is_none();
        pen.text(Role::Absent, if one { shared::NO_RATES.as_str() } else { "?" });
        return;
    };
    let numbers = if pen.left() >= 66 { 44 } else { 0 };
    let bar = pen.left().saturating_sub(6 + numbers).min(48);
    pen.stacked(bar, &crate::parts::split::parts(&shares)).share(5, Some(shares.busy)).skip(2);
    if numbers > 0 {
        crate::parts::split::numbers(pen, &shares);
    }
}
