//! Facts of a block device in sysfs: its kind, the devices below it, its limits and settings.

use crate::Cx;
use crate::files::{Files, put};
use crate::parse::{number, text};
use std::collections::HashSet;
use topotop_model::tables::disks::Disks;
use topotop_model::{Gaps, Known};

/// Directories walked up from a device to the one that knows its node, at most.
const DEPTH: usize = 16;

/// The longest name or path that is taken.
const LONGEST: usize = 4096;
/// The most devices that one is made of.
const MOST_LOWER: usize = 1024;

/// Facts of one device.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Facts {
    kind: &'static str,
    parent: Option<String>,
    lower: Option<String>,
    rotational: Option<u64>,
    scheduler: Option<String>,
    size_bytes: Option<u64>,
    node: Known<u64>,
    model: Option<String>,
    write_cache: Option<String>,
    depth: Option<u64>,
}

impl Facts {
    /// Reads what there is; a partition has its size only, the rest is its disk's.
    pub(super) fn read(cx: &mut Cx<'_>, name: &str, all: &HashSet<&str>, gaps: &mut Gaps) -> Self {
        let root = cx.root;
        // A slash in a device name is an exclamation mark in sysfs.
        let entry = name.replace('/', "!");
        if entry == "." || entry == ".." {
            return Self::default();
        }
        let dir = format!("sys/block/{entry}");
        let parent = if root.exists(&dir) { None } else { parent(name, all).map(str::to_owned) };
        let mut files = Files::new(cx);
        let Some(disk) = parent else { return Self::of_disk(&mut files, name, &dir, gaps) };
        let path = format!("sys/block/{}/{entry}/size", disk.replace('/', "!"));
        let sectors = files.number(&path, "sys/block/*/*/size", gaps);
        Self { kind: "partition", parent: Some(disk), size_bytes: sectors.and_then(super::bytes), ..Self::default() }
    }

    fn of_disk(files: &mut Files<'_>, name: &str, dir: &str, gaps: &mut Gaps) -> Self {
        let kind = kind(name);
        let sectors = files.number(&format!("{dir}/size"), "sys/block/*/size", gaps);
        let mut line = |path: &str| {
            let bytes = files.bytes(&format!("{dir}/{path}")).ok().filter(|bytes| (1..=LONGEST).contains(&bytes.len()));
            bytes.map(|bytes| text(bytes).into_owned())
        };
        let model = match kind {
            "dm" => line("dm/name"),
            "md" => line("md/level"),
            _ => line("device/model"),
        };
        let file = if kind == "loop" { line("loop/backing_file") } else { None };
        let write_cache = line("queue/write_cache");
        let scheduler = line("queue/scheduler").map(|line| chosen(&line).to_owned());
        let rotational = files.number(&format!("{dir}/queue/rotational"), "sys/block/*/queue/rotational", gaps);
        let slaves = files.root.names(format!("{dir}/slaves")).ok().filter(|names| names.len() <= MOST_LOWER);
        Self {
            kind,
            parent: None,
            lower: file.or_else(|| slaves.map(|names| names.join(" ").replace('!', "/"))),
            rotational: rotational.filter(|&value| value <= 1),
            scheduler,
            size_bytes: sectors.and_then(super::bytes),
            node: node(files, dir, gaps),
            model,
            write_cache,
            depth: depth(files, dir),
        }
    }

    /// Writes them to a row.
    pub(super) fn put(&self, table: &mut Disks, slot: usize) {
        table.kind.set(slot, self.kind);
        let texts = [
            (&mut table.parent, &self.parent),
            (&mut table.lower, &self.lower),
            (&mut table.scheduler, &self.scheduler),
            (&mut table.model, &self.model),
            (&mut table.write_cache, &self.write_cache),
        ];
        for (column, value) in texts {
            match value {
                Some(value) => column.set(slot, value),
                None => column.clear(slot),
            }
        }
        table.rotational.set_or_clear(slot, self.rotational);
        table.size_bytes.set_or_clear(slot, self.size_bytes);
        table.depth.set_or_clear(slot, self.depth);
        put(&mut table.node, slot, self.node);
    }
}

