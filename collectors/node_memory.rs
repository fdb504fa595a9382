//! Memory by node: `meminfo`, `numastat` and `vmstat` of each node, watermarks from `/proc/zoneinfo`.

use crate::files::numbered_entries;
use crate::parse::{fields, lines, number, whole_lines};
use crate::pick::{Form, Picked};
use crate::root::Kept;
use crate::{CALM_NS, Collector, Cx};
use std::collections::BTreeMap;
use topotop_model::tables::memory::NodeMemory;
use topotop_model::{Draft, Gaps, Reason, Slots, State, Table};

/// Nodes come and go with memory hotplug only.
const LIST_NS: u64 = 10_000_000_000;
/// Watermarks change with settings only, and the file is long where there are many CPUs.
const WATERMARK_NS: u64 = 60_000_000_000;
const DIR: &str = "sys/devices/system/node";
const FILES: [&str; 3] = ["meminfo", "numastat", "vmstat"];

/// Reads the nodes' files through kept descriptors.
#[derive(Debug, Default)]
pub(crate) struct NodeMemoryCollector {
    nodes: BTreeMap<u32, [Option<Kept>; 3]>,
    listed_ns: Option<u64>,
    list_gap: Option<Reason>,
    slots: Slots<u32>,
    watermarks: Watermarks,
}

#[derive(Debug, Default)]
struct Watermarks {
    by_node: BTreeMap<u32, u64>,
    read_ns: Option<u64>,
    gap: Option<(Reason, u64)>,
}

impl Collector for NodeMemoryCollector {
    fn name(&self) -> &'static str {
        "node_memory"
    }

    fn calm_period_ns(&self) -> u64 {
        CALM_NS
    }

    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        draft.node_memory.begin(cx.now_ns);
        let due = |last: Option<u64>, period| last.is_none_or(|last| cx.now_ns.saturating_sub(last) >= period);
        if due(self.listed_ns, LIST_NS) || cx.demand.complete {
            self.list(cx);
        }
        if due(self.watermarks.read_ns, WATERMARK_NS) || cx.demand.complete {
            self.watermarks.read(cx);
        }
        let host = draft.host.data();
        let page_bytes = host.first().and_then(|row| host.page_bytes.value(row)).or_else(|| guessed_page(draft));
        self.slots.begin();
        let section = &mut draft.node_memory;
        if let Some(reason) = self.list_gap {
            section.gaps.add(DIR, reason, "CONFIG_NUMA");
            section.state = State::Missing;
        }
        if let Some((reason, count)) = self.watermarks.gap {
            section.gaps.add_many("proc/zoneinfo", reason, "", count);
        }
        let mut gaps = std::mem::take(&mut section.gaps);
        let table = section.data_mut();
        for (&node, kept) in &mut self.nodes {
            let (slot, _) = self.slots.slot(table, &node);
            table.node.set(slot, u64::from(node));
            read_node(node, kept, cx, table, slot, &mut gaps);
            let low = self.watermarks.by_node.get(&node);
            let bytes = low.and_then(|low| low.checked_mul(page_bytes?));
            table.low_watermark_bytes.set_or_clear(slot, bytes);
        }
        self.slots.finish(table, |_, _| {});
        section.gaps = gaps;
    }
}

impl NodeMemoryCollector {
    fn list(&mut self, cx: &Cx<'_>) {
        self.listed_ns = Some(cx.now_ns);
        match numbered_entries(cx.root, DIR, "node") {
            Ok(ids) => {
                self.list_gap = None;
                self.nodes.retain(|id, _| ids.binary_search(id).is_ok());
                for id in ids {
                    self.nodes.entry(id).or_default();
                }
            }
            Err(reason) => {
                self.list_gap = Some(reason);
                self.nodes.clear();
            }
        }
    }
}

impl Watermarks {
    fn read(&mut self, cx: &mut Cx<'_>) {
        self.read_ns = Some(cx.now_ns);
        self.by_node.clear();
        self.gap = None;
        match cx.root.read("proc/zoneinfo", cx.buf) {
            Ok(()) => {
                let (by_node, bad) = low_watermarks(cx.buf);
                self.by_node = by_node;
                self.gap = (bad > 0).then_some((Reason::Malformed, bad));
            }
            Err(Reason::NotFound) => {}
            Err(reason) => self.gap = Some((reason, 1)),
        }
    }
}

