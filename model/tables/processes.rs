//! Processes, the threads of those that matter, and where their memory is.

use crate::table::table;

table! {
    /// Processes. Rows are read in turns: `read_at_ns` tells when.
    Processes = 90 "processes" {
        /// Process id in the namespace of the proc mount.
        pid: Num = 1 (Id, None, "proc/*/stat"),
        /// When it started, in ticks since boot: with the pid it names the process.
        starttime: Num = 2 (Id, Ticks, "proc/*/stat"),
        /// CLOCK_MONOTONIC when `stat` was read.
        read_at_ns: Num = 3 (Clock, Nanoseconds, "self"),
        /// Name of the main thread; hostile.
        comm: Text = 4 (Fact, None, "proc/*/stat"),
        /// State letter as a code point.
        state: Num = 5 (Gauge, None, "proc/*/stat"),
        /// Parent.
        ppid: Num = 6 (Fact, None, "proc/*/stat"),
        /// Kernel flags (PF_*).
        flags: Num = 7 (Fact, None, "proc/*/stat"),
        /// Time in user mode, exited threads included.
        utime: Num = 8 (Counter, Ticks, "proc/*/stat"),
        /// Time in kernel mode.
        stime: Num = 9 (Counter, Ticks, "proc/*/stat"),
        /// Threads.
        threads: Num = 10 (Gauge, Count, "proc/*/stat"),
        /// Virtual size.
        vsize_bytes: Num = 11 (Gauge, Bytes, "proc/*/stat"),
        /// Resident memory.
        rss_bytes: Num = 12 (Gauge, Bytes, "proc/*/stat"),
        /// CPU that its main thread ran on last.
        last_cpu: Num = 13 (Gauge, None, "proc/*/stat"),
        /// Scheduling policy (SCHED_*).
        policy: Num = 14 (Fact, None, "proc/*/stat"),
        /// Faults that read from a disk.
        majflt: Num = 15 (Counter, Count, "proc/*/stat"),
        /// Control group: of the memory controller where v1 has one; hostile.
        cgroup: Text = 16 (Fact, None, "proc/*/cgroup"),
        /// Arguments separated by spaces, cut at 512 bytes; hostile.
        cmdline: Text = 17 (Fact, None, "proc/*/cmdline"),
        /// CPUs that its main thread may run on.
        affinity: Sets = 18 (Fact, None, "proc/*/status"),
        /// Nodes that it may have memory from, by its cpuset.
        mems_allowed: Sets = 19 (Fact, None, "proc/*/status"),
        /// Time its main thread ran.
        run_ns: Num = 20 (Counter, Nanoseconds, "proc/*/schedstat"),
        /// Time its main thread waited for a CPU.
        wait_ns: Num = 21 (Counter, Nanoseconds, "proc/*/schedstat"),
        /// Bytes that it caused to be read from disks.
        read_bytes: Num = 22 (Counter, Bytes, "proc/*/io"),
        /// Bytes that it caused to be written to disks.
        write_bytes: Num = 23 (Counter, Bytes, "proc/*/io"),
        /// Written bytes that were taken back before they reached a disk.
        cancelled_write_bytes: Num = 24 (Counter, Bytes, "proc/*/io"),
        /// User.
        uid: Num = 25 (Fact, None, "proc/*/status"),
        /// Its pid in its own pid namespace.
        inner_pid: Num = 26 (Fact, None, "proc/*/status"),
        /// The bind type configured for a BEAM: `db`, `u`, …; empty when it is not set, unread when it is no BEAM.
        beam_bind_type: Text = 27 (Fact, None, "proc/*/cmdline"),
        /// 1 while its threads are in the thread table.
        threads_watched: Num = 28 (Fact, None, "self"),
        /// Write system calls.
        write_calls: Num = 29 (Counter, Count, "proc/*/io"),
        /// When cgroup, affinity and the like were read last, CLOCK_MONOTONIC.
        details_at_ns: Num = 30 (Clock, Nanoseconds, "self"),
        /// When schedstat and io were read last, CLOCK_MONOTONIC: each time of hot processes, in turns of the others.
        counters_at_ns: Num = 31 (Clock, Nanoseconds, "self"),
        /// Resident anonymous memory (Linux 4.5).
        rss_anon_bytes: Num = 32 (Gauge, Bytes, "proc/*/status"),
        /// Resident file pages (Linux 4.5).
        rss_file_bytes: Num = 33 (Gauge, Bytes, "proc/*/status"),
        /// Resident tmpfs and shared memory (Linux 4.5).
        rss_shmem_bytes: Num = 34 (Gauge, Bytes, "proc/*/status"),
        /// Memory out of huge page pools: no part of the resident memory.
        hugetlb_bytes: Num = 35 (Gauge, Bytes, "proc/*/status"),
        /// When it was known, without reading it, to have used no CPU since it was read: all that CPUs did was others'.
        quiet_at_ns: Num = 36 (Clock, Nanoseconds, "proc/stat"),
        /// Control group of the cpu controller where that is another one (v1); hostile.
        cpu_cgroup: Text = 37 (Fact, None, "proc/*/cgroup"),
        /// Control group of the cpuset controller where that is another one (v1); hostile.
        cpuset_cgroup: Text = 38 (Fact, None, "proc/*/cgroup"),
        /// Control group of the blkio controller where that is another one (v1); hostile.
        io_cgroup: Text = 39 (Fact, None, "proc/*/cgroup"),
        /// Times its main thread was given a CPU.
        slices: Num = 50 (Counter, Count, "proc/*/schedstat"),
        /// Time its main thread waited for disks, where delay accounting is on; zero while it is off.
        io_delay: Num = 51 (Counter, Ticks, "proc/*/stat"),
        /// Name of the user, where the machine's own list of users has it; hostile.
        user: Text = 52 (Fact, None, "etc/passwd"),
        /// Open files: the size of fd where the kernel reports it, or counted where they are few.
        open_files: Num = 53 (Gauge, Count, "proc/*/fd"),
        /// Open files that it may have (RLIMIT_NOFILE).
        open_files_limit: Num = 54 (Fact, Count, "proc/*/limits"),
        /// Time in user mode of children that it has waited for, and of theirs.
        children_utime: Num = 55 (Counter, Ticks, "proc/*/stat"),
        /// The same in kernel mode.
        children_stime: Num = 56 (Counter, Ticks, "proc/*/stat"),
        /// Nice value plus 20: 0 has most of the CPU, 39 least.
        nice_plus_20: Num = 57 (Fact, None, "proc/*/stat"),
        /// Its pages in swap (Linux 2.6.34).
        swap_bytes: Num = 58 (Gauge, Bytes, "proc/*/status"),
        /// Real-time priority, 1 to 99; 0 of other policies.
        rt_priority: Num = 59 (Fact, None, "proc/*/stat"),
    }
}

