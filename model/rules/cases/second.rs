//! Interrupts, interfaces, memory and disks.

use super::p0::{memory, slow};
use super::*;

pub(super) const CASES: &[Case] = &[
    Case {
        rule: "IRQ-04",
        severity: Severity::Warning,
        says: "eth0 is on node 1, but CPUs of other nodes receive 100% of its packets",
        sick: |frame, _| remote(frame),
    },
    Case {
        rule: "IRQ-05",
        severity: Severity::Warning,
        says: "CPU 6 is reserved by isolcpus and takes 120 device interrupts/s",
        sick: |frame, _| {
            isolate(frame, 6);
            frame.irqs = vec![interrupt(44, 6, 120.0)];
        },
    },
    Case {
        rule: "NIC-04",
        severity: Severity::Warning,
        says: "eth0: queue 2 of 4 gets 94% of the packets and its CPU 2 is 90% busy; the indirection table is even: there are few flows, and one flow cannot be split",
        sick: |frame, _| skewed(frame),
    },
    Case {
        rule: "NIC-06",
        severity: Severity::Warning,
        says: "eth0 loses 40 packets/s in its receive ring (size 256, maximum 4096)",
        sick: |frame, _| {
            let nic = &mut frame.nics[0];
            (nic.rx.drops_per_second, nic.rx_missed_per_second) = (Some(41.0), Some(40.0));
            nic.rx_ring = Channel { current: Known::Value(256), max: Known::Value(4096) };
        },
    },
    Case {
        rule: "MEM-05",
        severity: Severity::Warning,
        says: "memory is low: 8% of 128.0 GiB available; memory pressure 20%",
        sick: |frame, _| {
            frame.memory.available_bytes = Known::Value(128 * GIB * 8 / 100);
            frame.pressure.push(waiting("memory", 0.2));
        },
    },
    Case {
        rule: "MEM-06",
        severity: Severity::Warning,
        says: "dirty memory is 950.0 MiB, 93% of the 1.0 GiB limit at which the kernel throttles writers; blocked: mysqld (100), java (101)",
        sick: |frame, _| {
            dirty(frame);
            let blocked = |pid, comm| Process { state: 'D', ..process(pid, comm) };
            frame.processes = vec![blocked(100, "mysqld"), blocked(101, "java")];
        },
    },
    Case {
        rule: "MEM-08",
        severity: Severity::Warning,
        says: "the machine swaps 800 pages/s in and 900 pages/s out; swap grows in /mq 3.0 MiB/s",
        sick: |frame, _| {
            swapping(frame, 800.0, 900.0);
            memory(frame).swap_growth_bytes_per_second = Some(3.0 * f64::from(1 << 20));
        },
    },
    Case {
        rule: "MEM-09",
        severity: Severity::Warning,
        says: "/mq: 900 major faults/s, 60% of reclaimed pages are read again",
        sick: |frame, _| thrashing(frame, 900.0, Some(3000.0), Some(5000.0)),
    },
    Case {
        rule: "MEM-11",
        severity: Severity::Info,
        says: "/mq is at 99% of 4.0 GiB: page cache fills it (3.0 GiB reclaimable), harmless so far",
        sick: |frame, _| {
            at_limit(frame);
            memory(frame).unreclaimable_bytes = Known::Value(GIB * 96 / 100);
        },
    },
    Case {
        rule: "IO-05",
        severity: Severity::Warning,
        says: "vdb has stayed at 3003 requests/s for 30 s (±0.1%) while requests queue: probably a rate limit",
        sick: |frame, second| {
            frame.disks[0].name = "vdb".into();
            capped(frame, 3000.0 + (second % 3) as f64 * 3.0);
        },
    },
    Case {
        rule: "IO-06",
        severity: Severity::Warning,
        says: "/var/lib/mq (sdb) is 93% full, 7.0 GiB free",
        sick: |frame, _| frame.disks[0].mounts = vec![mount("/var/lib/mq", "ext4", 100 * GIB, 7 * GIB)],
    },
    Case {
        rule: "IO-07",
        severity: Severity::Info,
        says: "beam.smp (100) spends 92% of its time waiting for round trips to 10.0.0.9:5672: 40 requests/s, 23.00 ms each; the machine is idle",
        sick: |frame, _| chained(frame),
    },
    Case {
        rule: "IO-08",
        severity: Severity::Critical,
        says: "/mq is at its I/O limit of 390.6 KiB/s (writes) on sdb, which is 2% busy: tasks of the cgroup wait 100% of \
               the time",
        sick: |frame, _| throttled(frame),
    },
];

