//! How staves stand: measured, blamed, and unknown rather than ruled out.

use super::{Kind, Stave, Staves, Tally, Verdict, exclusions, sentence};
use crate::frame::*;
use crate::judge::Settings;
use crate::rules::{self, Evidence, Figure, Finding, Severity, Subject};
use crate::{Gap, Known, Reason, Section, Snapshot, Stamp, State, Table, VisitMut};
use proptest::prelude::*;
use std::sync::Arc;

struct Read;

impl VisitMut for Read {
    fn section<T: Table>(&mut self, _: &'static str, section: &mut Arc<Section<T>>) {
        let mut empty = Section::<T>::default();
        empty.state = State::Read;
        *section = Arc::new(empty);
    }
}

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
    let mut raw = Snapshot::default();
    raw.visit_mut(&mut Read);
    let memory =
        Memory { total_bytes: Known::Value(8 << 30), available_bytes: Known::Value(6 << 30), ..Memory::default() };
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
        memory,
        raw,
        ..Frame::default()
    }
}

fn of(frame: &Frame) -> Staves {
    Staves::of(frame, &[], &Settings::default())
}

fn verdict(frame: &Frame, kind: Kind) -> Verdict {
    of(frame).get(kind).map(|stave| stave.verdict).expect("every stave is there")
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
    };
    Cgroup { path: "/db.service".into(), version: 2, cpu, ..Cgroup::default() }
}

#[test]
fn a_healthy_machine_rules_everything_out() {
    let staves = of(&healthy());
    let wrong: Vec<_> = staves.iter().filter(|stave| stave.verdict != Verdict::RuledOut).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    assert_eq!(staves.short(), None);
    assert_eq!(staves.iter().map(|stave| stave.kind).collect::<Vec<_>>(), Kind::ALL);
    let next = staves.next().expect("something is nearest");
    assert_eq!((next.kind, next.headroom().map(|times| (times * 10.0).round())), (Kind::NicOut, Some(21.0)));
}

#[test]
fn what_is_full_is_guilty_by_its_own_measure() {
    let mut frame = healthy();
    frame.cpus[1] = cpu(3, 0.98, 0.1);
    let staves = of(&frame);
    assert_eq!(staves.short().map(Stave::said), Some("core 3 98 %".to_owned()));
    // Interrupts are why the core is full.
    frame.cpus[1] = cpu(3, 0.98, 0.95);
    assert_eq!(of(&frame).short().map(Stave::said), Some("softirq core 3 95 %".to_owned()));
    // A CPU that the host takes away is as full as one that is used.
    let mut frame = healthy();
    frame.cpus[1].shares = Some(CpuShares { busy: 0.6, steal: 0.4, ..CpuShares::default() });
    assert_eq!(verdict(&frame, Kind::Core), Verdict::Guilty);
    // A poller on an isolated CPU is there on purpose.
    let mut frame = healthy();
    frame.cpus[1] = Cpu { isolated: true, ..cpu(3, 1.0, 0.0) };
    assert_eq!(verdict(&frame, Kind::Core), Verdict::RuledOut);
}

#[test]
fn thresholds_are_those_of_the_rules_as_configured() {
    let mut frame = healthy();
    frame.cpus[1] = cpu(3, 0.8, 0.0);
    let mut settings = Settings::default();
    let guilty = |settings: &Settings| Staves::of(&frame, &[], settings).short().map(|stave| stave.kind);
    assert_eq!(guilty(&settings), None);
    settings.thresholds.insert(("CPU-01".to_owned(), "busy".to_owned()), 0.75);
    assert_eq!(guilty(&settings), Some(Kind::Core));
}

#[test]
fn a_link_of_unknown_capacity_is_never_ruled_out() {
    let mut frame = healthy();
    assert_eq!(of(&frame).get(Kind::NicOut).map(Stave::said), Some("nic out eth0 42 % of 10.0 Gbit/s".to_owned()));
    frame.nics.push(nic("eth1", Known::None, 0.0, 5e6));
    assert_eq!(verdict(&frame, Kind::NicOut), Verdict::Unknown);
    assert_eq!(of(&frame).get(Kind::NicOut).map(Stave::said), Some("nic out eth1 40 Mbit/s".to_owned()));
    // Unless another one is full: then one knows.
    frame.nics[0] = nic("eth0", Known::Value(10_000), 1e8, 1.2e9);
    assert_eq!((verdict(&frame, Kind::NicIn), verdict(&frame, Kind::NicOut)), (Verdict::Unknown, Verdict::Guilty));
    // One without a link carries nothing.
    frame.nics.truncate(1);
    frame.nics.push(Nic { carrier: Known::Value(false), ..nic("eth1", Known::Missing, 0.0, 0.0) });
    assert_eq!(verdict(&frame, Kind::NicIn), Verdict::RuledOut);
    frame.nics.clear();
    assert_eq!(verdict(&frame, Kind::NicIn), Verdict::RuledOut);
    frame.host.in_container = Known::Value(true);
    assert_eq!(verdict(&frame, Kind::NicIn), Verdict::Unknown);
}

