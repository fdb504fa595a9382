//! When findings opened and cleared.

use super::Judgement;
use crate::bottleneck::{Bottleneck, Outcome};
use crate::locale::judge as text;
use crate::rules::{Finding, Severity, Subject};
use std::sync::Arc;

/// Stands for a rule where the answer changed: a limit was reached or left.
pub const LIMIT: &str = "limit";
/// Maximum changes; the oldest are dropped first.
pub const MAX_CHANGES: usize = 4096;

/// A finding that opened or cleared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The first sample with it, or the first without: its number in a recording, its `seq` live.
    pub sample: u64,
    /// When that was, in ns since 1970.
    pub wall_ns: i64,
    /// The same on CLOCK_MONOTONIC, in ns.
    pub mono_ns: u64,
    /// True if it opened, false if it cleared.
    pub came: bool,
    /// The id of the rule; a recording may have one that this version does not know.
    pub rule: Arc<str>,
    /// Its subject.
    pub subject: Subject,
    /// Its severity then.
    pub severity: Severity,
    /// Its title then; hostile as the names in it.
    pub title: Arc<str>,
}

impl Change {
    /// A finding that opened with a sample, or cleared before it.
    pub fn of(finding: &Finding, came: bool, at: At) -> Self {
        let At { sample, wall_ns, mono_ns } = at;
        let (rule, title) = (finding.rule.id.as_str().into(), finding.title().into());
        let (subject, severity) = (finding.subject.clone(), finding.severity);
        Self { sample, wall_ns, mono_ns, came, rule, subject, severity, title }
    }

    /// Rule and subject, to find its other end.
    fn key(&self) -> (&str, &Subject) {
        (&self.rule, &self.subject)
    }

    /// `NIC-01 opened: …`.
    pub fn text(&self) -> String {
        let (rule, title) = (&self.rule, &self.title);
        if **rule == *LIMIT {
            return title.to_string();
        }
        if self.came { text::Opened { rule, title }.to_string() } else { text::Cleared { rule, title }.to_string() }
    }
}

/// The position of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct At {
    /// See [`Change::sample`].
    pub sample: u64,
    /// In ns since 1970.
    pub wall_ns: i64,
    /// On CLOCK_MONOTONIC, in ns.
    pub mono_ns: u64,
}

/// A finding from opening to clearing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its opening; its clearing if the opening is unknown.
    pub change: Change,
    /// The first sample with it; none if it opened before the retained changes.
    pub from: Option<u64>,
    /// The first sample without it; none if it is still open.
    pub to: Option<u64>,
}

/// Openings and clearings, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    changes: Vec<Change>,
}

impl Timeline {
    /// Of changes in any order; the newest are retained.
    pub fn of(mut changes: Vec<Change>) -> Self {
        changes.sort_by_key(|change| change.sample);
        changes.drain(..changes.len().saturating_sub(MAX_CHANGES));
        Self { changes }
    }

    /// Appends later changes.
    pub fn extend(&mut self, changes: impl IntoIterator<Item = Change>) {
        self.changes.extend(changes);
        if self.changes.len() > MAX_CHANGES {
            self.changes.drain(..self.changes.len() - MAX_CHANGES);
        }
    }

    /// Drops changes before a sample.
    pub fn forget_before(&mut self, sample: u64) {
        let old = self.changes.partition_point(|change| change.sample < sample);
        self.changes.drain(..old);
    }

    /// Every change, oldest first.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// True without changes.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The changes of the next sample that has any, or of the previous one, with the index of the first of them.
    pub fn around(&self, sample: u64, next: bool) -> Option<(usize, &[Change])> {
        let nearest = if next {
            self.changes.iter().find(|change| change.sample > sample)
        } else {
            self.changes.iter().rfind(|change| change.sample < sample)
        };
        let at = nearest?.sample;
        let from = self.changes.partition_point(|change| change.sample < at);
        let to = self.changes.partition_point(|change| change.sample <= at);
        Some((from, self.changes.get(from..to)?))
    }

    /// The status of a jump to changes: `change 2 of 7: NIC-01 opened: …, and 1 more`.
    pub fn summary(&self, place: usize, changes: &[Change]) -> String {
        let Some(first) = changes.first() else { return String::new() };
        let (number, count, change) = (&(place + 1), &self.changes.len(), &first.text());
        match &(changes.len() - 1) {
            0 => text::Change { number, count, change }.to_string(),
            more => text::ChangeMore { number, count, change, more }.to_string(),
        }
    }

