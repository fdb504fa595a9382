//! Memory of control groups: machines that a rule got wrong.

use super::*;
use crate::locale::evidence;

const MIB: u64 = 1 << 20;

fn severity(judgement: &Judgement, rule: &str) -> Option<Severity> {
    find(&judgement.findings, rule).map(|finding| finding.severity)
}

fn memory(frame: &mut Frame) -> &mut CgroupMemory {
    frame.cgroups[0].memory.as_mut().expect("memory")
}

/// A RocketMQ broker at 700 MiB of version 1: 81 % of its memory stays, 20 % is page cache that is read again and again.
fn broker(frame: &mut Frame) {
    frame.cgroups[0].version = 1;
    let memory = memory(frame);
    let limit = 700 * MIB;
    *memory = CgroupMemory {
        current_bytes: Known::Value(limit),
        limit_bytes: Known::Value(limit),
        effective_limit_bytes: Known::Value(limit),
        reclaimable_bytes: Known::Value(limit * 19 / 100),
        unreclaimable_bytes: Known::Value(limit * 81 / 100),
        events_max_per_second: Some(15_000.0),
        refault_file_per_second: Some(41_000.0),
        pgmajfault_per_second: Some(20.0),
        ..CgroupMemory::default()
    };
}

#[test]
fn thrashing_is_judged_by_what_reclaim_costs() {
    let judgement = judged(|frame, _| broker(frame));
    assert_eq!(severity(&judgement, "MEM-02"), Some(Severity::Warning));
    let finding = find(&judgement.findings, "MEM-02").expect("MEM-02");
    let sources: Vec<_> = finding.evidence.iter().map(|evidence| evidence.source).collect();
    assert!(sources.contains(&"memory.limit_in_bytes") && !sources.contains(&"memory.max"), "{sources:?}");
}

#[test]
fn refaults_that_cannot_be_counted_are_not_quiet() {
    let judgement = judged(|frame, _| {
        broker(frame);
        memory(frame).refault_file_per_second = None;
    });
    let standing = judgement.rules.iter().find(|(rule, _)| rule.id == "MEM-02").map(|(_, standing)| standing);
    assert!(matches!(standing, Some(Standing::NotChecked(_))), "{standing:?}");
}

#[test]
fn a_group_below_memory_high_stalls_too() {
    let judgement = judged(|frame, _| {
        frame.cgroups[0].pressure.memory = Some(PressureStall { some_ratio: Some(0.3), ..PressureStall::default() });
        let memory = memory(frame);
        memory.high_bytes = Known::Value(GIB);
        memory.current_bytes = Known::Value(GIB - MIB);
    });
    let finding = find(&judgement.findings, "MEM-02").expect("MEM-02");
    assert_eq!(finding.number(evidence::LIMIT), Some(GIB as f64));
    assert!(finding.evidence.iter().any(|evidence| evidence.source == "memory.high"));
}

#[test]
fn what_fits_into_swap_does_not_end_in_a_kill() {
    let with = |swap: u64| {
        judged(move |frame, _| {
            (frame.memory.swap_total_bytes, frame.memory.swap_free_bytes) = (Known::Value(8 * GIB), Known::Value(swap));
            let memory = memory(frame);
            memory.unreclaimable_bytes = Known::Value(4 * GIB * 90 / 100);
            memory.anon_bytes = Known::Value(4 * GIB * 88 / 100);
        })
    };
    assert_eq!(severity(&with(0), "MEM-01"), Some(Severity::Warning));
    assert_eq!(severity(&with(8 * GIB), "MEM-01"), None);
    let limited = judged(|frame, _| {
        (frame.memory.swap_total_bytes, frame.memory.swap_free_bytes) = (Known::Value(8 * GIB), Known::Value(8 * GIB));
        let memory = memory(frame);
        (memory.unreclaimable_bytes, memory.anon_bytes) =
            (Known::Value(4 * GIB * 90 / 100), Known::Value(4 * GIB * 88 / 100));
        memory.swap_limit_bytes = Known::Value(0);
    });
    assert_eq!(severity(&limited, "MEM-01"), Some(Severity::Warning), "it may not swap");
}

/// A kill in `/mq/a` while the groups were out of memory or not; `/mq-b` lies between them in order.
fn killed(oom: [Option<u64>; 2]) -> Judgement {
    judged(move |frame, second| kill(frame, second, oom))
}

