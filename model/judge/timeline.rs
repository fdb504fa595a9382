//! When findings came and went.

use super::Judgement;
use crate::rules::{Finding, Severity, Subject};
use std::sync::Arc;

/// Changes that are kept: the oldest go first.
pub const MAX_CHANGES: usize = 4096;

/// A finding that came or went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The first sample with it, or the first without: its number in a recording, its `seq` live.
    pub sample: u64,
    /// When that was, in ns since 1970.
    pub wall_ns: i64,
    /// The same on CLOCK_MONOTONIC, in ns.
    pub mono_ns: u64,
    /// True where it came, false where it went.
    pub came: bool,
    /// The rule's id; a recording may have one that this version does not know.
    pub rule: Arc<str>,
    /// About what.
    pub subject: Subject,
    /// How bad it was then.
    pub severity: Severity,
    /// It in one line, as it was then; hostile as what it names.
    pub title: Arc<str>,
}

impl Change {
    /// A finding that came with a sample, or was last seen before it.
    pub fn of(finding: &Finding, came: bool, at: At) -> Self {
        let At { sample, wall_ns, mono_ns } = at;
        let (rule, title) = (finding.rule.id.as_str().into(), finding.title().into());
        let (subject, severity) = (finding.subject.clone(), finding.severity);
        Self { sample, wall_ns, mono_ns, came, rule, subject, severity, title }
    }

    /// What it is about, for finding its other end.
    fn key(&self) -> (&str, &Subject) {
        (&self.rule, &self.subject)
    }

    /// `NIC-01 came: …`.
    pub fn text(&self) -> String {
        format!("{} {}: {}", self.rule, if self.came { "came" } else { "went" }, self.title)
    }
}

/// A sample's place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct At {
    /// See [`Change::sample`].
    pub sample: u64,
    /// In ns since 1970.
    pub wall_ns: i64,
    /// On CLOCK_MONOTONIC, in ns.
    pub mono_ns: u64,
}

/// A finding from its coming to its going.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// As it came; as it went where that is all that is known.
    pub change: Change,
    /// The first sample with it; none where it was there before what is kept.
    pub from: Option<u64>,
    /// The first sample without it; none where it is still there.
    pub to: Option<u64>,
}

/// What came and went, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    changes: Vec<Change>,
}

impl Timeline {
    /// Of changes in any order; the newest of them are kept.
    pub fn of(mut changes: Vec<Change>) -> Self {
        changes.sort_by_key(|change| change.sample);
        changes.drain(..changes.len().saturating_sub(MAX_CHANGES));
        Self { changes }
    }

    /// Takes in later changes.
    pub fn extend(&mut self, changes: impl IntoIterator<Item = Change>) {
        self.changes.extend(changes);
        if self.changes.len() > MAX_CHANGES {
            self.changes.drain(..self.changes.len() - MAX_CHANGES);
        }
    }

    /// Forgets what was before a sample.
    pub fn forget_before(&mut self, sample: u64) {
        let old = self.changes.partition_point(|change| change.sample < sample);
        self.changes.drain(..old);
    }

    /// Every change, oldest first.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// True where nothing came or went.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The changes of the next sample after one that has any, or of the one before it; with the place of the first of
    /// them.
    pub fn around(&self, sample: u64, next: bool) -> Option<(usize, &[Change])> {
        let found = if next {
            self.changes.iter().find(|change| change.sample > sample)
        } else {
            self.changes.iter().rfind(|change| change.sample < sample)
        };
        let there = found?.sample;
        let from = self.changes.partition_point(|change| change.sample < there);
        let to = self.changes.partition_point(|change| change.sample <= there);
        Some((from, self.changes.get(from..to)?))
    }

    /// What is said when one goes to changes: `finding 2 of 7: NIC-01 came: …, and 1 more`.
    pub fn said(&self, place: usize, changes: &[Change]) -> String {
        let Some(first) = changes.first() else { return String::new() };
        let more = match changes.len() - 1 {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        format!("change {} of {}: {}{more}", place + 1, self.changes.len(), first.text())
    }

    /// Each finding from its coming to its going, in the order of their coming.
    pub fn spans(&self) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        for change in &self.changes {
            let open = spans.iter_mut().rfind(|span| span.to.is_none() && span.change.key() == change.key());
            match (change.came, open) {
                (true, Some(_)) => {}
                (true, None) => spans.push(Span { change: change.clone(), from: Some(change.sample), to: None }),
                (false, Some(span)) => span.to = Some(change.sample),
                (false, None) => {
                    spans.push(Span { change: change.clone(), from: None, to: Some(change.sample) });
                }
            }
        }
        spans.sort_by_key(|span| span.from.unwrap_or(0));
        spans
    }
}

