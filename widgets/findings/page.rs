//! The page of a rule: all that `topotop rules ID` prints, and how it stands here.

use super::standing;
use crate::parts::pane::Doc;
use crate::parts::severity::wrapped;
use crate::{Cx, Role};
use topotop_model::judge::Standing;
use topotop_model::locale::screen::findings as text;
use topotop_model::locale::screen::shared;
use topotop_model::rules::{self, Rule};

pub(super) fn doc(cx: &Cx<'_>, rule: &'static Rule, width: u16) -> Doc {
    let mut doc = Doc::default();
    doc.line(vec![(format!("{}  ", rule.id), Role::Info), (rule.name.to_string(), Role::Title)]);
    doc.gap();
    // Long lines are hard to read: a page is no wider than a book's.
    paragraph(&mut doc, rule.why.as_str(), width.min(100));
    if let Some((_, standing)) = cx.judgement.rules.iter().find(|row| row.0.id == rule.id) {
        here(&mut doc, standing, width);
    }
    for (topic, lines) in rules::page(rule, cx.settings) {
        doc.gap();
        doc.head(topic.heading().as_str());
        for line in lines {
            if topic.is_aligned() {
                doc.line(vec![("  ".to_owned(), Role::Text), (line, Role::Text)]);
            } else {
                item(&mut doc, "", &line, Role::Text, width);
            }
        }
    }
    doc
}

fn here(doc: &mut Doc, standing: &Standing, width: u16) {
    doc.gap();
    doc.head(text::STATE_SECTION);
    match standing {
        Standing::Firing => doc.line(vec![(format!("  {}", text::FIRING), Role::Warn)]),
        Standing::Quiet => doc.line(vec![(format!("  {}", text::QUIET_TEXT), Role::Ok)]),
        Standing::NotChecked(unchecked) => {
            item(doc, "", &text::UNCHECKED_TEXT, Role::Denied, width);
            for row in unchecked.iter().take(256) {
                let one = Standing::NotChecked(vec![row.clone()]);
                let Some((reason, needs)) = standing::why(&one) else { continue };
                item(doc, "  ", &reason, Role::Text, width);
                if !needs.is_empty() {
                    item(doc, "  ", &shared::Needs { what: &needs }.to_string(), Role::Info, width);
                }
            }
        }
    }
}

/// A text over as many lines as it takes.
pub(super) fn paragraph(doc: &mut Doc, text: &str, width: u16) {
    for line in wrapped(text, width) {
        doc.line(vec![(line, Role::Text)]);
    }
}

/// An indented text, its further lines as far in as the first; `mark` stands before it.
pub(super) fn item(doc: &mut Doc, mark: &str, text: &str, role: Role, width: u16) {
    let columns = crate::parts::names::width(mark);
    for (at, line) in wrapped(text, width.saturating_sub(2 + columns)).into_iter().enumerate() {
        let mark = if at == 0 { mark.to_owned() } else { " ".repeat(usize::from(columns)) };
        doc.line(vec![(format!("  {mark}"), Role::Dim), (line, role)]);
    }
}
