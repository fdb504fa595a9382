//! Control groups, disks and processes.

use super::super::metric::Better::{Lower, Neither};
use super::super::metric::{Floor, Measure, Metric, Read};
use super::machine::part;
use super::{MB, Table, bytes_rate, rate, share};
use crate::frame::{Cgroup, CgroupIoRate};
use crate::locale::metric as text;

/// Cores' worth of time: a twentieth of a core and a tenth of what there is.
const CORES: Floor = Floor::Both(0.05, 0.1);

/// A control group.
pub(in super::super) const CGROUP: Table = &[
    Metric::new(
        "cgroup.cores",
        text::cgroup::CORES,
        Measure::Cores,
        Neither,
        CORES,
        Read::Cgroup(|group| group.cpu.usage_cores),
    )
    .or_zero(),
    share("cgroup.throttled", text::cgroup::THROTTLED, Lower, Read::Cgroup(|group| group.cpu.throttled_ratio)).mean(),
    share("cgroup.memory_of_limit", text::cgroup::MEMORY_OF_LIMIT, Lower, Read::Cgroup(memory_of_limit))
        .mean()
        .drifting(),
    Metric::new(
        "cgroup.memory",
        text::cgroup::MEMORY,
        Measure::Bytes,
        Neither,
        Floor::Memory,
        Read::Cgroup(|group| memory(group, |memory| memory.current_bytes.value())),
    )
    .or_zero()
    .drifting(),
    Metric::new(
        "cgroup.unreclaimable",
        text::cgroup::UNRECLAIMABLE,
        Measure::Bytes,
        Neither,
        Floor::Memory,
        Read::Cgroup(|group| memory(group, |memory| memory.unreclaimable_bytes.value())),
    )
    .or_zero()
    .drifting(),
    share(
        "cgroup.cpu_pressure",
        text::cgroup::CPU_PRESSURE,
        Lower,
        Read::Cgroup(|group| group.pressure.cpu?.some_ratio),
    )
    .mean(),
    share(
        "cgroup.memory_pressure",
        text::cgroup::MEMORY_PRESSURE,
        Lower,
        Read::Cgroup(|group| group.pressure.memory?.some_ratio),
    )
    .mean(),
    share("cgroup.io_pressure", text::cgroup::IO_PRESSURE, Lower, Read::Cgroup(|group| group.pressure.io?.some_ratio))
        .mean(),
    share(
        "cgroup.memory_full",
        text::cgroup::MEMORY_FULL,
        Lower,
        Read::Cgroup(|group| group.pressure.memory?.full_ratio),
    )
    .mean(),
    rate(
        "cgroup.io_writes",
        text::cgroup::IO_WRITES,
        Neither,
        2.0,
        Read::Cgroup(|group| io(group, |row| row.writes_per_second)),
    ),
    bytes_rate(
        "cgroup.io_write_bytes",
        text::cgroup::IO_WRITE_BYTES,
        Neither,
        MB,
        Read::Cgroup(|group| io(group, |row| row.write_bytes_per_second)),
    ),
    rate(
        "cgroup.events_max",
        text::cgroup::EVENTS_MAX,
        Lower,
        5.0,
        Read::Cgroup(|group| group.memory.as_ref()?.events_max_per_second),
    ),
    rate(
        "cgroup.pgscan_direct",
        text::cgroup::PGSCAN_DIRECT,
        Lower,
        1000.0,
        Read::Cgroup(|group| group.memory.as_ref()?.pgscan_direct_per_second),
    ),
    rate(
        "cgroup.refault_file",
        text::cgroup::REFAULT_FILE,
        Lower,
        200.0,
        Read::Cgroup(|group| group.memory.as_ref()?.refault_file_per_second),
    ),
    rate(
        "cgroup.pgmajfault",
        text::cgroup::PGMAJFAULT,
        Lower,
        100.0,
        Read::Cgroup(|group| group.memory.as_ref()?.pgmajfault_per_second),
    ),
];

/// Over all devices; none where none is counted.
fn io(group: &Cgroup, read: fn(&CgroupIoRate) -> f64) -> Option<f64> {
    (!group.io.is_empty()).then(|| group.io.iter().map(read).sum())
}

