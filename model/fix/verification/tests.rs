mod bias;

use super::{FEWEST, Phase, Trip, Verification};
use crate::Known;
use crate::diff::{Subject, Watch};
use crate::fix::Verify;
use crate::frame::{
    Cgroup, CgroupIoRate, Cpu, CpuShares, Frame, IoLimits, Metric, Nic, NicRates, Pressure, PressureStall,
};
use proptest::prelude::*;

/// A machine described by a few numbers a second.
#[derive(Clone, Copy)]
struct Load {
    packets: Option<f64>,
    softirq: f64,
    errors: f64,
    metric: Option<f64>,
}

const BUSY: Load = Load { packets: Some(94_000.0), softirq: 0.98, errors: 0.0, metric: None };

/// Noise that is the same each time: within 2 % of the level.
fn wobble(second: u64) -> f64 {
    1.0 + 0.02 * ((second * 7919 % 41) as f64 / 20.0 - 1.0)
}

fn frame(second: u64, load: Load) -> Frame {
    let shares = |softirq| Some(CpuShares { softirq, busy: softirq, ..CpuShares::default() });
    let cpu = |id, softirq| Cpu { id, online: true, shares: shares(softirq), ..Cpu::default() };
    let rates = |packets, errors| NicRates {
        packets_per_second: packets,
        errors_per_second: Some(errors),
        ..NicRates::default()
    };
    let noise = wobble(second);
    let nic = Nic {
        name: "eth0".into(),
        rx: rates(load.packets.map(|packets| packets * noise), load.errors * noise),
        ..Nic::default()
    };
    let metric = |value| Metric { name: "tps".into(), value: Some(value * noise), gates: true, ..Metric::default() };
    let mut frame = Frame {
        interval_seconds: Some(1.0),
        cpus: vec![cpu(0, 0.02), cpu(1, load.softirq * noise.min(1.0))],
        nics: vec![nic, Nic { name: "lo".into(), ..Nic::default() }],
        metrics: load.metric.map(metric).into_iter().collect(),
        ..Frame::default()
    };
    frame.stamp.seq = second;
    frame.stamp.mono_ns = second * 1_000_000_000;
    frame
}

fn verify() -> Verify {
    let nic = |metric| Watch { subject: Subject::Nic("eth0".into()), metric };
    Verify {
        load: Some(nic("nic.rx_packets")),
        cost: Some(Watch { subject: Subject::Host, metric: "host.busiest_softirq" }),
        guards: vec![nic("nic.rx_errors")],
        shown: Vec::new(),
        before_seconds: 30,
        settle_seconds: 5,
        after_seconds: 30,
        trips: Vec::new(),
    }
}

/// Seconds of the time before and of the time after, each with its load.
fn run(verify: &Verify, metric: Option<&str>, before: (u64, Load), after: (u64, Load)) -> Verification {
    let mut verification = Verification::new(verify, metric);
    let start = 100;
    for second in 0..before.0 {
        verification.push(&frame(start + second, before.1));
    }
    let applied = start + before.0;
    verification.applied(applied * 1_000_000_000);
    for second in 1..=after.0 {
        verification.push(&frame(applied + second, after.1));
    }
    verification
}

fn verdict(before: Load, after: Load) -> (&'static str, String) {
    let verdict = run(&verify(), None, (40, before), (40, after)).verdict().expect("a verdict");
    (verdict.name, verdict.why)
}

#[test]
fn a_load_that_rises_improves() {
    let after = Load { packets: Some(94_000.0 * 1.6), softirq: 0.6, ..BUSY };
    let (name, why) = verdict(BUSY, after);
    assert_eq!(name, "improved");
    assert!(why.contains("packets received (nic:eth0) +60%") || why.contains("+59%") || why.contains("+61%"), "{why}");
}

#[test]
fn the_same_for_less_improves() {
    assert_eq!(verdict(BUSY, Load { softirq: 0.5, ..BUSY }).0, "improved");
}

#[test]
fn nothing_changed() {
    let (name, why) = verdict(BUSY, BUSY);
    assert_eq!(name, "no_change");
    assert!(why.starts_with("packets received (nic:eth0)"), "{why}");
}

