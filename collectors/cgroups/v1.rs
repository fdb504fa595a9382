//! Files of version 1.

use super::files::{FileDef, Pace};
use super::mounts::controller::{ANY, BLKIO, CPU, CPUACCT, CPUSET, MEMORY, PIDS};
use super::take::{self, Cells, device, into, keyed, set, single};
use crate::parse::{fields, lines, number, signed, trim, whole_lines};
use topotop_model::Num;
use topotop_model::tables::cgroups::{CgroupIo, Cgroups};

const fn file(names: &'static [&'static str], of: u8, pace: Pace, take: fn(&[u8], &mut Cells<'_>) -> bool) -> FileDef {
    FileDef { names, of, pace, take, needs: "" }
}

/// From here on a limit means none: kernels print the largest page count in bytes, whatever their page size.
const UNLIMITED: u64 = 0x7fff_ffff_ffff_0000;

/// What is read of a group. `memory.memsw` comes after `memory.limit`: it includes that.
pub(super) static FILES: [FileDef; 33] = [
    file(&["memory.usage_in_bytes"], MEMORY, Pace::Probe, |b, c| single(b, &mut c.table.memory_current_bytes, c.slot)),
    file(&["cpuacct.usage"], CPUACCT, Pace::Probe, cpu_usage),
    file(&["memory.stat"], MEMORY, Pace::Often, memory_stat),
    file(&["memory.failcnt"], MEMORY, Pace::Often, |b, c| single(b, &mut c.table.events_max, c.slot)),
    file(&["memory.oom_control"], MEMORY, Pace::Often, oom_control),
    file(&["memory.numa_stat"], MEMORY, Pace::Seldom, numa_stat),
    file(&["cpu.stat"], CPU, Pace::Often, cpu_stat),
    // Kernels of openEuler, Alibaba and others have pressure by group here.
    file(&["memory.pressure"], CPUACCT, Pace::Often, take::memory_pressure),
    file(&["io.pressure"], CPUACCT, Pace::Often, take::io_pressure),
    file(&["cpu.pressure"], CPUACCT, Pace::Often, take::cpu_pressure),
    file(
        &[
            "blkio.throttle.io_service_bytes_recursive",
            "blkio.throttle.io_service_bytes",
            "blkio.io_service_bytes_recursive",
            "blkio.io_service_bytes",
        ],
        BLKIO,
        Pace::Often,
        io_bytes,
    ),
    file(
        &[
            "blkio.throttle.io_serviced_recursive",
            "blkio.throttle.io_serviced",
            "blkio.io_serviced_recursive",
            "blkio.io_serviced",
        ],
        BLKIO,
        Pace::Often,
        io_serviced,
    ),
    file(&["blkio.throttle.read_bps_device"], BLKIO, Pace::Seldom, |b, c| {
        throttle(b, c, |t| [&mut t.read_bytes_limit])
    }),
    file(&["blkio.throttle.write_bps_device"], BLKIO, Pace::Seldom, |b, c| {
        throttle(b, c, |t| [&mut t.write_bytes_limit])
    }),
    file(&["blkio.throttle.read_iops_device"], BLKIO, Pace::Seldom, |b, c| throttle(b, c, |t| [&mut t.reads_limit])),
    file(&["blkio.throttle.write_iops_device"], BLKIO, Pace::Seldom, |b, c| throttle(b, c, |t| [&mut t.writes_limit])),
    file(&["pids.current"], PIDS, Pace::Often, |b, c| single(b, &mut c.table.pids_current, c.slot)),
    file(&["pids.max"], PIDS, Pace::Seldom, |b, c| single(b, &mut c.table.pids_limit, c.slot)),
    file(&["pids.events"], PIDS, Pace::Often, take::pids_events),
    file(&["memory.limit_in_bytes"], MEMORY, Pace::Seldom, |b, c| limit(b, &mut c.table.memory_limit_bytes, c.slot)),
    file(&["memory.memsw.limit_in_bytes"], MEMORY, Pace::Seldom, swap_limit),
    file(&["memory.max_usage_in_bytes"], MEMORY, Pace::Seldom, |b, c| {
        single(b, &mut c.table.memory_peak_bytes, c.slot)
    }),
    file(&["memory.kmem.usage_in_bytes"], MEMORY, Pace::Seldom, |b, c| single(b, &mut c.table.kernel_bytes, c.slot)),
    file(&["cpu.cfs_quota_us"], CPU, Pace::Seldom, quota),
    file(&["cpu.cfs_period_us"], CPU, Pace::Seldom, |b, c| single(b, &mut c.table.cpu_period_us, c.slot)),
    file(&["cpu.cfs_burst_us"], CPU, Pace::Seldom, |b, c| single(b, &mut c.table.cpu_burst_us, c.slot)),
    file(&["cpu.shares"], CPU, Pace::Seldom, |b, c| single(b, &mut c.table.cpu_weight, c.slot)),
    file(&["cpuset.effective_cpus", "cpuset.cpus", "cpus"], CPUSET, Pace::Seldom, |b, c| {
        set(b, &mut c.table.cpuset_cpus, c.slot)
    }),
    file(&["cpuset.effective_mems", "cpuset.mems", "mems"], CPUSET, Pace::Seldom, |b, c| {
        set(b, &mut c.table.cpuset_mems, c.slot)
    }),
    file(&["memory.pagecache_limit.size"], MEMORY, Pace::Seldom, take::pagecache_limit),
    file(&["memory.pagecache_limit.enable"], MEMORY, Pace::Seldom, take::pagecache_switch),
    file(&["cgroup.procs"], ANY, Pace::Seldom, take::processes),
    file(&["memory.soft_limit_in_bytes"], MEMORY, Pace::Seldom, |b, c| {
        limit(b, &mut c.table.memory_soft_limit_bytes, c.slot)
    }),
];

