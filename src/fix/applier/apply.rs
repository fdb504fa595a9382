//! Applies a confirmed plan and reads the values back.

use super::{Applier, ApplyEvent, Done, Proposal, Refused, is_same, items_of};
use crate::fix::machine::{Hold, Trouble};
use std::collections::{HashMap, HashSet};
use topotop_model::fix::{Item, Plan, Restore, Step, Target};
use topotop_model::journal::{Applied, Entry, Intent, ItemState, Outcome, Written};
use topotop_model::locale::fix::apply as text;

/// Passes for new threads: each finds the threads created during the one before.
const PASSES: usize = 8;

/// An application in progress.
pub(super) struct Run {
    pub(super) number: u64,
    pub(super) intent: Intent,
    pub(super) items: Vec<Vec<ItemState>>,
    /// Why the journal could not be written any more.
    pub(super) trouble: Option<String>,
}

/// The value of an item after a write.
#[derive(Debug, Default)]
pub(super) struct Back {
    /// Its value; none where it could not be read.
    pub(super) value: Option<String>,
    /// The error where it differs from the written value.
    pub(super) differs: Option<String>,
    /// The item no longer exists.
    ended: bool,
}

/// Why a step ended the application.
enum Stop {
    /// An essential step failed, or the user aborted.
    Failed,
    /// The journal could not be written: nothing is done without it.
    Journal(String),
}

