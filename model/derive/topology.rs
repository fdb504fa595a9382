use crate::frame::{ClockPolicy, CpuPlace, Domain, NodePlace, Topology};
use crate::tables::topology::{CpuTopology, NodeTopology};
use crate::{IdSet, Known, Section, Snapshot, Table};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn derive(now: &Snapshot) -> Topology {
    let cpus = now.cpu_topology.value().map(cpus).unwrap_or_default();
    let cpus = if cpus.is_empty() { stand_ins(now) } else { cpus };
    let table = now.cpu_topology.value();
    Topology {
        packages: table.and_then(packages),
        cores: table.and_then(cores),
        cpus_online: cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect(),
        cpus_possible: table.map(|table| ids(table).collect()),
        nodes: nodes(&now.node_topology, &cpus),
        domains: domains(now),
        cpus,
    }
}

fn ids(table: &CpuTopology) -> impl Iterator<Item = u32> + '_ {
    table.rows().iter().filter_map(|slot| table.cpu.id(slot).value())
}

/// CPUs that are plugged in, by id; those that could be plugged in later are only possible.
fn cpus(table: &CpuTopology) -> Vec<CpuPlace> {
    let mut cpus: Vec<CpuPlace> = table
        .rows()
        .iter()
        .filter(|&slot| table.present.value(slot) != Some(0) || table.online.value(slot) == Some(1))
        .filter_map(|slot| {
            Some(CpuPlace {
                id: table.cpu.id(slot).value()?,
                node: table.node.id(slot),
                package: table.package.id(slot),
                die: table.die.id(slot),
                core: table.core.id(slot),
                l3: table.l3.id(slot),
                smt_siblings: table.smt_siblings.get(slot).cloned(),
                online: table.online.value(slot) == Some(1),
                isolated: table.isolated.value(slot) == Some(1),
                nohz_full: table.nohz_full.value(slot) == Some(1),
                capacity: table.capacity.id(slot).value(),
                clock: clock(table, slot),
            })
        })
        .collect();
    cpus.sort_unstable_by_key(|cpu| cpu.id);
    cpus.dedup_by_key(|cpu| cpu.id);
    cpus
}

/// How its clock is governed, where it has a governor.
fn clock(table: &CpuTopology, slot: usize) -> Option<ClockPolicy> {
    let mhz = |khz: Option<u64>| khz.filter(|&khz| khz > 0).map(|khz| khz as f64 / 1000.0);
    Some(ClockPolicy {
        governor: table.governor.get(slot)?.clone(),
        driver: table.cpufreq_driver.or_empty(slot),
        max_mhz: mhz(table.max_khz.value(slot)),
        limit_mhz: mhz(table.limit_khz.value(slot)),
    })
}

/// The CPUs of /proc/stat, which prints online ones only.
fn stand_ins(now: &Snapshot) -> Vec<CpuPlace> {
    let Some(times) = now.cpu_times.value() else { return Vec::new() };
    let ids: BTreeSet<u32> = times.rows().iter().filter_map(|slot| times.cpu.id(slot).value()).collect();
    ids.into_iter().map(|id| CpuPlace { id, online: true, ..CpuPlace::default() }).collect()
}

/// Packages of the CPUs whose place the kernel shows: it does so for online ones. Where it numbers none (physical
/// package -1) the machine does not say.
fn packages(table: &CpuTopology) -> Option<u32> {
    let packages: BTreeSet<u64> = table.rows().iter().filter_map(|slot| table.package.value(slot)).collect();
    (!packages.is_empty()).then_some(packages.len() as u32)
}

/// What tells a core from another: the set of its CPUs, else its number in die and package.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Core<'a> {
    Siblings(&'a IdSet),
    Number(Known<u64>, Known<u64>, u64),
}

fn cores(table: &CpuTopology) -> Option<u32> {
    let core = |slot: usize| match table.smt_siblings.get(slot) {
        Some(set) => Some(Core::Siblings(set)),
        None => Some(Core::Number(table.package.get(slot), table.die.get(slot), table.core.value(slot)?)),
    };
    let cores: BTreeSet<Core<'_>> = table.rows().iter().filter_map(core).collect();
    (!cores.is_empty()).then_some(cores.len() as u32)
}

fn nodes(section: &Section<NodeTopology>, cpus: &[CpuPlace]) -> Vec<NodePlace> {
    let Some(table) = section.value() else { return Vec::new() };
    let mut own: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for cpu in cpus {
        if let Known::Value(node) = cpu.node {
            own.entry(node).or_default().push(cpu.id);
        }
    }
    let mut nodes: Vec<NodePlace> = table
        .rows()
        .iter()
        .filter_map(|slot| {
            let id = table.node.id(slot).value()?;
            let listed = table.cpus.get(slot).map(|set| IdSet::clone(set));
            let set = listed.unwrap_or_else(|| own.get(&id).into_iter().flatten().copied().collect());
            let distances = table.distances.get(slot).unwrap_or_default();
            Some(NodePlace {
                id,
                memory_total_bytes: table.memory_total_bytes.get(slot),
                distances: distances.iter().map(|&(node, far)| (node, far as u32)).collect(),
                has_cpus: table.has_cpus.value(slot).map_or(!set.is_empty(), |flag| flag == 1),
                has_memory: table.has_memory.value(slot) == Some(1),
                tier: table.tier.or_empty(slot),
                cpus: set,
            })
        })
        .collect();
    nodes.sort_unstable_by_key(|node| node.id);
    nodes.dedup_by_key(|node| node.id);
    nodes
}

fn domains(now: &Snapshot) -> Vec<Domain> {
    let Some(table) = now.domains.value() else { return Vec::new() };
    let mut domains: Vec<Domain> = table
        .rows()
        .iter()
        .filter_map(|slot| {
            Some(Domain {
                kind: table.kind.or_empty(slot),
                id: table.domain.id(slot).value()?,
                cpus: IdSet::clone(table.cpus.get(slot)?),
                size_bytes: table.size_bytes.value(slot),
            })
        })
        .collect();
    domains.sort_unstable_by(|a, b| a.kind.cmp(&b.kind).then(a.cpus.first().cmp(&b.cpus.first())));
    domains
}
