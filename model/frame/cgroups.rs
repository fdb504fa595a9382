//! Control groups: memory against its effective limit, CPU against its quota, pressure.

use super::PressureStall;
#[cfg(test)]
use crate::document::ById;
use crate::document::{Absent, Text, absent};
use crate::{IdSet, Known};
use serde::{Serialize, Serializer};
use serde_with::apply;
use std::sync::Arc;

/// A control group.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Cgroup {
    /// Its slot in the raw section.
    #[serde(skip)]
    pub slot: usize,
    /// Path below the mount; hostile.
    #[serde_with(skip_apply)]
    #[serde(serialize_with = "Text::serialize")]
    pub path: Arc<str>,
    /// 1 or 2.
    pub version: u32,
    /// Inode of its directory.
    pub inode: Known<u64>,
    /// The container that its path identifies.
    pub container: Option<Container>,
    /// Its memory; absent if its memory controller is not enabled.
    pub memory: Option<CgroupMemory>,
    /// Its CPU time.
    pub cpu: CgroupCpu,
    /// How long its tasks wait for resources.
    #[cfg_attr(test, schemars(with = "Option<CgroupPressure>"))]
    pub pressure: CgroupPressure,
    /// I/O rates by device.
    #[serde_with(skip_apply)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(with = "Option<Vec<CgroupIoRate>>"))]
    pub io: Vec<CgroupIoRate>,
    /// Processes in it, not below it.
    pub processes: Known<u64>,
    /// Time that tasks in it and below it waited for a CPU, in cores, summed over processes whose wait is known; absent if
    /// none is.
    pub run_wait_cores: Option<f64>,
    /// Tasks in it and below it (`pids.current`).
    pub pids: Known<u64>,
    /// Maximum number of tasks; null if unlimited.
    pub pids_limit: Known<u64>,
    /// Forks that failed at its limit, per second.
    pub pids_refused_per_second: Option<f64>,
    /// Sampled threads in it and below it in uninterruptible sleep (D).
    pub blocked_threads: u32,
    /// CPUs it may use.
    pub cpuset_cpus: Option<Arc<IdSet>>,
    /// Mean share of busy and steal time of the CPUs in `cpuset_cpus` that are online; absent if it may use all, or if unknown.
    pub cpuset_busy: Option<f64>,
    /// `member`, `root` or `isolated`: whether its CPUs are its own; empty when unread.
    pub cpuset_partition: Arc<str>,
    /// Nodes it may allocate memory from.
    pub cpuset_mems: Option<Arc<IdSet>>,
}

impl Cgroup {
    /// The I/O limit that it is nearest to, and the device that has it; none without a limit.
    pub fn io_throttle(&self) -> Option<(&CgroupIoRate, IoThrottle)> {
        let all = self.io.iter().filter_map(|io| Some((io, io.throttle()?)));
        all.max_by(|a, b| a.1.share().total_cmp(&b.1.share()))
    }
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
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CgroupIoRate {
    /// Device number: major << 20 | minor.
    #[serde(rename = "device", serialize_with = "device")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub dev: u64,
    /// Read.
    pub read_bytes_per_second: f64,
    /// Written.
    pub write_bytes_per_second: f64,
    /// Reads.
    pub reads_per_second: f64,
    /// Writes.
    pub writes_per_second: f64,
    /// I/O limits per second (v2 `io.max`, v1 `blkio.throttle.*_device`).
    #[cfg_attr(test, schemars(with = "Option<IoLimits>"))]
    pub limits: IoLimits,
    /// What the rates are of; 0 where that is unknown.
    #[serde(skip)]
    pub seconds: f64,
}

/// I/O limits of a group on one device, per second; null if unlimited.
#[apply(_ => #[serde(skip_serializing_if = "absent")])]
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct IoLimits {
    /// Bytes read.
    #[serde(rename = "read_bytes_per_second")]
    pub read_bytes: Known<u64>,
    /// Bytes written.
    #[serde(rename = "write_bytes_per_second")]
    pub write_bytes: Known<u64>,
    /// Reads.
    #[serde(rename = "reads_per_second")]
    pub reads: Known<u64>,
    /// Writes.
    #[serde(rename = "writes_per_second")]
    pub writes: Known<u64>,
}

impl Absent for IoLimits {
    fn is_absent(&self) -> bool {
        [self.read_bytes, self.write_bytes, self.reads, self.writes].iter().all(|limit| limit.value().is_none())
    }
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
    /// What one request more would add to the rate; none where there were too few for a rate.
    request: Option<f64>,
}

/// Requests from which on an interval has a rate: the kernel lets whole requests through.
const FEW: f64 = 3.0;
/// Times a limit from which on a rate is not under it: the limit was read before it was raised, or set after the interval.
const BEYOND: f64 = 2.0;

impl IoThrottle {
    /// The rate of the limit; 1 where the limit has no room for one request more.
    pub fn share(&self) -> f64 {
        let next = self.rate + self.request.unwrap_or(0.0);
        if self.rate < self.limit && next >= self.limit { 1.0 } else { self.rate / self.limit }
    }

