//! One group in full: where its memory is, what it may do, what happened to it.

use super::{Id, cells, find};
use crate::parts::pane::Doc;
use crate::parts::{mark, units};
use crate::{Cx, Role};
use topotop_model::Known;
use topotop_model::frame::{Cgroup, CgroupMemory, Container, PressureStall};

/// The detail of a group.
pub(super) fn doc(cx: &Cx<'_>, id: &Id, width: u16) -> Doc {
    let mut doc = Doc::default();
    let Some(group) = find(cx, id) else {
        doc.line(vec![("this group is gone: ".to_owned(), Role::Absent), (id.0.to_string(), Role::Text)]);
        return doc;
    };
    doc.pair("path", &*group.path, Role::Text);
    let count = group.processes.value().map_or_else(|| "?".to_owned(), |count| count.to_string());
    doc.pair("hierarchy", format!("v{}, {count} processes of its own", group.version), Role::Text);
    if let Some(container) = &group.container {
        container_lines(&mut doc, container);
    }
    if let Some(memory) = &group.memory {
        memory_lines(cx, &mut doc, group, memory);
    } else {
        doc.gap();
        doc.pair("memory", "no memory controller here", Role::Absent);
    }
    cpu_lines(cx, &mut doc, group, usize::from(width.saturating_sub(18)));
    doc.gap();
    doc.head("Pressure: some / all tasks waited, share of time");
    let stalls = [group.cpu_pressure, group.memory_pressure, group.io_pressure];
    if group.version == 1 && stalls.iter().all(Option::is_none) {
        doc.pair("pressure", "cgroup v2 only", Role::Absent);
    } else {
        for (name, stall) in ["cpu", "memory", "io"].into_iter().zip(stalls) {
            pressure(cx, &mut doc, name, stall, &format!("/{name}.pressure"));
        }
    }
    io_lines(cx, &mut doc, group);
    doc
}

fn container_lines(doc: &mut Doc, container: &Container) {
    let names = [
        ("namespace", &container.namespace),
        ("pod", &container.pod_name),
        ("pod uid", &container.pod_uid),
        ("container", &container.container_name),
        ("container id", &container.id),
        ("runtime", &container.runtime),
        ("names from", &container.name_source),
    ];
    for (name, value) in names.into_iter().filter(|(_, value)| !value.is_empty()) {
        doc.pair(name, &**value, Role::Text);
    }
}

fn bytes(cx: &Cx<'_>, doc: &mut Doc, name: &str, value: Known<u64>, none: &str, note: &str) {
    match value {
        Known::Value(value) => doc.line(vec![
            (format!("{name:<16} "), Role::Dim),
            (format!("{:>6}", units::bytes(value as f64)), Role::Text),
            (format!("  {note}"), Role::Dim),
        ]),
        Known::None => doc.pair(name, none, Role::Text),
        Known::Missing => doc.unread(cx, name, "/memory.stat"),
    }
}

fn memory_lines(cx: &Cx<'_>, doc: &mut Doc, group: &Cgroup, memory: &CgroupMemory) {
    doc.gap();
    doc.head("Memory");
    let share =
        cells::fill(memory).map_or_else(String::new, |share| format!("{} of what it may have", units::percent(share)));
    bytes(cx, doc, "current", memory.current_bytes, "none", &share);
    bytes(cx, doc, "limit", memory.limit_bytes, "max", "its own");
    bytes(cx, doc, "high", memory.high_bytes, "max", "throttled above");
    bytes(cx, doc, "effective limit", memory.effective_limit_bytes, "max", &limited_by(group, memory));
    bytes(cx, doc, "working set", memory.working_set_bytes, "none", "without inactive file pages");
    bytes(cx, doc, "anonymous", memory.anon_bytes, "none", "");
    bytes(cx, doc, "file", memory.file_bytes, "none", "page cache, shared memory included");
    bytes(cx, doc, "  inactive", memory.inactive_file_bytes, "none", "");
    bytes(cx, doc, "  shared", memory.shmem_bytes, "none", "tmpfs and shared memory: reclaim cannot take it");
    bytes(cx, doc, "  dirty", memory.dirty_bytes, "none", "must be written first");
    bytes(cx, doc, "  writeback", memory.writeback_bytes, "none", "being written");
    bytes(cx, doc, "unevictable", memory.unevictable_bytes, "none", "locked");
    bytes(cx, doc, "reclaimable", memory.reclaimable_bytes, "none", "could be given back now");
    bytes(cx, doc, "unreclaimable", memory.unreclaimable_bytes, "none", "");
    events(cx, doc, memory);
    if !memory.by_node.is_empty() {
        doc.gap();
        doc.head("Memory by node");
        for node in &memory.by_node {
            let part = |value: Option<u64>| units::or_unknown(value.map(|value| value as f64), units::bytes);
            doc.line(vec![
                (format!("  node {:<3}", node.node), Role::node(node.node)),
                (format!(" anon {:>6}  file {:>6}", part(node.anon_bytes), part(node.file_bytes)), Role::Text),
            ]);
        }
    }
}

