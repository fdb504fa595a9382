//! Topology, nodes and memory of the made-up machines.

use super::{GIB, noise};
use crate::frame::{Cpu, CpuPlace, Domain, Memory, Node, NodePlace, Topology};
use crate::{IdSet, Known};
use std::sync::Arc;

/// How a machine is built.
pub(super) struct Shape {
    pub(super) packages: u32,
    pub(super) nodes_per_package: u32,
    pub(super) l3_per_node: u32,
    pub(super) cores_per_l3: u32,
    pub(super) smt: u32,
    pub(super) memory_per_node: u64,
    /// Which story its CPUs tell.
    pub(super) story: Story,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Story {
    Server,
    Wide,
    Tiny,
}

impl Shape {
    pub(super) const SERVER: Self = Self {
        packages: 2,
        nodes_per_package: 2,
        l3_per_node: 2,
        cores_per_l3: 4,
        smt: 2,
        memory_per_node: 64 * GIB,
        story: Story::Server,
    };
    pub(super) const WIDE: Self = Self {
        packages: 4,
        nodes_per_package: 4,
        l3_per_node: 4,
        cores_per_l3: 8,
        smt: 2,
        memory_per_node: 128 * GIB,
        story: Story::Wide,
    };
    pub(super) const TINY: Self = Self {
        packages: 1,
        nodes_per_package: 1,
        l3_per_node: 1,
        cores_per_l3: 1,
        smt: 2,
        memory_per_node: 8 * GIB,
        story: Story::Tiny,
    };

    pub(super) fn nodes(&self) -> u32 {
        self.packages * self.nodes_per_package
    }

    pub(super) fn cores(&self) -> u32 {
        self.nodes() * self.l3_per_node * self.cores_per_l3
    }

