//! Memory of the machine and of each node.

use crate::table::table;

table! {
    /// /proc/meminfo and /proc/vmstat: one row.
    Memory = 30 "memory" {
        /// All memory.
        total_bytes: Num = 1 (Fact, Bytes, "proc/meminfo"),
        /// Unused.
        free_bytes: Num = 2 (Gauge, Bytes, "proc/meminfo"),
        /// Estimate of what a new workload could have.
        available_bytes: Num = 3 (Gauge, Bytes, "proc/meminfo"),
        /// Block device buffers.
        buffers_bytes: Num = 4 (Gauge, Bytes, "proc/meminfo"),
        /// Page cache, shmem included.
        cached_bytes: Num = 5 (Gauge, Bytes, "proc/meminfo"),
        /// Anonymous pages.
        anon_bytes: Num = 6 (Gauge, Bytes, "proc/meminfo"),
        /// tmpfs and shared memory.
        shmem_bytes: Num = 7 (Gauge, Bytes, "proc/meminfo"),
        /// Slab that can be reclaimed.
        slab_reclaimable_bytes: Num = 8 (Gauge, Bytes, "proc/meminfo"),
        /// Slab that cannot.
        slab_unreclaimable_bytes: Num = 9 (Gauge, Bytes, "proc/meminfo"),
        /// Waiting to be written.
        dirty_bytes: Num = 10 (Gauge, Bytes, "proc/meminfo"),
        /// Being written.
        writeback_bytes: Num = 11 (Gauge, Bytes, "proc/meminfo"),
        /// Locked in memory.
        unevictable_bytes: Num = 12 (Gauge, Bytes, "proc/meminfo"),
        /// Swap space.
        swap_total_bytes: Num = 13 (Fact, Bytes, "proc/meminfo"),
        /// Unused swap space.
        swap_free_bytes: Num = 14 (Gauge, Bytes, "proc/meminfo"),
        /// Writers are throttled above this many dirty bytes.
        dirty_threshold_bytes: Num = 15 (Gauge, Bytes, "proc/vmstat"),
        /// Background writeback starts here.
        dirty_background_threshold_bytes: Num = 16 (Gauge, Bytes, "proc/vmstat"),
        /// Allocations that had to reclaim first, all zones.
        allocstall: Num = 17 (Counter, Count, "proc/vmstat"),
        /// Pages scanned by kswapd.
        pgscan_kswapd: Num = 18 (Counter, Pages, "proc/vmstat"),
        /// Pages scanned by allocating tasks.
        pgscan_direct: Num = 19 (Counter, Pages, "proc/vmstat"),
        /// Pages reclaimed by kswapd.
        pgsteal_kswapd: Num = 20 (Counter, Pages, "proc/vmstat"),
        /// Pages reclaimed by allocating tasks.
        pgsteal_direct: Num = 21 (Counter, Pages, "proc/vmstat"),
        /// Pages swapped in.
        pswpin: Num = 22 (Counter, Pages, "proc/vmstat"),
        /// Pages swapped out.
        pswpout: Num = 23 (Counter, Pages, "proc/vmstat"),
        /// Faults that read from a disk.
        pgmajfault: Num = 24 (Counter, Count, "proc/vmstat"),
        /// Processes killed for memory.
        oom_kill: Num = 25 (Counter, Count, "proc/vmstat"),
        /// File pages read back soon after they were reclaimed.
        workingset_refault_file: Num = 26 (Counter, Pages, "proc/vmstat"),
        /// NUMA hint faults.
        numa_hint_faults: Num = 27 (Counter, Count, "proc/vmstat"),
        /// NUMA hint faults that were local.
        numa_hint_faults_local: Num = 28 (Counter, Count, "proc/vmstat"),
        /// Pages moved by NUMA balancing.
        numa_pages_migrated: Num = 29 (Counter, Pages, "proc/vmstat"),
        /// Pages moved between nodes.
        pgmigrate_success: Num = 30 (Counter, Pages, "proc/vmstat"),
        /// Node reclaims that freed enough.
        zone_reclaim_success: Num = 31 (Counter, Count, "proc/vmstat"),
        /// Node reclaims that did not.
        zone_reclaim_failed: Num = 32 (Counter, Count, "proc/vmstat"),
        /// Huge page size.
        huge_page_bytes: Num = 33 (Fact, Bytes, "proc/meminfo"),
        /// Huge pages reserved.
        huge_pages_total: Num = 34 (Gauge, Count, "proc/meminfo"),
        /// Huge pages unused.
        huge_pages_free: Num = 35 (Gauge, Count, "proc/meminfo"),
        /// Free file pages that could go first.
        inactive_file_bytes: Num = 36 (Gauge, Bytes, "proc/meminfo"),
        /// Compaction stalls.
        compact_stall: Num = 37 (Counter, Count, "proc/vmstat"),
        /// Page tables.
        page_tables_bytes: Num = 38 (Gauge, Bytes, "proc/meminfo"),
        /// Page size: the kernel's word, else what makes MemFree out of nr_free_pages.
        page_bytes: Num = 39 (Fact, Bytes, "proc/vmstat"),
        /// Memory that zswap takes for what it has compressed (Linux 5.19).
        zswap_bytes: Num = 40 (Gauge, Bytes, "proc/meminfo"),
        /// The same before it was compressed.
        zswapped_bytes: Num = 41 (Gauge, Bytes, "proc/meminfo"),
        /// Pages that came back from zswap; not in those swapped in.
        zswpin: Num = 42 (Counter, Pages, "proc/vmstat"),
        /// Pages that zswap took; not in those swapped out.
        zswpout: Num = 43 (Counter, Pages, "proc/vmstat"),
        /// Pages that zswap had to write to the swap device (Linux 6.8).
        zswpwb: Num = 44 (Counter, Pages, "proc/vmstat"),
    }
}

