//! Placement of CPUs and memory, and the monitor itself.

use super::*;

pub(super) const CASES: &[Case] = &[
    Case {
        rule: "CPU-02",
        severity: Severity::Info,
        says: "java (100) is limited by one thread: main (101) uses 99% of a core, the other threads 0%",
        sick: |frame, _| one_thread(frame),
    },
    Case {
        rule: "CPU-04",
        severity: Severity::Warning,
        says: "node 0 is 90% busy while node 1 is 10% busy",
        sick: |frame, _| busy_node(frame, 0.9),
    },
    Case {
        rule: "CPU-06",
        severity: Severity::Info,
        says: "java (100): 8 runnable threads and 4 garbage collection threads share its 2-core quota",
        sick: |frame, _| many_threads(frame),
    },
    Case {
        rule: "CPU-07",
        severity: Severity::Critical,
        says: "java (100): 2 runnable threads on CPU(s) 2 of cpuset 0-7; headroom on CPU(s) 0-1,3-7",
        sick: |frame, _| kept_to_one(frame),
    },
    Case {
        rule: "CPU-09",
        severity: Severity::Warning,
        says: "steal time averages 30%, 30% now on CPU 7; measurements are unreliable",
        sick: |frame, _| stolen(frame),
    },
    Case {
        rule: "CPU-10",
        severity: Severity::Warning,
        says: "CPU(s) 2 busy at 1200 of 3500 MHz: powersave governor (acpi-cpufreq)",
        sick: |frame, _| {
            held(frame);
            (frame.cpus[2].shares, frame.cpus[2].mhz) = (Some(shares(0.9, 0.0)), Some(1200.0));
        },
    },
    Case {
        rule: "BEAM-02",
        severity: Severity::Warning,
        says: "beam.smp (200): the scheduler bound to CPU 0 waits behind pgbench (300) 50% of the time; headroom on CPU(s) 1-7",
        sick: |frame, _| crowded(frame, "300"),
    },
    Case {
        rule: "NUMA-03",
        severity: Severity::Warning,
        says: "java uses 1 of 2 nodes (90% busy); node(s) 1 idle (10% busy)",
        sick: |frame, _| {
            busy_node(frame, 0.9);
            frame.processes[0].affinity = Some(set("0-3"));
        },
    },
    Case {
        rule: "NUMA-05",
        severity: Severity::Info,
        says: "the kernel allocates 2000 pages/s (9%) on the wrong node; node 0 lacks memory",
        sick: |frame, _| misses(frame, 2000.0),
    },
    Case {
        rule: "NUMA-10",
        severity: Severity::Info,
        says: "NUMA nodes differ: CPUs n0 4, n1 3; CPU(s) 7 offline; memory n0 64.0 GiB, n1 32.0 GiB",
        sick: |frame, _| {
            offline(frame, 7);
            frame.nodes[1].memory_total_bytes = Known::Value(32 * GIB);
        },
    },
    Case {
        rule: "META-02",
        severity: Severity::Info,
        says: "topotop uses 8% of a core; costliest part: processes 41.0 ms",
        sick: |frame, _| {
            frame.cost.cpu_cores = Some(0.08);
            frame.cost.collectors = vec![CollectorCost { name: "processes".into(), took_ms: 41.0 }];
        },
    },
    Case {
        rule: "META-03",
        severity: Severity::Warning,
        says: "/proc/irq/41/smp_affinity_list was set to 5 and is now 0-7; probably reverted by irqbalance",
        sick: |frame, _| {
            frame.irqs = vec![Irq { irq: 41, ..Irq::default() }];
            frame.applied = vec![applied("irq:41", "/proc/irq/41/smp_affinity_list", "5", Some("0-7"))];
        },
    },
];

