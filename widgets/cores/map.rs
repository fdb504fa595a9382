//! The machine as lstopo draws it: nodes with their CPUs and memory, the devices at their node with their traffic, and
//! the process whose CPU, memory and device are on different nodes.

use crate::overview::{Packing, draw_cells};
use crate::parts::machine::Machine;
use crate::parts::{Pen, number, severity};
use crate::{Charset, Cx, Role, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::Known;
use topotop_model::frame::{Accelerator, Disk, Nic, Process, WriterId};
use topotop_model::locale::help;
use topotop_model::locale::screen::cores as text;
use topotop_model::locale::screen::shared;
use topotop_model::locale::{join, pair};

/// A row of the drawing.
#[derive(Clone, Copy, Debug)]
pub(super) enum Row<'a> {
    /// A section of the machine by its place.
    Section(usize, Option<u32>),
    Nic(&'a Nic),
    Disk(&'a Disk),
    Accelerator(&'a Accelerator),
    /// The head of devices whose node nobody knows, or that the drawing does not have.
    Elsewhere,
}

impl Row<'_> {
    /// What it stands for.
    pub(super) fn subject(&self) -> Option<Subject> {
        match self {
            Self::Section(_, node) => node.map(Subject::Node),
            Self::Nic(nic) => Some(Subject::Nic(nic.name.clone())),
            Self::Disk(disk) => Some(Subject::Disk(disk.name.clone())),
            Self::Accelerator(row) => Some(Subject::Accelerator(row.name.clone())),
            Self::Elsewhere => None,
        }
    }
}

/// Nodes in the order of the machine, each with its devices; then the devices whose node nobody knows.
pub(super) fn rows<'a>(cx: &Cx<'a>, machine: &Machine) -> Vec<Row<'a>> {
    let nics = || cx.frame.nics.iter().filter(|nic| &*nic.kind == "physical");
    let disks = || cx.frame.disks.iter().filter(|disk| &*disk.kind == "disk");
    let mut shown = Vec::new();
    let mut rows = Vec::new();
    for (at, section) in machine.sections.iter().enumerate() {
        rows.push(Row::Section(at, section.node));
        let Some(node) = section.node.filter(|node| !shown.contains(node)) else { continue };
        shown.push(node);
        rows.extend(nics().filter(|nic| nic.node == Known::Value(node)).map(Row::Nic));
        rows.extend(disks().filter(|disk| disk.node == Known::Value(node)).map(Row::Disk));
        let accelerators = cx.frame.accelerators.iter().filter(|row| row.node == Known::Value(node));
        rows.extend(accelerators.map(Row::Accelerator));
    }
    let elsewhere = |node: Known<u32>| node.value().is_none_or(|node| !shown.contains(&node));
    let nics = nics().filter(|nic| elsewhere(nic.node)).map(Row::Nic);
    let disks = disks().filter(|disk| elsewhere(disk.node)).map(Row::Disk);
    let accelerators = cx.frame.accelerators.iter().filter(|row| elsewhere(row.node)).map(Row::Accelerator);
    let others: Vec<Row<'_>> = nics.chain(disks).chain(accelerators).collect();
    if !others.is_empty() {
        rows.push(Row::Elsewhere);
        rows.extend(others);
    }
    rows
}

/// The columns of what stands beside the cells of a node, and of a corner.
const NUMBERS: u16 = 26;
const CORNER: u16 = 22;
/// The columns of a device.
const DEVICE: u16 = 56;
const LABEL: u16 = 10;

/// Draws it; gives the rows that it took.
pub(super) fn draw(cx: &Cx<'_>, machine: &Machine, area: Rect, buf: &mut Buffer) -> u16 {
    let rows = rows(cx, machine);
    let corners = chosen(cx).map(|process| (process, corners(cx, process)));
    let lane = corners.as_ref().filter(|(_, corners)| is_spread(corners)).map_or(0, |_| CORNER);
    let most = area.width.saturating_sub(lane);
    let packing = Packing::fitting(machine, most.saturating_sub(LABEL + NUMBERS).max(4));
    let cells = machine.sections.iter().map(|section| packing.width(machine, section)).max().unwrap_or(0);
    // The line stands beside what it joins.
    let left = Rect { width: (LABEL + cells + NUMBERS).max(DEVICE).min(most), ..area };
    let full = rows.len() + usize::from(corners.is_some()) > usize::from(area.height);
    let room = area.height.saturating_sub(u16::from(corners.is_some()) + u16::from(full));
    for (row, y) in rows.iter().zip(0..room) {
        let mut pen = Pen::new(cx, left, y, buf);
        let start = pen.x();
        match row {
            Row::Section(at, node) => section(&mut pen, machine, *at, *node, packing),
            Row::Nic(nic) => interface(&mut pen, nic),
            Row::Disk(disk) => device(&mut pen, disk),
            Row::Accelerator(row) => accelerator(&mut pen, row),
            Row::Elsewhere => drop(pen.text(Role::Dim, &text::NODE_UNKNOWN)),
        }
        let subject = row.subject();
        if subject.is_some() && subject.as_ref() == cx.selected {
            // Cells keep their heat.
            Pen::new(cx, Rect { width: LABEL, ..left }, y, buf)
                .skip(LABEL)
                .restyle(start, cx.theme.style(Role::Selected));
        }
    }
    if full {
        let more = help::MoreBelow { count: &rows.len().saturating_sub(usize::from(room)) };
        Pen::new(cx, area, room, buf).text(Role::Dim, &more.to_string());
    }
    let last = u16::try_from(rows.len()).unwrap_or(u16::MAX).min(room) + u16::from(full);
    let Some((process, corners)) = corners else { return last };
    if lane > 0 {
        let side = Rect { x: left.right(), width: lane, ..area };
        triangle(cx, &rows, &corners, Rect { height: room, ..side }, buf);
    }
    sentence(&mut Pen::new(cx, area, last, buf), process, &corners);
    last + 1
}

