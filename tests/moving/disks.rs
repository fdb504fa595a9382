//! Disks that are full, and ones that only look so.

use super::devices::Disk;
use super::machine::{Machine, Ticks};
use super::work::{Process, Thread};
use super::{Case, hold};

const CASES: &[Case] = &[
    Case {
        name: "a disk whose requests wait",
        machine: || busy(&Disk { writes: (120, 120 * 8192, 60.0), busy_ms: 1000, ..SLOW }),
        finds: &[("IO-01", "warning", "disk:sdb is")],
        others: true,
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

/// A disk and a database that waits for it.
fn busy(disk: &Disk) -> Machine {
    let machine = Machine::calm().every_cpu(Ticks { user: 5, system: 3, iowait: 4, ..Ticks::default() });
    let machine = machine.pressure("io", 0.3, 0.2).with(|machine| machine.blocked = 1);
    let worker = Thread { comm: "postgres", cpu: 1, run: 0.2, wait: 0.01, affinity: None, state: 'D' };
    let postgres =
        Process { threads: vec![worker], writes: disk.writes.1, reads: disk.reads.1, ..Process::new(600, "postgres") };
    machine.disk(disk).process(&postgres)
}
