//! The tables of a snapshot, one file per subject. Ids of tables and columns are those of recordings: never reuse one.

pub mod accelerators;
pub mod applied;
pub mod cgroups;
pub mod cooling;
pub mod cost;
pub mod cpu;
pub mod disks;
pub mod host;
pub mod irqs;
pub mod jvm;
pub mod memory;
pub mod metrics;
pub mod network;
pub mod nics;
pub mod off_cpu;
pub mod pressure;
pub mod processes;
pub mod sockets;
pub mod topology;
