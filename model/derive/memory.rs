//! Memory of the machine and of each node, and how busy a node's CPUs are.

use super::rates::{Pair, is_old};
use crate::frame::{Cpu, CpuShares, Frame, Memory, MemoryBandwidth, Node, OomKill};
use crate::tables::memory::{NodeMemory, OomKills};
use crate::{Known, Num, Table, Window};
use std::collections::{BTreeMap, HashMap};

pub(super) fn derive(window: &Window, frame: &mut Frame) {
    frame.memory = machine(window);
    frame.nodes = nodes(window, frame);
    frame.memory_bandwidth = bandwidth(window);
    frame.oom_kills = window.now.oom_kills.value().map(oom_kills).unwrap_or_default();
}

fn bandwidth(window: &Window) -> Vec<MemoryBandwidth> {
    let Some(pair) = Pair::new(&window.now.memory_bandwidth, &window.before.memory_bandwidth) else {
        return Vec::new();
    };
    let of = |slot| {
        Some(MemoryBandwidth {
            l3: pair.now.l3.id(slot).value()?,
            bytes_per_second: pair.rate(slot, |table| &table.total_bytes),
            local_bytes_per_second: pair.rate(slot, |table| &table.local_bytes),
        })
    };
    let mut rows: Vec<MemoryBandwidth> = pair.now.rows().iter().filter_map(of).collect();
    rows.sort_unstable_by_key(|row| row.l3);
    rows
}

fn oom_kills(table: &OomKills) -> Vec<OomKill> {
    let kill = |slot| OomKill {
        constraint: table.constraint.or_empty(slot),
        memcg: table.memcg.or_empty(slot),
        task_memcg: table.task_memcg.or_empty(slot),
    };
    table.rows().iter().map(kill).collect()
}

/// What huge pages of the usual size take.
fn huge_pages(table: &crate::tables::memory::Memory, slot: usize) -> Known<u64> {
    let bytes = table.huge_pages_total.value(slot).zip(table.huge_page_bytes.value(slot));
    Known::or_missing(bytes.and_then(|(pages, each)| pages.checked_mul(each)))
}

#[expect(clippy::too_many_lines, reason = "a field for each value of the kernel's")]
fn machine(window: &Window) -> Memory {
    let Some(pair) = Pair::new(&window.now.memory, &window.before.memory) else { return Memory::default() };
    let (table, Some(slot)) = (pair.now, pair.now.first()) else { return Memory::default() };
    let old = is_old(window, &window.now.memory);
    let faults = pair.gain(slot, |memory| &memory.numa_hint_faults);
    let local = pair.gain(slot, |memory| &memory.numa_hint_faults_local);
    Memory {
        total_bytes: table.total_bytes.get(slot),
        available_bytes: table.available_bytes.get(slot),
        free_bytes: table.free_bytes.get(slot),
        cached_bytes: table.cached_bytes.get(slot),
        anon_bytes: table.anon_bytes.get(slot),
        shmem_bytes: table.shmem_bytes.get(slot),
        dirty_bytes: table.dirty_bytes.get(slot),
        writeback_bytes: table.writeback_bytes.get(slot),
        dirty_threshold_bytes: table.dirty_threshold_bytes.get(slot),
        swap_total_bytes: table.swap_total_bytes.get(slot),
        swap_free_bytes: table.swap_free_bytes.get(slot),
        allocstall_per_second: pair.rate(slot, |memory| &memory.allocstall),
        zone_reclaims_per_second: match (
            pair.rate(slot, |memory| &memory.zone_reclaim_success),
            pair.rate(slot, |memory| &memory.zone_reclaim_failed),
        ) {
            (Some(success), Some(failed)) => Some(success + failed),
            (success, failed) => success.or(failed),
        },
        pgscan_direct_per_second: pair.rate(slot, |memory| &memory.pgscan_direct),
        pgsteal_per_second: match (
            pair.rate(slot, |memory| &memory.pgsteal_kswapd),
            pair.rate(slot, |memory| &memory.pgsteal_direct),
        ) {
            (Some(kswapd), Some(direct)) => Some(kswapd + direct),
            (kswapd, direct) => kswapd.or(direct),
        },
        pgmajfault_per_second: pair.rate(slot, |memory| &memory.pgmajfault),
        refault_file_per_second: pair.rate(slot, |memory| &memory.workingset_refault_file),
        inactive_file_bytes: table.inactive_file_bytes.get(slot),
        huge_pages_bytes: huge_pages(table, slot),
        page_bytes: table.page_bytes.get(slot),
        pswpin_per_second: pair.rate(slot, |memory| &memory.pswpin),
        pswpout_per_second: pair.rate(slot, |memory| &memory.pswpout),
        zswap_bytes: table.zswap_bytes.get(slot),
        zswapped_bytes: table.zswapped_bytes.get(slot),
        zswpin_per_second: pair.rate(slot, |memory| &memory.zswpin),
        zswpout_per_second: pair.rate(slot, |memory| &memory.zswpout),
        zswpwb_per_second: pair.rate(slot, |memory| &memory.zswpwb),
        cached_growth_bytes_per_second: pair.slope(slot, |memory| &memory.cached_bytes),
        oom_kills: table.oom_kill.get(slot),
        // Counted once, when it was read.
        oom_kills_gained: pair.gain(slot, |memory| &memory.oom_kill).map(|kills| if old { 0 } else { kills }),
        numa_hint_local_ratio: ratio(local, faults),
        numa_hint_faults_per_second: pair.rate(slot, |memory| &memory.numa_hint_faults),
    }
}

