//! Findings in a recording: what was judged while it was written.

use super::{Event, What};
use crate::Stamp;
use crate::judge::timeline::At;
use crate::judge::{self, Basis, Change, Judgement, Timeline};
use crate::rules::{self, Evidence, Figure, Finding, Severity, Subject};
use serde::{Deserialize, Serialize};

/// The most characters of its texts together.
const MAX_TEXT: usize = 2048;
/// The most pieces of evidence.
const MAX_EVIDENCE: usize = 32;

/// A finding when it came, or as it was last before it went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordedFinding {
    /// The rule's id.
    pub rule: String,
    /// What it is about, as scripts name it.
    pub subject: String,
    /// Its severity's name.
    pub severity: String,
    /// It in one line.
    pub title: String,
    /// The first sample that met the condition, in ns since 1970.
    pub since_ns: i64,
    /// How sure, 0 to 1.
    pub confidence: f64,
    /// Its numbers and texts; tables are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<RecordedEvidence>,
}

/// A piece of its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedEvidence {
    /// What it is.
    pub name: String,
    /// How much.
    pub value: Value,
    /// The number's unit.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// The file that it was read from.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
}

/// A number or a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}

impl RecordedFinding {
    /// A finding that came.
    pub fn of(finding: &Finding) -> Self {
        let evidence = finding.evidence.iter().filter_map(|evidence| {
            let value = match &evidence.value {
                Figure::Number(value) => Value::Number(*value),
                Figure::Text(text) => Value::Text(text.to_string()),
                Figure::Table(_) => return None,
            };
            let [name, unit, source] = [evidence.name, evidence.unit, evidence.source].map(str::to_owned);
            Some(RecordedEvidence { name, value, unit, source })
        });
        Self {
            rule: finding.rule.id.to_string(),
            subject: finding.subject.to_string(),
            severity: finding.severity.name().to_owned(),
            title: finding.title(),
            since_ns: finding.since.wall_ns,
            confidence: finding.confidence,
            evidence: evidence.collect(),
        }
    }

    /// With its texts cut to what the reader accepts, and without numbers that JSON does not have.
    #[must_use]
    pub fn bounded(&self) -> Self {
        let cut = |text: &str, most: usize| text.chars().take(most).collect::<String>();
        let mut room = MAX_TEXT;
        let mut fits = |text: &str| {
            let text = cut(text, room);
            room -= text.chars().count();
            text
        };
        let facts = self.evidence.iter().take(MAX_EVIDENCE).filter_map(|fact| {
            let value = match &fact.value {
                Value::Number(value) => Value::Number(Some(*value).filter(|value| value.is_finite())?),
                Value::Text(text) => Value::Text(fits(text)),
            };
            let [name, unit, source] = [&fact.name, &fact.unit, &fact.source].map(|text| fits(text));
            Some(RecordedEvidence { name, value, unit, source })
        });
        Self {
            evidence: facts.collect(),
            rule: cut(&self.rule, 64),
            subject: cut(&self.subject, MAX_TEXT),
            severity: cut(&self.severity, 64),
            title: cut(&self.title, MAX_TEXT),
            since_ns: self.since_ns,
            confidence: if self.confidence.is_finite() { self.confidence } else { 0.0 },
        }
    }

    fn severity(&self) -> Severity {
        let all = [Severity::Info, Severity::Warning, Severity::Critical];
        all.into_iter().find(|severity| severity.name() == self.severity).unwrap_or_default()
    }

    fn subject(&self) -> Subject {
        Subject::parse(&self.subject).unwrap_or(Subject::Host)
    }

    fn change(&self, came: bool, at: At) -> Change {
        Change {
            sample: at.sample,
            wall_ns: at.wall_ns,
            mono_ns: at.mono_ns,
            came,
            rule: self.rule.as_str().into(),
            subject: self.subject(),
            severity: self.severity(),
            title: self.title.as_str().into(),
        }
    }