pub(super) const QUIET: &[Quiet] = &[
    Quiet {
        rule: "IRQ-04",
        what: "a virtual card does not tell its node",
        reported: false,
        well: |frame, _| {
            remote(frame);
            frame.nics[0].node = Known::None;
        },
    },
    Quiet {
        rule: "IRQ-04",
        what: "its consumer is bound to the other node",
        reported: true,
        well: |frame, _| {
            remote(frame);
            frame.processes[0].affinity = Some(set("0-3"));
        },
    },
    Quiet {
        rule: "IRQ-04",
        what: "the other node is a half of the same package",
        reported: true,
        well: |frame, _| {
            remote(frame);
            for node in &mut Arc::make_mut(&mut frame.topology).nodes {
                node.distances
                    .iter_mut()
                    .filter(|(_, distance)| *distance > 10)
                    .for_each(|(_, distance)| *distance = 12);
            }
        },
    },
    Quiet {
        rule: "IRQ-04",
        what: "little traffic",
        reported: false,
        well: |frame, _| {
            remote(frame);
            frame.nics[0].rx.packets_per_second = Some(9_000.0);
        },
    },
    Quiet {
        rule: "IRQ-05",
        what: "interrupts go elsewhere",
        reported: false,
        well: |frame, _| {
            isolate(frame, 6);
            frame.irqs = vec![interrupt(44, 1, 9_000.0), interrupt(45, 6, 0.4)];
        },
    },
    Quiet {
        rule: "IRQ-05",
        what: "managed interrupts are for work of that CPU",
        reported: false,
        well: |frame, _| {
            isolate(frame, 6);
            frame.irqs = vec![Irq { managed: Known::Value(true), ..interrupt(44, 6, 900.0) }];
        },
    },
    Quiet {
        rule: "IRQ-05",
        what: "queues of NVMe drives are managed, whether debugfs says so or not",
        reported: false,
        well: |frame, _| {
            isolate(frame, 6);
            frame.irqs = vec![
                Irq { managed: Known::Missing, name: "nvme0q9".into(), ..interrupt(44, 6, 900.0) },
                Irq { managed: Known::Missing, name: "vfio-msix[0](0000:5e:00.0)".into(), ..interrupt(45, 6, 900.0) },
            ];
        },
    },
    Quiet {
        rule: "IRQ-05",
        what: "an exclusive partition is not an isolated one",
        reported: true,
        well: |frame, _| {
            frame.cgroups[0].cpuset_partition = "root".into();
            frame.cgroups[0].cpuset_cpus = Some(set("4-5"));
            frame.irqs = vec![interrupt(44, 4, 900.0)];
        },
    },
    Quiet {
        rule: "NIC-04",
        what: "one flow, and its CPU has time",
        reported: false,
        well: |frame, _| {
            skewed(frame);
            frame.cpus[2].shares = Some(shares(0.4, 0.3));
        },
    },
    Quiet {
        rule: "NIC-06",
        what: "frames of protocols that nobody listens for",
        reported: false,
        well: |frame, _| {
            let nic = &mut frame.nics[0];
            (nic.rx.packets_per_second, nic.rx.drops_per_second) = (Some(40.0), Some(2.0));
        },
    },
    Quiet {
        rule: "NIC-06",
        what: "an idle card with one queue",
        reported: false,
        well: |frame, _| {
            let nic = &mut frame.nics[0];
            nic.queues.truncate(1);
            nic.channels.combined = Channel { current: Known::Value(1), max: Known::Value(1) };
            (nic.rx.packets_per_second, nic.rx.drops_per_second) = (Some(0.0), Some(0.0));
        },
    },
    Quiet {
        rule: "MEM-05",
        what: "most of the memory set aside as huge pages for guests",
        reported: false,
        well: |frame, _| {
            frame.memory.huge_pages_bytes = Known::Value(112 * GIB);
            frame.memory.available_bytes = Known::Value(8 * GIB);
        },
    },
    Quiet {
        rule: "MEM-05",
        what: "little free and much available, without swap",
        reported: false,
        well: |frame, _| {
            frame.memory.free_bytes = Known::Value(GIB / 2);
            frame.memory.swap_total_bytes = Known::Value(0);
        },
    },
    Quiet {
        rule: "MEM-05",
        what: "a group waits at its own limit",
        reported: false,
        well: |frame, _| frame.pressure.push(waiting("memory", 0.4)),
    },
    Quiet {
        rule: "MEM-05",
        what: "little available, and nobody waits",
        reported: true,
        well: |frame, _| frame.memory.available_bytes = Known::Value(128 * GIB * 9 / 100),
    },
    Quiet {
        rule: "MEM-06",
        what: "one writer that appends as fast as its disk",
        reported: true,
        well: |frame, _| {
            dirty(frame);
            frame.processes = vec![Process { state: 'D', ..process(100, "dd") }];
        },
    },
    Quiet {
        rule: "MEM-06",
        what: "a backup of ten seconds",
        reported: false,
        well: |frame, second| {
            if second % 60 < 6 {
                dirty(frame);
            }
        },
    },
    Quiet {
        rule: "MEM-07",
        what: "reclaim that keeps up",
        reported: false,
        well: |frame, second| {
            cache_reclaim(frame, 1, 1, 100);
            grow_cache(frame, second, 50 << 20);
        },
    },
    Quiet {
        rule: "MEM-02",
        what: "somebody appends at the limit and nobody reads",
        reported: false,
        well: |frame, _| {
            at_limit(frame);
            let memory = memory(frame);
            (memory.pgscan_direct_per_second, memory.pgsteal_direct_per_second) = (Some(26_000.0), Some(25_600.0));
            memory.events_max_per_second = Some(800.0);
        },
    },
    Quiet {
        rule: "MEM-08",
        what: "pages only go out, and nobody waits",
        reported: true,
        well: |frame, _| swapping(frame, 0.0, 400.0),
    },
    Quiet { rule: "MEM-08", what: "a few pages", reported: false, well: |frame, _| swapping(frame, 12.0, 20.0) },
    Quiet {
        rule: "MEM-09",
        what: "programs start",
        reported: false,
        well: |frame, _| thrashing(frame, 2000.0, Some(0.0), Some(0.0)),
    },
    Quiet {
        rule: "MEM-09",
        what: "a scan reads everything once",
        reported: false,
        well: |frame, _| thrashing(frame, 300.0, Some(20.0), Some(25_000.0)),
    },
    Quiet {
        rule: "IO-05",
        what: "one writer that waits for each write",
        reported: false,
        well: |frame, _| {
            capped(frame, 120.0);
            frame.disks[0].queue_depth = Some(1.0);
        },
    },
    Quiet {
        rule: "IO-05",
        what: "a busy disk with a rate that moves",
        reported: false,
        well: |frame, second| {
            capped(frame, 3000.0 + (second * 7 % 5) as f64 * 200.0);
            frame.disks[0].await_ms = Known::Value(0.2);
            frame.disks[0].write_await_ms = Known::Value(0.2);
            frame.disks[0].queue_depth = Some(2.5);
        },
    },
    Quiet {
        rule: "IO-06",
        what: "images and what the boot loader needs",
        reported: true,
        well: |frame, _| {
            frame.disks[0].mounts =
                vec![mount("/snap/core", "squashfs", GIB, 0), mount("/boot", "ext4", GIB, GIB / 16)];
        },
    },
    Quiet {
        rule: "IO-06",
        what: "a quota that leaves little of a large disk, and much of that is free",
        reported: false,
        well: |frame, _| {
            let quota = Mount { used_bytes: Known::Value(60 * GIB), ..mount("/", "ext4", 250 * GIB, 25 * GIB) };
            frame.disks[0].mounts = vec![quota];
        },
    },
    Quiet {
        rule: "IO-06",
        what: "a large disk with plenty left",
        reported: true,
        well: |frame, _| frame.disks[0].mounts = vec![mount("/data", "xfs", 8000 * GIB, 500 * GIB)],
    },
    Quiet {
        rule: "IO-06",
        what: "somebody appends for two minutes",
        reported: false,
        well: |frame, second| {
            frame.disks[0].mounts = vec![mount("/data", "xfs", 500 * GIB, 200 * GIB - second / 10 * GIB)];
        },
    },
    Quiet {
        rule: "IO-07",
        what: "a busy machine has another limit",
        reported: false,
        well: |frame, _| {
            chained(frame);
            frame.cpus[5].shares = Some(shares(0.8, 0.0));
        },
    },
    Quiet {
        rule: "IO-07",
        what: "bulk",
        reported: false,
        well: |frame, _| {
            chained(frame);
            frame.processes[0].peers[0].bytes_per_segment = Some(1400.0);
        },
    },
    Quiet {
        rule: "IO-08",
        what: "a limit that leaves room",
        reported: false,
        well: |frame, _| {
            throttled(frame);
            frame.cgroups[0].io[0].write_bytes_per_second = 300_000.0;
        },
    },
    Quiet {
        rule: "IO-08",
        what: "a limit that nobody waits for",
        reported: true,
        well: |frame, _| {
            throttled(frame);
            (frame.processes[0].state, frame.processes[0].blocked_threads) = ('S', 0);
        },
    },
    Quiet {
        rule: "IO-08",
        what: "a bulk writer whose limit leaves the disk to a database",
        reported: true,
        well: |frame, _| {
            throttled(frame);
            frame.disks[0].utilisation = Some(0.75);
            frame.disks[0].writers = vec![written_by("/db", 0.8), written_by("/mq", 0.2)];
        },
    },
    Quiet {
        rule: "IO-08",
        what: "a disk that is full by what the limit lets through",
        reported: true,
        well: |frame, _| {
            throttled(frame);
            frame.disks[0].utilisation = Some(0.95);
            frame.disks[0].writers = vec![written_by("/mq", 1.0)];
        },
    },
    Quiet {
        rule: "IO-08",
        what: "of version 1, who waits is in another group of the blkio controller",
        reported: true,
        well: |frame, _| {
            throttled(frame);
            frame.processes[0].io_cgroup = "/other".into();
        },
    },
];

