//! Machines on which nothing is wrong, however busy they are.

use super::devices::{Disk, Nic};
use super::machine::{Machine, Packets, Ticks};
use super::work::{Group, Process, Thread};
use super::{Case, hold};

const NOTHING: (&str, &str) = ("/bottleneck/verdict", "not_saturated");
const VERDICT_IDLE: (&str, &str) = ("/bottleneck/verdict", "idle");
const FULL_CPUS: &[(&str, &str)] = &[("/bottleneck/verdict", "limited"), ("/bottleneck/resource", "cpus")];
const NEXT: &[(&str, &str)] = &[("/bottleneck/headline", "next")];
/// The whole answer: nothing comes next where all CPUs are full.
const ALL_FULL: &[(&str, &str)] = &[
    ("/bottleneck/verdict", "limited"),
    ("/bottleneck/resource", "cpus"),
    ("/bottleneck/headline", "limited by the machine's CPUs at 100%, tasks wait 50% of their time"),
    ("/bottleneck/next", "null"),
];

const CASES: &[Case] = &[
    Case { name: "idle", machine: Machine::calm, seconds: 120, silent: &[""], says: &[VERDICT_IDLE], ..Case::QUIET },
    Case { name: "even load on all CPUs", machine: even, says: ALL_FULL, lacks: NEXT, ..Case::QUIET },
    Case { name: "a compilation by as many jobs as CPUs", machine: compilation, says: FULL_CPUS, ..Case::QUIET },
    Case {
        name: "page cache at a limit that nobody feels",
        machine: full_of_cache,
        silent: &["MEM-01"],
        ..Case::QUIET
    },
    Case {
        name: "one thread that computes beside a disk at work",
        machine: one_thread,
        silent: &["IO"],
        ..Case::QUIET
    },
    Case {
        name: "100k IOPS on a fast drive",
        machine: || fast_drive(0.15),
        silent: &["IO-01", "IO-02", "IO-05"],
        says: &[NOTHING],
        ..Case::QUIET
    },
    Case {
        name: "100k IOPS on a fast drive, 32 at a time",
        machine: || fast_drive(0.32),
        silent: &["IO-01", "IO-02", "IO-05"],
        says: &[NOTHING],
        ..Case::QUIET
    },
    Case {
        name: "an even card with 16 queues",
        machine: even_card,
        silent: &["IRQ", "NIC"],
        says: &[NOTHING],
        ..Case::QUIET
    },
    Case {
        name: "8 nodes evenly used",
        machine: eight_nodes,
        silent: &["NUMA", "CPU"],
        says: &[NOTHING],
        ..Case::QUIET
    },
];

#[test]
fn nothing_is_wrong() {
    hold(CASES);
}

/// Sixteen workers on eight CPUs.
pub(super) fn even() -> Machine {
    let machine = Machine::small().every_cpu(Ticks { user: 94, system: 6, ..Ticks::default() });
    let machine = machine.pressure("cpu", 0.9, 0.0).with(|machine| machine.running = 16);
    (0..16).fold(machine, |machine, number| {
        let thread = Thread { comm: "stress", cpu: number % 8, run: 0.5, wait: 0.5, affinity: None, state: 'R' };
        machine.process(&Process { threads: vec![thread], ..Process::new(500 + number, "stress") })
    })
}

/// Eight compilers that wait for their CPU now and then, and read and write little.
fn compilation() -> Machine {
    let machine = Machine::small().every_cpu(Ticks { user: 88, system: 10, iowait: 1, ..Ticks::default() });
    let machine = machine.pressure("cpu", 0.4, 0.0).with(|machine| machine.running = 10);
    let machine = (0..10).fold(machine, |machine, number| {
        let thread = Thread { comm: "cc1", cpu: number % 8, run: 0.78, wait: 0.2, affinity: None, state: 'R' };
        machine.process(&Process { threads: vec![thread], ..Process::new(500 + number, "cc1") })
    });
    machine.disk(&Disk { writes: (80, 80 * 32_768, 0.4), flushes: (2, 1.0), busy_ms: 40, ..Disk::SATA })
}

