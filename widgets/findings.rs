//! What is wrong and how it is known; and how every rule stands, so that silence is never mistaken for all clear.

mod columns;
mod compact;
mod detail;
mod evidence;
mod list;
mod page;
mod standing;

pub use compact::{compact, compact_rows, line};
pub(crate) use detail::risk_role;
pub use detail::text_of;

use crate::parts::legend;
use crate::parts::pane::Doc;
use crate::parts::severity::{self, Counts};
use crate::parts::table::{Did, Table};
use crate::parts::{Pen, pane};
use crate::{Action, Cx, Outcome, Panel, Role, Subject};
use list::{Id, Row};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::locale::Text;
use topotop_model::locale::screen::findings as text;
use topotop_model::rules::{Finding, Rule, RuleId};

/// The list of findings, the list of rules, and the detail of what is selected.
pub struct Findings {
    found: Table<Row, Id>,
    rules: Table<usize, RuleId>,
    /// True while keys go to the rules.
    on_rules: bool,
    /// True while the page of the finding's rule is open.
    page: bool,
    /// What another screen selected, as far as it was seen.
    seen: Option<Subject>,
    doc: Doc,
    scroll: usize,
    area: Rect,
}

impl Default for Findings {
    fn default() -> Self {
        Self {
            found: Table::new(columns::COLUMNS, list::IDENTITY, None).flagging(|_, _| None),
            rules: Table::new(standing::COLUMNS, standing::IDENTITY, None),
            on_rules: false,
            page: false,
            seen: None,
            doc: Doc::default(),
            scroll: 0,
            area: Rect::default(),
        }
    }
}

/// Where the parts are; one without rows is not shown.
#[derive(Clone, Copy, Default)]
struct Places {
    found: Rect,
    rules: Rect,
    detail: Rect,
}

/// From this size on the rules stand below the findings, and what is selected beside both.
const WIDE: (u16, u16) = (160, 30);
/// The rows of the message that nothing is found.
const MESSAGE: u16 = 3;

impl Findings {
    fn places(&self, cx: &Cx<'_>, area: Rect) -> Places {
        let rows = |count: usize| u16::try_from(count + 2).unwrap_or(u16::MAX);
        let none = cx.judgement.findings.is_empty();
        let needed = if none { MESSAGE } else { rows(self.found.counts().0.max(1)) };
        if area.width >= WIDE.0 && area.height >= WIDE.1 {
            let left = Rect { width: area.width * 11 / 20, ..area };
            let detail = Rect { x: left.right() + 2, width: area.width - left.width - 2, ..area };
            let found = Rect { height: (needed + u16::from(!none)).min(area.height * 2 / 3), ..left };
            let rules = Rect { y: found.bottom(), height: area.height - found.height, ..left };
            return Places { found, rules, detail };
        }
        // The list gets what it needs up to two fifths, the detail the rest.
        let top = |needed: u16| Rect { height: needed.min((area.height * 2 / 5).max(4)).min(area.height), ..area };
        let below = |list: Rect| Rect { y: list.bottom(), height: area.bottom() - list.bottom(), ..area };
        if none {
            let found = Rect { height: MESSAGE.min(area.height), ..area };
            let rest = below(found);
            let rules = Rect { height: rows(self.rules.counts().0).min(rest.height * 3 / 5), ..rest };
            return Places { found, rules, detail: below(rules) };
        }
        if self.on_rules {
            let rules = Rect { height: area.height.min((area.height / 2).max(4)), ..area };
            return Places { rules, detail: below(rules), ..Places::default() };
        }
        let found = top(needed);
        Places { found, detail: below(found), ..Places::default() }
    }

    /// True where keys go to the rules: they are asked for, or there is nothing else.
    fn is_on_rules(&self, cx: &Cx<'_>) -> bool {
        self.on_rules || cx.judgement.findings.is_empty()
    }

    /// Takes over what another screen selected: the worst that is found about it.
    fn adopt(&mut self, cx: &Cx<'_>) {
        if self.seen.as_ref() == cx.selected {
            return;
        }
        self.seen = cx.selected.cloned();
        let Some(subject) = cx.selected else { return };
        let own = self.shown(cx).is_some_and(|finding| severity::concerns(cx.frame, finding, subject));
        let worst = severity::about(cx, subject).max_by_key(|finding| finding.severity);
        if let Some(finding) = worst.filter(|_| !own) {
            self.found.choose((finding.rule.id, finding.subject.clone()));
            (self.on_rules, self.page, self.scroll) = (false, false, 0);
        }
    }

