//! The dialog about a fix: what keys, samples and answers do to it. Nothing here reads or writes anything.

mod keys;
mod parameters;
mod reply;
mod row_actions;
#[cfg(test)]
mod tests;

use super::{App, Effect, Modal};
use crate::fix::order::{Order, Reach, Wanted};
use std::collections::BTreeMap;
use topotop_model::fix::{Case, Offer, Refusal, Refused, Resolved, Verdict, Verification, offers, row};
use topotop_model::journal::Because;
use topotop_model::locale::{Text, chrome};
use topotop_model::recording::{FixState, RecordedFinding, RecordedFix, What};
use topotop_model::rules::{Finding, RuleId};
use topotop_widgets::fix::{Button, Choice, Dialog, Doing, Run, Stage};
use topotop_widgets::parts::severity;
use topotop_widgets::{Action, Mark, Outcome, Subject};

/// Marks that are kept.
const MARKS: usize = 256;

impl App {
    /// What to do about the selected finding or row: opens the dialog.
    pub(super) fn fix(&mut self) -> Vec<Effect> {
        if self.is_fixing() {
            return Vec::new();
        }
        let asked = match self.panel() {
            Some((panel, cx)) => panel.act(Action::Fix, &cx),
            None => Outcome::Ignored,
        };
        if let Outcome::Fix(rule, subject) = asked {
            return self.fix_finding(rule, &subject);
        }
        let Some(selected) = self.selected.clone() else { return self.fix_unselected() };
        let found = self.panel().and_then(|(_, cx)| {
            let found = severity::about(&cx, &selected).max_by_key(|finding| finding.severity);
            found.map(|finding| (finding.rule.id, finding.subject.clone()))
        });
        self.fix_found(found, chrome::NO_FINDING_SELECTED)
    }

    /// Without a selection: a list wants one, since the worst finding may be of none of its rows; other screens have no
    /// rows and take that finding.
    fn fix_unselected(&mut self) -> Vec<Effect> {
        if self.panel().is_some_and(|(panel, _)| panel.table().is_some()) {
            self.say(chrome::SELECT_ROW);
            return Vec::new();
        }
        self.fix_worst()
    }

    /// What to do about the worst finding: opens the dialog.
    pub(super) fn fix_worst(&mut self) -> Vec<Effect> {
        if self.is_fixing() {
            return Vec::new();
        }
        let key = |finding: &Finding| (finding.rule.id, finding.subject.clone());
        // As the screen counts: what topotop itself cannot read is nothing wrong with the machine.
        let worst = self.panel().and_then(|(_, cx)| severity::of_machine(&cx).next().map(key));
        self.fix_found(worst, chrome::NO_FINDINGS)
    }

    fn fix_found(&mut self, found: Option<(RuleId, Subject)>, nothing: Text) -> Vec<Effect> {
        let Some((rule, subject)) = found else {
            self.say(nothing);
            return Vec::new();
        };
        self.fix_finding(rule, &subject)
    }

    /// The finding of the newest sample, or what stands in its place for a row.
    pub(super) fn found(&self, rule: RuleId, subject: &Subject) -> Option<Finding> {
        if rule == row::ID {
            return Some(row::chosen(subject.clone()));
        }
        let is = |finding: &&Finding| finding.rule.id == rule && finding.subject == *subject;
        severity::all(&self.newest.judgement).find(is).cloned()
    }

    /// True while a fix is being applied or measured: its dialog is shown instead of another.
    fn is_fixing(&mut self) -> bool {
        let busy = self.running().is_some_and(Run::is_busy);
        if busy {
            self.modal = Modal::Fix;
        }
        busy
    }

    /// Opens the dialog about a finding, by what is known now.
    pub(super) fn fix_finding(&mut self, rule: RuleId, subject: &Subject) -> Vec<Effect> {
        let Some(dialog) = self.dialog_about(rule, subject) else {
            self.say(chrome::FindingCleared { rule: &rule }.to_string());
            return Vec::new();
        };
        let several = dialog.choices.len() != 1;
        self.fixing = Some(Box::new(dialog));
        self.measuring = None;
        self.modal = Modal::Fix;
        let mut effects = vec![Effect::Fix(Order::Look)];
        if !several {
            effects.extend(self.choose_fix());
        }
        effects
    }

