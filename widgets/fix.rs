//! The dialog about a fix: what there is to choose from, what exactly would happen, what happened, and whether it helped.
//!
//! A state in, a picture out: nothing here reads or writes anything, and no key is known here.

mod choose;
mod frame;
mod plan;
mod run;
mod table;

use crate::parts::pane::Doc;
use crate::{Cx, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::collections::BTreeMap;
use topotop_model::fix::{ALL, Fix, Plan, Refused, Resolved, Verdict, Verification};
use topotop_model::journal::{Applied, Because, Measured, Outcome};
use topotop_model::rules::RuleId;

/// What is shown.
#[derive(Clone, Debug)]
pub struct Dialog {
    /// The rule whose finding it is about.
    pub rule: RuleId,
    /// What that is about.
    pub subject: Subject,
    /// The finding in a line; hostile.
    pub said: String,
    /// What there is to choose from, the best first.
    pub choices: Vec<Choice>,
    /// Which of them.
    pub chosen: usize,
    /// How far one is.
    pub stage: Stage,
    /// Where the keys go.
    pub button: Button,
    /// The subject's name as far as it is typed, while it is.
    pub typed: Option<String>,
    /// Parameters that were set, by fix.
    pub sets: BTreeMap<&'static str, BTreeMap<String, String>>,
    /// Parameters as far as they are typed, while they are.
    pub editing: Option<String>,
    /// Lines above the first one shown.
    pub scroll: usize,
    /// Why nothing can be applied from here; none where it can.
    pub disabled: Option<String>,
    /// CLOCK_MONOTONIC in ns.
    pub now_ns: u64,
    /// Something to say for a moment.
    pub note: Option<String>,
}

/// Something to choose.
#[derive(Clone, Debug)]
pub enum Choice {
    /// It can be done, or is advice.
    Plan(&'static Fix, Box<Plan>),
    /// It would answer the finding and cannot be planned.
    Refused(Refused),
}

/// How far the dialog is.
#[derive(Clone, Debug)]
pub enum Stage {
    /// One of several is chosen.
    Choosing,
    /// The old values of a plan are read.
    Reading(Box<Plan>),
    /// All is shown that would happen.
    Review(Box<Resolved>),
    /// It was said yes.
    Run(Box<Run>),
}

/// What can be pressed below a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Button {
    /// Nothing happens.
    #[default]
    Cancel,
    /// The commands go to the clipboard.
    Copy,
    /// It is done.
    Apply,
}

/// What goes on after the yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Items are written.
    Applying,
    /// Written; its effect is measured.
    Watching,
    /// Items are put back.
    Undoing,
    /// Nothing goes on any more.
    Ended,
}

/// An application of a fix.
#[derive(Clone, Debug)]
pub struct Run {
    /// What was confirmed.
    pub resolved: Resolved,
    /// Its number in the journal, once it has one.
    pub number: Option<u64>,
    /// What goes on.
    pub doing: Doing,
    /// What came of each item so far.
    pub items: Vec<Outcome>,
    /// How far a long write is: so much, of so much, of what.
    pub progress: Option<(u64, u64, &'static str)>,
    /// True since it was asked to stop.
    pub aborting: bool,
    /// How applying came out.
    pub state: Option<Applied>,
    /// What is measured.
    pub verification: Option<Verification>,
    /// What is measured so far.
    pub table: Vec<Measured>,
    /// What it came to.
    pub verdict: Option<Verdict>,
    /// CLOCK_MONOTONIC in ns when it takes itself back unless confirmed.
    pub deadline_ns: Option<u64>,
    /// True since it was said that it stays even if it makes things worse.
    pub keeps: bool,
    /// What was put back, and why.
    pub undone: Option<Undone>,
    /// What went wrong.
    pub trouble: Option<String>,
}

/// What came of taking it back.
#[derive(Clone, Debug)]
pub struct Undone {
    /// Why.
    pub why: Because,
    /// True where everything that can be restored was.
    pub whole: bool,
    /// Item by item.
    pub items: Vec<Outcome>,
}

impl Run {
    /// The beginning of one.
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

    /// True while something goes on that has to be seen to its end.
    pub fn is_busy(&self) -> bool {
        self.doing != Doing::Ended || self.deadline_ns.is_some()
    }

    /// True where something was written that can be taken back.
    pub fn can_undo(&self) -> bool {
        let wrote = matches!(self.state, Some(Applied::Applied | Applied::Partial));
        self.number.is_some() && wrote && self.undone.is_none() && !matches!(self.doing, Doing::Undoing)
    }
}

impl Dialog {
    /// The plan that is chosen; none where it is refused or nothing is.
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

    /// The fix that is chosen.
    pub fn fix(&self) -> Option<&'static Fix> {
        match self.choices.get(self.chosen)? {
            Choice::Plan(fix, _) => Some(fix),
            Choice::Refused(refused) => ALL.iter().copied().find(|fix| fix.id == refused.fix),
        }
    }

    /// Parameters that were set of what is chosen.
    pub fn set(&self) -> Option<&BTreeMap<String, String>> {
        self.sets.get(self.fix()?.id)
    }

    /// True where something of what is chosen may be set now.
    pub fn can_set(&self) -> bool {
        !matches!(self.stage, Stage::Run(_)) && self.fix().is_some_and(|fix| !fix.parameters.is_empty())
    }

    /// What would be copied: the commands; of advice the texts that are advised as well.
    pub fn copied(&self) -> String {
        let Some(plan) = self.plan() else { return String::new() };
        let mut text = plan.commands.clone();
        let advised = if plan.is_executable() { &[][..] } else { &plan.snippets };
        text.extend(advised.iter().map(|snippet| snippet.text.trim_end().to_owned()));
        text.join("\n")
    }

    /// Why what is chosen cannot be applied; none where it can.
    pub fn obstacle(&self) -> Option<String> {
        let plan = self.plan()?;
        if !plan.is_executable() {
            return Some("advice: shown, never executed".to_owned());
        }
        if let Stage::Review(resolved) = &self.stage {
            let essential = |step: usize| plan.steps.get(step).is_some_and(|step| step.essential);
            let none = resolved.items.iter().all(Vec::is_empty);
            if let Some((_, why)) = resolved.unread.iter().find(|(step, _)| essential(*step) || none) {
                return Some(
                    self.disabled.clone().unwrap_or_else(|| format!("its old values could not be read: {why}")),
                );
            }
        }
        self.disabled.clone()
    }
}

/// Names of keys, from the table of keys.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    /// Takes it back.
    pub undo: String,
    /// It shall stay.
    pub keep: String,
    /// Commands to the clipboard.
    pub copy: String,
    /// Sets parameters.
    pub set: String,
    /// Up and down a page.
    pub page: String,
}

/// Rows of the dialog that are no text: its frame and what can be pressed.
const CHROME: u16 = 4;
/// Lines of text are hard to read when they are longer.
const WIDEST: u16 = 116;

/// Where it lies.
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
