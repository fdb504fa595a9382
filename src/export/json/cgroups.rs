//! Control groups.

use super::host::{Stall, stall};
use super::value::{ById, Set, Text, object, set, text};
use topotop_model::Known;
use topotop_model::frame::{self, CgroupMemory};

object! {
    pub(crate) Cgroup {
        path: Text,
        version: u32,
        inode: Known<u64>,
        container: Option<ContainerRow>,
        memory: Option<Memory>,
        cpu: Cpu,
        pressure: Option<Pressure>,
        io: Option<Vec<Io>>,
        processes: Known<u64>,
        cpuset_cpus: Option<Set>,
        pids: Known<u64>,
        pids_limit: Known<u64>,
        pids_refused_per_second: Option<f64>,
        cpuset_mems: Option<Set>,
        cpuset_busy: Option<f64>,
        run_wait_cores: Option<f64>,
        blocked_threads: Option<u32>,
    }
}

object! {
    pub(crate) ContainerRow {
        namespace: Option<Text>,
        pod_name: Option<Text>,
        pod_uid: Option<Text>,
        container_name: Option<Text>,
        id: Option<Text>,
        runtime: Option<Text>,
        name_source: Option<Text>,
    }
}

object! {
    pub(crate) Memory {
        current_bytes: Known<u64>,
        working_set_bytes: Known<u64>,
        limit_bytes: Known<u64>,
        high_bytes: Known<u64>,
        effective_limit_bytes: Known<u64>,
        limited_by: Option<Text>,
        anon_bytes: Known<u64>,
        file_bytes: Known<u64>,
        shmem_bytes: Known<u64>,
        dirty_bytes: Known<u64>,
        writeback_bytes: Known<u64>,
        inactive_file_bytes: Known<u64>,
        unevictable_bytes: Known<u64>,
        reclaimable_bytes: Known<u64>,
        unreclaimable_bytes: Known<u64>,
        growth_bytes_per_second: Option<f64>,
        time_to_limit_seconds: Known<f64>,
        events: Option<Events>,
        oom_kills_gained: Option<u64>,
        events_max_per_second: Option<f64>,
        pgscan_direct_per_second: Option<f64>,
        pgsteal_direct_per_second: Option<f64>,
        refault_file_per_second: Option<f64>,
        pgmajfault_per_second: Option<f64>,
        by_node: Option<ById<NodeBytes>>,
    }
}

object! {
    pub(crate) Events {
        high: Known<u64>,
        max: Known<u64>,
        oom: Known<u64>,
        oom_kill: Known<u64>,
    }
}

object! {
    pub(crate) NodeBytes {
        file_bytes: Option<u64>,
        anon_bytes: Option<u64>,
    }
}

object! {
    pub(crate) Cpu {
        usage_cores: Option<f64>,
        quota_cores: Known<f64>,
        throttled_ratio: Option<f64>,
        periods: Option<u64>,
    }
}

object! {
    pub(crate) Pressure {
        cpu: Option<Stall>,
        memory: Option<Stall>,
        io: Option<Stall>,
    }
}

object! {
    pub(crate) Io {
        device: String,
        read_bytes_per_second: f64,
        write_bytes_per_second: f64,
        reads_per_second: f64,
        writes_per_second: f64,
        limits: Option<IoLimits>,
    }
}

object! {
    pub(crate) IoLimits {
        read_bytes_per_second: Known<u64>,
        write_bytes_per_second: Known<u64>,
        reads_per_second: Known<u64>,
        writes_per_second: Known<u64>,
    }
}

