//! A limit of a group's I/O on a disk as it is written: a line of a file, or a property of a systemd unit.

use super::group::{Group, Named, show};
use super::shell::quoted;
use super::{Case, Plan, Step, Target};
use crate::Known;
use crate::frame::IoLimits;
use crate::locale::Text;
use crate::locale::fix::io_limit as text;
use crate::locale::fix::io_limit_raise as raise;

/// What is limited, a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limited {
    ReadBytes,
    WriteBytes,
    Reads,
    Writes,
}

impl Limited {
    /// By its name in frames.
    pub(super) fn of(what: &str) -> Self {
        match what {
            "read_bytes" => Self::ReadBytes,
            "write_bytes" => Self::WriteBytes,
            "reads" => Self::Reads,
            _ => Self::Writes,
        }
    }

    pub(super) fn is_bytes(self) -> bool {
        matches!(self, Self::ReadBytes | Self::WriteBytes)
    }

    pub(super) fn is_written(self) -> bool {
        matches!(self, Self::WriteBytes | Self::Writes)
    }

    /// Its file in version 1, its key in `io.max`, and its property of a unit: systemd applies limits of requests to
    /// version 2 only.
    fn names(self, version: u32) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::ReadBytes => ("blkio.throttle.read_bps_device", "rbps", "IOReadBandwidthMax"),
            Self::WriteBytes => ("blkio.throttle.write_bps_device", "wbps", "IOWriteBandwidthMax"),
            Self::Reads => {
                ("blkio.throttle.read_iops_device", "riops", if version == 1 { "" } else { "IOReadIOPSMax" })
            }
            Self::Writes => {
                ("blkio.throttle.write_iops_device", "wiops", if version == 1 { "" } else { "IOWriteIOPSMax" })
            }
        }
    }
}

/// A limit of a group on a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IoLimit {
    pub(super) limited: Limited,
    pub(super) value: u64,
}

impl IoLimit {
    pub(super) fn text(self) -> String {
        let count = &self.value;
        match self.limited {
            Limited::ReadBytes | Limited::WriteBytes => format!("{}/s", show(self.value)),
            Limited::Reads => raise::LimitReads { count }.to_string(),
            Limited::Writes => text::LimitWrites { count }.to_string(),
        }
    }

    /// The same, with what the bytes are of.
    pub(super) fn in_full(self) -> String {
        match self.limited {
            Limited::ReadBytes => raise::BytesRead { size: &show(self.value) }.to_string(),
            Limited::WriteBytes => raise::BytesWritten { size: &show(self.value) }.to_string(),
            Limited::Reads | Limited::Writes => self.text(),
        }
    }

    /// Its file, the value that is written after the number of the disk, and the property of a unit; empty for none.
    fn setting(self, version: u32) -> (&'static str, String, &'static str) {
        let (file, key, property) = self.limited.names(version);
        match version {
            1 => (file, self.value.to_string(), property),
            _ => ("io.max", format!("{key}={}", self.value), property),
        }
    }

    /// What a unit has instead of it; empty where systemd has no such property.
    pub(super) fn by_unit(self, disk: &str, version: u32) -> String {
        let (_, _, property) = self.setting(version);
        if property.is_empty() { String::new() } else { format!("{property}=/dev/{disk} {}", self.value) }
    }

    /// True where the group has another limit of I/O, of this disk or of another one.
    fn has_others(self, group: &Group<'_>, number: &str) -> bool {
        group.cgroup.io.iter().any(|row| {
            let is_disk = format!("{}:{}", row.dev >> 20, row.dev & 0xf_ffff) == number;
            let IoLimits { read_bytes, write_bytes, reads, writes } = row.limits;
            let all = [
                (Limited::ReadBytes, read_bytes),
                (Limited::WriteBytes, write_bytes),
                (Limited::Reads, reads),
                (Limited::Writes, writes),
            ];
            let is_set = |limit: Known<u64>| limit.value().is_some_and(|limit| limit > 0);
            all.into_iter().any(|(limited, limit)| is_set(limit) && !(is_disk && limited == self.limited))
        })
    }

    /// The commands, step and undo of a plan that sets it; `old` is the limit that undo puts back, none for no limit.
    pub(super) fn write(self, case: &Case<'_>, place: &Place<'_>, old: Option<Self>, plan: &mut Plan) {
        let Place { group, disk, number, step } = place;
        let (file, value, property) = self.setting(group.version);
        // systemd writes all limits of a disk at once, those that its unit does not know as none.
        let property = if group.version == 2 && self.has_others(group, number) { "" } else { property };
        let by_unit = format!("/dev/{disk} {}", self.value);
        let line = format!("{number} {value}");
        let named = (Named { name: file, value: &line }, Named { name: property, value: &by_unit });
        let setting = group.setting(case, step, &value, &named.0, &named.1);
        if matches!(setting.step.target, Target::UnitProperty { .. }) {
            plan.commands = vec![format!(
                "systemctl set-property --runtime {} {}",
                quoted(group.unit().unwrap_or_default()),
                quoted(&format!("{property}={by_unit}"))
            )];
            plan.undo = text::UndoUnit { property: &property }.to_string();
            plan.breaks.push(text::BreaksUnit { property: &property }.to_string());
            plan.steps = vec![setting.step];
            plan.kept = setting.kept;
            plan.kept.push(Target::Line { path: group.file(file), key: (*number).to_owned() });
            return;
        }
        let path = group.file(file);
        plan.undo = match old {
            Some(old) => {
                format!("echo {} > {}", quoted(&format!("{number} {}", old.setting(group.version).1)), quoted(&path))
            }
            None if group.version == 1 => undo_to(&format!("{number} 0"), &path),
            None => undo_to(&format!("{number} {}=max", value.split('=').next().unwrap_or_default()), &path),
        };
        plan.commands = vec![setting.command];
        let target = Target::Line { path, key: (*number).to_owned() };
        plan.steps = vec![Step::new(step.to_string(), target, value)];
    }
}

fn undo_to(none: &str, path: &str) -> String {
    text::UndoFile { value: &quoted(none), path: &quoted(path) }.to_string()
}

/// Where a limit is set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) group: &'a Group<'a>,
    /// The disk and its number: `sdb`, `8:16`.
    pub(super) disk: &'a str,
    pub(super) number: &'a str,
    /// What the step is called.
    pub(super) step: Text,
}
