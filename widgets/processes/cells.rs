//! Cells of the process table.

use super::columns::nodes;
use super::rows::{Row, thread};
use crate::parts::Pen;
use crate::parts::mark;
use crate::parts::names;
use crate::parts::units;
use crate::{Cx, Role};
use topotop_model::Total as _;
use topotop_model::frame::{MemorySource, Process, Thread};
use topotop_model::locale::Text;
use topotop_model::locale::screen::processes as text;
use topotop_model::locale::screen::shared;

pub(super) fn comm(process: &Process, pen: &mut Pen<'_>) {
    if process.comm.is_empty() {
        pen.unread("*/stat");
    } else if process.kernel {
        pen.text(Role::Dim, &process.comm);
    } else {
        pen.text(Role::Text, &process.comm);
    }
}

pub(super) fn user(process: &Process, pen: &mut Pen<'_>) {
    if process.user.is_empty() {
        // User 0 is root everywhere; other names are known to their machine only.
        pen.value(process.uid, &shared::NONE, "*/status", |uid| match uid {
            0 => (units::Short::from_display(format_args!("root")), Role::Dim),
            uid => (units::full(u64::from(uid)), Role::Dim),
        });
    } else {
        pen.text(if process.kernel { Role::Dim } else { Role::Text }, &process.user);
    }
}

/// CPU time since its start.
pub(super) fn time(process: &Process, pen: &mut Pen<'_>) {
    pen.some(process.cpu_seconds, "*/stat", |seconds| (units::cpu_time(seconds), Role::Text));
}

/// The command line; a kernel thread has a name only, in brackets as in ps.
pub(super) fn command(process: &Process, pen: &mut Pen<'_>) {
    if process.cmdline.is_empty() {
        pen.text(Role::Dim, &format!("[{}]", process.comm));
    } else {
        pen.text(Role::Text, &process.cmdline);
    }
}

/// The name of a process or thread, indented by its place in the tree.
pub(super) fn name(cx: &Cx<'_>, row: Row, pen: &mut Pen<'_>) {
    in_tree(cx, row, pen, comm);
}

/// The command line of a process or the name of a thread, indented by its place in the tree.
pub(super) fn line(cx: &Cx<'_>, row: Row, pen: &mut Pen<'_>) {
    in_tree(cx, row, pen, command);
}

