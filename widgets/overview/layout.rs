//! Which part of the overview gets which rows: the least of each in order of weight, then what each could use.

use super::{host, nodes, resources, timeline};
use crate::parts::machine::Machine;
use crate::parts::severity;
use crate::{Cx, Subject};
use ratatui::layout::Rect;
use topotop_model::bottleneck::ResourceKind;
use topotop_model::locale::Text;
use topotop_model::locale::screen::overview as text;
use topotop_model::rules::Severity;

/// A part of the overview.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Resources,
    Findings,
    Nodes,
    Queues,
    Cache,
    Processes,
    Disks,
    Timeline,
}

impl Part {
    pub(super) fn name(self) -> Text {
        match self {
            Self::Resources => text::PART_RESOURCES,
            Self::Findings => text::PART_FINDINGS,
            Self::Nodes => text::PART_NODES,
            Self::Queues => text::PART_QUEUES,
            Self::Cache => text::PART_MEMORY,
            Self::Processes => text::PART_PROCESSES,
            Self::Disks => text::PART_DISKS,
            Self::Timeline => text::PART_TIMELINE,
        }
    }
}

/// Where everything goes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Plan {
    places: [Option<(Part, Rect)>; 8],
    left_out: [Option<Part>; 8],
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
    /// True for what is shown before all others: what limits the machine and what is critical on it.
    urgent: bool,
}

impl Slot {
    /// A part that there is no need for.
    const NONE: Self = Self { least: 0, useful: 0, rows: 0, urgent: false };

    fn new(least: u16, useful: u16) -> Self {
        Self { least, useful: useful.max(least), rows: 0, urgent: false }
    }

    /// Two columns of parts side by side. The right one's lists are not worth blank rows in the left one.
    fn beside(left: [Self; 2], right: [Self; 3]) -> Self {
        let sum = |parts: &[Self], of: fn(&Self) -> u16| parts.iter().map(of).sum::<u16>();
        let (first, rest) = right.split_first().map_or((Self::NONE, &[][..]), |(first, rest)| (*first, rest));
        let enough = first.useful + rest.iter().map(|slot| slot.useful.min(slot.least + 1)).sum::<u16>();
        let least = sum(&left, |slot| slot.least).max(sum(&right, |slot| slot.least));
        // Findings are among them.
        Self { urgent: true, ..Self::new(least, sum(&left, |slot| slot.useful).max(enough)) }
    }
}

pub(super) fn plan(cx: &Cx<'_>, machine: &Machine, area: Rect) -> Plan {
    if is_wide(area) { wide(cx, machine, area) } else { narrow(cx, machine, area) }
}

/// True where two parts stand side by side.
pub(super) fn is_wide(area: Rect) -> bool {
    area.width >= TWO_COLUMNS
}

/// The rows that each part could use, its rule included.
fn wishes(cx: &Cx<'_>, machine: &Machine, area: Rect) -> [Slot; 8] {
    // What is left between the margins.
    let inner = area.width.saturating_sub(2);
    let rows = |count: usize| count.min(40) as u16;
    let queues = crate::queues::compact_rows(cx);
    let limited = cx.frame.cgroups.iter().filter(|cgroup| cgroup.memory.is_some() && *cgroup.path != *"/").count();
    let disks = crate::disks::compact_rows(cx);
    let resources = host::rows(cx, area.height) + resources::rows(inner);
    let others = nodes::without_cpus(cx, machine).count();
    let nodes = nodes::useful_rows(machine, area.height) + others.min(8) as u16;
    let mut slots = [
        Slot::new(resources, resources),
        findings(cx, area),
        Slot::new(nodes::least_rows(machine) + others.min(4) as u16, nodes),
        // An interface without its busiest queue is only half of the story.
        Slot::new(1 + rows(queues).clamp(1, 2), 1 + rows(queues).clamp(1, 12)),
        Slot::new(2, 1 + rows(limited).clamp(1, 8)),
        Slot::new(4, 1 + rows(cx.frame.processes.len() + 1).clamp(2, 40)),
        Slot::new(3, 2 + rows(disks).clamp(1, 8)),
        if timeline::has_shape(cx) { Slot::new(2, 1 + timeline::rows(cx, inner, area.height)) } else { Slot::NONE },
    ];
    for (slot, part) in slots.iter_mut().zip(PARTS) {
        slot.urgent = is_urgent(cx, part);
    }
    slots
}

/// True for a part that holds what limits the machine, or what a critical finding is about.
fn is_urgent(cx: &Cx<'_>, part: Part) -> bool {
    let answer = &cx.judgement.bottleneck;
    let limiting = answer.resource.as_ref().filter(|_| answer.is_limit()).map(|resource| match resource.kind {
        ResourceKind::Disk | ResourceKind::IoThrottle => Part::Disks,
        ResourceKind::NicIn | ResourceKind::NicOut | ResourceKind::Softirq => Part::Queues,
        ResourceKind::Memory | ResourceKind::Swap | ResourceKind::Quota => Part::Cache,
        ResourceKind::Thread | ResourceKind::Remote => Part::Processes,
        _ => Part::Nodes,
    });
    let of = |subject: &Subject| match subject {
        Subject::Disk(_) => Some(Part::Disks),
        Subject::Nic(_) | Subject::Irq(_) => Some(Part::Queues),
        Subject::Cgroup(_) => Some(Part::Cache),
        Subject::Process(..) => Some(Part::Processes),
        Subject::Cpu(_) | Subject::Node(_) => Some(Part::Nodes),
        Subject::Host | Subject::Accelerator(_) => None,
    };
    let mut critical = severity::of_machine(cx).filter(|finding| finding.severity == Severity::Critical);
    matches!(part, Part::Resources | Part::Findings)
        || limiting == Some(part)
        || critical.any(|finding| of(&finding.subject) == Some(part))
}