impl Applier<'_> {
    /// Applies a confirmed proposal. `revert_after_seconds` where it may disconnect the user.
    pub fn apply(
        &mut self,
        proposal: &Proposal,
        who: &str,
        revert_after_seconds: Option<u32>,
    ) -> Result<Done, Refused> {
        let plan = &proposal.resolved.plan;
        self.check(proposal).map_err(Refused)?;
        let number = self.ledger.read().map_err(Refused)?.next;
        let intent = intent(proposal, who, revert_after_seconds);
        self.machine.stand_for(&intent.identity);
        let states = |written: &Written| written.items.iter().cloned().map(ItemState::new).collect();
        let items = intent.steps.iter().chain(&intent.kept).map(states).collect();
        let entry = Entry::Intent(Box::new(intent.clone()));
        self.ledger
            .append(number, &entry, true)
            .map_err(|error| Refused(text::NothingApplied { error: &error }.to_string()))?;
        let mut run = Run { number, intent, items, trouble: None };
        let mut stopped = (self.tell)(ApplyEvent::Begun(number)).is_break();
        if stopped {
            return Ok(self.end(run, true));
        }
        for (index, step) in plan.steps.iter().enumerate() {
            match self.step(&mut run, index, step, plan, &proposal.holds) {
                Ok(()) => {}
                Err(stop) => {
                    if let Stop::Journal(error) = stop {
                        run.trouble = Some(error);
                    }
                    stopped = true;
                    break;
                }
            }
        }
        Ok(self.end(run, stopped))
    }

    /// Checks that the shown values are current and complete.
    fn check(&self, proposal: &Proposal) -> Result<(), String> {
        let resolved = &proposal.resolved;
        let plan = &resolved.plan;
        if !plan.is_executable() {
            return Err(text::ADVICE.to_string());
        }
        if let Some(refused) = &proposal.refused {
            return Err(refused.clone());
        }
        let essential = |step: usize| plan.steps.get(step).is_some_and(|step| step.essential);
        // Of optional steps one readable step is enough.
        let none = resolved.items.iter().all(Vec::is_empty);
        if let Some((_, why)) = resolved.unread.iter().find(|(step, _)| essential(*step) || none) {
            return Err(text::Unread { why: &why }.to_string());
        }
        is_same(self.machine, plan, &proposal.holds)?;
        for (step, items) in plan.steps.iter().zip(&resolved.items) {
            self.is_as_shown(&step.target, &step.new, items)?;
        }
        let is_so = |step: &Step, item: &Item| {
            step.target.holds_a_value() && item.old.as_deref().is_some_and(|old| step.target.agrees(&step.new, old))
        };
        let mut all =
            plan.steps.iter().zip(&resolved.items).flat_map(|(step, items)| items.iter().map(move |item| (step, item)));
        if all.all(|(step, item)| is_so(step, item)) {
            return Err(text::ALREADY.to_string());
        }
        Ok(())
    }

    /// Checks that no value has changed since it was shown; threads and pages may change at any time.
    fn is_as_shown(&self, target: &Target, new: &str, items: &[Item]) -> Result<(), String> {
        if !target.holds_a_value() || matches!(target, Target::Pages { .. }) || items.is_empty() {
            return Ok(());
        }
        let now = items_of(self.machine, target, new)?;
        let now: HashMap<&str, &Item> = now.iter().map(|is| (is.key.as_str(), is)).collect();
        for item in items {
            let Some(is) = now.get(item.key.as_str()) else { continue };
            let (is, was) = (is.old.as_deref().unwrap_or_default(), item.old.as_deref().unwrap_or_default());
            if !target.agrees(was, is) {
                return Err(
                    text::ChangedSinceShown { item: &called(target, &item.key), old: &was, new: &is }.to_string()
                );
            }
        }
        Ok(())
    }

    fn step(&mut self, run: &mut Run, index: usize, step: &Step, plan: &Plan, holds: &[Hold]) -> Result<(), Stop> {
        let (mut written, mut failed) = (0, 0);
        let mut place = 0;
        for _ in 0..PASSES {
            while let Some(item) =
                run.items.get(index).and_then(|items| items.get(place)).map(|state| state.item.clone())
            {
                let ended = is_same(self.machine, plan, holds).err();
                let (outcome, stop) = self.item(index, &step.target, &item, ended);
                let is_written = outcome.error.is_none();
                written += u32::from(is_written);
                failed += u32::from(!is_written);
                self.wrote(run, place, outcome)?;
                if stop {
                    return Err(Stop::Failed);
                }
                place += 1;
            }
            if !self.added(run, index, &step.target, &step.new)? {
                break;
            }
        }
        if step.essential && written == 0 && failed > 0 { Err(Stop::Failed) } else { Ok(()) }
    }

    /// Writes an item and reads it back; true where the user aborted.
    fn item(&mut self, step: usize, target: &Target, item: &Item, ended: Option<String>) -> (Outcome, bool) {
        let outcome = |value: Option<String>, error: Option<String>| Outcome {
            step,
            key: item.key.clone(),
            value,
            error,
            ended: false,
        };
        if let Some(ended) = ended {
            return (outcome(None, Some(ended)), true);
        }
        let old = item.old.as_deref().filter(|_| target.holds_a_value());
        if old.is_some_and(|old| target.agrees(&item.new, old)) {
            return (outcome(item.old.clone(), None), false);
        }
        let writing = ApplyEvent::Writing { step, key: item.key.clone(), value: item.new.clone() };
        if (self.tell)(writing).is_break() {
            return (outcome(item.old.clone(), Some(text::STOPPED.to_string())), true);
        }
        let tell = &mut *self.tell;
        let (mut stop, mut far) = (false, 0);
        let wrote = self.machine.write(target, &item.key, &item.new, &mut |progress| {
            far = progress.done;
            let flow = tell(ApplyEvent::Far(*progress));
            stop |= flow.is_break();
            flow
        });
        let Back { value, differs, ended } = self.read_back(target, &item.key, &item.new);
        // An action without a value reports its progress.
        let value = value.or_else(|| (!target.holds_a_value() && far > 0).then(|| far.to_string()));
        // A thread may have ended before it was written, or after.
        let is_thread = target.is_of_threads();
        let ended = ended || (is_thread && wrote.as_ref().is_err_and(Trouble::has_ended));
        let error = wrote.err().map(|trouble| trouble.to_string()).or(differs);
        (Outcome { ended, ..outcome(value, error) }, stop)
    }

    /// The current value, with an error where it differs from the wanted one.
    pub(super) fn read_back(&self, target: &Target, key: &str, wanted: &str) -> Back {
        if !target.holds_a_value() {
            return Back::default();
        }
        match self.machine.value(target, key) {
            Err(unread) => {
                let differs = text::NotReadBack { error: &unread }.to_string();
                Back { differs: Some(differs), ..Back::default() }
            }
            Ok(None) => Back { differs: Some(text::ENDED.to_string()), ended: true, value: None },
            Ok(Some(value)) if target.agrees(wanted, &value) => Back { value: Some(value), ..Back::default() },
            Ok(Some(value)) => {
                let differs = text::Differs { value: &value, wanted: &wanted }.to_string();
                Back { value: Some(value), differs: Some(differs), ended: false }
            }
        }
    }

    fn wrote(&mut self, run: &mut Run, place: usize, outcome: Outcome) -> Result<(), Stop> {
        if let Some(state) = run.items.get_mut(outcome.step).and_then(|items| items.get_mut(place)) {
            state.wrote = Some(outcome.clone());
        }
        let appended = self.ledger.append(run.number, &Entry::Wrote(outcome.clone()), false);
        let flow = (self.tell)(ApplyEvent::Wrote(outcome));
        appended.map_err(Stop::Journal)?;
        if flow.is_break() { Err(Stop::Failed) } else { Ok(()) }
    }

    /// Adds items created meanwhile: threads created by threads not yet written.
    fn added(&mut self, run: &mut Run, step: usize, target: &Target, new: &str) -> Result<bool, Stop> {
        let Some(items) = run.items.get_mut(step).filter(|items| items.iter().any(|state| !state.item.key.is_empty()))
        else {
            return Ok(false);
        };
        let Ok(now) = items_of(self.machine, target, new) else { return Ok(false) };
        let mut added = false;
        let known: HashSet<String> = items.iter().map(|known| known.item.key.clone()).collect();
        for item in now {
            let is_so = item.old.as_deref().is_some_and(|old| target.agrees(new, old));
            if is_so || known.contains(&item.key) {
                continue;
            }
            self.ledger.append(run.number, &Entry::Added { step, item: item.clone() }, true).map_err(Stop::Journal)?;
            items.push(ItemState::new(item));
            added = true;
        }
        Ok(added)
    }

    /// Ends an application in the journal: side effects or restored values, and the result.
    fn end(&mut self, mut run: Run, stopped: bool) -> Done {
        let mut put_back = Vec::new();
        if stopped {
            put_back = self.put_back(&mut run, false);
        } else {
            self.kept_now(&mut run);
        }
        let state = state(&run, stopped);
        let ended = self.ledger.append(run.number, &Entry::Ended { state }, true);
        let trouble = run.trouble.or_else(|| ended.err());
        let outcomes = run.items.iter().flatten().filter_map(|item| item.wrote.clone()).collect();
        Done { number: run.number, state, outcomes, put_back, trouble }
    }

    /// Records values that changed as a side effect.
    fn kept_now(&mut self, run: &mut Run) {
        let steps = run.intent.steps.len();
        for (place, written) in run.intent.kept.iter().enumerate() {
            let Ok(now) = self.machine.values(&written.target) else { continue };
            for state in run.items.get_mut(steps + place).into_iter().flatten() {
                let Some((_, value)) = now.iter().find(|(key, _)| *key == state.item.key) else { continue };
                if state.item.old.as_deref().is_some_and(|old| written.target.agrees(old, value)) {
                    continue;
                }
                let outcome = Outcome {
                    step: steps + place,
                    key: state.item.key.clone(),
                    value: Some(value.clone()),
                    error: None,
                    ended: false,
                };
                // Undo restores these in any case: the line is for the reader.
                let _ = self.ledger.append(run.number, &Entry::Wrote(outcome.clone()), false);
                state.wrote = Some(outcome);
            }
        }
    }
}

