//! What keeps the clock of CPUs below its maximum while they are at their capacity.

use super::resource::Member;
use super::{Inputs, ResourceKind};
use crate::IdSet;
use crate::frame::{ClockPolicy, Cpu, CpuPlace};
use crate::locale::{Text, resource as text};
use crate::rules::Subject;
use serde::Serialize;

/// How long a CPU counts as throttled after heat slowed it down, in ns: the kernel counts the begin of it.
pub(super) const HOT_NS: u64 = 60_000_000_000;
/// Share of a limit from which on a clock is at it.
const REACHED: f64 = 0.9;
/// A clock or its limit below this share of the highest clock is a loss.
const LOSES: f64 = 0.95;
/// Drivers that choose the clock themselves and name that governor `powersave`.
const SELF_GOVERNED: [&str; 3] = ["intel_pstate", "amd-pstate-epp", "amd_pstate_epp"];

/// Why a frequency is below its maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ClockCause {
    /// Thermal throttling.
    Thermal,
    /// The powersave governor.
    Governor,
    /// `scaling_max_freq` is below the CPU's maximum.
    Limit,
}

impl ClockCause {
    /// Its label.
    pub fn label(self) -> Text {
        match self {
            Self::Thermal => text::CLOCK_THERMAL,
            Self::Governor => text::CLOCK_GOVERNOR,
            Self::Limit => text::CLOCK_LIMIT,
        }
    }

    /// What the policy of a CPU does to its clock: below this share of the highest one a limit counts.
    pub(crate) fn of(policy: &ClockPolicy, least: f64) -> Option<Self> {
        let saves_power =
            &*policy.governor == "powersave" && !policy.driver.is_empty() && !SELF_GOVERNED.contains(&&*policy.driver);
        let limited = policy.limit_mhz.zip(policy.max_mhz).is_some_and(|(limit, max)| limit < least * max);
        if saves_power { Some(Self::Governor) } else { limited.then_some(Self::Limit) }
    }
}

/// True where a CPU runs as fast as its limit lets it: one that is slower is held back by something else.
pub(crate) fn is_reached(policy: &ClockPolicy, mhz: f64) -> bool {
    policy.limit_mhz.is_none_or(|limit| mhz >= REACHED * limit)
}

/// The clock of CPUs that something keeps below its maximum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// The mean now, in MHz.
    pub mhz: f64,
    /// The mean of the highest clocks.
    pub highest_mhz: f64,
    /// What keeps it there.
    pub cause: ClockCause,
}

/// The clock of the CPUs that a resource is made of, where they are at their capacity and something keeps it down.
pub(super) fn clock(inputs: &Inputs<'_>, member: &Member) -> Option<Clock> {
    let cpus = cpus(inputs, member).filter(|_| member.stays)?;
    let all = inputs.frame.topology.cpus.iter().filter(|place| place.online && cpus.contains(place.id));
    let known: Vec<_> = all.filter_map(|place| one(inputs, place)).collect();
    let mean = |of: fn(&(f64, f64, Option<ClockCause>)) -> f64| known.iter().map(of).sum::<f64>() / known.len() as f64;
    let (mhz, highest_mhz) = (mean(|clock| clock.0), mean(|clock| clock.1));
    let cause = known.iter().filter_map(|clock| clock.2).min()?;
    (mhz < LOSES * highest_mhz).then_some(Clock { mhz, highest_mhz, cause })
}

/// The CPUs of a resource.
fn cpus(inputs: &Inputs<'_>, member: &Member) -> Option<IdSet> {
    let frame = inputs.frame;
    let process = |pid: &u32| frame.process(*pid);
    match (member.resource.kind, &member.resource.subject) {
        (ResourceKind::Cpus, _) => {
            Some(IdSet::from_ids(frame.cpus.iter().filter(|cpu| cpu.online && !cpu.isolated).map(|cpu| cpu.id)))
        }
        (ResourceKind::Core | ResourceKind::Softirq, Some(Subject::Cpu(id))) => Some(IdSet::from_ids([*id])),
        (ResourceKind::Cpuset, Some(Subject::Cgroup(path))) => {
            Some(frame.cgroup(path)?.cpuset_cpus.as_deref()?.clone())
        }
        (ResourceKind::Cpuset, Some(Subject::Process(pid, _))) => Some(process(pid)?.affinity.as_deref()?.clone()),
        (ResourceKind::Thread, Some(Subject::Process(pid, _))) => {
            let thread = frame.threads_of(*pid).iter().find(|thread| Some(thread.tid) == member.resource.tid);
            let last = thread.and_then(|thread| thread.last_cpu.value()).or(process(pid)?.last_cpu.value());
            Some(IdSet::from_ids([last?]))
        }
        _ => None,
    }
}

/// The clock of a CPU, its highest one, and what keeps it down.
fn one(inputs: &Inputs<'_>, place: &CpuPlace) -> Option<(f64, f64, Option<ClockCause>)> {
    let policy = place.clock.as_ref()?;
    let highest = policy.max_mhz.filter(|max| *max > 0.0)?;
    // What passive cooling does to a clock shows as a limit of it.
    let cooled = inputs.frame.passive_cooling(place).is_some();
    let hot =
        inputs.hot.contains_key(&place.id) || cooled && policy.limit_mhz.is_some_and(|limit| limit < LOSES * highest);
    let Some(cause) = hot.then_some(ClockCause::Thermal).or_else(|| ClockCause::of(policy, LOSES)) else {
        return Some((highest, highest, None));
    };
    let now = inputs.frame.cpu(place.id).and_then(|cpu: &Cpu| cpu.mhz);
    // A limit is what it has at most where the driver does not say.
    let now = now.or(policy.limit_mhz)?;
    if cause == ClockCause::Limit && !is_reached(policy, now) {
        return Some((highest, highest, None));
    }
    Some((now.min(highest), highest, Some(cause).filter(|_| now < LOSES * highest)))
}
