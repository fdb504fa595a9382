//! A finding in full, as lines of text: title, start, evidence, effects, remedies.

use crate::locale::{finding as text, unit};
use crate::rules::{Cell, Figure, Finding, Grid, evidence_label, parts, source_label};
use crate::text::{columns, flush_right, padded, printable};

/// Maximum rows of a table; the rest is counted.
const MOST: usize = 32;

/// The text; `since` is the time at which the condition was first met. Names in it cannot control a terminal.
pub fn in_full(finding: &Finding, since: &str) -> String {
    in_full_beside(finding, since, "")
}

/// The same with the resources that are not the bottleneck: see [`crate::bottleneck::sentence`].
pub fn in_full_beside(finding: &Finding, since: &str, beside: &str) -> String {
    let confidence = &parts::percent(Some(finding.confidence));
    let mut lines = vec![
        format!("{} {}  {}", finding.severity.label(), finding.rule.id, printable(&finding.title())),
        format!("  {}", text::Since { time: &since, confidence }),
    ];
    for evidence in &finding.evidence {
        let (name, source) = (evidence_label(evidence.name), source_label(evidence.source));
        let value = match &evidence.value {
            Figure::Table(_) => continue,
            Figure::Text(text) => printable(&finding.shown(text)).into_owned(),
            Figure::Number(value) => amount(*value, evidence.unit),
        };
        lines.push(format!("  {} {} {source}", padded(name, 18), padded(&value, 28)));
    }
    for (name, grid, source) in finding.tables() {
        table(finding, name, grid, source, &mut lines);
    }
    for child in &finding.children {
        let title = child.title();
        lines.push(format!("  {}", text::Effect { rule: &child.rule.id, title: &printable(&title) }));
    }
    if !beside.is_empty() {
        lines.push(format!("  {}", printable(beside)));
    }
    lines.extend(finding.advice().iter().map(|advice| format!("  {}", text::Remedy { text: &advice })));
    lines.push(String::new());
    lines.join("\n")
}

/// A number with its unit.
pub fn amount(value: f64, unit: &str) -> String {
    match unit {
        "fraction" => format!("{:.1}%", value * 100.0),
        "bytes" => parts::bytes(Some(value)),
        "Mbit/s" => parts::bits(value * 1e6),
        "bytes/s" => format!("{}/s", amount(value, "bytes")),
        "1/s" => format!("{value:.0}/s"),
        "cores" => unit::Cores { count: &parts::tenths(value) }.to_string(),
        "threads" => unit::Threads { count: &format!("{value:.1}") }.to_string(),
        "" => format!("{value}"),
        unit => format!("{value:.1} {unit}"),
    }
}

/// A table below its name, with aligned columns.
fn table(finding: &Finding, name: &'static str, grid: &Grid, source: &str, out: &mut Vec<String>) {
    out.push(format!("  {} {:<28} {}", padded(evidence_label(name), 18), "", source_label(source)));
    let heads = grid.columns.iter().map(|column| printable(&finding.shown_cell(&column.name)).into_owned());
    let mut rows = vec![std::iter::once(String::new()).chain(heads).collect::<Vec<_>>()];
    for (name, cells) in grid.rows.iter().take(MOST) {
        let cells = cells.iter().zip(&grid.columns).map(|(cell, column)| shown(finding, cell, column.unit));
        rows.push(std::iter::once(printable(&finding.shown_cell(name)).into_owned()).chain(cells).collect());
    }
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| columns(cell)).max();
    let widths: Vec<usize> = (0..=grid.columns.len()).map(|column| width(column).unwrap_or(0)).collect();
    for row in &rows {
        let (first, rest) = row.split_first().map_or(("", row.as_slice()), |(first, rest)| (first.as_str(), rest));
        let mut line = format!("    {}", padded(first, widths.first().copied().unwrap_or(0)));
        for (cell, width) in rest.iter().zip(widths.iter().skip(1)) {
            line = format!("{line}  {}", flush_right(cell, *width));
        }
        out.push(line);
    }
    let more = grid.rows.len().saturating_sub(MOST);
    if more > 0 {
        out.push(format!("    {}", text::MoreRows { count: more as u64 }));
    }
}

fn shown(finding: &Finding, cell: &Cell, unit: &str) -> String {
    match cell {
        Cell::Unknown => "?".to_owned(),
        Cell::None => text::NOT_APPLICABLE.to_string(),
        Cell::Number(value) => amount(*value, unit),
        Cell::Text(text) => printable(&finding.shown_cell(text)).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::table;
    use crate::rules::{Cell, Grid};

    #[test]
    fn columns_are_aligned_and_names_cannot_control_the_terminal() {
        let grid = Grid::new([("max", ""), ("current", "")])
            .row("combined", [Cell::Number(64.0), Cell::Number(1.0)])
            .row("\u{1b}x", [Cell::None, Cell::Unknown]);
        let mut lines = Vec::new();
        table(&crate::testkit::sick().findings[0], "ethtool_l", &grid, "ethtool -l", &mut lines);
        assert_eq!(
            lines[1..],
            ["              max  current", "    combined   64        1", "    \\x1bx     n/a        ?"]
        );
    }
}
