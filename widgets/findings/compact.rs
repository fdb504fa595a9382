//! The findings on the overview, and the one line that stands on every screen.

use crate::parts::{Pen, severity};
use crate::{Charset, Cx, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::rules::Finding;

/// Lines of a title before it is cut.
const TITLE: usize = 2;
/// Columns before a title: sign and rule.
const HEAD: u16 = 10;

/// How many of the lines of a finding there is room for.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Room {
    title: usize,
    advice: bool,
}

/// Draws the worst findings: each in up to two lines, with the first thing to do where there is room.
pub fn compact(cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
    if cx.judgement.findings.is_empty() {
        Pen::new(cx, area, 0, buf).all_clear();
        return;
    }
    let findings = &cx.judgement.findings;
    let room = fitting(cx, findings, area);
    let mut y = 0;
    for (at, finding) in findings.iter().enumerate() {
        let lines = lines(cx, finding, area.width, room);
        let left = findings.len() - at;
        // The last row names how many more there are, unless it is the last finding's.
        if y + lines > area.height || (left > 1 && y + lines == area.height && area.height > lines) {
            let more = severity::counted(left, "more finding", "more findings");
            Pen::new(cx, area, y.min(area.height.saturating_sub(1)), buf).skip(2).text(Role::Dim, &more);
            return;
        }
        one(cx, finding, room, Rect { y: area.y + y, height: lines, ..area }, buf);
        y += lines;
    }
}

/// The rows that it could use at a width.
pub fn compact_rows(cx: &Cx<'_>, width: u16) -> u16 {
    let room = Room { title: TITLE, advice: true };
    cx.judgement.findings.iter().map(|finding| lines(cx, finding, width, room)).sum::<u16>().max(1)
}

/// The most that all of them have room for; all of them in one line each come before anything else of the first.
fn fitting(cx: &Cx<'_>, findings: &[Finding], area: Rect) -> Room {
    let rooms = [(TITLE, true), (TITLE, false), (1, false)].map(|(title, advice)| Room { title, advice });
    let fits = |room: &Room| {
        findings.iter().map(|finding| u32::from(lines(cx, finding, area.width, *room))).sum::<u32>()
            <= u32::from(area.height)
    };
    rooms.into_iter().find(fits).unwrap_or(Room { title: 1, advice: false })
}

fn lines(cx: &Cx<'_>, finding: &Finding, width: u16, room: Room) -> u16 {
    let title = severity::wrapped(&severity::title(cx, finding), width.saturating_sub(HEAD)).len().min(room.title);
    title as u16 + u16::from(room.advice && !finding.rule.advice.is_empty())
}

fn one(cx: &Cx<'_>, finding: &Finding, room: Room, area: Rect, buf: &mut Buffer) {
    let role = severity::role(finding.severity);
    let mut pen = Pen::new(cx, area, 0, buf);
    pen.severity(finding.severity).skip(1).field(role, HEAD - 2, finding.rule.id);
    let title = severity::title(cx, finding);
    let wrapped = severity::wrapped(&title, area.width.saturating_sub(HEAD));
    let mut rest = title.as_str();
    for (row, line) in wrapped.iter().take(room.title).enumerate() {
        let last = row + 1 == room.title;
        let mut pen = Pen::new(cx, area, row as u16, buf);
        // What does not fit into the last line is seen to go on.
        pen.skip(HEAD).text(Role::Text, if last { rest } else { line });
        rest = rest.trim_start().strip_prefix(line.as_str()).unwrap_or(rest).trim_start();
    }
    if let Some(advice) = finding.rule.advice.first().filter(|_| room.advice) {
        let mut pen = Pen::new(cx, area, wrapped.len().min(room.title) as u16, buf);
        let arrow = if cx.charset == Charset::Unicode { "→ " } else { "> " };
        pen.skip(HEAD).text(Role::Border, arrow).text(Role::Dim, advice);
    }
}

/// The worst finding in one line with the counts at its end; without any, what that means.
pub fn line(cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
    let mut pen = Pen::new(cx, area, 0, buf);
    pen.skip(1);
    let Some(worst) = cx.judgement.findings.first() else {
        pen.all_clear();
        return;
    };
    let counts = severity::severities_width(cx);
    let several = cx.judgement.findings.len() > 1;
    let tail = if several { counts + 2 } else { 0 };
    let room = pen.left().saturating_sub(tail + 1);
    let mut head = pen.sub(room);
    head.severity(worst.severity).skip(1).text(severity::role(worst.severity), worst.rule.id).skip(1);
    head.text(Role::Text, &severity::title(cx, worst));
    if several {
        pen.skip(2).severities();
    }
}
