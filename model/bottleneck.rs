//! What limits the machine now.
//!
//! A resource limits when it is at its capacity and work waits for it, long enough to matter; at its capacity without a
//! wait it is full and limits nobody. The answer names it, or says that one member is full while its peers are idle, that
//! nothing is at its limit, or which unknown resources could be. Findings have no part in it: they are attached to it.

mod bandwidth;
mod causes;
mod clock;
mod core;
mod cpus;
mod cpuset;
mod decide;
mod demand;
mod disk;
mod exclusions;
mod file_system;
mod io_throttle;
mod kind;
mod links;
mod member_names;
mod memory;
mod quota;
mod remote;
mod resource;
mod run_queue;
mod sections;
mod series;
mod softirq;
mod state;
mod tables;
mod tally;
mod tcp;
mod thread;
mod words;

pub(crate) use clock::is_reached;
pub use clock::{Clock, ClockCause};
pub(crate) use cpus::are_full;
pub(crate) use disk::is_asked_for;
pub use exclusions::{exclusions, sentence};
pub use kind::ResourceKind;
pub use resource::{Resource, Verdict, Waits};
pub(crate) use series::Turns;
pub use state::State;
pub(crate) use state::{Held, Window};
pub use tally::Tally;
pub use tcp::NEAR as QUEUE_NEAR_BACKLOG;

use crate::Stamp;
use crate::frame::Frame;
use crate::judge::Settings;
use crate::locale::Text;
use crate::locale::resource::note;
use crate::rules::{Finding, RuleId, Subject, Threshold};
use demand::Demand;
use resource::Member;
use run_queue::RunQueue;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Samples with rates that an answer needs.
pub const SAMPLES: u64 = state::ENTER as u64;

/// The verdict for the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A resource is at its capacity, and work waits for it.
    Limited,
    /// One core, queue, node or disk is at its capacity while its peers are idle.
    Imbalance,
    /// Nothing is at its limit under load.
    NotSaturated,
    /// There is no load.
    Idle,
    /// A resource of unknown state could be the limit.
    #[default]
    Inconclusive,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Limited, Self::Imbalance, Self::NotSaturated, Self::Idle, Self::Inconclusive];

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Limited => "limited",
            Self::Imbalance => "imbalance",
            Self::NotSaturated => "not_saturated",
            Self::Idle => "idle",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// Confidence in the verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Inferred by elimination.
    #[default]
    Low,
    /// Utilisation or wait is inferred from another measurement.
    Medium,
    /// Utilisation and wait were both measured directly.
    High,
}

impl Confidence {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// The next limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Next {
    /// What it is.
    pub resource: Resource,
    /// Upper bound of the load that fits, as a multiple of the present load.
    pub headroom: f64,
}

/// The answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bottleneck {
    /// What it is.
    pub verdict: Outcome,
    /// The resource that limits, or is full on one member.
    pub resource: Option<Resource>,
    /// Of an imbalance: the median utilisation of the peers.
    pub peers: Option<f64>,
    /// What tasks wait for although it has capacity left.
    pub latency: Option<Resource>,
    /// The first sample since which it is so.
    pub since: Option<Stamp>,
    /// How sure it is.
    pub confidence: Confidence,
    /// Inconclusive: the unknown resources that could be what limits, with the reason.
    pub unknown: Vec<Resource>,
    /// What would limit next.
    pub next: Option<Next>,
    /// The open finding that explains it.
    pub finding: Option<(RuleId, Subject)>,
    /// Samples that it is based on, [`SAMPLES`] or more of them for an answer.
    pub samples: u64,
}

impl Bottleneck {
    /// True while there are too few samples for an answer.
    pub fn is_collecting(&self) -> bool {
        self.samples < SAMPLES
    }

    /// True if something limits.
    pub fn is_limit(&self) -> bool {
        matches!(self.verdict, Outcome::Limited | Outcome::Imbalance)
    }
}

/// All resources of a machine; none before it was judged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resources(Vec<Resource>);

impl Resources {
    /// Each of them, in the order of [`ResourceKind::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = &Resource> {
        self.0.iter()
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = &mut Resource> {
        self.0.iter_mut()
    }

    /// One of them.
    pub fn get(&self, kind: ResourceKind) -> Option<&Resource> {
        self.0.iter().find(|resource| resource.kind == kind)
    }

    /// True if nothing was judged.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<Resource> for Resources {
    fn from_iter<I: IntoIterator<Item = Resource>>(resources: I) -> Self {
        Self(resources.into_iter().collect())
    }
}

impl State {
    /// The resources of a frame and the answer, with what earlier frames left.
    pub fn judge_frame(&mut self, frame: &Frame, findings: &[Finding], settings: &Settings) -> (Resources, Bottleneck) {
        if frame.interval_seconds.is_some() {
            self.observe(frame);
        }
        let demand = Demand::of(frame, self);
        let queues = RunQueue::of(frame, &demand);
        let means = (std::mem::take(&mut self.quiet_ms), self.interrupts.clone(), self.refaults.clone());
        let ((quiet_ms, interrupts, refaults), hot, turns) = (means, self.hot.clone(), self.turns.clone());
        let full = self.held.as_ref().and_then(|held| held.resource.clone());
        let full = full.filter(|(kind, _)| *kind == ResourceKind::Thread).map(|(_, subject)| subject);
        let inputs =
            Inputs { frame, findings, settings, quiet_ms, interrupts, refaults, hot, full, turns, demand, queues };
        let mut members = members(&inputs);
        let result = if frame.interval_seconds.is_some() {
            decide::decide(&inputs, &mut members, self)
        } else {
            // Nothing of one sample alone is a rate.
            let unknown = decide::unknown(&members, false, |_| true);
            (decide::listed(&members), Bottleneck { samples: self.samples, unknown, ..Bottleneck::default() })
        };
        self.quiet_ms = inputs.quiet_ms;
        result
    }
}

