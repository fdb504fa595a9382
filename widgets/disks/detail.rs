//! One disk in full.

use super::{cells, find};
use crate::parts::pane::Doc;
use crate::parts::units;
use crate::{Cx, Role};
use topotop_model::Known;
use topotop_model::frame::Disk;

/// The detail of a disk.
pub(super) fn doc(cx: &Cx<'_>, name: &str, _width: u16) -> Doc {
    let mut doc = Doc::default();
    let Some(disk) = find(cx, name) else {
        doc.line(vec![("this disk is gone: ".to_owned(), Role::Absent), (name.to_owned(), Role::Text)]);
        return doc;
    };
    facts(cx, &mut doc, disk);
    now(&mut doc, disk);
    mounts(&mut doc, disk);
    writers(cx, &mut doc, disk);
    doc
}

fn now(doc: &mut Doc, disk: &Disk) {
    doc.gap();
    doc.head("Now");
    let millis = |value: Known<f64>| match value {
        Known::Value(ms) => format!("{} ms", units::millis(ms)),
        Known::None => "no requests".to_owned(),
        Known::Missing => "?".to_owned(),
    };
    let rate = |value: Option<f64>, format: fn(f64) -> units::Short| units::or_unknown(value, format).to_string();
    doc.pair("busy", rate(disk.utilisation, units::fine_percent), Role::Text);
    doc.pair(
        "await",
        format!(
            "{}, reads {}, writes {}",
            millis(disk.await_ms),
            millis(disk.read_await_ms),
            millis(disk.write_await_ms)
        ),
        Role::Text,
    );
    let flight = disk.in_flight.value().map_or_else(|| "?".to_owned(), |count| count.to_string());
    doc.pair("queue", format!("{} on average, {flight} now", rate(disk.queue_depth, units::count)), Role::Text);
    doc.pair(
        "reads",
        format!(
            "{}/s, {}/s",
            rate(disk.read_bytes_per_second, units::bytes),
            rate(disk.reads_per_second, units::count)
        ),
        Role::Text,
    );
    doc.pair(
        "writes",
        format!(
            "{}/s, {}/s",
            rate(disk.write_bytes_per_second, units::bytes),
            rate(disk.writes_per_second, units::count)
        ),
        Role::Text,
    );
    doc.pair("flushes", format!("{}/s", rate(disk.flushes_per_second, units::count)), Role::Text);
}

fn writers(cx: &Cx<'_>, doc: &mut Doc, disk: &Disk) {
    doc.gap();
    doc.head("Who writes");
    for writer in &disk.writers {
        doc.line(vec![
            (
                format!(
                    "{:>5} bytes {:>5} ops {:>6}/s  ",
                    units::or_unknown(writer.bytes_share, units::percent),
                    units::or_unknown(writer.ops_share, units::percent),
                    units::bytes(writer.bytes_per_second)
                ),
                Role::Text,
            ),
            (cells::who(cx, writer), Role::Info),
        ]);
    }
    if disk.writers.is_empty() {
        doc.line(vec![("nobody is known to".to_owned(), Role::Dim)]);
    }
}

fn facts(cx: &Cx<'_>, doc: &mut Doc, disk: &Disk) {
    doc.pair("device", format!("{} {}:{}", disk.name, disk.dev >> 20, disk.dev & 0xf_ffff), Role::Text);
    let texts = [("kind", &disk.kind), ("model", &disk.model), ("scheduler", &disk.scheduler)];
    for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        doc.pair(name, &**text, Role::Text);
    }
    match disk.size_bytes {
        Known::Value(size) => doc.pair("size", units::bytes(size as f64).as_str(), Role::Text),
        Known::None => {}
        Known::Missing => doc.unread(cx, "size", "/size"),
    }
    let spins = match disk.rotational {
        Known::Value(true) => "yes",
        Known::Value(false) => "no",
        Known::None => "n/a",
        Known::Missing => "?",
    };
    doc.pair("spins", spins, Role::Text);
    match disk.node {
        Known::Value(node) => doc.pair("node", node.to_string(), Role::node(node)),
        Known::None => doc.pair("node", "of no node", Role::Dim),
        Known::Missing => doc.pair("node", "?", Role::Absent),
    }
    if !disk.lower.is_empty() {
        doc.pair("stands on", disk.lower.join(", "), Role::Text);
    }
    let upper: Vec<&str> =
        cx.frame.disks.iter().filter(|other| other.lower.contains(&disk.name)).map(|other| &*other.name).collect();
    if !upper.is_empty() {
        doc.pair("carries", upper.join(", "), Role::Text);
    }
}

fn mounts(doc: &mut Doc, disk: &Disk) {
    doc.gap();
    doc.head("Mounted");
    if disk.mounts.is_empty() {
        doc.line(vec![("nowhere".to_owned(), Role::Dim)]);
    }
    for mount in &disk.mounts {
        let (full, role) = cells::fullness(mount);
        let bytes = |value: Known<u64>| units::or_unknown(value.value().map(|value| value as f64), units::bytes);
        doc.line(vec![
            (format!("{full:>5} full "), role),
            (
                format!("{:>6} free of {:>6}  {:<6} ", bytes(mount.free_bytes), bytes(mount.total_bytes), mount.fs),
                Role::Text,
            ),
            (mount.path.to_string(), Role::Text),
        ]);
    }
}
