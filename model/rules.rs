//! What can be wrong with a machine: one file per rule, each a pure predicate on a frame. The judge folds them over time.

pub mod asymmetric_nodes;
pub mod backlog_drops;
pub mod cache_reclaim;
#[cfg(test)]
mod cases;
pub mod cgroup_cache_full;
pub mod cgroup_reclaim_stalls;
pub mod cgroup_time_to_limit;
pub mod cgroup_unreclaimable;
pub mod core_saturated;
pub mod cpu_frequency;
pub mod cpu_throttled;
pub mod dirty_throttling;
pub mod disk_capped;
pub mod disk_saturated;
pub mod disk_shared;
pub mod erlang_bind_overlap;
pub mod erlang_scheduler_crowded;
pub mod erlang_schedulers_over_quota;
pub mod file_system_full;
pub mod fix_reverted;
pub mod flush_storm;
pub mod instances_per_node;
pub mod io_throttled;
pub mod iowait;
pub mod irq_crowding;
pub mod irq_isolated_cpus;
pub mod irq_remote_node;
pub mod irqbalance_absent;
pub mod link_saturated;
pub mod membind_mismatch;
pub mod memory_low;
pub mod memory_spread;
pub mod monitor_cost;
pub mod narrow_affinity;
pub mod nic_channels;
pub mod nic_rx_drops;
pub mod node_imbalance;
pub mod node_memory_low;
pub mod numa_misses;
pub mod oom_kill;
pub mod packet_steering;
pub mod pinned_threads;
pub mod refaults;
pub mod remote_memory;
pub mod round_trips;
pub mod rss_skew;
pub mod single_thread_limit;
pub mod slow_clock_source;
pub mod softirq_budget;
pub mod softirq_saturated;
pub mod steal_time;
pub(crate) mod support;
pub mod swapping;
pub mod threads_over_quota;
pub mod udp_buffer_drops;
pub mod unreadable_data;
pub mod zone_reclaim;

pub use support::context::{RuleContext, Unchecked};
pub use support::finding::{Evidence, Figure, Finding, Hit, Severity, Strength, evidence_label, source_label};
pub use support::grid::{Cell, Column, Grid};
pub use support::input::Input;
pub use support::page::{PageTopic, page};
pub use support::subject::Subject;
pub use support::{report, subject};

#[cfg(test)]
pub(crate) use cases::sick;

pub(crate) use support::{disk_text, parts};
use support::{nodes, preflight, reclaim, series};

use crate::bottleneck::ResourceKind;
use crate::frame::Frame;
use crate::locale::{Text, Texts};

/// The id of a rule, such as `NIC-01`; ids are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RuleId(&'static str);

impl RuleId {
    pub(crate) const fn new(id: &'static str) -> Self {
        Self(id)
    }

    /// Its text.
    pub const fn as_str(self) -> &'static str {
        self.0
    }

    /// A threshold of this rule; its name is the last part of the key of its text.
    pub(crate) const fn threshold(self, about: Text, value: f64, unit: &'static str) -> Threshold {
        Threshold { rule: self, about, value, unit }
    }
}

impl std::ops::Deref for RuleId {
    type Target = str;

    fn deref(&self) -> &str {
        self.0
    }
}

impl serde::Serialize for RuleId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

impl std::fmt::Display for RuleId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.0)
    }
}

impl PartialEq<str> for RuleId {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for RuleId {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

/// Configured thresholds by rule and name.
pub type Overrides = std::collections::BTreeMap<(String, String), f64>;

/// A number that a rule compares with.
#[derive(Clone, Copy, Debug)]
pub struct Threshold {
    /// Its rule.
    pub rule: RuleId,
    /// Its description.
    pub about: Text,
    /// Its default; fractions are fractions, not percent.
    pub value: f64,
    /// `fraction`, `bytes`, `1/s`, …
    pub unit: &'static str,
}

impl Threshold {
    /// Its name in the configuration.
    pub fn name(&self) -> &'static str {
        self.about.name()
    }

    /// Its configured value, else its default.
    pub fn configured(&self, overrides: &Overrides) -> f64 {
        // Few or none are configured: a scan is cheaper than a map key.
        let own = |(key, _): &(&(String, String), &f64)| self.rule == key.0.as_str() && key.1 == self.name();
        overrides.iter().find(own).map_or(self.value, |(_, value)| *value)
    }
}

/// How long a condition must hold before a finding opens, and be gone before it closes.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Samples of the last [`Pace::of`] valid ones that must meet it.
    pub enter: u32,
    /// See [`Pace::enter`]; at most 32.
    pub of: u32,
    /// Valid samples in a row that must be clear of it.
    pub exit: u32,
    /// Kept open for this long after it was last met, in seconds.
    pub latch_seconds: u32,
    /// Valid samples before the rule can decide, if more than [`Pace::enter`].
    pub warm_up: u32,
    /// True if one sample without rates is enough: configuration.
    pub at_once: bool,
}

