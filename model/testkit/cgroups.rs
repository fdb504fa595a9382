//! Control groups of the made-up machines.

use super::GIB;
use super::machine::Shape;
use crate::Known;
use crate::frame::{
    Cgroup, CgroupCpu, CgroupEvents, CgroupMemory, CgroupPressure, Container, Frame, NodeBytes, PressureStall,
};
use std::sync::Arc;

/// Three brokers with 4 GiB each, the first one full of page cache, and a database.
pub(super) fn server(frame: &mut Frame, second: u64) {
    let trouble = Shape::SERVER.trouble(second);
    let mut rows = vec![root(frame), plain("/system.slice", 3 * GIB)];
    rows.push(plain("/system.slice/postgresql.service", 42 * GIB));
    rows.push(plain("/kubepods.slice", 9 * GIB));
    for (index, fill) in [0.55 + 0.44 * trouble, 0.61, 0.38].into_iter().enumerate() {
        rows.push(broker(index, fill));
    }
    rows.sort_by(|a, b| a.path.cmp(&b.path));
    frame.cgroups = rows;
}

pub(super) fn many(frame: &mut Frame, count: usize) {
    let mut rows = vec![root(frame), plain("/kubepods.slice", 90 * GIB)];
    rows.extend((0..count).map(|index| broker(index, (index % 90) as f64 / 100.0)));
    rows.sort_by(|a, b| a.path.cmp(&b.path));
    frame.cgroups = rows;
}

pub(super) fn tiny(frame: &mut Frame) {
    frame.cgroups = vec![
        root(frame),
        plain("/system.slice", GIB / 3),
        plain("/system.slice/nginx.service", GIB / 20),
        plain("/user.slice", GIB / 2),
    ];
}

fn root(frame: &Frame) -> Cgroup {
    Cgroup {
        path: "/".into(),
        version: 2,
        memory: Some(CgroupMemory {
            effective_limit_bytes: frame.memory.total_bytes,
            limit_bytes: Known::None,
            ..CgroupMemory::default()
        }),
        processes: 0.into(),
        ..Cgroup::default()
    }
}

fn plain(path: &str, current: u64) -> Cgroup {
    let limit = 256 * GIB;
    Cgroup {
        path: path.into(),
        version: 2,
        memory: Some(CgroupMemory { limit_bytes: Known::None, ..memory(current, limit, 0.8, Some(120_000.0)) }),
        cpu: CgroupCpu {
            usage_cores: Some(1.4),
            quota_cores: Known::None,
            throttled_ratio: Some(0.0),
            periods: Some(0),
            period_seconds: Some(0.1),
            ..CgroupCpu::default()
        },
        pressure: CgroupPressure { cpu: Some(stall(0.01)), memory: Some(stall(0.0)), io: Some(stall(0.03)) },
        processes: 14.into(),
        ..Cgroup::default()
    }
}

fn broker(index: usize, fill: f64) -> Cgroup {
    let uid = format!("8a1c{index:04x}");
    let limit = 4 * GIB;
    let growth = if fill > 0.95 { 0.0 } else { 2.0e6 };
    let mut memory = memory((limit as f64 * fill) as u64, limit, 0.35, Some(growth));
    memory.limited_by = format!("/kubepods.slice/pod{uid}").into();
    memory.events.max = if fill > 0.95 { 8_812 } else { 0 }.into();
    memory.events_max_per_second = Some(if fill > 0.95 { 41.0 } else { 0.0 });
    memory.pgscan_direct_per_second = Some(if fill > 0.95 { 3_700.0 } else { 0.0 });
    memory.refault_file_per_second = Some(if fill > 0.95 { 612.0 } else { 0.0 });
    Cgroup {
        path: format!("/kubepods.slice/pod{uid}/cri-containerd-{index:012x}.scope").into(),
        version: 2,
        container: Some(Container {
            namespace: "mq".into(),
            pod_name: format!("broker-{index}").into(),
            pod_uid: uid.into(),
            container_name: "rabbitmq".into(),
            id: format!("{index:012x}").into(),
            runtime: "containerd".into(),
            name_source: "environment".into(),
            cpu_request_cores: Some(2.0),
            memory_request_bytes: Some(2 << 30),
        }),
        memory: Some(memory),
        cpu: CgroupCpu {
            usage_cores: Some(if index == 0 { 3.1 } else { 2.4 }),
            quota_cores: 4.0.into(),
            throttled_ratio: Some(0.0),
            periods: Some(10),
            period_seconds: Some(0.1),
            ..CgroupCpu::default()
        },
        pressure: CgroupPressure {
            cpu: Some(stall(0.22)),
            memory: Some(stall(if fill > 0.95 { 0.06 } else { 0.0 })),
            io: Some(stall(0.02)),
        },
        processes: 3.into(),
        cpuset_cpus: Some(Arc::new((0..64).collect())),
        cpuset_mems: Some(Arc::new((0..4).collect())),
        ..Cgroup::default()
    }
}

fn memory(current: u64, limit: u64, anon: f64, growth: Option<f64>) -> CgroupMemory {
    let anon = (current as f64 * anon) as u64;
    let file = current - anon;
    let (shmem, dirty) = (file / 12, file / 20);
    let left = limit.saturating_sub(current) as f64;
    CgroupMemory {
        current_bytes: current.into(),
        working_set_bytes: (current - file / 3).into(),
        limit_bytes: limit.into(),
        high_bytes: Known::None,
        effective_limit_bytes: limit.into(),
        anon_bytes: anon.into(),
        file_bytes: file.into(),
        shmem_bytes: shmem.into(),
        dirty_bytes: dirty.into(),
        writeback_bytes: (dirty / 10).into(),
        inactive_file_bytes: (file / 3).into(),
        unevictable_bytes: 0.into(),
        reclaimable_bytes: (file - shmem - dirty).into(),
        unreclaimable_bytes: (current - (file - shmem - dirty)).into(),
        growth_bytes_per_second: growth,
        time_to_limit_seconds: match growth {
            Some(growth) if growth > 0.0 => Known::Value(left / growth),
            Some(_) => Known::None,
            None => Known::Missing,
        },
        events: CgroupEvents { high: 0.into(), max: 0.into(), oom: 0.into(), oom_kill: 0.into() },
        oom_kills_gained: Some(0),
        events_max_per_second: Some(0.0),
        pgscan_direct_per_second: Some(0.0),
        pgsteal_direct_per_second: Some(0.0),
        refault_file_per_second: Some(0.0),
        pgmajfault_per_second: Some(1.0),
        by_node: vec![
            NodeBytes { node: 0, file_bytes: Some(file * 7 / 8), anon_bytes: Some(anon * 7 / 8) },
            NodeBytes { node: 1, file_bytes: Some(file / 8), anon_bytes: Some(anon / 8) },
        ],
        ..CgroupMemory::default()
    }
}

fn stall(some: f64) -> PressureStall {
    PressureStall {
        some_ratio: Some(some),
        full_ratio: Some(some / 2.0),
        some_avg10_percent: (some * 100.0).into(),
        full_avg10_percent: (some * 50.0).into(),
    }
}