    fn dialog_about(&self, rule: RuleId, subject: &Subject) -> Option<Dialog> {
        let finding = self.found(rule, subject)?;
        Some(Dialog {
            rule,
            subject: subject.clone(),
            title: if rule == row::ID { row::title(&self.newest.frame, subject, None) } else { finding.title() },
            choices: self.choices(&finding, &BTreeMap::new()),
            chosen: 0,
            stage: Stage::Choosing,
            button: Button::Cancel,
            typed: None,
            sets: BTreeMap::new(),
            editing: None,
            scroll: 0,
            disabled: self.status.reach.obstacle().map(str::to_owned),
            now_ns: self.status.now_ns,
            note: None,
        })
    }

    /// What can be applied, then advice, then what was refused; each by its rank.
    fn choices(&self, finding: &Finding, set: &BTreeMap<String, String>) -> Vec<Choice> {
        let metric = self.own_metric();
        let case = self.case(finding, set, metric.as_deref());
        let choice = |Offer { fix, plan }| match plan {
            Ok(plan) => Some(Choice::Plan(fix, Box::new(plan))),
            Err(Refusal::Refused { why, needs }) => {
                Some(Choice::Refused(Refused { fix: fix.id, name: fix.name, why, needs }))
            }
            Err(Refusal::NotForThis) => None,
        };
        let mut choices: Vec<Choice> = offers(&case).into_iter().filter_map(choice).collect();
        choices.sort_by_key(|choice| match choice {
            Choice::Plan(_, plan) if plan.is_executable() => 0,
            // What only lacks a value can be applied once it is there.
            Choice::Refused(refused) if row::asks(&refused.why) && finding.rule.id == row::ID => 0,
            Choice::Plan(..) => 1,
            Choice::Refused(_) => 2,
        });
        choices
    }

