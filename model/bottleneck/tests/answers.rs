//! Machines whose limit is known, and what is said of them.

use super::*;
use crate::IdSet;

fn online(frame: &mut Frame, cpus: impl IntoIterator<Item = u32>) {
    frame.topology = Arc::new(Topology { cpus_online: IdSet::from_ids(cpus), ..Topology::default() });
}

/// A machine with CPUs that are so busy, and nothing else to it.
pub(super) fn machine(busy: &[f64]) -> Frame {
    let mut frame = healthy();
    frame.nics.clear();
    frame.cpus = busy.iter().enumerate().map(|(id, busy)| cpu(id as u32, *busy, 0.0)).collect();
    online(&mut frame, 0..busy.len() as u32);
    frame.host.blocked = Known::Value(0);
    frame
}

#[test]
fn an_idle_machine_is_idle() {
    let mut frame = machine(&[0.04, 0.02]);
    frame.processes = vec![process(7, "beam.smp", 0.03, 0.4)];
    let open = [finding("BEAM-01", Severity::Critical, Subject::Cpu(0))];
    let (_, answer) = settled(&frame, &open, &Settings::default());
    assert_eq!((answer.verdict, answer.headline().as_str()), (Outcome::Idle, "idle, nothing at its limit"));
}

#[test]
fn every_cpu_full_is_the_machine_full() {
    let mut frame = machine(&[1.0, 0.99]);
    frame.processes = (0..4).map(|at| process(10 + at, "sysbench", 0.5, 0.5)).collect();
    let answer = answer(&frame);
    assert_eq!(answer.line(), "limited by the machine's CPUs at 100%, tasks wait 50% of their time");
    assert_eq!(answer.next, None, "there is no room for more");
    // As many threads as CPUs: nothing queues, and more CPUs would help all the same.
    frame.processes = (0..2).map(|at| process(10 + at, "sysbench", 1.0, 0.0)).collect();
    assert_eq!(super::answer(&frame).headline(), "limited by the machine's CPUs at 100%");
}

#[test]
fn tasks_that_wait_while_cpus_idle_are_told() {
    let mut frame = machine(&[0.3, 0.4, 0.3, 0.2]);
    frame.processes = (0..4).map(|at| process(10 + at, "java", 0.3, 0.6)).collect();
    let held = answer(&frame);
    assert_eq!(held.verdict, Outcome::NotSaturated);
    assert_eq!(held.headline(), "nothing at its limit; tasks wait 60% of their time in run queues while CPUs are idle");
    // A few that wake up together wait for each other on a machine that is hardly used.
    let mut frame = machine(&[0.1, 0.1]);
    frame.processes = (0..4).map(|at| process(10 + at, "java", 0.05, 0.7)).collect();
    assert_eq!(answer(&frame).headline(), "nothing at its limit");
    // What comes at random queues as long as CPUs are busy: nothing strange.
    let mut frame = machine(&[0.6, 0.7, 0.6, 0.7]);
    frame.processes = (0..4).map(|at| process(10 + at, "java", 0.65, 0.5)).collect();
    assert_eq!(answer(&frame).headline(), "nothing at its limit");
}

#[test]
fn crowded_cpus_limit_before_they_are_full() {
    let crowd = |busy: f64, wait: f64| {
        let mut frame = machine(&[busy, busy]);
        frame.processes = (0..4).map(|at| process(10 + at, "x264", busy / 2.0, wait)).collect();
        frame
    };
    let line = "limited by the machine's CPUs at 89%, tasks wait 45% of their time";
    assert_eq!(answer(&crowd(0.89, 0.45)).line(), line);
    assert_eq!(answer(&crowd(0.89, 0.35)).verdict, Outcome::NotSaturated, "random arrivals wait so much");
    assert_eq!(answer(&crowd(0.84, 0.60)).verdict, Outcome::NotSaturated, "a lock may do that");
    let mut led = crowd(0.89, 0.45);
    led.processes.push(process(20, "writer", 0.85, 0.4));
    assert_ne!(answer(&led).resource.map(|resource| resource.kind), Some(ResourceKind::Cpus));
}

#[test]
fn an_idle_machine_has_its_cpus_nearest() {
    let mut frame = machine(&[0.01, 0.01]);
    frame.processes = vec![process(7, "cron", 0.02, 0.0)];
    let next = answer(&frame).next.map(|next| next.resource.kind);
    assert_eq!(next, Some(ResourceKind::Cpus), "not a thread that happens to be the busiest");
}

