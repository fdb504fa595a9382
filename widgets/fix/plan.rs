//! A plan in full: everything that one has to know before saying yes.

use super::Dialog;
use crate::parts::pane::Doc;
use crate::parts::severity::wrapped;
use crate::{Charset, Cx, Role};
use topotop_model::diff::{Watch, metrics};
use topotop_model::fix::{Item, Parameter, Plan, Resolved, Restore, Risk, Snippet, Surroundings, together};
use topotop_model::text::printable;

/// Columns of what a line is about.
const LABEL: usize = 11;
/// Items of a step that are listed; the rest is counted.
const MOST: usize = 256;

/// What a document is written with.
struct Writer<'a> {
    doc: Doc,
    width: u16,
    arrow: &'static str,
    plan: &'a Plan,
    surroundings: &'a Surroundings,
    /// True where it is known what is held.
    read: bool,
}

pub(super) fn doc(cx: &Cx<'_>, dialog: &Dialog, plan: &Plan, resolved: Option<&Resolved>, width: u16) -> Doc {
    let arrow = if cx.charset == Charset::Unicode { "→" } else { "->" };
    let (surroundings, read) = (cx.surroundings, *cx.surroundings != Surroundings::default());
    let mut writer = Writer { doc: Doc::default(), width, arrow, plan, surroundings, read };
    writer.what(dialog);
    writer.changes(resolved);
    writer.risks();
    writer.back();
    writer.effect();
    for snippet in &plan.snippets {
        writer.snippet("Advice", snippet);
    }
    if let Some(snippet) = &plan.persistent {
        writer.lines("Lasts", Role::Text, ["until a reboot or until somebody changes it; what would make it last:"]);
        writer.snippet("", snippet);
    } else if plan.is_executable() {
        writer.lines("Lasts", Role::Text, ["until a reboot or until somebody changes it"]);
    }
    writer.doc
}

