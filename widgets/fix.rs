//! The fix dialog: the choices, the plan in full, its run, and the verdict.
//!
//! Draws a state; reads and writes nothing, and knows no keys.

mod choose;
mod frame;
mod machine;
mod plan;
mod run;
mod table;

use crate::parts::pane::Doc;
use crate::{Cx, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::collections::BTreeMap;
use topotop_model::fix::verification::Phase;
use topotop_model::fix::{ALL, Fix, Plan, Refused, Resolved, Verdict, Verification};
use topotop_model::journal::{Applied, Because, Measured, Outcome};
use topotop_model::locale::dialog::fix as text;
use topotop_model::rules::RuleId;

/// The state of the dialog.
#[derive(Clone, Debug)]
pub struct Dialog {
    /// The rule of the finding.
    pub rule: RuleId,
    /// The subject of the finding.
    pub subject: Subject,
    /// The title of the finding; hostile.
    pub title: String,
    /// The choices, the best first.
    pub choices: Vec<Choice>,
    /// The selected choice.
    pub chosen: usize,
    /// The stage.
    pub stage: Stage,
    /// The focused button.
    pub button: Button,
    /// The confirmation typed so far; none while not typing.
    pub typed: Option<String>,
    /// Parameters set by the user, by fix.
    pub sets: BTreeMap<&'static str, BTreeMap<String, String>>,
    /// The parameters typed so far; none while not typing.
    pub editing: Option<String>,
    /// Lines above the first one shown.
    pub scroll: usize,
    /// Why no fix can be applied here; none where fixes can.
    pub disabled: Option<String>,
    /// CLOCK_MONOTONIC in ns.
    pub now_ns: u64,
    /// A temporary message.
    pub note: Option<String>,
}

/// A choice.
#[derive(Clone, Debug)]
pub enum Choice {
    /// A plan or advice.
    Plan(&'static Fix, Box<Plan>),
    /// A fix that answers the finding but cannot be planned.
    Refused(Refused),
}

impl Choice {
    /// Its fix.
    pub fn fix(&self) -> Option<&'static Fix> {
        match self {
            Self::Plan(fix, _) => Some(fix),
            Self::Refused(refused) => ALL.iter().copied().find(|fix| fix.id == refused.fix),
        }
    }
}

/// The stages of the dialog.
#[derive(Clone, Debug)]
pub enum Stage {
    /// Selecting a fix.
    Choosing,
    /// Reading the old values of a plan.
    Reading(Box<Plan>),
    /// Showing the plan in full.
    Review(Box<Resolved>),
    /// Applying, measuring or undoing.
    Run(Box<Run>),
}

/// The buttons below a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Button {
    /// Closes without applying.
    #[default]
    Cancel,
    /// Copies the commands to the clipboard.
    Copy,
    /// Applies the plan.
    Apply,
}

/// The activity of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Writing items.
    Applying,
    /// Applied; measuring the effect.
    Watching,
    /// Restoring items.
    Undoing,
    /// Finished.
    Ended,
}

