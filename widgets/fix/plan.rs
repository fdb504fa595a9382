//! A plan in full: everything to know before applying it.

use super::{Dialog, machine};
use crate::parts::pane::Doc;
use crate::parts::severity::wrapped;
use crate::{Charset, Cx, Role};
use topotop_model::diff::{Watch, metrics};
use topotop_model::fix::row;
use topotop_model::fix::{Item, Parameter, Plan, Resolved, Restore, Risk, Snippet, Surroundings, together};
use topotop_model::locale::dialog::fix as text;
use topotop_model::locale::{aside, join, pair, translated};
use topotop_model::text::{padded, printable};

/// Columns of the label.
const LABEL: usize = 14;
/// Items of a step listed, at most.
const MOST: usize = 256;

/// Writes the document.
struct Writer<'a> {
    doc: Doc,
    width: u16,
    arrow: &'static str,
    plan: &'a Plan,
    surroundings: &'a Surroundings,
    /// True where the capabilities of the process are known.
    read: bool,
}

pub(super) fn doc(cx: &Cx<'_>, dialog: &Dialog, plan: &Plan, resolved: Option<&Resolved>, width: u16) -> Doc {
    let arrow = if cx.charset == Charset::Unicode { "→" } else { "->" };
    let (surroundings, read) = (cx.surroundings, *cx.surroundings != Surroundings::default());
    let mut writer = Writer { doc: Doc::default(), width, arrow, plan, surroundings, read };
    writer.what(dialog);
    writer.doc.append(machine::doc(cx, dialog, width));
    writer.changes(resolved);
    writer.risks();
    writer.back();
    writer.effect();
    for snippet in &plan.snippets {
        writer.snippet(text::LABEL_ADVICE.as_str(), snippet);
    }
    if let Some(snippet) = &plan.persistent {
        writer.lines(text::LABEL_PERSISTENCE.as_str(), Role::Text, [text::PERSISTENCE_HOW]);
        writer.snippet("", snippet);
    } else if plan.is_executable() {
        writer.lines(text::LABEL_PERSISTENCE.as_str(), Role::Text, [text::PERSISTENCE]);
    }
    writer.doc
}

