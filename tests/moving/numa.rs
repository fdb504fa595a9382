//! Where memory is: machines with many nodes, near ones, and ones without memory.

use super::machine::{Machine, Ticks};
use super::work::{Process, Thread};
use super::{Case, hold};

const CASES: &[Case] = &[
    Case {
        name: "one process spread evenly over 8 nodes",
        machine: spread,
        finds: &[("NUMA-02", "warning", "is spread over nodes")],
        silent: &["NUMA-01"],
        ..Case::QUIET
    },
    Case {
        name: "memory on the other half of the package",
        machine: || remote(&[10, 12, 32, 32]),
        finds: &[("NUMA-01", "info", "100% of memory accesses")],
        ..Case::QUIET
    },
    Case {
        name: "memory on the other package",
        machine: || {
            let counter = "sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes";
            remote(&[10, 32, 32, 32]).file(counter, "{1000+5000000000}\n")
        },
        finds: &[("NUMA-01", "critical", "100% of memory accesses")],
        says: &[("/findings/0/evidence", "L3 0: 4.7 GiB/s")],
        ..Case::QUIET
    },
    Case { name: "CPUs of a node without memory", machine: memoryless, silent: &["NUMA-01", "NUMA-06"], ..Case::QUIET },
    Case {
        name: "reclaim on a full node, counted by the kernel's own counter",
        machine: zone_reclaim,
        finds: &[("NUMA-07", "warning", "vm.zone_reclaim_mode is 1")],
        ..Case::QUIET
    },
];

#[test]
fn distances_and_shares_decide() {
    hold(CASES);
}

/// Pages by node of one mapping.
fn maps(nodes: &[(u32, u64)]) -> String {
    let pages = nodes.iter().map(|(node, gib)| format!(" N{node}={}", (gib << 30) / 4096)).collect::<Vec<_>>().concat();
    let all: u64 = nodes.iter().map(|(_, gib)| (gib << 30) / 4096).sum();
    format!("7f0000000000 default anon={all} dirty={all}{pages} kernelpagesize_kB=4\n")
}

fn busy(cpu: u32) -> Thread {
    Thread { comm: "java", cpu, run: 0.6, wait: 0.01, affinity: None, state: 'R' }
}

fn java(cpus: impl Iterator<Item = u32>, nodes: &[(u32, u64)]) -> Process {
    let rss = nodes.iter().map(|(_, gib)| gib << 10).sum();
    Process { threads: cpus.map(busy).collect(), rss_mib: rss, numa_maps: maps(nodes), ..Process::new(700, "java") }
}

fn spread() -> Machine {
    let nodes: Vec<(u32, u64)> = (0..8).map(|node| (node, 2)).collect();
    let machine = Machine::new(8, 4).every_cpu(Ticks { user: 60, system: 5, ..Ticks::default() });
    machine.process(&java(0..32, &nodes))
}

/// A process on node 0 of four, with its memory on node 1, which is so far away.
fn remote(from_first: &[u32]) -> Machine {
    let work = Ticks { user: 60, system: 5, ..Ticks::default() };
    let machine = (0..4).fold(Machine::new(4, 4), |machine, cpu| machine.cpu(cpu, work));
    let machine = machine.with(|machine| {
        machine.nodes[0].distances = from_first.to_vec();
        machine.nodes[1].distances = vec![from_first[1], 10, 32, 32];
        machine.nodes[2].distances = vec![32, 32, 10, 12];
        machine.nodes[3].distances = vec![32, 32, 12, 10];
    });
    let bound = |thread: Thread| Thread { affinity: Some("0-3"), ..thread };
    let mut process = java(0..4, &[(1, 8)]);
    process.threads = process.threads.into_iter().map(bound).collect();
    machine.process(&process)
}

/// Node 1 has CPUs and no memory: that of node 0 is the nearest.
fn memoryless() -> Machine {
    let work = Ticks { user: 60, system: 5, ..Ticks::default() };
    let machine = (4..8).fold(Machine::new(2, 4), |machine, cpu| machine.cpu(cpu, work));
    let machine = machine.with(|machine| {
        machine.nodes[1].total_mib = 0;
        machine.nodes[1].free_mib = 0;
    });
    let bound = |thread: Thread| Thread { affinity: Some("4-7"), ..thread };
    let mut process = java(4..8, &[(0, 8)]);
    process.threads = process.threads.into_iter().map(bound).collect();
    machine.process(&process)
}

fn zone_reclaim() -> Machine {
    Machine::new(2, 4)
        .every_cpu(Ticks { user: 85, system: 5, ..Ticks::default() })
        .file("proc/sys/vm/zone_reclaim_mode", "1\n")
        .vmstat("zone_reclaim_success", "{10~400}")
        .vmstat("zone_reclaim_failed", "{10~200}")
        .with(|machine| machine.nodes[0].free_mib = 200)
}
