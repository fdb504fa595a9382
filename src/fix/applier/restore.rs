//! Restores old values: after a failed step, and when a fix is undone.

use super::apply::{Back, Run, called};
use super::{Applier, ApplyEvent};
use std::ops::ControlFlow;
use topotop_model::fix::{Restore, Target};
use topotop_model::journal::{Entry, ItemState, Outcome, Written};
use topotop_model::locale::fix::apply as text;

/// How to restore an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// It was never changed, has exited, or cannot be put back by its nature.
    Nothing,
    /// It reads as it did before.
    Back(String),
    /// The old value is written.
    Write(String),
    /// Somebody else has changed it: what it is now, and what it should be.
    Changed {
        /// As it reads.
        is: String,
        /// As it was left.
        left: String,
    },
    /// It cannot be read or restored.
    Lost(String),
}

impl Applier<'_> {
    /// What is to be done with each item of a place.
    pub(super) fn ways(&self, written: &Written, items: &[ItemState], is_step: bool) -> Vec<Way> {
        if written.restore == Restore::Never || !written.target.holds_a_value() {
            return vec![Way::Nothing; items.len()];
        }
        let now = match self.machine.values(&written.target) {
            Ok(now) => now,
            Err(unread) => return vec![Way::Lost(text::RestoreUnread { error: &unread }.to_string()); items.len()],
        };
        let value = |key: &str| now.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str());
        items.iter().map(|item| way(written, item, value(&item.item.key), is_step)).collect()
    }

    /// Puts back everything that may have been written, the last first, and what changed with it. Somebody else's values
    /// are overwritten only where that is asked for.
    pub(super) fn put_back(&mut self, run: &mut Run, forced: bool) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        let steps = run.intent.steps.len();
        // Kept values change when the steps do, so they come after them.
        for place in (0..steps).rev().chain(steps..run.items.len()) {
            let written =
                run.intent.steps.get(place).or_else(|| run.intent.kept.get(place.checked_sub(steps)?)).cloned();
            let Some((written, items)) = written.zip(run.items.get(place)) else { continue };
            let ways = self.ways(&written, items, place < steps);
            for (index, way) in ways.into_iter().enumerate().rev() {
                let Some(state) = run.items.get_mut(place).and_then(|items| items.get_mut(index)) else { continue };
                let Some(outcome) = self.put_back_item(place, &written, state, way, forced) else { continue };
                let appended = self.ledger.append(run.number, &Entry::PutBack(outcome.clone()), false);
                run.trouble = run.trouble.take().or_else(|| appended.err());
                let _ = (self.tell)(ApplyEvent::PutBack(outcome.clone()));
                outcomes.push(outcome);
            }
        }
        outcomes
    }

    fn put_back_item(
        &mut self,
        step: usize,
        written: &Written,
        state: &mut ItemState,
        way: Way,
        forced: bool,
    ) -> Option<Outcome> {
        let target = &written.target;
        let outcome = |value: Option<String>, error: Option<String>| Outcome {
            step,
            key: state.item.key.clone(),
            value,
            error,
            ended: false,
        };
        let old = state.item.old.clone();
        let outcome = match (way, old) {
            (Way::Nothing, _) => return None,
            (Way::Back(value), _) => outcome(Some(value), None),
            (Way::Lost(why), _) => outcome(None, Some(why)),
            (Way::Changed { is, left }, _) if !forced => {
                let error = text::RestoreChanged { value: &is, expected: &left }.to_string();
                outcome(Some(is), Some(error))
            }
            (Way::Write(old), _) | (Way::Changed { .. }, Some(old)) => {
                let tell = &mut *self.tell;
                // A partial restore is worse than either state: it cannot be aborted.
                let wrote = self.machine.write(target, &state.item.key, &old, &mut |progress| {
                    let _ = tell(ApplyEvent::Far(*progress));
                    ControlFlow::Continue(())
                });
                let Back { value, differs, .. } = self.read_back(target, &state.item.key, &old);
                // Where it reads as it did before, it is restored, whatever the write returned.
                let is_back = value.as_deref().is_some_and(|value| target.agrees(&old, value));
                let error = wrote.err().map(|trouble| trouble.to_string()).filter(|_| !is_back);
                outcome(value, error.or(differs.filter(|_| written.restore == Restore::Old)))
            }
            (Way::Changed { .. }, None) => outcome(None, Some(text::OLD_UNKNOWN.to_string())),
        };
        state.put_back = Some(outcome.clone());
        Some(outcome)
    }
}

fn way(written: &Written, state: &ItemState, now: Option<&str>, is_step: bool) -> Way {
    let target = &written.target;
    // What has exited took its value along.
    let Some(now) = now else { return Way::Nothing };
    let Some(old) = state.item.old.as_deref() else {
        return Way::Lost(text::OldUnknownOf { item: &called(target, &state.item.key) }.to_string());
    };
    if target.agrees(old, now) {
        return Way::Back(now.to_owned());
    }
    // Side effects were not written, and some settings do not read back what was written.
    if !is_step || written.restore == Restore::Roughly {
        return Way::Write(old.to_owned());
    }
    if was_left_so(target, state, now) {
        return Way::Write(old.to_owned());
    }
    if state.wrote.as_ref().is_some_and(|outcome| failed_without_effect(target, outcome, old)) {
        return Way::Nothing;
    }
    Way::Changed { is: now.to_owned(), left: state.expected().to_owned() }
}

/// True where it reads as it was written, as it was read back, or as an undo that failed left it.
fn was_left_so(target: &Target, state: &ItemState, now: &str) -> bool {
    let read = |outcome: &Option<Outcome>| outcome.as_ref().and_then(|outcome| outcome.value.clone());
    let values = [read(&state.wrote), read(&state.put_back), Some(state.item.new.clone())];
    values.iter().flatten().any(|left| target.agrees(left, now))
}

fn failed_without_effect(target: &Target, outcome: &Outcome, old: &str) -> bool {
    outcome.error.is_some() && outcome.value.as_deref().is_some_and(|value| target.agrees(old, value))
}