impl Writer<'_> {
    /// A label with wrapped texts below each other.
    fn lines<T: AsRef<str>>(&mut self, label: &str, role: Role, texts: impl IntoIterator<Item = T>) {
        let room = self.width.saturating_sub(LABEL as u16);
        let mut label = label;
        for text in texts {
            for line in wrapped(&printable(text.as_ref()), room) {
                let head = padded(label, LABEL);
                self.doc.line(vec![(head, Role::Dim), (line, role)]);
                label = "";
            }
        }
    }

    /// Title, finding, targets and commands.
    fn what(&mut self, dialog: &Dialog) {
        let plan = self.plan;
        self.lines(text::LABEL_FIX.as_str(), Role::Title, [&plan.title]);
        // What is done to a row has no finding.
        if dialog.rule != row::ID {
            self.lines(text::LABEL_FINDING.as_str(), Role::Text, [pair(dialog.rule, &dialog.title)]);
        }
        self.lines(text::LABEL_TARGET.as_str(), Role::Text, plan.identity.iter().map(ToString::to_string));
        if !plan.commands.is_empty() {
            self.commands(text::LABEL_COMMANDS.as_str());
        }
        self.parameters(dialog);
    }

    /// Its parameters, with the values that are set.
    fn parameters(&mut self, dialog: &Dialog) {
        let Some(fix) = dialog.fix().filter(|fix| fix.id == self.plan.fix) else { return };
        let one = |parameter: &Parameter| match (dialog.set().and_then(|set| set.get(parameter.name)), parameter.unit) {
            (Some(value), _) => format!("{}={value}", parameter.name),
            (None, "") => parameter.name.to_owned(),
            (None, unit) => aside(parameter.name, translated(&["parameter."], unit)),
        };
        let all: Vec<String> = fix.parameters.iter().map(one).collect();
        if !all.is_empty() {
            self.lines(text::LABEL_PARAMETERS.as_str(), Role::Dim, [all.join(&join::ITEMS)]);
        }
    }

    /// Commands, cut at the width without wrapping at words, since they are copied.
    fn commands(&mut self, label: &str) {
        let mut label = label;
        for command in &self.plan.commands {
            let text = printable(command).into_owned();
            let room = usize::from(self.width).saturating_sub(LABEL).max(1);
            let chars: Vec<char> = text.chars().collect();
            for piece in chars.chunks(room) {
                self.doc.line(vec![(padded(label, LABEL), Role::Dim), (piece.iter().collect(), Role::Info)]);
                label = "";
            }
        }
    }

    fn changes(&mut self, resolved: Option<&Resolved>) {
        let plan = self.plan;
        let unread = |step: usize| {
            let unread = resolved?.unread.iter().find(|(at, _)| *at == step)?;
            Some(unread.1.clone())
        };
        for (at, step) in plan.steps.iter().enumerate() {
            let label = if at == 0 { text::LABEL_CHANGES.as_str() } else { "" };
            let items = resolved.and_then(|resolved| resolved.items.get(at)).map_or(&[][..], Vec::as_slice);
            let back = |line: String| match step.restore {
                Restore::Old => line,
                Restore::Roughly => aside(line, text::RESTORE_ROUGHLY),
                Restore::Never => aside(line, text::RESTORE_NEVER),
            };
            match (items, unread(at)) {
                (_, Some(why)) => {
                    self.lines(
                        label,
                        Role::Denied,
                        [text::ChangeUnread { target: &step.target, value: &step.new, why: &why }.to_string()],
                    );
                }
                ([], None) => {
                    self.lines(label, Role::Text, [back(pair(&step.target, format!("{} {}", self.arrow, step.new)))]);
                }
                ([item], None) if item.key.is_empty() => {
                    let change = self.change(item);
                    self.lines(label, Role::Text, [back(pair(&step.target, change))]);
                }
                (items, None) => {
                    let target = if items.len() > 1 {
                        aside(&step.target, text::Items { count: items.len() as u64 })
                    } else {
                        step.target.to_string()
                    };
                    self.lines(label, Role::Text, [back(target)]);
                    for item in items.iter().take(MOST) {
                        let line = format!("  {}: {}", item.key, self.change(item));
                        self.lines("", Role::Text, [line]);
                    }
                }
            }
        }
        if plan.is_executable() && resolved.is_none() {
            self.lines("", Role::Dim, [text::READING]);
        }
        self.saved(resolved);
    }

    /// Values saved first, since they may change as a side effect.
    fn saved(&mut self, resolved: Option<&Resolved>) {
        let plan = self.plan;
        let kept = together(&plan.kept);
        if !kept.is_empty() {
            let text = text::Saved { settings: &kept.join(&join::ITEMS) }.to_string();
            self.lines(text::LABEL_SAVED.as_str(), Role::Dim, [text]);
        }
        let unread = resolved.map_or(&[][..], |resolved| &resolved.unread);
        let of_kept = |(at, why): &(usize, String)| {
            let target = plan.kept.get(at.checked_sub(plan.steps.len())?)?;
            Some(text::SavedUnread { target: &target, why: &why }.to_string())
        };
        self.lines("", Role::Warn, unread.iter().filter_map(of_kept));
    }

    fn change(&self, item: &Item) -> String {
        let unset = text::UNSET;
        let old = item.old.as_deref().map_or("?", |old| if old.is_empty() { &*unset } else { old });
        let new = if item.new.is_empty() { &*unset } else { &item.new };
        format!("{old} {} {new}", self.arrow)
    }

    fn risks(&mut self) {
        let plan = self.plan;
        if plan.is_executable() {
            let (role, text) = match plan.risk {
                Risk::Safe => (Role::Ok, text::RISK_SAFE),
                Risk::Disruptive => (Role::Warn, text::RISK_DISRUPTIVE),
                Risk::Dangerous => (Role::Critical, text::RISK_DANGEROUS),
            };
            self.lines(text::LABEL_RISK.as_str(), role, [text]);
        }
        self.lines(text::LABEL_EFFECTS.as_str(), Role::Text, &plan.breaks);
        if plan.is_executable() {
            if plan.cuts_off.is_empty() {
                self.lines(text::LABEL_SESSION.as_str(), Role::Text, [text::SESSION_SAFE]);
            } else {
                self.lines(
                    text::LABEL_SESSION.as_str(),
                    Role::Critical,
                    plan.cuts_off.iter().map(|why| text::SessionRisk { why: &why }.to_string()),
                );
                self.lines("", Role::Critical, [text::SESSION_ROLLBACK]);
            }
        }
        for (at, need) in plan.needs.iter().enumerate() {
            let parts = [need.capability.as_str(), need.what.as_str()];
            let requirement = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
            let lacks = self.read && !need.capability.is_empty() && !self.surroundings.holds(&need.capability);
            let (requirement, role) = if lacks {
                (text::NeedMissing { need: &requirement }.to_string(), Role::Denied)
            } else {
                (requirement, Role::Text)
            };
            self.lines(if at == 0 { text::LABEL_REQUIRES.as_str() } else { "" }, role, [requirement]);
        }
    }

    fn back(&mut self) {
        let plan = self.plan;
        if !plan.undo.is_empty() {
            self.lines(text::LABEL_UNDO.as_str(), Role::Text, [&plan.undo]);
        }
        self.lines(text::LABEL_LOST.as_str(), Role::Warn, &plan.lost);
        self.lines(text::LABEL_REVERTERS.as_str(), Role::Text, &plan.reverters);
    }

    /// How to measure its effect.
    fn effect(&mut self) {
        let verify = &self.plan.verify;
        if !self.plan.is_executable() {
            return;
        }
        let metric = |watch: &Watch| {
            let name = metrics::named(watch.metric).map_or(watch.metric, |metric| metric.name.as_str());
            text::Metric { name: &name, subject: &translated(&["subject."], &watch.subject.to_string()) }.to_string()
        };
        let mut lines = vec![
            text::Windows {
                before: &verify.before_seconds,
                after: &verify.after_seconds,
                settle: &verify.settle_seconds,
            }
            .to_string(),
        ];
        lines.extend(verify.load.iter().map(|load| text::ShouldRise { metric: &metric(load) }.to_string()));
        lines.extend(verify.cost.iter().map(|cost| text::ShouldFall { metric: &metric(cost) }.to_string()));
        let guards: Vec<String> = verify.guards.iter().map(metric).collect();
        if !guards.is_empty() {
            lines.push(text::MustNotRise { metrics: &guards.join(&join::ITEMS) }.to_string());
        }
        lines.extend(verify.trips.iter().map(|trip| {
            text::Trip { metric: &metric(&trip.watch), percent: &trip.above_hundredths, seconds: &trip.seconds }
                .to_string()
        }));
        self.lines(text::LABEL_VERIFICATION.as_str(), Role::Text, lines);
    }

    fn snippet(&mut self, label: &str, snippet: &Snippet) {
        self.lines(label, Role::Head, [&snippet.place]);
        for line in snippet.text.lines() {
            self.doc.line(vec![(" ".repeat(LABEL), Role::Dim), (printable(line).into_owned(), Role::Info)]);
        }
    }
}
