//! What differs besides the fix leaves a verdict open in the direction that it misleads.

use super::super::{Verdict, Verification};
use super::{BUSY, Load, frame, verify};
use crate::IdSet;
use crate::diff::{Subject, Watch};
use crate::fix::Verify;
use crate::frame::{Cgroup, Frame, Nic, NicRates, Pressure, PressureStall, Process, Topology};
use std::sync::Arc;

/// Forty seconds before and forty after, the load at a level in each; `change` adds what else is there.
fn judged(verify: &Verify, levels: [Load; 2], change: impl Fn(&mut Frame, bool)) -> (&'static str, String) {
    let verdict = measured(verify, levels, change).verdict().expect("a verdict");
    (verdict.name, verdict.why)
}

fn measured(verify: &Verify, levels: [Load; 2], change: impl Fn(&mut Frame, bool)) -> Verification {
    let name = levels[0].metric.map(|_| "tps");
    let mut verification = Verification::new(verify, name);
    for second in 1..=80 {
        let after = second > 40;
        let mut frame = frame(second, levels[usize::from(after)]);
        change(&mut frame, after);
        verification.push(&frame);
        if second == 40 {
            verification.applied(40_000_000_000);
        }
    }
    verification
}

fn packets(packets: f64) -> [Load; 2] {
    [BUSY, Load { packets: Some(packets), ..BUSY }]
}

/// Transactions of the application before and after; the interface carries something else.
fn tps(before: f64, after: f64) -> [Load; 2] {
    [before, after].map(|tps| Load { metric: Some(tps), softirq: 0.3, ..BUSY })
}

/// A fix of a group of processes: no metric of the interface is watched.
fn of_host() -> Verify {
    Verify { load: None, cost: Some(Watch { subject: Subject::Host, metric: "host.busy" }), guards: vec![], ..verify() }
}

fn process(comm: &str) -> Process {
    Process { comm: comm.into(), cgroup: "/".into(), ..Process::default() }
}

#[test]
fn another_load_speaks_against_worse_only() {
    let with = |level, cores| {
        judged(&verify(), packets(level), |frame, after| {
            frame.processes = vec![Process { cpu_cores: Some(if after { cores } else { 0.01 }), ..process("rustc") }];
        })
    };
    assert_eq!(with(60_000.0, 0.02).0, "worse");
    assert_eq!(with(60_000.0, 0.8), ("inconclusive", "another workload started: rustc uses 0.8 more cores".to_owned()));
    assert_eq!(with(150_000.0, 0.8).0, "improved");
}

#[test]
fn a_load_that_left_speaks_against_improved_only() {
    let with = |level| {
        judged(&verify(), packets(level), |frame, after| {
            frame.processes = vec![Process { cpu_cores: Some(if after { 0.0 } else { 1.2 }), ..process("rustc") }];
        })
    };
    assert_eq!(with(150_000.0), ("inconclusive", "another workload stopped: rustc uses 1.2 fewer cores".to_owned()));
    assert_eq!(with(60_000.0).0, "worse");
}

#[test]
fn kernel_threads_are_no_other_load() {
    let verdict = judged(&verify(), packets(60_000.0), |frame, after| {
        let kswapd = Process { kernel: true, cpu_cores: Some(if after { 0.8 } else { 0.0 }), ..process("kswapd0") };
        frame.processes = vec![kswapd];
    });
    assert_eq!(verdict.0, "worse");
}

