//! The samples that `topotop check` took in a guest, and what they have to show.

use crate::scenario::{Expected, Finding, Outcome, holds};
use serde_json::Value;

/// Samples with rates within which a finding has to appear.
const WITHIN: usize = 12;

/// The documents of `topotop check --format jsonl`; the first has no rates yet.
#[derive(Debug, Default)]
pub(crate) struct Samples(Vec<Value>);

/// A finding: the sample in which it first was a warning or worse, its last state, and all in which it was.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    pub(crate) after: usize,
    last: &'a Value,
    all: Vec<&'a Value>,
}

fn is_warning(finding: &Value) -> bool {
    ["warning", "critical"].iter().any(|severity| finding["severity"] == *severity)
}

fn findings(sample: &Value) -> impl Iterator<Item = &Value> {
    sample["findings"].as_array().into_iter().flatten()
}

/// Whether a finding groups that of a rule.
fn groups(finding: &Value, rule: &str) -> bool {
    finding["children"].as_array().into_iter().flatten().any(|child| *child == rule || child["rule"] == rule)
}

fn evidence<'a>(finding: &'a Value, name: &str) -> Option<&'a Value> {
    finding["evidence"].as_array()?.iter().find(|row| row["name"] == name).map(|row| &row["value"])
}

impl Samples {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let samples: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
        Ok(Self(samples.map_err(|error| format!("not JSON: {error}"))?))
    }

    /// Whether they show what they have to.
    pub(crate) fn judge(&self, expected: &Expected) -> Outcome {
        match expected {
            Expected::Quiet => self.quiet(),
            Expected::Finding(finding) => self.show(finding),
            Expected::Check(check) => check(self),
            Expected::Nothing => Ok(String::new()),
        }
    }

    /// That they have a finding, its evidence, and no warning that does not belong to it.
    pub(crate) fn show(&self, wanted: &Finding) -> Outcome {
        let found = self.found(wanted.rule, wanted.subject)?;
        found.have(wanted.numbers)?;
        for (name, part) in wanted.texts {
            let text = found.text(name)?;
            holds(text.contains(part), format!("{name} is {text:?}, without {part:?}"))?;
        }
        for rule in wanted.groups {
            holds(found.groups(rule), format!("{} does not group {rule}", wanted.rule))?;
        }
        let mut rules = vec![wanted.rule];
        rules.extend(wanted.groups);
        rules.extend(wanted.beside);
        self.only(&rules)?;
        Ok(format!("{} after {} samples", wanted.rule, found.after))
    }

    /// The finding of a rule about a subject that begins so.
    pub(crate) fn found(&self, rule: &str, subject: &str) -> Result<Found<'_>, String> {
        self.found_within(rule, subject, WITHIN)
    }

    pub(crate) fn found_within(&self, rule: &str, subject: &str, within: usize) -> Result<Found<'_>, String> {
        let is = |finding: &&Value| {
            finding["rule"] == rule
                && is_warning(finding)
                && finding["subject"].as_str().is_some_and(|text| text.starts_with(subject))
        };
        let all: Vec<(usize, &Value)> =
            self.0.iter().enumerate().filter_map(|(at, sample)| Some((at, findings(sample).find(is)?))).collect();
        let (Some((after, _)), Some((_, last))) = (all.first(), all.last()) else {
            return Err(format!("no {rule} about {subject}…{}", self.state_of(rule)));
        };
        holds(*after <= within, format!("{rule} came after {after} samples, not within {within}"))?;
        Ok(Found { after: *after, last, all: all.iter().map(|(_, finding)| *finding).collect() })
    }

    /// Checks that a rule is reported, alone or within another finding.
    pub(crate) fn reports(&self, rule: &str) -> Result<(), String> {
        let is = |finding: &Value| finding["rule"] == rule || groups(finding, rule);
        holds(self.0.iter().flat_map(findings).any(is), format!("no {rule}{}", self.state_of(rule)))
    }

    /// A number of a finding in each sample that has it, at any severity.
    pub(crate) fn series(&self, rule: &str, subject: &str, name: &str) -> Vec<(usize, f64)> {
        let number = |sample: &Value| {
            let finding = findings(sample).find(|finding| finding["rule"] == rule && finding["subject"] == subject)?;
            let row = finding["evidence"].as_array()?.iter().find(|row| row["name"] == name)?;
            row["value"].as_f64()
        };
        self.0.iter().enumerate().filter_map(|(at, sample)| Some((at, number(sample)?))).collect()
    }

    /// When a sample was taken, in seconds since the first.
    pub(crate) fn seconds(&self, at: usize) -> Result<f64, String> {
        let intervals = self.0.iter().skip(1).take(at).map(|sample| sample["interval_seconds"].as_f64());
        intervals.sum::<Option<f64>>().ok_or_else(|| "a sample has no interval".to_owned())
    }

    /// No warning but of these rules.
    pub(crate) fn only(&self, rules: &[&str]) -> Outcome {
        for (at, sample) in self.0.iter().enumerate() {
            let other = |finding: &&Value| is_warning(finding) && !rules.iter().any(|rule| finding["rule"] == *rule);
            if let Some(other) = findings(sample).find(other) {
                return Err(format!("sample {at}: {} {}", other["rule"], other["title"]));
            }
        }
        let rates = self.0.len().saturating_sub(1);
        holds(rates >= WITHIN, format!("only {rates} samples with rates came"))?;
        Ok(format!("no warning in {rates} samples"))
    }

    /// No warning.
    pub(crate) fn quiet(&self) -> Outcome {
        self.only(&[])
    }

    /// How a rule stood at the end, for a message.
    fn state_of(&self, id: &str) -> String {
        let rows = self.0.last().and_then(|sample| sample["rules"].as_array()).into_iter().flatten();
        let row =
            rows.filter(|row| row["rule"] == id).map(|row| format!("; {}: {} {}", id, row["state"], row["reason"]));
        row.collect()
    }

    /// Every finding of the last sample in a line each.
    pub(crate) fn last_findings(&self) -> Vec<String> {
        let line = |finding: &Value| {
            let evidence = finding["evidence"].as_array().into_iter().flatten();
            let evidence: Vec<String> = evidence.map(|row| format!("{}={}", row["name"], row["value"])).collect();
            let [severity, rule, title, children] = ["severity", "rule", "title", "children"].map(|key| &finding[key]);
            format!("{severity} {rule} {title} groups {children} [{}]", evidence.join(" "))
        };
        self.0.last().into_iter().flat_map(findings).map(line).collect()
    }
}

