//! The states of resources, and the answers for machines whose limit is known.

mod answers;
mod groups;
mod qualified;
mod scripts;

use super::{Bottleneck, Confidence, Outcome, Resource, ResourceKind, Resources, State as Limits, Tally, Verdict};
use super::{exclusions, sentence, settled};
use crate::frame::*;
use crate::judge::Settings;
use crate::locale::resource::note;
use crate::rules::{self, Evidence, Finding, Severity, Subject};
use crate::{Gap, Known, Reason, SectionStates, Stamp, State};
use proptest::prelude::*;
use std::sync::Arc;

fn cpu(id: u32, busy: f64, softirq: f64) -> Cpu {
    let shares = CpuShares { busy, softirq, user: busy - softirq, idle: 1.0 - busy, ..CpuShares::default() };
    Cpu { id, online: true, shares: Some(shares), ..Cpu::default() }
}

fn nic(name: &str, capacity: Known<u64>, rx: f64, tx: f64) -> Nic {
    let rates = |bytes| NicRates { bytes_per_second: Some(bytes), ..NicRates::default() };
    let (rx, tx) = (rates(rx), rates(tx));
    Nic { name: name.into(), kind: "physical".into(), capacity_mbps: capacity, rx, tx, ..Nic::default() }
}

/// Two CPUs, a link of 10 Gbit/s at 42 %, a disk, 8 GiB of memory, one node.
fn healthy() -> Frame {
    let memory = Memory {
        total_bytes: Known::Value(8 << 30),
        available_bytes: Known::Value(6 << 30),
        swap_total_bytes: Known::Value(0),
        swap_free_bytes: Known::Value(0),
        ..Memory::default()
    };
    let disk = Disk {
        name: "sda".into(),
        kind: "disk".into(),
        utilisation: Some(0.03),
        await_ms: Known::Value(0.4),
        queue_depth: Some(0.1),
        ..Disk::default()
    };
    let process = Process {
        pid: 7,
        comm: "java".into(),
        threads: Known::Value(1),
        cpu_cores: Some(0.2),
        rss_bytes: Known::Value(1 << 30),
        ..Process::default()
    };
    Frame {
        interval_seconds: Some(1.0),
        cpus: vec![cpu(0, 0.2, 0.0), cpu(3, 0.3, 0.1)],
        nics: vec![nic("eth0", Known::Value(10_000), 1e8, 525e6)],
        disks: vec![disk],
        processes: vec![process],
        net_namespaces: vec![NetNamespace {
            listen_overflows_per_second: Some(0.0),
            conntrack_drops_per_second: Some(0.0),
            ..NetNamespace::default()
        }],
        kernel_tables: KernelTables {
            files: Known::Value(1000),
            files_limit: Known::Value(100_000),
            conntrack: Known::Value(10),
            conntrack_limit: Known::Value(1000),
            tasks: Known::Value(100),
            tasks_limit: Known::Value(10_000),
        },
        memory,
        sections: SectionStates::all(State::Read),
        ..Frame::default()
    }
}

fn of(frame: &Frame) -> Resources {
    settled(frame, &[], &Settings::default()).0
}

fn answer(frame: &Frame) -> Bottleneck {
    settled(frame, &[], &Settings::default()).1
}

fn limit(frame: &Frame) -> Option<ResourceKind> {
    answer(frame).resource.map(|resource| resource.kind)
}

fn verdict(frame: &Frame, kind: ResourceKind) -> Verdict {
    of(frame).get(kind).map(|resource| resource.verdict).expect("every resource is there")
}

fn finding(rule: &str, severity: Severity, subject: Subject) -> Finding {
    Finding {
        rule: rules::find(rule).expect("a rule"),
        subject,
        severity,
        confidence: 0.9,
        since: Stamp::default(),
        evidence: Vec::<Evidence>::new(),
        children: Vec::new(),
    }
}

fn group(quota: f64, used: f64, throttled: f64) -> Cgroup {
    let cpu = CgroupCpu {
        quota_cores: Known::Value(quota),
        usage_cores: Some(used),
        throttled_ratio: Some(throttled),
        periods: Some(10),
        ..CgroupCpu::default()
    };
    Cgroup { path: "/db.service".into(), version: 2, cpu, ..Cgroup::default() }
}

