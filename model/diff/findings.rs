//! What was found on two sides: which findings are gone, which are new.

use crate::frame::Frame;
use crate::judge::{Judgement, Standing};
use crate::rules::{Rule, RuleId, Severity, Subject};
use std::collections::{BTreeMap, BTreeSet};

/// A finding that was open for less than this share of a side's samples says nothing of the side.
const LEAST_SHARE: f64 = 0.05;
/// Findings that are distinguished on a side.
const MAX_FOUND: usize = 1024;

/// A finding of a side.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its rule.
    pub rule: &'static Rule,
    /// What it is about, by what is the same in another boot: a process by its name.
    pub subject: String,
    /// It in one line, as it was last; hostile as what it names.
    pub title: String,
    /// Its highest severity.
    pub severity: Severity,
    /// The samples in which it was open.
    pub samples: u64,
    /// The samples of the side.
    pub of: u64,
}

/// What was found on a side.
#[derive(Clone, Debug, Default)]
pub struct FoundSide {
    samples: u64,
    found: BTreeMap<(RuleId, String), Found>,
    /// Rules that could look at some time.
    checked: BTreeSet<RuleId>,
}

/// The findings of two sides against each other, the worst first.
#[derive(Clone, Debug, Default)]
pub struct FoundChanges {
    /// On the first side only.
    pub gone: Vec<Found>,
    /// On the second side only.
    pub new: Vec<Found>,
    /// On both, as on the second.
    pub both: Vec<Found>,
    /// On one side, and on the other their rule could not look.
    pub unknown: Vec<Found>,
}

impl FoundSide {
    /// Takes in the next frame of the side with what was judged of it.
    pub fn push(&mut self, frame: &Frame, judgement: &Judgement) {
        self.samples += 1;
        for finding in judgement.all() {
            let subject = name(&finding.subject, frame);
            let key = (finding.rule.id, subject);
            if self.found.len() >= MAX_FOUND && !self.found.contains_key(&key) {
                continue;
            }
            let subject = key.1.clone();
            let found = self.found.entry(key).or_insert_with(|| Found {
                rule: finding.rule,
                subject,
                title: String::new(),
                severity: Severity::Info,
                samples: 0,
                of: 0,
            });
            found.title = finding.title();
            found.severity = found.severity.max(finding.severity);
            found.samples += 1;
        }
        let looked = judgement.rules.iter().filter(|(_, standing)| !matches!(standing, Standing::NotChecked(_)));
        self.checked.extend(looked.map(|(rule, _)| rule.id));
    }

    fn counts(&self, found: &Found) -> bool {
        found.samples as f64 >= self.samples as f64 * LEAST_SHARE
    }
}

impl FoundChanges {
    /// The findings of two sides.
    pub fn of(before: &FoundSide, after: &FoundSide) -> Self {
        let mut changes = Self::default();
        let whole = |side: &FoundSide, found: &Found| Found { of: side.samples, ..found.clone() };
        for (side, other, is_after) in [(before, after, false), (after, before, true)] {
            for (key, found) in side.found.iter().filter(|(_, found)| side.counts(found)) {
                let place = match other.found.get(key) {
                    // As it is on the second side, unless it is next to nothing there.
                    Some(found) if !is_after && other.counts(found) => continue,
                    Some(_) => &mut changes.both,
                    None if !other.checked.contains(&key.0) => &mut changes.unknown,
                    None if is_after => &mut changes.new,
                    None => &mut changes.gone,
                };
                place.push(whole(side, found));
            }
        }
        for list in [&mut changes.gone, &mut changes.new, &mut changes.both, &mut changes.unknown] {
            list.sort_by_key(|found| std::cmp::Reverse((found.severity, found.samples)));
        }
        changes
    }

    /// True where a finding that costs something is gone or new.
    pub fn is_change(&self) -> bool {
        self.gone.iter().chain(&self.new).any(|found| found.severity >= Severity::Warning)
    }
}

/// What a subject is called on both sides.
fn name(subject: &Subject, frame: &Frame) -> String {
    match subject {
        Subject::Process(pid, _) => {
            frame.process(*pid).map_or_else(|| subject.to_string(), |process| format!("process:{}", process.comm))
        }
        Subject::Irq(irq) => match frame.irq(*irq) {
            Some(row) if !row.name.is_empty() => format!("irq:{}", row.name),
            _ => subject.to_string(),
        },
        _ => subject.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{FoundChanges, FoundSide};
    use crate::Stamp;
    use crate::frame::{Frame, Process};
    use crate::judge::{Judgement, Standing};
    use crate::rules::{self, Finding, Severity, Subject};

    fn side(samples: u64, unchecked: bool, open: impl Fn(u64) -> Vec<(&'static str, Subject, Severity)>) -> FoundSide {
        let mut side = FoundSide::default();
        let process = |pid| Process { pid, comm: "java".into(), ..Process::default() };
        let frame = Frame { processes: vec![process(7), process(8)], ..Frame::default() };
        for sample in 0..samples {
            let finding = |(rule, subject, severity)| Finding {
                rule: rules::find(rule).expect("a rule"),
                subject,
                severity,
                confidence: 0.9,
                since: Stamp::default(),
                evidence: Vec::new(),
                children: Vec::new(),
            };
            let standing = if unchecked { Standing::NotChecked(Vec::new()) } else { Standing::Quiet };
            let rules = rules::ALL.iter().map(|rule| (*rule, standing.clone())).collect();
            let findings = open(sample).into_iter().map(finding).collect();
            side.push(&frame, &Judgement { findings, rules, ..Judgement::default() });
        }
        side
    }

    fn reported(changes: &FoundChanges) -> [Vec<String>; 4] {
        [&changes.gone, &changes.new, &changes.both, &changes.unknown]
            .map(|list| list.iter().map(|found| format!("{} {}", found.rule.id.as_str(), found.subject)).collect())
    }

    #[test]
    fn what_is_gone_and_what_is_new() {
        let nic = || ("NIC-01", Subject::Nic("eth0".into()), Severity::Warning);
        let java = |pid| ("CPU-03", Subject::Process(pid, u64::from(pid)), Severity::Warning);
        let disk = || ("IO-01", Subject::Disk("sda".into()), Severity::Info);
        let before = side(60, false, |sample| if sample > 9 { vec![nic(), java(7)] } else { vec![] });
        let after = side(60, false, |sample| if sample > 9 { vec![java(8), disk()] } else { vec![] });
        let changes = FoundChanges::of(&before, &after);
        assert_eq!(
            reported(&changes),
            [
                vec!["NIC-01 nic:eth0".to_owned()],
                vec!["IO-01 disk:sda".to_owned()],
                vec!["CPU-03 process:java".to_owned()],
                vec![]
            ]
        );
        assert!(changes.is_change() && (changes.gone[0].samples, changes.gone[0].of) == (50, 60));
        // What is worth knowing and no more is no change for an exit status.
        let mut lesser = changes.clone();
        lesser.gone.clear();
        assert!(!lesser.is_change());
        // A burst on one side is nothing, and what could not be looked at is not gone.
        let burst = side(60, false, |sample| if sample == 3 { vec![nic()] } else { vec![] });
        assert!(!FoundChanges::of(&burst, &after).gone.iter().any(|found| found.rule.id.as_str() == "NIC-01"));
        let blind = side(60, true, |_| vec![]);
        assert_eq!(reported(&FoundChanges::of(&before, &blind))[3].len(), 2);
        assert_eq!(reported(&FoundChanges::of(&before, &before)).map(|list| list.len()), [0, 0, 2, 0]);
    }
}