fn limited_by(group: &Cgroup, memory: &CgroupMemory) -> String {
    if cells::bound(memory).is_none() {
        "the machine's memory".to_owned()
    } else if memory.limited_by.is_empty() || memory.limited_by == group.path {
        "its own".to_owned()
    } else {
        format!("of {}", memory.limited_by)
    }
}

fn events(cx: &Cx<'_>, doc: &mut Doc, memory: &CgroupMemory) {
    let count = |doc: &mut Doc, name: &str, value: Known<u64>, rate: Option<f64>, bad: bool| match value {
        Known::Value(value) => {
            let rate = rate.map_or_else(String::new, |rate| format!("  {}/s", units::count(rate)));
            let role = if bad && value > 0 { Role::Warn } else { Role::Text };
            doc.pair(name, format!("{value}{rate}"), role);
        }
        Known::None => doc.pair(name, mark::dash(cx.charset), Role::Absent),
        Known::Missing => doc.unread(cx, name, "/memory.events"),
    };
    doc.gap();
    doc.head("What happened, since it was made");
    count(doc, "throttled (high)", memory.events_high, None, false);
    count(doc, "at limit (max)", memory.events_max, memory.events_max_per_second, false);
    count(doc, "out of memory", memory.events_oom, None, true);
    count(doc, "killed", memory.events_oom_kill, None, true);
    let rates = [
        ("direct scans", memory.pgscan_direct_per_second),
        ("direct steals", memory.pgsteal_direct_per_second),
        ("file refaults", memory.refault_file_per_second),
        ("major faults", memory.pgmajfault_per_second),
    ];
    for (name, rate) in rates {
        match rate {
            Some(rate) => doc.pair(name, format!("{}/s", units::count(rate)), Role::Text),
            None => doc.unread(cx, name, "/memory.stat"),
        }
    }
}

fn cpu_lines(cx: &Cx<'_>, doc: &mut Doc, group: &Cgroup, room: usize) {
    doc.gap();
    doc.head("CPU");
    if cells::without_cpu(group) && group.version == 1 {
        doc.pair("cpu", "no CPU controller here", Role::Absent);
        return;
    }
    doc.pair("used", units::or_unknown(group.cpu.usage_cores, units::cores).as_str(), Role::Text);
    match group.cpu.quota_cores {
        Known::Value(quota) => doc.pair("quota", units::cores(quota).as_str(), Role::Text),
        Known::None => doc.pair("quota", "max", Role::Text),
        Known::Missing => doc.unread(cx, "quota", "/cpu.max"),
    }
    if let (Some(ratio), Some(periods)) = (group.cpu.throttled_ratio, group.cpu.periods) {
        let role = if ratio >= 0.25 { Role::Warn } else { Role::Text };
        doc.pair("throttled", format!("{} of {periods} periods", units::percent(ratio)), role);
    }
    let set = |set: &Option<std::sync::Arc<topotop_model::IdSet>>| {
        set.as_ref().map_or_else(|| "?".to_owned(), |set| units::id_list(set, room))
    };
    doc.pair("cpuset cpus", set(&group.cpuset_cpus), Role::Text);
    doc.pair("cpuset mems", set(&group.cpuset_mems), Role::Text);
}

fn pressure(cx: &Cx<'_>, doc: &mut Doc, name: &str, stall: Option<PressureStall>, file: &str) {
    let Some(stall) = stall else {
        doc.unread(cx, name, file);
        return;
    };
    let share = |share: Option<f64>| units::or_unknown(share, units::fine_percent);
    let average =
        |percent: Known<f64>| units::or_unknown(percent.value(), |percent| units::fine_percent(percent / 100.0));
    doc.line(vec![
        (format!("{name:<16} "), Role::Dim),
        (format!("{:>5} / {:<5}", share(stall.some_ratio), share(stall.full_ratio)), Role::Text),
        (format!("  10 s: {} / {}", average(stall.some_avg10_percent), average(stall.full_avg10_percent)), Role::Dim),
    ]);
}

fn io_lines(cx: &Cx<'_>, doc: &mut Doc, group: &Cgroup) {
    doc.gap();
    doc.head("Disks");
    if group.io.is_empty() {
        doc.unread(cx, "io", "/io.stat");
    }
    for io in &group.io {
        let disk = cx.frame.disks.iter().find(|disk| disk.dev == io.dev).map(|disk| disk.name.to_string());
        let name = disk.unwrap_or_else(|| format!("{}:{}", io.dev >> 20, io.dev & 0xf_ffff));
        doc.pair(
            &name,
            format!(
                "read {}/s ({}/s)  write {}/s ({}/s)",
                units::bytes(io.read_bytes_per_second),
                units::count(io.reads_per_second),
                units::bytes(io.write_bytes_per_second),
                units::count(io.writes_per_second)
            ),
            Role::Text,
        );
    }
}
