//! Tables of a report: events, usage, changed settings, evidence.

use super::charts::{place, times};
use super::read::{Report, Seen};
use super::totals::Total;
use crate::check::unchecked_text;
use crate::diff::number::part;
use crate::export::escape;
use crate::units;
use std::io::{self, Write};
use topotop_model::diff::FactChange;
use topotop_model::judge::Standing;
use topotop_model::locale::{Text, diff as diff_text, report as text};
use topotop_model::recording::What;
use topotop_model::rules::{Cell, Figure, Finding, evidence_label, report as figures, source_label};
use topotop_model::text::{printable, short_ids};
use topotop_widgets::parts::units::{bytes_in_text, cores_in_text, cpu_time};

/// Rows of the timeline.
const LANES: usize = 60;
/// Rows of a table of evidence.
const ROWS: usize = 16;

fn safe(text: &str) -> String {
    escape(&printable(text))
}

fn heads(columns: &[(Text, bool)], out: &mut dyn Write) -> io::Result<()> {
    write!(out, "<div class=\"wide\"><table>\n<tr>")?;
    for (head, is_number) in columns {
        let class = if *is_number { " class=\"n\"" } else { "" };
        write!(out, "<th{class}>{}</th>", escape(head))?;
    }
    writeln!(out, "</tr>")
}

/// Findings from opening to clearing, with fixes and marks.
pub(super) fn timeline(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let events: Vec<_> = report.events.iter().filter(|(_, event)| !event.what.is_finding()).collect();
    let spans = report.timeline.spans();
    let spans: Vec<_> =
        spans.iter().filter(|span| *span.change.rule != *topotop_model::judge::timeline::LIMIT).collect();
    if events.is_empty() && spans.is_empty() {
        return writeln!(out, "<p>{}</p>", text::NO_EVENTS);
    }
    for (sample, event) in events.iter().take(LANES) {
        let class = if matches!(event.what, What::Fix(_)) { "k-fix" } else { "k-mark" };
        let at = report.axis.share(*sample);
        lane(class, &format!("{} {}", units::time_of_day(event.wall_ns), event.what.text()), (at, at + 0.004), out)?;
    }
    for span in spans.iter().take(LANES) {
        let ends = (span.from.map_or(0.0, |at| report.axis.share(at)), span.to.map_or(1.0, |at| report.axis.share(at)));
        let class = format!("k-{}", span.change.severity.name());
        let (severity, rule) = (span.change.severity.label(), &span.change.rule);
        lane(&class, &format!("{severity} {rule}: {}", span.change.title), ends, out)?;
    }
    times(report, out)?;
    let more = events.len().saturating_sub(LANES) + spans.len().saturating_sub(LANES);
    if more > 0 { writeln!(out, "<p class=\"dim\">{}</p>", text::MoreRows { count: &more }) } else { Ok(()) }
}

fn lane(class: &str, name: &str, (left, right): (f64, f64), out: &mut dyn Write) -> io::Result<()> {
    let at = place(left, right);
    write!(out, "<div class=\"lane {class}\"><p>{}</p>", safe(name))?;
    writeln!(out, "<div class=\"strip\"><i class=\"pin {class}\" style=\"{at}\"></i></div></div>")
}

