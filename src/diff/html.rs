//! The comparison as a page of its own.

use super::{About, Fate, Report, application, number, table};
use crate::export::escape;
use crate::page;
use std::io::{self, Write};
use topotop_model::diff::{Comparison, FactChange, Found, Row, Spread, Verdict};
use topotop_model::locale::diff as text;
use topotop_model::text::{printable, short_ids};
use topotop_widgets::Charset;

/// Nothing is loaded from elsewhere.
pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    page::begin(&text::PageTitle { summary: &report.summary() }.to_string(), out)?;
    writeln!(out, "<h1>{}</h1>", escape(&report.summary()))?;
    sides(report, out)?;
    own(report, out)?;
    settings(report, out)?;
    findings(report, out)?;
    changes(report, out)?;
    for note in report.notes() {
        writeln!(out, "<p>{}</p>", escape(&note))?;
    }
    report.sides.iter().try_for_each(|side| out.write_all(&side.html))?;
    page::end(out)
}

/// What is compared, and what limited each.
fn sides(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<section>\n<table>")?;
    let headlines = report.sides.iter().map(|side| side.headline.as_str()).chain(std::iter::repeat(""));
    let sides = [(text::SIDE_A, &report.before), (text::SIDE_B, &report.after)];
    for ((name, about), headline) in sides.into_iter().zip(headlines) {
        side(&name, about, headline, out)?;
    }
    writeln!(out, "</table>\n</section>")
}

/// What the application measures, and what a unit of its work costs.
fn own(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let lines = application::lines(&report.comparison, "\u{2212}");
    if lines.is_empty() {
        return Ok(());
    }
    page::section(&text::APPLICATION, out, |out| own_tables(report, &lines, out))
}

fn own_tables(report: &Report, lines: &[application::Line], out: &mut dyn Write) -> io::Result<()> {
    own_table(lines, out)?;
    let costs = application::costs(&report.comparison, "\u{2212}");
    if let Some(load) = application::load(&report.comparison).filter(|_| !costs.is_empty()) {
        writeln!(out, "<h3>{}</h3>", escape(&text::PerUnit { load: &load }.to_string()))?;
        own_table(&costs, out)?;
    }
    application::notes(&report.comparison).iter().try_for_each(|note| writeln!(out, "<p>{}</p>", escape(note)))
}

fn own_table(lines: &[application::Line], out: &mut dyn Write) -> io::Result<()> {
    write!(out, "<table>\n<tr><th></th><th>{}</th>", text::COLUMN_METRIC)?;
    let numbers = [text::COLUMN_BEFORE, text::COLUMN_AFTER, text::COLUMN_CHANGE];
    numbers.iter().try_for_each(|head| write!(out, "<th class=\"n\">{head}</th>"))?;
    writeln!(out, "<th></th></tr>")?;
    for line in lines {
        let (glyph, word) = table::mark(line.verdict, Charset::Unicode);
        let class = if line.verdict.is_change() { line.verdict.name() } else { "" };
        write!(out, "<tr><td class=\"{class}\">{glyph} {word}</td><td class=\"s\">{}</td>", escape(&line.name))?;
        for cell in [&line.before, &line.after, &line.change] {
            write!(out, "<td class=\"n\">{}</td>", escape(cell))?;
        }
        writeln!(out, "<td>{}</td></tr>", escape(&line.note))?;
    }
    writeln!(out, "</table>")
}

fn side(name: &str, about: &About, headline: &str, out: &mut dyn Write) -> io::Result<()> {
    let cells = [&about.file, &about.host, &about.kernel, &about.when(), &about.span];
    write!(out, "<tr><th>{name}</th>")?;
    for cell in cells {
        write!(out, "<td class=\"s\">{}</td>", escape(cell))?;
    }
    writeln!(out, "<td class=\"n\">{}</td></tr>", text::Samples { count: about.samples })?;
    writeln!(out, "<tr><th></th><td class=\"s\" colspan=\"6\"><b>{}</b></td></tr>", escape(headline))
}

fn findings(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let findings = report.findings();
    if findings.is_empty() {
        return Ok(());
    }
    page::section(&text::HEAD_FINDINGS, out, |out| findings_table(findings, out))
}

