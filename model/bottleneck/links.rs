//! Links, each direction separately.

use super::resource::{Member, Waits};
use super::{Inputs, ResourceKind, sections};
use crate::Known;
use crate::frame::{Nic, NicRates};
use crate::locale::resource::note;
use crate::rules::{Subject, parts};
use std::sync::Arc;

/// Packets per second from which on a link of unknown capacity could be what limits.
const PACKETS: f64 = 1000.0;

pub(super) fn nic(inputs: &Inputs<'_>, kind: ResourceKind) -> Vec<Member> {
    let frame = inputs.frame;
    let up = || frame.nics.iter().filter(|nic| parts::is_physical(nic) && nic.carrier != Known::Value(false));
    let members: Vec<Member> = up().filter_map(|nic| one(nic, kind)).collect();
    if !members.is_empty() {
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

fn one(nic: &Nic, kind: ResourceKind) -> Option<Member> {
    let rates = rates(nic, kind);
    let bytes = rates.bytes_per_second?;
    let about = |member: Member| member.about(Subject::Nic(Arc::clone(&nic.name)), &nic.name);
    let Some(capacity) = positive(&nic.capacity_mbps).map(|mbps| mbps * 1e6 / 8.0) else {
        let member = Member::unknown(kind, note::CAPACITY_UNKNOWN, carries(rates));
        return Some(about(member).of(Some(bytes), None, "bytes/s"));
    };
    let mut member = about(Member::measured(kind, bytes / capacity)).of(Some(bytes), Some(capacity), "bytes/s");
    // A full wire is waited for by whoever sends, here or at the other end.
    member.alone = true;
    member.proxy = true;
    let drops = rates.drops_per_second.unwrap_or(0.0);
    Some(member.waits(Some(0.0), 1.0, Waits { what: "drops", value: drops, unit: "1/s" }))
}

/// The value, if it is known and positive.
fn positive(value: &Known<u64>) -> Option<f64> {
    value.value().filter(|value| *value > 0).map(|value| value as f64)
}
