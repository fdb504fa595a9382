//! Every rule: a machine on which it fires and what it says, the same machine well, and one that hides it.

mod first;
mod limits;
mod p0;
mod placement;
mod second;

use crate::bottleneck;
use crate::frame::*;
use crate::judge::{Judge, Judgement, Standing};
use crate::rules::{self, Finding, Severity, report};
use crate::{Gap, IdSet, Known, Reason, SectionStates, Stamp, State};
use std::sync::Arc;

const SECOND: u64 = 1_000_000_000;
const GIB: u64 = 1 << 30;

fn set(list: &str) -> Arc<IdSet> {
    Arc::new(IdSet::parse_list(list).expect("a list"))
}

fn shares(busy: f64, softirq: f64) -> CpuShares {
    CpuShares { busy, user: busy - softirq, softirq, idle: 1.0 - busy, ..CpuShares::default() }
}

/// A healthy machine: two nodes of four CPUs, one interface of four queues, one disk, one group with a limit.
fn healthy() -> Frame {
    let cpu = |id| Cpu {
        id,
        node: Known::Value(id / 4),
        online: true,
        shares: Some(shares(0.1, 0.0)),
        mhz: Some(3400.0),
        ..Cpu::default()
    };
    let memory = |id| Node {
        id,
        memory_total_bytes: Known::Value(64 * GIB),
        memory_free_bytes: Known::Value(32 * GIB),
        low_watermark_bytes: Known::Value(GIB / 8),
        numa_hit_per_second: Some(10_000.0),
        numa_miss_per_second: Some(0.0),
        numa_foreign_per_second: Some(0.0),
        ..Node::default()
    };
    Frame {
        interval_seconds: Some(1.0),
        topology: Arc::new(topology()),
        cpus: (0..8).map(cpu).collect(),
        nodes: (0..2).map(memory).collect(),
        nics: vec![nic()],
        irqbalance: Some(Irqbalance { state: "running".into(), ..Irqbalance::default() }),
        softnet: vec![SoftnetRow { cpu: 1, processed_per_second: Some(90_000.0), ..SoftnetRow::default() }],
        cgroups: vec![group()],
        disks: vec![Disk { name: "sdb".into(), kind: "disk".into(), utilisation: Some(0.1), ..Disk::default() }],
        processes: vec![process(100, "java")],
        pressure: vec![Pressure { resource: "io".into(), ..Pressure::default() }],
        sysctls: vec![("vm.zone_reclaim_mode".into(), "0".into())],
        cost: Cost { cpu_cores: Some(0.004), ..Cost::default() },
        memory: memory_of_machine(),
        sections: SectionStates::all(State::Read),
        ..Frame::default()
    }
}

fn topology() -> Topology {
    let clock = ClockPolicy {
        governor: "powersave".into(),
        driver: "intel_pstate".into(),
        max_mhz: Some(3500.0),
        limit_mhz: Some(3500.0),
    };
    let place = |id| CpuPlace {
        id,
        node: Known::Value(id / 4),
        online: true,
        clock: Some(clock.clone()),
        ..CpuPlace::default()
    };
    let node = |id: u32| NodePlace {
        id,
        cpus: (*set(if id == 0 { "0-3" } else { "4-7" })).clone(),
        distances: vec![(0, if id == 0 { 10 } else { 21 }), (1, if id == 0 { 21 } else { 10 })],
        has_cpus: true,
        has_memory: true,
        ..NodePlace::default()
    };
    Topology {
        cpus_online: (*set("0-7")).clone(),
        cpus: (0..8).map(place).collect(),
        nodes: (0..2).map(node).collect(),
        ..Topology::default()
    }
}

fn memory_of_machine() -> Memory {
    Memory {
        total_bytes: Known::Value(128 * GIB),
        available_bytes: Known::Value(100 * GIB),
        dirty_bytes: Known::Value(GIB / 1000),
        dirty_threshold_bytes: Known::Value(GIB),
        pswpin_per_second: Some(0.0),
        pswpout_per_second: Some(0.0),
        pgmajfault_per_second: Some(0.0),
        ..Memory::default()
    }
}

