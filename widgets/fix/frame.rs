//! The frame of the dialog, its buttons and key hints.

use super::{Button, Dialog, Doing, Keys, Run, Stage};
use crate::findings::risk_role;
use crate::parts::{Pen, names, number};
use crate::{Charset, Cx, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::journal::Applied;
use topotop_model::locale::dialog::fix as text;

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
        Stage::Choosing => text::Title { finding: &about }.to_string(),
        _ => format!("{}: {about}", fix.unwrap_or_default()),
    }
}

/// Buttons and key hints, in the two rows above the lower edge.
pub(super) fn foot(cx: &Cx<'_>, dialog: &Dialog, keys: &Keys, (place, below): (Rect, usize), buf: &mut Buffer) {
    let inside = Rect { x: place.x + 2, width: place.width.saturating_sub(4), ..place };
    let row = place.height.saturating_sub(2);
    if below > 0 {
        let text = format!(" {} ", text::More { count: &below, key: &keys.page });
        let mut pen = Pen::new(cx, inside, place.height.saturating_sub(3), buf);
        let width = names::width(&text).min(inside.width);
        pen.to(inside.right() - width).text(Role::Dim, &text);
    }
    let about = dialog.editing.as_ref().map(|typed| parameters(dialog, typed));
    if let Some(note) = dialog.note.as_ref().or(about.as_ref()) {
        Pen::new(cx, inside, place.height.saturating_sub(3), buf).text(Role::Info, note);
    }
    let mut pen = Pen::new(cx, inside, row, buf);
    if let Some(typed) = &dialog.typed {
        let name = dialog.plan().map(topotop_model::fix::Plan::name).unwrap_or_default();
        pen.text(Role::Critical, text::DANGEROUS.as_str()).text(Role::Text, ": ");
        pen.text(Role::Text, &text::TypeName { name: &name }.to_string()).text(Role::Text, ": ");
        pen.text(Role::Selected, &format!("{typed}_"));
        return;
    }
    if let Some(typed) = &dialog.editing {
        pen.text(Role::Text, text::SET.as_str())
            .text(Role::Text, ": ")
            .text(Role::Selected, &format!("{typed}_"))
            .skip(3);
        hint(&mut pen, &[("Enter", text::SET_APPLY.as_str()), ("Esc", text::CANCEL.as_str())]);
        return;
    }
    let set = if dialog.can_set() { keys.set.as_str() } else { "" };
    match &dialog.stage {
        Stage::Choosing => hint(
            &mut pen,
            &[("Enter", text::REVIEW.as_str()), (set, text::SET_PARAMETERS.as_str()), ("Esc", text::CLOSE.as_str())],
        ),
        Stage::Reading(_) => hint(&mut pen, &[("Esc", text::CANCEL.as_str())]),
        Stage::Review(_) => {
            buttons(&mut pen, dialog);
            hint(&mut pen, &[(set, text::SET_PARAMETERS.as_str())]);
        }
        Stage::Run(run) => running(&mut pen, run, keys, dialog.now_ns),
    }
}

/// The parameters, or the meaning of the one being typed.
fn parameters(dialog: &Dialog, typed: &str) -> String {
    let all = dialog.fix().map(|fix| fix.parameters).unwrap_or_default();
    let named = |word: &str| all.iter().find(|parameter| word.split('=').next() == Some(parameter.name));
    let one = typed.split_whitespace().rev().find_map(named).or(all.first().filter(|_| all.len() == 1));
    match one {
        Some(parameter) if parameter.unit.is_empty() => format!("{}=: {}", parameter.name, parameter.about),
        Some(parameter) => format!("{}= ({}): {}", parameter.name, parameter.unit, parameter.about),
        None => all.iter().map(|parameter| format!("{}=", parameter.name)).collect::<Vec<_>>().join("  "),
    }
}

fn hint(pen: &mut Pen<'_>, hints: &[(&str, &str)]) {
    for (key, word) in hints {
        if key.is_empty() {
            continue;
        }
        pen.text(Role::Key, key).skip(1).text(Role::Text, word).skip(3);
    }
}

fn buttons(pen: &mut Pen<'_>, dialog: &Dialog) {
    let obstacle = dialog.obstacle();
    let cancel = if obstacle.is_some() { text::BUTTON_CLOSE } else { text::BUTTON_CANCEL };
    let mut all = vec![(Button::Cancel, cancel), (Button::Copy, text::BUTTON_COPY)];
    if obstacle.is_none() {
        all.push((Button::Apply, text::BUTTON_APPLY));
    }
    for (button, word) in all {
        // The marker shows the focus without colours.
        let (open, close, role) =
            if button == dialog.button { ("▶[ ", " ]", Role::Selected) } else { (" [ ", " ]", Role::Text) };
        pen.text(role, open).text(role, &word).text(role, close).skip(2);
    }
    if let Some(obstacle) = obstacle {
        pen.text(Role::Denied, &obstacle);
    }
}

fn running(pen: &mut Pen<'_>, run: &Run, keys: &Keys, now_ns: u64) {
    if let Some(deadline) = run.deadline_ns {
        let left = deadline.saturating_sub(now_ns) as f64 / 1e9;
        pen.text(Role::Critical, &text::RollbackIn { time: &number::seconds(left.ceil()) }.to_string())
            .text(Role::Critical, ": ");
        hint(pen, &[(&keys.keep, text::KEEP.as_str())]);
    }
    match run.doing {
        Doing::Applying if run.aborting => hint(pen, &[("", "")]),
        Doing::Applying => hint(pen, &[("Esc", text::ABORT.as_str())]),
        Doing::Undoing => {
            pen.text(Role::Text, text::UNDOING.as_str());
        }
        Doing::Watching | Doing::Ended => {
            let close = if run.undone.is_some() || run.state == Some(Applied::Failed) {
                text::CLOSE
            } else {
                text::CLOSE_APPLIED
            };
            let undo = if run.can_undo() { keys.undo.as_str() } else { "" };
            let may_keep = run.doing == Doing::Watching && run.deadline_ns.is_none() && !run.keeps;
            let keep = if may_keep { keys.keep.as_str() } else { "" };
            hint(
                pen,
                &[
                    (undo, if run.undo_decides() { &text::UNDO_COMPARE } else { &text::UNDO }),
                    (keep, text::KEEP_WORSE.as_str()),
                    ("Esc", &close),
                ],
            );
        }
    }
}