fn state(run: &Run, stopped: bool) -> Applied {
    let steps = || run.items.iter().take(run.intent.steps.len()).flatten();
    let there = steps().filter(|item| item.is_written() && !(stopped && item.is_back())).count();
    // Partly reclaimed memory counts as written.
    let places = run.intent.steps.iter().zip(&run.items).filter(|(written, _)| !written.target.holds_a_value());
    let partly = |item: &&ItemState| {
        item.wrote.as_ref().is_some_and(|outcome| outcome.error.is_some() && outcome.value.is_some())
    };
    let partly = places.flat_map(|(_, items)| items).filter(partly).count();
    // A failed write that was not restored counts as well.
    let stuck = steps().filter(|item| item.put_back.as_ref().is_some_and(|outcome| outcome.error.is_some())).count();
    let ended = steps().filter(|item| item.wrote.as_ref().is_some_and(|outcome| outcome.ended)).count();
    match () {
        () if there + stuck + partly == 0 => Applied::Failed,
        () if !stopped && there + ended == steps().count() => Applied::Applied,
        () => Applied::Partial,
    }
}

fn intent(proposal: &Proposal, who: &str, revert_after_seconds: Option<u32>) -> Intent {
    let resolved = &proposal.resolved;
    let plan = &resolved.plan;
    let steps = plan.steps.iter().zip(&resolved.items);
    let kept = plan.kept.iter().zip(&resolved.kept);
    Intent {
        fix: plan.id(),
        title: plan.title.clone(),
        who: who.to_owned(),
        commands: plan.commands.clone(),
        risk: plan.risk,
        identity: plan.identity.clone(),
        steps: steps.map(|(step, items)| written(&step.target, step.restore, items)).collect(),
        kept: kept.map(|(target, items)| written(target, Restore::Old, items)).collect(),
        revert_after_seconds,
    }
}

fn written(target: &Target, restore: Restore, items: &[Item]) -> Written {
    Written { target: target.clone(), restore, items: items.to_vec() }
}

/// The name of an item.
pub(super) fn called(target: &Target, key: &str) -> String {
    if key.is_empty() { target.to_string() } else { format!("{target}, {key}") }
}