fn kill(frame: &mut Frame, second: u64, oom: [Option<u64>; 2]) {
    let group = frame.cgroups[0].clone();
    let named = |path: &str| Cgroup { path: path.into(), ..group.clone() };
    frame.cgroups = vec![named("/mq"), named("/mq-b"), named("/mq/a")];
    for (at, oom) in [0, 2].into_iter().zip(oom) {
        let memory = frame.cgroups[at].memory.as_mut().expect("memory");
        memory.oom_kills_gained = Some(u64::from(second == 5));
        memory.ooms_gained = oom.map(|oom| oom * u64::from(second == 5));
    }
    frame.memory.oom_kills_gained = Some(u64::from(second == 5));
}

#[test]
fn a_kill_belongs_to_whoever_was_out_of_memory() {
    let subjects = |judgement: &Judgement| {
        let kills = judgement.findings.iter().filter(|finding| finding.rule.id == "MEM-04");
        kills.map(|finding| finding.subject.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(subjects(&killed([Some(1), Some(1)])), ["cgroup:/mq/a"]);
    assert_eq!(subjects(&killed([Some(1), Some(0)])), ["cgroup:/mq"], "the limit above");
    let machine = killed([Some(0), Some(0)]);
    assert_eq!(subjects(&machine), ["host"], "the machine had no memory left");
    assert_eq!(find(&machine.findings, "MEM-04").expect("MEM-04").text(evidence::VICTIM), "/mq/a");
    assert_eq!(subjects(&killed([None, None])), ["cgroup:/mq/a"], "nobody tells whose it was");
    // The kernel's log knows.
    let logged = |constraint: &'static str, memcg: &'static str| {
        judged(move |frame, second| {
            kill(frame, second, [None, None]);
            let task_memcg = "/mq/a".into();
            frame.oom_kills = vec![OomKill { constraint: constraint.into(), memcg: memcg.into(), task_memcg }];
        })
    };
    let machine = logged("NONE", "");
    assert_eq!(subjects(&machine), ["host"]);
    let finding = find(&machine.findings, "MEM-04").expect("MEM-04");
    assert_eq!(finding.text(evidence::CONSTRAINT), "CONSTRAINT_NONE");
    assert_eq!(subjects(&logged("MEMCG", "/mq")), ["cgroup:/mq"]);
}

#[test]
fn what_zswap_takes_costs_no_disk() {
    let with = |device: f64, stalls: f64| {
        judged(move |frame, _| {
            frame.memory.swap_total_bytes = Known::Value(8 * GIB);
            let memory = &mut frame.memory;
            (memory.pswpin_per_second, memory.pswpout_per_second) = (Some(device), Some(0.0));
            (memory.zswpin_per_second, memory.zswpout_per_second) = (Some(4000.0), Some(5000.0));
            memory.allocstall_per_second = Some(stalls);
        })
    };
    let calm = with(3.0, 0.0);
    let title = find(&calm.findings, "MEM-08").map(Finding::title);
    let expected = "the machine swaps 4000 pages/s in from zswap (compressed memory) and 5000 pages/s out to it; disk: 3 in, 0 out";
    assert_eq!(title.as_deref(), Some(expected));
    assert_eq!(severity(&calm, "MEM-08"), Some(Severity::Info));
    assert_eq!(severity(&with(3.0, 20.0), "MEM-08"), Some(Severity::Warning), "tasks wait for memory");
    assert_eq!(severity(&with(20_000.0, 0.0), "MEM-08"), Some(Severity::Warning), "most come from the disk");
}

#[test]
fn packets_that_only_the_driver_counts_as_lost_are_lost() {
    let judgement = judged(|frame, _| {
        let nic = &mut frame.nics[0];
        (nic.rx.drops_per_second, nic.rx_unbuffered_per_second) = (Some(0.0), Some(90.0));
        nic.rx_ring = Channel { current: Known::Value(1024), max: Known::Value(4096) };
    });
    let title = find(&judgement.findings, "NIC-06").map(Finding::title);
    assert_eq!(title.as_deref(), Some("eth0 loses 90 packets/s in its receive ring (size 1024, maximum 4096)"));
}

#[test]
fn groups_of_version_1_cite_files_of_version_1() {
    const OF_VERSION_2: [&str; 9] = [
        "memory.current",
        "memory.max",
        "memory.high",
        "memory.events",
        "memory.swap.",
        "cpu.max",
        "cpuset.cpus.effective",
        "io.max",
        "io.stat",
    ];
    let mut wrong = Vec::new();
    for case in cases() {
        let judgement = judged_by(case.rule, |frame, second| {
            (case.sick)(frame, second);
            frame.cgroups.iter_mut().for_each(|group| group.version = 1);
        });
        for finding in judgement.all() {
            let cited = finding.evidence.iter().filter(|row| OF_VERSION_2.iter().any(|name| row.source.contains(name)));
            wrong.extend(cited.map(|row| format!("{}: {} from {}", finding.rule.id, row.name, row.source)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
