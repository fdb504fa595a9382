//! The columns of the process table.

use super::cells;
use super::rows::{Row, thread};
use super::scheduler::{SCHEDULING, SWAP, SWITCHES};
use crate::parts::mark;
use crate::parts::number::Short;
use crate::parts::table::{Column, Key, Width};
use crate::parts::units;
use crate::{Cx, Role};
use topotop_model::Known;
use topotop_model::frame::{Process, Thread};
use topotop_model::locale::screen::processes as text;
use topotop_model::locale::screen::shared;

pub(super) fn get<'a>(cx: &Cx<'a>, row: Row) -> Option<&'a Process> {
    cx.frame.processes.get(row.process)
}

/// A cell of a process that is there; a thread has none of its own.
pub(super) fn with(cx: &Cx<'_>, row: Row, draw: impl FnOnce(&Process)) {
    if let Some(process) = get(cx, row).filter(|_| row.thread.is_none()) {
        draw(process);
    }
}

fn number<'a>(cx: &Cx<'a>, row: Row, value: impl FnOnce(&'a Process) -> Option<f64>) -> Key<'a> {
    Key::some(get(cx, row).filter(|_| row.thread.is_none()).and_then(value))
}

/// A number that threads have too.
pub(super) fn either<'a>(
    cx: &Cx<'a>,
    row: Row,
    of_process: impl FnOnce(&'a Process) -> Option<f64>,
    of_thread: impl FnOnce(&'a Thread) -> Option<f64>,
) -> Key<'a> {
    match thread(cx, row) {
        Some(thread) => Key::some(of_thread(thread)),
        None => number(cx, row, of_process),
    }
}

fn last_cpu(cx: &Cx<'_>, row: Row) -> Known<u32> {
    match thread(cx, row) {
        Some(thread) => thread.last_cpu,
        None => get(cx, row).map_or(Known::Missing, |process| process.last_cpu),
    }
}

fn last_node(cx: &Cx<'_>, row: Row) -> Option<u32> {
    let cpu = last_cpu(cx, row).value()?;
    cx.frame.topology.nodes.iter().find(|node| node.cpus.contains(cpu)).map(|node| node.id)
}

/// How important columns are while threads have rows: what threads have too comes before what is blank for them.
pub(super) fn rank_of_threads(column: &Column<Row>) -> u8 {
    let of_threads = [text::LAST_HEAD, text::NODE_HEAD, text::WAIT_HEAD, text::AFFINITY_HEAD, text::STATE_HEAD];
    match column.priority {
        0 => 0,
        _ if of_threads.contains(&column.title) => 1,
        usual => usual + 2,
    }
}

/// The column that the table is sorted by at first.
pub(super) fn by_cpu(columns: &[Column<Row>]) -> Option<usize> {
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

const PID: Column<Row> = Column::right(
    text::PID_HEAD,
    0,
    |_| Width::fixed(7),
    |cx, row, pen| {
        if let Some((pid, _, tid)) = super::rows::id(cx, row) {
            pen.text(Role::Dim, &(if tid > 0 { tid } else { pid }).to_string());
        }
    },
)
.lowest(|cx, row| either(cx, row, |process| Some(f64::from(process.pid)), |thread| Some(f64::from(thread.tid))));
const COMM: Column<Row> = Column::left(
    text::COMM_HEAD,
    0,
    |_| Width::flex(8, 15, 3),
    |cx, row, pen| {
        cells::name(cx, row, pen);
    },
)
.lowest(|cx, row| match thread(cx, row) {
    Some(thread) => Key::Text(&thread.comm),
    None => get(cx, row).map_or(Key::None, |process| Key::Text(&process.comm)),
});
const CPU: Column<Row> = Column::right(
    text::CPU_HEAD,
    0,
    |_| Width::fixed(6),
    |cx, row, pen| {
        cells::cores(cx, row, false, pen);
    },
)
.highest(|cx, row| either(cx, row, |process| process.cpu_cores, |thread| thread.cpu_cores));
const CPU_BY_NODE: Column<Row> = Column::left(text::CPU_BY_NODE_HEAD, 1, by_node, |cx, row, pen| {
    with(cx, row, |process| cells::cpu_by_node(cx, process, pen));
});
const MEMORY_BY_NODE: Column<Row> = Column::left(text::MEMORY_BY_NODE_HEAD, 2, memory_by_node, |cx, row, pen| {
    with(cx, row, |process| cells::memory_by_node(cx, process, pen));
});
const REMOTE: Column<Row> = Column::left(
    text::REMOTE_HEAD,
    2,
    |cx| if nodes(cx) < 2 { Width::HIDDEN } else { Width::range(6, 18) },
    |cx, row, pen| {
        with(cx, row, |process| cells::remote(cx, process, pen));
    },
)
.highest(|cx, row| number(cx, row, |process| process.memory.as_ref()?.remote_ratio));
const RSS: Column<Row> = Column::right(
    text::RSS_HEAD,
    1,
    |_| Width::fixed(6),
    |cx, row, pen| {
        with(cx, row, |process| cells::rss(process, pen));
    },
)
.highest(|cx, row| get(cx, row).map_or(Key::None, |process| Key::known(process.rss_bytes)));
const WAIT: Column<Row> = Column::right(
    text::WAIT_HEAD,
    1,
    |_| Width::fixed(5),
    |cx, row, pen| match thread(cx, row) {
        Some(thread) => cells::wait_of(thread.wait_share, thread.cpu_cores, pen),
        None => with(cx, row, |process| cells::wait(process, pen)),
    },
)
.highest(|cx, row| either(cx, row, lost_by_process, lost_by_thread));
/// Cores' worth of waiting: a large share of next to nothing is not what a load loses.
fn lost(share: Option<f64>, used: Option<f64>) -> Option<f64> {
    let share = share?;
    Some(used.unwrap_or(0.0) * share / (1.0 - share).max(0.01))
}

fn lost_by_process(process: &Process) -> Option<f64> {
    process.run_wait_cores.or_else(|| lost(process.wait_share, process.cpu_cores))
}

fn lost_by_thread(thread: &Thread) -> Option<f64> {
    let waited = thread.demand_cores.zip(thread.cpu_cores).map(|(demand, used)| (demand - used).max(0.0));
    waited.or_else(|| lost(thread.wait_share, thread.cpu_cores))
}

const AFFINITY: Column<Row> = Column::left(
    text::AFFINITY_HEAD,
    1,
    |_| Width::flex(10, 11, 1),
    |cx, row, pen| match thread(cx, row) {
        Some(thread) => cells::affinity_of(cx, thread, pen),
        None => with(cx, row, |process| cells::affinity(cx, process, pen)),
    },
);
const THREADS: Column<Row> = Column::right(
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
const WRITE: Column<Row> = Column::right(
    text::WRITE_HEAD,
    4,
    |_| Width::fixed(7),
    |cx, row, pen| {
        with(cx, row, |process| cells::rate(process, process.write_bytes_per_second, pen));
    },
)
.highest(|cx, row| number(cx, row, |process| process.write_bytes_per_second));
const READ: Column<Row> = Column::right(
    text::READ_HEAD,
    6,
    |_| Width::fixed(7),
    |cx, row, pen| {
        with(cx, row, |process| cells::rate(process, process.read_bytes_per_second, pen));
    },
)
.highest(|cx, row| number(cx, row, |process| process.read_bytes_per_second));
const MAJFLT: Column<Row> = Column::right(
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
const STATE: Column<Row> = Column::left(
    text::STATE_HEAD,
    5,
    |_| Width::fixed(1),
    |cx, row, pen| {
        let state = thread(cx, row).map(|thread| thread.state);
        if let Some(state) = state.or_else(|| get(cx, row).map(|process| process.state)) {
            cells::state(cx, state, pen);
        }
    },
);
const LAST: Column<Row> = Column::right(
    text::LAST_HEAD,
    7,
    |_| Width::fixed(5),
    |cx, row, pen| {
        pen.value(last_cpu(cx, row), mark::dash(cx.charset), "*/stat", |cpu| (units::cpu(cpu), Role::Dim));
    },
);
/// The node of the CPU that it ran on last.
const NODE: Column<Row> = Column::right(
    text::NODE_HEAD,
    8,
    |cx| if nodes(cx) < 2 { Width::HIDDEN } else { Width::fixed(4) },
    |cx, row, pen| {
        if let Some(node) = last_node(cx, row) {
            pen.text(Role::node(node), &format!("n{node}"));
        }
    },
)
.lowest(|cx, row| Key::some(last_node(cx, row).map(f64::from)));
const PARENT: Column<Row> = Column::right(
    text::PARENT_HEAD,
    9,
    |_| Width::fixed(7),
    |cx, row, pen| {
        with(cx, row, |process| {
            pen.value(process.ppid, mark::dash(cx.charset), "*/stat", |pid| (units::full(u64::from(pid)), Role::Dim));
        });
    },
)
.lowest(|cx, row| number(cx, row, |process| process.ppid.value().map(f64::from)));
const NICE: Column<Row> = Column::right(
    text::NICE_HEAD,
    8,
    |_| Width::fixed(4),
    |cx, row, pen| {
        with(cx, row, |process| {
            let role = if process.nice.value() == Some(0) { Role::Dim } else { Role::Info };
            pen.value(process.nice, mark::dash(cx.charset), "*/stat", |nice| {
                (Short::from_display(format_args!("{nice}")), role)
            });
        });
    },
)
.lowest(|cx, row| number(cx, row, |process| process.nice.value().map(f64::from)));
/// Resident memory as a share of the machine's, as top has it.
const MEMORY: Column<Row> = Column::right(
    text::MEMORY_HEAD,
    8,
    |_| Width::fixed(5),
    |cx, row, pen| {
        pen.some(memory(cx, row), "*/stat", |share| (units::percent(share), Role::Text));
    },
)
.highest(|cx, row| Key::some(memory(cx, row)));
fn memory(cx: &Cx<'_>, row: Row) -> Option<f64> {
    let total = cx.frame.memory.total_bytes.value().filter(|total| *total > 0)?;
    Some(get(cx, row)?.rss_bytes.value()? as f64 / total as f64)
}
const POLICY: Column<Row> = Column::left(
    text::POLICY_HEAD,
    7,
    |cx| if nodes(cx) < 2 { Width::HIDDEN } else { Width::range(7, 12) },
    |cx, row, pen| {
        with(cx, row, |process| cells::policy(process, pen));
    },
);
const CGROUP: Column<Row> = Column::left(
    text::CGROUP_HEAD,
    5,
    |_| Width::flex(12, 18, 4),
    |cx, row, pen| {
        with(cx, row, |process| cells::cgroup(cx, process, pen));
    },
)
.lowest(|cx, row| get(cx, row).map_or(Key::None, |process| Key::Text(&process.cgroup)));
const USER: Column<Row> = Column::left(
    text::USER_HEAD,
    3,
    |_| Width::range(5, 9),
    |cx, row, pen| {
        with(cx, row, |process| cells::user(process, pen));
    },
)
.lowest(|cx, row| get(cx, row).map_or(Key::None, |process| Key::Text(&process.user)));
const TIME: Column<Row> = Column::right(
    text::TIME_HEAD,
    5,
    |_| Width::fixed(9),
    |cx, row, pen| {
        with(cx, row, |process| cells::time(process, pen));
    },
)
.highest(|cx, row| number(cx, row, |process| process.cpu_seconds));
const COMMAND: Column<Row> = Column::left(
    text::COMMAND_HEAD,
    6,
    |_| Width::flex(20, 40, 6),
    |cx, row, pen| {
        with(cx, row, |process| cells::command(process, pen));
    },
)
.lowest(|cx, row| get(cx, row).map_or(Key::None, |process| Key::Text(&process.cmdline)));
/// The name with room for the tree.
pub(super) const BRANCH: Column<Row> = Column { width: |_| Width::flex(14, 26, 4), ..COMM };
/// The usual name.
pub(super) const NAME: Column<Row> = COMM;
/// CPU time in percent of a CPU, as top has it.
pub(super) const PERCENT: Column<Row> = Column { draw: |cx, row, pen| cells::cores(cx, row, true, pen), ..CPU };
/// The same in cores.
pub(super) const CORES: Column<Row> = CPU;
/// The same where it is what one came for.
const WHOLE_COMMAND: Column<Row> =
    Column { priority: 0, width: |_| Width::flex(20, 400, 1), draw: cells::line, ..COMMAND };

pub(super) static COLUMNS: &[Column<Row>] = &[
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
    NICE,
    MEMORY,
    NODE,
    PARENT,
    SCHEDULING,
    SWITCHES,
    SWAP,
];

/// The table with whole command lines.
pub(super) static COMMANDS: &[Column<Row>] = &[PID, USER, STATE, CPU, TIME, RSS, WHOLE_COMMAND];
