//! META-01: some data is unreadable.

use super::{Finding, Hit, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts};
use crate::locale::evidence;
use crate::locale::rule::unreadable_data as text;
use crate::{Gap, Reason};
use std::collections::BTreeSet;

/// Its id.
pub const ID: RuleId = RuleId::new("META-01");
pub(crate) const GAPS: Threshold = ID.threshold(text::threshold::GAPS, 1.0, "");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    reads: &[],
    sources: &["gaps of every section"],
    thresholds: &[GAPS],
    references: &["capabilities(7)"],
    pace: Pace::CONFIGURED,
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let denied: Vec<&Gap> = context.frame().gaps.iter().filter(|gap| gap.reason == Reason::PermissionDenied).collect();
    if denied.is_empty() || (denied.len() as f64) < context.limit(&GAPS) {
        return;
    }
    let hit = Hit::new(Subject::Host, 1.0)
        .severity(Severity::Info)
        .number(evidence::PATTERNS, denied.len() as f64, "", "gaps")
        .text(evidence::FILES, parts::list(denied.iter().map(|gap| &gap.path), 4), "gaps")
        .text(
            evidence::NEEDS,
            parts::list(
                denied.iter().map(|gap| &gap.needs).filter(|needs| !needs.is_empty()).collect::<BTreeSet<_>>(),
                3,
            ),
            "gaps",
        );
    context.hit(hit);
}

fn title(finding: &Finding) -> String {
    text::Title { files: &finding.text(evidence::FILES), needs: &finding.text(evidence::NEEDS) }.to_string()
}
