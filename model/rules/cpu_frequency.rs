//! CPU-10: CPUs run below their maximum frequency.

use super::{Finding, Hit, Input, Pace, Preflight, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts};
use crate::IdSet;
use crate::bottleneck::{ClockCause, ResourceKind, is_reached};
use crate::frame::{ClockPolicy, Cooling, Cpu, Frame};
use crate::locale::evidence;
use crate::locale::rule::cpu_frequency as text;
use std::collections::BTreeSet;

/// The id of the rule.
pub const ID: RuleId = RuleId::new("CPU-10");
pub(crate) const BUSY: Threshold = ID.threshold(text::threshold::BUSY, 0.7, "fraction");
pub(crate) const CLOCK: Threshold = ID.threshold(text::threshold::CLOCK, 0.6, "fraction");
pub(crate) const LIMIT: Threshold = ID.threshold(text::threshold::LIMIT, 0.95, "fraction");
pub(crate) const HEAT: Threshold = ID.threshold(text::threshold::HEAT, 60.0, "s");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    // Limits that cost nothing explain nothing.
    limits: |finding| match finding.severity {
        Severity::Info => &[ResourceKind::Core],
        _ => &[ResourceKind::Core, ResourceKind::Cpus, ResourceKind::Cpuset, ResourceKind::Thread],
    },
    reads: &[Input::CpuTimes],
    sources: &[
        "/sys/devices/system/cpu/cpu*/cpufreq/*",
        "/sys/devices/system/cpu/cpu*/thermal_throttle/*",
        "/sys/class/thermal/cooling_device*/*",
        "/proc/stat",
    ],
    thresholds: &[BUSY, CLOCK, LIMIT, HEAT],
    references: &[
        "Documentation/admin-guide/pm/cpufreq.rst",
        "Documentation/admin-guide/pm/intel_pstate.rst",
        "Documentation/admin-guide/pm/amd-pstate.rst",
    ],
    pace: Pace { at_once: true, ..Pace::QUICK },
    preflight: Some(Preflight { name: text::PREFLIGHT, says: governors }),
    judge,
    title,
    ..Rule::BASE
};

/// CPUs by frequency state.
#[derive(Default)]
struct FrequencySummary {
    limited: Vec<u32>,
    slow: Vec<u32>,
    /// Busy and limited, with an unknown current frequency.
    unknown: Vec<u32>,
    throttled: Vec<u32>,
    /// Current and highest frequency of the slowest busy CPU, in MHz.
    slowest: Option<(f64, f64)>,
    throttled_busy: bool,
    causes: BTreeSet<String>,
}

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    let any = frame.topology.cpus.iter().any(|place| place.online && place.clock.is_some());
    if !any && frame.host.virtualization.is_empty() {
        context.unchecked(Subject::Host, &text::UNCHECKED_HOST, &text::NEEDS_DRIVER);
        return;
    }
    let throttled = throttled(context);
    let throttled_busy = throttled.iter().any(|cpu| is_busy(context, frame.cpu(*cpu)));
    let mut summary = FrequencySummary { throttled, throttled_busy, ..FrequencySummary::default() };
    for place in frame.topology.cpus.iter().filter(|place| place.online) {
        let Some(policy) = &place.clock else { continue };
        if policy.driver.is_empty() && &*policy.governor == "powersave" {
            context.unchecked(Subject::Cpu(place.id), &text::UNCHECKED_DRIVER, "cpufreq/scaling_driver");
        }
        if let Some(cause) = cause(context, policy) {
            summary.limited.push(place.id);
            summary.causes.insert(cause);
            record_busy(context, frame.cpu(place.id), policy, &mut summary);
        }
    }
    if summary.limited.is_empty() && summary.throttled.is_empty() {
        return;
    }
    let is_limited = !summary.limited.is_empty();
    let limited = frame.topology.cpus.iter().filter(|place| summary.limited.contains(&place.id));
    let cooling = limited.filter_map(|place| frame.passive_cooling(place)).max_by_key(|device| device.state.value());
    let cooling = cooling.map(cooled_by).unwrap_or_default();
    let hit = hit(summary).some_text(evidence::COOLING, cooling, "/sys/class/thermal/cooling_device*/cur_state");
    context.hit(if is_limited { hit.would_hurt() } else { hit });
}

/// `Processor 3/10`: what a cooling device does, and the most that it can do.
fn cooled_by(device: &Cooling) -> String {
    let count = |state: crate::Known<u64>| parts::count(state.value().map(|state| state as f64));
    format!("{} {}/{}", device.kind, count(device.state), count(device.max_state))
}

