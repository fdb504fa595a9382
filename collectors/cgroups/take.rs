//! What both versions share: the row that is written to, single numbers, keys with values, numbers by node.

use crate::parse::{fields, lines, number, trim, whole_lines};
use crate::pressure;
use std::sync::Arc;
use topotop_model::tables::cgroups::{CgroupIo, Cgroups};
use topotop_model::{IdSet, Num, Sets, Sparse, Table};

/// The row of a group.
#[derive(Debug)]
pub(super) struct Cells<'a> {
    /// The table.
    pub(super) table: &'a mut Cgroups,
    /// The row.
    pub(super) slot: usize,
    /// Its devices.
    pub(super) io: Io<'a>,
    /// Bytes of a page.
    pub(super) page: u64,
}

/// A device that a group did I/O on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Device {
    dev: u64,
    /// Its row.
    pub(super) slot: usize,
    seen: bool,
    /// True while it has a limit there: then it keeps its row without any I/O.
    limited: bool,
}

/// The rows of a group's devices.
#[derive(Debug)]
pub(super) struct Io<'a> {
    /// The table.
    pub(super) table: &'a mut CgroupIo,
    /// Devices of this group.
    pub(super) rows: &'a mut Vec<Device>,
    /// Path of the group.
    pub(super) path: &'a Arc<str>,
}

/// The most devices of one group.
const MOST_DEVICES: usize = 4096;

impl Io<'_> {
    /// The slot of a device, seen in this reading.
    pub(super) fn slot(&mut self, dev: u64) -> Option<usize> {
        if let Some(row) = self.rows.iter_mut().find(|row| row.dev == dev) {
            row.seen = true;
            return Some(row.slot);
        }
        if self.rows.len() >= MOST_DEVICES {
            return None;
        }
        let slot = self.table.insert();
        self.table.path.set_shared(slot, self.path);
        self.table.dev.set(slot, dev);
        self.rows.push(Device { dev, slot, seen: true, limited: false });
        Some(slot)
    }

    /// Drops the devices that were not seen since the last call.
    pub(super) fn keep_seen(&mut self) {
        let table = &mut *self.table;
        self.rows.retain_mut(|row| {
            let stays = std::mem::take(&mut row.seen) || row.limited;
            if !stays {
                table.remove(row.slot);
            }
            stays
        });
    }

    /// Says what limits of a kind there are: a device that is not listed has none.
    pub(super) fn limits<const N: usize>(
        &mut self,
        columns: fn(&mut CgroupIo) -> [&mut Num; N],
        found: &[(u64, [Option<u64>; N])],
    ) {
        for row in self.rows.iter() {
            for column in columns(self.table) {
                column.set_none(row.slot);
            }
        }
        for (dev, limits) in found {
            let known = self.rows.iter().any(|row| row.dev == *dev);
            let Some(slot) = self.slot(*dev).filter(|_| known || limits.iter().any(Option::is_some)) else { continue };
            for (column, limit) in columns(self.table).into_iter().zip(limits) {
                column.set_or_none(slot, *limit);
            }
        }
        for row in self.rows.iter_mut() {
            let table = &*self.table;
            let all = [&table.read_bytes_limit, &table.write_bytes_limit, &table.reads_limit, &table.writes_limit];
            row.limited = all.iter().any(|column| column.value(row.slot).is_some());
        }
    }
}

/// A device number such as `8:16`.
pub(super) fn device(field: &[u8]) -> Option<u64> {
    let mut parts = field.splitn(2, |&byte| byte == b':');
    let (major, minor) = (number(parts.next()?)?, number(parts.next()?)?);
    (major < 1 << 12 && minor < 1 << 20).then_some(major << 20 | minor)
}

/// Takes a file of one number or `max`; an empty one clears.
pub(super) fn single(bytes: &[u8], column: &mut Num, slot: usize) -> bool {
    match trim(bytes) {
        b"max" => column.set_none(slot),
        text => {
            let value = number(text);
            column.set_or_clear(slot, value);
            return value.is_some();
        }
    }
    true
}

/// Takes a file of one cpulist or node list.
pub(super) fn set(bytes: &[u8], column: &mut Sets, slot: usize) -> bool {
    let parsed = std::str::from_utf8(trim(bytes)).ok().filter(|_| !bytes.is_empty()).and_then(IdSet::parse_list);
    let whole = parsed.is_some();
    match parsed {
        Some(ids) => column.set(slot, ids),
        None => column.clear(slot),
    }
    whole
}

/// The values of keys in a file of `key value` lines, in any order; unknown keys are passed over. False when a line of
/// a wanted key was damaged or the file was cut.
pub(super) fn keyed<const N: usize>(bytes: &[u8], keys: [&[u8]; N]) -> ([Option<u64>; N], bool) {
    let (bytes, cut) = whole_lines(bytes);
    let mut values = [None; N];
    let mut whole = !cut && !bytes.is_empty();
    for line in lines(bytes) {
        let mut parts = fields(line);
        let Some(key) = parts.next() else { continue };
        if let Some((cell, _)) = values.iter_mut().zip(keys).find(|(_, wanted)| *wanted == key) {
            *cell = parts.next().and_then(number);
            whole &= cell.is_some();
        }
    }
    (values, whole)
}