/// The resources of a frame and the answer as if it had been so for long: for pictures of a single moment.
pub fn settled(frame: &Frame, findings: &[Finding], settings: &Settings) -> (Resources, Bottleneck) {
    let mut state = State::default();
    let mut result = state.judge_frame(frame, findings, settings);
    for _ in 1..SAMPLES {
        result = state.judge_frame(frame, findings, settings);
    }
    result
}

/// Every resource of the machine, as measured in this sample.
fn members(inputs: &Inputs<'_>) -> Vec<Member> {
    let measures: [fn(&Inputs<'_>) -> Vec<Member>; 19] = [
        cpus::cpus,
        cpuset::cpuset,
        core::core,
        thread::thread,
        softirq::softirq,
        cpus::steal,
        quota::quota,
        memory::memory,
        memory::swap,
        remote::remote,
        bandwidth::bandwidth,
        disk::disk,
        io_throttle::io_throttle,
        file_system::file_system,
        tcp::tcp,
        tables::conntrack,
        tables::ports,
        tables::files,
        tables::pids,
    ];
    let links = [ResourceKind::NicIn, ResourceKind::NicOut].into_iter().flat_map(|kind| links::nic(inputs, kind));
    let all = measures.iter().flat_map(|measure| measure(inputs)).chain(links);
    all.map(|mut member| {
        member.resource.clock = clock::clock(inputs, &member);
        member
    })
    .collect()
}

/// The inputs of the measurement.
struct Inputs<'a> {
    frame: &'a Frame,
    findings: &'a [Finding],
    settings: &'a Settings,
    /// The least latency of each disk without a queue.
    quiet_ms: BTreeMap<Arc<str>, f64>,
    /// Mean share of interrupts on each CPU.
    interrupts: BTreeMap<u32, f64>,
    /// Mean pages per second that each group read again.
    refaults: BTreeMap<Arc<str>, f64>,
    /// When heat slowed each CPU down.
    hot: BTreeMap<u32, u64>,
    /// The process whose thread limits, as the last answer has it.
    full: Option<Subject>,
    /// What comes and goes below each process.
    turns: BTreeMap<(u32, u64), series::Turns>,
    demand: Demand<'a>,
    queues: RunQueue,
}

impl Inputs<'_> {
    /// A rule's threshold as configured.
    fn limit(&self, threshold: &Threshold) -> f64 {
        threshold.configured(&self.settings.thresholds)
    }

    /// Share of interrupts on a CPU.
    fn interrupts(&self, cpu: u32) -> f64 {
        self.interrupts.get(&cpu).copied().unwrap_or(0.0)
    }

    /// The note of a resource that needs rates, while there are none.
    fn no_rates(&self) -> Option<Text> {
        self.frame.interval_seconds.is_none().then_some(note::NO_RATES)
    }

    /// A kind that was not measured; `suspect` if it could be what limits.
    fn unmeasured(&self, kind: ResourceKind, read: bool, suspect: bool) -> Member {
        let reason = if read { self.no_rates().unwrap_or(note::NOT_MEASURED) } else { note::NOT_READABLE };
        Member::unknown(kind, reason, suspect)
    }

    /// True if a file of some control group exists but is not readable.
    fn is_unread(&self, files: &[&str]) -> bool {
        memory::is_unread(self.frame, files)
    }

    /// True if load-bearing tasks wait for CPUs although none that they may use is full, or nobody can tell.
    fn waits_for_cpus(&self) -> bool {
        let free = self.queues.get(&run_queue::Cause::None).map_or(0.0, run_queue::Queue::share);
        free >= resource::WAIT || !self.demand.waits_known && self.demand.total > 0.2
    }

    /// True if load-bearing tasks wait for disks, or nobody can tell.
    fn waits_for_disks(&self) -> bool {
        self.demand.io_wait().is_none_or(|(wait, _)| wait >= resource::WAIT)
    }

    /// Share of the time that tasks of the machine wait for memory.
    fn memory_wait(&self) -> Option<f64> {
        memory::wait(self)
    }
}

/// Of the machines of one test, the one with the bottleneck, and its answer.
pub fn limiting_machine(machines: &[Bottleneck]) -> Option<(usize, &Bottleneck)> {
    let weight = |answer: &Bottleneck| {
        let resource = answer.resource.as_ref();
        let over = resource.and_then(|resource| Some(resource.share? / resource.limit_at.max(f64::MIN_POSITIVE)));
        (answer.confidence, over.unwrap_or(0.0))
    };
    let limiting = machines.iter().enumerate().filter(|(_, answer)| answer.is_limit());
    limiting.max_by(|a, b| {
        let (a, b) = (weight(a.1), weight(b.1));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    })
}

#[cfg(test)]
mod tests;
