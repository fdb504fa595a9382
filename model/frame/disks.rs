//! Block devices and who writes to them.

use crate::Known;
use crate::document::{Absent, Text, absent, texts};
use serde::Serialize;
use serde_with::apply;
use std::sync::Arc;

/// A block device other than a partition.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Disk {
    /// Its slot in the raw section.
    #[serde(skip)]
    pub slot: usize,
    /// Device number: major << 20 | minor.
    #[serde(skip)]
    pub dev: u64,
    /// Name.
    #[serde_with(skip_apply)]
    #[serde(serialize_with = "Text::serialize")]
    pub name: Arc<str>,
    /// `disk`, `dm`, `md`, `loop`, `zram`, …
    pub kind: Arc<str>,
    /// Underlying devices.
    #[serde(serialize_with = "texts")]
    pub lower: Vec<Arc<str>>,
    /// Model.
    pub model: Arc<str>,
    /// Scheduler in use.
    pub scheduler: Arc<str>,
    /// True if rotational.
    pub rotational: Known<bool>,
    /// True where its cache is write-through or protected against power loss: the kernel sends it no flushes.
    pub write_through: Known<bool>,
    /// Combined depth of its hardware queues.
    pub depth: Option<u64>,
    /// Node of its controller.
    pub node: Known<u32>,
    /// Size.
    pub size_bytes: Known<u64>,
    /// Share of the interval with a request in flight.
    pub utilisation: Option<f64>,
    /// Mean latency of a request; null without requests.
    pub await_ms: Known<f64>,
    /// Mean time of a read.
    pub read_await_ms: Known<f64>,
    /// Mean time of a write.
    pub write_await_ms: Known<f64>,
    /// Mean number of requests in flight.
    pub queue_depth: Option<f64>,
    /// Requests in flight now.
    pub in_flight: Known<u64>,
    /// Bytes.
    pub read_bytes_per_second: Option<f64>,
    /// Bytes.
    pub write_bytes_per_second: Option<f64>,
    /// Requests.
    pub reads_per_second: Option<f64>,
    /// Requests.
    pub writes_per_second: Option<f64>,
    /// Flushes.
    pub flushes_per_second: Option<f64>,
    /// Share of the time in which it flushed its cache; can exceed 1 where flushes overlap.
    pub flush_share: Option<f64>,
    /// Mount points on it, its partitions or devices built on it.
    pub mounts: Vec<Mount>,
    /// Writers, largest first.
    pub writers: Vec<Writer>,
}

/// A mount point.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Mount {
    /// Mount point.
    #[serde_with(skip_apply)]
    #[serde(serialize_with = "Text::serialize")]
    pub path: Arc<str>,
    /// File system.
    pub fs: Arc<str>,
    /// Its size.
    pub total_bytes: Known<u64>,
    /// Free for ordinary users.
    pub free_bytes: Known<u64>,
    /// In use; used + free is less than the size where blocks are reserved.
    pub used_bytes: Known<u64>,
    /// Its inodes; zero if the file system allocates them dynamically.
    pub inodes_total: Known<u64>,
    /// Free inodes.
    pub inodes_free: Known<u64>,
}

impl Mount {
    /// Share of its space in use, as df counts: of what ordinary users may have, without the blocks that are kept back.
    pub fn full(&self) -> Option<f64> {
        let free = self.free_bytes.value()?;
        let usable = self.used_bytes.value().map(|used| used.saturating_add(free)).or(self.total_bytes.value())?;
        (usable > 0).then(|| 1.0 - free.min(usable) as f64 / usable as f64)
    }

    /// Share of its inodes in use; none where it makes them as it needs them and cannot run out of them.
    pub fn inodes_full(&self) -> Option<f64> {
        let (total, free) = (self.inodes_total.value().filter(|total| *total > 0)?, self.inodes_free.value()?);
        Some(1.0 - free.min(total) as f64 / total as f64)
    }
}

/// A cgroup or a process that writes to a disk.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Writer {
    /// Who.
    #[serde(flatten)]
    pub who: WriterId,
    /// Share of the bytes written in the interval.
    pub bytes_share: Option<f64>,
    /// Share of the writes in the interval.
    pub ops_share: Option<f64>,
    /// Bytes written per second.
    pub bytes_per_second: f64,
}

/// A writer's identity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WriterId {
    /// A control group by path: known per device.
    Cgroup(#[serde(serialize_with = "Text::serialize")] Arc<str>),
    /// A process: its writes to any disk, named where the machine has one busy disk only.
    #[serde(rename = "pid")]
    Process(u32),
}

impl Default for WriterId {
    fn default() -> Self {
        Self::Process(0)
    }
}

impl Absent for WriterId {}

/// One of two keys; a choice of schemas would not go with the other keys of a writer.
#[cfg(test)]
impl schemars::JsonSchema for WriterId {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "WriterId".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "object", "properties": {
            "cgroup": {"type": "string", "description": "A control group, by path: its writes to this disk."},
            "pid": {"type": "integer", "minimum": 0, "description": "A process: its writes to all disks together."},
        }})
    }
}

/// The drive that `nvme0c1n1` is a path to: `nvme0n1`.
pub(crate) fn drive_of_path(name: &str) -> Option<String> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (drive, rest) = name.strip_prefix("nvme")?.split_once('c')?;
    let (controller, space) = rest.split_once('n')?;
    [drive, controller, space].into_iter().all(digits).then(|| format!("nvme{drive}n{space}"))
}
