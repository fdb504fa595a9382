//! A fix as a value: what would be written where, at what risk, how it is undone and how its effect is measured.

use super::{Identity, Target, Trip, id};
use crate::diff::Watch;
use crate::rules::RuleId;
use crate::rules::Subject;
use serde::{Deserialize, Serialize};

/// What may happen to work that runs meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// Can be taken back, interrupts nothing.
    #[default]
    Safe,
    /// Can be taken back; packets may be lost or work may pause for a moment.
    Disruptive,
    /// Data or availability at stake, a restart, or no way back: confirmed by typing the subject's name.
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
}

/// What has to be held to apply a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    /// `CAP_NET_ADMIN`; empty where it is something else.
    pub capability: String,
    /// What for, or what else: `root, or a delegated control group`.
    pub what: String,
}

/// Text that would do it, or make it last, to be copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// Where it goes or what runs it: `/etc/sysctl.d/90-topotop.conf`, `as a udev rule`.
    pub place: String,
    /// The text, of any number of lines.
    pub text: String,
}

/// What undoing does with a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Restore {
    /// The old value is written back and compared.
    #[default]
    Old,
    /// The old value is written back as well as it can be; what is there afterwards may differ.
    Roughly,
    /// Nothing can be written back.
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
    /// False where the others are worth applying when this fails.
    pub essential: bool,
}

impl Step {
    /// A step that can be undone and that the plan stands or falls with.
    pub fn new(what: impl Into<String>, target: Target, new: impl Into<String>) -> Self {
        Self { what: what.into(), target, new: new.into(), restore: Restore::Old, essential: true }
    }
}

/// How the effect is measured: the window before has gone by, then a time to settle, then the window after.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verify {
    /// What carries the load where the application's own number is not given.
    pub load: Option<Watch>,
    /// What the load costs: it should fall.
    pub cost: Option<Watch>,
    /// What must not get worse.
    pub guards: Vec<Watch>,
    /// Further metrics that the table shows.
    pub shown: Vec<Watch>,
    /// Limits that undo it at once when they are exceeded.
    pub trips: Vec<Trip>,
    /// Seconds of the window before, at most.
    pub before_seconds: u32,
    /// Seconds after which the effect is there.
    pub settle_seconds: u32,
    /// Seconds of the window after.
    pub after_seconds: u32,
}

/// What a fix would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// `F-CHAN`.
    pub fix: &'static str,
    /// The rule whose finding it answers.
    pub rule: RuleId,
    /// What that is about.
    pub subject: Subject,
    /// It in one line: `eth0: 1 -> 8 combined channels`; hostile where names are.
    pub title: String,
    /// Who is changed.
    pub identity: Vec<Identity>,
    /// What is written, in order; empty for advice.
    pub steps: Vec<Step>,
    /// Values that change with it although nobody writes them: read before, put back by undo after the steps.
    pub kept: Vec<Target>,
    /// What somebody would type to do the same, a line each; hostile where names are.
    pub commands: Vec<String>,
    /// Advice: configuration and commands, never executed.
    pub snippets: Vec<Snippet>,
    /// At what risk.
    pub risk: Risk,
    /// What may break and for how long, a line each.
    pub breaks: Vec<String>,
    /// Why it could cut off whoever applies it; not empty: it takes itself back unless confirmed once more.
    pub cuts_off: Vec<String>,
    /// What has to be held.
    pub needs: Vec<Need>,
    /// How it is undone, in a line.
    pub undo: String,
    /// What does not come back, a line each.
    pub lost: Vec<String>,
    /// Who may write the old values again, a line each.
    pub reverters: Vec<String>,
    /// How the effect is measured.
    pub verify: Verify,
    /// What would make it last over a boot.
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

    /// The capabilities that it needs and that are not among those that are held.
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

/// The smallest thing that is written: a value before, and the value to come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Which of the target's: `4122@88131`; empty where it has one value only.
    pub key: String,
    /// The value before; none where it cannot be read.
    pub old: Option<String>,
    /// The value to write.
    pub new: String,
}

/// A plan with the values that its targets have now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// What would be done.
    pub plan: Plan,
    /// The items of each step.
    pub items: Vec<Vec<Item>>,
    /// The items of each target in `kept`, with the new value empty.
    pub kept: Vec<Vec<Item>>,
    /// Why the values could not be read, by step; a plan with any of an essential step is not applied.
    pub unread: Vec<(usize, String)>,
}
