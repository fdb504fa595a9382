//! The machine as a drawing: a row per node with its cores as heat, what they do, and the node's memory.

mod row;

use super::cells::{self, Packing};
use crate::parts::machine::{Machine, Section};
use crate::parts::{Pen, number, panel, severity, split};
use crate::{Charset, Cx, Role, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::frame::Node;
use topotop_model::locale::screen::overview as text;
use topotop_model::locale::screen::{processes, shared};

/// A cell on the screen and the CPU that it shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit {
    pub(super) row: u16,
    pub(super) from: u16,
    pub(super) to: u16,
    pub(super) cpu: u32,
}

/// Up to so many CPUs each has a row of its own.
const FEW_CPUS: usize = 8;

/// The columns of everything beside the cells.
const NUMBERS: u16 = row::WIDTH;

/// The columns of the title on the rule.
const TITLE: u16 = 8;

pub(super) fn least_rows(machine: &Machine) -> u16 {
    1 + machine.sections.len().clamp(1, 4) as u16
}

/// On a tall screen every thread of a core has a row.
const TALL: u16 = 50;

/// On a low screen the row of its node has to do for a CPU.
const LOW: u16 = 26;

pub(super) fn useful_rows(machine: &Machine, screen: u16) -> u16 {
    let sections = machine.sections.len().clamp(1, 64) as u16;
    let cpus = machine.cpus.len();
    match sections {
        // All of them or none: part of them would only take rows from the others.
        _ if cpus <= FEW_CPUS && screen < LOW => 1 + sections,
        _ if cpus <= FEW_CPUS => 2 + sections + cpus as u16,
        sections if sections <= 4 && screen >= TALL => 1 + 3 * sections,
        sections => 1 + sections,
    }
}

/// How the rows of an area are used.
#[derive(Clone, Copy)]
enum Style {
    /// A row per node and one per CPU.
    Cpus,
    /// Two rows per node: the threads of a core one above the other.
    Stacked,
    /// A row per node.
    Rows,
    /// Several nodes side by side, without numbers.
    Columns(u16),
}

/// Nodes that have memory but no CPUs.
pub(super) fn without_cpus<'a>(cx: &Cx<'a>, machine: &'a Machine) -> impl Iterator<Item = &'a Node> {
    let shown = move |id| machine.sections.iter().any(|section| section.node == Some(id));
    cx.frame.nodes.iter().filter(move |node| !shown(node.id))
}

fn style(machine: &Machine, others: usize, area: Rect) -> Style {
    let (rows, nodes) = (usize::from(area.height), machine.sections.len() + others);
    match () {
        () if machine.cpus.len() <= FEW_CPUS && rows >= nodes + machine.cpus.len() => Style::Cpus,
        () if rows >= 3 * nodes => Style::Stacked,
        () if rows >= nodes => Style::Rows,
        () => Style::Columns(nodes.div_ceil(rows.max(1)) as u16),
    }
}

/// Columns of the bracket and the number before the cells.
fn label_width(machine: &Machine) -> u16 {
    let digits = |id: u32| if id >= 100 { 3 } else { 2 };
    let wide = |section: &Section| match section.node {
        Some(node) => Some(digits(node)),
        None => package(machine, section).map(|name| name.len() as u16),
    };
    let widest = machine.sections.iter().filter_map(wide).max().unwrap_or(2);
    widest + 1 + u16::from(machine.is_parted())
}

pub(super) fn draw(cx: &Cx<'_>, machine: &Machine, area: Rect, buf: &mut Buffer) {
    let inner = panel::inset(panel::titled(cx, area, &text::NODES_TITLE, "", false, buf));
    if machine.sections.is_empty() {
        Pen::new(cx, inner, 0, buf).missing(7, None).skip(1).text(Role::Absent, &shared::NO_CPU);
        return;
    }
    match style(machine, without_cpus(cx, machine).count(), inner) {
        Style::Columns(columns) => side_by_side(cx, machine, columns, inner, buf),
        style => rows(cx, machine, style, area, inner, buf),
    }
}

/// A row or more for every node.
fn rows(cx: &Cx<'_>, machine: &Machine, style: Style, area: Rect, inner: Rect, buf: &mut Buffer) {
    let label = label_width(machine);
    let packing = Packing::fitting(machine, inner.width.saturating_sub(label + NUMBERS).max(4));
    let stacked = matches!(style, Style::Stacked) && machine.threads() == 2;
    let cells = cells_width(machine, packing, stacked, inner.width.saturating_sub(label + NUMBERS));
    // The heads of the columns stand on the rule, to the right of its title.
    let columns = row::Columns::new(inner, (label + cells.width).max(TITLE));
    columns.heads(cx, area, buf);
    if cells.stacked.is_none() && packing.cpus > 1 && label + cells.width >= TITLE + 12 {
        let note = text::PerCell { count: &packing.cpus };
        Pen::new(cx, area, 0, buf).skip(TITLE).text(Role::Dim, &note.to_string()).text(Role::Dim, " ");
    }
    let mut y = 0;
    for (at, section) in machine.sections.iter().enumerate() {
        let mut pen = Pen::new(cx, inner, y, buf);
        heading(&mut pen, machine, at, label);
        if let Some(width) = cells.stacked {
            cells::draw_thread(&mut pen, machine, section, 0, width);
        } else {
            cells::draw(&mut pen, machine, section, packing);
        }
        columns.section(&mut pen, machine, section);
        y += 1;
        if matches!(style, Style::Stacked) {
            let mut pen = Pen::new(cx, inner, y, buf);
            bracket(&mut pen, machine, at, true);
            pen.to(inner.x + label);
            if let Some(width) = cells.stacked {
                cells::draw_thread(&mut pen, machine, section, 1, width);
            }
            columns.more(&mut pen, machine, section);
            y += 2;
        }
        if matches!(style, Style::Cpus) {
            for &cpu in machine.cpus_of(machine.cores_of(section)) {
                row::cpu(&mut Pen::new(cx, inner, y, buf), cpu);
                y += 1;
            }
        }
    }
    if matches!(style, Style::Cpus) {
        let mut pen = Pen::new(cx, inner, y, buf);
        // Memory bars above have signs of their own.
        panel::legend(pen.skip(3).text(Role::Dim, &processes::CPU_HEAD).skip(1), &split::SIGNS);
        y += 1;
    }
    for (node, y) in without_cpus(cx, machine).zip(y..) {
        let mut pen = Pen::new(cx, inner, y, buf);
        pen.skip(u16::from(machine.is_parted()));
        pen.number(Role::node(node.id), 2, &number::id(node.id)).skip(1);
        pen.field(Role::Absent, cells.width.max(7), &text::NO_CPUS);
        columns.memory_of(&mut pen, Some(node));
    }
}