pub(super) const QUIET: &[Quiet] = &[
    Quiet {
        rule: "CPU-02",
        what: "a thread of its own in realtime",
        reported: false,
        well: |frame, _| {
            one_thread(frame);
            frame.threads[0].policy = Known::Value(1);
        },
    },
    Quiet {
        rule: "CPU-02",
        what: "a poller on an isolated CPU",
        reported: false,
        well: |frame, _| {
            one_thread(frame);
            frame.cpus[2].isolated = true;
        },
    },
    Quiet {
        rule: "CPU-02",
        what: "every CPU is full: distributed work would find none",
        reported: false,
        well: |frame, _| {
            one_thread(frame);
            frame.cpus.iter_mut().filter_map(|cpu| cpu.shares.as_mut()).for_each(|shares| shares.busy = 1.0);
        },
    },
    Quiet {
        rule: "CPU-02",
        what: "the others work as well",
        reported: false,
        well: |frame, _| {
            one_thread(frame);
            frame.processes[0].cpu_cores = Some(1.8);
        },
    },
    Quiet {
        rule: "CPU-02",
        what: "bursts of garbage collection",
        reported: false,
        well: |frame, second| {
            if second % 2 == 0 {
                one_thread(frame);
            }
        },
    },
    Quiet {
        rule: "CPU-02",
        what: "a kernel thread",
        reported: false,
        well: |frame, _| {
            one_thread(frame);
            frame.processes[0].kernel = true;
        },
    },
    Quiet {
        rule: "CPU-04",
        what: "bound on purpose, and not full",
        reported: true,
        well: |frame, _| bound(frame, 0.85),
    },
    Quiet {
        rule: "CPU-04",
        what: "nobody waits",
        reported: true,
        well: |frame, _| {
            busy_node(frame, 0.9);
            frame.processes[0].wait_share = Some(0.02);
        },
    },
    Quiet {
        rule: "CPU-04",
        what: "one thread alone, on nodes of one CPU",
        reported: false,
        well: |frame, _| {
            one_cpu_nodes(frame);
            frame.processes[0].threads = Known::Value(1);
            (frame.processes[0].cpu_cores, frame.processes[0].cpu_by_node) = (Some(1.0), vec![(0, 1.0)]);
        },
    },
    Quiet { rule: "CPU-04", what: "both nodes work", reported: false, well: |frame, _| evenly(frame, 0.97) },
    Quiet { rule: "CPU-04", what: "nothing works", reported: false, well: |frame, _| evenly(frame, 0.01) },
    Quiet {
        rule: "CPU-04",
        what: "the rest is isolated",
        reported: false,
        well: |frame, _| {
            busy_node(frame, 0.9);
            frame.cpus.iter_mut().skip(4).for_each(|cpu| cpu.isolated = true);
        },
    },
    Quiet {
        rule: "CPU-06",
        what: "a group without quota",
        reported: false,
        well: |frame, _| {
            many_threads(frame);
            frame.cgroups[0].cpu.quota_cores = Known::None;
        },
    },
    Quiet {
        rule: "CPU-06",
        what: "as many collectors as cores",
        reported: false,
        well: |frame, _| {
            many_threads(frame);
            frame.threads.truncate(2);
        },
    },
    Quiet {
        rule: "CPU-07",
        what: "bound to a node on purpose",
        reported: false,
        well: |frame, _| {
            bound(frame, 0.9);
            frame.threads = (0..6).map(|n| free_thread(100, 101 + n, n % 4, "0-3")).collect();
        },
    },
    Quiet {
        rule: "CPU-07",
        what: "its group has no more CPUs",
        reported: false,
        well: |frame, _| {
            frame.cgroups[0].cpuset_cpus = Some(set("2-3"));
            frame.threads = (0..4).map(|n| free_thread(100, 101 + n, 2 + n % 2, "2-3")).collect();
            frame.cpus.iter_mut().for_each(|cpu| cpu.shares = Some(shares(0.9, 0.0)));
        },
    },
    Quiet {
        rule: "CPU-07",
        what: "nobody in the container has more",
        reported: false,
        well: |frame, _| {
            evenly(frame, 0.1);
            for cpu in [2, 3] {
                frame.cpus[cpu].shares = Some(shares(0.99, 0.0));
            }
            frame.threads = (0..4).map(|n| waiting_thread(100, 101 + n, 2 + n % 2, "2-3")).collect();
            (frame.processes[0].cpu_cores, frame.processes[0].wait_share) = (Some(2.0), Some(0.05));
            frame.processes.insert(0, Process { affinity: Some(set("2-3")), ..process(1, "init") });
        },
    },
    Quiet {
        rule: "CPU-07",
        what: "its mask has room",
        reported: false,
        well: |frame, _| {
            frame.threads = (0..2).map(|n| free_thread(100, 101 + n, n, "0-2")).collect();
        },
    },
    Quiet {
        rule: "CPU-09",
        what: "a burst of two seconds",
        reported: false,
        well: |frame, second| {
            if second == 4 || second == 5 {
                let stolen = CpuShares { steal: 0.4, ..shares(0.5, 0.0) };
                frame.cpus.iter_mut().for_each(|cpu| cpu.shares = Some(stolen));
            }
        },
    },
    Quiet {
        rule: "CPU-10",
        what: "slower than its cap: raising it gains nothing",
        reported: true,
        well: |frame, _| {
            capped(frame, 3200.0);
            (frame.cpus[2].shares, frame.cpus[2].mhz) = (Some(shares(0.9, 0.0)), Some(2000.0));
        },
    },
    Quiet { rule: "CPU-10", what: "held, and idle", reported: true, well: |frame, _| held(frame) },
    Quiet {
        rule: "CPU-10",
        what: "powersave where the driver chooses, and slow for lack of work",
        reported: false,
        well: |frame, _| frame.cpus.iter_mut().for_each(|cpu| cpu.mhz = Some(800.0)),
    },
    Quiet {
        rule: "CPU-10",
        what: "a virtual machine",
        reported: false,
        well: |frame, _| {
            frame.host.virtualization = "kvm".into();
            no_clocks(frame);
        },
    },
    Quiet {
        rule: "CPU-10",
        what: "slowed down once for heat, with nothing to do",
        reported: true,
        well: |frame, second| frame.cpus[1].throttles_gained = Some(u64::from(second == 3)),
    },
    Quiet { rule: "BEAM-02", what: "alone on its CPU", reported: false, well: |frame, _| beams(frame, [0, 1]) },
    Quiet {
        rule: "BEAM-02",
        what: "no other CPU is free",
        reported: false,
        well: |frame, _| {
            crowded(frame, "300");
            evenly(frame, 0.97);
        },
    },
    Quiet {
        rule: "NUMA-03",
        what: "an instance on each node",
        reported: false,
        well: |frame, _| {
            evenly(frame, 0.97);
            frame.processes = vec![on_node(100, 0), on_node(101, 1)];
        },
    },
    Quiet {
        rule: "NUMA-03",
        what: "an instance that its node has room for",
        reported: false,
        well: |frame, _| bound(frame, 0.6),
    },
    Quiet { rule: "NUMA-05", what: "a few misses", reported: false, well: |frame, _| misses(frame, 80.0) },
    Quiet {
        rule: "NUMA-10",
        what: "a node of memory only, and SMT off in both",
        reported: false,
        well: |frame, _| {
            let topology = Arc::make_mut(&mut frame.topology);
            let far = NodePlace { id: 2, has_memory: true, ..NodePlace::default() };
            topology.nodes.push(far);
            for cpu in [3, 7] {
                offline(frame, cpu);
            }
        },
    },
    Quiet {
        rule: "META-02",
        what: "dear at first",
        reported: false,
        well: |frame, second| frame.cost.cpu_cores = Some(if second < 6 { 0.2 } else { 0.005 }),
    },
    Quiet {
        rule: "META-03",
        what: "what was written stays, in other words",
        reported: false,
        well: |frame, _| {
            frame.irqs = vec![Irq { irq: 41, ..Irq::default() }];
            frame.applied = vec![
                applied("irq:41", "/proc/irq/41/smp_affinity_list", "4,5,6", Some("4-6\n")),
                applied("host", "net.ipv4.tcp_rmem", "4096 131072 6291456", Some("4096\t131072\t6291456")),
            ];
        },
    },
    Quiet {
        rule: "META-03",
        what: "written a moment ago: some take effect with the next interrupt",
        reported: false,
        well: |frame, _| {
            frame.applied = vec![applied("host", "vm.zone_reclaim_mode", "0", Some("1"))];
            frame.applied[0].age_seconds = Some(2.0);
        },
    },
    Quiet {
        rule: "META-03",
        what: "its process has ended",
        reported: false,
        well: |frame, _| frame.applied = vec![applied("pid:999@1", "affinity of 999", "0-7", Some("0"))],
    },
];