table! {
    /// Memory by node.
    NodeMemory = 31 "node_memory" {
        /// The node.
        node: Num = 1 (Id, None, "sys/devices/system/node/node*"),
        /// Its memory.
        total_bytes: Num = 2 (Fact, Bytes, "sys/devices/system/node/node*/meminfo"),
        /// Unused.
        free_bytes: Num = 3 (Gauge, Bytes, "sys/devices/system/node/node*/meminfo"),
        /// Page cache, shmem included.
        file_bytes: Num = 4 (Gauge, Bytes, "sys/devices/system/node/node*/meminfo"),
        /// Anonymous pages.
        anon_bytes: Num = 5 (Gauge, Bytes, "sys/devices/system/node/node*/meminfo"),
        /// Inactive file pages.
        inactive_file_bytes: Num = 6 (Gauge, Bytes, "sys/devices/system/node/node*/meminfo"),
        /// tmpfs and shared memory.
        shmem_bytes: Num = 7 (Gauge, Bytes, "sys/devices/system/node/node*/meminfo"),
        /// Waiting to be written.
        dirty_bytes: Num = 8 (Gauge, Bytes, "sys/devices/system/node/node*/meminfo"),
        /// Slab that can be reclaimed.
        slab_reclaimable_bytes: Num = 9 (Gauge, Bytes, "sys/devices/system/node/node*/meminfo"),
        /// Pages allocated on this node as intended.
        numa_hit: Num = 10 (Counter, Pages, "sys/devices/system/node/node*/numastat"),
        /// Pages allocated here because the intended node lacked memory.
        numa_miss: Num = 11 (Counter, Pages, "sys/devices/system/node/node*/numastat"),
        /// Pages intended for this node but allocated elsewhere: it lacked memory.
        numa_foreign: Num = 12 (Counter, Pages, "sys/devices/system/node/node*/numastat"),
        /// Pages interleaved here as intended.
        interleave_hit: Num = 13 (Counter, Pages, "sys/devices/system/node/node*/numastat"),
        /// Pages allocated for tasks running here.
        local_node: Num = 14 (Counter, Pages, "sys/devices/system/node/node*/numastat"),
        /// Pages allocated for tasks running on other nodes.
        other_node: Num = 15 (Counter, Pages, "sys/devices/system/node/node*/numastat"),
        /// Pages scanned by kswapd of this node.
        pgscan_kswapd: Num = 16 (Counter, Pages, "sys/devices/system/node/node*/vmstat"),
        /// Pages scanned on this node by allocating tasks.
        pgscan_direct: Num = 17 (Counter, Pages, "sys/devices/system/node/node*/vmstat"),
        /// Sum of the zones' low watermarks.
        low_watermark_bytes: Num = 18 (Fact, Bytes, "proc/zoneinfo"),
        /// Unused huge pages.
        huge_pages_free: Num = 19 (Gauge, Count, "sys/devices/system/node/node*/meminfo"),
        /// Huge pages reserved.
        huge_pages_total: Num = 20 (Gauge, Count, "sys/devices/system/node/node*/meminfo"),
    }
}

table! {
    /// Processes that the OOM killer killed in the last half minute, as the kernel's log tells of them.
    OomKills = 32 "oom_kills" {
        /// The number of the record.
        sequence: Num = 1 (Id, None, "dev/kmsg"),
        /// What was out of memory: `NONE` (the machine), `CPUSET`, `MEMORY_POLICY`, `MEMCG`.
        constraint: Text = 2 (Fact, None, "dev/kmsg"),
        /// The control group that was; none for the machine.
        memcg: Text = 3 (Fact, None, "dev/kmsg"),
        /// The control group that lost the process.
        task_memcg: Text = 4 (Fact, None, "dev/kmsg"),
    }
}

table! {
    /// Memory bandwidth by L3 (resctrl), where it is mounted.
    MemoryBandwidth = 33 "memory_bandwidth" {
        /// The L3.
        l3: Num = 1 (Id, None, "sys/fs/resctrl/mon_data"),
        /// Read from and written to memory through it.
        total_bytes: Num = 2 (Counter, Bytes, "sys/fs/resctrl/mon_data/mon_L3_*/mbm_total_bytes"),
        /// The same of memory of its own node.
        local_bytes: Num = 3 (Counter, Bytes, "sys/fs/resctrl/mon_data/mon_L3_*/mbm_local_bytes"),
    }
}
