//! Placement of threads, quotas and Erlang schedulers: machines that a rule got wrong.

use super::*;

fn severity(judgement: &Judgement, rule: &str) -> Option<Severity> {
    find(&judgement.findings, rule).map(|finding| finding.severity)
}

#[test]
fn a_quota_with_a_long_period_throttles_too() {
    for (period, periods) in [(0.25, 4), (0.5, 2), (1.0, 1)] {
        let judgement = judged(|frame, _| {
            let cpu = &mut frame.cgroups[0].cpu;
            (cpu.period_seconds, cpu.periods, cpu.throttled_ratio) = (Some(period), Some(periods), Some(0.9));
        });
        assert_eq!(severity(&judgement, "CPU-05"), Some(Severity::Critical), "period {period} s");
    }
    let seldom = judged(|frame, _| {
        let cpu = &mut frame.cgroups[0].cpu;
        (cpu.period_seconds, cpu.periods, cpu.throttled_ratio) = (Some(0.1), Some(2), Some(0.9));
    });
    assert_eq!(severity(&seldom, "CPU-05"), None, "ran in 2 of 10 periods");
}

#[test]
fn schedulers_that_are_offline_use_no_quota() {
    let with = |online: u64| {
        judged(move |frame, _| {
            beams(frame, [0, 1]);
            frame.processes.truncate(1);
            frame.cgroups[0].cpu.throttled_ratio = Some(0.2);
            let beam = frame.processes[0].beam.as_mut().expect("a beam");
            (beam.schedulers, beam.schedulers_online) = (Known::Value(8), Known::Value(online));
        })
    };
    assert_eq!(severity(&with(2), "BEAM-03"), None, "eight threads, two of them online: as many as the quota");
    assert_eq!(severity(&with(8), "BEAM-03"), Some(Severity::Warning));
}

/// Workers of one program, each with one thread and a CPU of its own.
fn workers(frame: &mut Frame, programs: &[(u32, &str, f64)]) {
    frame.cpus[1..4].iter_mut().for_each(|cpu| cpu.shares = Some(shares(0.97, 0.0)));
    let worker = |&(pid, comm, cores): &(u32, &str, f64)| Process {
        cpu_cores: Some(cores),
        threads: Known::Value(1),
        wait_share: Some(0.01),
        has_schedstat: true,
        last_cpu: Known::Value(pid - 199),
        ..process(pid, comm)
    };
    frame.processes = programs.iter().map(worker).collect();
}

#[test]
fn workers_of_one_program_are_one_finding() {
    let titles = |judgement: &Judgement| {
        let found = judgement.findings.iter().filter(|finding| &*finding.rule.id == "CPU-02");
        found.map(Finding::title).collect::<Vec<_>>()
    };
    let nginx = [(200, "nginx", 0.99), (201, "nginx", 0.95), (202, "nginx", 0.97)];
    let judgement = judged_for(40, |frame, _| workers(frame, &nginx));
    assert_eq!(
        titles(&judgement),
        ["3 nginx processes are each limited by one thread: PID 200 uses 99% of a core; the others: 202, 201"]
    );
    // It stays the one of the first that was full, whoever is busier; other programs have their own.
    let others = [(200, "nginx", 0.91), (201, "nginx", 0.99), (202, "redis", 0.97)];
    let judgement = judged_for(40, |frame, _| workers(frame, &others));
    let titles = titles(&judgement);
    assert!(titles.len() == 2 && titles.iter().any(|title| title.starts_with("2 nginx processes")), "{titles:?}");
}

#[test]
fn the_worker_that_is_open_longest_leads_and_only_full_ones_count() {
    let judgement = judged_for(120, |frame, second| {
        // The one with the lowest number is full a minute later; the last one never is, but near it.
        let late = if second < 60 { 0.1 } else { 0.99 };
        workers(frame, &[(200, "nginx", late), (201, "nginx", 0.95), (202, "nginx", 0.85)]);
    });
    let finding = find(&judgement.findings, "CPU-02").expect("a finding");
    let title = "2 nginx processes are each limited by one thread: PID 201 uses 95% of a core; the others: 200";
    assert_eq!((finding.title().as_str(), finding.children.len()), (title, 1));
}

