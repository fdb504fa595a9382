//! Findings and rules.

use super::resources::Resource;
use super::{OrNull, absent, lines, safe};
use crate::bottleneck::{Resources, Verdict, exclusions};
use crate::fix::{Offered, Risk};
use crate::judge::{Judgement, Standing};
use crate::rules::{self, Figure, RuleId, Severity, Unchecked};
use serde::Serialize;
use serde_with::apply;

/// One finding.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Finding {
    rule: RuleId,
    severity: Severity,
    /// What it is about: `nic:eth0`, `cpu:17`, `host`.
    subject: String,
    title: String,
    /// The first sample that met the condition: RFC 3339, UTC.
    since: String,
    /// 0 to 1.
    confidence: f64,
    /// Values that it is based on.
    evidence: Vec<Evidence>,
    /// Small tables that it is based on: channels, CPUs by instance, CPU and memory by node.
    tables: Vec<Table>,
    /// Rules whose findings are grouped below it.
    children: Vec<RuleId>,
    /// Other measured resources that are not the limit.
    has_headroom: Vec<Resource>,
    /// What can be done about it.
    fixes: Vec<Fix>,
}

/// A value that a finding is based on.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Evidence {
    name: &'static str,
    value: Cell,
    unit: &'static str,
    /// The file that it comes from.
    source: &'static str,
}

/// A table that a finding is based on.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Table {
    name: &'static str,
    source: &'static str,
    columns: Vec<Column>,
    rows: Vec<TableRow>,
}

/// What the cells below it are.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Column {
    name: String,
    unit: &'static str,
}

/// A row: as many cells as there are columns.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct TableRow {
    name: String,
    cells: Vec<Cell>,
}

/// A value: null is not applicable; the text ? was not read.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Cell {
    /// Not applicable.
    None,
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}

#[cfg(test)]
impl schemars::JsonSchema for Cell {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Cell".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": ["number", "string", "null"],
            "description": "A number or a string; null means not applicable, the string ? means not read.",
            "x-null": true,
        })
    }
}

/// State of a rule.
#[apply(_ => #[serde(skip_serializing_if = "absent")])]
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RuleState {
    rule: RuleId,
    /// `quiet`, `firing` or `not_checked`.
    state: &'static str,
    /// Why it was not checked.
    reason: Option<String>,
    /// What the check requires.
    needs: Option<String>,
}

/// An available fix.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Fix {
    /// RULE/SUBJECT/FIX, the subject percent-encoded.
    id: String,
    title: String,
    /// The equivalent command, or the text of the advice.
    command: String,
    risk: Risk,
    /// False for advice.
    executable: bool,
    /// How to make it persistent.
    persistent: OrNull<String>,
}

/// A finding, with the resources beside it that have headroom, its fixes and the time since when it holds.
pub fn finding(finding: &rules::Finding, since: String, resources: Option<&Resources>, fixes: &[Offered]) -> Finding {
    let beside = resources.map(|resources| exclusions(finding, resources)).unwrap_or_default();
    let beside = beside.into_iter().filter(|resource| resource.verdict != Verdict::Unknown);
    let evidence = finding.evidence.iter().filter_map(|evidence| {
        let value = match &evidence.value {
            Figure::Number(value) => Cell::Number(*value),
            Figure::Text(text) => Cell::Text(safe(text)),
            Figure::Table(_) => return None,
        };
        Some(Evidence { name: evidence.name, value, unit: evidence.unit, source: evidence.source })
    });
    Finding {
        rule: finding.rule.id,
        severity: finding.severity,
        subject: safe(finding.subject.to_string()),
        title: safe(finding.title()),
        since,
        confidence: finding.confidence,
        evidence: evidence.collect(),
        tables: finding.tables().map(table).collect(),
        children: finding.children.iter().map(|child| child.rule.id).collect(),
        has_headroom: beside.map(Resource::from).collect(),
        fixes: fixes.iter().map(fix).collect(),
    }
}

pub(super) fn fix(fix: &Offered) -> Fix {
    Fix {
        id: safe(&fix.id),
        title: safe(&fix.title),
        command: lines(&fix.command),
        risk: fix.risk,
        executable: fix.executable,
        persistent: OrNull(fix.persistent.as_deref().map(lines)),
    }
}

fn table((name, grid, source): (&'static str, &rules::Grid, &'static str)) -> Table {
    let cell = |cell: &rules::Cell| match cell {
        rules::Cell::Unknown => Cell::Text("?".to_owned()),
        rules::Cell::None => Cell::None,
        rules::Cell::Number(value) => Cell::Number(*value),
        rules::Cell::Text(text) => Cell::Text(safe(text)),
    };
    let columns = grid.columns.iter().map(|column| Column { name: safe(&column.name), unit: column.unit });
    let rows =
        grid.rows.iter().map(|(name, cells)| TableRow { name: safe(name), cells: cells.iter().map(cell).collect() });
    Table { name, source, columns: columns.collect(), rows: rows.collect() }
}

/// How every rule stands.
pub fn rules(judgement: &Judgement) -> Vec<RuleState> {
    let row = |(rule, standing): &(&'static rules::Rule, Standing)| {
        let (state, unchecked) = match standing {
            Standing::Quiet => ("quiet", None),
            Standing::Firing => ("firing", None),
            Standing::NotChecked(unchecked) => ("not_checked", Some(unchecked)),
        };
        let all = |part: fn(&Unchecked) -> String| {
            let mut parts: Vec<String> = unchecked?.iter().map(part).filter(|part| !part.is_empty()).collect();
            parts.dedup();
            (!parts.is_empty()).then(|| safe(parts.join("; ")))
        };
        RuleState {
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
