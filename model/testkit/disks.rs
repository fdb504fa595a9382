//! Disks of the made-up machines.

use super::GIB;
use super::machine::Shape;
use crate::Known;
use crate::frame::{Disk, Frame, Mount, Writer, WriterId};

/// A busy system disk, a saturated write-ahead log, an idle store.
pub(super) fn server(frame: &mut Frame, second: u64) {
    let trouble = Shape::SERVER.trouble(second);
    let mut wal = disk("nvme1n1", 0.14 + 0.84 * trouble, 0.4 + 11.0 * trouble, 48e6 * trouble, "/var/lib/postgresql");
    wal.flushes_per_second = Some(1_450.0 * trouble);
    wal.queue_depth = Some(0.2 + 31.0 * trouble);
    wal.writers = vec![
        writer(WriterId::Cgroup("/system.slice/postgresql.service".into()), 0.93),
        writer(WriterId::Process(7741), 0.05),
    ];
    frame.disks = vec![disk("nvme0n1", 0.21, 0.3, 9e6, "/"), wal, disk("sda", 0.0, 0.0, 0.0, "/backup")];
}

pub(super) fn tiny(frame: &mut Frame) {
    frame.disks = vec![disk("vda", 0.04, 1.2, 220e3, "/")];
}

fn disk(name: &str, utilisation: f64, await_ms: f64, writes: f64, mount: &str) -> Disk {
    let idle = utilisation == 0.0;
    let await_ms = if idle { Known::None } else { Known::Value(await_ms) };
    Disk {
        name: name.into(),
        kind: "disk".into(),
        model: "SAMSUNG MZQL21T9HCJR".into(),
        scheduler: "none".into(),
        rotational: name.starts_with("sd").into(),
        node: 0.into(),
        size_bytes: (1_800 * GIB).into(),
        utilisation: Some(utilisation),
        await_ms,
        read_await_ms: await_ms,
        write_await_ms: await_ms,
        queue_depth: Some(utilisation * 1.3),
        in_flight: 0.into(),
        read_bytes_per_second: Some(writes / 40.0),
        write_bytes_per_second: Some(writes),
        reads_per_second: Some(writes / 400_000.0),
        writes_per_second: Some(writes / 16_000.0),
        flushes_per_second: Some(if idle { 0.0 } else { 12.0 }),
        mounts: vec![Mount {
            path: mount.into(),
            fs: "ext4".into(),
            total_bytes: (1_700 * GIB).into(),
            free_bytes: (900 * GIB).into(),
            ..Mount::default()
        }],
        ..Disk::default()
    }
}

fn writer(who: WriterId, share: f64) -> Writer {
    Writer { who, bytes_share: Some(share), ops_share: Some(share), bytes_per_second: share * 48e6 }
}