    /// The finding that the detail is about: the selected one, else the worst.
    fn shown<'a>(&self, cx: &Cx<'a>) -> Option<&'a Finding> {
        let row = self.found.selected_row(cx).or_else(|| self.found.rows().first().copied());
        row.and_then(|row| list::get(cx, row))
    }

    /// The rule that the detail is about.
    fn rule(&self, cx: &Cx<'_>) -> Option<&'static Rule> {
        if !self.is_on_rules(cx) {
            return self.shown(cx).map(|finding| finding.rule);
        }
        let row = self.rules.selected_row(cx).or_else(|| self.rules.rows().first().copied());
        row.and_then(|row| cx.judgement.rules.get(row)).map(|row| row.0)
    }

    fn document(&self, cx: &Cx<'_>, width: u16) -> Doc {
        if self.page || self.is_on_rules(cx) {
            return self.rule(cx).map(|rule| page::doc(cx, rule, width)).unwrap_or_default();
        }
        self.shown(cx).map(|finding| detail::doc(cx, finding, width)).unwrap_or_default()
    }

    /// Moves the detail; false where it goes no further.
    fn scroll_by(&mut self, rows: isize, page: usize) -> bool {
        let to = self.scroll.saturating_add_signed(rows).min(self.doc.len().saturating_sub(page));
        std::mem::replace(&mut self.scroll, to) != to
    }

    fn close(&mut self, cx: &Cx<'_>) -> Outcome {
        let on_rules = self.is_on_rules(cx);
        let done = std::mem::take(&mut self.page)
            || std::mem::take(&mut self.on_rules)
            || if on_rules { self.rules.deselect() } else { self.found.deselect() };
        self.scroll = if done { 0 } else { self.scroll };
        if done && !on_rules && self.found.subject().is_none() {
            // The detail is about the first one again.
            self.found.to_top();
        }
        if done { Outcome::Changed } else { Outcome::Ignored }
    }

    /// Hands an action to the list that has the keys.
    fn list(&mut self, action: Action, cx: &Cx<'_>) -> Outcome {
        let on_rules = self.is_on_rules(cx);
        let did = if on_rules { self.rules.act(action, cx) } else { self.found.act(action, cx) };
        match did {
            Did::Nothing => Outcome::Ignored,
            Did::Changed => Outcome::Changed,
            Did::Opened => {
                (self.page, self.scroll) = (!self.page, 0);
                Outcome::Changed
            }
            Did::Selected => {
                self.scroll = 0;
                let subject = if on_rules { None } else { self.found.subject() };
                self.seen.clone_from(&subject);
                subject.map_or(Outcome::Changed, Outcome::Selected)
            }
        }
    }

    fn mouse(&mut self, action: Action, at: (u16, u16), cx: &Cx<'_>) -> Outcome {
        let places = self.places(cx, self.area);
        let page = usize::from(places.detail.height.saturating_sub(1)).max(1);
        if places.detail.contains(at.into()) {
            return match action {
                Action::Wheel { rows, .. } if self.scroll_by(rows.into(), page) => Outcome::Changed,
                _ => Outcome::Ignored,
            };
        }
        if matches!(action, Action::Click { .. }) && !cx.judgement.findings.is_empty() {
            self.on_rules = places.rules.contains(at.into());
        }
        self.list(action, cx)
    }
}