/// Without the kernel's word, the size that makes free pages out of free bytes is behind the thresholds already.
fn guessed_page(draft: &Draft) -> Option<u64> {
    let memory = draft.memory.data();
    memory.first().and_then(|row| memory.page_bytes.value(row))
}

fn read_node(
    node: u32,
    kept: &mut [Option<Kept>; 3],
    cx: &mut Cx<'_>,
    table: &mut NodeMemory,
    slot: usize,
    gaps: &mut Gaps,
) {
    for (index, (kept, file)) in kept.iter_mut().zip(FILES).enumerate() {
        if kept.is_none() {
            *kept = cx.root.open(format!("{DIR}/node{node}/{file}")).map_err(|reason| note(gaps, file, reason, 1)).ok();
        }
        let outcome = kept.as_ref().map(|kept| kept.read(cx.buf));
        if let Some(Err(reason)) = outcome {
            note(gaps, file, reason, 1);
            *kept = None;
        }
        let bytes: &[u8] = if outcome == Some(Ok(())) { cx.buf } else { &[] };
        let bad = match index {
            0 => meminfo(bytes, table, slot),
            1 => numastat(bytes, table, slot),
            _ => vmstat(bytes, table, slot),
        };
        if bad > 0 {
            note(gaps, file, Reason::Malformed, bad);
        }
    }
}

fn note(gaps: &mut Gaps, file: &str, reason: Reason, count: u64) {
    let (path, needs) = match file {
        "meminfo" => ("sys/devices/system/node/node*/meminfo", ""),
        "numastat" => ("sys/devices/system/node/node*/numastat", ""),
        _ => ("sys/devices/system/node/node*/vmstat", "Linux 2.6.35"),
    };
    gaps.add_many(path, reason, needs, count);
}

fn meminfo(bytes: &[u8], table: &mut NodeMemory, slot: usize) -> u64 {
    let picked = Picked::<10>::new(bytes, |key| {
        let index = match key {
            b"MemTotal" => 0,
            b"MemFree" => 1,
            b"FilePages" => 2,
            b"AnonPages" => 3,
            b"Inactive(file)" => 4,
            b"Shmem" => 5,
            b"Dirty" => 6,
            b"SReclaimable" => 7,
            b"HugePages_Free" => return Some((8, Form::Plain)),
            b"HugePages_Total" => return Some((9, Form::Plain)),
            _ => return None,
        };
        Some((index, Form::Kilobytes))
    });
    let columns = [
        &mut table.total_bytes,
        &mut table.free_bytes,
        &mut table.file_bytes,
        &mut table.anon_bytes,
        &mut table.inactive_file_bytes,
        &mut table.shmem_bytes,
        &mut table.dirty_bytes,
        &mut table.slab_reclaimable_bytes,
        &mut table.huge_pages_free,
        &mut table.huge_pages_total,
    ];
    picked.put(columns, slot);
    picked.bad
}

fn numastat(bytes: &[u8], table: &mut NodeMemory, slot: usize) -> u64 {
    let keys: [&[u8]; 6] =
        [b"numa_hit", b"numa_miss", b"numa_foreign", b"interleave_hit", b"local_node", b"other_node"];
    let picked = Picked::<6>::new(bytes, |key| Some((keys.iter().position(|name| *name == key)?, Form::Plain)));
    let columns = [
        &mut table.numa_hit,
        &mut table.numa_miss,
        &mut table.numa_foreign,
        &mut table.interleave_hit,
        &mut table.local_node,
        &mut table.other_node,
    ];
    picked.put(columns, slot);
    picked.bad
}

/// Scans by node are in here on the most recent kernels only; others count them for the machine.
fn vmstat(bytes: &[u8], table: &mut NodeMemory, slot: usize) -> u64 {
    let keys: [&[u8]; 2] = [b"pgscan_kswapd", b"pgscan_direct"];
    let picked = Picked::<2>::new(bytes, |key| Some((keys.iter().position(|name| *name == key)?, Form::Plain)));
    picked.put([&mut table.pgscan_kswapd, &mut table.pgscan_direct], slot);
    picked.bad
}

