//! What the load waits for, in sentences.

use super::chain::{one_by_one, serial, single_flight};
use super::{beside, waiting};
use crate::bottleneck::{Bottleneck, Outcome};
use crate::frame::{Frame, Listener, OffCpu, Peer, Process, Thread, WaitClass, WaitShare};

fn process(pid: u32, cores: f64, class: WaitClass, share: f64) -> Process {
    let what = if class == WaitClass::Peer { "10.0.0.5:5432" } else { "" };
    let shares = vec![
        WaitShare { class, share, what: what.into() },
        WaitShare { class: WaitClass::Running, share: 1.0 - share, what: "".into() },
    ];
    let off_cpu = Some(OffCpu { samples: 50, threads: 1, seconds: 10.0, shares });
    Process { pid, comm: format!("app\u{1b}{pid}").into(), cpu_cores: Some(cores), off_cpu, ..Process::default() }
}

fn peer(out: f64, back: f64, rtt_us: u64) -> Peer {
    Peer {
        address: "10.0.0.5".into(),
        port: 5432,
        connections: 1,
        rtt_us: rtt_us.into(),
        data_segs_out_per_second: Some(out),
        data_segs_in_per_second: Some(back),
        ..Peer::default()
    }
}

#[test]
fn the_load_is_what_is_reported() {
    let processes = vec![
        process(7, 0.3, WaitClass::Peer, 0.71),
        process(8, 0.01, WaitClass::Lock, 0.9),
        process(9, 0.5, WaitClass::Requests, 0.4),
    ];
    let frame = Frame { processes, ..Frame::default() };
    let found = waiting(&frame).expect("something waits");
    assert_eq!((found.process.pid, found.class), (7, WaitClass::Peer), "a cause goes before idling");
    let sentence = found.sentence();
    assert!(sentence.contains('7') && sentence.contains("71%") && sentence.contains("10.0.0.5:5432"), "{sentence}");
    assert!(!sentence.contains('\u{1b}'));
    assert!(waiting(&Frame::default()).is_none());
}

#[test]
fn a_peer_behind_a_lossy_network_is_said_to_be() {
    let sentence = |lost: f64| {
        let peers = vec![Peer { retransmits_per_second: Some(lost), ..peer(1000.0, 5.0, 300) }];
        let processes = vec![Process { peers, ..process(7, 0.3, WaitClass::Peer, 0.71) }];
        waiting(&Frame { processes, ..Frame::default() }).expect("it waits").sentence()
    };
    assert!(sentence(20.0).ends_with("; 2.0% of its TCP segments are retransmitted: packets are lost on the way"));
    assert!(sentence(2.0).ends_with("10.0.0.5:5432"), "{}", sentence(2.0));
}

#[test]
fn many_workers_of_a_server_are_one_load() {
    // Each wants less than a tenth of what all want, together most of it.
    let worker = |pid| Process { comm: "postgres".into(), ..process(pid, 0.05, WaitClass::Lock, 0.8) };
    let mut processes: Vec<Process> = (20..36).map(worker).collect();
    processes.push(Process { comm: "postgres".into(), ..process(36, 0.0, WaitClass::Requests, 1.0) });
    processes.push(Process { comm: "pgbench".into(), ..process(7, 0.4, WaitClass::Other, 0.76) });
    let frame = Frame { processes, ..Frame::default() };
    let sentence = waiting(&frame).map(|found| found.sentence()).unwrap_or_default();
    assert_eq!(sentence, "16 postgres processes spend 75% of their time waiting for a lock");
}

#[test]
fn threads_of_the_background_say_nothing_of_those_that_work() {
    let shares = [(WaitClass::Sleep, 0.8), (WaitClass::Running, 0.12), (WaitClass::Disk, 0.08)];
    let mut server = process(7, 0.6, WaitClass::Sleep, 0.8);
    let off_cpu = server.off_cpu.as_mut().expect("sampled");
    let share = |(class, share)| WaitShare { class, share, what: "".into() };
    (off_cpu.threads, off_cpu.shares) = (12, shares.map(share).to_vec());
    let mut frame = Frame { processes: vec![server], ..Frame::default() };
    let found = waiting(&frame).expect("the disk");
    assert_eq!((found.class, (found.share * 100.0).round()), (WaitClass::Disk, 40.0));
    frame.processes[0].off_cpu.as_mut().expect("sampled").shares.pop();
    frame.threads = vec![Thread { pid: 7, tid: 8, cpu_cores: Some(0.6), ..Thread::default() }];
    assert!(waiting(&frame).is_none(), "one of them works, and the others are asleep beside it");
}

