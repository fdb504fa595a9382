//! Links, each direction separately.

use super::resource::{Member, Waits};
use super::{Inputs, ResourceKind, sections};
use crate::Known;
use crate::frame::{NetNamespace, Nic, NicRates, Shaper};
use crate::locale::resource::note;
use crate::rules::{Subject, parts};
use std::sync::Arc;

/// Packets per second from which on a link of unknown capacity could be what limits.
const PACKETS: f64 = 1000.0;
/// Packets per second above an allowance, or held back, that matter.
const EXCEEDED: f64 = 1.0;
/// Share of the packets that are dropped where a link could be full.
const DROPPED: f64 = 0.001;
/// Bytes a second from which on a link whose capacity nobody knows could be full: most of 1 Gbit/s.
const MUCH: f64 = 60e6;
/// Share of a shaper's rate at which it is full, and still is: it counts headers that interfaces do not.
const SHAPED: f64 = 0.90;
const SHAPED_LEAVES: f64 = 0.80;

pub(super) fn nic(inputs: &Inputs<'_>, kind: ResourceKind) -> Vec<Member> {
    let frame = inputs.frame;
    let up = || frame.nics.iter().filter(|nic| parts::is_physical(nic) && nic.carrier != Known::Value(false));
    let shaped = |nic: &&Nic| kind == ResourceKind::NicOut && is_shaped(nic);
    let shapers = frame.nics.iter().filter(shaped).filter_map(|nic| {
        let wire = positive(&nic.capacity_mbps).filter(|_| parts::is_physical(nic)).map(|mbps| mbps * 1e6 / 8.0);
        let member = shaper(&own(nic), wire)?;
        Some(member.about(Subject::Nic(Arc::clone(&nic.name)), &nic.name))
    });
    let elsewhere = if kind == ResourceKind::NicOut { elsewhere(inputs) } else { Vec::new() };
    let members = up().filter(|nic| !shaped(nic)).filter_map(|nic| one(nic, kind)).chain(shapers);
    let mut members: Vec<Member> = members.collect();
    if !members.is_empty() || elsewhere.iter().any(|member| member.enters) {
        members.extend(elsewhere);
        return members;
    }
    let member = match () {
        () if !sections::nics(frame) => Member::unknown(kind, note::NOT_READABLE, true),
        () if up().next().is_some() => Member::unknown(kind, inputs.no_rates().unwrap_or(note::NOT_MEASURED), true),
        // Traffic of a container leaves through a link that is not visible inside.
        () if frame.host.in_container.value() == Some(true) => {
            let busy = frame.nics.iter().filter(|nic| &*nic.kind != "loopback").any(|nic| carries(rates(nic, kind)));
            Member::unknown(kind, note::LINK_OUTSIDE, busy)
        }
        () => Member::absent(kind, note::NO_LINK),
    };
    vec![member]
}

fn rates(nic: &Nic, kind: ResourceKind) -> &NicRates {
    if kind == ResourceKind::NicIn { &nic.rx } else { &nic.tx }
}

fn carries(rates: &NicRates) -> bool {
    rates.packets_per_second.is_some_and(|packets| packets >= PACKETS)
        || rates.bytes_per_second.is_some_and(|bytes| bytes >= PACKETS * 1000.0)
}

/// True for a link of unknown capacity that could be at it: it drops, or it carries much. Without a wait nothing limits.
fn could_be_full(rates: &NicRates) -> bool {
    let packets = rates.packets_per_second.unwrap_or(0.0);
    let dropped = rates.drops_per_second.unwrap_or(0.0);
    let drops = dropped >= EXCEEDED && dropped >= DROPPED * (dropped + packets);
    carries(rates) && (drops || rates.bytes_per_second.is_some_and(|bytes| bytes >= MUCH))
}

fn one(nic: &Nic, kind: ResourceKind) -> Option<Member> {
    let rates = rates(nic, kind);
    let bytes = rates.bytes_per_second?;
    let about = |member: Member| member.about(Subject::Nic(Arc::clone(&nic.name)), &nic.name);
    let capacity = positive(&nic.capacity_mbps).map(|mbps| mbps * 1e6 / 8.0);
    let mut member = match capacity {
        Some(capacity) => Member::measured(kind, bytes / capacity),
        // What counts the packets that it holds back would tell.
        None if allowance(nic, kind).is_some() => Member::absent(kind, note::CAPACITY_UNKNOWN),
        None => {
            let member = Member::unknown(kind, note::CAPACITY_UNKNOWN, could_be_full(rates));
            return Some(about(member).of(Some(bytes), None, "bytes/s"));
        }
    };
    // A full wire is waited for by whoever sends, here or at the other end.
    (member.alone, member.proxy) = (true, true);
    let member = about(member).of(Some(bytes), capacity, "bytes/s");
    let drops = rates.drops_per_second.unwrap_or(0.0);
    let exceeded = allowance(nic, kind).unwrap_or(0.0);
    if exceeded < EXCEEDED {
        return Some(member.waits(Some(0.0), 1.0, Waits { what: "drops", value: drops, unit: "1/s" }));
    }
    let packets = rates.packets_per_second.unwrap_or(0.0);
    let mut member = member.note(note::ALLOWANCE_EXCEEDED);
    (member.enters, member.stays) = (true, true);
    let waits = Waits { what: "allowance_exceeded", value: exceeded, unit: "1/s" };
    Some(member.waits(Some(exceeded / (exceeded + packets)), 1.0, waits))
}

