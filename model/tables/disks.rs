//! Block devices and what is mounted from them.

use crate::table::table;

table! {
    /// Block devices, partitions included.
    Disks = 80 "disks" {
        /// Device number: major << 20 | minor.
        dev: Num = 1 (Id, None, "proc/diskstats"),
        /// Name.
        name: Text = 2 (Id, None, "proc/diskstats"),
        /// `disk`, `partition`, `dm`, `md`, `loop`, `ram`, `zram`, `rom`.
        kind: Text = 3 (Fact, None, "sys/block/*"),
        /// The disk that a partition belongs to.
        parent: Text = 4 (Fact, None, "sys/block/*/*/partition"),
        /// Underlying devices of a dm or md device, separated by spaces; the file of a loop device.
        lower: Text = 5 (Fact, None, "sys/block/*/slaves"),
        /// Reads completed.
        reads: Num = 6 (Counter, Count, "proc/diskstats"),
        /// Bytes read.
        read_bytes: Num = 7 (Counter, Bytes, "proc/diskstats"),
        /// Time of all reads.
        read_ms: Num = 8 (Counter, Milliseconds, "proc/diskstats"),
        /// Writes completed.
        writes: Num = 9 (Counter, Count, "proc/diskstats"),
        /// Bytes written.
        write_bytes: Num = 10 (Counter, Bytes, "proc/diskstats"),
        /// Time of all writes.
        write_ms: Num = 11 (Counter, Milliseconds, "proc/diskstats"),
        /// Requests in flight now.
        in_flight: Num = 12 (Gauge, Count, "proc/diskstats"),
        /// Time with at least one request in flight.
        io_ms: Num = 13 (Counter32, Milliseconds, "proc/diskstats"),
        /// The same weighted by the requests in flight.
        weighted_io_ms: Num = 14 (Counter32, Milliseconds, "proc/diskstats"),
        /// Discards completed (Linux 4.18).
        discards: Num = 15 (Counter, Count, "proc/diskstats"),
        /// Flushes completed (Linux 5.5).
        flushes: Num = 16 (Counter, Count, "proc/diskstats"),
        /// Time of all flushes (Linux 5.5).
        flush_ms: Num = 17 (Counter, Milliseconds, "proc/diskstats"),
        /// 1 if rotational.
        rotational: Num = 18 (Fact, None, "sys/block/*/queue/rotational"),
        /// Scheduler in use.
        scheduler: Text = 19 (Fact, None, "sys/block/*/queue/scheduler"),
        /// Size.
        size_bytes: Num = 20 (Fact, Bytes, "sys/block/*/size"),
        /// Node of its controller; none when unknown.
        node: Num = 21 (Fact, None, "sys/block/*/device/numa_node"),
        /// Model as the device names itself.
        model: Text = 22 (Fact, None, "sys/block/*/device/model"),
        /// `write back` or `write through`.
        write_cache: Text = 23 (Fact, None, "sys/block/*/queue/write_cache"),
        /// Requests that its hardware queues take together.
        depth: Num = 24 (Fact, Count, "sys/block/*/queue/nr_requests"),
    }
}

table! {
    /// Mount points of block devices.
    Mounts = 81 "mounts" {
        /// Device number: major << 20 | minor.
        dev: Num = 1 (Id, None, "proc/self/mountinfo"),
        /// Where.
        path: Text = 2 (Id, None, "proc/self/mountinfo"),
        /// File system.
        fs: Text = 3 (Fact, None, "proc/self/mountinfo"),
        /// Its size.
        total_bytes: Num = 4 (Fact, Bytes, "statvfs"),
        /// Free for ordinary users.
        free_bytes: Num = 5 (Gauge, Bytes, "statvfs"),
        /// Its inodes.
        inodes_total: Num = 6 (Fact, Count, "statvfs"),
        /// Free inodes.
        inodes_free: Num = 7 (Gauge, Count, "statvfs"),
        /// What it is mounted from, as mountinfo names it.
        source: Text = 8 (Fact, None, "proc/self/mountinfo"),
        /// In use; with what is free it is less than the size where some is kept back for root or by a quota.
        used_bytes: Num = 9 (Gauge, Bytes, "statvfs"),
    }
}
