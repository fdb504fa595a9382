//! The columns of the three views.

mod other;

pub(super) use other::{CPU, IO};

use super::{Row, cells};
use crate::parts::table::{Column, Key, Width};
use crate::parts::{Pen, units};
use crate::{Cx, Role};
use topotop_model::frame::{Cgroup, CgroupMemory};
use topotop_model::locale::screen::cgroups as text;

fn get<'a>(cx: &Cx<'a>, row: Row) -> Option<&'a Cgroup> {
    cx.frame.cgroups.get(row.index)
}

fn with(cx: &Cx<'_>, row: Row, draw: impl FnOnce(&Cgroup)) {
    if let Some(group) = get(cx, row) {
        draw(group);
    }
}

/// A cell about memory, or the mark of a group without it.
fn memory(cx: &Cx<'_>, row: Row, pen: &mut Pen<'_>, draw: impl FnOnce(&Cgroup, &CgroupMemory, &mut Pen<'_>)) {
    let Some(group) = get(cx, row) else { return };
    match &group.memory {
        Some(memory) => draw(group, memory, pen),
        None => {
            pen.text(Role::Absent, "—");
        }
    }
}

fn number<'a>(cx: &Cx<'a>, row: Row, value: impl FnOnce(&'a Cgroup) -> Option<f64>) -> Key<'a> {
    Key::some(get(cx, row).and_then(value))
}

const NAME: Column<Row> = Column::left(
    text::GROUP,
    0,
    |_| Width::flex(8, 26, 3),
    |cx, row, pen| {
        with(cx, row, |group| cells::name(cx, group, row, pen));
    },
)
.lowest(|cx, row| get(cx, row).map_or(Key::None, |group| Key::Text(&group.path)));

const CORES: Column<Row> =
    Column::right(text::CPU, 2, |_| Width::fixed(6), |cx, row, pen| with(cx, row, |group| cells::cores(group, pen)))
        .highest(|cx, row| number(cx, row, |group| group.cpu.usage_cores));

const THROTTLED: Column<Row> = Column::right(
    text::THROTTLED_HEAD,
    4,
    |_| Width::fixed(6),
    |cx, row, pen| with(cx, row, |group| cells::throttled(group, pen)),
)
.highest(|cx, row| number(cx, row, |group| group.cpu.throttled_ratio));

const PSI_MEMORY: Column<Row> = Column::right(
    text::PSI_HEAD,
    2,
    |_| Width::fixed(5),
    |cx, row, pen| {
        with(cx, row, |group| cells::stall(group, group.pressure.memory, "/memory.pressure", false, pen));
    },
)
.highest(|cx, row| number(cx, row, |group| group.pressure.memory?.some_ratio));

pub(super) static MEMORY: &[Column<Row>] = &[
    NAME,
    Column::left(
        text::MEMORY_HEAD,
        2,
        |_| Width::flex(6, 18, 4),
        |cx, row, pen| {
            memory(cx, row, pen, |_, memory, pen| cells::bar(memory, pen));
        },
    ),
    Column::right(
        text::FULL_HEAD,
        1,
        |_| Width::fixed(5),
        |cx, row, pen| {
            memory(cx, row, pen, |group, memory, pen| {
                let role = cells::alarm(group, memory);
                pen.some(cells::fill(memory), "/memory.current", |share| (units::percent(share), role));
            });
        },
    )
    .highest(|cx, row| number(cx, row, |group| Some(cells::order(group.memory.as_ref()?)))),
    Column::right(
        text::USED,
        0,
        |_| Width::fixed(6),
        |cx, row, pen| {
            memory(cx, row, pen, |_, memory, pen| cells::memory_number(memory.current_bytes, pen));
        },
    )
    .highest(|cx, row| number(cx, row, |group| Some(group.memory.as_ref()?.current_bytes.value()? as f64))),
    Column::right(
        text::LIMIT_HEAD,
        0,
        |_| Width::fixed(6),
        |cx, row, pen| {
            memory(cx, row, pen, |group, memory, pen| cells::limit(memory, &group.path, pen));
        },
    )
    .lowest(|cx, row| number(cx, row, |group| cells::bound(group.memory.as_ref()?))),
    Column::right(
        text::GROWTH_HEAD,
        3,
        |_| Width::fixed(8),
        |cx, row, pen| {
            memory(cx, row, pen, |_, memory, pen| cells::growth(memory, pen));
        },
    )
    .highest(|cx, row| number(cx, row, |group| group.memory.as_ref()?.growth_bytes_per_second)),
    Column::right(
        text::FULL_IN_HEAD,
        1,
        |_| Width::fixed(8),
        |cx, row, pen| {
            memory(cx, row, pen, |group, memory, pen| cells::full_in(cx, group, memory, pen));
        },
    )
    .lowest(|cx, row| number(cx, row, |group| Some(cx.history.forecast(group).value()?.seconds))),
    PSI_MEMORY,
    Column::right(
        text::SCAN_HEAD,
        4,
        |_| Width::fixed(6),
        |cx, row, pen| {
            memory(cx, row, pen, |_, memory, pen| {
                cells::rate(memory.pgscan_direct_per_second, "/memory.stat", 5_000.0, pen);
            });
        },
    )
    .highest(|cx, row| number(cx, row, |group| group.memory.as_ref()?.pgscan_direct_per_second)),
    Column::right(
        text::REFAULT_HEAD,
        4,
        |_| Width::fixed(7),
        |cx, row, pen| {
            memory(cx, row, pen, |_, memory, pen| {
                cells::rate(memory.refault_file_per_second, "/memory.stat", 500.0, pen);
            });
        },
    )
    .highest(|cx, row| number(cx, row, |group| group.memory.as_ref()?.refault_file_per_second)),
    Column::right(
        text::OOM_HEAD,
        3,
        |_| Width::fixed(4),
        |cx, row, pen| {
            memory(cx, row, pen, |_, memory, pen| cells::kills(memory, pen));
        },
    )
    .highest(|cx, row| number(cx, row, |group| Some(group.memory.as_ref()?.events.oom_kill.value()? as f64))),
    CORES,
    Column::right(
        text::QUOTA_HEAD,
        5,
        |_| Width::fixed(5),
        |cx, row, pen| with(cx, row, |group| cells::quota(group, pen)),
    ),
    THROTTLED,
    Column::right(
        text::ANON_HEAD,
        6,
        |_| Width::fixed(6),
        |cx, row, pen| {
            memory(cx, row, pen, |_, memory, pen| cells::memory_number(memory.anon_bytes, pen));
        },
    )
    .highest(|cx, row| number(cx, row, |group| Some(group.memory.as_ref()?.anon_bytes.value()? as f64))),
    Column::right(
        text::FILE_HEAD,
        6,
        |_| Width::fixed(6),
        |cx, row, pen| {
            memory(cx, row, pen, |_, memory, pen| cells::memory_number(memory.file_bytes, pen));
        },
    )
    .highest(|cx, row| number(cx, row, |group| Some(group.memory.as_ref()?.file_bytes.value()? as f64))),
    Column::right(
        text::DIRTY_HEAD,
        7,
        |_| Width::fixed(6),
        |cx, row, pen| {
            memory(cx, row, pen, |_, memory, pen| cells::memory_number(memory.dirty_bytes, pen));
        },
    )
    .highest(|cx, row| number(cx, row, |group| Some(group.memory.as_ref()?.dirty_bytes.value()? as f64))),
];
