//! The decision: of what is saturated the one that explains the most waiting, else why there is none.

use super::resource::{FULL_LEAVES, Member};
use super::state::{CHANGE_NS, ENTER, Held, State};
use super::{Bottleneck, Confidence, Inputs, Next, Outcome, Resource, ResourceKind, Resources, Verdict, causes};
use crate::rules::{Finding, RuleId, Severity, Subject, cpu_frequency};
use std::cmp::Ordering;

/// Cores' worth of demand, tasks in uninterruptible sleep, and packets per second below which a machine is idle.
const IDLE: (f64, f64, f64) = (0.2, 0.2, 1000.0);
/// Median utilisation of peers below which one full member is an imbalance.
const PEERS: f64 = 0.5;
/// Share of their time in run queues, and of the CPUs that are busy, below which the waiting of tasks for CPUs with capacity
/// left is not reported: a few that wake up together wait for each other on a machine that is hardly used.
const RUN_QUEUE: f64 = 0.25;
/// The answer stands while another resource explains little more.
const KEEPS: f64 = 0.8;
/// Headroom from which on there is no load to speak of, and no thread or disk that is nearest by more than chance.
const NO_LOAD: f64 = 20.0;

pub(super) fn decide(inputs: &Inputs<'_>, members: &mut [Member], state: &mut State) -> (Resources, Bottleneck) {
    let stamp = inputs.frame.stamp;
    state.step(members, stamp);
    state.judge(!is_idle(inputs), members, stamp);
    let mut resources = listed(members);
    let held = state.held.clone();
    let limiting = limiting(inputs, members, held.as_ref());
    let outcome = outcome(state, limiting);
    let mut wanted = Held { outcome, resource: limiting.map(key), since: stamp, changed_ns: None };
    let same = |held: &Held| held.outcome == wanted.outcome && held.is_about(wanted.resource.as_ref());
    let (held, limiting) = match held {
        Some(held) if same(&held) => (Held { resource: wanted.resource, ..held }, limiting),
        // The answer that stands does not change again so soon, unless what it is about is gone.
        Some(held) => {
            let event = Held::is_event(&held, &wanted);
            let soon = held.changed_ns.is_some_and(|last| stamp.mono_ns.saturating_sub(last) < CHANGE_NS);
            let member = members.iter().find(|member| held.is_about(Some(&key(member))));
            let gone = held.resource.is_some() && member.is_none();
            // Nor does an answer stand that turns out to be the effect of another.
            let explained = member.zip(limiting).is_some_and(|(old, new)| causes::explains(inputs, new, old));
            wanted.changed_ns = if event { Some(stamp.mono_ns) } else { held.changed_ns };
            if event && soon && !gone && !explained { (held, member) } else { (wanted, limiting) }
        }
        None => (wanted, limiting),
    };
    state.held = (outcome_is_known(state)).then(|| held.clone());
    let bottleneck = answer(inputs, members, state, &held, limiting);
    explain(inputs.findings, &mut resources);
    (resources, bottleneck)
}

fn outcome_is_known(state: &State) -> bool {
    state.samples >= u64::from(ENTER)
}

fn key(member: &Member) -> (ResourceKind, Subject) {
    (member.resource.kind, member.subject())
}

/// One member of each kind: the one that limits most, else one that is unknown, else the one nearest to its limit.
pub(super) fn listed(members: &[Member]) -> Resources {
    let nearness = |member: &Member| {
        let share = member.resource.share.map_or(0.0, |share| share / member.resource.limit_at.max(f64::MIN_POSITIVE));
        (member.resource.verdict == Verdict::Limiting, member.weight(), share)
    };
    let rank = |member: &Member| match member.resource.verdict {
        Verdict::Limiting => 4,
        Verdict::Unknown => 3,
        Verdict::Full => 2,
        Verdict::LatencyBound => 1,
        Verdict::HasHeadroom => 0,
    };
    let compare = |a: &&Member, b: &&Member| -> Ordering {
        let (one, other) = (nearness(a), nearness(b));
        let waiting = if one.0 && other.0 { one.1.total_cmp(&other.1) } else { Ordering::Equal };
        rank(a).cmp(&rank(b)).then(waiting).then(one.2.total_cmp(&other.2))
    };
    let of = |kind| members.iter().filter(move |member| member.resource.kind == kind).max_by(compare);
    ResourceKind::ALL.into_iter().filter_map(of).map(|member| member.resource.clone()).collect()
}

