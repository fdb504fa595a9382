//! Undoes an application.

use super::apply::{Run, called};
use super::restore::Way;
use super::{Applier, Refused};
use topotop_model::fix::Identity;
use topotop_model::journal::{Application, Because, Entry, Outcome, State};
use topotop_model::locale::fix::apply as text;

/// The result of an undo.
#[derive(Clone, Debug, PartialEq)]
pub struct Returned {
    /// The outcome of each item.
    pub outcomes: Vec<Outcome>,
    /// True where all restorable values were restored.
    pub whole: bool,
    /// True where its process has exited, and nothing was left to restore.
    pub exited: bool,
    /// An error of the journal.
    pub trouble: Option<String>,
}

impl Applier<'_> {
    /// Restores the old values. Refused where that would not undo what was done: values that somebody else has changed
    /// since are overwritten only where it is forced; another boot, or another one of that name, never.
    pub fn undo(&mut self, application: &Application, why: &Because, forced: bool) -> Result<Returned, Refused> {
        self.may_undo(application).map_err(Refused)?;
        if self.has_exited(application) {
            return self.close(application).map_err(Refused);
        }
        let whose: Vec<Identity> =
            application.intent.identity.iter().map(|identity| found_again(identity, why)).collect();
        for identity in &whose {
            self.machine.same(identity).map_err(Refused)?;
        }
        self.machine.stand_for(&whose);
        if !forced {
            self.is_as_left(application).map_err(Refused)?;
        }
        let entry = Entry::Undo { why: why.clone(), forced };
        self.ledger
            .append(application.number, &entry, true)
            .map_err(|error| Refused(text::NothingUndone { error: &error }.to_string()))?;
        let mut run = Run {
            number: application.number,
            intent: application.intent.clone(),
            items: application.items.clone(),
            trouble: None,
        };
        let outcomes = self.put_back(&mut run, forced);
        let whole = outcomes.iter().all(|outcome| outcome.error.is_none());
        let ended = self.ledger.append(application.number, &Entry::Undone { whole }, true);
        Ok(Returned { outcomes, whole, exited: false, trouble: run.trouble.or_else(|| ended.err()) })
    }

    /// True where all that was changed ended with its processes.
    fn has_exited(&self, application: &Application) -> bool {
        let intent = &application.intent;
        let mut processes = intent.identity.iter().filter(|one| matches!(one, Identity::Process { .. })).peekable();
        processes.peek().is_some()
            && intent.steps.iter().chain(&intent.kept).all(|written| written.target.ends_with_process())
            && processes.all(|process| self.machine.has_exited(process))
    }

    /// Notes that nothing is left to restore.
    fn close(&mut self, application: &Application) -> Result<Returned, String> {
        let entry = Entry::Undo { why: Because::Exited, forced: false };
        self.ledger
            .append(application.number, &entry, true)
            .map_err(|error| text::NothingUndone { error: &error }.to_string())?;
        let ended = self.ledger.append(application.number, &Entry::Undone { whole: true }, true);
        Ok(Returned { outcomes: Vec::new(), whole: true, exited: true, trouble: ended.err() })
    }

    fn may_undo(&self, application: &Application) -> Result<(), String> {
        let number = application.number;
        match application.state() {
            State::Undone | State::Reverted => return Err(text::AlreadyUndone { number: &number }.to_string()),
            State::Failed => return Err(text::Failed { number: &number }.to_string()),
            State::Applied | State::Partial | State::Interrupted => {}
        }
        if application.boot_id != self.ledger.boot_id() {
            return Err(text::Rebooted { number: &number }.to_string());
        }
        if !application.can_be_undone() {
            return Err(text::NotUndoable { number: &number }.to_string());
        }
        Ok(())
    }

    /// Checks that every value is as the fix left it, or restored.
    fn is_as_left(&self, application: &Application) -> Result<(), String> {
        let steps = application.intent.steps.len();
        let mut changed = Vec::new();
        for (_, written, items) in application.places().take(steps) {
            for (item, way) in items.iter().zip(self.ways(written, items, true)) {
                if let Way::Changed { is, left } = way {
                    changed.push(
                        text::Changed { item: &called(&written.target, &item.item.key), value: &is, expected: &left }
                            .to_string(),
                    );
                }
            }
        }
        match changed.as_slice() {
            [] => Ok(()),
            [one] => Err(text::ChangedOne { change: &one }.to_string()),
            [first, rest @ ..] => Err(text::ChangedMore { change: &first, more: &rest.len() }.to_string()),
        }
    }
}

/// A reset interface may have a new index: an automatic rollback identifies it by address.
fn found_again(identity: &Identity, why: &Because) -> Identity {
    match identity {
        Identity::Nic { name, address, .. } if *why == Because::NotConfirmed && !address.is_empty() => {
            Identity::Nic { name: name.clone(), ifindex: 0, address: address.clone() }
        }
        other => other.clone(),
    }
}
