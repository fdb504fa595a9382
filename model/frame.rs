//! One tick as everybody sees it: rates, shares and joins, derived once and shared by screens, exports and rules.
//!
//! Rows carry what is shown or judged, and are serialised as they are: `topotop.snapshot/1` is made of them.
//! Shares and utilisations are fractions 0..1 of the interval. [`Known`](crate::Known) tells "not read" from "known to be none".

mod accelerators;
mod cgroups;
mod cooling;
mod cpus;
mod disks;
mod host;
mod limits;
mod memory;
mod metrics;
mod network;
mod off_cpu;
mod processes;
mod sockets;

pub use accelerators::{Accelerator, AcceleratorClient};
pub use cgroups::{
    Cgroup, CgroupCpu, CgroupEvents, CgroupIoRate, CgroupMemory, CgroupMount, CgroupPressure, Container, IoLimits,
    IoThrottle, NodeBytes,
};
pub use cooling::Cooling;
pub use cpus::{ClockPolicy, Cpu, CpuPlace, CpuShares, Domain, NodePlace, Topology};
pub(crate) use disks::drive_of_path;
pub use disks::{Disk, Mount, Writer, WriterId};
pub use host::{Applied, CollectorCost, Cost, Host, Pressure, PressureStall};
pub use limits::{KernelTables, NetNamespace, Shaper};
pub use memory::{Memory, MemoryBandwidth, Node, OomKill};
pub use metrics::{LOAD_SHARE, Metric};
pub use network::{ArchIrq, Channel, Channels, Counts, Irq, Irqbalance, Nic, NicRates, Queue, Softirq, SoftnetRow};
pub use off_cpu::{OffCpu, WaitClass, WaitShare};
pub(crate) use processes::PF_NO_SETAFFINITY;
pub use processes::{AffinityGroup, Beam, MemorySource, Process, ProcessMemory, Thread};
pub use sockets::{Jvm, Listener, Peer, is_loopback};

use crate::{Gap, Reason, SectionStates, Stamp};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Everything derived from the last two generations of each section.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// When.
    pub stamp: Stamp,
    /// Time between the last two samples; none when there is only one.
    pub interval_seconds: Option<f64>,
    /// Identity of the machine.
    pub host: Host,
    /// Packages, nodes, caches and CPUs; shared while it does not change.
    pub topology: Arc<Topology>,
    /// CPUs that are online or have times, by id.
    pub cpus: Vec<Cpu>,
    /// Memory of the machine.
    pub memory: Memory,
    /// Nodes, by id.
    pub nodes: Vec<Node>,
    /// Device interrupts, by number.
    pub irqs: Vec<Irq>,
    /// The architecture's interrupts, in the kernel's order.
    pub irqs_arch: Vec<ArchIrq>,
    /// irqbalance, if it could be looked for.
    pub irqbalance: Option<Irqbalance>,
    /// Soft interrupts, in the kernel's order.
    pub softirqs: Vec<Softirq>,
    /// Packet backlog, by CPU.
    pub softnet: Vec<SoftnetRow>,
    /// Interfaces, by index.
    pub nics: Vec<Nic>,
    /// Control groups, by path.
    pub cgroups: Vec<Cgroup>,
    /// Where control groups are mounted.
    pub cgroup_mounts: Vec<CgroupMount>,
    /// Block devices other than partitions, by name.
    pub disks: Vec<Disk>,
    /// Processes, by pid.
    pub processes: Vec<Process>,
    /// Threads that are looked at, by process and id.
    pub threads: Vec<Thread>,
    /// What network namespaces count, the own one first.
    pub net_namespaces: Vec<NetNamespace>,
    /// Tables of the kernel that can be full.
    pub kernel_tables: KernelTables,
    /// Pressure by resource: `cpu`, `memory`, `io`, `irq`.
    pub pressure: Vec<Pressure>,
    /// Settings that rules read, by name.
    pub sysctls: Vec<(Arc<str>, Arc<str>)>,
    /// The application's own numbers, by name.
    pub metrics: Vec<Metric>,
    /// Memory bandwidth by L3 (resctrl); its capacity is not known.
    pub memory_bandwidth: Vec<MemoryBandwidth>,
    /// What cools CPUs at the cost of their speed, by name.
    pub cooling: Vec<Cooling>,
    /// GPUs and other accelerators, by name.
    pub accelerators: Vec<Accelerator>,
    /// What the kernel's log says of processes that the OOM killer killed in the last half minute.
    pub oom_kills: Vec<OomKill>,
    /// What could not be read, over all sections.
    pub gaps: Vec<Gap>,
    /// Files that could not be read, by section and reason.
    pub unread: BTreeMap<(&'static str, Reason), u64>,
    /// What the monitor itself cost.
    pub cost: Cost,
    /// What fixes have written, by fix and target.
    pub applied: Vec<Applied>,
    /// Why what fixes have written could not be read.
    pub applied_gaps: Vec<Gap>,
    /// Listening sockets whose process is unknown.
    pub unowned_listeners: Vec<Listener>,
    /// Whether each section was read.
    pub sections: SectionStates,
}

