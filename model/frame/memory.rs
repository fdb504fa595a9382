//! Memory of the machine and of each node.

use crate::Known;
use crate::document::absent;
use serde::Serialize;
use serde_with::apply;
use std::sync::Arc;

/// Memory bandwidth of an L3.
#[apply(_ => #[serde(skip_serializing_if = "absent")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MemoryBandwidth {
    /// The L3.
    pub l3: u32,
    /// Bytes read from and written to memory through this L3, per second.
    pub bytes_per_second: Option<f64>,
    /// Bytes read from and written to memory of its own node through this L3, per second.
    pub local_bytes_per_second: Option<f64>,
}

/// A process that the OOM killer killed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OomKill {
    /// What was out of memory: `NONE` (the machine), `CPUSET`, `MEMORY_POLICY`, `MEMCG`.
    pub constraint: Arc<str>,
    /// The control group that was; empty for the machine.
    pub memcg: Arc<str>,
    /// The control group that lost the process; empty where it is not known. Hostile.
    pub task_memcg: Arc<str>,
}

/// Memory of the machine.
#[apply(_ => #[serde(skip_serializing_if = "absent")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Memory {
    /// All memory.
    pub total_bytes: Known<u64>,
    /// Memory available to new workloads (MemAvailable).
    pub available_bytes: Known<u64>,
    /// Unused.
    pub free_bytes: Known<u64>,
    /// Page cache, shmem included.
    pub cached_bytes: Known<u64>,
    /// Anonymous.
    pub anon_bytes: Known<u64>,
    /// tmpfs and shared memory.
    pub shmem_bytes: Known<u64>,
    /// Waiting to be written.
    pub dirty_bytes: Known<u64>,
    /// Being written.
    pub writeback_bytes: Known<u64>,
    /// The kernel throttles writers above this.
    pub dirty_threshold_bytes: Known<u64>,
    /// Swap space.
    pub swap_total_bytes: Known<u64>,
    /// Unused swap space.
    pub swap_free_bytes: Known<u64>,
    /// Allocations that entered direct reclaim.
    pub allocstall_per_second: Option<f64>,
    /// Reclaims on a full node before another one was tried (`vm.zone_reclaim_mode`), per second.
    pub zone_reclaims_per_second: Option<f64>,
    /// Pages scanned by direct reclaim.
    pub pgscan_direct_per_second: Option<f64>,
    /// Pages reclaimed by kswapd and allocating tasks, per second; excludes what groups reclaim at their own limits.
    pub pgsteal_per_second: Option<f64>,
    /// Faults that read from a disk, per second.
    pub pgmajfault_per_second: Option<f64>,
    /// Refaults of file pages, per second.
    pub refault_file_per_second: Option<f64>,
    /// Inactive file pages, which are reclaimed first.
    pub inactive_file_bytes: Known<u64>,
    /// Huge pages, used or not: unavailable for anything else.
    pub huge_pages_bytes: Known<u64>,
    /// Page size.
    pub page_bytes: Known<u64>,
    /// Pages swapped in.
    pub pswpin_per_second: Option<f64>,
    /// Pages swapped out.
    pub pswpout_per_second: Option<f64>,
    /// Memory that zswap uses for compressed pages.
    pub zswap_bytes: Known<u64>,
    /// Uncompressed size of what zswap holds.
    pub zswapped_bytes: Known<u64>,
    /// Pages read back from zswap: costs CPU time but no disk I/O; not included in pages swapped in.
    pub zswpin_per_second: Option<f64>,
    /// Pages moved to zswap.
    pub zswpout_per_second: Option<f64>,
    /// Pages that zswap wrote to the swap device, because it was full or they had not been used for a long time.
    pub zswpwb_per_second: Option<f64>,
    /// Page cache growth, file pages of all nodes.
    pub cached_growth_bytes_per_second: Option<f64>,
    /// OOM kills since boot.
    pub oom_kills: Known<u64>,
    /// OOM kills in the interval.
    pub oom_kills_gained: Option<u64>,
    /// Share of NUMA hinting faults that were local in the interval.
    pub numa_hint_local_ratio: Option<f64>,
    /// NUMA hinting faults.
    pub numa_hint_faults_per_second: Option<f64>,
}

/// A node's CPUs and memory in this interval.
#[apply(_ => #[serde(skip_serializing_if = "absent")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Node {
    /// Its number.
    pub id: u32,
    /// Mean over its online CPUs; absent without CPUs or rates.
    pub busy: Option<f64>,
    /// Mean softirq share over its online CPUs.
    pub softirq: Option<f64>,
    /// Mean iowait share over its online CPUs.
    pub iowait: Option<f64>,
    /// How many of its CPUs are online.
    pub cpus_online: u32,
    /// Its memory.
    pub memory_total_bytes: Known<u64>,
    /// Unused.
    pub memory_free_bytes: Known<u64>,
    /// Page cache, shmem included.
    pub file_bytes: Known<u64>,
    /// Growth of its page cache in the interval.
    pub file_growth_bytes_per_second: Option<f64>,
    /// Anonymous.
    pub anon_bytes: Known<u64>,
    /// Pages allocated on this node as intended.
    pub numa_hit: Known<u64>,
    /// Pages allocated here although intended for a node that lacked memory.
    pub numa_miss: Known<u64>,
    /// Pages intended for this node but allocated elsewhere because it lacked memory.
    pub numa_foreign: Known<u64>,
    /// Per second.
    pub numa_hit_per_second: Option<f64>,
    /// Per second.
    pub numa_miss_per_second: Option<f64>,
    /// Per second.
    pub numa_foreign_per_second: Option<f64>,
    /// Pages allocated here for tasks that ran on another node, per second.
    pub other_node_per_second: Option<f64>,
    /// Pages scanned on this node by direct reclaim, per second.
    pub pgscan_direct_per_second: Option<f64>,
    /// Sum of the zones' low watermarks.
    pub low_watermark_bytes: Known<u64>,
}