#[test]
fn a_report_every_second_is_not_what_the_work_waits_for() {
    let mut client = process(7, 0.4, WaitClass::Sleep, 0.5);
    client.off_cpu.as_mut().expect("sampled").threads = 2;
    let found = |client: &Process| {
        let frame = Frame { processes: vec![client.clone()], ..Frame::default() };
        waiting(&frame).map(|found| found.class)
    };
    assert_eq!(found(&client), None);
    let off_cpu = client.off_cpu.as_mut().expect("sampled");
    let shares = [(WaitClass::Thread, 0.5), (WaitClass::Sleep, 0.48), (WaitClass::Running, 0.02)];
    off_cpu.shares = shares.map(|(class, share)| WaitShare { class, share, what: "".into() }).to_vec();
    assert_eq!(found(&client), Some(WaitClass::Sleep), "all that work sleep");
}

#[test]
fn who_answers_here_is_named_and_what_it_waits_for_is_reported() {
    let mut client = process(7, 0.6, WaitClass::Peer, 0.6);
    client.peers = vec![peer(9000.0, 9000.0, 20)];
    let mut server = process(8, 0.9, WaitClass::Requests, 0.1);
    server.comm = "store".into();
    server.peers = vec![Peer { inbound: true, ..peer(9000.0, 9000.0, 20) }];
    let mut frame = Frame { processes: vec![client, server], ..Frame::default() };
    let found = |frame: &Frame| waiting(frame).map(|found| found.sentence()).unwrap_or_default();
    assert!(found(&frame).contains("store 8 (10.0.0.5:5432)"), "{}", found(&frame));
    frame.processes[1].off_cpu = process(8, 0.9, WaitClass::Lock, 0.8).off_cpu;
    frame.processes[1].cpu_cores = Some(0.2);
    assert!(found(&frame).starts_with("store 8 ") && found(&frame).contains("80%"), "{}", found(&frame));
}

#[test]
fn connections_that_nobody_accepts_are_reported() {
    let listener = |queued| Some(vec![Listener { port: 8080, queued: Some(queued), ..Listener::default() }]);
    let of = |pid, queued| Process { listen: listener(queued), ..process(pid, 0.02, WaitClass::Requests, 0.9) };
    let idle = Bottleneck { verdict: Outcome::Idle, samples: 10, ..Bottleneck::default() };
    let frame = |queued| Frame { processes: vec![of(7, queued), of(9, queued)], ..Frame::default() };
    let found = |frame: &Frame| beside(frame, &idle).map(|found| found.sentence());
    let shown = found(&frame(28)).unwrap_or_default();
    assert!(shown.starts_with("28 connections wait for app"), "{shown}");
    assert!(shown.ends_with(" 7 to accept them on port 8080"), "{shown}");
    assert_eq!(found(&frame(3)), None);
}

/// What is said of a client that waits for `10.0.0.5:5432` beside other processes of this machine.
fn behind(client: &Process, others: &[&Process]) -> String {
    let busy = Bottleneck { verdict: Outcome::NotSaturated, samples: 10, ..Bottleneck::default() };
    let frame = Frame { processes: [&[client], others].concat().into_iter().cloned().collect(), ..Frame::default() };
    beside(&frame, &busy).map(|found| found.sentence()).unwrap_or_default()
}

fn full(port: u16, protocol: &str, address: &str) -> Vec<Listener> {
    let (protocol, address) = (protocol.into(), address.into());
    vec![Listener { port, protocol, address, queued: Some(28), ..Listener::default() }]
}

#[test]
fn a_client_behind_a_full_queue_waits_for_who_accepts() {
    let client = Process { peers: vec![peer(0.0, 0.0, 20)], ..process(7, 0.6, WaitClass::Peer, 0.98) };
    let server = Process { comm: "store".into(), ..process(8, 0.3, WaitClass::Sleep, 0.9) };
    for (port, address, says) in [
        (5432, "10.0.0.5", "28 connections wait for store"),
        (5432, "10.0.0.9", "peer 10.0.0.5:5432"),
        (80, "10.0.0.5", "peer 10.0.0.5:5432"),
    ] {
        let server = Process { listen: Some(full(port, "tcp", address)), ..server.clone() };
        let shown = behind(&client, &[&server]);
        assert!(shown.contains(says), "{port} {address}: {shown}");
        let own = Process { comm: client.comm.clone(), ..server };
        assert!(behind(&client, &[&own]).contains("peer 10.0.0.5:5432"), "its own queue is an effect");
    }
}

