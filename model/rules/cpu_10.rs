//! CPU-10: CPUs run below the clock that they have.

use super::{Finding, Hit, Input, Look, Pace, Preflight, Rule, Severity, Subject, Threshold, parts};
use crate::IdSet;
use crate::frame::{ClockPolicy, Cpu, Frame};
use std::collections::BTreeSet;

pub(super) const RULE: Rule = Rule {
    id: "CPU-10",
    name: "CPUs are held below their clock",
    why: "A governor that saves power, a limit that somebody set, or heat keep CPUs slow while they are busy. Everything takes longer by the same factor, and no counter of load shows it.",
    reads: &[Input::CpuTimes],
    looks_at: &["/sys/devices/system/cpu/cpu*/cpufreq/*", "/sys/devices/system/cpu/cpu*/thermal_throttle/*", "/proc/stat"],
    thresholds: &[
        Threshold { name: "busy", value: 0.7, unit: "fraction", about: "busy share of a CPU that its clock matters to" },
        Threshold { name: "clock", value: 0.6, unit: "fraction", about: "share of its highest clock that a held CPU runs at, at most" },
        Threshold { name: "limit", value: 0.95, unit: "fraction", about: "share of the highest clock that a limit is below" },
        Threshold { name: "heat", value: 60.0, unit: "s", about: "time for which a CPU that was slowed down for heat is told" },
    ],
    guards: &["powersave of intel_pstate and amd-pstate-epp in active mode: there it is the usual governor", "held, but idle or fast all the same: only told", "virtual machines: their host sets the clock"],
    advice: &["tuned-adm profile throughput-performance", "cpupower frequency-set -g performance", "Raise the limit: cpupower frequency-set -u MAX", "Heat: look at fans, power supplies and the power limit in the firmware"],
    references: &["Documentation/admin-guide/pm/cpufreq.rst", "Documentation/admin-guide/pm/intel_pstate.rst", "Documentation/admin-guide/pm/amd-pstate.rst"],
    pace: Pace { at_once: true, ..Pace::QUICK },
    preflight: Some(Preflight { name: "clock governor", says }),
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

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    let any = frame.topology.cpus.iter().any(|place| place.online && place.clock.is_some());
    if !any && frame.host.virtualization.is_empty() {
        look.unchecked(Subject::Host, "no CPU tells its clock", "a cpufreq driver");
        return;
    }
    let heated = heated(look);
    let mut seen = Seen { heated_busy: heated.iter().any(|cpu| is_busy(look, frame.cpu(*cpu))), heated, ..Seen::default() };
    for place in frame.topology.cpus.iter().filter(|place| place.online) {
        let Some(policy) = &place.clock else { continue };
        if policy.driver.is_empty() && &*policy.governor == "powersave" {
            look.unchecked(Subject::Cpu(place.id), "its governor is powersave, its driver unknown", "cpufreq/scaling_driver");
        }
        if let Some(cause) = cause(look, policy) {
            seen.held.push(place.id);
            seen.causes.insert(cause);
            busy_and_slow(look, frame.cpu(place.id), policy, &mut seen);
        }
    }
    if seen.held.is_empty() && seen.heated.is_empty() {
        return;
    }
    let costs = !seen.slow.is_empty() || seen.heated_busy;
    let mut hit = Hit::new(Subject::Host, 0.7)
        .severity(if costs { Severity::Warning } else { Severity::Info })
        .some_text("held", IdSet::from_ids(seen.held.iter().copied()).to_string(), "cpufreq/scaling_governor, scaling_max_freq")
        .some_text("slow", IdSet::from_ids(seen.slow).to_string(), "cpufreq/scaling_cur_freq")
        .some_text("untold", IdSet::from_ids(seen.untold).to_string(), "cpufreq/scaling_cur_freq")
        .some_text("heated", IdSet::from_ids(seen.heated).to_string(), "thermal_throttle/core_throttle_count")
        .some_text("cause", parts::list(seen.causes, 3), "cpufreq/scaling_governor, scaling_driver, scaling_max_freq");
    if let Some((now, most)) = seen.worst {
        hit = hit.number("clock", now, "MHz", "cpufreq/scaling_cur_freq").number("highest", most, "MHz", "cpufreq/cpuinfo_max_freq");
    }
    look.hit(if seen.held.is_empty() { hit } else { hit.would_hurt() });
}

/// Why a policy keeps its CPU below its clock.
fn cause(look: &Look<'_>, policy: &ClockPolicy) -> Option<String> {
    let saves = &*policy.governor == "powersave" && !policy.driver.is_empty() && !OWN_CHOICE.contains(&&*policy.driver);
    let limited = policy.limit_mhz.zip(policy.max_mhz).filter(|(limit, max)| *limit < look.limit("limit") * max);
    match (saves, limited) {
        (true, _) => Some(format!("governor powersave of {}", policy.driver)),
        (false, Some((limit, max))) => Some(format!("limited to {limit:.0} of {max:.0} MHz")),
        (false, None) => None,
    }
}

fn is_busy(look: &Look<'_>, cpu: Option<&Cpu>) -> bool {
    cpu.and_then(Cpu::busy).is_some_and(|busy| busy >= look.limit("busy"))
}

/// Takes in a held CPU that is busy: whether it is slow, or that nobody knows.
fn busy_and_slow(look: &mut Look<'_>, cpu: Option<&Cpu>, policy: &ClockPolicy, seen: &mut Seen) {
    let Some(cpu) = cpu.filter(|cpu| is_busy(look, Some(cpu))) else { return };
    let Some((now, most)) = cpu.mhz.zip(policy.max_mhz) else {
        seen.untold.push(cpu.id);
        look.unchecked(Subject::Cpu(cpu.id), "held below its clock, and its clock is not told", "cpufreq/scaling_cur_freq");
        return;
    };
    if now > look.limit("clock") * most {
        return;
    }
    seen.slow.push(cpu.id);
    if seen.worst.is_none_or(|(slowest, of)| now / most < slowest / of) {
        seen.worst = Some((now, most));
    }
}

/// The CPUs that were slowed down for heat a short while ago.
fn heated(look: &mut Look<'_>) -> Vec<u32> {
    let frame = look.frame();
    for cpu in frame.cpus.iter().filter(|cpu| cpu.throttles_gained.is_some_and(|gained| gained > 0)) {
        look.remember(&Subject::Cpu(cpu.id), 1.0);
    }
    let now = frame.stamp.mono_ns as f64 / 1e9;
    let since = now - look.limit("heat");
    let recent = |cpu: &&Cpu| look.recall(&Subject::Cpu(cpu.id)).is_some_and(|(at, _)| at >= since);
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
        many => parts::list(many.iter().map(|(name, cpus)| format!("{name} on {}", IdSet::from_ids(cpus.iter().copied()))), 4),
    }
}

fn title(finding: &Finding) -> String {
    let (held, slow, heated) = (finding.text("held"), finding.text("slow"), finding.text("heated"));
    let (clock, most) = (parts::count(finding.number("clock")), parts::count(finding.number("highest")));
    let cause = finding.text("cause");
    match (held.is_empty(), slow.is_empty(), heated.is_empty()) {
        (false, false, _) => format!("CPUs {slow} are busy at {clock} of {most} MHz: {cause}"),
        (false, true, true) => format!("CPUs {held} are held below their clock: {cause}"),
        (false, true, false) => format!("CPUs {held} are held below their clock: {cause}; CPUs {heated} are slowed down for heat"),
        (true, ..) => format!("CPUs {heated} are slowed down for heat"),
    }
}