pub(super) fn cgroup(group: &frame::Cgroup) -> Cgroup {
    let pressure = Pressure {
        cpu: group.cpu_pressure.as_ref().map(stall),
        memory: group.memory_pressure.as_ref().map(stall),
        io: group.io_pressure.as_ref().map(stall),
    };
    let any = pressure.cpu.is_some() || pressure.memory.is_some() || pressure.io.is_some();
    Cgroup {
        path: Text::from(&group.path),
        version: group.version,
        inode: group.inode,
        container: group.container.as_ref().map(container),
        memory: group.memory.as_ref().map(memory),
        cpu: Cpu {
            usage_cores: group.cpu.usage_cores,
            quota_cores: group.cpu.quota_cores,
            throttled_ratio: group.cpu.throttled_ratio,
            periods: group.cpu.periods,
        },
        pressure: any.then_some(pressure),
        io: (!group.io.is_empty()).then(|| group.io.iter().map(io).collect()),
        processes: group.processes,
        cpuset_cpus: set(group.cpuset_cpus.as_ref()),
        pids: group.pids,
        pids_limit: group.pids_limit,
        pids_refused_per_second: group.pids_refused_per_second,
        cpuset_mems: set(group.cpuset_mems.as_ref()),
        cpuset_busy: group.cpuset_busy,
        run_wait_cores: group.run_wait_cores,
        blocked_threads: (group.blocked_threads > 0).then_some(group.blocked_threads),
    }
}

fn container(container: &frame::Container) -> ContainerRow {
    ContainerRow {
        namespace: text(&container.namespace),
        pod_name: text(&container.pod_name),
        pod_uid: text(&container.pod_uid),
        container_name: text(&container.container_name),
        id: text(&container.id),
        runtime: text(&container.runtime),
        name_source: text(&container.name_source),
    }
}

fn memory(memory: &CgroupMemory) -> Memory {
    let by_node: Vec<(u32, NodeBytes)> = memory
        .by_node
        .iter()
        .map(|row| (row.node, NodeBytes { file_bytes: row.file_bytes, anon_bytes: row.anon_bytes }))
        .collect();
    Memory {
        current_bytes: memory.current_bytes,
        working_set_bytes: memory.working_set_bytes,
        limit_bytes: memory.limit_bytes,
        high_bytes: memory.high_bytes,
        effective_limit_bytes: memory.effective_limit_bytes,
        limited_by: text(&memory.limited_by),
        anon_bytes: memory.anon_bytes,
        file_bytes: memory.file_bytes,
        shmem_bytes: memory.shmem_bytes,
        dirty_bytes: memory.dirty_bytes,
        writeback_bytes: memory.writeback_bytes,
        inactive_file_bytes: memory.inactive_file_bytes,
        unevictable_bytes: memory.unevictable_bytes,
        reclaimable_bytes: memory.reclaimable_bytes,
        unreclaimable_bytes: memory.unreclaimable_bytes,
        growth_bytes_per_second: memory.growth_bytes_per_second,
        time_to_limit_seconds: memory.time_to_limit_seconds,
        events: events(memory),
        oom_kills_gained: memory.oom_kills_gained,
        events_max_per_second: memory.events_max_per_second,
        pgscan_direct_per_second: memory.pgscan_direct_per_second,
        pgsteal_direct_per_second: memory.pgsteal_direct_per_second,
        refault_file_per_second: memory.refault_file_per_second,
        pgmajfault_per_second: memory.pgmajfault_per_second,
        by_node: (!by_node.is_empty()).then_some(ById(by_node)),
    }
}

fn events(memory: &CgroupMemory) -> Option<Events> {
    let events = Events {
        high: memory.events_high,
        max: memory.events_max,
        oom: memory.events_oom,
        oom_kill: memory.events_oom_kill,
    };
    let kinds = [events.high, events.max, events.oom, events.oom_kill];
    kinds.iter().any(|kind| !kind.is_missing()).then_some(events)
}

fn io(row: &frame::CgroupIoRate) -> Io {
    Io {
        device: format!("{}:{}", row.dev >> 20, row.dev & 0xf_ffff),
        read_bytes_per_second: row.read_bytes_per_second,
        write_bytes_per_second: row.write_bytes_per_second,
        reads_per_second: row.reads_per_second,
        writes_per_second: row.writes_per_second,
        limits: row.throttle().is_some().then_some(IoLimits {
            read_bytes_per_second: row.limits.read_bytes,
            write_bytes_per_second: row.limits.write_bytes,
            reads_per_second: row.limits.reads,
            writes_per_second: row.limits.writes,
        }),
    }
}
