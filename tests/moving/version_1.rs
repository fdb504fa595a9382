//! Control groups of version 1: files that only the kernels of some vendors have there, and what is worked out from
//! counters of the machine.

use super::machine::{Machine, meminfo_with};
use super::memory::{Load, broker};
use super::{Case, hold};

const CASES: &[Case] = &[
    Case {
        name: "page cache that fills a group of version 1",
        machine: || log(30, 0),
        finds: &[("MEM-11", "info", "page cache fills it (490.0 MiB reclaimable), harmless so far")],
        silent: &["MEM-01", "MEM-02"],
        says: &[
            ("/bottleneck/verdict", "not_saturated"),
            ("/resources", "\"note\":\"page cache fills it, harmless so far\""),
        ],
        ..Case::QUIET
    },
    Case {
        name: "reclaim of a group of version 1 sizes the periodic reclaim of the machine",
        machine: || {
            [("enable", "1\n"), ("s", "0\n"), ("weight", "1\n")].iter().fold(log(30, 0), |machine, (name, value)| {
                machine.file(&format!("proc/sys/vm/cache_reclaim_{name}"), value)
            })
        },
        finds: &[("MEM-07", "info", "periodic page cache reclaim is off; page cache inflow ")],
        says: &[
            ("/findings", "vm.cache_reclaim_weight=100"),
            (
                "/findings",
                "\"source\":\"/proc/vmstat pgsteal, memory.stat pgpgout\",\"unit\":\"bytes/s\",\"value\":237",
            ),
        ],
        ..Case::QUIET
    },
    Case {
        name: "pressure by group in the hierarchy of cpuacct",
        machine: vendor,
        finds: &[("MEM-02", "critical", "is at 100% of 700.0 MiB, 19% page cache: memory pressure 3")],
        others: true,
        says: &[
            ("/bottleneck/headline", "limited by memory limit broker.service at 100% of 700.0 MiB"),
            ("/bottleneck/rule", "MEM-02"),
            ("/findings/0/evidence", "memory.pressure"),
            ("/cgroups/2/pressure/cpu/some_ratio", "0.1"),
            ("/cgroups/2/pressure/io/some_ratio", "0.2"),
        ],
        ..Case::QUIET
    },
    Case {
        name: "a group of version 1 full of dentries and inodes",
        machine: || kernel_memory(9_000_000, 1_000_000),
        silent: &["MEM-01"],
        ..Case::QUIET
    },
    Case {
        name: "a group of version 1 full of kernel memory that stays",
        machine: || kernel_memory(1_000_000, 9_000_000),
        finds: &[("MEM-01", "warning", "broker.service")],
        ..Case::QUIET
    },
];

#[test]
fn version_1_is_read_as_far_as_it_goes() {
    hold(CASES);
}

const GROUP: &str = "sys/fs/cgroup/memory/system.slice/broker.service";
const LIMIT: u64 = 700 << 20;

/// A service that appends to files at its limit: so much of it is memory of its own and of the kernel, in percent.
fn log(memory: u64, kernel: u64) -> Machine {
    let (rss, cache) = (LIMIT * memory / 100, LIMIT * (100 - memory - kernel) / 100);
    let lines = |prefix: &str| {
        let lines = [
            ("cache", cache.to_string()),
            ("rss", rss.to_string()),
            ("shmem", "0".to_owned()),
            ("mapped_file", "0".to_owned()),
            ("dirty", "0".to_owned()),
            ("writeback", "0".to_owned()),
            ("pgpgin", "{900~60000}".to_owned()),
            ("pgpgout", "{900~60000}".to_owned()),
            ("pgmajfault", "9".to_owned()),
            ("inactive_file", (cache / 2).to_string()),
            ("active_file", (cache / 2).to_string()),
            ("unevictable", "0".to_owned()),
        ];
        lines.map(|(name, value)| format!("{prefix}{name} {value}\n")).concat()
    };
    let stat = format!("{}hierarchical_memory_limit {LIMIT}\n{}", lines(""), lines("total_"));
    broker(&Load { failcnt: 300, refaults: 0, state: 'S' }).file(&format!("{GROUP}/memory.stat"), &stat)
}

/// At its limit by kernel memory; so much of the machine's slab is reclaimable and not, in KiB.
fn kernel_memory(reclaimable: u64, stays: u64) -> Machine {
    let meminfo = meminfo_with(&[("SReclaimable", reclaimable), ("SUnreclaim", stays)]);
    log(30, 65)
        .file("proc/meminfo", &meminfo)
        .file(&format!("{GROUP}/memory.kmem.usage_in_bytes"), &format!("{}\n", LIMIT * 65 / 100))
}

/// Kernels of openEuler have pressure by group where version 1 counts CPU time.
fn vendor() -> Machine {
    const AT: &str = "sys/fs/cgroup/cpu,cpuacct";
    let machine = broker(&Load { failcnt: 15_000, refaults: 0, state: 'D' }).with(|machine| {
        machine.mounts +=
            "24 22 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:10 - cgroup cgroup rw,cpu,cpuacct\n";
    });
    let stalls = [("cpu", 100_000), ("io", 200_000), ("memory", 300_000)];
    let machine = stalls.into_iter().fold(machine, |machine, (name, gain)| {
        let line = |kind, gain| format!("{kind} avg10=9.00 avg60=9.00 avg300=9.00 total={{5000~{gain}}}\n");
        let text = line("some", gain) + &line("full", gain * 2 / 3);
        machine.file(&format!("{AT}/system.slice/broker.service/{name}.pressure"), &text)
    });
    [
        ("cgroup.procs", "1\n"),
        ("system.slice/cgroup.procs", ""),
        ("system.slice/broker.service/cgroup.procs", "700\n"),
        ("system.slice/broker.service/cpuacct.usage", "{1000~1200000000}\n"),
    ]
    .into_iter()
    .fold(machine, |machine, (name, text)| machine.file(&format!("{AT}/{name}"), text))
    .file(
        "proc/700/cgroup",
        "5:cpu,cpuacct:/system.slice/broker.service\n4:memory:/system.slice/broker.service\n\
         1:name=systemd:/system.slice/broker.service\n",
    )
}