/// A part of a whole; none of nothing.
fn ratio(part: Option<u64>, whole: Option<u64>) -> Option<f64> {
    let (part, whole) = (part?, whole.filter(|&whole| whole > 0)?);
    Some((part as f64 / whole as f64).min(1.0))
}

/// Every node that the topology or the nodes' own files tell of, by id.
fn nodes(window: &Window, frame: &Frame) -> Vec<Node> {
    let pair = Pair::new(&window.now.node_memory, &window.before.node_memory);
    let mut rows: BTreeMap<u32, Option<usize>> = frame.topology.nodes.iter().map(|place| (place.id, None)).collect();
    if let Some(pair) = pair {
        let slots = pair.now.rows().iter();
        rows.extend(slots.filter_map(|slot| Some((pair.now.node.id(slot).value()?, Some(slot)))));
    }
    let mut cpus: HashMap<u32, Vec<&Cpu>> = HashMap::new();
    for cpu in frame.cpus.iter().filter(|cpu| cpu.online) {
        if let Some(node) = cpu.node.value() {
            cpus.entry(node).or_default().push(cpu);
        }
    }
    let of = |id: u32| cpus.get(&id).map(Vec::as_slice).unwrap_or_default();
    rows.into_iter().map(|(id, slot)| node(id, slot, pair.as_ref(), of(id), frame)).collect()
}

fn node(id: u32, slot: Option<usize>, pair: Option<&Pair<'_, NodeMemory>>, cpus: &[&Cpu], frame: &Frame) -> Node {
    let mean = |share: fn(&CpuShares) -> f64| {
        let shares: Vec<f64> = cpus.iter().filter_map(|cpu| cpu.shares.as_ref().map(share)).collect();
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    };
    let mut node = Node {
        id,
        busy: mean(|shares| shares.busy),
        softirq: mean(|shares| shares.softirq),
        iowait: mean(|shares| shares.iowait),
        cpus_online: cpus.len() as u32,
        ..Node::default()
    };
    if let (Some(slot), Some(pair)) = (slot, pair) {
        memory(&mut node, slot, pair);
    }
    if node.memory_total_bytes.is_missing() {
        node.memory_total_bytes = frame.topology.node(id).map(|place| place.memory_total_bytes).unwrap_or_default();
    }
    node
}

fn memory(node: &mut Node, slot: usize, pair: &Pair<'_, NodeMemory>) {
    let table = pair.now;
    let rate = |column: fn(&NodeMemory) -> &Num| pair.rate(slot, column);
    node.memory_total_bytes = table.total_bytes.get(slot);
    node.memory_free_bytes = table.free_bytes.get(slot);
    node.file_bytes = table.file_bytes.get(slot);
    node.file_growth_bytes_per_second = pair.slope(slot, |table| &table.file_bytes);
    node.anon_bytes = table.anon_bytes.get(slot);
    node.numa_hit = table.numa_hit.get(slot);
    node.numa_miss = table.numa_miss.get(slot);
    node.numa_foreign = table.numa_foreign.get(slot);
    node.numa_hit_per_second = rate(|table| &table.numa_hit);
    node.numa_miss_per_second = rate(|table| &table.numa_miss);
    node.numa_foreign_per_second = rate(|table| &table.numa_foreign);
    node.other_node_per_second = rate(|table| &table.other_node);
    node.pgscan_direct_per_second = rate(|table| &table.pgscan_direct);
    node.low_watermark_bytes = table.low_watermark_bytes.get(slot);
}