#[test]
fn who_came_counts_beside_what_was_there_or_left() {
    let with = |before: [f64; 2], after: [f64; 2]| {
        judged(&verify(), packets(60_000.0), |frame, is_after| {
            let [java, apt] = if is_after { after } else { before };
            let of = |comm, cores| Process { cpu_cores: Some(cores), ..process(comm) };
            frame.processes = vec![of("java", java), of("apt", apt)];
        })
    };
    // One that hardly ran before, and one that came when a smaller one left.
    assert_eq!(with([0.07, 0.0], [1.6, 0.0]).1, "another workload started: java uses 1.5 more cores");
    assert_eq!(with([0.0, 0.3], [1.6, 0.0]).1, "another workload started: java uses 1.6 more cores");
    // The same under another name.
    assert_eq!(with([0.0, 1.2], [1.6, 0.0]).0, "worse");
    // Beside a service that was started again in another control group.
    let restarted = judged(&verify(), packets(60_000.0), |frame, after| {
        let of = |comm, cgroup: &str, cores| Process { cpu_cores: Some(cores), cgroup: cgroup.into(), ..process(comm) };
        frame.processes =
            if after { vec![of("nginx", "/b", 0.6), of("sh", "/b", 1.2)] } else { vec![of("nginx", "/a", 1.7)] };
    });
    assert_eq!(restarted.1, "another workload started: sh uses 1.2 more cores");
}

#[test]
fn traffic_of_others_is_no_change_of_requests() {
    let with = |bytes: [f64; 2]| {
        judged(&of_host(), tps(9.0, 2000.0), |frame, after| {
            idle(frame, 0.9, 0.3);
            frame.nics = vec![nic("eth0", bytes[usize::from(after)] / 100.0, 100.0)];
        })
    };
    assert_eq!(with([15_000.0, 16_000.0]).0, "improved");
    // As many bytes with so much more work, on a link that they may fill: the requests are smaller.
    assert!(with([30e6, 31e6]).1.contains("per unit of work"), "{:?}", with([30e6, 31e6]));
}

#[test]
fn a_collapse_at_the_end_is_worse_or_open() {
    let tail = |levels: &[f64]| {
        let mut verification = Verification::new(&of_host(), Some("tps"));
        for second in 1..=80 {
            let tps = if second <= 40 { 1000.0 } else { levels[(second as usize - 41) * levels.len() / 40] };
            verification.push(&frame(second, Load { metric: Some(tps), softirq: 0.3, ..BUSY }));
            if second == 40 {
                verification.applied(40_000_000_000);
            }
        }
        verification.verdict().expect("a verdict")
    };
    // Half or three quarters as before, the rest at 40 %: nothing is cut off.
    assert_eq!(tail(&[1000.0, 1000.0, 400.0, 400.0]).name, "worse");
    assert_eq!(tail(&[1000.0, 1000.0, 1000.0, 400.0]).name, "worse");
    let gone = tail(&[1000.0, 1000.0, 40.0, 40.0]);
    assert_eq!(gone.name, "inconclusive", "{}", gone.why);
    assert!(gone.why.contains("ended or collapsed"), "{}", gone.why);
}

#[test]
fn who_is_held_back_by_an_io_limit_has_not_left() {
    let with = |bytes| {
        judged(&of_host(), tps(1000.0, 1500.0), |frame, after| {
            let (cores, bytes) = if after { (0.0, bytes) } else { (0.4, 3e9) };
            let hog = Process { cpu_cores: Some(cores), write_bytes_per_second: Some(bytes), ..process("fio") };
            frame.processes = vec![hog];
        })
    };
    assert_eq!(with(1e6).0, "improved");
    assert_eq!(with(0.0).1, "another workload stopped: fio uses 0.4 fewer cores");
}

#[test]
fn who_waits_for_its_io_has_not_left() {
    let mut verify = of_host();
    verify.shown.push(Watch { subject: Subject::Cgroup("/backup".into()), metric: "cgroup.io_pressure" });
    let with = |waits, bytes| {
        judged(&verify, tps(1000.0, 1500.0), |frame, after| {
            let mut group = Cgroup { path: "/backup".into(), ..Cgroup::default() };
            let stall = PressureStall { some_ratio: Some(if after { waits } else { 0.9 }), ..Default::default() };
            group.pressure.io = Some(stall);
            frame.cgroups = vec![group];
            let bytes = Some(if after { bytes } else { 3e9 });
            let hog = Process { cgroup: "/backup".into(), write_bytes_per_second: bytes, ..process("dd") };
            frame.processes = vec![hog];
        })
    };
    assert_eq!(with(0.95, 7e4).0, "improved");
    let left = "another workload uses the disks: dd -2861 MiB/s";
    assert_eq!((&*with(0.1, 7e4).1, &*with(0.95, 0.0).1), (left, left));
}

