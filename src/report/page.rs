//! The page: the answer first, then what it is made of.

use super::phases::Phase;
use super::read::Report;
use super::{charts, tables};
use crate::diff::application::{self, Line};
use crate::diff::html;
use crate::export::escape;
use crate::{page, units};
use std::io::{self, Write};
use topotop_model::diff::Verdict;
use topotop_model::locale::{Text, report as text};
use topotop_model::text::printable;

/// Changes listed between two phases.
const CHANGES: usize = 12;
/// From this ratio on, a rise is shown as a factor.
const TIMES: f64 = 2.0;

/// Writes it.
pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let file = printable(&report.file);
    page::begin(&text::Title { file: &file }.to_string(), out)?;
    writeln!(out, "<h1>{}</h1>", escape(&headline(report)))?;
    sections(report, out)?;
    foot(report, &file, out)?;
    page::end(out)
}

/// One side of a comparison, which has a page of its own.
pub(super) fn side(name: &str, report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let headline = headline(report);
    writeln!(out, "<h1>{}</h1>", escape(&text::SideOf { side: &name, headline: &headline }.to_string()))?;
    sections(report, out)?;
    foot(report, &printable(&report.file), out)
}

fn sections(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    about(report, out)?;
    section(text::ANSWER, out, |out| answer(report, out))?;
    section(text::OVER_TIME, out, |out| charts::answers(report, out))?;
    section(text::APPLICATION, out, |out| application(report, out))?;
    section(text::TIMELINE, out, |out| tables::timeline(report, out))?;
    section(text::RESOURCES, out, |out| charts::resources(report, out))?;
    section(text::TOPOLOGY, out, |out| charts::heat(report, out))?;
    section(text::PROCESSES, out, |out| tables::totals(&report.totals.processes(), text::PROCESS_HEAD, out))?;
    section(text::GROUPS, out, |out| tables::totals(&report.totals.groups(), text::GROUP_HEAD, out))?;
    section(text::SETTINGS, out, |out| tables::settings(report, out))?;
    section(text::EVIDENCE, out, |out| tables::findings(report, out))?;
    section(text::GAPS, out, |out| tables::gaps(report, out))
}

fn section(title: Text, out: &mut dyn Write, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    page::section(&title, out, write)
}

fn about(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let (from, to) = report.span;
    let length = units::span(u64::try_from(to.saturating_sub(from) / 1_000_000_000).unwrap_or(0));
    let (host, kernel) = (printable(&report.host), printable(&report.kernel));
    let (start, end, zone) = (units::date_time(from), units::time_of_day(to), units::zone_name(to));
    let about = text::Recorded { host: &host, kernel: &kernel, from: &start, to: &end, zone: &zone, length: &length };
    writeln!(out, "<p class=\"dim\">{}</p>", escape(&about.to_string()))
}

/// The longest phase in a line.
pub(super) fn headline(report: &Report) -> String {
    let longest = report.phases.iter().max_by_key(|phase| phase.last - phase.first);
    let loaded = report.phases.iter().filter(|phase| phase.answer.is_limit());
    let longest = loaded.max_by_key(|phase| phase.last - phase.first).or(longest);
    longest.map_or_else(String::new, |phase| printable(&phase.answer.headline()).into_owned())
}

/// The limit of each phase, and between phases the gain of the application.
fn answer(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<ol class=\"steps\">")?;
    for (at, (phase, wall)) in report.phases.iter().zip(&report.walls).enumerate() {
        step(at, phase, *wall, out)?;
        if let Some(comparison) = report.comparisons.get(at) {
            writeln!(out, "<li class=\"move\">")?;
            for line in application::lines(comparison, "\u{2212}") {
                moved(&line, out)?;
            }
            writeln!(out, "</li>")?;
        }
    }
    writeln!(out, "</ol>")?;
    if report.metrics.is_empty() {
        return writeln!(out, "<p class=\"dim\">{}</p>", text::NO_METRIC);
    }
    if report.comparisons.is_empty() {
        return charts::means(report).iter().try_for_each(|line| writeln!(out, "<p>{}</p>", escape(line)));
    }
    writeln!(out, "<p><small>{}</small></p>", text::HOW_COMPARED)
}

