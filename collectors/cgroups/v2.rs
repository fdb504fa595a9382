//! Files of version 2.

use super::files::{FileDef, Pace};
use super::mounts::controller::{ANY, BLKIO, CPU, CPUACCT, CPUSET, MEMORY, PIDS};
use super::take::{self, Cells, device, into, keyed, set, single};
use crate::parse::{fields, lines, number, trim, whole_lines};
use topotop_model::Num;
use topotop_model::tables::cgroups::{CgroupIo, Cgroups};

const fn file(names: &'static [&'static str], of: u8, pace: Pace, take: fn(&[u8], &mut Cells<'_>) -> bool) -> FileDef {
    FileDef { names, of, pace, take, needs: "" }
}

const fn stalls(names: &'static [&'static str], pace: Pace, take: fn(&[u8], &mut Cells<'_>) -> bool) -> FileDef {
    FileDef { names, of: ANY, pace, take, needs: "psi=1" }
}

/// The files of a group. `of` names the v1 controllers that report the same.
pub(super) static FILES: [FileDef; 27] = [
    file(&["memory.current"], MEMORY, Pace::Probe, |b, c| single(b, &mut c.table.memory_current_bytes, c.slot)),
    file(&["cpu.stat"], CPU | CPUACCT, Pace::Probe, cpu_stat),
    stalls(&["io.pressure"], Pace::Probe, take::io_pressure),
    stalls(&["memory.pressure"], Pace::Often, take::memory_pressure),
    stalls(&["cpu.pressure"], Pace::Often, take::cpu_pressure),
    file(&["memory.stat"], MEMORY, Pace::Often, memory_stat),
    file(&["memory.events"], MEMORY, Pace::Often, memory_events),
    file(&["memory.numa_stat"], MEMORY, Pace::Seldom, numa_stat),
    file(&["memory.swap.current"], MEMORY, Pace::Often, |b, c| single(b, &mut c.table.swap_bytes, c.slot)),
    file(&["io.stat"], BLKIO, Pace::Often, io_stat),
    file(&["io.max"], BLKIO, Pace::Seldom, io_max),
    file(&["pids.current"], PIDS, Pace::Often, |b, c| single(b, &mut c.table.pids_current, c.slot)),
    file(&["pids.max"], PIDS, Pace::Seldom, |b, c| single(b, &mut c.table.pids_limit, c.slot)),
    file(&["pids.events"], PIDS, Pace::Often, take::pids_events),
    file(&["memory.max"], MEMORY, Pace::Seldom, |b, c| single(b, &mut c.table.memory_limit_bytes, c.slot)),
    file(&["memory.high"], MEMORY, Pace::Seldom, |b, c| single(b, &mut c.table.memory_high_bytes, c.slot)),
    file(&["memory.swap.max"], MEMORY, Pace::Seldom, |b, c| single(b, &mut c.table.swap_limit_bytes, c.slot)),
    file(&["memory.peak"], MEMORY, Pace::Seldom, |b, c| single(b, &mut c.table.memory_peak_bytes, c.slot)),
    file(&["cpu.max"], CPU, Pace::Seldom, cpu_max),
    file(&["cpu.max.burst"], CPU, Pace::Seldom, |b, c| single(b, &mut c.table.cpu_burst_us, c.slot)),
    file(&["cpu.weight"], CPU, Pace::Seldom, |b, c| single(b, &mut c.table.cpu_weight, c.slot)),
    file(&["cpuset.cpus.effective"], CPUSET, Pace::Seldom, |b, c| set(b, &mut c.table.cpuset_cpus, c.slot)),
    file(&["cpuset.mems.effective"], CPUSET, Pace::Seldom, |b, c| set(b, &mut c.table.cpuset_mems, c.slot)),
    file(&["cpuset.cpus.partition"], CPUSET, Pace::Seldom, partition),
    file(&["cgroup.procs"], ANY, Pace::Seldom, take::processes),
    file(&["memory.pagecache_limit.size"], MEMORY, Pace::Seldom, take::pagecache_limit),
    file(&["memory.pagecache_limit.enable"], MEMORY, Pace::Seldom, take::pagecache_switch),
];

/// What is read of `memory.stat`: the columns' keys in their order, then what stands in for the last two.
const STAT: [&[u8]; 24] = [
    b"anon",
    b"file",
    b"shmem",
    b"file_mapped",
    b"file_dirty",
    b"file_writeback",
    b"inactive_file",
    b"active_file",
    b"unevictable",
    b"slab_reclaimable",
    b"slab_unreclaimable",
    b"pgmajfault",
    b"pgscan",
    b"pgsteal",
    b"pgscan_direct",
    b"pgsteal_direct",
    b"workingset_refault_file",
    b"kernel",
    b"workingset_refault",
    b"kernel_stack",
    b"slab",
    b"percpu",
    b"sock",
    b"pagetables",
];

/// Where it goes.
fn stat_columns(table: &mut Cgroups) -> [&mut Num; 18] {
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
        &mut table.slab_reclaimable_bytes,
        &mut table.slab_unreclaimable_bytes,
        &mut table.pgmajfault,
        &mut table.pgscan,
        &mut table.pgsteal,
        &mut table.pgscan_direct,
        &mut table.pgsteal_direct,
        &mut table.refault_file,
        &mut table.kernel_bytes,
    ]
}