#[test]
fn another_load_explains_no_multiple_where_no_cpu_was_full() {
    let with = |busy, after_tps| {
        judged(&of_host(), tps(10.0, after_tps), |frame, after| {
            idle(frame, 0.01, busy);
            frame.pressure.push(Pressure {
                resource: "io".into(),
                stall: crate::frame::PressureStall {
                    some_ratio: Some(if after { 0.0 } else { 0.9 }),
                    ..Default::default()
                },
            });
            frame.processes = vec![Process { cpu_cores: Some(if after { 0.0 } else { 0.4 }), ..process("cron") }];
        })
    };
    assert_eq!(with(0.3, 2000.0).0, "improved");
    assert_eq!(with(0.3, 12.0).1, "another workload stopped: cron uses 0.4 fewer cores");
    // Of full CPUs the load may also have got what the other one had, and no more.
    assert_eq!(with(0.95, 25.0).1, "another workload stopped: cron uses 0.4 fewer cores");
    assert_eq!(with(0.95, 2000.0).0, "improved");
}

#[test]
fn another_load_on_the_disks_speaks_against_worse_only() {
    let with = |level| {
        judged(&verify(), packets(level), |frame, after| {
            let bytes = Some(if after { 80e6 } else { 0.0 });
            frame.processes = vec![Process { write_bytes_per_second: bytes, ..process("dd") }];
        })
    };
    assert_eq!(with(60_000.0), ("inconclusive", "another workload uses the disks: dd +76 MiB/s".to_owned()));
    assert_eq!(with(150_000.0).0, "improved");
}

#[test]
fn heat_speaks_against_worse_only() {
    let with = |level, throttles| {
        judged(&verify(), packets(level), |frame, after| {
            for cpu in &mut frame.cpus {
                cpu.throttles_gained = Some(if after { throttles } else { 0 });
            }
        })
    };
    assert_eq!(with(60_000.0, 0).0, "worse");
    assert_eq!(with(60_000.0, 3).1, "CPUs were thermally throttled only after the change");
    assert_eq!(with(150_000.0, 3).0, "improved");
}

#[test]
fn stolen_time_speaks_against_worse_only() {
    let with = |level| {
        judged(&verify(), packets(level), |frame, after| {
            let steal = if after && frame.stamp.seq % 2 != 0 { 0.6 } else { 0.0 };
            for shares in frame.cpus.iter_mut().filter_map(|cpu| cpu.shares.as_mut()) {
                shares.steal = steal;
            }
        })
    };
    assert_eq!(with(60_000.0), ("inconclusive", "steal time changed by +30 points".to_owned()));
    assert_eq!(with(150_000.0).0, "improved");
}

/// An interface whose packets are no part of what the application does.
fn nic(name: &str, packets: f64, size: f64) -> Nic {
    let rates = |packets: f64| NicRates {
        packets_per_second: Some(packets),
        bytes_per_second: Some(packets * size),
        ..NicRates::default()
    };
    Nic { name: name.into(), rx: rates(packets), tx: rates(packets / 10.0), ..Nic::default() }
}

#[test]
fn packets_of_others_speak_against_worse_only() {
    // Another interface, and more of small packets on the one that the load uses.
    for (used, other) in [(20_000.0, 30_000.0), (70_000.0, 0.0)] {
        let with = |after_tps| {
            judged(&of_host(), tps(1000.0, after_tps), |frame, after| {
                let levels = if after { (used, other) } else { (20_000.0, 0.0) };
                frame.nics = vec![nic("eth0", levels.0, 64.0), nic("eth1", levels.1, 64.0)];
            })
        };
        let (name, why) = with(700.0);
        assert!(name == "inconclusive" && why.starts_with("another workload uses the network: eth"), "{name} {why}");
        assert_eq!(with(1500.0).0, "improved", "{used} {other}");
    }
    // As many fewer packets as there is less work: those are the load's.
    let fewer = judged(&of_host(), tps(1000.0, 700.0), |frame, after| {
        frame.nics = vec![nic("eth0", if after { 14_000.0 } else { 20_000.0 }, 64.0)];
    });
    assert_eq!(fewer.0, "worse");
}

