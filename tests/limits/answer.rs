//! What `check` answers beside the load, and whether that is right.

use crate::Options;
use crate::scenario::Scenario;
use regex_lite::Regex;
use serde_json::Value;
use std::fs::File;
use std::process::{Child, Command, Stdio};

/// How an answer compares with the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It names the limit, or says that nothing limits where nothing does.
    Hit,
    /// It says that it cannot know.
    Inconclusive,
    /// It says that nothing limits, or names no resource.
    Miss,
    /// It names what does not limit.
    FalseClaim,
}

impl Outcome {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Inconclusive => "inconclusive",
            Self::Miss => "miss",
            Self::FalseClaim => "false claim",
        }
    }
}

/// The headline of one sample or of the summary.
#[derive(Clone, Debug, Default)]
pub(crate) struct Headline {
    pub(crate) verdict: String,
    pub(crate) resource: String,
    pub(crate) subject: String,
    pub(crate) name: String,
    unknown: String,
    confidence: String,
    /// What the load waits for.
    waits: String,
}

/// What a run of `check` said.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) headline: Headline,
    pub(crate) outcome: Outcome,
    /// The first sample from which on the headline was right until the end.
    pub(crate) right_from: Option<usize>,
    /// How often it changed.
    pub(crate) changes: usize,
}

/// Starts `check`, its output in a file.
pub(crate) fn start(options: &Options, output: File) -> Result<Child, String> {
    let arguments = ["check", "--for", "15s", "--format", "jsonl", "--interval", "1s"];
    Command::new(&options.binary)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{}: {error}", options.binary.display()))
}

/// The sample by which an answer has to be right.
const LATEST: usize = 12;

/// Judges what it printed.
pub(crate) fn judge(scenario: &Scenario, text: &str) -> Result<Answer, String> {
    let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let summary = lines.last().and_then(|line| line.get("summary")).ok_or("check printed no summary")?;
    let headline = Headline::of(summary.get("bottleneck").unwrap_or(&Value::Null));
    let samples: Vec<Headline> = lines.iter().filter_map(|line| line.get("bottleneck")).map(Headline::of).collect();
    let is_right = |one: &Headline| outcome(scenario, one) == Outcome::Hit;
    let wrong = samples.iter().rposition(|one| !is_right(one)).map_or(0, |at| at + 1);
    let key = |one: &Headline| (one.verdict.clone(), one.resource.clone(), one.subject.clone());
    let right_from = (wrong < samples.len()).then_some(wrong + 1);
    // An answer that comes late is none.
    let is_late = right_from.is_none_or(|from| from > LATEST);
    let outcome = match outcome(scenario, &headline) {
        Outcome::Hit if is_late => Outcome::Inconclusive,
        // That nothing limits is half an answer without what the load waits for.
        Outcome::Hit if !headline.says_waits(scenario) => Outcome::Miss,
        outcome => outcome,
    };
    Ok(Answer {
        outcome,
        right_from,
        changes: samples.windows(2).filter(|pair| key(&pair[0]) != key(&pair[1])).count(),
        headline,
    })
}

impl Headline {
    fn of(value: &Value) -> Self {
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let unknown = value.get("unknown").and_then(Value::as_array).map(|all| {
            all.iter()
                .map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned))
                .collect::<Vec<_>>()
                .join(", ")
        });
        Self {
            verdict: text("verdict"),
            resource: text("resource"),
            subject: text("subject"),
            name: text("name"),
            unknown: unknown.unwrap_or_default(),
            confidence: text("confidence"),
            waits: value.pointer("/waiting/sentence").and_then(Value::as_str).unwrap_or_default().to_owned(),
        }
    }

    /// True where it says what the load waits for, if it has to.
    fn says_waits(&self, scenario: &Scenario) -> bool {
        let due = scenario.answer.waits.as_ref().filter(|_| !matches!(self.verdict.as_str(), "limited" | "imbalance"));
        due.is_none_or(|due| Regex::new(due).is_ok_and(|regex| regex.is_match(&self.waits)))
    }

    /// In a few words.
    pub(crate) fn words(&self) -> String {
        let parts =
            [&self.verdict, &self.resource, &self.name, &self.subject, &self.unknown, &self.confidence, &self.waits];
        let words: Vec<&str> = parts.into_iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        if words.is_empty() { "no answer".to_owned() } else { words.join(" · ") }
    }
}

/// Compares a headline with the due one.
fn outcome(scenario: &Scenario, headline: &Headline) -> Outcome {
    let due = &scenario.answer;
    let fits = |pattern: Option<&String>, text: &str| {
        pattern.is_none_or(|pattern| Regex::new(pattern).is_ok_and(|regex| regex.is_match(text)))
    };
    let names = matches!(headline.verdict.as_str(), "limited" | "imbalance");
    let is_due = due.verdict.contains(&headline.verdict)
        && (!names
            || due.resource.contains(&headline.resource)
                && fits(due.subject.as_ref(), &headline.subject)
                && fits(due.name.as_ref(), &headline.name));
    match headline.verdict.as_str() {
        _ if is_due => Outcome::Hit,
        "inconclusive" => Outcome::Inconclusive,
        _ if names => Outcome::FalseClaim,
        _ => Outcome::Miss,
    }
}
