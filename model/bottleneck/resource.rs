//! A resource, and one measured member of a kind before its state is decided.

use super::{Clock, ResourceKind};
use crate::Stamp;
use crate::locale::{Text, resource as text};
use crate::rules::{RuleId, Severity, Subject};
use serde::Serialize;
use std::sync::Arc;

/// Share of the time of load-bearing tasks that they wait, from which on a resource limits: removing the wait gains 10 %.
pub(super) const WAIT: f64 = 0.10;
/// The same while it limits.
pub(super) const WAIT_LEAVES: f64 = 0.05;
/// Utilisation at which a resource is at its capacity.
pub(super) const FULL: f64 = 0.95;
/// The same while it limits.
pub(super) const FULL_LEAVES: f64 = 0.90;

/// The state of a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It has capacity left and nothing waits for it.
    HasHeadroom,
    /// Tasks wait although it has capacity left.
    LatencyBound,
    /// It is at its capacity and nothing waits for it.
    Full,
    /// It could not be measured.
    #[default]
    Unknown,
    /// It is at its capacity, work waits for it, and both have lasted.
    Limiting,
}

impl Verdict {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::HasHeadroom => "has_headroom",
            Self::LatencyBound => "latency_bound",
            Self::Full => "full",
            Self::Unknown => "unknown",
            Self::Limiting => "limiting",
        }
    }

    /// Its label.
    pub fn label(self) -> Text {
        match self {
            Self::HasHeadroom => text::HAS_HEADROOM,
            Self::LatencyBound => text::LATENCY_BOUND,
            Self::Full => text::FULL,
            Self::Unknown => text::UNKNOWN,
            Self::Limiting => text::LIMITING,
        }
    }
}

/// What waits for a resource, and how much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waits {
    /// Its name in JSON: `run_queue`, `throttled`, `refaults`, `requests`, `drops`, …
    pub what: &'static str,
    /// How much.
    pub value: f64,
    /// The unit of that.
    pub unit: &'static str,
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
    /// The utilisation from which it is at its capacity.
    pub limit_at: f64,
    /// What is used, with its unit: bytes/s of a link, cores of a quota, bytes of a limit, ms of a disk's requests.
    pub used: Option<(f64, &'static str)>,
    /// Its capacity or limit, in the same unit.
    pub limit: Option<(f64, &'static str)>,
    /// Its subject.
    pub subject: Option<Subject>,
    /// The name of its subject; hostile, and empty if the subject is a number.
    pub name: Arc<str>,
    /// The thread, if it is about one.
    pub tid: Option<u32>,
    /// Share of their time that load-bearing tasks wait for it; none if unknown.
    pub wait: Option<f64>,
    /// The measure of that wait.
    pub waits: Option<Waits>,
    /// Of CPUs at their capacity: the clock, where something keeps it below its maximum.
    pub clock: Option<Clock>,
    /// The first sample since which it is limiting.
    pub since: Option<Stamp>,
    /// The open finding that explains it, and its severity.
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
            limit_at: FULL,
            used: None,
            limit: None,
            subject: None,
            name: Arc::default(),
            tid: None,
            wait: None,
            waits: None,
            clock: None,
            since: None,
            rule: None,
            note,
        }
    }

    /// Its verdict as people read it: what the machine does not have, or nothing uses, has no headroom either.
    pub fn state(&self) -> Text {
        let absent = self.verdict == Verdict::HasHeadroom && self.share.is_none() && self.subject.is_none();
        if absent { text::NOT_APPLICABLE } else { self.verdict.label() }
    }

    /// Its headroom: 2.0 if twice as much would fit; none if unknown.
    pub fn headroom(&self) -> Option<f64> {
        self.share.filter(|share| *share > 0.0).map(|share| self.limit_at / share)
    }
}

/// One of a kind (a disk, a group, a core) as measured in one sample.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Member {
    pub(super) resource: Resource,
    /// At its capacity, and still at it once it limits.
    pub(super) enters: bool,
    pub(super) stays: bool,
    /// Its capacity limits without a wait that anybody can see: a thread's queue is inside the program.
    pub(super) alone: bool,
    /// It is full once that has lasted, and limits nobody.
    pub(super) lasts: bool,
    /// Time of the tasks that wait for it, in cores.
    pub(super) demand: f64,
    /// Measured, but utilisation or wait is a proxy.
    pub(super) proxy: bool,
    /// More load needs more of it.
    pub(super) scales: bool,
    /// Median utilisation of the members that its tasks could use instead.
    pub(super) peers: Option<f64>,
    /// While it is unknown, it could be what limits.
    pub(super) suspect: bool,
}

