//! Who is changed: checked when a plan is made, and again after the yes.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Something by what tells it from another one that bears its name later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Identity {
    /// The machine as it is booted.
    Host,
    /// A process.
    Process {
        /// Its number.
        pid: u32,
        /// Ticks since boot when it started.
        starttime: u64,
        /// Its name, to be read; hostile.
        comm: String,
    },
    /// An interface.
    Nic {
        /// Its name.
        name: String,
        /// Its index; zero where it may be any.
        ifindex: u32,
        /// Its hardware address; empty where it has none.
        address: String,
    },
    /// An interrupt.
    Irq {
        /// Its number.
        irq: u32,
        /// Its actions, to be compared; hostile.
        actions: String,
    },
    /// A control group.
    Cgroup {
        /// Its directory as the kernel shows it.
        directory: String,
        /// Its inode; zero where it is unread.
        inode: u64,
    },
    /// A block device.
    Disk {
        /// Its name.
        name: String,
        /// `8:16`.
        number: String,
    },
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => f.write_str("this machine"),
            Self::Process { pid, starttime, comm } => write!(f, "{comm}, pid {pid}, started at tick {starttime}"),
            Self::Nic { name, ifindex, address } if address.is_empty() => write!(f, "{name}, index {ifindex}"),
            Self::Nic { name, ifindex, address } => write!(f, "{name}, index {ifindex}, {address}"),
            Self::Irq { irq, actions } => write!(f, "interrupt {irq}, {actions}"),
            Self::Cgroup { directory, inode } => write!(f, "{directory}, inode {inode}"),
            Self::Disk { name, number } => write!(f, "{name}, {number}"),
        }
    }
}