pub(super) const HIDDEN: &[Hidden] = &[
    Hidden {
        rule: "IRQ-04",
        says: "NUMA node of the device",
        hide: |frame, _| {
            remote(frame);
            frame.nics[0].node = Known::Missing;
        },
    },
    Hidden {
        rule: "IRQ-04",
        says: "IRQ affinity of its queues",
        hide: |frame, _| {
            remote(frame);
            frame.nics[0].queues.iter_mut().for_each(|queue| queue.node = Known::Missing);
        },
    },
    Hidden {
        rule: "IRQ-05",
        says: "cannot read the list of isolated CPUs",
        hide: |frame, _| frame.sections.cpu_topology = State::Missing,
    },
    Hidden {
        rule: "NIC-04",
        says: "no per-queue packet counters",
        hide: |frame, _| frame.nics[0].queues.iter_mut().for_each(|queue| queue.packets_per_second = None),
    },
    Hidden { rule: "NIC-06", says: "drop counters", hide: |frame, _| frame.nics[0].rx.drops_per_second = None },
    Hidden {
        rule: "MEM-05",
        says: "cannot read available memory",
        hide: |frame, _| frame.memory.available_bytes = Known::Missing,
    },
    Hidden {
        rule: "MEM-06",
        says: "cannot read the limit of dirty memory",
        hide: |frame, _| frame.memory.dirty_threshold_bytes = Known::Missing,
    },
    Hidden { rule: "MEM-08", says: "swap activity", hide: |frame, _| frame.memory.pswpin_per_second = None },
    Hidden {
        rule: "MEM-09",
        says: "cannot tell whether reclaimed pages are read again",
        hide: |frame, _| thrashing(frame, 900.0, None, None),
    },
    Hidden {
        rule: "IO-06",
        says: "cannot read the usage of /var/lib/mq",
        hide: |frame, _| frame.disks[0].mounts = vec![Mount { path: "/var/lib/mq".into(), ..Mount::default() }],
    },
    Hidden { rule: "IO-06", says: "cannot read mounts", hide: |frame, _| frame.sections.mounts = State::Missing },
    Hidden {
        rule: "IO-08",
        says: "cannot read the I/O limits",
        hide: |frame, _| {
            let (path, needs) = ("/sys/fs/cgroup/mq/io.max".into(), "root".into());
            frame.gaps = vec![Gap { path, reason: Reason::PermissionDenied, count: 1, needs }];
        },
    },
];

