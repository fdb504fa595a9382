//! The frame of the dialog, its buttons and key hints.

use super::{Button, Dialog, Doing, Keys, Press, Run, Stage};
use crate::findings::risk_role;
use crate::parts::{Pen, names, number};
use crate::{Charset, Cx, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::fix::row;
use topotop_model::journal::Applied;
use topotop_model::locale::dialog::fix as text;
use topotop_model::locale::{pair, translated};
use topotop_model::text::printable;

/// The frame with the title.
pub(super) fn draw(cx: &Cx<'_>, dialog: &Dialog, place: Rect, buf: &mut Buffer) {
    crate::parts::clear(place.intersection(buf.area), buf);
    buf.set_style(place.intersection(buf.area), cx.theme.style(Role::Text));
    let [top_left, line, top_right, side, bottom_left, bottom_right] = match cx.charset {
        Charset::Unicode => ["┌", "─", "┐", "│", "└", "┘"],
        Charset::Ascii => ["+", "-", "+", "|", "+", "+"],
    };
    let style = cx.theme.style(Role::Focus);
    for row in 0..place.height {
        let (left, right) = match row {
            0 => (top_left, top_right),
            _ if row + 1 == place.height => (bottom_left, bottom_right),
            _ => (side, side),
        };
        let mut pen = Pen::new(cx, place, row, buf);
        pen.glyph(style, left);
        if row == 0 || row + 1 == place.height {
            pen.repeat(Role::Focus, line, place.width.saturating_sub(2));
        }
        pen.to(place.right().saturating_sub(1)).glyph(style, right);
    }
    let mut pen = Pen::new(cx, Rect { x: place.x + 2, width: place.width.saturating_sub(4), ..place }, 0, buf);
    pen.text(Role::Title, &format!(" {} ", title(dialog)));
    if let Some(plan) = dialog.plan() {
        let (risk, role) =
            if plan.is_executable() { (plan.risk.label(), risk_role(plan.risk)) } else { (text::ADVICE, Role::Dim) };
        pen.text(role, &format!(" {risk} "));
    }
}

fn title(dialog: &Dialog) -> String {
    let about = format!("{} {}", dialog.rule, dialog.subject);
    let fix = dialog.plan().map(|plan| plan.fix);
    match &dialog.stage {
        Stage::Choosing if dialog.rule == row::ID => printable(&dialog.title).into_owned(),
        _ if dialog.rule == row::ID => pair(fix.unwrap_or_default(), printable(&dialog.title)),
        Stage::Choosing => text::Title { finding: &about }.to_string(),
        _ => pair(fix.unwrap_or_default(), about),
    }
}

/// Buttons and key hints, in the two rows above the lower edge.
pub(super) fn foot(cx: &Cx<'_>, dialog: &Dialog, keys: &Keys, (place, below): (Rect, usize), buf: &mut Buffer) {
    let inside = Rect { x: place.x + 2, width: place.width.saturating_sub(4), ..place };
    let row = place.height.saturating_sub(2);
    if below > 0 {
        let text = format!(" {} ", text::More { count: below as u64, key: &keys.page });
        let mut pen = Pen::new(cx, inside, place.height.saturating_sub(3), buf);
        let width = names::width(&text).min(inside.width);
        pen.to(inside.right() - width).text(Role::Dim, &text);
    }
    let about = dialog.editing.as_ref().map(|typed| parameters(dialog, typed));
    if let Some(note) = dialog.note.as_ref().or(about.as_ref()) {
        Pen::new(cx, inside, place.height.saturating_sub(3), buf).text(Role::Info, note);
    }
    let mut pen = Pen::new(cx, inside, row, buf);
    for part in parts(dialog, keys) {
        for (role, text) in &part.text {
            pen.text(*role, text);
        }
        pen.skip(part.skip);
    }
}

/// A piece of the last row: its text, the columns behind it, and what a click on it does.
struct Part {
    text: Vec<(Role, String)>,
    skip: u16,
    press: Option<Press>,
}

fn part(role: Role, text: impl Into<String>) -> Part {
    Part { text: vec![(role, text.into())], skip: 0, press: None }
}

fn hint(key: &str, word: &str, press: Press) -> Option<Part> {
    let text = vec![(Role::Key, key.to_owned()), (Role::Text, format!(" {word}"))];
    (!key.is_empty()).then_some(Part { text, skip: 3, press: Some(press) })
}

/// What a click at a place of the last row does.
pub(super) fn press(dialog: &Dialog, keys: &Keys, place: Rect, (column, row): (u16, u16)) -> Option<Press> {
    let mut x = place.x + 2;
    parts(dialog, keys).into_iter().find_map(|part| {
        let width: u16 = part.text.iter().map(|(_, text)| names::width(text)).sum();
        let from = x;
        x = x.saturating_add(width + part.skip);
        let inside = (from..from.saturating_add(width)).contains(&column) && column + 2 < place.right();
        part.press.filter(|_| inside && row + 2 == place.bottom())
    })
}

/// The last row: what is typed, or buttons and hints.
fn parts(dialog: &Dialog, keys: &Keys) -> Vec<Part> {
    if let Some(typed) = &dialog.typed {
        let name = dialog.plan().map(topotop_model::fix::Plan::name).unwrap_or_default();
        return vec![
            part(Role::Critical, text::DANGEROUS.as_str()),
            part(Role::Text, pair("", pair(text::TypeName { name: &name }, ""))),
            part(Role::Selected, format!("{typed}_")),
        ];
    }
    if let Some(typed) = &dialog.editing {
        let line = vec![(Role::Text, pair(text::SET, "")), (Role::Selected, format!("{typed}_"))];
        let hints = [hint("Enter", &text::SET_APPLY, Press::Enter), hint("Esc", &text::CANCEL, Press::Close)];
        let line = Part { text: line, skip: 3, press: None };
        return std::iter::once(line).chain(hints.into_iter().flatten()).collect();
    }
    let set = if dialog.can_set() { keys.set.as_str() } else { "" };
    let set = hint(set, &text::SET_PARAMETERS, Press::Set);
    match &dialog.stage {
        Stage::Choosing => {
            let review = if dialog.choices.is_empty() { None } else { hint("Enter", &text::REVIEW, Press::Enter) };
            let hints = [review, set, hint("Esc", &text::CLOSE, Press::Close)];
            hints.into_iter().flatten().collect()
        }
        Stage::Reading(_) => hint("Esc", &text::CANCEL, Press::Close).into_iter().collect(),
        Stage::Review(_) => buttons(dialog).into_iter().chain(set).collect(),
        Stage::Run(run) => running(run, keys, dialog.now_ns),
    }
}

/// The parameters, or the meaning of the one being typed.
fn parameters(dialog: &Dialog, typed: &str) -> String {
    let all = dialog.fix().map(|fix| fix.parameters).unwrap_or_default();
    let named = |word: &str| all.iter().find(|parameter| word.split('=').next() == Some(parameter.name));
    let one = typed.split_whitespace().rev().find_map(named).or(all.first().filter(|_| all.len() == 1));
    match one {
        Some(parameter) if parameter.unit.is_empty() => pair(format_args!("{}=", parameter.name), parameter.about),
        Some(parameter) => {
            let unit = translated(&["parameter."], parameter.unit);
            pair(format_args!("{}= ({unit})", parameter.name), parameter.about)
        }
        None => all.iter().map(|parameter| format!("{}=", parameter.name)).collect::<Vec<_>>().join("  "),
    }
}

fn buttons(dialog: &Dialog) -> Vec<Part> {
    let obstacle = dialog.obstacle();
    let cancel = if obstacle.is_some() { text::BUTTON_CLOSE } else { text::BUTTON_CANCEL };
    let mut all = vec![(Button::Cancel, cancel), (Button::Copy, text::BUTTON_COPY)];
    if obstacle.is_none() {
        all.push((Button::Apply, text::BUTTON_APPLY));
    }
    let button = |(button, word)| {
        // The marker shows the focus without colours.
        let (open, close, role) =
            if button == dialog.button { ("▶[ ", " ]", Role::Selected) } else { (" [ ", " ]", Role::Text) };
        Part { text: vec![(role, format!("{open}{word}{close}"))], skip: 2, press: Some(Press::Button(button)) }
    };
    let obstacle = obstacle.map(|obstacle| Part { skip: 2, ..part(Role::Denied, obstacle) });
    all.into_iter().map(button).chain(obstacle).collect()
}

fn running(run: &Run, keys: &Keys, now_ns: u64) -> Vec<Part> {
    let mut parts = Vec::new();
    if let Some(deadline) = run.deadline_ns {
        let left = deadline.saturating_sub(now_ns) as f64 / 1e9;
        parts.push(part(Role::Critical, pair(text::RollbackIn { time: &number::seconds(left.ceil()) }, "")));
        parts.extend(hint(&keys.keep, &text::KEEP, Press::Keep));
    }
    match run.doing {
        Doing::Applying if run.aborting => {}
        Doing::Applying => parts.extend(hint("Esc", &text::ABORT, Press::Close)),
        Doing::Undoing => parts.push(part(Role::Text, text::UNDOING.as_str())),
        Doing::Watching | Doing::Ended => {
            let close = if run.undone.is_some() || run.state == Some(Applied::Failed) {
                text::CLOSE
            } else {
                text::CLOSE_APPLIED
            };
            let undo = if run.can_undo() { keys.undo.as_str() } else { "" };
            let may_keep = run.doing == Doing::Watching && run.deadline_ns.is_none() && !run.keeps;
            let keep = if may_keep { keys.keep.as_str() } else { "" };
            parts.extend(hint(undo, if run.undo_decides() { &text::UNDO_COMPARE } else { &text::UNDO }, Press::Undo));
            parts.extend(hint(keep, &text::KEEP_WORSE, Press::Keep));
            parts.extend(hint("Esc", &close, Press::Close));
        }
    }
    parts
}