#[test]
fn a_load_that_fell_by_a_third_is_worse() {
    let (name, why) = verdict(BUSY, Load { packets: Some(94_000.0 * 0.7), softirq: 0.3, ..BUSY });
    assert_eq!(name, "worse");
    assert!(why.contains("packets received (nic:eth0) -30% (95%: -3"), "{why}");
}

#[test]
fn a_load_that_ended_says_nothing() {
    let with = |seconds| {
        let mut verification = run(&verify(), None, (40, BUSY), (seconds, BUSY));
        for second in 141 + seconds..=180 {
            verification.push(&frame(second, Load { packets: Some(0.0), softirq: 0.0, ..BUSY }));
        }
        let verdict = verification.verdict().expect("a verdict");
        (verdict.name, verdict.why)
    };
    assert_eq!(with(20).0, "no_change");
    assert_eq!(with(9).1, "after the change, the load ended too early");
    assert_eq!(with(3).1, "after the change, the load ended too early");
    // It fell at once: it may well be the fix.
    assert_eq!(with(0).0, "worse");
}

#[test]
fn an_undo_tells_a_drift_from_an_effect() {
    let judged = |effect: f64| {
        let mut verification = Verification::new(&verify(), None);
        let push = |verification: &mut Verification, second: u64, factor: f64| {
            let drift = 1.0 + 0.004 * second as f64;
            verification.push(&frame(second, Load { packets: Some(94_000.0 * drift * factor), ..BUSY }));
        };
        (1..=31).for_each(|second| push(&mut verification, second, 1.0));
        verification.applied(31_000_000_000);
        (32..=66).for_each(|second| push(&mut verification, second, effect));
        let first = verification.verdict().expect("a verdict");
        verification.undone(66_000_000_000);
        (67..=105).for_each(|second| push(&mut verification, second, 1.0));
        let last = verification.compared().expect("a second verdict");
        assert!(!last.undo_decides);
        (first.name, first.undo_decides, last.name)
    };
    assert_eq!(judged(1.0), ("inconclusive", true, "no_change"));
    assert_eq!(judged(1.15).2, "improved");
}

#[test]
fn a_load_that_fell_by_less_is_worse() {
    let (name, why) = verdict(BUSY, Load { packets: Some(94_000.0 * 0.84), ..BUSY });
    assert_eq!(name, "worse");
    assert!(why.contains("packets received (nic:eth0) -1"), "{why}");
}

#[test]
fn a_guard_that_got_worse_outweighs_the_load() {
    let (name, why) = verdict(BUSY, Load { packets: Some(94_000.0 * 1.6), errors: 400.0, ..BUSY });
    assert_eq!(name, "worse");
    assert_eq!(why, "receive errors (nic:eth0) rose from 0");
}

#[test]
fn the_applications_own_number_carries_the_load_where_it_is_there() {
    let with = |metric| Load { metric, ..BUSY };
    let judged = |before, after| {
        run(&verify(), Some("tps"), (40, before), (40, after)).verdict().map(|verdict| (verdict.name, verdict.table))
    };
    let (name, table) = judged(with(Some(1000.0)), with(Some(1500.0))).expect("a verdict");
    assert_eq!(name, "improved");
    assert_eq!((&*table[0].subject, &*table[0].metric, &*table[0].role), ("metric:tps", "metric.work", "load"));
    assert!(table.iter().any(|row| row.metric == "nic.rx_packets" && row.role == "shown"));
    // Where nobody tells it, the fix's own does.
    let (name, table) = judged(BUSY, Load { packets: Some(150_000.0), ..BUSY }).expect("a verdict");
    assert_eq!((name, &*table[0].metric), ("improved", "nic.rx_packets"));
}

#[test]
fn what_is_not_measured_is_not_judged() {
    let none = Load { packets: None, ..BUSY };
    assert_eq!(verdict(none, none), ("inconclusive", "no metric measures the load".to_owned()));
    assert_eq!(verdict(none, BUSY).0, "inconclusive");
    assert_eq!(verdict(BUSY, none), ("inconclusive", "no measurement of the load after the change".to_owned()));
    let nobody = Verify { load: None, ..verify() };
    let verdict = run(&nobody, None, (40, BUSY), (40, BUSY)).verdict().expect("a verdict");
    assert_eq!((verdict.name, &*verdict.why), ("inconclusive", "no metric measures the load"));
}