/// How wide the cells are, and the width of one where threads are stacked.
struct Cells {
    width: u16,
    stacked: Option<u16>,
}

fn cells_width(machine: &Machine, packing: Packing, stacked: bool, room: u16) -> Cells {
    let widest = |of: &dyn Fn(&Section) -> u16| machine.sections.iter().map(of).max().unwrap_or(0);
    if stacked {
        for cell in [2, 1] {
            let width = widest(&|section| cells::thread_width(machine, section, cell));
            if width <= room {
                return Cells { width, stacked: Some(cell) };
            }
        }
    }
    Cells { width: widest(&|section| packing.width(machine, section)), stacked: None }
}

/// `p3`: where nodes are not known, packages tell their CPUs apart.
fn package(machine: &Machine, section: &Section) -> Option<String> {
    section.package.filter(|_| machine.packages() > 1).map(|package| format!("p{package}"))
}

/// The bracket that joins the nodes of a package, and the node's number.
fn heading(pen: &mut Pen<'_>, machine: &Machine, at: usize, label: u16) {
    let start = pen.x();
    bracket(pen, machine, at, false);
    let section = machine.sections.get(at);
    let package = section.and_then(|section| package(machine, section));
    match (section.and_then(|section| section.node), package) {
        (Some(node), _) => {
            let width = label - 1 - (pen.x() - start);
            pen.number(Role::node(node), width, &number::id(node));
            if let Some(severity) = severity::worst(pen.cx(), &Subject::Node(node)) {
                pen.severity(severity);
            }
        }
        (None, Some(package)) => {
            let width = label - 1 - (pen.x() - start);
            pen.skip(width.saturating_sub(package.len() as u16)).text(Role::Head, &package);
        }
        (None, None) => {
            pen.none(label - 1 - (pen.x() - start));
        }
    }
    pen.to(start + label);
}

fn bracket(pen: &mut Pen<'_>, machine: &Machine, at: usize, below: bool) {
    if !machine.is_parted() {
        return;
    }
    let package = |at: Option<usize>| at.and_then(|at| machine.sections.get(at)).map(|section| section.package);
    let here = package(Some(at));
    let (first, last) = (here != package(at.checked_sub(1)), here != package(Some(at + 1)));
    let ascii = pen.cx().charset == Charset::Ascii;
    let glyph = match (first && !below, last, ascii) {
        (true, true, false) if !below => "╶",
        (true, _, false) => "╭",
        (false, true, false) => "╰",
        (false, false, false) => "│",
        (true, _, true) => "/",
        (false, true, true) => "\\",
        (false, false, true) => "|",
    };
    let style = pen.cx().theme.style(Role::Border);
    pen.glyph(style, glyph);
}

/// More nodes than rows: cells, number and busy share, side by side.
fn side_by_side(cx: &Cx<'_>, machine: &Machine, columns: u16, area: Rect, buf: &mut Buffer) {
    let width = area.width / columns.max(1);
    let packing = Packing::fitting(machine, width.saturating_sub(10).max(2));
    let rows = usize::from(area.height.max(1));
    for (at, section) in machine.sections.iter().enumerate() {
        let place = Rect { x: area.x + (at / rows) as u16 * width, width: width.saturating_sub(2), ..area };
        let mut pen = Pen::new(cx, place.intersection(area), (at % rows) as u16, buf);
        pen.known(Role::Dim, 3, topotop_model::Known::or_none(section.node), number::id).skip(1);
        cells::draw(&mut pen, machine, section, packing);
        pen.share(5, row::Load::of(cx, machine, section).busy);
    }
    for (node, at) in without_cpus(cx, machine).zip(machine.sections.len()..) {
        let place = Rect { x: area.x + (at / rows) as u16 * width, width: width.saturating_sub(2), ..area };
        let mut pen = Pen::new(cx, place.intersection(area), (at % rows) as u16, buf);
        pen.number(Role::Dim, 3, &number::id(node.id)).skip(1).text(Role::Absent, &text::NO_CPUS);
    }
}

/// Where each CPU's cell is, for clicks.
pub(super) fn hits(cx: &Cx<'_>, machine: &Machine, area: Rect, hits: &mut Vec<Hit>) {
    let area = panel::inset(panel::below(area, 1));
    let others = without_cpus(cx, machine).count();
    let Style::Rows = style(machine, others, area) else { return };
    let label = label_width(machine);
    let packing = Packing::fitting(machine, area.width.saturating_sub(label + NUMBERS).max(4));
    for (at, section) in machine.sections.iter().enumerate() {
        packing.each(machine, section, |column, cpus| {
            let from = area.x + label + column;
            hits.extend(cpus.first().map(|&cpu| Hit { row: area.y + at as u16, from, to: from + 1, cpu }));
        });
    }
}
