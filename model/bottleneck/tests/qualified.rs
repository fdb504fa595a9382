//! What is said beside a limit: clocks that are kept down, and queues that are nearly full.

use super::answers::machine;
use super::*;

fn clocked(busy: f64, mhz: f64, policy: &ClockPolicy) -> Frame {
    let mut frame = machine(&[busy, busy]);
    frame.processes = (0..4).map(|at| process(10 + at, "sysbench", busy / 2.0, 0.5)).collect();
    let place = |id| CpuPlace { id, online: true, clock: Some(policy.clone()), ..CpuPlace::default() };
    let topology = Arc::make_mut(&mut frame.topology);
    topology.cpus = vec![place(0), place(1)];
    frame.cpus.iter_mut().for_each(|cpu| cpu.mhz = Some(mhz));
    frame
}

#[test]
fn full_cpus_that_are_kept_slow_say_so() {
    let free = ClockPolicy {
        governor: "performance".into(),
        driver: "intel_pstate".into(),
        max_mhz: Some(3500.0),
        limit_mhz: Some(3500.0),
    };
    let line = |frame: &Frame| answer(frame).headline();
    // All cores seldom reach the clock of one: alone that is no cap.
    let mut frame = clocked(1.0, 2100.0, &free);
    assert_eq!(line(&frame), "limited by the machine's CPUs at 100%, tasks wait 50% of their time");
    // Heat in the package of both.
    frame.cpus.iter_mut().for_each(|cpu| cpu.package_throttles_gained = Some(2));
    let capped = "limited by the machine's CPUs at 100%, running at 2.1 of 3.5 GHz (thermal throttling), tasks wait 50% of their time";
    assert_eq!(line(&frame), capped);
    let open = [finding("CPU-10", Severity::Warning, Subject::Host)];
    let (_, explained) = settled(&frame, &open, &Settings::default());
    assert_eq!(explained.headline(), format!("{capped} (CPU-10)"));
    // A minute after the last time it is over.
    let mut state = Limits::default();
    let at = |state: &mut Limits, frame: &Frame| state.judge_frame(frame, &[], &Settings::default()).0;
    let clock = |resources: &Resources| resources.get(ResourceKind::Cpus).and_then(|cpus| cpus.clock);
    assert!(clock(&at(&mut state, &frame)).is_some());
    frame.cpus.iter_mut().for_each(|cpu| cpu.package_throttles_gained = Some(0));
    frame.stamp.mono_ns += 59_000_000_000;
    assert!(clock(&at(&mut state, &frame)).is_some());
    frame.stamp.mono_ns += 2_000_000_000;
    assert_eq!(clock(&at(&mut state, &frame)), None);
    // A limit of the clock, and CPUs with time left.
    let limited = ClockPolicy { limit_mhz: Some(2100.0), ..free };
    let line_of = |busy| line(&clocked(busy, 2100.0, &limited));
    assert!(line_of(1.0).contains("at 100%, running at 2.1 of 3.5 GHz (scaling_max_freq)"), "{}", line_of(1.0));
    assert!(!line_of(0.5).contains("GHz"), "{}", line_of(0.5));
    // A virtual machine knows of no clock.
    let mut frame = clocked(1.0, 2100.0, &limited);
    Arc::make_mut(&mut frame.topology).cpus.iter_mut().for_each(|place| place.clock = None);
    assert!(!line(&frame).contains("GHz"));
}

#[test]
fn a_thread_on_a_slow_core_says_so() {
    let policy = ClockPolicy {
        governor: "powersave".into(),
        driver: "acpi-cpufreq".into(),
        max_mhz: Some(3500.0),
        limit_mhz: Some(3500.0),
    };
    let mut frame = clocked(0.2, 1200.0, &policy);
    frame.cpus[0].shares = Some(CpuShares { busy: 0.99, user: 0.99, ..CpuShares::default() });
    frame.processes = vec![Process { last_cpu: Known::Value(0), ..process(10, "redis-server", 0.98, 0.0) }];
    assert_eq!(
        answer(&frame).headline(),
        "limited by thread redis-server 10 at 98%, running at 1.2 of 3.5 GHz (powersave governor)"
    );
}

fn listens(netns: u64, queued: u64) -> Vec<Listener> {
    let socket = Listener {
        port: 80,
        protocol: "tcp".into(),
        address: "::".into(),
        netns,
        queued: Some(queued),
        backlog: Some(128),
    };
    vec![socket]
}

#[test]
fn open_files_explain_only_queues_of_their_own_namespace() {
    let mut frame = machine(&[0.1, 0.1]);
    let most = Known::Value(64);
    let full = Process { open_files: most, open_files_limit: most, ..process(10, "pool", 0.03, 0.0) };
    frame.processes = vec![full, Process { listen: Some(listens(2, 100)), ..process(20, "nginx", 0.3, 0.0) }];
    frame.processes[0].listen = Some(Vec::new());
    frame.net_namespaces[0].netns = 2;
    frame.net_namespaces[0].listen_overflows_per_second = Some(50.0);
    assert_eq!(limit(&frame), Some(ResourceKind::Tcp), "another process has no files left");
    frame.processes[0].listen = Some(listens(7, 0));
    assert_eq!(limit(&frame), Some(ResourceKind::Tcp), "it listens in another namespace");
    frame.processes[0].listen = Some(listens(2, 0));
    assert_eq!(limit(&frame), Some(ResourceKind::Files), "it accepts them");
}

#[test]
fn a_queue_that_stands_near_its_backlog_is_full() {
    let mut frame = machine(&[0.3, 0.2]);
    frame.processes = vec![Process { listen: Some(listens(0, 120)), ..process(10, "nginx", 0.4, 0.0) }];
    let resources = of(&frame);
    let queue = resources.get(ResourceKind::Tcp).expect("it is there");
    assert_eq!((queue.verdict, queue.summary().as_str()), (Verdict::Full, "TCP accept queue nginx 10 at 94% of 128"));
    assert_eq!(answer(&frame).verdict, Outcome::NotSaturated, "nobody is turned away");
    // Once is a burst.
    let mut state = Limits::default();
    let mut seen = |queued| {
        frame.processes[0].listen = Some(listens(0, queued));
        state.judge_frame(&frame, &[], &Settings::default()).0.get(ResourceKind::Tcp).map(|queue| queue.verdict)
    };
    assert_eq!([120, 3, 120, 0, 0].map(&mut seen), [Some(Verdict::HasHeadroom); 5]);
    assert_eq!([120; 8].map(&mut seen)[7], Some(Verdict::Full));
    // Overflows say more.
    frame.processes[0].listen = Some(listens(0, 129));
    frame.net_namespaces[0].pid = Known::Value(10);
    frame.net_namespaces[0].listen_overflows_per_second = Some(50.0);
    assert_eq!(limit(&frame), Some(ResourceKind::Tcp));
}
