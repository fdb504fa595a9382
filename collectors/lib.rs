//! Reads a machine: `/proc` and `/sys` below a root, and the few facts that have no file, into the model's draft.
//!
//! One file per collector; each is listed once, in `all`. Collectors read, they never judge and never derive.

mod calm;
pub mod capture;
mod clock;
pub mod descriptors;
mod files;
pub mod hwloc;
pub mod live;
pub mod metrics;
pub mod parse;
pub mod probe;
pub mod rights;
pub mod root;
mod sampler;
pub mod state;
pub mod surroundings;
pub mod sys;
pub mod systemctl;
#[cfg(test)]
mod testing;
pub mod worker;

mod accelerators;
mod applied;
mod cgroups;
mod cooling;
mod cpu;
mod daemon;
mod disks;
mod host;
mod irqbalance;
mod irqs;
mod jvm;
mod memory;
mod memory_by_node;
mod mountinfo;
mod netstat;
mod nics;
mod node_memory;
mod off_cpu;
mod oom_kills;
mod pick;
mod pressure;
mod processes;
mod resctrl;
mod shapers;
mod sockets;
mod softirqs;
mod softnet;
mod topology;

pub use root::Root;
pub use root::log::hold as hold_kernel_log;
pub use sampler::{Options, Sampler};

use live::Live;
use topotop_model::Draft;

/// The three clocks now, of no sample.
pub fn now() -> topotop_model::Stamp {
    sampler::stamp(0)
}

/// Requests beyond the fixed base of judging and recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// Read everything once and wait for workers: a single snapshot, a capture.
    pub complete: bool,
    /// Look at the threads and the exact memory of this process.
    pub process: Option<u32>,
}

/// What a collector may use in one reading.
#[derive(Debug)]
pub struct Cx<'a> {
    /// The door to files; a worker takes a clone.
    pub root: &'a std::sync::Arc<Root>,
    /// Facts that have no file.
    pub live: &'a std::sync::Arc<dyn Live>,
    /// CLOCK_MONOTONIC of this sample in ns: sections are stamped with it.
    pub now_ns: u64,
    /// What is wanted.
    pub demand: &'a Demand,
    /// A buffer to read into, shared by all collectors.
    pub buf: &'a mut Vec<u8>,
}

/// Fills its own sections of the draft.
pub trait Collector: Send {
    /// Its name in costs.
    fn name(&self) -> &'static str;

    /// The shortest time between two readings, in ns; zero is every sample.
    fn period_ns(&self) -> u64 {
        0
    }

    /// The time between two readings while the machine does next to nothing, in ns; zero where it is no other. Rates
    /// are those of the longer time then.
    fn calm_period_ns(&self) -> u64 {
        0
    }

    /// Reads. What cannot be read becomes a gap; nothing in here panics or waits.
    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft);
}

/// The period of sections that only show trouble on a busy machine, while it is idle.
pub(crate) const CALM_NS: u64 = 4_000_000_000;

/// Every collector, in the order of reading: topology first, since others use its CPUs.
fn all(options: &Options) -> Vec<Box<dyn Collector>> {
    let connections = sockets::Connections::default();
    vec![
        Box::new(host::HostCollector),
        Box::new(host::SysctlsCollector::default()),
        Box::new(cpu::CpuCollector::default()),
        // Sees in what was just read whether CPUs came or went.
        Box::new(topology::TopologyCollector::new(options)),
        Box::new(irqs::IrqCollector::default()),
        Box::new(softirqs::SoftirqCollector::default()),
        Box::new(softnet::SoftnetCollector::default()),
        Box::new(nics::NicCollector::default()),
        Box::new(pressure::PressureCollector::default()),
        Box::new(cgroups::CgroupCollector::default()),
        Box::new(disks::DisksCollector::default()),
        Box::new(disks::MountsCollector::default()),
        Box::new(cooling::CoolingCollector::default()),
        Box::new(memory::MemoryCollector::default()),
        // Sees in what was just read whether a process was killed.
        Box::new(oom_kills::OomKillCollector::default()),
        Box::new(node_memory::NodeMemoryCollector::default()),
        Box::new(resctrl::ResctrlCollector::default()),
        Box::new(processes::ProcessCollector::default()),
        // Looks for who holds one among the processes that were just read.
        Box::new(accelerators::AcceleratorCollector::default()),
        Box::new(irqbalance::IrqbalanceCollector::default()),
        Box::new(memory_by_node::MemoryByNode::new(options)),
        Box::new(applied::AppliedCollector::new(options)),
        Box::new(sockets::SocketCollector::new(connections.clone())),
        Box::new(off_cpu::OffCpuCollector::new(connections)),
        // Knows from the sockets which network namespaces there are.
        Box::new(netstat::NetstatCollector::default()),
        // Asks in the namespaces that were just read.
        Box::new(shapers::ShaperCollector::default()),
        Box::new(jvm::JvmCollector::default()),
        Box::new(metrics::MetricCollector::new(options)),
    ]
}