pub(super) const HIDDEN: &[Hidden] = &[
    Hidden {
        rule: "CPU-02",
        says: "its busiest thread is unknown",
        hide: |frame, _| {
            one_thread(frame);
            frame.threads[0].wait_share = None;
        },
    },
    Hidden {
        rule: "CPU-06",
        says: "wait time of its threads is unknown",
        hide: |frame, _| {
            many_threads(frame);
            for thread in &mut frame.threads {
                (thread.demand_cores, thread.comm) = (None, "worker".into());
            }
        },
    },
    Hidden {
        rule: "CPU-07",
        says: "its wait time is unknown",
        hide: |frame, _| {
            kept_to_one(frame);
            frame.processes[0].wait_share = None;
            for thread in &mut frame.threads {
                (thread.wait_share, thread.demand_cores) = (None, None);
            }
        },
    },
    Hidden { rule: "CPU-09", says: "does not report steal", hide: |frame, _| frame.host.reports_steal = Some(false) },
    Hidden { rule: "CPU-10", says: "no CPU reports its frequency", hide: |frame, _| no_clocks(frame) },
    Hidden {
        rule: "BEAM-02",
        says: "wait time of its schedulers is unknown",
        hide: |frame, _| {
            crowded(frame, "300");
            frame.threads.iter_mut().for_each(|thread| thread.wait_share = None);
        },
    },
    Hidden {
        rule: "NUMA-05",
        says: "page allocations are not counted",
        hide: |frame, _| frame.nodes[1].numa_miss_per_second = None,
    },
    Hidden {
        rule: "NUMA-10",
        says: "cannot read the memory size of the nodes",
        hide: |frame, _| Arc::make_mut(&mut frame.topology).nodes.iter_mut().for_each(|node| node.has_memory = false),
    },
    Hidden { rule: "META-02", says: "do not include the overhead", hide: |frame, _| frame.cost.cpu_cores = None },
    Hidden {
        rule: "META-03",
        says: "cannot reread /proc/irq/41/smp_affinity_list",
        hide: |frame, _| frame.applied = vec![applied("host", "/proc/irq/41/smp_affinity_list", "5", None)],
    },
    Hidden {
        rule: "META-03",
        says: "cannot tell which fixes are in effect",
        hide: |frame, _| {
            frame.sections.applied = State::Missing;
            let (path, needs) = ("journal".into(), "root".into());
            frame.applied_gaps = vec![Gap { path, reason: Reason::PermissionDenied, count: 1, needs }];
        },
    },
];

