//! Disks that are full, and ones that only look so.

use super::devices::Disk;
use super::machine::{Machine, Ticks};
use super::work::{Group, Process, Thread};
use super::{Case, hold};

const CASES: &[Case] = &[
    Case {
        name: "a disk whose requests wait",
        machine: || busy(&Disk { writes: (120, 120 * 8192, 60.0), busy_ms: 1000, ..SLOW }),
        finds: &[("IO-01", "warning", "sdb is")],
        others: true,
        ..Case::QUIET
    },
    Case {
        name: "a bulk writer that starves the database of another group",
        machine: starving,
        finds: &[("IO-02", "critical", "which starve ")],
        others: true,
        says: &[
            ("/bottleneck/verdict", "limited"),
            ("/bottleneck/resource", "disk"),
            ("/findings/0/rule", "IO-02"),
            ("/findings/0/title", "postgres"),
            ("/findings/0/fixes", "Limit /bulk.slice to "),
        ],
        ..Case::QUIET
    },
    Case {
        name: "a fast drive with megabytes in flight",
        machine: || busy(&Disk { writes: (3_000, 3_000 << 20, 5.0), busy_ms: 1000, ..Disk::NVME }),
        others: true,
        says: &[("/bottleneck/verdict", "limited"), ("/bottleneck/resource", "disk")],
        ..Case::QUIET
    },
    Case {
        name: "a drive with a deep queue and a low latency",
        machine: || busy(&Disk { writes: (40_000, 40_000 * 4096, 0.4), busy_ms: 1000, ..Disk::NVME }),
        silent: &["IO-01", "IO-02", "IO-05"],
        ..Case::QUIET
    },
    Case {
        name: "a steady load that an SSD serves at once",
        machine: || busy(&Disk { reads: (5_000, 5_000 * 4096, 0.6), busy_ms: 990, ..Disk::SATA }),
        seconds: 60,
        silent: &["IO-01", "IO-05"],
        ..Case::QUIET
    },
    Case {
        name: "commits to a write-through cache",
        machine: || {
            let disk = Disk { writes: (2_000, 2_000 * 8192, 0.4), busy_ms: 800, ..Disk::NVME };
            busy(&Disk { cache: "write through", ..disk })
        },
        finds: &[("IO-04", "warning", "one at a time, to a write-through cache")],
        ..Case::QUIET
    },
    Case {
        name: "commits one after the other, each waiting for a slow flush",
        machine: || busy(&Disk { writes: (140, 140 * 9_600, 0.5), flushes: (140, 6.0), busy_ms: 900, ..Disk::SATA }),
        others: true,
        says: &[("/bottleneck/verdict", "limited"), ("/bottleneck/resource", "disk")],
        ..Case::QUIET
    },
    Case {
        name: "commits that flush",
        machine: || busy(&Disk { writes: (120, 120 * 9_600, 6.0), flushes: (80, 5.0), busy_ms: 800, ..Disk::SATA }),
        finds: &[("IO-04", "warning", "flushes/s for")],
        others: true,
        ..Case::QUIET
    },
];

const SLOW: Disk = Disk { name: "sdb", major_minor: (8, 16), rotational: true, ..Disk::SATA };

#[test]
fn latency_decides_and_not_utilisation() {
    hold(CASES);
}

/// fio has 256 requests on their way; each commit of the database waits behind them, and hardly any gets through.
fn starving() -> Machine {
    let machine = Machine::calm().every_cpu(Ticks { user: 5, system: 3, iowait: 20, ..Ticks::default() });
    let writes = |rate: u64, bytes: u64| {
        format!("8:16 rbytes=0 wbytes={{0~{}}} rios=0 wios={{0~{rate}}} dbytes=0 dios=0\n", rate * bytes)
    };
    let group = |path, io: &str| Group { path, files: Vec::new() }.file("io.stat", io);
    let worker = |comm, state| vec![Thread { comm, cpu: 1, run: 0.05, wait: 0.001, affinity: None, state }];
    let process = |pid, comm, group| Process { group, threads: worker(comm, 'D'), ..Process::new(pid, comm) };
    machine
        .disk(&Disk { writes: (4_000, 4_000 * 65_536, 60.0), busy_ms: 1000, ..SLOW })
        .group(&group("/bulk.slice", &writes(4_000, 65_536)))
        .group(&group("/db.slice", &writes(2, 8_192)))
        .process(&process(600, "fio", "/bulk.slice"))
        .process(&process(610, "postgres", "/db.slice"))
        .pressure("io", 0.9, 0.7)
        .with(|machine| machine.blocked = 2)
}

/// A disk and a database that waits for it.
fn busy(disk: &Disk) -> Machine {
    let machine = Machine::calm().every_cpu(Ticks { user: 5, system: 3, iowait: 4, ..Ticks::default() });
    let machine = machine.pressure("io", 0.3, 0.2).with(|machine| machine.blocked = 1);
    let worker = Thread { comm: "postgres", cpu: 1, run: 0.2, wait: 0.01, affinity: None, state: 'D' };
    let postgres =
        Process { threads: vec![worker], writes: disk.writes.1, reads: disk.reads.1, ..Process::new(600, "postgres") };
    machine.disk(disk).process(&postgres)
}