#[test]
fn one_busy_thread_is_what_limits() {
    let mut frame = machine(&[0.99, 0.05, 0.04, 0.03]);
    frame.processes = vec![process(10, "redis-server", 0.98, 0.0)];
    let answer = answer(&frame);
    assert_eq!(
        (answer.verdict, answer.headline().as_str()),
        (Outcome::Limited, "limited by thread redis-server 10 at 98%")
    );
    assert_eq!(answer.next.map(|next| next.resource.kind), Some(ResourceKind::Cpus));
}

#[test]
fn threads_that_are_full_in_turn_limit() {
    let idle = [0.99, 0.98, 0.04, 0.03, 0.02, 0.05, 0.01, 0.02];
    // Two workers of which now one, now the other is the busiest; then programs of a script, each for four seconds.
    for in_turn in [false, true] {
        let mut state = Limits::default();
        let mut named = Vec::new();
        for second in 0..24u64 {
            let mut frame = machine(&idle);
            frame.stamp = Stamp { seq: second, mono_ns: second * 1_000_000_000, ..Stamp::default() };
            let more = if second % 2 == 0 { 0.01 } else { -0.01 };
            frame.processes = if in_turn {
                vec![process(10 + second as u32 / 4, "gzip", 0.97, 0.0)]
            } else {
                vec![process(10, "nginx", 0.98 + more, 0.0), process(11, "nginx", 0.98 - more, 0.0)]
            };
            let answer = state.judge_frame(&frame, &[], &Settings::default()).1;
            named.extend(answer.resource.filter(|_| second >= 10).map(|resource| (resource.kind, resource.subject)));
        }
        assert!(named.iter().all(|(kind, _)| *kind == ResourceKind::Thread) && named.len() == 14, "{named:?}");
        named.dedup();
        assert_eq!(named.len(), if in_turn { 4 } else { 1 }, "{named:?}");
    }
}

#[test]
fn a_thread_of_the_kernel_limits_unless_another_resource_counts_it() {
    let mut frame = machine(&[0.99, 0.05, 0.04, 0.03]);
    let threads = |comm| vec![Process { kernel: true, ..process(902, comm, 1.0, 0.0) }, process(7, "qemu", 0.1, 0.0)];
    frame.processes = threads("vhost-900");
    assert_eq!(answer(&frame).headline(), "limited by thread vhost-900 902 at 100%");
    frame.processes = threads("ksoftirqd/0");
    assert_ne!(answer(&frame).resource.map(|resource| resource.kind), Some(ResourceKind::Thread));
    // Whoever polls on purpose is full all the time.
    frame.processes = vec![process(7, "lcore-worker-7", 1.0, 0.0)];
    assert_ne!(answer(&frame).resource.map(|resource| resource.kind), Some(ResourceKind::Thread));
}

#[test]
fn a_shaped_link_of_another_namespace_limits_who_is_in_it() {
    let mut frame = machine(&[0.1, 0.05]);
    frame.processes = vec![process(40, "iperf3", 0.1, 0.0)];
    let shaper = |bytes, overlimits| crate::frame::Shaper {
        name: "eth0".into(),
        kind: "tbf".into(),
        bytes_per_second: Some(bytes),
        rate_bytes_per_second: Some(25_000_000),
        overlimits_per_second: Some(overlimits),
        ..crate::frame::Shaper::default()
    };
    let of =
        |shaper| crate::frame::NetNamespace { netns: 7, pid: 40.into(), shapers: vec![shaper], ..Default::default() };
    frame.net_namespaces = vec![of(shaper(24.8e6, 900.0))];
    assert_eq!(answer(&frame).headline(), "limited by NIC out eth0@iperf3 40 at 99% of 200 Mbit/s");
    frame.net_namespaces = vec![of(shaper(3e6, 0.0))];
    assert_ne!(answer(&frame).verdict, Outcome::Limited, "it lets more through");
}

#[test]
fn steal_limits_who_wants_a_cpu() {
    let mut frame = machine(&[0.01, 0.01, 0.01, 0.01]);
    let steal = |frame: &mut Frame, busy: f64, steal: f64| {
        for shares in frame.cpus.iter_mut().filter_map(|cpu| cpu.shares.as_mut()) {
            (shares.busy, shares.steal) = (busy, steal);
        }
    };
    steal(&mut frame, 0.08, 0.05);
    assert_ne!(answer(&frame).verdict, Outcome::Limited, "nothing on it wants much");
    steal(&mut frame, 0.5, 0.4);
    assert_eq!(answer(&frame).resource.map(|resource| resource.kind), Some(ResourceKind::Steal));
}

