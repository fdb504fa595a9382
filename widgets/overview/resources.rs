//! The resources of the machine, a cell for each.

use crate::answer::mark;
use crate::parts::{Pen, names, number};
use crate::{Charset, Cx, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::bottleneck::{Resource, ResourceKind, Resources, Verdict};
use topotop_model::frame::Cgroup;
use topotop_model::locale::Text;
use topotop_model::locale::screen::overview as text;
use topotop_model::locale::screen::shared;
use topotop_model::rules::Subject;

/// The width that a resource needs to say something.
const WIDTH: u16 = 19;

/// How many stand side by side.
fn columns(width: u16) -> u16 {
    match width / WIDTH {
        0 | 1 => 1,
        2 | 3 => 2,
        _ => 4,
    }
}

/// The rows that they take at a width.
pub(super) fn rows(width: u16) -> u16 {
    8_u16.div_ceil(columns(width))
}

/// The widths of the names where four stand side by side: what is above one another lines up.
const NAMES: [u16; 8] = [8, 7, 5, 7, 8, 7, 5, 7];

/// Where a column begins. Of four, the first is for CPUs, whose names are short, and the others are for longer ones.
fn edge(width: u16, columns: u16, column: u16) -> u16 {
    let share = |parts: u16, all: u16| (u32::from(width) * u32::from(parts) / u32::from(all)) as u16;
    match (columns, column) {
        (4, 0) => 0,
        (4, column) => share([20, 40, 61].get(usize::from(column) - 1).copied().unwrap_or(80), 80),
        (columns, column) => share(column, columns),
    }
}

/// A cell: a resource, or the two directions of a link.
struct Cell<'a> {
    name: Text,
    resource: &'a Resource,
    other: Option<&'a Resource>,
}

/// In the order in which they are drawn.
fn cells(resources: &Resources) -> Vec<Cell<'_>> {
    let one = |name, kind| Some(Cell { name, resource: resources.get(kind)?, other: None });
    let nic = || {
        let (rx, tx) = (resources.get(ResourceKind::NicIn)?, resources.get(ResourceKind::NicOut)?);
        let full = |resource: &Resource| resource.share.unwrap_or(0.0);
        let (resource, other) = if (tx.verdict, full(tx)) > (rx.verdict, full(rx)) { (tx, rx) } else { (rx, tx) };
        Some(Cell { name: text::SERIES_NIC, resource, other: Some(other) })
    };
    let cells = [
        one(text::SERIES_CORE, ResourceKind::Core),
        one(text::RESOURCE_THREAD, ResourceKind::Thread),
        one(text::SERIES_DISK, ResourceKind::Disk),
        one(text::SERIES_MEMORY, ResourceKind::Memory),
        one(text::SERIES_SOFTIRQ, ResourceKind::Softirq),
        one(text::RESOURCE_REMOTE, ResourceKind::Remote),
        nic(),
        one(text::RESOURCE_QUOTA, ResourceKind::Quota),
    ];
    cells.into_iter().flatten().collect()
}

pub(super) fn draw(cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
    let resources = &cx.judgement.resources;
    let columns = columns(area.width);
    let widths: [u16; 8] = if columns == 4 { NAMES } else { [8; 8] };
    for (at, cell) in cells(resources).iter().enumerate() {
        let (column, row) = (at as u16 % columns, at as u16 / columns);
        let (from, to) = (edge(area.width, columns, column), edge(area.width, columns, column + 1));
        let place = Rect { x: area.x + from, width: (to - from).saturating_sub(1), ..area };
        let name = widths.get(at).copied().unwrap_or(8);
        one(&mut Pen::new(cx, place, row, buf), name, cell);
    }
}

fn one(pen: &mut Pen<'_>, name: u16, cell: &Cell<'_>) {
    let (width, resource) = (pen.left(), cell.resource);
    let (role, glyph) = mark(resource.verdict, pen.cx().charset);
    pen.text(role, glyph);
    pen.field(if resource.verdict == Verdict::Limiting { Role::Title } else { Role::Dim }, name, &cell.name);
    match (resource.share, resource.verdict) {
        (Some(share), _) => {
            let bar = width.saturating_sub(name + 6 + 15).min(16);
            if bar >= 5 {
                pen.meter(bar, Some(share)).skip(1);
            } else if width >= 25 {
                pen.heat(Some(share)).skip(1);
            }
            // Where there is room for nothing else, the number stands for the glyph. What is full and limits nobody is no
            // alarm.
            if resource.verdict == Verdict::Full {
                pen.rate(Role::Warn, 4, Some(share), number::percent).skip(1);
            } else {
                pen.share(4, Some(share)).skip(1);
            }
            what(pen, cell);
        }
        (None, Verdict::Unknown) if resource.subject.is_some() => {
            if width >= 27 {
                pen.text(Role::Absent, &shared::UNKNOWN).skip(1);
            }
            what(pen, cell);
        }
        (None, Verdict::Limiting) => what(pen, cell),
        (None, _) => {
            let note = if resource.note.is_empty() { shared::UNKNOWN.as_str() } else { brief(resource, pen.left()) };
            pen.text(Role::Absent, note);
        }
    }
}

/// The note of a resource if it fits, else its state.
fn brief(resource: &Resource, width: u16) -> &'static str {
    let note = resource.note.as_str();
    if width >= names::width(note) {
        return note;
    }
    if resource.verdict == Verdict::Unknown { shared::UNKNOWN.as_str() } else { shared::NONE.as_str() }
}

/// Whose it is.
fn what(pen: &mut Pen<'_>, cell: &Cell<'_>) {
    let resource = cell.resource;
    match (&resource.subject, cell.other) {
        (_, Some(other)) => directions(pen, resource, other),
        (Some(Subject::Cpu(id)), _) => {
            pen.text(Role::Text, "c").text(Role::Text, number::id(*id).as_str());
        }
        (Some(Subject::Process(pid, _)), _) => {
            let pid = number::id(resource.tid.unwrap_or(*pid));
            pen.text(Role::Text, &resource.name);
            // Part of a number would be another one.
            if pen.left() > pid.width() {
                pen.skip(1).text(Role::Dim, pid.as_str());
            }
        }
        (Some(Subject::Cgroup(path)), _) if resource.kind == ResourceKind::Quota => {
            pen.named(Role::Text, &resource.name);
            let held = pen.cx().frame.cgroup(path).and_then(|cgroup: &Cgroup| cgroup.cpu.throttled_ratio);
            if let Some(ratio) = held.filter(|ratio| *ratio > 0.0 && pen.left() >= 15) {
                pen.skip(1).text(Role::Text, &text::Throttled { share: &number::percent(ratio) }.to_string());
            }
        }
        _ => drop(pen.named(Role::Text, &resource.name)),
    }
}

/// Both directions of a link: shares where its capacity is known, else bytes.
fn directions(pen: &mut Pen<'_>, resource: &Resource, other: &Resource) {
    let (rx, tx) = if pen.cx().charset == Charset::Ascii { ("in", "out") } else { ("↓", "↑") };
    let mut both = [resource, other];
    both.sort_by_key(|resource| resource.kind);
    for (arrow, resource) in [rx, tx].into_iter().zip(both) {
        let text = match (resource.share, resource.used) {
            (Some(share), _) => number::percent(share),
            (None, Some((bytes, _))) => number::bytes(bytes),
            (None, None) => number::Short::from_display(format_args!("?")),
        };
        pen.text(Role::Dim, arrow).text(Role::Text, text.as_str()).skip(1);
    }
    pen.text(Role::Dim, &resource.name);
}