/// Packets per second above the cloud's allowance in a direction; none where the driver does not count them. Of an
/// allowance of packets the direction with more of them has used more.
fn allowance(nic: &Nic, kind: ResourceKind) -> Option<f64> {
    let (own, other) = (rates(nic, kind), if kind == ResourceKind::NicIn { &nic.tx } else { &nic.rx });
    let bytes = if kind == ResourceKind::NicIn { nic.allowance_rx_per_second } else { nic.allowance_tx_per_second };
    let is_busier = own.packets_per_second >= other.packets_per_second;
    let packets = nic.allowance_packets_per_second.map(|packets| if is_busier { packets } else { 0.0 });
    bytes.zip(packets).map(|(bytes, packets)| bytes + packets).or(bytes).or(packets)
}

/// True for a link whose packets are held back to keep a rate: by a shaper with one, or by one whose classes have theirs
/// and keep packets waiting. Netem without a rate only delays.
fn is_shaped(nic: &Nic) -> bool {
    holds_to_rate(&own(nic))
}

fn holds_to_rate(shaper: &Shaper) -> bool {
    !shaper.kind.is_empty() && (shaper.rate_bytes_per_second.is_some() || has_full_classes(shaper))
}

fn has_full_classes(shaper: &Shaper) -> bool {
    &*shaper.kind != "netem" && shaper.rate_bytes_per_second.is_none() && shaper.backlog_bytes > Some(0)
}

/// The shaper of an interface of this namespace, with what the interface sends.
fn own(nic: &Nic) -> Shaper {
    Shaper {
        name: Arc::clone(&nic.name),
        kind: Arc::clone(&nic.shaper),
        bytes_per_second: nic.tx.bytes_per_second,
        rate_bytes_per_second: nic.shaper_bytes_per_second,
        backlog_bytes: nic.shaper_backlog_bytes,
        overlimits_per_second: nic.shaper_overlimits_per_second,
        drops_per_second: nic.shaper_drops_per_second,
    }
}

/// The shapers of other network namespaces, each with the process that its namespace was read through.
fn elsewhere(inputs: &Inputs<'_>) -> Vec<Member> {
    let of = |namespace: &NetNamespace| {
        let process = namespace.pid.value().and_then(|pid| inputs.frame.process(pid));
        let shapers = namespace.shapers.iter().filter(|shaper| holds_to_rate(shaper));
        let member = |row: &Shaper| {
            let member = shaper(row, None)?;
            Some(match process {
                Some(process) => {
                    // Both names are the machine's, in every language.
                    let name = format!("{}@{}", row.name, process.comm);
                    member.about(Subject::Process(process.pid, process.starttime), &Arc::from(name))
                }
                None => member.about(Subject::Host, &row.name),
            })
        };
        shapers.filter_map(member).collect::<Vec<_>>()
    };
    inputs.frame.net_namespaces.iter().flat_map(of).collect()
}

/// A link that sends no more than its shaper lets through.
fn shaper(shaper: &Shaper, wire: Option<f64>) -> Option<Member> {
    let bytes = shaper.bytes_per_second?;
    let rate = shaper.rate_bytes_per_second.map(|rate| rate as f64);
    let capacity = rate.into_iter().chain(wire).reduce(f64::min);
    let mut member = match rate.and(capacity) {
        Some(capacity) => Member::between(ResourceKind::NicOut, bytes / capacity, SHAPED, SHAPED_LEAVES),
        None => Member::absent(ResourceKind::NicOut, note::CAPACITY_UNKNOWN),
    };
    let backlog = shaper.backlog_bytes.unwrap_or(0) as f64;
    let held_back = shaper.overlimits_per_second.unwrap_or(0.0) + shaper.drops_per_second.unwrap_or(0.0);
    let holds = backlog > 0.0 || held_back >= EXCEEDED;
    // Where classes have the rates, only packets that keep waiting say that one is short.
    let classes = has_full_classes(shaper);
    (member.enters, member.stays) = (member.enters && holds || classes, member.stays && holds || classes);
    (member.alone, member.proxy) = (true, rate.is_none());
    let member = member.of(Some(bytes), capacity, "bytes/s");
    let member = if rate.is_some() || member.enters { member.note(note::SHAPED) } else { member };
    Some(member.waits(Some(0.0), 1.0, Waits { what: "backlog", value: backlog, unit: "bytes" }))
}

/// The value, if it is known and positive.
fn positive(value: &Known<u64>) -> Option<f64> {
    value.value().filter(|value| *value > 0).map(|value| value as f64)
}