fn nic() -> Nic {
    let queue = |queue: u32| Queue {
        queue,
        direction: "rxtx".into(),
        irq: Known::Value(40 + queue),
        cpus: Some(set(&queue.to_string())),
        node: Known::Value(0),
        packets_per_second: Some(20_000.0),
        ..Queue::default()
    };
    let four = Channel { current: Known::Value(4), max: Known::Value(4) };
    Nic {
        name: "eth0".into(),
        kind: "physical".into(),
        node: Known::Value(0),
        carrier: Known::Value(true),
        capacity_mbps: Known::Value(10_000),
        utilisation: Some(0.2),
        rx: NicRates { packets_per_second: Some(80_000.0), drops_per_second: Some(0.0), ..NicRates::default() },
        channels: Channels { combined: four, ..Channels::default() },
        queues: (0..4).map(queue).collect(),
        ..Nic::default()
    }
}

fn group() -> Cgroup {
    let memory = CgroupMemory {
        current_bytes: Known::Value(GIB),
        limit_bytes: Known::Value(4 * GIB),
        effective_limit_bytes: Known::Value(4 * GIB),
        limited_by: "/mq".into(),
        reclaimable_bytes: Known::Value(GIB / 2),
        unreclaimable_bytes: Known::Value(GIB / 2),
        refault_file_per_second: Some(0.0),
        ..CgroupMemory::default()
    };
    let cpu = CgroupCpu {
        quota_cores: Known::Value(2.0),
        throttled_ratio: Some(0.0),
        periods: Some(10),
        usage_cores: Some(0.5),
        ..CgroupCpu::default()
    };
    Cgroup { path: "/mq".into(), version: 2, memory: Some(memory), cpu, ..Cgroup::default() }
}

fn process(pid: u32, comm: &str) -> Process {
    Process {
        pid,
        starttime: 7,
        comm: comm.into(),
        cgroup: "/mq".into(),
        threads: Known::Value(8),
        cpu_cores: Some(3.0),
        cpu_by_node: vec![(0, 3.0)],
        affinity: Some(set("0-7")),
        mems_allowed: Some(set("0-1")),
        policy: "default".into(),
        rss_bytes: Known::Value(2 * GIB),
        memory: Some(at_node(&[(0, 2 * GIB)], 0.0)),
        ..Process::default()
    }
}

fn at_node(by_node: &[(u32, u64)], remote: f64) -> ProcessMemory {
    ProcessMemory { by_node: by_node.to_vec(), remote_ratio: Some(remote), error: 0.03, ..ProcessMemory::default() }
}

fn thread(pid: u32, tid: u32, cpu: u32) -> Thread {
    Thread {
        pid,
        tid,
        comm: "1_scheduler".into(),
        cpu_cores: Some(0.5),
        wait_share: Some(0.5),
        demand_cores: Some(1.0),
        last_cpu: Known::Value(cpu),
        affinity: Some(set(&cpu.to_string())),
        ..Thread::default()
    }
}

/// Two Erlang VMs on the CPUs given.
fn beams(frame: &mut Frame, cpus: [u32; 2]) {
    let beam = |cpu| Beam {
        bind_type_configured: Known::Value("db".into()),
        bound_now: Known::Value(true),
        schedulers: Known::Value(1),
        schedulers_online: Known::Value(1),
        schedulers_active: Some(1),
        pinned: vec![(cpu, 1)],
    };
    let pids = [200, 201];
    frame.processes = pids
        .iter()
        .zip(cpus)
        .map(|(pid, cpu)| Process { beam: Some(beam(cpu)), ..process(*pid, "beam.smp") })
        .collect();
    frame.threads = pids.iter().zip(cpus).map(|(pid, cpu)| thread(*pid, pid + 1, cpu)).collect();
}

fn hot(frame: &mut Frame, cpu: usize) {
    frame.cpus[cpu].shares = Some(shares(0.97, 0.95));
}

/// What is known after twenty-four seconds that each change the healthy machine.
fn judged(change: impl FnMut(&mut Frame, u64)) -> Judgement {
    judged_for(24, change)
}

/// The same after as many seconds as a rule needs.
fn judged_by(rule: &str, change: impl FnMut(&mut Frame, u64)) -> Judgement {
    let pace = rules::find(rule).map(|rule| rule.pace).expect("a rule");
    judged_for(u64::from((pace.of + 10).max(pace.warm_up + 5)).max(24), change)
}

fn judged_for(seconds: u64, mut change: impl FnMut(&mut Frame, u64)) -> Judgement {
    let mut judge = Judge::default();
    let mut last = Judgement::default();
    for second in 1..=seconds {
        let mut frame = healthy();
        frame.stamp = Stamp { seq: second, mono_ns: second * SECOND, ..Stamp::default() };
        change(&mut frame, second);
        last = judge.step(&frame);
    }
    last
}

