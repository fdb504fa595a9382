//! What a plan changes: checked when the plan is made, and again after the user confirms it.

use crate::locale::fix as shared;
use serde::{Deserialize, Serialize};
use std::fmt;

/// An object with the attributes that distinguish it from a later object of the same name.
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
            Self::Host => f.write_str(shared::IDENTITY_HOST.as_str()),
            Self::Process { pid, starttime, comm } => write!(f, "{comm}, PID {pid}, starttime {starttime}"),
            Self::Nic { name, ifindex, address } if address.is_empty() => write!(f, "{name}, ifindex {ifindex}"),
            Self::Nic { name, ifindex, address } => write!(f, "{name}, ifindex {ifindex}, {address}"),
            Self::Irq { irq, actions } => write!(f, "IRQ {irq}, {actions}"),
            Self::Cgroup { directory, inode } => write!(f, "{directory}, inode {inode}"),
            Self::Disk { name, number } => write!(f, "{name}, {number}"),
        }
    }
}