#[cfg(test)]
mod tests {
    use super::derive;
    use crate::frame::{Cpu, CpuShares, Frame, NodePlace, Topology};
    use crate::{Known, Snapshot, Table, Window};
    use std::sync::Arc;

    fn sample(at_ns: u64, foreign: u64, cached: u64) -> Snapshot {
        let mut snapshot = Snapshot::default();
        let nodes = Arc::make_mut(&mut snapshot.node_memory);
        nodes.begin(at_ns);
        let slot = nodes.data_mut().only();
        nodes.data_mut().node.set(slot, 3);
        nodes.data_mut().numa_foreign.set(slot, foreign);
        nodes.data_mut().numa_hit.set(slot, 9);
        let memory = Arc::make_mut(&mut snapshot.memory);
        memory.begin(at_ns);
        let slot = memory.data_mut().only();
        memory.data_mut().cached_bytes.set(slot, cached);
        memory.data_mut().numa_hint_faults.set(slot, foreign * 4);
        memory.data_mut().numa_hint_faults_local.set(slot, foreign);
        snapshot
    }

    fn frame(samples: Vec<Snapshot>) -> Frame {
        let mut window = Window::default();
        for sample in samples {
            window.push(sample);
        }
        let cpu = |id, node, busy| Cpu {
            id,
            node: Known::Value(node),
            online: true,
            shares: Some(CpuShares { busy, softirq: busy / 2.0, ..CpuShares::default() }),
            ..Cpu::default()
        };
        let place = NodePlace { id: 0, memory_total_bytes: Known::Value(7), ..NodePlace::default() };
        let mut frame = Frame {
            topology: Arc::new(Topology { nodes: vec![place], ..Topology::default() }),
            cpus: vec![cpu(0, 3, 0.5), cpu(1, 3, 1.0)],
            ..Frame::default()
        };
        derive(&window, &mut frame);
        frame
    }

    #[test]
    fn joins_topology_counters_and_cpus() {
        let frame = frame(vec![sample(1_000_000_000, 100, 5000), sample(3_000_000_000, 140, 3000)]);
        assert_eq!(frame.nodes.iter().map(|node| node.id).collect::<Vec<_>>(), [0, 3]);
        let (empty, node) = (&frame.nodes[0], &frame.nodes[1]);
        assert_eq!((empty.busy, empty.cpus_online, empty.memory_total_bytes), (None, 0, Known::Value(7)));
        assert!(empty.numa_hit.is_missing());
        assert_eq!((node.busy, node.softirq, node.cpus_online), (Some(0.75), Some(0.375), 2));
        assert_eq!((node.numa_foreign, node.numa_foreign_per_second), (Known::Value(140), Some(20.0)));
        assert_eq!(node.numa_hit_per_second, Some(0.0));
        assert!(node.memory_free_bytes.is_missing());
        assert_eq!(frame.memory.cached_growth_bytes_per_second, Some(-1000.0));
        assert_eq!(frame.memory.numa_hint_local_ratio, Some(0.25));
        assert_eq!(frame.memory.oom_kills_gained, None);
    }

    #[test]
    fn kills_are_told_in_the_sample_that_read_them() {
        let kills = |at_ns: u64, kills: u64| {
            let mut snapshot = sample(at_ns, 0, 0);
            let memory = Arc::make_mut(&mut snapshot.memory);
            let slot = memory.data_mut().only();
            memory.data_mut().oom_kill.set(slot, kills);
            snapshot.stamp.mono_ns = at_ns;
            snapshot
        };
        let reported = |second: u64| {
            let mut last = kills(2_000_000_000, 8);
            last.stamp.mono_ns = second * 1_000_000_000;
            frame(vec![kills(1_000_000_000, 7), last]).memory.oom_kills_gained
        };
        assert_eq!((reported(2), reported(3)), (Some(1), Some(0)));
    }

    #[test]
    fn one_sample_gives_no_rates() {
        let frame = frame(vec![sample(1_000_000_000, 100, 5000)]);
        assert_eq!(frame.nodes[1].numa_foreign_per_second, None);
        assert_eq!(frame.memory.cached_growth_bytes_per_second, None);
        assert_eq!(frame.memory.cached_bytes, Known::Value(5000));
    }
}
