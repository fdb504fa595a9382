//! What answers do to the dialog.

use super::super::{App, Effect, Modal};
use crate::fix::order::{Order, Reply};
use topotop_model::fix::{Plan, Verification};
use topotop_model::journal::{Applied, Because, Outcome};
use topotop_model::locale::fix::apply as text;
use topotop_model::locale::recording::fix::TEST_INVALID;
use topotop_model::recording::FixState;
use topotop_widgets::fix::{Doing, Run, Stage, Undone};

impl App {
    /// Takes an answer in.
    pub(in super::super) fn fix_reply(&mut self, reply: Reply) -> Vec<Effect> {
        match reply {
            Reply::Surroundings(surroundings) => self.surrounded(*surroundings),
            Reply::Before(past) => {
                let verification = match &mut self.measuring {
                    Some(measuring) => Some(measuring),
                    None => self.running_mut().and_then(|run| run.verification.as_mut()),
                };
                if let Some(verification) = verification {
                    verification.precede(*past);
                }
                if let Some(run) = self.running_mut() {
                    run.table = run.verification.as_ref().map(Verification::table).unwrap_or_default();
                }
            }
            Reply::Resolved(resolved, refused, asked) => {
                let Some(dialog) = &mut self.fixing else { return Vec::new() };
                // The answer for other parameters may come late.
                let is_it = |plan: &Plan| plan.id() == resolved.plan.id() && plan.commands == asked;
                if matches!(&dialog.stage, Stage::Reading(plan) if is_it(plan)) {
                    dialog.stage = Stage::Review(resolved);
                    dialog.disabled = dialog.disabled.take().or(refused);
                }
            }
            Reply::Trouble(text) => match self.running_mut() {
                Some(run) => {
                    run.trouble = Some(text);
                    if run.doing == Doing::Undoing {
                        run.doing = Doing::Ended;
                    }
                }
                None => self.say(text),
            },
            reply => return self.run_reply(reply),
        }
        Vec::new()
    }

    /// Plans are made anew where what they depend on turned out to be otherwise.
    fn surrounded(&mut self, surroundings: topotop_model::fix::Surroundings) {
        if self.status.surroundings == surroundings {
            return;
        }
        self.status.surroundings = surroundings;
        let Some(dialog) = self.fixing.as_ref().filter(|dialog| matches!(dialog.stage, Stage::Choosing)) else {
            return;
        };
        let (rule, subject, chosen) = (dialog.rule, dialog.subject.clone(), dialog.chosen);
        if let Some(mut again) = self.dialog_about(rule, &subject) {
            again.chosen = chosen.min(again.choices.len().saturating_sub(1));
            self.fixing = Some(Box::new(again));
        }
    }

    /// What an answer does to the application that goes on.
    fn run_reply(&mut self, reply: Reply) -> Vec<Effect> {
        let open = self.modal == Modal::Fix;
        let now_ns = self.status.now_ns.max(self.newest.frame.stamp.mono_ns);
        let Some(run) = self.running_mut() else { return Vec::new() };
        match reply {
            Reply::Far(progress) => run.progress = Some((progress.done, progress.of, progress.unit)),
            Reply::Wrote(outcome) => run.items.push(outcome),
            Reply::PutBack(Outcome { error: Some(error), .. }) => {
                run.trouble = Some(text::NotRestored { error: &error }.to_string());
            }
            Reply::PutBack(_) => drop(run.trouble.get_or_insert_with(|| text::RESTORED.to_string())),
            Reply::Refused(why) => {
                (run.doing, run.state, run.trouble) = (Doing::Ended, Some(Applied::Failed), Some(why.clone()));
                return vec![self.event_of(FixState::Failed, &why)];
            }
            Reply::Confirmed(_) => {
                run.deadline_ns = None;
                self.say(topotop_model::locale::chrome::FIX_CONFIRMED);
            }
            reply @ Reply::Applied { .. } => return applied(self, reply),
            Reply::Undone { why, whole, items, .. } => {
                (run.doing, run.deadline_ns) = (Doing::Ended, None);
                if let Some(verification) = run.verification.as_mut().filter(|_| why == Because::ToCompare && whole) {
                    verification.undone(now_ns);
                }
                run.undone = Some(Undone { why: why.clone(), whole, items });
                if !open {
                    self.say(topotop_model::locale::chrome::FixUndone { why: &why.label() }.to_string());
                }
                return vec![self.event_of(FixState::Undone, why.word())];
            }
            _ => {}
        }
        Vec::new()
    }
}

fn applied(app: &mut App, reply: Reply) -> Vec<Effect> {
    let Reply::Applied { number, state, mono_ns, revert_after_seconds, trouble } = reply else { return Vec::new() };
    let Some(run) = app.running_mut() else { return Vec::new() };
    run.number = Some(number);
    run.state = Some(state);
    run.progress = None;
    let trouble = trouble.or_else(|| run.trouble.take());
    run.trouble.clone_from(&trouble);
    run.deadline_ns = revert_after_seconds.map(|seconds| mono_ns + u64::from(seconds) * 1_000_000_000);
    run.doing = if state == Applied::Failed { Doing::Ended } else { Doing::Watching };
    if let Some(verification) = run.verification.as_mut().filter(|_| state != Applied::Failed) {
        verification.applied(mono_ns);
    } else if state != Applied::Failed {
        run.doing = Doing::Ended;
    }
    let (event_of, detail) = match state {
        Applied::Applied => (FixState::Applied, void(run)),
        Applied::Partial => (FixState::Partial, void(run)),
        Applied::Failed => (FixState::Failed, trouble.unwrap_or_default()),
    };
    let mut effects = vec![app.event_of(event_of, &detail)];
    // What was read is no longer what there is.
    effects.push(Effect::Fix(Order::Look));
    effects
}

/// What a measurement that runs meanwhile is worth from here on: in English, as recordings have it.
fn void(run: &Run) -> String {
    let is_void = run.resolved.plan.steps.iter().any(|step| {
        matches!(step.target, topotop_model::fix::Target::Channels { .. } | topotop_model::fix::Target::Rings { .. })
    });
    if is_void { TEST_INVALID.english().to_owned() } else { String::new() }
}