/// A healthy drive, deep in parallel: at 0.15 ms a read fifteen of them at a time.
fn fast_drive(read_ms: f64) -> Machine {
    let machine = Machine::calm().every_cpu(Ticks { user: 8, system: 22, softirq: 4, iowait: 10, ..Ticks::default() });
    let machine = machine.pressure("io", 0.12, 0.02).with(|machine| machine.blocked = 1);
    let disk = Disk { reads: (100_000, 100_000 * 4096, read_ms), busy_ms: 1000, ..Disk::NVME };
    let worker = |cpu| Thread { comm: "fio", cpu, run: 0.3, wait: 0.01, affinity: None, state: 'D' };
    let fio = Process { threads: (0..8).map(worker).collect(), reads: 100_000 * 4096, ..Process::new(600, "fio") };
    machine.disk(&disk).process(&fio)
}

/// Two queues for each of eight CPUs, each with the same load.
fn even_card() -> Machine {
    let machine = Machine::calm().every_cpu(Ticks { user: 10, system: 10, softirq: 55, ..Ticks::default() });
    let worker = |cpu| Thread { comm: "nginx", cpu, run: 0.15, wait: 0.01, affinity: None, state: 'S' };
    let nginx = Process { threads: (0..8).map(worker).collect(), ..Process::new(500, "nginx") };
    let machine =
        (0..8).fold(machine, |machine, cpu| machine.packets(cpu, Packets { processed: 120_000, ..Packets::default() }));
    let cpus: Vec<u32> = (0..16).map(|queue| queue % 8).collect();
    machine.process(&nginx).nic(&Nic::new(&cpus, 60_000)).file("proc/900/comm", "irqbalance\n")
}

/// An instance on each of eight nodes, bound to its CPUs and its memory.
fn eight_nodes() -> Machine {
    const CPUS: [&str; 8] = ["0-3", "4-7", "8-11", "12-15", "16-19", "20-23", "24-27", "28-31"];
    const NODES: [&str; 8] = ["0", "1", "2", "3", "4", "5", "6", "7"];
    let machine = Machine::new(8, 4).every_cpu(Ticks { user: 60, system: 5, ..Ticks::default() });
    (0..8u32).zip(CPUS).zip(NODES).fold(machine, |machine, ((node, cpus), mems)| {
        let worker = |cpu| Thread { comm: "java", cpu, run: 0.6, wait: 0.01, affinity: Some(cpus), state: 'R' };
        let pages = (2u64 << 30) / 4096;
        let java = Process {
            threads: (node * 4..node * 4 + 4).map(worker).collect(),
            rss_mib: 2 << 10,
            mems: Some(mems),
            numa_maps: format!(
                "7f0000000000 bind:{node} anon={pages} dirty={pages} N{node}={pages} kernelpagesize_kB=4\n"
            ),
            ..Process::new(700 + 100 * node, "java")
        };
        machine.process(&java)
    })
}

/// A group that wrote files until its limit was reached, and reclaims clean pages without waiting.
fn full_of_cache() -> Machine {
    let group = Group::memory("/app.slice/log.service", 4096, 1000, 3090);
    let group = group.file("memory.events", "low 0\nhigh 0\nmax {100~50}\noom 0\noom_kill 0\n");
    Machine::small().group(&group).vmstat("pgsteal_kswapd", "{1000~500}")
}

fn one_thread() -> Machine {
    let burner = Thread { comm: "burner", cpu: 3, run: 0.99, wait: 0.001, affinity: None, state: 'R' };
    Machine::small()
        .cpu(3, Ticks { user: 99, system: 1, ..Ticks::default() })
        .process(&Process { threads: vec![burner], ..Process::new(500, "burner") })
        .disk(&Disk { writes: (200, 200 * 65_536, 1.5), flushes: (4, 2.0), busy_ms: 300, ..Disk::SATA })
}
