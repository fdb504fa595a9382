//! The machine in the dialog: how busy each CPU is, and which ones a plan would let its threads use.

use super::Dialog;
use crate::parts::machine::{Grouping, Machine, Section};
use crate::parts::pane::Doc;
use crate::parts::{heat, names};
use crate::{Charset, Cx, Role};
use topotop_model::IdSet;
use topotop_model::fix::{Plan, Target};
use topotop_model::locale::dialog::fix as text;

/// Lines of the drawing, at most, before it is drawn coarser.
const MOST: usize = 8;
/// Columns between caches.
const GAP: u16 = 1;

/// What one cell stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grain {
    Cpu,
    Cache,
    Node,
}

/// The machine with the CPUs of the selected choice marked; empty where the choice is not about CPUs.
pub(super) fn doc(cx: &Cx<'_>, dialog: &Dialog, width: u16) -> Doc {
    let asks = || dialog.fix().is_some_and(|fix| fix.parameters.iter().any(|parameter| parameter.name == "cpus"));
    let planned = || dialog.plan().and_then(chosen);
    let now = asks().then(|| typed(dialog)).flatten();
    let waits = || (asks() && dialog.plan().is_none()).then(IdSet::new);
    let Some(mask) = now.or_else(planned).or_else(waits) else { return Doc::default() };
    let machine = Machine::new(cx.frame, Grouping::L3);
    let drawing = Drawing { cx, machine: &machine, mask: &mask, width };
    let drawn = [Grain::Cpu, Grain::Cache].map(|grain| drawing.at(grain));
    let mut doc = drawn.into_iter().find(|doc| doc.len() <= MOST).unwrap_or_else(|| drawing.nodes());
    doc.line(drawing.legend());
    doc
}

/// The CPUs being typed, as soon as they are a list.
fn typed(dialog: &Dialog) -> Option<IdSet> {
    let list = dialog.editing.as_ref()?.split_whitespace().rev().find_map(|word| word.strip_prefix("cpus="))?;
    IdSet::parse_list(list).filter(|cpus| !cpus.is_empty())
}

/// The CPUs that the threads of a plan get, where it changes nothing else; those that it steers packets to.
fn chosen(plan: &Plan) -> Option<IdSet> {
    let steers = |target: &Target| matches!(target, Target::File { path, .. } if path.ends_with("/rps_cpus"));
    let steered = plan.steps.iter().filter(|step| steers(&step.target));
    let steered = steered.filter_map(|step| IdSet::parse_map(&step.new)).reduce(|all, cpus| all.union(&cpus));
    if steered.is_some() {
        return steered;
    }
    let is_affinity = |target: &Target| match target {
        Target::Thread { of, .. } => matches!(**of, Target::Affinity { .. }),
        target => matches!(target, Target::Affinity { .. }),
    };
    let all = plan.steps.iter().all(|step| is_affinity(&step.target));
    let sets = plan.steps.iter().filter_map(|step| IdSet::parse_list(&step.new));
    if all { sets.reduce(|all, cpus| all.union(&cpus)) } else { None }
}

struct Drawing<'a> {
    cx: &'a Cx<'a>,
    machine: &'a Machine,
    mask: &'a IdSet,
    width: u16,
}

/// A piece of the drawing: cells, and the marks below them.
#[derive(Default)]
struct Line {
    pieces: Vec<(String, Role)>,
    marks: String,
    width: u16,
}

impl Line {
    fn push(&mut self, cell: &str, role: Role, marked: &str) {
        self.pieces.push((cell.to_owned(), role));
        let width = names::width(cell);
        self.marks.push_str(marked);
        self.marks.push_str(&" ".repeat(usize::from(width.saturating_sub(names::width(marked)))));
        self.width += width;
    }
}

