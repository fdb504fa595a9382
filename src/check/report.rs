//! What `check` says.

use super::watch::Seen;
use crate::export::json::{self, Findings};
use crate::units;
use serde::Serialize;
use std::io::{self, Write};
use topotop_model::fix::Offered;
use topotop_model::judge::{Judgement, Standing};
use topotop_model::rules::{Finding, Rule, Severity, Subject, Unchecked, told};
use topotop_model::staves::{Stave, Staves, Verdict, exclusions, sentence};
use topotop_model::text::printable;

/// Rules that could not look, with what at.
pub(super) fn not_checked(judgement: &Judgement) -> impl Iterator<Item = (&'static Rule, &[Unchecked])> {
    judgement.rules.iter().filter_map(|(rule, standing)| match standing {
        Standing::NotChecked(unchecked) => Some((*rule, unchecked.as_slice())),
        _ => None,
    })
}

/// What was seen, in a format.
pub(super) fn one(seen: &Seen, format: &str, out: &mut impl Write) -> io::Result<()> {
    match format {
        "text" => text(seen, out),
        format => summary(seen, format == "json", out),
    }
}

/// Over several recordings of one test, the one whose stave is short.
pub(super) fn short(all: &[Seen], short: Option<(usize, Stave)>, format: &str, out: &mut impl Write) -> io::Result<()> {
    let short = short.and_then(|(at, stave)| Some((all.get(at)?, stave)));
    if format != "text" {
        let short = short.map(|(seen, stave)| Short {
            recording: printable(&seen.name).into_owned(),
            said: printable(&stave.said()).into_owned(),
            stave: json::stave(&stave),
        });
        serde_json::to_writer(&mut *out, &Shortest { short_stave: short })?;
        return out.write_all(b"\n");
    }
    match short {
        None => writeln!(out, "\nshort stave: none on either machine, as far as it was measured"),
        Some((seen, stave)) => {
            let line = format!("short stave: {}: {}", seen.name, said(seen, &stave));
            writeln!(out, "\n{}", printable(&line))
        }
    }
}

/// A stave with the finding about it, and how often it was short.
fn said(seen: &Seen, stave: &Stave) -> String {
    let rule = stave.rule.map_or_else(String::new, |(rule, _)| format!(", {rule}"));
    let (guilty, all) = seen.tally.guilty_in(stave.kind);
    let often =
        if stave.verdict == Verdict::Guilty { format!(", in {guilty} of {all} samples") } else { String::new() };
    format!("{}{rule}{often}", stave.said())
}

/// How each stave stands, the short one and the next.
fn staves(seen: &Seen, staves: &Staves, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\nstaves:")?;
    for stave in staves.iter() {
        let about = [stave.who(), stave.figure(), stave.note.to_owned()];
        let about: Vec<&str> = about.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
        let (label, verdict) = (stave.kind.label(), stave.verdict.label());
        writeln!(out, "  {label:<14} {verdict:<10} {}", printable(&about.join("  ")))?;
    }
    if let Some(stave) = staves.short() {
        writeln!(out, "  short: {}", printable(&said(seen, stave)))?;
    }
    match staves.next().and_then(|stave| Some((stave, stave.headroom()?))) {
        Some((stave, room)) => writeln!(out, "  next: {}, room for {room:.1} times as much", printable(&stave.said())),
        None => Ok(()),
    }
}

/// The first thing to do, and how.
fn fix(fixes: &[Offered], out: &mut impl Write) -> io::Result<()> {
    let Some(first) = fixes.first() else { return Ok(()) };
    writeln!(out, "  fix: {}  ({}, {})", printable(first.line()), first.fix, first.risk.name())?;
    if first.executable {
        writeln!(out, "       topotop fix apply {}", first.id)?;
    }
    match fixes.len() - 1 {
        0 => Ok(()),
        1 => writeln!(out, "       and one more: topotop fix list"),
        more => writeln!(out, "       and {more} more: topotop fix list"),
    }
}

/// For people.
pub(super) fn text(seen: &Seen, out: &mut impl Write) -> io::Result<()> {
    if !seen.name.is_empty() {
        writeln!(out, "== {} ==", printable(&seen.name))?;
    }
    let measured = seen.tally.staves();
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
        let beside = sentence(&exclusions(finding, &measured));
        write!(out, "\n{}", told::in_full_beside(finding, &since, &beside))?;
        fix(seen.fixes(finding), out)?;
    }
    staves(seen, &measured, out)?;
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
    #[serde(skip_serializing_if = "Option::is_none")]
    recording: Option<String>,
    samples: u64,
    complete: bool,
    worst: Option<&'static str>,
    short_stave: Option<String>,
    not_checked: Vec<&'static str>,
    findings: Vec<String>,
}

/// Whose stave is short over several recordings.
#[derive(Serialize)]
struct Shortest {
    short_stave: Option<Short>,
}

#[derive(Serialize)]
struct Short {
    recording: String,
    said: String,
    stave: json::Stave,
}

/// The summary, and with `whole` the findings and how the rules stand.
pub(super) fn summary(seen: &Seen, whole: bool, out: &mut impl Write) -> io::Result<()> {
    let name = |finding: &Finding| printable(&format!("{}/{}", finding.rule.id, finding.subject)).into_owned();
    let staves = seen.tally.staves();
    let summary = Summary {
        recording: (!seen.name.is_empty()).then(|| printable(&seen.name).into_owned()),
        samples: seen.samples,
        complete: seen.complete,
        worst: seen.worst().map(Severity::name),
        short_stave: staves.short().map(|stave| printable(&stave.said()).into_owned()),
        not_checked: not_checked(&seen.last).map(|(rule, _)| rule.id).collect(),
        findings: seen.findings.iter().map(name).collect(),
    };
    let all = whole.then(|| {
        let found = seen.findings.iter().map(|finding| (finding, seen.fixes(finding)));
        Findings::of(found, &seen.last, &staves)
    });
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