/// Takes a file of `key value` lines into columns; what it lacks is cleared.
pub(super) fn into<const N: usize>(values: [Option<u64>; N], columns: [&mut Num; N], slot: usize) {
    for (column, value) in columns.into_iter().zip(values) {
        column.set_or_clear(slot, value);
    }
}

/// Takes the `N0=1 N1=2` of a line, each times `unit`; false when one is damaged: then the row is cleared.
pub(super) fn by_node<'a>(parts: impl Iterator<Item = &'a [u8]>, unit: u64, column: &mut Sparse, slot: usize) -> bool {
    let pair = |part: &[u8]| {
        let mut sides = part.strip_prefix(b"N")?.splitn(2, |&byte| byte == b'=');
        let node = u32::try_from(number(sides.next()?)?).ok()?;
        Some((node, number(sides.next()?)?.checked_mul(unit)?))
    };
    let mut whole = true;
    column.set(
        slot,
        parts.map_while(|part| {
            let parsed = pair(part);
            whole &= parsed.is_some();
            parsed
        }),
    );
    if !whole {
        column.clear(slot);
    }
    whole
}

/// Takes a file of process ids.
pub(super) fn processes(bytes: &[u8], cells: &mut Cells<'_>) -> bool {
    let (whole, cut) = whole_lines(bytes);
    let slot = cells.slot;
    if cut {
        cells.table.processes.clear(slot);
        cells.table.only_pid.clear(slot);
        return false;
    }
    let mut pids = lines(whole);
    let (first, more) = (pids.next().and_then(number), pids.count() as u64);
    let any = !whole.is_empty();
    cells.table.processes.set(slot, more + u64::from(any));
    // Zero means a process of another PID namespace.
    cells.table.only_pid.set_or_none(slot, first.filter(|&pid| pid > 0 && more == 0));
    !any || first.is_some()
}

/// Takes a pressure file into four columns: totals of some and full, averages of some and full.
fn stall(bytes: &[u8], columns: [&mut Num; 4], slot: usize) -> bool {
    let (stall, whole) = pressure::parse(bytes);
    let totals = [stall.some, stall.full].map(|line| line.map(|line| line.total_us));
    let averages = [stall.some, stall.full].map(|line| line.map(|line| line.avg10));
    let [some, full] = totals;
    let [some_avg10, full_avg10] = averages;
    into([some, full, some_avg10, full_avg10], columns, slot);
    whole
}

/// Takes the pressure on CPUs.
pub(super) fn cpu_pressure(bytes: &[u8], cells: &mut Cells<'_>) -> bool {
    let table = &mut *cells.table;
    let columns =
        [&mut table.cpu_some_us, &mut table.cpu_full_us, &mut table.cpu_some_avg10, &mut table.cpu_full_avg10];
    stall(bytes, columns, cells.slot)
}

/// Takes the pressure on memory.
pub(super) fn memory_pressure(bytes: &[u8], cells: &mut Cells<'_>) -> bool {
    let table = &mut *cells.table;
    let columns = [
        &mut table.memory_some_us,
        &mut table.memory_full_us,
        &mut table.memory_some_avg10,
        &mut table.memory_full_avg10,
    ];
    stall(bytes, columns, cells.slot)
}

/// Takes the pressure on disks.
pub(super) fn io_pressure(bytes: &[u8], cells: &mut Cells<'_>) -> bool {
    let table = &mut *cells.table;
    let columns = [&mut table.io_some_us, &mut table.io_full_us, &mut table.io_some_avg10, &mut table.io_full_avg10];
    stall(bytes, columns, cells.slot)
}

/// Takes the limit on page cache that some distributions' kernels have: none while it is zero.
pub(super) fn pagecache_limit(bytes: &[u8], cells: &mut Cells<'_>) -> bool {
    let column = &mut cells.table.pagecache_limit_bytes;
    let whole = single(bytes, column, cells.slot);
    if column.value(cells.slot) == Some(0) {
        column.set_none(cells.slot);
    }
    whole
}

/// Takes the switch of that limit: off is no limit.
pub(super) fn pagecache_switch(bytes: &[u8], cells: &mut Cells<'_>) -> bool {
    if number(trim(bytes)) == Some(0) {
        cells.table.pagecache_limit_bytes.set_none(cells.slot);
    }
    true
}

/// How often tasks were refused.
pub(super) fn pids_events(bytes: &[u8], cells: &mut Cells<'_>) -> bool {
    let ([max], whole) = keyed(bytes, [b"max"]);
    cells.table.pids_events_max.set_or_clear(cells.slot, max);
    whole
}