    fn case<'a>(
        &'a self,
        finding: &'a Finding,
        set: &'a BTreeMap<String, String>,
        metric: Option<&'a str>,
    ) -> Case<'a> {
        Case { finding, frame: &self.newest.frame, set, surroundings: &self.status.surroundings, metric }
    }

    /// The application's own number that tells of load, where one is given.
    fn own_metric(&self) -> Option<String> {
        let number = self.newest.frame.metrics.iter().find(|number| number.gates && number.value.is_some());
        number.map(|number| number.name.to_string())
    }

    /// Goes on with what is chosen: its old values are read, and its window before begins.
    fn choose_fix(&mut self) -> Vec<Effect> {
        let metric = self.own_metric();
        let reach = self.status.reach.clone();
        let findings = self.answered();
        let Some(dialog) = &mut self.fixing else { return Vec::new() };
        let Some(Choice::Plan(_, plan)) = dialog.choices.get(dialog.chosen) else { return Vec::new() };
        let plan = plan.clone();
        (dialog.scroll, dialog.button, dialog.note) = (0, Button::Cancel, None);
        if !plan.is_executable() || matches!(reach, Reach::Show(_)) {
            dialog.stage = Stage::Review(Box::new(unresolved(*plan)));
            return Vec::new();
        }
        let verify = plan.verify.clone();
        dialog.stage = Stage::Reading(plan.clone());
        let mut measuring = Verification::new(&verify, metric.as_deref());
        measuring.push(&self.newest.frame);
        self.measuring = Some(measuring);
        let wanted = Wanted { set: dialog.set().cloned().unwrap_or_default(), findings, plan: *plan };
        vec![Effect::Fix(Order::Resolve(Box::new(wanted))), Effect::Fix(Order::Measure(Box::new(verify), metric))]
    }

    /// The finding that the dialog answers, then those below it.
    fn answered(&self) -> Vec<RecordedFinding> {
        let Some(dialog) = &self.fixing else { return Vec::new() };
        let Some(finding) = self.found(dialog.rule, &dialog.subject) else { return Vec::new() };
        std::iter::once(&finding).chain(&finding.children).map(RecordedFinding::of).collect()
    }

    /// The yes, or what is missing for it.
    fn apply_fix(&mut self) -> Vec<Effect> {
        let Some(dialog) = &mut self.fixing else { return Vec::new() };
        if let Some(obstacle) = dialog.obstacle() {
            dialog.note = Some(obstacle);
            return Vec::new();
        }
        let Stage::Review(resolved) = &dialog.stage else { return Vec::new() };
        let dangerous = resolved.plan.risk == topotop_model::fix::Risk::Dangerous;
        match &dialog.typed {
            None if dangerous => {
                dialog.typed = Some(String::new());
                return Vec::new();
            }
            Some(typed) if *typed != resolved.plan.name() => {
                dialog.note = Some(topotop_model::locale::dialog::fix::WRONG_NAME.into());
                dialog.typed = None;
                return Vec::new();
            }
            _ => {}
        }
        let run = Run::new((**resolved).clone(), self.measuring.take());
        (dialog.stage, dialog.typed, dialog.scroll, dialog.note) = (Stage::Run(Box::new(run)), None, 0, None);
        vec![Effect::Fix(Order::Apply)]
    }

    /// Takes it back, where there is something to take back; the dialog shows it.
    pub(super) fn undo_fix(&mut self) -> Vec<Effect> {
        let Some(run) = self.running_mut() else {
            self.say(topotop_model::locale::chrome::NOTHING_TO_UNDO);
            return Vec::new();
        };
        let (number, decides) = (run.number.filter(|_| run.can_undo()), run.undo_decides());
        self.modal = Modal::Fix;
        match number {
            Some(number) if decides => self.undo_because(number, Because::ToCompare),
            Some(number) => self.undo_because(number, Because::Asked),
            None => Vec::new(),
        }
    }

    fn undo_because(&mut self, number: u64, why: Because) -> Vec<Effect> {
        if let Some(run) = self.running_mut() {
            run.doing = Doing::Undoing;
            run.deadline_ns = None;
        }
        vec![Effect::Fix(Order::Undo(number, why))]
    }

    /// It shall stay: answers what would take it back.
    pub(super) fn keep_fix(&mut self) -> Vec<Effect> {
        let number = self.running().filter(|run| run.deadline_ns.is_some()).and_then(|run| run.number);
        if let Some(number) = number {
            self.modal = Modal::Fix;
            return vec![Effect::Fix(Order::Confirm(number))];
        }
        let Some(run) = self.running_mut().filter(|run| run.doing == Doing::Watching && !run.keeps) else {
            self.say(topotop_model::locale::chrome::NOTHING_TO_CONFIRM);
            return Vec::new();
        };
        run.keeps = true;
        self.modal = Modal::Fix;
        Vec::new()
    }

    /// The application that the dialog is about.
    pub(super) fn running(&self) -> Option<&Run> {
        match &self.fixing.as_ref()?.stage {
            Stage::Run(run) => Some(run),
            _ => None,
        }
    }

    fn running_mut(&mut self) -> Option<&mut Run> {
        match &mut self.fixing.as_mut()?.stage {
            Stage::Run(run) => Some(run),
            _ => None,
        }
    }

    /// Measures with the newest sample; what it tells may have to be noted, or undone at once.
    pub(super) fn fix_sample(&mut self) -> Vec<Effect> {
        let frame = std::sync::Arc::clone(&self.newest.frame);
        if let Some(measuring) = &mut self.measuring {
            measuring.push(&frame);
        }
        let Some(run) = self.running_mut() else { return Vec::new() };
        let compares = run.compares();
        let measures = compares || run.undone.is_none();
        let Some(verification) = run.verification.as_mut().filter(|_| measures) else { return Vec::new() };
        verification.push(&frame);
        if compares {
            let verdict = verification.compared();
            return verdict.map_or_else(Vec::new, |verdict| self.compared(verdict));
        }
        run.table = verification.table();
        let Some(number) = run.number.filter(|_| run.doing == Doing::Watching) else { return Vec::new() };
        let tripped = verification.tripped().map(topotop_model::fix::verification::Tripped::text);
        let verdict = match &tripped {
            Some(why) => Some(Verdict::tripped(why.clone(), verification.table())),
            None => verification.verdict(),
        };
        let Some(verdict) = verdict else { return Vec::new() };
        run.doing = Doing::Ended;
        run.verdict = Some(verdict.clone());
        // What must not wait is taken back whatever was said.
        let undoes = verdict.is_worse() && run.can_undo() && (tripped.is_some() || !run.keeps);
        let event_of = self.event_of(FixState::Verdict, &format!("{}: {}", verdict.label(), verdict.why));
        let mut effects = vec![Effect::Fix(Order::Verdict(number, Box::new(verdict))), event_of];
        if undoes {
            effects
                .extend(self.undo_because(number, if tripped.is_some() { Because::Pressure } else { Because::Worse }));
        }
        effects
    }

    /// The verdict by the time with the fix between the times without it.
    fn compared(&mut self, verdict: Verdict) -> Vec<Effect> {
        let Some(run) = self.running_mut() else { return Vec::new() };
        run.verdict = Some(verdict.clone());
        let number = run.number.unwrap_or_default();
        let event_of = self.event_of(FixState::Verdict, &format!("{}: {}", verdict.label(), verdict.why));
        vec![Effect::Fix(Order::Verdict(number, Box::new(verdict))), event_of]
    }

    /// The event of the fix for a recording.
    fn event_of(&mut self, state: FixState, detail: &str) -> Effect {
        let stamp = self.newest.frame.stamp;
        let well = !matches!(state, FixState::Failed | FixState::Partial);
        let word = if state == FixState::Verdict {
            detail.split(':').next().unwrap_or_default()
        } else {
            state.word().as_str()
        };
        self.marks.push(Mark { mono_ns: stamp.mono_ns, wall_ns: stamp.wall_ns, text: word.to_owned(), well });
        self.marks.drain(..self.marks.len().saturating_sub(MARKS));
        let run = self.running();
        let plan = run.map(|run| &run.resolved.plan);
        Effect::Tell(What::Fix(Box::new(RecordedFix {
            number: run.and_then(|run| run.number).unwrap_or_default(),
            id: plan.map(topotop_model::fix::Plan::id).unwrap_or_default(),
            title: plan.map(|plan| plan.title.clone()).unwrap_or_default(),
            state,
            detail: detail.to_owned(),
        })))
    }

    /// Seconds go by in the dialog: what takes itself back is asked for once its time is over.
    pub(super) fn fix_tick(&mut self, now_ns: u64) -> Vec<Effect> {
        let Some(dialog) = &mut self.fixing else { return Vec::new() };
        let before = std::mem::replace(&mut dialog.now_ns, now_ns);
        let Stage::Run(run) = &dialog.stage else { return Vec::new() };
        let (Some(deadline), Some(number)) = (run.deadline_ns, run.number) else { return Vec::new() };
        // It takes a moment: asked every second, from then on.
        let second = |ns: u64| ns.saturating_sub(deadline) / 1_000_000_000;
        let due = now_ns > deadline && second(now_ns) > second(before);
        if due { vec![Effect::Fix(Order::Ask(number))] } else { Vec::new() }
    }

    /// Seconds until an application takes itself back; none where none does.
    pub fn reverts_in(&self) -> Option<u64> {
        let deadline = self.running()?.deadline_ns?;
        Some(deadline.saturating_sub(self.status.now_ns).div_ceil(1_000_000_000))
    }

    /// When the dialog looks different by itself; none where it does not.
    pub(super) fn fix_wakes_at(&self) -> Option<u64> {
        let busy = self.running().is_some_and(|run| run.deadline_ns.is_some());
        busy.then(|| (self.status.now_ns / 1_000_000_000 + 1) * 1_000_000_000)
    }
}

/// A plan whose values nobody reads.
fn unresolved(plan: topotop_model::fix::Plan) -> Resolved {
    Resolved { items: Vec::new(), kept: Vec::new(), unread: Vec::new(), plan }
}
