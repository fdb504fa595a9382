//! What `check` says.

use super::numbers;
use super::watch::Seen;
use crate::export::json::Findings;
use crate::units;
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, Write};
use topotop_model::bottleneck::{Resources, SAMPLES, exclusions, sentence};
use topotop_model::document;
use topotop_model::fix::Offered;
use topotop_model::judge::{Judgement, Standing, Undecided};
use topotop_model::locale::check as text;
use topotop_model::locale::pair;
use topotop_model::locale::screen::findings as states;
use topotop_model::rules::{Finding, Rule, Severity, Subject, Unchecked, report};
use topotop_model::text::{padded, printable};

/// Rules that could not look, with what at, and those that the time was too short for.
pub(super) fn not_checked(seen: &Seen) -> impl Iterator<Item = (&'static Rule, &[Unchecked])> {
    seen.last.rules.iter().filter_map(|(rule, standing)| match standing {
        Standing::NotChecked(unchecked) => Some((*rule, unchecked.as_slice())),
        Standing::Quiet | Standing::Firing => None,
    })
}

/// Over several recordings of one test, the machine that limits: a line of JSON.
pub(super) fn limiting(machine: Option<&Seen>, out: &mut impl Write) -> io::Result<()> {
    let machine =
        machine.map(|seen| Limiting { recording: printable(&seen.name).into_owned(), bottleneck: bottleneck(seen) });
    serde_json::to_writer(&mut *out, &LimitingMachine { bottleneck: machine })?;
    out.write_all(b"\n")
}

/// The same for people.
pub(super) fn limiting_text(machine: Option<&Seen>, out: &mut impl Write) -> io::Result<()> {
    match machine {
        None => writeln!(out, "\n{}", text::NO_BOTTLENECK_ANYWHERE),
        Some(seen) => {
            let line = text::BottleneckOf { machine: &seen.name, bottleneck: &seen.tally.last().line() }.to_string();
            writeln!(out, "\n{}", printable(&line))
        }
    }
}

fn bottleneck(seen: &Seen) -> document::Bottleneck {
    let last = seen.tally.last();
    document::bottleneck(last, last.since.map(|since| units::rfc3339(since.wall_ns)), seen.waiting.clone())
}

/// The answer in one line; what the load waits for if nothing limits; that the time was too short for it; what was the answer before.
fn answer(seen: &Seen, out: &mut impl Write) -> io::Result<()> {
    let last = seen.tally.last();
    writeln!(out, "{}", printable(&last.line()))?;
    if let Some(waiting) = &seen.waiting {
        writeln!(out, "  {}", waiting.shown())?;
    }
    if seen.is_too_short() {
        let time = format!("{}s", seen.time_for(SAMPLES));
        let (samples, needed) = (&last.samples, &SAMPLES);
        writeln!(out, "{}", text::TooShort { samples, needed, time: &time })?;
    }
    let undecided: Vec<&Undecided> = seen.undecided(Severity::Info).collect();
    // A time too short for the answer is reported above.
    if let Some(needed) = undecided.iter().map(|row| row.needed).max().filter(|_| !seen.is_too_short()) {
        let rules: Vec<&str> = undecided.iter().map(|row| row.rule.id.as_str()).collect();
        let (rules, time) = (rules.join(", "), format!("{}s", seen.time_for(needed)));
        writeln!(out, "{}", text::TooShortForRules { rules: &rules, time: &time })?;
    }
    let answers = seen.tally.answers();
    let all: u64 = answers.iter().map(|(_, count)| count).sum();
    let others = answers.iter().filter(|(other, count)| !other.is_same(last) && count * 10 >= all);
    for (other, count) in others {
        let line = text::Earlier { count, samples: &all, answer: &other.headline() }.to_string();
        writeln!(out, "  {}", printable(&line))?;
    }
    Ok(())
}

/// The resources.
fn resources(resources: &Resources, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\n{}", text::RESOURCES)?;
    for resource in resources.iter() {
        let about = [resource.owner(), resource.figure(), resource.note.to_string()];
        let about: Vec<&str> = about.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
        let (label, verdict) = (resource.kind.label(), resource.state());
        let (label, verdict) = (padded(&label, 16), padded(&verdict, 13));
        writeln!(out, "  {label} {verdict} {}", printable(&about.join("  ")))?;
    }
    Ok(())
}

/// Why something was not checked, and what would let it.
pub(crate) fn unchecked_text(row: &Unchecked) -> String {
    let (subject, reason, needs) = (&row.subject, &row.shown_reason(), &row.shown_needs());
    match (row.subject == Subject::Host, row.needs.is_empty()) {
        (true, true) => reason.to_string(),
        (true, false) => text::Unchecked { reason, needs }.to_string(),
        (false, true) => text::UncheckedOf { subject, reason }.to_string(),
        (false, false) => text::UncheckedOfNeeds { subject, reason, needs }.to_string(),
    }
}

