//! What `topotop check` said in a guest, and how it is asked for something.

use serde_json::Value;
use std::collections::BTreeMap;

/// Whether what was seen is what had to be; else why not.
pub(crate) type Outcome = Result<String, String>;

/// What a scenario sent, by kind: a text each.
pub(crate) type Parts = BTreeMap<String, String>;

/// The samples of `topotop check --format jsonl`, a document each; the first has no rates yet.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) samples: Vec<Value>,
}

/// A finding where it was first told at warning or worse, as it was last.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    /// Samples with rates until it was told.
    pub(crate) after: usize,
    last: &'a Value,
}

fn severe(finding: &Value) -> bool {
    ["warning", "critical"].iter().any(|severity| finding["severity"] == *severity)
}

fn findings(sample: &Value) -> impl Iterator<Item = &Value> {
    sample["findings"].as_array().into_iter().flatten()
}

impl Seen {
    /// From the lines that were written.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let samples: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
        Ok(Self { samples: samples.map_err(|error| format!("not JSON: {error}"))? })
    }

    /// The finding of a rule about a subject that begins so; it has to come within twelve samples with rates.
    pub(crate) fn found(&self, rule: &str, subject: &str) -> Result<Found<'_>, String> {
        self.found_within(rule, subject, 12)
    }

    pub(crate) fn found_within(&self, rule: &str, subject: &str, within: usize) -> Result<Found<'_>, String> {
        let is = |finding: &&Value| {
            finding["rule"] == rule
                && severe(finding)
                && finding["subject"].as_str().is_some_and(|text| text.starts_with(subject))
        };
        let told: Vec<(usize, &Value)> =
            self.samples.iter().enumerate().filter_map(|(at, sample)| Some((at, findings(sample).find(is)?))).collect();
        let (Some((after, _)), Some((_, last))) = (told.first(), told.last()) else {
            return Err(format!("no {rule} about {subject}…{}", self.rule(rule)));
        };
        if *after > within {
            return Err(format!("{rule} came after {after} samples, not within {within}"));
        }
        Ok(Found { after: *after, last })
    }

    /// A number of a finding in each sample that has it, at any severity.
    pub(crate) fn series(&self, rule: &str, subject: &str, name: &str) -> Vec<(usize, f64)> {
        let number = |sample: &Value| {
            let finding = findings(sample).find(|finding| finding["rule"] == rule && finding["subject"] == subject)?;
            let row = finding["evidence"].as_array()?.iter().find(|row| row["name"] == name)?;
            row["value"].as_f64()
        };
        self.samples.iter().enumerate().filter_map(|(at, sample)| Some((at, number(sample)?))).collect()
    }

    /// When a sample was taken, in seconds since the first.
    pub(crate) fn seconds(&self, at: usize) -> Result<f64, String> {
        let intervals = self.samples.iter().skip(1).take(at).map(|sample| sample["interval_seconds"].as_f64());
        intervals.sum::<Option<f64>>().ok_or_else(|| "a sample has no interval".to_owned())
    }

    /// Nothing at warning or worse but what these rules say.
    pub(crate) fn only(&self, rules: &[&str]) -> Outcome {
        for (at, sample) in self.samples.iter().enumerate() {
            let other = |finding: &&Value| severe(finding) && !rules.iter().any(|rule| finding["rule"] == *rule);
            if let Some(other) = findings(sample).find(other) {
                return Err(format!("sample {at}: {} {}", other["rule"], other["title"]));
            }
        }
        let rates = self.samples.len().saturating_sub(1);
        holds(rates >= 12, format!("only {rates} samples came"))?;
        Ok(format!("quiet for {rates} samples"))
    }

    /// Nothing at warning or worse.
    pub(crate) fn quiet(&self) -> Outcome {
        self.only(&[])
    }

    /// How a rule stood at the end, for a message.
    fn rule(&self, id: &str) -> String {
        let rows = self.samples.last().and_then(|sample| sample["rules"].as_array()).into_iter().flatten();
        let row =
            rows.filter(|row| row["rule"] == id).map(|row| format!("; {}: {} {}", id, row["state"], row["reason"]));
        row.collect()
    }

    /// Every finding of the last sample in a line each.
    pub(crate) fn last(&self) -> Vec<String> {
        let line = |finding: &Value| {
            let evidence = finding["evidence"].as_array().into_iter().flatten();
            let evidence: Vec<String> = evidence.map(|row| format!("{}={}", row["name"], row["value"])).collect();
            format!(
                "{} {} {} under it {} [{}]",
                finding["severity"],
                finding["rule"],
                finding["title"],
                finding["children"],
                evidence.join(" ")
            )
        };
        self.samples.last().into_iter().flat_map(findings).map(line).collect()
    }
}

impl Found<'_> {
    /// A number that it rests on.
    pub(crate) fn number(&self, name: &str) -> Result<f64, String> {
        self.evidence(name)?.as_f64().ok_or_else(|| format!("{name} is no number"))
    }

    /// A text that it rests on.
    pub(crate) fn text(&self, name: &str) -> Result<String, String> {
        Ok(self.evidence(name)?.as_str().ok_or_else(|| format!("{name} is no text"))?.to_owned())
    }

    fn evidence(&self, name: &str) -> Result<&Value, String> {
        let rows = self.last["evidence"].as_array().into_iter().flatten();
        let row = rows.into_iter().find(|row| row["name"] == name);
        Ok(&row.ok_or_else(|| format!("{} shows no {name}", self.last["rule"]))?["value"])
    }

    /// Whether the finding of a rule is told under it.
    pub(crate) fn has_under(&self, rule: &str) -> bool {
        self.last["children"].as_array().into_iter().flatten().any(|child| *child == rule || child["rule"] == rule)
    }

    /// Its line.
    pub(crate) fn title(&self) -> &str {
        self.last["title"].as_str().unwrap_or_default()
    }
}

/// An error that says so where something does not hold.
pub(crate) fn holds(what: bool, why: impl Into<String>) -> Result<(), String> {
    if what { Ok(()) } else { Err(why.into()) }
}

/// How an error begins that is about what was measured: how much an emulated machine gets of its host is nobody's fault.
pub(crate) const MEASURED: &str = "measured: ";

/// The same about what was measured.
pub(crate) fn measured(what: bool, why: impl Into<String>) -> Result<(), String> {
    holds(what, format!("{MEASURED}{}", why.into()))
}

/// That a verdict says improved. One that says worse, or none at all, is no matter of the host.
pub(crate) fn improved(state: &str, said: &str) -> Result<(), String> {
    holds(
        state.starts_with("applied") && !state.starts_with("applied worse"),
        format!("the journal says {state}: {said}"),
    )?;
    measured(state.starts_with("applied improved"), format!("the journal says {state}: {said}"))
}
