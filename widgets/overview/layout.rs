//! Which part of the overview gets which rows: the least of each in order of weight, then what each could use.

use super::{nodes, staves, timeline};
use crate::Cx;
use crate::parts::machine::Machine;
use ratatui::layout::Rect;

/// A part of the overview.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Staves,
    Nodes,
    Queues,
    Cache,
    Processes,
    Disks,
    Timeline,
}

impl Part {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Staves => "staves",
            Self::Nodes => "nodes",
            Self::Queues => "queues",
            Self::Cache => "memory",
            Self::Processes => "processes",
            Self::Disks => "disks",
            Self::Timeline => "timeline",
        }
    }
}

/// Where everything goes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Plan {
    places: [Option<(Part, Rect)>; 7],
    left_out: [Option<Part>; 7],
    note: Option<Rect>,
    wants_timeline: bool,
}

impl Plan {
    pub(super) fn places(&self) -> impl Iterator<Item = (Part, Rect)> + '_ {
        self.places.iter().copied().flatten()
    }

    pub(super) fn area(&self, part: Part) -> Option<Rect> {
        self.places().find(|(placed, _)| *placed == part).map(|(_, area)| area)
    }

    pub(super) fn left_out(&self) -> impl Iterator<Item = Part> + '_ {
        self.left_out.iter().copied().flatten()
    }

    pub(super) fn left_out_area(&self) -> Option<Rect> {
        self.note
    }

    fn place(&mut self, part: Part, area: Rect) {
        if part == Part::Timeline && area.height == 0 && !self.wants_timeline {
            return;
        }
        let free = if area.height == 0 { None } else { self.places.iter_mut().find(|place| place.is_none()) };
        if let Some(place) = free {
            *place = Some((part, area));
        } else if let Some(place) = self.left_out.iter_mut().find(|place| place.is_none()) {
            *place = Some(part);
        }
    }
}

/// The longest list gets this many rows before others get more than their least.
const LONGEST: u16 = 8;

/// From this width on two parts stand side by side.
const TWO_COLUMNS: u16 = 100;

/// A part's rows: the fewest that make sense, what it could use, and what it gets.
#[derive(Clone, Copy)]
struct Slot {
    least: u16,
    useful: u16,
    rows: u16,
}

impl Slot {
    /// A part that there is no need for.
    const NONE: Self = Self { least: 0, useful: 0, rows: 0 };

    fn new(least: u16, useful: u16) -> Self {
        Self { least, useful: useful.max(least), rows: 0 }
    }

    /// Two parts side by side.
    fn beside(self, other: Self) -> Self {
        Self::new(self.least.max(other.least), self.useful.max(other.useful))
    }
}

pub(super) fn plan(cx: &Cx<'_>, machine: &Machine, area: Rect) -> Plan {
    if area.width >= TWO_COLUMNS { wide(cx, machine, area) } else { narrow(cx, machine, area) }
}

/// The rows that each part could use, its rule included.
fn wishes(cx: &Cx<'_>, machine: &Machine, area: Rect) -> [Slot; 7] {
    // What is left between the margins.
    let inner = area.width.saturating_sub(2);
    let rows = |count: usize| count.min(40) as u16;
    let queues = crate::queues::compact_rows(cx);
    let limited = cx.frame.cgroups.iter().filter(|cgroup| cgroup.memory.is_some() && *cgroup.path != *"/").count();
    let disks = crate::disks::compact_rows(cx);
    let staves = staves::rows(inner, area.height);
    let nodes = nodes::useful_rows(machine, area.height);
    [
        Slot::new(staves, staves),
        Slot::new(nodes::least_rows(machine), nodes),
        // An interface without its busiest queue is only half of the story.
        Slot::new(1 + rows(queues).clamp(1, 2), 1 + rows(queues).clamp(1, 12)),
        Slot::new(2, 1 + rows(limited).clamp(1, 8)),
        Slot::new(4, 1 + rows(cx.frame.processes.len() + 1).clamp(2, 40)),
        Slot::new(3, 2 + rows(disks).clamp(1, 8)),
        if timeline::has_shape(cx) { Slot::new(2, 1 + timeline::rows(inner)) } else { Slot::NONE },
    ]
}