fn memory_stat(bytes: &[u8], cells: &mut Cells<'_>) -> bool {
    let (values, whole) = keyed(bytes, STAT);
    let mut columns = [None; 18];
    columns.iter_mut().zip(values).for_each(|(column, value)| *column = value);
    let [.., kernel, refault, stack, slab, percpu, sock, tables] = values;
    // Before Linux 5.18 there is no sum of kernel memory; the parts that a kernel lacks are in none of the others.
    let parts = [percpu, sock, tables].into_iter().flatten();
    let sum = stack
        .zip(slab)
        .and_then(|(stack, slab)| parts.fold(stack.checked_add(slab), |sum, part| sum?.checked_add(part)));
    // Before Linux 5.9 there was one counter for all refaults.
    let [.., refault_file, kernel_sum] = &mut columns;
    *refault_file = refault_file.or(refault);
    *kernel_sum = kernel.or(sum.filter(|_| whole));
    into(columns, stat_columns(cells.table), cells.slot);
    whole
}

fn memory_events(bytes: &[u8], cells: &mut Cells<'_>) -> bool {
    let (values, whole) = keyed(bytes, [b"high", b"max", b"oom", b"oom_kill"]);
    let table = &mut *cells.table;
    let columns = [&mut table.events_high, &mut table.events_max, &mut table.events_oom, &mut table.events_oom_kill];
    into(values, columns, cells.slot);
    whole
}

fn numa_stat(bytes: &[u8], cells: &mut Cells<'_>) -> bool {
    let (bytes, cut) = whole_lines(bytes);
    let (table, slot) = (&mut *cells.table, cells.slot);
    let mut whole = !cut;
    for (wanted, column) in [(b"anon", &mut table.anon_by_node), (b"file", &mut table.file_by_node)] {
        match lines(bytes).map(fields).find_map(|mut parts| (parts.next() == Some(wanted)).then_some(parts)) {
            Some(parts) => whole &= take::by_node(parts, 1, column, slot),
            None => column.clear(slot),
        }
    }
    whole
}

/// Also without the CPU controller: then there is only the time used.
fn cpu_stat(bytes: &[u8], cells: &mut Cells<'_>) -> bool {
    let (values, whole) = keyed(bytes, [b"usage_usec", b"nr_periods", b"nr_throttled", b"throttled_usec"]);
    let table = &mut *cells.table;
    let columns =
        [&mut table.cpu_usage_us, &mut table.cpu_periods, &mut table.cpu_throttled, &mut table.cpu_throttled_us];
    into(values, columns, cells.slot);
    whole
}

fn cpu_max(bytes: &[u8], cells: &mut Cells<'_>) -> bool {
    let mut parts = fields(trim(bytes));
    let (table, slot) = (&mut *cells.table, cells.slot);
    let whole = single(parts.next().unwrap_or_default(), &mut table.cpu_quota_us, slot);
    let period = parts.next().and_then(number);
    table.cpu_period_us.set_or_clear(slot, period);
    whole && period.is_some()
}

fn partition(bytes: &[u8], cells: &mut Cells<'_>) -> bool {
    match trim(bytes) {
        b"" => cells.table.cpuset_partition.clear(cells.slot),
        text => cells.table.cpuset_partition.set(cells.slot, &crate::parse::text(text)),
    }
    true
}

/// `8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0`; a device without I/O may have no values.
fn io_stat(bytes: &[u8], cells: &mut Cells<'_>) -> bool {
    let (bytes, cut) = whole_lines(bytes);
    let mut whole = !cut;
    for line in lines(bytes) {
        let mut parts = fields(line);
        let Some(dev) = parts.next().and_then(device) else {
            whole = false;
            continue;
        };
        let mut values = [None; 4];
        for part in parts {
            for (cell, key) in values.iter_mut().zip([&b"rbytes="[..], b"wbytes=", b"rios=", b"wios="]) {
                if let Some(digits) = part.strip_prefix(key) {
                    *cell = number(digits);
                    whole &= cell.is_some();
                }
            }
        }
        if values == [None; 4] {
            continue;
        }
        let Some(slot) = cells.io.slot(dev) else { return false };
        let table = &mut *cells.io.table;
        into(values, [&mut table.read_bytes, &mut table.write_bytes, &mut table.reads, &mut table.writes], slot);
    }
    cells.io.keep_seen();
    whole
}

/// `8:16 rbps=2097152 wbps=max riops=max wiops=120`; only devices with a limit have a line.
fn io_max(bytes: &[u8], cells: &mut Cells<'_>) -> bool {
    let (bytes, cut) = whole_lines(bytes);
    let mut whole = !cut;
    let mut found = Vec::new();
    for line in lines(bytes) {
        let mut parts = fields(line);
        let Some(dev) = parts.next().and_then(device) else {
            whole = false;
            continue;
        };
        let mut limits = [None; 4];
        for part in parts {
            for (cell, key) in limits.iter_mut().zip([&b"rbps="[..], b"wbps=", b"riops=", b"wiops="]) {
                if let Some(value) = part.strip_prefix(key) {
                    *cell = number(value);
                    whole &= cell.is_some() || value == b"max";
                }
            }
        }
        found.push((dev, limits));
    }
    cells.io.limits(limit_columns, &found);
    whole
}

fn limit_columns(table: &mut CgroupIo) -> [&mut Num; 4] {
    [&mut table.read_bytes_limit, &mut table.write_bytes_limit, &mut table.reads_limit, &mut table.writes_limit]
}
