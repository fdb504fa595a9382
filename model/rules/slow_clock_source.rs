//! CPU-11: programs read the time from a slow clock source.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts};
use crate::bottleneck::ResourceKind;
use crate::frame::{CpuShares, Frame};
use crate::locale::evidence;
use crate::locale::rule::slow_clock_source as text;
use std::sync::Arc;

/// Its id.
pub const ID: RuleId = RuleId::new("CPU-11");
pub(crate) const SYSTEM: Threshold = ID.threshold(text::threshold::SYSTEM, 0.3, "fraction");
pub(crate) const BUSY: Threshold = ID.threshold(text::threshold::BUSY, 0.5, "cores");

/// Clock sources that the vDSO cannot read: each reading is a system call, and a register outside of the CPU.
const SLOW: [&str; 5] = ["hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies"];
/// Those that it can, the best first.
const FAST: [&str; 4] = ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"];

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |finding| match finding.severity {
        Severity::Info => &[],
        _ => &[ResourceKind::Cpus, ResourceKind::Core, ResourceKind::Thread],
    },
    needs_load: true,
    reads: &[Input::CpuTimes],
    sources: &["/sys/devices/system/clocksource/clocksource0/*", "/proc/stat"],
    thresholds: &[SYSTEM, BUSY],
    references: &["Documentation/virt/kvm/x86/timekeeping.rst", "vdso(7)"],
    pace: Pace::USUAL,
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    let source = &frame.host.clock_source;
    if !SLOW.contains(&&**source) {
        return;
    }
    let of = |part: fn(&CpuShares) -> f64| -> f64 {
        frame.cpus.iter().filter_map(|cpu| cpu.shares).map(|shares| part(&shares)).sum()
    };
    let (busy, system) = (of(|shares| shares.busy), of(|shares| shares.system));
    let share = if busy > 0.0 { system / busy } else { 0.0 };
    // Readings are not counted anywhere: much kernel time is what many of them look like.
    let hurts = busy >= context.limit(&BUSY) && share >= context.limit(&SYSTEM);
    let hit = Hit::new(Subject::Host, if hurts { 0.6 } else { 0.9 })
        .severity(if hurts { Severity::Warning } else { Severity::Info })
        .text(evidence::CLOCK_SOURCE, Arc::clone(source), "current_clocksource")
        .some_text(evidence::FASTER_CLOCK_SOURCE, faster(frame).unwrap_or_default(), "available_clocksource")
        .number(evidence::SYSTEM_SHARE, share, "fraction", "/proc/stat");
    context.hit(hit);
}

/// The fastest clock source that the kernel offers instead; none where each is slow.
pub(crate) fn faster(frame: &Frame) -> Option<&'static str> {
    let offered = |fast: &&str| frame.host.clock_sources.split_ascii_whitespace().any(|name| name == *fast);
    FAST.into_iter().find(offered)
}

fn title(finding: &Finding) -> String {
    let source = &finding.text(evidence::CLOCK_SOURCE);
    match finding.severity {
        Severity::Info => text::Title { source }.to_string(),
        _ => text::TitleBusy { source, share: &parts::percent(finding.number(evidence::SYSTEM_SHARE)) }.to_string(),
    }
}