    /// How far the trouble has grown, 0..1.
    pub(super) fn trouble(&self, second: u64) -> f64 {
        match self.story {
            Story::Server => (second as f64 / 120.0).min(1.0),
            Story::Wide => 0.3,
            Story::Tiny => 0.05,
        }
    }
}

/// First threads come first, as on many machines: the siblings of a core are `c` and `c + cores`.
pub(super) fn topology(shape: &Shape) -> Topology {
    let cores = shape.cores();
    let per_node = shape.l3_per_node * shape.cores_per_l3;
    let cpus: Vec<CpuPlace> = (0..cores * shape.smt)
        .map(|id| {
            let core = id % cores;
            let node = core / per_node;
            CpuPlace {
                id,
                node: node.into(),
                package: (node / shape.nodes_per_package).into(),
                die: 0.into(),
                core: core.into(),
                l3: (core / shape.cores_per_l3).into(),
                smt_siblings: Some(Arc::new((0..shape.smt).map(|thread| core + thread * cores).collect())),
                online: !offline(shape, id),
                isolated: shape.story == Story::Server && (30..32).contains(&id),
                ..CpuPlace::default()
            }
        })
        .collect();
    let with = |of: &dyn Fn(&CpuPlace) -> bool| -> IdSet {
        cpus.iter().filter(|place| of(place)).map(|place| place.id).collect()
    };
    let nodes = (0..shape.nodes()).map(|id| node_place(shape, id, with(&|place| place.node == id.into()))).collect();
    let domains = (0..cores / shape.cores_per_l3)
        .map(|id| Domain {
            kind: "L3".into(),
            id,
            cpus: with(&|place| place.l3 == id.into()),
            size_bytes: Some(32 << 20),
        })
        .collect();
    Topology {
        packages: Some(shape.packages),
        cores: Some(cores),
        cpus_online: with(&|place| place.online),
        cpus_possible: Some(with(&|_| true)),
        nodes,
        domains,
        cpus,
    }
}

fn node_place(shape: &Shape, id: u32, cpus: IdSet) -> NodePlace {
    let distance = |other: u32| match () {
        () if other == id => 10,
        () if other / shape.nodes_per_package == id / shape.nodes_per_package => 12,
        () => 32,
    };
    NodePlace {
        id,
        cpus,
        memory_total_bytes: shape.memory_per_node.into(),
        distances: (0..shape.nodes()).map(|other| (other, distance(other))).collect(),
        has_cpus: true,
        has_memory: true,
        tier: "DRAM".into(),
    }
}

/// One core of the server is switched off.
fn offline(shape: &Shape, id: u32) -> bool {
    shape.story == Story::Server && id == 63
}

pub(super) fn nodes(shape: &Shape, topology: &Topology, cpus: &[Cpu], second: u64) -> Vec<Node> {
    let trouble = shape.trouble(second);
    let node = |place: &NodePlace| {
        let here = || cpus.iter().filter(|cpu| cpu.node == place.id.into()).filter_map(|cpu| cpu.shares);
        let count = here().count() as f64;
        let mean = |sum: f64| (count > 0.0).then(|| sum / count);
        let used = match (shape.story, place.id) {
            (Story::Server, 0) => 0.62 + 0.34 * trouble,
            (Story::Wide, 3) => 0.9,
            _ => 0.04 + 0.2 * noise(u64::from(place.id), 7),
        };
        let total = shape.memory_per_node;
        let free = (total as f64 * (1.0 - used)) as u64;
        let foreign = if place.id == 0 && shape.story == Story::Server { 1_240.0 * trouble } else { 0.0 };
        Node {
            id: place.id,
            busy: mean(here().map(|shares| shares.busy).sum()),
            softirq: mean(here().map(|shares| shares.softirq).sum()),
            iowait: mean(here().map(|shares| shares.iowait).sum()),
            cpus_online: here().count() as u32,
            memory_total_bytes: total.into(),
            memory_free_bytes: free.into(),
            file_bytes: ((total - free) / 3).into(),
            anon_bytes: ((total - free) / 2).into(),
            numa_hit: 812_412_000.into(),
            numa_miss: 0.into(),
            numa_foreign: ((foreign as u64) * second).into(),
            numa_hit_per_second: Some(41_000.0),
            numa_miss_per_second: Some(if place.id == 1 { 1_240.0 * trouble } else { 0.0 }),
            numa_foreign_per_second: Some(foreign),
            other_node_per_second: Some(foreign / 2.0),
            pgscan_direct_per_second: Some(foreign * 3.0),
            low_watermark_bytes: (total / 500).into(),
            ..Node::default()
        }
    };
    topology.nodes.iter().map(node).collect()
}

pub(super) fn memory(nodes: &[Node]) -> Memory {
    let sum = |of: fn(&Node) -> Known<u64>| nodes.iter().filter_map(|node| of(node).value()).sum::<u64>();
    let (total, free, file) =
        (sum(|node| node.memory_total_bytes), sum(|node| node.memory_free_bytes), sum(|node| node.file_bytes));
    Memory {
        total_bytes: total.into(),
        available_bytes: (free + file * 3 / 4).into(),
        free_bytes: free.into(),
        cached_bytes: file.into(),
        anon_bytes: sum(|node| node.anon_bytes).into(),
        shmem_bytes: (file / 8).into(),
        dirty_bytes: (412 << 20).into(),
        writeback_bytes: (12 << 20).into(),
        dirty_threshold_bytes: (total / 20).into(),
        swap_total_bytes: 0.into(),
        swap_free_bytes: 0.into(),
        allocstall_per_second: Some(14.0),
        pgscan_direct_per_second: Some(3_720.0),
        pswpin_per_second: Some(0.0),
        pswpout_per_second: Some(0.0),
        cached_growth_bytes_per_second: Some(31e6),
        oom_kills: 0.into(),
        oom_kills_gained: Some(0),
        numa_hint_local_ratio: Some(0.93),
        numa_hint_faults_per_second: Some(310.0),
        ..Memory::default()
    }
}
