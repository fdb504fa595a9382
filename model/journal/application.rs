//! One application of a fix, as its lines tell it.

use super::{Applied, Because, Intent, Measured, Outcome, Written};
use crate::fix::{Item, Restore, Target};
use serde::Serialize;

/// State of an applied fix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Every item was written and read back.
    Applied,
    /// Some items were written, or some were restored.
    Partial,
    /// No item was written.
    Failed,
    /// Undone on request.
    Undone,
    /// Rolled back automatically: worse, not confirmed, pressure.
    Reverted,
    /// It was interrupted, or its undo was: the current values are read from the machine.
    Interrupted,
}

impl State {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::Undone => "undone",
            Self::Reverted => "reverted",
            Self::Interrupted => "interrupted",
        }
    }
}

/// An item and its outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemState {
    /// Values before and to come.
    pub item: Item,
    /// What came of writing it; none where nothing tells.
    pub wrote: Option<Outcome>,
    /// What came of putting it back; none where that was not tried.
    pub put_back: Option<Outcome>,
}

impl ItemState {
    /// Of which nothing is known yet.
    pub fn new(item: Item) -> Self {
        Self { item, wrote: None, put_back: None }
    }

    /// True where its write was reported as successful.
    pub fn is_written(&self) -> bool {
        self.wrote.as_ref().is_some_and(|outcome| outcome.error.is_none())
    }

    /// True where it was put back, or nothing had to be.
    pub fn is_back(&self) -> bool {
        self.put_back.as_ref().is_some_and(|outcome| outcome.error.is_none())
    }

    /// What it reads as while the fix is in force: as it was read back last, or what was to be written where nothing
    /// tells.
    pub fn expected(&self) -> &str {
        let mut outcomes = [&self.put_back, &self.wrote].into_iter().flatten();
        outcomes.find_map(|outcome| outcome.value.as_deref()).unwrap_or(&self.item.new)
    }
}

/// What its effect was judged to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// `improved`, `no_change`, `worse`, `inconclusive`.
    pub verdict: String,
    /// Why, where that is to be said.
    pub why: String,
    /// What was measured.
    pub table: Vec<Measured>,
}

/// How it was undone last.
#[derive(Clone, Debug, PartialEq)]
pub struct PutBack {
    /// When, for people.
    pub at: String,
    /// Why.
    pub why: Because,
    /// True where values that somebody else changed were overwritten.
    pub forced: bool,
    /// True where every item that can be restored was; none where it was cut short.
    pub whole: Option<bool>,
}

/// One application of a fix.
#[derive(Clone, Debug, PartialEq)]
pub struct Application {
    /// Counted up, never given twice.
    pub number: u64,
    /// When, for people.
    pub at: String,
    /// Wall time in ns since 1970.
    pub wall_ns: i64,
    /// CLOCK_BOOTTIME in ns.
    pub boot_ns: u64,
    /// Of which boot.
    pub boot_id: String,
    /// What was to be done.
    pub intent: Intent,
    /// The items of its steps, then of what is kept.
    pub items: Vec<Vec<ItemState>>,
    /// How it came out; none where it was cut short.
    pub ended: Option<Applied>,
    /// CLOCK_BOOTTIME when it came out.
    pub ended_boot_ns: Option<u64>,
    /// True once somebody said again that it shall stay.
    pub confirmed: bool,
    /// Its effect.
    pub judged: Option<Judged>,
    /// How it was undone.
    pub undo: Option<PutBack>,
    /// Its lines, as they count themselves.
    pub lines: u32,
}

impl Application {
    /// How it stands.
    pub fn state(&self) -> State {
        match (&self.undo, self.ended) {
            (Some(PutBack { whole: None, .. }), _) | (None, None) => State::Interrupted,
            (Some(PutBack { whole: Some(false), .. }), _) | (None, Some(Applied::Partial)) => State::Partial,
            (Some(undo), _) if matches!(undo.why, Because::Asked | Because::ToCompare | Because::Exited) => {
                State::Undone
            }
            (Some(_), _) => State::Reverted,
            (None, Some(Applied::Applied)) => State::Applied,
            (None, Some(Applied::Failed)) => State::Failed,
        }
    }

    /// True where something that it wrote may be there.
    pub fn is_in_force(&self) -> bool {
        matches!(self.state(), State::Applied | State::Partial | State::Interrupted)
    }

    /// True while it takes itself back unless somebody confirms it.
    pub fn waits_for_confirmation(&self) -> bool {
        self.intent.revert_after_seconds.is_some() && !self.confirmed && self.is_in_force()
    }

    /// The rule whose finding it answered.
    pub fn rule(&self) -> &str {
        self.intent.fix.split('/').next().unwrap_or_default()
    }

    /// The places of its steps, then of what is kept, with their items.
    pub fn places(&self) -> impl DoubleEndedIterator<Item = (usize, &Written, &[ItemState])> {
        let steps = self.intent.steps.len();
        let of = |step: usize| self.items.get(step).map_or(&[][..], Vec::as_slice);
        let kept = self.intent.kept.iter().enumerate().map(move |(place, written)| (steps + place, written));
        self.intent.steps.iter().enumerate().chain(kept).map(move |(step, written)| (step, written, of(step)))
    }

    /// Values that it wrote, that were not put back and that can be looked at again: place, item, value.
    pub fn in_force(&self) -> impl Iterator<Item = (&Target, &str, &str)> {
        let steps = if self.is_in_force() { self.intent.steps.len() } else { 0 };
        let places = self.places().take(steps).filter(|(_, written, _)| written.target.holds_a_value());
        places.flat_map(|(_, written, items)| {
            let there = items.iter().filter(|item| item.is_written() && !item.is_back());
            there.map(|item| (&written.target, item.item.key.as_str(), item.expected()))
        })
    }

    /// True where undoing it would put anything back.
    pub fn can_be_undone(&self) -> bool {
        self.is_in_force() && self.intent.steps.iter().any(|written| written.restore != Restore::Never)
    }
}
