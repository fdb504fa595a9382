//! Threads and the CPUs that they may have: quotas with long periods, schedulers of Erlang, threads bound to a CPU.

use super::machine::{Machine, Ticks};
use super::work::{Group, Process, Thread};
use super::{Case, directory, documents, hold, last, phases};

const CASES: &[Case] = &[
    Case {
        name: "a quota of 0.3 cores with a period of a second",
        machine: || quota("300000 1000000", 0.97),
        finds: QUOTA,
        others: true,
        says: LIMITED,
        ..Case::QUIET
    },
    Case {
        name: "a quota of 0.3 cores with a period of half a second",
        machine: || quota("150000 500000", 1.9),
        finds: QUOTA,
        others: true,
        says: LIMITED,
        ..Case::QUIET
    },
    Case {
        name: "two brokers bound to a full CPU beside one at 70 percent",
        machine: || bound(99, 70, 0.49, 0.5),
        finds: &[(
            "BEAM-01",
            "critical",
            "2 Erlang instances bind schedulers to the same CPU(s) 0; headroom on CPU(s) 1",
        )],
        others: true,
        says: &[
            ("/bottleneck/resource", "core"),
            ("/bottleneck/rule", "BEAM-01"),
            ("/findings/0/evidence", "rabbit@mq1 (700) +sbt db: CPU(s) 0, rabbit@mq2 (800) +sbt db: CPU(s) 0"),
        ],
        ..Case::QUIET
    },
    Case {
        name: "two brokers of a pod bound to the same full CPU",
        machine: contained,
        finds: &[("BEAM-01", "critical", "")],
        others: true,
        says: &[("/findings/0/evidence", "first (700) +sbt db: CPU(s) 0, second (800) +sbt db: CPU(s) 0")],
        ..Case::QUIET
    },
    Case {
        name: "two idle brokers bound to the same CPU",
        machine: || bound(4, 3, 0.02, 0.03),
        finds: &[("BEAM-01", "info", "")],
        says: &[("/bottleneck/rule", "nothing"), ("/findings/0/evidence", "rabbit@mq1 (700)")],
        ..Case::QUIET
    },
    Case {
        name: "8 schedulers of which a quota of 2 cores leaves 2 online",
        machine: || many(2),
        silent: &["BEAM-03"],
        others: true,
        ..Case::QUIET
    },
    Case {
        name: "8 schedulers online in a quota of 2 cores",
        machine: || many(8),
        finds: &[("BEAM-03", "warning", "8")],
        others: true,
        ..Case::QUIET
    },
    Case {
        name: "threads that sleep on the CPU of a busy one",
        machine: || pinned(&[&[(0.9, 0.09)][..], &[(0.01, 0.03); 10]].concat()),
        silent: &["CPU-03"],
        ..Case::QUIET
    },
    Case {
        name: "threads that share the CPU that they are bound to",
        machine: || pinned(&[(0.49, 0.5), (0.49, 0.5)]),
        finds: &[("CPU-03", "warning", "CPU 3")],
        others: true,
        says: &[("/findings", "Allow worker (500) to run on CPU")],
        ..Case::QUIET
    },
    Case {
        name: "threads that may run on two CPUs already",
        machine: confined,
        finds: &[("CPU-01", "warning", "CPU 0 is 99% busy and tasks wait for it")],
        lacks: &[("/findings", "/F-AFF\"")],
        ..Case::QUIET
    },
];

const QUOTA: &[(&str, &str, &str)] = &[("CPU-05", "critical", "by its 0.3-core quota")];
const LIMITED: &[(&str, &str)] =
    &[("/bottleneck/verdict", "limited"), ("/bottleneck/resource", "cpu_quota"), ("/bottleneck/rule", "CPU-05")];

#[test]
fn who_waits_for_its_cpus_is_told_from_who_sleeps() {
    hold(CASES);
}

/// A process that has been given all CPUs meanwhile is not given them once more.
#[test]
fn no_fix_changes_a_mask_to_what_it_is() {
    let fixes = |phases: Vec<(Machine, u64)>, seconds: u64| {
        let dir = directory();
        phases::write(phases, dir.path());
        let lines = documents("a mask that is widened", dir.path(), seconds);
        let findings = last(&lines)["findings"].as_array().cloned().unwrap_or_default();
        let found = findings.into_iter().find(|finding| finding["rule"] == "CPU-07");
        found.expect("CPU-07 is open")["fixes"].to_string()
    };
    let before = fixes(vec![(narrow("0-1"), 30)], 29);
    assert!(before.contains("Allow job (500) to run on CPU(s) 0-7"), "{before}");
    let after = fixes(vec![(narrow("0-1"), 30), (narrow("0-7"), 2)], 31);
    assert!(!after.contains("F-AFF"), "{after}");
}

/// Four threads that share two of eight CPUs, with this mask.
fn narrow(mask: &'static str) -> Machine {
    let full = Ticks { user: 99, ..Ticks::default() };
    let thread = |at: u32| Thread { comm: "job", cpu: at % 2, run: 0.49, wait: 0.5, affinity: Some(mask), state: 'R' };
    let job = Process { threads: (0..4).map(thread).collect(), ..Process::new(500, "job") };
    Machine::calm().cpu(0, full).cpu(1, full).process(&job)
}

