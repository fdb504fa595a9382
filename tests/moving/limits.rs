//! Memory limits of control groups of version 2: what can still go, which limit holds, whose processes are killed.

use super::machine::{Machine, Ticks, meminfo_with};
use super::shown::{Shown, show};
use super::work::{Group, Process, Thread};
use super::{Case, checked, hold, last, run, tree};

const CASES: &[Case] = &[
    Case {
        name: "page cache that fills a group",
        machine: || Machine::small().group(&full("/app.slice", 1024, 200).file("memory.events", AT_LIMIT)),
        finds: &[("MEM-11", "info", "app.slice is at 100% of 1.0 GiB: page cache fills it (824.0 MiB reclaimable)")],
        silent: &["MEM-01", "MEM-02"],
        says: &[("/resources", "\"note\":\"page cache fills it, harmless so far\"")],
        ..Case::QUIET
    },
    Case {
        name: "a group that is throttled at memory.high",
        machine: throttled,
        finds: &[("MEM-02", "critical", "batch.slice is at 100% of 2.0 GiB")],
        others: true,
        says: &[
            ("/bottleneck/verdict", "limited"),
            ("/bottleneck/resource", "memory"),
            ("/bottleneck/headline", "batch.slice at 100% of 2.0 GiB"),
            ("/findings/0/evidence", "memory.high"),
            ("/findings/0/fixes", "/sys/fs/cgroup/batch.slice/memory.high"),
        ],
        ..Case::QUIET
    },
    Case {
        name: "a group that waits at its limit for pages that nobody wants back",
        machine: kernel_memory,
        finds: &[("MEM-02", "critical", "app.slice is at 100% of 4.0 GiB")],
        others: true,
        says: &[
            ("/bottleneck/headline", "limited by memory limit app.slice at 100% of 4.0 GiB"),
            ("/bottleneck/rule", "MEM-02"),
        ],
        ..Case::QUIET
    },
    Case { name: "memory that fits into free swap", machine: || swapping(8192), silent: &["MEM-01"], ..Case::QUIET },
    Case {
        name: "memory that has no swap to go to",
        machine: || swapping(20),
        finds: &[("MEM-01", "warning", "db.slice: 94% of its 1.0 GiB limit is unreclaimable")],
        others: true,
        says: &[("/findings", "\"source\":\"/proc/meminfo SwapFree\",\"unit\":\"bytes\",\"value\":20971520.0")],
        ..Case::QUIET
    },
    Case {
        name: "kills in two groups, the name of one the beginning of the other's",
        machine: killed,
        finds: &[("MEM-04", "critical", "OOM killer killed")],
        says: &[
            ("/findings", "\"subject\":\"cgroup:/a.slice\""),
            ("/findings", "\"subject\":\"cgroup:/a.slice2/x.service\""),
            ("/findings/2", "nothing"),
        ],
        ..Case::QUIET
    },
    Case {
        name: "a service at its limit, close below that of its slice",
        machine: || below("/db.slice", "/db.slice/c", 1100),
        finds: &[("MEM-01", "critical", "/db.slice/c")],
        others: true,
        says: &[("/findings", "echo 1153433600 > /sys/fs/cgroup/db.slice/c/memory.max")],
        ..Case::QUIET
    },
    Case {
        name: "a service at its limit, which its slice has too",
        machine: || below("/db.slice", "/db.slice/c", 1000),
        finds: &[("MEM-01", "critical", "/db.slice")],
        others: true,
        lacks: &[("/findings", "/sys/fs/cgroup/db.slice/c/memory.max")],
        ..Case::QUIET
    },
    Case {
        name: "a service without a limit that fills its slice",
        machine: unlimited,
        finds: &[("MEM-02", "critical", "/db.slice is at 100% of 1.0 GiB")],
        others: true,
        says: &[
            ("/bottleneck/headline", "limited by memory limit db.slice at 100% of 1.0 GiB"),
            ("/bottleneck/rule", "MEM-02"),
            ("/findings/0/fixes", "/sys/fs/cgroup/db.slice/memory.max"),
        ],
        lacks: &[
            ("/findings", "/sys/fs/cgroup/db.slice/c/memory.max"),
            ("/findings", "\"subject\":\"cgroup:/db.slice/c\""),
        ],
        ..Case::QUIET
    },
];

