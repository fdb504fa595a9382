//! What was found, and how every rule stands.

use super::value::{Lines, Text, object};
use std::sync::Arc;
use topotop_model::Known;
use topotop_model::bottleneck::{Resources, Verdict, exclusions};
use topotop_model::fix::Offered;
use topotop_model::judge::{Judgement, Standing};
use topotop_model::rules::RuleId;
use topotop_model::rules::{self, Figure};

object! {
    /// One finding.
    pub(crate) Finding {
        rule: RuleId,
        severity: &'static str,
        subject: Text,
        title: Text,
        since: String,
        confidence: f64,
        evidence: Vec<Evidence>,
        tables: Vec<Table>,
        children: Vec<&'static str>,
        has_headroom: Vec<super::resources::Resource>,
        fixes: Vec<Fix>,
    }
}

object! {
    /// A number that it rests on.
    pub(crate) Evidence {
        name: &'static str,
        value: Value,
        unit: &'static str,
        source: &'static str,
    }
}

object! {
    /// A small table that it rests on.
    pub(crate) Table {
        name: &'static str,
        source: &'static str,
        columns: Vec<Column>,
        rows: Vec<TableRow>,
    }
}

object! {
    /// What the cells below it are.
    pub(crate) Column {
        name: Text,
        unit: &'static str,
    }
}

object! {
    /// A row: as many cells as there are columns.
    pub(crate) TableRow {
        name: Text,
        cells: Vec<Cell>,
    }
}

/// A cell: what was not read is the text `?`, so that a row stays as wide as the others.
#[derive(Clone, Debug, serde::Serialize)]
#[serde(untagged)]
pub(crate) enum Cell {
    Absent(Option<()>),
    Number(f64),
    Text(Text),
}

object! {
    /// How a rule stands.
    pub(crate) Row {
        rule: RuleId,
        state: &'static str,
        reason: Option<Text>,
        needs: Option<Text>,
    }
}

object! {
    /// What can be done about it.
    pub(crate) Fix {
        id: Text,
        title: Text,
        command: Lines,
        risk: &'static str,
        executable: bool,
        persistent: Known<Lines>,
    }
}

/// A number or a text.
#[derive(Clone, Debug, serde::Serialize)]
#[serde(untagged)]
pub(crate) enum Value {
    Number(f64),
    Text(Text),
}

impl super::value::Absent for Value {}

/// A finding; with what is has headroom beside it where the resources are known, and what can be done about it.
pub(crate) fn finding(finding: &rules::Finding, resources: Option<&Resources>, fixes: &[Offered]) -> Finding {
    let beside = resources.map(|resources| exclusions(finding, resources)).unwrap_or_default();
    let beside = beside.into_iter().filter(|resource| resource.verdict == Verdict::HasHeadroom);
    let evidence = finding.evidence.iter().filter_map(|evidence| {
        let value = match &evidence.value {
            Figure::Number(value) => Value::Number(*value),
            Figure::Text(text) => Value::Text(text.into()),
            Figure::Table(_) => return None,
        };
        Some(Evidence { name: evidence.name, value, unit: evidence.unit, source: evidence.source })
    });
    Finding {
        rule: finding.rule.id,
        severity: finding.severity.name(),
        subject: text(finding.subject.to_string()),
        title: text(finding.title()),
        since: crate::units::rfc3339(finding.since.wall_ns),
        confidence: finding.confidence,
        evidence: evidence.collect(),
        tables: finding.tables().map(table).collect(),
        children: finding.children.iter().map(|child| child.rule.id.as_str()).collect(),
        has_headroom: beside.map(super::resources::resource).collect(),
        fixes: fixes.iter().map(fix).collect(),
    }
}

fn fix(fix: &Offered) -> Fix {
    Fix {
        id: text(fix.id.clone()),
        title: text(fix.title.clone()),
        command: Lines(fix.command.clone()),
        risk: fix.risk.name(),
        executable: fix.executable,
        persistent: Known::or_none(fix.persistent.clone().map(Lines)),
    }
}

fn table((name, grid, source): (&'static str, &rules::Grid, &'static str)) -> Table {
    let cell = |cell: &rules::Cell| match cell {
        rules::Cell::Unknown => Cell::Text("?".into()),
        rules::Cell::None => Cell::Absent(None),
        rules::Cell::Number(value) => Cell::Number(*value),
        rules::Cell::Text(text) => Cell::Text(text.into()),
    };
    let columns = grid.columns.iter().map(|column| Column { name: (&column.name).into(), unit: column.unit });
    let row = |(name, cells): &(Arc<str>, Vec<rules::Cell>)| TableRow {
        name: name.into(),
        cells: cells.iter().map(cell).collect(),
    };
    Table { name, source, columns: columns.collect(), rows: grid.rows.iter().map(row).collect() }
}

pub(crate) fn rules(judgement: &Judgement) -> Vec<Row> {
    let row = |(rule, standing): &(&'static rules::Rule, Standing)| {
        let (state, unchecked) = match standing {
            Standing::Quiet => ("quiet", None),
            Standing::Firing => ("firing", None),
            Standing::NotChecked(unchecked) => ("not_checked", Some(unchecked)),
        };
        let all = |part: fn(&rules::Unchecked) -> String| {
            let mut parts: Vec<String> = unchecked?.iter().map(part).filter(|part| !part.is_empty()).collect();
            parts.dedup();
            (!parts.is_empty()).then(|| text(parts.join("; ")))
        };
        Row {
            rule: rule.id,
            state,
            reason: all(|unchecked| match unchecked.subject {
                rules::Subject::Host => unchecked.reason.clone(),
                _ => format!("{}: {}", unchecked.subject, unchecked.reason),
            }),
            needs: all(|unchecked| unchecked.needs.clone()),
        }
    };
    judgement.rules.iter().map(row).collect()
}

fn text(text: String) -> Text {
    Text::from(&Arc::<str>::from(text))
}