/// An application of a fix.
#[derive(Clone, Debug)]
pub struct Run {
    /// The confirmed plan.
    pub resolved: Resolved,
    /// Its number in the journal, once it has one.
    pub number: Option<u64>,
    /// The current activity.
    pub doing: Doing,
    /// The outcome of each item so far.
    pub items: Vec<Outcome>,
    /// Progress of a long write: done, total, unit.
    pub progress: Option<(u64, u64, &'static str)>,
    /// True once the user has requested an abort.
    pub aborting: bool,
    /// The result of applying.
    pub state: Option<Applied>,
    /// The measurement.
    pub verification: Option<Verification>,
    /// The measurements so far.
    pub table: Vec<Measured>,
    /// The verdict.
    pub verdict: Option<Verdict>,
    /// CLOCK_MONOTONIC in ns of the automatic rollback unless confirmed.
    pub deadline_ns: Option<u64>,
    /// True once the user has chosen to keep it even if it gets worse.
    pub keeps: bool,
    /// The undo, where undone.
    pub undone: Option<Undone>,
    /// An error.
    pub trouble: Option<String>,
}

/// The result of an undo.
#[derive(Clone, Debug)]
pub struct Undone {
    /// Why.
    pub why: Because,
    /// True where all restorable values were restored.
    pub whole: bool,
    /// The outcome of each item.
    pub items: Vec<Outcome>,
}

impl Run {
    /// A run that starts applying.
    pub fn new(resolved: Resolved, verification: Option<Verification>) -> Self {
        Self {
            resolved,
            number: None,
            doing: Doing::Applying,
            items: Vec::new(),
            progress: None,
            aborting: false,
            state: None,
            table: verification.as_ref().map(Verification::table).unwrap_or_default(),
            verification,
            verdict: None,
            deadline_ns: None,
            keeps: false,
            undone: None,
            trouble: None,
        }
    }

    /// True while it must not be abandoned.
    pub fn is_busy(&self) -> bool {
        self.doing != Doing::Ended || self.deadline_ns.is_some() || self.compares()
    }

    /// True where an undo is measured to decide the verdict.
    pub fn compares(&self) -> bool {
        let comparing = |verification: &Verification| verification.progress().phase == Phase::Undone;
        self.undone.as_ref().is_some_and(|undone| undone.why == Because::ToCompare)
            && self.verification.as_ref().is_some_and(comparing)
    }

    /// True where undoing it would decide the verdict.
    pub fn undo_decides(&self) -> bool {
        self.can_undo() && self.verdict.as_ref().is_some_and(|verdict| verdict.undo_decides)
    }

    /// True where something was written that can be undone.
    pub fn can_undo(&self) -> bool {
        let wrote = matches!(self.state, Some(Applied::Applied | Applied::Partial));
        self.number.is_some() && wrote && self.undone.is_none() && !matches!(self.doing, Doing::Undoing)
    }
}

impl Dialog {
    /// The selected plan; none where it is refused or nothing is selected.
    pub fn plan(&self) -> Option<&Plan> {
        match &self.stage {
            Stage::Reading(plan) => Some(plan),
            Stage::Review(resolved) => Some(&resolved.plan),
            Stage::Run(run) => Some(&run.resolved.plan),
            Stage::Choosing => match self.choices.get(self.chosen)? {
                Choice::Plan(_, plan) => Some(plan),
                Choice::Refused(_) => None,
            },
        }
    }

    /// The selected fix.
    pub fn fix(&self) -> Option<&'static Fix> {
        self.choices.get(self.chosen)?.fix()
    }

    /// Parameters set for the selected fix.
    pub fn set(&self) -> Option<&BTreeMap<String, String>> {
        self.sets.get(self.fix()?.id)
    }

    /// True where parameters of the selected fix may be set now.
    pub fn can_set(&self) -> bool {
        !matches!(self.stage, Stage::Run(_)) && self.fix().is_some_and(|fix| !fix.parameters.is_empty())
    }

    /// True where the chosen fix cannot be planned before somebody says for what.
    pub fn wants_value(&self) -> bool {
        let asks =
            |choice: &Choice| matches!(choice, Choice::Refused(refused) if topotop_model::fix::row::asks(&refused.why));
        self.choices.get(self.chosen).is_some_and(asks) && self.can_set()
    }

    /// The text to copy: the commands, and for advice its snippets.
    pub fn copied(&self) -> String {
        let Some(plan) = self.plan() else { return String::new() };
        let mut text = plan.commands.clone();
        let advised = if plan.is_executable() { &[][..] } else { &plan.snippets };
        text.extend(advised.iter().map(|snippet| snippet.text.trim_end().to_owned()));
        text.join("\n")
    }

