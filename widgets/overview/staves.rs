//! The staves of the barrel: whichever is the shortest holds everything up. The model says how each stands; here it is
//! drawn: a line that names the short one and the next, and a cell for each.

use crate::parts::{Pen, names, number};
use crate::{Charset, Cx, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::frame::Cgroup;
use topotop_model::rules::Subject;
use topotop_model::staves::{Kind, Stave, Staves, Verdict};

/// The width that a stave needs to say something.
const WIDTH: u16 = 19;

/// From this height on there is room for the line that names the short stave.
const TALL: u16 = 20;

/// How many stand side by side.
fn columns(width: u16) -> u16 {
    match width / WIDTH {
        0 | 1 => 1,
        2 | 3 => 2,
        _ => 4,
    }
}

/// The rows that they take at a width, of a screen so high.
pub(super) fn rows(width: u16, height: u16) -> u16 {
    8_u16.div_ceil(columns(width)) + u16::from(height >= TALL)
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

/// A cell: a stave, or the two directions of a link.
struct Cell<'a> {
    name: &'static str,
    stave: &'a Stave,
    other: Option<&'a Stave>,
}

/// In the order in which they are drawn.
fn cells(staves: &Staves) -> Vec<Cell<'_>> {
    let one = |name, kind| Some(Cell { name, stave: staves.get(kind)?, other: None });
    let nic = || {
        let (rx, tx) = (staves.get(Kind::NicIn)?, staves.get(Kind::NicOut)?);
        let full = |stave: &Stave| stave.share.unwrap_or(0.0);
        let (stave, other) = if (tx.verdict, full(tx)) > (rx.verdict, full(rx)) { (tx, rx) } else { (rx, tx) };
        Some(Cell { name: "nic", stave, other: Some(other) })
    };
    let cells = [
        one("core", Kind::Core),
        one("thread", Kind::Thread),
        one("disk", Kind::Disk),
        one("memory", Kind::Memory),
        one("softirq", Kind::Softirq),
        one("remote", Kind::Remote),
        nic(),
        one("quota", Kind::Quota),
    ];
    cells.into_iter().flatten().collect()
}

pub(super) fn draw(cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
    let staves = Staves::of(cx.frame, &cx.judgement.findings, cx.settings);
    let columns = columns(area.width);
    let headed = area.height > 8_u16.div_ceil(columns);
    if headed {
        head(&mut Pen::new(cx, area, 0, buf), &staves);
    }
    let widths: [u16; 8] = if columns == 4 { NAMES } else { [8; 8] };
    for (at, cell) in cells(&staves).iter().enumerate() {
        let (column, row) = (at as u16 % columns, at as u16 / columns);
        let (from, to) = (edge(area.width, columns, column), edge(area.width, columns, column + 1));
        let place = Rect { x: area.x + from, width: (to - from).saturating_sub(1), ..area };
        let name = widths.get(at).copied().unwrap_or(8);
        one(&mut Pen::new(cx, place, row + u16::from(headed), buf), name, cell);
    }
}

/// How a verdict looks.
fn mark(verdict: Verdict, charset: Charset) -> (Role, &'static str) {
    match (verdict, charset) {
        (Verdict::Guilty, Charset::Unicode) => (Role::Critical, "▲"),
        (Verdict::Guilty, Charset::Ascii) => (Role::Critical, "!"),
        (Verdict::RuledOut, Charset::Unicode) => (Role::Ok, "✓"),
        (Verdict::RuledOut, Charset::Ascii) => (Role::Ok, "+"),
        (Verdict::Unknown, _) => (Role::Absent, "?"),
    }
}

/// Writes as much of a list of pieces as there is room for, whole ones only.
fn pieces(pen: &mut Pen<'_>, pieces: &[(Role, String)]) -> bool {
    let width: u16 = pieces.iter().map(|(_, text)| names::width(text)).sum();
    if width > pen.left() {
        return false;
    }
    for (role, text) in pieces {
        pen.text(*role, text);
    }
    true
}

/// The short stave, what is unknown, and what would be short next.
fn head(pen: &mut Pen<'_>, staves: &Staves) {
    let charset = pen.cx().charset;
    let word = |verdict: Verdict, text: &str| {
        let (role, glyph) = mark(verdict, charset);
        (role, format!("{glyph} {text}"))
    };
    let short = staves.short();
    let all_unknown = staves.iter().all(|stave| stave.verdict == Verdict::Unknown);
    match short {
        Some(stave) => {
            let rule = stave.rule.map_or_else(String::new, |(rule, _)| format!(" {rule}"));
            let said = (Role::Title, stave.said());
            if !pieces(pen, &[word(Verdict::Guilty, "short stave: "), said.clone(), (Role::Dim, rule)]) {
                pieces(pen, &[word(Verdict::Guilty, "short: "), said]);
            }
        }
        None if all_unknown => {
            pieces(pen, &[word(Verdict::Unknown, "staves unknown yet")]);
        }
        None => {
            pieces(pen, &[word(Verdict::RuledOut, "no short stave")]);
        }
    }
    let unknown = staves.iter().filter(|stave| stave.verdict == Verdict::Unknown).map(|stave| stave.kind);
    let mut unknown: Vec<&str> = unknown.map(short_name).collect();
    unknown.dedup();
    if !unknown.is_empty() && !all_unknown {
        pieces(
            pen,
            &[(Role::Dim, "   ".to_owned()), word(Verdict::Unknown, "unknown: "), (Role::Text, unknown.join(", "))],
        );
    }
    if let Some((next, room)) = staves.next().and_then(|next| Some((next, next.headroom()?))) {
        let times = if room >= 100.0 { String::new() } else { format!(", room x{room:.1}") };
        let said = next.said();
        let lead = (Role::Dim, "   next: ".to_owned());
        if !pieces(pen, &[lead.clone(), (Role::Text, said.clone()), (Role::Dim, times)]) {
            pieces(pen, &[lead, (Role::Text, said)]);
        }
    }
}

