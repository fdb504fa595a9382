//! CPU-09: the host of a virtual machine takes CPU time away (steal).

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Subject, Threshold, parts};
use super::{core_saturated, pinned_threads};
use crate::bottleneck::ResourceKind;
use crate::locale::evidence;
use crate::locale::rule::steal_time as text;

/// The id of the rule.
pub const ID: RuleId = RuleId::new("CPU-09");
pub(crate) const STEAL: Threshold = ID.threshold(text::threshold::STEAL, 0.1, "fraction");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 0.05, "fraction");
pub(crate) const WINDOW: Threshold = ID.threshold(text::threshold::WINDOW, 60.0, "s");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Core],
    reads: &[Input::CpuTimes],
    sources: &["/proc/stat"],
    thresholds: &[STEAL, EXIT, WINDOW],
    references: &["proc_stat(5)", "Documentation/virt/kvm/x86/msr.rst"],
    pace: Pace { enter: 3, of: 5, exit: 5, latch_seconds: 0, warm_up: 10, at_once: false },
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    let stolen: Vec<(u32, f64)> =
        frame.cpus.iter().filter(|cpu| cpu.online).filter_map(|cpu| Some((cpu.id, cpu.shares?.steal))).collect();
    if stolen.is_empty() {
        return;
    }
    if frame.host.reports_steal == Some(false) {
        context.unchecked(Subject::Host, &text::UNCHECKED_STEAL, "Linux 2.6.11");
        return;
    }
    let now = stolen.iter().map(|(_, share)| share).sum::<f64>() / stolen.len() as f64;
    let series = context.remember(&Subject::Host, now);
    let newest = series.last().map_or(0.0, |(at, _)| *at);
    let window: Vec<f64> =
        series.iter().filter(|(at, _)| newest - at <= context.limit(&WINDOW)).map(|(_, share)| *share).collect();
    let mean = window.iter().sum::<f64>() / window.len().max(1) as f64;
    // Fewer samples are a burst.
    if mean < context.limit(&EXIT) || window.len() < 8 {
        return;
    }
    let mut hit = Hit::new(Subject::Host, 0.9)
        .enters(mean >= context.limit(&STEAL))
        .number(evidence::STEAL, mean, "fraction", "/proc/stat")
        .number(evidence::NOW, now, "fraction", "/proc/stat")
        .number(evidence::SAMPLES, window.len() as f64, "", "/proc/stat");
    let worst = stolen.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((cpu, share)) = worst {
        hit = hit.number(evidence::WORST, *share, "fraction", "/proc/stat").number(
            evidence::WORST_CPU,
            f64::from(*cpu),
            "",
            "/proc/stat",
        );
    }
    for (cpu, _) in stolen.iter().filter(|(_, share)| *share >= context.limit(&EXIT)) {
        hit = hit.covers(core_saturated::ID, Subject::Cpu(*cpu)).covers(pinned_threads::ID, Subject::Cpu(*cpu));
    }
    context.hit(hit);
}

fn title(finding: &Finding) -> String {
    let percent = |name| parts::percent(finding.number(name));
    let cpu = parts::count(finding.number(evidence::WORST_CPU));
    text::Title { steal: &percent(evidence::STEAL), worst: &percent(evidence::WORST), cpu: &cpu }.to_string()
}
