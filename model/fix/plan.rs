//! A fix as a value: what it writes where, at what risk, how to undo it and how to measure its effect.

use super::{Identity, Target, Trip, id};
use crate::diff::Watch;
#[cfg(test)]
use crate::document::OrNull;
use crate::document::{all_shown, each_line, shown};
use crate::locale::Text;
use crate::locale::fix as shared;
use crate::rules::{RuleId, Subject};
use serde::{Deserialize, Serialize};
use serde_with::apply;

/// What may happen to the running workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// Can be undone, interrupts nothing.
    #[default]
    Safe,
    /// Can be undone; packets may be lost or work may pause briefly.
    Disruptive,
    /// Risks data or availability, needs a restart, or cannot be undone: confirmed by typing the subject's name.
    Dangerous,
}

impl Risk {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Disruptive => "disruptive",
            Self::Dangerous => "dangerous",
        }
    }

    /// Its name on screens.
    pub fn label(self) -> Text {
        match self {
            Self::Safe => shared::RISK_SAFE,
            Self::Disruptive => shared::RISK_DISRUPTIVE,
            Self::Dangerous => shared::RISK_DANGEROUS,
        }
    }
}

/// A privilege that applying a plan requires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Need {
    /// `CAP_NET_ADMIN`; empty where it is something else.
    pub capability: String,
    /// What it is needed for, or another requirement: `root, or a delegated cgroup`.
    pub what: String,
}

/// Text to copy that does the same or makes it permanent.
#[apply(String => #[serde(serialize_with = "shown")], Vec<String> => #[serde(serialize_with = "all_shown")])]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Snippet {
    /// Where it goes or what runs it: `/etc/sysctl.d/90-topotop.conf`, `as a udev rule`.
    pub place: String,
    /// The text, of any number of lines.
    #[serde_with(skip_apply)]
    #[serde(serialize_with = "each_line")]
    pub text: String,
}

/// How undo restores a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Restore {
    /// The old value is written back and compared.
    #[default]
    Old,
    /// The old value is restored approximately; the result may differ.
    Roughly,
    /// There is no value to restore.
    Never,
}

/// One thing that is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What it does, for people: `combined channels`.
    pub what: String,
    /// Where.
    pub target: Target,
    /// The value to write, to each item of the target.
    pub new: String,
    /// What undoing does.
    pub restore: Restore,
    /// False where the other steps are worth applying when this one fails.
    pub essential: bool,
}

impl Step {
    /// An essential step that can be undone.
    pub fn new(what: impl Into<String>, target: Target, new: impl Into<String>) -> Self {
        Self { what: what.into(), target, new: new.into(), restore: Restore::Old, essential: true }
    }
}

/// How to measure the effect: the window before, then a time to settle, then the window after.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Verify {
    /// The load metric, unless an application metric is given.
    #[cfg_attr(test, schemars(with = "OrNull<Watch>"))]
    pub load: Option<Watch>,
    /// The cost of the load: it should fall.
    #[cfg_attr(test, schemars(with = "OrNull<Watch>"))]
    pub cost: Option<Watch>,
    /// What must not get worse.
    pub guards: Vec<Watch>,
    /// Further metrics that the table shows.
    #[serde(skip)]
    pub shown: Vec<Watch>,
    /// Limits that roll it back at once when exceeded.
    #[serde(skip)]
    pub trips: Vec<Trip>,
    /// Seconds of the window before, at most.
    pub before_seconds: u32,
    /// Seconds until the effect shows.
    pub settle_seconds: u32,
    /// Seconds of the window after.
    pub after_seconds: u32,
}