/// The largest users.
pub(super) fn totals(rows: &[&Total], name: Text, out: &mut dyn Write) -> io::Result<()> {
    let columns = [
        (name, false),
        (text::CPU_HEAD, true),
        (text::PEAK_HEAD, true),
        (text::MEMORY_HEAD, true),
        (text::LIMIT_HEAD, true),
        (text::READ_HEAD, true),
        (text::WRITTEN_HEAD, true),
    ];
    let limited = rows.iter().any(|row| row.memory_limit.is_some());
    let shown: Vec<(Text, bool)> =
        columns.into_iter().enumerate().filter(|(at, _)| *at != 4 || limited).map(|(_, column)| column).collect();
    heads(&shown, out)?;
    for row in rows {
        let pid = row.pid.map_or_else(String::new, |pid| format!(" {pid}"));
        let below = short_ids(&row.cgroup);
        write!(out, "<tr><td class=\"s\">{}{pid} <small>{}</small></td>", safe(&row.name), safe(&below))?;
        let bytes = |value: f64| if value < 1.0 { String::new() } else { bytes_in_text(value) };
        let mut cells =
            vec![cpu_time(row.cpu_seconds).to_string(), cores_in_text(row.peak_cores), bytes(row.memory as f64)];
        if limited {
            cells.push(row.memory_limit.map_or_else(String::new, |limit| bytes_in_text(limit as f64)));
        }
        cells.extend([bytes(row.read), bytes(row.written)]);
        cells.iter().try_for_each(|cell| write!(out, "<td class=\"n\">{}</td>", escape(cell)))?;
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</table></div>")
}

/// Settings with the phase that they changed in.
pub(super) fn settings(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    if report.settings.is_empty() {
        return writeln!(out, "<p>{}</p>", text::NO_SETTINGS);
    }
    let columns = [diff_text::COLUMN_SUBJECT, diff_text::COLUMN_SETTING, text::VALUE_BEFORE, text::VALUE_AFTER];
    let columns: Vec<(Text, bool)> = columns.into_iter().chain([text::WHEN_HEAD]).map(|head| (head, false)).collect();
    heads(&columns, out)?;
    for (phase, fact) in report.settings.iter().take(LANES) {
        let value = |value: &Option<String>| safe(&FactChange::shown(value.as_deref()));
        let subject = fact.subject.to_string();
        let subject = short_ids(&subject);
        write!(out, "<tr><td class=\"s\">{}</td><td>{}</td>", safe(&subject), safe(&fact.shown_name()))?;
        write!(out, "<td class=\"s\">{}</td><td class=\"s\">{}</td>", value(&fact.before), value(&fact.after))?;
        writeln!(out, "<td>{}</td></tr>", phase + 1)?;
    }
    writeln!(out, "</table></div>")?;
    let more = report.settings.len().saturating_sub(LANES);
    if more > 0 { writeln!(out, "<p class=\"dim\">{}</p>", text::MoreRows { count: &more }) } else { Ok(()) }
}

/// Every finding with its evidence, its sources and its fixes.
pub(super) fn findings(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    if report.findings.is_empty() {
        return writeln!(out, "<p>{}</p>", text::NO_FINDINGS);
    }
    for seen in report.findings.iter().take(LANES) {
        let finding = &seen.finding;
        writeln!(out, "<div class=\"finding k-{}\">", finding.severity.name())?;
        let (label, rule) = (finding.severity.label(), finding.rule.id);
        writeln!(out, "<h3><span class=\"tag\">{label} {rule}</span> {}</h3>", safe(&finding.title()))?;
        let confidence = part(finding.confidence);
        let open = text::OpenFor { samples: &seen.samples, all: &report.samples, confidence: &confidence };
        writeln!(out, "<p class=\"dim\">{}</p>", escape(&open.to_string()))?;
        evidence(finding, out)?;
        fixes(seen, out)?;
        writeln!(out, "</div>")?;
    }
    Ok(())
}

fn evidence(finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
    heads(&[(text::EVIDENCE_HEAD, false), (text::VALUE_HEAD, false), (text::SOURCE_HEAD, false)], out)?;
    for fact in &finding.evidence {
        let value = match &fact.value {
            Figure::Number(value) => figures::amount(*value, fact.unit),
            Figure::Text(text) => finding.shown(text).into_owned(),
            Figure::Table(grid) => {
                let cells = |cells: &[Cell]| {
                    let cell = |(cell, column): (&Cell, &topotop_model::rules::Column)| match cell {
                        Cell::Unknown => "?".to_owned(),
                        Cell::None => "\u{2013}".to_owned(),
                        Cell::Number(value) => figures::amount(*value, column.unit),
                        Cell::Text(text) => finding.shown_cell(text).into_owned(),
                    };
                    cells.iter().zip(&grid.columns).map(cell).collect::<Vec<_>>().join(", ")
                };
                let rows =
                    grid.rows.iter().take(ROWS).map(|row| format!("{}: {}", finding.shown_cell(&row.0), cells(&row.1)));
                rows.collect::<Vec<_>>().join("; ")
            }
        };
        let (name, source) = (escape(evidence_label(fact.name)), escape(&source_label(fact.source)));
        writeln!(
            out,
            "<tr><td>{name}</td><td class=\"s\">{}</td><td class=\"s\"><small>{source}</small></td></tr>",
            safe(&value)
        )?;
    }
    writeln!(out, "</table></div>")
}

fn fixes(seen: &Seen, out: &mut dyn Write) -> io::Result<()> {
    if seen.fixes.is_empty() {
        return Ok(());
    }
    writeln!(out, "<p><b>{}</b></p>", text::FIXES)?;
    for fix in seen.fixes.iter().take(4) {
        let command: Vec<String> = fix.command.lines().map(safe).collect();
        write!(out, "<p>{} <small>{}</small></p>", safe(&fix.title), escape(&fix.risk.label()))?;
        writeln!(out, "<pre>{}</pre>", command.join("\n"))?;
    }
    Ok(())
}

/// Rules that could not be checked, and files that could not be read.
pub(super) fn gaps(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let unchecked = report.last.rules.iter().filter_map(|(rule, standing)| match standing {
        Standing::NotChecked(rows) => Some((rule, rows)),
        _ => None,
    });
    let rows: Vec<_> = unchecked.flat_map(|(rule, rows)| rows.iter().map(move |row| (rule, row))).collect();
    if rows.is_empty() && report.frame.gaps.is_empty() {
        return writeln!(out, "<p>{}</p>", text::NO_GAPS);
    }
    if !rows.is_empty() {
        heads(&[(text::RULE_HEAD, false), (text::REASON_HEAD, false)], out)?;
        for (rule, row) in rows.iter().take(LANES) {
            writeln!(out, "<tr><td>{}</td><td class=\"s\">{}</td></tr>", rule.id, safe(&unchecked_text(row)))?;
        }
        writeln!(out, "</table></div>")?;
    }
    if !report.frame.gaps.is_empty() {
        heads(&[(text::FILE_HEAD, false), (text::REASON_HEAD, false), (text::NEEDS_HEAD, false)], out)?;
        for gap in report.frame.gaps.iter().take(LANES) {
            let (path, reason) = (safe(&gap.shown_path()), escape(&gap.reason.text()));
            writeln!(
                out,
                "<tr><td class=\"s\">{path}</td><td>{reason} ({})</td><td class=\"s\">{}</td></tr>",
                gap.count,
                safe(&gap.shown_needs())
            )?;
        }
        writeln!(out, "</table></div>")?;
    }
    Ok(())
}
