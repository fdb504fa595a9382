//! The comparison as a document: `topotop.diff/1`, described by `docs/schema/topotop.diff-1.json`.

use super::{About, Report};
use crate::units;
use serde_json::{Map, Value, json};
use std::io::{self, Write};
use topotop_model::diff::{FactChange, Found, Row, Spread, Verdict};
use topotop_model::recording::RecordedFix;
use topotop_model::text::printable;

/// Name and version of the document; it changes only if a key changes its meaning.
pub(super) const SCHEMA: &str = "topotop.diff/1";

/// Writes the report and a newline.
pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &document(report))?;
    out.write_all(b"\n")
}

fn document(report: &Report) -> Value {
    let comparison = &report.comparison;
    let heads = comparison.heads();
    let changes: Vec<Value> = heads
        .iter()
        .filter_map(|&head| {
            let mut change = row(comparison.rows.get(head)?);
            let below = comparison.under(head);
            let below: Vec<Value> =
                below.iter().filter_map(|&at| comparison.rows.get(at)).map(|part| Value::Object(row(part))).collect();
            change.insert("follows".to_owned(), Value::Array(below));
            Some(Value::Object(change))
        })
        .collect();
    let mut document = json!({
        "schema": SCHEMA,
        "before": side(&report.before),
        "after": side(&report.after),
        "alignment": comparison.alignment.name(),
        "changed": report.is_change(),
        "summary": report.summary(),
        "counts": {
            "settings": comparison.facts.len(),
            "improved": comparison.count(Verdict::Improved),
            "worse": comparison.count(Verdict::Worse),
            "changed": comparison.count(Verdict::Changed),
            "only_before": comparison.count(Verdict::OnlyBefore),
            "only_after": comparison.count(Verdict::OnlyAfter),
            "no_change": comparison.count(Verdict::NoChange),
            "inconclusive": comparison.count(Verdict::Inconclusive),
            "tested": comparison.tested,
        },
        "findings": {
            "gone": findings(&report.findings.gone),
            "new": findings(&report.findings.new),
            "both": findings(&report.findings.both),
            "unknown": findings(&report.findings.unknown),
        },
        "settings": comparison.facts.iter().map(setting).collect::<Vec<Value>>(),
        "changes": changes,
        "irq_settings_moved_by_irqbalance": comparison.moved_irqs,
        "left_out": comparison.left_out,
        "fixes": report.fixes().into_iter().map(fix).collect::<Vec<Value>>(),
    });
    if let Some(document) = document.as_object_mut().filter(|_| report.all) {
        let metrics = comparison.rows.iter().map(|part| Value::Object(row(part))).collect();
        document.insert("metrics".to_owned(), Value::Array(metrics));
    }
    document
}

fn fix((at, told): &(i64, RecordedFix)) -> Value {
    json!({
        "at": units::rfc3339(*at),
        "id": printable(&told.id),
        "title": printable(&told.title),
        "state": <&str>::from(told.state),
    })
}

fn side(about: &About) -> Value {
    json!({
        "file": about.file,
        "host": about.host,
        "kernel": about.kernel,
        "boot_id": about.boot_id,
        "span": about.span,
        "from": units::rfc3339(about.from_wall_ns),
        "to": units::rfc3339(about.to_wall_ns),
        "seconds": about.seconds,
        "samples": about.samples,
        "samples_per_block": about.block,
        "damaged_places": about.damaged,
    })
}

fn findings(list: &[Found]) -> Vec<Value> {
    let finding = |found: &Found| {
        json!({
            "rule": found.rule.id,
            "severity": found.severity.name(),
            "subject": printable(&found.subject),
            "title": printable(&found.title),
            "samples": found.samples,
            "of": found.of,
        })
    };
    list.iter().map(finding).collect()
}

fn setting(fact: &FactChange) -> Value {
    let value = |value: &Option<String>| value.as_deref().map(|text| printable(text).into_owned());
    json!({
        "subject": printable(&fact.subject.to_string()),
        "name": printable(&fact.name),
        "before": value(&fact.before),
        "after": value(&fact.after),
        "changed_within_a_side": fact.within,
    })
}

fn row(row: &Row) -> Map<String, Value> {
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
    put("subject", printable(&row.subject.to_string()).into());
    if let Some(after) = &row.subject_after {
        put("subject_after", printable(&after.to_string()).into());
    }
    put("metric", row.metric.id.into());
    put("name", row.metric.name.english().into());
    put("unit", row.metric.measure.name().into());
    put("better", row.metric.better.name().into());
    put("verdict", row.verdict.name().into());
    for (key, spread) in [("before", row.before), ("after", row.after)] {
        if let Some(spread) = spread {
            put(key, values(spread));
        }
    }
    if row.verdict != Verdict::Inconclusive {
        put("shift", row.shift.into());
        put("floor", row.floor.into());
        put("weight", row.weight.into());
        // What varied too little to be tested has neither.
        if row.p < 1.0 {
            put("standard_error", row.error.into());
            put("p", row.p.into());
        }
    }
    object
}

fn values(spread: Spread) -> Value {
    json!({
        "median": spread.median,
        "low_quartile": spread.low,
        "high_quartile": spread.high,
        "mean": spread.mean,
        "samples": spread.samples,
    })
}