/// A thread that may run anywhere of a set and wants a whole CPU.
fn free_thread(pid: u32, tid: u32, last_cpu: u32, cpus: &str) -> Thread {
    Thread { affinity: Some(set(cpus)), comm: "worker".into(), ..thread(pid, tid, last_cpu) }
}

fn waiting_thread(pid: u32, tid: u32, last_cpu: u32, cpus: &str) -> Thread {
    Thread { wait_share: Some(0.1), ..free_thread(pid, tid, last_cpu, cpus) }
}

/// Two CPUs, each a node, one of them busy.
fn one_cpu_nodes(frame: &mut Frame) {
    let topology = Arc::make_mut(&mut frame.topology);
    topology.cpus.retain(|place| place.id == 0 || place.id == 4);
    topology.cpus_online = (*set("0,4")).clone();
    topology.nodes[0].cpus = (*set("0")).clone();
    topology.nodes[1].cpus = (*set("4")).clone();
    frame.cpus.retain(|cpu| cpu.id == 0 || cpu.id == 4);
    frame.cpus[0].shares = Some(shares(0.99, 0.0));
    frame.nics.clear();
}

fn one_thread(frame: &mut Frame) {
    frame.cpus[2].shares = Some(shares(0.99, 0.0));
    let main = Thread {
        comm: "main".into(),
        cpu_cores: Some(0.99),
        wait_share: Some(0.01),
        ..free_thread(100, 101, 2, "0-7")
    };
    frame.threads = vec![main];
    frame.processes[0].cpu_cores = Some(0.99);
}

fn stolen(frame: &mut Frame) {
    let stolen = CpuShares { steal: 0.3, ..shares(0.3, 0.0) };
    frame.cpus.iter_mut().for_each(|cpu| cpu.shares = Some(stolen));
}

fn evenly(frame: &mut Frame, busy: f64) {
    frame.cpus.iter_mut().for_each(|cpu| cpu.shares = Some(shares(busy, 0.0)));
}

/// All CPUs of node 0.
fn busy_node(frame: &mut Frame, busy: f64) {
    frame.cpus.iter_mut().take(4).for_each(|cpu| cpu.shares = Some(shares(busy, 0.0)));
}

