//! Takes an application back.

use super::apply::{Run, called};
use super::restore::Way;
use super::{Applier, Refused};
use topotop_model::fix::Identity;
use topotop_model::journal::{Application, Because, Entry, Outcome, State};

/// What came of taking a fix back.
#[derive(Clone, Debug, PartialEq)]
pub struct Returned {
    /// What came of each item.
    pub outcomes: Vec<Outcome>,
    /// True where every value that can be restored is what it was.
    pub whole: bool,
    /// What has to be known besides: the journal could not be written any more.
    pub trouble: Option<String>,
}

impl Applier<'_> {
    /// Puts the old values back. Refused where that would not undo what was done: values that somebody else has changed
    /// since are overwritten only where it is forced; another boot, or another one of that name, never.
    pub fn undo(&mut self, application: &Application, why: &Because, forced: bool) -> Result<Returned, Refused> {
        self.may_undo(application, why).map_err(Refused)?;
        if !forced {
            self.is_as_left(application).map_err(Refused)?;
        }
        let entry = Entry::Undo { why: why.clone(), forced };
        self.ledger
            .append(application.number, &entry, true)
            .map_err(|error| Refused(format!("nothing was undone: {error}")))?;
        let mut run = Run {
            number: application.number,
            intent: application.intent.clone(),
            items: application.items.clone(),
            trouble: None,
        };
        let outcomes = self.put_back(&mut run, forced);
        let whole = outcomes.iter().all(|outcome| outcome.error.is_none());
        let ended = self.ledger.append(application.number, &Entry::Undone { whole }, true);
        Ok(Returned { outcomes, whole, trouble: run.trouble.or_else(|| ended.err()) })
    }

    fn may_undo(&self, application: &Application, why: &Because) -> Result<(), String> {
        let number = application.number;
        match application.state() {
            State::Undone | State::Reverted => return Err(format!("{number} was undone already")),
            State::Failed => return Err(format!("{number} failed: nothing of it is in force")),
            State::Applied | State::Partial | State::Interrupted => {}
        }
        if application.boot_id != self.ledger.boot_id() {
            return Err(format!("{number}: the machine was booted since, so that nothing of it is in force"));
        }
        if !application.can_be_undone() {
            return Err(format!("{number}: what it did cannot be put back"));
        }
        for identity in &application.intent.identity {
            self.machine.same(&found_again(identity, why))?;
        }
        Ok(())
    }

    /// Every value is as it was left, or back already.
    fn is_as_left(&self, application: &Application) -> Result<(), String> {
        let steps = application.intent.steps.len();
        let mut changed = Vec::new();
        for (_, written, items) in application.places().take(steps) {
            for (item, way) in items.iter().zip(self.ways(written, items, true)) {
                if let Way::Changed { is, left } = way {
                    changed.push(format!("{} is {is}, not {left}", called(&written.target, &item.item.key)));
                }
            }
        }
        match changed.as_slice() {
            [] => Ok(()),
            [one] => Err(format!("{one}: somebody else changed it since; --force overwrites that")),
            [first, rest @ ..] => Err(format!(
                "{first}, and {} more: somebody else changed them since; --force overwrites that",
                rest.len()
            )),
        }
    }
}

/// An interface that was reset may bear another index: whoever was cut off by that is let in by its address.
fn found_again(identity: &Identity, why: &Because) -> Identity {
    match identity {
        Identity::Nic { name, address, .. } if *why == Because::NotConfirmed && !address.is_empty() => {
            Identity::Nic { name: name.clone(), ifindex: 0, address: address.clone() }
        }
        other => other.clone(),
    }
}