fn limit(bytes: &[u8], column: &mut Num, slot: usize) -> bool {
    let value = number(trim(bytes));
    match value {
        Some(value) if value >= UNLIMITED => column.set_none(slot),
        value => column.set_or_clear(slot, value),
    }
    value.is_some()
}

/// Swap has no limit of its own here: what memory and swap may have together, without what memory may have.
fn swap_limit(bytes: &[u8], cells: &mut Cells<'_>) -> bool {
    let (table, slot) = (&mut *cells.table, cells.slot);
    let both = number(trim(bytes));
    match (both, table.memory_limit_bytes.value(slot)) {
        (Some(both), _) if both >= UNLIMITED => table.swap_limit_bytes.set_none(slot),
        (Some(both), Some(memory)) => table.swap_limit_bytes.set_or_clear(slot, both.checked_sub(memory)),
        _ => table.swap_limit_bytes.clear(slot),
    }
    both.is_some()
}

fn quota(bytes: &[u8], cells: &mut Cells<'_>) -> bool {
    let value = signed(trim(bytes));
    match value {
        Some(value) if value < 0 => cells.table.cpu_quota_us.set_none(cells.slot),
        value => cells.table.cpu_quota_us.set_or_clear(cells.slot, value.and_then(|value| u64::try_from(value).ok())),
    }
    value.is_some()
}

/// Nanoseconds.
fn cpu_usage(bytes: &[u8], cells: &mut Cells<'_>) -> bool {
    let value = number(trim(bytes));
    cells.table.cpu_usage_us.set_or_clear(cells.slot, value.map(|value| value / 1000));
    value.is_some()
}

fn cpu_stat(bytes: &[u8], cells: &mut Cells<'_>) -> bool {
    let ([periods, throttled, time], whole) = keyed(bytes, [b"nr_periods", b"nr_throttled", b"throttled_time"]);
    let table = &mut *cells.table;
    let values = [periods, throttled, time.map(|time| time / 1000)];
    into(values, [&mut table.cpu_periods, &mut table.cpu_throttled, &mut table.cpu_throttled_us], cells.slot);
    whole
}

fn oom_control(bytes: &[u8], cells: &mut Cells<'_>) -> bool {
    let (values, whole) = keyed(bytes, [b"oom_kill", b"under_oom"]);
    into(values, [&mut cells.table.events_oom_kill, &mut cells.table.under_oom], cells.slot);
    whole
}

/// What is read of `memory.stat`.
const STAT: [&[u8]; 14] = [
    b"rss",
    b"cache",
    b"shmem",
    b"mapped_file",
    b"dirty",
    b"writeback",
    b"inactive_file",
    b"active_file",
    b"unevictable",
    b"swap",
    b"pgmajfault",
    b"workingset_refault_file",
    b"pgpgin",
    b"pgpgout",
];

/// Where it goes.
fn stat_columns(table: &mut Cgroups) -> [&mut Num; 14] {
    [
        &mut table.anon_bytes,
        &mut table.file_bytes,
        &mut table.shmem_bytes,
        &mut table.file_mapped_bytes,
        &mut table.dirty_bytes,
        &mut table.writeback_bytes,
        &mut table.inactive_file_bytes,
        &mut table.active_file_bytes,
        &mut table.unevictable_bytes,
        &mut table.swap_bytes,
        &mut table.pgmajfault,
        &mut table.refault_file,
        &mut table.pgpgin,
        &mut table.pgpgout,
    ]
}

