//! The findings on the overview, and the one line that stands on every screen.

use super::detail::{risk_label, risk_role};
use crate::parts::severity::of_machine;
use crate::parts::{Pen, names, severity};
use crate::{Charset, Cx, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::fix::offered;
use topotop_model::locale::screen::findings as text;
use topotop_model::rules::Finding;

/// Lines of a title before it is cut.
const TITLE: usize = 2;
/// Columns before a title: sign and rule.
const HEAD: u16 = 10;

/// How many of the lines of a finding are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Room {
    title: u16,
    advice: bool,
}

impl Room {
    fn rows(self) -> u16 {
        self.title + u16::from(self.advice)
    }
}

/// Draws the worst findings: each in up to two lines, with the first thing to do where there is room.
pub fn compact(cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
    if of_machine(cx).next().is_none() {
        Pen::new(cx, area, 0, buf).all_clear();
        return;
    }
    let (rooms, more) = share_out(cx, area);
    let mut y = 0;
    for (finding, room) in of_machine(cx).zip(rooms) {
        one(cx, finding, room, Rect { y: area.y + y, height: room.rows(), ..area }, buf);
        y += room.rows();
    }
    if more > 0 {
        let more = text::More { count: more as u64 };
        Pen::new(cx, area, y, buf).skip(2).text(Role::Dim, &more.to_string());
    }
}

/// The rows that it could use at a width.
pub fn compact_rows(cx: &Cx<'_>, width: u16) -> u16 {
    of_machine(cx).map(|finding| whole(cx, finding, width).rows()).sum::<u16>().max(1)
}

/// All of a finding's lines.
fn whole(cx: &Cx<'_>, finding: &Finding, width: u16) -> Room {
    let title = severity::wrapped(&severity::title(cx, finding), width.saturating_sub(HEAD)).len().min(TITLE);
    Room { title: title as u16, advice: !finding.advice().is_empty() }
}

/// A line for each finding, then the rest of their lines, the worst first; and how many there is no room for.
fn share_out(cx: &Cx<'_>, area: Rect) -> (Vec<Room>, usize) {
    let findings: Vec<&Finding> = of_machine(cx).collect();
    let rows = usize::from(area.height);
    let room_for = if findings.len() <= rows { findings.len() } else { rows.saturating_sub(1).max(1) };
    let mut left = area.height.saturating_sub(room_for as u16 + u16::from(room_for < findings.len()));
    let mut rooms = Vec::with_capacity(room_for);
    for finding in findings.iter().copied().take(room_for) {
        let all = whole(cx, finding, area.width);
        let title = 1 + (all.title - 1).min(left);
        left -= title - 1;
        let advice = all.advice && left > 0;
        left -= u16::from(advice);
        rooms.push(Room { title, advice });
    }
    let more = if area.height > room_for as u16 { findings.len() - room_for } else { 0 };
    (rooms, more)
}

fn one(cx: &Cx<'_>, finding: &Finding, room: Room, area: Rect, buf: &mut Buffer) {
    let role = severity::role(finding.severity);
    let mut pen = Pen::new(cx, area, 0, buf);
    pen.severity(finding.severity).skip(1).field(role, HEAD - 2, finding.rule.id.as_str());
    let title = severity::title(cx, finding);
    let wrapped = severity::wrapped(&title, area.width.saturating_sub(HEAD));
    let mut rest = title.as_str();
    for (row, line) in wrapped.iter().take(usize::from(room.title)).enumerate() {
        let last = row + 1 == usize::from(room.title);
        let mut pen = Pen::new(cx, area, row as u16, buf);
        // What does not fit into the last line is seen to go on.
        pen.skip(HEAD).text(Role::Text, if last { rest } else { line });
        rest = rest.trim_start().strip_prefix(line.as_str()).unwrap_or(rest).trim_start();
    }
    if !room.advice {
        return;
    }
    let mut pen = Pen::new(cx, area, room.title, buf);
    let fix = offered(finding, cx.frame, cx.surroundings).0.into_iter().next().filter(|fix| fix.executable);
    if let Some(fix) = fix {
        let risk = risk_label(fix.risk);
        pen.skip(HEAD - 1).text(Role::Info, "f  ");
        let room = pen.left().saturating_sub(names::width(&risk) + 2);
        pen.field(Role::Text, room, fix.line()).skip(2).text(risk_role(fix.risk), &risk);
    } else if let Some(advice) = finding.advice().iter().next() {
        let arrow = if cx.charset == Charset::Unicode { "→ " } else { "> " };
        pen.skip(HEAD).text(Role::Border, arrow).text(Role::Dim, advice.as_str());
    }
}

/// The worst finding in one line with the counts at its end; without any, what that means.
pub fn line(cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
    let mut pen = Pen::new(cx, area, 0, buf);
    pen.skip(1);
    let Some(worst) = of_machine(cx).next() else {
        pen.all_clear();
        return;
    };
    let counts = severity::severities_width(cx);
    let several = of_machine(cx).nth(1).is_some();
    let tail = if several { counts + 2 } else { 0 };
    let room = pen.left().saturating_sub(tail + 1);
    let mut head = pen.sub(room);
    head.severity(worst.severity).skip(1).text(severity::role(worst.severity), worst.rule.id.as_str()).skip(1);
    head.text(Role::Text, &severity::title(cx, worst));
    if several {
        pen.skip(2).severities();
    }
}