fn findings_table(findings: Vec<(Fate, &Found)>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "<table>\n<tr><th></th><th>{}</th><th>{}</th><th class=\"n\">{}</th></tr>",
        text::COLUMN_RULE,
        text::COLUMN_TITLE,
        text::COLUMN_SAMPLES
    )?;
    for (fate, found) in findings {
        let class = match fate {
            Fate::Gone => "improved",
            Fate::New => "worse",
            Fate::Still | Fate::Unknown => "",
        };
        let word = fate.text();
        let (title, severity) = (escape(&found.title), found.severity.name());
        write!(out, "<tr><td class=\"{class}\">{word}</td><td>{} <small>{severity}</small></td>", found.rule.id)?;
        let of = text::OfSamples { count: &found.samples, all: &found.of };
        writeln!(out, "<td class=\"s\">{title}</td><td class=\"n\">{of}</td></tr>")?;
    }
    writeln!(out, "</table>")
}

fn settings(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    if report.comparison.facts.is_empty() {
        return Ok(());
    }
    page::section(&text::SETTINGS, out, |out| settings_table(report, out))
}

fn settings_table(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<table>")?;
    let heads = [text::COLUMN_SUBJECT, text::COLUMN_SETTING, text::COLUMN_BEFORE, text::COLUMN_AFTER];
    write!(out, "<tr>")?;
    heads.iter().try_for_each(|head| write!(out, "<th>{head}</th>"))?;
    writeln!(out, "</tr>")?;
    for (fact, alike) in report.settings() {
        let value = |value: &Option<String>| printable(&FactChange::shown(value.as_deref())).into_owned();
        let within = if fact.within { format!(" <small>{}</small>", text::WITHIN) } else { String::new() };
        let subject = table::and_more(short_ids(&printable(&fact.subject.to_string())).into_owned(), alike);
        write!(out, "<tr><td class=\"s\">{}</td><td>{}</td>", escape(&subject), escape(&fact.shown_name()))?;
        let (before, after) = (value(&fact.before), value(&fact.after));
        writeln!(out, "<td class=\"s\">{}</td><td class=\"s\">{}{within}</td></tr>", escape(&before), escape(&after))?;
    }
    writeln!(out, "</table>")
}

fn changes(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let heads = report.effects();
    if heads.is_empty() {
        return Ok(());
    }
    page::section(&text::HEAD_METRICS, out, |out| {
        metrics(&report.comparison, &heads, [&text::COLUMN_BEFORE, &text::COLUMN_AFTER], out)?;
        let block = report.before.block.max(report.after.block);
        writeln!(out, "<p><small>{} {}</small></p>", table::medians(block), text::INDENTED)
    })
}

/// Rows that changed, each with those below it; `sides` are the names of what is compared.
pub(crate) fn metrics(
    comparison: &Comparison,
    heads: &[usize],
    sides: [&str; 2],
    out: &mut dyn Write,
) -> io::Result<()> {
    write!(out, "<table>\n<tr><th></th><th>{}</th><th>{}</th>", text::COLUMN_SUBJECT, text::COLUMN_METRIC)?;
    let [before, after] = sides;
    let numbers = [before, after, &text::COLUMN_CHANGE];
    numbers.iter().try_for_each(|head| write!(out, "<th class=\"n\">{}</th>", escape(head)))?;
    writeln!(out, "</tr>")?;
    for &head in heads {
        let below = comparison.under(head);
        let rows = std::iter::once((head, false)).chain(below.into_iter().map(|at| (at, true)));
        for (at, below) in rows {
            comparison.rows.get(at).map_or(Ok(()), |part| row(part, below, out))?;
        }
    }
    writeln!(out, "</table>")
}

fn row(row: &Row, below: bool, out: &mut dyn Write) -> io::Result<()> {
    let (glyph, word) = table::mark(row.verdict, Charset::Unicode);
    let measure = row.metric.measure;
    let value = |spread: Option<Spread>| match spread {
        None => "<td class=\"n\">-</td>".to_owned(),
        Some(spread) => {
            let range = number::range(measure, spread.low, spread.high, "\u{2013}");
            let range = range.map_or(String::new(), |range| format!(" <small>({range})</small>"));
            format!("<td class=\"n\">{}{range}</td>", number::value(measure, spread.median))
        }
    };
    let middle = |spread: Option<Spread>| spread.map_or(0.0, |spread| spread.median);
    let change = number::change(measure, middle(row.before), middle(row.after), "\u{2212}");
    let (open, said) = if below { ("<tr class=\"b\">", String::new()) } else { ("<tr>", format!("{glyph} {word}")) };
    let class = if row.verdict == Verdict::NoChange { "" } else { row.verdict.name() };
    let subject = escape(&short_ids(&printable(&row.subject.to_string())));
    write!(out, "{open}<td class=\"{class}\">{said}</td><td class=\"s\">{subject}</td><td>{}</td>", row.metric.name)?;
    writeln!(out, "{}{}<td class=\"n {class}\">{change}</td></tr>", value(row.before), value(row.after))
}
