//! Block devices: how busy each is, how long requests take, what is mounted from it and who writes.

mod stack;
mod writers;

use super::rates::Pair;
use crate::frame::{Disk, Frame, drive_of_path};
use crate::tables::disks::Disks;
use crate::{Known, Num, Table, Window};
use stack::Stack;

pub(super) fn derive(window: &Window, frame: &mut Frame) {
    let Some(pair) = Pair::new(&window.now.disks, &window.before.disks) else { return };
    let stack = Stack::new(pair.now, window.now.mounts.value());
    let mounts = stack.mounts();
    let shown = pair.now.rows().iter().filter(|&slot| !is_partition(pair.now, slot));
    let mut disks: Vec<Disk> = shown
        .filter_map(|slot| {
            let mounts = mounts.get(&slot).cloned().unwrap_or_default();
            if mounts.is_empty() && unused(pair.now, slot) {
                return None;
            }
            Some(Disk { mounts, ..disk(&pair, slot, &stack)? })
        })
        .collect();
    writers::attribute(&mut disks, &stack, frame);
    disks.sort_by(|a, b| a.name.cmp(&b.name));
    frame.disks = disks;
}

fn is_partition(table: &Disks, slot: usize) -> bool {
    table.kind.get(slot).is_some_and(|kind| &**kind == "partition")
}

/// Devices that the kernel keeps ready and nobody has used: loop0, ram3, nbd5, an empty drive.
fn unused(table: &Disks, slot: usize) -> bool {
    let none = |column: &Num| column.value(slot).is_none_or(|value| value == 0);
    let idle = none(&table.reads) && none(&table.writes);
    let kind = table.kind.or_empty(slot);
    idle && (table.size_bytes.value(slot) == Some(0) || matches!(&*kind, "loop" | "ram" | "zram" | "rom"))
}

fn disk(pair: &Pair<'_, Disks>, slot: usize, stack: &Stack<'_>) -> Option<Disk> {
    let table = pair.now;
    let elapsed_ms = pair.elapsed_ns() as f64 / 1e6;
    // Counts are the machine's words and times 32 bits in the kernel's output.
    let slots = counted(pair, slot);
    let sum = |of: &dyn Fn(usize) -> Option<f64>| slots.iter().map(|&slot| of(slot)).sum::<Option<f64>>();
    let gain = |column: fn(&Disks) -> &Num| sum(&|slot| pair.gain_u32(slot, column).map(|gained| gained as f64));
    let share = |column| gain(column).filter(|_| elapsed_ms > 0.0).map(|gained| gained / elapsed_ms);
    let busy_ms = slots.iter().filter_map(|&slot| pair.gain_u32(slot, |table| &table.io_ms)).max();
    let rate = |column: fn(&Disks) -> &Num| sum(&|slot| pair.rate_u32(slot, column));
    let bytes = |column: fn(&Disks) -> &Num| sum(&|slot| pair.rate(slot, column));
    let (reads, writes) = (gain(|table| &table.reads), gain(|table| &table.writes));
    let (read_ms, write_ms) = (gain(|table| &table.read_ms), gain(|table| &table.write_ms));
    let both = |a: Option<f64>, b: Option<f64>| Some(a? + b?);
    Some(Disk {
        slot,
        dev: table.dev.value(slot)?,
        name: table.name.or_empty(slot),
        kind: table.kind.or_empty(slot),
        lower: stack.lower_names(slot),
        model: table.model.or_empty(slot),
        scheduler: table.scheduler.or_empty(slot),
        rotational: table.rotational.get(slot).map(|value| value == 1),
        write_through: match table.write_cache.get(slot).map(|cache| &**cache) {
            Some("write through") => Known::Value(true),
            Some("write back") => Known::Value(false),
            _ => Known::Missing,
        },
        depth: table.depth.value(slot),
        node: table.node.id(slot),
        size_bytes: table.size_bytes.get(slot),
        utilisation: busy_ms.filter(|_| elapsed_ms > 0.0).map(|gained| (gained as f64 / elapsed_ms).min(1.0)),
        await_ms: mean(both(read_ms, write_ms), both(reads, writes)),
        read_await_ms: mean(read_ms, reads),
        write_await_ms: mean(write_ms, writes),
        queue_depth: share(|table| &table.weighted_io_ms),
        in_flight: slots.first().map_or(Known::Missing, |&slot| table.in_flight.get(slot)),
        read_bytes_per_second: bytes(|table| &table.read_bytes),
        write_bytes_per_second: bytes(|table| &table.write_bytes),
        reads_per_second: rate(|table| &table.reads),
        writes_per_second: rate(|table| &table.writes),
        flushes_per_second: rate(|table| &table.flushes),
        flush_share: share(|table| &table.flush_ms),
        ..Disk::default()
    })
}

/// The rows that count a device's requests: those of the paths of a multipath NVMe drive where it counts none itself
/// (before Linux 6.4).
fn counted(pair: &Pair<'_, Disks>, slot: usize) -> Vec<usize> {
    let table = pair.now;
    let columns: [fn(&Disks) -> &Num; 2] = [|table| &table.reads, |table| &table.writes];
    let counts = |slot: usize| columns.iter().any(|column| pair.gain_u32(slot, column) != Some(0));
    let name = table.name.or_empty(slot);
    if !name.starts_with("nvme") || counts(slot) {
        return vec![slot];
    }
    let drive = |path: usize| table.name.get(path).and_then(|name| drive_of_path(name));
    let is_own = |path: &usize| drive(*path).as_deref() == Some(&*name);
    let paths: Vec<usize> = table.rows().iter().filter(is_own).filter(|path| counts(*path)).collect();
    if paths.is_empty() { vec![slot] } else { paths }
}

/// Time per request: none without requests.
fn mean(time: Option<f64>, count: Option<f64>) -> Known<f64> {
    match (time, count) {
        (Some(_), Some(0.0)) => Known::None,
        (Some(time), Some(count)) => Known::Value(time / count),
        _ => Known::Missing,
    }
}

#[cfg(test)]
mod tests;
