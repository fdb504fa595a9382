//! The numbers that a finding rests on, each with the file that it comes from.

use crate::parts::pane::Doc;
use crate::parts::severity::wrapped;
use crate::parts::{names, units};
use crate::{Cx, Role};
use topotop_model::locale::screen::findings as text;
use topotop_model::locale::screen::shared;
use topotop_model::rules::{Cell, Figure, Finding, Grid, evidence_label, source_label};
use topotop_model::text::{printable, short_ids};

/// Columns of a name.
const NAME: u16 = 18;
/// Rows of a table that are shown; the rest is counted.
const ROWS: usize = 40;

/// The evidence in so many columns; where it is `whole`, longer values are not broken.
pub(super) fn lines(cx: &Cx<'_>, doc: &mut Doc, finding: &Finding, (width, whole): (u16, bool)) {
    if finding.evidence.is_empty() {
        return;
    }
    doc.gap();
    doc.head(text::EVIDENCE);
    let source =
        finding.evidence.iter().map(|evidence| names::width(&source_label(evidence.source))).max().unwrap_or(0);
    let source = source.min(width / 3);
    let labels = finding.evidence.iter().map(|evidence| names::width(evidence_label(evidence.name)));
    let name_width = labels.max().map_or(0, |label| label + 1).clamp(NAME, NAME + width / 4);
    let room = width.saturating_sub(name_width + 2 + source + 2).max(8);
    // Short values keep their files near.
    let longest = |figure: &Figure| match figure {
        Figure::Text(text) => names::width(&words(finding, text)),
        Figure::Number(_) | Figure::Table(_) => 10,
    };
    let room = finding.evidence.iter().map(|evidence| longest(&evidence.value)).max().unwrap_or(0).clamp(8, room);
    for evidence in &finding.evidence {
        let name = evidence_label(evidence.name);
        let value = match &evidence.value {
            Figure::Number(value) => figure(*value, evidence.unit),
            Figure::Text(text) if text.is_empty() => shared::NONE.to_string(),
            Figure::Text(text) => words(finding, text),
            Figure::Table(_) => continue,
        };
        let lines = if whole { vec![value] } else { wrapped(&value, room) };
        for (at, line) in lines.into_iter().enumerate() {
            let (name, source) = if at == 0 { (name, source_label(evidence.source)) } else { ("", "".into()) };
            let pad = " ".repeat(usize::from(room.saturating_sub(names::width(&line)) + 2));
            doc.line(vec![
                (format!("  {}", names::padded(name, name_width)), Role::Dim),
                (line, Role::Text),
                (pad + &source, Role::Dim),
            ]);
        }
    }
    for (name, grid, source) in finding.tables() {
        table(cx, doc, finding, (name, grid, source));
    }
}

/// A number with its unit.
pub(super) fn figure(value: f64, unit: &str) -> String {
    match unit {
        "fraction" => units::fine_percent(value).to_string(),
        "bytes" => units::bytes_in_text(value),
        "bytes/s" => format!("{}/s", units::bytes_in_text(value)),
        "1/s" => format!("{}/s", units::count(value)),
        "cores" => units::cores_in_text(value),
        "threads" => topotop_model::locale::unit::Threads { count: &units::count(value) }.to_string(),
        "s" => units::seconds(value).to_string(),
        "ms" => format!("{} ms", units::millis(value)),
        "" if value.fract() == 0.0 && value.abs() < 1e15 => format!("{value:.0}"),
        "" => format!("{value:.2}"),
        unit => format!("{} {unit}", units::count(value)),
    }
}

/// A value that is a text, such as the path of a cgroup.
fn words(finding: &Finding, text: &str) -> String {
    short_ids(&printable(&finding.shown(text))).into_owned()
}

fn shown(finding: &Finding, cell: &Cell, unit: &str) -> String {
    match cell {
        Cell::Unknown => "?".to_owned(),
        Cell::None => shared::NOT_APPLICABLE.to_string(),
        Cell::Number(value) => figure(*value, unit),
        Cell::Text(text) => short_ids(&printable(&finding.shown_cell(text))).into_owned(),
    }
}

/// A table below its name, columns lined up.
fn table(cx: &Cx<'_>, doc: &mut Doc, finding: &Finding, (name, grid, source): (&'static str, &Grid, &str)) {
    doc.gap();
    let name = evidence_label(name);
    doc.line(vec![(format!("  {name}  "), Role::Head), (source_label(source).into_owned(), Role::Dim)]);
    let heads = grid.columns.iter().map(|column| printable(&finding.shown_cell(&column.name)).into_owned());
    let mut lines = vec![std::iter::once(String::new()).chain(heads).collect::<Vec<_>>()];
    for (name, cells) in grid.rows.iter().take(ROWS) {
        let cells = cells.iter().zip(&grid.columns).map(|(cell, column)| shown(finding, cell, column.unit));
        lines.push(
            std::iter::once(short_ids(&printable(&finding.shown_cell(name))).into_owned()).chain(cells).collect(),
        );
    }
    let width = |column: usize| lines.iter().filter_map(|line| line.get(column)).map(|cell| names::width(cell)).max();
    let widths: Vec<u16> = (0..=grid.columns.len()).map(|column| width(column).unwrap_or(0)).collect();
    for (row, line) in lines.iter().enumerate() {
        let mut pieces = vec![("  ".to_owned(), Role::Text)];
        for (at, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let pad = " ".repeat(usize::from(width.saturating_sub(names::width(cell))));
            let text = if at == 0 { format!("{cell}{pad}") } else { format!("  {pad}{cell}") };
            pieces.push((text, if row == 0 || at == 0 { Role::Dim } else { Role::Text }));
        }
        doc.line(pieces);
    }
    let more = grid.rows.len().saturating_sub(ROWS);
    if more > 0 {
        let dots = if cx.charset == crate::Charset::Unicode { "…" } else { "..." };
        doc.line(vec![(format!("  {dots} {}", shared::More { count: &more }), Role::Dim)]);
    }
}
