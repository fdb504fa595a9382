//! The machine as a whole, its pressure, and the monitor's cost.

use crate::Known;
use crate::document::{Text, absent};
use crate::text::printable;
use serde::{Serialize, Serializer};
use serde_with::apply;
use std::sync::Arc;

/// Identity and load of the machine.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Host {
    /// Host name; empty when unread.
    pub name: Arc<str>,
    /// `Linux 6.1.0`.
    pub kernel: Arc<str>,
    /// Architecture.
    pub arch: Arc<str>,
    /// Distribution.
    pub os: Arc<str>,
    /// Model name of the first CPU.
    pub cpu_model: Arc<str>,
    /// Hypervisor; empty when unread or none.
    pub virtualization: Arc<str>,
    /// Changes at every boot.
    pub boot_id: Arc<str>,
    /// The clock source in use: `tsc`, `hpet`; empty when unread.
    pub clock_source: Arc<str>,
    /// Those that the kernel offers, separated by spaces; empty when unread.
    pub clock_sources: Arc<str>,
    /// Seconds since boot.
    pub uptime_seconds: Known<u64>,
    /// User sessions from logind, else from utmp; null if neither exists.
    pub users: Known<u64>,
    /// Whether the kernel reports the time that the hypervisor takes; none where no CPU was read.
    #[serde(skip)]
    pub reports_steal: Option<bool>,
    /// True inside a container.
    pub in_container: Known<bool>,
    /// Load averages over 1, 5 and 15 minutes.
    pub load: Option<[f64; 3]>,
    /// Runnable tasks now.
    pub running: Known<u64>,
    /// Tasks in uninterruptible sleep now.
    pub blocked: Known<u64>,
    /// Tasks on the machine, hidden ones included.
    pub tasks: Known<u64>,
    /// Mean number of tasks waiting in run queues, over all CPUs (`/proc/schedstat`); absent if the kernel does not
    /// report it.
    pub run_wait_cores: Option<f64>,
    /// Context switches.
    pub context_switches_per_second: Option<f64>,
    /// Forks.
    pub forks_per_second: Option<f64>,
    /// Interrupts of all kinds.
    pub interrupts_per_second: Option<f64>,
}

/// Pressure on one resource: shares are gains of `total` over the interval.
#[derive(Clone, Debug, Default)]
pub struct Pressure {
    /// `cpu`, `memory`, `io` or `irq`.
    pub resource: Arc<str>,
    /// How long tasks waited.
    pub stall: PressureStall,
}

/// How long tasks waited for a resource.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PressureStall {
    /// Fraction of the interval in which some task waited.
    pub some_ratio: Option<f64>,
    /// Fraction of the interval in which all tasks waited.
    pub full_ratio: Option<f64>,
    /// The kernel's 10 s average of some, in percent.
    pub some_avg10_percent: Known<f64>,
    /// The kernel's 10 s average of full, in percent.
    pub full_avg10_percent: Known<f64>,
}

/// Overhead of topotop in this interval.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Cost {
    /// Wall time of the sampling.
    pub sample_ms: Option<f64>,
    /// CPU time of the whole process per second, as a fraction of one core.
    pub cpu_cores: Option<f64>,
    /// CPU time of the whole process in the interval.
    pub cpu_ms: Option<f64>,
    /// Resident memory.
    pub rss_bytes: Option<u64>,
    /// `file`, or what reads instead of files.
    pub backend: Arc<str>,
    /// By collector.
    #[serde_with(skip_apply)]
    #[serde(rename = "per_collector", serialize_with = "milliseconds", skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(with = "Option<std::collections::BTreeMap<String, f64>>"))]
    pub collectors: Vec<CollectorCost>,
    /// Duration of the slowest memory-by-node query whose result is still in use.
    pub memory_answer_ms: Option<f64>,
}

/// A value that a fix has written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Applied {
    /// The fix: `RULE/SUBJECT/FIX`.
    pub fix: Arc<str>,
    /// The rule whose finding it was for.
    pub rule: Arc<str>,
    /// What that was about, as subjects are written; hostile.
    pub subject: Arc<str>,
    /// What was written: a file, a setting, the affinity of a thread; hostile.
    pub target: Arc<str>,
    /// The value that was written.
    pub wanted: Arc<str>,
    /// The value now; none where it could not be read.
    pub value: Option<Arc<str>>,
    /// How long ago it was written.
    pub age_seconds: Option<f64>,
}

/// What one collector cost.
#[derive(Clone, Debug, Default)]
pub struct CollectorCost {
    /// Its name.
    pub name: Arc<str>,
    /// Wall time of its last reading.
    pub took_ms: f64,
}

fn milliseconds<S: Serializer>(rows: &[CollectorCost], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(rows.iter().map(|row| (printable(&row.name), row.took_ms)))
}