    /// The finding, where there still is a rule of that name.
    pub fn finding(&self) -> Option<Finding> {
        let evidence = self.evidence.iter().filter_map(|fact| {
            let [name, unit, source] = [&fact.name, &fact.unit, &fact.source].map(|text| judge::save::word(text));
            let value = match &fact.value {
                Value::Number(value) => Figure::Number(*value),
                Value::Text(text) => Figure::Text(text.as_str().into()),
            };
            Some(Evidence { name: name?, value, unit: unit?, source: source? })
        });
        Some(Finding {
            rule: rules::find(&self.rule)?,
            subject: self.subject(),
            severity: self.severity(),
            confidence: self.confidence.clamp(0.0, 1.0),
            since: Stamp { wall_ns: self.since_ns, ..Stamp::default() },
            evidence: evidence.collect(),
            children: Vec::new(),
        })
    }
}

/// The events between two judgements: what went, then what came. All that is there where nothing was before.
pub fn finding_events(before: &Judgement, after: &Judgement, stamp: Stamp) -> Vec<Event> {
    crate::locale::in_english(|| english_events(before, after, stamp))
}

fn english_events(before: &Judgement, after: &Judgement, stamp: Stamp) -> Vec<Event> {
    let (went, came) = judge::timeline::difference(before, after);
    let went = went.into_iter().map(|finding| {
        What::FindingCleared(Box::new(RecordedFinding { evidence: Vec::new(), ..RecordedFinding::of(finding) }))
    });
    let came = came.into_iter().map(|finding| What::FindingOpened(Box::new(RecordedFinding::of(finding))));
    let event = |what| Event { wall_ns: stamp.wall_ns, mono_ns: stamp.mono_ns, what };
    went.chain(came).map(event).collect()
}

/// The findings of a recording, from its events.
#[derive(Clone, Debug, Default)]
pub struct RecordedFindings {
    /// By the number of the sample after it: came or went, and what.
    findings: Vec<(u64, bool, RecordedFinding)>,
    timeline: Timeline,
}

