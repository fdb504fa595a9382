//! META-02: topotop itself costs too much.

use super::{Finding, Hit, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts};
use crate::locale::evidence;
use crate::locale::rule::monitor_cost as text;

/// Its id.
pub const ID: RuleId = RuleId::new("META-02");
pub(crate) const CPU: Threshold = ID.threshold(text::threshold::CPU, 0.03, "cores");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 0.02, "cores");
pub(crate) const ANSWER: Threshold = ID.threshold(text::threshold::ANSWER, 100.0, "ms");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    reads: &[],
    sources: &["own CPU time", "duration of memory-by-node queries"],
    thresholds: &[CPU, EXIT, ANSWER],
    references: &["topotop(1), --interval"],
    pace: Pace { enter: 20, of: 25, ..Pace::USUAL },
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let cost = &context.frame().cost;
    let Some(cores) = cost.cpu_cores else {
        context.unchecked(Subject::Host, &text::UNMEASURED, "");
        return;
    };
    let slow = cost.memory_answer_ms.filter(|ms| *ms >= context.limit(&ANSWER));
    if cores < context.limit(&EXIT) && slow.is_none() {
        return;
    }
    let costliest = cost.collectors.iter().max_by(|a, b| a.took_ms.total_cmp(&b.took_ms));
    let mut hit = Hit::new(Subject::Host, 0.9)
        .enters(cores >= context.limit(&CPU) || slow.is_some())
        .severity(Severity::Info)
        .number(evidence::CPU, cores, "fraction", "CLOCK_PROCESS_CPUTIME_ID")
        .known(evidence::SAMPLE, cost.sample_ms, "ms", "CLOCK_MONOTONIC")
        .known(evidence::ANSWER, slow, "ms", "move_pages, numa_maps");
    if let Some(costliest) = costliest {
        hit = hit.text(
            evidence::COSTLIEST_PART,
            format!("{} {:.1} ms", costliest.name, costliest.took_ms),
            "CLOCK_MONOTONIC",
        );
    }
    context.hit(hit);
}

fn title(finding: &Finding) -> String {
    let cpu = &parts::percent(finding.number(evidence::CPU));
    match finding.number(evidence::ANSWER) {
        Some(ms) => text::TitleQuery { cpu, time: &format!("{ms:.0}") }.to_string(),
        None => text::Title { cpu, part: &finding.text(evidence::COSTLIEST_PART) }.to_string(),
    }
}