#[test]
fn other_requests_leave_both_open() {
    let with = |after_tps: f64, size| {
        judged(&of_host(), tps(1000.0, after_tps), |frame, after| {
            let (work, size) = if after { (after_tps, size) } else { (1000.0, 200.0) };
            frame.nics = vec![nic("eth0", 20.0 * work, size)];
        })
    };
    assert_eq!(with(1500.0, 200.0).0, "improved");
    assert_eq!(with(700.0, 200.0).0, "worse");
    let (name, why) = with(1500.0, 100.0);
    assert!(name == "inconclusive" && why.starts_with("the requests changed: -50% bytes per unit of work"), "{why}");
    let (name, why) = with(700.0, 400.0);
    assert!(name == "inconclusive" && why.starts_with("the requests changed: +100% bytes per unit of work"), "{why}");
    assert_eq!(with(1500.0, 400.0).0, "improved");
}

/// Nothing waits: the machine does what it is asked for.
fn idle(frame: &mut Frame, stalled: f64, busy: f64) {
    frame.topology = Arc::new(Topology { cpus_online: IdSet::from_ids(0..2), ..Topology::default() });
    let stall = crate::frame::PressureStall { some_ratio: Some(stalled), ..Default::default() };
    frame.pressure = vec![Pressure { resource: "cpu".into(), stall }];
    for shares in frame.cpus.iter_mut().filter_map(|cpu| cpu.shares.as_mut()) {
        shares.busy = busy;
    }
}

#[test]
fn more_load_that_was_offered_is_no_improvement() {
    let with = |stalled, busy: [f64; 2]| {
        judged(&of_host(), tps(1000.0, 1500.0), |frame, after| idle(frame, stalled, busy[usize::from(after)]))
    };
    let (name, why) = with(0.01, [0.2, 0.3]);
    assert_eq!(name, "inconclusive", "{why}");
    assert!(why.starts_with("more load was offered: nothing waited before"), "{why}");
    // Something waited, or was full, or a unit costs less.
    assert_eq!(with(0.4, [0.2, 0.3]).0, "improved");
    assert_eq!(with(0.01, [0.95, 0.97]).0, "improved");
    assert_eq!(with(0.01, [0.3, 0.2]).0, "improved");
}

/// The same after an undo, after which the load is at another level.
fn undone(after: f64, undone: &[f64]) -> Verdict {
    let mut verification = measured(&of_host(), tps(1000.0, after), |frame, after| {
        idle(frame, 0.01, if after { 0.3 } else { 0.2 });
    });
    verification.undone(80_000_000_000);
    for (second, tps) in (81..).zip(undone) {
        let mut frame = frame(second, Load { metric: Some(*tps), softirq: 0.3, ..BUSY });
        idle(&mut frame, 0.01, 0.2);
        verification.push(&frame);
    }
    verification.compared().expect("a second verdict")
}

#[test]
fn what_leaves_with_the_undo_was_the_fix() {
    let first = measured(&of_host(), tps(1000.0, 1500.0), |frame, after| {
        idle(frame, 0.01, if after { 0.3 } else { 0.2 });
    });
    assert!(first.verdict().is_some_and(|verdict| verdict.undo_decides));
    let verdict = undone(1500.0, &[1000.0; 45]);
    assert_eq!(verdict.name, "improved", "{}", verdict.why);
}

#[test]
fn a_load_that_ended_after_the_undo_says_nothing() {
    let ended = "the load ended too early after the undo";
    for held in [0, 12] {
        let verdict = undone(1000.0, &[vec![1000.0; held], vec![0.0; 45 - held]].concat());
        assert_eq!((verdict.name, verdict.why.split(',').next()), ("inconclusive", Some(ended)), "{held}");
    }
    let verdict = undone(1000.0, &[vec![1000.0; 25], vec![0.0; 20]].concat());
    assert_eq!(verdict.name, "no_change", "{}", verdict.why);
}
