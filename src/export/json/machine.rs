//! Topology, CPUs and memory.

use super::value::{ById, Set, Text, by_id, object, set, text};
use topotop_model::Known;
use topotop_model::frame::{self, CpuPlace, Frame, NodePlace};

object! {
    pub(crate) Topology {
        packages: Option<u32>,
        cores: Option<u32>,
        cpus_online: Option<Set>,
        cpus_possible: Option<Set>,
        nodes: Vec<NodeTopology>,
        cpus: Vec<CpuTopology>,
        domains: Vec<Domain>,
    }
}

object! {
    pub(crate) NodeTopology {
        id: u32,
        cpus: Set,
        memory_total_bytes: Known<u64>,
        distances: Option<ById<u32>>,
        has_cpus: bool,
        has_memory: bool,
        tier: Option<Text>,
    }
}

object! {
    pub(crate) CpuTopology {
        id: u32,
        node: Known<u32>,
        package: Known<u32>,
        die: Known<u32>,
        core: Known<u32>,
        smt_siblings: Option<Set>,
        l3: Known<u32>,
        online: bool,
        isolated: bool,
        capacity: Option<u32>,
    }
}

object! {
    pub(crate) Domain {
        kind: Text,
        id: u32,
        cpus: Set,
        size_bytes: Option<u64>,
    }
}

pub(super) fn topology(frame: &Frame) -> Topology {
    let topology = &*frame.topology;
    Topology {
        packages: topology.packages,
        cores: topology.cores,
        cpus_online: (!topology.cpus_online.is_empty()).then(|| Set::from(&topology.cpus_online)),
        cpus_possible: topology.cpus_possible.as_ref().map(Set::from),
        nodes: topology.nodes.iter().map(node_topology).collect(),
        cpus: topology.cpus.iter().map(cpu_topology).collect(),
        domains: topology
            .domains
            .iter()
            .map(|domain| Domain {
                kind: Text::from(&domain.kind),
                id: domain.id,
                cpus: Set::from(&domain.cpus),
                size_bytes: domain.size_bytes,
            })
            .collect(),
    }
}

fn node_topology(node: &NodePlace) -> NodeTopology {
    NodeTopology {
        id: node.id,
        cpus: Set::from(&node.cpus),
        memory_total_bytes: node.memory_total_bytes,
        distances: by_id(&node.distances),
        has_cpus: node.has_cpus,
        has_memory: node.has_memory,
        tier: text(&node.tier),
    }
}

fn cpu_topology(cpu: &CpuPlace) -> CpuTopology {
    CpuTopology {
        id: cpu.id,
        node: cpu.node,
        package: cpu.package,
        die: cpu.die,
        core: cpu.core,
        smt_siblings: set(cpu.smt_siblings.as_ref()),
        l3: cpu.l3,
        online: cpu.online,
        isolated: cpu.isolated,
        capacity: cpu.capacity,
    }
}

object! {
    pub(crate) Cpu {
        id: u32,
        node: Known<u32>,
        busy: Option<f64>,
        user: Option<f64>,
        system: Option<f64>,
        softirq: Option<f64>,
        irq: Option<f64>,
        iowait: Option<f64>,
        idle: Option<f64>,
        steal: Option<f64>,
        mhz: Option<f64>,
        run_wait_cores: Option<f64>,
    }
}

pub(super) fn cpu(cpu: &frame::Cpu) -> Cpu {
    let share = |of: fn(&frame::CpuShares) -> f64| cpu.shares.as_ref().map(of);
    Cpu {
        id: cpu.id,
        node: cpu.node,
        busy: share(|shares| shares.busy),
        user: share(|shares| shares.user),
        system: share(|shares| shares.system),
        softirq: share(|shares| shares.softirq),
        irq: share(|shares| shares.irq),
        iowait: share(|shares| shares.iowait),
        idle: share(|shares| shares.idle),
        steal: share(|shares| shares.steal),
        mhz: cpu.mhz,
        run_wait_cores: cpu.run_wait_cores,
    }
}