/// The first thing to do, and how.
fn fix(fixes: &[Offered], out: &mut impl Write) -> io::Result<()> {
    let Some(first) = fixes.first() else { return Ok(()) };
    let line = text::Fix { line: &printable(first.line()), id: &first.fix, risk: &first.risk.label() };
    writeln!(out, "  {line}")?;
    if first.executable {
        writeln!(out, "       topotop fix apply {}", first.id)?;
    }
    match fixes.len() - 1 {
        0 => Ok(()),
        more => writeln!(out, "       {}", text::MoreFixes { count: more as u64 }),
    }
}

/// For people.
pub(super) fn people(seen: &Seen, out: &mut impl Write) -> io::Result<()> {
    if !seen.name.is_empty() {
        writeln!(out, "== {} ==", printable(&seen.name))?;
    }
    let measured = seen.tally.resources();
    answer(seen, out)?;
    for number in &seen.numbers {
        writeln!(out, "{}", pair(printable(&number.name), number.text()))?;
    }
    let samples = seen.samples;
    let time = units::span(seen.seconds.round() as u64);
    let (time, count) = (&time as &dyn Display, samples);
    let samples: &dyn Display = &samples;
    match (seen.findings.len() as u64, seen.complete) {
        (0, true) => writeln!(out, "{}", text::None { time, count })?,
        (0, false) => writeln!(out, "{}", text::NoneCut { time, count })?,
        (count, true) => writeln!(out, "{}", text::Findings { count, time, samples })?,
        (count, false) => writeln!(out, "{}", text::FindingsCut { count, time, samples })?,
    }
    let mut findings: Vec<&Finding> = seen.findings.iter().collect();
    // The finding that explains the answer, then the worst.
    let explaining = |finding: &Finding| {
        let about = seen.tally.last().finding.as_ref();
        about.is_some_and(|(rule, subject)| *rule == finding.rule.id && *subject == finding.subject)
    };
    findings.sort_by_key(|finding| std::cmp::Reverse((explaining(finding), finding.severity)));
    for finding in findings {
        let since =
            format!("{} {}", units::time_of_day(finding.since.wall_ns), units::zone_name(finding.since.wall_ns));
        let beside = sentence(&exclusions(finding, measured));
        write!(out, "\n{}", report::in_full_beside(finding, &since, &beside))?;
        fix(seen.fixes(finding), out)?;
    }
    resources(measured, out)?;
    let mut rows = not_checked(seen).peekable();
    if rows.peek().is_some() {
        writeln!(out, "\n{}", text::NOT_CHECKED)?;
    }
    for (rule, unchecked) in rows {
        for row in unchecked {
            writeln!(out, "  {:<8} {}", rule.id, printable(&unchecked_text(row)))?;
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
    #[serde(skip_serializing_if = "Option::is_none")]
    recording: Option<String>,
    samples: u64,
    complete: bool,
    worst: Option<&'static str>,
    bottleneck: document::Bottleneck,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    metrics: Vec<numbers::Summary>,
    not_checked: Vec<&'static str>,
    findings: Vec<String>,
}

/// The machine that limits over several recordings.
#[derive(Serialize)]
struct LimitingMachine {
    bottleneck: Option<Limiting>,
}

#[derive(Serialize)]
struct Limiting {
    recording: String,
    #[serde(flatten)]
    bottleneck: document::Bottleneck,
}

/// The summary, and with `whole` the findings and how the rules stand.
pub(super) fn summary(seen: &Seen, whole: bool, out: &mut impl Write) -> io::Result<()> {
    let name = |finding: &Finding| printable(&format!("{}/{}", finding.rule.id, finding.subject)).into_owned();
    let resources = seen.tally.resources();
    let summary = Summary {
        recording: (!seen.name.is_empty()).then(|| printable(&seen.name).into_owned()),
        samples: seen.samples,
        complete: seen.complete,
        worst: seen.worst().map(Severity::name),
        bottleneck: bottleneck(seen),
        metrics: seen.numbers.iter().map(numbers::Number::summary).collect(),
        not_checked: not_checked(seen).map(|(rule, _)| rule.id.as_str()).collect(),
        findings: seen.findings.iter().map(name).collect(),
    };
    let all = whole.then(|| {
        let found = seen.findings.iter().map(|finding| (finding, seen.fixes(finding)));
        Findings::of(found, &seen.last, resources)
    });
    serde_json::to_writer(&mut *out, &Line { summary, whole: all.as_ref() })?;
    out.write_all(b"\n")
}

/// How every rule stands, a line each.
pub(super) fn standings(judgement: &Judgement, out: &mut impl Write) {
    for (rule, standing) in &judgement.rules {
        let state = match standing {
            Standing::Quiet => states::QUIET,
            Standing::Firing => states::FIRING,
            Standing::NotChecked(_) => states::NOT_CHECKED,
        };
        // Where standard error is gone there is nobody to tell.
        let _ = writeln!(out, "topotop: {:<8} {state}", rule.id);
    }
}
