//! One process in full: what `numactl --show` would say from inside it, its threads, its pins.

use super::{Id, cells, find, sockets, waits};
use crate::parts::pane::Doc;
use crate::parts::{mark, names, units};
use crate::{Cx, Role};
use std::fmt::Write as _;
use topotop_model::Total as _;
use topotop_model::frame::{Beam, Process, ProcessMemory, Thread};
use topotop_model::locale::screen::processes as text;
use topotop_model::locale::screen::shared;
use topotop_model::text::short_ids;
use topotop_model::{IdSet, Known};

/// The detail of a process, for a box this wide.
pub(super) fn doc(cx: &Cx<'_>, id: Id, width: u16) -> Doc {
    let mut doc = Doc::default();
    let Some(process) = find(cx, id) else {
        doc.line(vec![(text::Ended { pid: &id.0 }.to_string(), Role::Absent)]);
        return doc;
    };
    placement(cx, &mut doc, process, usize::from(width.saturating_sub(18)));
    memory(cx, &mut doc, process);
    if let Some(beam) = &process.beam {
        beam_lines(cx, &mut doc, beam);
    }
    let room = usize::from(width.saturating_sub(18));
    waits::lines(cx, &mut doc, process, room);
    if let Some(jvm) = &process.jvm {
        sockets::jvm(cx, &mut doc, jvm, room);
    }
    sockets::lines(cx, &mut doc, process, room);
    affinities(cx, &mut doc, process);
    threads(cx, &mut doc, process);
    doc.gap();
    doc.head(text::GROUP_SECTION);
    match &*process.cgroup {
        "" => doc.unread(cx, &text::CGROUP, "/cgroup"),
        path => doc.pair(&text::CGROUP, &*short_ids(path), Role::Text),
    }
    if let Some(container) = cx.frame.cgroup(&process.cgroup).and_then(|cgroup| cgroup.container.as_ref()) {
        doc.pair(&text::CONTAINER, names::container(container), Role::Text);
    }
    command(cx, &mut doc, process, usize::from(width.max(20)));
    doc
}

/// The lines of `numactl --show`, with its words, for this process.
fn placement(cx: &Cx<'_>, doc: &mut Doc, process: &Process, room: usize) {
    doc.head(text::PLACEMENT);
    let policy = policy(&process.policy);
    match policy {
        Some((name, _)) => doc.pair("policy", name, Role::Text),
        // With one node there is nothing to choose, so nobody reads it.
        None if cx.frame.topology.nodes.len() == 1 => doc.pair("policy", text::ONE_NODE, Role::Absent),
        None => doc.unread(cx, "policy", "/numa_maps"),
    }
    let (name, nodes) = policy.unwrap_or_default();
    let preferred = if name.starts_with("prefer") { nodes } else { "current" };
    doc.pair("preferred node", if name.is_empty() { mark::dash(cx.charset) } else { preferred }, Role::Text);
    let online = &cx.frame.topology.cpus_online;
    let cpus = process.affinity.as_ref().map(|cpus| cpus.intersection(online));
    set(cx, doc, "physcpubind", cpus.as_ref(), "/status", room);
    let nodes_of = cpus.as_ref().map(|cpus| nodes_of(cx, cpus));
    set(cx, doc, "cpubind", nodes_of.as_ref(), "/status", room);
    set(cx, doc, "nodebind", nodes_of.as_ref(), "/status", room);
    let allowed = process.mems_allowed.as_deref();
    let bound = name.starts_with("bind").then(|| IdSet::parse_list(nodes)).flatten();
    set(cx, doc, "membind", bound.as_ref().or(allowed), "/status", room);
    if process.thread_affinities.len() > 1 {
        doc.line(vec![(text::MAIN_THREAD.to_string(), Role::Warn)]);
    }
    machine(cx, doc, room);
}

/// The same of the whole machine, in a line: what is queried of a process is shown for it alone.
fn machine(cx: &Cx<'_>, doc: &mut Doc, room: usize) {
    let topology = &cx.frame.topology;
    let with_cpus = IdSet::from_ids(topology.cpu_nodes().map(|node| node.id));
    let with_memory = IdSet::from_ids(topology.nodes.iter().filter(|node| node.has_memory).map(|node| node.id));
    let cpus = &topology.cpus_online;
    let text = format!("physcpubind {cpus}, cpubind {with_cpus}, membind {with_memory}");
    // Part of a list would be another one.
    if text.len() + 17 <= room {
        doc.pair(&text::MACHINE, text, Role::Dim);
    }
}

/// `bind:0-1` as (`bind`, `0-1`).
fn policy(text: &str) -> Option<(&str, &str)> {
    (!text.is_empty()).then(|| text.split_once([':', ' ', '=']).unwrap_or((text, "")))
}

