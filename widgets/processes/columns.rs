//! The columns of the process table.

use super::cells;
use crate::parts::mark;
use crate::parts::table::{Column, Key, Width};
use crate::parts::units;
use crate::{Cx, Role};
use topotop_model::frame::Process;
use topotop_model::locale::screen::processes as text;
use topotop_model::locale::screen::shared;

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
pub(super) fn by_cpu(columns: &[Column<usize>]) -> Option<usize> {
    columns.iter().position(|column| column.title == text::CPU_HEAD)
}

/// How many nodes are distinguished.
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
        count => Width::flex(count.clamp(4, 32), count.clamp(4, 32) + 18, 1),
    }
}

const PID: Column<usize> = Column::right(
    text::PID_HEAD,
    0,
    |_| Width::fixed(7),
    |cx, row, pen| {
        with(cx, row, |process| {
            pen.text(Role::Dim, &process.pid.to_string());
        });
    },
)
.lowest(|cx, row| number(cx, row, |process| Some(f64::from(process.pid))));
const COMM: Column<usize> = Column::left(
    text::COMM_HEAD,
    0,
    |_| Width::flex(8, 12, 3),
    |cx, row, pen| {
        with(cx, row, |process| cells::comm(process, pen));
    },
)
.lowest(|cx, row| get(cx, row).map_or(Key::None, |process| Key::Text(&process.comm)));
const CPU: Column<usize> = Column::right(
    text::CPU_HEAD,
    0,
    |_| Width::fixed(6),
    |cx, row, pen| {
        with(cx, row, |process| cells::cpu(process, pen));
    },
)
.highest(|cx, row| number(cx, row, |process| process.cpu_cores));
const CPU_BY_NODE: Column<usize> = Column::left(text::CPU_BY_NODE_HEAD, 1, by_node, |cx, row, pen| {
    with(cx, row, |process| cells::cpu_by_node(cx, process, pen));
});
const MEMORY_BY_NODE: Column<usize> = Column::left(text::MEMORY_BY_NODE_HEAD, 2, memory_by_node, |cx, row, pen| {
    with(cx, row, |process| cells::memory_by_node(cx, process, pen));
});
const REMOTE: Column<usize> = Column::left(
    text::REMOTE_HEAD,
    2,
    |cx| if nodes(cx) < 2 { Width::HIDDEN } else { Width::range(6, 18) },
    |cx, row, pen| {
        with(cx, row, |process| cells::remote(cx, process, pen));
    },
)
.highest(|cx, row| number(cx, row, |process| process.memory.as_ref()?.remote_ratio));
const RSS: Column<usize> = Column::right(
    text::RSS_HEAD,
    1,
    |_| Width::fixed(6),
    |cx, row, pen| {
        with(cx, row, |process| cells::rss(process, pen));
    },
)
.highest(|cx, row| get(cx, row).map_or(Key::None, |process| Key::known(process.rss_bytes)));
const WAIT: Column<usize> = Column::right(
    text::WAIT_HEAD,
    3,
    |_| Width::fixed(5),
    |cx, row, pen| {
        with(cx, row, |process| cells::wait(process, pen));
    },
)
.highest(|cx, row| number(cx, row, |process| process.wait_share));
const AFFINITY: Column<usize> = Column::left(
    text::AFFINITY_HEAD,
    1,
    |_| Width::flex(10, 11, 1),
    |cx, row, pen| {
        with(cx, row, |process| cells::affinity(cx, process, pen));
    },
);
const THREADS: Column<usize> = Column::right(
    text::THREADS_HEAD,
    4,
    |_| Width::fixed(5),
    |cx, row, pen| {
        with(cx, row, |process| {
            pen.value(process.threads, &shared::NONE, "*/stat", |count| (units::full(count), Role::Text));
        });
    },
)
.highest(|cx, row| get(cx, row).map_or(Key::None, |process| Key::known(process.threads)));
const WRITE: Column<usize> = Column::right(
    text::WRITE_HEAD,
    4,
    |_| Width::fixed(7),
    |cx, row, pen| {
        with(cx, row, |process| cells::rate(process, process.write_bytes_per_second, pen));
    },
)
.highest(|cx, row| number(cx, row, |process| process.write_bytes_per_second));
const READ: Column<usize> = Column::right(
    text::READ_HEAD,
    6,
    |_| Width::fixed(7),
    |cx, row, pen| {
        with(cx, row, |process| cells::rate(process, process.read_bytes_per_second, pen));
    },
)
.highest(|cx, row| number(cx, row, |process| process.read_bytes_per_second));
const MAJFLT: Column<usize> = Column::right(
    text::MAJFLT_HEAD,
    7,
    |_| Width::fixed(7),
    |cx, row, pen| {
        with(cx, row, |process| {
            pen.some(process.majflt_per_second, "*/stat", |rate| (units::count(rate), Role::Text));
        });
    },
)
.highest(|cx, row| number(cx, row, |process| process.majflt_per_second));
const STATE: Column<usize> = Column::left(
    text::STATE_HEAD,
    6,
    |_| Width::fixed(1),
    |cx, row, pen| {
        with(cx, row, |process| cells::state(cx, process, pen));
    },
);
const LAST: Column<usize> = Column::right(
    text::LAST_HEAD,
    7,
    |_| Width::fixed(5),
    |cx, row, pen| {
        with(cx, row, |process| {
            pen.value(process.last_cpu, mark::dash(cx.charset), "*/stat", |cpu| (units::cpu(cpu), Role::Dim));
        });
    },
);
const POLICY: Column<usize> = Column::left(
    text::POLICY_HEAD,
    6,
    |cx| if nodes(cx) < 2 { Width::HIDDEN } else { Width::range(7, 12) },
    |cx, row, pen| {
        with(cx, row, |process| cells::policy(process, pen));
    },
);
const CGROUP: Column<usize> = Column::left(
    text::CGROUP_HEAD,
    5,
    |_| Width::flex(12, 18, 4),
    |cx, row, pen| {
        with(cx, row, |process| cells::cgroup(cx, process, pen));
    },
)
.lowest(|cx, row| get(cx, row).map_or(Key::None, |process| Key::Text(&process.cgroup)));
const USER: Column<usize> = Column::left(
    text::USER_HEAD,
    7,
    |_| Width::range(5, 9),
    |cx, row, pen| {
        with(cx, row, |process| cells::user(process, pen));
    },
)
.lowest(|cx, row| get(cx, row).map_or(Key::None, |process| Key::Text(&process.user)));
const TIME: Column<usize> = Column::right(
    text::TIME_HEAD,
    7,
    |_| Width::fixed(9),
    |cx, row, pen| {
        with(cx, row, |process| {
            pen.some(process.cpu_seconds, "*/stat", |seconds| (units::cpu_time(seconds), Role::Text));
        });
    },
)
.highest(|cx, row| number(cx, row, |process| process.cpu_seconds));
const COMMAND: Column<usize> = Column::left(
    text::COMMAND_HEAD,
    8,
    |_| Width::flex(20, 40, 6),
    |cx, row, pen| {
        with(cx, row, |process| cells::command(process, pen));
    },
)
.lowest(|cx, row| get(cx, row).map_or(Key::None, |process| Key::Text(&process.cmdline)));
/// The same where it is what one came for.
const WHOLE_COMMAND: Column<usize> = Column { priority: 0, width: |_| Width::flex(20, 400, 1), ..COMMAND };

pub(super) static COLUMNS: &[Column<usize>] = &[
    PID,
    COMM,
    USER,
    CPU,
    CPU_BY_NODE,
    MEMORY_BY_NODE,
    REMOTE,
    RSS,
    WAIT,
    AFFINITY,
    THREADS,
    WRITE,
    READ,
    MAJFLT,
    STATE,
    LAST,
    TIME,
    POLICY,
    CGROUP,
    COMMAND,
];

/// The table with whole command lines.
pub(super) static COMMANDS: &[Column<usize>] = &[PID, USER, STATE, CPU, TIME, RSS, WHOLE_COMMAND];