    /// True unless its limit is not the one that held during the interval.
    fn holds(&self) -> bool {
        self.request.is_none() || self.rate < BEYOND * self.limit
    }
}

impl CgroupIoRate {
    /// The limit that it is nearest to; none without a limit that holds.
    pub fn throttle(&self) -> Option<IoThrottle> {
        let limits = &self.limits;
        let (reads, writes) = (self.reads_per_second, self.writes_per_second);
        let all = [
            ("read_bytes", self.read_bytes_per_second, reads, limits.read_bytes),
            ("write_bytes", self.write_bytes_per_second, writes, limits.write_bytes),
            ("reads", reads, reads, limits.reads),
            ("writes", writes, writes, limits.writes),
        ];
        let limited = all.into_iter().filter_map(|(what, rate, requests, limit)| {
            let limit = limit.value().filter(|&limit| limit > 0)? as f64;
            let count = requests * self.seconds;
            let request = (count >= FEW).then(|| rate / count);
            Some(IoThrottle { what, rate, limit, request })
        });
        limited.filter(IoThrottle::holds).max_by(|a, b| a.share().total_cmp(&b.share()))
    }
}

/// Container details from its path or the machine; empty strings are unknown.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// Source of the names.
    pub name_source: Arc<str>,
    /// CPUs that it requests, as allocated by the kubelet.
    pub cpu_request_cores: Option<f64>,
    /// Memory that it requests.
    pub memory_request_bytes: Option<u64>,
}

/// Memory of a control group.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CgroupMemory {
    /// In use, page cache included.
    pub current_bytes: Known<u64>,
    /// `current` without inactive file pages: the working set, as the kubelet computes it.
    pub working_set_bytes: Known<u64>,
    /// Its own limit.
    pub limit_bytes: Known<u64>,
    /// Throttled above this.
    pub high_bytes: Known<u64>,
    /// The lowest limit of it and its ancestors, and the machine's memory where none has one.
    pub effective_limit_bytes: Known<u64>,
    /// Path of the cgroup that sets the effective limit; `/` also for a hidden ancestor; empty when it is the machine's
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
    /// Time until `current` reaches the effective limit at this growth; null if it does not grow. Documents use the
    /// growth of the last half minute, as screens do.
    pub time_to_limit_seconds: Known<f64>,
    /// Lower bound of its 95 % range.
    pub time_to_limit_low_seconds: Option<f64>,
    /// Upper bound of its 95 % range; null if there may be no growth.
    pub time_to_limit_high_seconds: Known<f64>,
    /// Events since the group was created.
    #[cfg_attr(test, schemars(with = "Option<CgroupEvents>"))]
    pub events: CgroupEvents,
    /// Kills in the interval.
    pub oom_kills_gained: Option<u64>,
    /// Times out of memory in the interval.
    #[serde(skip)]
    pub ooms_gained: Option<u64>,
    /// Times at its limit, per second.
    pub events_max_per_second: Option<f64>,
    /// Times that its tasks were throttled at `memory.high`, per second.
    pub events_high_per_second: Option<f64>,
    /// Pages scanned by direct reclaim of its tasks, per second.
    pub pgscan_direct_per_second: Option<f64>,
    /// Pages reclaimed by direct reclaim of its tasks, per second.
    pub pgsteal_direct_per_second: Option<f64>,
    /// Refaults of file pages, per second.
    pub refault_file_per_second: Option<f64>,
    /// True if that and the pages reclaimed are of the machine's counters, because version 1 has none of groups: this
    /// group alone is at its limit.
    #[serde(skip)]
    pub is_estimated: bool,
    /// Version 1: pages uncharged, reclaimed or freed, per second.
    #[serde(skip)]
    pub uncharged_per_second: Option<f64>,
    /// Faults that read from a disk, per second.
    pub pgmajfault_per_second: Option<f64>,
    /// Pages reclaimed by any task, per second.
    pub pgsteal_per_second: Option<f64>,
    /// Mapped file pages.
    pub file_mapped_bytes: Known<u64>,
    /// Swap in use.
    pub swap_bytes: Known<u64>,
    /// Swap limit; null if unlimited.
    pub swap_limit_bytes: Known<u64>,
    /// Growth of swap in use in the interval.
    pub swap_growth_bytes_per_second: Option<f64>,
    /// A limit on page cache alone, where the kernel has one; null while it is off.
    pub pagecache_limit_bytes: Known<u64>,
    /// By node; empty when unread.
    #[serde_with(skip_apply)]
    #[serde(serialize_with = "by_node", skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(with = "ById<NodeBytes>"))]
    pub by_node: Vec<NodeBytes>,
}