/// Requests that all hardware queues of a disk take together; none where it has no queues of its own.
fn depth(files: &mut Files<'_>, dir: &str) -> Option<u64> {
    let each = files.bytes(&format!("{dir}/queue/nr_requests")).ok().and_then(number)?;
    // Devices on top of others hand bios on: they have no hardware queues.
    let queues = files.root.names(format!("{dir}/mq")).ok()?.len();
    each.checked_mul(u64::try_from(queues).ok()?).filter(|depth| *depth > 0)
}

/// The node of the nearest parent device that has one: a virtio or NVMe disk has that of its PCI function.
fn node(files: &mut Files<'_>, dir: &str, gaps: &mut Gaps) -> Known<u64> {
    let Ok(path) = files.root.resolve(dir) else { return Known::Missing };
    let mut found = Known::Missing;
    for above in path.ancestors().skip(1).take(DEPTH) {
        let Some(above) = above.to_str().filter(|above| above.starts_with("sys/devices/")) else { break };
        found = files.id(&format!("{above}/numa_node"), "sys/block/*/device/numa_node", gaps);
        if !found.is_missing() {
            return found;
        }
    }
    // A device that hangs on no bus (dm, md, loop) is on no node.
    if path.to_str().is_some_and(|path| path.starts_with("sys/devices/virtual/")) { Known::None } else { found }
}

/// The scheduler in brackets: `mq-deadline [none]`; a line without brackets has the only one.
fn chosen(line: &str) -> &str {
    let inside = line.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(line.trim(), |(name, _)| name)
}

/// The kind of a device by its kernel name.
pub(super) fn kind(name: &str) -> &'static str {
    const KINDS: [(&str, &str); 7] = [
        ("dm-", "dm"),
        ("md", "md"),
        ("loop", "loop"),
        ("zram", "zram"),
        ("ram", "ram"),
        ("sr", "rom"),
        ("scd", "rom"),
    ];
    let rest = |prefix| name.strip_prefix(prefix).and_then(|rest: &str| rest.chars().next());
    let found = KINDS.iter().find(|(prefix, _)| rest(prefix).is_some_and(|next| next.is_ascii_digit() || next == '_'));
    found.map_or("disk", |kind| kind.1)
}

/// The disk that a partition is of, by the kernel's naming: `sda1` of `sda`, `nvme0n1p2` of `nvme0n1`.
fn parent<'a>(name: &str, all: &HashSet<&'a str>) -> Option<&'a str> {
    let disk = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if disk.len() == name.len() {
        return None;
    }
    let found = match disk.strip_suffix('p') {
        Some(disk) if disk.ends_with(|c: char| c.is_ascii_digit()) => all.get(disk),
        _ if disk.ends_with('-') => None,
        _ => all.get(disk),
    };
    found.copied()
}

#[cfg(test)]
mod tests {
    use super::{chosen, kind, parent};
    use proptest::prelude::*;

    #[test]
    fn names_tell_kinds_and_disks() {
        let kinds = ["dm-3", "md127", "md_d0", "loop7", "zram0", "ram1", "sr0", "sda", "nvme0n1", "vda", "mdx"];
        let reported = kinds.map(kind);
        assert_eq!(reported, ["dm", "md", "md", "loop", "zram", "ram", "rom", "disk", "disk", "disk", "disk"]);
        let all = ["sda", "nvme0n1", "dm-1", "loop1", "md126", "cciss/c0d0", "sdap"].into();
        let parents = ["sda1", "nvme0n1p12", "dm-10", "loop10", "md126p1", "cciss/c0d0p1", "xvda1", "sdap3", "sda"];
        let found = parents.map(|name| parent(name, &all));
        let (nvme, array) = (Some("nvme0n1"), Some("cciss/c0d0"));
        assert_eq!(found, [Some("sda"), nvme, None, None, Some("md126"), array, None, Some("sdap"), None]);
    }

    #[test]
    fn takes_the_chosen_scheduler() {
        assert_eq!(chosen("mq-deadline kyber [bfq] none"), "bfq");
        assert_eq!(chosen("none"), "none");
        assert_eq!(chosen("[cut"), "[cut");
    }

    proptest! {
        #[test]
        fn no_name_panics(name in ".*", other in ".*") {
            let _ = (kind(&name), chosen(&name), parent(&name, &[other.as_str()].into()));
        }
    }
}
