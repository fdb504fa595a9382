//! CPU-10: CPUs run below the clock that they have.

use super::{Finding, Hit, Input, Pace, Preflight, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts};
use crate::IdSet;
use crate::bottleneck::ResourceKind;
use crate::frame::{ClockPolicy, Cpu, Frame};
use crate::locale::evidence;
use crate::locale::rule::cpu_frequency as text;
use std::collections::BTreeSet;

/// Its id.
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
    limits: |_| &[ResourceKind::Core],
    reads: &[Input::CpuTimes],
    sources: &[
        "/sys/devices/system/cpu/cpu*/cpufreq/*",
        "/sys/devices/system/cpu/cpu*/thermal_throttle/*",
        "/proc/stat",
    ],
    thresholds: &[BUSY, CLOCK, LIMIT, HEAT],
    references: &[
        "Documentation/admin-guide/pm/cpufreq.rst",
        "Documentation/admin-guide/pm/intel_pstate.rst",
        "Documentation/admin-guide/pm/amd-pstate.rst",
    ],
    pace: Pace { at_once: true, ..Pace::QUICK },
    preflight: Some(Preflight { name: text::PREFLIGHT, says }),
    judge,
    title,
    ..Rule::BASE
};

/// Drivers that choose the clock themselves and call that `powersave`.
const OWN_CHOICE: [&str; 3] = ["intel_pstate", "amd-pstate-epp", "amd_pstate_epp"];

/// What was seen of all CPUs.
#[derive(Default)]
struct Seen {
    held: Vec<u32>,
    slow: Vec<u32>,
    /// Busy and held, and their clock is not told.
    untold: Vec<u32>,
    heated: Vec<u32>,
    /// Of the slowest busy one: clock now and highest, in MHz.
    worst: Option<(f64, f64)>,
    heated_busy: bool,
    causes: BTreeSet<String>,
}

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    let any = frame.topology.cpus.iter().any(|place| place.online && place.clock.is_some());
    if !any && frame.host.virtualization.is_empty() {
        context.unchecked(Subject::Host, "no CPU tells its clock", "a cpufreq driver");
        return;
    }
    let heated = heated(context);
    let mut seen =
        Seen { heated_busy: heated.iter().any(|cpu| is_busy(context, frame.cpu(*cpu))), heated, ..Seen::default() };
    for place in frame.topology.cpus.iter().filter(|place| place.online) {
        let Some(policy) = &place.clock else { continue };
        if policy.driver.is_empty() && &*policy.governor == "powersave" {
            context.unchecked(
                Subject::Cpu(place.id),
                "its governor is powersave, its driver unknown",
                "cpufreq/scaling_driver",
            );
        }
        if let Some(cause) = cause(context, policy) {
            seen.held.push(place.id);
            seen.causes.insert(cause);
            busy_and_slow(context, frame.cpu(place.id), policy, &mut seen);
        }
    }
    if seen.held.is_empty() && seen.heated.is_empty() {
        return;
    }
    let costs = !seen.slow.is_empty() || seen.heated_busy;
    let mut hit = Hit::new(Subject::Host, 0.7)
        .severity(if costs { Severity::Warning } else { Severity::Info })
        .some_text(
            evidence::HELD,
            IdSet::from_ids(seen.held.iter().copied()).to_string(),
            "cpufreq/scaling_governor, scaling_max_freq",
        )
        .some_text(evidence::SLOW, IdSet::from_ids(seen.slow).to_string(), "cpufreq/scaling_cur_freq")
        .some_text(evidence::UNTOLD, IdSet::from_ids(seen.untold).to_string(), "cpufreq/scaling_cur_freq")
        .some_text(evidence::HEATED, IdSet::from_ids(seen.heated).to_string(), "thermal_throttle/core_throttle_count")
        .some_text(
            evidence::CAUSE,
            parts::list(seen.causes, 3),
            "cpufreq/scaling_governor, scaling_driver, scaling_max_freq",
        );
    if let Some((now, most)) = seen.worst {
        hit = hit.number(evidence::CLOCK, now, "MHz", "cpufreq/scaling_cur_freq").number(
            evidence::HIGHEST,
            most,
            "MHz",
            "cpufreq/cpuinfo_max_freq",
        );
    }
    context.hit(if seen.held.is_empty() { hit } else { hit.would_hurt() });
}

