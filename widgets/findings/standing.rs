//! Every rule and how it stands: firing, not checked and why, quiet.

use crate::parts::severity;
use crate::parts::table::{Column, Identity, Key, Width, matches};
use crate::{Cx, Role};
use topotop_model::judge::Standing;
use topotop_model::locale::screen::findings as text;
use topotop_model::locale::{Text, join, pair};
use topotop_model::rules::{Rule, RuleId, Severity, Subject, Unchecked};
use topotop_model::text::printable;

pub(super) const IDENTITY: Identity<usize, RuleId> = Identity {
    of: |cx, row| cx.judgement.rules.get(row).map(|row| row.0.id),
    is: |cx, row, id| cx.judgement.rules.get(row).is_some_and(|row| row.0.id == *id),
    subject: |_| None,
    from: |_| None,
};

/// The rules that the filter lets through: what fires, then what could not be checked, then what is quiet.
pub(super) fn rows(cx: &Cx<'_>) -> Vec<usize> {
    let passes = |(rule, standing): &(&'static Rule, Standing)| {
        cx.filter.is_empty()
            || matches(cx.filter, rule.id.as_str())
            || matches(cx.filter, rule.name.as_str())
            || matches(cx.filter, &word(standing))
            || why(standing).is_some_and(|(reason, needs)| matches(cx.filter, &reason) || matches(cx.filter, &needs))
    };
    let all = cx.judgement.rules.iter().enumerate();
    let mut rows: Vec<usize> = all.filter(|(_, row)| passes(row)).map(|(at, _)| at).collect();
    rows.sort_by_key(|&row| rank(cx, row));
    rows
}

fn rank(cx: &Cx<'_>, row: usize) -> u8 {
    match cx.judgement.rules.get(row).map(|row| &row.1) {
        Some(Standing::Firing) => 0,
        Some(Standing::NotChecked(_)) => 1,
        Some(Standing::Quiet) | None => 2,
    }
}

fn word(standing: &Standing) -> Text {
    match standing {
        Standing::Firing => text::FIRING,
        Standing::NotChecked(_) => text::NOT_CHECKED,
        Standing::Quiet => text::QUIET,
    }
}

/// Why a rule could not look, and what would let it; harmless.
pub(super) fn why(standing: &Standing) -> Option<(String, String)> {
    let Standing::NotChecked(unchecked) = standing else { return None };
    let joined = |part: fn(&Unchecked) -> String| {
        let mut parts: Vec<String> = unchecked.iter().map(part).filter(|part| !part.is_empty()).collect();
        parts.dedup();
        printable(&parts.join(&join::CLAUSES)).into_owned()
    };
    let reason = |unchecked: &Unchecked| match unchecked.subject {
        Subject::Host => unchecked.shown_reason().into_owned(),
        _ => pair(&unchecked.subject, unchecked.shown_reason()),
    };
    Some((joined(reason), joined(|unchecked| unchecked.shown_needs().into_owned())))
}

/// The worst that a rule found.
fn worst(cx: &Cx<'_>, rule: &str) -> Option<Severity> {
    severity::all(cx.judgement).filter(|finding| finding.rule.id == rule).map(|finding| finding.severity).max()
}

pub(super) static COLUMNS: &[Column<usize>] = &[
    Column::left(
        text::RULE_HEAD,
        0,
        |_| Width::fixed(8),
        |cx, row: usize, pen| {
            if let Some((rule, standing)) = cx.judgement.rules.get(row) {
                pen.text(if *standing == Standing::Quiet { Role::Dim } else { Role::Text }, rule.id.as_str());
            }
        },
    )
    .lowest(|cx, row: usize| cx.judgement.rules.get(row).map_or(Key::None, |row| Key::Text(row.0.id.as_str()))),
    Column::left(
        text::STATE_HEAD,
        0,
        |_| Width::fixed(13),
        |cx, row: usize, pen| {
            let Some((rule, standing)) = cx.judgement.rules.get(row) else { return };
            match (standing, worst(cx, rule.id.as_str())) {
                (Standing::Firing, worst) => {
                    let severity = worst.unwrap_or_default();
                    pen.severity(severity).skip(1).text(severity::role(severity), &word(standing));
                }
                (Standing::NotChecked(_), _) => {
                    pen.text(Role::Denied, "? ").text(Role::Denied, &word(standing));
                }
                (Standing::Quiet, _) => {
                    pen.text(Role::Ok, severity::fine(cx.charset)).skip(1).text(Role::Dim, &word(standing));
                }
            }
        },
    )
    .lowest(|cx, row: usize| Key::Number(f64::from(rank(cx, row)))),
    Column::left(
        text::RULE_NAME_HEAD,
        0,
        |_| Width::flex(24, 50, 3),
        |cx, row: usize, pen| {
            let Some((rule, standing)) = cx.judgement.rules.get(row) else { return };
            match why(standing) {
                Some((reason, _)) => pen.text(Role::Text, &reason),
                None => pen.text(if *standing == Standing::Quiet { Role::Dim } else { Role::Text }, rule.name.as_str()),
            };
        },
    ),
    Column::left(
        text::NEEDS_HEAD,
        2,
        |cx| {
            let needs = cx.judgement.rules.iter().filter_map(|row| why(&row.1)).any(|(_, needs)| !needs.is_empty());
            if needs { Width::flex(18, 26, 1) } else { Width::HIDDEN }
        },
        |cx, row: usize, pen| {
            if let Some((_, needs)) = cx.judgement.rules.get(row).and_then(|row| why(&row.1)) {
                pen.text(Role::Info, &needs);
            }
        },
    ),
];