/// A card of node 1 whose interrupts go to node 0.
fn remote(frame: &mut Frame) {
    let nic = &mut frame.nics[0];
    nic.node = Known::Value(1);
    nic.queues.iter_mut().for_each(|queue| queue.node = Known::Value(0));
}

fn isolate(frame: &mut Frame, cpu: u32) {
    let topology = Arc::make_mut(&mut frame.topology);
    topology.cpus[cpu as usize].isolated = true;
    frame.cpus[cpu as usize].isolated = true;
}

fn interrupt(irq: u32, cpu: u32, rate: f64) -> Irq {
    let name: Arc<str> = format!("nvme{irq}").into();
    Irq { irq, name, per_cpu_per_second: vec![(cpu, rate)], ..Irq::default() }
}

/// The limit of a group holds its writes back while the disk is idle.
fn throttled(frame: &mut Frame) {
    let limits = IoLimits { write_bytes: Known::Value(400_000), ..IoLimits::default() };
    (frame.disks[0].dev, frame.disks[0].utilisation) = (8 << 20 | 16, Some(0.02));
    frame.cgroups[0].io = vec![CgroupIoRate {
        dev: 8 << 20 | 16,
        write_bytes_per_second: 400_000.0,
        writes_per_second: 48.0,
        limits,
        ..CgroupIoRate::default()
    }];
    (frame.processes[0].state, frame.processes[0].blocked_threads) = ('D', 1);
    frame.processes[0].cpu_cores = Some(0.1);
    frame.processes[0].cpu_by_node = vec![(0, 0.1)];
}

