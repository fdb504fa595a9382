//! What limits the machine, and its resources.

use super::{OrNull, absent, safe};
use crate::bottleneck::{self, ClockCause, Confidence, Outcome, ResourceKind, Resources, Verdict};
use crate::frame::WaitClass;
use crate::locale::in_english;
use crate::rules::RuleId;
use crate::waiting;
use serde::Serialize;
use serde_with::apply;

/// What waits for a resource, and how much.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Waits {
    /// `run_queue`, `throttled`, `refaults`, `requests`, `drops`, `swap_in`, …
    what: &'static str,
    value: f64,
    unit: &'static str,
}

impl From<bottleneck::Waits> for Waits {
    fn from(waits: bottleneck::Waits) -> Self {
        Self { what: waits.what, value: waits.value, unit: waits.unit }
    }
}

/// The frequency of CPUs at their capacity that run below their maximum.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Clock {
    mhz: f64,
    highest_mhz: f64,
    cause: ClockCause,
}

impl From<bottleneck::Clock> for Clock {
    fn from(clock: bottleneck::Clock) -> Self {
        Self { mhz: clock.mhz, highest_mhz: clock.highest_mhz, cause: clock.cause }
    }
}

/// A resource of the machine.
#[apply(_ => #[serde(skip_serializing_if = "absent")])]
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Resource {
    #[serde(rename = "resource")]
    kind: ResourceKind,
    verdict: Verdict,
    /// Its utilisation: a fraction of its capacity.
    share: Option<f64>,
    /// Utilisation at which it counts as at capacity.
    limit_at: f64,
    /// Share of time in which the tasks that carry the load wait for it.
    wait_share: Option<f64>,
    /// The measurement behind `wait_share`.
    waits: Option<Waits>,
    /// Why CPUs at their capacity run below their maximum frequency.
    clock: Option<Clock>,
    /// Amount in use, in `unit`; for a disk, the time per request.
    used: Option<f64>,
    /// Its capacity or limit, in `unit`.
    limit: Option<f64>,
    unit: Option<&'static str>,
    /// Its owner.
    subject: Option<String>,
    /// Its display name.
    name: Option<String>,
    /// The thread, if a thread is the limit.
    thread: Option<u32>,
    /// The open finding that explains it.
    rule: Option<RuleId>,
    /// Why it is unknown, or what else there is to know.
    note: Option<&'static str>,
}

impl From<&bottleneck::Resource> for Resource {
    fn from(resource: &bottleneck::Resource) -> Self {
        Self {
            kind: resource.kind,
            verdict: resource.verdict,
            share: resource.share,
            limit_at: resource.limit_at,
            wait_share: resource.wait,
            waits: resource.waits.map(Waits::from),
            clock: resource.clock.map(Clock::from),
            used: resource.used.map(|used| used.0),
            limit: resource.limit.map(|limit| limit.0),
            unit: resource.used.or(resource.limit).map(|used| used.1),
            subject: resource.subject.as_ref().map(|subject| safe(subject.to_string())),
            name: (!resource.name.is_empty()).then(|| safe(&resource.name)),
            thread: resource.tid,
            rule: resource.rule.map(|(rule, _)| rule),
            note: (!resource.note.is_empty()).then(|| resource.note.english()),
        }
    }
}

/// All resources.
pub fn resources(resources: &Resources) -> Vec<Resource> {
    resources.iter().map(Resource::from).collect()
}

/// The next limit.
#[apply(_ => #[serde(skip_serializing_if = "absent")])]
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Next {
    #[serde(rename = "resource")]
    kind: ResourceKind,
    subject: Option<String>,
    name: Option<String>,
    /// Its utilisation now.
    share: Option<f64>,
    /// Upper bound of the load that fits, as a multiple of the present load.
    headroom: f64,
}

/// What the process that carries the load waits for.
#[apply(_ => #[serde(skip_serializing_if = "absent")])]
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Waiting {
    /// What the load waits for, as a sentence.
    sentence: String,
    /// The same for people, in their language.
    #[serde_with(skip_apply)]
    #[serde(skip)]
    shown: String,
    pid: u32,
    comm: String,
    class: WaitClass,
    /// Share of its time.
    share: f64,
    /// The peer, the kernel function of a disk wait, the call.
    what: Option<String>,
    /// With one request at a time: requests per second, and the time of each.
    requests_per_second: Option<f64>,
    request_ms: Option<f64>,
}