table! {
    /// Threads of processes that matter: hot ones, pinned ones, BEAMs, those asked for.
    Threads = 91 "threads" {
        /// Thread id.
        tid: Num = 1 (Id, None, "proc/*/task/*"),
        /// Its process.
        pid: Num = 2 (Id, None, "proc/*/task/*"),
        /// When it started, in ticks since boot.
        starttime: Num = 3 (Id, Ticks, "proc/*/task/*/stat"),
        /// CLOCK_MONOTONIC when it was read.
        read_at_ns: Num = 4 (Clock, Nanoseconds, "self"),
        /// Name; hostile.
        comm: Text = 5 (Fact, None, "proc/*/task/*/stat"),
        /// State letter as a code point.
        state: Num = 6 (Gauge, None, "proc/*/task/*/stat"),
        /// Kernel flags (PF_*).
        flags: Num = 7 (Fact, None, "proc/*/task/*/stat"),
        /// Time in user mode.
        utime: Num = 8 (Counter, Ticks, "proc/*/task/*/stat"),
        /// Time in kernel mode.
        stime: Num = 9 (Counter, Ticks, "proc/*/task/*/stat"),
        /// CPU that it ran on last.
        last_cpu: Num = 10 (Gauge, None, "proc/*/task/*/stat"),
        /// Scheduling policy (SCHED_*).
        policy: Num = 11 (Fact, None, "proc/*/task/*/stat"),
        /// CPUs that it may run on.
        affinity: Sets = 12 (Fact, None, "proc/*/task/*/status"),
        /// Time it ran.
        run_ns: Num = 13 (Counter, Nanoseconds, "proc/*/task/*/schedstat"),
        /// Time it waited for a CPU.
        wait_ns: Num = 14 (Counter, Nanoseconds, "proc/*/task/*/schedstat"),
        /// CLOCK_MONOTONIC of the last sample in which it was not read because its process had used no CPU.
        quiet_at_ns: Num = 15 (Gauge, Nanoseconds, "proc/*/stat"),
        /// Times it was given a CPU.
        slices: Num = 30 (Counter, Count, "proc/*/task/*/schedstat"),
        /// Time it waited for disks, where delay accounting is on; zero while it is off.
        io_delay: Num = 31 (Counter, Ticks, "proc/*/task/*/stat"),
    }
}

table! {
    /// Where the memory of a process is: filled by a worker, biggest and busiest first.
    ProcessMemory = 92 "process_memory" {
        /// The process.
        pid: Num = 1 (Id, None, "proc/*/stat"),
        /// When it started: with the pid it names the process.
        starttime: Num = 2 (Id, Ticks, "proc/*/stat"),
        /// CLOCK_MONOTONIC of the query.
        read_at_ns: Num = 3 (Clock, Nanoseconds, "self"),
        /// `cgroup`, `sampled` or `numa_maps`.
        source: Text = 4 (Fact, None, "self"),
        /// Half the width of the 95 % interval of a node's share, in hundredths of a percent; zero when exact.
        error: Num = 5 (Gauge, Permyriad, "self"),
        /// Anonymous and shared memory by node.
        anon_by_node: Sparse = 6 (Gauge, Bytes, "move_pages"),
        /// File pages by node.
        file_by_node: Sparse = 7 (Gauge, Bytes, "move_pages"),
        /// Memory policy of most of its memory: `default`, `bind:3`, `interleave:0-1`.
        policy: Text = 8 (Fact, None, "proc/*/numa_maps"),
        /// Duration of the query.
        cost_ns: Num = 9 (Gauge, Nanoseconds, "self"),
    }
}