/// The finding about the frequencies of a machine.
fn hit(summary: FrequencySummary) -> Hit {
    let hurts = !summary.slow.is_empty() || summary.throttled_busy;
    let hit = Hit::new(Subject::Host, 0.7)
        .severity(if hurts { Severity::Warning } else { Severity::Info })
        .some_text(
            evidence::LIMITED_CPUS,
            IdSet::from_ids(summary.limited.iter().copied()).to_string(),
            "cpufreq/scaling_governor, scaling_max_freq",
        )
        .some_text(evidence::SLOW, IdSet::from_ids(summary.slow).to_string(), "cpufreq/scaling_cur_freq")
        .some_text(
            evidence::UNKNOWN_FREQUENCY_CPUS,
            IdSet::from_ids(summary.unknown).to_string(),
            "cpufreq/scaling_cur_freq",
        )
        .some_text(
            evidence::THROTTLED_CPUS,
            IdSet::from_ids(summary.throttled).to_string(),
            "thermal_throttle/core_throttle_count",
        )
        .some_text(
            evidence::CAUSE,
            parts::list(summary.causes, 3),
            "cpufreq/scaling_governor, scaling_driver, scaling_max_freq",
        );
    let Some((now, highest)) = summary.slowest else { return hit };
    let hit = hit.number(evidence::CLOCK, now, "MHz", "cpufreq/scaling_cur_freq");
    hit.number(evidence::HIGHEST, highest, "MHz", "cpufreq/cpuinfo_max_freq")
}

/// The setting that limits the frequency of a CPU.
fn cause(context: &RuleContext<'_>, policy: &ClockPolicy) -> Option<String> {
    match ClockCause::of(policy, context.limit(&LIMIT))? {
        ClockCause::Limit => {
            let (limit, max) = policy.limit_mhz.zip(policy.max_mhz)?;
            Some(format!("scaling_max_freq {limit:.0}/{max:.0} MHz"))
        }
        _ => Some(format!("powersave governor ({})", policy.driver)),
    }
}

fn is_busy(context: &RuleContext<'_>, cpu: Option<&Cpu>) -> bool {
    cpu.and_then(Cpu::busy).is_some_and(|busy| busy >= context.limit(&BUSY))
}

/// Records a limited CPU that is busy as slow or of unknown frequency.
fn record_busy(context: &mut RuleContext<'_>, cpu: Option<&Cpu>, policy: &ClockPolicy, summary: &mut FrequencySummary) {
    let Some(cpu) = cpu.filter(|cpu| is_busy(context, Some(cpu))) else { return };
    let Some((now, highest)) = cpu.mhz.zip(policy.max_mhz) else {
        summary.unknown.push(cpu.id);
        context.unchecked(Subject::Cpu(cpu.id), &text::UNCHECKED_FREQUENCY, "cpufreq/scaling_cur_freq");
        return;
    };
    let by_limit = ClockCause::of(policy, 1.0) == Some(ClockCause::Limit);
    if now > context.limit(&CLOCK) * highest || (by_limit && !is_reached(policy, now)) {
        return;
    }
    summary.slow.push(cpu.id);
    if summary.slowest.is_none_or(|(slowest, of)| now / highest < slowest / of) {
        summary.slowest = Some((now, highest));
    }
}

/// CPUs that were thermally throttled within the window.
fn throttled(context: &mut RuleContext<'_>) -> Vec<u32> {
    let frame = context.frame();
    for cpu in frame.cpus.iter().filter(|cpu| cpu.is_hot()) {
        context.remember(&Subject::Cpu(cpu.id), 1.0);
    }
    let now = frame.stamp.mono_ns as f64 / 1e9;
    let since = now - context.limit(&HEAT);
    let recent = |cpu: &&Cpu| context.recall(&Subject::Cpu(cpu.id)).is_some_and(|(at, _)| at >= since);
    frame.cpus.iter().filter(recent).map(|cpu| cpu.id).collect()
}

/// Governors in use, with their CPUs where there are several.
fn governors(frame: &Frame) -> String {
    let mut governors: Vec<(String, Vec<u32>)> = Vec::new();
    for place in frame.topology.cpus.iter().filter(|place| place.online) {
        let Some(policy) = &place.clock else { continue };
        let name = format!("{} ({})", policy.governor, policy.driver);
        match governors.iter_mut().find(|known| known.0 == name) {
            Some(known) => known.1.push(place.id),
            None => governors.push((name, vec![place.id])),
        }
    }
    match governors.as_slice() {
        [] => text::PREFLIGHT_HOST.to_string(),
        [(name, _)] => name.clone(),
        several => {
            let cpus = |cpus: &[u32]| IdSet::from_ids(cpus.iter().copied());
            let on =
                |(governor, ids): &(String, Vec<u32>)| text::PreflightCpus { governor, cpus: &cpus(ids) }.to_string();
            parts::list(several.iter().map(on), 4)
        }
    }
}

fn title(finding: &Finding) -> String {
    let count = |name| parts::count(finding.number(name));
    let (limited, slow) = (&finding.text(evidence::LIMITED_CPUS), &finding.text(evidence::SLOW));
    let (heated, cause) = (&finding.text(evidence::THROTTLED_CPUS), &finding.text(evidence::CAUSE));
    let (clock, highest) = (&count(evidence::CLOCK), &count(evidence::HIGHEST));
    let cooling = &finding.text(evidence::COOLING);
    match (limited.is_empty(), slow.is_empty(), heated.is_empty()) {
        (false, ..) if !cooling.is_empty() => text::TitleCooled { limited, cause, cooling }.to_string(),
        (false, false, _) => text::TitleSlow { slow, clock, highest, cause }.to_string(),
        (false, true, true) => text::TitleLimited { limited, cause }.to_string(),
        (false, true, false) => text::TitleLimitedHeated { limited, cause, heated }.to_string(),
        (true, ..) => text::TitleHeated { heated }.to_string(),
    }
}
