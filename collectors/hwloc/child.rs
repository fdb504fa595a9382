//! The child's side: libhwloc's topology as a few lines of text.

use super::answer::{END, START};
use hwlocality::Topology;
use hwlocality::object::TopologyObject;
use hwlocality::object::attributes::ObjectAttributes;
use hwlocality::object::types::ObjectType;
use hwlocality::topology::builder::TypeFilter;
use std::fmt::Write as _;
use std::path::Path;
use topotop_model::IdSet;

/// The most ids that one set may hold: libhwloc's bitmaps may be infinite.
const MAX_IDS: usize = 65_536;

/// What libhwloc reports about the machine, or about the tree in `HWLOC_FSROOT`; empty when nothing.
///
/// For a tree both must be given: libhwloc silently describes the real machine when it cannot open the root.
pub fn child(root: Option<&Path>) -> String {
    leave_in_time();
    let named = std::env::var_os("HWLOC_FSROOT");
    if root.map(Path::as_os_str) != named.as_deref() || root.is_some_and(|root| !root.join("sys").is_dir()) {
        return String::new();
    }
    let Ok(builder) = Topology::builder().with_io_type_filter(TypeFilter::KeepImportant) else { return String::new() };
    let Ok(topology) = builder.build() else { return String::new() };
    if root.is_some() && topology.is_this_system() {
        return String::new();
    }
    let mut out = format!("{START}\n");
    groups(&topology, &mut out);
    nodes(&topology, &mut out);
    devices(&topology, &mut out);
    line(&mut out, format_args!("{END}"));
    out
}

/// libhwloc opens whatever stands in a tree and would wait for a FIFO forever: this process ends with its parent, and
/// after a while in any case.
fn leave_in_time() {
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    let guard = std::thread::Builder::new().name("time".to_owned());
    let _ = guard.spawn(|| {
        std::thread::sleep(super::ask::TIME_LIMIT * 2);
        std::process::exit(1);
    });
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{text}");
}

fn groups(topology: &Topology, out: &mut String) {
    for group in topology.objects_with_type(ObjectType::Group) {
        if let Some(set) = cpus(group) {
            line(out, format_args!("group {set}"));
        }
    }
}

/// Kinds of memory, where there are several.
fn nodes(topology: &Topology, out: &mut String) {
    for node in topology.objects_with_type(ObjectType::NUMANode) {
        let kind = node.subtype().or_else(|| node.info("MemoryTier")).and_then(|kind| kind.to_str().ok());
        if let (Some(id), Some(kind)) = (node.os_index(), kind)
            && !kind.is_empty()
            && kind.bytes().all(|byte| byte.is_ascii_alphanumeric())
        {
            line(out, format_args!("node {id} {kind}"));
        }
    }
}

/// PCI devices that stand somewhere: those below the whole machine stand nowhere.
fn devices(topology: &Topology, out: &mut String) {
    let machine = cpus(topology.root_object());
    let distances = topology.distances(None).unwrap_or_default();
    for device in topology.pci_devices() {
        let Some(ObjectAttributes::PCIDevice(pci)) = device.attributes() else { continue };
        let Some(place) = device.first_non_io_ancestor() else { continue };
        let Some(set) = cpus(place).filter(|set| Some(set) != machine.as_ref()) else { continue };
        let (domain, bus, slot, function) = (pci.domain(), pci.bus_id(), pci.bus_device(), pci.function());
        let _ = write!(out, "pci {domain:04x}:{bus:02x}:{slot:02x}.{function:x} {set}");
        for (node, far) in distances.iter().take(1).flat_map(|matrix| nearest(place, matrix)) {
            let _ = write!(out, " {node}={far}");
        }
        out.push('\n');
    }
}

/// The distance of every node from the nearest one that a place belongs to.
fn nearest(place: &TopologyObject, matrix: &hwlocality::object::distance::Distances<'_>) -> Vec<(usize, u64)> {
    let mut best: std::collections::BTreeMap<usize, u64> = std::collections::BTreeMap::new();
    let own: Vec<usize> = place
        .nodeset()
        .into_iter()
        .flat_map(|set| set.iter_set().take(MAX_IDS).map(usize::from).collect::<Vec<_>>())
        .collect();
    for ((from, to), far) in matrix.object_distances() {
        let index = |object: Option<&TopologyObject>| {
            object.filter(|object| object.object_type() == ObjectType::NUMANode)?.os_index()
        };
        if let (Some(from), Some(to)) = (index(from), index(to))
            && own.contains(&from)
        {
            let cell = best.entry(to).or_insert(far);
            *cell = (*cell).min(far);
        }
    }
    best.into_iter().collect()
}

/// The CPUs of an object, by their kernel numbers.
fn cpus(object: &TopologyObject) -> Option<IdSet> {
    let set = object.cpuset()?;
    let ids: Vec<u32> = set.iter_set().take(MAX_IDS).filter_map(|id| u32::try_from(usize::from(id)).ok()).collect();
    (!ids.is_empty() && ids.len() < MAX_IDS).then(|| IdSet::from_ids(ids))
}
