//! Settings and what machines are made of: what differs between the ends of two sides.

mod read;

use super::side::Side;
use super::subject::Subject;
use crate::frame::Frame;
use crate::locale::diff as text;
use crate::locale::translated;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A setting by its subject and its name.
type Facts = BTreeMap<(Subject, String), String>;

/// The settings of one moment.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    facts: Facts,
    /// True if irqbalance moves interrupts.
    balances: bool,
    nics_are_read: bool,
    disks_are_read: bool,
}

impl Settings {
    pub(super) fn of(frame: &Frame) -> Self {
        Self {
            facts: read::facts(frame),
            balances: frame.irqbalance.as_ref().is_some_and(|daemon| &*daemon.state == "running"),
            nics_are_read: frame.sections.nics.is_read(),
            disks_are_read: frame.sections.disks.is_read(),
        }
    }

    /// True if the section that lists a subject was read: only then is "not there" an answer.
    fn is_read(&self, subject: &Subject) -> bool {
        match subject {
            Subject::Nic(_) => self.nics_are_read,
            Subject::Disk(_) => self.disks_are_read,
            _ => false,
        }
    }
}

/// A setting that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactChange {
    /// Subject of the metric.
    pub subject: Subject,
    /// Which.
    pub name: String,
    /// Before; none where there was no such thing.
    pub before: Option<String>,
    /// After.
    pub after: Option<String>,
    /// True if it changed within a side already.
    pub within: bool,
}

impl FactChange {
    /// Its name in the language of the reader.
    pub fn shown_name(&self) -> Cow<'_, str> {
        translated(&["fact."], &self.name)
    }

    /// A value of it in the language of the reader.
    pub fn shown(value: Option<&str>) -> Cow<'_, str> {
        value.map_or(Cow::Borrowed(text::NONE.as_str()), |value| translated(&["fact_value."], value))
    }
}

/// What differs, and how many interrupts do because irqbalance moved them.
pub(super) fn changes(before: &Side, after: &Side) -> (Vec<FactChange>, usize) {
    let (Some(one), Some(other)) = (before.settings(), after.settings()) else { return (Vec::new(), 0) };
    let last = (&one.1.facts, &other.1.facts);
    let first = (&one.0.facts, &other.0.facts);
    let balanced = one.1.balances && other.1.balances;
    let mut moved = 0;
    let mut changes = Vec::new();
    let keys = last.0.keys().chain(last.1.keys().filter(|key| !last.0.contains_key(key)));
    for key in keys {
        let (was, is) = (last.0.get(key), last.1.get(key));
        if was == is || one_sided(key, was, is, (&one.1, &other.1)) {
            continue;
        }
        if balanced && matches!(key.0, Subject::Irq(_)) {
            moved += 1;
            continue;
        }
        let within = first.0.get(key) != was || first.1.get(key) != is;
        changes.push(FactChange {
            subject: key.0.clone(),
            name: key.1.clone(),
            before: was.cloned(),
            after: is.cloned(),
            within,
        });
    }
    changes.retain(|change| !follows(change, last));
    (changes, moved)
}

/// True for a setting that only one side has and whose absence says nothing: what carries it came, went or was not
/// read, which is reported elsewhere or unknown.
fn one_sided(key: &(Subject, String), was: Option<&String>, is: Option<&String>, ends: (&Settings, &Settings)) -> bool {
    if was.is_some() && is.is_some() {
        return false;
    }
    let exists = key.1 == read::EXISTS;
    !(exists && ends.0.is_read(&key.0) && ends.1.is_read(&key.0))
}

/// Where an interrupt goes follows from where it may go.
fn follows(change: &FactChange, last: (&Facts, &Facts)) -> bool {
    let allowed = (change.subject.clone(), read::AFFINITY.to_owned());
    change.name == read::EFFECTIVE && last.0.get(&allowed) != last.1.get(&allowed)
}
