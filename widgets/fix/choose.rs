//! The list of choices: executable fixes, advice, and refused fixes with the reason.

use super::{Choice, Dialog, machine};
use crate::findings::risk_role;
use crate::parts::pane::Doc;
use crate::parts::severity::wrapped;
use crate::{Cx, Role};
use topotop_model::fix::row;
use topotop_model::locale::dialog::fix as text;
use topotop_model::rules;
use topotop_model::text::{padded, printable};

pub(super) fn doc(cx: &Cx<'_>, dialog: &Dialog, width: u16) -> Doc {
    listed(cx, dialog, width).0
}

/// The choice that a line is about.
pub(super) fn choice_at(cx: &Cx<'_>, dialog: &Dialog, width: u16, line: usize) -> Option<usize> {
    let (_, begins) = listed(cx, dialog, width);
    let end = *begins.last()?;
    let at = begins.iter().rposition(|&begin| begin <= line);
    at.filter(|_| line < end)
}

/// The list, and the line that each choice begins at, then the one after the last.
fn listed(cx: &Cx<'_>, dialog: &Dialog, width: u16) -> (Doc, Vec<usize>) {
    let (mut doc, mut begins) = (Doc::default(), Vec::new());
    // Of a row's actions the frame says whose they are.
    if dialog.rule != row::ID {
        for line in wrapped(&printable(&dialog.title), width) {
            doc.line(vec![(line, Role::Text)]);
        }
        doc.gap();
    }
    for (at, choice) in dialog.choices.iter().enumerate() {
        begins.push(doc.len());
        let here = at == dialog.chosen;
        let mark = if here { "▶ " } else { "  " };
        let role = if here { Role::Selected } else { Role::Text };
        match choice {
            Choice::Plan(fix, plan) => {
                let (risk, risk_as) = if plan.is_executable() {
                    (plan.risk.label(), risk_role(plan.risk))
                } else {
                    (text::ADVICE, Role::Dim)
                };
                let head = format!("{mark}{:<13} ", fix.id);
                doc.line(vec![(head, role), (padded(&risk, 11), risk_as), (printable(&plan.title).into(), role)]);
                let command = plan.commands.first().map_or(&*fix.name, String::as_str);
                for line in wrapped(&printable(command), width.saturating_sub(16)).into_iter().take(2) {
                    doc.line(vec![(" ".repeat(16), Role::Text), (line, Role::Dim)]);
                }
            }
            Choice::Refused(refused) => {
                let head = format!("{mark}{:<13} ", refused.fix);
                // Nothing is refused of what somebody has to say for what first.
                let word = if row::asks(&refused.why) { text::NEEDS_VALUE } else { text::REFUSED };
                doc.line(vec![(head, role), (padded(&word, 11), Role::Absent), (refused.name.to_string(), role)]);
                let why = if refused.needs.is_empty() {
                    refused.why.clone()
                } else {
                    text::RefusedWithNeeds { why: &refused.why, needs: &refused.needs }.to_string()
                };
                for line in wrapped(&printable(&why), width.saturating_sub(16)) {
                    doc.line(vec![(" ".repeat(16), Role::Text), (line, Role::Denied)]);
                }
            }
        }
        if here {
            doc.append(machine::doc(cx, dialog, width));
        }
    }
    begins.push(doc.len());
    foot(&mut doc, dialog, width);
    (doc, begins)
}

/// That there is no choice, and why nothing can be applied.
fn foot(doc: &mut Doc, dialog: &Dialog, width: u16) {
    if dialog.choices.is_empty() {
        let rule = rules::ALL.iter().find(|rule| rule.id == dialog.rule && !rule.advice.is_empty());
        let head = if rule.is_some() { text::ADVICE_ALONE } else { text::NO_CHOICE };
        doc.line(vec![(head.to_string(), Role::Dim)]);
        for (at, advice) in rule.iter().flat_map(|rule| rule.advice.iter()).enumerate() {
            for (line_at, line) in wrapped(advice.as_str(), width.saturating_sub(3)).into_iter().enumerate() {
                let number = if line_at == 0 { format!("{}  ", at + 1) } else { "   ".to_owned() };
                doc.line(vec![(number, Role::Dim), (line, Role::Text)]);
            }
        }
    }
    let Some(why) = &dialog.disabled else { return };
    doc.gap();
    for line in wrapped(&printable(why), width) {
        doc.line(vec![(line, Role::Denied)]);
    }
}
