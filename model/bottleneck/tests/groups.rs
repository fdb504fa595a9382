//! Control groups and their limits, and limits of processes.

use super::answers::machine;
use super::*;
use crate::IdSet;

#[test]
fn a_quota_explains_what_its_group_waits_for() {
    let mut frame = machine(&[0.3, 0.3]);
    frame.cgroups = vec![group(0.5, 0.5, 1.0)];
    frame.processes = vec![Process { cgroup: "/db.service".into(), ..process(10, "sysbench", 0.5, 0.5) }];
    let answer = answer(&frame);
    assert_eq!(
        (answer.verdict, answer.headline().as_str()),
        (Outcome::Limited, "limited by CPU quota db.service at 100% of 0.5 cores, tasks wait 50% of their time")
    );
    // A sidecar that is throttled is not what the machine waits for.
    frame.cpus = vec![cpu(0, 0.6, 0.0), cpu(1, 0.5, 0.0)];
    frame.cgroups = vec![group(0.02, 0.02, 1.0)];
    frame.processes = vec![
        Process { cgroup: "/db.service".into(), ..process(10, "agent", 0.02, 0.5) },
        process(11, "java", 1.0, 0.0),
    ];
    assert_eq!(super::answer(&frame).verdict, Outcome::Limited, "one thread of java");
    assert_eq!(limit(&frame), Some(ResourceKind::Thread));
}

#[test]
fn a_cpuset_limits_its_group() {
    let mut frame = machine(&[1.0, 0.1]);
    let cpus = Some(Arc::new(IdSet::from_ids([0])));
    frame.cgroups = vec![Cgroup { path: "/web".into(), version: 2, cpuset_cpus: cpus, ..Cgroup::default() }];
    let inside = |pid| Process { cgroup: "/web".into(), ..process(pid, "sysbench", 0.25, 0.75) };
    frame.processes = (0..4).map(|at| inside(10 + at)).collect();
    let answer = answer(&frame);
    assert_eq!(
        (answer.verdict, answer.headline().as_str()),
        (Outcome::Limited, "limited by cpuset web at 100% of 1 core, tasks wait 75% of their time")
    );
}

#[test]
fn what_a_small_limit_drives_out_explains_disk_and_system_time() {
    let mut frame = machine(&[0.9, 0.3]);
    let memory = CgroupMemory {
        current_bytes: Known::Value(128 << 20),
        limit_bytes: Known::Value(128 << 20),
        effective_limit_bytes: Known::Value(128 << 20),
        refault_file_per_second: Some(50_000.0),
        ..CgroupMemory::default()
    };
    frame.cgroups = vec![Cgroup { path: "/job".into(), version: 1, memory: Some(memory), ..Cgroup::default() }];
    frame.processes = vec![Process { cgroup: "/job".into(), ..process(10, "fio", 0.97, 0.0) }];
    let disk = &mut frame.disks[0];
    (disk.utilisation, disk.queue_depth, disk.await_ms) = (Some(1.0), Some(32.0), Known::Value(60.0));
    (disk.reads_per_second, disk.read_bytes_per_second) = (Some(1600.0), Some(200e6));
    let answer = answer(&frame);
    assert_eq!(
        answer.resource.map(|resource| (resource.kind, resource.name.to_string())),
        Some((ResourceKind::Memory, "job".into()))
    );
}

#[test]
fn an_io_limit_holds_a_group_while_the_device_has_time() {
    let mut frame = machine(&[0.1, 0.05]);
    let limits = IoLimits { reads: Known::Value(100), ..IoLimits::default() };
    let io =
        CgroupIoRate { dev: 7, reads_per_second: 100.0, read_bytes_per_second: 4e5, limits, ..CgroupIoRate::default() };
    frame.cgroups = vec![Cgroup { path: "/job".into(), version: 1, io: vec![io], ..Cgroup::default() }];
    frame.disks[0].dev = 7;
    frame.disks[0].utilisation = Some(0.02);
    frame.processes = vec![Process { cgroup: "/job".into(), state: 'D', ..process(10, "fio", 0.01, 0.0) }];
    let held = answer(&frame);
    assert_eq!(held.headline(), "limited by I/O throttle job at 100% of 100/s, tasks wait 99% of their time");
    assert_eq!(held.confidence, Confidence::Medium);
    // Of version 1, the group that counts its I/O need not be the one that counts its memory.
    (frame.processes[0].cgroup, frame.processes[0].io_cgroup) = ("/".into(), "/job".into());
    assert_eq!(answer(&frame).headline(), held.headline());
    frame.processes[0].io_cgroup = "/other".into();
    assert_eq!(limit(&frame), None, "nobody in it waits");
    frame.processes[0].io_cgroup = "/job".into();
    // What a memory limit drives out is read again through an I/O limit that another hierarchy has on the same tasks.
    let full = CgroupMemory {
        current_bytes: Known::Value(128 << 20),
        limit_bytes: Known::Value(128 << 20),
        effective_limit_bytes: Known::Value(128 << 20),
        refault_file_per_second: Some(100.0),
        ..CgroupMemory::default()
    };
    let mut thrashing = frame.clone();
    thrashing.cgroups.push(Cgroup { path: "/mem".into(), version: 1, memory: Some(full), ..Cgroup::default() });
    thrashing.processes[0].cgroup = "/mem".into();
    assert_eq!(limit(&thrashing), Some(ResourceKind::Memory));
    thrashing.processes[0].cgroup = "/".into();
    assert_eq!(limit(&thrashing), Some(ResourceKind::IoThrottle), "other tasks are in that group");
    // Below its limit it is not held.
    frame.cgroups[0].io[0].reads_per_second = 60.0;
    frame.processes[0].state = 'S';
    assert_eq!(answer(&frame).verdict, Outcome::Idle);
}