fn written_by(path: &str, share: f64) -> Writer {
    Writer { who: WriterId::Cgroup(path.into()), bytes_share: Some(share), ops_share: Some(share), ..Writer::default() }
}

/// One flow takes one queue, whose CPU it fills.
fn skewed(frame: &mut Frame) {
    frame.cpus[2].shares = Some(shares(0.9, 0.5));
    let nic = &mut frame.nics[0];
    nic.rss_indirection = (0..4).map(|queue| (queue, 32)).collect();
    nic.queues.iter_mut().for_each(|queue| queue.packets_per_second = Some(1000.0));
    nic.queues[2].packets_per_second = Some(47_000.0);
}

fn waiting(resource: &str, ratio: f64) -> Pressure {
    let stall = PressureStall { some_ratio: Some(ratio), ..PressureStall::default() };
    Pressure { resource: resource.into(), stall }
}

fn dirty(frame: &mut Frame) {
    frame.memory.dirty_bytes = Known::Value(800 << 20);
    frame.memory.writeback_bytes = Known::Value(150 << 20);
    frame.pressure[0].stall.some_ratio = Some(0.4);
}

fn swapping(frame: &mut Frame, pages_in: f64, pages_out: f64) {
    frame.memory.swap_total_bytes = Known::Value(8 * GIB);
    (frame.memory.pswpin_per_second, frame.memory.pswpout_per_second) = (Some(pages_in), Some(pages_out));
}

fn thrashing(frame: &mut Frame, faults: f64, refaults: Option<f64>, stolen: Option<f64>) {
    let memory = memory(frame);
    memory.pgmajfault_per_second = Some(faults);
    (memory.refault_file_per_second, memory.pgsteal_per_second) = (refaults, stolen);
}

fn capped(frame: &mut Frame, requests: f64) {
    let disk = &mut frame.disks[0];
    (disk.utilisation, disk.queue_depth, disk.await_ms) = (Some(0.98), Some(3.0), Known::Value(4.0));
    (disk.reads_per_second, disk.writes_per_second) = (Some(0.0), Some(requests));
    (disk.read_bytes_per_second, disk.write_bytes_per_second) = (Some(0.0), Some(requests * 5000.0));
}

