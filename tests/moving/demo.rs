//! The server of `topotop demo`: a load test of a broker and a database that stops getting faster, then gets its queues.

use super::devices::{Disk, Nic};
use super::machine::{Machine, Packets, Ticks};
use super::work::{Group, Process, Thread};
use crate::common::pty::TOPOTOP;
use std::process::Command;

/// The recording that is part of the program.
const RECORDING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/demo/server.rec");
/// The CPU that takes the packets of the only queue.
const HOT: u32 = 17;
const BEAM: &str = "/usr/lib/erlang/erts-13.1.5/bin/beam.smp -W w -MBas ageffcbf -S 4 -sbt db -- -root /usr/lib/erlang";
const BROKERS: [(&str, u32); 3] = [
    ("/kubepods.slice/kubepods-burstable.slice/broker-0.scope", 4100),
    ("/kubepods.slice/kubepods-burstable.slice/broker-1.scope", 4200),
    ("/kubepods.slice/kubepods-burstable.slice/broker-2.scope", 4300),
];

/// How hard it works, as a share of what one queue lets through; the queues it has; what its brokers wait for their CPUs.
struct Load {
    share: f64,
    queues: u32,
    wait: f64,
}

fn server(load: &Load) -> Machine {
    let ticks = |ticks: f64| (ticks * load.share).round() as u64;
    let machine = Machine::new(2, 16).every_cpu(Ticks { user: ticks(9.0), system: ticks(4.0), ..Ticks::default() });
    // Four schedulers of each broker, all on the first four CPUs.
    let pinned = Ticks { user: ticks(62.0).min(86), system: ticks(8.0).min(12), ..Ticks::default() };
    let machine = (0..4).fold(machine, |machine, cpu| machine.cpu(cpu, pinned));
    let packets = (94_000.0 * load.share) as u64;
    let (cpus, machine) = if load.queues == 1 {
        let softirq = ticks(95.0);
        let busy = Ticks { user: 1, system: ticks(3.0), softirq, ..Ticks::default() };
        let packets = Packets { processed: packets, squeezed: ticks(312.0).saturating_sub(100), ..Packets::default() };
        (vec![HOT], machine.cpu(HOT, busy).packets(HOT, packets))
    } else {
        let cpus: Vec<u32> = (16..16 + load.queues).collect();
        let each = packets / u64::from(load.queues);
        let busy = Ticks { user: ticks(9.0), system: ticks(4.0), softirq: ticks(12.0), ..Ticks::default() };
        let machine = cpus.iter().fold(machine, |machine, cpu| {
            machine.cpu(*cpu, busy).packets(*cpu, Packets { processed: each, ..Packets::default() })
        });
        (cpus, machine)
    };
    let nic = Nic {
        driver: "mlx5_core",
        node: 1,
        channels: [(0, 0), (0, 0), (load.queues, 8)],
        bytes: (packets * 620, packets * 540),
        ..Nic::new(&cpus, packets / u64::from(load.queues))
    };
    let disk = Disk {
        writes: (ticks(900.0), ticks(900.0) * 16_384, 0.3),
        flushes: (ticks(40.0), 0.6),
        busy_ms: ticks(180.0),
        ..Disk::NVME
    };
    let machine = machine.nic(&nic).disk(&disk).pressure("cpu", 0.02 * load.share, 0.0);
    named(workloads(machine, load)).with(|machine| machine.running = 9)
}

fn workloads(machine: Machine, load: &Load) -> Machine {
    let busy = (0.7 * load.share).min(0.97) / BROKERS.len() as f64;
    let machine = BROKERS.into_iter().fold(machine, |machine, (group, pid)| {
        let scheduler = |(cpu, affinity)| Thread {
            comm: "1_scheduler",
            cpu,
            run: busy,
            wait: load.wait,
            affinity: Some(affinity),
            state: 'R',
        };
        let mut threads = vec![Thread { comm: "beam.smp", ..Thread::FREE }];
        threads.extend((0..).zip(["0", "1", "2", "3"]).map(scheduler));
        let cores = (busy * 4e6) as u64;
        let limits = Group::memory(group, 4096, 1400, 2600)
            .file("cpu.max", "400000 100000\n")
            .file(
                "cpu.stat",
                &format!("usage_usec {{9000~{cores}}}\nnr_periods {{50+10}}\nnr_throttled 0\nthrottled_usec 0\n"),
            )
            .file("cgroup.procs", &format!("{pid}\n"));
        machine.group(&limits).process(&Process {
            cmdline: BEAM,
            group,
            threads,
            rss_mib: 1400,
            ..Process::new(pid, "beam.smp")
        })
    });
    // The database runs on node 0, and most of its memory is on node 1.
    let worker =
        |cpu| Thread { comm: "postgres", cpu, run: 0.08 * load.share, wait: 0.001, affinity: Some("4-15"), state: 'S' };
    let pages = |gib: u64| (gib << 30) / 4096;
    let maps = format!(
        "7f0000000000 default anon={} dirty={} N0={} N1={} kernelpagesize_kB=4\n",
        pages(12),
        pages(12),
        pages(2),
        pages(10)
    );
    machine.process(&Process {
        cmdline: "/usr/lib/postgresql/15/bin/postgres -D /var/lib/postgresql/15/main",
        threads: (4..16).map(worker).collect(),
        rss_mib: 12 << 10,
        writes: (12e6 * load.share) as u64,
        numa_maps: maps,
        ..Process::new(2210, "postgres")
    })
}

fn named(machine: Machine) -> Machine {
    let file = |machine: Machine, (path, text): (&str, &str)| machine.file(path, text);
    [
        ("proc/sys/kernel/hostname", "mq-3\n"),
        ("proc/sys/kernel/osrelease", "6.6.0-demo\n"),
        ("proc/cpuinfo", "processor\t: 0\nmodel name\t: Demo CPU\n\n"),
    ]
    .into_iter()
    .fold(machine, file)
}

/// Writes the tree: a light load, the load test, the same after `ethtool -L eth0 combined 8`.
fn write(dir: &std::path::Path) {
    let phases = vec![
        (server(&Load { share: 0.3, queues: 1, wait: 0.002 }), 30),
        (server(&Load { share: 1.0, queues: 1, wait: 0.02 }), 90),
        (server(&Load { share: 1.4, queues: 8, wait: 0.6 }), 90),
    ];
    super::phases::write(phases, dir);
}

#[test]
#[ignore = "`make demo` runs it to write the recording of the demo"]
fn writes_the_recording_of_the_demo() {
    let dir = tempfile::tempdir().expect("a directory");
    write(dir.path());
    let _ = std::fs::remove_file(RECORDING);
    let mut command = Command::new(TOPOTOP);
    command.args(["record", "--no-hwloc", "-o", RECORDING, "--root"]).arg(dir.path()).env_clear();
    assert!(command.status().expect("it runs").success());
}