/// The zones' low watermarks by node in pages, and how many lines were damaged. A node with a damaged line has none.
fn low_watermarks(bytes: &[u8]) -> (BTreeMap<u32, u64>, u64) {
    let (bytes, cut) = whole_lines(bytes);
    let mut sums: BTreeMap<u32, Option<u64>> = BTreeMap::new();
    let mut bad = u64::from(cut);
    let mut node = None;
    for line in lines(bytes) {
        let mut parts = fields(line);
        match parts.next() {
            Some(b"Node") => {
                let id = parts.next().and_then(|id| id.strip_suffix(b",")).and_then(number);
                node = id.and_then(|id| u32::try_from(id).ok());
                bad += u64::from(node.is_none());
            }
            Some(b"low") => {
                let pages = parts.next().and_then(number);
                bad += u64::from(pages.is_none());
                if let Some(node) = node {
                    let sum = sums.entry(node).or_insert(Some(0));
                    *sum = sum.and_then(|sum| sum.checked_add(pages?));
                }
            }
            _ => {}
        }
    }
    if cut && let Some(sum) = node.and_then(|node| sums.get_mut(&node)) {
        // More zones of this node may stand behind the cut.
        *sum = None;
    }
    (sums.into_iter().filter_map(|(node, sum)| Some((node, sum?))).collect(), bad)
}

#[cfg(test)]
mod tests {
    use super::{low_watermarks, meminfo, numastat, vmstat};
    use proptest::prelude::*;
    use topotop_model::Table;
    use topotop_model::tables::memory::NodeMemory;

    const MEMINFO: &[u8] = b"Node 2 MemTotal:  800 kB\nNode 2 MemFree:  300 kB\nNode 2 FilePages:  200 kB\n\
        Node 2 AnonPages:  100 kB\nNode 2 Inactive(file):  50 kB\nNode 2 HugePages_Total:  4\n";
    const ZONES: &[u8] = b"Node 0, zone      DMA\n  per-node stats\n      nr_dirty  5\n  pages free     9\n\
        \x20       min      1\n        low      2\n        high     3\nNode 0, zone   Normal\n        low      40\n\
        Node 4, zone   Normal\n        low      7\n";

    #[test]
    fn takes_what_nodes_print() {
        let mut table = NodeMemory::default();
        let slot = table.insert();
        assert_eq!(meminfo(MEMINFO, &mut table, slot), 0);
        assert_eq!(numastat(b"numa_hit 10\nnuma_miss 2\nnuma_foreign 3\nlocal_node 9\n", &mut table, slot), 0);
        assert_eq!(vmstat(b"nr_free_pages 7\npgscan_direct 0\n", &mut table, slot), 0);
        assert_eq!(table.total_bytes.value(slot), Some(819_200));
        assert_eq!(table.file_bytes.value(slot), Some(204_800));
        assert_eq!(table.huge_pages_total.value(slot), Some(4));
        assert_eq!(table.numa_foreign.value(slot), Some(3));
        assert!(table.interleave_hit.get(slot).is_missing());
        assert_eq!(table.pgscan_direct.value(slot), Some(0));
        assert!(table.pgscan_kswapd.get(slot).is_missing());
    }

    #[test]
    fn adds_watermarks_up_by_node() {
        assert_eq!(low_watermarks(ZONES), ([(0, 42), (4, 7)].into(), 0));
        assert_eq!(low_watermarks(b"Node 0, zone DMA\n low x\n low 5\n"), ([].into(), 1));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let mut table = NodeMemory::default();
            let slot = table.insert();
            let _ = (meminfo(&bytes, &mut table, slot), numastat(&bytes, &mut table, slot));
            let _ = (vmstat(&bytes, &mut table, slot), low_watermarks(&bytes));
        }

        #[test]
        fn cut_files_never_give_wrong_numbers(cut in 0usize..200) {
            let mut table = NodeMemory::default();
            let slot = table.insert();
            meminfo(&MEMINFO[..cut.min(MEMINFO.len())], &mut table, slot);
            prop_assert!(table.total_bytes.value(slot).is_none_or(|bytes| bytes == 819_200));
            prop_assert!(table.inactive_file_bytes.value(slot).is_none_or(|bytes| bytes == 51_200));
            let text = &ZONES[..cut.min(ZONES.len())];
            let (sums, _) = low_watermarks(text);
            let between = text.ends_with(b"\n");
            prop_assert!(sums.get(&0).is_none_or(|&low| low == 42 || between));
            prop_assert!(sums.get(&4).is_none_or(|&low| low == 7));
        }
    }
}
