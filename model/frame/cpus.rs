//! CPUs and the topology that they stand in.

use crate::document::{ById, Text, absent};
use crate::{IdSet, Known};
use serde::Serialize;
use serde_with::apply;
use std::sync::Arc;

/// One CPU in this interval and its place.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Cpu {
    /// Its number.
    pub id: u32,
    /// Its node.
    pub node: Known<u32>,
    /// False when offline.
    pub online: bool,
    /// True when isolated from the scheduler.
    pub isolated: bool,
    /// Where its time went; none with one sample, or when the counters cannot be right.
    #[serde(flatten)]
    pub shares: Option<CpuShares>,
    /// Current frequency.
    pub mhz: Option<f64>,
    /// Thermal throttling events of its core since the last reading; not read with every sample.
    pub throttles_gained: Option<u64>,
    /// Thermal throttling events of its package since the last reading; not read with every sample.
    pub package_throttles_gained: Option<u64>,
    /// Time that its core or package was thermally throttled, added when throttling ends (Linux 5.8).
    pub throttled_ms_gained: Option<u64>,
    /// Mean number of tasks waiting in its run queue (`/proc/schedstat`); absent if the kernel does not report it.
    pub run_wait_cores: Option<f64>,
}

impl Cpu {
    /// True if heat slowed its core or its package down since it was last asked.
    pub fn is_hot(&self) -> bool {
        [self.throttles_gained, self.package_throttles_gained, self.throttled_ms_gained]
            .iter()
            .any(|gained| *gained > Some(0))
    }

    /// Fraction of the interval in which it was busy.
    pub fn busy(&self) -> Option<f64> {
        self.shares.map(|shares| shares.busy)
    }
}

/// Where time went, as fractions of the interval.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CpuShares {
    /// User, system, irq and softirq; neither iowait nor steal.
    pub busy: f64,
    /// User mode, nice and guests included.
    pub user: f64,
    /// Kernel mode.
    pub system: f64,
    /// Hard interrupts.
    pub irq: f64,
    /// Softirq.
    pub softirq: f64,
    /// Idle while a task waited for I/O.
    pub iowait: f64,
    /// Idle.
    pub idle: f64,
    /// Taken by the hypervisor.
    pub steal: f64,
}

/// Packages, nodes, caches and CPUs as the kernel numbers them.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Topology {
    /// Packages with online CPUs; absent if the machine does not report packages.
    pub packages: Option<u32>,
    /// Cores with online CPUs.
    pub cores: Option<u32>,
    /// Online CPUs.
    #[serde_with(skip_apply)]
    #[serde(skip_serializing_if = "IdSet::is_empty")]
    #[cfg_attr(test, schemars(with = "Option<IdSet>"))]
    pub cpus_online: IdSet,
    /// Possible CPUs.
    pub cpus_possible: Option<IdSet>,
    /// Every known CPU, by id.
    pub cpus: Vec<CpuPlace>,
    /// Every node, by id.
    pub nodes: Vec<NodePlace>,
    /// Caches and groups, by kind and first CPU.
    pub domains: Vec<Domain>,
}

/// Position of a CPU in the topology.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CpuPlace {
    /// Its number.
    pub id: u32,
    /// Its node.
    pub node: Known<u32>,
    /// Its package.
    pub package: Known<u32>,
    /// Its die.
    pub die: Known<u32>,
    /// Its core.
    pub core: Known<u32>,
    /// Its L3.
    pub l3: Known<u32>,
    /// The CPUs of its core.
    pub smt_siblings: Option<Arc<IdSet>>,
    /// True when online.
    pub online: bool,
    /// True when isolated from the scheduler.
    pub isolated: bool,
    /// True when its tick is stopped while one task runs (nohz_full).
    pub nohz_full: bool,
    /// CPU capacity as the scheduler sees it, 1024 for the largest CPU.
    pub capacity: Option<u32>,
    /// Its cpufreq policy; absent if the machine has no cpufreq.
    pub clock: Option<ClockPolicy>,
}

/// cpufreq's policy of a CPU.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClockPolicy {
    /// Governor.
    pub governor: Arc<str>,
    /// Driver; empty when unread.
    pub driver: Arc<str>,
    /// Maximum frequency of the CPU (cpuinfo_max_freq).
    pub max_mhz: Option<f64>,
    /// Maximum frequency that the policy allows (scaling_max_freq).
    pub limit_mhz: Option<f64>,
}

/// A node.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NodePlace {
    /// Its number.
    pub id: u32,
    /// Its CPUs as listed.
    pub cpus: IdSet,
    /// Its memory.
    pub memory_total_bytes: Known<u64>,
    /// Distance by node id, as the kernel gives it; empty when unread.
    #[serde_with(skip_apply)]
    #[serde(with = "ById::<u32>", skip_serializing_if = "Vec::is_empty")]
    pub distances: Vec<(u32, u32)>,
    /// True when some CPU belongs to it.
    pub has_cpus: bool,
    /// True when it has memory.
    pub has_memory: bool,
    /// Kind of memory; empty when unknown.
    pub tier: Arc<str>,
}

/// A cache shared by CPUs, or a group of them.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Domain {
    /// `L2`, `L3`, `Group`.
    #[serde_with(skip_apply)]
    #[serde(serialize_with = "Text::serialize")]
    pub kind: Arc<str>,
    /// Its id.
    pub id: u32,
    /// Its CPUs.
    pub cpus: IdSet,
    /// Its size.
    pub size_bytes: Option<u64>,
}

impl Topology {
    /// The place of a CPU.
    pub fn cpu(&self, id: u32) -> Option<&CpuPlace> {
        self.cpus.binary_search_by_key(&id, |cpu| cpu.id).ok().and_then(|at| self.cpus.get(at))
    }

    /// The node of an id.
    pub fn node(&self, id: u32) -> Option<&NodePlace> {
        self.nodes.binary_search_by_key(&id, |node| node.id).ok().and_then(|at| self.nodes.get(at))
    }

    /// The nodes that CPUs belong to: where an instance can run.
    pub fn cpu_nodes(&self) -> impl Iterator<Item = &NodePlace> {
        self.nodes.iter().filter(|node| node.has_cpus)
    }

    /// Where memory is local to CPUs of a node: the node itself, or the nearest ones with memory if it has none.
    pub fn memory_homes(&self, node: u32) -> IdSet {
        let has_memory = |id: u32| self.node(id).is_none_or(|node| node.has_memory);
        if has_memory(node) {
            return IdSet::from_ids([node]);
        }
        let distances = self.node(node).map(|node| node.distances.as_slice()).unwrap_or_default();
        let others = || distances.iter().filter(|(id, _)| *id != node && has_memory(*id));
        let nearest = others().map(|(_, distance)| *distance).min();
        IdSet::from_ids(others().filter(|(_, distance)| Some(*distance) == nearest).map(|(id, _)| *id))
    }

    /// The distance between two nodes; none where it is not known.
    pub fn distance(&self, from: u32, to: u32) -> Option<u32> {
        self.node(from)?.distances.iter().find(|(id, _)| *id == to).map(|(_, distance)| *distance)
    }

    /// The node of a CPU.
    pub fn node_of(&self, cpu: u32) -> Option<u32> {
        self.cpu(cpu)?.node.value()
    }
}
