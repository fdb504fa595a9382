//! The resources of a machine and its bottleneck. Each resource is limiting, has headroom or is unknown.
//!
//! A resource is limiting while a finding about it is open, or when its own measure is above the same thresholds that
//! the rules use. A resource that could not be measured, or whose capacity is unknown, is unknown and never has headroom.

mod exclusions;
mod groups;
mod links;
mod machine;
mod tally;
mod words;

pub use exclusions::{exclusions, sentence};
pub use tally::Tally;

use crate::frame::Frame;
use crate::judge::Settings;
use crate::locale::{Text, resource as text};
use crate::rules::{Finding, RuleId, Severity, Subject, Threshold};
use serde::Serialize;
use std::sync::Arc;

/// What may be the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ResourceKind {
    /// The hottest core.
    Core,
    /// The hottest thread: a thread cannot use more than one core.
    Thread,
    /// The core with the largest share of soft and hard interrupts.
    Softirq,
    /// The busiest disk.
    Disk,
    /// The fullest link, receiving.
    NicIn,
    /// The fullest link, sending.
    NicOut,
    /// The control group nearest to its CPU quota.
    #[serde(rename = "cpu_quota")]
    Quota,
    /// The control group nearest to its memory limit, or the machine.
    Memory,
    /// The large process with the largest share of remote memory.
    #[serde(rename = "remote_memory")]
    Remote,
}

impl ResourceKind {
    /// All of them, in display order.
    pub const ALL: [Self; 9] = [
        Self::Core,
        Self::Thread,
        Self::Softirq,
        Self::Disk,
        Self::NicIn,
        Self::NicOut,
        Self::Quota,
        Self::Memory,
        Self::Remote,
    ];

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Thread => "thread",
            Self::Softirq => "softirq",
            Self::Disk => "disk",
            Self::NicIn => "nic_in",
            Self::NicOut => "nic_out",
            Self::Quota => "cpu_quota",
            Self::Memory => "memory",
            Self::Remote => "remote_memory",
        }
    }

    /// Its label.
    pub fn label(self) -> Text {
        match self {
            Self::Core => text::CORE,
            Self::Thread => text::THREAD,
            Self::Softirq => text::SOFTIRQ,
            Self::Disk => text::DISK,
            Self::NicIn => text::NIC_IN,
            Self::NicOut => text::NIC_OUT,
            Self::Quota => text::CPU_QUOTA,
            Self::Memory => text::MEMORY,
            Self::Remote => text::REMOTE_MEMORY,
        }
    }

    /// The more specific cause ranks higher: a core full of interrupts is a softirq bottleneck.
    fn rank(self) -> u8 {
        match self {
            Self::Core => 0,
            Self::Thread => 1,
            Self::Remote => 2,
            Self::Softirq => 3,
            Self::Quota => 4,
            Self::Disk => 5,
            Self::Memory => 6,
            Self::NicIn | Self::NicOut => 7,
        }
    }
}

/// The state of a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It was measured and is not limiting.
    HasHeadroom,
    /// It could not be measured.
    #[default]
    Unknown,
    /// It is limiting.
    Limiting,
}

impl Verdict {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::HasHeadroom => "has_headroom",
            Self::Unknown => "unknown",
            Self::Limiting => "limiting",
        }
    }

    /// Its label.
    pub fn label(self) -> Text {
        match self {
            Self::HasHeadroom => text::HAS_HEADROOM,
            Self::Unknown => text::UNKNOWN,
            Self::Limiting => text::LIMITING,
        }
    }
}

