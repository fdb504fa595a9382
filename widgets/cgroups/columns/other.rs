//! The columns of the CPU view and of the view of disks and pressure.

use super::super::{Row, cells};
use super::{CORES, NAME, THROTTLED, get, memory, number, with};
use crate::Role;
use crate::parts::table::{Column, Key, Width};
use crate::parts::units;
use topotop_model::locale::screen::cgroups as text;

pub(in super::super) static CPU: &[Column<Row>] = &[
    NAME,
    Column::left(
        text::CPU_BAR,
        1,
        |_| Width::flex(10, 16, 3),
        |cx, row, pen| {
            with(cx, row, |group| cells::cpu_bar(cx, group, pen));
        },
    ),
    CORES,
    Column::right(
        text::QUOTA_HEAD,
        1,
        |_| Width::fixed(6),
        |cx, row, pen| with(cx, row, |group| cells::quota(group, pen)),
    )
    .lowest(|cx, row| number(cx, row, |group| group.cpu.quota_cores.value())),
    Column { priority: 1, ..THROTTLED },
    Column::right(
        text::PERIODS_HEAD,
        5,
        |_| Width::fixed(7),
        |cx, row, pen| {
            with(cx, row, |group| {
                cells::periods(group, pen);
            });
        },
    ),
    Column::right(
        text::PSI_CPU_HEAD,
        2,
        |_| Width::range(5, 9),
        |cx, row, pen| {
            with(cx, row, |group| cells::stall(group, group.pressure.cpu, "/cpu.pressure", pen.left() >= 9, pen));
        },
    )
    .highest(|cx, row| number(cx, row, |group| group.pressure.cpu?.some_ratio)),
    Column::right(
        text::PROCESSES_HEAD,
        3,
        |_| Width::fixed(6),
        |cx, row, pen| {
            with(cx, row, |group| {
                pen.value(group.processes, "—", "/cgroup.procs", |count| (units::full(count), Role::Text));
            });
        },
    )
    .highest(|cx, row| get(cx, row).map_or(Key::None, |group| Key::known(group.processes))),
    Column::left(
        text::CPUS_HEAD,
        3,
        |_| Width::range(7, 14),
        |cx, row, pen| {
            with(cx, row, |group| match &group.cpuset_cpus {
                Some(cpus) => {
                    let (text, role) = crate::parts::names::cpus(cx, cpus, usize::from(pen.left()));
                    pen.text(role, &text);
                }
                None => {
                    pen.text(Role::Absent, "—");
                }
            });
        },
    ),
    Column::left(
        text::NODES_HEAD,
        4,
        |_| Width::range(5, 9),
        |cx, row, pen| {
            with(cx, row, |group| match &group.cpuset_mems {
                Some(nodes) => {
                    pen.text(Role::Dim, &units::id_list(nodes, usize::from(pen.left())));
                }
                None => {
                    pen.text(Role::Absent, "—");
                }
            });
        },
    ),
];

pub(in super::super) static IO: &[Column<Row>] = &[
    NAME,
    Column::right(
        text::READ_RATE,
        1,
        |_| Width::fixed(7),
        |cx, row, pen| {
            with(cx, row, |group| {
                cells::io_number(group, |io| io.read_bytes_per_second, units::bytes, pen);
            });
        },
    )
    .highest(|cx, row| number(cx, row, |group| cells::io(group, |io| io.read_bytes_per_second))),
    Column::right(
        text::WRITE_RATE,
        0,
        |_| Width::fixed(7),
        |cx, row, pen| {
            with(cx, row, |group| {
                cells::io_number(group, |io| io.write_bytes_per_second, units::bytes, pen);
            });
        },
    )
    .highest(|cx, row| number(cx, row, |group| cells::io(group, |io| io.write_bytes_per_second))),
    Column::right(
        text::READS_HEAD,
        3,
        |_| Width::fixed(5),
        |cx, row, pen| {
            with(cx, row, |group| {
                cells::io_number(group, |io| io.reads_per_second, units::count, pen);
            });
        },
    )
    .highest(|cx, row| number(cx, row, |group| cells::io(group, |io| io.reads_per_second))),
    Column::right(
        text::WRITES_HEAD,
        3,
        |_| Width::fixed(5),
        |cx, row, pen| {
            with(cx, row, |group| {
                cells::io_number(group, |io| io.writes_per_second, units::count, pen);
            });
        },
    )
    .highest(|cx, row| number(cx, row, |group| cells::io(group, |io| io.writes_per_second))),
    Column::right(
        text::PSI_IO_HEAD,
        1,
        |_| Width::range(6, 9),
        |cx, row, pen| {
            with(cx, row, |group| cells::stall(group, group.pressure.io, "/io.pressure", pen.left() >= 9, pen));
        },
    )
    .highest(|cx, row| number(cx, row, |group| group.pressure.io?.some_ratio)),
    Column::right(
        text::PSI_MEMORY_HEAD,
        1,
        |_| Width::range(7, 9),
        |cx, row, pen| {
            with(cx, row, |group| cells::stall(group, group.pressure.memory, "/memory.pressure", pen.left() >= 9, pen));
        },
    )
    .highest(|cx, row| number(cx, row, |group| group.pressure.memory?.some_ratio)),
    Column::right(
        text::PSI_CPU_HEAD,
        1,
        |_| Width::range(7, 9),
        |cx, row, pen| {
            with(cx, row, |group| cells::stall(group, group.pressure.cpu, "/cpu.pressure", pen.left() >= 9, pen));
        },
    )
    .highest(|cx, row| number(cx, row, |group| group.pressure.cpu?.some_ratio)),
    Column::right(
        text::DIRTY_HEAD,
        4,
        |_| Width::fixed(6),
        |cx, row, pen| {
            memory(cx, row, pen, |_, memory, pen| cells::memory_number(memory.dirty_bytes, pen));
        },
    ),
    Column::right(
        text::WRITEBACK_HEAD,
        4,
        |_| Width::fixed(6),
        |cx, row, pen| {
            memory(cx, row, pen, |_, memory, pen| cells::memory_number(memory.writeback_bytes, pen));
        },
    ),
    Column::right(
        text::MAJFLT_HEAD,
        5,
        |_| Width::fixed(8),
        |cx, row, pen| {
            memory(cx, row, pen, |_, memory, pen| {
                cells::rate(memory.pgmajfault_per_second, "/memory.stat", 200.0, pen);
            });
        },
    ),
    Column::right(
        text::AT_MAX_HEAD,
        5,
        |_| Width::fixed(8),
        |cx, row, pen| {
            memory(cx, row, pen, |_, memory, pen| {
                cells::rate(memory.events_max_per_second, "/memory.events", 100.0, pen);
            });
        },
    ),
];