impl Frame {
    /// The CPU of an id.
    pub fn cpu(&self, id: u32) -> Option<&Cpu> {
        self.cpus.binary_search_by_key(&id, |cpu| cpu.id).ok().and_then(|at| self.cpus.get(at))
    }

    /// The device that keeps CPUs idle although they have work, against heat.
    pub fn idle_injection(&self) -> Option<&Cooling> {
        self.cooling.iter().find(|device| device.injects_idle())
    }

    /// The device that does most to cap the clock of a CPU, against heat.
    pub fn passive_cooling(&self, place: &CpuPlace) -> Option<&Cooling> {
        let on = self.cooling.iter().filter(|device| device.caps(place, &self.topology));
        on.max_by_key(|device| device.state.value())
    }

    /// The node of an id.
    pub fn node(&self, id: u32) -> Option<&Node> {
        self.nodes.binary_search_by_key(&id, |node| node.id).ok().and_then(|at| self.nodes.get(at))
    }

    /// The interface of a name.
    pub fn nic(&self, name: &str) -> Option<&Nic> {
        self.nics.iter().find(|nic| *nic.name == *name)
    }

    /// The interrupt of a number.
    pub fn irq(&self, irq: u32) -> Option<&Irq> {
        self.irqs.binary_search_by_key(&irq, |row| row.irq).ok().and_then(|at| self.irqs.get(at))
    }

    /// The control group of a path.
    pub fn cgroup(&self, path: &str) -> Option<&Cgroup> {
        self.cgroups.binary_search_by(|cgroup| (*cgroup.path).cmp(path)).ok().and_then(|at| self.cgroups.get(at))
    }

    /// The directory of a control group in the hierarchy that has a controller (`memory`, `cpu`, `blkio`), and its
    /// version; none where no such hierarchy is known.
    pub fn cgroup_directory(&self, path: &str, controller: &str) -> Option<(u32, String)> {
        let has =
            |mount: &&CgroupMount| mount.version == 1 && mount.controllers.split(',').any(|name| name == controller);
        let of_two = || self.cgroup_mounts.iter().find(|mount| mount.version == 2);
        let mount = self.cgroup_mounts.iter().find(has).or_else(of_two)?;
        Some((mount.version, format!("{}{}", mount.dir.trim_end_matches('/'), path.trim_end_matches('/'))))
    }

    /// The process of a pid.
    pub fn process(&self, pid: u32) -> Option<&Process> {
        self.processes.binary_search_by_key(&pid, |process| process.pid).ok().and_then(|at| self.processes.get(at))
    }

    /// The looked-at threads of a process.
    pub fn threads_of(&self, pid: u32) -> &[Thread] {
        let start = self.threads.partition_point(|thread| thread.pid < pid);
        let end = self.threads.partition_point(|thread| thread.pid <= pid);
        self.threads.get(start..end).unwrap_or_default()
    }

    /// The pressure of a resource.
    pub fn pressure(&self, resource: &str) -> Option<&Pressure> {
        self.pressure.iter().find(|row| *row.resource == *resource)
    }
}