fn mount(path: &str, fs: &str, total: u64, free: u64) -> Mount {
    Mount {
        path: path.into(),
        fs: fs.into(),
        total_bytes: Known::Value(total),
        free_bytes: Known::Value(free),
        used_bytes: Known::Value(total - free),
        inodes_total: Known::Value(1_000_000),
        inodes_free: Known::Value(900_000),
    }
}

/// A broker's connection on which every message waits for the answer to the one before.
fn chained(frame: &mut Frame) {
    let peer = Peer {
        address: "10.0.0.9".into(),
        port: 5672,
        connections: 1,
        rtt_us: Known::Value(23_000),
        data_segs_out_per_second: Some(40.0),
        data_segs_in_per_second: Some(41.0),
        bytes_per_segment: Some(90.0),
        ..Peer::default()
    };
    frame.processes = vec![Process { peers: vec![peer], ..process(100, "beam.smp") }];
}

/// A publisher whose transactions go one by one: each waits 3 ms for the commit of a broker.
fn transacted(frame: &mut Frame) {
    let peer = |inbound, address: &str| Peer {
        address: address.into(),
        port: 5672,
        inbound,
        connections: 1,
        rtt_us: Known::Value(90),
        data_segs_out_per_second: Some(300.0),
        data_segs_in_per_second: Some(301.0),
        bytes_per_segment: Some(900.0),
        ..Peer::default()
    };
    let shares =
        [(WaitClass::Thread, 0.5, ""), (WaitClass::Peer, 0.46, "127.0.0.1:5672"), (WaitClass::Running, 0.04, "")];
    let shares = shares.map(|(class, share, what)| WaitShare { class, share, what: what.into() }).to_vec();
    let off_cpu = Some(OffCpu { samples: 100, threads: 2, seconds: 10.0, shares });
    frame.processes = vec![
        Process { peers: vec![peer(false, "127.0.0.1")], off_cpu, ..process(100, "java") },
        Process { peers: vec![peer(true, "127.0.0.1")], ..process(200, "beam.smp") },
    ];
    let disk = &mut frame.disks[0];
    (disk.utilisation, disk.flushes_per_second, disk.flush_share) = (Some(0.9), Some(310.0), Some(0.87));
    disk.writers = vec![Writer { who: WriterId::Process(200), bytes_share: Some(1.0), ..Writer::default() }];
    frame.pressure[0].stall.some_ratio = Some(0.5);
}

#[test]
fn a_publisher_that_waits_for_each_commit_is_joined_with_the_flushes() {
    let found = |change: fn(&mut Frame)| {
        let judgement = judged(|frame, _| {
            transacted(frame);
            change(frame);
        });
        find(&judgement.findings, "IO-07").cloned()
    };
    let finding = found(|_| ()).expect("IO-07");
    assert_eq!(
        (finding.severity, finding.title().as_str()),
        (
            Severity::Warning,
            "java (100) sends 300 requests/s to 127.0.0.1:5672, one at a time: each response takes 3.1 ms; beam.smp (200) flushes sdb 310 times/s"
        )
    );
    assert_eq!(finding.number(crate::locale::evidence::FLUSH_TIME).map(|ms| (ms * 10.0).round()), Some(28.0));
    let quick = found(|frame| frame.disks[0].utilisation = Some(0.2)).expect("IO-07");
    assert_eq!(quick.severity, Severity::Info, "the flush is a small part of each answer");
    let elsewhere = found(|frame| frame.processes.truncate(1)).expect("IO-07");
    assert_eq!(elsewhere.severity, Severity::Info);
    assert!(
        elsewhere.title().contains("each response takes 3.1 ms, of which the round trip is a small part"),
        "{}",
        elsewhere.title()
    );
    assert!(
        found(|frame| frame.cpus.iter_mut().for_each(|cpu| cpu.shares = Some(shares(0.9, 0.0)))).is_none(),
        "CPUs are full"
    );
    let stream = found(|frame| frame.processes[0].peers[0].data_segs_out_per_second = Some(9000.0));
    assert!(stream.is_none(), "several messages are on their way");
}

