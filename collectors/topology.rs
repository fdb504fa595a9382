//! Packages, dies, caches, cores, CPUs, nodes and PCI devices from sysfs; libhwloc adds what sysfs lacks.
//!
//! Which CPUs are online is looked at when `/proc/stat` has other rows, so that hotplug shows at once, and in every few
//! samples, as which nodes are; the rest is read when that changes, and settings (governors, memory by node, drivers) now
//! and then.

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

/// How often settings are read, in ns.
const SETTINGS_NS: u64 = 30_000_000_000;

/// The files that show hotplug.
const WATCHED: [&str; 2] = ["sys/devices/system/cpu/online", "sys/devices/system/node/online"];
/// Samples from one reading of them to the next, where nothing else shows a change.
const EVERY: u64 = 5;

/// Reads the topology.
#[derive(Debug, Default)]
pub(crate) struct TopologyCollector {
    watched: [Option<Kept>; 2],
    seen: [Vec<u8>; 2],
    samples: u64,
    /// The CPUs that have rows in `/proc/stat`.
    counted: Vec<u64>,
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
        let changed = self.changed(cx, draft);
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

    /// True when a CPU or node came or went since the last reading.
    fn changed(&mut self, cx: &mut Cx<'_>, draft: &Draft) -> bool {
        let turn = self.samples.is_multiple_of(EVERY);
        self.samples += 1;
        if self.counts_the_same(draft) && !turn && !cx.demand.complete {
            return false;
        }
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

    /// True if time is counted for the same CPUs as in the last sample.
    fn counts_the_same(&mut self, draft: &Draft) -> bool {
        let Some(times) = draft.cpu_times.value() else { return false };
        let counted = || times.rows().iter().map(|slot| times.rows().serial(slot));
        let same = counted().eq(self.counted.iter().copied());
        if !same {
            self.counted.clear();
            self.counted.extend(counted());
        }
        same
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

#[cfg(test)]
mod tests {
    use crate::testing::put as write;
    use crate::{Options, Root, Sampler};

    use topotop_model::derive::{Deriver, Settings};
    use topotop_model::frame::Topology;
    use topotop_model::{Known, Snapshot, Window};

    /// Four CPUs with gaps in their numbers, two nodes with gaps in theirs, a third node without CPUs.
    fn machine() -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir.path();
        let cpu =
            |cpu: u32, path: &str, text: &str| write(root, format!("sys/devices/system/cpu/cpu{cpu}/{path}"), text);
        write(root, "sys/devices/system/cpu/online", "0,2,5\n");
        write(root, "sys/devices/system/cpu/possible", "0-7\n");
        write(root, "sys/devices/system/cpu/isolated", "5\n");
        write(root, "sys/devices/system/cpu/nohz_full", "  (null)\n");
        for (id, package, core, siblings) in [(0, 0, 1, "0,2"), (2, 0, 1, "0,2"), (5, 1, 1, "5")] {
            cpu(id, "topology/physical_package_id", &format!("{package}\n"));
            cpu(id, "topology/die_id", "-1\n");
            cpu(id, "topology/core_id", &format!("{core}\n"));
            cpu(id, "topology/thread_siblings_list", &format!("{siblings}\n"));
            cpu(id, "cache/index3/level", "3\n");
            cpu(id, "cache/index3/shared_cpu_list", &format!("{siblings}\n"));
            cpu(id, "cache/index3/size", "32768K\n");
            cpu(id, "cpufreq/scaling_governor", "powersave\n");
            cpu(id, "cpufreq/scaling_driver", "acpi-cpufreq\n");
            cpu(id, "cpufreq/cpuinfo_max_freq", "3500000\n");
            cpu(id, "cpufreq/scaling_max_freq", "1200000\n");
        }
        cpu(6, "online", "0\n");
        for (node, cpus, kilobytes, row) in
            [(1, "0,2", 1000, "10 21 17"), (4, "5-6", 2000, "21 10 28"), (9, "", 4000, "17 28 10")]
        {
            let dir = format!("sys/devices/system/node/node{node}");
            write(root, format!("{dir}/cpulist"), format!("{cpus}\n"));
            write(root, format!("{dir}/meminfo"), format!("Node {node} MemTotal:  {kilobytes} kB\n"));
            write(root, format!("{dir}/distance"), format!("{row}\n"));
        }
        let pci = "sys/bus/pci/devices/0000:3b:00.0";
        write(root, format!("{pci}/class"), "0x020000\n");
        write(root, format!("{pci}/numa_node"), "-1\n");
        write(root, format!("{pci}/net/eth7/address"), "\n");
        write(root, "sys/bus/pci/devices/0000:00:1f.0/class", "0x060100\n");
        dir
    }

    fn topology(window: &Window) -> Topology {
        Topology::clone(&Deriver::new(Settings::default()).frame(window).topology)
    }

    fn window(snapshot: Snapshot) -> Window {
        let mut window = Window::default();
        window.push(snapshot);
        window
    }

    #[test]
    fn numbers_with_gaps_are_the_kernels() {
        let dir = machine();
        let window = window(Sampler::new(Root::at(dir.path()).expect("a root"), &Options::default()).sample());
        let topology = topology(&window);
        assert_eq!((topology.packages, topology.cores), (Some(2), Some(2)));
        assert_eq!(topology.cpus_online.to_string(), "0,2,5");
        assert_eq!(topology.cpus_possible.as_ref().map(ToString::to_string).as_deref(), Some("0-7"));
        assert_eq!(topology.cpus.iter().map(|cpu| cpu.id).collect::<Vec<_>>(), [0, 2, 5, 6], "present ones");
        let five = topology.cpu(5).expect("a CPU");
        assert!(five.online && five.isolated);
        assert_eq!((five.node, five.package, five.die), (Known::Value(4), Known::Value(1), Known::None));
        let clock = five.clock.clone().expect("a policy");
        assert_eq!((&*clock.governor, &*clock.driver), ("powersave", "acpi-cpufreq"));
        assert_eq!((clock.max_mhz, clock.limit_mhz), (Some(3500.0), Some(1200.0)));
        assert!(topology.cpu(6).is_some_and(|cpu| cpu.clock.is_none()));
        assert_eq!(five.l3, Known::Value(5), "without ids a cache is called after its first CPU");
        assert!(topology.cpu(6).is_some_and(|cpu| !cpu.online && cpu.package == Known::Missing));
        let nodes: Vec<_> = topology.nodes.iter().map(|node| (node.id, node.cpus.to_string(), node.has_cpus)).collect();
        assert_eq!(nodes, [(1, "0,2".into(), true), (4, "5-6".into(), true), (9, String::new(), false)]);
        let far = topology.node(4).map(|node| node.distances.clone());
        assert_eq!(far, Some(vec![(1, 21), (4, 10), (9, 28)]), "a row's columns are the nodes by id");
        assert_eq!(topology.node(9).map(|node| node.memory_total_bytes), Some(Known::Value(4_096_000)));
        assert_eq!(topology.domains.len(), 2);
        let pci = window.now.pci_devices.data();
        assert_eq!(pci.name.get(0).map(|name| &**name), Some("eth7"));
        assert_eq!((pci.node.get(0), pci.address.get(1)), (Known::None, None), "bridges are left out");
        assert!(window.now.cpu_topology.gaps.is_empty() && window.now.node_topology.gaps.is_empty());
    }

    #[test]
    fn hotplug_shows_in_the_next_sample_and_nothing_else_is_a_new_generation() {
        let dir = machine();
        let mut sampler = Sampler::new(Root::at(dir.path()).expect("a root"), &Options::default());
        let first = sampler.sample();
        let second = sampler.sample();
        assert_eq!(second.cpu_topology.read_at_ns, first.cpu_topology.read_at_ns);
        write(dir.path(), "sys/devices/system/cpu/online", "0,2,5-6\n");
        let third = sampler.sample();
        assert_ne!(third.cpu_topology.read_at_ns, first.cpu_topology.read_at_ns);
        assert_eq!(topology(&window(third)).cpus_online.to_string(), "0,2,5-6");
    }

    #[test]
    fn a_cpu_that_is_not_counted_any_more_is_looked_for_at_once() {
        let dir = machine();
        let counted = |cpus: &[u32]| {
            let row = |cpu: &u32| format!("cpu{cpu} 1 0 1 9 0 0 0 0 0 0\n");
            let rows: Vec<String> = cpus.iter().map(row).collect();
            write(dir.path(), "proc/stat", format!("cpu  1 0 1 9 0 0 0 0 0 0\n{}", rows.concat()));
        };
        counted(&[0, 2, 5]);
        let mut sampler = Sampler::new(Root::at(dir.path()).expect("a root"), &Options::default());
        let online = |sampler: &mut Sampler| topology(&window(sampler.sample())).cpus_online.to_string();
        let before = online(&mut sampler);
        write(dir.path(), "sys/devices/system/cpu/online", "0,2\n");
        assert_eq!(online(&mut sampler), before, "nothing tells of it yet");
        counted(&[0, 2]);
        assert_eq!(online(&mut sampler), "0,2");
        write(dir.path(), "sys/devices/system/cpu/online", "0\n");
        let all: Vec<String> = (0..5).map(|_| online(&mut sampler)).collect();
        assert_eq!(all.last().map(String::as_str), Some("0"), "seen in its turn");
    }

    #[test]
    fn damage_is_a_gap_and_costs_nothing_else() {
        let dir = machine();
        write(dir.path(), "sys/devices/system/cpu/possible", "0-4294967295\n");
        write(dir.path(), "sys/devices/system/cpu/cpu2/topology/physical_package_id", "\u{1}x");
        write(dir.path(), "sys/devices/system/node/node4/distance", "21 1");
        write(dir.path(), "sys/devices/system/node/node9/meminfo", "Node 9 MemTotal:  40");
        let window = window(Sampler::new(Root::at(dir.path()).expect("a root"), &Options::default()).sample());
        let topology = topology(&window);
        assert_eq!(topology.cpus.len(), 4);
        assert_eq!(topology.cpu(2).map(|cpu| cpu.package), Some(Known::Missing));
        assert_eq!(topology.node(4).map(|node| node.distances.len()), Some(0));
        assert_eq!(topology.node(9).map(|node| node.memory_total_bytes), Some(Known::Missing));
        assert_eq!(topology.node(1).map(|node| node.distances.len()), Some(3));
        let gaps = |gaps: &topotop_model::Gaps| gaps.iter().map(|gap| gap.count).sum::<u64>();
        assert_eq!((gaps(&window.now.cpu_topology.gaps), gaps(&window.now.node_topology.gaps)), (2, 2));
    }
}
