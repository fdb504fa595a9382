//! Cores as cells of one column: as many CPUs in one as it takes for the row to hold all of them.

use crate::Role;
use crate::parts::machine::{Group, Machine, Section};
use crate::parts::related::related;
use crate::parts::{Pen, heat, severity};

/// How the cores of a section become cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packing {
    /// CPUs in a cell.
    pub(super) cpus: usize,
    /// True if groups are set apart by a blank.
    pub(super) gaps: bool,
}

impl Packing {
    /// The finest packing whose widest section fits.
    pub(crate) fn fitting(machine: &Machine, width: u16) -> Self {
        let mut cpus = 1;
        loop {
            for gaps in [true, false] {
                let packing = Self { cpus, gaps };
                let widest = machine.sections.iter().map(|section| packing.width(machine, section)).max();
                if widest.unwrap_or(0) <= width || cpus > 1 << 16 {
                    return packing;
                }
            }
            cpus *= 2;
        }
    }

    /// The columns of a section.
    pub(crate) fn width(self, machine: &Machine, section: &Section) -> u16 {
        let groups = machine.groups_of(section);
        let cells: usize = groups.iter().map(|group| self.cells(machine, group)).sum();
        let gaps = if self.gaps { groups.len().saturating_sub(1) } else { 0 };
        (cells + gaps).min(usize::from(u16::MAX)) as u16
    }

    fn cells(self, machine: &Machine, group: &Group) -> usize {
        machine.cpus_of(group.cores.clone()).len().div_ceil(self.cpus)
    }

    /// Calls with the column and the CPUs of every cell of a section.
    pub(super) fn each<'a>(self, machine: &'a Machine, section: &Section, mut call: impl FnMut(u16, &'a [u32])) {
        let mut column = 0;
        for group in machine.groups_of(section) {
            for cpus in machine.cpus_of(group.cores.clone()).chunks(self.cpus) {
                call(column, cpus);
                column += 1;
            }
            column += u16::from(self.gaps);
        }
    }
}

/// Draws a section's cells; a cell of several CPUs shows the hottest.
pub(crate) fn draw(pen: &mut Pen<'_>, machine: &Machine, section: &Section, packing: Packing) {
    let start = pen.x();
    let cx = pen.cx();
    packing.each(machine, section, |column, cpus| {
        pen.to(start + column);
        cell(pen, cpus);
        if related(cx, cpus) {
            pen.restyle(start + column, cx.theme.style(Role::Related));
        }
    });
}

/// The columns of a section with a cell per core, threads above one another.
pub(super) fn thread_width(machine: &Machine, section: &Section, cell: u16) -> u16 {
    let groups = machine.groups_of(section);
    let cores: usize = groups.iter().map(|group| group.cores.len()).sum();
    (cores * usize::from(cell) + groups.len().saturating_sub(1)).min(usize::from(u16::MAX)) as u16
}

/// Draws one thread of every core of a section.
pub(super) fn draw_thread(pen: &mut Pen<'_>, machine: &Machine, section: &Section, thread: usize, width: u16) {
    let cx = pen.cx();
    for (at, group) in machine.groups_of(section).iter().enumerate() {
        pen.skip(u16::from(at > 0));
        for core in machine.cores.get(group.cores.clone()).unwrap_or_default() {
            let start = pen.x();
            if let Some(cpu) = core.clone().nth(thread).and_then(|at| machine.cpus.get(at..=at)) {
                cell(pen, cpu);
                if related(cx, cpu) {
                    pen.restyle(start, cx.theme.style(Role::Related));
                }
            }
            pen.to(start + width);
        }
    }
}

/// One cell for CPUs: the hottest of those that are online.
fn cell(pen: &mut Pen<'_>, cpus: &[u32]) {
    let cx = pen.cx();
    let online = |id: u32| {
        cx.frame.cpu(id).map_or_else(|| cx.frame.topology.cpu(id).is_some_and(|cpu| cpu.online), |cpu| cpu.online)
    };
    if !cpus.iter().any(|&id| online(id)) {
        pen.glyph(cx.theme.style(Role::Absent), heat::offline(cx.charset));
        return;
    }
    if let Some(severity) = severity::worst_cpu(cx, cpus) {
        pen.severity(severity);
        return;
    }
    let hottest = cpus.iter().filter_map(|&id| cx.frame.cpu(id)?.busy()).max_by(f64::total_cmp);
    pen.heat(hottest);
}
