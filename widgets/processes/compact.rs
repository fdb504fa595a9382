//! The busiest processes for the overview.

use super::{cells, columns};
use crate::parts::{Pen, names, pane, severity};
use crate::{Cx, Role, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::cmp::Reverse;
use topotop_model::frame::Process;
use topotop_model::locale::screen::processes as text;

/// Draws a head and as many of the busiest processes as fit. The first column is for signs.
pub fn compact(cx: &Cx<'_>, whole: Rect, buf: &mut Buffer) {
    let area = severity::gutter(whole);
    if area.is_empty() {
        return;
    }
    let filter = super::filter::of(cx);
    let mut rows: Vec<&Process> = cx.frame.processes.iter().filter(|process| filter.passes(process)).collect();
    let wanted = usize::from(area.height.saturating_sub(1));
    // Most CPU first, in tenths as shown; of equal ones those that wait for more, then the biggest.
    let rank = |process: &&Process| {
        let cpu = process.cpu_cores.map_or(0, |cores| (cores * 10.0).round() as u64);
        // The wait of one that hardly runs is a large share of next to nothing.
        let wait = process.wait_share.filter(|_| cpu > 0).map_or(0, |share| (share * 100.0) as u64);
        Reverse((cpu, wait, process.rss_bytes.value().unwrap_or(0)))
    };
    if wanted > 0 && rows.len() > wanted {
        rows.select_nth_unstable_by_key(wanted - 1, rank);
        rows.truncate(wanted);
    }
    rows.sort_by_key(rank);
    let widest = rows.iter().map(|process| names::width(&names::cgroup(cx, &process.cgroup))).max();
    let plan = Plan::new(cx, area.width, widest.unwrap_or(0).max(names::width(&text::CGROUP_HEAD)));
    head(cx, &plan, area, buf);
    if rows.is_empty() && area.height > 1 {
        let why = pane::nothing(cx, &text::PROCESSES, cx.frame.processes.len(), &text::NO_PROCESSES);
        Pen::new(cx, area, 1, buf).text(Role::Dim, &why);
    }
    for (at, process) in rows.into_iter().take(wanted).enumerate() {
        let strip = Rect { y: area.y + 1 + at as u16, height: 1, ..area };
        line(cx, &plan, process, &mut Pen::new(cx, strip, 0, buf));
        let subject = Subject::Process(process.pid, process.starttime);
        severity::beside(cx, whole, 1 + at as u16, severity::worst(cx, &subject), buf);
    }
}

/// How many processes it shows in so many rows, and how many there are.
pub fn compact_counts(cx: &Cx<'_>, rows: u16) -> (usize, usize) {
    let filter = super::filter::of(cx);
    let all = cx.frame.processes.iter().filter(|process| filter.passes(process)).count();
    (all.min(usize::from(rows.saturating_sub(1))), all)
}

/// Widths of the columns that fit.
struct Plan {
    comm: u16,
    cpu_nodes: u16,
    memory: u16,
    remote: u16,
    affinity: u16,
    wait: u16,
    policy: u16,
    cgroup: u16,
    user: u16,
    time: u16,
    command: u16,
}

/// What other columns leave to a name: the longest of the kernel's has 15.
const NAME: u16 = 16;
/// Columns of a control group's name, at least and where others want the rest, and the fewest of a command line.
const GROUP: u16 = 12;
const CGROUP: u16 = 34;
const COMMAND: u16 = 16;
const USER: u16 = 9;
const TIME: u16 = 9;

impl Plan {
    fn new(cx: &Cx<'_>, width: u16, group: u16) -> Self {
        let nodes = columns::nodes(cx);
        let mut room = width.saturating_sub(7 + 1 + 6 + 1);
        let mut take = |wanted: u16, least: u16| {
            let got = if room > least + NAME { wanted.min(room - NAME) } else { 0 };
            let got = if got < least { 0 } else { got };
            room -= if got > 0 { got + 1 } else { 0 };
            got
        };
        let many = nodes > 1;
        let affinity = take(14, 8);
        let cpu_nodes =
            if many { take(if nodes <= 4 { nodes * 3 - 1 } else { nodes.min(32) }, nodes.min(8)) } else { 0 };
        let wait = take(5, 5);
        let memory = if many { take(nodes.min(32) + 16, nodes.min(8) + 6) } else { take(6, 5) };
        let remote = if many { take(15, 5) } else { 0 };
        let policy = if many { take(10, 7) } else { 0 };
        let comm = room.saturating_sub(1).clamp(1, 24);
        let left = room.saturating_sub(comm + 2);
        let (cgroup, user, time, command) = Self::last(left, group);
        Self { comm, cpu_nodes, memory, remote, affinity, wait, policy, cgroup, user, time, command }
    }
}

impl Plan {
    /// Widths of the last columns in what is left: control group, user, CPU time, command line. Each comes once those
    /// before it are as wide as they have to be.
    fn last(left: u16, group: u16) -> (u16, u16, u16, u16) {
        if left < GROUP {
            return (0, 0, 0, 0);
        }
        let cgroup = group.clamp(GROUP, CGROUP).min(left);
        let mut left = left - cgroup;
        let mut take = |wanted: u16, most: u16| {
            let got = if left > wanted { most.min(left - 1) } else { 0 };
            left -= if got > 0 { got + 1 } else { 0 };
            got
        };
        let (user, time) = (take(USER, USER), take(TIME, TIME));
        let command = take(COMMAND, u16::MAX);
        // Without a command line the group may be as wide as there is room for.
        (if command == 0 { cgroup + left } else { cgroup }, user, time, command)
    }
}

fn head(cx: &Cx<'_>, plan: &Plan, area: Rect, buf: &mut Buffer) {
    let mut pen = Pen::new(cx, Rect { height: 1, ..area }, 0, buf);
    let memory = if columns::nodes(cx) > 1 {
        (text::MEMORY_BY_NODE_HEAD, plan.memory, false)
    } else {
        (text::RSS_HEAD, plan.memory, true)
    };
    let cells = [
        (text::PID_HEAD, 7, true),
        (text::COMM_HEAD, plan.comm, false),
        (text::CPU_HEAD, 6, true),
        (text::CPU_BY_NODE_HEAD, plan.cpu_nodes, false),
        memory,
        (text::REMOTE_HEAD, plan.remote, false),
        (text::WAIT_HEAD, plan.wait, true),
        (text::AFFINITY_HEAD, plan.affinity, false),
        (text::POLICY_HEAD, plan.policy, false),
        (text::CGROUP_HEAD, plan.cgroup, false),
        (text::USER_HEAD, plan.user, false),
        (text::TIME_HEAD, plan.time, true),
        (text::COMMAND_HEAD, plan.command, false),
    ];
    for (title, width, is_number) in cells.into_iter().filter(|cell| cell.1 > 0) {
        let title = names::clean(&title, usize::from(width));
        let indent = if is_number { width.saturating_sub(names::width(&title)) } else { 0 };
        pen.sub(width).skip(indent).text(Role::Head, &title);
        pen.skip(1);
    }
}

fn line(cx: &Cx<'_>, plan: &Plan, process: &Process, pen: &mut Pen<'_>) {
    let mut cell = |width: u16, right: bool, draw: &dyn Fn(&mut Pen<'_>)| {
        if width == 0 {
            return;
        }
        let mut inner = pen.sub(width);
        let start = inner.x();
        draw(&mut inner);
        if right {
            inner.align_right(start);
        }
        pen.skip(1);
    };
    cell(7, true, &|pen| {
        pen.text(Role::Dim, &process.pid.to_string());
    });
    cell(plan.comm, false, &|pen| cells::comm(process, pen));
    cell(6, true, &|pen| cells::cpu(process, pen));
    cell(plan.cpu_nodes, false, &|pen| cells::cpu_by_node(cx, process, pen));
    if columns::nodes(cx) > 1 {
        cell(plan.memory, false, &|pen| cells::memory_by_node(cx, process, pen));
    } else {
        cell(plan.memory, true, &|pen| cells::rss(process, pen));
    }
    cell(plan.remote, false, &|pen| cells::remote(cx, process, pen));
    cell(plan.wait, true, &|pen| cells::wait(process, pen));
    cell(plan.affinity, false, &|pen| cells::affinity(cx, process, pen));
    cell(plan.policy, false, &|pen| cells::policy(process, pen));
    cell(plan.cgroup, false, &|pen| cells::cgroup(cx, process, pen));
    cell(plan.user, false, &|pen| cells::user(process, pen));
    cell(plan.time, true, &|pen| cells::time(process, pen));
    cell(plan.command, false, &|pen| cells::command(process, pen));
}
