//! Which CPU of one machine is which of another.

use crate::frame::{CpuPlace, Topology};
use crate::{IdSet, Known};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// How CPUs and nodes are paired.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Alignment {
    /// By number: the topologies are the same as far as both have CPUs.
    #[default]
    ById,
    /// By package, node, core and thread: the numbers differ, the shape does not. The pairs are (after, before).
    ByPlace {
        /// CPUs.
        cpus: HashMap<u32, u32>,
        /// Nodes.
        nodes: HashMap<u32, u32>,
    },
    /// Not one by one: the machines are of different shapes.
    Aggregated,
}

impl Alignment {
    /// Pairs two topologies; `same_boot` says that they are one machine, whose CPUs may come and go.
    pub fn of(before: &Topology, after: &Topology, same_boot: bool) -> Self {
        if same_boot || same_numbers(before, after) {
            return Self::ById;
        }
        let (one, other) = (places(before), places(after));
        let fits = one.len() == before.cpus_online.len() as usize && other.len() == after.cpus_online.len() as usize;
        if !fits || one.is_empty() || !one.keys().eq(other.keys()) {
            return Self::Aggregated;
        }
        let cpus = other.iter().filter_map(|(place, cpu)| Some((*cpu, *one.get(place)?))).collect();
        let nodes = online_nodes(after).into_iter().zip(online_nodes(before)).collect();
        Self::ByPlace { cpus, nodes }
    }

    /// The number before of a CPU after.
    pub(super) fn cpu(&self, after: u32) -> Option<u32> {
        match self {
            Self::ById => Some(after),
            Self::ByPlace { cpus, .. } => cpus.get(&after).copied(),
            Self::Aggregated => None,
        }
    }

    /// The number before of a node after.
    pub(super) fn node(&self, after: u32) -> Option<u32> {
        match self {
            Self::ById => Some(after),
            Self::ByPlace { nodes, .. } => nodes.get(&after).copied(),
            Self::Aggregated => None,
        }
    }

    /// Its name in documents.
    pub fn name(&self) -> &'static str {
        match self {
            Self::ById => "by_id",
            Self::ByPlace { .. } => "by_place",
            Self::Aggregated => "aggregated",
        }
    }
}

/// Every CPU stands at the same place in both.
fn same_numbers(before: &Topology, after: &Topology) -> bool {
    fn place(cpu: &CpuPlace) -> (u32, Known<u32>, Known<u32>, Known<u32>) {
        (cpu.id, cpu.node, cpu.package, cpu.core)
    }
    before.cpus_online == after.cpus_online && before.cpus.iter().map(place).eq(after.cpus.iter().map(place))
}

fn online_nodes(topology: &Topology) -> BTreeSet<u32> {
    let online = topology.cpus.iter().filter(|cpu| cpu.online);
    online.filter_map(|cpu| cpu.node.value()).collect()
}

/// Online CPUs by rank of package, node, core and thread.
fn places(topology: &Topology) -> BTreeMap<(usize, usize, usize, usize), u32> {
    type Core = (Option<u32>, Option<u32>, Option<u32>, Option<u32>);
    let mut cores: BTreeMap<Core, IdSet> = BTreeMap::new();
    for cpu in topology.cpus.iter().filter(|cpu| cpu.online) {
        let core = (cpu.package.value(), cpu.node.value(), cpu.die.value(), cpu.core.value());
        cores.entry(core).or_default().insert(cpu.id);
    }
    let packages: BTreeSet<_> = cores.keys().map(|core| core.0).collect();
    let nodes: BTreeSet<_> = cores.keys().map(|core| core.1).collect();
    let rank = |set: &BTreeSet<Option<u32>>, id| set.iter().position(|other| *other == id).unwrap_or_default();
    let mut seen: HashMap<(usize, usize), usize> = HashMap::new();
    let mut places = BTreeMap::new();
    for (core, cpus) in &cores {
        let (package, node) = (rank(&packages, core.0), rank(&nodes, core.1));
        let count = seen.entry((package, node)).or_default();
        let at = *count;
        *count += 1;
        places.extend(cpus.iter().enumerate().map(|(thread, cpu)| ((package, node, at, thread), cpu)));
    }
    places
}

#[cfg(test)]
mod tests {
    use super::Alignment;
    use crate::frame::{CpuPlace, Topology};
    use crate::{IdSet, Known};

    /// CPUs as (id, node, package, core).
    fn topology(cpus: &[(u32, u32, u32, u32)]) -> Topology {
        let place = |&(id, node, package, core): &(u32, u32, u32, u32)| CpuPlace {
            id,
            node: Known::Value(node),
            package: Known::Value(package),
            core: Known::Value(core),
            online: true,
            ..CpuPlace::default()
        };
        Topology {
            cpus_online: IdSet::from_ids(cpus.iter().map(|cpu| cpu.0)),
            cpus: cpus.iter().map(place).collect(),
            ..Topology::default()
        }
    }

    #[test]
    fn numbers_places_and_neither() {
        let blocks = topology(&[(0, 0, 0, 0), (1, 0, 0, 1), (2, 1, 1, 0), (3, 1, 1, 1)]);
        let turns = topology(&[(0, 0, 0, 0), (1, 1, 1, 0), (2, 0, 0, 1), (3, 1, 1, 1)]);
        let small = topology(&[(0, 0, 0, 0), (1, 0, 0, 1)]);
        assert_eq!(Alignment::of(&blocks, &blocks, false), Alignment::ById);
        assert_eq!(Alignment::of(&blocks, &small, true), Alignment::ById);
        assert_eq!(Alignment::of(&blocks, &small, false), Alignment::Aggregated);
        let by_place = Alignment::of(&blocks, &turns, false);
        assert_eq!(by_place.name(), "by_place");
        assert_eq!((0..4).map(|cpu| by_place.cpu(cpu)).collect::<Vec<_>>(), [Some(0), Some(2), Some(1), Some(3)]);
        assert_eq!(by_place.node(1), Some(1));
    }

    #[test]
    fn threads_of_a_core_are_told_apart() {
        let one = topology(&[(0, 0, 0, 0), (1, 0, 0, 0), (2, 0, 0, 1), (3, 0, 0, 1)]);
        let other = topology(&[(0, 0, 0, 0), (2, 0, 0, 0), (1, 0, 0, 1), (3, 0, 0, 1)]);
        let by_place = Alignment::of(&one, &other, false);
        assert_eq!((0..4).map(|cpu| by_place.cpu(cpu)).collect::<Vec<_>>(), [Some(0), Some(2), Some(1), Some(3)]);
    }
}
