//! Packages, dies, caches, cores, CPUs, nodes and PCI devices from sysfs; libhwloc adds what sysfs lacks.
//!
//! Which CPUs and nodes are online is looked at in every sample (two kept files), so that hotplug shows at once; the
//! rest is read when that changes, and settings (governors, memory by node, drivers) now and then.

mod caches;
mod cpuinfo;
mod cpus;
mod extra;
mod nodes;
mod pci;

pub(crate) use pci::is_address;

use crate::files::Files;
use crate::hwloc::Asker;
use crate::root::Kept;
use crate::{Collector, Cx, Options};
use topotop_model::{Draft, Section, Slots, State, Table};

/// How often settings are looked at, in ns.
const SETTINGS_NS: u64 = 30_000_000_000;

/// The files that tell of hotplug.
const WATCHED: [&str; 2] = ["sys/devices/system/cpu/online", "sys/devices/system/node/online"];

/// Reads the topology.
#[derive(Debug, Default)]
pub(crate) struct TopologyCollector {
    watched: [Option<Kept>; 2],
    seen: [Vec<u8>; 2],
    read_at: Option<u64>,
    cpus: Slots<u32>,
    nodes: Slots<u32>,
    domains: Slots<(u8, u32)>,
    pci: Slots<String>,
    hwloc: Option<Asker>,
}

impl Collector for TopologyCollector {
    fn name(&self) -> &'static str {
        "topology"
    }

    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        let changed = self.changed(cx);
        let first = self.read_at.is_none();
        // The child runs while sysfs is read here; of a tree without CPUs it could only say nothing.
        if let Some(hwloc) = self.hwloc.as_mut().filter(|_| first || changed)
            && cx.root.exists("sys/devices/system/cpu")
        {
            hwloc.ask(cx.root);
        }
        let due = self.read_at.is_some_and(|at| cx.now_ns.saturating_sub(at) >= SETTINGS_NS);
        let read = first || changed || cx.demand.complete;
        if read {
            self.everything(cx, draft);
        } else if due {
            self.settings(cx, draft);
        }
        if read || due {
            self.read_at = Some(cx.now_ns);
        }
        let answered = self.hwloc.as_mut().is_some_and(|hwloc| hwloc.poll(cx.demand.complete));
        if let Some(answer) = self.hwloc.as_ref().and_then(Asker::last).filter(|_| answered || read || due) {
            extra::merge(answer, draft, &mut self.domains, cx.now_ns);
        }
    }
}

impl TopologyCollector {
    /// A collector that asks libhwloc as well if the options name a program for that.
    pub(crate) fn new(options: &Options) -> Self {
        let hwloc = options.hwloc_program.clone().filter(|_| cfg!(feature = "hwloc")).map(Asker::new);
        Self { hwloc, ..Self::default() }
    }

    /// True when a CPU or node came or went since the last look.
    fn changed(&mut self, cx: &mut Cx<'_>) -> bool {
        let mut changed = false;
        for ((kept, seen), path) in self.watched.iter_mut().zip(&mut self.seen).zip(WATCHED) {
            if kept.is_none() && self.read_at.is_none() {
                *kept = cx.root.open(path).ok();
            }
            if let Some(kept) = kept
                && kept.read(cx.buf).is_ok()
                && *cx.buf != *seen
            {
                seen.clone_from(cx.buf);
                changed = true;
            }
        }
        changed
    }

    fn everything(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        let now_ns = cx.now_ns;
        let mut files = Files::new(cx);
        draft.cpu_topology.begin(now_ns);
        draft.node_topology.begin(now_ns);
        draft.domains.begin(now_ns);
        cpus::read(&mut files, &mut draft.cpu_topology, &mut self.cpus);
        nodes::read(&mut files, &mut draft.node_topology, &mut draft.cpu_topology, &mut self.nodes, &self.cpus);
        caches::read(&mut files, &mut draft.domains, &mut draft.cpu_topology, &mut self.domains, &self.cpus);
        draft.pci_devices.begin(now_ns);
        pci::read(&mut files, &mut draft.pci_devices, &mut self.pci);
        missing_if_empty(&mut draft.cpu_topology);
        missing_if_empty(&mut draft.node_topology);
        missing_if_empty(&mut draft.domains);
        missing_if_empty(&mut draft.pci_devices);
    }

    /// Looks at what changes without hotplug; a section that stayed the same stays the same generation.
    fn settings(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        let now_ns = cx.now_ns;
        let mut files = Files::new(cx);
        if cpus::settings(&mut files, &mut draft.cpu_topology) {
            renew(&mut draft.cpu_topology, now_ns);
        }
        if nodes::settings(&mut files, &mut draft.node_topology) {
            renew(&mut draft.node_topology, now_ns);
        }
        // Interfaces are renamed and drivers bound while the machine runs.
        draft.pci_devices.begin(now_ns);
        pci::read(&mut files, &mut draft.pci_devices, &mut self.pci);
        missing_if_empty(&mut draft.pci_devices);
    }
}

/// A new generation with the gaps of the one before: only a part was read again.
pub(super) fn renew<T: Table>(section: &mut Section<T>, now_ns: u64) {
    let gaps = std::mem::take(&mut section.gaps);
    section.begin(now_ns);
    section.gaps = gaps;
}

fn missing_if_empty<T: Table>(section: &mut Section<T>) {
    if section.data().rows().is_empty() {
        section.state = State::Missing;
    }
}
