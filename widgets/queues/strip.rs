//! CPUs side by side, grouped by node; where there are more than columns, several share one.

use crate::parts::{Pen, names, units};
use crate::{Cx, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::locale::screen::queues as text;

/// Which CPU stands in which column.
pub(super) struct Strip {
    /// CPU and column, by CPU.
    cells: Vec<(u32, u16)>,
    /// Where each node begins, and where it ends.
    groups: Vec<(Option<u32>, u16, u16)>,
    /// How many CPUs share a column.
    pub(super) each: usize,
    /// Columns in use.
    pub(super) width: u16,
}

impl Strip {
    /// The strip of the online CPUs in so many columns.
    pub(super) fn new(cx: &Cx<'_>, width: u16) -> Self {
        let groups = groups(cx);
        let total: usize = groups.iter().map(|group| group.1.len()).sum();
        let fits = |each: usize, gap: usize| {
            let columns: usize = groups.iter().map(|group| group.1.len().div_ceil(each)).sum();
            columns + gap * groups.len().saturating_sub(1) <= usize::from(width)
        };
        // Nodes part by a blank as long as that is cheap.
        let gap = usize::from(groups.len() * 4 <= usize::from(width));
        let each = (1..=total.max(1)).find(|&each| fits(each, gap)).unwrap_or(total.max(1));
        let mut strip = Self { cells: Vec::with_capacity(total), groups: Vec::new(), each, width: 0 };
        for (index, (node, cpus)) in groups.into_iter().enumerate() {
            let start = strip.width + if index > 0 { gap as u16 } else { 0 };
            for (at, cpu) in cpus.iter().enumerate() {
                strip.cells.push((*cpu, start + (at / each) as u16));
            }
            strip.width = (start + cpus.len().div_ceil(each) as u16).min(width);
            strip.groups.push((node, start, strip.width));
        }
        strip.cells.sort_unstable();
        strip
    }

    fn column(&self, cpu: u32) -> Option<u16> {
        let at = self.cells.binary_search_by_key(&cpu, |cell| cell.0).ok()?;
        self.cells.get(at).map(|cell| cell.1).filter(|&column| column < self.width)
    }

    /// Sums of a value by column, and which columns are CPUs at all.
    pub(super) fn sums(&self, values: &[(u32, f64)]) -> Vec<Option<f64>> {
        let mut sums = vec![None; usize::from(self.width)];
        for &(_, column) in &self.cells {
            if let Some(slot) = sums.get_mut(usize::from(column)) {
                *slot = Some(0.0);
            }
        }
        for &(cpu, value) in values {
            let slot = self.column(cpu).and_then(|column| sums.get_mut(usize::from(column)));
            if let Some(Some(sum)) = slot {
                *sum += value;
            }
        }
        sums
    }

    /// True for columns in which one of some CPUs stands.
    pub(super) fn holds(&self, cpus: &topotop_model::IdSet) -> Vec<bool> {
        let mut held = vec![false; usize::from(self.width)];
        for &(_, column) in self.cells.iter().filter(|cell| cpus.contains(cell.0)) {
            if let Some(slot) = held.get_mut(usize::from(column)) {
                *slot = true;
            }
        }
        held
    }
}

/// Columns that a cell per CPU takes, within bounds.
pub(super) fn wanted(cx: &Cx<'_>) -> u16 {
    let groups = groups(cx);
    let cpus: usize = groups.iter().map(|group| group.1.len()).sum();
    (cpus + groups.len().saturating_sub(1)).clamp(20, 120) as u16
}

/// Online CPUs by node; those of no known node last.
fn groups(cx: &Cx<'_>) -> Vec<(Option<u32>, Vec<u32>)> {
    let mut groups: Vec<(Option<u32>, Vec<u32>)> = Vec::new();
    for cpu in cx.frame.cpus.iter().filter(|cpu| cpu.online) {
        let node = cpu.node.value();
        match groups.iter_mut().find(|group| group.0 == node) {
            Some(group) => group.1.push(cpu.id),
            None => groups.push((node, vec![cpu.id])),
        }
    }
    groups.sort_by_key(|group| group.0.map_or(u64::MAX, u64::from));
    groups
}

/// Names of nodes over their columns.
pub(super) fn heads(cx: &Cx<'_>, area: Option<Rect>, buf: &mut Buffer) {
    let Some(area) = area else { return };
    let strip = Strip::new(cx, area.width);
    Pen::new(cx, area, 0, buf).repeat(Role::Head, " ", area.width);
    for &(node, start, end) in &strip.groups {
        let cell = Rect { x: area.x + start, width: end.saturating_sub(start), ..area };
        let (name, role) = match node {
            Some(node) => (format!("n{node}"), Role::node(node)),
            None => (text::CPUS.to_string(), Role::Head),
        };
        if names::width(&name) <= cell.width {
            Pen::new(cx, cell, 0, buf).text(role, &name);
        }
    }
    let rest = area.width.saturating_sub(strip.width);
    if strip.each > 1 && rest > 12 {
        let mut pen = Pen::new(cx, Rect { x: area.x + strip.width, width: rest, ..area }, 0, buf);
        pen.skip(1).text(Role::Dim, &text::CpusPerCell { count: &strip.each }.to_string());
    }
}

/// Draws values by CPU: heights on a logarithmic scale up to `most`, a dot where it could be and is not. The highest is no
/// alarm: it is only the top of the scale.
pub(super) fn draw(
    strip: &Strip,
    values: &[(u32, f64)],
    most: f64,
    allowed: Option<&topotop_model::IdSet>,
    pen: &mut Pen<'_>,
) {
    let held = allowed.map(|cpus| strip.holds(cpus));
    for (column, sum) in strip.sums(values).into_iter().enumerate() {
        match sum {
            Some(sum) if sum > 0.0 => {
                let share = sum.ln_1p() / most.max(100.0).ln_1p();
                pen.level(Role::Softirq, share.clamp(0.01, 1.0), 1);
            }
            Some(_) if held.as_ref().is_none_or(|held| held.get(column) == Some(&true)) => {
                pen.level(Role::Dim, 0.0, 1);
            }
            _ => {
                pen.skip(1);
            }
        }
    }
}

/// The highest value of one CPU in many lists.
pub(super) fn most<'a>(lists: impl Iterator<Item = &'a [(u32, f64)]>) -> f64 {
    lists.flatten().map(|entry| entry.1).fold(0.0, f64::max)
}

/// A legend for the scale.
pub(super) fn scale(most: f64) -> String {
    text::LogScale { rate: &units::count(most.max(100.0)) }.to_string()
}
