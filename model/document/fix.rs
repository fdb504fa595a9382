//! `topotop.fix/1`: what `topotop fix` writes with `--format json`.

use super::{OrNull, findings, safe};
use crate::fix::{self, Offered, Resolved, Risk};
use crate::journal::{self, Applied, ItemState, Measured, State};
use crate::rules::{self, RuleId};
use serde::Serialize;

/// An available fix.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Offer {
    rule: RuleId,
    subject: String,
    #[serde(flatten)]
    fix: findings::Fix,
}

impl Offer {
    /// A fix of a finding.
    pub fn of(finding: &rules::Finding, fix: &Offered) -> Self {
        Self { rule: finding.rule.id, subject: safe(finding.subject.to_string()), fix: findings::fix(fix) }
    }
}

/// What a fix would do.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "PlanDocument"))]
pub struct Plan<'a> {
    id: String,
    /// False for advice.
    executable: bool,
    #[serde(flatten)]
    fields: &'a fix::Plan,
    steps: Vec<Step>,
    /// Why it cannot be applied any more.
    refused: OrNull<String>,
}

/// One thing that is written.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Step {
    what: String,
    target: String,
    /// The old value, if it is the same for all items; absent if they differ or were not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<OrNull<String>>,
    new: String,
    /// Why its values are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    unread: Option<String>,
    items: Vec<Item>,
}

/// The old and the new value.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Item {
    key: String,
    old: OrNull<String>,
    new: String,
}

fn all<T: ToString>(list: &[T]) -> Vec<String> {
    list.iter().map(|one| safe(one.to_string())).collect()
}

impl<'a> Plan<'a> {
    /// A plan with the values that its targets have now, and why it cannot be applied.
    pub fn of(resolved: &'a Resolved, refused: Option<&str>) -> Self {
        let plan = &resolved.plan;
        let step = |(index, step): (usize, &fix::Step)| {
            let items = resolved.items.get(index).map_or(&[][..], Vec::as_slice);
            let unread = resolved.unread.iter().find(|(place, _)| *place == index);
            Step::of(step, items, unread.map(|(_, why)| why.as_str()))
        };
        let steps = plan.steps.iter().enumerate().map(step).collect();
        Self { id: plan.id(), executable: plan.is_executable(), fields: plan, steps, refused: OrNull::text(refused) }
    }
}

impl Step {
    fn of(step: &fix::Step, items: &[fix::Item], unread: Option<&str>) -> Self {
        let alike = items.first().filter(|first| items.iter().all(|item| item.old == first.old));
        let item = |item: &fix::Item| Item {
            key: safe(&item.key),
            old: OrNull::text(item.old.as_deref()),
            new: safe(&item.new),
        };
        Self {
            what: safe(&step.what),
            target: safe(step.target.to_string()),
            old: alike.map(|first| OrNull::text(first.old.as_deref())),
            new: safe(&step.new),
            unread: unread.map(safe),
            items: items.iter().map(item).collect(),
        }
    }
}

/// What was applied.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Done {
    /// RULE/SUBJECT/FIX.
    pub id: String,
    /// Its number in the journal.
    pub number: u64,
    /// Its title, in one line.
    pub title: String,
    /// Its outcome.
    pub state: Applied,
    /// `improved`, `no_change`, `worse` or `inconclusive`; null where it was not measured.
    pub verdict: OrNull<&'static str>,
    /// Why.
    pub why: OrNull<String>,
    /// What was measured, the application metric first.
    pub table: OrNull<Vec<Measured>>,
    /// What was written.
    pub items: Vec<Outcome>,
    /// What was restored.
    pub put_back: Vec<Outcome>,
    /// Whether the automatic undo was complete; null if it was not undone.
    pub undone: OrNull<bool>,
}