impl Drawing<'_> {
    fn mark(&self) -> &'static str {
        if self.cx.charset == Charset::Unicode { "▲" } else { "^" }
    }

    fn name(section: &Section) -> String {
        section.node.map_or_else(|| text::OTHER_CPUS.to_string(), |id| text::Node { id: &id }.to_string())
    }

    fn label(&self) -> u16 {
        self.machine.sections.iter().map(|section| names::width(&Self::name(section))).max().unwrap_or(0) + 2
    }

    /// One cell per node, side by side.
    fn nodes(&self) -> Doc {
        let mut doc = Doc::default();
        let cells: Vec<_> = self
            .machine
            .sections
            .iter()
            .map(|section| {
                let (cell, role) = self.cell(self.machine.cpus_of(self.machine.cores_of(section)), Grain::Node);
                (Self::name(section), cell, role)
            })
            .collect();
        let widest = cells.iter().map(|(_, cell, _)| names::width(cell)).max().unwrap_or(0) + 3;
        let side = usize::from(self.width / (self.label() + widest)).max(1);
        for row in cells.chunks(side) {
            let pieces = row.iter().flat_map(|(name, cell, role)| {
                [(names::padded(name, self.label()), Role::Dim), (names::padded(cell, widest), *role)]
            });
            doc.line(pieces.collect());
        }
        doc
    }

    fn at(&self, grain: Grain) -> Doc {
        let (mut doc, label) = (Doc::default(), self.label());
        for section in &self.machine.sections {
            let mut head = names::padded(&Self::name(section), label);
            for line in self.lines(section, grain, self.width.saturating_sub(label)) {
                let mut cells = line.pieces;
                cells.insert(0, (std::mem::replace(&mut head, " ".repeat(label.into())), Role::Dim));
                doc.line(cells);
                if grain == Grain::Cpu {
                    doc.line(vec![(" ".repeat(label.into()), Role::Text), (line.marks, Role::Key)]);
                }
            }
        }
        doc
    }

    /// The cells of a node, wrapped between caches where that is possible.
    fn lines(&self, section: &Section, grain: Grain, width: u16) -> Vec<Line> {
        let groups = self.machine.groups_of(section).iter().map(|group| self.machine.cpus_of(group.cores.clone()));
        let pieces: Vec<Vec<&[u32]>> = match grain {
            Grain::Cpu => groups.map(|cpus| cpus.chunks(1).collect()).collect(),
            Grain::Cache | Grain::Node => groups.map(|cpus| vec![cpus]).collect(),
        };
        let mut lines = vec![Line::default()];
        for piece in pieces {
            let wide: u16 = piece.iter().map(|cpus| names::width(&self.cell(cpus, grain).0)).sum();
            for (at, cpus) in piece.into_iter().enumerate() {
                let (cell, role) = self.cell(cpus, grain);
                let Some(line) = lines.last_mut() else { continue };
                let gap = if at == 0 && line.width > 0 { GAP } else { 0 };
                let needs = if at == 0 && wide <= width { wide } else { names::width(&cell) };
                if line.width > 0 && line.width.saturating_add(gap + needs) > width {
                    lines.push(Line::default());
                } else if gap > 0 {
                    line.push(" ", Role::Text, "");
                }
                let marked = if cpus.iter().any(|&id| self.mask.contains(id)) { self.mark() } else { "" };
                if let Some(line) = lines.last_mut() {
                    line.push(&cell, role, marked);
                }
            }
        }
        lines
    }

    /// One CPU, or several as their mean and how many of them are chosen.
    fn cell(&self, cpus: &[u32], grain: Grain) -> (String, Role) {
        let (glyph, role) = self.heat(cpus);
        if grain == Grain::Cpu {
            return (glyph.to_owned(), role);
        }
        let count = cpus.iter().filter(|&&id| self.mask.contains(id)).count();
        let mark = if count > 0 { self.mark() } else { " " };
        if grain == Grain::Cache {
            let digits = cpus.len().to_string().len();
            return (format!("{glyph}{mark}{count:>digits$}/{}", cpus.len()), role);
        }
        (format!("{glyph}{mark}{}", text::SomeCpus { count: &count, all: &cpus.len() }), role)
    }

    fn heat(&self, cpus: &[u32]) -> (&'static str, Role) {
        let online: Vec<_> = cpus.iter().filter_map(|&id| self.cx.frame.cpu(id)).filter(|cpu| cpu.online).collect();
        if online.is_empty() {
            return (heat::offline(self.cx.charset), Role::Absent);
        }
        let busy: Vec<f64> = online.iter().filter_map(|cpu| cpu.busy()).collect();
        let mean = (!busy.is_empty()).then(|| busy.iter().sum::<f64>() / busy.len() as f64);
        let (role, glyph) = match mean {
            Some(mean) => heat::cell(Some(mean), self.cx.charset),
            None => heat::unknown(self.cx.frame.interval_seconds.is_some(), self.cx.charset),
        };
        (glyph, role)
    }

    fn legend(&self) -> Vec<(String, Role)> {
        let there = self.machine.cpus.iter().filter(|&&id| self.mask.contains(id)).count();
        let set = text::SomeCpus { count: &there, all: &self.machine.cpus.len() }.to_string();
        let mut line = vec![(self.mark().to_owned(), Role::Key), (format!(" {set}"), Role::Text)];
        if self.machine.cpus.iter().any(|&id| self.cx.frame.cpu(id).is_none_or(|cpu| !cpu.online)) {
            line.push((format!("   {}", heat::offline(self.cx.charset)), Role::Absent));
            line.push((format!(" {}", text::OFFLINE), Role::Text));
        }
        line
    }
}
