//! Every rule: a machine on which it fires and what it says, the same machine well, and one that hides it.

use crate::frame::*;
use crate::judge::{Judge, Judgement, Standing};
use crate::rules::{self, Finding, Severity};
use crate::snapshot::VisitMut;
use crate::{Gap, IdSet, Known, Reason, Section, Snapshot, Stamp, State, Table};
use std::sync::Arc;

const SECOND: u64 = 1_000_000_000;
const GIB: u64 = 1 << 30;

fn set(list: &str) -> Arc<IdSet> {
    Arc::new(IdSet::parse_list(list).expect("a list"))
}

/// Gives every section a state.
struct All(State);

impl VisitMut for All {
    fn section<T: Table>(&mut self, _: &'static str, section: &mut Arc<Section<T>>) {
        let mut empty = Section::<T>::default();
        empty.state = self.0;
        *section = Arc::new(empty);
    }
}

fn shares(busy: f64, softirq: f64) -> CpuShares {
    CpuShares { busy, user: busy - softirq, softirq, idle: 1.0 - busy, ..CpuShares::default() }
}

/// A healthy machine: two nodes of four CPUs, one interface of four queues, one disk, one group with a limit.
fn healthy() -> Frame {
    let mut raw = Snapshot::default();
    raw.visit_mut(&mut All(State::Read));
    let cpu =
        |id| Cpu { id, node: Known::Value(id / 4), online: true, shares: Some(shares(0.1, 0.0)), ..Cpu::default() };
    let place = |id| CpuPlace { id, node: Known::Value(id / 4), online: true, ..CpuPlace::default() };
    let node = |id: u32| NodePlace {
        id,
        cpus: (*set(if id == 0 { "0-3" } else { "4-7" })).clone(),
        distances: vec![(0, if id == 0 { 10 } else { 21 }), (1, if id == 0 { 21 } else { 10 })],
        has_cpus: true,
        has_memory: true,
        ..NodePlace::default()
    };
    let memory = |id| Node {
        id,
        memory_total_bytes: Known::Value(64 * GIB),
        memory_free_bytes: Known::Value(32 * GIB),
        low_watermark_bytes: Known::Value(GIB / 8),
        numa_foreign_per_second: Some(0.0),
        ..Node::default()
    };
    let topology = Topology {
        cpus_online: (*set("0-7")).clone(),
        cpus: (0..8).map(place).collect(),
        nodes: (0..2).map(node).collect(),
        ..Topology::default()
    };
    Frame {
        interval_seconds: Some(1.0),
        topology: Arc::new(topology),
        cpus: (0..8).map(cpu).collect(),
        nodes: (0..2).map(memory).collect(),
        nics: vec![nic()],
        irqbalance: Some(Irqbalance { state: "running".into(), ..Irqbalance::default() }),
        softnet: vec![SoftnetRow { cpu: 1, processed_per_second: Some(90_000.0), ..SoftnetRow::default() }],
        cgroups: vec![group()],
        disks: vec![Disk { name: "sdb".into(), kind: "disk".into(), utilisation: Some(0.1), ..Disk::default() }],
        processes: vec![process(100, "java")],
        pressure: vec![Pressure { resource: "io".into(), ..Pressure::default() }],
        sysctls: vec![("vm.zone_reclaim_mode".into(), "0".into())],
        raw,
        ..Frame::default()
    }
}

fn nic() -> Nic {
    let queue = |queue: u32| Queue {
        queue,
        direction: "rxtx".into(),
        irq: Known::Value(40 + queue),
        cpus: Some(set(&queue.to_string())),
        packets_per_second: Some(20_000.0),
        ..Queue::default()
    };
    let four = Channel { current: Known::Value(4), max: Known::Value(4) };
    Nic {
        name: "eth0".into(),
        kind: "physical".into(),
        carrier: Known::Value(true),
        capacity_mbps: Known::Value(10_000),
        utilisation: Some(0.2),
        rx: NicRates { packets_per_second: Some(80_000.0), ..NicRates::default() },
        combined: four,
        queues: (0..4).map(queue).collect(),
        ..Nic::default()
    }
}

