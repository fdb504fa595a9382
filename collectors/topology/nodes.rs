//! One row per NUMA node, with or without CPUs and memory.

use crate::files::{Files, finished, note, numbered, numbered_entries};
use crate::parse::{fields, lines, number};
use topotop_model::tables::topology::{CpuTopology, NodeTopology};
use topotop_model::{IdSet, Reason, Section, Slots, Table};

const NODES: &str = "sys/devices/system/node";

/// Fills the rows, and the node of every CPU.
pub(super) fn read(
    files: &mut Files<'_>,
    section: &mut Section<NodeTopology>,
    cpus: &mut Section<CpuTopology>,
    slots: &mut Slots<u32>,
    cpu_slots: &Slots<u32>,
) {
    slots.begin();
    let ids = numbered_entries(files.root, NODES, "node").unwrap_or_default();
    forget_nodes(cpus.data_mut());
    if ids.is_empty() {
        by_links(files, cpus.data_mut());
    }
    let listed = files.list(&format!("{NODES}/online"), &mut section.gaps);
    let flags = Flags::read(files, section);
    for &node in &ids {
        let (slot, _) = slots.slot(section.data_mut(), &node);
        section.data_mut().node.set(slot, u64::from(node));
        let dir = format!("{NODES}/node{node}");
        let set = cpus_of(files, section, &dir);
        if let Some(set) = &set {
            let table = cpus.data_mut();
            for slot in set.iter().filter_map(|cpu| cpu_slots.find(&cpu)) {
                table.node.set(slot, u64::from(node));
            }
        }
        let memory = total_memory(files, section, node);
        let table = section.data_mut();
        table.memory_total_bytes.set_or_clear(slot, memory);
        table.has_cpus.set_or_clear(slot, flags.cpus(node, set.as_ref()));
        table.has_memory.set_or_clear(slot, flags.memory(node, memory));
        match set {
            Some(set) => table.cpus.set(slot, set),
            None => table.cpus.clear(slot),
        }
        distances(files, section, slot, node, &ids, listed.as_ref());
    }
    slots.finish(section.data_mut(), |_, _| {});
}

/// The CPUs of a node, from its links to them where a tree has neither list nor map.
fn cpus_of(files: &mut Files<'_>, section: &mut Section<NodeTopology>, dir: &str) -> Option<IdSet> {
    let pattern = "sys/devices/system/node/node*/cpulist";
    let set = files.set(&format!("{dir}/cpulist"), &format!("{dir}/cpumap"), pattern, &mut section.gaps);
    set.or_else(|| {
        let links = numbered_entries(files.root, dir, "cpu").ok().filter(|links| !links.is_empty());
        links.map(IdSet::from_ids)
    })
}

/// Which nodes the kernel counts among those with CPUs and with memory.
struct Flags {
    cpus: Option<IdSet>,
    memory: Option<IdSet>,
}

impl Flags {
    fn read(files: &mut Files<'_>, section: &mut Section<NodeTopology>) -> Self {
        let mut list = |name: &str| files.list(&format!("{NODES}/{name}"), &mut section.gaps);
        let cpus = list("has_cpu");
        // Before Linux 3.8 there was no has_memory; movable memory alone is not in has_normal_memory.
        Self { cpus, memory: list("has_memory") }
    }

    fn cpus(&self, node: u32, set: Option<&IdSet>) -> Option<u64> {
        let flag = self.cpus.as_ref().map(|nodes| nodes.contains(node));
        flag.or_else(|| set.map(|set| !set.is_empty())).map(u64::from)
    }

    fn memory(&self, node: u32, bytes: Option<u64>) -> Option<u64> {
        let flag = self.memory.as_ref().map(|nodes| nodes.contains(node));
        flag.or_else(|| bytes.map(|bytes| bytes > 0)).map(u64::from)
    }
}

fn forget_nodes(cpus: &mut CpuTopology) {
    let rows: Vec<usize> = cpus.rows().iter().collect();
    for slot in rows {
        // On a machine without nodes that is the answer.
        cpus.node.set_none(slot);
    }
}

/// Takes the nodes of CPUs from their `node*` links, for trees that hold no nodes.
fn by_links(files: &Files<'_>, cpus: &mut CpuTopology) {
    let rows: Vec<usize> = cpus.rows().iter().filter(|&slot| cpus.present.value(slot) == Some(1)).collect();
    for slot in rows {
        let Some(cpu) = cpus.cpu.value(slot) else { continue };
        let Ok(names) = files.root.list(format!("sys/devices/system/cpu/cpu{cpu}")) else { continue };
        if let Some(node) = names.iter().find_map(|name| numbered(name.to_str()?, "node")) {
            cpus.node.set(slot, u64::from(node));
        }
    }
}