/// Shares rows out: the least of each while there are rows, by index; then what is useful, evenly.
fn share_out(slots: &mut [Slot], all: u16) {
    let mut rows = all;
    for slot in slots.iter_mut() {
        // Half a part helps more than none where it can be drawn shorter than it would like.
        slot.rows = if rows >= slot.least { slot.least } else { 0 };
        rows -= slot.rows;
    }
    // The machine first, as long as half of the screen is left.
    if let Some(nodes) = slots.get_mut(1).filter(|slot| slot.rows > 0) {
        let more = (nodes.useful - nodes.rows).min(rows.saturating_sub(all / 3).max(rows / 3));
        nodes.rows += more;
        rows -= more;
    }
    // Then a few lines of the longest list.
    if let Some(longest) = slots.iter_mut().filter(|slot| slot.rows > 0).max_by_key(|slot| slot.useful) {
        let more = longest.useful.min(LONGEST).saturating_sub(longest.rows).min(rows);
        longest.rows += more;
        rows -= more;
    }
    let mut grew = true;
    while rows > 0 && grew {
        grew = false;
        for slot in slots.iter_mut().filter(|slot| slot.rows > 0 && slot.rows < slot.useful) {
            if rows > 0 {
                slot.rows += 1;
                rows -= 1;
                grew = true;
            }
        }
    }
    // What nobody needs makes the charts taller.
    if let Some(last) = slots.last_mut().filter(|slot| slot.rows > 0) {
        last.rows += rows;
    }
}

fn narrow(cx: &Cx<'_>, machine: &Machine, area: Rect) -> Plan {
    let [staves, nodes, queues, cache, processes, disks, timeline] = wishes(cx, machine, area);
    // By weight, which is not the order from top to bottom.
    let mut slots = [staves, nodes, queues, cache, processes, disks, timeline];
    let all: u16 = slots.iter().map(|slot| slot.least).sum();
    // A row for the names of what did not fit.
    let note = u16::from(all > area.height && area.height > 2);
    share_out(&mut slots, area.height - note);
    let mut plan = Plan { wants_timeline: timeline::has_shape(cx), ..Plan::default() };
    let mut y = area.y;
    let parts = [Part::Staves, Part::Nodes, Part::Queues, Part::Cache, Part::Processes, Part::Disks, Part::Timeline];
    for (part, slot) in parts.into_iter().zip(slots) {
        plan.place(part, Rect { y, height: slot.rows, ..area });
        y += slot.rows;
    }
    if note > 0 {
        plan.note = Some(Rect { y: area.bottom() - 1, height: 1, ..area });
    }
    plan
}

fn wide(cx: &Cx<'_>, machine: &Machine, area: Rect) -> Plan {
    let gap = 2;
    let left = (area.width - gap) * 52 / 100;
    let [staves, nodes, queues, cache, processes, disks, timeline] = wishes(cx, machine, area);
    let mut slots = [staves, nodes.beside(cache), queues.beside(disks), processes, timeline];
    let all: u16 = slots.iter().map(|slot| slot.least).sum();
    let note = u16::from(all > area.height && area.height > 2);
    share_out(&mut slots, area.height - note);
    let [staves, top, middle, processes, timeline] = slots;
    let mut plan = Plan { wants_timeline: timeline::has_shape(cx), ..Plan::default() };
    let mut y = area.y;
    let mut row = |rows: u16| {
        let place = Rect { y, height: rows, ..area };
        y += rows;
        place
    };
    plan.place(Part::Staves, row(staves.rows));
    for (rows, one, two) in [(top.rows, Part::Nodes, Part::Cache), (middle.rows, Part::Queues, Part::Disks)] {
        let place = row(rows);
        plan.place(one, Rect { width: left, ..place });
        plan.place(two, Rect { x: area.x + left + gap, width: area.width - left - gap, ..place });
    }
    plan.place(Part::Processes, row(processes.rows));
    plan.place(Part::Timeline, row(timeline.rows));
    if note > 0 {
        plan.note = Some(Rect { y: area.bottom() - 1, height: 1, ..area });
    }
    plan
}