/// What limits: effects of others dropped, the most waiting; the one that stands if it is little less.
fn limiting<'a>(inputs: &Inputs<'_>, members: &'a [Member], held: Option<&Held>) -> Option<&'a Member> {
    let all: Vec<&Member> = members.iter().filter(|member| member.resource.verdict == Verdict::Limiting).collect();
    let is_effect = |effect: &Member| {
        let explains = |cause: &&&Member| !std::ptr::eq(**cause, effect) && causes::explains(inputs, cause, effect);
        all.iter().any(|cause| explains(&cause))
    };
    let left: Vec<&Member> = all.iter().filter(|member| !is_effect(member)).copied().collect();
    // Two that explain each other leave both.
    let left = if left.is_empty() { all.clone() } else { left };
    let most = left.iter().max_by(|a, b| a.weight().total_cmp(&b.weight())).copied()?;
    let stands = held.and_then(|held| left.iter().find(|member| held.is_about(Some(&key(member)))).copied());
    Some(stands.filter(|member| member.weight() >= KEEPS * most.weight()).unwrap_or(most))
}

fn outcome(state: &State, limiting: Option<&Member>) -> Outcome {
    match limiting {
        _ if !outcome_is_known(state) => Outcome::Inconclusive,
        Some(member) if is_imbalance(member) => Outcome::Imbalance,
        Some(_) => Outcome::Limited,
        None if state.suspects.values().any(|window| window.limiting) => Outcome::Inconclusive,
        None if !state.busy.limiting => Outcome::Idle,
        None => Outcome::NotSaturated,
    }
}

/// One member is full while those that its tasks may use as well are not.
fn is_imbalance(member: &Member) -> bool {
    let peers = match member.resource.kind {
        // A full thread is one thread, wherever it runs.
        ResourceKind::Thread => 0.0,
        // Interrupts can be spread for as long as the other CPUs are not full.
        ResourceKind::Softirq => FULL_LEAVES,
        _ => PEERS,
    };
    member.peers.is_some_and(|median| median < peers)
}

/// True if nobody wants anything.
fn is_idle(inputs: &Inputs<'_>) -> bool {
    let packets: f64 =
        inputs.frame.nics.iter().filter_map(|nic| Some(nic.rx.packets_per_second? + nic.tx.packets_per_second?)).sum();
    let blocked = inputs.demand.blocked.unwrap_or(0.0);
    inputs.demand.total < IDLE.0 && blocked < IDLE.1 && packets < IDLE.2
}

fn answer(
    inputs: &Inputs<'_>,
    members: &[Member],
    state: &State,
    held: &Held,
    limiting: Option<&Member>,
) -> Bottleneck {
    let is_limit = matches!(held.outcome, Outcome::Limited | Outcome::Imbalance);
    let limiting = limiting.filter(|_| is_limit);
    let lasts = |kind| state.suspects.get(&kind).is_some_and(|window| window.limiting) || !outcome_is_known(state);
    let mut unknown = unknown(members, true, lasts);
    if unknown.is_empty() && outcome_is_known(state) {
        // What was unknown until just now: the answer stands for a while.
        unknown = listed(members).iter().filter(|resource| lasts(resource.kind)).cloned().collect();
    }
    let next = next(inputs, members, limiting);
    let mut resource = limiting.map(|member| member.resource.clone());
    let finding = resource.as_mut().and_then(|resource| {
        let found = finding(inputs.findings, resource);
        resource.rule = found.as_ref().map(|(rule, _, severity)| (*rule, *severity));
        found.map(|(rule, subject, _)| (rule, subject))
    });
    let since = limiting.and_then(|member| member.resource.since).unwrap_or(held.since);
    let confidence = match limiting {
        Some(member) if member.resource.kind == ResourceKind::Files => Confidence::Low,
        Some(member) if member.proxy => Confidence::Medium,
        _ if held.outcome == Outcome::Inconclusive => Confidence::Low,
        _ => Confidence::High,
    };
    Bottleneck {
        verdict: held.outcome,
        peers: limiting.filter(|_| held.outcome == Outcome::Imbalance).and_then(|member| member.peers),
        latency: latency(members),
        resource,
        since: Some(since),
        confidence,
        unknown: if held.outcome == Outcome::Inconclusive { unknown } else { Vec::new() },
        next,
        finding,
        samples: state.samples,
    }
}

/// What tasks wait for most although it has capacity left.
fn latency(members: &[Member]) -> Option<Resource> {
    let waits = |member: &&Member| {
        let Resource { kind, share, wait, .. } = &member.resource;
        // One with moving parts that is busy all the time has no capacity left, whoever waits.
        let is_busy = member.scales && share.is_some_and(|share| share >= FULL_LEAVES);
        member.resource.verdict == Verdict::LatencyBound
            && !is_busy
            && match kind {
                ResourceKind::Disk => true,
                // Memory that is not short and still waited for is being compacted or moved.
                ResourceKind::Memory => member.resource.subject == Some(Subject::Host),
                // Tasks that come at random wait for CPUs as much of their time as those are busy.
                ResourceKind::Cpus => !member.proxy && *share >= Some(RUN_QUEUE) && wait >= share,
                _ => false,
            }
    };
    let most = members.iter().filter(waits).max_by(|a, b| a.weight().total_cmp(&b.weight()))?;
    Some(most.resource.clone())
}

