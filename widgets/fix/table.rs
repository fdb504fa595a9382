//! Before and after, a row a metric, with how far the values lie apart.

use crate::parts::number;
use crate::parts::pane::Doc;
use crate::parts::severity::wrapped;
use crate::{Charset, Cx, Role};
use topotop_model::diff::{Measure, metrics};
use topotop_model::journal::Measured;
use topotop_model::text::printable;

/// Columns of the numbers.
const CELL: usize = 12;
/// Columns of the role, the change and what is said of it.
const REST: usize = 6 + 9 + 13;

pub(super) fn lines(cx: &Cx<'_>, doc: &mut Doc, rows: &[Measured], after: &str, width: u16) {
    let name = usize::from(width).saturating_sub(2 * CELL + REST).clamp(12, 56);
    let head = format!("{:<6}{:<name$}{:>CELL$}{:>CELL$}{:>9}", "", "", "before", after, "change");
    doc.line(vec![(head, Role::Head)]);
    for row in rows {
        let known = metrics::named(&row.metric);
        let said = format!("{} of {}", known.map_or(row.metric.as_str(), |metric| metric.name.as_str()), row.subject);
        let said = printable(&said);
        let measure = known.map_or(Measure::Number, |metric| metric.measure);
        let (before, after) = (cell(cx, row.before, measure), cell(cx, row.after, measure));
        let (word, role) = verdict(row);
        let mut names = wrapped(&said, name.saturating_sub(1) as u16).into_iter();
        let first = names.next().unwrap_or_default();
        let kind = match row.role.as_str() {
            "shown" => "",
            role => role,
        };
        doc.line(vec![
            (format!("{kind:<6}"), Role::Dim),
            (format!("{first:<name$}"), Role::Text),
            (format!("{before:>CELL$}{after:>CELL$}"), Role::Text),
            (format!("{:>9}", change(row)), role),
            (format!("  {word}"), role),
        ]);
        for rest in names {
            doc.line(vec![(format!("{:<6}{rest}", ""), Role::Text)]);
        }
    }
}

/// `94k ±2%`: the mean, and half of the way between the quarters.
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
    let sign = if cx.charset == Charset::Unicode { "±" } else { "~" };
    match (half / mean.abs() * 100.0).round() {
        part if (1.0..1000.0).contains(&part) => format!("{value} {sign}{part}%"),
        _ => value,
    }
}

fn change(row: &Measured) -> String {
    match (row.before, row.after) {
        (Some([before, ..]), Some([after, ..])) if before.abs() > 0.0 => {
            let part = (after / before - 1.0) * 100.0;
            if part.abs() < 1000.0 { format!("{part:+.0} %") } else { format!("x{:.0}", after / before) }
        }
        (Some(_), Some([after, ..])) if after.abs() > 0.0 => "from 0".to_owned(),
        _ => String::new(),
    }
}

/// The word, so that it is told without colours as well.
fn verdict(row: &Measured) -> (&'static str, Role) {
    match row.verdict.as_str() {
        "improved" => ("better", Role::Ok),
        "worse" => ("worse", Role::Critical),
        "changed" => ("changed", Role::Info),
        "no_change" => ("as before", Role::Dim),
        "only_before" => ("gone", Role::Info),
        "only_after" => ("new", Role::Info),
        _ if row.before.is_none() || row.after.is_none() => ("unknown", Role::Dim),
        _ => ("too early", Role::Dim),
    }
}