impl RecordedFindings {
    /// Of events with the numbers of the samples after them, oldest first.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a (u64, Event)>) -> Self {
        let (mut findings, mut changes) = (Vec::new(), Vec::new());
        for (sample, event) in events {
            let (came, finding) = match &event.what {
                What::FindingOpened(finding) => (true, finding),
                What::FindingCleared(finding) => (false, finding),
                _ => continue,
            };
            let at = At { sample: *sample, wall_ns: event.wall_ns, mono_ns: event.mono_ns };
            changes.push(finding.change(came, at));
            findings.push((*sample, came, (**finding).clone()));
        }
        Self { findings, timeline: Timeline::of(changes) }
    }

    /// True without any.
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    /// Findings that appeared and cleared.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// What was judged of a sample when it was recorded.
    pub fn at(&self, sample: u64) -> Judgement {
        let mut open: Vec<&RecordedFinding> = Vec::new();
        for (_, came, finding) in self.findings.iter().take_while(|finding| finding.0 <= sample) {
            open.retain(|other| (&other.rule, &other.subject) != (&finding.rule, &finding.subject));
            if *came {
                open.push(finding);
            }
        }
        let mut findings: Vec<Finding> = open.into_iter().filter_map(RecordedFinding::finding).collect();
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        Judgement { findings, basis: Basis::Noted, ..Judgement::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::{RecordedEvidence, RecordedFinding, RecordedFindings, Value, finding_events};
    use crate::Stamp;
    use crate::judge::{Basis, Judgement};
    use crate::recording::event::{Event, MAX_EVENT, What};
    use crate::rules::{self, Finding, Hit, Severity, Subject};
    use proptest::prelude::*;

    fn judged(cpus: &[u32]) -> Judgement {
        let finding = |&cpu| {
            let hit =
                Hit::new(Subject::Cpu(cpu), 0.8).number(crate::locale::evidence::BUSY, 0.97, "fraction", "/proc/stat");
            let hit = hit.text(crate::locale::evidence::NODE, "yes (7)", "/proc/PID/stat").number(
                crate::locale::evidence::CPU,
                f64::NAN,
                "",
                "",
            );
            Finding {
                rule: rules::find("CPU-03").expect("a rule"),
                subject: hit.subject,
                severity: Severity::Warning,
                confidence: 0.8,
                since: Stamp { wall_ns: 5, ..Stamp::default() },
                evidence: hit.evidence,
                children: Vec::new(),
            }
        };
        Judgement { findings: cpus.iter().map(finding).collect(), ..Judgement::default() }
    }

    #[test]
    fn findings_come_back_from_events() {
        let mut events: Vec<(u64, Event)> = Vec::new();
        let states = [judged(&[]), judged(&[0]), judged(&[0, 1]), judged(&[1])];
        for (at, pair) in states.windows(2).enumerate() {
            let sample = at as u64 * 10;
            for event in finding_events(&pair[0], &pair[1], Stamp { wall_ns: sample as i64, ..Stamp::default() }) {
                let what = What::parse(&event.what.encode()).expect("an event");
                events.push((sample, Event { what, ..event }));
            }
        }
        let recorded = RecordedFindings::of(&events);
        let at =
            |sample| recorded.at(sample).findings.iter().map(|finding| finding.subject.to_string()).collect::<Vec<_>>();
        assert_eq!(
            (at(0), at(9), at(10), at(25)),
            (vec!["cpu:0".into()], vec!["cpu:0".into()], vec!["cpu:0".into(), "cpu:1".into()], vec!["cpu:1".into()])
        );
        let first = &recorded.at(0).findings[0];
        assert_eq!(
            (
                first.number(crate::locale::evidence::BUSY),
                first.text(crate::locale::evidence::NODE),
                first.since.wall_ns
            ),
            (Some(0.97), "yes (7)", 5)
        );
        assert_eq!(recorded.at(0).basis, Basis::Noted);
        let changes: Vec<(u64, bool)> =
            recorded.timeline().changes().iter().map(|change| (change.sample, change.came)).collect();
        assert_eq!(changes, [(0, true), (10, true), (20, false)]);
    }

    #[test]
    fn rules_of_other_versions_are_on_the_timeline_only() {
        let what = What::parse(br#"{"kind":"finding_came","rule":"ZZZ-99","subject":"moon:1","new":{"a":[1]}}"#);
        let events = [(3, Event { wall_ns: 0, mono_ns: 0, what: what.expect("an event") })];
        let recorded = RecordedFindings::of(&events);
        assert_eq!((recorded.at(3).findings.len(), recorded.timeline().changes().len()), (0, 1));
    }

    proptest! {
        #[test]
        fn any_finding_fits(texts in prop::collection::vec("\\PC{0,900}|[\u{0}-\u{1f}]{0,3000}", 6), many in 0usize..60, value: f64) {
            let [rule, subject, title, name, text, source] = texts.try_into().expect("six");
            let fact = RecordedEvidence { name, value: Value::Text(text), unit: String::new(), source };
            let number = RecordedEvidence { value: Value::Number(value), ..fact.clone() };
            let evidence = [fact, number].into_iter().cycle().take(many).collect();
            let finding = RecordedFinding { rule, subject, title, confidence: value, evidence, ..RecordedFinding::default() };
            for what in [What::FindingOpened(Box::new(finding.clone())), What::FindingCleared(Box::new(finding))] {
                let bytes = what.encode();
                prop_assert!(bytes.len() <= MAX_EVENT);
                let back = What::parse(&bytes).ok_or_else(|| TestCaseError::fail("an event"))?;
                prop_assert!(!back.text().is_empty());
                let recorded = RecordedFindings::of(&[(1, Event { wall_ns: 0, mono_ns: 0, what: back })]);
                prop_assert_eq!(recorded.timeline().changes().len(), 1);
                let _ = recorded.at(1).findings.iter().map(Finding::title).count();
            }
        }
    }
}