/// What a fix does.
#[apply(String => #[serde(serialize_with = "shown")], Vec<String> => #[serde(serialize_with = "all_shown")])]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Plan {
    /// `F-CHAN`.
    #[serde(skip)]
    pub fix: &'static str,
    /// The rule whose finding it addresses.
    pub rule: RuleId,
    /// The subject of that finding.
    #[serde(serialize_with = "shown")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub subject: Subject,
    /// A sentence: `Raise the combined channels of eth0 from 1 to 8`; hostile where names are.
    pub title: String,
    /// What it changes.
    #[serde(rename = "changes", serialize_with = "all_shown")]
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub identity: Vec<Identity>,
    /// What is written, in order; empty for advice.
    #[serde(skip)]
    pub steps: Vec<Step>,
    /// Values that change as a side effect: saved before, restored by undo after the steps.
    #[serde(serialize_with = "all_shown")]
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub kept: Vec<Target>,
    /// The equivalent commands, one per line; hostile where names are.
    pub commands: Vec<String>,
    /// Advice: configuration and commands, never executed.
    #[serde(rename = "advice")]
    pub snippets: Vec<Snippet>,
    /// Its risk.
    pub risk: Risk,
    /// Side effects and how long they last, one per line.
    pub breaks: Vec<String>,
    /// Why it could disconnect the user; where not empty, it rolls back unless confirmed again.
    pub cuts_off: Vec<String>,
    /// Privileges it requires.
    pub needs: Vec<Need>,
    /// How to undo it, in a line.
    pub undo: String,
    /// What undo does not restore, one per line.
    pub lost: Vec<String>,
    /// What may revert it, one per line.
    pub reverters: Vec<String>,
    /// How the effect is measured.
    pub verify: Verify,
    /// The configuration that makes it permanent.
    #[cfg_attr(test, schemars(with = "OrNull<Snippet>"))]
    pub persistent: Option<Snippet>,
}

impl Plan {
    pub(super) fn new(fix: &'static str, rule: RuleId, subject: Subject, title: String) -> Self {
        let verify = Verify { before_seconds: 30, settle_seconds: 5, after_seconds: 30, ..Verify::default() };
        Self {
            fix,
            rule,
            subject,
            title,
            identity: Vec::new(),
            steps: Vec::new(),
            kept: Vec::new(),
            commands: Vec::new(),
            snippets: Vec::new(),
            risk: Risk::Safe,
            breaks: Vec::new(),
            cuts_off: Vec::new(),
            needs: Vec::new(),
            undo: String::new(),
            lost: Vec::new(),
            reverters: Vec::new(),
            verify,
            persistent: None,
        }
    }

    /// `RULE/SUBJECT/FIX`.
    pub fn id(&self) -> String {
        id(&self.rule, &self.subject, self.fix)
    }

    /// True where it writes something.
    pub fn is_executable(&self) -> bool {
        !self.steps.is_empty()
    }

    /// True where undoing it restores something.
    pub fn can_be_undone(&self) -> bool {
        self.steps.iter().any(|step| step.restore != Restore::Never)
    }

    /// The capabilities that it requires and the process lacks.
    pub fn lacks(&self, held: &[String]) -> Vec<&Need> {
        let lacks = |need: &&Need| !need.capability.is_empty() && !held.contains(&need.capability);
        self.needs.iter().filter(lacks).collect()
    }

    /// What to type to confirm a dangerous one: the name of its subject.
    pub fn name(&self) -> String {
        let subject = self.subject.to_string();
        subject.split_once(':').map_or(subject.clone(), |(_, name)| name.to_owned())
    }
}

/// The smallest unit that is written: the old value and the new one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Which one of the target: `4122@88131`; empty where it has one value only.
    pub key: String,
    /// The old value; none where it cannot be read.
    pub old: Option<String>,
    /// The value to write.
    pub new: String,
}

/// A plan with the current values of its targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The plan.
    pub plan: Plan,
    /// The items of each step.
    pub items: Vec<Vec<Item>>,
    /// The items of each target in `kept`, with the new value empty.
    pub kept: Vec<Vec<Item>>,
    /// Why values could not be read, by step; a plan with an unread essential step is not applied.
    pub unread: Vec<(usize, String)>,
}
