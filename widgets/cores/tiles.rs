//! Tiles of CPUs and the labels of their nodes.

use super::pins::Pins;
use crate::parts::grid::{Grid, Label, Size, Tile};
use crate::parts::machine::{Machine, Section};
use crate::parts::related::related;
use crate::parts::{Pen, heat, number, severity, split};
use crate::{Charset, Cx, Role, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use topotop_model::frame::CpuShares;
use topotop_model::locale::screen::cores as text;
use topotop_model::locale::screen::shared;
use topotop_model::rules::Severity;
use topotop_model::text::flush_right;

pub(super) fn draw(cx: &Cx<'_>, machine: &Machine, grid: &Grid, pins: &Pins, kinds: bool, buf: &mut Buffer) {
    for label in &grid.labels {
        if let Some(section) = machine.sections.get(label.section) {
            draw_label(cx, machine, section, label, buf);
        }
    }
    for start in &grid.starts {
        let id = machine.cpus.get(start.cpu).copied().unwrap_or_default();
        let mut pen = Pen::new(cx, Rect::new(start.x, start.y, 8, 1), 0, buf);
        pen.text(Role::Dim, number::Short::from_display(format_args!("c{id}")).as_str());
    }
    for tile in &grid.tiles {
        let cpus = machine.cpus.get(tile.cpus.clone()).unwrap_or_default();
        let mut pen = Pen::new(cx, Rect::new(tile.x, tile.y, grid.size.width(), 1), 0, buf);
        draw_tile(&mut pen, grid.size, tile, cpus, pins, kinds);
        // A tile that is nothing but its glyph must not be reversed: its height would be lost.
        let small = matches!(grid.size, Size::Marked | Size::Glyph | Size::Packed(_));
        if let Some(role) = marked(cx, cpus).map(|role| if small { Role::Related } else { role }) {
            // What is marked keeps its heat.
            let style = cx.theme.style(role);
            pen.restyle(tile.x, if style.bg.is_some() { Style { fg: None, ..style } } else { style });
        }
    }
}

/// The selected CPU is marked as selected, others that belong to what is selected as related.
fn marked(cx: &Cx<'_>, cpus: &[u32]) -> Option<Role> {
    match cx.selected? {
        Subject::Cpu(id) => cpus.contains(id).then_some(Role::Selected),
        _ => related(cx, cpus).then_some(Role::Related),
    }
}

fn draw_label(cx: &Cx<'_>, machine: &Machine, section: &Section, label: &Label, buf: &mut Buffer) {
    let mut pen = Pen::new(cx, label.area, 0, buf);
    let wide = label.area.width >= 8;
    match (section.node, section.package) {
        (Some(node), package) => {
            if let Some(package) = package.filter(|_| wide && machine.packages() > 1) {
                pen.text(Role::Dim, number::Short::from_display(format_args!("p{package} ")).as_str());
            }
            let wide = wide && node < 100;
            let name = if wide { shared::Node { id: &node }.to_string() } else { node.to_string() };
            pen.text(Role::node(node), &name);
        }
        (None, Some(package)) => {
            let name = if wide { text::PackageId { id: &package }.to_string() } else { format!("p{package}") };
            pen.text(Role::Text, &name);
        }
        (None, None) => {
            if wide {
                pen.text(Role::Text, &text::CPUS);
            }
        }
    }
    if wide && label.area.height > 1 {
        let cpus = machine.cpus_of(machine.cores_of(section));
        let (sum, count) = cpus
            .iter()
            .filter_map(|&id| cx.frame.cpu(id)?.busy())
            .fold((0.0, 0), |(sum, count), busy| (sum + busy, count + 1));
        let mean = (count > 0).then(|| sum / f64::from(count));
        Pen::new(cx, label.area, 1, buf).text(Role::Dim, &text::BUSY).share(5, mean);
    }
}

/// The columns of a wide tile beside its bar: number, percentage, mark and blanks.
const BESIDE_BAR: u16 = 4 + 1 + 4 + 3;

/// What is known of the CPUs of a tile.
enum State {
    Offline,
    Unknown,
    Known(CpuShares),
}

fn state(cx: &Cx<'_>, cpus: &[u32]) -> State {
    let online = |id: u32| match cx.frame.cpu(id) {
        Some(cpu) => cpu.online,
        None => cx.frame.topology.cpu(id).is_some_and(|place| place.online),
    };
    let hottest = cpus.iter().filter_map(|&id| cx.frame.cpu(id)?.shares).max_by(|a, b| a.busy.total_cmp(&b.busy));
    match hottest {
        Some(shares) => State::Known(shares),
        None if cpus.iter().any(|&id| online(id)) => State::Unknown,
        None => State::Offline,
    }
}

fn draw_tile(pen: &mut Pen<'_>, size: Size, tile: &Tile, cpus: &[u32], pins: &Pins, kinds: bool) {
    let cx = pen.cx();
    let id = cpus.first().copied().unwrap_or_default();
    let state = state(cx, cpus);
    let flag = severity::worst_cpu(cx, cpus);
    let named = matches!(size, Size::Full | Size::Wide(_));
    if named {
        // The number says which CPU it is; the sign stands before it.
        let from = pen.x();
        pen.number(Role::Dim, 4, &number::id(id)).skip(1);
        if let Some(severity) = flag {
            pen.sign_at(from, severity);
        }
    }
    if let Size::Line(width) = size {
        line(pen, (id, flag), &state, width, kinds, pins);
        return;
    }
    match flag.filter(|_| !named) {
        // Smaller tiles have no other place.
        Some(severity) => drop(pen.severity(severity)),
        None => shape(pen, &state, if let Size::Wide(width) = size { width - BESIDE_BAR } else { 0 }, kinds),
    }
    if named || size == Size::Percent {
        percentage(pen, &state, kinds);
    }
    if !matches!(size, Size::Glyph | Size::Packed(_)) && tile.cpus.len() == 1 {
        mark(pen, id, pins, named);
    }
}

/// How busy as a glyph, or as a bar of so many columns.
fn shape(pen: &mut Pen<'_>, state: &State, bar: u16, kinds: bool) {
    let (cx, start) = (pen.cx(), pen.x());
    match state {
        State::Offline => {
            pen.glyph(cx.theme.style(Role::Absent), heat::offline(cx.charset));
        }
        State::Unknown => {
            pen.heat(None);
        }
        State::Known(shares) if kinds && bar > 0 => {
            pen.stacked(bar, &split::parts(shares));
        }
        State::Known(shares) if kinds => {
            let (sign, all) = split::dominant(shares);
            pen.glyph(cx.theme.style(sign.role), heat::glyph(all, cx.charset));
        }
        State::Known(shares) if bar > 0 => {
            pen.bar(bar, Some(shares.busy));
        }
        State::Known(shares) => {
            pen.heat(Some(shares.busy));
        }
    }
    if bar > 0 {
        pen.to(start + bar);
    }
}

/// How busy, in the colour of what with.
fn percentage(pen: &mut Pen<'_>, state: &State, kinds: bool) {
    match (state, kinds) {
        (State::Known(shares), true) => {
            let (sign, all) = split::dominant(shares);
            pen.number(sign.role, 4, &number::percent(all));
        }
        (State::Known(shares), false) => {
            pen.share(4, Some(shares.busy));
        }
        (State::Offline, _) => {
            pen.text(Role::Absent, &flush_right(&text::OFF, 4));
        }
        (State::Unknown, _) => {
            pen.skip(4);
        }
    }
}

/// Pinned threads, else isolation.
fn mark(pen: &mut Pen<'_>, cpu: u32, pins: &Pins, wide: bool) {
    let cx = pen.cx();
    let style = |role| cx.theme.style(role);
    let dot = if cx.charset == Charset::Ascii { "p" } else { "•" };
    let isolated = cx.frame.topology.cpu(cpu).is_some_and(|place| place.isolated);
    match pins.on(cpu) {
        0 if isolated => {
            pen.glyph(style(Role::Info), "i");
        }
        0 => {}
        1 => {
            pen.glyph(style(Role::Info), dot);
        }
        count => {
            // Several threads that may run nowhere else wait for each other.
            let digits = number::Short::from_display(format_args!("{}", count.min(99)));
            if wide {
                pen.glyph(style(Role::Warn), dot).text(Role::Warn, digits.as_str());
            } else {
                pen.glyph(style(Role::Warn), if count > 9 { "+" } else { digits.as_str() });
            }
        }
    }
}

/// Columns for pinned threads in words.
const PINNED: u16 = 12;

/// A CPU on a line of its own.
fn line(pen: &mut Pen<'_>, (cpu, flag): (u32, Option<Severity>), state: &State, width: u16, kinds: bool, pins: &Pins) {
    // The colour of its node, since lines have no label of their own.
    let node = pen.cx().frame.topology.node_of(cpu).map_or(Role::Dim, Role::node);
    let name = number::Short::from_display(format_args!("c{cpu}"));
    match flag {
        Some(severity) => pen.field(node, 4, name.as_str()).severity(severity),
        None => pen.field(node, 5, name.as_str()),
    };
    let numbers = if width >= 90 { 54 } else { 0 };
    let shares = match state {
        State::Known(shares) => shares,
        State::Offline => {
            pen.text(Role::Absent, &text::OFFLINE);
            return;
        }
        State::Unknown => {
            let one = pen.cx().frame.interval_seconds.is_none();
            pen.text(Role::Absent, &if one { shared::NO_RATES } else { shared::NOT_READ }).skip(1);
            mark(pen, cpu, pins, true);
            return;
        }
    };
    let words = if width >= 60 { PINNED } else { 5 };
    let bar = width.saturating_sub(5 + 5 + words + numbers).min(60);
    if kinds || numbers > 0 {
        pen.stacked(bar, &split::parts(shares));
    } else {
        pen.bar(bar, Some(shares.busy));
    }
    pen.share(5, Some(shares.busy)).skip(1);
    let from = pen.x();
    match pins.on(cpu) {
        count if count > 0 && words == PINNED => {
            let role = if count > 1 { Role::Warn } else { Role::Info };
            pen.text(role, &text::Pinned { count: &count }.to_string());
        }
        _ => mark(pen, cpu, pins, true),
    }
    if numbers > 0 {
        pen.to(from + words);
        split::numbers(pen, shares);
    }
}
