//! Java virtual machines, as their own performance data say.

use crate::table::table;

table! {
    /// Java virtual machines with performance data (`-XX:+UsePerfData`, the default).
    Jvms = 96 "jvms" {
        /// The process.
        pid: Num = 1 (Id, None, "proc/*/stat"),
        /// When it started: with the pid it names the process.
        starttime: Num = 2 (Id, Ticks, "proc/*/stat"),
        /// CLOCK_MONOTONIC when it was read.
        read_at_ns: Num = 3 (Clock, Nanoseconds, "self"),
        /// Time in garbage collections that stop it, all collectors (sun.gc.collector.*.time).
        gc_time_ns: Num = 4 (Counter, Nanoseconds, "tmp/hsperfdata_*/*"),
        /// Collections (sun.gc.collector.*.invocations).
        gc_count: Num = 5 (Counter, Count, "tmp/hsperfdata_*/*"),
        /// Time stopped at safepoints, collections included (sun.rt.safepointTime).
        safepoint_time_ns: Num = 6 (Counter, Nanoseconds, "tmp/hsperfdata_*/*"),
        /// Safepoints (sun.rt.safepoints).
        safepoints: Num = 7 (Counter, Count, "tmp/hsperfdata_*/*"),
        /// Heap in use after the last collection (sun.gc.generation.*.space.*.used).
        heap_used_bytes: Num = 8 (Gauge, Bytes, "tmp/hsperfdata_*/*"),
        /// Heap that is committed (sun.gc.generation.*.capacity).
        heap_capacity_bytes: Num = 9 (Gauge, Bytes, "tmp/hsperfdata_*/*"),
        /// The most that the heap may become (sun.gc.generation.*.maxCapacity).
        heap_max_bytes: Num = 10 (Fact, Bytes, "tmp/hsperfdata_*/*"),
        /// Names of its collectors (sun.gc.collector.*.name); hostile.
        collectors: Text = 11 (Fact, None, "tmp/hsperfdata_*/*"),
        /// Its version (java.property.java.vm.version or java.rt.vmVersion); hostile.
        version: Text = 12 (Fact, None, "tmp/hsperfdata_*/*"),
        /// Times a thread found a monitor taken (sun.rt._sync_ContendedLockAttempts).
        contended_locks: Num = 20 (Counter, Count, "tmp/hsperfdata_*/*"),
    }
}