fn group() -> Cgroup {
    let memory = CgroupMemory {
        current_bytes: Known::Value(GIB),
        limit_bytes: Known::Value(4 * GIB),
        effective_limit_bytes: Known::Value(4 * GIB),
        limited_by: "/mq".into(),
        reclaimable_bytes: Known::Value(GIB / 2),
        unreclaimable_bytes: Known::Value(GIB / 2),
        refault_file_per_second: Some(0.0),
        ..CgroupMemory::default()
    };
    let cpu = CgroupCpu {
        quota_cores: Known::Value(2.0),
        throttled_ratio: Some(0.0),
        periods: Some(10),
        usage_cores: Some(0.5),
    };
    Cgroup { path: "/mq".into(), version: 2, memory: Some(memory), cpu, ..Cgroup::default() }
}

fn process(pid: u32, comm: &str) -> Process {
    Process {
        pid,
        starttime: 7,
        comm: comm.into(),
        cgroup: "/mq".into(),
        threads: Known::Value(8),
        cpu_cores: Some(3.0),
        cpu_by_node: vec![(0, 3.0)],
        affinity: Some(set("0-7")),
        mems_allowed: Some(set("0-1")),
        policy: "default".into(),
        rss_bytes: Known::Value(2 * GIB),
        memory: Some(at_node(&[(0, 2 * GIB)], 0.0)),
        ..Process::default()
    }
}

fn at_node(by_node: &[(u32, u64)], remote: f64) -> ProcessMemory {
    ProcessMemory { by_node: by_node.to_vec(), remote_ratio: Some(remote), error: 0.03, ..ProcessMemory::default() }
}

fn thread(pid: u32, tid: u32, cpu: u32) -> Thread {
    Thread {
        pid,
        tid,
        comm: "1_scheduler".into(),
        cpu_cores: Some(0.5),
        wait_share: Some(0.5),
        demand_cores: Some(1.0),
        last_cpu: Known::Value(cpu),
        affinity: Some(set(&cpu.to_string())),
        ..Thread::default()
    }
}

/// Two Erlang VMs on the CPUs given.
fn beams(frame: &mut Frame, cpus: [u32; 2]) {
    let beam = |cpu| Beam {
        bind_type_configured: Known::Value("db".into()),
        bound_now: Known::Value(true),
        schedulers: Known::Value(1),
        schedulers_active: Some(1),
        pinned: vec![(cpu, 1)],
    };
    let pids = [200, 201];
    frame.processes = pids
        .iter()
        .zip(cpus)
        .map(|(pid, cpu)| Process { beam: Some(beam(cpu)), ..process(*pid, "beam.smp") })
        .collect();
    frame.threads = pids.iter().zip(cpus).map(|(pid, cpu)| thread(*pid, pid + 1, cpu)).collect();
}

fn hot(frame: &mut Frame, cpu: usize) {
    frame.cpus[cpu].shares = Some(shares(0.97, 0.95));
}

/// The findings after twelve samples that each add to what the one before was.
fn judged(mut change: impl FnMut(&mut Frame, u64)) -> Judgement {
    let mut judge = Judge::default();
    let mut last = Judgement::default();
    for second in 1..=24u64 {
        let mut frame = healthy();
        frame.stamp = Stamp { seq: second, mono_ns: second * SECOND, ..Stamp::default() };
        change(&mut frame, second);
        last = judge.step(&frame);
    }
    last
}

fn find<'a>(findings: &'a [Finding], rule: &str) -> Option<&'a Finding> {
    findings
        .iter()
        .find_map(|finding| if finding.rule.id == rule { Some(finding) } else { find(&finding.children, rule) })
}

struct Case {
    rule: &'static str,
    severity: Severity,
    says: &'static str,
    sick: fn(&mut Frame, u64),
}

