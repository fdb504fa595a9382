//! Control groups that their own I/O limits hold back, while the disk is idle or others need it.

use super::devices::Disk;
use super::machine::{Machine, Ticks};
use super::work::{Group, Process, Thread};
use super::{Case, hold};

const CASES: &[Case] = &[
    Case {
        name: "a database whose group of version 1 may hardly write, in no group of the memory controller",
        machine: || version_1("/pg"),
        finds: &[("IO-08", "critical", "is at its I/O limit of 390.6 KiB/s (writes) on nvme0n1")],
        others: true,
        says: &[
            ("/bottleneck/verdict", "limited"),
            ("/bottleneck/resource", "io_throttle"),
            ("/bottleneck/headline", "100% of 390.6 KiB/s, tasks wait "),
            ("/bottleneck/rule", "IO-08"),
            ("/findings/0/rule", "IO-08"),
            ("/findings/0/evidence", "blkio.throttle.write_bps_device"),
            ("/findings/0/fixes", "Raise the I/O limit of /pg on nvme0n1 from 390.6 KiB/s (writes) to "),
        ],
        ..Case::QUIET
    },
    Case {
        name: "tasks that wait outside of the group at its limit",
        machine: || version_1("/"),
        silent: &[],
        others: true,
        says: &[("/bottleneck/resource", "null")],
        ..Case::QUIET
    },
    Case {
        name: "a database at its io.max",
        machine: || version_2(&IDLE),
        finds: &[("IO-08", "critical", "is at its I/O limit of 100/s (writes) on sdb")],
        others: true,
        says: &[
            ("/bottleneck/verdict", "limited"),
            ("/bottleneck/resource", "io_throttle"),
            ("/bottleneck/rule", "IO-08"),
            ("/findings/0/rule", "IO-08"),
            ("/findings/0/evidence", "io.max"),
            ("/findings/0/fixes", "from 100 writes/s to 1000 writes/s"),
        ],
        ..Case::QUIET
    },
    Case {
        name: "a bulk writer whose io.max leaves a busy disk to a database",
        machine: || version_2(&BUSY),
        finds: &[("IO-08", "info", "a higher limit takes capacity from /shop.slice")],
        others: true,
        ..Case::QUIET
    },
];

const IDLE: Disk =
    Disk { name: "sdb", major_minor: (8, 16), writes: (100, 100 * 8192, 0.3), busy_ms: 20, ..Disk::SATA };
const BUSY: Disk = Disk { writes: (1_100, 1_100 * 8192, 0.7), busy_ms: 800, ..IDLE };

#[test]
fn a_limit_is_named_where_it_costs_something() {
    hold(CASES);
}

/// Four writers of a database that wait for the log, in a group of the blkio controller.
fn version_1(group: &str) -> Machine {
    const HELD: &str = "sys/fs/cgroup/blkio/pg";
    const RATE: &str =
        "259:0 Read 0\n259:0 Write {0~400000}\n259:0 Sync {0~400000}\n259:0 Async 0\n259:0 Total {0~400000}\n";
    let machine = Machine::small()
        .every_cpu(Ticks { user: 3, system: 2, iowait: 10, ..Ticks::default() })
        .disk(&Disk { writes: (48, 400_000, 0.3), busy_ms: 15, ..Disk::NVME })
        .with(|machine| {
            machine.pressure.clear();
            machine.blocked = 4;
            MOUNTS.clone_into(&mut machine.mounts);
        });
    let machine = (600..604).fold(machine, |machine, pid| {
        let thread = Thread { comm: "postgres", cpu: pid % 8, run: 0.02, wait: 0.001, affinity: None, state: 'D' };
        let postgres = Process { threads: vec![thread], writes: 100_000, ..Process::new(pid, "postgres") };
        machine
            .process(&postgres)
            .file(&format!("proc/{pid}/cgroup"), &format!("5:blkio:{group}\n4:memory:/\n1:name=systemd:/init\n"))
    });
    [
        ("blkio.throttle.io_service_bytes", RATE),
        ("blkio.throttle.io_serviced", "259:0 Read 0\n259:0 Write {0~48}\n259:0 Total {0~48}\n"),
        ("blkio.throttle.write_bps_device", "259:0 400000\n"),
        ("cgroup.procs", "600\n601\n602\n603\n"),
    ]
    .into_iter()
    .fold(machine, |machine, (name, text)| machine.file(&format!("{HELD}/{name}"), text))
    .file("sys/fs/cgroup/blkio/cgroup.procs", "1\n")
    .file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
    .file("sys/fs/cgroup/memory/cgroup.procs", "1\n600\n601\n602\n603\n")
}

const MOUNTS: &str = "\
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
22 21 0:20 / /sys rw,nosuid shared:2 - sysfs sysfs rw
23 22 0:26 / /sys/fs/cgroup/memory rw,nosuid shared:9 - cgroup cgroup rw,memory
24 22 0:27 / /sys/fs/cgroup/blkio rw,nosuid shared:10 - cgroup cgroup rw,blkio
";

/// A group at its limit of 100 writes a second; what else the disk does is another group's.
fn version_2(disk: &Disk) -> Machine {
    let machine = Machine::calm().every_cpu(Ticks { user: 4, system: 2, iowait: 8, ..Ticks::default() });
    let io =
        |rate: u64| format!("8:16 rbytes=0 wbytes={{0~{}}} rios=0 wios={{0~{rate}}} dbytes=0 dios=0\n", rate * 8192);
    let group = |path, io: &str| Group { path, files: Vec::new() }.file("io.stat", io);
    let held = group("/db.slice", &io(100)).file("io.max", "8:16 rbps=max wbps=max riops=max wiops=100\n");
    let pressure = "some avg10=90.00 avg60=90.00 avg300=90.00 total={5000~900000}\n\
                    full avg10=80.00 avg60=80.00 avg300=80.00 total={4000~800000}\n";
    let held = held.file("io.pressure", pressure);
    let worker = |comm, state| vec![Thread { comm, cpu: 1, run: 0.05, wait: 0.001, affinity: None, state }];
    let process = |pid, comm, group, state| Process { group, threads: worker(comm, state), ..Process::new(pid, comm) };
    let machine = machine
        .disk(disk)
        .group(&held)
        .process(&process(610, "postgres", "/db.slice", 'D'))
        .pressure("io", 0.9, 0.7)
        .with(|machine| machine.blocked = 1);
    if disk.writes.0 <= 100 {
        return machine;
    }
    let other = group("/shop.slice", &io(disk.writes.0 - 100));
    machine.group(&other).process(&process(620, "shopd", "/shop.slice", 'S'))
}