#[test]
fn a_window_before_that_was_too_short_is_said() {
    let verdict = run(&verify(), None, (4, BUSY), (40, Load { packets: Some(150_000.0), ..BUSY })).verdict();
    let verdict = verdict.expect("a verdict");
    assert_eq!((verdict.name, &*verdict.why), ("inconclusive", "only 4 valid samples on one side, 8 are needed"));
}

#[test]
fn it_goes_from_phase_to_phase() {
    let mut verification = Verification::new(&verify(), None);
    for second in 1..=50 {
        assert_eq!(verification.push(&frame(second, BUSY)).phase, Phase::Before);
    }
    let before = verification.progress().before;
    assert!((30..=31).contains(&before), "{before}");
    verification.applied(50_000_000_000);
    let mut phases = vec![];
    for second in 51..=100 {
        let progress = verification.push(&frame(second, BUSY));
        assert_eq!(verification.verdict().is_some(), progress.phase == Phase::Done);
        if phases.last().is_none_or(|last: &(Phase, u64)| last.0 != progress.phase) {
            phases.push((progress.phase, second));
        }
    }
    assert_eq!(phases, [(Phase::Settling, 51), (Phase::Measuring, 55), (Phase::Done, 85)]);
    // The first samples after still tell of the time in which it settled.
    assert_eq!(verification.progress().after, 30);
    assert!((verification.progress().done - 1.0).abs() < 1e-9);
}

#[test]
fn what_is_there_while_it_settles_is_shown_and_not_judged() {
    let mut verification = run(&verify(), None, (40, BUSY), (3, Load { packets: Some(200_000.0), ..BUSY }));
    let shown = verification.table().first().and_then(|row| row.after).map_or(0.0, |after| after[0]);
    assert!((shown - 200_000.0).abs() < 10_000.0, "{shown}");
    for second in 144..=190 {
        verification.push(&frame(second, BUSY));
    }
    assert_eq!(verification.verdict().map(|verdict| verdict.name), Some("no_change"));
}

#[test]
fn what_was_seen_earlier_comes_first() {
    let mut past = Verification::new(&verify(), None);
    let mut own = Verification::new(&verify(), None);
    for second in 100..=125 {
        past.push(&frame(second, BUSY));
    }
    for second in 124..=130 {
        own.push(&frame(second, BUSY));
    }
    own.precede(past);
    assert_eq!(own.progress().before, 31);
    own.push(&frame(131, BUSY));
    assert_eq!(own.progress().before, 31);
}

#[test]
fn frames_twice_count_once() {
    let mut verification = Verification::new(&verify(), None);
    for second in (1..=12).chain(1..=12) {
        verification.push(&frame(second, BUSY));
    }
    assert_eq!(verification.progress().before, 12);
}

#[test]
fn rare_samples_make_the_windows_longer() {
    let mut verification = Verification::new(&verify(), None);
    let at = |second: u64| Frame { interval_seconds: Some(10.0), ..frame(second, BUSY) };
    for second in 1..=20 {
        verification.push(&at(second * 10));
    }
    assert_eq!(verification.progress().before, FEWEST);
    verification.applied(200_000_000_000);
    let done = (21..60).map(|second| second * 10).find(|second| verification.push(&at(*second)).phase == Phase::Done);
    assert_eq!(done, Some(340));
    assert_eq!(verification.verdict().map(|verdict| verdict.name), Some("no_change"));
}

fn choked(second: u64, share: f64) -> Frame {
    let mut frame = frame(second, BUSY);
    let stall = PressureStall { some_ratio: Some(share), full_ratio: Some(share), ..PressureStall::default() };
    frame.pressure = vec![Pressure { resource: "memory".into(), stall }];
    frame
}

#[test]
fn a_limit_trips_when_it_is_exceeded_for_long_enough() {
    let watch = Watch { subject: Subject::Pressure("memory".into()), metric: "pressure.full" };
    let trips = vec![Trip { watch, above_hundredths: 10, seconds: 5 }];
    let mut verification = Verification::new(&Verify { trips, ..verify() }, None);
    let mut push = |second, share| {
        verification.push(&choked(second, share));
        verification.tripped().map(|tripped| (second, tripped.text()))
    };
    (1..=20).for_each(|second| assert_eq!(push(second, 0.5), None, "nothing was applied yet"));
    verification.applied(20_000_000_000);
    let mut push = |second, share| {
        verification.push(&choked(second, share));
        verification.tripped().map(|tripped| (second, tripped.text()))
    };
    (21..=24).for_each(|second| assert_eq!(push(second, 0.5), None));
    assert_eq!(push(25, 0.05), None);
    (26..=29).for_each(|second| assert_eq!(push(second, 0.2), None));
    let (second, text) = push(30, 0.2).expect("tripped");
    assert_eq!((second, &*text), (30, "pressure.full of pressure:memory was 0.200, above 0.1 for 5 s"));
}