/// Memory on one node.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NodeBytes {
    /// The node.
    #[serde(skip)]
    pub node: u32,
    /// Page cache; absent when unread.
    pub file_bytes: Option<u64>,
    /// Anonymous; absent when unread.
    pub anon_bytes: Option<u64>,
}

/// CPU time of a control group.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CgroupCpu {
    /// Cores used.
    pub usage_cores: Option<f64>,
    /// Quota; null if unlimited.
    pub quota_cores: Known<f64>,
    /// Length of a period.
    pub period_us: Known<u64>,
    /// Throttled share of the periods in the interval.
    pub throttled_ratio: Option<f64>,
    /// Periods in the interval.
    pub periods: Option<u64>,
    /// Length of a period; none in a sample without one.
    #[serde(skip)]
    pub period_seconds: Option<f64>,
}

/// How long the tasks of a cgroup wait; absent where the kernel has no cgroup pressure.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CgroupPressure {
    /// Waiting for a CPU.
    pub cpu: Option<PressureStall>,
    /// Waiting for memory.
    pub memory: Option<PressureStall>,
    /// Waiting for a disk.
    pub io: Option<PressureStall>,
}

impl Absent for CgroupPressure {
    fn is_absent(&self) -> bool {
        [self.cpu, self.memory, self.io].iter().all(Option::is_none)
    }
}

/// Memory events of a group, counted since it was created.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CgroupEvents {
    /// Times throttled at `memory.high`.
    pub high: Known<u64>,
    /// Times at its limit.
    pub max: Known<u64>,
    /// Times an allocation failed although the group reclaimed (oom).
    pub oom: Known<u64>,
    /// Processes killed.
    pub oom_kill: Known<u64>,
}

impl Absent for CgroupEvents {
    fn is_absent(&self) -> bool {
        [self.high, self.max, self.oom, self.oom_kill].iter().all(Known::is_missing)
    }
}

impl Absent for CgroupCpu {}

/// Major and minor number: `8:0`.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn device<S: Serializer>(dev: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{}:{}", dev >> 20, dev & 0xf_ffff))
}

fn by_node<S: Serializer>(rows: &[NodeBytes], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(rows.iter().map(|row| (row.node, row)))
}

#[cfg(test)]
mod tests {
    use super::{CgroupIoRate, IoLimits};
    use crate::Known;

    /// The share of a limit of 2 MB/s that so many requests of so many bytes in a second have.
    fn share(requests: f64, bytes: f64) -> Option<f64> {
        let limits = IoLimits { write_bytes: Known::Value(2_000_000), ..IoLimits::default() };
        let io = CgroupIoRate { writes_per_second: requests, limits, seconds: 1.0, ..CgroupIoRate::default() };
        CgroupIoRate { write_bytes_per_second: requests * bytes, ..io }.throttle().map(|throttle| throttle.share())
    }

    #[test]
    fn a_limit_without_room_for_a_request_is_reached() {
        // Seven or eight requests of 256 KiB fit into a second.
        assert_eq!(share(7.0, 262_144.0), Some(1.0));
        assert!(share(8.0, 262_144.0).is_some_and(|share| share > 1.0));
        assert!(share(6.0, 262_144.0).is_some_and(|share| share < 0.8));
        assert!(share(400.0, 4096.0).is_some_and(|share| share < 0.85));
        // Of one or two large ones a second there is no rate.
        assert!(share(1.0, 1_048_576.0).is_some_and(|share| share < 0.6));
        assert!(share(1.0, 8_388_608.0).is_some_and(|share| share > 4.0));
    }

    #[test]
    fn a_limit_that_was_raised_a_moment_ago_does_not_hold() {
        assert_eq!(share(2000.0, 4096.0), None);
    }
}