impl Found<'_> {
    /// That in one sample its numbers are within these ranges: a load may pause while a finding stays open.
    fn have(&self, ranges: &[(&str, f64, f64)]) -> Result<(), String> {
        let fits = |finding: &Value| {
            let number = |name| evidence(finding, name).and_then(Value::as_f64);
            ranges.iter().all(|(name, least, most)| number(name).is_some_and(|is| (*least..=*most).contains(&is)))
        };
        if self.all.iter().any(|finding| fits(finding)) {
            return Ok(());
        }
        for (name, least, most) in ranges {
            let number = self.number(name)?;
            holds((*least..=*most).contains(&number), format!("{name} is {number}, not {least} to {most}"))?;
        }
        Err(format!("{} never has all its numbers at once", self.last["rule"]))
    }

    /// A number of its evidence.
    pub(crate) fn number(&self, name: &str) -> Result<f64, String> {
        self.evidence(name)?.as_f64().ok_or_else(|| format!("{name} is no number"))
    }

    /// A text of its evidence.
    pub(crate) fn text(&self, name: &str) -> Result<String, String> {
        Ok(self.evidence(name)?.as_str().ok_or_else(|| format!("{name} is no text"))?.to_owned())
    }

    fn evidence(&self, name: &str) -> Result<&Value, String> {
        evidence(self.last, name).ok_or_else(|| format!("{} has no evidence {name}", self.last["rule"]))
    }

    /// Whether it groups the finding of a rule.
    fn groups(&self, rule: &str) -> bool {
        groups(self.last, rule)
    }
}