/// Two Erlang VMs on CPU 0 of a machine with two CPUs.
fn two_cpus(frame: &mut Frame, busy: [f64; 2]) {
    beams(frame, [0, 0]);
    frame.cpus.truncate(2);
    let topology = Arc::make_mut(&mut frame.topology);
    topology.cpus_online = (*set("0-1")).clone();
    topology.cpus.truncate(2);
    for (cpu, busy) in frame.cpus.iter_mut().zip(busy) {
        cpu.shares = Some(shares(busy, 0.0));
    }
}

#[test]
fn colliding_schedulers_beside_clients_that_leave_some_room() {
    let judgement = judged(|frame, _| two_cpus(frame, [0.99, 0.7]));
    assert_eq!(severity(&judgement, "BEAM-01"), Some(Severity::Critical));
    let full = judged(|frame, _| two_cpus(frame, [0.99, 0.97]));
    assert_eq!(severity(&full, "BEAM-01"), None, "nowhere to move to");
}

#[test]
fn colliding_schedulers_without_work_are_info() {
    let judgement = judged(|frame, _| {
        two_cpus(frame, [0.04, 0.03]);
        frame.threads.iter_mut().for_each(|thread| {
            (thread.cpu_cores, thread.demand_cores, thread.wait_share) = (Some(0.02), Some(0.05), Some(0.6));
        });
    });
    assert_eq!(severity(&judgement, "BEAM-01"), Some(Severity::Info));
}

#[test]
fn a_preflight_and_a_check_agree_where_there_is_no_other_cpu() {
    let both = |frame: &mut Frame| {
        two_cpus(frame, [0.99, 0.1]);
        frame.cgroups[0].cpuset_cpus = Some(set("0"));
    };
    assert_eq!(severity(&judged(|frame, _| both(frame)), "BEAM-01"), None);
    let mut frame = healthy();
    both(&mut frame);
    let checks = crate::judge::survey(&frame, &crate::judge::Settings::default());
    let check = checks.iter().find(|check| check.rule.id.as_str() == "BEAM-01").expect("a check");
    assert_eq!(check.mark(), crate::judge::Mark::Ok);
}

#[test]
fn instances_have_the_names_that_people_gave_them() {
    let who = |change: fn(&mut Frame)| {
        let judgement = judged(|frame, _| {
            beams(frame, [0, 0]);
            change(frame);
        });
        find(&judgement.findings, "BEAM-01").expect("BEAM-01").text(crate::locale::evidence::WHO).to_owned()
    };
    let container = |frame: &mut Frame| {
        let (pod_name, container_name) = ("broker-0".into(), "rabbitmq".into());
        frame.cgroups[0].container = Some(Container { pod_name, container_name, ..Container::default() });
    };
    assert!(who(container).starts_with("broker-0/rabbitmq (200) +sbt db"), "{}", who(container));
    let node = |frame: &mut Frame| frame.processes[0].cmdline = "beam.smp -S 1:1 -- -sname rabbit@mq1 -noshell".into();
    assert!(who(node).starts_with("rabbit@mq1 (200) +sbt db"), "{}", who(node));
    let service = |frame: &mut Frame| frame.processes[0].cgroup = "/system.slice/rabbitmq-server.service".into();
    assert!(who(service).starts_with("rabbitmq-server (200) +sbt db"), "{}", who(service));
    assert!(who(|_| ()).starts_with("beam.smp (200) +sbt db"));
    // The other rules name them in their titles.
    let title = |rule, change: fn(&mut Frame)| {
        let judgement = judged(|frame, _| change(frame));
        find(&judgement.findings, rule).map(Finding::title).unwrap_or_default()
    };
    let crowded = title("BEAM-02", |frame| {
        first::crowded(frame, "300");
        frame.processes[0].cmdline = "beam.smp -S 1:1 -- -name rabbit@mq1.local -noshell".into();
    });
    assert!(crowded.starts_with("rabbit@mq1.local (200): the scheduler bound to CPU 0"), "{crowded}");
    let many = title("BEAM-03", |frame| {
        beams(frame, [0, 1]);
        frame.processes.truncate(1);
        frame.cgroups[0].cpu.throttled_ratio = Some(0.2);
        let beam = frame.processes[0].beam.as_mut().expect("a beam");
        (beam.schedulers, beam.schedulers_online) = (Known::Value(8), Known::Value(8));
        frame.processes[0].cmdline = "beam.smp -S 1:1 -- -sname rabbit@mq1 -noshell".into();
    });
    assert!(many.starts_with("rabbit@mq1 (200): scheduler count 8"), "{many}");
}