fn section(pen: &mut Pen<'_>, machine: &Machine, at: usize, node: Option<u32>, packing: Packing) {
    let (cx, start) = (pen.cx(), pen.x());
    let Some(section) = machine.sections.get(at) else { return };
    match node {
        Some(id) => pen.text(Role::node(id), &shared::Node { id: &id }.to_string()),
        None => pen.text(Role::Dim, &text::CPUS),
    };
    if let Some(severity) = node.and_then(|id| severity::worst(cx, &Subject::Node(id))) {
        pen.severity(severity);
    }
    pen.to(start + LABEL);
    draw_cells(pen, machine, section, packing);
    pen.to(start + LABEL + packing.width(machine, section) + 1);
    let cpus = machine.cpus_of(machine.cores_of(section));
    let busy: Vec<f64> = cpus.iter().filter_map(|&id| cx.frame.cpu(id)?.busy()).collect();
    let mean = (!busy.is_empty()).then(|| busy.iter().sum::<f64>() / busy.len() as f64);
    pen.share(4, mean);
    let memory = node.and_then(|id| cx.frame.nodes.iter().find(|node| node.id == id));
    if let Some((total, free)) =
        memory.and_then(|node| node.memory_total_bytes.value().zip(node.memory_free_bytes.value()))
    {
        pen.skip(2).text(Role::Text, number::whole_bytes(total.saturating_sub(free)).as_str());
        pen.text(Role::Dim, "/").text(Role::Dim, number::whole_bytes(total).as_str());
    }
}

/// The branch to a device, its sign of a finding and its name.
fn branch(pen: &mut Pen<'_>, subject: &Subject, name: &str) {
    let (start, ascii) = (pen.x(), pen.cx().charset == Charset::Ascii);
    pen.skip(1).text(Role::Border, if ascii { "+-" } else { "└─" });
    match severity::worst(pen.cx(), subject) {
        Some(severity) => pen.severity(severity),
        None => pen.skip(1),
    };
    pen.field(Role::Text, 15, name).to(start + LABEL + 10);
}

fn rate(pen: &mut Pen<'_>, label: &str, bytes: Option<f64>) {
    pen.text(Role::Dim, label).skip(1).rate(Role::Text, 5, bytes, number::bytes).text(Role::Dim, "/s  ");
}

fn interface(pen: &mut Pen<'_>, nic: &Nic) {
    branch(pen, &Subject::Nic(nic.name.clone()), &nic.name);
    rate(pen, "rx", nic.rx.bytes_per_second);
    rate(pen, "tx", nic.tx.bytes_per_second);
    pen.share(4, nic.utilisation);
}

fn device(pen: &mut Pen<'_>, disk: &Disk) {
    branch(pen, &Subject::Disk(disk.name.clone()), &disk.name);
    rate(pen, "r ", disk.read_bytes_per_second);
    rate(pen, "w ", disk.write_bytes_per_second);
    pen.share(4, disk.utilisation);
}

fn accelerator(pen: &mut Pen<'_>, row: &Accelerator) {
    branch(pen, &Subject::Accelerator(row.name.clone()), &row.name);
    let start = pen.x();
    pen.field(Role::Dim, 10, &row.driver).skip(1);
    if let Some(used) = row.memory_used_bytes.value() {
        pen.text(Role::Text, number::whole_bytes(used).as_str());
        if let Some(total) = row.memory_total_bytes.value() {
            pen.text(Role::Dim, "/").text(Role::Dim, number::whole_bytes(total).as_str());
        }
    }
    pen.to(start + 22);
    pen.share(4, row.utilisation);
}

/// Where a process has its CPU time, its memory and the device that it uses most: node and what stands there.
type Corners = [Option<(u32, String)>; 3];

