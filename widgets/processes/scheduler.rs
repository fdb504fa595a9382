//! Columns of the process table that other monitors have: how the scheduler treats a process, and its swap.

use super::columns::{either, get, with};
use super::rows::{Row, thread};
use crate::Role;
use crate::parts::mark;
use crate::parts::table::{Column, Key, Width};
use crate::parts::{Pen, units};
use topotop_model::Known;
use topotop_model::frame::Process;
use topotop_model::locale::screen::processes as text;

pub(super) const SCHEDULING: Column<Row> = Column::left(
    text::SCHED_HEAD,
    9,
    |_| Width::fixed(7),
    |cx, row, pen| match thread(cx, row) {
        Some(thread) => scheduling(thread.policy, None, pen),
        None => with(cx, row, |process| scheduling(process.scheduling, process.rt_priority.value(), pen)),
    },
);
pub(super) const SWITCHES: Column<Row> = Column::right(
    text::SWITCHES_HEAD,
    9,
    |_| Width::fixed(6),
    |cx, row, pen| {
        let rate = match thread(cx, row) {
            Some(thread) => thread.slices_per_second,
            None => get(cx, row).and_then(|process| process.context_switches_per_second),
        };
        pen.some(rate, "*/schedstat", |rate| (units::count(rate), Role::Text));
    },
)
.highest(|cx, row| either(cx, row, |process| process.context_switches_per_second, |thread| thread.slices_per_second));
pub(super) const SWAP: Column<Row> = Column::right(
    text::SWAP_HEAD,
    9,
    |_| Width::fixed(6),
    |cx, row, pen| {
        with(cx, row, |process| swap(process, pen));
    },
)
.highest(|cx, row| get(cx, row).map_or(Key::None, |process| Key::known(process.swap_bytes)));
/// The kernel's names of scheduling policies (SCHED_*), in the order of their numbers.
const POLICIES: [&str; 7] = ["other", "fifo", "rr", "batch", "?", "idle", "deadl"];

/// A scheduling policy, with the priority of a real-time one: `fifo 50`.
fn scheduling(policy: Known<u64>, priority: Option<u64>, pen: &mut Pen<'_>) {
    let dash = mark::dash(pen.cx().charset);
    let priority = priority.filter(|priority| *priority > 0);
    pen.value(policy, dash, "*/stat", |policy| {
        let name = usize::try_from(policy).ok().and_then(|at| POLICIES.get(at)).unwrap_or(&"?");
        let role = if policy == 0 { Role::Dim } else { Role::Info };
        match priority {
            Some(priority) => (units::Short::from_display(format_args!("{name} {priority}")), role),
            None => (units::Short::from_display(format_args!("{name}")), role),
        }
    });
}

fn swap(process: &Process, pen: &mut Pen<'_>) {
    if process.kernel {
        pen.text(Role::Absent, mark::dash(pen.cx().charset));
        return;
    }
    pen.value(process.swap_bytes, mark::dash(pen.cx().charset), "*/status", |bytes| {
        (units::bytes(bytes as f64), if bytes == 0 { Role::Dim } else { Role::Text })
    });
}
