//! What `check` says.

use super::Seen;
use crate::export::json::Findings;
use crate::units;
use serde::Serialize;
use std::io::{self, Write};
use topotop_model::judge::{Judgement, Standing};
use topotop_model::rules::{Finding, Rule, Severity, Subject, Unchecked, told};
use topotop_model::text::printable;

/// Rules that could not look, with what at.
pub(super) fn not_checked(judgement: &Judgement) -> impl Iterator<Item = (&'static Rule, &[Unchecked])> {
    judgement.rules.iter().filter_map(|(rule, standing)| match standing {
        Standing::NotChecked(unchecked) => Some((*rule, unchecked.as_slice())),
        _ => None,
    })
}

/// For people.
pub(super) fn text(seen: &Seen, out: &mut impl Write) -> io::Result<()> {
    let samples = seen.samples;
    let time = units::span(seen.seconds.round() as u64);
    let cut = if seen.complete { "" } else { ", cut short" };
    match seen.findings.len() {
        0 => writeln!(out, "no findings in {time} ({samples} samples{cut})")?,
        1 => writeln!(out, "1 finding in {time} ({samples} samples{cut})")?,
        count => writeln!(out, "{count} findings in {time} ({samples} samples{cut})")?,
    }
    let mut findings: Vec<&Finding> = seen.findings.iter().collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    for finding in findings {
        let since = format!("{} UTC", units::time_of_day(finding.since.wall_ns));
        write!(out, "\n{}", told::in_full(finding, &since))?;
    }
    let mut rows = not_checked(&seen.last).peekable();
    if rows.peek().is_some() {
        writeln!(out, "\nnot checked:")?;
    }
    for (rule, unchecked) in rows {
        for row in unchecked {
            let about = if row.subject == Subject::Host { String::new() } else { format!("{}: ", row.subject) };
            let needs = if row.needs.is_empty() { String::new() } else { format!("; needs {}", row.needs) };
            let line = format!("{about}{}{needs}", row.reason);
            writeln!(out, "  {:<8} {}", rule.id, printable(&line))?;
        }
    }
    Ok(())
}

/// For programs: one line at the end.
#[derive(Serialize)]
struct Line<'a> {
    summary: Summary,
    #[serde(flatten)]
    whole: Option<&'a Findings>,
}

#[derive(Serialize)]
struct Summary {
    samples: u64,
    complete: bool,
    worst: Option<&'static str>,
    not_checked: Vec<&'static str>,
    findings: Vec<String>,
}

/// The summary, and with `whole` the findings and how the rules stand.
pub(super) fn summary(seen: &Seen, whole: bool, out: &mut impl Write) -> io::Result<()> {
    let name = |finding: &Finding| printable(&format!("{}/{}", finding.rule.id, finding.subject)).into_owned();
    let summary = Summary {
        samples: seen.samples,
        complete: seen.complete,
        worst: seen.worst().map(Severity::name),
        not_checked: not_checked(&seen.last).map(|(rule, _)| rule.id).collect(),
        findings: seen.findings.iter().map(name).collect(),
    };
    let all = whole.then(|| Findings::of(&seen.findings, &seen.last));
    serde_json::to_writer(&mut *out, &Line { summary, whole: all.as_ref() })?;
    out.write_all(b"\n")
}

/// How every rule stands, a line each.
pub(super) fn standings(judgement: &Judgement, out: &mut impl Write) {
    for (rule, standing) in &judgement.rules {
        let state = match standing {
            Standing::Quiet => "quiet",
            Standing::Firing => "firing",
            Standing::NotChecked(_) => "not checked",
        };
        // Where standard error is gone there is nobody to tell.
        let _ = writeln!(out, "topotop: {:<8} {state}", rule.id);
    }
}