fn set(cx: &Cx<'_>, doc: &mut Doc, name: &str, set: Option<&IdSet>, file: &str, room: usize) {
    match set {
        Some(set) => doc.pair(name, units::id_list(set, room), Role::Text),
        None => doc.unread(cx, name, file),
    }
}

fn nodes_of(cx: &Cx<'_>, cpus: &IdSet) -> IdSet {
    let nodes = cx.frame.topology.nodes.iter();
    nodes.filter(|node| node.cpus.intersects(cpus)).map(|node| node.id).collect()
}

fn memory(cx: &Cx<'_>, doc: &mut Doc, process: &Process) {
    doc.gap();
    doc.head(text::BY_NODE);
    let Some(memory) = &process.memory else {
        let (text, role) = cells::memory_mark(cx, process);
        doc.pair(&text::MEMORY_ROW, text, role);
        return cpu_lines(doc, process);
    };
    let error = if memory.error > 0.0 {
        format!("{}{:.1}%", mark::error(cx.charset), memory.error * 100.0)
    } else {
        text::EXACT.to_string()
    };
    doc.pair(
        &text::SOURCE,
        text::SourceText {
            source: &cells::source_label(memory.source),
            error: &error,
            age: &units::seconds(memory.age_seconds),
        }
        .to_string(),
        Role::Text,
    );
    match memory.remote_ratio {
        Some(ratio) => {
            let ratio = units::fine_percent(ratio);
            doc.pair(&text::REMOTE, text::RemoteText { share: &ratio }.to_string(), Role::Text);
        }
        None if process.cpu_cores.is_some() => doc.pair(&text::REMOTE, text::REMOTE_NONE, Role::Absent),
        None => doc.pair(&text::REMOTE, "?", Role::Absent),
    }
    by_node(cx, doc, process, memory);
}

/// CPU and memory of a process, a line per node.
fn by_node(cx: &Cx<'_>, doc: &mut Doc, process: &Process, memory: &ProcessMemory) {
    let total = memory.by_node.iter().map(|entry| entry.1).total().max(1) as f64;
    for node in &cx.frame.topology.nodes {
        let at = |list: &[(u32, u64)]| list.iter().find(|entry| entry.0 == node.id).map_or(0, |entry| entry.1);
        let bytes = at(&memory.by_node) as f64;
        let cores = process.cpu_by_node.iter().find(|entry| entry.0 == node.id).map_or(0.0, |entry| entry.1);
        let known = (!process.cpu_by_node.is_empty()).then_some(cores);
        let cpu = units::or_unknown(known, units::cores);
        let file = if memory.file_by_node.is_empty() {
            String::new()
        } else {
            let bytes = format!("{:>9}", units::bytes_in_text(at(&memory.file_by_node) as f64));
            format!("  {}", text::NodeFile { bytes: &bytes })
        };
        doc.line(vec![
            (node_name(node.id), Role::node(node.id)),
            (
                text::NodeUse {
                    cpu: &format!("{cpu:>4}"),
                    bytes: &format!("{:>9}", units::bytes_in_text(bytes)),
                    share: &format!("{:>5}", units::percent(bytes / total)),
                }
                .to_string(),
                Role::Text,
            ),
            (file, Role::Dim),
        ]);
    }
}

/// The name of a node before its figures.
fn node_name(id: u32) -> String {
    names::padded(&format!("  {}", shared::Node { id: &id }), 10)
}

fn cpu_lines(doc: &mut Doc, process: &Process) {
    for (node, cores) in &process.cpu_by_node {
        doc.line(vec![
            (node_name(*node), Role::node(*node)),
            (text::NodeCpu { cpu: &format!("{:>4}", units::cores(*cores)) }.to_string(), Role::Text),
        ]);
    }
}

/// Bound by configuration and bound now are two facts: nothing binds after `u`, and tools rebind what is running.
fn beam_lines(cx: &Cx<'_>, doc: &mut Doc, beam: &Beam) {
    doc.gap();
    doc.head(text::ERLANG);
    let (configured, role) = match &beam.bind_type_configured {
        Known::Value(kind) if &**kind == "u" => (kind.to_string(), Role::Text),
        Known::Value(kind) => (kind.to_string(), Role::Warn),
        Known::None => (text::NOT_SET.to_string(), Role::Text),
        Known::Missing => (mark::missing(cx, "/cmdline").0.to_owned(), Role::Absent),
    };
    doc.pair(&text::BIND_TYPE, configured, role);
    let (bound, role) = match beam.bound_now {
        Known::Value(true) => (text::BOUND_YES.as_str(), Role::Warn),
        Known::Value(false) => (shared::NO.as_str(), Role::Ok),
        Known::None => (shared::NOT_APPLICABLE.as_str(), Role::Absent),
        Known::Missing => mark::missing(cx, "/status"),
    };
    doc.pair(&text::BOUND, bound, role);

    let count = beam.schedulers.value().map_or_else(|| mark::dash(cx.charset).to_owned(), |count| count.to_string());
    let schedulers = match beam.schedulers_active {
        Some(active) => text::SchedulersText { count: &count, active: &active }.to_string(),
        None => count,
    };
    doc.pair(&text::SCHEDULERS, schedulers, Role::Text);
    if !beam.pinned.is_empty() {
        let mut text = String::new();
        // Writing to a String cannot fail.
        for (cpu, threads) in beam.pinned.iter().take(256) {
            let _ = write!(text, "c{cpu}×{threads} ");
        }
        doc.pair(&text::PIN_MAP, text, Role::Warn);
    }
}