#[test]
fn a_disk_is_short_when_requests_wait() {
    let mut frame = healthy();
    frame.disks[0].utilisation = Some(1.0);
    let stave = of(&frame).get(Kind::Disk).cloned().expect("a stave");
    assert_eq!((stave.verdict, stave.note), (Verdict::RuledOut, "busy, but requests do not wait"));
    (frame.disks[0].await_ms, frame.disks[0].queue_depth) = (Known::Missing, None);
    assert_eq!(verdict(&frame, Kind::Disk), Verdict::Unknown);
    frame.disks[0].queue_depth = Some(9.0);
    assert_eq!(verdict(&frame, Kind::Disk), Verdict::Guilty);
}

#[test]
fn limits_that_could_not_be_read_are_unknown() {
    let mut frame = healthy();
    frame.cgroups = vec![group(2.0, 0.5, 0.0)];
    assert_eq!(of(&frame).get(Kind::Quota).map(Stave::said), Some("cpu quota db.service 25 % of 2 cores".to_owned()));
    let (path, needs) = ("sys/fs/cgroup/*/cpu.max".into(), "root".into());
    frame.gaps = vec![Gap { path, reason: Reason::PermissionDenied, count: 3, needs }];
    assert_eq!(verdict(&frame, Kind::Quota), Verdict::Unknown);
    // What is full is short, whatever the others are.
    frame.cgroups = vec![group(2.0, 0.5, 0.9)];
    assert_eq!(verdict(&frame, Kind::Quota), Verdict::Guilty);
    let unread = CgroupMemory { current_bytes: Known::Value(5), ..CgroupMemory::default() };
    frame.cgroups[0].memory = Some(unread);
    assert_eq!(verdict(&frame, Kind::Memory), Verdict::Unknown);
    frame.memory.available_bytes = Known::Value(1 << 20);
    assert_eq!(verdict(&frame, Kind::Memory), Verdict::Guilty);
}

#[test]
fn page_cache_at_a_limit_is_not_short() {
    let mut frame = healthy();
    let full = CgroupMemory {
        current_bytes: Known::Value(1000),
        limit_bytes: Known::Value(1000),
        effective_limit_bytes: Known::Value(1000),
        unreclaimable_bytes: Known::Value(100),
        ..CgroupMemory::default()
    };
    frame.cgroups = vec![Cgroup { memory: Some(full.clone()), ..group(9.0, 0.1, 0.0) }];
    assert_eq!(verdict(&frame, Kind::Memory), Verdict::RuledOut);
    frame.cgroups[0].memory = Some(CgroupMemory { unreclaimable_bytes: Known::Value(900), ..full });
    assert_eq!(verdict(&frame, Kind::Memory), Verdict::Guilty);
}

#[test]
fn remote_memory_needs_two_nodes_and_somebody_large() {
    let mut frame = healthy();
    let node = |id| NodePlace { id, has_cpus: true, has_memory: true, ..NodePlace::default() };
    frame.topology = Arc::new(Topology { nodes: vec![node(0), node(1)], ..Topology::default() });
    assert_eq!(of(&frame).get(Kind::Remote).map(|stave| stave.note), Some("no large busy process"));
    frame.processes[0].cpu_cores = Some(0.8);
    assert_eq!(verdict(&frame, Kind::Remote), Verdict::Unknown);
    let memory = |remote, error| Some(ProcessMemory { remote_ratio: Some(remote), error, ..ProcessMemory::default() });
    frame.processes[0].memory = memory(0.9, 0.03);
    assert_eq!(verdict(&frame, Kind::Remote), Verdict::Guilty);
    frame.processes[0].memory = memory(0.52, 0.1);
    assert_eq!(verdict(&frame, Kind::Remote), Verdict::Unknown);
    frame.processes[0].memory = memory(0.1, 0.1);
    assert_eq!(verdict(&frame, Kind::Remote), Verdict::RuledOut);
}

