//! The parts of a sample that rules require.

use crate::frame::Frame;
use crate::locale::input as text;

/// A part of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Time by CPU.
    CpuTimes,
    /// Nodes.
    Nodes,
    /// Memory by node.
    NodeMemory,
    /// Memory of the machine.
    Memory,
    /// Device interrupts.
    Irqs,
    /// Packet backlog.
    Softnet,
    /// Interfaces.
    Nics,
    /// Their queues.
    Queues,
    /// Control groups.
    Cgroups,
    /// Disks.
    Disks,
    /// Processes.
    Processes,
    /// Threads.
    Threads,
    /// TCP connections.
    Peers,
    /// Counters of network namespaces.
    NetStats,
}

impl Input {
    /// Why it is missing from a frame and what it requires; none if it is present.
    pub fn missing(self, frame: &Frame) -> Option<(String, &'static str)> {
        (!self.is_present(frame)).then(|| self.unreadable())
    }

    fn is_present(self, frame: &Frame) -> bool {
        let sections = &frame.sections;
        match self {
            Self::CpuTimes => sections.cpu_times.is_read(),
            Self::Nodes => sections.node_topology.is_read(),
            Self::NodeMemory => sections.node_memory.is_read(),
            Self::Memory => sections.memory.is_read(),
            Self::Irqs => sections.irqs.is_read(),
            Self::Softnet => sections.softnet.is_read(),
            Self::Nics => sections.nics.is_read(),
            Self::Queues => sections.nic_queues.is_read(),
            Self::Cgroups => sections.cgroups.is_read(),
            Self::Disks => sections.disks.is_read(),
            Self::Processes => sections.processes.is_read(),
            Self::Threads => sections.threads.is_read(),
            Self::Peers => sections.peers.is_read(),
            Self::NetStats => sections.net_stats.is_read(),
        }
    }

    fn unreadable(self) -> (String, &'static str) {
        let file = |file: &str| (text::Unreadable { file: &file }.to_string(), text::READABLE_PROC.as_str());
        let (nodes, nics) = ("/sys/devices/system/node", "/sys/class/net");
        match self {
            Self::CpuTimes => file("/proc/stat"),
            Self::Nodes => (text::NODES.to_string(), nodes),
            Self::NodeMemory => (text::NODE_MEMORY.to_string(), nodes),
            Self::Memory => file("/proc/vmstat"),
            Self::Irqs => file("/proc/interrupts"),
            Self::Softnet => file("/proc/net/softnet_stat"),
            Self::Nics => (text::NICS.to_string(), nics),
            Self::Queues => (text::QUEUES.to_string(), nics),
            Self::Cgroups => (text::CGROUPS.to_string(), text::CGROUPS_REQUIRE.as_str()),
            Self::Disks => file("/proc/diskstats"),
            Self::Processes => (text::PROCESSES.to_string(), text::VISIBLE_PROCESSES.as_str()),
            Self::Threads => (text::THREADS.to_string(), text::VISIBLE_PROCESSES.as_str()),
            Self::NetStats => file("/proc/net/snmp"),
            Self::Peers => (text::PEERS.to_string(), text::PEERS_REQUIRE.as_str()),
        }
    }
}