fn cache_reclaim(frame: &mut Frame, enable: u64, period: u64, weight: u64) {
    let values = [("enable", enable), ("s", period), ("weight", weight)];
    frame
        .sysctls
        .extend(values.map(|(name, value)| (format!("vm.cache_reclaim_{name}").into(), value.to_string().into())));
}

fn grow_cache(frame: &mut Frame, second: u64, rate: u64) {
    frame.memory.cached_bytes = Known::Value(20 * GIB + second * rate);
    frame.memory.cached_growth_bytes_per_second = Some(rate as f64);
}

/// A group that is full, mostly of page cache.
fn at_limit(frame: &mut Frame) {
    let memory = memory(frame);
    memory.current_bytes = Known::Value(4 * GIB * 99 / 100);
    memory.reclaimable_bytes = Known::Value(3 * GIB);
}

/// A broker whose group reclaims for two seconds of every twelve; two seconds later traffic dips.
fn jitter(frame: &mut Frame, second: u64) {
    at_limit(frame);
    let (burst, dip) = (second % 12 < 2, (second + 10) % 12 < 2);
    memory(frame).pgscan_direct_per_second = Some(if burst { 40_000.0 } else { 10.0 });
    memory(frame).pgsteal_direct_per_second = Some(if burst { 9_000.0 } else { 10.0 });
    let traffic = if dip { 20e6 } else { 400e6 + (second * 37 % 11) as f64 * 1e6 };
    (frame.nics[0].rx.bytes_per_second, frame.nics[0].tx.bytes_per_second) = (Some(traffic), Some(traffic));
    frame.processes[0].jvm = Some(Jvm {
        gc_time_ratio: Some(0.004),
        gc_per_second: Some(0.5),
        heap_capacity_bytes: Known::Value(4 * GIB),
        ..Jvm::default()
    });
    frame.processes[0].rss_anon_bytes = Known::Value(7 * GIB);
    frame.processes[0].rss_file_bytes = Known::Value(20 * GIB);
}

#[test]
fn bursts_of_reclaim_have_a_period_and_dips() {
    let judgement = judged_for(90, jitter);
    let finding = find(&judgement.findings, "MEM-02").expect("bursts that hurt");
    assert_eq!(finding.number(crate::locale::evidence::PERIOD), Some(12.0));
    assert!(finding.title().ends_with("reclaim every 12 s"), "{}", finding.title());
    let dips = finding.text(crate::locale::evidence::DIPS);
    assert!(dips.starts_with("network traffic dips 2 s after each burst"), "{dips}");
    assert_eq!(
        finding.text(crate::locale::evidence::NOT_THE_CAUSE),
        "ruled out: CPU (0.5 of a 2.0-core quota, throttled in 0% of periods), garbage collection (0.4% of the time, 0.5/s)"
    );
    assert!(
        finding.text(crate::locale::evidence::JAVA).contains("heap 4.0 GiB; other anonymous memory at least 3.0 GiB"),
        "{}",
        finding.text(crate::locale::evidence::JAVA)
    );
    let gone = judged_for(300, |frame, second| {
        if second < 90 {
            jitter(frame, second);
        }
    });
    assert!(find(&gone.findings, "MEM-02").is_none(), "it goes when it is over");
}

#[test]
fn periodic_reclaim_is_sized_by_the_growth_of_the_machines_cache() {
    let judgement = judged(|frame, second| {
        cache_reclaim(frame, 1, 0, 1);
        grow_cache(frame, second, 100_000_000);
        let topology = Arc::make_mut(&mut frame.topology);
        topology.cpus_online = (*set("0-63")).clone();
        frame.memory.swap_total_bytes = Known::Value(GIB);
    });
    let finding = find(&judgement.findings, "MEM-07").expect("off");
    let command = "sysctl -w vm.cache_reclaim_s=1 vm.cache_reclaim_weight=18 vm.cache_reclaim_enable=1";
    assert_eq!(finding.text(crate::locale::evidence::COMMAND), command);
    assert!(
        finding.number(crate::locale::evidence::REACH_THEN) >= finding.number(crate::locale::evidence::NEEDED),
        "{:?}",
        finding.evidence
    );
    assert!(finding.number(crate::locale::evidence::NEEDED).is_some_and(|needed| (needed - 150e6).abs() < 1e6));
    assert_eq!(finding.severity, Severity::Info, "nothing hurts");
    assert!(finding.title().contains(command) && !finding.text(crate::locale::evidence::SWAP).is_empty());
}