    /// Each finding from opening to clearing, in the order of opening.
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

/// What opened and cleared from one judgement to the next, including findings grouped below a cause.
pub fn changes(before: &Judgement, after: &Judgement, at: At) -> Vec<Change> {
    let (went, came) = difference(before, after);
    let went = went.into_iter().map(|finding| Change::of(finding, false, at));
    let findings = went.chain(came.into_iter().map(|finding| Change::of(finding, true, at)));
    limits(&before.bottleneck, &after.bottleneck, at).into_iter().chain(findings).collect()
}

/// A limit that is reached or left, or that nobody can tell any more; from one to another both.
fn limits(before: &Bottleneck, after: &Bottleneck, at: At) -> Vec<Change> {
    let of = |answer: &Bottleneck| {
        let open = answer.verdict == Outcome::Inconclusive && !answer.is_collecting();
        let resource = answer.resource.as_ref().filter(|_| answer.is_limit());
        let subject = resource.and_then(|resource| resource.subject.clone()).unwrap_or(Subject::Host);
        (open || resource.is_some()).then(|| (answer.verdict, resource.map(|resource| resource.kind), subject))
    };
    let (old, new) = (of(before), of(after));
    if old == new {
        return Vec::new();
    }
    let At { sample, wall_ns, mono_ns } = at;
    let title: Arc<str> = after.headline().into();
    let change = |came, (_, _, subject)| {
        let (rule, title) = (LIMIT.into(), Arc::clone(&title));
        Change { sample, wall_ns, mono_ns, came, rule, subject, severity: Severity::Info, title }
    };
    let went = old.map(|limit| change(false, limit));
    went.into_iter().chain(new.map(|limit| change(true, limit))).collect()
}

/// The findings of only the first, and of only the second judgement.
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
    use crate::bottleneck::{Bottleneck, Confidence, Outcome, Resource, ResourceKind};
    use crate::judge::Judgement;
    use crate::locale::Text;
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
    fn openings_and_clearings_are_changes_and_grouping_is_not() {
        let (mut caused, alone) = (judged(&["NIC-01"]), judged(&["IRQ-01"]));
        caused.findings[0].children = alone.findings.clone();
        let changed = |before: &Judgement, after: &Judgement| -> Vec<(String, bool)> {
            let changes = changes(before, after, At::default());
            changes.into_iter().map(|change| (change.rule.to_string(), change.came)).collect()
        };
        assert_eq!(changed(&judged(&[]), &alone), [("IRQ-01".to_owned(), true)]);
        assert_eq!(changed(&alone, &caused), [("NIC-01".to_owned(), true)]);
        assert_eq!(changed(&caused, &judged(&["IO-01"])).len(), 3);
        assert_eq!(changed(&caused, &caused), []);
    }

    #[test]
    fn a_limit_that_is_reached_or_left_is_a_change() {
        let answer = |cpu: Option<u32>| {
            let resource = cpu.map(|cpu| {
                let resource = Resource::unknown(ResourceKind::Core, Text::EMPTY);
                Resource { subject: Some(Subject::Cpu(cpu)), ..resource }
            });
            let verdict = if resource.is_some() { Outcome::Limited } else { Outcome::NotSaturated };
            let confidence = Confidence::High;
            let bottleneck = Bottleneck { verdict, resource, confidence, samples: 20, ..Bottleneck::default() };
            Judgement { bottleneck, ..Judgement::default() }
        };
        let texts = |before, after| -> Vec<(bool, String)> {
            let all = changes(&answer(before), &answer(after), At::default());
            all.into_iter().map(|change| (change.came, change.text())).collect()
        };
        assert_eq!(texts(None, None), []);
        assert_eq!(texts(Some(3), Some(3)), []);
        assert_eq!(texts(None, Some(3)), [(true, "limited by CPU 3".to_owned())]);
        assert_eq!(texts(Some(3), None), [(false, "nothing at its limit".to_owned())]);
        assert_eq!(texts(Some(3), Some(4)).len(), 2);
        let open = |samples| Bottleneck { samples, ..Bottleneck::default() };
        let open = |samples| Judgement { bottleneck: open(samples), ..Judgement::default() };
        assert_eq!(changes(&answer(None), &open(20), At::default()).len(), 1, "nobody can tell any more");
        assert_eq!(changes(&open(20), &answer(None), At::default()).len(), 1, "somebody can again");
        assert_eq!(changes(&open(0), &open(5), At::default()), [], "collecting is no answer");
    }

    #[test]
    fn jumps_go_from_sample_to_sample() {
        let timeline = Timeline::of(vec![change(9, 1, false), change(5, 1, true), change(9, 2, true)]);
        let (place, at) = timeline.around(0, true).expect("one");
        assert_eq!(timeline.summary(place, at), "change 1 of 3: CPU-03 opened: cpu 1");
        let (place, at) = timeline.around(5, true).expect("one");
        assert_eq!(timeline.summary(place, at), "change 2 of 3: CPU-03 cleared: cpu 1, and 1 more");
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
                        prop_assert!(!changes.is_empty() && !timeline.summary(place, changes).is_empty());
                    }
                }
            }
            let mut long = timeline.clone();
            long.extend((100..6000).map(|sample| change(sample, 0, true)));
            prop_assert_eq!(long.changes().len(), MAX_CHANGES);
        }
    }
}
