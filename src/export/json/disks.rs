//! Block devices, what is mounted from them and who writes to them.

use super::value::{Text, object, text};
use topotop_model::Known;
use topotop_model::frame::{self, WriterId};

object! {
    pub(crate) Disk {
        name: Text,
        kind: Option<Text>,
        lower: Vec<Text>,
        model: Option<Text>,
        scheduler: Option<Text>,
        rotational: Known<bool>,
        node: Known<u32>,
        size_bytes: Known<u64>,
        utilisation: Option<f64>,
        await_ms: Known<f64>,
        read_await_ms: Known<f64>,
        write_await_ms: Known<f64>,
        queue_depth: Option<f64>,
        in_flight: Known<u64>,
        read_bytes_per_second: Option<f64>,
        write_bytes_per_second: Option<f64>,
        reads_per_second: Option<f64>,
        writes_per_second: Option<f64>,
        flushes_per_second: Option<f64>,
        mounts: Vec<Mount>,
        writers: Vec<Writer>,
    }
}

object! {
    pub(crate) Mount {
        path: Text,
        fs: Option<Text>,
        total_bytes: Known<u64>,
        free_bytes: Known<u64>,
        used_bytes: Known<u64>,
        inodes_total: Known<u64>,
        inodes_free: Known<u64>,
    }
}

object! {
    pub(crate) Writer {
        pid: Option<u32>,
        cgroup: Option<Text>,
        bytes_share: Option<f64>,
        ops_share: Option<f64>,
        bytes_per_second: f64,
    }
}

pub(super) fn disk(disk: &frame::Disk) -> Disk {
    Disk {
        name: Text::from(&disk.name),
        kind: text(&disk.kind),
        lower: disk.lower.iter().map(Text::from).collect(),
        model: text(&disk.model),
        scheduler: text(&disk.scheduler),
        rotational: disk.rotational,
        node: disk.node,
        size_bytes: disk.size_bytes,
        utilisation: disk.utilisation,
        await_ms: disk.await_ms,
        read_await_ms: disk.read_await_ms,
        write_await_ms: disk.write_await_ms,
        queue_depth: disk.queue_depth,
        in_flight: disk.in_flight,
        read_bytes_per_second: disk.read_bytes_per_second,
        write_bytes_per_second: disk.write_bytes_per_second,
        reads_per_second: disk.reads_per_second,
        writes_per_second: disk.writes_per_second,
        flushes_per_second: disk.flushes_per_second,
        mounts: disk.mounts.iter().map(mount).collect(),
        writers: disk.writers.iter().map(writer).collect(),
    }
}

fn mount(mount: &frame::Mount) -> Mount {
    Mount {
        path: Text::from(&mount.path),
        fs: text(&mount.fs),
        total_bytes: mount.total_bytes,
        free_bytes: mount.free_bytes,
        used_bytes: mount.used_bytes,
        inodes_total: mount.inodes_total,
        inodes_free: mount.inodes_free,
    }
}

fn writer(writer: &frame::Writer) -> Writer {
    let (pid, cgroup) = match &writer.who {
        WriterId::Cgroup(path) => (None, Some(Text::from(path))),
        WriterId::Process(pid) => (Some(*pid), None),
    };
    Writer {
        pid,
        cgroup,
        bytes_share: writer.bytes_share,
        ops_share: writer.ops_share,
        bytes_per_second: writer.bytes_per_second,
    }
}