/// A block device.
pub(in super::super) const DISK: Table = &[
    share("disk.utilisation", text::disk::UTILISATION, Neither, Read::Disk(|disk| disk.utilisation)),
    Metric::new(
        "disk.await",
        text::disk::AWAIT,
        Measure::Milliseconds,
        Lower,
        Floor::Both(1.0, 0.2),
        Read::Disk(|disk| disk.await_ms.value()),
    ),
    Metric::new(
        "disk.read_await",
        text::disk::READ_AWAIT,
        Measure::Milliseconds,
        Lower,
        Floor::Both(1.0, 0.2),
        Read::Disk(|disk| disk.read_await_ms.value()),
    ),
    Metric::new(
        "disk.write_await",
        text::disk::WRITE_AWAIT,
        Measure::Milliseconds,
        Lower,
        Floor::Both(1.0, 0.2),
        Read::Disk(|disk| disk.write_await_ms.value()),
    ),
    Metric::new(
        "disk.queue",
        text::disk::QUEUE,
        Measure::Count,
        Neither,
        Floor::Both(1.0, 0.2),
        Read::Disk(|disk| disk.queue_depth),
    ),
    bytes_rate("disk.read_bytes", text::disk::READ_BYTES, Neither, MB, Read::Disk(|disk| disk.read_bytes_per_second)),
    bytes_rate(
        "disk.write_bytes",
        text::disk::WRITE_BYTES,
        Neither,
        MB,
        Read::Disk(|disk| disk.write_bytes_per_second),
    ),
    rate("disk.reads", text::disk::READS, Neither, 30.0, Read::Disk(|disk| disk.reads_per_second)),
    rate("disk.writes", text::disk::WRITES, Neither, 30.0, Read::Disk(|disk| disk.writes_per_second)),
    rate("disk.flushes", text::disk::FLUSHES, Neither, 10.0, Read::Disk(|disk| disk.flushes_per_second)),
    share(
        "disk.full",
        text::disk::FULL,
        Lower,
        Read::Disk(|disk| disk.mounts.iter().filter_map(full).max_by(f64::total_cmp)),
    )
    .drifting(),
];

/// Processes of one name in one control group.
pub(in super::super) const PROCESS: Table = &[
    Metric::new(
        "process.cores",
        text::process::CORES,
        Measure::Cores,
        Neither,
        CORES,
        Read::Process(|process| process.cpu_cores),
    )
    .or_zero(),
    share(
        "process.wait",
        text::process::WAIT,
        Lower,
        Read::Process(|process| process.wait_share.filter(|_| process.cpu_cores >= Some(0.05))),
    )
    .mean(),
    share(
        "process.remote",
        text::process::REMOTE,
        Lower,
        Read::Process(|process| process.memory.as_ref()?.remote_ratio),
    )
    .mean()
    .drifting(),
    Metric::new(
        "process.rss",
        text::process::RSS,
        Measure::Bytes,
        Neither,
        Floor::Memory,
        Read::Process(|process| process.rss_bytes.value().map(|bytes| bytes as f64)),
    )
    .or_zero()
    .drifting(),
    bytes_rate(
        "process.read_bytes",
        text::process::READ_BYTES,
        Neither,
        MB,
        Read::Process(|process| process.read_bytes_per_second),
    )
    .or_zero(),
    bytes_rate(
        "process.write_bytes",
        text::process::WRITE_BYTES,
        Neither,
        MB,
        Read::Process(|process| process.write_bytes_per_second),
    )
    .or_zero(),
    rate("process.majflt", text::process::MAJFLT, Lower, 100.0, Read::Process(|process| process.majflt_per_second))
        .or_zero(),
];

fn memory(group: &Cgroup, bytes: fn(&crate::frame::CgroupMemory) -> Option<u64>) -> Option<f64> {
    bytes(group.memory.as_ref()?).map(|bytes| bytes as f64)
}

/// Only where a group limits it: the machine's memory is the machine's metric.
fn memory_of_limit(group: &Cgroup) -> Option<f64> {
    let memory = group.memory.as_ref().filter(|memory| memory.is_limited())?;
    part(memory.current_bytes.value(), memory.effective_limit_bytes.value())
}

fn full(mount: &crate::frame::Mount) -> Option<f64> {
    Some(1.0 - part(mount.free_bytes.value(), mount.total_bytes.value())?)
}
