//! Two samples of a machine with partitions, a volume and somebody who writes.

use super::derive;
use crate::frame::{Cgroup, CgroupIoRate, Disk, Frame, Process, WriterId};
use crate::{Known, Snapshot, Table, Window};
use std::sync::Arc;

const SECOND: u64 = 1_000_000_000;

/// name, device number, kind, parent, lower.
const DEVICES: [(&str, u64, &str, &str, &str); 7] = [
    ("sda", 1, "disk", "", ""),
    ("sda1", 2, "partition", "sda", ""),
    ("sda2", 3, "partition", "sda", ""),
    ("dm-0", 4, "dm", "", "sda2 dm-1"),
    ("dm-1", 5, "dm", "", "sdb dm-0"),
    ("sdb", 6, "disk", "", ""),
    ("loop0", 7, "loop", "", "/srv/images/x.img"),
];

/// `counters` are sda's: reads, read bytes, read ms, writes, written bytes, write ms, busy ms, weighted ms, flushes.
fn sample(at_ns: u64, counters: [u64; 9]) -> Snapshot {
    with_loop(at_ns, counters, 0)
}

fn with_loop(at_ns: u64, counters: [u64; 9], loop_reads: u64) -> Snapshot {
    let mut snapshot = Snapshot::default();
    let disks = Arc::make_mut(&mut snapshot.disks);
    disks.begin(at_ns);
    let table = disks.data_mut();
    for (name, dev, kind, parent, lower) in DEVICES {
        let slot = table.insert();
        table.dev.set(slot, dev);
        table.name.set(slot, name);
        table.kind.set(slot, kind);
        table.parent.set(slot, parent);
        table.lower.set(slot, lower);
        let values = match name {
            "sda" => counters,
            "loop0" => [loop_reads, 0, 0, 0, 0, 0, 0, 0, 0],
            _ => [0; 9],
        };
        let columns = [
            &mut table.reads,
            &mut table.read_bytes,
            &mut table.read_ms,
            &mut table.writes,
            &mut table.write_bytes,
            &mut table.write_ms,
            &mut table.io_ms,
            &mut table.weighted_io_ms,
            &mut table.flushes,
        ];
        for (column, value) in columns.into_iter().zip(values) {
            column.set(slot, value);
        }
    }
    let mounts = Arc::make_mut(&mut snapshot.mounts);
    mounts.begin(at_ns);
    let table = mounts.data_mut();
    for (dev, path) in [(2, "/boot"), (4, "/"), (4, "/srv"), (99, "/elsewhere")] {
        let slot = table.insert();
        table.dev.set(slot, dev);
        table.path.set(slot, path);
        table.free_bytes.set(slot, 10);
    }
    snapshot
}

fn derived(mut frame: Frame, samples: Vec<Snapshot>) -> Frame {
    let mut window = Window::default();
    for sample in samples {
        window.push(sample);
    }
    derive(&window, &mut frame);
    frame
}

fn busy(frame: Frame) -> Frame {
    let before = [10, 1000, 100, u64::from(u32::MAX), 5000, 50, 4_294_967_000, 0, 7];
    let now = [20, 2000, 150, 29, 7000, 80, 704, 3000, 9];
    derived(frame, vec![sample(SECOND, before), sample(3 * SECOND, now)])
}

fn disk<'a>(frame: &'a Frame, name: &str) -> &'a Disk {
    frame.disks.iter().find(|disk| &*disk.name == name).expect("a disk of that name")
}

#[test]
fn rates_of_the_interval() {
    let frame = busy(Frame::default());
    let names: Vec<&str> = frame.disks.iter().map(|disk| &*disk.name).collect();
    assert_eq!(names, ["dm-0", "dm-1", "sda", "sdb"], "no partitions, no unused loop device");
    let sda = disk(&frame, "sda");
    assert_eq!(sda.utilisation, Some(0.5), "1,000 ms of 2 s, over the wrap of 32 bits");
    assert_eq!(sda.queue_depth, Some(1.5));
    assert_eq!((sda.read_await_ms, sda.write_await_ms), (Known::Value(5.0), Known::Value(1.0)));
    assert_eq!(sda.await_ms, Known::Value(2.0));
    assert_eq!((sda.reads_per_second, sda.writes_per_second), (Some(5.0), Some(15.0)));
    assert_eq!((sda.read_bytes_per_second, sda.write_bytes_per_second), (Some(500.0), Some(1000.0)));
    assert_eq!(sda.flushes_per_second, Some(1.0));
    assert_eq!(disk(&frame, "sdb").await_ms, Known::None, "nothing was asked of it");
    assert_eq!(disk(&frame, "sdb").utilisation, Some(0.0));
}

#[test]
fn one_sample_gives_no_rates() {
    let frame = derived(Frame::default(), vec![sample(SECOND, [1; 9])]);
    let sda = disk(&frame, "sda");
    assert_eq!((sda.utilisation, sda.queue_depth, sda.await_ms), (None, None, Known::Missing));
    assert_eq!(sda.write_bytes_per_second, None);
}

