//! What `check` says.

use super::watch::Seen;
use crate::export::json::Findings;
use crate::units;
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, Write};
use topotop_model::bottleneck::{Resource, Resources, Verdict, exclusions, sentence};
use topotop_model::document;
use topotop_model::fix::Offered;
use topotop_model::judge::{Judgement, Standing};
use topotop_model::locale::check as text;
use topotop_model::rules::{Finding, Rule, Severity, Subject, Unchecked, report};
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
        "text" => people(seen, out),
        format => summary(seen, format == "json", out),
    }
}

/// Over several recordings of one test, the machine that limits.
pub(super) fn short(
    all: &[Seen],
    short: Option<(usize, Resource)>,
    format: &str,
    out: &mut impl Write,
) -> io::Result<()> {
    let short = short.and_then(|(at, resource)| Some((all.get(at)?, resource)));
    if format != "text" {
        let short = short.map(|(seen, resource)| Short {
            recording: printable(&seen.name).into_owned(),
            said: printable(&resource.summary()).into_owned(),
            resource: document::Resource::from(&resource),
        });
        serde_json::to_writer(&mut *out, &LimitingMachine { bottleneck: short })?;
        return out.write_all(b"\n");
    }
    match short {
        None => writeln!(out, "\n{}", text::NO_BOTTLENECK_ANYWHERE),
        Some((seen, resource)) => {
            let line = text::BottleneckOf { machine: &seen.name, bottleneck: &share(seen, &resource) }.to_string();
            writeln!(out, "\n{}", printable(&line))
        }
    }
}

/// A resource with the finding about it, and in how many samples it was limiting.
fn share(seen: &Seen, resource: &Resource) -> String {
    let rule = resource.rule.map_or_else(String::new, |(rule, _)| format!(", {rule}"));
    let resource_text = format!("{}{rule}", resource.summary());
    let (limiting, samples) = seen.tally.limiting_in(resource.kind);
    if resource.verdict == Verdict::Limiting {
        text::LimitingShare { resource: &resource_text, limiting: &limiting, samples: &samples }.to_string()
    } else {
        resource_text
    }
}

/// The bottleneck as a line.
fn bottleneck(seen: &Seen, resource: &Resource) -> String {
    text::Bottleneck { resource: &share(seen, resource) }.to_string()
}

/// The resources, the bottleneck and the next limit.
fn resources(seen: &Seen, resources: &Resources, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\n{}", text::RESOURCES)?;
    for resource in resources.iter() {
        let about = [resource.owner(), resource.figure(), resource.note.to_string()];
        let about: Vec<&str> = about.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
        let (label, verdict) = (resource.kind.label(), resource.verdict.label());
        writeln!(out, "  {label:<14} {verdict:<10} {}", printable(&about.join("  ")))?;
    }
    if let Some(resource) = resources.bottleneck() {
        writeln!(out, "  {}", printable(&bottleneck(seen, resource)))?;
    }
    match resources.next().and_then(|resource| Some((resource, resource.headroom()?))) {
        Some((resource, headroom)) => {
            let (resource, times) = (resource.summary(), format!("{headroom:.1}"));
            writeln!(out, "  {}", text::Next { resource: &printable(&resource), times: &times })
        }
        None => Ok(()),
    }
}

/// Why something was not checked, and what would let it.
pub(crate) fn unchecked_text(row: &Unchecked) -> String {
    let (subject, reason, needs) = (&row.subject, &row.reason, &row.needs);
    match (row.subject == Subject::Host, row.needs.is_empty()) {
        (true, true) => reason.clone(),
        (true, false) => text::Unchecked { reason, needs }.to_string(),
        (false, true) => text::UncheckedOf { subject, reason }.to_string(),
        (false, false) => text::UncheckedOfNeeds { subject, reason, needs }.to_string(),
    }
}

/// The first thing to do, and how.
fn fix(fixes: &[Offered], out: &mut impl Write) -> io::Result<()> {
    let Some(first) = fixes.first() else { return Ok(()) };
    let line = text::Fix { line: &printable(first.line()), id: &first.fix, risk: &first.risk.name() };
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
    let samples = seen.samples;
    let time = units::span(seen.seconds.round() as u64);
    let (time, samples): (&dyn Display, &dyn Display) = (&time, &samples);
    match (seen.findings.len() as u64, seen.complete) {
        (0, true) => writeln!(out, "{}", text::None { time, samples })?,
        (0, false) => writeln!(out, "{}", text::NoneCut { time, samples })?,
        (count, true) => writeln!(out, "{}", text::Findings { count, time, samples })?,
        (count, false) => writeln!(out, "{}", text::FindingsCut { count, time, samples })?,
    }
    let mut findings: Vec<&Finding> = seen.findings.iter().collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    for finding in findings {
        let since =
            format!("{} {}", units::time_of_day(finding.since.wall_ns), units::zone_name(finding.since.wall_ns));
        let beside = sentence(&exclusions(finding, &measured));
        write!(out, "\n{}", report::in_full_beside(finding, &since, &beside))?;
        fix(seen.fixes(finding), out)?;
    }
    resources(seen, &measured, out)?;
    let mut rows = not_checked(&seen.last).peekable();
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
    bottleneck: Option<String>,
    not_checked: Vec<&'static str>,
    findings: Vec<String>,
}

/// The machine that limits over several recordings.
#[derive(Serialize)]
struct LimitingMachine {
    bottleneck: Option<Short>,
}

#[derive(Serialize)]
struct Short {
    recording: String,
    said: String,
    resource: document::Resource,
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
        bottleneck: resources.bottleneck().map(|resource| printable(&resource.summary()).into_owned()),
        not_checked: not_checked(&seen.last).map(|(rule, _)| rule.id.as_str()).collect(),
        findings: seen.findings.iter().map(name).collect(),
    };
    let all = whole.then(|| {
        let found = seen.findings.iter().map(|finding| (finding, seen.fixes(finding)));
        Findings::of(found, &seen.last, &resources)
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