fn step(at: usize, phase: &Phase, (from, to): (i64, i64), out: &mut dyn Write) -> io::Result<()> {
    let (number, start, end) = (at + 1, units::time_of_day(from), units::time_of_day(to));
    let when = text::PhaseOf { number: &number, from: &start, to: &end }.to_string();
    let length = units::span(u64::try_from(to.saturating_sub(from) / 1_000_000_000).unwrap_or(0));
    let answer = printable(&phase.answer.headline()).into_owned();
    writeln!(out, "<li class=\"{}\"><div class=\"dim\">{} ({length})</div>", charts::class(&phase.key), escape(&when))?;
    writeln!(out, "<div class=\"a\">{}</div>", escape(&answer))?;
    if let Some(next) = phase.answer.next_text() {
        writeln!(out, "<div>{}</div>", escape(&next))?;
    }
    if !phase.cause.is_empty() {
        let cause = text::AtEvent { event: &printable(&phase.cause) }.to_string();
        writeln!(out, "<div class=\"dim\">{}</div>", escape(&cause))?;
    }
    writeln!(out, "</li>")
}

/// Change of a metric between two phases.
fn moved(line: &Line, out: &mut dyn Write) -> io::Result<()> {
    let (name, before, after) = (&line.name, &line.before, &line.after);
    // A change this large is shown as a factor already.
    let is_factor = line.change.contains('\u{d7}');
    let times = line.ratio.filter(|ratio| *ratio >= TIMES && !is_factor).map(|ratio| format!(" = {ratio:.1}\u{d7}"));
    let change = format!("{}{}", line.change, times.unwrap_or_default());
    let said = match (line.verdict.is_change(), line.ratio) {
        (true, Some(ratio)) if ratio >= 1.0 => text::Rise { name, before, after, change: &change }.to_string(),
        (true, Some(_)) => text::Fall { name, before, after, change: &change }.to_string(),
        _ if change.is_empty() => text::AsBefore { name, before, after, note: &line.note }.to_string(),
        _ => text::Open { name, before, after, change: &change, note: &line.note }.to_string(),
    };
    let class = match line.verdict {
        Verdict::Improved | Verdict::Worse => line.verdict.name(),
        _ => "",
    };
    writeln!(out, "<div class=\"{class}\">{}</div>", escape(&said))
}

/// Curves of its metrics, and what else changed with them.
fn application(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    if report.metrics.is_empty() {
        writeln!(out, "<p class=\"dim\">{}</p>", text::NO_METRIC)?;
    }
    charts::metrics(report, out)?;
    for (at, comparison) in report.comparisons.iter().enumerate() {
        let is_own = |at: &usize| comparison.rows.get(*at).is_some_and(topotop_model::diff::Row::is_own);
        let heads: Vec<usize> = comparison.heads().into_iter().filter(|at| !is_own(at)).take(CHANGES).collect();
        if heads.is_empty() {
            continue;
        }
        let title = text::Effects { before: &(at + 1), after: &(at + 2) }.to_string();
        writeln!(out, "<details><summary>{}</summary><div class=\"wide\">", escape(&title))?;
        let [before, after] = [at + 1, at + 2].map(|number| text::PhaseNumber { number: &number }.to_string());
        html::metrics(comparison, &heads, [&before, &after], out)?;
        writeln!(out, "</div></details>")?;
    }
    Ok(())
}

fn foot(report: &Report, file: &str, out: &mut dyn Write) -> io::Result<()> {
    if report.damaged > 0 {
        writeln!(out, "<p class=\"worse\">{}</p>", text::Damaged { count: &report.damaged })?;
    }
    let (version, program) = (env!("CARGO_PKG_VERSION"), printable(&report.program));
    let (samples, what) = (report.samples, printable(&report.what));
    let by = text::WrittenBy { version: &version, file: &file, program: &program, samples: &samples, what: &what };
    writeln!(out, "<footer>{}</footer>", escape(&by.to_string()))
}
