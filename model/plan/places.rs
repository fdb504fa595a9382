//! Placement of instances: nodes or packages with CPUs, split where instances share one.

use super::{MOST, Per, Request};
use crate::IdSet;
use crate::frame::{CpuPlace, Topology};
use crate::locale::plan as text;

/// The placement of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// Its label: `n0`, `p1`, `n0-1`.
    pub(super) label: String,
    /// `node 0`.
    pub(super) place: String,
    pub(super) nodes: IdSet,
    pub(super) cpus: IdSet,
    /// True where these are all the CPUs of its nodes.
    pub(super) whole: bool,
    /// How many instances share the place.
    pub(super) sharers: u32,
}

/// The slots of all instances, in the order of the places.
pub(super) fn slots(request: &Request<'_>, notes: &mut Vec<String>) -> Result<Vec<Slot>, String> {
    let topology = &request.frame.topology;
    let usable = usable(request);
    let places = match request.per {
        Per::Node => nodes(topology, &usable, notes),
        Per::Package => packages(topology, &usable)?,
    };
    let count = places.len() as u32;
    let by = |node: String, package: String| if request.per == Per::Node { node } else { package };
    if count == 0 {
        return Err(by(text::NO_NODE.to_string(), text::NO_PACKAGE.to_string()));
    }
    if count == 1 && request.instances.is_none() {
        return Err(by(text::ONE_NODE.to_string(), text::ONE_PACKAGE.to_string()));
    }
    let wanted = request.instances.unwrap_or(count);
    let cpus: u64 = places.iter().map(|place| place.cpus.len()).sum();
    if wanted == 0 || wanted > MOST || u64::from(wanted) > cpus {
        return Err(text::InstancesRange { count: &wanted, high: &cpus.min(u64::from(MOST)) }.to_string());
    }
    if wanted < count {
        notes.push(by(
            text::IdleNodes { instances: &wanted, count: &count }.to_string(),
            text::IdlePackages { instances: &wanted, count: &count }.to_string(),
        ));
    }
    let mut slots = Vec::new();
    for (at, place) in places.iter().enumerate() {
        let sharers = wanted / count + u32::from((at as u32) < wanted % count);
        if u64::from(sharers) > place.cpus.len() {
            return Err(
                text::TooFewCpus { place: &place.place, cpus: &place.cpus.len(), instances: &sharers }.to_string()
            );
        }
        slots.extend(cut(topology, place, sharers));
    }
    Ok(slots)
}

/// Usable CPUs: online, allowed, not isolated.
fn usable(request: &Request<'_>) -> IdSet {
    let topology = &request.frame.topology;
    let online = match &request.allowed {
        Some(allowed) => allowed.intersection(&topology.cpus_online),
        None => topology.cpus_online.clone(),
    };
    let isolated = IdSet::from_ids(topology.cpus.iter().filter(|cpu| cpu.isolated).map(|cpu| cpu.id));
    IdSet::from_ids(online.iter().filter(|cpu| !isolated.contains(*cpu)))
}

fn nodes(topology: &Topology, usable: &IdSet, notes: &mut Vec<String>) -> Vec<Slot> {
    let mut places = Vec::new();
    for node in &topology.nodes {
        let cpus = node.cpus.intersection(usable);
        if cpus.is_empty() {
            notes.push(if node.has_cpus {
                text::NodeUnusable { node: &node.id }.to_string()
            } else {
                text::NodeWithoutCpus { node: &node.id }.to_string()
            });
            continue;
        }
        let online = node.cpus.intersection(&topology.cpus_online);
        places.push(Slot {
            label: format!("n{}", node.id),
            place: crate::locale::subject::Node { id: &node.id }.to_string(),
            nodes: IdSet::from_ids([node.id]),
            whole: cpus == online,
            cpus,
            sharers: 1,
        });
    }
    let sizes: Vec<u64> = places.iter().map(|place| place.cpus.len()).collect();
    if sizes.windows(2).any(|pair| matches!(pair, [a, b] if a != b)) {
        let each = places.iter().map(|place| format!("{}: {}", place.place, place.cpus.len()));
        notes.push(text::UnevenNodes { cpus: &each.collect::<Vec<_>>().join(", ") }.to_string());
    }
    places
}

fn packages(topology: &Topology, usable: &IdSet) -> Result<Vec<Slot>, String> {
    let of = |package: u32| {
        let cpus =
            topology.cpus.iter().filter(move |cpu| cpu.package.value() == Some(package) && usable.contains(cpu.id));
        cpus.collect::<Vec<&CpuPlace>>()
    };
    let mut ids: Vec<u32> = topology.cpus.iter().filter_map(|cpu| cpu.package.value()).collect();
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        return Err(text::NO_PACKAGES.to_string());
    }
    let place = |package: u32| {
        let members = of(package);
        let cpus = IdSet::from_ids(members.iter().map(|cpu| cpu.id));
        let nodes = IdSet::from_ids(members.iter().filter_map(|cpu| cpu.node.value()));
        let all = nodes.iter().filter_map(|id| topology.node(id)).fold(IdSet::new(), |all, node| all.union(&node.cpus));
        let whole = !nodes.is_empty() && all.intersection(&topology.cpus_online) == cpus;
        Slot {
            label: format!("p{package}"),
            place: crate::locale::screen::cores::PackageId { id: &package }.to_string(),
            nodes,
            cpus,
            whole,
            sharers: 1,
        }
    };
    Ok(ids.into_iter().map(place).filter(|place| !place.cpus.is_empty()).collect())
}

/// A place in equal parts, the threads of a core together.
fn cut(topology: &Topology, place: &Slot, parts: u32) -> Vec<Slot> {
    if parts < 2 {
        return if parts == 1 { vec![place.clone()] } else { Vec::new() };
    }
    let core = |id: u32| topology.cpus.iter().find(|cpu| cpu.id == id).and_then(|cpu| cpu.core.value()).unwrap_or(id);
    let mut cpus: Vec<(u32, u32)> = place.cpus.iter().map(|id| (core(id), id)).collect();
    cpus.sort_unstable();
    let (count, parts_len) = (cpus.len(), parts as usize);
    let part = |at: usize| {
        let range = at * count / parts_len..(at + 1) * count / parts_len;
        let ids = cpus.get(range).unwrap_or_default().iter().map(|(_, id)| *id);
        Slot {
            label: format!("{}-{}", place.label, at + 1),
            cpus: IdSet::from_ids(ids),
            whole: false,
            sharers: parts,
            ..place.clone()
        }
    };
    (0..parts_len).map(part).collect()
}