fn affinities(cx: &Cx<'_>, doc: &mut Doc, process: &Process) {
    doc.gap();
    doc.head(text::AFFINITIES);
    if process.thread_affinities.is_empty() {
        doc.unread(cx, &text::THREADS, "/task/*/status");
    }
    for group in process.thread_affinities.iter().take(256) {
        let (cpus, role) = names::cpus(cx, &group.cpus, 60);
        doc.line(vec![
            (format!("{:>6} ", group.count), Role::Text),
            (names::padded(&if group.count == 1 { text::THREAD } else { text::THREADS }, 9), Role::Dim),
            (cpus, if group.cpus.single().is_some() { Role::Warn } else { role }),
        ]);
    }
}

fn threads(cx: &Cx<'_>, doc: &mut Doc, process: &Process) {
    let mut threads: Vec<&Thread> = cx.frame.threads_of(process.pid).iter().collect();
    doc.gap();
    doc.head(format!(
        "{:>8} {} {} {} {}  {}",
        "TID",
        names::padded(&text::THREAD_HEAD, 16),
        names::flush_right(&text::CPU_HEAD, 6),
        names::flush_right(&text::WAIT_HEAD, 5),
        names::flush_right(&text::LAST_HEAD, 5),
        text::AFFINITY_HEAD,
    ));
    if threads.is_empty() {
        doc.line(vec![(text::THREADS_PENDING.to_string(), Role::Dim)]);
    }
    threads.sort_by(|a, b| b.cpu_cores.unwrap_or(-1.0).total_cmp(&a.cpu_cores.unwrap_or(-1.0)));
    for thread in threads.into_iter().take(1024) {
        doc.line(thread_line(cx, thread));
    }
}

fn thread_line(cx: &Cx<'_>, thread: &Thread) -> Vec<(String, Role)> {
    let cpu = units::or_unknown(thread.cpu_cores, units::cores);
    // Who neither ran nor waited has no share of it.
    let idle = thread.wait_share.is_none() && thread.cpu_cores.is_some_and(|cores| cores < 0.001);
    let wait = if idle {
        units::Short::from_display(format_args!("{}", mark::dash(cx.charset)))
    } else {
        units::or_unknown(thread.wait_share, units::percent)
    };
    let last = units::or_unknown(thread.last_cpu.value(), units::cpu);
    let (affinity, role) = match &thread.affinity {
        Some(cpus) => names::cpus(cx, cpus, 24),
        None => (mark::missing(cx, "/task/*/status").0.to_owned(), Role::Absent),
    };
    let mut name = names::clean(&thread.comm, 16);
    name.push_str(&" ".repeat(16usize.saturating_sub(usize::from(names::width(&name)))));
    vec![
        (format!("{:>8} ", thread.tid), Role::Dim),
        (name, Role::Text),
        (format!(" {cpu:>6}"), thread.cpu_cores.map_or(Role::Absent, Role::heat)),
        (
            format!(" {wait:>5}"),
            thread.wait_share.map_or(Role::Absent, |share| if share >= 0.2 { Role::Warn } else { Role::Text }),
        ),
        (format!(" {last:>5}  "), Role::Dim),
        (affinity, role),
        (if thread.fixed { format!(" {}", text::FIXED) } else { String::new() }, Role::Dim),
    ]
}

/// The whole command line, in lines.
fn command(cx: &Cx<'_>, doc: &mut Doc, process: &Process, width: usize) {
    doc.gap();
    doc.head(text::COMMAND);
    if process.cmdline.is_empty() {
        let (text, role) =
            if process.kernel { (text::KERNEL_THREAD.as_str(), Role::Absent) } else { mark::missing(cx, "/cmdline") };
        doc.line(vec![(text.to_owned(), role)]);
        return;
    }
    let text = names::clean(&process.cmdline, 4096);
    let chars: Vec<char> = text.chars().collect();
    for part in chars.chunks(width.max(1)) {
        doc.line(vec![(part.iter().collect(), Role::Text)]);
    }
}