#[test]
fn periodic_reclaim_is_sized_by_what_groups_reclaim_at_their_limits_too() {
    let judgement = judged(|frame, _| {
        cache_reclaim(frame, 1, 0, 1);
        // 350 MB/s come and go in a group at its limit, while the cache of the machine stays as large as it is.
        at_limit(frame);
        memory(frame).pgsteal_per_second = Some(90_000.0);
        memory(frame).refault_file_per_second = Some(20_000.0);
    });
    let finding = find(&judgement.findings, "MEM-07").expect("off");
    let needed = finding.number(crate::locale::evidence::NEEDED).expect("a rate");
    assert!((needed - 1.5 * 90_000.0 * 4096.0).abs() < 1e6, "{needed}");
}

#[test]
fn reclaim_that_is_off_is_grouped_below_the_stalled_group() {
    let judgement = judged_for(60, |frame, second| {
        jitter(frame, second % 2);
        cache_reclaim(frame, 1, 0, 1);
        grow_cache(frame, second, 1_000_000);
    });
    let open: Vec<_> = judgement.findings.iter().map(|finding| (finding.rule.id.as_str(), finding.severity)).collect();
    assert_eq!(open, [("MEM-02", Severity::Warning)]);
    assert!(find(&judgement.findings, "MEM-07").is_some());
    assert!(judgement.findings[0].text(crate::locale::evidence::KERNEL_HAS).contains("vm.cache_reclaim_s=0"));
}

#[test]
fn a_disk_that_fills_in_bursts_opens_one_finding() {
    let (mut judge, mut open, mut opened) = (crate::judge::Judge::default(), false, 0);
    let mut free = 200.0;
    for second in 1..=1800 {
        // 40 to 50 GiB an hour, now and then some of it is deleted again.
        free -= 0.0125 + if second % 97 < 20 { -0.02 } else { 0.004 };
        let mut frame = super::healthy();
        frame.stamp = Stamp { seq: second, mono_ns: second * 1_000_000_000, ..Stamp::default() };
        frame.disks[0].mounts = vec![mount("/data", "xfs", 500 * GIB, (free * GIB as f64) as u64)];
        let now = find(&judge.step(&frame).findings, "IO-06").is_some();
        opened += u32::from(now && !open);
        open = now;
    }
    assert!(open, "it fills within 8 hours");
    assert_eq!(opened, 1);
}

#[test]
fn a_shared_disk_names_both_writers_while_cpus_hide_its_iowait() {
    let judgement = judged(|frame, _| {
        slow(frame);
        frame.cpus.iter_mut().for_each(|cpu| cpu.shares = Some(shares(0.95, 0.0)));
        frame.disks[0].mounts = vec![mount("/data", "ext4", 100 * GIB, 50 * GIB)];
        let writer = |pid, share| Writer {
            who: WriterId::Process(pid),
            bytes_share: Some(share),
            bytes_per_second: share * 4e6,
            ..Writer::default()
        };
        frame.disks[0].writers = vec![writer(100, 0.6), writer(101, 0.4)];
        let process = |pid, comm, cgroup: &str| Process { cgroup: cgroup.into(), state: 'D', ..process(pid, comm) };
        frame.processes =
            vec![process(100, "beam.smp", "/mq.slice/rabbit.service"), process(101, "java", "/es.service")];
    });
    let finding = find(&judgement.findings, "IO-02").expect("a shared disk");
    assert_eq!(
        finding.text(crate::locale::evidence::WRITERS),
        "beam.smp in rabbit.service 60%, java in es.service 40%"
    );
    assert_eq!(finding.severity, Severity::Critical, "one of them is waited for");
    assert_eq!(finding.text(crate::locale::evidence::MOUNTS), "/data on sdb");
    assert_eq!(finding.text(crate::locale::evidence::WAITING), "beam.smp (100), java (101)");
    assert!(
        finding.text(crate::locale::evidence::MASKED).contains("95% busy"),
        "{}",
        finding.text(crate::locale::evidence::MASKED)
    );
    assert!(find(&finding.children, "IO-01").is_some());
}
