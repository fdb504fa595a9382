//! Before and after, a row per metric, with the spread of the values.

use crate::parts::mark;
use crate::parts::number;
use crate::parts::pane::Doc;
use crate::parts::severity::wrapped;
use crate::{Cx, Role};
use topotop_model::diff::{Measure, metrics};
use topotop_model::journal::{Measured, called};
use topotop_model::locale::Text;
use topotop_model::locale::dialog::fix as text;
use topotop_model::text::{flush_right, padded, printable};

/// Columns of the numbers.
const CELL: usize = 12;
/// Columns of the role, the change and its verdict.
const REST: usize = 6 + 9 + 13;

pub(super) fn lines(cx: &Cx<'_>, doc: &mut Doc, rows: &[Measured], after: &str, width: u16) {
    let name = usize::from(width).saturating_sub(2 * CELL + REST).clamp(12, 56);
    let heads =
        [flush_right(&text::COLUMN_BEFORE, CELL), flush_right(after, CELL), flush_right(&text::COLUMN_CHANGE, 9)];
    let head = " ".repeat(6 + name) + &heads.concat();
    doc.line(vec![(head, Role::Head)]);
    for row in rows {
        let known = metrics::named(&row.metric);
        let label = called(&row.subject, &row.metric);
        let label = printable(&label);
        let measure = known.map_or(Measure::Number, |metric| metric.measure);
        let (before, after) = (cell(cx, row.before, measure), cell(cx, row.after, measure));
        let (word, role) = verdict(row);
        let mut names = wrapped(&label, name.saturating_sub(1) as u16).into_iter();
        let first = names.next().unwrap_or_default();
        let kind = match row.role.as_str() {
            "load" => text::ROLE_LOAD.as_str(),
            "cost" => text::ROLE_COST.as_str(),
            "guard" => text::ROLE_GUARD.as_str(),
            _ => "",
        };
        doc.line(vec![
            (padded(kind, 6), Role::Dim),
            (padded(&first, name), Role::Text),
            (format!("{before:>CELL$}{after:>CELL$}"), Role::Text),
            (flush_right(&change(row), 9), role),
            (format!("  {word}"), role),
        ]);
        for rest in names {
            doc.line(vec![(format!("{:<6}{rest}", ""), Role::Text)]);
        }
    }
}

/// `94k ±2%`: the mean and half the interquartile range.
fn cell(cx: &Cx<'_>, spread: Option<[f64; 3]>, measure: Measure) -> String {
    let Some([mean, low, high]) = spread else { return "?".to_owned() };
    let value = match measure {
        Measure::Share => number::percent(mean).to_string(),
        Measure::Cores => number::cores(mean).to_string(),
        Measure::Bytes => number::bytes(mean).to_string(),
        Measure::BytesPerSecond => format!("{}/s", number::bytes(mean)),
        Measure::PerSecond => format!("{}/s", number::count(mean)),
        Measure::Milliseconds => number::millis(mean).to_string(),
        Measure::Megahertz => number::mhz(mean).to_string(),
        Measure::Count | Measure::Number => number::count(mean).to_string(),
    };
    let half = (high - low).abs() / 2.0;
    let sign = mark::error(cx.charset);
    match (half / mean.abs() * 100.0).round() {
        part if (1.0..1000.0).contains(&part) => format!("{value} {sign}{part}%"),
        _ => value,
    }
}

fn change(row: &Measured) -> String {
    match (row.before, row.after) {
        (Some([before, ..]), Some([after, ..])) if before.abs() > 0.0 => {
            let part = (after / before - 1.0) * 100.0;
            if part.abs() < 1000.0 { format!("{part:+.0}%") } else { format!("{:.0}×", after / before) }
        }
        (Some(_), Some([after, ..])) if after.abs() > 0.0 => text::FROM_ZERO.to_string(),
        _ => String::new(),
    }
}

/// The verdict of a row as a word, for displays without colours.
fn verdict(row: &Measured) -> (Text, Role) {
    match row.verdict.as_str() {
        "improved" => (text::BETTER, Role::Ok),
        "worse" => (text::WORSE, Role::Critical),
        "changed" => (text::CHANGED, Role::Info),
        "no_change" => (text::UNCHANGED, Role::Dim),
        "only_before" => (text::GONE, Role::Info),
        "only_after" => (text::NEW, Role::Info),
        _ if row.before.is_none() || row.after.is_none() => (text::ROW_UNKNOWN, Role::Dim),
        _ => (text::UNCERTAIN, Role::Dim),
    }
}