impl Waiting {
    /// The sentence for people.
    pub fn shown(&self) -> &str {
        &self.shown
    }
}

impl From<waiting::Waiting<'_>> for Waiting {
    fn from(waiting: waiting::Waiting<'_>) -> Self {
        let requests = waiting.one_by_one();
        Self {
            sentence: safe(in_english(|| waiting.sentence())),
            shown: safe(waiting.sentence()),
            pid: waiting.process.pid,
            comm: safe(&waiting.process.comm),
            class: waiting.class,
            share: waiting.share,
            what: (!waiting.what.is_empty()).then(|| safe(waiting.what)),
            requests_per_second: requests.map(|requests| requests.0),
            request_ms: requests.map(|requests| requests.1),
        }
    }
}

/// What limits the machine.
#[apply(_ => #[serde(skip_serializing_if = "absent")])]
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Bottleneck {
    verdict: Outcome,
    /// The answer in one line, as on every screen.
    headline: String,
    /// The limiting or imbalanced resource; null if there is none.
    resource: OrNull<ResourceKind>,
    subject: Option<String>,
    name: Option<String>,
    /// The thread, if a thread is the limit.
    thread: Option<u32>,
    /// Its utilisation.
    share: Option<f64>,
    /// Share of time in which the tasks that carry the load wait for it.
    wait_share: Option<f64>,
    /// The measurement behind `wait_share`.
    waits: Option<Waits>,
    /// Why CPUs at their capacity run below their maximum frequency.
    clock: Option<Clock>,
    /// For an imbalance: the median utilisation of the peers.
    peers_share: Option<f64>,
    /// First sample with this verdict: RFC 3339, UTC.
    since: Option<String>,
    confidence: Confidence,
    /// Samples that it is based on.
    samples: u64,
    /// The rule of the open finding that explains it; `rule_subject` is the subject of that finding.
    rule: Option<RuleId>,
    rule_subject: Option<String>,
    /// If inconclusive: the resources that could be the limit.
    unknown: Option<Vec<ResourceKind>>,
    /// What the load waits for where nothing is at its limit.
    waiting: Option<Waiting>,
    /// The next limit; null if there is no headroom, or it is unknown.
    next: OrNull<Next>,
}

/// The answer, with the time since when it holds.
pub fn bottleneck(answer: &bottleneck::Bottleneck, since: Option<String>, waiting: Option<Waiting>) -> Bottleneck {
    let resource = answer.resource.as_ref();
    let subject = |resource: &bottleneck::Resource| resource.subject.as_ref().map(|subject| safe(subject.to_string()));
    let name = |resource: &bottleneck::Resource| (!resource.name.is_empty()).then(|| safe(&resource.name));
    let next = answer.next.as_ref().map(|next| Next {
        kind: next.resource.kind,
        subject: subject(&next.resource),
        name: name(&next.resource),
        share: next.resource.share,
        headroom: next.headroom,
    });
    let mut unknown: Vec<ResourceKind> = answer.unknown.iter().map(|resource| resource.kind).collect();
    unknown.dedup();
    Bottleneck {
        verdict: answer.verdict,
        headline: safe(answer.line()),
        resource: OrNull(resource.map(|resource| resource.kind)),
        subject: resource.and_then(subject),
        name: resource.and_then(name),
        thread: resource.and_then(|resource| resource.tid),
        share: resource.and_then(|resource| resource.share),
        wait_share: resource.and_then(|resource| resource.wait),
        waits: resource.and_then(|resource| resource.waits).map(Waits::from),
        clock: resource.and_then(|resource| resource.clock).map(Clock::from),
        peers_share: answer.peers,
        since,
        confidence: answer.confidence,
        samples: answer.samples,
        rule: answer.finding.as_ref().map(|(rule, _)| *rule),
        rule_subject: answer.finding.as_ref().map(|(_, subject)| safe(subject.to_string())),
        unknown: (answer.verdict == Outcome::Inconclusive).then_some(unknown),
        waiting,
        next: OrNull(next),
    }
}
