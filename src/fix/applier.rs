//! The one place that changes the machine: a plan is resolved, and once somebody has said yes it is applied or taken
//! back, each write told to the journal and read back.

mod apply;
mod restore;
mod undo;

#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use tests::empty;

pub use undo::Returned;

use super::journal::Ledger;
use super::machine::{Hold, Machine, Progress};
use std::ops::ControlFlow;
use topotop_model::fix::{Item, Plan, Resolved, Target};
use topotop_model::journal::{Applied, Outcome};

/// A plan with the values that its places have now, and a hold on whom it changes.
#[derive(Debug)]
pub struct Proposal {
    /// What would be done.
    pub resolved: Resolved,
    /// Why it cannot be done: who is changed is not there any more, or what it takes is not held.
    pub refused: Option<String>,
    holds: Vec<Hold>,
}

/// What happens while a plan is applied or taken back.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
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
    /// How far it is.
    Far(Progress),
    /// It was written, or could not be.
    Wrote(Outcome),
    /// It was put back, or could not be.
    PutBack(Outcome),
}

/// What came of applying a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// The application's number in the journal.
    pub number: u64,
    /// How it came out.
    pub state: Applied,
    /// What came of each item.
    pub outcomes: Vec<Outcome>,
    /// What came of putting back, where it had to be.
    pub put_back: Vec<Outcome>,
    /// What has to be known besides: the journal could not be written any more.
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

/// Applies plans and takes them back.
pub struct Applier<'a> {
    machine: &'a mut dyn Machine,
    ledger: &'a mut dyn Ledger,
    tell: &'a mut dyn FnMut(Told) -> ControlFlow<()>,
}

impl std::fmt::Debug for Applier<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Applier").finish_non_exhaustive()
    }
}

impl<'a> Applier<'a> {
    /// Writes to a machine and a journal; `tell` hears of it and may stop it, then what was written is put back.
    pub fn new(
        machine: &'a mut dyn Machine,
        ledger: &'a mut dyn Ledger,
        tell: &'a mut dyn FnMut(Told) -> ControlFlow<()>,
    ) -> Self {
        Self { machine, ledger, tell }
    }
}

/// Reads the values that a plan's places have now. Nothing is written; under --root they are those of the capture.
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

/// Whom a plan changes is who it was made for.
fn is_same(machine: &dyn Machine, plan: &Plan, holds: &[Hold]) -> Result<(), String> {
    for (identity, hold) in plan.identity.iter().zip(holds) {
        if !hold.is_there() {
            return Err(format!("{identity}: has ended"));
        }
        machine.same(identity)?;
        // It may have ended, and another one begun, while it was looked at.
        if !hold.is_there() {
            return Err(format!("{identity}: has ended"));
        }
    }
    Ok(())
}
