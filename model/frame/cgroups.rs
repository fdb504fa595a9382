//! Control groups: memory against its effective limit, CPU against its quota, pressure.

use super::PressureStall;
use crate::{IdSet, Known};
use std::sync::Arc;

/// A control group.
#[derive(Clone, Debug, Default)]
pub struct Cgroup {
    /// Its slot in the raw section.
    pub slot: usize,
    /// Path below the mount; hostile.
    pub path: Arc<str>,
    /// 1 or 2.
    pub version: u32,
    /// Inode of its directory.
    pub inode: Known<u64>,
    /// The container that its path tells of.
    pub container: Option<Container>,
    /// Its memory; none where no memory controller is on it.
    pub memory: Option<CgroupMemory>,
    /// Its CPU time.
    pub cpu: CgroupCpu,
    /// Waiting for a CPU; none where the kernel has no pressure for groups.
    pub cpu_pressure: Option<PressureStall>,
    /// Waiting for memory.
    pub memory_pressure: Option<PressureStall>,
    /// Waiting for a disk.
    pub io_pressure: Option<PressureStall>,
    /// Bytes read by device number per second.
    pub io: Vec<CgroupIoRate>,
    /// Processes in it, not below it.
    pub processes: Known<u64>,
    /// Time that tasks in it and below it waited for a CPU, in cores: of its processes whose wait is known; none where
    /// none is.
    pub run_wait_cores: Option<f64>,
    /// Tasks in it and below it (`pids.current`).
    pub pids: Known<u64>,
    /// How many there may be; none when unlimited.
    pub pids_limit: Known<u64>,
    /// Forks that failed at its limit, per second.
    pub pids_refused_per_second: Option<f64>,
    /// Threads in it and below it in uninterruptible sleep (D), of those that are looked at.
    pub blocked_threads: u32,
    /// CPUs it may use.
    pub cpuset_cpus: Option<Arc<IdSet>>,
    /// Mean busy and stolen share of these CPUs (of those that are online); none where it may use all or nothing is known.
    pub cpuset_busy: Option<f64>,
    /// `member`, `root` or `isolated`: whether its CPUs are its own; empty when unread.
    pub cpuset_partition: Arc<str>,
    /// Nodes it may have memory from.
    pub cpuset_mems: Option<Arc<IdSet>>,
}

impl CgroupMemory {
    /// True where it or a group above it has a limit; else only the machine's memory limits it.
    pub fn is_limited(&self) -> bool {
        !self.limited_by.is_empty() || self.limit_bytes.value().is_some()
    }
}

/// A mounted hierarchy of control groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CgroupMount {
    /// Its directory.
    pub dir: Arc<str>,
    /// 1 or 2.
    pub version: u32,
    /// Version 1: its controllers, with commas between.
    pub controllers: Arc<str>,
}

/// I/O of a group on one device.
#[derive(Clone, Copy, Debug, Default)]
pub struct CgroupIoRate {
    /// Device number: major << 20 | minor.
    pub dev: u64,
    /// Read.
    pub read_bytes_per_second: f64,
    /// Written.
    pub write_bytes_per_second: f64,
    /// Reads.
    pub reads_per_second: f64,
    /// Writes.
    pub writes_per_second: f64,
    /// What it may do a second (v2 `io.max`, v1 `blkio.throttle.*_device`).
    pub limits: IoLimits,
}

/// What a group may do on a device a second; none when unlimited.
#[derive(Clone, Copy, Debug, Default)]
pub struct IoLimits {
    /// Bytes read.
    pub read_bytes: Known<u64>,
    /// Bytes written.
    pub write_bytes: Known<u64>,
    /// Reads.
    pub reads: Known<u64>,
    /// Writes.
    pub writes: Known<u64>,
}

/// Which of the limits of a device a group is nearest to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IoThrottle {
    /// What it is: `read_bytes`, `write_bytes`, `reads` or `writes`.
    pub what: &'static str,
    /// What it does a second.
    pub rate: f64,
    /// What it may do a second.
    pub limit: f64,
}

impl IoThrottle {
    /// The rate of the limit.
    pub fn share(&self) -> f64 {
        self.rate / self.limit
    }
}

impl CgroupIoRate {
    /// The limit that it is nearest to; none without a limit.
    pub fn throttle(&self) -> Option<IoThrottle> {
        let limits = &self.limits;
        let all = [
            ("read_bytes", self.read_bytes_per_second, limits.read_bytes),
            ("write_bytes", self.write_bytes_per_second, limits.write_bytes),
            ("reads", self.reads_per_second, limits.reads),
            ("writes", self.writes_per_second, limits.writes),
        ];
        let limited = all.into_iter().filter_map(|(what, rate, limit)| {
            let limit = limit.value().filter(|&limit| limit > 0)? as f64;
            Some(IoThrottle { what, rate, limit })
        });
        limited.max_by(|a, b| a.share().total_cmp(&b.share()))
    }
}