#[test]
fn a_quota_of_version_1_is_measured_by_its_tasks_where_their_time_is_counted_elsewhere() {
    let mut frame = machine(&[0.3, 0.2]);
    let mut held = group(0.5, 0.0, 0.9);
    (held.version, held.cpu.usage_cores) = (1, None);
    frame.cgroups = vec![held];
    let java = process(10, "java", 0.5, 0.6);
    frame.processes = vec![Process { cgroup: "/".into(), cpu_cgroup: "/db.service".into(), ..java }];
    for usage in [None, Some(0.0)] {
        frame.cgroups[0].cpu.usage_cores = usage;
        let held = answer(&frame).resource.expect("a limit");
        assert_eq!((held.kind, held.used), (ResourceKind::Quota, Some((0.5, "cores"))));
    }
    frame.processes[0].cpu_cgroup = "/".into();
    assert_eq!(limit(&frame), None, "its tasks are not in that group");
}

#[test]
fn a_quota_whose_use_is_unread_is_judged_by_what_is_throttled() {
    let mut frame = machine(&[0.6, 0.5]);
    frame.processes = vec![process(10, "python3", 1.0, 0.4)];
    frame.cgroups = vec![group(0.5, 0.0, 0.0)];
    let unread = |periods, throttled| CgroupCpu {
        quota_cores: Known::Value(0.5),
        periods: Some(periods),
        throttled_ratio: throttled,
        ..CgroupCpu::default()
    };
    for (cpu, verdict) in [(unread(0, None), Verdict::HasHeadroom), (unread(10, Some(0.0)), Verdict::Unknown)] {
        frame.cgroups[0].cpu = cpu;
        assert_eq!(super::verdict(&frame, ResourceKind::Quota), verdict);
        assert_ne!(answer(&frame).verdict, Outcome::Inconclusive);
    }
    frame.cgroups[0].cpu.throttled_ratio = Some(0.5);
    frame.processes = vec![process(10, "python3", 0.6, 0.4)];
    assert_eq!(answer(&frame).verdict, Outcome::Inconclusive);
}

#[test]
fn a_group_that_may_not_start_more_tasks_limits() {
    let mut frame = machine(&[0.2, 0.2]);
    frame.processes = vec![process(10, "xargs", 0.3, 0.0)];
    frame.cgroups = vec![Cgroup {
        path: "/job".into(),
        version: 1,
        pids: Known::Value(14),
        pids_limit: Known::Value(16),
        pids_refused_per_second: Some(12.0),
        ..Cgroup::default()
    }];
    assert_eq!(limit(&frame), Some(ResourceKind::Pids));
    frame.cgroups[0].pids_refused_per_second = Some(0.0);
    assert_eq!(limit(&frame), None);
}

#[test]
fn refaults_that_kernels_count_in_steps_are_taken_in_the_mean() {
    let memory = |refaults| CgroupMemory {
        current_bytes: Known::Value(128 << 20),
        limit_bytes: Known::Value(128 << 20),
        effective_limit_bytes: Known::Value(128 << 20),
        refault_file_per_second: Some(refaults),
        ..CgroupMemory::default()
    };
    let mut frame = machine(&[0.2, 0.1]);
    frame.processes =
        vec![Process { cgroup: "/job".into(), read_bytes_per_second: Some(16e6), ..process(10, "fio", 0.2, 0.0) }];
    let stall = PressureStall { some_ratio: Some(0.7), ..PressureStall::default() };
    frame.pressure = vec![Pressure { resource: "io".into(), stall }];
    let mut state = Limits::default();
    let mut last = Bottleneck::default();
    for second in 0..20 {
        let refaults = if second % 2 == 0 { 8000.0 } else { 0.0 };
        frame.cgroups =
            vec![Cgroup { path: "/job".into(), version: 1, memory: Some(memory(refaults)), ..Cgroup::default() }];
        last = state.judge_frame(&frame, &[], &Settings::default()).1;
    }
    assert_eq!(last.resource.map(|resource| resource.kind), Some(ResourceKind::Memory));
}