impl Member {
    /// One that could not be measured; `suspect` if it could be what limits.
    pub(super) fn unknown(kind: ResourceKind, note: Text, suspect: bool) -> Self {
        Self {
            resource: Resource::unknown(kind, note),
            enters: false,
            stays: false,
            alone: false,
            lasts: false,
            demand: 0.0,
            proxy: false,
            scales: false,
            peers: None,
            suspect,
        }
    }

    /// One that the machine does not have.
    pub(super) fn absent(kind: ResourceKind, note: Text) -> Self {
        let mut member = Self::unknown(kind, note, false);
        member.resource.verdict = Verdict::HasHeadroom;
        member
    }

    /// A measured one, at its capacity by the usual thresholds.
    pub(super) fn measured(kind: ResourceKind, share: f64) -> Self {
        Self::between(kind, share, FULL, FULL_LEAVES)
    }

    /// The same with thresholds of its own.
    pub(super) fn between(kind: ResourceKind, share: f64, enter: f64, leave: f64) -> Self {
        let mut member = Self::absent(kind, Text::EMPTY);
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
        (member.resource.share, member.resource.limit_at) = (Some(share), enter);
        (member.enters, member.stays, member.scales) = (share >= enter, share >= leave, true);
        member
    }

    pub(super) fn about(mut self, subject: Subject, name: &Arc<str>) -> Self {
        (self.resource.subject, self.resource.name) = (Some(subject), Arc::clone(name));
        self
    }

    /// What waits: the share of the time of tasks with so much demand.
    pub(super) fn waits(mut self, wait: Option<f64>, demand: f64, what: Waits) -> Self {
        self.resource.wait = wait.map(|wait| if wait.is_finite() { wait.clamp(0.0, 1.0) } else { 0.0 });
        self.resource.waits = wait.map(|_| what);
        self.demand = demand;
        self
    }

    pub(super) fn of(mut self, used: Option<f64>, limit: Option<f64>, unit: &'static str) -> Self {
        self.resource.used = used.map(|used| (used, unit));
        self.resource.limit = limit.map(|limit| (limit, unit));
        self
    }

    pub(super) fn note(mut self, note: Text) -> Self {
        self.resource.note = note;
        self
    }

    /// What it is about.
    pub(super) fn subject(&self) -> Subject {
        self.resource.subject.clone().unwrap_or(Subject::Host)
    }

    /// Its key over samples: of threads that are full one after the other, or at the same time, each is the same limit.
    pub(super) fn window_key(&self) -> (ResourceKind, Subject) {
        match self.resource.kind {
            ResourceKind::Thread => (ResourceKind::Thread, Subject::Host),
            kind => (kind, self.subject()),
        }
    }

    /// True if it is at its capacity and waited for in this sample; less is asked of one that limits.
    pub(super) fn is_saturated(&self, limiting: bool) -> bool {
        let (full, wait) = if limiting { (self.stays, WAIT_LEAVES) } else { (self.enters, WAIT) };
        full && (self.alone || self.lasts || self.resource.wait.is_some_and(|share| share >= wait))
    }

    /// How much time is lost to it, in cores.
    pub(super) fn weight(&self) -> f64 {
        let own = self.resource.share.filter(|_| self.alone);
        self.resource.wait.into_iter().chain(own).fold(0.0, f64::max) * self.demand
    }

    /// The state in this sample alone.
    pub(super) fn state(&self) -> Verdict {
        let resource = &self.resource;
        match resource.verdict {
            Verdict::Unknown => Verdict::Unknown,
            _ if self.lasts => Verdict::HasHeadroom,
            _ if self.enters && !self.alone && resource.wait.is_none() => Verdict::Unknown,
            _ if self.enters => Verdict::Full,
            _ if resource.wait.is_some_and(|wait| wait >= WAIT) => Verdict::LatencyBound,
            _ => Verdict::HasHeadroom,
        }
    }
}