#[test]
fn an_array_that_the_kernel_checks_limits_nobody() {
    let mut frame = machine(&[0.1, 0.05]);
    let disk = crate::frame::Disk {
        utilisation: Some(1.0),
        rotational: Known::Value(true),
        reads_per_second: Some(380.0),
        read_bytes_per_second: Some(190e6),
        writes_per_second: Some(0.0),
        queue_depth: Some(24.0),
        await_ms: Known::Value(63.0),
        read_await_ms: Known::Value(63.0),
        ..frame.disks[0].clone()
    };
    frame.disks = vec![disk];
    let reads = |bytes| Process { has_io: true, read_bytes_per_second: Some(bytes), ..process(7, "tar", 0.1, 0.0) };
    frame.processes = vec![reads(0.0)];
    assert_ne!(answer(&frame).verdict, Outcome::Limited);
    frame.processes = vec![reads(150e6)];
    assert_eq!(answer(&frame).resource.map(|resource| resource.kind), Some(ResourceKind::Disk));
}

#[test]
fn threads_that_have_just_started_are_unknown_for_a_moment() {
    let mut frame = machine(&[0.99, 0.05, 0.04, 0.03]);
    frame.processes = vec![Process { threads: 2.into(), ..process(7, "rustc", 0.97, 0.0) }];
    let thread = |tid, cores| crate::frame::Thread { pid: 7, tid, cpu_cores: cores, ..crate::frame::Thread::default() };
    frame.threads = vec![thread(7, Some(0.01)), thread(8, None)];
    let of = |frame: &Frame| of(frame).get(ResourceKind::Thread).map(|resource| resource.verdict);
    assert_eq!(of(&frame), Some(Verdict::Unknown));
    frame.threads[1].cpu_cores = Some(0.5);
    assert_eq!(of(&frame), Some(Verdict::HasHeadroom));
}

#[test]
fn a_device_on_top_is_judged_where_requests_wait_in_it() {
    let mut frame = machine(&[0.2, 0.1]);
    let below = frame.disks.first().cloned().unwrap_or_default();
    let disk = |name: &str, lower: &[&str], busy, ms: f64, depth| crate::frame::Disk {
        name: name.into(),
        lower: lower.iter().map(|name| Arc::from(*name)).collect(),
        utilisation: Some(busy),
        reads_per_second: Some(900.0),
        writes_per_second: Some(0.0),
        read_await_ms: Known::Value(ms),
        await_ms: Known::Value(ms),
        queue_depth: Some(depth),
        ..below.clone()
    };
    frame.disks = vec![disk("sda", &[], 0.09, 0.1, 0.1), disk("dm-0", &["sda"], 1.0, 50.0, 50.0)];
    frame.processes = vec![Process { state: 'D', ..process(7, "mysqld", 0.2, 0.0) }];
    frame.host.blocked = Known::Value(4);
    let named = |frame: &Frame| answer(frame).resource.map(|resource| resource.name.to_string());
    assert_eq!(named(&frame).as_deref(), Some("dm-0"));
    // What waits below waits in both.
    frame.disks[0] = disk("sda", &[], 1.0, 48.0, 48.0);
    assert_eq!(named(&frame).as_deref(), Some("sda"));
    // What encrypts on the way to the disk gets no CPU.
    frame.disks[0] = disk("sda", &[], 0.09, 0.1, 0.1);
    frame.cpus = machine(&[1.0, 1.0]).cpus;
    frame.processes.extend((10..14).map(|pid| process(pid, "stress-ng", 0.5, 0.5)));
    assert_eq!(answer(&frame).resource.map(|resource| resource.kind), Some(ResourceKind::Cpus));
}

#[test]
fn an_even_load_limits_nothing() {
    let mut frame = machine(&[0.8, 0.82, 0.79, 0.81]);
    frame.processes = (0..8).map(|at| process(10 + at, "nginx", 0.4, 0.03)).collect();
    let answer = answer(&frame);
    assert_eq!(answer.line(), "nothing at its limit; nearest: the machine's CPUs at 80%, headroom ≤ 1.2×");
}

