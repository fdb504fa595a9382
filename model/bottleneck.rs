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
use crate::rules::{Finding, RuleId, Severity, Subject, Threshold};
use std::sync::Arc;

/// What may be the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceKind {
    /// The hottest core.
    Core,
    /// The hottest thread: one cannot be faster than a core.
    Thread,
    /// The core with most soft and hard interrupts.
    Softirq,
    /// The busiest disk.
    Disk,
    /// The fullest link, receiving.
    NicIn,
    /// The fullest link, sending.
    NicOut,
    /// The group nearest to its CPU quota.
    Quota,
    /// The group nearest to its memory limit, or the machine.
    Memory,
    /// The large process with most of its memory on other nodes.
    Remote,
}

impl ResourceKind {
    /// All of them, in the order in which they are told.
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

    /// Its name for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::NicIn => "nic in",
            Self::NicOut => "nic out",
            Self::Quota => "cpu quota",
            Self::Remote => "remote memory",
            other => other.name(),
        }
    }

    /// The narrower cause first: a core full of interrupts is short of cores only on the face of it.
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

/// How a resource stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It was measured and is not the limit.
    HasHeadroom,
    /// Nobody knows.
    #[default]
    Unknown,
    /// It is the limit, or one of them.
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

    /// Its name for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::HasHeadroom => "has headroom",
            other => other.name(),
        }
    }
}

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    /// What it is.
    pub kind: ResourceKind,
    /// How it stands.
    pub verdict: Verdict,
    /// How full it is, 0 to 1; none where it is not known or there is nothing to fill.
    pub share: Option<f64>,
    /// The share from which on it is limiting by its own measure.
    pub limit_at: f64,
    /// What is used, with its unit: bytes/s of a link, cores of a quota, bytes of a limit, ms of a disk's requests.
    pub used: Option<(f64, &'static str)>,
    /// What that is measured against, in the same unit.
    pub limit: Option<(f64, &'static str)>,
    /// Whose it is.
    pub subject: Option<Subject>,
    /// What people call it; hostile, and empty where the subject's number says it all.
    pub name: Arc<str>,
    /// The thread, where it is about one.
    pub tid: Option<u32>,
    /// The open finding that makes it limiting, and how bad that is.
    pub rule: Option<(RuleId, Severity)>,
    /// Why it is unknown, or why there is nothing to measure; else what is to be known besides.
    pub note: &'static str,
}

impl Resource {
    /// One that nothing is known of.
    pub(crate) fn unknown(kind: ResourceKind, note: &'static str) -> Self {
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
    fn absent(kind: ResourceKind, note: &'static str) -> Self {
        Self { verdict: Verdict::HasHeadroom, ..Self::unknown(kind, note) }
    }

    /// One that is so full: limiting from `at` on.
    fn measured(kind: ResourceKind, share: f64, at: f64) -> Self {
        let verdict = if share >= at { Verdict::Limiting } else { Verdict::HasHeadroom };
        Self { verdict, share: Some(share), limit_at: at, ..Self::unknown(kind, "") }
    }

    fn about(self, subject: Subject, name: &Arc<str>) -> Self {
        Self { subject: Some(subject), name: Arc::clone(name), ..self }
    }

    /// How far it is from being limiting: 2.0 where twice as much would fit; none where nobody knows.
    pub fn headroom(&self) -> Option<f64> {
        self.share.filter(|share| *share > 0.0).map(|share| self.limit_at / share)
    }

    /// What makes one limiting resource worse than another.
    fn weight(&self) -> (Option<Severity>, u8, f64) {
        let over = self.share.map_or(0.0, |share| share / self.limit_at.max(f64::MIN_POSITIVE));
        (self.rule.map(|(_, severity)| severity), self.kind.rank(), over)
    }
}

/// All of a machine's resources; none before it was judged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resources(Vec<Resource>);

impl Resources {
    /// Of a frame and what was found in it, by thresholds as they are configured.
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

    /// True where nothing was judged.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The one that holds everything up: of those that are limiting the worst finding's, then the narrowest.
    pub fn bottleneck(&self) -> Option<&Resource> {
        let limiting = self.0.iter().filter(|resource| resource.verdict == Verdict::Limiting);
        limiting.max_by(|a, b| Self::compare(a, b))
    }

    fn compare(a: &Resource, b: &Resource) -> std::cmp::Ordering {
        let (a, b) = (a.weight(), b.weight());
        (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2))
    }

    /// The one that would be short next.
    pub fn next(&self) -> Option<&Resource> {
        let measured =
            self.0.iter().filter(|resource| resource.verdict == Verdict::HasHeadroom && resource.headroom().is_some());
        measured.min_by(|a, b| a.headroom().unwrap_or(f64::MAX).total_cmp(&b.headroom().unwrap_or(f64::MAX)))
    }
}

/// Of the machines of one test, the one whose resource is short and that resource.
pub fn limiting_machine(machines: &[Resources]) -> Option<(usize, Resource)> {
    let short = machines.iter().enumerate().filter_map(|(at, resources)| Some((at, resources.bottleneck()?)));
    short.max_by(|a, b| Resources::compare(a.1, b.1)).map(|(at, resource)| (at, resource.clone()))
}

impl FromIterator<Resource> for Resources {
    fn from_iter<I: IntoIterator<Item = Resource>>(resources: I) -> Self {
        Self(resources.into_iter().collect())
    }
}

/// What resources are measured from.
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

    /// The worst open finding about a resource that costs something now.
    fn blamed(&self, kind: ResourceKind) -> Option<&Finding> {
        let open = self.findings.iter().filter(|finding| finding.severity >= Severity::Warning);
        open.filter(|finding| (finding.rule.limits)(finding).contains(&kind)).max_by_key(|finding| finding.severity)
    }

    /// True for what an open finding about a resource is about.
    fn is_blamed(&self, kind: ResourceKind, subject: &Subject) -> bool {
        let about = |finding: &&Finding| finding.severity >= Severity::Warning && finding.subject == *subject;
        self.findings.iter().filter(about).any(|finding| (finding.rule.limits)(finding).contains(&kind))
    }

    /// Nothing where there are no rates yet; else why nothing was measured.
    fn no_rates(&self) -> Option<&'static str> {
        self.frame.interval_seconds.is_none().then_some("no rate yet")
    }
}

#[cfg(test)]
mod tests;