fn find<'a>(findings: &'a [Finding], rule: &str) -> Option<&'a Finding> {
    findings.iter().find_map(|finding| {
        if finding.rule.id.as_str() == rule { Some(finding) } else { find(&finding.children, rule) }
    })
}

/// A sick machine, by what is changed on the healthy one in each second.
struct Case {
    rule: &'static str,
    severity: Severity,
    says: &'static str,
    sick: fn(&mut Frame, u64),
}

/// A machine that looks sick and is not: no finding at warning or above, and of the rule none but what is told.
struct Quiet {
    rule: &'static str,
    what: &'static str,
    reported: bool,
    well: fn(&mut Frame, u64),
}

/// A machine that hides from one rule what it would need.
struct Hidden {
    rule: &'static str,
    /// Part of the reason that is given.
    says: &'static str,
    hide: fn(&mut Frame, u64),
}

/// Every case; each list in a file of its own.
fn cases() -> impl Iterator<Item = &'static Case> {
    p0::CASES.iter().chain(first::CASES).chain(second::CASES)
}

fn quiet() -> impl Iterator<Item = &'static Quiet> {
    first::QUIET.iter().chain(second::QUIET)
}

fn hidden() -> impl Iterator<Item = &'static Hidden> {
    first::HIDDEN.iter().chain(second::HIDDEN)
}

/// The sick machine of a rule in its last second, changed further, and what the rule finds on it.
pub(crate) fn sick(rule: &str, change: impl Fn(&mut Frame)) -> (Frame, Finding) {
    let case = cases().find(|case| case.rule == rule).expect("a case");
    let mut last = Frame::default();
    let judgement = judged_by(rule, |frame, second| {
        (case.sick)(frame, second);
        change(frame);
        last = frame.clone();
    });
    let reported: Vec<_> = judgement.findings.iter().map(Finding::title).collect();
    (last, find(&judgement.findings, rule).unwrap_or_else(|| panic!("{rule} among {reported:?}")).clone())
}

#[test]
fn a_healthy_machine_has_no_findings_in_ten_minutes() {
    let judgement = judged_for(600, |_, _| ());
    assert!(judgement.findings.is_empty(), "{:?}", judgement.findings.iter().map(Finding::title).collect::<Vec<_>>());
    assert!(judgement.rules.iter().all(|(_, standing)| *standing == Standing::Quiet), "{:?}", judgement.rules);
}