fn corners(cx: &Cx<'_>, process: &Process) -> Corners {
    let most = |by_node: &mut dyn Iterator<Item = (u32, f64)>| {
        let all: Vec<(u32, f64)> = by_node.filter(|entry| entry.1 > 0.0).collect();
        let sum: f64 = all.iter().map(|entry| entry.1).sum();
        let (node, value) = all.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some((node, number::percent(value / sum)))
    };
    let cpu = most(&mut process.cpu_by_node.iter().copied());
    let memory = process
        .memory
        .as_ref()
        .and_then(|memory| most(&mut memory.by_node.iter().map(|entry| (entry.0, entry.1 as f64))));
    [
        cpu.map(|(node, share)| (node, format!("{} {share}", text::CORNER_CPU))),
        memory.map(|(node, share)| (node, format!("{} {share}", text::CORNER_MEMORY))),
        device_of(cx, process),
    ]
}

/// The accelerator that it uses most; else the disk that it, or its group, writes most to; else the one interface of the machine, where it listens.
fn device_of(cx: &Cx<'_>, process: &Process) -> Option<(u32, String)> {
    let used = |row: &Accelerator| {
        let own = row.clients.iter().find(|client| client.pid == process.pid);
        own.map(|client| client.utilisation.unwrap_or(0.0))
    };
    let held = cx.frame.accelerators.iter().filter_map(|row| Some((row.node.value()?, row, used(row)?)));
    if let Some((node, row, _)) = held.max_by(|a, b| a.2.total_cmp(&b.2)) {
        return Some((node, row.name.to_string()));
    }
    let writes = |disk: &Disk| {
        let own = |who: &WriterId| match who {
            WriterId::Process(pid) => *pid == process.pid,
            WriterId::Cgroup(path) => path == process.io_group(),
        };
        disk.writers.iter().filter(|writer| own(&writer.who)).map(|writer| writer.bytes_per_second).fold(0.0, f64::max)
    };
    let disks = cx.frame.disks.iter().filter(|disk| disk.node.value().is_some() && writes(disk) > 0.0);
    if let Some(disk) = disks.max_by(|a, b| writes(a).total_cmp(&writes(b))) {
        return Some((disk.node.value()?, disk.name.to_string()));
    }
    let mut nics = cx.frame.nics.iter().filter(|nic| &*nic.kind == "physical" && nic.carrier == Known::Value(true));
    let nic = nics.next().filter(|_| process.listen.as_ref().is_some_and(|ports| !ports.is_empty()))?;
    if nics.next().is_some() { None } else { Some((nic.node.value()?, nic.name.to_string())) }
}

fn is_spread(corners: &Corners) -> bool {
    let mut nodes = corners.iter().flatten().map(|corner| corner.0);
    nodes.next().is_some_and(|first| nodes.any(|node| node != first))
}

/// The selected process; else the busiest one that is spread over nodes.
fn chosen<'a>(cx: &Cx<'a>) -> Option<&'a Process> {
    if let Some(Subject::Process(pid, _)) = cx.selected {
        return cx.frame.process(*pid);
    }
    let busy = |process: &&Process| process.cpu_cores.is_some_and(|cores| cores >= 0.1);
    let spread = cx.frame.processes.iter().filter(busy).filter(|process| is_spread(&corners(cx, process)));
    spread.max_by(|a, b| a.cpu_cores.unwrap_or(0.0).total_cmp(&b.cpu_cores.unwrap_or(0.0)))
}

/// The corners beside their nodes, joined by a line.
fn triangle(cx: &Cx<'_>, rows: &[Row<'_>], corners: &Corners, area: Rect, buf: &mut Buffer) {
    let at = |node: u32| rows.iter().position(|row| matches!(row, Row::Section(_, Some(id)) if *id == node));
    let places: Vec<usize> = corners.iter().flatten().filter_map(|corner| at(corner.0)).collect();
    let (Some(&first), Some(&last)) = (places.iter().min(), places.iter().max()) else { return };
    let ascii = cx.charset == Charset::Ascii;
    for (row, y) in (first..=last).zip(u16::try_from(first).unwrap_or(u16::MAX)..area.height) {
        let mut pen = Pen::new(cx, area, y, buf);
        let mark = match (places.contains(&row), row == first, row == last) {
            (false, ..) => "│ ",
            (true, true, _) => "┐ ",
            (true, _, true) => "┘ ",
            _ => "┤ ",
        };
        let mark = if !ascii {
            mark
        } else if places.contains(&row) {
            "+ "
        } else {
            "| "
        };
        pen.text(Role::Warn, mark);
        let here = corners.iter().flatten().filter(|corner| at(corner.0) == Some(row));
        let words: Vec<&str> = here.map(|corner| corner.1.as_str()).collect();
        pen.text(Role::Warn, &words.join(&join::ITEMS));
    }
}

/// The same in words.
fn sentence(pen: &mut Pen<'_>, process: &Process, corners: &Corners) {
    let role = if is_spread(corners) { Role::Warn } else { Role::Text };
    pen.text(Role::Title, &process.comm)
        .skip(1)
        .text(Role::Dim, number::id(process.pid).as_str())
        .text(Role::Dim, &pair("", ""));
    for (at, (node, what)) in corners.iter().flatten().enumerate() {
        pen.text(Role::Dim, if at > 0 { join::ITEMS.as_str() } else { "" })
            .text(role, &text::Corner { what, node }.to_string());
    }
}