#[test]
fn control_groups_are_followed_by_the_names_that_outlive_them() {
    let path = "/system.slice/run-u12.service";
    let watch = Watch { subject: Subject::Cgroup(path.into()), metric: "cgroup.cores" };
    let verify = Verify { load: Some(watch), cost: None, guards: Vec::new(), ..verify() };
    let mut verification = Verification::new(&verify, None);
    let mut push = |second: u64, cores: f64| {
        let mut group = Cgroup { path: path.into(), ..Cgroup::default() };
        group.cpu.usage_cores = Some(cores * wobble(second));
        verification.push(&Frame { cgroups: vec![group], ..frame(second, BUSY) });
        if second == 40 {
            verification.applied(40_000_000_000);
        }
    };
    (1..=80).for_each(|second| push(second, if second <= 40 { 1.0 } else { 2.0 }));
    assert_eq!(verification.verdict().map(|verdict| verdict.name), Some("improved"));
}

/// Of version 1, a group may be of the blkio controller alone: neither CPU time nor memory is counted in it.
#[test]
fn a_group_that_only_has_an_io_limit_is_measured() {
    let watch = Watch { subject: Subject::Cgroup("/pg".into()), metric: "cgroup.io_writes" };
    let verify = Verify { load: Some(watch), cost: None, guards: Vec::new(), ..verify() };
    let mut verification = Verification::new(&verify, None);
    let mut push = |second: u64, writes: f64| {
        let limits = IoLimits { writes: Known::Value(writes as u64), ..IoLimits::default() };
        let io = CgroupIoRate { writes_per_second: writes * wobble(second), limits, ..CgroupIoRate::default() };
        let group = Cgroup { path: "/pg".into(), version: 1, io: vec![io], ..Cgroup::default() };
        verification.push(&Frame { cgroups: vec![group], ..frame(second, BUSY) });
        if second == 40 {
            verification.applied(40_000_000_000);
        }
    };
    (1..=80).for_each(|second| push(second, if second <= 40 { 50.0 } else { 500.0 }));
    assert_eq!(verification.verdict().map(|verdict| verdict.name), Some("improved"));
}

/// A service that waits for a disk may do ten small writes a second and nothing else.
#[test]
fn a_group_that_hardly_does_anything_is_measured() {
    let watch = Watch { subject: Subject::Cgroup("/queue".into()), metric: "cgroup.io_writes" };
    let verify = Verify { load: Some(watch), cost: None, guards: Vec::new(), ..verify() };
    let mut verification = Verification::new(&verify, None);
    let mut push = |second: u64, writes: f64| {
        let io = CgroupIoRate { writes_per_second: writes * wobble(second), ..CgroupIoRate::default() };
        let group = Cgroup { path: "/queue".into(), io: vec![io], ..Cgroup::default() };
        verification.push(&Frame { cgroups: vec![group], ..frame(second, BUSY) });
        if second == 40 {
            verification.applied(40_000_000_000);
        }
    };
    (1..=80).for_each(|second| push(second, if second <= 40 { 10.0 } else { 18.0 }));
    assert_eq!(verification.verdict().map(|verdict| verdict.name), Some("improved"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn there_is_always_a_verdict(
        values in prop::collection::vec((prop::option::of(-1e12..1e12f64), 0.0..2.0f64), 0..60),
        applied in 0u64..60,
    ) {
        let mut verification = Verification::new(&verify(), Some("tps"));
        for (at, (packets, softirq)) in values.iter().enumerate() {
            let second = at as u64 + 1;
            verification.push(&frame(second, Load { packets: *packets, softirq: *softirq, ..BUSY }));
            if second == applied {
                verification.applied(applied * 1_000_000_000);
            }
        }
        let names = ["improved", "no_change", "worse", "inconclusive"];
        prop_assert!(names.contains(&verification.so_far().name));
        prop_assert_eq!(verification.table().len(), 3);
    }
}