/// The hierarchical `total_*` values. Kernels without them print the plain ones only; a file that was cut before its
/// totals is no such kernel.
fn memory_stat(bytes: &[u8], cells: &mut Cells<'_>) -> bool {
    let (bytes, cut) = whole_lines(bytes);
    let (mut plain, mut total) = ([None; 14], [None; 14]);
    let mut whole = !cut && !bytes.is_empty();
    let mut has_totals = cut;
    let mut hierarchical_limit = None;
    for line in lines(bytes) {
        let mut parts = fields(line);
        let Some(key) = parts.next() else { continue };
        let (values, key) = match key.strip_prefix(b"total_") {
            Some(key) => (&mut total, key),
            None => (&mut plain, key),
        };
        has_totals |= line.starts_with(b"total_");
        if key == b"hierarchical_memory_limit" {
            hierarchical_limit = parts.next();
            continue;
        }
        if let Some((cell, _)) = values.iter_mut().zip(STAT).find(|(_, wanted)| *wanted == key) {
            *cell = parts.next().and_then(number);
            whole &= cell.is_some();
        }
    }
    into(if has_totals { total } else { plain }, stat_columns(cells.table), cells.slot);
    let column = &mut cells.table.memory_hierarchical_limit_bytes;
    limit(hierarchical_limit.unwrap_or_default(), column, cells.slot);
    whole
}

/// Pages, `hierarchical_*` where the kernel has them (Linux 3.19).
fn numa_stat(bytes: &[u8], cells: &mut Cells<'_>) -> bool {
    let (bytes, cut) = whole_lines(bytes);
    let (table, slot) = (&mut *cells.table, cells.slot);
    let mut whole = !cut;
    for (wanted, sum) in [(&b"file"[..], &b"hierarchical_file"[..]), (b"anon", b"hierarchical_anon")] {
        let named = |name: &[u8]| {
            lines(bytes).find(|line| line.strip_prefix(name).is_some_and(|rest| rest.first() == Some(&b'=')))
        };
        // A file that is cut before its totals does not show whether it has any.
        let column = if wanted == b"file" { &mut table.file_by_node } else { &mut table.anon_by_node };
        match named(sum).or_else(|| named(wanted).filter(|_| !cut)) {
            Some(line) => whole &= take::by_node(fields(line).skip(1), cells.page, column, slot),
            None => column.clear(slot),
        }
    }
    whole
}

fn io_bytes(bytes: &[u8], cells: &mut Cells<'_>) -> bool {
    io(bytes, cells, true)
}

fn io_serviced(bytes: &[u8], cells: &mut Cells<'_>) -> bool {
    io(bytes, cells, false)
}

/// `8:0 Read 1`, `8:0 Write 2` and others; at the end `Total 3`.
fn io(bytes: &[u8], cells: &mut Cells<'_>, of_bytes: bool) -> bool {
    let (bytes, cut) = whole_lines(bytes);
    let mut whole = !cut;
    for line in lines(bytes) {
        let mut parts = fields(line);
        let (Some(dev), Some(what)) = (parts.next(), parts.next()) else { continue };
        if dev == b"Total" || !matches!(what, b"Read" | b"Write") {
            continue;
        }
        let (Some(dev), Some(value)) = (device(dev), parts.next().and_then(number)) else {
            whole = false;
            continue;
        };
        let Some(slot) = cells.io.slot(dev) else { return false };
        let table = &mut *cells.io.table;
        let column = match (what, of_bytes) {
            (b"Read", true) => &mut table.read_bytes,
            (b"Read", false) => &mut table.reads,
            (_, true) => &mut table.write_bytes,
            (_, false) => &mut table.writes,
        };
        column.set(slot, value);
    }
    if of_bytes {
        cells.io.keep_seen();
    }
    whole
}

/// `8:16 1048576`; only devices with a limit have a line.
fn throttle(bytes: &[u8], cells: &mut Cells<'_>, column: fn(&mut CgroupIo) -> [&mut Num; 1]) -> bool {
    let (bytes, cut) = whole_lines(bytes);
    let mut whole = !cut;
    let mut found = Vec::new();
    for line in lines(bytes) {
        let mut parts = fields(line);
        let pair = parts.next().and_then(device).zip(parts.next().and_then(number));
        whole &= pair.is_some();
        found.extend(pair.map(|(dev, limit)| (dev, [Some(limit)])));
    }
    cells.io.limits(column, &found);
    whole
}
