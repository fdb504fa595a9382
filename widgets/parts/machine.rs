//! The machine as it is drawn everywhere: packages, nodes, caches and cores in one fixed order.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use topotop_model::Known;
use topotop_model::frame::{CpuPlace, Frame, Topology};
use topotop_model::locale::Text;
use topotop_model::locale::screen::cores as text;

/// What separates groups of cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grouping {
    /// Packages, nodes and last-level caches.
    #[default]
    L3,
    /// Packages and nodes.
    Node,
    /// Packages.
    Package,
    /// Nothing: CPUs by number.
    Flat,
}

impl Grouping {
    /// The next coarser one, and round.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::L3 => Self::Node,
            Self::Node => Self::Package,
            Self::Package => Self::Flat,
            Self::Flat => Self::L3,
        }
    }

    /// What it is called on the screen.
    pub fn name(self) -> Text {
        match self {
            Self::L3 => text::BY_CACHE,
            Self::Node => text::BY_NODE,
            Self::Package => text::BY_PACKAGE,
            Self::Flat => text::BY_NUMBER,
        }
    }
}

/// The threads of a core, as a range of [`Machine::cpus`].
pub type Core = Range<usize>;

/// Cores that share a cache, as a range of [`Machine::cores`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its cache, where it is known.
    pub l3: Option<u32>,
    /// Its cores.
    pub cores: Range<usize>,
}

/// A node, or what stands for one in this grouping, as a range of [`Machine::groups`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its package.
    pub package: Option<u32>,
    /// Its node.
    pub node: Option<u32>,
    /// Its groups.
    pub groups: Range<usize>,
}

/// Every CPU in drawing order.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    topology: Arc<Topology>,
    grouping: Grouping,
    rows: usize,
    /// CPUs.
    pub cpus: Vec<u32>,
    /// Cores.
    pub cores: Vec<Core>,
    /// Caches.
    pub groups: Vec<Group>,
    /// Nodes.
    pub sections: Vec<Section>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    package: Option<u32>,
    node: Option<u32>,
    l3: Option<u32>,
    die: Option<u32>,
    core: (bool, u32),
    id: u32,
}

impl Machine {
    /// The machine of a frame.
    pub fn new(frame: &Frame, grouping: Grouping) -> Self {
        let topology = &frame.topology;
        let mut keys: Vec<Key> = topology.cpus.iter().map(|place| key(place, grouping)).collect();
        let unplaced = frame.cpus.iter().filter(|cpu| topology.cpu(cpu.id).is_none());
        keys.extend(unplaced.map(|cpu| {
            key(&CpuPlace { id: cpu.id, node: cpu.node, online: cpu.online, ..CpuPlace::default() }, grouping)
        }));
        // Virtual machines have nodes of many packages: what is not above nodes does not part them.
        if spans_packages(&keys) {
            for key in &mut keys {
                key.package = None;
            }
        }
        // Unknown places come last, not first.
        let last = |id: Option<u32>| (id.is_none(), id);
        keys.sort_by_key(|key| (last(key.package), last(key.node), last(key.l3), last(key.die), key.core, key.id));
        let mut machine = Self { topology: Arc::clone(topology), grouping, rows: frame.cpus.len(), ..Self::default() };
        let mut before: Option<Key> = None;
        for key in keys {
            machine.push(key, before);
            before = Some(key);
        }
        machine
    }

    /// True while it still is what [`Machine::new`] would build.
    pub fn fits(&self, frame: &Frame, grouping: Grouping) -> bool {
        Arc::ptr_eq(&self.topology, &frame.topology) && self.grouping == grouping && self.rows == frame.cpus.len()
    }

    /// The most threads that a core has.
    pub fn threads(&self) -> usize {
        self.cores.iter().map(Range::len).max().unwrap_or(1)
    }

    /// The CPUs of a run of cores.
    pub fn cpus_of(&self, cores: Range<usize>) -> &[u32] {
        let first = self.cores.get(cores.start).map_or(0, |core| core.start);
        let end = cores.end.checked_sub(1).and_then(|at| self.cores.get(at)).map_or(first, |core| core.end);
        self.cpus.get(first..end).unwrap_or_default()
    }

    /// The CPUs of a section, as a range of [`Machine::cpus`].
    pub fn range_of(&self, section: &Section) -> Range<usize> {
        let cores = self.cores.get(self.cores_of(section)).unwrap_or_default();
        cores.first().map_or(0, |core| core.start)..cores.last().map_or(0, |core| core.end)
    }

    /// The cores of a section.
    pub fn cores_of(&self, section: &Section) -> Range<usize> {
        let first = self.groups.get(section.groups.start).map_or(0, |group| group.cores.start);
        let end = section.groups.end.checked_sub(1).and_then(|at| self.groups.get(at));
        first..end.map_or(first, |group| group.cores.end)
    }

    /// The groups of a section.
    pub fn groups_of(&self, section: &Section) -> &[Group] {
        self.groups.get(section.groups.clone()).unwrap_or_default()
    }