#[test]
fn limits_count_what_cannot_go() {
    hold(CASES);
}

const FIXES: &[Shown] = &[
    Shown {
        name: "memory.high above the kernel's own memory",
        machine: kernel_memory,
        fix: "MEM-02/cgroup%3A%2Fapp.slice/F-HIGH",
        set: &[],
        says: &[("/breaks", "3.2 GiB is unreclaimable or active")],
    },
    Shown {
        name: "a container is raised with its pod",
        machine: || below("/kubepods/burstable/pod8a", "/kubepods/burstable/pod8a/c1", 1000),
        fix: "MEM-01/cgroup%3A%2Fkubepods%2Fburstable%2Fpod8a%2Fc1/F-LIMIT",
        set: &[],
        says: &[
            ("/steps/0/target", "/kubepods/burstable/pod8a/memory.max"),
            ("/steps/0/new", "1310720000"),
            ("/steps/1/target", "/kubepods/burstable/pod8a/c1/memory.max"),
            ("/steps/1/new", "1310720000"),
            ("/breaks", "pod8a"),
        ],
    },
];

#[test]
fn fixes_of_limits_know_what_is_around_them() {
    show(FIXES);
}

/// The finding and the document say the same of when the limit is reached; the document has its range.
#[test]
fn the_time_to_a_limit_is_the_same_everywhere() {
    let lines = checked(&Case { name: "a group that grows", machine: growing, seconds: 60, ..Case::QUIET });
    let sample = last(&lines);
    let memory = &sample["cgroups"][1]["memory"];
    let number = |name: &str| memory[name].as_f64().unwrap_or_else(|| panic!("{name} in {memory}"));
    let (low, high) = (number("time_to_limit_low_seconds"), number("time_to_limit_high_seconds"));
    let of_group = number("time_to_limit_seconds");
    let finding = sample["findings"].as_array().into_iter().flatten().find(|finding| finding["rule"] == "MEM-03");
    let evidence = finding.and_then(|finding| finding["evidence"].as_array()).expect("MEM-03");
    let seconds = evidence.iter().find(|row| row["name"] == "seconds").and_then(|row| row["value"].as_f64());
    let seconds = seconds.expect("seconds");
    assert!(low < of_group && of_group < high, "{low} {of_group} {high}");
    assert!((170.0..230.0).contains(&of_group), "1600 MiB at 8 MiB/s: {of_group}");
    assert!((seconds / of_group - 1.0).abs() < 0.1, "{seconds} and {of_group}");
}

/// Twelve seconds are too short for a forecast of a group that grew throughout: that is no success.
#[test]
fn a_rule_that_needs_longer_is_named_and_fails_the_check() {
    let status = |machine: fn() -> Machine, seconds| {
        let dir = tree("a short time", machine(), seconds);
        let recording = dir.path().join("short.rec");
        let recording = recording.to_str().expect("a path");
        let recorded = run(&["record", "--for", "60s", "-o", recording], dir.path());
        assert!(recorded.status.success(), "{}", String::from_utf8_lossy(&recorded.stderr));
        let checked = run(&["check", "--from", recording], dir.path());
        let text = String::from_utf8(checked.stdout).expect("text");
        let short = text.lines().find(|line| line.starts_with("too short for ")).unwrap_or_default().to_owned();
        (checked.status.code(), short)
    };
    let said = "too short for MEM-03, whose condition has held so far: use --for 19s or longer".to_owned();
    assert_eq!(status(growing, 13), (Some(2), said));
    assert_eq!(status(growing, 20), (Some(1), String::new()), "found");
    let still = || in_group(Machine::small().group(&Group::memory("/db.slice", 4096, 2048, 0)), "/db.slice", 'S');
    assert_eq!(status(still, 13), (Some(0), String::new()));
}

const MIB: u64 = 1 << 20;
const AT_LIMIT: &str = "low 0\nhigh 0\nmax {100~50}\noom 0\noom_kill 0\n";
const PRESSURE: &str = "some avg10=40.00 avg60=40.00 avg300=40.00 total={5000~400000}\n\
                        full avg10=30.00 avg60=30.00 avg300=30.00 total={4000~300000}\n";

/// A group that its page cache fills to its limit, in MiB.
fn full(path: &'static str, limit: u64, anon: u64) -> Group {
    Group::memory(path, limit, anon, limit - anon)
}

