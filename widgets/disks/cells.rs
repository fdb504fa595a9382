//! Cells of the disk table, writers, and the pressure line.

use super::Row;
use crate::parts::units::{self, Short};
use crate::parts::{Pen, mark, names};
use crate::{Charset, Cx, Role};
use topotop_model::Known;
use topotop_model::frame::{Disk, Mount, Writer, WriterId};
use topotop_model::locale::screen::disks as text;
use topotop_model::locale::screen::shared;
use topotop_model::text::short_ids;

const FILE: &str = "diskstats";

pub(super) fn name(cx: &Cx<'_>, disk: &Disk, row: Row, pen: &mut Pen<'_>) {
    if row.depth > 0 {
        pen.skip((row.depth - 1).saturating_mul(2).min(pen.left() / 2));
        pen.text(Role::Dim, if cx.charset == Charset::Unicode { "└ " } else { "` " });
    }
    pen.text(Role::Text, &disk.name);
    if disk.lower.len() > 1 {
        pen.skip(1).text(Role::Dim, &text::On { disks: &disk.lower.join("+") }.to_string());
    }
}

/// How long the device was busy: a bar and a number.
pub(super) fn utilisation(disk: &Disk, pen: &mut Pen<'_>) {
    let width = pen.left().saturating_sub(5);
    let Some(share) = disk.utilisation else {
        pen.unread(FILE);
        return;
    };
    if width >= 3 {
        pen.bar(width, Some(share)).skip(1);
    }
    pen.number(Role::heat(share), 4, &units::percent(share));
}

/// A mean time; how slow is slow depends on what spins.
pub(super) fn wait(disk: &Disk, value: Known<f64>, pen: &mut Pen<'_>) {
    let (slow, very) = if disk.rotational == Known::Value(true) { (40.0, 150.0) } else { (10.0, 50.0) };
    pen.value(value, "—", FILE, |ms| {
        let role = match ms {
            ms if ms >= very => Role::Critical,
            ms if ms >= slow => Role::Warn,
            _ => Role::Text,
        };
        (units::millis(ms), role)
    });
}

pub(super) fn number(value: Option<f64>, format: fn(f64) -> Short, pen: &mut Pen<'_>) {
    pen.some(value, FILE, |value| (format(value), if value > 0.0 { Role::Text } else { Role::Dim }));
}

pub(super) fn depth(disk: &Disk, pen: &mut Pen<'_>) {
    pen.some(disk.queue_depth, FILE, |depth| (units::count(depth), if depth >= 8.0 { Role::Warn } else { Role::Text }));
}

/// Where it is mounted and how full that is: `/data 81%`.
pub(super) fn mounts(cx: &Cx<'_>, disk: &Disk, pen: &mut Pen<'_>) {
    if disk.mounts.is_empty() {
        pen.text(Role::Absent, mark::dash(cx.charset));
        return;
    }
    for (index, mount) in disk.mounts.iter().enumerate() {
        let (text, role) = fullness(mount);
        let path = short_ids(&mount.path);
        let needed = names::width(&path) + 1 + names::width(text.as_str());
        let more = disk.mounts.len() - index;
        if index > 0 && needed + 1 + 3 > pen.left() {
            pen.text(Role::Dim, &format!(" +{more}"));
            return;
        }
        pen.skip(u16::from(index > 0));
        // The number is worth more than the end of the path.
        let room = pen.left().saturating_sub(names::width(text.as_str()) + 1);
        pen.sub(room.min(names::width(&path))).text(Role::Text, &path);
        pen.skip(1).text(role, text.as_str());
    }
}

/// How full a file system is.
pub(super) fn fullness(mount: &Mount) -> (Short, Role) {
    let Some(used) = mount.full() else {
        return (units::or_unknown(None::<f64>, units::percent), Role::Absent);
    };
    let role = match used {
        used if used >= 0.98 => Role::Critical,
        used if used >= 0.9 => Role::Warn,
        _ => Role::Dim,
    };
    (units::percent(used), role)
}