/// A process that is bound to node 0 and keeps it busy with what has room there.
fn bound(frame: &mut Frame, busy: f64) {
    busy_node(frame, busy);
    frame.processes = vec![on_node(100, 0)];
    frame.processes[0].cpu_cores = Some(1.5);
    frame.processes[0].cpu_by_node = vec![(0, 1.5)];
}

fn on_node(pid: u32, node: u32) -> Process {
    Process {
        affinity: Some(set(if node == 0 { "0-3" } else { "4-7" })),
        policy: format!("bind:{node}").into(),
        cpu_by_node: vec![(node, 3.0)],
        memory: Some(at_node(&[(node, 2 * GIB)], 0.0)),
        ..process(pid, "java")
    }
}

/// Eight threads that want a CPU each, four of them collectors, in a group with a quota of two.
fn many_threads(frame: &mut Frame) {
    frame.processes[0].cpu_cores = Some(2.0);
    frame.threads = (0..8).map(|n| free_thread(100, 101 + n, n, "0-7")).collect();
    for (thread, n) in frame.threads.iter_mut().take(4).zip(0..) {
        thread.comm = format!("GC Thread#{n}").into();
    }
}

/// Two threads of a process that may use CPU 2 only.
fn kept_to_one(frame: &mut Frame) {
    frame.cpus[2].shares = Some(shares(0.99, 0.0));
    frame.threads = vec![free_thread(100, 101, 2, "2"), free_thread(100, 102, 2, "2")];
    frame.processes[0].cpu_cores = Some(1.0);
    frame.processes[0].wait_share = Some(0.5);
}

/// An emulator's scheduler on CPU 0 beside something else that runs there.
pub(super) fn crowded(frame: &mut Frame, pid: &str) {
    beams(frame, [0, 1]);
    frame.processes.truncate(1);
    frame.threads.truncate(1);
    frame.processes.push(Process {
        cpu_cores: Some(0.5),
        threads: Known::Value(1),
        last_cpu: Known::Value(0),
        ..process(pid.parse().expect("a pid"), "pgbench")
    });
    frame.processes[0].cpu_cores = Some(0.5);
    frame.cpus[0].shares = Some(shares(0.99, 0.0));
}

fn misses(frame: &mut Frame, rate: f64) {
    frame.nodes[1].numa_miss_per_second = Some(rate);
    frame.nodes[0].numa_foreign_per_second = Some(rate);
}

fn held(frame: &mut Frame) {
    for place in &mut Arc::make_mut(&mut frame.topology).cpus {
        let policy = place.clock.as_mut().filter(|_| place.id == 2);
        if let Some(policy) = policy {
            policy.driver = "acpi-cpufreq".into();
        }
    }
}

fn capped(frame: &mut Frame, mhz: f64) {
    let places = &mut Arc::make_mut(&mut frame.topology).cpus;
    places.iter_mut().filter_map(|place| place.clock.as_mut()).for_each(|policy| policy.limit_mhz = Some(mhz));
}

fn no_clocks(frame: &mut Frame) {
    Arc::make_mut(&mut frame.topology).cpus.iter_mut().for_each(|place| place.clock = None);
}

fn offline(frame: &mut Frame, cpu: u32) {
    let topology = Arc::make_mut(&mut frame.topology);
    topology.cpus_online = IdSet::from_ids(topology.cpus_online.iter().filter(|id| *id != cpu));
    topology.cpus.iter_mut().filter(|place| place.id == cpu).for_each(|place| place.online = false);
    frame.cpus.iter_mut().filter(|row| row.id == cpu).for_each(|row| (row.online, row.shares) = (false, None));
}

fn applied(subject: &str, target: &str, wanted: &str, value: Option<&str>) -> Applied {
    Applied {
        fix: "IRQ-03/irq%3A41/F-IRQAFF".into(),
        rule: "IRQ-03".into(),
        subject: subject.into(),
        target: target.into(),
        wanted: wanted.into(),
        value: value.map(Arc::from),
        age_seconds: Some(60.0),
    }
}

#[test]
fn what_went_with_its_process_is_not_missed() {
    let judgement =
        judged_by("META-03", |frame, _| frame.applied = vec![applied("pid:999@1", "affinity of 999", "0-7", None)]);
    let standing = judgement.rules.iter().find(|(rule, _)| rule.id == "META-03").map(|(_, standing)| standing.clone());
    assert_eq!(standing, Some(Standing::Quiet));
}

fn children(finding: &Finding) -> Vec<&str> {
    finding.children.iter().map(|child| child.rule.id.as_str()).collect()
}

