//! What rules cannot do without.

use crate::frame::Frame;
use crate::{Section, Table};

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
}

impl Input {
    /// Why it is missing from a frame; none where it is there.
    pub fn missing(self, frame: &Frame) -> Option<(&'static str, &'static str)> {
        fn read<T: Table>(section: &Section<T>) -> bool {
            section.value().is_some()
        }
        let raw = &frame.raw;
        let (there, file, needs) = match self {
            Self::CpuTimes => (read(&raw.cpu_times), "/proc/stat could not be read", "a readable /proc"),
            Self::Nodes => (read(&raw.node_topology), "the nodes could not be read", "/sys/devices/system/node"),
            Self::NodeMemory => {
                (read(&raw.node_memory), "memory by node could not be read", "/sys/devices/system/node")
            }
            Self::Memory => (read(&raw.memory), "/proc/vmstat could not be read", "a readable /proc"),
            Self::Irqs => (read(&raw.irqs), "/proc/interrupts could not be read", "a readable /proc"),
            Self::Softnet => (read(&raw.softnet), "/proc/net/softnet_stat could not be read", "a readable /proc"),
            Self::Nics => (read(&raw.nics), "the interfaces could not be read", "/sys/class/net"),
            Self::Queues => (read(&raw.nic_queues), "the queues could not be read", "/sys/class/net"),
            Self::Cgroups => (read(&raw.cgroups), "no control group could be read", "a mounted cgroup hierarchy"),
            Self::Disks => (read(&raw.disks), "/proc/diskstats could not be read", "a readable /proc"),
            Self::Processes => (read(&raw.processes), "no process could be read", "a /proc that shows processes"),
            Self::Peers => (
                read(&raw.peers),
                "no connection could be looked at",
                "INET_DIAG (CONFIG_INET_DIAG) and the right to see sockets",
            ),
            Self::Threads => (read(&raw.threads), "no thread could be read", "a /proc that shows processes"),
        };
        (!there).then_some((file, needs))
    }
}