object! {
    pub(crate) Memory {
        total_bytes: Known<u64>,
        available_bytes: Known<u64>,
        free_bytes: Known<u64>,
        cached_bytes: Known<u64>,
        anon_bytes: Known<u64>,
        shmem_bytes: Known<u64>,
        dirty_bytes: Known<u64>,
        writeback_bytes: Known<u64>,
        dirty_threshold_bytes: Known<u64>,
        swap_total_bytes: Known<u64>,
        swap_free_bytes: Known<u64>,
        oom_kills: Known<u64>,
        oom_kills_gained: Option<u64>,
        allocstall_per_second: Option<f64>,
        pgscan_direct_per_second: Option<f64>,
        pswpin_per_second: Option<f64>,
        pswpout_per_second: Option<f64>,
        cached_growth_bytes_per_second: Option<f64>,
        numa_hint_faults_per_second: Option<f64>,
        numa_hint_local_ratio: Option<f64>,
    }
}

pub(super) fn memory(memory: &frame::Memory) -> Memory {
    Memory {
        total_bytes: memory.total_bytes,
        available_bytes: memory.available_bytes,
        free_bytes: memory.free_bytes,
        cached_bytes: memory.cached_bytes,
        anon_bytes: memory.anon_bytes,
        shmem_bytes: memory.shmem_bytes,
        dirty_bytes: memory.dirty_bytes,
        writeback_bytes: memory.writeback_bytes,
        dirty_threshold_bytes: memory.dirty_threshold_bytes,
        swap_total_bytes: memory.swap_total_bytes,
        swap_free_bytes: memory.swap_free_bytes,
        oom_kills: memory.oom_kills,
        oom_kills_gained: memory.oom_kills_gained,
        allocstall_per_second: memory.allocstall_per_second,
        pgscan_direct_per_second: memory.pgscan_direct_per_second,
        pswpin_per_second: memory.pswpin_per_second,
        pswpout_per_second: memory.pswpout_per_second,
        cached_growth_bytes_per_second: memory.cached_growth_bytes_per_second,
        numa_hint_faults_per_second: memory.numa_hint_faults_per_second,
        numa_hint_local_ratio: memory.numa_hint_local_ratio,
    }
}

object! {
    pub(crate) Node {
        id: u32,
        busy: Option<f64>,
        softirq: Option<f64>,
        iowait: Option<f64>,
        cpus_online: u32,
        memory_total_bytes: Known<u64>,
        memory_free_bytes: Known<u64>,
        file_bytes: Known<u64>,
        anon_bytes: Known<u64>,
        low_watermark_bytes: Known<u64>,
        numa_hit: Known<u64>,
        numa_miss: Known<u64>,
        numa_foreign: Known<u64>,
        numa_hit_per_second: Option<f64>,
        numa_miss_per_second: Option<f64>,
        numa_foreign_per_second: Option<f64>,
        other_node_per_second: Option<f64>,
        pgscan_direct_per_second: Option<f64>,
    }
}

pub(super) fn node(node: &frame::Node) -> Node {
    Node {
        id: node.id,
        busy: node.busy,
        softirq: node.softirq,
        iowait: node.iowait,
        cpus_online: node.cpus_online,
        memory_total_bytes: node.memory_total_bytes,
        memory_free_bytes: node.memory_free_bytes,
        file_bytes: node.file_bytes,
        anon_bytes: node.anon_bytes,
        low_watermark_bytes: node.low_watermark_bytes,
        numa_hit: node.numa_hit,
        numa_miss: node.numa_miss,
        numa_foreign: node.numa_foreign,
        numa_hit_per_second: node.numa_hit_per_second,
        numa_miss_per_second: node.numa_miss_per_second,
        numa_foreign_per_second: node.numa_foreign_per_second,
        other_node_per_second: node.other_node_per_second,
        pgscan_direct_per_second: node.pgscan_direct_per_second,
    }
}