#[test]
fn a_group_put_to_sleep_above_its_high_mark_is_limited_by_it() {
    let mut frame = machine(&[0.2, 0.1]);
    let memory = CgroupMemory {
        current_bytes: Known::Value(130 << 20),
        high_bytes: Known::Value(128 << 20),
        refault_file_per_second: Some(0.0),
        ..CgroupMemory::default()
    };
    let stalled = PressureStall { some_ratio: Some(0.8), ..PressureStall::default() };
    let group = Cgroup { path: "/job".into(), version: 2, memory: Some(memory), ..Cgroup::default() };
    frame.cgroups = vec![group];
    frame.cgroups[0].pressure.memory = Some(stalled);
    frame.processes = vec![Process { cgroup: "/job".into(), ..process(10, "stress-ng", 0.2, 0.0) }];
    assert_eq!(limit(&frame), Some(ResourceKind::Memory));
    // Without pressure: tasks sleep while the mark is passed.
    frame.cgroups[0].pressure.memory = None;
    frame.processes[0].blocked_threads = 1;
    assert_ne!(limit(&frame), Some(ResourceKind::Memory), "nobody passed it");
    if let Some(memory) = &mut frame.cgroups[0].memory {
        memory.events_high_per_second = Some(4_000.0);
    }
    assert_eq!(limit(&frame), Some(ResourceKind::Memory));
}

#[test]
fn a_process_without_files_left_probably_limits() {
    let mut frame = machine(&[0.1, 0.1]);
    let most = Known::Value(64);
    frame.processes = vec![Process { open_files: most, open_files_limit: most, ..process(10, "nginx", 0.03, 0.0) }];
    frame.net_namespaces[0].listen_overflows_per_second = Some(50.0);
    let held = answer(&frame);
    assert_eq!(held.headline(), "probably limited by open files nginx 10 at 100% of 64");
    assert_eq!(held.confidence, Confidence::Low);
    frame.processes[0].open_files = Known::Value(40);
    frame.net_namespaces.clear();
    assert_eq!(limit(&frame), None);
    // It closes some and takes others, but never those that wait.
    let listens = |queued| Some(vec![Listener { queued, ..Listener::default() }]);
    frame.processes[0].listen = listens(Some(100));
    assert_eq!(limit(&frame), Some(ResourceKind::Files));
    for fits in [5, 35] {
        frame.processes[0].listen = listens(Some(fits));
        assert_eq!(limit(&frame), None, "they would just fit: it waits for something else");
    }
}

/// A group of version 2 at its limit of 128 MiB, half of it page cache, with a task that waits.
fn at_limit(change: impl FnOnce(&mut CgroupMemory)) -> Frame {
    let mut frame = machine(&[0.2, 0.1]);
    let full = Known::Value(128 << 20);
    let mut memory = CgroupMemory {
        current_bytes: full,
        limit_bytes: full,
        effective_limit_bytes: full,
        limited_by: "/job".into(),
        reclaimable_bytes: Known::Value(64 << 20),
        refault_file_per_second: Some(0.0),
        ..CgroupMemory::default()
    };
    change(&mut memory);
    frame.cgroups = vec![Cgroup { path: "/job".into(), version: 2, memory: Some(memory), ..Cgroup::default() }];
    frame.processes = vec![Process { cgroup: "/job".into(), state: 'D', ..process(10, "store", 0.2, 0.0) }];
    frame
}

#[test]
fn waiting_for_memory_that_the_kernel_counts_limits_whatever_is_read_back() {
    let waits = |share: f64, scanned: f64| {
        let mut frame = at_limit(|memory| {
            memory.pgscan_direct_per_second = Some(scanned);
            memory.pgsteal_direct_per_second = Some(scanned / 6.0);
        });
        let stall = PressureStall { some_ratio: Some(share), ..PressureStall::default() };
        frame.cgroups[0].pressure.memory = Some(stall);
        limit(&frame)
    };
    assert_eq!(waits(0.4, 0.0), Some(ResourceKind::Memory));
    assert_eq!(waits(0.15, 60_000.0), Some(ResourceKind::Memory), "reclaim finds little that it may take");
    assert_eq!(waits(0.15, 1000.0), None, "a stream through the cache");
}

#[test]
fn a_kernel_that_counts_nothing_that_is_read_back_leaves_it_open() {
    let mut frame = at_limit(|memory| {
        (memory.refault_file_per_second, memory.events_max_per_second) = (None, Some(8000.0));
        memory.pgmajfault_per_second = Some(10.0);
    });
    frame.cgroups[0].version = 1;
    let answer = answer(&frame);
    assert_eq!(answer.headline(), "inconclusive: memory job (refaults of the cgroup unknown) could be the limit");
}

#[test]
fn of_a_group_and_those_below_the_one_that_has_the_limit_is_named() {
    let mut frame = at_limit(|memory| memory.refault_file_per_second = Some(50_000.0));
    let mut below = frame.cgroups[0].clone();
    below.path = "/job/a".into();
    below.memory.as_mut().expect("has memory").limit_bytes = Known::None;
    frame.cgroups.push(below);
    frame.processes[0].cgroup = "/job/a".into();
    let resource = answer(&frame).resource.map(|resource| (resource.kind, resource.name.to_string()));
    assert_eq!(resource, Some((ResourceKind::Memory, "job".into())));
}