/// What came and went from one judgement to the next. What is told under a cause is there as well.
pub fn changes(before: &Judgement, after: &Judgement, at: At) -> Vec<Change> {
    let (went, came) = difference(before, after);
    let went = went.into_iter().map(|finding| Change::of(finding, false, at));
    went.chain(came.into_iter().map(|finding| Change::of(finding, true, at))).collect()
}

/// The findings that only the one of two judgements has, and those that only the other one has.
pub fn difference<'a>(before: &'a Judgement, after: &'a Judgement) -> (Vec<&'a Finding>, Vec<&'a Finding>) {
    fn only<'a>(all: &[&'a Finding], others: &[&Finding]) -> Vec<&'a Finding> {
        let there = |finding: &Finding| {
            others.iter().any(|other| other.rule.id == finding.rule.id && other.subject == finding.subject)
        };
        all.iter().filter(|finding| !there(finding)).copied().collect()
    }
    let (before, after) = (before.all(), after.all());
    (only(&before, &after), only(&after, &before))
}

#[cfg(test)]
mod tests {
    use super::{At, Change, MAX_CHANGES, Timeline, changes};
    use crate::judge::Judgement;
    use crate::rules::{self, Finding, Severity, Subject};
    use proptest::prelude::*;

    fn change(sample: u64, cpu: u32, came: bool) -> Change {
        let (rule, title) = ("CPU-03".into(), format!("cpu {cpu}").into());
        let (subject, severity) = (Subject::Cpu(cpu), Severity::Warning);
        Change { sample, wall_ns: 0, mono_ns: sample, came, rule, subject, severity, title }
    }

    fn judged(ids: &[&str]) -> Judgement {
        let finding = |id: &&str| Finding {
            rule: rules::find(id).expect("a rule"),
            subject: Subject::Host,
            severity: Severity::Warning,
            confidence: 0.9,
            since: crate::Stamp::default(),
            evidence: Vec::new(),
            children: Vec::new(),
        };
        Judgement { findings: ids.iter().map(finding).collect(), ..Judgement::default() }
    }

    #[test]
    fn what_comes_and_goes_is_told_and_what_moves_under_a_cause_is_not() {
        let (mut caused, alone) = (judged(&["NIC-01"]), judged(&["IRQ-01"]));
        caused.findings[0].children = alone.findings.clone();
        let told = |before: &Judgement, after: &Judgement| -> Vec<(String, bool)> {
            let changes = changes(before, after, At::default());
            changes.into_iter().map(|change| (change.rule.to_string(), change.came)).collect()
        };
        assert_eq!(told(&judged(&[]), &alone), [("IRQ-01".to_owned(), true)]);
        assert_eq!(told(&alone, &caused), [("NIC-01".to_owned(), true)]);
        assert_eq!(told(&caused, &judged(&["IO-01"])).len(), 3);
        assert_eq!(told(&caused, &caused), []);
    }

    #[test]
    fn one_goes_from_sample_to_sample() {
        let timeline = Timeline::of(vec![change(9, 1, false), change(5, 1, true), change(9, 2, true)]);
        let (place, found) = timeline.around(0, true).expect("one");
        assert_eq!(timeline.said(place, found), "change 1 of 3: CPU-03 came: cpu 1");
        let (place, found) = timeline.around(5, true).expect("one");
        assert_eq!(timeline.said(place, found), "change 2 of 3: CPU-03 went: cpu 1, and 1 more");
        assert_eq!(timeline.around(9, true), None);
        assert_eq!(timeline.around(9, false).expect("one").0, 0);
        assert_eq!(timeline.around(5, false), None);
    }

    #[test]
    fn spans_have_ends_where_they_are_known() {
        let timeline =
            Timeline::of(vec![change(3, 7, false), change(5, 1, true), change(9, 1, false), change(10, 1, true)]);
        let spans: Vec<_> = timeline.spans().iter().map(|span| (span.from, span.to)).collect();
        assert_eq!(spans, [(None, Some(3)), (Some(5), Some(9)), (Some(10), None)]);
    }

    proptest! {
        #[test]
        fn it_stays_bounded_and_in_order(made in prop::collection::vec((0u64..100, 0u32..4, any::<bool>()), 0..60)) {
            let timeline = Timeline::of(made.iter().map(|&(sample, cpu, came)| change(sample, cpu, came)).collect());
            prop_assert!(timeline.changes().is_sorted_by_key(|change| change.sample));
            prop_assert!(timeline.spans().len() <= made.len());
            for sample in 0..100 {
                for next in [false, true] {
                    if let Some((place, changes)) = timeline.around(sample, next) {
                        prop_assert!(!changes.is_empty() && !timeline.said(place, changes).is_empty());
                    }
                }
            }
            let mut long = timeline.clone();
            long.extend((100..6000).map(|sample| change(sample, 0, true)));
            prop_assert_eq!(long.changes().len(), MAX_CHANGES);
        }
    }
}
