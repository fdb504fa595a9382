//! Control groups. Where the machine has v1, one row joins the hierarchies' directories of one path.

use crate::table::table;

table! {
    /// Every control group by its path. v1 values are the hierarchical `total_*`.
    Cgroups = 70 "cgroups" {
        /// Path below the mount: `/`, `/system.slice/x.service`. Hostile: names may hold any byte but `/` and NUL.
        path: Text = 1 (Id, None, "sys/fs/cgroup"),
        /// 1 or 2: of the hierarchy that its memory (else CPU) comes from.
        version: Num = 2 (Fact, None, "proc/self/mountinfo"),
        /// Inode of its directory.
        inode: Num = 3 (Id, None, "sys/fs/cgroup/*"),
        /// Memory in use, page cache included; swap not.
        memory_current_bytes: Num = 4 (Gauge, Bytes, "memory.current"),
        /// Its own limit; none when unlimited.
        memory_limit_bytes: Num = 5 (Fact, Bytes, "memory.max"),
        /// Throttled above this; none when off.
        memory_high_bytes: Num = 6 (Fact, Bytes, "memory.high"),
        /// Anonymous memory.
        anon_bytes: Num = 7 (Gauge, Bytes, "memory.stat"),
        /// Page cache, shmem included.
        file_bytes: Num = 8 (Gauge, Bytes, "memory.stat"),
        /// tmpfs and shared memory.
        shmem_bytes: Num = 9 (Gauge, Bytes, "memory.stat"),
        /// Mapped file pages.
        file_mapped_bytes: Num = 10 (Gauge, Bytes, "memory.stat"),
        /// Waiting to be written.
        dirty_bytes: Num = 11 (Gauge, Bytes, "memory.stat"),
        /// Being written.
        writeback_bytes: Num = 12 (Gauge, Bytes, "memory.stat"),
        /// Inactive file pages.
        inactive_file_bytes: Num = 13 (Gauge, Bytes, "memory.stat"),
        /// Active file pages.
        active_file_bytes: Num = 14 (Gauge, Bytes, "memory.stat"),
        /// Locked.
        unevictable_bytes: Num = 15 (Gauge, Bytes, "memory.stat"),
        /// Slab that can be reclaimed.
        slab_reclaimable_bytes: Num = 16 (Gauge, Bytes, "memory.stat"),
        /// Slab that cannot.
        slab_unreclaimable_bytes: Num = 17 (Gauge, Bytes, "memory.stat"),
        /// Other kernel memory (v1: kmem usage).
        kernel_bytes: Num = 18 (Gauge, Bytes, "memory.stat"),
        /// Swap in use.
        swap_bytes: Num = 19 (Gauge, Bytes, "memory.swap.current"),
        /// Swap limit; none when unlimited.
        swap_limit_bytes: Num = 20 (Fact, Bytes, "memory.swap.max"),
        /// Times it was throttled at `memory.high`.
        events_high: Num = 21 (Counter, Count, "memory.events"),
        /// Times it was at its limit (v1: failcnt).
        events_max: Num = 22 (Counter, Count, "memory.events"),
        /// Times reclaim could not help.
        events_oom: Num = 23 (Counter, Count, "memory.events"),
        /// Processes killed.
        events_oom_kill: Num = 24 (Counter, Count, "memory.events"),
        /// Faults that read from a disk.
        pgmajfault: Num = 25 (Counter, Count, "memory.stat"),
        /// File pages read back soon after they were reclaimed.
        refault_file: Num = 26 (Counter, Pages, "memory.stat"),
        /// Pages scanned by its own tasks.
        pgscan_direct: Num = 27 (Counter, Pages, "memory.stat"),
        /// Pages reclaimed by its own tasks.
        pgsteal_direct: Num = 28 (Counter, Pages, "memory.stat"),
        /// Pages scanned by any task.
        pgscan: Num = 29 (Counter, Pages, "memory.stat"),
        /// Pages reclaimed by any task.
        pgsteal: Num = 30 (Counter, Pages, "memory.stat"),
        /// Anonymous bytes by node (v1: tmpfs included).
        anon_by_node: Sparse = 31 (Gauge, Bytes, "memory.numa_stat"),
        /// Page cache bytes by node (v1: without tmpfs, which is among the anonymous ones there).
        file_by_node: Sparse = 32 (Gauge, Bytes, "memory.numa_stat"),
        /// CPU time.
        cpu_usage_us: Num = 33 (Counter, Microseconds, "cpu.stat"),
        /// CPU quota per period; none when unlimited.
        cpu_quota_us: Num = 34 (Fact, Microseconds, "cpu.max"),
        /// The period.
        cpu_period_us: Num = 35 (Fact, Microseconds, "cpu.max"),
        /// Periods with something to run.
        cpu_periods: Num = 36 (Counter, Count, "cpu.stat"),
        /// Periods in which it was throttled.
        cpu_throttled: Num = 37 (Counter, Count, "cpu.stat"),
        /// Time throttled, summed over CPUs.
        cpu_throttled_us: Num = 38 (Counter, Microseconds, "cpu.stat"),
        /// CPUs it may use.
        cpuset_cpus: Sets = 39 (Fact, None, "cpuset.cpus.effective"),
        /// Nodes it may have memory from.
        cpuset_mems: Sets = 40 (Fact, None, "cpuset.mems.effective"),
        /// `member`, `root` or `isolated`.
        cpuset_partition: Text = 41 (Fact, None, "cpuset.cpus.partition"),
        /// Processes in it, not below it.
        processes: Num = 42 (Gauge, Count, "cgroup.procs"),
        /// Its only process, where there is just one.
        only_pid: Num = 43 (Fact, None, "cgroup.procs"),
        /// Time in which some task waited for a CPU.
        cpu_some_us: Num = 44 (Counter, Microseconds, "cpu.pressure"),
        /// Time in which all tasks waited for a CPU.
        cpu_full_us: Num = 45 (Counter, Microseconds, "cpu.pressure"),
        /// The kernel's 10 s average of some, hundredths of a percent.
        cpu_some_avg10: Num = 46 (Gauge, Permyriad, "cpu.pressure"),
        /// The kernel's 10 s average of full.
        cpu_full_avg10: Num = 47 (Gauge, Permyriad, "cpu.pressure"),
        /// Time in which some task waited for memory.
        memory_some_us: Num = 48 (Counter, Microseconds, "memory.pressure"),
        /// Time in which all tasks waited for memory.
        memory_full_us: Num = 49 (Counter, Microseconds, "memory.pressure"),
        /// The kernel's 10 s average of some.
        memory_some_avg10: Num = 50 (Gauge, Permyriad, "memory.pressure"),
        /// The kernel's 10 s average of full.
        memory_full_avg10: Num = 51 (Gauge, Permyriad, "memory.pressure"),
        /// Time in which some task waited for a disk.
        io_some_us: Num = 52 (Counter, Microseconds, "io.pressure"),
        /// Time in which all tasks waited for a disk.
        io_full_us: Num = 53 (Counter, Microseconds, "io.pressure"),
        /// The kernel's 10 s average of some.
        io_some_avg10: Num = 54 (Gauge, Permyriad, "io.pressure"),
        /// The kernel's 10 s average of full.
        io_full_avg10: Num = 55 (Gauge, Permyriad, "io.pressure"),
        /// Container runtime, from the path: `docker`, `containerd`, `cri-o`, `podman`, `libvirt`, `lxc`, `systemd-nspawn`.
        runtime: Text = 56 (Fact, None, "path"),
        /// Container ID, from the path.
        container_id: Text = 57 (Fact, None, "path"),
        /// Pod UID, from the path.
        pod_uid: Text = 58 (Fact, None, "path"),
        /// Pod or machine name where something tells it.
        pod_name: Text = 59 (Fact, None, "var/log/pods"),
        /// Kubernetes namespace where something tells it.
        namespace: Text = 60 (Fact, None, "var/log/pods"),
        /// Container name where something tells it.
        container_name: Text = 61 (Fact, None, "var/log/pods"),
        /// Source of the names: `path`, `log_dir` (kubelet's), `runtime_dir` (its state files).
        name_source: Text = 62 (Fact, None, "path"),
        /// Page-cache limit of its own where the kernel has one (Alibaba, Tencent).
        pagecache_limit_bytes: Num = 63 (Fact, Bytes, "memory.pagecache_limit.size"),
        /// 1 while it is out of memory and cannot kill (v1).
        under_oom: Num = 64 (Gauge, None, "memory.oom_control"),
        /// Burst allowance.
        cpu_burst_us: Num = 65 (Fact, Microseconds, "cpu.max.burst"),
        /// CPU weight (v1: shares).
        cpu_weight: Num = 66 (Fact, None, "cpu.weight"),
        /// Highest memory use so far.
        memory_peak_bytes: Num = 67 (Gauge, Bytes, "memory.peak"),
        /// v1: reclaimed down to this first when the machine lacks memory; none when unlimited.
        memory_soft_limit_bytes: Num = 68 (Fact, Bytes, "memory.soft_limit_in_bytes"),
        /// v1: the lowest limit of it and its ancestors as the kernel tells it, hidden ones included; none when
        /// unlimited.
        memory_hierarchical_limit_bytes: Num = 69 (Fact, Bytes, "memory.stat"),
        /// Millicores that a pod or container requests.
        cpu_request_milli: Num = 70 (Fact, None, "var/lib/kubelet/allocated_pods_state"),
        /// Memory that a pod or container requests.
        memory_request_bytes: Num = 71 (Fact, Bytes, "var/lib/kubelet/allocated_pods_state"),
        /// v1: pages charged to it, of whatever kind.
        pgpgin: Num = 80 (Counter, Pages, "memory.stat"),
        /// v1: pages uncharged: reclaimed or freed.
        pgpgout: Num = 81 (Counter, Pages, "memory.stat"),
        /// Tasks in it and below it.
        pids_current: Num = 90 (Gauge, Count, "pids.current"),
        /// Tasks that may be in it and below it; none when unlimited.
        pids_limit: Num = 91 (Fact, Count, "pids.max"),
        /// Forks that failed at its limit or one above it.
        pids_events_max: Num = 92 (Counter, Count, "pids.events"),
    }
}