#[test]
fn a_pinned_pair_is_an_imbalance() {
    let mut frame = machine(&[1.0, 0.1]);
    let pinned =
        |pid| Process { affinity: Some(Arc::new(IdSet::from_ids([0]))), ..process(pid, "stress-ng", 0.5, 0.5) };
    frame.processes = vec![pinned(10), pinned(11)];
    let answer = answer(&frame);
    assert_eq!(
        (answer.verdict, answer.headline().as_str()),
        (Outcome::Imbalance, "imbalance: CPU 0 at 100%, tasks wait 50% of their time; median of its peers 10%")
    );
    // With the other one full as well, it is the machine.
    let mut frame = machine(&[1.0, 1.0]);
    frame.processes = vec![pinned(10), pinned(11), process(12, "stress-ng", 1.0, 0.0)];
    assert_eq!(limit(&frame), Some(ResourceKind::Cpus));
}

#[test]
fn eight_nodes_evenly_used_and_an_even_card_limit_nothing() {
    let mut frame = machine(&[0.4; 64]);
    frame.processes = (0..32).map(|at| process(10 + at, "worker", 0.8, 0.02)).collect();
    frame.cpus.iter_mut().take(16).for_each(|cpu| {
        cpu.shares = Some(CpuShares { busy: 0.45, softirq: 0.3, user: 0.15, idle: 0.55, ..CpuShares::default() });
    });
    frame.softnet =
        (0..16).map(|cpu| SoftnetRow { cpu, dropped_per_second: Some(0.0), ..SoftnetRow::default() }).collect();
    frame.nics = vec![nic("eth0", Known::Value(25_000), 1e9, 1e8)];
    assert_eq!(answer(&frame).verdict, Outcome::NotSaturated);
    assert!(of(&frame).iter().all(has_headroom), "{:?}", of(&frame));
}

#[test]
fn a_fast_drive_at_its_ease_limits_nothing() {
    let mut frame = machine(&[0.5, 0.5]);
    frame.host.blocked = Known::Value(8);
    frame.processes = (0..8).map(|at| Process { state: 'D', ..process(10 + at, "fio", 0.1, 0.0) }).collect();
    let disk = &mut frame.disks[0];
    (disk.utilisation, disk.queue_depth, disk.await_ms) = (Some(1.0), Some(15.0), Known::Value(0.15));
    disk.reads_per_second = Some(100_000.0);
    assert_eq!(answer(&frame).verdict, Outcome::NotSaturated);
}

#[test]
fn a_fast_drive_is_at_its_capacity_where_megabytes_are_in_flight() {
    let mut frame = machine(&[0.2, 0.2]);
    frame.host.blocked = Known::Value(1);
    frame.processes = vec![Process { state: 'D', ..process(10, "fio", 0.1, 0.0) }];
    let disk = &mut frame.disks[0];
    (disk.utilisation, disk.queue_depth, disk.await_ms) = (Some(1.0), Some(16.0), Known::Value(5.3));
    (disk.reads_per_second, disk.writes_per_second) = (Some(0.0), Some(3000.0));
    (disk.read_bytes_per_second, disk.write_bytes_per_second) = (Some(0.0), Some(3000.0 * 1_048_576.0));
    assert_eq!(limit(&frame), Some(ResourceKind::Disk));
    // As many requests of 4 KiB are a small part of what it takes.
    (frame.disks[0].write_bytes_per_second, frame.disks[0].await_ms) = (Some(3000.0 * 4096.0), Known::Value(0.2));
    assert_eq!(limit(&frame), None);
}

#[test]
fn headroom_is_never_more_than_the_cpus_have_left() {
    let mut frame = machine(&[0.7, 0.6, 0.65, 0.6]);
    frame.processes = (0..10).map(|at| process(10 + at, "worker", 0.25, 0.02)).collect();
    frame.nics = vec![nic("eth0", Known::Value(10_000), 1e6, 1e6)];
    let next = answer(&frame).next.expect("the CPUs");
    assert!(next.resource.kind == ResourceKind::Cpus && next.headroom < 1.5, "{next:?}");
}

#[test]
fn what_is_full_for_a_moment_is_the_nearest() {
    let mut state = Limits::default();
    let mut judged = |cores| {
        let mut frame = machine(&[0.5, 0.5]);
        frame.processes = vec![process(7, "worker", cores, 0.0)];
        state.judge_frame(&frame, &[], &Settings::default()).1
    };
    (0..10).for_each(|_| drop(judged(0.7)));
    let answer = judged(0.95);
    let next = answer.next.expect("the thread");
    assert_eq!((answer.verdict, next.resource.kind), (Outcome::NotSaturated, ResourceKind::Thread));
    assert!((next.headroom - 1.0).abs() < 1e-9, "{next:?}");
}