fn in_tree(cx: &Cx<'_>, row: Row, pen: &mut Pen<'_>, of: fn(&Process, &mut Pen<'_>)) {
    let unicode = cx.charset == crate::Charset::Unicode;
    // Of deep trees the nearest levels, in half of the column.
    for level in (0..row.depth.min(pen.left() / 4 + 1)).rev() {
        let goes_on = level < 64 && row.more >> level & 1 == 1;
        let branch = match (level, goes_on, unicode) {
            (0, true, true) => "├ ",
            (0, false, true) => "└ ",
            (0, true, false) => "|-",
            (0, false, false) => "`-",
            (_, true, true) => "│ ",
            (_, true, false) => "| ",
            (_, false, _) => "  ",
        };
        pen.text(Role::Border, branch);
    }
    if row.folded {
        pen.text(Role::Key, "+");
    }
    match thread(cx, row) {
        Some(thread) => {
            pen.text(if thread.fixed { Role::Dim } else { Role::Info }, &thread.comm);
        }
        None => {
            if let Some(process) = cx.frame.processes.get(row.process) {
                of(process, pen);
            }
        }
    }
}

/// CPU time of a process or thread, in cores or in percent of one.
pub(super) fn cores(cx: &Cx<'_>, row: Row, percent: bool, pen: &mut Pen<'_>) {
    let of_process = || cx.frame.processes.get(row.process).and_then(|process| process.cpu_cores);
    let cores = if row.thread.is_some() { thread(cx, row).and_then(|thread| thread.cpu_cores) } else { of_process() };
    let could =
        if row.thread.is_some() { 1.0 } else { cx.frame.processes.get(row.process).map_or(1.0, |p| could_use(cx, p)) };
    pen.some(cores, "*/stat", |cores| {
        let text = if percent { units::hundredths(cores) } else { units::cores(cores) };
        (text, if cores < 0.005 { Role::Dim } else { Role::heat(cores / could) })
    });
}

/// Where a thread may run.
pub(super) fn affinity_of(cx: &Cx<'_>, thread: &Thread, pen: &mut Pen<'_>) {
    match &thread.affinity {
        Some(cpus) => {
            let (text, role) = names::cpus(cx, cpus, usize::from(pen.left()));
            pen.text(if thread.fixed { Role::Dim } else { role }, &text);
        }
        None => {
            pen.unread("*/status");
        }
    }
}

/// The cores that a process could use: as many as it has threads, and CPUs to run on. One busy core is no heat for a
/// process that has sixteen.
fn could_use(cx: &Cx<'_>, process: &Process) -> f64 {
    let online = cx.frame.topology.cpus_online.len();
    let allowed = process.affinity.as_ref().map_or(online, |cpus| cpus.len().min(online));
    let threads = process.threads.value().unwrap_or(1);
    allowed.min(threads).max(1) as f64
}

pub(super) fn cpu(process: &Process, pen: &mut Pen<'_>) {
    let cx = pen.cx();
    pen.some(process.cpu_cores, "*/stat", |cores| {
        (units::cores(cores), if cores < 0.005 { Role::Dim } else { Role::heat(cores / could_use(cx, process)) })
    });
}

/// One share of its CPU time per node, as high and as hot as it is large.
pub(super) fn cpu_by_node(cx: &Cx<'_>, process: &Process, pen: &mut Pen<'_>) {
    let total: f64 = process.cpu_by_node.iter().map(|entry| entry.1).sum();
    if process.cpu_by_node.is_empty() {
        pen.unread("*/stat");
        return;
    }
    let share = |node: u32| {
        let cores = process.cpu_by_node.iter().find(|entry| entry.0 == node).map_or(0.0, |entry| entry.1);
        if total > 0.0 { cores / total } else { 0.0 }
    };
    cells_by_node(cx, pen, share);
}

/// One or two cells per node, coloured as the node.
fn cells_by_node(cx: &Cx<'_>, pen: &mut Pen<'_>, share: impl Fn(u32) -> f64) {
    let wide = nodes(cx) * 3 <= pen.left() + 1;
    for (index, node) in cx.frame.topology.nodes.iter().enumerate() {
        if wide && index > 0 {
            pen.skip(1);
        }
        pen.level(Role::node(node.id), share(node.id), if wide { 2 } else { 1 });
    }
}

/// One bar per node, then the nodes that hold most, in numbers.
pub(super) fn memory_by_node(cx: &Cx<'_>, process: &Process, pen: &mut Pen<'_>) {
    let Some(memory) = &process.memory else {
        let _ = if process.kernel { pen.text(Role::Absent, &shared::NONE) } else { pen.unread("/numa_maps") };
        return;
    };
    let total = memory.by_node.iter().map(|entry| entry.1).total().max(1) as f64;
    let width = nodes(cx).min(pen.left());
    {
        let mut bars = pen.sub(width);
        for node in &cx.frame.topology.nodes {
            let bytes = memory.by_node.iter().find(|entry| entry.0 == node.id).map_or(0, |entry| entry.1);
            bars.level(Role::node(node.id), bytes as f64 / total, 1);
        }
    }
    let mut most = memory.by_node.clone();
    most.sort_by_key(|entry| std::cmp::Reverse(entry.1));
    for (node, bytes) in most.into_iter().filter(|entry| entry.1 > 0) {
        let text = format!(" {} n{node}", units::bytes(bytes as f64));
        if names::width(&text) > pen.left() {
            break;
        }
        pen.text(Role::node(node), &text);
    }
}

/// Why nobody knows where its memory is.
pub(super) fn memory_mark(cx: &Cx<'_>, process: &Process) -> (&'static str, Role) {
    if process.kernel { (shared::NONE.as_str(), Role::Absent) } else { mark::missing(cx, "/numa_maps") }
}

/// How the memory of a process was measured, on screens.
pub(super) fn source_label(source: MemorySource) -> Text {
    match source {
        MemorySource::Cgroup => text::SOURCE_CGROUP,
        MemorySource::Sampled => text::SOURCE_SAMPLED,
        MemorySource::NumaMaps => text::SOURCE_NUMA_MAPS,
        MemorySource::OneNode => text::SOURCE_ONE_NODE,
    }
}

/// The remote ratio with its error and its source.
pub(super) fn remote(cx: &Cx<'_>, process: &Process, pen: &mut Pen<'_>) {
    let Some(memory) = &process.memory else {
        let _ = if process.kernel { pen.text(Role::Absent, &shared::NONE) } else { pen.unread("/numa_maps") };
        return;
    };
    let Some(ratio) = memory.remote_ratio else {
        // Who used no CPU has no remote accesses; whose use is unknown may have.
        pen.text(Role::Absent, if process.cpu_cores.is_some() { mark::dash(cx.charset) } else { "?" });
        return;
    };
    pen.text(Role::heat(ratio), units::fine_percent(ratio).as_str());
    let percent = (memory.error * 100.0).ceil();
    let error = if percent > 0.0 { format!(" {}{percent:.0}", mark::error(cx.charset)) } else { String::new() };
    let source = match memory.source {
        MemorySource::NumaMaps => format!(" {}", text::EXACT),
        source => format!(" {}", source_label(source)),
    };
    for text in [error.as_str(), &source] {
        if names::width(text) <= pen.left() {
            pen.text(Role::Dim, text);
        }
    }
}

/// Waiting for a CPU. A high share of next to nothing is no alarm; who neither ran nor waited has no share.
pub(super) fn wait(process: &Process, pen: &mut Pen<'_>) {
    wait_of(process.wait_share, process.cpu_cores, pen);
}

/// The same of a process or thread.
pub(super) fn wait_of(share: Option<f64>, used: Option<f64>, pen: &mut Pen<'_>) {
    let cores = used.unwrap_or(0.0);
    if share.is_none() && used.is_some() && cores < 0.001 {
        pen.text(Role::Absent, mark::dash(pen.cx().charset));
        return;
    }
    pen.some(share, "*/schedstat", |share| {
        let role = match share {
            _ if cores < 0.05 => Role::Dim,
            share if share >= 0.3 => Role::Critical,
            share if share >= 0.1 => Role::Warn,
            share if share >= 0.01 => Role::Text,
            _ => Role::Dim,
        };
        (units::percent(share), role)
    });
}

/// Bytes read or written; kernel threads are not accounted.
pub(super) fn rate(process: &Process, rate: Option<f64>, pen: &mut Pen<'_>) {
    if process.kernel && rate.is_none() {
        pen.text(Role::Absent, mark::dash(pen.cx().charset));
        return;
    }
    if process.has_io && rate.is_none() {
        // Another process's counters may be denied; these have been read once.
        pen.text(Role::Absent, "?");
        return;
    }
    pen.some(rate, "/io", |rate| (units::bytes(rate), if rate < 1.0 { Role::Dim } else { Role::Text }));
}

pub(super) fn state(cx: &Cx<'_>, state: char, pen: &mut Pen<'_>) {
    let role = match state {
        'D' => Role::Warn,
        'R' => Role::Ok,
        'Z' => Role::Info,
        _ => Role::Dim,
    };
    let mut utf8 = [0; 4];
    let text = if state == '\0' { mark::dash(cx.charset) } else { state.encode_utf8(&mut utf8) };
    pen.text(role, text);
}

pub(super) fn policy(process: &Process, pen: &mut Pen<'_>) {
    if process.policy.is_empty() && process.kernel {
        pen.text(Role::Absent, mark::dash(pen.cx().charset));
    } else if process.policy.is_empty() {
        pen.unread("/numa_maps");
    } else {
        pen.text(if &*process.policy == "default" { Role::Dim } else { Role::Info }, &process.policy);
    }
}

pub(super) fn cgroup(cx: &Cx<'_>, process: &Process, pen: &mut Pen<'_>) {
    if process.cgroup.is_empty() {
        pen.unread("/cgroup");
    } else {
        pen.text(Role::Dim, &names::cgroup(cx, &process.cgroup));
    }
}

/// Where its threads may run, in a word: `all`, `0-31`, `8×1 pinned`, `3 masks`.
pub(super) fn affinity(cx: &Cx<'_>, process: &Process, pen: &mut Pen<'_>) {
    let room = usize::from(pen.left());
    let (text, role) = affinity_word(cx, process, room);
    // A kernel thread belongs where it is.
    pen.text(if process.kernel { Role::Dim } else { role }, &text);
}

/// How many other processes that do something are pinned to the same CPU: they wait for each other while others idle.
fn sharing(cx: &Cx<'_>, process: &Process, cpus: &topotop_model::IdSet) -> usize {
    let busy = |other: &&Process| other.cpu_cores.is_some_and(|cores| cores >= 0.01);
    if !busy(&process) {
        return 0;
    }
    let pinned = |other: &&Process| other.thread_affinities.iter().any(|group| *group.cpus == *cpus);
    let others = cx.frame.processes.iter().filter(|other| other.pid != process.pid && !other.kernel);
    others.filter(busy).filter(pinned).count()
}

pub(super) fn affinity_word(cx: &Cx<'_>, process: &Process, room: usize) -> (String, Role) {
    let groups = &process.thread_affinities;
    let online = &cx.frame.topology.cpus_online;
    let one = |group: &&topotop_model::frame::AffinityGroup| group.cpus.single().is_some() && online.len() > 1;
    let pinned: u32 = groups.iter().filter(one).map(|group| group.count).sum();
    let targets = groups.iter().filter(one).count();
    match (groups.as_slice(), &process.affinity) {
        ([], None) => {
            let (text, role) = mark::missing(cx, "/status");
            (text.to_owned(), role)
        }
        ([only], _) => {
            let (text, role) = names::cpus(cx, &only.cpus, room);
            let shared = if one(&only) && !process.kernel { sharing(cx, process, &only.cpus) } else { 0 };
            match shared {
                0 => (text, role),
                _ if room >= usize::from(names::width(&text)) + 8 => {
                    (text::SharedCpu { cpu: &text, count: &(shared + 1) }.to_string(), Role::Critical)
                }
                _ => (format!("{text} ×{}", shared + 1), Role::Critical),
            }
        }
        ([], Some(cpus)) => names::cpus(cx, cpus, room),
        (_, _) if pinned > 0 => {
            let each = pinned.div_ceil(targets.max(1) as u32);
            let pins = if each <= 1 {
                text::PinnedEach { cpus: &targets }.to_string()
            } else {
                text::Pinned { threads: &pinned, cpus: &targets }.to_string()
            };
            (pins, Role::Warn)
        }
        (many, _) => (text::Masks { count: &many.len() }.to_string(), Role::Info),
    }
}

pub(super) fn rss(process: &Process, pen: &mut Pen<'_>) {
    pen.value(process.rss_bytes, &shared::NONE, "*/stat", |bytes| {
        (units::bytes(bytes as f64), if bytes == 0 { Role::Dim } else { Role::Text })
    });
}