/// What is known of the device itself.
pub(super) fn kind(disk: &Disk, pen: &mut Pen<'_>) {
    let medium = match disk.rotational {
        Known::Value(true) => "HDD",
        Known::Value(false) => "SSD",
        Known::None | Known::Missing => "",
    };
    let size = disk.size_bytes.value().map_or_else(String::new, |size| units::bytes(size as f64).to_string());
    let words =
        [size.as_str(), if &*disk.kind == "disk" { medium } else { &disk.kind }, &*disk.scheduler, &*disk.model];
    let text: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    pen.text(Role::Dim, &text.join(" "));
}

/// The name of a writer.
pub(super) fn who(cx: &Cx<'_>, writer: &Writer) -> String {
    match &writer.who {
        WriterId::Cgroup(path) => names::cgroup(cx, path),
        WriterId::Process(pid) => {
            let comm = cx.frame.process(*pid).map_or("", |process| &process.comm);
            format!("{comm} {pid}")
        }
    }
}

/// Who writes most, and what share of it.
pub(super) fn top_writer(cx: &Cx<'_>, disk: &Disk, pen: &mut Pen<'_>) {
    let Some(writer) = disk.writers.first() else {
        pen.text(Role::Absent, mark::dash(cx.charset));
        return;
    };
    let share = units::or_unknown(writer.bytes_share, units::percent);
    let room = pen.left().saturating_sub(share.width() + 1);
    let name = who(cx, writer);
    pen.sub(room.min(names::width(&name))).text(Role::Text, &name);
    pen.skip(1).text(Role::Dim, share.as_str());
}

/// One writer: name, share bars by bytes and by operations, rate.
pub(super) fn writer(cx: &Cx<'_>, writer: &Writer, pen: &mut Pen<'_>) {
    let name = (pen.left() / 3).clamp(12, 40);
    pen.field(Role::Text, name, &who(cx, writer)).skip(1);
    let group = matches!(writer.who, WriterId::Cgroup(_));
    pen.field(Role::Dim, 8, &if group { text::CGROUP } else { text::PROCESS });
    let bar = pen.left().saturating_sub(30).clamp(4, 40);
    pen.bar_as(Role::Dirty, bar, writer.bytes_share).skip(1);
    pen.rate(Role::Text, 4, writer.bytes_share, units::percent).skip(1).text(Role::Dim, &text::BYTES).skip(1);
    pen.rate(Role::Text, 4, writer.ops_share, units::percent).skip(1).text(Role::Dim, &text::OPERATIONS).skip(1);
    pen.number(Role::Text, 6, &units::bytes(writer.bytes_per_second)).text(Role::Dim, "/s");
}

/// How long tasks waited for disks, and how much memory waits to be written.
pub(super) fn pressure(cx: &Cx<'_>, pen: &mut Pen<'_>) {
    pen.skip(1).text(Role::Dim, &text::IO_PRESSURE).skip(1);
    match cx.frame.pressure("io").map(|row| row.stall) {
        Some(stall) => {
            let role = |share: Option<f64>| match share {
                Some(share) if share >= 0.4 => Role::Critical,
                Some(share) if share >= 0.1 => Role::Warn,
                _ => Role::Text,
            };
            pen.text(role(stall.some_ratio), units::or_unknown(stall.some_ratio, units::fine_percent).as_str());
            pen.skip(1).text(Role::Dim, &text::SOME).skip(1);
            pen.text(role(stall.full_ratio), units::or_unknown(stall.full_ratio, units::fine_percent).as_str());
            pen.skip(1).text(Role::Dim, &text::FULL);
        }
        None => {
            pen.unread("pressure/io");
        }
    }
    let memory = &cx.frame.memory;
    pen.skip(3)
        .text(Role::Dim, &text::DIRTY)
        .skip(1)
        .value(memory.dirty_bytes, &shared::NONE, "meminfo", |bytes| (units::bytes(bytes as f64), Role::Dirty));
    pen.skip(1).text(Role::Dim, &text::WRITEBACK).skip(1).value(
        memory.writeback_bytes,
        &shared::NONE,
        "meminfo",
        |bytes| (units::bytes(bytes as f64), Role::Text),
    );
    let limit = memory.dirty_threshold_bytes.value();
    let limit = limit.map(|limit| text::DirtyLimit { limit: &units::bytes(limit as f64) }.to_string());
    // Half of it would be no limit.
    if let Some(limit) = limit.filter(|limit| names::width(limit) < pen.left()) {
        pen.skip(1).text(Role::Dim, &limit);
    }
}