#[test]
fn mounts_reach_the_disks_below() {
    let frame = busy(Frame::default());
    let paths = |name| disk(&frame, name).mounts.iter().map(|mount| mount.path.to_string()).collect::<Vec<_>>();
    assert_eq!(paths("sda"), ["/", "/boot"], "/srv is a bind mount of /");
    assert_eq!(paths("dm-0"), ["/"]);
    assert_eq!(paths("sdb"), ["/"], "through dm-1, although it claims to stand on dm-0 in turn");
    assert_eq!(disk(&frame, "dm-0").lower.len(), 2);
}

#[test]
fn a_loop_device_stands_on_what_its_file_is_on() {
    let frame = derived(Frame::default(), vec![with_loop(SECOND, [1; 9], 3)]);
    let lower: Vec<&str> = disk(&frame, "loop0").lower.iter().map(|name| &**name).collect();
    assert_eq!(lower, ["dm-0"]);
}

fn group(path: &str, bytes: f64, dev: u64) -> Cgroup {
    let io = CgroupIoRate {
        dev,
        write_bytes_per_second: bytes,
        writes_per_second: bytes / 100.0,
        ..CgroupIoRate::default()
    };
    Cgroup { path: path.into(), version: 2, io: vec![io], ..Cgroup::default() }
}

#[test]
fn groups_are_named_by_what_they_wrote_themselves() {
    let cgroups = vec![group("/", 1000.0, 1), group("/a", 900.0, 1), group("/a/b", 800.0, 1), group("/c", 5.0, 6)];
    let processes = vec![Process { pid: 5, write_bytes_per_second: Some(5.0), ..Process::default() }];
    let frame = busy(Frame { cgroups, processes, ..Frame::default() });
    let rows: Vec<_> =
        disk(&frame, "sda").writers.iter().map(|row| (row.who.clone(), row.bytes_share, row.ops_share)).collect();
    let named = |path: &str| WriterId::Cgroup(path.into());
    assert_eq!(rows.len(), 3);
    assert_eq!(rows.first(), Some(&(named("/a/b"), Some(0.8), Some(8.0 / 15.0))));
    assert!(rows.contains(&(named("/a"), Some(0.1), Some(1.0 / 15.0))));
    assert_eq!(disk(&frame, "sdb").writers.first().map(|row| row.who.clone()), Some(named("/c")));
}

#[test]
fn processes_are_named_where_one_disk_is_written_to() {
    let cgroups = vec![group("/", 1000.0, 1)];
    let process = |pid, bytes| Process { pid, write_bytes_per_second: Some(bytes), ..Process::default() };
    let processes = vec![process(5, 250.0), process(6, 500.0), process(7, 0.0)];
    let frame = busy(Frame { cgroups, processes, ..Frame::default() });
    let rows: Vec<_> = disk(&frame, "sda").writers.iter().map(|row| (row.who.clone(), row.bytes_share)).collect();
    assert_eq!(rows, [(WriterId::Process(6), Some(0.5)), (WriterId::Process(5), Some(0.25))]);
    assert!(disk(&frame, "sdb").writers.is_empty());
}

#[test]
fn a_drive_that_counts_nothing_has_what_its_paths_count() {
    let of = |names: [&str; 3], counters: [[u64; 9]; 3], second: u64| {
        let mut snapshot = sample(second * SECOND, [0; 9]);
        let table = Arc::make_mut(&mut snapshot.disks).data_mut();
        for (at, (name, values)) in names.into_iter().zip(counters).enumerate() {
            let slot = table.insert();
            table.dev.set(slot, 100 + at as u64);
            table.name.set(slot, name);
            table.kind.set(slot, "disk");
            let columns = [&mut table.reads, &mut table.read_ms, &mut table.writes, &mut table.io_ms];
            for (column, value) in columns.into_iter().zip([values[0], values[2], values[3], values[6]]) {
                column.set(slot, value);
            }
        }
        snapshot
    };
    let names = ["nvme0n1", "nvme0c0n1", "nvme0c1n1"];
    let path = |reads, ms| [reads, 0, ms, 0, 0, 0, ms, 0, 0];
    let before = of(names, [path(200, 10), path(1000, 100), path(1000, 100)], 1);
    let now = of(names, [path(200, 10), path(1500, 1000), path(1300, 700)], 2);
    let frame = derived(Frame::default(), vec![before.clone(), now]);
    let drive = disk(&frame, "nvme0n1");
    assert_eq!((drive.reads_per_second, drive.utilisation), (Some(800.0), Some(0.9)));
    // From Linux 6.4 it counts by itself.
    let now = of(names, [path(1000, 800), path(1500, 1000), path(1300, 700)], 2);
    let frame = derived(Frame::default(), vec![before, now]);
    assert_eq!(disk(&frame, "nvme0n1").reads_per_second, Some(800.0));
}
