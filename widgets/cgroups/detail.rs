//! One group in full: where its memory is, what it may do, what happened to it.

use super::{Id, cells, find};
use crate::parts::pane::Doc;
use crate::parts::{mark, names, units};
use crate::{Cx, Role};
use topotop_model::Known;
use topotop_model::frame::{Cgroup, CgroupMemory, Container, PressureStall};
use topotop_model::locale::screen::cgroups as text;
use topotop_model::locale::screen::shared;
use topotop_model::text::short_ids;

/// The detail of a group.
pub(super) fn doc(cx: &Cx<'_>, id: &Id, width: u16) -> Doc {
    let mut doc = Doc::default();
    let Some(group) = find(cx, id) else {
        doc.line(vec![(text::GroupGone { path: &id.0 }.to_string(), Role::Absent)]);
        return doc;
    };
    doc.pair(&text::PATH, &*short_ids(&group.path), Role::Text);
    let count = group.processes.value().map_or_else(|| "?".to_owned(), |count| count.to_string());
    let hierarchy = text::HierarchyText { version: &group.version, count: &count };
    doc.pair(&text::HIERARCHY, hierarchy.to_string(), Role::Text);
    if let Some(container) = &group.container {
        container_lines(&mut doc, container);
    }
    if let Some(memory) = &group.memory {
        memory_lines(cx, &mut doc, group, memory);
    } else {
        doc.gap();
        doc.pair(&text::MEMORY, text::NO_MEMORY_CONTROLLER, Role::Absent);
    }
    cpu_lines(cx, &mut doc, group, usize::from(width.saturating_sub(18)));
    doc.gap();
    doc.head(text::PRESSURE_SECTION);
    let stalls = [group.pressure.cpu, group.pressure.memory, group.pressure.io];
    if group.version == 1 && stalls.iter().all(Option::is_none) {
        doc.pair(&text::PRESSURE, text::VERSION_TWO_ONLY, Role::Absent);
    } else {
        let names =
            [(text::CPU_ROW, "/cpu.pressure"), (text::MEMORY, "/memory.pressure"), (text::IO_ROW, "/io.pressure")];
        for ((name, file), stall) in names.into_iter().zip(stalls) {
            pressure(cx, &mut doc, &name, stall, file);
        }
    }
    io_lines(cx, &mut doc, group);
    doc
}

fn container_lines(doc: &mut Doc, container: &Container) {
    let names = [
        (text::NAMESPACE, &container.namespace),
        (text::POD, &container.pod_name),
        (text::POD_UID, &container.pod_uid),
        (text::CONTAINER, &container.container_name),
        (text::CONTAINER_ID, &container.id),
        (text::RUNTIME, &container.runtime),
        (text::NAMES_FROM, &container.name_source),
    ];
    for (name, value) in names.into_iter().filter(|(_, value)| !value.is_empty()) {
        doc.pair(&name, &*short_ids(value), Role::Text);
    }
}

fn bytes(cx: &Cx<'_>, doc: &mut Doc, name: &str, value: Known<u64>, none: &str, note: &str) {
    match value {
        Known::Value(value) => doc.line(vec![
            (names::padded(name, 17), Role::Dim),
            (format!("{:>9}", units::bytes_in_text(value as f64)), Role::Text),
            (format!("  {note}"), Role::Dim),
        ]),
        Known::None => doc.pair(name, none, Role::Text),
        Known::Missing => doc.unread(cx, name, "/memory.stat"),
    }
}

fn memory_lines(cx: &Cx<'_>, doc: &mut Doc, group: &Cgroup, memory: &CgroupMemory) {
    doc.gap();
    doc.head(text::MEMORY_SECTION);
    let share = cells::fill(memory)
        .map_or_else(String::new, |share| text::OfLimit { share: &units::percent(share) }.to_string());
    bytes(cx, doc, &text::CURRENT, memory.current_bytes, &shared::NONE, &share);
    bytes(cx, doc, &text::LIMIT, memory.limit_bytes, "max", &text::OWN_LIMIT);
    bytes(cx, doc, &text::HIGH, memory.high_bytes, "max", &text::HIGH_NOTE);
    if let Some(request) = group.container.as_ref().and_then(|container| container.memory_request_bytes) {
        bytes(cx, doc, &text::REQUEST, Known::Value(request), "", &text::REQUEST_NOTE);
    }
    bytes(cx, doc, &text::EFFECTIVE_LIMIT, memory.effective_limit_bytes, "max", &limited_by(group, memory));
    bytes(cx, doc, &text::WORKING_SET, memory.working_set_bytes, &shared::NONE, &text::WORKING_SET_NOTE);
    bytes(cx, doc, &text::ANONYMOUS_ROW, memory.anon_bytes, &shared::NONE, "");
    bytes(cx, doc, &text::FILE, memory.file_bytes, &shared::NONE, &text::FILE_NOTE);
    bytes(cx, doc, &text::INACTIVE, memory.inactive_file_bytes, &shared::NONE, "");
    bytes(cx, doc, &text::SHARED_ROW, memory.shmem_bytes, &shared::NONE, &text::SHARED_NOTE);
    bytes(cx, doc, &text::DIRTY_ROW, memory.dirty_bytes, &shared::NONE, &text::DIRTY_NOTE);
    bytes(cx, doc, &text::WRITEBACK, memory.writeback_bytes, &shared::NONE, &text::WRITEBACK_NOTE);
    bytes(cx, doc, &text::UNEVICTABLE, memory.unevictable_bytes, &shared::NONE, &text::LOCKED_NOTE);
    bytes(cx, doc, &text::RECLAIMABLE, memory.reclaimable_bytes, &shared::NONE, &text::RECLAIMABLE_NOTE);
    bytes(cx, doc, &text::UNRECLAIMABLE, memory.unreclaimable_bytes, &shared::NONE, "");
    events(cx, doc, memory);
    if !memory.by_node.is_empty() {
        doc.gap();
        doc.head(text::MEMORY_BY_NODE);
        for node in &memory.by_node {
            let part =
                |value: Option<u64>| value.map_or_else(|| "?".to_owned(), |value| units::bytes_in_text(value as f64));
            doc.line(vec![
                (names::padded(&format!("  {}", shared::Node { id: &node.node }), 10), Role::node(node.node)),
                (
                    text::NodeMemory {
                        anon: &format!("{:>9}", part(node.anon_bytes)),
                        file: &format!("{:>9}", part(node.file_bytes)),
                    }
                    .to_string(),
                    Role::Text,
                ),
            ]);
        }
    }
}