#[test]
fn every_rule_fires_where_it_should() {
    let mut wrong = Vec::new();
    for rule in rules::ALL {
        let Some(case) = cases().find(|case| case.rule == rule.id.as_str()) else {
            wrong.push(format!("{} has no case", rule.id.as_str()));
            continue;
        };
        let judgement = judged_by(rule.id.as_str(), case.sick);
        let reported: Vec<_> =
            judgement.findings.iter().map(|finding| (finding.rule.id.as_str(), finding.title())).collect();
        let found = find(&judgement.findings, rule.id.as_str()).map(|finding| (finding.title(), finding.severity));
        if found != Some((case.says.to_owned(), case.severity)) || judgement.findings.len() != 1 {
            wrong.push(format!("{}: {found:?} among {reported:?}", rule.id.as_str()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Before a finding opens, its rule says when it will: no time that ends in between is long enough.
#[test]
fn what_will_be_found_is_undecided_until_then() {
    let mut wrong = Vec::new();
    for case in cases() {
        let is_open = |seconds| find(&judged_for(seconds, case.sick).findings, case.rule).is_some();
        let opens = (1..=40).find(|seconds| is_open(*seconds)).expect("a finding");
        for seconds in bottleneck::SAMPLES..opens {
            let judgement = judged_for(seconds, case.sick);
            let found = judgement.undecided.iter().find(|row| row.rule.id.as_str() == case.rule);
            if found.map(|row| (row.needed, row.severity)) != Some((opens, case.severity)) {
                let found = found.map(|row| (row.needed, row.severity));
                wrong.push(format!("{} at {seconds} of {opens}: {found:?}", case.rule));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_healthy_machine_is_decided_with_its_answer() {
    for seconds in bottleneck::SAMPLES..30 {
        let undecided = judged_for(seconds, |_, _| ()).undecided;
        assert!(undecided.is_empty(), "after {seconds} s: {undecided:?}");
    }
}

/// The whole text of each finding, as `check` prints it.
#[test]
fn every_finding_reads_well() {
    for case in cases() {
        let judgement = judged_by(case.rule, case.sick);
        let reported = find(&judgement.findings, case.rule).map(|finding| report::in_full(finding, "00:00:01 UTC"));
        insta::assert_snapshot!(case.rule, reported.unwrap_or_default());
    }
}

#[test]
fn what_only_looks_sick_is_no_finding() {
    let mut wrong = Vec::new();
    for Quiet { rule, what, reported, well } in quiet() {
        let judgement = judged_by(rule, *well);
        let loud: Vec<String> =
            judgement.findings.iter().filter(|finding| finding.severity > Severity::Info).map(Finding::title).collect();
        if find(&judgement.findings, rule).is_some() != *reported || !loud.is_empty() {
            let all: Vec<String> = judgement.findings.iter().map(Finding::title).collect();
            wrong.push(format!("{rule}, {what}: {all:?}, loud are {loud:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_one_rule_cannot_see_it_says() {
    let mut wrong = Vec::new();
    for Hidden { rule, says, hide } in hidden() {
        let judgement = judged_by(rule, *hide);
        let standing = judgement.rules.iter().find(|(known, _)| known.id == *rule).map(|(_, standing)| standing);
        let said = matches!(standing, Some(Standing::NotChecked(unchecked)) if unchecked.iter().any(|row| row.reason.contains(says)));
        if !said {
            wrong.push(format!("{rule}, {says}: {standing:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_hidden_is_not_checked() {
    let judgement = judged(|frame, _| frame.sections = SectionStates::all(State::Missing));
    for (rule, standing) in &judgement.rules {
        let denied = matches!(standing, Standing::NotChecked(unchecked) if !unchecked.is_empty());
        assert!(denied || rule.reads.is_empty(), "{} passes in silence", rule.id.as_str());
    }
}

/// Rules that need no part of a sample, with what makes them say that they could not look. META-01 to 03 are of what is
/// not there: gaps, the monitor's own cost, what was written.
const NEEDLESS: &[&str] = &["META-01", "META-02", "META-03"];

#[test]
fn every_rule_has_a_sick_a_quiet_and_a_hidden_machine() {
    let well = judged_for(120, |_, _| ());
    let dark = judged(|frame, _| frame.sections = SectionStates::all(State::Missing));
    let stands = |judgement: &Judgement, id: &str| {
        judgement.rules.iter().find(|(rule, _)| rule.id.as_str() == id).map(|(_, standing)| standing.clone())
    };
    let mut wrong = Vec::new();
    for rule in rules::ALL {
        let fires = cases().any(|case| case.rule == rule.id.as_str());
        let rests = stands(&well, rule.id.as_str()) == Some(Standing::Quiet);
        let reported = |standing: Option<Standing>| matches!(standing, Some(Standing::NotChecked(rows)) if rows.iter().all(|row| !row.reason.is_empty()));
        let denied = reported(stands(&dark, rule.id.as_str())) || NEEDLESS.contains(&rule.id.as_str());
        if !(fires && rests && denied) {
            wrong.push(format!("{}: fires {fires}, rests {rests}, denied {denied}", rule.id.as_str()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What swings around a threshold every four seconds comes or goes at most once a minute.
#[test]
fn what_swings_does_not_flicker() {
    let mut wrong = Vec::new();
    for case in cases() {
        let mut judge = Judge::default();
        let (mut was, mut flips) = (false, Vec::new());
        for second in 1..=180u64 {
            let mut frame = healthy();
            frame.stamp = Stamp { seq: second, mono_ns: second * SECOND, ..Stamp::default() };
            let mut sick = frame.clone();
            (case.sick)(&mut sick, second);
            // An interrupt does not come and go.
            frame.irqs = sick.irqs.clone();
            if second % 4 < 2 {
                frame = sick;
            }
            let is = find(&judge.step(&frame).findings, case.rule).is_some();
            if is != was {
                flips.push(second);
            }
            was = is;
        }
        if flips.windows(2).any(|pair| pair[1] - pair[0] < 60) {
            wrong.push(format!("{} at {flips:?}", case.rule));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn one_queue_is_one_finding() {
    let case = cases().find(|case| case.rule == "NIC-01").expect("a case");
    let judgement = judged(case.sick);
    let children: Vec<&str> = judgement.findings[0].children.iter().map(|child| child.rule.id.as_str()).collect();
    assert_eq!((judgement.findings[0].rule.id.as_str(), children), ("NIC-01", vec!["CPU-01", "IRQ-01"]));
}