/// A resource of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    /// Its kind.
    pub kind: ResourceKind,
    /// Its state.
    pub verdict: Verdict,
    /// Its utilisation, 0 to 1; none if unknown or without capacity.
    pub share: Option<f64>,
    /// The utilisation from which it is limiting by its own measure.
    pub limit_at: f64,
    /// What is used, with its unit: bytes/s of a link, cores of a quota, bytes of a limit, ms of a disk's requests.
    pub used: Option<(f64, &'static str)>,
    /// What that is measured against, in the same unit.
    pub limit: Option<(f64, &'static str)>,
    /// Its subject.
    pub subject: Option<Subject>,
    /// The name of its subject; hostile, and empty if the subject is a number.
    pub name: Arc<str>,
    /// The thread, if it is about one.
    pub tid: Option<u32>,
    /// The open finding that makes it limiting, and its severity.
    pub rule: Option<(RuleId, Severity)>,
    /// Why it is unknown or absent; else a remark.
    pub note: Text,
}

impl Resource {
    /// An unknown one.
    pub(crate) fn unknown(kind: ResourceKind, note: Text) -> Self {
        Self {
            kind,
            verdict: Verdict::Unknown,
            share: None,
            limit_at: 1.0,
            used: None,
            limit: None,
            subject: None,
            name: Arc::default(),
            tid: None,
            rule: None,
            note,
        }
    }

    /// One that the machine does not have.
    fn absent(kind: ResourceKind, note: Text) -> Self {
        Self { verdict: Verdict::HasHeadroom, ..Self::unknown(kind, note) }
    }

    /// A measured one: limiting from `at` on.
    fn measured(kind: ResourceKind, share: f64, at: f64) -> Self {
        let verdict = if share >= at { Verdict::Limiting } else { Verdict::HasHeadroom };
        Self { verdict, share: Some(share), limit_at: at, ..Self::unknown(kind, Text::EMPTY) }
    }

    fn about(self, subject: Subject, name: &Arc<str>) -> Self {
        Self { subject: Some(subject), name: Arc::clone(name), ..self }
    }

    /// Its headroom: 2.0 if twice as much would fit; none if unknown.
    pub fn headroom(&self) -> Option<f64> {
        self.share.filter(|share| *share > 0.0).map(|share| self.limit_at / share)
    }

    /// The order of limiting resources.
    fn weight(&self) -> (Option<Severity>, u8, f64) {
        let over = self.share.map_or(0.0, |share| share / self.limit_at.max(f64::MIN_POSITIVE));
        (self.rule.map(|(_, severity)| severity), self.kind.rank(), over)
    }
}

/// All resources of a machine; none before it was judged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resources(Vec<Resource>);

impl Resources {
    /// Of a frame and its findings, by the configured thresholds.
    pub fn of(frame: &Frame, findings: &[Finding], settings: &Settings) -> Self {
        let inputs = Inputs { frame, findings, settings };
        let mut resources = vec![
            machine::core(&inputs),
            machine::thread(&inputs),
            machine::softirq(&inputs),
            machine::disk(&inputs),
            links::nic(&inputs, ResourceKind::NicIn),
            links::nic(&inputs, ResourceKind::NicOut),
            groups::quota(&inputs),
            groups::memory(&inputs),
            machine::remote(&inputs),
        ];
        for resource in &mut resources {
            if let Some(finding) = inputs.blamed(resource.kind) {
                resource.verdict = Verdict::Limiting;
                resource.rule = Some((finding.rule.id, finding.severity));
                let known = resource.share.is_some();
                if !known {
                    resource.subject = Some(finding.subject.clone());
                }
            }
        }
        Self(resources)
    }

    /// Each of them, in the order of [`ResourceKind::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = &Resource> {
        self.0.iter()
    }

    /// One of them.
    pub fn get(&self, kind: ResourceKind) -> Option<&Resource> {
        self.0.iter().find(|resource| resource.kind == kind)
    }

    /// True if nothing was judged.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bottleneck: of the limiting resources the one with the worst finding, then the most specific one.
    pub fn bottleneck(&self) -> Option<&Resource> {
        let limiting = self.0.iter().filter(|resource| resource.verdict == Verdict::Limiting);
        limiting.max_by(|a, b| Self::compare(a, b))
    }

    fn compare(a: &Resource, b: &Resource) -> std::cmp::Ordering {
        let (a, b) = (a.weight(), b.weight());
        (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2))
    }

    /// The resource with the least headroom.
    pub fn next(&self) -> Option<&Resource> {
        let measured =
            self.0.iter().filter(|resource| resource.verdict == Verdict::HasHeadroom && resource.headroom().is_some());
        measured.min_by(|a, b| a.headroom().unwrap_or(f64::MAX).total_cmp(&b.headroom().unwrap_or(f64::MAX)))
    }
}

/// Of the machines of one test, the one with the bottleneck and that resource.
pub fn limiting_machine(machines: &[Resources]) -> Option<(usize, Resource)> {
    let limiting = machines.iter().enumerate().filter_map(|(at, resources)| Some((at, resources.bottleneck()?)));
    limiting.max_by(|a, b| Resources::compare(a.1, b.1)).map(|(at, resource)| (at, resource.clone()))
}

impl FromIterator<Resource> for Resources {
    fn from_iter<I: IntoIterator<Item = Resource>>(resources: I) -> Self {
        Self(resources.into_iter().collect())
    }
}

/// The inputs of the measurement.
struct Inputs<'a> {
    frame: &'a Frame,
    findings: &'a [Finding],
    settings: &'a Settings,
}

impl Inputs<'_> {
    /// A rule's threshold as configured.
    fn limit(&self, threshold: &Threshold) -> f64 {
        threshold.configured(&self.settings.thresholds)
    }

    /// The worst open finding about a resource, of severity warning or above.
    fn blamed(&self, kind: ResourceKind) -> Option<&Finding> {
        let open = self.findings.iter().filter(|finding| finding.severity >= Severity::Warning);
        open.filter(|finding| (finding.rule.limits)(finding).contains(&kind)).max_by_key(|finding| finding.severity)
    }

    /// True for the subject of such a finding.
    fn is_blamed(&self, kind: ResourceKind, subject: &Subject) -> bool {
        let about = |finding: &&Finding| finding.severity >= Severity::Warning && finding.subject == *subject;
        self.findings.iter().filter(about).any(|finding| (finding.rule.limits)(finding).contains(&kind))
    }

    /// The note of a resource that needs rates, while there are none.
    fn no_rates(&self) -> Option<Text> {
        self.frame.interval_seconds.is_none().then_some(text::note::NO_RATES)
    }
}

#[cfg(test)]
mod tests;
