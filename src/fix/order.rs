//! Orders of the fix dialog and their replies, between the screen and the fix session's thread.

use super::deadman::Armed;
use super::machine::Progress;
use std::collections::BTreeMap;
use topotop_model::fix::{Plan, Resolved, Surroundings, Verdict, Verification, Verify};
use topotop_model::journal::{Applied, Because, Outcome};
use topotop_model::recording::RecordedFinding;

/// A fix that is chosen: as it was planned for the screen, and what it is planned from.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// The plan.
    pub plan: Plan,
    /// Its parameters.
    pub set: BTreeMap<String, String>,
    /// The finding that it answers, then those below it.
    pub findings: Vec<RecordedFinding>,
}

impl Wanted {
    /// A plan that nobody plans again.
    pub fn of(plan: Plan) -> Self {
        Self { plan, set: BTreeMap::new(), findings: Vec::new() }
    }
}

/// An order.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// Read the surroundings that plans depend on.
    Look,
    /// Read the current values of a plan's targets.
    Resolve(Box<Wanted>),
    /// Fill the window before from the history.
    Measure(Box<Verify>, Option<String>),
    /// Apply the plan resolved last.
    Apply,
    /// Abort after the current item, or within a long write.
    Abort,
    /// Cancel the automatic rollback.
    Confirm(u64),
    /// Write the verdict to the journal.
    Verdict(u64, Box<Verdict>),
    /// Undo an application, for a reason.
    Undo(u64, Because),
    /// Ask whether an application has been rolled back.
    Ask(u64),
}

/// A reply.
#[derive(Clone, Debug)]
pub enum Reply {
    /// The surroundings.
    Surroundings(Box<Surroundings>),
    /// A plan with its values, why it cannot be applied, and the commands of the one that was sent.
    Resolved(Box<Resolved>, Option<String>, Vec<String>),
    /// The window before, as far as the history reaches.
    Before(Box<Verification>),
    /// Progress of a long write.
    Far(Progress),
    /// The automatic rollback is armed.
    Armed(Armed),
    /// An item was written, or failed.
    Wrote(Outcome),
    /// An item was restored by the rollback of an application, or failed.
    PutBack(Outcome),
    /// The result of applying.
    Applied {
        /// Its number in the journal.
        number: u64,
        /// The state.
        state: Applied,
        /// CLOCK_MONOTONIC in ns of its end.
        mono_ns: u64,
        /// Seconds until the automatic rollback unless confirmed.
        revert_after_seconds: Option<u32>,
        /// An error to report.
        trouble: Option<String>,
    },
    /// Nothing was written, and why.
    Refused(String),
    /// The automatic rollback is cancelled.
    Confirmed(u64),
    /// It was undone.
    Undone {
        /// Which.
        number: u64,
        /// Why.
        why: Because,
        /// True where all restorable values were restored.
        whole: bool,
        /// The outcome of each item.
        items: Vec<Outcome>,
    },
    /// An error.
    Trouble(String),
}

/// What the dialog may do here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Read values and apply fixes.
    #[default]
    Apply,
    /// Read values only, with the reason.
    Read(String),
    /// Neither read nor write, with the reason.
    Show(String),
}

impl Reach {
    /// Why fixes cannot be applied; none where they can.
    pub fn obstacle(&self) -> Option<&str> {
        match self {
            Self::Apply => None,
            Self::Read(why) | Self::Show(why) => Some(why),
        }
    }
}