#[test]
fn one_sample_has_no_rates_and_rules_nothing_out() {
    let mut frame = healthy();
    frame.interval_seconds = None;
    frame.cpus.iter_mut().for_each(|cpu| cpu.shares = None);
    frame.processes[0].cpu_cores = None;
    frame.disks[0].utilisation = None;
    (frame.nics[0].rx, frame.nics[0].tx) = (NicRates::default(), NicRates::default());
    let staves = of(&frame);
    for kind in [Kind::Core, Kind::Thread, Kind::Softirq, Kind::Disk, Kind::NicIn, Kind::NicOut] {
        let stave = staves.get(kind).expect("a stave");
        assert_eq!((stave.verdict, stave.note), (Verdict::Unknown, "no rate yet"), "{kind:?}");
    }
    let nothing = of(&Frame::default());
    assert!(nothing.iter().all(|stave| stave.verdict == Verdict::Unknown), "{nothing:?}");
}

#[test]
fn an_open_finding_makes_its_stave_guilty() {
    let mut frame = healthy();
    let open = [finding("BEAM-01", Severity::Critical, Subject::Cpu(0))];
    let staves = Staves::of(&frame, &open, &Settings::default());
    let short = staves.short().expect("one is short");
    assert_eq!((short.said().as_str(), short.rule), ("core 0 20 %", Some(("BEAM-01", Severity::Critical))));
    // What is only told makes nothing short.
    let told = [finding("NIC-01", Severity::Info, Subject::Nic("eth0".into()))];
    assert_eq!(Staves::of(&frame, &told, &Settings::default()).short(), None);
    // The worst finding wins over what is narrower.
    frame.cpus[1] = cpu(3, 0.98, 0.95);
    assert_eq!(Staves::of(&frame, &open, &Settings::default()).short().map(|stave| stave.kind), Some(Kind::Core));
    let mut full = [finding("NIC-07", Severity::Warning, Subject::Nic("eth0".into()))];
    let number = |name, value| Evidence { name, value: Figure::Number(value), unit: "bytes/s", source: "" };
    full[0].evidence = vec![number("received", 1.0), number("sent", 2.0)];
    assert_eq!(Staves::of(&frame, &full, &Settings::default()).short().map(|stave| stave.kind), Some(Kind::NicOut));
}

#[test]
fn exclusions_are_a_sentence() {
    let mut frame = healthy();
    let open = finding("BEAM-01", Severity::Warning, Subject::Cpu(0));
    let said = |frame: &Frame, finding: &Finding| {
        let staves = Staves::of(frame, std::slice::from_ref(finding), &Settings::default());
        sentence(&exclusions(finding, &staves))
    };
    assert_eq!(
        said(&frame, &open),
        "neither nic (eth0 in 8 % of 10.0 Gbit/s, eth0 out 42 % of 10.0 Gbit/s) nor disk (sda 3 % busy, 0.4 ms) \
         nor memory (host 25 % of 8.0 GiB) is the limit"
    );
    frame.nics[0].capacity_mbps = Known::None;
    frame.disks.clear();
    assert_eq!(
        said(&frame, &open),
        "neither disk (no disk) nor memory (host 25 % of 8.0 GiB) is the limit; not known: nic (link capacity unknown)"
    );
    assert_eq!(said(&frame, &finding("BEAM-01", Severity::Info, Subject::Cpu(0))), "");
    assert_eq!(said(&frame, &finding("META-01", Severity::Warning, Subject::Host)), "");
}

#[test]
fn a_whole_test_is_summed_up() {
    let mut tally = Tally::default();
    let mut early = healthy();
    early.interval_seconds = None;
    early.cpus.clear();
    tally.take(&of(&early), false);
    assert_eq!(tally.staves().get(Kind::Core).map(|stave| stave.verdict), Some(Verdict::Unknown));
    for busy in [0.3, 0.97, 0.98, 0.99] {
        let mut frame = healthy();
        frame.cpus[1] = cpu(3, busy, 0.0);
        tally.take(&of(&frame), true);
    }
    assert_eq!(tally.guilty_in(Kind::Core), (3, 4));
    assert_eq!(tally.staves().short().map(Stave::said), Some("core 3 99 %".to_owned()));
    // One peak in a long calm is no short stave; a finding is.
    (0..9).for_each(|_| tally.take(&of(&healthy()), true));
    assert_eq!(tally.staves().short(), None);
    let open = [finding("CPU-01", Severity::Warning, Subject::Cpu(3))];
    tally.take(&Staves::of(&healthy(), &open, &Settings::default()), true);
    assert_eq!(tally.staves().short().map(|stave| stave.kind), Some(Kind::Core));
}

proptest! {
    #[test]
    fn no_number_panics_or_rules_out_nonsense(
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
        let staves = of(&frame);
        for stave in staves.iter() {
            let _ = (stave.said(), stave.headroom());
        }
        let _ = (staves.short(), staves.next());
    }
}
