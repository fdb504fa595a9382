//! Links, each direction separately.

use super::machine::positive;
use super::{Inputs, Resource, ResourceKind, Verdict};
use crate::Known;
use crate::frame::Nic;
use crate::locale::resource::note;
use crate::rules;
use crate::rules::{Subject, parts};
use std::sync::Arc;

pub(super) fn nic(inputs: &Inputs<'_>, kind: ResourceKind) -> Resource {
    let frame = inputs.frame;
    let at = inputs.limit(&rules::link_saturated::UTILISATION);
    let bytes = |nic: &Nic| if kind == ResourceKind::NicIn { nic.rx.bytes_per_second } else { nic.tx.bytes_per_second };
    let capacity = |nic: &Nic| positive(&nic.capacity_mbps).map(|mbps| mbps * 1e6 / 8.0);
    let up = || frame.nics.iter().filter(|nic| parts::is_physical(nic) && nic.carrier != Known::Value(false));
    let measured = |nic: &Nic| Some(bytes(nic)? / capacity(nic)?);
    let fullest = up().filter_map(|nic| Some((measured(nic)?, nic))).max_by(|a, b| a.0.total_cmp(&b.0));
    // The busiest link of unknown capacity: it may be the bottleneck whatever the others do.
    let unknown = up().filter(|nic| capacity(nic).is_none());
    let unknown = unknown.max_by(|a, b| bytes(a).unwrap_or(0.0).total_cmp(&bytes(b).unwrap_or(0.0)));
    let about = |resource: Resource, nic: &Nic| {
        let used = bytes(nic).map(|bytes| (bytes, "bytes/s"));
        let limit = capacity(nic).map(|bytes| (bytes, "bytes/s"));
        Resource { used, limit, ..resource.about(Subject::Nic(Arc::clone(&nic.name)), &nic.name) }
    };
    match (fullest, unknown) {
        (Some((share, nic)), unknown) if share >= at || unknown.is_none() => {
            about(Resource::measured(kind, share, at), nic)
        }
        (_, Some(nic)) => about(Resource::unknown(kind, note::CAPACITY_UNKNOWN), nic),
        (_, None) => without(inputs, kind, up().next().is_some()),
    }
}

/// The resource if no link was measured.
fn without(inputs: &Inputs<'_>, kind: ResourceKind, is_there: bool) -> Resource {
    let frame = inputs.frame;
    match () {
        () if !frame.sections.nics.is_read() => Resource::unknown(kind, note::NOT_READABLE),
        () if is_there => Resource::unknown(kind, inputs.no_rates().unwrap_or(note::NOT_MEASURED)),
        // Traffic of a container leaves through a link that is not visible inside.
        () if frame.host.in_container.value() == Some(true) => Resource::unknown(kind, note::LINK_OUTSIDE),
        () => Resource { verdict: Verdict::HasHeadroom, ..Resource::unknown(kind, note::NO_LINK) },
    }
}
