//! Control groups of version 1 at their limits, on kernels that count refaults of the machine only and have no PSI.

use super::devices::Disk;
use super::machine::{Machine, Ticks};
use super::work::{Process, Thread};
use super::{Case, hold};

const CASES: &[Case] = &[
    Case {
        name: "a broker of version 1 that reads again what its limit drives out",
        machine: || broker(&Load { failcnt: 15_000, refaults: 41_000, state: 'D' }),
        finds: &[("MEM-02", "warning", "is at 100% of 700.0 MiB, 19% page cache: ")],
        others: true,
        says: &[
            ("/bottleneck/verdict", "limited"),
            ("/bottleneck/resource", "memory"),
            ("/findings/0/rule", "MEM-02"),
            ("/findings/0/evidence", "memory.limit_in_bytes"),
            ("/findings/0/fixes", "F-LIMIT"),
        ],
        ..Case::QUIET
    },
    Case {
        name: "a group of version 1 that appends at its limit",
        machine: || broker(&Load { failcnt: 15_000, refaults: 0, state: 'S' }),
        silent: &["MEM-01", "MEM-02", "MEM-09"],
        says: &[("/bottleneck/verdict", "not_saturated")],
        ..Case::QUIET
    },
    Case {
        name: "a group of version 1 at its limit that loses processes because the machine has no memory",
        machine: || killed("oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom"),
        finds: &[("MEM-04", "critical", "host: OOM killer killed")],
        others: true,
        says: &[("/findings/0/evidence", "CONSTRAINT_NONE")],
        ..Case::QUIET
    },
    Case {
        name: "a group of version 1 that loses processes at its limit",
        machine: || {
            killed(
                "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/system.slice",
            )
        },
        finds: &[("MEM-04", "critical", "system.slice: OOM killer killed")],
        others: true,
        ..Case::QUIET
    },
];

#[test]
fn version_1_tells_thrashing_from_a_full_cache() {
    hold(CASES);
}

/// What a group at its limit does a second, and the state of its threads.
pub(super) struct Load {
    pub(super) failcnt: u64,
    pub(super) refaults: u64,
    pub(super) state: char,
}

/// RocketMQ at 700 MiB: 81 % of that is memory of the JVM, the rest page cache of the commit log.
pub(super) fn broker(load: &Load) -> Machine {
    const LIMIT: u64 = 700 << 20;
    const GROUP: &str = "sys/fs/cgroup/memory/system.slice/broker.service";
    let (rss, cache) = (LIMIT * 81 / 100, LIMIT * 19 / 100);
    let Load { failcnt, refaults, state } = *load;
    let stat = format!(
        "cache {cache}\nrss {rss}\nshmem 0\nmapped_file {cache}\ndirty 0\nwriteback 0\npgpgin {{900~60000}}\npgpgout {{900~60000}}\n\
         pgfault {{900~60000}}\npgmajfault {{9~20}}\ninactive_anon 0\nactive_anon {rss}\ninactive_file {0}\nactive_file {0}\n\
         unevictable 0\nhierarchical_memory_limit {LIMIT}\ntotal_cache {cache}\ntotal_rss {rss}\ntotal_shmem 0\n\
         total_mapped_file {cache}\ntotal_dirty 0\ntotal_writeback 0\ntotal_pgpgin {{900~60000}}\ntotal_pgpgout {{900~60000}}\n\
         total_pgmajfault {{9~20}}\ntotal_inactive_file {0}\ntotal_active_file {0}\ntotal_unevictable 0\n",
        cache / 2
    );
    let thread = |cpu| Thread { comm: "java", cpu, run: 0.3, wait: 0.01, affinity: None, state };
    let java = Process { threads: (0..4).map(thread).collect(), rss_mib: 567, ..Process::new(700, "java") };
    let machine = Machine::small()
        .every_cpu(Ticks { user: 18, system: 6, iowait: 20, ..Ticks::default() })
        .vmstat("workingset_refault", &format!("{{10~{refaults}}}"))
        .disk(&Disk { reads: (1_500, 1_500 * 32_768, 0.3), busy_ms: 450, ..Disk::NVME })
        .process(&java)
        .with(|machine| {
            machine.pressure.clear();
            machine.vmstat.remove("workingset_refault_file");
            MOUNTS.clone_into(&mut machine.mounts);
        });
    [
        ("memory.usage_in_bytes", format!("{LIMIT}\n")),
        ("memory.limit_in_bytes", format!("{LIMIT}\n")),
        ("memory.failcnt", format!("{{100~{failcnt}}}\n")),
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n".to_owned()),
        ("memory.stat", stat),
        ("cgroup.procs", "700\n".to_owned()),
    ]
    .into_iter()
    .fold(machine, |machine, (name, text)| machine.file(&format!("{GROUP}/{name}"), &text))
    .file("proc/700/cgroup", "4:memory:/system.slice/broker.service\n1:name=systemd:/system.slice/broker.service\n")
    .file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
    .file("sys/fs/cgroup/memory/cgroup.procs", "1\n")
}

/// The broker appends at its limit, and loses a process a second; the kernel's log says why.
fn killed(why: &str) -> Machine {
    broker(&Load { failcnt: 15_000, refaults: 0, state: 'S' })
        .vmstat("oom_kill", "{3+1}")
        .file(
            "sys/fs/cgroup/memory/system.slice/broker.service/memory.oom_control",
            "oom_kill_disable 0\nunder_oom 0\noom_kill {3+1}\n",
        )
        .file("sys/fs/cgroup/memory/system.slice/memory.limit_in_bytes", "1073741824\n")
        .file("sys/fs/cgroup/memory/system.slice/cgroup.procs", "")
        .file("dev/kmsg", &format!("6,812,99,-;{why},task_memcg=/system.slice/broker.service,task=java,pid=9,uid=0\n"))
}

const MOUNTS: &str = "\
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
22 21 0:20 / /sys rw,nosuid shared:2 - sysfs sysfs rw
23 22 0:26 / /sys/fs/cgroup/memory rw,nosuid shared:9 - cgroup cgroup rw,memory
";
