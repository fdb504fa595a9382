//! The columns of the process table.

use super::cells;
use crate::parts::mark;
use crate::parts::Pen;
use crate::parts::table::{Align, Column, Key, Width};
use crate::parts::units;
use crate::{Cx, Role};
use topotop_model::frame::Process;

fn get<'a>(cx: &Cx<'a>, row: usize) -> Option<&'a Process> {
    cx.frame.processes.get(row)
}

/// A cell of a row that is there.
fn with(cx: &Cx<'_>, row: usize, draw: impl FnOnce(&Process)) {
    if let Some(process) = get(cx, row) {
        draw(process);
    }
}

fn number<'a>(cx: &Cx<'a>, row: usize, value: impl FnOnce(&'a Process) -> Option<f64>) -> Key<'a> {
    Key::some(get(cx, row).and_then(value))
}

/// The column that the table is sorted by at first.
pub(super) fn by_cpu() -> Option<usize> {
    COLUMNS.iter().position(|column| column.title == "CPU")
}

/// How many nodes have to be told apart.
pub(super) fn nodes(cx: &Cx<'_>) -> u16 {
    u16::try_from(cx.frame.topology.nodes.len()).unwrap_or(u16::MAX)
}

fn by_node(cx: &Cx<'_>) -> Width {
    match nodes(cx) {
        0 | 1 => Width::HIDDEN,
        count @ 2..=4 => Width::range(count, count * 3 - 1),
        count => Width::fixed(count.clamp(3, 64)),
    }
}

fn memory_by_node(cx: &Cx<'_>) -> Width {
    match nodes(cx) {
        0 | 1 => Width::HIDDEN,
        count => Width::range(count.clamp(4, 32), count.clamp(4, 32) + 18),
    }
}

const fn column(
    title: &'static str,
    align: Align,
    priority: u8,
    width: fn(&Cx<'_>) -> Width,
    draw: fn(&Cx<'_>, usize, &mut Pen<'_>),
) -> Column<usize> {
    Column { title, width, align, priority, descending: true, key: None, draw }
}

const fn sorted(column: Column<usize>, key: for<'a> fn(&Cx<'a>, usize) -> Key<'a>) -> Column<usize> {
    Column { key: Some(key), ..column }
}

const fn ascending(column: Column<usize>, key: for<'a> fn(&Cx<'a>, usize) -> Key<'a>) -> Column<usize> {
    Column { key: Some(key), descending: false, ..column }
}

pub(super) static COLUMNS: &[Column<usize>] = &[
    ascending(
        column("PID", Align::Right, 0, |_| Width::fixed(7), |cx, row, pen| {
            with(cx, row, |process| {
                pen.text(Role::Dim, &process.pid.to_string());
            });
        }),
        |cx, row| number(cx, row, |process| Some(f64::from(process.pid))),
    ),
    ascending(
        column("COMM", Align::Left, 0, |_| Width::flex(8, 15, 2), |cx, row, pen| {
            with(cx, row, |process| cells::comm(cx, process, pen));
        }),
        |cx, row| get(cx, row).map_or(Key::None, |process| Key::Text(&process.comm)),
    ),
    sorted(
        column("CPU", Align::Right, 0, |_| Width::fixed(6), |cx, row, pen| {
            with(cx, row, |process| cells::cpu(cx, process, pen));
        }),
        |cx, row| number(cx, row, |process| process.cpu_cores),
    ),
    column("CPU BY NODE", Align::Left, 2, by_node, |cx, row, pen| {
        with(cx, row, |process| cells::cpu_by_node(cx, process, pen));
    }),
    column("MEMORY BY NODE", Align::Left, 3, memory_by_node, |cx, row, pen| {
        with(cx, row, |process| cells::memory_by_node(cx, process, pen));
    }),
    sorted(
        column("REMOTE", Align::Left, 3, |cx| if nodes(cx) < 2 { Width::HIDDEN } else { Width::range(6, 18) }, |cx, row, pen| {
            with(cx, row, |process| cells::remote(cx, process, pen));
        }),
        |cx, row| number(cx, row, |process| process.memory.as_ref()?.remote_ratio),
    ),
    sorted(
        column("RSS", Align::Right, 1, |_| Width::fixed(6), |cx, row, pen| {
            with(cx, row, |process| cells::rss(cx, process, pen));
        }),
        |cx, row| get(cx, row).map_or(Key::None, |process| Key::known(process.rss_bytes)),
    ),
    sorted(
        column("WAIT", Align::Right, 3, |_| Width::fixed(5), |cx, row, pen| {
            with(cx, row, |process| cells::wait(cx, process.wait_share, "/schedstat", pen));
        }),
        |cx, row| number(cx, row, |process| process.wait_share),
    ),
    column("AFFINITY", Align::Left, 2, |_| Width::range(8, 14), |cx, row, pen| {
        with(cx, row, |process| cells::affinity(cx, process, pen));
    }),
    sorted(
        column("THR", Align::Right, 4, |_| Width::fixed(5), |cx, row, pen| {
            with(cx, row, |process| {
                pen.value(process.threads, "none", "/stat", |count| (count.to_string(), Role::Text));
            });
        }),
        |cx, row| get(cx, row).map_or(Key::None, |process| Key::known(process.threads)),
    ),
    sorted(
        column("WRITE/s", Align::Right, 4, |_| Width::fixed(7), |cx, row, pen| {
            with(cx, row, |process| cells::rate(cx, process.write_bytes_per_second, "/io", pen));
        }),
        |cx, row| number(cx, row, |process| process.write_bytes_per_second),
    ),
    sorted(
        column("READ/s", Align::Right, 6, |_| Width::fixed(7), |cx, row, pen| {
            with(cx, row, |process| cells::rate(cx, process.read_bytes_per_second, "/io", pen));
        }),
        |cx, row| number(cx, row, |process| process.read_bytes_per_second),
    ),
    sorted(
        column("MAJFLT", Align::Right, 7, |_| Width::fixed(6), |cx, row, pen| {
            with(cx, row, |process| {
                pen.some(process.majflt_per_second, "/stat", |rate| (units::count(rate), Role::Text));
            });
        }),
        |cx, row| number(cx, row, |process| process.majflt_per_second),
    ),
    column("S", Align::Left, 6, |_| Width::fixed(1), |cx, row, pen| {
        with(cx, row, |process| cells::state(cx, process, pen));
    }),
    column("LAST", Align::Right, 7, |_| Width::fixed(5), |cx, row, pen| {
        with(cx, row, |process| {
            pen.value(process.last_cpu, mark::dash(cx.charset), "/stat", |cpu| (format!("c{cpu}"), Role::Dim));
        });
    }),
    column("POLICY", Align::Left, 6, |_| Width::range(7, 12), |cx, row, pen| {
        with(cx, row, |process| cells::policy(cx, process, pen));
    }),
    ascending(
        column("CGROUP / CONTAINER", Align::Left, 5, |_| Width::flex(12, 18, 4), |cx, row, pen| {
            with(cx, row, |process| cells::cgroup(cx, process, pen));
        }),
        |cx, row| get(cx, row).map_or(Key::None, |process| Key::Text(&process.cgroup)),
    ),
];