#[test]
fn the_answer_does_not_flicker() {
    let mut state = Limits::default();
    let mut changes = Vec::new();
    for second in 0..120u64 {
        let mut frame = if second % 3 == 0 { machine(&[0.9, 0.8]) } else { machine(&[1.0, 1.0]) };
        frame.stamp = Stamp { seq: second, mono_ns: second * 1_000_000_000, ..Stamp::default() };
        let (_, answer) = state.judge_frame(&frame, &[], &Settings::default());
        if changes.last().is_none_or(|(_, verdict)| *verdict != answer.verdict) {
            changes.push((second, answer.verdict));
        }
    }
    // Seven of ten samples are too few.
    assert_eq!(changes, [(0, Outcome::Inconclusive), (7, Outcome::NotSaturated)]);
    let mut state = Limits::default();
    let mut changes = Vec::new();
    for second in 0..300u64 {
        // Another one of two every four seconds.
        let mut frame = if second / 4 % 2 == 0 { machine(&[1.0, 1.0]) } else { machine(&[0.0, 0.0]) };
        frame.stamp = Stamp { seq: second, mono_ns: second * 1_000_000_000, ..Stamp::default() };
        let (_, answer) = state.judge_frame(&frame, &[], &Settings::default());
        if changes.last().is_none_or(|(_, verdict)| *verdict != answer.verdict) {
            changes.push((second, answer.verdict));
        }
    }
    assert!(changes.windows(2).skip(1).all(|pair| pair[1].0 - pair[0].0 >= 10), "{changes:?}");
}

#[test]
fn what_limits_while_an_earlier_answer_stands_is_the_nearest() {
    let mut state = Limits::default();
    let (mut loaded, mut held) = (true, 0);
    for second in 0..60u64 {
        let mut frame = machine(if loaded { &[1.0, 1.0] } else { &[0.0, 0.0] });
        frame.stamp = Stamp { seq: second, mono_ns: second * 1_000_000_000, ..Stamp::default() };
        let (resources, answer) = state.judge_frame(&frame, &[], &Settings::default());
        // The load ends, and comes back as soon as the answer has changed.
        loaded = second < 20 || answer.resource.is_none();
        let limits = resources.get(ResourceKind::Cpus).is_some_and(|cpus| cpus.verdict == Verdict::Limiting);
        if limits && answer.resource.is_none() && answer.verdict != Outcome::Inconclusive {
            held += 1;
            assert_eq!(answer.next.as_ref().map(|next| next.resource.kind), Some(ResourceKind::Cpus));
        }
    }
    assert!(held > 0);
}

#[test]
fn a_full_accept_queue_limits_unless_who_accepts_is_held_up() {
    let mut frame = machine(&[0.3, 0.2]);
    frame.processes = vec![process(10, "nginx", 0.4, 0.02)];
    frame.net_namespaces[0].listen_overflows_per_second = Some(50.0);
    frame.net_namespaces[0].passive_opens_per_second = Some(150.0);
    assert_eq!(limit(&frame), Some(ResourceKind::Tcp));
    frame.processes = vec![process(10, "nginx", 0.97, 0.02)];
    assert_eq!(limit(&frame), Some(ResourceKind::Thread));
}

#[test]
fn waits_shorter_than_samples_are_apart_are_known_from_pressure() {
    let mut frame = machine(&[0.2, 0.1]);
    let memory = CgroupMemory {
        current_bytes: Known::Value(128 << 20),
        limit_bytes: Known::Value(128 << 20),
        effective_limit_bytes: Known::Value(128 << 20),
        refault_file_per_second: Some(4000.0),
        ..CgroupMemory::default()
    };
    frame.cgroups = vec![Cgroup { path: "/job".into(), version: 1, memory: Some(memory), ..Cgroup::default() }];
    let reader = Process { cgroup: "/job".into(), read_bytes_per_second: Some(16e6), ..process(10, "fio", 0.2, 0.0) };
    frame.processes = vec![reader];
    assert_eq!(limit(&frame), None);
    let stall = PressureStall { some_ratio: Some(0.7), ..PressureStall::default() };
    frame.pressure = vec![Pressure { resource: "io".into(), stall }];
    assert_eq!(limit(&frame), Some(ResourceKind::Memory));
}