fn in_group(machine: Machine, group: &'static str, state: char) -> Machine {
    let worker = |cpu| Thread { comm: "worker", cpu, run: 0.3, wait: 0.01, affinity: None, state };
    let machine = machine.every_cpu(Ticks { user: 12, system: 4, iowait: 10, ..Ticks::default() });
    machine.process(&Process { group, threads: (0..4).map(worker).collect(), ..Process::new(700, "worker") })
}

/// Far from its limit of 4 GiB, its tasks sleep at memory.high.
fn throttled() -> Machine {
    let group = Group::memory("/batch.slice", 4096, 1024, 1024)
        .file("memory.high", "2147483648\n")
        .file("memory.events", "low 0\nhigh {9~400}\nmax 0\noom 0\noom_kill 0\n")
        .file("memory.pressure", PRESSURE);
    in_group(Machine::small().group(&group), "/batch.slice", 'D').pressure("memory", 0.4, 0.3)
}

/// 970 of 1024 MiB are anonymous memory, and so many MiB of 8 GiB swap are free.
fn swapping(free: u64) -> Machine {
    let meminfo = meminfo_with(&[("SwapTotal", 8192 << 10), ("SwapFree", free << 10)]);
    Machine::small().group(&Group::memory("/db.slice", 1024, 970, 40)).file("proc/meminfo", &meminfo)
}

/// Each of two groups loses a process a second at its own limit.
fn killed() -> Machine {
    let group = |path| {
        let group = Group::memory(path, 1024, 400, 100);
        group.file("memory.events", "low 0\nhigh 0\nmax {9+3}\noom {3+1}\noom_kill {3+1}\n")
    };
    let above = Group { path: "/a.slice2", files: Vec::new() };
    let above = above.file("memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill {3+1}\n");
    Machine::small()
        .group(&group("/a.slice"))
        .group(&above)
        .group(&group("/a.slice2/x.service"))
        .vmstat("oom_kill", "{6+2}")
}

/// A group full of memory that stays at its limit of 1000 MiB, and the limit of the group above it in MiB.
fn below(above: &'static str, path: &'static str, limit: u64) -> Machine {
    Machine::small().group(&Group::memory(above, limit, 980, 0)).group(&Group::memory(path, 1000, 980, 0))
}

/// What it reads is driven out by the limit of the slice above it.
fn unlimited() -> Machine {
    let group = |path| {
        let group = full(path, 1024, 400).file("memory.events", AT_LIMIT).file("memory.pressure", PRESSURE);
        let mut files = group.files;
        let stat = files.iter_mut().find(|file| file.0 == "memory.stat").expect("memory.stat");
        stat.1 = stat.1.replace("workingset_refault_file 0", "workingset_refault_file {0~20000}");
        Group { path, files }
    };
    let machine = Machine::small().group(&group("/db.slice")).group(&group("/db.slice/c").file("memory.max", "max\n"));
    in_group(machine, "/db.slice/c", 'D').pressure("memory", 0.4, 0.3)
}

/// Of 4 GiB at the limit 1500 MiB are memory of the kernel, as much as nothing else tells.
fn kernel_memory() -> Machine {
    let group = Group::memory("/app.slice", 4096, 1000, 1596)
        .file("memory.current", &format!("{}\n", 4096 * MIB))
        .file("memory.events", AT_LIMIT)
        .file("memory.pressure", PRESSURE);
    in_group(Machine::small().group(&group), "/app.slice", 'D')
}

/// 8 MiB more each second, by fits and starts, up to 4 GiB.
fn growing() -> Machine {
    let (start, rate) = (2048 * MIB, 8 * MIB);
    let stat = format!(
        "anon {{{start}~{rate}}}\nfile 0\nkernel 0\nshmem 0\nfile_dirty 0\nfile_writeback 0\ninactive_file 0\n\
         active_file 0\nunevictable 0\nslab_reclaimable 0\nslab_unreclaimable 0\nworkingset_refault_file 0\n\
         pgscan_direct 0\npgsteal_direct 0\npgmajfault 0\n"
    );
    let group = Group::memory("/db.slice", 4096, 2048, 0);
    let group = group.file("memory.current", &format!("{{{start}~{rate}}}\n")).file("memory.stat", &stat);
    in_group(Machine::small().group(&group), "/db.slice", 'S')
}
