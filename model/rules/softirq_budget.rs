//! NIC-03: a CPU exhausts its packet budget.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts};
use crate::bottleneck::ResourceKind;
use crate::locale::evidence;
use crate::locale::rule::softirq_budget as text;

/// The id of the rule.
pub const ID: RuleId = RuleId::new("NIC-03");
pub(crate) const SQUEEZED: Threshold = ID.threshold(text::threshold::SQUEEZED, 10.0, "1/s");
pub(crate) const SHARE: Threshold = ID.threshold(text::threshold::SHARE, 0.01, "fraction");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Softirq],
    reads: &[Input::Softnet],
    sources: &["/proc/net/softnet_stat", "/proc/softirqs"],
    thresholds: &[SQUEEZED, SHARE],
    references: &["Documentation/admin-guide/sysctl/net.rst"],
    pace: Pace::QUICK,
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    let hot = parts::hot_cpus(context);
    for row in &frame.softnet {
        let Some(squeezed) = row.time_squeeze_per_second.filter(|rate| *rate >= context.limit(&SQUEEZED)) else {
            continue;
        };
        let net_rx = frame.softirqs.iter().find(|softirq| &*softirq.name == "NET_RX");
        let rounds = net_rx.and_then(|counts| counts.per_cpu_per_second.iter().find(|(cpu, _)| *cpu == row.cpu));
        if rounds.is_some_and(|(_, rounds)| squeezed < context.limit(&SHARE) * rounds) {
            continue;
        }
        let saturated = hot.iter().any(|hot| hot.enters && hot.id == row.cpu);
        let hit = Hit::new(Subject::Cpu(row.cpu), 0.7)
            .severity(if saturated { Severity::Warning } else { Severity::Info })
            .number(evidence::SQUEEZED, squeezed, "1/s", "/proc/net/softnet_stat")
            .known(evidence::ROUNDS, rounds.map(|(_, rounds)| *rounds), "1/s", "/proc/softirqs");
        context.hit(hit);
    }
}

fn title(finding: &Finding) -> String {
    text::Title { subject: &finding.subject.named(), squeezed: &parts::count(finding.number(evidence::SQUEEZED)) }
        .to_string()
}
