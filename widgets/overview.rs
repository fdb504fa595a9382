//! One look at the whole machine: the resources, the drawing of its nodes, and the short form of every other screen.

mod cells;
mod host;
mod layout;
mod nodes;
mod pressure;
mod resources;
mod timeline;

pub(crate) use cells::{Packing, draw as draw_cells};

use crate::parts::machine::{Grouping, Machine};
use crate::parts::{self, Pen, legend, names, panel, severity};
use crate::{Action, Cx, Outcome, Panel, Role, Subject};
use layout::Part;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::locale::screen::overview as text;
use topotop_model::locale::screen::shared;
use topotop_model::locale::{Text, join};

/// The overview.
#[derive(Debug, Default)]
pub struct Overview {
    machine: Machine,
    hits: Vec<nodes::Hit>,
}

impl Overview {
    /// The overview.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Panel for Overview {
    fn id(&self) -> &'static str {
        "overview"
    }

    fn title(&self) -> Text {
        text::TAB
    }

    fn tab_short(&self) -> Text {
        text::TAB_SHORT
    }

    fn arrange(&mut self, cx: &Cx<'_>, area: Rect) {
        if !self.machine.fits(cx.frame, Grouping::L3) {
            self.machine = Machine::new(cx.frame, Grouping::L3);
        }
        self.hits.clear();
        if let Some(area) = layout::plan(cx, &self.machine, area).area(Part::Nodes) {
            nodes::hits(cx, &self.machine, area, &mut self.hits);
        }
    }

    fn act(&mut self, action: Action, _: &Cx<'_>) -> Outcome {
        let Action::Click { column, row } = action else { return Outcome::Ignored };
        let hit = self.hits.iter().find(|hit| hit.row == row && (hit.from..hit.to).contains(&column));
        hit.map_or(Outcome::Ignored, |hit| Outcome::Selected(Subject::Cpu(hit.cpu)))
    }

    fn legend(&self) -> Vec<panel::Sign> {
        legend::of(&[legend::HEAT, legend::OVERVIEW, legend::BAR, legend::PROCESSES], true)
    }

    fn draw(&self, cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
        let fresh;
        let machine = if self.machine.fits(cx.frame, Grouping::L3) {
            &self.machine
        } else {
            fresh = Machine::new(cx.frame, Grouping::L3);
            &fresh
        };
        let plan = layout::plan(cx, machine, area);
        let (wide, screen) = (layout::is_wide(area), area.height);
        for (part, area) in plan.places() {
            match part {
                Part::Findings if !wide => findings_untitled(cx, area, buf),
                _ => draw_part(cx, machine, screen, (part, area), buf),
            }
        }
        if let Some(area) = plan.left_out_area() {
            left_out(cx, &plan, area, buf);
        }
    }
}