#[test]
fn interrupts_of_a_core_limit_and_not_the_thread_that_is_charged_with_them() {
    let mut frame = machine(&[1.0, 0.5]);
    let sender = Process { last_cpu: Known::Value(0), ..process(10, "iperf3", 0.98, 0.0) };
    frame.processes = vec![sender, process(11, "iperf3", 0.4, 0.1)];
    frame.cpus[0].shares = Some(CpuShares { busy: 1.0, softirq: 0.87, system: 0.13, ..CpuShares::default() });
    frame.softnet = vec![SoftnetRow {
        cpu: 0,
        dropped_per_second: Some(0.0),
        time_squeeze_per_second: Some(0.0),
        processed_per_second: Some(40_000.0),
        ..SoftnetRow::default()
    }];
    let held = answer(&frame);
    assert_eq!(
        (held.verdict, held.resource.map(|resource| resource.kind)),
        (Outcome::Imbalance, Some(ResourceKind::Softirq))
    );
    // One that polls its queue alone is full with its core, and never squeezed.
    let mut polling = frame.clone();
    let poller = Process { kernel: true, last_cpu: Known::Value(0), ..process(12, "napi/eth0-8193", 0.96, 0.0) };
    polling.processes = vec![poller, process(11, "iperf3", 0.4, 0.0)];
    assert_eq!(limit(&polling), Some(ResourceKind::Softirq));
    // With less than half of them it is the thread.
    frame.cpus[0].shares = Some(CpuShares { busy: 1.0, softirq: 0.3, system: 0.7, ..CpuShares::default() });
    assert_eq!(limit(&frame), Some(ResourceKind::Thread));
    // A sender elsewhere is not what limits where the other core drops what it sends.
    frame.processes[0].last_cpu = Known::Value(1);
    frame.cpus[0].shares = Some(CpuShares { busy: 1.0, softirq: 0.95, system: 0.05, ..CpuShares::default() });
    frame.softnet[0].dropped_per_second = Some(100_000.0);
    assert_eq!(limit(&frame), Some(ResourceKind::Softirq));
}

#[test]
fn a_full_thread_limits_until_every_cpu_is_full() {
    let mut frame = machine(&[0.98, 0.90]);
    frame.processes = vec![process(10, "memcached", 0.96, 0.0), process(11, "memaslap", 0.88, 0.0)];
    assert_eq!(limit(&frame), Some(ResourceKind::Thread), "the machine is at 94%, and neither is at its limit");
    // A hypervisor takes a part of the time, and somebody else a turn now and then.
    frame.processes[0] = process(10, "memcached", 0.85, 0.04);
    frame.cpus = [0.92, 0.80].into_iter().zip(0..).map(|(busy, id)| cpu(id, busy, 0.0)).collect();
    let shares = frame.cpus[0].shares.as_mut().expect("shares");
    shares.steal = 0.06;
    assert_eq!(limit(&frame), Some(ResourceKind::Thread));
    frame.cpus = vec![cpu(0, 0.99, 0.0), cpu(1, 0.97, 0.0)];
    assert_eq!(limit(&frame), Some(ResourceKind::Cpus));
}

#[test]
fn a_hypervisor_that_takes_the_cpus_limits() {
    let mut frame = machine(&[0.6, 0.6]);
    for cpu in &mut frame.cpus {
        cpu.shares = Some(CpuShares { busy: 0.6, user: 0.6, steal: 0.4, ..CpuShares::default() });
    }
    frame.processes = (0..2).map(|at| process(10 + at, "java", 0.6, 0.4)).collect();
    let answer = answer(&frame);
    assert_eq!(
        (answer.verdict, answer.resource.map(|resource| resource.kind)),
        (Outcome::Limited, Some(ResourceKind::Steal))
    );
}

#[test]
fn a_writer_that_is_held_until_the_disk_has_written_is_limited_by_the_disk() {
    let mut frame = machine(&[0.2, 0.1]);
    frame.host.blocked = Known::Value(2);
    frame.memory.writeback_bytes = Known::Value(64 << 20);
    frame.processes = vec![Process { state: 'D', blocked_threads: 1, ..process(10, "dd", 0.15, 0.0) }];
    let disk = &mut frame.disks[0];
    (disk.utilisation, disk.queue_depth, disk.await_ms) = (Some(1.0), Some(60.0), Known::Value(400.0));
    (disk.writes_per_second, disk.write_bytes_per_second) = (Some(150.0), Some(75e6));
    assert_eq!(limit(&frame), Some(ResourceKind::Disk));
}

