//! Processes and threads of the made-up machines.

use super::{GIB, noise};
use crate::frame::{AffinityGroup, Beam, Frame, MemorySource, Process, ProcessMemory, Thread};
use crate::{IdSet, Known};
use std::sync::Arc;

/// Three brokers whose schedulers are all pinned to the first four CPUs, a database across nodes, and the usual rest.
pub(super) fn server(frame: &mut Frame, _second: u64) {
    let all: Arc<IdSet> = Arc::new((0..64).collect());
    let mut rows = Vec::new();
    for (index, pid) in [4121, 4383, 4590].into_iter().enumerate() {
        rows.push(beam(pid, index, &all));
        frame.threads.extend(schedulers(pid));
    }
    let mut postgres = process(7741, "postgres", 2.2, &all);
    postgres.cpu_by_node = vec![(0, 1.9), (1, 0.3)];
    postgres.threads = 24.into();
    postgres.memory = Some(memory(&[(0, 14 * GIB), (1, 27 * GIB)], MemorySource::Sampled, 0.018, 0.61));
    postgres.rss_bytes = (41 * GIB).into();
    postgres.cgroup = "/system.slice/postgresql.service".into();
    rows.push(postgres);
    rows.push(Process { kernel: true, rss_bytes: Known::None, ..process(98, "ksoftirqd/17", 0.96, &single(17)) });
    frame.threads.push(thread(98, 98, "ksoftirqd/17", 0.96, 17, true));
    rows.extend((0..24).map(|index| background(index, &all)));
    rows.sort_by_key(|process| process.pid);
    frame.threads.sort_by_key(|thread| (thread.pid, thread.tid));
    frame.processes = rows;
}

pub(super) fn many(frame: &mut Frame, count: u32) {
    let all: Arc<IdSet> = Arc::new(frame.topology.cpus_online.clone());
    frame.processes = (0..count).map(|index| background(index, &all)).collect();
}

pub(super) fn tiny(frame: &mut Frame) {
    let all: Arc<IdSet> = Arc::new((0..2).collect());
    let mut nginx = process(812, "nginx", 0.11, &all);
    nginx.memory = Some(memory(&[(0, 40 << 20)], MemorySource::NumaMaps, 0.0, 0.0));
    nginx.rss_bytes = (46 << 20).into();
    frame.processes = vec![process(1, "systemd", 0.0, &all), nginx, process(1044, "sshd", 0.0, &all)];
}

fn process(pid: u32, comm: &str, cores: f64, affinity: &Arc<IdSet>) -> Process {
    Process {
        pid,
        starttime: u64::from(pid) * 31,
        comm: comm.into(),
        cmdline: format!("/usr/bin/{comm}").into(),
        cgroup: "/system.slice".into(),
        state: if cores > 0.5 { 'R' } else { 'S' },
        uid: 0.into(),
        user: if comm == "postgres" { "postgres" } else { "root" }.into(),
        cpu_seconds: Some(cores * f64::from(pid)),
        threads: 1.into(),
        cpu_cores: Some(cores),
        cpu_by_node: vec![(0, cores)],
        wait_share: Some(0.01),
        last_cpu: affinity.first().unwrap_or_default().into(),
        affinity: Some(Arc::clone(affinity)),
        thread_affinities: vec![AffinityGroup { cpus: Arc::clone(affinity), count: 1 }],
        policy: "default".into(),
        rss_bytes: (88 << 20).into(),
        read_bytes_per_second: Some(0.0),
        write_bytes_per_second: Some(1_200.0),
        majflt_per_second: Some(0.0),
        ..Process::default()
    }
}

fn beam(pid: u32, index: usize, all: &Arc<IdSet>) -> Process {
    let pins: Vec<AffinityGroup> = (0..4).map(|cpu| AffinityGroup { cpus: single(cpu), count: 1 }).collect();
    let mut thread_affinities = vec![AffinityGroup { cpus: Arc::clone(all), count: 38 }];
    thread_affinities.extend(pins);
    Process {
        user: "rabbitmq".into(),
        cgroup: format!("/kubepods.slice/pod8a1c{index:04x}/cri-containerd-{index:012x}.scope").into(),
        threads: 42.into(),
        wait_share: Some(0.27),
        thread_affinities,
        rss_bytes: (12 * GIB + GIB / 8).into(),
        memory: Some(memory(&[(0, 12 * GIB), (1, GIB / 5)], MemorySource::Cgroup, 0.0, 0.016)),
        write_bytes_per_second: Some(2.4e6),
        beam: Some(Beam {
            bind_type_configured: Known::Value("db".into()),
            bound_now: true.into(),
            schedulers: 4.into(),
            schedulers_online: 4.into(),
            schedulers_active: Some(4),
            pinned: (0..4).map(|cpu| (cpu, 1)).collect(),
        }),
        ..process(pid, "beam.smp", 3.9 - index as f64 * 0.8, all)
    }
}

fn schedulers(pid: u32) -> impl Iterator<Item = Thread> {
    (0..4).map(move |index| {
        let name = format!("{}_scheduler", index + 1);
        thread(pid + 1 + index, pid, &name, 0.31, index, false)
    })
}

fn thread(tid: u32, pid: u32, comm: &str, cores: f64, cpu: u32, fixed: bool) -> Thread {
    Thread {
        has_schedstat: true,
        tid,
        pid,
        comm: comm.into(),
        cpu_cores: Some(cores),
        wait_share: Some(0.3),
        demand_cores: Some((cores / 0.7).min(1.0)),
        last_cpu: cpu.into(),
        affinity: Some(single(cpu)),
        fixed,
        policy: 0.into(),
        state: 'S',
        ..Thread::default()
    }
}

/// Something that hardly runs; every third one may not be looked into.
fn background(index: u32, all: &Arc<IdSet>) -> Process {
    const NAMES: [&str; 8] =
        ["kubelet", "containerd", "sshd", "node_exporter", "systemd-journal", "cron", "chronyd", "rsyslogd"];
    let at = index as usize % NAMES.len();
    let mut row = process(1_000 + index * 7, NAMES.get(at).copied().unwrap_or("x"), 0.0, all);
    row.cpu_cores = Some(0.08 * noise(u64::from(index), 3));
    if index.is_multiple_of(3) {
        (row.affinity, row.thread_affinities) = (None, Vec::new());
    } else {
        row.memory = Some(memory(&[(0, 60 << 20), (1, 20 << 20)], MemorySource::Sampled, 0.03, 0.25));
    }
    row
}

fn memory(by_node: &[(u32, u64)], source: MemorySource, error: f64, remote: f64) -> ProcessMemory {
    ProcessMemory {
        by_node: by_node.to_vec(),
        file_by_node: Vec::new(),
        source,
        error,
        age_seconds: 2.0,
        remote_ratio: Some(remote),
    }
}

fn single(cpu: u32) -> Arc<IdSet> {
    Arc::new(IdSet::from_ids([cpu]))
}