impl Pace {
    /// Opens after eight of ten, closes after ten without.
    pub const USUAL: Self = Self { enter: 8, of: 10, exit: 10, latch_seconds: 0, warm_up: 0, at_once: false };
    /// Opens after six of ten, closes after ten without.
    pub const QUICK: Self = Self { enter: 6, of: 10, exit: 10, latch_seconds: 0, warm_up: 0, at_once: false };
    /// Configuration: opens at once; closes after five without, so that an unstable value does not flicker.
    pub const CONFIGURED: Self = Self { enter: 1, of: 1, exit: 5, latch_seconds: 0, warm_up: 0, at_once: true };
}

/// A problem that a machine can have.
pub struct Rule {
    /// Its id.
    pub id: RuleId,
    /// Its name.
    pub name: Text,
    /// Why it matters, for readers new to the subject.
    pub why: Text,
    /// The resources that are limiting while a finding of it is open.
    pub limits: fn(&Finding) -> &'static [ResourceKind],
    /// True for rules about placement, which costs performance under load only.
    pub needs_load: bool,
    /// Required parts of a sample: if one is missing, the rule is not checked.
    pub reads: &'static [Input],
    /// The files that its numbers are read from.
    pub sources: &'static [&'static str],
    /// Its thresholds.
    pub thresholds: &'static [Threshold],
    /// What it does not report, on purpose.
    pub guards: Texts,
    /// What to do, the best first.
    pub advice: Texts,
    /// What to do about one finding, where that depends on its numbers.
    pub advises: Option<fn(&Finding) -> Texts>,
    /// Documentation of the kernel or of others.
    pub references: &'static [&'static str],
    /// When findings open and close.
    pub pace: Pace,
    /// Tables of its page: what terms mean.
    pub tables: &'static [Page],
    /// Gains that others reported.
    pub gained: Texts,
    /// Its line in `preflight`, if it judges the configuration.
    pub preflight: Option<Preflight>,
    /// Reports hits in one frame.
    pub judge: fn(&mut RuleContext<'_>),
    /// A finding in one line.
    pub title: fn(&Finding) -> String,
}

/// A table of a rule's page, always the same.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// Its heading.
    pub title: Text,
    /// Column headings, then rows; ` | ` separates cells.
    pub rows: Texts,
}

/// A rule's line in the preflight.
#[derive(Clone, Copy, Debug)]
pub struct Preflight {
    /// What is checked.
    pub name: Text,
    /// The configuration if the check passes; empty if there is nothing to show.
    pub says: fn(&Frame) -> String,
}

impl Rule {
    /// Defaults: `..Rule::BASE`.
    pub const BASE: Self = Self {
        id: RuleId::new(""),
        name: Text::EMPTY,
        why: Text::EMPTY,
        limits: |_| &[],
        needs_load: false,
        reads: &[],
        sources: &[],
        thresholds: &[],
        guards: Texts::NONE,
        advice: Texts::NONE,
        advises: None,
        references: &[],
        pace: Pace::USUAL,
        tables: &[],
        gained: Texts::NONE,
        preflight: None,
        judge: |_| (),
        title: |_| String::new(),
    };
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rule").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Every rule, in the order of the catalogue.
pub const ALL: &[&Rule] = &[
    &core_saturated::RULE,
    &single_thread_limit::RULE,
    &pinned_threads::RULE,
    &node_imbalance::RULE,
    &cpu_throttled::RULE,
    &threads_over_quota::RULE,
    &narrow_affinity::RULE,
    &steal_time::RULE,
    &cpu_frequency::RULE,
    &slow_clock_source::RULE,
    &erlang_bind_overlap::RULE,
    &erlang_scheduler_crowded::RULE,
    &erlang_schedulers_over_quota::RULE,
    &softirq_saturated::RULE,
    &irqbalance_absent::RULE,
    &irq_crowding::RULE,
    &irq_remote_node::RULE,
    &irq_isolated_cpus::RULE,
    &nic_channels::RULE,
    &backlog_drops::RULE,
    &softirq_budget::RULE,
    &rss_skew::RULE,
    &packet_steering::RULE,
    &nic_rx_drops::RULE,
    &link_saturated::RULE,
    &udp_buffer_drops::RULE,
    &remote_memory::RULE,
    &memory_spread::RULE,
    &instances_per_node::RULE,
    &node_memory_low::RULE,
    &numa_misses::RULE,
    &membind_mismatch::RULE,
    &zone_reclaim::RULE,
    &asymmetric_nodes::RULE,
    &cgroup_unreclaimable::RULE,
    &cgroup_reclaim_stalls::RULE,
    &cgroup_time_to_limit::RULE,
    &oom_kill::RULE,
    &memory_low::RULE,
    &dirty_throttling::RULE,
    &cache_reclaim::RULE,
    &swapping::RULE,
    &refaults::RULE,
    &cgroup_cache_full::RULE,
    &disk_saturated::RULE,
    &disk_shared::RULE,
    &iowait::RULE,
    &flush_storm::RULE,
    &disk_capped::RULE,
    &file_system_full::RULE,
    &round_trips::RULE,
    &io_throttled::RULE,
    &unreadable_data::RULE,
    &monitor_cost::RULE,
    &fix_reverted::RULE,
];

/// The rule of an id, upper or lower case.
pub fn find(id: &str) -> Option<&'static Rule> {
    ALL.iter().find(|rule| rule.id.eq_ignore_ascii_case(id)).copied()
}