const CASES: &[Case] = &[
    Case {
        rule: "CPU-01",
        severity: Severity::Warning,
        says: "cpu:2 is 99 % busy while the others are 10 % busy, and work waits for it",
        sick: |frame, _| {
            frame.cpus[2].shares = Some(shares(0.99, 0.0));
            frame.threads = vec![thread(100, 101, 2)];
            frame.threads[0].affinity = Some(set("0-7"));
        },
    },
    Case {
        rule: "CPU-03",
        severity: Severity::Critical,
        says: "2 threads pinned to cpu:2 want 2 cores of it; idle: 0-1,3-7",
        sick: |frame, _| {
            frame.cpus[2].shares = Some(shares(0.99, 0.0));
            frame.threads = vec![thread(100, 101, 2), thread(100, 102, 2)];
        },
    },
    Case {
        rule: "CPU-05",
        severity: Severity::Critical,
        says: "cgroup:/mq is throttled in 90 % of its periods by a quota of 2 cores",
        sick: |frame, _| frame.cgroups[0].cpu.throttled_ratio = Some(0.9),
    },
    Case {
        rule: "BEAM-01",
        severity: Severity::Critical,
        says: "2 Erlang instances bind their schedulers to the same CPUs 0; 1-7 idle",
        sick: |frame, _| {
            beams(frame, [0, 0]);
            frame.cpus[0].shares = Some(shares(0.99, 0.0));
        },
    },
    Case {
        rule: "BEAM-03",
        severity: Severity::Warning,
        says: "beam.smp (pid:200@7) has 8 schedulers for a quota of 2 cores",
        sick: |frame, _| {
            beams(frame, [0, 1]);
            frame.cgroups[0].cpu.throttled_ratio = Some(0.2);
            frame.processes.truncate(1);
            frame.processes[0].beam.as_mut().expect("a beam").schedulers = Known::Value(8);
        },
    },
    Case {
        rule: "IRQ-01",
        severity: Severity::Critical,
        says: "cpu:1 spends 95 % in interrupts, the others 0 %",
        sick: |frame, _| hot(frame, 1),
    },
    Case {
        rule: "IRQ-02",
        severity: Severity::Critical,
        says: "irqbalance is absent, and interrupts crowd: 4 queues of eth0 on cpu 1",
        sick: |frame, _| {
            hot(frame, 1);
            frame.irqbalance.as_mut().expect("looked for").state = "absent".into();
            frame.nics[0].queues.iter_mut().for_each(|queue| queue.cpus = Some(set("1")));
        },
    },
    Case {
        rule: "IRQ-03",
        severity: Severity::Critical,
        says: "4 busy queues of nic:eth0 interrupt cpu 1, which spends 95 % on it",
        sick: |frame, _| {
            hot(frame, 1);
            frame.nics[0].queues.iter_mut().for_each(|queue| queue.cpus = Some(set("1")));
        },
    },
    Case {
        rule: "NIC-01",
        severity: Severity::Critical,
        says: "nic:eth0 runs 1 of 4 combined channels; cpu 1 spends 95 % in interrupts",
        sick: |frame, _| {
            hot(frame, 1);
            frame.nics[0].combined.current = Known::Value(1);
            frame.nics[0].queues.truncate(1);
            frame.nics[0].queues[0].cpus = Some(set("1"));
        },
    },
    Case {
        rule: "NIC-02",
        severity: Severity::Critical,
        says: "cpu:1 drops 1000 packets/s from its backlog",
        sick: |frame, _| frame.softnet[0].dropped_per_second = Some(1000.0),
    },
    Case {
        rule: "NIC-03",
        severity: Severity::Info,
        says: "cpu:1 runs out of its packet budget 50 times/s",
        sick: |frame, _| frame.softnet[0].time_squeeze_per_second = Some(50.0),
    },
    Case {
        rule: "NIC-05",
        severity: Severity::Critical,
        says: "nic:eth0 has one queue and no RPS; cpu 1 spends 95 % on it",
        sick: |frame, _| {
            hot(frame, 1);
            frame.nics[0].combined = Channel { current: Known::Value(1), max: Known::Value(1) };
            frame.nics[0].queues.truncate(1);
            frame.nics[0].queues[0].cpus = Some(set("1"));
        },
    },
    Case {
        rule: "NIC-07",
        severity: Severity::Warning,
        says: "nic:eth0 is at 95 % of its 10000 Mbit/s",
        sick: |frame, _| frame.nics[0].utilisation = Some(0.95),
    },
    Case {
        rule: "NUMA-01",
        severity: Severity::Critical,
        says: "java (pid:100@7): 100 % remote: CPU on n0 3.00 cores, memory on n1 2.0 GiB",
        sick: |frame, _| frame.processes[0].memory = Some(at_node(&[(1, 2 * GIB)], 1.0)),
    },
    Case {
        rule: "NUMA-02",
        severity: Severity::Warning,
        says: "java (pid:100@7) is spread over nodes: CPU on n0 1.50 cores, n1 1.50 cores, memory on n0 1.0 GiB, n1 1.0 GiB",
        sick: |frame, _| {
            frame.processes[0].cpu_by_node = vec![(0, 1.5), (1, 1.5)];
            frame.processes[0].memory = Some(at_node(&[(0, GIB), (1, GIB)], 0.5));
        },
    },
    Case {
        rule: "NUMA-04",
        severity: Severity::Warning,
        says: "node:1 has 128.0 MiB of 64.0 GiB free and turns away 5000 pages/s, while node 0 is 50 % free",
        sick: |frame, _| {
            frame.nodes[1].memory_free_bytes = Known::Value(GIB / 8);
            frame.nodes[1].numa_foreign_per_second = Some(5000.0);
        },
    },
    Case {
        rule: "NUMA-06",
        severity: Severity::Warning,
        says: "java (pid:100@7) may run on nodes 0 only and have memory of nodes 1 only",
        sick: |frame, _| {
            frame.processes[0].affinity = Some(set("0-3"));
            frame.processes[0].policy = "bind:1".into();
        },
    },
    Case {
        rule: "NUMA-07",
        severity: Severity::Info,
        says: "vm.zone_reclaim_mode is 1: nodes reclaim before they take memory of others",
        sick: |frame, _| frame.sysctls[0].1 = "1".into(),
    },
    Case {
        rule: "MEM-01",
        severity: Severity::Critical,
        says: "cgroup:/mq: 98 % of its 4.0 GiB cannot be reclaimed",
        sick: |frame, _| memory(frame).unreclaimable_bytes = Known::Value(4 * GIB * 98 / 100),
    },
    Case {
        rule: "MEM-02",
        severity: Severity::Warning,
        says: "cgroup:/mq is at 99 % of 4.0 GiB, 80 % of it page cache: waits 20 %, 3000 refaults/s",
        sick: |frame, _| {
            frame.cgroups[0].memory_pressure =
                Some(PressureStall { some_ratio: Some(0.2), ..PressureStall::default() });
            let current = 4 * GIB * 99 / 100;
            let memory = memory(frame);
            memory.current_bytes = Known::Value(current);
            memory.reclaimable_bytes = Known::Value(current * 8 / 10);
            memory.refault_file_per_second = Some(3000.0);
        },
    },
    Case {
        rule: "MEM-03",
        severity: Severity::Critical,
        says: "cgroup:/mq grows by 64.0 MiB/s and reaches its 4.0 GiB in 32 s",
        sick: |frame, second| memory(frame).unreclaimable_bytes = Known::Value(GIB / 2 + second * (GIB / 16)),
    },
    Case {
        rule: "MEM-04",
        severity: Severity::Critical,
        says: "cgroup:/mq: 1 process was killed for memory",
        sick: |frame, second| memory(frame).oom_kills_gained = Some(u64::from(second == 5)),
    },
    Case {
        rule: "MEM-07",
        severity: Severity::Info,
        says: "periodic page cache reclaim is off",
        sick: |frame, _| {
            let names =
                [("vm.cache_reclaim_enable", "1"), ("vm.cache_reclaim_s", "0"), ("vm.cache_reclaim_weight", "1")];
            frame.sysctls.extend(names.map(|(name, value)| (name.into(), value.into())));
        },
    },
    Case {
        rule: "IO-01",
        severity: Severity::Warning,
        says: "disk:sdb is 99 % busy, a request takes 60 ms",
        sick: |frame, _| slow(frame),
    },
    Case {
        rule: "IO-02",
        severity: Severity::Critical,
        says: "disk:sdb is shared by /es 40 %, /rabbit 60 %; a request takes 60 ms",
        sick: |frame, _| {
            slow(frame);
            let writer = |path: &str, share| Writer {
                who: WriterId::Cgroup(path.into()),
                bytes_share: Some(share),
                ..Writer::default()
            };
            frame.disks[0].writers = vec![writer("/rabbit", 0.6), writer("/es", 0.4)];
        },
    },
    Case {
        rule: "IO-03",
        severity: Severity::Info,
        says: "1.6 cores are idle for disks",
        sick: |frame, _| {
            frame
                .cpus
                .iter_mut()
                .for_each(|cpu| cpu.shares = Some(CpuShares { iowait: 0.2, idle: 0.8, ..CpuShares::default() }));
            frame.pressure[0].stall.some_ratio = Some(0.3);
        },
    },
    Case {
        rule: "IO-04",
        severity: Severity::Warning,
        says: "disk:sdb: 83 flushes/s with 126 writes/s of 9.6 KiB",
        sick: |frame, _| {
            let disk = &mut frame.disks[0];
            (disk.utilisation, disk.flushes_per_second, disk.writes_per_second) = (Some(0.8), Some(83.0), Some(126.0));
            disk.write_bytes_per_second = Some(126.0 * 9.6 * 1024.0);
            frame.pressure[0].stall.some_ratio = Some(0.5);
        },
    },
    Case {
        rule: "META-01",
        severity: Severity::Info,
        says: "not readable: proc/*/io; needs CAP_SYS_PTRACE or root",
        sick: |frame, _| {
            let (path, needs) = ("proc/*/io".into(), "CAP_SYS_PTRACE or root".into());
            frame.gaps = vec![Gap { path, reason: Reason::PermissionDenied, count: 9, needs }];
        },
    },
];