    /// How many packages it shows.
    pub fn packages(&self) -> usize {
        1 + self
            .sections
            .windows(2)
            .filter(|pair| pair.first().map(|a| a.package) != pair.last().map(|b| b.package))
            .count()
    }

    /// True where packages have several sections: else a section's label says as much as its package's would.
    pub fn is_parted(&self) -> bool {
        (2..self.sections.len()).contains(&self.packages())
    }

    fn push(&mut self, key: Key, before: Option<Key>) {
        let place = |key: Key| (key.package, key.node);
        let group = |key: Key| (place(key), key.l3);
        let core = |key: Key| (group(key), key.die, key.core);
        let new_section = before.is_none_or(|before| place(before) != place(key));
        let new_group = before.is_none_or(|before| group(before) != group(key));
        let new_core = before.is_none_or(|before| core(before) != core(key));
        if new_core {
            self.cores.push(self.cpus.len()..self.cpus.len());
        }
        self.cpus.push(key.id);
        if let Some(core) = self.cores.last_mut() {
            core.end = self.cpus.len();
        }
        if new_group {
            let start = self.cores.len() - 1;
            self.groups.push(Group { l3: key.l3, cores: start..start });
        }
        if let Some(group) = self.groups.last_mut() {
            group.cores.end = self.cores.len();
        }
        if new_section {
            let start = self.groups.len() - 1;
            self.sections.push(Section { package: key.package, node: key.node, groups: start..start });
        }
        if let Some(section) = self.sections.last_mut() {
            section.groups.end = self.groups.len();
        }
    }
}

/// True if CPUs of one node are in several packages.
fn spans_packages(keys: &[Key]) -> bool {
    let mut packages: BTreeMap<u32, Option<u32>> = BTreeMap::new();
    keys.iter().any(|key| key.node.is_some_and(|node| *packages.entry(node).or_insert(key.package) != key.package))
}

fn key(place: &CpuPlace, grouping: Grouping) -> Key {
    let known = |value: Known<u32>, shown: bool| value.value().filter(|_| shown);
    let flat = grouping == Grouping::Flat;
    // An offline CPU has no core of its own in sysfs; the first of its siblings, or it alone, stands for one.
    let siblings = place.smt_siblings.as_ref().and_then(|siblings| siblings.first());
    let core = match place.core.value() {
        Some(core) => (false, core),
        None => (true, siblings.unwrap_or(place.id)),
    };
    Key {
        package: known(place.package, !flat),
        node: known(place.node, !matches!(grouping, Grouping::Package | Grouping::Flat)),
        l3: known(place.l3, grouping == Grouping::L3),
        die: known(place.die, !flat),
        core: if flat { (true, place.id) } else { core },
        id: place.id,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo;

    fn shape(frame: &Frame, grouping: Grouping) -> (usize, usize, usize, usize) {
        let machine = Machine::new(frame, grouping);
        (machine.sections.len(), machine.groups.len(), machine.cores.len(), machine.cpus.len())
    }

    #[test]
    fn siblings_stand_together() {
        let frame = demo::server();
        assert_eq!(shape(&frame, Grouping::L3), (4, 8, 32, 64));
        assert_eq!(shape(&frame, Grouping::Node), (4, 4, 32, 64));
        assert_eq!(shape(&frame, Grouping::Package), (2, 2, 32, 64));
        assert_eq!(shape(&frame, Grouping::Flat), (1, 1, 64, 64));
        let machine = Machine::new(&frame, Grouping::L3);
        assert_eq!(machine.cpus[..4], [0, 32, 1, 33]);
        assert_eq!(machine.cpus_of(machine.cores_of(&machine.sections[2])).len(), 16);
        assert_eq!(machine.packages(), 2);
        assert!(machine.fits(&frame, Grouping::L3) && !machine.fits(&frame, Grouping::Flat));
        assert_eq!(shape(&demo::wide(), Grouping::L3), (16, 64, 512, 1024));
    }

    #[test]
    fn a_node_of_many_packages_is_one_section() {
        let mut frame = demo::server();
        let mut topology = (*frame.topology).clone();
        for place in &mut topology.cpus {
            place.package = Known::Value(place.id % 16);
        }
        frame.topology = Arc::new(topology);
        assert_eq!(shape(&frame, Grouping::L3), (4, 8, 32, 64));
        let machine = Machine::new(&frame, Grouping::L3);
        assert!(machine.sections.iter().all(|section| section.package.is_none()) && machine.packages() == 1);
        assert_eq!(Machine::new(&frame, Grouping::Package).sections.len(), 16);
    }

    #[test]
    fn unknown_places_lose_no_cpu() {
        let mut frame = demo::blind();
        assert_eq!(shape(&frame, Grouping::L3), (1, 1, 2, 2));
        frame.topology = Arc::default();
        assert_eq!(shape(&frame, Grouping::L3), (1, 1, 2, 2));
        frame.cpus.clear();
        assert_eq!(shape(&frame, Grouping::L3), (0, 0, 0, 0));
    }
}