/// Why a policy keeps its CPU below its clock.
fn cause(context: &RuleContext<'_>, policy: &ClockPolicy) -> Option<String> {
    let saves = &*policy.governor == "powersave" && !policy.driver.is_empty() && !OWN_CHOICE.contains(&&*policy.driver);
    let limited = policy.limit_mhz.zip(policy.max_mhz).filter(|(limit, max)| *limit < context.limit(&LIMIT) * max);
    match (saves, limited) {
        (true, _) => Some(format!("governor powersave of {}", policy.driver)),
        (false, Some((limit, max))) => Some(format!("limited to {limit:.0} of {max:.0} MHz")),
        (false, None) => None,
    }
}

fn is_busy(context: &RuleContext<'_>, cpu: Option<&Cpu>) -> bool {
    cpu.and_then(Cpu::busy).is_some_and(|busy| busy >= context.limit(&BUSY))
}

/// Takes in a held CPU that is busy: whether it is slow, or that nobody knows.
fn busy_and_slow(context: &mut RuleContext<'_>, cpu: Option<&Cpu>, policy: &ClockPolicy, seen: &mut Seen) {
    let Some(cpu) = cpu.filter(|cpu| is_busy(context, Some(cpu))) else { return };
    let Some((now, most)) = cpu.mhz.zip(policy.max_mhz) else {
        seen.untold.push(cpu.id);
        context.unchecked(
            Subject::Cpu(cpu.id),
            "held below its clock, and its clock is not told",
            "cpufreq/scaling_cur_freq",
        );
        return;
    };
    if now > context.limit(&CLOCK) * most {
        return;
    }
    seen.slow.push(cpu.id);
    if seen.worst.is_none_or(|(slowest, of)| now / most < slowest / of) {
        seen.worst = Some((now, most));
    }
}

/// The CPUs that were slowed down for heat a short while ago.
fn heated(context: &mut RuleContext<'_>) -> Vec<u32> {
    let frame = context.frame();
    for cpu in frame.cpus.iter().filter(|cpu| cpu.throttles_gained.is_some_and(|gained| gained > 0)) {
        context.remember(&Subject::Cpu(cpu.id), 1.0);
    }
    let now = frame.stamp.mono_ns as f64 / 1e9;
    let since = now - context.limit(&HEAT);
    let recent = |cpu: &&Cpu| context.recall(&Subject::Cpu(cpu.id)).is_some_and(|(at, _)| at >= since);
    frame.cpus.iter().filter(recent).map(|cpu| cpu.id).collect()
}

/// Governors in use, with the CPUs that have them where there are several.
fn says(frame: &Frame) -> String {
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
        [] => "set by the host".to_owned(),
        [(name, _)] => name.clone(),
        many => parts::list(
            many.iter().map(|(name, cpus)| format!("{name} on {}", IdSet::from_ids(cpus.iter().copied()))),
            4,
        ),
    }
}

fn title(finding: &Finding) -> String {
    let (held, slow, heated) =
        (finding.text(evidence::HELD), finding.text(evidence::SLOW), finding.text(evidence::HEATED));
    let (clock, most) =
        (parts::count(finding.number(evidence::CLOCK)), parts::count(finding.number(evidence::HIGHEST)));
    let cause = finding.text(evidence::CAUSE);
    match (held.is_empty(), slow.is_empty(), heated.is_empty()) {
        (false, false, _) => format!("CPUs {slow} are busy at {clock} of {most} MHz: {cause}"),
        (false, true, true) => format!("CPUs {held} are held below their clock: {cause}"),
        (false, true, false) => {
            format!("CPUs {held} are held below their clock: {cause}; CPUs {heated} are slowed down for heat")
        }
        (true, ..) => format!("CPUs {heated} are slowed down for heat"),
    }
}
