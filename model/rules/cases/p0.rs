//! The rules that report what the five field reports are about.

use super::*;

pub(super) const CASES: &[Case] = &[
    Case {
        rule: "CPU-01",
        severity: Severity::Warning,
        says: "CPU 2 is 99% busy and tasks wait for it; the other CPUs average 10%",
        sick: |frame, _| {
            frame.cpus[2].shares = Some(shares(0.99, 0.0));
            frame.threads = vec![thread(100, 101, 2)];
            frame.threads[0].affinity = Some(set("0-7"));
        },
    },
    Case {
        rule: "CPU-03",
        severity: Severity::Critical,
        says: "2 threads pinned to CPU 2 demand 2 cores; headroom on CPU(s) 0-1,3-7",
        sick: |frame, _| {
            frame.cpus[2].shares = Some(shares(0.99, 0.0));
            frame.threads = vec![thread(100, 101, 2), thread(100, 102, 2)];
        },
    },
    Case {
        rule: "CPU-11",
        severity: Severity::Warning,
        says: "the clock source is hpet, which is slow to read; the kernel takes 60% of the CPU time",
        sick: |frame, _| {
            (frame.host.clock_source, frame.host.clock_sources) = ("hpet".into(), "tsc hpet acpi_pm".into());
            for cpu in &mut frame.cpus {
                cpu.shares = Some(CpuShares { system: 0.3, ..shares(0.5, 0.0) });
            }
        },
    },
    Case {
        rule: "CPU-05",
        severity: Severity::Critical,
        says: "/mq is throttled in 90% of its periods by its 2-core quota",
        sick: |frame, _| frame.cgroups[0].cpu.throttled_ratio = Some(0.9),
    },
    Case {
        rule: "BEAM-01",
        severity: Severity::Critical,
        says: "2 Erlang instances bind schedulers to the same CPU(s) 0; headroom on CPU(s) 1-7",
        sick: |frame, _| {
            beams(frame, [0, 0]);
            frame.cpus[0].shares = Some(shares(0.99, 0.0));
        },
    },
    Case {
        rule: "BEAM-03",
        severity: Severity::Warning,
        says: "beam.smp (200): scheduler count 8 does not match its 2-core quota",
        sick: |frame, _| {
            beams(frame, [0, 1]);
            frame.cgroups[0].cpu.throttled_ratio = Some(0.2);
            frame.processes.truncate(1);
            let beam = frame.processes[0].beam.as_mut().expect("a beam");
            (beam.schedulers, beam.schedulers_online) = (Known::Value(8), Known::Value(8));
        },
    },
    Case {
        rule: "IRQ-01",
        severity: Severity::Critical,
        says: "CPU 1 is 95% softirq; the other CPUs average 0%",
        sick: |frame, _| hot(frame, 1),
    },
    Case {
        rule: "IRQ-02",
        severity: Severity::Critical,
        says: "irqbalance is not running; CPU 1 serves 4 queues of eth0",
        sick: |frame, _| {
            hot(frame, 1);
            frame.irqbalance.as_mut().expect("looked for").state = "absent".into();
            frame.nics[0].queues.iter_mut().for_each(|queue| queue.cpus = Some(set("1")));
        },
    },
    Case {
        rule: "IRQ-03",
        severity: Severity::Critical,
        says: "4 busy queues of eth0 interrupt CPU 1, which is 95% softirq",
        sick: |frame, _| {
            hot(frame, 1);
            frame.nics[0].queues.iter_mut().for_each(|queue| queue.cpus = Some(set("1")));
        },
    },
    Case {
        rule: "NIC-01",
        severity: Severity::Critical,
        says: "eth0 uses 1 of 4 combined channels; CPU 1 is 95% softirq",
        sick: |frame, _| {
            hot(frame, 1);
            frame.nics[0].channels.combined.current = Known::Value(1);
            frame.nics[0].queues.truncate(1);
            frame.nics[0].queues[0].cpus = Some(set("1"));
        },
    },
    Case {
        rule: "NIC-02",
        severity: Severity::Critical,
        says: "CPU 1 drops 1000 packets/s: its backlog is full",
        sick: |frame, _| frame.softnet[0].dropped_per_second = Some(1000.0),
    },
    Case {
        rule: "NIC-08",
        severity: Severity::Critical,
        says: "UDP sockets drop 19618 datagrams/s (22%): their receive buffers are full",
        sick: |frame, _| {
            frame.net_namespaces = vec![NetNamespace {
                udp_in_per_second: Some(70_000.0),
                udp_rcvbuf_errors_per_second: Some(19_618.0),
                ..NetNamespace::default()
            }];
        },
    },
    Case {
        rule: "NIC-03",
        severity: Severity::Info,
        says: "CPU 1 exhausts its packet budget 50 times/s",
        sick: |frame, _| frame.softnet[0].time_squeeze_per_second = Some(50.0),
    },
    Case {
        rule: "NIC-05",
        severity: Severity::Critical,
        says: "eth0 has 1 queue and no RPS; CPU 1 is 95% softirq",
        sick: |frame, _| {
            hot(frame, 1);
            frame.nics[0].channels.combined = Channel { current: Known::Value(1), max: Known::Value(1) };
            frame.nics[0].queues.truncate(1);
            frame.nics[0].queues[0].cpus = Some(set("1"));
        },
    },
    Case {
        rule: "NIC-07",
        severity: Severity::Warning,
        says: "eth0 uses 95% of its 10.0 Gbit/s",
        sick: |frame, _| frame.nics[0].utilisation = Some(0.95),
    },
    Case {
        rule: "NUMA-01",
        severity: Severity::Critical,
        says: "java (100): an estimated 100% of memory accesses are remote; CPU: n0 3.00 cores; memory: n1 2.0 GiB",
        sick: |frame, _| frame.processes[0].memory = Some(at_node(&[(1, 2 * GIB)], 1.0)),
    },
    Case {
        rule: "NUMA-02",
        severity: Severity::Warning,
        says: "java (100) is spread over nodes; CPU: n0 1.50 cores, n1 1.50 cores; memory: n0 1.0 GiB, n1 1.0 GiB; 2 nodes with CPUs: run 2 instances",
        sick: |frame, _| {
            frame.processes[0].cpu_by_node = vec![(0, 1.5), (1, 1.5)];
            frame.processes[0].memory = Some(at_node(&[(0, GIB), (1, GIB)], 0.5));
        },
    },
    Case {
        rule: "NUMA-04",
        severity: Severity::Warning,
        says: "node 1 has 128.0 MiB of 64.0 GiB free; 5000 pages/s fall back to other nodes; node 0 is 50% free",
        sick: |frame, _| {
            frame.nodes[1].memory_free_bytes = Known::Value(GIB / 8);
            frame.nodes[1].numa_foreign_per_second = Some(5000.0);
        },
    },
    Case {
        rule: "NUMA-06",
        severity: Severity::Warning,
        says: "java (100) is bound to CPUs of node(s) 0 but memory of node(s) 1",
        sick: |frame, _| {
            frame.processes[0].affinity = Some(set("0-3"));
            frame.processes[0].policy = "bind:1".into();
        },
    },
    Case {
        rule: "NUMA-07",
        severity: Severity::Info,
        says: "vm.zone_reclaim_mode is 1: full nodes reclaim before they use other nodes",
        sick: |frame, _| frame.sysctls[0].1 = "1".into(),
    },
    Case {
        rule: "MEM-01",
        severity: Severity::Critical,
        says: "/mq: 98% of its 4.0 GiB limit is unreclaimable",
        sick: |frame, _| memory(frame).unreclaimable_bytes = Known::Value(4 * GIB * 98 / 100),
    },
    Case {
        rule: "MEM-02",
        severity: Severity::Warning,
        says: "/mq is at 99% of 4.0 GiB, 80% page cache: memory pressure 20%, 3000 refaults/s",
        sick: |frame, _| {
            frame.cgroups[0].pressure.memory =
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
        says: "/mq grows by 64.0 MiB/s and reaches its 4.0 GiB limit in 32 s",
        sick: |frame, second| memory(frame).unreclaimable_bytes = Known::Value(GIB / 2 + second * (GIB / 16)),
    },
    Case {
        rule: "MEM-04",
        severity: Severity::Critical,
        says: "/mq: OOM killer killed 1 process",
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
        says: "sdb is 99% busy; request latency 60 ms",
        sick: |frame, _| slow(frame),
    },
    Case {
        rule: "IO-02",
        severity: Severity::Critical,
        says: "sdb is shared by /es 40%, /rabbit 60%; request latency 60 ms",
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
        says: "1.6 cores idle in iowait",
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
        says: "sdb: 83 flushes/s for 126 writes/s of 9.6 KiB",
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
        says: "cannot read /proc/*/io; processes: java (100); requires CAP_SYS_PTRACE or root",
        sick: |frame, _| {
            let (path, needs) = ("proc/*/io".into(), "CAP_SYS_PTRACE or root".into());
            frame.gaps = vec![Gap { path, reason: Reason::PermissionDenied, count: 9, needs }];
        },
    },
];

pub(super) fn memory(frame: &mut Frame) -> &mut CgroupMemory {
    frame.cgroups[0].memory.as_mut().expect("a memory controller")
}

pub(super) fn slow(frame: &mut Frame) {
    let disk = &mut frame.disks[0];
    (disk.utilisation, disk.queue_depth) = (Some(0.99), Some(8.0));
    (disk.await_ms, disk.write_await_ms) = (Known::Value(60.0), Known::Value(60.0));
}
