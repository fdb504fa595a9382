//! The resources beside a finding that are not the bottleneck.

use super::{Resource, ResourceKind, Resources, Verdict};
use crate::locale::{join, resource as text};
use crate::rules::{Finding, Severity};

/// The other resources of a finding that have headroom or are unknown; none for info and for findings that are not about
/// performance.
pub fn exclusions<'a>(finding: &Finding, resources: &'a Resources) -> Vec<&'a Resource> {
    if finding.severity < Severity::Warning {
        return Vec::new();
    }
    let kinds: &[ResourceKind] = match (finding.rule.limits)(finding).first() {
        Some(
            ResourceKind::Cpus
            | ResourceKind::Cpuset
            | ResourceKind::Core
            | ResourceKind::Thread
            | ResourceKind::Softirq
            | ResourceKind::Steal
            | ResourceKind::Quota,
        ) => &[ResourceKind::NicIn, ResourceKind::NicOut, ResourceKind::Disk, ResourceKind::Memory],
        Some(ResourceKind::Disk | ResourceKind::IoThrottle | ResourceKind::FileSystem) => {
            &[ResourceKind::Core, ResourceKind::NicIn, ResourceKind::NicOut, ResourceKind::Memory]
        }
        Some(ResourceKind::Memory | ResourceKind::Swap | ResourceKind::Remote | ResourceKind::Bandwidth) => {
            &[ResourceKind::Core, ResourceKind::NicIn, ResourceKind::NicOut, ResourceKind::Disk]
        }
        Some(
            ResourceKind::NicIn
            | ResourceKind::NicOut
            | ResourceKind::Tcp
            | ResourceKind::Conntrack
            | ResourceKind::Ports
            | ResourceKind::Files
            | ResourceKind::Pids,
        ) => &[ResourceKind::Core, ResourceKind::Disk, ResourceKind::Memory],
        None => &[],
    };
    let others = kinds.iter().filter_map(|kind| resources.get(*kind));
    let beside = [Verdict::HasHeadroom, Verdict::LatencyBound, Verdict::Unknown];
    // A disk that is always busy may take more, but nobody would call that headroom.
    let busy = |resource: &Resource| resource.share.is_some_and(|share| share >= resource.limit_at);
    others.filter(|resource| beside.contains(&resource.verdict) && !busy(resource)).collect()
}

/// The same as a line: `has headroom: NIC (eth0 in at 12%, eth0 tx at 42% of 25.0 Gbit/s), disk (sda at 3% busy); unknown: memory
/// (cannot read a memory limit)`. Empty without any.
pub fn sentence(others: &[&Resource]) -> String {
    let (headroom, unknown) = (&with_headroom(others), &unknown(others));
    match (headroom.is_empty(), unknown.is_empty()) {
        (true, true) => String::new(),
        (false, true) => text::WithHeadroom { resources: headroom }.to_string(),
        (true, false) => text::NotKnown { resources: unknown }.to_string(),
        (false, false) => text::WithHeadroomNotKnown { resources: headroom, unknown }.to_string(),
    }
}

/// Resources with headroom and their figures.
fn with_headroom(others: &[&Resource]) -> String {
    let mut items: Vec<(&str, Vec<String>)> = Vec::new();
    for resource in others.iter().filter(|resource| resource.verdict != Verdict::Unknown) {
        let (label, details) = (label(resource.kind), details(resource));
        match items.iter_mut().find(|(known, _)| *known == label) {
            // Both directions of no link are one.
            Some((_, known)) if known.contains(&details) => {}
            Some((_, known)) => known.push(details),
            None => items.push((label, vec![details])),
        }
    }
    let items = items
        .iter()
        .map(|(label, details)| text::Detail { resource: label, details: &details.join(&join::ITEMS) }.to_string());
    items.collect::<Vec<_>>().join(&join::ITEMS)
}

/// Unknown resources and why they are.
fn unknown(others: &[&Resource]) -> String {
    let mut items: Vec<String> = Vec::new();
    for resource in others.iter().filter(|resource| resource.verdict == Verdict::Unknown) {
        let item = text::Detail { resource: &label(resource.kind), details: &resource.note }.to_string();
        if !items.contains(&item) {
            items.push(item);
        }
    }
    items.join(&join::ITEMS)
}

/// The owner of a resource and its figure; its note without a figure.
fn details(resource: &Resource) -> String {
    let (owner, figure) = (&resource.owner(), &resource.figure());
    match resource.kind {
        _ if figure.is_empty() => resource.note.to_string(),
        ResourceKind::NicIn => text::Receiving { owner, figure }.to_string(),
        ResourceKind::NicOut => text::Sending { owner, figure }.to_string(),
        _ => text::OwnerFigure { owner, figure }.to_string(),
    }
}

/// The label of a resource, the same for both directions of a link.
fn label(kind: ResourceKind) -> &'static str {
    match kind {
        ResourceKind::NicIn | ResourceKind::NicOut => text::NIC.as_str(),
        other => other.label().as_str(),
    }
}