#[test]
fn too_many_threads_are_told_with_the_quota_that_stops_them() {
    let judgement = judged_by("CPU-06", |frame, _| {
        many_threads(frame);
        frame.cgroups[0].cpu.throttled_ratio = Some(0.9);
    });
    let reported: Vec<_> =
        judgement.findings.iter().map(|finding| (finding.rule.id.as_str(), children(finding))).collect();
    assert_eq!(reported, [("CPU-05", vec!["CPU-06"])]);
    let threads = &judgement.findings[0].children[0];
    assert_eq!(threads.severity, Severity::Warning, "{}", threads.title());
}

#[test]
fn what_a_mask_piles_up_is_told_under_the_mask() {
    let judgement = judged_by("CPU-07", |frame, _| kept_to_one(frame));
    let reported: Vec<&str> = judgement.all().iter().map(|finding| finding.rule.id.as_str()).collect();
    assert_eq!((judgement.findings.len(), reported), (1, vec!["CPU-07", "CPU-01", "CPU-03"]));
}

#[test]
fn two_processes_on_one_cpu_are_a_pile_up_and_no_mask() {
    let judgement = judged_by("CPU-07", |frame, _| {
        kept_to_one(frame);
        frame.processes.push(process(110, "other"));
        frame.threads[1].pid = 110;
    });
    assert_eq!(judgement.findings.iter().map(|finding| finding.rule.id.as_str()).collect::<Vec<_>>(), ["CPU-03"]);
}

#[test]
fn a_host_that_steals_is_the_cause_of_what_waits() {
    let judgement = judged_by("CPU-09", |frame, _| {
        stolen(frame);
        frame.cpus[2].shares = Some(CpuShares { steal: 0.3, ..shares(0.99, 0.0) });
        frame.threads = vec![thread(100, 101, 2), thread(100, 102, 2)];
    });
    assert_eq!(judgement.findings[0].rule.id, "CPU-09");
    assert!((judgement.findings[0].confidence - 0.9).abs() < 1e-9, "its own confidence is not lowered by it");
    assert!(children(&judgement.findings[0]).contains(&"CPU-03"));
}

#[test]
fn misses_are_told_under_what_is_remote() {
    let judgement = judged_by("NUMA-05", |frame, _| {
        misses(frame, 2000.0);
        frame.processes[0].memory = Some(at_node(&[(1, 2 * GIB)], 1.0));
    });
    let reported: Vec<_> =
        judgement.findings.iter().map(|finding| (finding.rule.id.as_str(), children(finding))).collect();
    assert_eq!(reported, [("NUMA-01", vec!["NUMA-05"])]);
}

#[test]
fn a_bound_node_that_is_full_is_told_under_the_instances() {
    let judgement = judged_by("CPU-04", |frame, _| {
        busy_node(frame, 0.99);
        frame.processes = vec![on_node(100, 0)];
        frame.processes[0].wait_share = Some(0.3);
    });
    let reported: Vec<_> =
        judgement.findings.iter().map(|finding| (finding.rule.id.as_str(), children(finding))).collect();
    assert_eq!(reported, [("NUMA-03", vec!["CPU-04"])]);
}

#[test]
fn whoever_owns_a_setting_is_named() {
    for (subject, target, by) in [
        ("irq:41", "/proc/irq/41/smp_affinity_list", "irqbalance"),
        ("pid:200@7", "affinity of 201", "the Erlang VM, which rebinds its schedulers"),
        ("cgroup:/mq", "/sys/fs/cgroup/kubepods/mq/cpu.max", "the kubelet"),
        ("cgroup:/mq", "/sys/fs/cgroup/a.service/memory.high", "systemd"),
        ("host", "vm.dirty_background_bytes", "tuned or sysctl --system"),
        ("nic:eth0", "combined channels of eth0", "the driver or the network manager, when the link was reconfigured"),
    ] {
        let judgement = judged_by("META-03", |frame, _| {
            beams(frame, [0, 1]);
            frame.irqs = vec![Irq { irq: 41, ..Irq::default() }];
            frame.applied = vec![applied(subject, target, "5", Some("6"))];
        });
        let found =
            find(&judgement.findings, "META-03").map(|finding| finding.text(crate::locale::evidence::BY).to_owned());
        assert_eq!(found.as_deref(), Some(by), "{target}");
    }
}