/// The unknown resources that could be what limits: where no rates are known, or not even CPUs are, any of them.
pub(super) fn unknown(members: &[Member], known: bool, counts: impl Fn(ResourceKind) -> bool) -> Vec<Resource> {
    let is_unknown = |member: &&Member| member.resource.verdict == Verdict::Unknown;
    let blind = !known || members.iter().filter(is_unknown).any(|member| member.resource.kind == ResourceKind::Cpus);
    let suspect = |member: &&Member| blind || member.suspect && counts(member.resource.kind);
    let suspects = members.iter().filter(is_unknown).filter(suspect);
    let mut unknown: Vec<Resource> = suspects.map(|member| member.resource.clone()).collect();
    unknown.dedup_by(|a, b| (a.kind, a.note.as_str(), &a.subject) == (b.kind, b.note.as_str(), &b.subject));
    unknown
}

/// What would be at its limit next with more of the same load, and how much more that is at most.
fn next(inputs: &Inputs<'_>, members: &[Member], limiting: Option<&Member>) -> Option<Next> {
    let is_open = |member: &&Member| {
        let covered =
            limiting.is_some_and(|cause| std::ptr::eq(cause, *member) || causes::explains(inputs, cause, member));
        member.scales && !covered && member.resource.verdict != Verdict::Unknown
    };
    // Where nothing limits, what is full without being waited for is the nearest, and what limits once that has lasted; a
    // disk that is always busy is not full.
    let counts = |(headroom, member): &(f64, &Member)| {
        let is_full = matches!(member.resource.verdict, Verdict::Full | Verdict::Limiting);
        *headroom > 1.0 || limiting.is_none() && is_full
    };
    let rooms = members.iter().filter(is_open).filter_map(|member| Some((member.resource.headroom()?, member)));
    let (headroom, nearest) = rooms.filter(counts).min_by(|a, b| a.0.total_cmp(&b.0))?;
    // More than the machine's CPUs have left is never possible, whatever limits now.
    let cpus = members.iter().find(|member| member.resource.kind == ResourceKind::Cpus);
    let whole = cpus.filter(|cpus| limiting.is_none() && headroom > NO_LOAD && cpus.resource.headroom().is_some());
    let member = whole.unwrap_or(nearest);
    let headroom = cpus.and_then(|cpus| cpus.resource.headroom()).map_or(headroom, |left| left.min(headroom));
    let headroom = if limiting.is_none() { headroom.max(1.0) } else { headroom };
    (headroom > 1.0 || limiting.is_none()).then(|| Next { resource: member.resource.clone(), headroom })
}

/// The findings that explain the resources that limit or are full.
fn explain(findings: &[Finding], resources: &mut Resources) {
    for resource in
        resources.iter_mut().filter(|resource| matches!(resource.verdict, Verdict::Limiting | Verdict::Full))
    {
        resource.rule = finding(findings, resource).map(|(rule, _, severity)| (rule, severity));
    }
}

/// The open finding that explains a resource: about the same subject, else the worst about its kind.
fn finding(findings: &[Finding], resource: &Resource) -> Option<(RuleId, Subject, Severity)> {
    let is_of = |kind: &ResourceKind| family(*kind) == family(resource.kind);
    let about = |finding: &&Finding| (finding.rule.limits)(finding).iter().any(is_of);
    let rank = |finding: &Finding| {
        let own = (finding.rule.limits)(finding).contains(&resource.kind);
        (resource.subject.as_ref() == Some(&finding.subject), own, finding.severity)
    };
    // A group's finding does not explain another group, nor one disk another, nor a slow clock CPUs that are not slow.
    let foreign = |finding: &&Finding| {
        let same = resource.subject.as_ref() == Some(&finding.subject);
        let clock = finding.rule.id == cpu_frequency::ID && resource.kind != ResourceKind::Core;
        clock && resource.clock.is_none()
            || !same
                && matches!(
                    resource.kind,
                    ResourceKind::Disk
                        | ResourceKind::FileSystem
                        | ResourceKind::Quota
                        | ResourceKind::Memory
                        | ResourceKind::IoThrottle
                )
                && finding.subject != Subject::Host
    };
    let found =
        findings.iter().filter(about).filter(|finding| !foreign(finding)).max_by_key(|finding| rank(finding))?;
    Some((found.rule.id, found.subject.clone(), found.severity))
}

/// Kinds whose findings explain each other are one.
fn family(kind: ResourceKind) -> ResourceKind {
    match kind {
        ResourceKind::Cpuset => ResourceKind::Core,
        ResourceKind::Swap => ResourceKind::Memory,
        kind => kind,
    }
}
