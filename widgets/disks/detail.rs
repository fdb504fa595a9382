//! One disk in full.

use super::{cells, find};
use crate::parts::pane::Doc;
use crate::parts::units;
use crate::{Cx, Role};
use topotop_model::Known;
use topotop_model::frame::Disk;
use topotop_model::locale::screen::disks as text;
use topotop_model::locale::screen::shared;
use topotop_model::text::short_ids;

/// The detail of a disk.
pub(super) fn doc(cx: &Cx<'_>, name: &str, _width: u16) -> Doc {
    let mut doc = Doc::default();
    let Some(disk) = find(cx, name) else {
        doc.line(vec![(text::DiskGone { name: &name }.to_string(), Role::Absent)]);
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
    doc.head(text::NOW);
    let millis = |value: Known<f64>| match value {
        Known::Value(ms) => format!("{} ms", units::millis(ms)),
        Known::None => text::NO_REQUESTS.to_string(),
        Known::Missing => "?".to_owned(),
    };
    let rate = |value: Option<f64>, format: fn(f64) -> units::Short| units::or_unknown(value, format).to_string();
    let bytes = |value: Option<f64>| value.map_or_else(|| "?".to_owned(), units::bytes_in_text);
    doc.pair(&text::BUSY, rate(disk.utilisation, units::fine_percent), Role::Text);
    doc.pair(
        &text::AWAIT_ROW,
        text::AwaitText {
            all: &millis(disk.await_ms),
            reads: &millis(disk.read_await_ms),
            writes: &millis(disk.write_await_ms),
        }
        .to_string(),
        Role::Text,
    );
    let flight = disk.in_flight.value().map_or_else(|| "?".to_owned(), |count| count.to_string());
    let queue = text::QueueText { mean: &rate(disk.queue_depth, units::count), now: &flight };
    doc.pair(&text::QUEUE, queue.to_string(), Role::Text);
    doc.pair(
        &text::READS,
        text::Rates {
            bytes: &bytes(disk.read_bytes_per_second),
            operations: &rate(disk.reads_per_second, units::count),
        }
        .to_string(),
        Role::Text,
    );
    doc.pair(
        &text::WRITES,
        text::Rates {
            bytes: &bytes(disk.write_bytes_per_second),
            operations: &rate(disk.writes_per_second, units::count),
        }
        .to_string(),
        Role::Text,
    );
    doc.pair(&text::FLUSHES, format!("{}/s", rate(disk.flushes_per_second, units::count)), Role::Text);
}

fn writers(cx: &Cx<'_>, doc: &mut Doc, disk: &Disk) {
    doc.gap();
    doc.head(text::WRITERS);
    for writer in &disk.writers {
        doc.line(vec![
            (
                text::WriterText {
                    bytes: &format!("{:>5}", units::or_unknown(writer.bytes_share, units::percent)),
                    operations: &format!("{:>5}", units::or_unknown(writer.ops_share, units::percent)),
                    rate: &format!("{:>9}", units::bytes_in_text(writer.bytes_per_second)),
                }
                .to_string(),
                Role::Text,
            ),
            (cells::who(cx, writer), Role::Info),
        ]);
    }
    if disk.writers.is_empty() {
        doc.line(vec![(text::NO_WRITERS.to_string(), Role::Dim)]);
    }
}

fn facts(cx: &Cx<'_>, doc: &mut Doc, disk: &Disk) {
    doc.pair(&text::DEVICE, format!("{} {}:{}", disk.name, disk.dev >> 20, disk.dev & 0xf_ffff), Role::Text);
    let texts = [(text::KIND, &disk.kind), (text::MODEL, &disk.model), (text::SCHEDULER, &disk.scheduler)];
    for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        doc.pair(&name, &**text, Role::Text);
    }
    match disk.size_bytes {
        Known::Value(size) => doc.pair(&text::SIZE, units::bytes_in_text(size as f64), Role::Text),
        Known::None => {}
        Known::Missing => doc.unread(cx, &text::SIZE, "/size"),
    }
    let rotational = match disk.rotational {
        Known::Value(true) => shared::YES.as_str(),
        Known::Value(false) => shared::NO.as_str(),
        Known::None => shared::NOT_APPLICABLE.as_str(),
        Known::Missing => "?",
    };
    doc.pair(&text::ROTATIONAL, rotational, Role::Text);
    match disk.node {
        Known::Value(node) => doc.pair(&text::NODE, node.to_string(), Role::node(node)),
        Known::None => doc.pair(&text::NODE, shared::NO_NODE, Role::Dim),
        Known::Missing => doc.pair(&text::NODE, "?", Role::Absent),
    }
    if !disk.lower.is_empty() {
        doc.pair(&text::LOWER, disk.lower.join(", "), Role::Text);
    }
    let upper: Vec<&str> =
        cx.frame.disks.iter().filter(|other| other.lower.contains(&disk.name)).map(|other| &*other.name).collect();
    if !upper.is_empty() {
        doc.pair(&text::UPPER, upper.join(", "), Role::Text);
    }
}

fn mounts(doc: &mut Doc, disk: &Disk) {
    doc.gap();
    doc.head(text::MOUNTED);
    if disk.mounts.is_empty() {
        doc.line(vec![(text::NOT_MOUNTED.to_string(), Role::Dim)]);
    }
    for mount in &disk.mounts {
        let (full, role) = cells::fullness(mount);
        let bytes = |value: Known<u64>| {
            value.value().map_or_else(|| "?".to_owned(), |value| units::bytes_in_text(value as f64))
        };
        doc.line(vec![
            (text::UsedText { share: &format!("{full:>5}") }.to_string(), role),
            (
                text::MountText {
                    free: &format!("{:>9}", bytes(mount.free_bytes)),
                    total: &format!("{:>9}", bytes(mount.total_bytes)),
                    kind: &format!("{:<6}", mount.fs),
                }
                .to_string(),
                Role::Text,
            ),
            (short_ids(&mount.path).into_owned(), Role::Text),
        ]);
    }
}