/// What a path or the machine tells of a container; empty texts are unknown.
#[derive(Clone, Debug, Default)]
pub struct Container {
    /// Kubernetes namespace.
    pub namespace: Arc<str>,
    /// Pod name.
    pub pod_name: Arc<str>,
    /// Pod uid.
    pub pod_uid: Arc<str>,
    /// Container name.
    pub container_name: Arc<str>,
    /// Container id.
    pub id: Arc<str>,
    /// `docker`, `containerd`, `cri-o`, `podman`, `libvirt`, `lxc`, `systemd-nspawn`.
    pub runtime: Arc<str>,
    /// What told the names.
    pub name_source: Arc<str>,
}

/// Memory of a control group.
#[derive(Clone, Debug, Default)]
pub struct CgroupMemory {
    /// In use, page cache included.
    pub current_bytes: Known<u64>,
    /// `current` without inactive file pages: what kubelet compares with the limit.
    pub working_set_bytes: Known<u64>,
    /// Its own limit.
    pub limit_bytes: Known<u64>,
    /// Throttled above this.
    pub high_bytes: Known<u64>,
    /// The lowest limit of it and its ancestors, and the machine's memory where none has one.
    pub effective_limit_bytes: Known<u64>,
    /// Path of the group whose limit that is, `/` also for one that is hidden above it; empty when it is the machine's
    /// memory.
    pub limited_by: Arc<str>,
    /// Anonymous.
    pub anon_bytes: Known<u64>,
    /// Page cache, shmem included.
    pub file_bytes: Known<u64>,
    /// tmpfs and shared memory.
    pub shmem_bytes: Known<u64>,
    /// Waiting to be written.
    pub dirty_bytes: Known<u64>,
    /// Being written.
    pub writeback_bytes: Known<u64>,
    /// Inactive file pages.
    pub inactive_file_bytes: Known<u64>,
    /// Active file pages.
    pub active_file_bytes: Known<u64>,
    /// Locked.
    pub unevictable_bytes: Known<u64>,
    /// What reclaim could give back now: clean file pages and reclaimable slab.
    pub reclaimable_bytes: Known<u64>,
    /// The rest: `current` − `reclaimable`.
    pub unreclaimable_bytes: Known<u64>,
    /// Growth of `current` in the interval.
    pub growth_bytes_per_second: Option<f64>,
    /// When `current` would reach the effective limit at that growth; none when it does not grow.
    pub time_to_limit_seconds: Known<f64>,
    /// Times throttled at `memory.high`, since it was made.
    pub events_high: Known<u64>,
    /// Times at its limit.
    pub events_max: Known<u64>,
    /// Times reclaim could not help.
    pub events_oom: Known<u64>,
    /// Processes killed.
    pub events_oom_kill: Known<u64>,
    /// Kills in the interval.
    pub oom_kills_gained: Option<u64>,
    /// Times at its limit, per second.
    pub events_max_per_second: Option<f64>,
    /// Pages scanned by its own tasks, per second.
    pub pgscan_direct_per_second: Option<f64>,
    /// Pages reclaimed by its own tasks, per second.
    pub pgsteal_direct_per_second: Option<f64>,
    /// File pages read back, per second.
    pub refault_file_per_second: Option<f64>,
    /// Faults that read from a disk, per second.
    pub pgmajfault_per_second: Option<f64>,
    /// Pages reclaimed, by whomever, per second.
    pub pgsteal_per_second: Option<f64>,
    /// Mapped file pages.
    pub file_mapped_bytes: Known<u64>,
    /// Swap in use.
    pub swap_bytes: Known<u64>,
    /// Growth of that in the interval.
    pub swap_growth_bytes_per_second: Option<f64>,
    /// A limit on page cache alone where the kernel has one; none while it is off.
    pub pagecache_limit_bytes: Known<u64>,
    /// By node; empty when unread.
    pub by_node: Vec<NodeBytes>,
}

/// Memory on one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeBytes {
    /// The node.
    pub node: u32,
    /// Page cache; none when unread.
    pub file_bytes: Option<u64>,
    /// Anonymous; none when unread.
    pub anon_bytes: Option<u64>,
}

/// CPU time of a control group.
#[derive(Clone, Copy, Debug, Default)]
pub struct CgroupCpu {
    /// Cores used.
    pub usage_cores: Option<f64>,
    /// Quota; none when unlimited.
    pub quota_cores: Known<f64>,
    /// Throttled periods of all periods in the interval.
    pub throttled_ratio: Option<f64>,
    /// Periods in the interval.
    pub periods: Option<u64>,
    /// Length of a period.
    pub period_seconds: Option<f64>,
}