/// A single-threaded process with one third of a core more of waiting for each such share.
fn process(pid: u32, comm: &str, cores: f64, wait_share: f64) -> Process {
    Process {
        pid,
        comm: comm.into(),
        threads: Known::Value(1),
        cpu_cores: Some(cores),
        wait_share: Some(wait_share),
        ..Process::default()
    }
}

/// Nobody knows the capacity of memory.
fn has_headroom(resource: &Resource) -> bool {
    let unknown = resource.kind == ResourceKind::Bandwidth && resource.verdict == Verdict::Unknown;
    unknown || resource.verdict == Verdict::HasHeadroom
}

#[test]
fn a_healthy_machine_has_headroom_everywhere() {
    let frame = healthy();
    let resources = of(&frame);
    let wrong: Vec<_> = resources.iter().filter(|resource| !has_headroom(resource)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    assert_eq!(resources.iter().map(|resource| resource.kind).collect::<Vec<_>>(), ResourceKind::ALL);
    let answer = answer(&frame);
    assert_eq!((answer.verdict, answer.resource), (Outcome::NotSaturated, None));
    let next = answer.next.expect("something is nearest");
    assert_eq!((next.resource.kind, (next.headroom * 10.0).round()), (ResourceKind::NicOut, 23.0));
}

#[test]
fn a_full_core_limits_only_those_who_may_not_leave_it() {
    let mut frame = healthy();
    frame.cpus[1] = cpu(3, 0.98, 0.1);
    frame.processes = vec![process(7, "java", 0.5, 0.0), process(8, "ruby", 0.4, 0.0)];
    // Nobody waits: full, and no bottleneck.
    assert_eq!((verdict(&frame, ResourceKind::Core), answer(&frame).verdict), (Verdict::Full, Outcome::NotSaturated));
    // Whether anybody waits is not known.
    frame.processes.iter_mut().for_each(|process| process.wait_share = None);
    assert_eq!(verdict(&frame, ResourceKind::Core), Verdict::Unknown);
    assert_eq!((answer(&frame).verdict, answer(&frame).unknown[0].kind), (Outcome::Inconclusive, ResourceKind::Core));
    // A poller on an isolated CPU is there on purpose.
    let mut frame = healthy();
    frame.cpus[1] = Cpu { isolated: true, ..cpu(3, 1.0, 0.0) };
    assert_eq!(verdict(&frame, ResourceKind::Core), Verdict::HasHeadroom);
}

#[test]
fn interrupts_limit_where_packets_are_lost() {
    let mut frame = healthy();
    frame.cpus[1] = cpu(3, 0.98, 0.95);
    frame.processes = vec![process(7, "java", 0.2, 0.0)];
    let lost = |lost| vec![SoftnetRow { cpu: 3, dropped_per_second: Some(lost), ..SoftnetRow::default() }];
    frame.softnet = lost(0.0);
    assert_eq!(verdict(&frame, ResourceKind::Softirq), Verdict::Full);
    assert_eq!(answer(&frame).verdict, Outcome::NotSaturated);
    frame.softnet = lost(500.0);
    let answer = answer(&frame);
    assert_eq!(
        (answer.verdict, answer.headline().as_str()),
        (Outcome::Imbalance, "imbalance: softirq CPU 3 at 95%, 500 drops and time squeezes/s; median of its peers 20%")
    );
}

#[test]
fn stolen_time_limits_who_wants_it() {
    let mut frame = healthy();
    let stolen = |busy, steal| Some(CpuShares { busy, steal, ..CpuShares::default() });
    frame.cpus[1].shares = stolen(0.6, 0.4);
    frame.processes = vec![process(7, "java", 0.6, 0.05)];
    assert_eq!(limit(&frame), Some(ResourceKind::Steal));
    // An idle guest loses nothing.
    (frame.cpus[0].shares, frame.cpus[1].shares) = (stolen(0.01, 0.0), stolen(0.02, 0.05));
    frame.processes.clear();
    frame.nics.clear();
    assert_eq!(answer(&frame).verdict, Outcome::Idle);
}

#[test]
fn thresholds_of_rules_move_no_limit() {
    let mut frame = healthy();
    frame.cpus[1] = cpu(3, 0.8, 0.0);
    let mut settings = Settings::default();
    settings.thresholds.insert(("CPU-01".to_owned(), "busy".to_owned()), 0.75);
    assert_eq!(settled(&frame, &[], &settings).1.verdict, Outcome::NotSaturated);
}

#[test]
fn a_link_of_unknown_capacity_is_never_headroom() {
    let mut frame = healthy();
    assert_eq!(
        of(&frame).get(ResourceKind::NicOut).map(Resource::summary),
        Some("NIC out eth0 at 42% of 10.0 Gbit/s".to_owned())
    );
    frame.nics.push(nic("eth1", Known::None, 0.0, 5e6));
    assert_eq!(answer(&frame).verdict, Outcome::NotSaturated, "little traffic and no drops: nothing waits");
    frame.nics[1] = nic("eth1", Known::None, 0.0, 9e7);
    assert_eq!(verdict(&frame, ResourceKind::NicOut), Verdict::Unknown);
    assert_eq!(
        of(&frame).get(ResourceKind::NicOut).map(Resource::summary),
        Some("NIC out eth1 at 720 Mbit/s".to_owned())
    );
    // It carries much, so it could be what limits; one that carries little could not.
    let answer_now = answer(&frame);
    assert_eq!(
        (answer_now.verdict, answer_now.headline().as_str()),
        (Outcome::Inconclusive, "inconclusive: NIC out eth1 (link capacity unknown) could be the limit")
    );
    // Unless another one is full.
    frame.nics[0] = nic("eth0", Known::Value(10_000), 1e8, 1.2e9);
    assert_eq!(
        (verdict(&frame, ResourceKind::NicIn), verdict(&frame, ResourceKind::NicOut)),
        (Verdict::Unknown, Verdict::Limiting)
    );
    assert_eq!(limit(&frame), Some(ResourceKind::NicOut));
    // One without a link carries nothing.
    frame.nics.truncate(1);
    frame.nics.push(Nic { carrier: Known::Value(false), ..nic("eth1", Known::Missing, 0.0, 0.0) });
    assert_eq!(verdict(&frame, ResourceKind::NicIn), Verdict::HasHeadroom);
    frame.nics.clear();
    assert_eq!(verdict(&frame, ResourceKind::NicIn), Verdict::HasHeadroom);
    frame.host.in_container = Known::Value(true);
    assert_eq!(verdict(&frame, ResourceKind::NicIn), Verdict::Unknown);
}

#[test]
fn a_busy_disk_is_at_its_limit_if_requests_take_longer() {
    let mut frame = healthy();
    frame.host.blocked = Known::Value(4);
    frame.processes = vec![Process { state: 'D', ..process(7, "postgres", 0.2, 0.0) }];
    let set = |frame: &mut Frame, utilisation, ms, depth| {
        let disk = &mut frame.disks[0];
        (disk.utilisation, disk.await_ms, disk.queue_depth) = (Some(utilisation), Known::Value(ms), Some(depth));
    };
    // Busy with one request at a time: more in flight would help.
    set(&mut frame, 1.0, 0.4, 1.0);
    let resource = of(&frame).get(ResourceKind::Disk).cloned().expect("a resource");
    assert_eq!((resource.verdict, resource.note), (Verdict::LatencyBound, note::NOT_QUEUEING));
    assert_eq!(
        answer(&frame).headline(),
        "nothing at its limit; tasks wait for disk sda at 100% busy, await 0.4 ms, which has headroom"
    );
    // A drive that serves hundreds at once.
    set(&mut frame, 1.0, 0.15, 60.0);
    assert_eq!(verdict(&frame, ResourceKind::Disk), Verdict::LatencyBound);
    set(&mut frame, 1.0, 80.0, 32.0);
    assert_eq!((verdict(&frame, ResourceKind::Disk), limit(&frame)), (Verdict::Limiting, Some(ResourceKind::Disk)));
    // Against what it needs without a queue.
    let mut state = Limits::default();
    frame.disks[0].reads_per_second = Some(2000.0);
    set(&mut frame, 0.3, 0.1, 0.3);
    state.judge_frame(&frame, &[], &Settings::default());
    set(&mut frame, 1.0, 0.9, 64.0);
    let judged = (0..10).map(|_| state.judge_frame(&frame, &[], &Settings::default())).last().expect("one");
    assert_eq!(judged.1.resource.map(|resource| resource.kind), Some(ResourceKind::Disk));
    (frame.disks[0].await_ms, frame.disks[0].queue_depth) = (Known::Missing, None);
    assert_eq!(verdict(&frame, ResourceKind::Disk), Verdict::Unknown);
}

#[test]
fn a_flooded_disk_is_judged_by_what_is_known_of_it() {
    let mut frame = healthy();
    frame.host.blocked = Known::Value(1);
    frame.processes = vec![Process { state: 'D', ..process(7, "fio", 0.1, 0.0) }];
    let disk = &mut frame.disks[0];
    (disk.reads_per_second, disk.rotational) = (Some(1400.0), Known::Value(true));
    (disk.utilisation, disk.await_ms, disk.queue_depth) = (Some(1.0), Known::Value(22.0), Some(32.0));
    assert_eq!(verdict(&frame, ResourceKind::Disk), Verdict::LatencyBound, "the disk's arm goes to and fro");
    // What a virtual disk says of moving parts is a default.
    frame.host.virtualization = "kvm".into();
    assert_eq!((verdict(&frame, ResourceKind::Disk), limit(&frame)), (Verdict::Limiting, Some(ResourceKind::Disk)));
    // Many requests at a time, none of them slow: nobody knows whether more would be served.
    let disk = &mut frame.disks[0];
    (disk.utilisation, disk.await_ms, disk.queue_depth) = (Some(0.92), Known::Value(0.7), Some(50.0));
    let unclear = answer(&frame);
    assert_eq!(
        (unclear.verdict, unclear.headline().as_str()),
        (
            Outcome::Inconclusive,
            "inconclusive: disk sda (busy; its unloaded latency is not known yet) could be the limit"
        )
    );
    frame.disks[0].await_ms = Known::Value(0.1);
    assert_eq!(answer(&frame).verdict, Outcome::NotSaturated, "as fast as a drive gets");
}

#[test]
fn unreadable_limits_are_unknown() {
    let mut frame = healthy();
    frame.cgroups = vec![group(2.0, 0.5, 0.0)];
    assert_eq!(
        of(&frame).get(ResourceKind::Quota).map(Resource::summary),
        Some("CPU quota db.service at 25% of 2 cores".to_owned())
    );
    let (path, needs) = ("sys/fs/cgroup/*/cpu.max".into(), "root".into());
    frame.gaps = vec![Gap { path, reason: Reason::PermissionDenied, count: 3, needs }];
    assert_eq!(verdict(&frame, ResourceKind::Quota), Verdict::Unknown);
    // A full one is limiting, whatever the others are.
    frame.cgroups = vec![group(2.0, 0.5, 0.9)];
    assert_eq!(verdict(&frame, ResourceKind::Quota), Verdict::Limiting);
    let unread = CgroupMemory { current_bytes: Known::Value(5), ..CgroupMemory::default() };
    frame.cgroups[0].memory = Some(unread);
    assert_eq!(verdict(&frame, ResourceKind::Memory), Verdict::Unknown);
}

#[test]
fn page_cache_at_a_limit_is_not_limiting() {
    let mut frame = healthy();
    let full = CgroupMemory {
        current_bytes: Known::Value(1000 << 20),
        limit_bytes: Known::Value(1000 << 20),
        effective_limit_bytes: Known::Value(1000 << 20),
        unreclaimable_bytes: Known::Value(100 << 20),
        refault_file_per_second: Some(0.0),
        ..CgroupMemory::default()
    };
    frame.cgroups = vec![Cgroup { memory: Some(full.clone()), ..group(9.0, 0.1, 0.0) }];
    frame.processes = vec![Process { cgroup: "/db.service".into(), ..process(7, "java", 0.5, 0.0) }];
    assert_eq!(verdict(&frame, ResourceKind::Memory), Verdict::Full);
    assert_eq!(answer(&frame).verdict, Outcome::NotSaturated);
    // What it read and lost has to be read again, and is waited for.
    let thrashing = CgroupMemory { refault_file_per_second: Some(41_000.0), ..full };
    frame.cgroups[0].memory = Some(thrashing);
    frame.processes[0].state = 'D';
    assert_eq!(verdict(&frame, ResourceKind::Memory), Verdict::Limiting);
    assert!(answer(&frame).headline().starts_with("limited by memory limit db.service at 100% of 1000.0 MiB"));
}

#[test]
fn host_memory_limits_if_tasks_wait_for_it() {
    let mut frame = healthy();
    frame.memory.available_bytes = Known::Value(1 << 20);
    let stall = |some| PressureStall { some_ratio: Some(some), ..PressureStall::default() };
    frame.pressure = vec![Pressure { resource: "memory".into(), stall: stall(0.0) }];
    assert_eq!(verdict(&frame, ResourceKind::Memory), Verdict::Full);
    frame.pressure[0].stall = stall(0.3);
    assert_eq!(verdict(&frame, ResourceKind::Memory), Verdict::Limiting);
}

#[test]
fn memory_bandwidth_is_measured_and_its_capacity_unknown() {
    let mut frame = healthy();
    let of = |frame: &Frame| of(frame).get(ResourceKind::Bandwidth).cloned().expect("it is listed");
    assert_eq!(of(&frame).note, note::NO_RESCTRL);
    let row = |l3, rate| MemoryBandwidth { l3, bytes_per_second: rate, ..MemoryBandwidth::default() };
    frame.memory_bandwidth = vec![row(0, None)];
    assert_eq!(of(&frame).note, note::NOT_MEASURED);
    frame.memory_bandwidth = vec![row(0, Some(1e9)), row(3, Some(3.0 * 1024f64.powi(3)))];
    assert_eq!(
        (of(&frame).verdict, of(&frame).summary()),
        (Verdict::Unknown, "memory bandwidth L3 3 at 3.0 GiB/s".into())
    );
    assert_eq!(answer(&frame).verdict, Outcome::NotSaturated, "it holds up no answer");
}

#[test]
fn a_full_file_system_is_at_capacity_and_limits_nobody() {
    let mut frame = healthy();
    let mount = |path: &str, free: u64, inodes_free: u64| Mount {
        path: path.into(),
        fs: "ext4".into(),
        total_bytes: Known::Value(100 << 30),
        used_bytes: Known::Value((100 << 30) - free),
        free_bytes: Known::Value(free),
        inodes_total: Known::Value(1000),
        inodes_free: Known::Value(inodes_free),
    };
    frame.disks[0].mounts = vec![mount("/", 50 << 30, 900), mount("/var", 40 << 30, 300)];
    let figure = |frame: &Frame| of(frame).get(ResourceKind::FileSystem).map(Resource::summary);
    assert_eq!(figure(&frame).as_deref(), Some("file system /var at 70% of 1000"), "inodes, of which fewer are left");
    assert_eq!(verdict(&frame, ResourceKind::FileSystem), Verdict::HasHeadroom);
    frame.disks[0].mounts[0] = mount("/", 0, 900);
    assert_eq!(figure(&frame).as_deref(), Some("file system / at 100% of 100.0 GiB"));
    assert_eq!(verdict(&frame, ResourceKind::FileSystem), Verdict::Full);
    assert_eq!(answer(&frame).verdict, Outcome::NotSaturated);
    frame.disks[0].mounts[0].fs = "squashfs".into();
    assert_eq!(verdict(&frame, ResourceKind::FileSystem), Verdict::HasHeadroom, "it was made full");
}

#[test]
fn remote_memory_requires_two_nodes_and_a_large_process_and_never_limits() {
    let mut frame = healthy();
    let node = |id| NodePlace { id, has_cpus: true, has_memory: true, ..NodePlace::default() };
    frame.topology = Arc::new(Topology { nodes: vec![node(0), node(1)], ..Topology::default() });
    assert_eq!(of(&frame).get(ResourceKind::Remote).map(|resource| resource.note), Some(note::NO_LARGE_PROCESS));
    frame.processes[0].cpu_cores = Some(0.8);
    assert_eq!(verdict(&frame, ResourceKind::Remote), Verdict::Unknown);
    let memory = |remote, error| Some(ProcessMemory { remote_ratio: Some(remote), error, ..ProcessMemory::default() });
    frame.processes[0].memory = memory(0.9, 0.03);
    assert_eq!(verdict(&frame, ResourceKind::Remote), Verdict::LatencyBound);
    assert_eq!(answer(&frame).verdict, Outcome::NotSaturated);
    frame.processes[0].memory = memory(0.52, 0.1);
    assert_eq!(verdict(&frame, ResourceKind::Remote), Verdict::Unknown);
    frame.processes[0].memory = memory(0.1, 0.1);
    assert_eq!(verdict(&frame, ResourceKind::Remote), Verdict::HasHeadroom);
}

#[test]
fn one_sample_has_no_rates_and_excludes_nothing() {
    let mut frame = healthy();
    frame.interval_seconds = None;
    frame.cpus.iter_mut().for_each(|cpu| cpu.shares = None);
    frame.processes[0].cpu_cores = None;
    frame.disks[0].utilisation = None;
    (frame.nics[0].rx, frame.nics[0].tx) = (NicRates::default(), NicRates::default());
    let resources = of(&frame);
    for kind in [
        ResourceKind::Cpus,
        ResourceKind::Core,
        ResourceKind::Thread,
        ResourceKind::Softirq,
        ResourceKind::Disk,
        ResourceKind::NicIn,
        ResourceKind::NicOut,
    ] {
        let resource = resources.get(kind).expect("a resource");
        assert_eq!((resource.verdict, resource.note), (Verdict::Unknown, note::NO_RATES), "{kind:?}");
    }
    assert_eq!(answer(&frame).verdict, Outcome::Inconclusive);
}

#[test]
fn a_machine_that_nobody_could_read_is_inconclusive_and_says_of_what() {
    let mut frame = Frame { interval_seconds: Some(1.0), ..Frame::default() };
    let nothing = of(&frame);
    let known = [ResourceKind::Cpuset, ResourceKind::Steal, ResourceKind::Conntrack];
    let mut others = nothing.iter().filter(|resource| !known.contains(&resource.kind));
    assert!(others.all(|resource| resource.verdict == Verdict::Unknown), "{nothing:?}");
    let blind = answer(&frame);
    assert_eq!(blind.verdict, Outcome::Inconclusive);
    assert!(blind.headline().starts_with("inconclusive: CPUs, core, thread, softirq, "), "{}", blind.headline());
    // Seven of eight are unknown, and the eighth is a full disk cache: no green tick.
    frame.memory = Memory { total_bytes: Known::Value(8), available_bytes: Known::Value(6), ..Memory::default() };
    assert_eq!(answer(&frame).verdict, Outcome::Inconclusive);
}

#[test]
fn findings_make_no_resource_limiting_and_explain_the_one_that_limits() {
    let mut frame = healthy();
    let open = [finding("BEAM-01", Severity::Critical, Subject::Cpu(0))];
    let (resources, answer) = settled(&frame, &open, &Settings::default());
    assert_eq!(resources.get(ResourceKind::Core).map(|resource| resource.verdict), Some(Verdict::HasHeadroom));
    assert_eq!((answer.verdict, answer.finding), (Outcome::NotSaturated, None));
    // Two threads that may run on core 3 only.
    frame.cpus[1] = cpu(3, 0.99, 0.0);
    frame.topology = Arc::new(Topology { cpus_online: crate::IdSet::from_ids([0, 3]), ..Topology::default() });
    let pinned =
        |pid| Process { affinity: Some(Arc::new(crate::IdSet::from_ids([3]))), ..process(pid, "beam.smp", 0.5, 0.5) };
    frame.processes = vec![pinned(7), pinned(8)];
    let open = [
        finding("BEAM-01", Severity::Warning, Subject::Cpu(3)),
        finding("IO-01", Severity::Critical, Subject::Disk("sda".into())),
    ];
    let (resources, answer) = settled(&frame, &open, &Settings::default());
    assert_eq!(
        answer.headline(),
        "imbalance: CPU 3 at 99%, tasks wait 50% of their time (BEAM-01); median of its peers 20%"
    );
    let rule = resources.get(ResourceKind::Core).and_then(|resource| resource.rule);
    assert_eq!(rule, Some((rules::erlang_bind_overlap::ID, Severity::Warning)));
}

#[test]
fn exclusions_are_one_line() {
    let mut frame = healthy();
    let open = finding("BEAM-01", Severity::Warning, Subject::Cpu(0));
    let line = |frame: &Frame, finding: &Finding| sentence(&exclusions(finding, &of(frame)));
    assert_eq!(
        line(&frame, &open),
        "has headroom: NIC (eth0 rx at 8% of 10.0 Gbit/s, eth0 tx at 42% of 10.0 Gbit/s), disk (sda at 3% busy, await 0.4 ms), \
         memory (host at 25% of 8.0 GiB)"
    );
    frame.nics[0].capacity_mbps = Known::None;
    frame.disks.clear();
    assert_eq!(
        line(&frame, &open),
        "has headroom: disk (no disk), memory (host at 25% of 8.0 GiB); unknown: NIC (link capacity unknown)"
    );
    assert_eq!(line(&frame, &finding("BEAM-01", Severity::Info, Subject::Cpu(0))), "");
    assert_eq!(line(&frame, &finding("META-01", Severity::Warning, Subject::Host)), "");
}

#[test]
fn a_whole_test_is_summed_up() {
    let mut tally = Tally::default();
    let mut state = Limits::default();
    let mut second = 0;
    let mut run = |tally: &mut Tally, seconds: u64, frame: &Frame| {
        for _ in 0..seconds {
            second += 1;
            let mut frame = frame.clone();
            frame.stamp = Stamp { seq: second, mono_ns: second * 1_000_000_000, ..Stamp::default() };
            let (resources, answer) = state.judge_frame(&frame, &[], &Settings::default());
            tally.take(&answer, &resources);
        }
    };
    run(&mut tally, 5, &healthy());
    assert!(tally.last().is_collecting() && tally.answers().is_empty() && !tally.was_limited());
    run(&mut tally, 10, &healthy());
    let mut full = healthy();
    full.cpus = vec![cpu(0, 0.99, 0.0), cpu(3, 1.0, 0.0)];
    run(&mut tally, 20, &full);
    assert_eq!(tally.last().headline(), "limited by the machine's CPUs at 100%");
    run(&mut tally, 20, &healthy());
    // The answer at the end, and what was so before.
    assert_eq!(tally.last().headline(), "nothing at its limit");
    assert!(tally.was_limited());
    let counts: Vec<_> = tally.answers().iter().map(|(answer, count)| (answer.verdict, *count)).collect();
    assert_eq!(counts, [(Outcome::NotSaturated, 28), (Outcome::Limited, 20)]);
}

proptest! {
    #[test]
    fn no_number_panics(
        busy in proptest::num::f64::ANY, bytes in proptest::num::f64::ANY, mbps: u64, total: u64, available: u64,
        quota in proptest::num::f64::ANY, limit: u64, used: u64,
    ) {
        let mut frame = healthy();
        frame.cpus[0] = cpu(0, busy, busy);
        frame.nics[0] = nic("eth0", Known::Value(mbps), bytes, bytes);
        frame.memory.total_bytes = Known::Value(total);
        frame.memory.available_bytes = Known::Value(available);
        let memory = CgroupMemory {
            current_bytes: Known::Value(used),
            effective_limit_bytes: Known::Value(limit),
            limit_bytes: Known::Value(limit),
            ..CgroupMemory::default()
        };
        frame.cgroups = vec![Cgroup { memory: Some(memory), ..group(quota, busy, busy) }];
        frame.processes = vec![process(7, "java", busy, busy)];
        let (resources, answer) = settled(&frame, &[], &Settings::default());
        for resource in resources.iter() {
            let _ = (resource.summary(), resource.headroom());
        }
        let _ = answer.line();
    }
}