impl Writer<'_> {
    /// A label with texts below each other, each over as many lines as it takes.
    fn lines<T: AsRef<str>>(&mut self, label: &str, role: Role, texts: impl IntoIterator<Item = T>) {
        let room = self.width.saturating_sub(LABEL as u16);
        let mut label = label;
        for text in texts {
            for line in wrapped(&printable(text.as_ref()), room) {
                let head = format!("{label:<LABEL$}");
                self.doc.line(vec![(head, Role::Dim), (line, role)]);
                label = "";
            }
        }
    }

    /// What, to whom, by which command.
    fn what(&mut self, dialog: &Dialog) {
        let plan = self.plan;
        self.lines("Fix", Role::Title, [&plan.title]);
        self.lines("Because", Role::Text, [format!("{}: {}", dialog.rule, dialog.said)]);
        self.lines("Who", Role::Text, plan.identity.iter().map(ToString::to_string));
        if !plan.commands.is_empty() {
            let label = if plan.is_executable() { "Command" } else { "Commands" };
            self.commands(label);
        }
        self.parameters(dialog);
    }

    /// What may be set of it, and what was.
    fn parameters(&mut self, dialog: &Dialog) {
        let Some(fix) = dialog.fix().filter(|fix| fix.id == self.plan.fix) else { return };
        let one = |parameter: &Parameter| match (dialog.set().and_then(|set| set.get(parameter.name)), parameter.unit) {
            (Some(value), _) => format!("{}={value}", parameter.name),
            (None, "") => parameter.name.to_owned(),
            (None, unit) => format!("{} ({unit})", parameter.name),
        };
        let all: Vec<String> = fix.parameters.iter().map(one).collect();
        if !all.is_empty() {
            self.lines("Can be set", Role::Dim, [all.join(", ")]);
        }
    }

    /// Commands as they are typed: never broken between words that belong together, since they are copied.
    fn commands(&mut self, label: &str) {
        let mut label = label;
        for command in &self.plan.commands {
            let text = printable(command).into_owned();
            let room = usize::from(self.width).saturating_sub(LABEL).max(1);
            let chars: Vec<char> = text.chars().collect();
            for piece in chars.chunks(room) {
                self.doc.line(vec![(format!("{label:<LABEL$}"), Role::Dim), (piece.iter().collect(), Role::Info)]);
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
            let label = if at == 0 { "Changes" } else { "" };
            let items = resolved.and_then(|resolved| resolved.items.get(at)).map_or(&[][..], Vec::as_slice);
            let back = match step.restore {
                Restore::Old => "",
                Restore::Roughly => ", comes back only roughly",
                Restore::Never => ", does not come back",
            };
            match (items, unread(at)) {
                (_, Some(why)) => {
                    self.lines(
                        label,
                        Role::Denied,
                        [format!("{}: {} (old value unread: {why})", step.target, step.new)],
                    );
                }
                ([], None) => {
                    self.lines(label, Role::Text, [format!("{}: {} {}{back}", step.target, self.arrow, step.new)]);
                }
                ([item], None) if item.key.is_empty() => {
                    let change = self.change(item);
                    self.lines(label, Role::Text, [format!("{}: {change}{back}", step.target)]);
                }
                (items, None) => {
                    let many = if items.len() > 1 { format!(" ({} items)", items.len()) } else { String::new() };
                    self.lines(label, Role::Text, [format!("{}{many}{back}", step.target)]);
                    for item in items.iter().take(MOST) {
                        let line = format!("  {}: {}", item.key, self.change(item));
                        self.lines("", Role::Text, [line]);
                    }
                }
            }
        }
        if plan.is_executable() && resolved.is_none() {
            self.lines("", Role::Dim, ["reading the values that there are now"]);
        }
        self.noted(resolved);
    }

    /// What may change with it.
    fn noted(&mut self, resolved: Option<&Resolved>) {
        let plan = self.plan;
        let kept = together(&plan.kept);
        if !kept.is_empty() {
            let text = format!("{} (may change with it: undo puts them back as they are now)", kept.join(", "));
            self.lines("Noted", Role::Dim, [text]);
        }
        let unread = resolved.map_or(&[][..], |resolved| &resolved.unread);
        let of_kept = |(at, why): &(usize, String)| {
            let target = plan.kept.get(at.checked_sub(plan.steps.len())?)?;
            Some(format!("{target} cannot be read, so that undo does not put it back: {why}"))
        };
        self.lines("", Role::Warn, unread.iter().filter_map(of_kept));
    }

    fn change(&self, item: &Item) -> String {
        let old = item.old.as_deref().map_or("?", |old| if old.is_empty() { "(unset)" } else { old });
        let new = if item.new.is_empty() { "(unset)" } else { &item.new };
        format!("{old} {} {new}", self.arrow)
    }

    fn risks(&mut self) {
        let plan = self.plan;
        if plan.is_executable() {
            let (role, text) = match plan.risk {
                Risk::Safe => (Role::Ok, "safe: can be taken back, interrupts nothing"),
                Risk::Disruptive => (Role::Warn, "disruptive: can be taken back; packets or moments may be lost"),
                Risk::Dangerous => (Role::Critical, "dangerous: data or availability at stake, or no way back"),
            };
            self.lines("Risk", role, [text]);
        }
        self.lines("May break", Role::Text, &plan.breaks);
        if plan.is_executable() {
            if plan.cuts_off.is_empty() {
                self.lines("This login", Role::Text, ["is not at risk, as far as is known"]);
            } else {
                self.lines("This login", Role::Critical, plan.cuts_off.iter().map(|why| format!("at risk: {why}")));
                self.lines("", Role::Critical, ["it takes itself back after 60 s unless it is confirmed once more"]);
            }
        }
        for (at, need) in plan.needs.iter().enumerate() {
            let parts = [need.capability.as_str(), need.what.as_str()];
            let said = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
            let lacks = self.read && !need.capability.is_empty() && !self.surroundings.holds(&need.capability);
            let (said, role) = if lacks {
                (format!("{said}: not held here; the commands can be copied"), Role::Denied)
            } else {
                (said, Role::Text)
            };
            self.lines(if at == 0 { "Needs" } else { "" }, role, [said]);
        }
    }

    fn back(&mut self) {
        let plan = self.plan;
        if !plan.undo.is_empty() {
            self.lines("Undo", Role::Text, [&plan.undo]);
        }
        self.lines("Is lost", Role::Warn, &plan.lost);
        self.lines("Reverters", Role::Text, plan.reverters.iter().map(|who| format!("{who} may set it back")));
    }

    /// How its effect is measured.
    fn effect(&mut self) {
        let verify = &self.plan.verify;
        if !self.plan.is_executable() {
            return;
        }
        let said = |watch: &Watch| {
            let name = metrics::named(watch.metric).map_or(watch.metric, |metric| metric.name.as_str());
            format!("{name} of {}", watch.subject)
        };
        let mut lines = vec![format!(
            "{} s before against {} s after, {} s in between to settle",
            verify.before_seconds, verify.after_seconds, verify.settle_seconds
        )];
        lines.extend(verify.load.iter().map(|load| format!("should rise: {}", said(load))));
        lines.extend(verify.cost.iter().map(|cost| format!("should fall: {}", said(cost))));
        let guards: Vec<String> = verify.guards.iter().map(said).collect();
        if !guards.is_empty() {
            lines.push(format!("must not rise: {}", guards.join(", ")));
        }
        lines.extend(verify.trips.iter().map(|trip| {
            let percent = trip.above_hundredths;
            format!("undone at once when {} is above {percent} % for {} s", said(&trip.watch), trip.seconds)
        }));
        self.lines("Verified", Role::Text, lines);
    }

    fn snippet(&mut self, label: &str, snippet: &Snippet) {
        self.lines(label, Role::Head, [&snippet.place]);
        for line in snippet.text.lines() {
            self.doc.line(vec![(" ".repeat(LABEL), Role::Dim), (printable(line).into_owned(), Role::Info)]);
        }
    }
}