#[test]
fn threads_that_sleep_are_not_crowded() {
    let pinned = |asleep: bool| {
        judged(move |frame, _| {
            frame.cpus[2].shares = Some(shares(0.99, 0.0));
            frame.threads = vec![thread(100, 101, 2), thread(100, 102, 2), thread(100, 103, 2)];
            frame.threads[0].demand_cores = Some(1.6);
            for thread in frame.threads.iter_mut().skip(if asleep { 1 } else { 2 }) {
                (thread.cpu_cores, thread.demand_cores) = (Some(0.0), Some(0.001));
            }
        })
    };
    assert_eq!(severity(&pinned(true), "CPU-03"), None, "one thread works there");
    let judgement = pinned(false);
    let finding = find(&judgement.findings, "CPU-03").expect("CPU-03");
    assert_eq!(finding.number(crate::locale::evidence::THREADS), Some(2.0));
}

/// A saturated disk: `fio` of a group of its own writes nearly all, `postgres` of another one waits for each commit.
fn hog(frame: &mut Frame, waits: f64) {
    p0::slow(frame);
    let group = |path: &str, waits: f64| {
        let mut group = Cgroup { path: path.into(), ..Cgroup::default() };
        group.pressure.io = Some(PressureStall { some_ratio: Some(waits), ..PressureStall::default() });
        group
    };
    frame.cgroups = vec![group("/bulk", 0.9), group("/db", waits)];
    let writer = |path: &str, share| Writer {
        who: WriterId::Cgroup(path.into()),
        bytes_share: Some(share),
        ops_share: Some(share),
        ..Writer::default()
    };
    frame.disks[0].writers = vec![writer("/bulk", 0.9995), writer("/db", 0.0005)];
}

#[test]
fn a_bulk_writer_that_starves_a_database_is_named() {
    let judgement = judged(|frame, _| hog(frame, 0.8));
    let finding = find(&judgement.findings, "IO-02").expect("IO-02");
    assert_eq!(
        finding.title(),
        "sdb is saturated by writes of /bulk 100%, which starve /db 80%; request latency 60 ms"
    );
    let alone = judged(|frame, _| hog(frame, 0.02));
    assert_eq!(severity(&alone, "IO-02"), None, "nobody waits for the bulk writer");
}

#[test]
fn a_starved_service_is_found_by_its_waiting_tasks_too() {
    let judgement = judged(|frame, second| {
        hog(frame, 0.0);
        frame.cgroups.iter_mut().for_each(|cgroup| cgroup.pressure.io = None);
        frame.disks[0].writers.truncate(1);
        // Found waiting in two of three samples: its commits are short and many.
        let blocked = u32::from(!second.is_multiple_of(3));
        let of = |pid, comm, cgroup: &str| Process {
            cgroup: cgroup.into(),
            blocked_threads: blocked,
            write_bytes_per_second: Some(0.0),
            ..process(pid, comm)
        };
        frame.processes = vec![of(300, "fio", "/bulk"), of(400, "postgres", "/db")];
    });
    let finding = find(&judgement.findings, "IO-02").expect("IO-02");
    assert!(finding.title().contains("which starve postgres in db"), "{}", finding.title());
    assert_eq!(finding.severity, Severity::Critical, "a database");
}
