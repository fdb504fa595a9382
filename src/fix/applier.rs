//! The only code that changes the machine: resolves a plan, and applies or undoes it once confirmed. Each write goes to
//! the journal and is read back.

mod apply;
mod restore;
mod undo;

#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use tests::{empty, paper};

pub use undo::Returned;

use super::journal::Ledger;
use super::machine::{Hold, Machine, Progress};
use std::ops::ControlFlow;
use topotop_model::fix::{Item, Plan, Resolved, Target};
use topotop_model::journal::{Applied, Outcome};
use topotop_model::locale::fix::apply as text;

/// A plan with current values, and holds on the objects that it changes.
#[derive(Debug)]
pub struct Proposal {
    /// The plan with its values.
    pub resolved: Resolved,
    /// Why it cannot be applied: its object no longer exists, or a privilege is missing.
    pub refused: Option<String>,
    holds: Vec<Hold>,
}

/// An event while a plan is applied or undone.
#[derive(Clone, Debug, PartialEq)]
pub enum ApplyEvent {
    /// The intent is in the journal and nothing is written yet: the last moment to stop.
    Begun(u64),
    /// An item is being written.
    Writing {
        /// Of which step.
        step: usize,
        /// Which.
        key: String,
        /// The value.
        value: String,
    },
    /// Progress of a long write.
    Far(Progress),
    /// An item was written, or failed.
    Wrote(Outcome),
    /// An item was restored, or failed.
    PutBack(Outcome),
}

/// The result of applying a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// The application's number in the journal.
    pub number: u64,
    /// The state.
    pub state: Applied,
    /// The outcome of each item.
    pub outcomes: Vec<Outcome>,
    /// The outcome of each restored item, where it was rolled back.
    pub put_back: Vec<Outcome>,
    /// An error of the journal.
    pub trouble: Option<String>,
}

/// Why nothing was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Applies and undoes plans.
pub struct Applier<'a> {
    machine: &'a mut dyn Machine,
    ledger: &'a mut dyn Ledger,
    tell: &'a mut dyn FnMut(ApplyEvent) -> ControlFlow<()>,
}

impl std::fmt::Debug for Applier<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Applier").finish_non_exhaustive()
    }
}

impl<'a> Applier<'a> {
    /// Writes to a machine and a journal; `tell` receives events and may abort, which restores what was written.
    pub fn new(
        machine: &'a mut dyn Machine,
        ledger: &'a mut dyn Ledger,
        tell: &'a mut dyn FnMut(ApplyEvent) -> ControlFlow<()>,
    ) -> Self {
        Self { machine, ledger, tell }
    }
}

/// Reads the current values of a plan's targets. Writes nothing; under --root they are those of the capture.
pub fn resolve(machine: &dyn Machine, plan: &Plan) -> Proposal {
    let mut plan = plan.clone();
    for identity in &mut plan.identity {
        *identity = machine.filled(identity);
    }
    let holds: Vec<Hold> = plan.identity.iter().map(|identity| machine.hold(identity)).collect();
    let refused = is_same(machine, &plan, &holds).err().or_else(|| machine.forbids(&plan));
    let mut unread = Vec::new();
    let mut items = Vec::with_capacity(plan.steps.len());
    for (step, of) in plan.steps.iter().enumerate() {
        items.push(match items_of(machine, &of.target, &of.new) {
            Ok(items) => items,
            Err(why) => {
                unread.push((step, why));
                Vec::new()
            }
        });
    }
    let mut kept = Vec::with_capacity(plan.kept.len());
    for (place, target) in plan.kept.iter().enumerate() {
        kept.push(items_of(machine, target, "").unwrap_or_else(|why| {
            unread.push((plan.steps.len() + place, why));
            Vec::new()
        }));
    }
    Proposal { resolved: Resolved { plan, items, kept, unread }, refused, holds }
}

fn items_of(machine: &dyn Machine, target: &Target, new: &str) -> Result<Vec<Item>, String> {
    let item = |key: String, old: Option<String>| Item { key, old, new: new.to_owned() };
    if !target.holds_a_value() {
        return Ok(vec![item(String::new(), None)]);
    }
    let values = machine.values(target).map_err(|unread| unread.to_string())?;
    Ok(values.into_iter().map(|(key, value)| item(key, Some(value))).collect())
}

/// Checks that the objects of a plan are still the same.
fn is_same(machine: &dyn Machine, plan: &Plan, holds: &[Hold]) -> Result<(), String> {
    for (identity, hold) in plan.identity.iter().zip(holds) {
        if !hold.is_there() {
            return Err(text::Exited { identity }.to_string());
        }
        machine.same(identity)?;
        // It may have exited, and another one started, during the check.
        if !hold.is_there() {
            return Err(text::Exited { identity }.to_string());
        }
    }
    Ok(())
}