/// A line on a narrow screen, where there is room some more; on a wide one a part with a title.
fn findings(cx: &Cx<'_>, area: Rect) -> Slot {
    if is_wide(area) {
        let useful = crate::findings::compact_rows(cx, right_width(area).saturating_sub(2));
        // A line for each, and all of the worst one.
        let few = (cx.judgement.findings.len() as u16).min(6) + 3;
        return Slot::new(2, 1 + useful.min(few.max(area.height / 5)));
    }
    let useful = crate::findings::compact_rows(cx, area.width.saturating_sub(2));
    Slot::new(1, useful.min((area.height / 7).max(1)))
}

/// Gives every part its least while there are rows, the urgent ones first; returns what is left.
fn least(slots: &mut [Slot], mut rows: u16) -> u16 {
    let mut order: Vec<&mut Slot> = slots.iter_mut().collect();
    order.sort_by_key(|slot| !slot.urgent);
    for slot in order {
        // Half a part helps more than none where it can be drawn shorter than it would like.
        slot.rows = if rows >= slot.least { slot.least } else { 0 };
        rows -= slot.rows;
    }
    rows
}

/// Gives every part what is useful, evenly; returns what is left.
fn grow(slots: &mut [Slot], mut rows: u16) -> u16 {
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
    rows
}

/// Shares the rows of a column out: the first part gets all that it can use before the others.
fn stack(slots: &mut [Slot], all: u16) {
    let mut rows = least(slots, all);
    if let Some(first) = slots.first_mut().filter(|slot| slot.rows > 0) {
        let more = (first.useful - first.rows).min(rows);
        first.rows += more;
        rows -= more;
    }
    let rest = grow(slots, rows);
    if let Some(last) = slots.iter_mut().rfind(|slot| slot.rows > 0) {
        last.rows += rest;
    }
}

/// Shares rows out: the least of each while there are rows, by index; then what is useful, evenly.
fn share_out(slots: &mut [Slot], machine: usize, all: u16) {
    let mut rows = least(slots, all);
    // The machine first, as long as half of the screen is left.
    if let Some(nodes) = slots.get_mut(machine).filter(|slot| slot.rows > 0) {
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
    rows = grow(slots, rows);
    // What nobody needs makes the charts taller.
    if let Some(last) = slots.last_mut().filter(|slot| slot.rows > 0) {
        last.rows += rows;
    }
}

fn narrow(cx: &Cx<'_>, machine: &Machine, area: Rect) -> Plan {
    // By weight, which is not the order from top to bottom.
    let mut slots = wishes(cx, machine, area);
    let all: u16 = slots.iter().map(|slot| slot.least).sum();
    // A row for the names of what did not fit.
    let note = u16::from(all > area.height && area.height > 2);
    share_out(&mut slots, 2, area.height - note);
    let mut plan = Plan { wants_timeline: timeline::has_shape(cx), ..Plan::default() };
    let mut y = area.y;
    for (part, slot) in PARTS.into_iter().zip(slots) {
        plan.place(part, Rect { y, height: slot.rows, ..area });
        y += slot.rows;
    }
    if note > 0 {
        plan.note = Some(Rect { y: area.bottom() - 1, height: 1, ..area });
    }
    plan
}

/// The parts in the order of [`wishes`].
const PARTS: [Part; 8] = [
    Part::Resources,
    Part::Findings,
    Part::Nodes,
    Part::Queues,
    Part::Cache,
    Part::Processes,
    Part::Disks,
    Part::Timeline,
];

/// Columns between two parts side by side.
const GAP: u16 = 2;

fn left_width(area: Rect) -> u16 {
    area.width.saturating_sub(GAP) * 52 / 100
}

fn right_width(area: Rect) -> u16 {
    area.width.saturating_sub(left_width(area) + GAP)
}

/// The machine and its queues at the left, always at one place; what is found and what fills up at the right.
fn wide(cx: &Cx<'_>, machine: &Machine, area: Rect) -> Plan {
    let [resources, findings, nodes, queues, cache, processes, disks, timeline] = wishes(cx, machine, area);
    let (mut left, mut right) = ([nodes, queues], [findings, cache, disks]);
    let mut slots = [resources, Slot::beside(left, right), processes, timeline];
    let all: u16 = slots.iter().map(|slot| slot.least).sum();
    let note = u16::from(all > area.height && area.height > 2);
    share_out(&mut slots, 1, area.height - note);
    let [resources, columns, processes, timeline] = slots;
    stack(&mut left, columns.rows);
    stack(&mut right, columns.rows);
    let mut plan = Plan { wants_timeline: timeline::has_shape(cx), ..Plan::default() };
    plan.place(Part::Resources, Rect { height: resources.rows, ..area });
    let top = area.y + resources.rows;
    let sides = [
        (Rect { y: top, width: left_width(area), ..area }, [Part::Nodes, Part::Queues].as_slice(), left.as_slice()),
        (
            Rect { x: area.x + left_width(area) + GAP, y: top, width: right_width(area), ..area },
            [Part::Findings, Part::Cache, Part::Disks].as_slice(),
            right.as_slice(),
        ),
    ];
    for (side, parts, slots) in sides {
        let mut y = side.y;
        for (part, slot) in parts.iter().zip(slots) {
            plan.place(*part, Rect { y, height: slot.rows, ..side });
            y += slot.rows;
        }
    }
    let below = top + columns.rows;
    plan.place(Part::Processes, Rect { y: below, height: processes.rows, ..area });
    plan.place(Part::Timeline, Rect { y: below + processes.rows, height: timeline.rows, ..area });
    if note > 0 {
        plan.note = Some(Rect { y: area.bottom() - 1, height: 1, ..area });
    }
    plan
}
