//! Block devices and who writes to them.

use crate::Known;
use std::sync::Arc;

/// A block device that is no partition.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    /// Its slot in the raw section.
    pub slot: usize,
    /// Device number: major << 20 | minor.
    pub dev: u64,
    /// Name.
    pub name: Arc<str>,
    /// `disk`, `dm`, `md`, `loop`, `zram`, …
    pub kind: Arc<str>,
    /// What it stands on.
    pub lower: Vec<Arc<str>>,
    /// Model.
    pub model: Arc<str>,
    /// Scheduler in use.
    pub scheduler: Arc<str>,
    /// True when it spins.
    pub rotational: Known<bool>,
    /// Node of its controller.
    pub node: Known<u32>,
    /// Size.
    pub size_bytes: Known<u64>,
    /// Share of the interval with a request on its way.
    pub utilisation: Option<f64>,
    /// Mean time of a request; none without requests.
    pub await_ms: Known<f64>,
    /// Mean time of a read.
    pub read_await_ms: Known<f64>,
    /// Mean time of a write.
    pub write_await_ms: Known<f64>,
    /// Mean number of requests on their way.
    pub queue_depth: Option<f64>,
    /// On their way now.
    pub in_flight: Known<u64>,
    /// Bytes.
    pub read_bytes_per_second: Option<f64>,
    /// Bytes.
    pub write_bytes_per_second: Option<f64>,
    /// Requests.
    pub reads_per_second: Option<f64>,
    /// Requests.
    pub writes_per_second: Option<f64>,
    /// Flushes.
    pub flushes_per_second: Option<f64>,
    /// Mounted from it, its partitions or what stands on it.
    pub mounts: Vec<Mount>,
    /// Who writes, most first.
    pub writers: Vec<Writer>,
}

/// A mount point.
#[derive(Clone, Debug, Default)]
pub struct Mount {
    /// Where.
    pub path: Arc<str>,
    /// File system.
    pub fs: Arc<str>,
    /// Its size.
    pub total_bytes: Known<u64>,
    /// Free for ordinary users.
    pub free_bytes: Known<u64>,
    /// In use: with what is free less than the size where some is kept back.
    pub used_bytes: Known<u64>,
    /// Its inodes; zero where it makes them as it needs them.
    pub inodes_total: Known<u64>,
    /// Free inodes.
    pub inodes_free: Known<u64>,
}

/// Somebody who writes to a disk.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    /// Who.
    pub who: WriterId,
    /// Share of the bytes written in the interval.
    pub bytes_share: Option<f64>,
    /// Share of the writes in the interval.
    pub ops_share: Option<f64>,
    /// Bytes written per second.
    pub bytes_per_second: f64,
}

/// A writer's identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriterId {
    /// A control group by path: known per device.
    Cgroup(Arc<str>),
    /// A process: its writes to any disk, named where the machine has one busy disk only.
    Process(u32),
}

impl Default for WriterId {
    fn default() -> Self {
        Self::Process(0)
    }
}