#[test]
fn one_of_two_disks_that_is_full_is_named() {
    let mut frame = machine(&[0.2, 0.1]);
    let mut full = frame.disks[0].clone();
    full.name = "sdb".into();
    (full.utilisation, full.queue_depth, full.await_ms) = (Some(1.0), Some(32.0), Known::Value(80.0));
    full.reads_per_second = Some(400.0);
    frame.disks.push(full);
    frame.host.blocked = Known::Value(8);
    frame.processes = (0..8).map(|at| Process { state: 'D', ..process(10 + at, "fio", 0.02, 0.0) }).collect();
    let answer = answer(&frame);
    let named = answer.resource.map(|resource| (resource.kind, resource.name.to_string()));
    assert_eq!(named, Some((ResourceKind::Disk, "sdb".into())));
}

#[test]
fn pages_that_come_back_from_swap_are_the_memory_that_is_short() {
    let mut frame = machine(&[0.3, 0.3]);
    frame.memory.available_bytes = frame.memory.total_bytes.map(|total| total / 50);
    (frame.memory.swap_total_bytes, frame.memory.swap_free_bytes) = (Known::Value(4 << 30), Known::Value(1 << 30));
    frame.memory.pswpin_per_second = Some(5000.0);
    let stall = PressureStall { some_ratio: Some(0.6), ..PressureStall::default() };
    frame.pressure = vec![Pressure { resource: "memory".into(), stall }];
    frame.processes = (0..2).map(|at| Process { state: 'D', ..process(10 + at, "hog", 0.2, 0.0) }).collect();
    let disk = &mut frame.disks[0];
    (disk.utilisation, disk.queue_depth, disk.await_ms) = (Some(1.0), Some(12.0), Known::Value(40.0));
    (disk.reads_per_second, disk.read_bytes_per_second) = (Some(5000.0), Some(20e6));
    assert_eq!(limit(&frame), Some(ResourceKind::Memory));
}

#[test]
fn memory_that_is_waited_for_and_not_short_is_named() {
    let mut frame = machine(&[0.5, 0.5]);
    frame.processes = vec![process(10, "java", 0.5, 0.0)];
    (frame.memory.total_bytes, frame.memory.available_bytes) = (Known::Value(64 << 30), Known::Value(30 << 30));
    let words = answer(&frame).headline();
    assert!(!words.contains("wait"), "{words}");
    let stall = PressureStall { some_ratio: Some(0.3), ..PressureStall::default() };
    frame.pressure = vec![Pressure { resource: "memory".into(), stall }];
    let words = answer(&frame).headline();
    assert!(words.starts_with("nothing at its limit; tasks wait for memory"), "{words}");
}

#[test]
fn a_full_table_of_connections_limits_where_it_turns_some_away() {
    let mut frame = machine(&[0.3, 0.3]);
    frame.processes = vec![process(10, "nginx", 0.3, 0.0)];
    (frame.kernel_tables.conntrack, frame.kernel_tables.conntrack_limit) = (Known::Value(1000), Known::Value(1000));
    frame.net_namespaces[0].conntrack_drops_per_second = Some(0.0);
    assert_eq!(limit(&frame), None);
    frame.net_namespaces[0].conntrack_drops_per_second = Some(300.0);
    assert_eq!(limit(&frame), Some(ResourceKind::Conntrack));
    let words = answer(&frame).headline();
    assert!(words.contains("300.0 refused/s") && !words.contains("wait"), "{words}");
}

#[test]
fn a_full_link_limits_also_where_nobody_here_waits() {
    let mut frame = machine(&[0.3, 0.3]);
    frame.processes = vec![process(10, "iperf3", 0.3, 0.0)];
    frame.nics = vec![nic("eth0", Known::Value(1000), 1e5, 0.96 * 125e6)];
    assert_eq!(limit(&frame), Some(ResourceKind::NicOut));
}

#[test]
fn waits_for_locks_and_peers_limit_nothing() {
    let mut frame = machine(&[0.15, 0.12]);
    frame.processes = (0..4).map(|at| process(10 + at, "java", 0.06, 0.002)).collect();
    assert_eq!(answer(&frame).verdict, Outcome::NotSaturated);
}