fn total_memory(files: &mut Files<'_>, section: &mut Section<NodeTopology>, node: u32) -> Option<u64> {
    let path = format!("{NODES}/node{node}/meminfo");
    files.parsed(&path, "sys/devices/system/node/node*/meminfo", &mut section.gaps, mem_total)
}

/// `MemTotal` of `Node 0 MemTotal: 65842740 kB` in bytes; the line must be whole.
fn mem_total(bytes: &[u8]) -> Option<u64> {
    for line in lines(bytes) {
        let mut parts = fields(line).skip(2);
        if parts.next() == Some(b"MemTotal:") {
            let kilobytes = number(parts.next()?)?;
            return if parts.next() == Some(b"kB") { kilobytes.checked_mul(1024) } else { None };
        }
    }
    None
}

/// Reads a row of the distance table: its columns are the online nodes in the order of their ids.
fn distances(
    files: &mut Files<'_>,
    section: &mut Section<NodeTopology>,
    slot: usize,
    node: u32,
    ids: &[u32],
    online: Option<&IdSet>,
) {
    let path = format!("{NODES}/node{node}/distance");
    let pattern = "sys/devices/system/node/node*/distance";
    let row = match files.root.read(&path, files.buffer()) {
        Ok(()) => {
            let row = parse_distances(files.buffer()).and_then(|row| by_node(row, ids, online));
            if row.is_none() {
                section.gaps.add(pattern, Reason::Malformed, "");
            }
            row
        }
        Err(reason) => {
            note(&mut section.gaps, pattern, reason);
            None
        }
    };
    match row {
        Some(row) => section.data_mut().distances.set(slot, row),
        None => section.data_mut().distances.clear(slot),
    }
}

/// Names the columns of a row.
fn by_node(row: Vec<u64>, ids: &[u32], online: Option<&IdSet>) -> Option<Vec<(u32, u64)>> {
    if row.len() == ids.len() {
        return Some(ids.iter().copied().zip(row).collect());
    }
    // Directories may be lacking in a captured tree.
    let online = online.filter(|online| online.len() == row.len() as u64)?;
    Some(online.iter().zip(row).collect())
}

/// The distances of a row; none when one of them is not believable: 10 is local, 255 unreachable.
fn parse_distances(bytes: &[u8]) -> Option<Vec<u64>> {
    fields(finished(bytes)?).map(|field| number(field).filter(|&distance| (1..=255).contains(&distance))).collect()
}

/// Reads what changes without hotplug; true when something did.
pub(super) fn settings(files: &mut Files<'_>, section: &mut Section<NodeTopology>) -> bool {
    let mut changed = false;
    let rows: Vec<usize> = section.data().rows().iter().collect();
    for slot in rows {
        let Some(node) = section.data().node.id(slot).value() else { continue };
        let path = format!("{NODES}/node{node}/meminfo");
        let bytes = files.bytes(&path).ok().and_then(mem_total);
        if bytes.is_some() && bytes != section.data().memory_total_bytes.value(slot) {
            section.data_mut().memory_total_bytes.set_or_clear(slot, bytes);
            changed = true;
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::{mem_total, parse_distances};
    use proptest::prelude::*;

    const MEMINFO: &[u8] = b"Node 3 MemTotal:       65842740 kB\nNode 3 MemFree:        61020304 kB";

    #[test]
    fn takes_rows_as_kernels_print_them() {
        assert_eq!(mem_total(MEMINFO), Some(65_842_740 * 1024));
        assert_eq!(mem_total(b"Node 1 MemTotal:              0 kB"), Some(0));
        assert_eq!(mem_total(b"\nNode 1 MemTotal:  18446744073709551615 kB\n"), None);
        assert_eq!(parse_distances(b"10 21 17 255\n"), Some(vec![10, 21, 17, 255]));
        assert_eq!(parse_distances(b"10 0\n"), None);
        assert_eq!(parse_distances(b"10 x\n"), None);
        assert_eq!(parse_distances(b"10 2"), None, "cut");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = (mem_total(&bytes), parse_distances(&bytes));
        }

        #[test]
        fn cut_files_never_give_wrong_numbers(cut in 0usize..MEMINFO.len()) {
            let total = mem_total(&MEMINFO[..cut]);
            prop_assert!(total.is_none() || total == mem_total(MEMINFO));
        }
    }
}
