//! What `check` says as JUnit XML: a suite per machine, a case per finding and per rule, so that CI shows what failed.

use super::report::{not_checked, unchecked_text};
use super::watch::Seen;
use crate::export::escape;
use crate::units;
use std::io::{self, Write};
use topotop_model::judge::Standing;
use topotop_model::rules::{Finding, Severity, report};
use topotop_model::text::printable;

/// What comes before all suites.
pub(super) fn begin(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"topotop check\">")
}

/// What comes after them.
pub(super) fn end(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "</testsuites>")
}

/// A value of an attribute, or a line of text.
fn safe(text: &str) -> String {
    escape(&printable(text))
}

/// A machine: what makes `check` fail is a failure, what was not judged is skipped, an interrupted watch is an error.
pub(super) fn suite(seen: &Seen, fails_from: Severity, out: &mut impl Write) -> io::Result<()> {
    let failures = seen.findings.iter().filter(|finding| finding.severity >= fails_from).count();
    let quiet = seen.last.rules.iter().filter(|(_, standing)| matches!(standing, Standing::Quiet));
    let quiet: Vec<&str> = quiet.map(|(rule, _)| rule.id.as_str()).filter(|id| !has_finding(seen, id)).collect();
    let skipped = not_checked(seen).filter(|(rule, _)| !has_finding(seen, rule.id.as_str())).count();
    let errors = usize::from(!seen.complete || seen.is_too_short() || seen.undecided(fails_from).next().is_some());
    let tests = seen.findings.len() + quiet.len() + skipped + errors;
    let name = if seen.name.is_empty() { "topotop".to_owned() } else { safe(&seen.name) };
    writeln!(
        out,
        "<testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\" \
         time=\"{:.3}\">",
        seen.seconds
    )?;
    writeln!(out, "<properties>")?;
    properties(seen, out)?;
    writeln!(out, "</properties>")?;
    for finding in &seen.findings {
        case(seen, finding, fails_from, out)?;
    }
    for id in quiet {
        writeln!(out, "<testcase classname=\"topotop\" name=\"{id}\"/>")?;
    }
    for (rule, unchecked) in not_checked(seen).filter(|(rule, _)| !has_finding(seen, rule.id.as_str())) {
        let why: Vec<String> = unchecked.iter().map(unchecked_text).collect();
        let (id, why) = (rule.id.as_str(), safe(&why.join("; ")));
        writeln!(out, "<testcase classname=\"topotop\" name=\"{id}\"><skipped message=\"{why}\"/></testcase>")?;
    }
    if errors > 0 {
        let why = if seen.complete { "too few samples" } else { "interrupted" };
        writeln!(out, "<testcase classname=\"topotop\" name=\"samples\"><error message=\"{why}\"/></testcase>")?;
    }
    writeln!(out, "</testsuite>")
}

fn has_finding(seen: &Seen, rule: &str) -> bool {
    seen.findings.iter().any(|finding| finding.rule.id.as_str() == rule)
}

/// The answer and the application's own numbers.
fn properties(seen: &Seen, out: &mut impl Write) -> io::Result<()> {
    let mut property =
        |name: &str, value: &str| writeln!(out, "<property name=\"{}\" value=\"{}\"/>", safe(name), safe(value));
    property("bottleneck", &seen.tally.last().line())?;
    seen.numbers.iter().try_for_each(|number| property(&number.name, &number.text()))
}

fn case(seen: &Seen, finding: &Finding, fails_from: Severity, out: &mut impl Write) -> io::Result<()> {
    let since = format!("{} {}", units::time_of_day(finding.since.wall_ns), units::zone_name(finding.since.wall_ns));
    let mut text = report::in_full_beside(finding, &since, "");
    for fix in seen.fixes(finding) {
        for line in fix.command.lines() {
            text = format!("{text}  {line}\n");
        }
    }
    let text: Vec<String> = text.lines().map(safe).collect();
    let (text, title, severity) = (text.join("\n"), safe(&finding.title()), finding.severity.name());
    let name = safe(&format!("{} {}", finding.rule.id, finding.subject));
    writeln!(out, "<testcase classname=\"topotop\" name=\"{name}\">")?;
    if finding.severity >= fails_from {
        writeln!(out, "<failure type=\"{severity}\" message=\"{title}\">{text}</failure>")?;
    } else {
        writeln!(out, "<system-out>{severity}: {title}\n{text}</system-out>")?;
    }
    writeln!(out, "</testcase>")
}