/// What was undone.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Undone {
    /// RULE/SUBJECT/FIX.
    pub id: String,
    /// Its number in the journal.
    pub number: u64,
    /// True where every item that can be restored was.
    pub whole: bool,
    /// What was restored.
    pub items: Vec<Outcome>,
}

/// Outcome of one item.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Outcome {
    target: OrNull<String>,
    key: String,
    /// As it was read back.
    value: OrNull<String>,
    /// The kernel's error.
    error: OrNull<String>,
}

impl Outcome {
    /// What came of an item of a target.
    pub fn of(outcome: &journal::Outcome, target: Option<&fix::Target>) -> Self {
        Self {
            target: OrNull(target.map(|target| safe(target.to_string()))),
            key: safe(&outcome.key),
            value: OrNull::text(outcome.value.as_deref()),
            error: OrNull::text(outcome.error.as_deref()),
        }
    }
}

/// A fix in the journal.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Application {
    number: u64,
    id: String,
    rule: String,
    title: String,
    state: State,
    verdict: OrNull<String>,
    why: OrNull<String>,
    table: OrNull<Vec<Measured>>,
    /// RFC 3339, UTC.
    applied_at: String,
    who: String,
    /// False if the machine has rebooted since: none of it is in effect.
    this_boot: bool,
    risk: Risk,
    commands: Vec<String>,
    waits_for_confirmation: bool,
    items: Vec<AppliedItem>,
    undo: OrNull<Undo>,
}

/// An item and its outcome.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct AppliedItem {
    target: String,
    key: String,
    old: OrNull<String>,
    new: String,
    value: OrNull<String>,
    error: OrNull<String>,
    put_back: OrNull<PutBack>,
}

/// Outcome of restoring an item.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PutBack {
    value: OrNull<String>,
    error: OrNull<String>,
}

/// How it was undone.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Undo {
    at: String,
    why: String,
    forced: bool,
    whole: OrNull<bool>,
}

impl Application {
    /// A fix of the journal, seen from a boot.
    pub fn of(application: &journal::Application, boot: &str) -> Self {
        let (intent, judged) = (&application.intent, application.judged.as_ref());
        let this_boot = application.boot_id == boot;
        let undo = application.undo.as_ref().map(|undo| Undo {
            at: safe(&undo.at),
            why: safe(undo.why.word()),
            forced: undo.forced,
            whole: OrNull(undo.whole),
        });
        let steps = application.places().take(intent.steps.len());
        let items =
            steps.flat_map(|(_, written, items)| items.iter().map(|item| AppliedItem::of(&written.target, item)));
        Self {
            number: application.number,
            id: safe(&intent.fix),
            rule: safe(application.rule()),
            title: safe(&intent.title),
            state: application.state(),
            verdict: OrNull(judged.map(|judged| safe(&judged.verdict))),
            why: OrNull(judged.map(|judged| safe(&judged.why))),
            table: OrNull(judged.map(|judged| judged.table.clone())),
            applied_at: safe(&application.at),
            who: safe(&intent.who),
            this_boot,
            risk: intent.risk,
            commands: all(&intent.commands),
            waits_for_confirmation: application.waits_for_confirmation() && this_boot,
            items: items.collect(),
            undo: OrNull(undo),
        }
    }
}

impl AppliedItem {
    fn of(target: &fix::Target, state: &ItemState) -> Self {
        let wrote = state.wrote.as_ref();
        let put_back = state.put_back.as_ref().map(|outcome| PutBack {
            value: OrNull::text(outcome.value.as_deref()),
            error: OrNull::text(outcome.error.as_deref()),
        });
        Self {
            target: safe(target.to_string()),
            key: safe(&state.item.key),
            old: OrNull::text(state.item.old.as_deref()),
            new: safe(&state.item.new),
            value: OrNull::text(wrote.and_then(|outcome| outcome.value.as_deref())),
            error: OrNull::text(wrote.and_then(|outcome| outcome.error.as_deref())),
            put_back: OrNull(put_back),
        }
    }
}