fn short_name(kind: Kind) -> &'static str {
    match kind {
        Kind::NicIn | Kind::NicOut => "nic",
        other => other.name(),
    }
}

fn one(pen: &mut Pen<'_>, name: u16, cell: &Cell<'_>) {
    let (width, stave) = (pen.left(), cell.stave);
    let (role, glyph) = mark(stave.verdict, pen.cx().charset);
    pen.text(role, glyph);
    pen.field(if stave.verdict == Verdict::Guilty { Role::Title } else { Role::Dim }, name, cell.name);
    match (stave.share, stave.verdict) {
        (Some(share), _) => {
            let bar = width.saturating_sub(name + 6 + 15).min(16);
            if bar >= 5 {
                pen.meter(bar, Some(share)).skip(1);
            } else if width >= 25 {
                pen.heat(Some(share)).skip(1);
            }
            // Where there is room for nothing else, the number stands for the glyph.
            pen.share(4, Some(share)).skip(1);
            what(pen, cell);
        }
        (None, Verdict::Unknown) if stave.subject.is_some() => {
            if width >= 27 {
                pen.text(Role::Absent, "unknown ");
            }
            what(pen, cell);
        }
        (None, Verdict::Guilty) => what(pen, cell),
        (None, _) => {
            pen.text(Role::Absent, if stave.note.is_empty() { "unknown" } else { brief(stave.note, pen.left()) });
        }
    }
}

/// A note where it fits, else its gist.
fn brief(note: &'static str, width: u16) -> &'static str {
    if usize::from(width) >= note.chars().count() {
        return note;
    }
    if note.starts_with("no ") { "none" } else { "unknown" }
}

/// A name; of one that is too long both ends, since the end tells one of many from the others.
fn named(pen: &mut Pen<'_>, name: &str) {
    let (left, width) = (usize::from(pen.left()), usize::from(names::width(name)));
    if width <= left || left < 5 || !name.is_ascii() {
        pen.text(Role::Text, name);
        return;
    }
    let tail = (left - 1) / 2;
    let (head, tail) = (name.get(..left - 1 - tail), name.get(name.len() - tail..));
    let mark = if pen.cx().charset == Charset::Ascii { "~" } else { "…" };
    pen.text(Role::Text, head.unwrap_or_default()).text(Role::Text, mark).text(Role::Text, tail.unwrap_or_default());
}

/// Whose it is.
fn what(pen: &mut Pen<'_>, cell: &Cell<'_>) {
    let stave = cell.stave;
    match (&stave.subject, cell.other) {
        (_, Some(other)) => directions(pen, stave, other),
        (Some(Subject::Cpu(id)), _) => {
            pen.text(Role::Text, "c").text(Role::Text, number::id(*id).as_str());
        }
        (Some(Subject::Process(pid, _)), _) => {
            let pid = number::id(stave.tid.unwrap_or(*pid));
            pen.text(Role::Text, &stave.name);
            // Part of a number would be another one.
            if pen.left() > pid.width() {
                pen.skip(1).text(Role::Dim, pid.as_str());
            }
        }
        (Some(Subject::Cgroup(path)), _) if stave.kind == Kind::Quota => {
            named(pen, &stave.name);
            let held = pen.cx().frame.cgroup(path).and_then(|cgroup: &Cgroup| cgroup.cpu.throttled_ratio);
            if let Some(ratio) = held.filter(|ratio| *ratio > 0.0 && pen.left() >= 9) {
                pen.text(Role::Dim, " held ").text(Role::Text, number::percent(ratio).as_str());
            }
        }
        _ => named(pen, &stave.name),
    }
}

/// Both directions of a link: shares where its capacity is known, else bytes.
fn directions(pen: &mut Pen<'_>, stave: &Stave, other: &Stave) {
    let (rx, tx) = if pen.cx().charset == Charset::Ascii { ("in", "out") } else { ("↓", "↑") };
    let mut both = [stave, other];
    both.sort_by_key(|stave| stave.kind);
    for (arrow, stave) in [rx, tx].into_iter().zip(both) {
        let text = match (stave.share, stave.used) {
            (Some(share), _) => number::percent(share),
            (None, Some((bytes, _))) => number::bytes(bytes),
            (None, None) => number::Short::from_display(format_args!("?")),
        };
        pen.text(Role::Dim, arrow).text(Role::Text, text.as_str()).skip(1);
    }
    pen.text(Role::Dim, &stave.name);
}
