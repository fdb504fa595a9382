//! META-01: something could not be looked at.

use super::{Finding, Hit, Look, Pace, Rule, Severity, Subject, Threshold, parts};
use crate::{Gap, Reason};
use std::collections::BTreeSet;

pub(super) const RULE: Rule = Rule {
    id: "META-01",
    name: "parts of the machine could not be looked at",
    why: "No finding means nothing where nobody looked. What was not readable is told, and what would change that.",
    reads: &[],
    looks_at: &["gaps of every section"],
    thresholds: &[
        Threshold { name: "gaps", value: 1.0, unit: "", about: "patterns that were denied" },
    ],
    guards: &["files that this kernel does not have: they are in the list of gaps only"],
    advice: &["Run as root, or with the capabilities that the gaps name"],
    references: &["capabilities(7)"],
    pace: Pace::CONFIGURED,
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let denied: Vec<&Gap> = look.frame().gaps.iter().filter(|gap| gap.reason == Reason::PermissionDenied).collect();
    if denied.is_empty() || (denied.len() as f64) < look.limit("gaps") {
        return;
    }
    let hit = Hit::new(Subject::Host, 1.0)
        .severity(Severity::Info)
        .number("patterns", denied.len() as f64, "", "gaps")
        .text("files", parts::list(denied.iter().map(|gap| &gap.path), 4), "gaps")
        .text("needs", parts::list(denied.iter().map(|gap| &gap.needs).filter(|needs| !needs.is_empty()).collect::<BTreeSet<_>>(), 3), "gaps");
    look.hit(hit);
}

fn title(finding: &Finding) -> String {
    format!("not readable: {}; needs {}", finding.text("files"), finding.text("needs"))
}
