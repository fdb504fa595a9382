//! What is followed from when it first does something.

use crate::frame::{Cgroup, Process};

/// Memory from which a process or group is followed: half of what could ever be a finding.
const MATTERS_BYTES: u64 = 32 << 20;
/// The same of bytes read or written a second.
const MATTERS_IO: f64 = 100_000.0;

/// A share of the time in which a group waits for its I/O.
const MATTERS_WAITS: f64 = 0.1;

pub(super) fn group_matters(group: &Cgroup) -> bool {
    let memory = group.memory.as_ref();
    group.cpu.usage_cores >= Some(0.01)
        || group.cpu.throttled_ratio > Some(0.0)
        || group.pressure.io.as_ref().and_then(|stall| stall.some_ratio) >= Some(MATTERS_WAITS)
        || memory.is_some_and(|memory| {
            memory.limit_bytes.value().is_some() || memory.current_bytes.value() >= Some(MATTERS_BYTES)
        })
        // Of version 1, a group of the blkio controller may have nothing else.
        || group.io.iter().any(|io| {
            io.throttle().is_some() || io.read_bytes_per_second.max(io.write_bytes_per_second) >= MATTERS_IO
        })
}

pub(super) fn process_matters(process: &Process) -> bool {
    process.cpu_cores >= Some(0.01)
        || process.rss_bytes.value() >= Some(MATTERS_BYTES)
        || process.read_bytes_per_second >= Some(MATTERS_IO)
        || process.write_bytes_per_second >= Some(MATTERS_IO)
}