    /// Why the selected fix cannot be applied; none where it can.
    pub fn obstacle(&self) -> Option<String> {
        let plan = self.plan()?;
        if !plan.is_executable() {
            return Some(text::ADVICE_ONLY.to_string());
        }
        if let Stage::Review(resolved) = &self.stage {
            let essential = |step: usize| plan.steps.get(step).is_some_and(|step| step.essential);
            let none = resolved.items.iter().all(Vec::is_empty);
            if let Some((_, why)) = resolved.unread.iter().find(|(step, _)| essential(*step) || none) {
                return Some(self.disabled.clone().unwrap_or_else(|| text::Unread { why: &why }.to_string()));
            }
        }
        self.disabled.clone()
    }
}

/// Key names, from the key table.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    /// Undo.
    pub undo: String,
    /// Keep.
    pub keep: String,
    /// Copy commands.
    pub copy: String,
    /// Set parameters.
    pub set: String,
    /// Page up and down.
    pub page: String,
}

/// What a click does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Press {
    /// Selects a choice and goes on with it.
    Choice(usize),
    /// Presses a button.
    Button(Button),
    /// Goes on.
    Enter,
    /// A step back.
    Close,
    /// Sets parameters.
    Set,
    /// Undoes the fix.
    Undo,
    /// Keeps the fix.
    Keep,
}

/// What a click at a place of an area does.
pub fn press(cx: &Cx<'_>, dialog: &Dialog, keys: &Keys, area: Rect, at: (u16, u16)) -> Option<Press> {
    let place = place(cx, dialog, area);
    let text = Rect { y: place.y + 1, height: place.height.saturating_sub(CHROME), ..place };
    if matches!(dialog.stage, Stage::Choosing) && text.contains(at.into()) {
        let line = usize::from(at.1 - text.y) + dialog.scroll;
        return choose::choice_at(cx, dialog, place.width.saturating_sub(4), line).map(Press::Choice);
    }
    frame::press(dialog, keys, place, at)
}

/// Rows of the frame and the buttons.
const CHROME: u16 = 4;
/// The widest readable line.
const WIDEST: u16 = 116;

/// The area of the dialog.
fn place(cx: &Cx<'_>, dialog: &Dialog, area: Rect) -> Rect {
    let width = area.width.min(WIDEST);
    let lines = document(cx, dialog, width.saturating_sub(4)).len() as u16;
    let height = lines.saturating_add(CHROME).max(CHROME + 3).min(area.height);
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}

fn document(cx: &Cx<'_>, dialog: &Dialog, width: u16) -> Doc {
    match &dialog.stage {
        Stage::Choosing => choose::doc(cx, dialog, width),
        Stage::Reading(plan) => plan::doc(cx, dialog, plan, None, width),
        Stage::Review(resolved) => plan::doc(cx, dialog, &resolved.plan, Some(resolved), width),
        Stage::Run(run) => run::doc(cx, dialog, run, width),
    }
}

/// Keeps the scroll within the text.
pub fn arrange(cx: &Cx<'_>, dialog: &mut Dialog, area: Rect) {
    let place = place(cx, dialog, area);
    let lines = document(cx, dialog, place.width.saturating_sub(4)).len();
    dialog.scroll = dialog.scroll.min(lines.saturating_sub(usize::from(place.height.saturating_sub(CHROME))));
}

/// Draws it over the middle of an area.
pub fn draw(cx: &Cx<'_>, dialog: &Dialog, keys: &Keys, area: Rect, buf: &mut Buffer) {
    let place = place(cx, dialog, area);
    let doc = document(cx, dialog, place.width.saturating_sub(4));
    frame::draw(cx, dialog, place, buf);
    let text = Rect {
        x: place.x + 2,
        y: place.y + 1,
        width: place.width.saturating_sub(4),
        height: place.height.saturating_sub(CHROME),
    };
    doc.draw(cx, text, dialog.scroll, buf);
    let below = doc.len().saturating_sub(dialog.scroll + usize::from(text.height));
    frame::foot(cx, dialog, keys, (place, below), buf);
}

#[cfg(test)]
mod tests;
