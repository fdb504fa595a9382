//! Findings as rows: each cause with its effects under it.

use crate::parts::severity;
use crate::parts::table::{Identity, Table, matches};
use crate::{Cx, Subject};
use topotop_model::rules::{Finding, RuleId};

/// A row: which finding of all, and how deep it lies under its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) at: usize,
    pub(super) depth: u16,
}

/// A rule and what it is about: a finding, whatever its place.
pub(super) type Id = (RuleId, Subject);

pub(super) const IDENTITY: Identity<Row, Id> = Identity {
    of: |cx, row| get(cx, row).map(|finding| (finding.rule.id, finding.subject.clone())),
    is: |cx, row, id| get(cx, row).is_some_and(|finding| finding.rule.id == id.0 && finding.subject == id.1),
    subject: |id| Some(id.1.clone()),
    // Several findings may be about one subject: the panel picks the worst of them itself.
    from: |_| None,
};

/// The finding of a row.
pub(super) fn get<'a>(cx: &Cx<'a>, row: Row) -> Option<&'a Finding> {
    severity::all(cx.judgement).nth(row.at)
}

/// A number that changes when a judgement of the same frame does.
pub(super) fn variant(cx: &Cx<'_>) -> u64 {
    let (all, rules) = (severity::all(cx.judgement).count() as u64, cx.judgement.rules.len() as u64);
    all * 4096 + rules * 4 + cx.judgement.basis as u64
}

/// The rows that the filter lets through, in the table's order, and how many there are without it.
pub(super) fn rows(cx: &Cx<'_>, table: &Table<Row, Id>) -> (Vec<Row>, usize) {
    let mut at = 0;
    let mut families: Vec<(Row, Vec<Row>)> = Vec::new();
    for finding in &cx.judgement.findings {
        let mut family = Vec::new();
        let shown = add(cx, finding, 0, &mut at, &mut family);
        if let Some((first, rest)) = family.split_first().filter(|_| shown) {
            families.push((*first, rest.to_vec()));
        }
    }
    let mut causes: Vec<Row> = families.iter().map(|family| family.0).collect();
    table.sort_rows(cx, &mut causes);
    let mut rows = Vec::with_capacity(at);
    for cause in causes {
        rows.push(cause);
        rows.extend(families.iter().filter(|family| family.0 == cause).flat_map(|family| family.1.iter().copied()));
    }
    (rows, at)
}

/// Adds a finding with its effects; true if the filter lets one of them through.
fn add(cx: &Cx<'_>, finding: &Finding, depth: u16, at: &mut usize, rows: &mut Vec<Row>) -> bool {
    rows.push(Row { at: *at, depth });
    *at += 1;
    let mut shown = passes(cx, finding);
    for child in &finding.children {
        shown |= add(cx, child, depth + 1, at, rows);
    }
    shown
}

fn passes(cx: &Cx<'_>, finding: &Finding) -> bool {
    let filter = cx.filter;
    filter.is_empty()
        || matches(filter, finding.rule.id.as_str())
        || matches(filter, &finding.title())
        || matches(filter, &finding.subject.to_string())
        || matches(filter, &severity::label(finding.severity))
}
