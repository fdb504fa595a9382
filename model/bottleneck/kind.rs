//! The kinds of resources.

use crate::locale::{Text, resource as text};
use serde::Serialize;

/// What may be the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ResourceKind {
    /// The machine's CPUs as a whole, without isolated ones.
    Cpus,
    /// The busiest set of CPUs that a cgroup or process is confined to.
    Cpuset,
    /// The busiest core.
    Core,
    /// The busiest thread: a thread cannot use more than one core.
    Thread,
    /// The core with the largest share of soft and hard interrupts.
    Softirq,
    /// CPU time that the hypervisor takes.
    Steal,
    /// The control group nearest to its CPU quota.
    #[serde(rename = "cpu_quota")]
    Quota,
    /// The control group nearest to its memory limit, or the machine.
    Memory,
    /// Swap space and the pages that come back from it.
    Swap,
    /// The large process with the largest share of remote memory.
    #[serde(rename = "remote_memory")]
    Remote,
    /// The L3 with the most memory traffic.
    #[serde(rename = "memory_bandwidth")]
    Bandwidth,
    /// The busiest disk.
    Disk,
    /// The control group nearest to its I/O limit.
    IoThrottle,
    /// The fullest file system, by space or inodes.
    FileSystem,
    /// The link with the highest receive utilisation.
    NicIn,
    /// The link with the highest transmit utilisation.
    NicOut,
    /// The accept queues of listening sockets.
    Tcp,
    /// The table of tracked connections.
    Conntrack,
    /// The local ports of connections to one destination.
    Ports,
    /// The table of open files.
    Files,
    /// The control group nearest to its task limit, or the machine.
    Pids,
}

impl ResourceKind {
    /// All of them, in display order.
    pub const ALL: [Self; 21] = [
        Self::Cpus,
        Self::Cpuset,
        Self::Core,
        Self::Thread,
        Self::Softirq,
        Self::Steal,
        Self::Quota,
        Self::Memory,
        Self::Swap,
        Self::Remote,
        Self::Bandwidth,
        Self::Disk,
        Self::IoThrottle,
        Self::FileSystem,
        Self::NicIn,
        Self::NicOut,
        Self::Tcp,
        Self::Conntrack,
        Self::Ports,
        Self::Files,
        Self::Pids,
    ];

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpus => "cpus",
            Self::Cpuset => "cpuset",
            Self::Core => "core",
            Self::Thread => "thread",
            Self::Softirq => "softirq",
            Self::Steal => "steal",
            Self::Quota => "cpu_quota",
            Self::Memory => "memory",
            Self::Swap => "swap",
            Self::Remote => "remote_memory",
            Self::Bandwidth => "memory_bandwidth",
            Self::Disk => "disk",
            Self::IoThrottle => "io_throttle",
            Self::FileSystem => "file_system",
            Self::NicIn => "nic_in",
            Self::NicOut => "nic_out",
            Self::Tcp => "tcp",
            Self::Conntrack => "conntrack",
            Self::Ports => "ports",
            Self::Files => "files",
            Self::Pids => "pids",
        }
    }

    /// The kind of a name in JSON.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Its label.
    pub fn label(self) -> Text {
        match self {
            Self::Cpus => text::CPUS,
            Self::Cpuset => text::CPUSET,
            Self::Core => text::CORE,
            Self::Thread => text::THREAD,
            Self::Softirq => text::SOFTIRQ,
            Self::Steal => text::STEAL,
            Self::Quota => text::CPU_QUOTA,
            Self::Memory => text::MEMORY,
            Self::Swap => text::SWAP,
            Self::Remote => text::REMOTE_MEMORY,
            Self::Bandwidth => text::MEMORY_BANDWIDTH,
            Self::Disk => text::DISK,
            Self::IoThrottle => text::IO_THROTTLE,
            Self::FileSystem => text::FILE_SYSTEM,
            Self::NicIn => text::NIC_IN,
            Self::NicOut => text::NIC_OUT,
            Self::Tcp => text::TCP,
            Self::Conntrack => text::CONNTRACK,
            Self::Ports => text::PORTS,
            Self::Files => text::FILES,
            Self::Pids => text::PIDS,
        }
    }
}
