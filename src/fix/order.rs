//! What the dialog orders, and what it is answered: between the screen, which never waits, and the thread that does.

use super::machine::Progress;
use topotop_model::fix::{Plan, Resolved, Surroundings, Verdict, Verification, Verify};
use topotop_model::journal::{Applied, Because, Outcome};

/// What is ordered.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// Read what fixes may be planned from.
    Look,
    /// Read the values that a plan's places have now.
    Resolve(Box<Plan>),
    /// Fill the window before with what has gone by.
    Measure(Box<Verify>, Option<String>),
    /// Apply the plan that was resolved last.
    Apply,
    /// Stop: after the item that is being written, or within it where it takes long.
    Abort,
    /// It shall stay.
    Confirm(u64),
    /// Note what an application came to.
    Verdict(u64, Box<Verdict>),
    /// Take an application back; why is for the journal.
    Undo(u64, Because),
    /// Tell what has become of an application that takes itself back.
    Ask(u64),
}

/// What is answered.
#[derive(Clone, Debug)]
pub enum Reply {
    /// The place.
    Surroundings(Box<Surroundings>),
    /// A plan with its values; and why it cannot be applied.
    Resolved(Box<Resolved>, Option<String>),
    /// The window before, as far as it is kept.
    Before(Box<Verification>),
    /// How far a long write is.
    Far(Progress),
    /// An item was written, or could not be.
    Wrote(Outcome),
    /// It was applied, or not.
    Applied {
        /// Its number in the journal.
        number: u64,
        /// How it came out.
        state: Applied,
        /// CLOCK_MONOTONIC in ns of its end.
        mono_ns: u64,
        /// Seconds after which it takes itself back unless confirmed.
        revert_after_seconds: Option<u32>,
        /// What has to be known besides.
        trouble: Option<String>,
    },
    /// Nothing was written, and why.
    Refused(String),
    /// It stays.
    Confirmed(u64),
    /// It was taken back.
    Undone {
        /// Which.
        number: u64,
        /// Why.
        why: Because,
        /// True where everything that can be restored was.
        whole: bool,
        /// Item by item.
        items: Vec<Outcome>,
    },
    /// Something went wrong.
    Trouble(String),
}

/// What can be done about findings from here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Fixes are read and applied.
    #[default]
    Apply,
    /// Old values are read; nothing is written, and why.
    Read(String),
    /// Nothing is read either, and why.
    Show(String),
}

impl Reach {
    /// Why nothing is applied; none where it is.
    pub fn obstacle(&self) -> Option<&str> {
        match self {
            Self::Apply => None,
            Self::Read(why) | Self::Show(why) => Some(why),
        }
    }
}