fn draw_part(cx: &Cx<'_>, machine: &Machine, screen: u16, (part, area): (Part, Rect), buf: &mut Buffer) {
    match part {
        Part::Resources => {
            let (inner, head) = (panel::inset(area), host::rows(cx, screen));
            host::draw(cx, Rect { height: head, ..inner }, buf);
            resources::draw(cx, panel::below(inner, head), buf);
        }
        Part::Findings => findings(cx, area, buf),
        Part::Nodes => nodes::draw(cx, machine, area, buf),
        Part::Queues => {
            let gaps = gaps(cx, &["sys/class/net", "proc/interrupts", "proc/irq"]);
            let dot = if irqbalance(cx).is_empty() || gaps.is_empty() { "" } else { join::ITEMS.as_str() };
            let note = format!("{}{dot}{gaps}", irqbalance(cx));
            let note = counted(crate::queues::compact_counts(cx, area.height.saturating_sub(1)), &note);
            let inner = panel::titled(cx, area, &text::QUEUES_TITLE, &note, false, buf);
            crate::queues::compact(cx, panel::left_open(inner), buf);
        }
        Part::Cache => {
            let note = gaps(cx, &["sys/fs/cgroup"]);
            let note = counted(crate::cgroups::compact_counts(cx, area.height.saturating_sub(1)), &note);
            let inner = panel::titled(cx, area, &text::MEMORY_TITLE, &note, false, buf);
            crate::cgroups::compact(cx, panel::left_open(inner), buf);
        }
        Part::Processes => {
            let note = gaps(cx, &["proc/*"]);
            let note = counted(crate::processes::compact_counts(cx, area.height.saturating_sub(1)), &note);
            let inner = panel::titled(cx, area, &text::PROCESSES_TITLE, &note, false, buf);
            crate::processes::compact(cx, panel::left_open(inner), buf);
        }
        Part::Disks => {
            let note = gaps(cx, &["sys/block", "proc/diskstats"]);
            let note = counted(crate::disks::compact_counts(cx, area.height.saturating_sub(2)), &note);
            let inner = panel::titled(cx, area, &text::DISKS_TITLE, &note, false, buf);
            pressure::draw(cx, panel::inset(inner), buf);
            crate::disks::compact(cx, panel::left_open(panel::below(inner, 1)), buf);
        }
        Part::Timeline => timeline::draw(cx, area, buf),
    }
}

/// A note, after how many of a list are shown where that is not all.
fn counted((shown, total): (usize, usize), note: &str) -> String {
    if shown >= total {
        return note.to_owned();
    }
    let count = shared::SomeOf { shown: &shown, total: &total };
    if note.is_empty() { count.to_string() } else { format!("{count}{}{note}", join::ITEMS) }
}

/// What is wrong, as a part with a title.
fn findings(cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
    let none = severity::of_machine(cx).next().is_none();
    let quiet = none || !severity::is_judged(cx);
    let note = if quiet { String::new() } else { severity::Counts::of(cx.judgement).rules() };
    let inner = panel::titled(cx, area, &text::FINDINGS_TITLE, &note, false, buf);
    if !none {
        Pen::new(cx, area, 0, buf).skip(names::width(&text::FINDINGS_TITLE) + 3).severities().text(Role::Text, " ");
    }
    crate::findings::compact(cx, panel::inset(inner), buf);
}

/// The same on a narrow screen, where a title would cost more than it tells.
fn findings_untitled(cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
    if area.height == 1 {
        crate::findings::line(cx, area, buf);
    } else {
        crate::findings::compact(cx, panel::inset(area), buf);
    }
}

/// What could not be read for a part, in a few words for its rule: the rows are for what could. What the kernel does
/// not have at all is on the list of gaps only.
fn gaps(cx: &Cx<'_>, prefixes: &[&str]) -> Text {
    use topotop_model::Reason;
    let has = |reason| parts::gaps::of(cx, prefixes).any(|gap| gap.reason == reason);
    match () {
        () if has(Reason::PermissionDenied) => text::DENIED,
        () if has(Reason::TimedOut) || has(Reason::Malformed) => text::NOT_READ,
        () => Text::EMPTY,
    }
}

fn irqbalance(cx: &Cx<'_>) -> Text {
    match cx.frame.irqbalance.as_ref().map(|irqbalance| &*irqbalance.state) {
        Some("running") => text::IRQBALANCE_RUNNING,
        Some("oneshot") => text::IRQBALANCE_ONESHOT,
        Some("absent") => text::IRQBALANCE_ABSENT,
        Some("failed") => text::IRQBALANCE_FAILED,
        _ => Text::EMPTY,
    }
}

/// What did not fit is named, so that nothing seems to be missing on the machine.
fn left_out(cx: &Cx<'_>, plan: &layout::Plan, area: Rect, buf: &mut Buffer) {
    let mut pen = Pen::new(cx, panel::inset(area), 0, buf);
    pen.text(Role::Dim, &text::HIDDEN);
    for part in plan.left_out() {
        pen.skip(1).text(Role::Dim, &part.name());
    }
}

#[cfg(test)]
mod tests;