table! {
    /// Where the hierarchies of control groups are mounted: one of version 2, any number of version 1.
    CgroupMounts = 72 "cgroup_mounts" {
        /// Its directory.
        dir: Text = 1 (Id, None, "proc/self/mountinfo"),
        /// 1 or 2.
        version: Num = 2 (Fact, None, "proc/self/mountinfo"),
        /// Version 1: its controllers of those that are read, by the kernel's names with commas between.
        controllers: Text = 3 (Fact, None, "proc/self/mountinfo"),
    }
}

table! {
    /// I/O by control group and device.
    CgroupIo = 71 "cgroup_io" {
        /// Path of the group.
        path: Text = 1 (Id, None, "sys/fs/cgroup"),
        /// Device number: major << 20 | minor.
        dev: Num = 2 (Id, None, "io.stat"),
        /// Bytes read.
        read_bytes: Num = 3 (Counter, Bytes, "io.stat"),
        /// Bytes written.
        write_bytes: Num = 4 (Counter, Bytes, "io.stat"),
        /// Reads.
        reads: Num = 5 (Counter, Count, "io.stat"),
        /// Writes.
        writes: Num = 6 (Counter, Count, "io.stat"),
        /// Bytes that it may read a second; none when unlimited (v1: `blkio.throttle.read_bps_device`).
        read_bytes_limit: Num = 20 (Fact, Bytes, "io.max"),
        /// Bytes that it may write a second.
        write_bytes_limit: Num = 21 (Fact, Bytes, "io.max"),
        /// Reads that it may do a second.
        reads_limit: Num = 22 (Fact, Count, "io.max"),
        /// Writes that it may do a second.
        writes_limit: Num = 23 (Fact, Count, "io.max"),
    }
}
