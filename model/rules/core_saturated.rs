//! CPU-01: one core is saturated and tasks wait for it, while the others are idle.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts};
use crate::bottleneck::ResourceKind;
use crate::frame::Frame;
use crate::locale::evidence;
use crate::locale::rule::core_saturated as text;
use std::collections::BTreeMap;

/// The id of the rule.
pub const ID: RuleId = RuleId::new("CPU-01");
pub(crate) const BUSY: Threshold = ID.threshold(text::threshold::BUSY, 0.95, "fraction");
pub(crate) const OTHERS: Threshold = ID.threshold(text::threshold::OTHERS, 0.4, "fraction");
pub(crate) const TOTAL: Threshold = ID.threshold(text::threshold::TOTAL, 0.6, "fraction");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 0.85, "fraction");
pub(crate) const EXIT_OTHERS: Threshold = ID.threshold(text::threshold::EXIT_OTHERS, 0.55, "fraction");
pub(crate) const WAIT: Threshold = ID.threshold(text::threshold::WAIT, 0.2, "fraction");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Core],
    needs_load: true,
    reads: &[Input::CpuTimes, Input::Processes],
    sources: &["/proc/stat", "/proc/PID/schedstat"],
    thresholds: &[BUSY, OTHERS, TOTAL, EXIT, EXIT_OTHERS, WAIT],
    references: &["proc(5)", "Documentation/accounting/psi.rst"],
    pace: Pace::USUAL,
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let count = context.cpu_count();
    if count < 2 {
        return;
    }
    let total = context.cpus().map(|(_, shares)| shares.busy).sum::<f64>() / count as f64;
    let exit = context.limit(&EXIT);
    let hot_cpus: Vec<_> = context.against_others(|shares| shares.busy).filter(|(_, busy, _)| *busy >= exit).collect();
    let (frame, min_wait) = (context.frame(), context.limit(&WAIT));
    let (mut saturated, mut by_cpu, mut hits) = (0, None, Vec::new());
    for (cpu, _, others) in hot_cpus {
        let Some(shares) = cpu.shares.filter(|_| others <= context.limit(&EXIT_OTHERS)) else { continue };
        let subject = Subject::Cpu(cpu.id);
        let interrupts = shares.softirq + shares.irq;
        let waits = by_cpu.get_or_insert_with(|| waiting_by_cpu(frame, min_wait));
        let waiting = waits.get(&cpu.id).map_or(&[][..], Vec::as_slice);
        let known = waits.contains_key(&cpu.id);
        if !known && interrupts < 0.5 {
            context.unchecked(subject, &text::UNCHECKED_WAIT, "CONFIG_SCHED_INFO (schedstat)");
            continue;
        }
        if waiting.is_empty() && interrupts < 0.5 {
            continue;
        }
        let enters =
            shares.busy >= context.limit(&BUSY) && others <= context.limit(&OTHERS) && total <= context.limit(&TOTAL);
        saturated += usize::from(enters);
        let hit = Hit::new(subject, 0.8)
            .enters(enters)
            .number(evidence::BUSY, shares.busy, "fraction", "/proc/stat")
            .number(evidence::OTHERS, others, "fraction", "/proc/stat")
            .number(evidence::USER, shares.user, "fraction", "/proc/stat")
            .number(evidence::SYSTEM, shares.system, "fraction", "/proc/stat")
            .number(evidence::SOFTIRQ, interrupts, "fraction", "/proc/stat")
            .text(evidence::WAITING, parts::list(waiting, 4), "/proc/PID/schedstat");
        hits.push(hit);
    }
    // Each of several is as bad as the others.
    let severity = if saturated >= 2 { Severity::Critical } else { Severity::Warning };
    for hit in hits {
        context.hit(hit.severity(severity));
    }
}

/// Tasks that waited, by the CPU they ran on last; a CPU without an entry has no task with a known wait time.
fn waiting_by_cpu(frame: &Frame, min_wait: f64) -> BTreeMap<u32, Vec<String>> {
    let mut by_cpu: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    let mut waits: Vec<(u32, f64)> = Vec::new();
    for process in &frame.processes {
        let threads = frame.threads_of(process.pid);
        let single = process.threads.value().is_none_or(|threads| threads <= 1) || threads.is_empty();
        waits.clear();
        if single && process.cpu_cores.is_some_and(|cores| cores >= 0.05) {
            waits.extend(process.last_cpu.value().zip(process.wait_share));
        }
        let busy = threads.iter().filter(|thread| thread.cpu_cores.is_some_and(|cores| cores >= 0.05));
        waits.extend(busy.filter_map(|thread| thread.last_cpu.value().zip(thread.wait_share)));
        waits.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        waits.dedup_by_key(|wait| wait.0);
        for (cpu, wait) in &waits {
            let waiting = by_cpu.entry(*cpu).or_default();
            if *wait >= min_wait {
                waiting.push(format!("{} ({}) {}", process.comm, process.pid, parts::percent(Some(*wait))));
            }
        }
    }
    by_cpu
}

fn title(finding: &Finding) -> String {
    let percent = |name| parts::percent(finding.number(name));
    text::Title {
        subject: &finding.subject.named(),
        busy: &percent(evidence::BUSY),
        others: &percent(evidence::OTHERS),
    }
    .to_string()
}
