//! The columns of the disk table.

use super::{Row, cells};
use crate::Cx;
use crate::parts::table::{Column, Key, Width};
use crate::parts::units;
use topotop_model::frame::Disk;
use topotop_model::locale::screen::disks as text;

fn get<'a>(cx: &Cx<'a>, row: Row) -> Option<&'a Disk> {
    cx.frame.disks.get(row.index)
}

fn with(cx: &Cx<'_>, row: Row, draw: impl FnOnce(&Disk)) {
    if let Some(disk) = get(cx, row) {
        draw(disk);
    }
}

fn number<'a>(cx: &Cx<'a>, row: Row, value: impl FnOnce(&'a Disk) -> Option<f64>) -> Key<'a> {
    Key::some(get(cx, row).and_then(value))
}

/// The column that the table is sorted by at first.
pub(super) fn by_utilisation() -> Option<usize> {
    COLUMNS.iter().position(|column| column.title == text::BUSY_HEAD)
}

pub(super) static COLUMNS: &[Column<Row>] = &[
    Column::left(
        text::DISK_HEAD,
        0,
        |_| Width::flex(8, 14, 1),
        |cx, row, pen| {
            with(cx, row, |disk| cells::name(cx, disk, row, pen));
        },
    )
    .lowest(|cx, row| get(cx, row).map_or(Key::None, |disk| Key::Text(&disk.name))),
    Column::left(
        text::BUSY_HEAD,
        0,
        |_| Width::flex(5, 14, 2),
        |cx, row, pen| {
            with(cx, row, |disk| cells::utilisation(disk, pen));
        },
    )
    .highest(|cx, row| number(cx, row, |disk| disk.utilisation)),
    Column::right(
        text::READ_AWAIT_HEAD,
        1,
        |_| Width::fixed(5),
        |cx, row, pen| {
            with(cx, row, |disk| cells::wait(disk, disk.read_await_ms, pen));
        },
    )
    .highest(|cx, row| number(cx, row, |disk| disk.read_await_ms.value())),
    Column::right(
        text::WRITE_AWAIT_HEAD,
        1,
        |_| Width::fixed(5),
        |cx, row, pen| {
            with(cx, row, |disk| cells::wait(disk, disk.write_await_ms, pen));
        },
    )
    .highest(|cx, row| number(cx, row, |disk| disk.write_await_ms.value())),
    Column::right(
        text::QUEUE_HEAD,
        2,
        |_| Width::fixed(5),
        |cx, row, pen| with(cx, row, |disk| cells::depth(disk, pen)),
    )
    .highest(|cx, row| number(cx, row, |disk| disk.queue_depth)),
    Column::right(
        text::READ_HEAD,
        1,
        |_| Width::fixed(6),
        |cx, row, pen| {
            with(cx, row, |disk| cells::number(disk.read_bytes_per_second, units::bytes, pen));
        },
    )
    .highest(|cx, row| number(cx, row, |disk| disk.read_bytes_per_second)),
    Column::right(
        text::WRITE_HEAD,
        1,
        |_| Width::fixed(7),
        |cx, row, pen| {
            with(cx, row, |disk| cells::number(disk.write_bytes_per_second, units::bytes, pen));
        },
    )
    .highest(|cx, row| number(cx, row, |disk| disk.write_bytes_per_second)),
    Column::right(
        text::READS_HEAD,
        3,
        |_| Width::fixed(5),
        |cx, row, pen| {
            with(cx, row, |disk| cells::number(disk.reads_per_second, units::count, pen));
        },
    )
    .highest(|cx, row| number(cx, row, |disk| disk.reads_per_second)),
    Column::right(
        text::WRITES_HEAD,
        3,
        |_| Width::fixed(5),
        |cx, row, pen| {
            with(cx, row, |disk| cells::number(disk.writes_per_second, units::count, pen));
        },
    )
    .highest(|cx, row| number(cx, row, |disk| disk.writes_per_second)),
    Column::right(
        text::FLUSH_HEAD,
        2,
        |_| Width::fixed(5),
        |cx, row, pen| {
            with(cx, row, |disk| cells::number(disk.flushes_per_second, units::count, pen));
        },
    )
    .highest(|cx, row| number(cx, row, |disk| disk.flushes_per_second)),
    Column::left(
        text::WRITER_HEAD,
        5,
        |_| Width::flex(12, 20, 2),
        |cx, row, pen| {
            with(cx, row, |disk| cells::top_writer(cx, disk, pen));
        },
    ),
    Column::left(
        text::MOUNT_HEAD,
        4,
        |_| Width::flex(8, 18, 3),
        |cx, row, pen| {
            with(cx, row, |disk| cells::mounts(cx, disk, pen));
        },
    ),
    Column::left(
        text::KIND_HEAD,
        6,
        |_| Width::flex(8, 24, 2),
        |cx, row, pen| {
            with(cx, row, |disk| cells::kind(disk, pen));
        },
    ),
];
