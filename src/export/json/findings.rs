//! What was found, and how every rule stands.

use super::value::{Text, object};
use std::sync::Arc;
use topotop_model::judge::{Judgement, Standing};
use topotop_model::rules::{self, Figure};

object! {
    /// One finding.
    pub(crate) Finding {
        rule: &'static str,
        severity: &'static str,
        subject: Text,
        title: Text,
        since: String,
        confidence: f64,
        evidence: Vec<Evidence>,
        children: Vec<&'static str>,
        fixes: Vec<NoFix>,
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
    /// How a rule stands.
    pub(crate) Row {
        rule: &'static str,
        state: &'static str,
        reason: Option<Text>,
        needs: Option<Text>,
    }
}

/// Nothing is offered to be applied.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) enum NoFix {}

impl super::value::Absent for NoFix {}

/// A number or a text.
#[derive(Clone, Debug, serde::Serialize)]
#[serde(untagged)]
pub(crate) enum Value {
    Number(f64),
    Text(Text),
}

impl super::value::Absent for Value {}

pub(crate) fn finding(finding: &rules::Finding) -> Finding {
    let evidence = finding.evidence.iter().map(|evidence| Evidence {
        name: evidence.name,
        value: match &evidence.value {
            Figure::Number(value) => Value::Number(*value),
            Figure::Text(text) => Value::Text(text.into()),
        },
        unit: evidence.unit,
        source: evidence.source,
    });
    Finding {
        rule: finding.rule.id,
        severity: finding.severity.name(),
        subject: text(finding.subject.to_string()),
        title: text(finding.title()),
        since: crate::units::rfc3339(finding.since.wall_ns),
        confidence: finding.confidence,
        evidence: evidence.collect(),
        children: finding.children.iter().map(|child| child.rule.id).collect(),
        fixes: Vec::new(),
    }
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