/// A group that its quota stops in each of so many periods a second.
fn quota(max: &str, periods: f64) -> Machine {
    let stat = format!(
        "usage_usec {{9000+300000}}\nnr_periods {{0+{periods}}}\nnr_throttled {{0+{periods}}}\nthrottled_usec {{0+700000}}\n"
    );
    let group = Group { path: "/job.slice", files: Vec::new() };
    let group = group.file("cpu.max", &format!("{max}\n")).file("cpu.stat", &stat);
    let thread = |cpu| Thread { comm: "job", cpu, run: 0.15, wait: 0.7, affinity: None, state: 'R' };
    let job = Process { group: "/job.slice", threads: (0..2).map(thread).collect(), ..Process::new(500, "job") };
    Machine::small().every_cpu(Ticks { user: 4, ..Ticks::default() }).group(&group).process(&job)
}

const BROKERS: [(u32, &str); 2] = [
    (700, "/usr/lib/erlang/erts-13.1.5/bin/beam.smp -S 1:1 -sbt db -- -root /usr/lib/erlang -sname rabbit@mq1"),
    (800, "/usr/lib/erlang/erts-13.1.5/bin/beam.smp -S 1:1 -sbt db -- -root /usr/lib/erlang -sname rabbit@mq2"),
];

/// Two brokers on CPU 0 of two, which is so busy, as is the other one.
fn bound(busy: u64, other: u64, run: f64, wait: f64) -> Machine {
    let user = |user| Ticks { user, ..Ticks::default() };
    let machine = Machine::new(1, 2).cpu(0, user(busy)).cpu(1, user(other));
    let machine = BROKERS.into_iter().fold(machine, |machine, (pid, cmdline)| {
        let scheduler = Thread { comm: "1_scheduler", cpu: 0, run, wait, affinity: Some("0"), state: 'R' };
        let threads = vec![Thread { comm: "beam.smp", ..Thread::FREE }, scheduler];
        machine.process(&Process { cmdline, threads, ..Process::new(pid, "beam.smp") })
    });
    let load = Thread { comm: "bench", cpu: 1, run: other as f64 / 100.0, wait: 0.01, affinity: None, state: 'R' };
    machine.process(&Process { threads: vec![load], ..Process::new(900, "bench") })
}

/// The same in two containers of a pod, whose names the kubelet has put into those of its logs.
fn contained() -> Machine {
    const FIRST: &str = concat!(
        "/kubepods/burstable/pod11111111-2222-4333-8444-555555555555/",
        "1aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    );
    const SECOND: &str = concat!(
        "/kubepods/burstable/pod11111111-2222-4333-8444-555555555555/",
        "2bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
    );
    let machine = bound(99, 70, 0.49, 0.5);
    [(700, FIRST, "first"), (800, SECOND, "second")].into_iter().fold(machine, |machine, (pid, path, name)| {
        let id = path.rsplit('/').next().expect("an id");
        machine
            .group(&Group { path, files: Vec::new() }.file("cgroup.procs", &format!("{pid}\n")))
            .file(&format!("proc/{pid}/cgroup"), &format!("0::{path}\n"))
            .file(&format!("var/log/containers/mq-0_shop_{name}-{id}.log"), "")
    })
}

/// Schedulers of an Erlang with a quota of two cores: so many work, the others never did.
fn many(online: u32) -> Machine {
    const NAMES: [&str; 8] = [
        "erts_sched_1",
        "erts_sched_2",
        "erts_sched_3",
        "erts_sched_4",
        "erts_sched_5",
        "erts_sched_6",
        "erts_sched_7",
        "erts_sched_8",
    ];
    let thread = |(cpu, comm)| {
        let run = if cpu < online { 2.0 / f64::from(online) } else { 0.0 };
        Thread { comm, cpu, run: run * 0.9, wait: run * 0.1, affinity: None, state: 'S' }
    };
    let threads = (0..).zip(NAMES).map(thread);
    let threads = std::iter::once(Thread { comm: "beam.smp", ..Thread::FREE }).chain(threads).collect();
    let group = Group { path: "/mq.slice", files: Vec::new() }.file("cpu.max", "200000 100000\n").file(
        "cpu.stat",
        "usage_usec {9000~1800000}\nnr_periods {0+10}\nnr_throttled {0+3}\nthrottled_usec {0+90000}\n",
    );
    let beam = Process {
        group: "/mq.slice",
        cmdline: "/usr/lib/erlang/erts-14.0/bin/beam.smp -- -root /usr/lib/erlang -sname rabbit@mq1",
        threads,
        ..Process::new(700, "beam.smp")
    };
    Machine::small().every_cpu(Ticks { user: 24, ..Ticks::default() }).group(&group).process(&beam)
}

/// Threads bound to CPU 3 of eight, which run and wait so much.
fn pinned(threads: &[(f64, f64)]) -> Machine {
    let thread = |&(run, wait)| Thread { comm: "worker", cpu: 3, run, wait, affinity: Some("3"), state: 'R' };
    let worker = Process { threads: threads.iter().map(thread).collect(), ..Process::new(500, "worker") };
    Machine::calm().cpu(3, Ticks { user: 99, ..Ticks::default() }).process(&worker)
}

/// Threads that keep CPU 0 busy, although they may use all of what their group has.
fn confined() -> Machine {
    let group = Group { path: "/job.slice", files: Vec::new() };
    let group = group.file("cpuset.cpus", "0-1\n").file("cpuset.cpus.effective", "0-1\n");
    let thread = Thread { comm: "job", cpu: 0, run: 0.49, wait: 0.5, affinity: Some("0-1"), state: 'R' };
    let job = Process { group: "/job.slice", threads: vec![thread.clone(), thread], ..Process::new(500, "job") };
    Machine::small().cpu(0, Ticks { user: 99, ..Ticks::default() }).group(&group).process(&job)
}