fn memory(frame: &mut Frame) -> &mut CgroupMemory {
    frame.cgroups[0].memory.as_mut().expect("a memory controller")
}

fn slow(frame: &mut Frame) {
    let disk = &mut frame.disks[0];
    (disk.utilisation, disk.queue_depth) = (Some(0.99), Some(8.0));
    (disk.await_ms, disk.write_await_ms) = (Known::Value(60.0), Known::Value(60.0));
}

#[test]
fn a_healthy_machine_has_no_findings() {
    let judgement = judged(|_, _| ());
    assert!(judgement.findings.is_empty(), "{:?}", judgement.findings.iter().map(Finding::title).collect::<Vec<_>>());
    assert!(judgement.rules.iter().all(|(_, standing)| *standing == Standing::Quiet), "{:?}", judgement.rules);
}

#[test]
fn every_rule_fires_where_it_should() {
    let mut wrong = Vec::new();
    for rule in rules::ALL {
        let Some(case) = CASES.iter().find(|case| case.rule == rule.id) else {
            wrong.push(format!("{} has no case", rule.id));
            continue;
        };
        let judgement = judged(case.sick);
        let told: Vec<_> = judgement.findings.iter().map(|finding| (finding.rule.id, finding.title())).collect();
        let found = find(&judgement.findings, rule.id).map(|finding| (finding.title(), finding.severity));
        if found != Some((case.says.to_owned(), case.severity)) || judgement.findings.len() != 1 {
            wrong.push(format!("{}: {found:?} among {told:?}", rule.id));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_hidden_is_not_checked() {
    let judgement = judged(|frame, _| frame.raw.visit_mut(&mut All(State::Missing)));
    for (rule, standing) in &judgement.rules {
        let denied = matches!(standing, Standing::NotChecked(unchecked) if !unchecked.is_empty());
        assert!(denied || rule.reads.is_empty(), "{} passes in silence", rule.id);
    }
}

#[test]
fn one_queue_is_one_finding() {
    let case = CASES.iter().find(|case| case.rule == "NIC-01").expect("a case");
    let judgement = judged(case.sick);
    let children: Vec<&str> = judgement.findings[0].children.iter().map(|child| child.rule.id).collect();
    assert_eq!((judgement.findings[0].rule.id, children), ("NIC-01", vec!["IRQ-01"]));
}