#[test]
fn who_waits_at_a_path_behind_a_server_is_as_many_as_await_its_answer() {
    let asks = |awaited| Peer { awaited: Some(awaited), ..peer(40.0, 40.0, 20) };
    let client = |awaited| Process { peers: vec![asks(awaited)], ..process(7, 0.6, WaitClass::Peer, 0.98) };
    let nginx =
        Process { pid: 8, comm: "nginx".into(), peers: vec![Peer { inbound: true, ..asks(0) }], ..Process::default() };
    let pool = Process { pid: 9, listen_local: full(0, "unix", "/run/app.sock"), ..Process::default() };
    let shown = |awaited| behind(&client(awaited), &[&nginx, &pool]);
    assert!(shown(32).ends_with("to accept them on /run/app.sock"), "{}", shown(32));
    assert!(shown(2).contains("nginx 8 (10.0.0.5:5432)"), "{}", shown(2));
}

#[test]
fn systemd_is_not_who_lets_connections_wait() {
    let idle = Bottleneck { verdict: Outcome::Idle, samples: 10, ..Bottleneck::default() };
    let holds = |pid, comm: &str| Process {
        comm: comm.into(),
        listen_local: full(0, "unix", "/run/app.sock"),
        ..process(pid, 0.02, WaitClass::Requests, 0.9)
    };
    let frame =
        Frame { processes: vec![holds(1, "systemd"), holds(9, "gunicorn"), holds(11, "gunicorn")], ..Frame::default() };
    let shown = beside(&frame, &idle).map(|found| found.sentence()).unwrap_or_default();
    assert!(shown.starts_with("28 connections wait for gunicorn 9 "), "{shown}");
}

#[test]
fn who_waits_for_a_slow_reader_makes_the_machine_idle() {
    let mut sender = process(7, 0.001, WaitClass::Peer, 0.98);
    let idle = Bottleneck { verdict: Outcome::Idle, samples: 10, ..Bottleneck::default() };
    let found = |sender: &Process| {
        let frame = Frame { processes: vec![sender.clone()], ..Frame::default() };
        beside(&frame, &idle).map(|found| found.class)
    };
    sender.peers = vec![Peer { bytes_out_per_second: Some(20e6), ..peer(900.0, 0.0, 100) }];
    assert_eq!(found(&sender), Some(WaitClass::Peer));
    sender.peers[0].bytes_out_per_second = Some(2e4);
    assert_eq!(found(&sender), None, "a terminal of somebody");
}

#[test]
fn requests_one_by_one_are_reported_with_their_time() {
    assert_eq!(single_flight(&peer(300.0, 300.0, 100), 0.9), Some((300.0, 3.0)));
    assert_eq!(single_flight(&peer(300.0, 300.0, 5000), 0.9), None, "several are outstanding at a time");
    let late = Peer { min_rtt_us: 90.into(), ..peer(300.0, 300.0, 5000) };
    assert_eq!(single_flight(&late, 0.9), Some((300.0, 3.0)), "acknowledgements come with the answers");
    let mut across = process(7, 0.1, WaitClass::Peer, 0.9);
    across.peers = vec![peer(300.0, 300.0, 2900)];
    let is = |process: &Process| (serial(process).is_some(), one_by_one(process).is_some());
    assert_eq!(is(&across), (true, false), "the network is all that takes time");
    let poll = WaitShare { class: WaitClass::Other, share: 0.5, what: "epoll_wait".into() };
    let shares = &mut across.off_cpu.as_mut().expect("sampled").shares;
    (shares[0].share, shares[1].share) = (0.4, 0.1);
    shares.push(poll);
    assert_eq!(is(&across), (false, false), "it waits just after answers as well: for those to other requests");
    assert_eq!(single_flight(&peer(30_000.0, 300.0, 100), 0.9), None, "a stream");
    let mut waits = process(7, 0.3, WaitClass::Peer, 0.9);
    waits.peers = vec![peer(300.0, 310.0, 100)];
    let frame = Frame { processes: vec![waits], ..Frame::default() };
    let sentence = waiting(&frame).map(|found| found.sentence()).unwrap_or_default();
    assert!(sentence.contains("300") && sentence.contains("3.0 ms"), "{sentence}");
    // A library reads from the connection in a thread of its own, and the publisher waits for that.
    let mut publisher = process(7, 0.3, WaitClass::Peer, 0.46);
    publisher.peers = vec![peer(300.0, 310.0, 100)];
    let own = WaitShare { class: WaitClass::Thread, share: 0.5, what: "".into() };
    let shares = &mut publisher.off_cpu.as_mut().expect("sampled").shares;
    (shares[1].share, *shares) = (0.04, [vec![own], shares.clone()].concat());
    let frame = Frame { processes: vec![publisher], ..Frame::default() };
    let sentence = waiting(&frame).map(|found| found.sentence()).unwrap_or_default();
    assert!(sentence.contains("10.0.0.5:5432") && sentence.contains("3.1 ms"), "{sentence}");
}