fn limited_by(group: &Cgroup, memory: &CgroupMemory) -> String {
    if cells::bound(memory).is_none() {
        text::MACHINE_LIMIT.to_string()
    } else if memory.limited_by.is_empty() || memory.limited_by == group.path {
        text::OWN_LIMIT.to_string()
    } else {
        text::LimitOf { path: &memory.limited_by }.to_string()
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
    doc.head(text::EVENTS_SECTION);
    count(doc, &text::EVENTS_HIGH, memory.events.high, None, false);
    count(doc, &text::EVENTS_MAX, memory.events.max, memory.events_max_per_second, false);
    count(doc, &text::EVENTS_OOM, memory.events.oom, None, true);
    count(doc, &text::EVENTS_OOM_KILL, memory.events.oom_kill, None, true);
    let rates = [
        (text::DIRECT_SCANS, memory.pgscan_direct_per_second),
        (text::DIRECT_STEALS, memory.pgsteal_direct_per_second),
        (text::FILE_REFAULTS, memory.refault_file_per_second),
        (text::MAJOR_FAULTS, memory.pgmajfault_per_second),
    ];
    for (name, rate) in rates {
        match rate {
            Some(rate) => doc.pair(&name, format!("{}/s", units::count(rate)), Role::Text),
            None => doc.unread(cx, &name, "/memory.stat"),
        }
    }
}

fn cpu_lines(cx: &Cx<'_>, doc: &mut Doc, group: &Cgroup, room: usize) {
    doc.gap();
    doc.head(text::CPU_SECTION);
    if cells::without_cpu(group) && group.version == 1 {
        doc.pair(&text::CPU_ROW, text::NO_CPU_CONTROLLER, Role::Absent);
        return;
    }
    let used = group.cpu.usage_cores.map_or_else(|| "?".to_owned(), units::cores_in_text);
    doc.pair(&text::CPU_USED, used, Role::Text);
    match group.cpu.quota_cores {
        Known::Value(quota) => doc.pair(&text::QUOTA, units::cores_in_text(quota), Role::Text),
        Known::None => doc.pair(&text::QUOTA, "max", Role::Text),
        Known::Missing => doc.unread(cx, &text::QUOTA, "/cpu.max"),
    }
    if let Some(request) = group.container.as_ref().and_then(|container| container.cpu_request_cores) {
        doc.pair(&text::REQUEST, units::cores_in_text(request), Role::Text);
    }
    if let (Some(ratio), Some(periods)) = (group.cpu.throttled_ratio, group.cpu.periods) {
        let role = if ratio >= 0.25 { Role::Warn } else { Role::Text };
        let share = text::OfPeriods { share: &units::percent(ratio), periods: &periods };
        doc.pair(&text::THROTTLED, share.to_string(), role);
    }
    let set = |set: &Option<std::sync::Arc<topotop_model::IdSet>>| {
        set.as_ref().map_or_else(|| "?".to_owned(), |set| units::id_list(set, room))
    };
    doc.pair("cpuset.cpus", set(&group.cpuset_cpus), Role::Text);
    doc.pair("cpuset.mems", set(&group.cpuset_mems), Role::Text);
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
        (names::padded(name, 17), Role::Dim),
        (format!("{:>5} / {:<5}", share(stall.some_ratio), share(stall.full_ratio)), Role::Text),
        (format!("  10 s: {} / {}", average(stall.some_avg10_percent), average(stall.full_avg10_percent)), Role::Dim),
    ]);
}

fn io_lines(cx: &Cx<'_>, doc: &mut Doc, group: &Cgroup) {
    doc.gap();
    doc.head(text::DISKS_SECTION);
    if group.io.is_empty() {
        doc.unread(cx, &text::IO_ROW, "/io.stat");
    }
    for io in &group.io {
        let disk = cx.frame.disks.iter().find(|disk| disk.dev == io.dev).map(|disk| disk.name.to_string());
        let name = disk.unwrap_or_else(|| format!("{}:{}", io.dev >> 20, io.dev & 0xf_ffff));
        doc.pair(
            &name,
            text::DiskRates {
                read: &units::bytes_in_text(io.read_bytes_per_second),
                reads: &units::count(io.reads_per_second),
                write: &units::bytes_in_text(io.write_bytes_per_second),
                writes: &units::count(io.writes_per_second),
            }
            .to_string(),
            Role::Text,
        );
    }
}