impl Panel for Findings {
    fn id(&self) -> &'static str {
        "findings"
    }

    fn title(&self) -> Text {
        text::TAB
    }

    fn tab_short(&self) -> Text {
        text::TAB_SHORT
    }

    fn arrange(&mut self, cx: &Cx<'_>, area: Rect) {
        self.area = area;
        let variant = list::variant(cx);
        if self.found.stale(cx, variant) {
            let (rows, total) = list::rows(cx, &self.found);
            self.found.fill_ordered(rows, total);
        }
        if self.rules.stale(cx, variant) {
            let rows = standing::rows(cx);
            self.rules.fill(cx, rows.into_iter(), cx.judgement.rules.len());
        }
        self.adopt(cx);
        let places = self.places(cx, area);
        self.found.place(cx, pane::inner(places.found));
        self.rules.place(cx, pane::inner(places.rules));
        self.doc = self.document(cx, pane::inner(places.detail).width.saturating_sub(1));
        let page = usize::from(places.detail.height.saturating_sub(1));
        self.scroll = self.scroll.min(self.doc.len().saturating_sub(page));
    }

    fn act(&mut self, action: Action, cx: &Cx<'_>) -> Outcome {
        self.arrange(cx, self.area);
        let page = usize::from(self.places(cx, self.area).detail.height.saturating_sub(1)).max(1);
        match action {
            Action::Close => self.close(cx),
            Action::Open => {
                (self.page, self.scroll) = (!self.page && !self.is_on_rules(cx), 0);
                Outcome::Changed
            }
            Action::Mode => {
                (self.on_rules, self.page, self.scroll) = (!self.on_rules, false, 0);
                Outcome::Changed
            }
            Action::Where => match self.shown(cx).filter(|_| !self.is_on_rules(cx)) {
                Some(finding) => Outcome::Goto(finding.subject.clone()),
                None => Outcome::Ignored,
            },
            Action::Fix => match self.shown(cx).filter(|_| !self.is_on_rules(cx)) {
                Some(finding) => Outcome::Fix(finding.rule.id, finding.subject.clone()),
                None => Outcome::Ignored,
            },
            Action::PageDown if self.scroll_by(page as isize, page) => Outcome::Changed,
            Action::PageUp if self.scroll_by(-(page as isize), page) => Outcome::Changed,
            Action::Click { column, row } | Action::Wheel { column, row, .. } => self.mouse(action, (column, row), cx),
            Action::PageDown | Action::PageUp if self.doc.len() > page => Outcome::Ignored,
            _ => self.list(action, cx),
        }
    }

    fn draw(&self, cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
        let places = self.places(cx, area);
        if places.found.height > 0 {
            self.draw_found(cx, places.found, buf);
        }
        if places.rules.height > 0 {
            let note = if places.found.height > 0 { String::new() } else { note(cx) };
            let inner = pane::frame(cx, places.rules, &text::RULES_TITLE, &note, buf);
            self.rules.draw(cx, buf);
            if !severity::is_judged(cx) {
                Pen::new(cx, inner, 1, buf).skip(1).text(Role::Absent, &severity::pending(cx));
            }
        }
        if places.detail.height > 1 {
            self.draw_detail(cx, places.detail, buf);
        }
    }

    fn copied(&mut self, cx: &Cx<'_>) -> Option<String> {
        match self.shown(cx).filter(|_| !self.is_on_rules(cx)) {
            Some(finding) => Some(text_of(cx, finding)),
            None => (!self.doc.is_empty()).then(|| self.doc.text()),
        }
    }

    fn legend(&self) -> Vec<crate::parts::panel::Sign> {
        legend::of(&[legend::TABLE], false)
    }

    fn hints(&self) -> &'static [(Action, Text)] {
        &[(Action::Mode, text::HINT_VIEW), (Action::Where, text::HINT_WHERE), (Action::Open, text::HINT_PAGE)]
    }
}

impl Findings {
    fn draw_found(&self, cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
        if cx.judgement.findings.is_empty() {
            let inner = pane::frame(cx, area, &text::TITLE, "", buf);
            Pen::new(cx, inner, 0, buf).skip(1).all_clear();
            return;
        }
        let inner = pane::frame(cx, area, &text::TITLE, &note(cx), buf);
        self.found.draw(cx, buf);
        let (shown, total) = self.found.counts();
        if shown == 0 {
            pane::empty(cx, inner, &text::FINDINGS, "", total, buf);
        }
    }

    fn draw_detail(&self, cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
        let Some(rule) = self.rule(cx) else { return };
        let (title, hint) = if self.is_on_rules(cx) {
            (text::RuleTitle { id: &rule.id }.to_string(), "")
        } else if self.page {
            (text::RuleTitle { id: &rule.id }.to_string(), text::ESCAPE_BACK.as_str())
        } else {
            (rule.id.to_string(), text::ENTER_PAGE.as_str())
        };
        let inside = pane::frame(cx, area, &title, hint, buf);
        let inside = Rect { x: inside.x + 1, width: inside.width.saturating_sub(1), ..inside };
        self.doc.draw(cx, inside, self.scroll, buf);
        pane::more(cx, area, self.doc.len(), self.scroll, buf);
    }
}

/// `3 findings · 24 rules quiet · 4 not checked`.
fn note(cx: &Cx<'_>) -> String {
    if !severity::is_judged(cx) {
        return severity::pending(cx).to_string();
    }
    let counts = Counts::of(cx.judgement);
    let filter =
        if cx.filter.is_empty() { String::new() } else { format!(" · {}", text::Filter { filter: &cx.filter }) };
    format!("{} · {}{filter}", counts.findings(), counts.rules())
}

#[cfg(test)]
mod tests;
