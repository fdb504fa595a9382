//! What a step writes: a place that has a value before and after.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A place that is read and written. Values are texts; a place may have several items, each with a value of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "in", rename_all = "snake_case")]
pub enum Target {
    /// A file that holds one value: `/proc/irq/141/smp_affinity_list`, a sysctl, `memory.high`.
    File {
        /// Where.
        path: String,
    },
    /// A line of a file that holds several, by its first word: `8:16` of `io.max`. Unset lines read as an empty value.
    Line {
        /// Where.
        path: String,
        /// The first word.
        key: String,
    },
    /// How many channels an interface has: `combined 4`, `rx 2 tx 2`.
    Channels {
        /// The interface.
        nic: String,
    },
    /// Entries of an interface's rings: `rx 1024 tx 1024`.
    Rings {
        /// The interface.
        nic: String,
    },
    /// The receive queues that an interface's RSS table spreads over: `equal 4`, `default`, or the table itself as
    /// `queue*entries` in order: `0*32 1*32`.
    RssTable {
        /// The interface.
        nic: String,
    },
    /// CPUs that each thread of a process may run on, as a list; an item is a thread, `tid@starttime`.
    Affinity {
        /// The process.
        pid: u32,
        /// Ticks since boot when it started.
        starttime: u64,
    },
    /// The I/O class and level of each thread of a process: `best-effort 7`, `none 0`; an item is a thread.
    IoPriority {
        /// The process.
        pid: u32,
        /// Ticks since boot when it started.
        starttime: u64,
    },
    /// Nodes that a process's pages are on. Written as the list of nodes to move them to; read as bytes by node:
    /// `0:1048576 3:4096`.
    Pages {
        /// The process.
        pid: u32,
        /// Ticks since boot when it started.
        starttime: u64,
    },
    /// A property of a systemd unit until the next boot, as `systemctl set-property --runtime` takes it.
    UnitProperty {
        /// `rabbitmq.service`.
        unit: String,
        /// `MemoryHigh`.
        property: String,
    },
    /// Whether a daemon runs: `running` or `stopped`; known by its process, not by an exit status.
    Service {
        /// `irqbalance`.
        name: String,
    },
    /// Memory to be given back by a control group: bytes, asked for in steps.
    Reclaim {
        /// `memory.reclaim` of the group.
        path: String,
    },
    /// Empties a control group of version 1 of its page cache.
    ForceEmpty {
        /// `memory.force_empty` of the group.
        path: String,
    },
}

impl Target {
    /// A file.
    pub fn file(path: impl Into<String>) -> Self {
        Self::File { path: path.into() }
    }

    /// False where writing does something once and there is no value to put back.
    pub fn holds_a_value(&self) -> bool {
        !matches!(self, Self::Reclaim { .. } | Self::ForceEmpty { .. })
    }
}

/// As it is called in journals, dialogs and findings; paths in it are as hostile as they were read.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path } | Self::Reclaim { path } | Self::ForceEmpty { path } => f.write_str(path),
            Self::Line { path, key } => write!(f, "{key} in {path}"),
            Self::Channels { nic } => write!(f, "channels of {nic}"),
            Self::Rings { nic } => write!(f, "rings of {nic}"),
            Self::RssTable { nic } => write!(f, "RSS table of {nic}"),
            Self::Affinity { pid, .. } => write!(f, "affinity of {pid}"),
            Self::IoPriority { pid, .. } => write!(f, "I/O priority of {pid}"),
            Self::Pages { pid, .. } => write!(f, "pages of {pid}"),
            Self::UnitProperty { unit, property } => write!(f, "{property} of {unit}"),
            Self::Service { name } => f.write_str(name),
        }
    }
}
