//! Cores × time: a row per CPU, or per few of a node, the newest sample at the right edge.

use crate::parts::chart::{self, Axis, Times};
use crate::parts::grid::Grid;
use crate::parts::machine::Machine;
use crate::parts::{Pen, heat, number, severity, spark};
use crate::{Cx, Role, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::IdSet;
use topotop_model::history::Share;

/// The columns of a row's label and of its newest value.
const LABEL: u16 = 15;
/// The columns of its CPUs.
const CPUS: usize = 9;
const NEWEST: u16 = 5;

pub(super) fn draw(cx: &Cx<'_>, machine: &Machine, grid: &Grid, area: Rect, buf: &mut Buffer) {
    let width = area.width.saturating_sub(LABEL + NEWEST);
    let axis = Rect { x: area.x + LABEL, y: area.y + grid.height, width, height: 1 };
    if axis.y < area.bottom() && chart::has_shape(cx) {
        Axis::new(&Times::new(cx, width), width, &[]).draw(cx, axis.intersection(area), buf);
    }
    let heats = heats(cx, machine, grid, width);
    for (row, tile) in grid.tiles.iter().enumerate() {
        let cpus = machine.cpus.get(tile.cpus.clone()).unwrap_or_default();
        let mut pen = Pen::new(cx, Rect { y: tile.y, height: 1, ..area }, 0, buf);
        label(&mut pen, machine, grid, tile.y, cpus);
        pen.to(area.x + LABEL);
        if let Some(severity) = severity::worst_cpu(cx, cpus) {
            pen.sign_at(area.x + LABEL - 1, severity);
        }
        let from = row * usize::from(width);
        for value in heats.get(from..from + usize::from(width)).unwrap_or_default() {
            match value.map(Share::value) {
                None => pen.skip(1),
                Some(value) => pen.glyph(cx.theme.style(Role::heat(value)), heat::low_glyph(value, cx.charset)),
            };
        }
        let newest = cpus.iter().filter_map(|&id| cx.frame.cpu(id)?.busy()).max_by(f64::total_cmp);
        pen.share(NEWEST, newest);
        if matches!(cx.selected, Some(Subject::Cpu(id)) if cpus.contains(id)) {
            let mut mark = Pen::new(cx, Rect { y: tile.y, height: 1, ..area }, 0, buf);
            mark.skip(LABEL - 1).restyle(area.x, cx.theme.style(Role::Selected));
        }
    }
}

/// Node on the first row of a section, and the CPUs of each row: `c17`, `c0-1,32-33`, or the first of many.
fn label(pen: &mut Pen<'_>, machine: &Machine, grid: &Grid, y: u16, cpus: &[u32]) {
    let start = pen.x();
    let section =
        grid.labels.iter().find(|label| label.area.y == y).and_then(|label| machine.sections.get(label.section));
    if let Some(node) = section.and_then(|section| section.node) {
        pen.text(Role::node(node), "n").text(Role::node(node), number::id(node).as_str());
    }
    // Siblings are far from each other on most machines.
    let set: IdSet = cpus.iter().copied().collect();
    let whole = set.to_string();
    let list = match cpus.first() {
        Some(first) if whole.len() > CPUS => format!("{first},+{}", cpus.len() - 1),
        _ => whole,
    };
    pen.to(start + 4).text(Role::Dim, "c").text(Role::Dim, &list);
}

/// One value per row and column: the maximum over CPUs and samples, none where nothing was read.
fn heats(cx: &Cx<'_>, machine: &Machine, grid: &Grid, width: u16) -> Vec<Option<Share>> {
    let columns = usize::from(width);
    let mut heats = vec![None; grid.tiles.len() * columns];
    // The row of each online CPU, in the order of the history's samples: ascending by id.
    let mut rows: Vec<(u32, usize)> = Vec::with_capacity(machine.cpus.len());
    for (row, tile) in grid.tiles.iter().enumerate() {
        let online = |id: &u32| cx.frame.cpu(*id).is_some_and(|cpu| cpu.online);
        let cpus = machine.cpus.get(tile.cpus.clone()).unwrap_or_default();
        rows.extend(cpus.iter().filter(|id| online(id)).map(|&id| (id, row)));
    }
    rows.sort_unstable();
    let step = spark::bucket(cx.history.len(), width);
    for (age, sample) in cx.history.iter().rev().enumerate() {
        // CPUs came or went: nobody knows any more which value was whose.
        if sample.cpus.len() != rows.len() {
            continue;
        }
        let Some(column) = columns.checked_sub(1 + age / step) else { break };
        for (&(_, row), &value) in rows.iter().zip(&sample.cpus) {
            if let Some(cell) = heats.get_mut(row * columns + column) {
                *cell = (*cell).max(value);
            }
        }
    }
    heats
}
