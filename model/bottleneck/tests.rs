//! The states of resources: measured, blamed, and unknown rather than with headroom.

use super::{Resource, ResourceKind, Resources, Tally, Verdict, exclusions, sentence};
use crate::frame::*;
use crate::judge::Settings;
use crate::locale::resource::note;
use crate::rules::{self, Evidence, Figure, Finding, Severity, Subject};
use crate::{Gap, Known, Reason, SectionStates, Stamp, State};
use proptest::prelude::*;
use std::sync::Arc;

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
        sections: SectionStates::all(State::Read),
        ..Frame::default()
    }
}

fn of(frame: &Frame) -> Resources {
    Resources::of(frame, &[], &Settings::default())
}

fn verdict(frame: &Frame, kind: ResourceKind) -> Verdict {
    of(frame).get(kind).map(|resource| resource.verdict).expect("every resource is there")
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
        ..CgroupCpu::default()
    };
    Cgroup { path: "/db.service".into(), version: 2, cpu, ..Cgroup::default() }
}

#[test]
fn a_healthy_machine_has_headroom_everywhere() {
    let resources = of(&healthy());
    let wrong: Vec<_> = resources.iter().filter(|resource| resource.verdict != Verdict::HasHeadroom).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    assert_eq!(resources.bottleneck(), None);
    assert_eq!(resources.iter().map(|resource| resource.kind).collect::<Vec<_>>(), ResourceKind::ALL);
    let next = resources.next().expect("something is nearest");
    assert_eq!((next.kind, next.headroom().map(|times| (times * 10.0).round())), (ResourceKind::NicOut, Some(21.0)));
}

#[test]
fn a_full_resource_is_limiting_by_its_own_measure() {
    let mut frame = healthy();
    frame.cpus[1] = cpu(3, 0.98, 0.1);
    let resources = of(&frame);
    assert_eq!(resources.bottleneck().map(Resource::summary), Some("core 3 98%".to_owned()));
    // Interrupts are why the core is full.
    frame.cpus[1] = cpu(3, 0.98, 0.95);
    assert_eq!(of(&frame).bottleneck().map(Resource::summary), Some("softirq core 3 95%".to_owned()));
    // Steal fills a CPU as much as use does.
    let mut frame = healthy();
    frame.cpus[1].shares = Some(CpuShares { busy: 0.6, steal: 0.4, ..CpuShares::default() });
    assert_eq!(verdict(&frame, ResourceKind::Core), Verdict::Limiting);
    // A poller on an isolated CPU is there on purpose.
    let mut frame = healthy();
    frame.cpus[1] = Cpu { isolated: true, ..cpu(3, 1.0, 0.0) };
    assert_eq!(verdict(&frame, ResourceKind::Core), Verdict::HasHeadroom);
}

#[test]
fn thresholds_are_those_of_the_rules_as_configured() {
    let mut frame = healthy();
    frame.cpus[1] = cpu(3, 0.8, 0.0);
    let mut settings = Settings::default();
    let limiting =
        |settings: &Settings| Resources::of(&frame, &[], settings).bottleneck().map(|resource| resource.kind);
    assert_eq!(limiting(&settings), None);
    settings.thresholds.insert(("CPU-01".to_owned(), "busy".to_owned()), 0.75);
    assert_eq!(limiting(&settings), Some(ResourceKind::Core));
}

#[test]
fn a_link_of_unknown_capacity_is_never_headroom() {
    let mut frame = healthy();
    assert_eq!(
        of(&frame).get(ResourceKind::NicOut).map(Resource::summary),
        Some("NIC out eth0 42% of 10.0 Gbit/s".to_owned())
    );
    frame.nics.push(nic("eth1", Known::None, 0.0, 5e6));
    assert_eq!(verdict(&frame, ResourceKind::NicOut), Verdict::Unknown);
    assert_eq!(of(&frame).get(ResourceKind::NicOut).map(Resource::summary), Some("NIC out eth1 40 Mbit/s".to_owned()));
    // Unless another one is full.
    frame.nics[0] = nic("eth0", Known::Value(10_000), 1e8, 1.2e9);
    assert_eq!(
        (verdict(&frame, ResourceKind::NicIn), verdict(&frame, ResourceKind::NicOut)),
        (Verdict::Unknown, Verdict::Limiting)
    );
    // One without a link carries nothing.
    frame.nics.truncate(1);
    frame.nics.push(Nic { carrier: Known::Value(false), ..nic("eth1", Known::Missing, 0.0, 0.0) });
    assert_eq!(verdict(&frame, ResourceKind::NicIn), Verdict::HasHeadroom);
    frame.nics.clear();
    assert_eq!(verdict(&frame, ResourceKind::NicIn), Verdict::HasHeadroom);
    frame.host.in_container = Known::Value(true);
    assert_eq!(verdict(&frame, ResourceKind::NicIn), Verdict::Unknown);
}

#[test]
fn a_disk_is_limiting_if_requests_queue() {
    let mut frame = healthy();
    frame.disks[0].utilisation = Some(1.0);
    let resource = of(&frame).get(ResourceKind::Disk).cloned().expect("a resource");
    assert_eq!((resource.verdict, resource.note), (Verdict::HasHeadroom, note::NOT_QUEUEING));
    (frame.disks[0].await_ms, frame.disks[0].queue_depth) = (Known::Missing, None);
    assert_eq!(verdict(&frame, ResourceKind::Disk), Verdict::Unknown);
    frame.disks[0].queue_depth = Some(9.0);
    assert_eq!(verdict(&frame, ResourceKind::Disk), Verdict::Limiting);
}

#[test]
fn unreadable_limits_are_unknown() {
    let mut frame = healthy();
    frame.cgroups = vec![group(2.0, 0.5, 0.0)];
    assert_eq!(
        of(&frame).get(ResourceKind::Quota).map(Resource::summary),
        Some("CPU quota db.service 25% of 2 cores".to_owned())
    );
    let (path, needs) = ("sys/fs/cgroup/*/cpu.max".into(), "root".into());
    frame.gaps = vec![Gap { path, reason: Reason::PermissionDenied, count: 3, needs }];
    assert_eq!(verdict(&frame, ResourceKind::Quota), Verdict::Unknown);
    // A full one is limiting, whatever the others are.
    frame.cgroups = vec![group(2.0, 0.5, 0.9)];
    assert_eq!(verdict(&frame, ResourceKind::Quota), Verdict::Limiting);
    let unread = CgroupMemory { current_bytes: Known::Value(5), ..CgroupMemory::default() };
    frame.cgroups[0].memory = Some(unread);
    assert_eq!(verdict(&frame, ResourceKind::Memory), Verdict::Unknown);
    frame.memory.available_bytes = Known::Value(1 << 20);
    assert_eq!(verdict(&frame, ResourceKind::Memory), Verdict::Limiting);
}

#[test]
fn page_cache_at_a_limit_is_not_limiting() {
    let mut frame = healthy();
    let full = CgroupMemory {
        current_bytes: Known::Value(1000),
        limit_bytes: Known::Value(1000),
        effective_limit_bytes: Known::Value(1000),
        unreclaimable_bytes: Known::Value(100),
        ..CgroupMemory::default()
    };
    frame.cgroups = vec![Cgroup { memory: Some(full.clone()), ..group(9.0, 0.1, 0.0) }];
    assert_eq!(verdict(&frame, ResourceKind::Memory), Verdict::HasHeadroom);
    frame.cgroups[0].memory = Some(CgroupMemory { unreclaimable_bytes: Known::Value(900), ..full });
    assert_eq!(verdict(&frame, ResourceKind::Memory), Verdict::Limiting);
}

#[test]
fn remote_memory_requires_two_nodes_and_a_large_process() {
    let mut frame = healthy();
    let node = |id| NodePlace { id, has_cpus: true, has_memory: true, ..NodePlace::default() };
    frame.topology = Arc::new(Topology { nodes: vec![node(0), node(1)], ..Topology::default() });
    assert_eq!(of(&frame).get(ResourceKind::Remote).map(|resource| resource.note), Some(note::NO_LARGE_PROCESS));
    frame.processes[0].cpu_cores = Some(0.8);
    assert_eq!(verdict(&frame, ResourceKind::Remote), Verdict::Unknown);
    let memory = |remote, error| Some(ProcessMemory { remote_ratio: Some(remote), error, ..ProcessMemory::default() });
    frame.processes[0].memory = memory(0.9, 0.03);
    assert_eq!(verdict(&frame, ResourceKind::Remote), Verdict::Limiting);
    frame.processes[0].memory = memory(0.52, 0.1);
    assert_eq!(verdict(&frame, ResourceKind::Remote), Verdict::Unknown);
    frame.processes[0].memory = memory(0.1, 0.1);
    assert_eq!(verdict(&frame, ResourceKind::Remote), Verdict::HasHeadroom);
}

#[test]
fn one_sample_has_no_rates_and_excludes_nothing() {
    let mut frame = healthy();
    frame.interval_seconds = None;
    frame.cpus.iter_mut().for_each(|cpu| cpu.shares = None);
    frame.processes[0].cpu_cores = None;
    frame.disks[0].utilisation = None;
    (frame.nics[0].rx, frame.nics[0].tx) = (NicRates::default(), NicRates::default());
    let resources = of(&frame);
    for kind in [
        ResourceKind::Core,
        ResourceKind::Thread,
        ResourceKind::Softirq,
        ResourceKind::Disk,
        ResourceKind::NicIn,
        ResourceKind::NicOut,
    ] {
        let resource = resources.get(kind).expect("a resource");
        assert_eq!((resource.verdict, resource.note), (Verdict::Unknown, note::NO_RATES), "{kind:?}");
    }
    let nothing = of(&Frame::default());
    assert!(nothing.iter().all(|resource| resource.verdict == Verdict::Unknown), "{nothing:?}");
}

#[test]
fn an_open_finding_makes_its_resource_limiting() {
    let mut frame = healthy();
    let open = [finding("BEAM-01", Severity::Critical, Subject::Cpu(0))];
    let resources = Resources::of(&frame, &open, &Settings::default());
    let bottleneck = resources.bottleneck().expect("one is limiting");
    assert_eq!(
        (bottleneck.summary().as_str(), bottleneck.rule),
        ("core 0 20%", Some((crate::rules::erlang_bind_overlap::ID, Severity::Critical)))
    );
    // Info makes no resource limiting.
    let info = [finding("NIC-01", Severity::Info, Subject::Nic("eth0".into()))];
    assert_eq!(Resources::of(&frame, &info, &Settings::default()).bottleneck(), None);
    // The worst finding wins over what is narrower.
    frame.cpus[1] = cpu(3, 0.98, 0.95);
    assert_eq!(
        Resources::of(&frame, &open, &Settings::default()).bottleneck().map(|resource| resource.kind),
        Some(ResourceKind::Core)
    );
    let mut full = [finding("NIC-07", Severity::Warning, Subject::Nic("eth0".into()))];
    let number = |name, value| Evidence { name, value: Figure::Number(value), unit: "bytes/s", source: "" };
    full[0].evidence = vec![number("received", 1.0), number("sent", 2.0)];
    assert_eq!(
        Resources::of(&frame, &full, &Settings::default()).bottleneck().map(|resource| resource.kind),
        Some(ResourceKind::NicOut)
    );
}

#[test]
fn exclusions_are_one_line() {
    let mut frame = healthy();
    let open = finding("BEAM-01", Severity::Warning, Subject::Cpu(0));
    let line = |frame: &Frame, finding: &Finding| {
        let resources = Resources::of(frame, std::slice::from_ref(finding), &Settings::default());
        sentence(&exclusions(finding, &resources))
    };
    assert_eq!(
        line(&frame, &open),
        "has headroom: NIC (eth0 in 8% of 10.0 Gbit/s, eth0 out 42% of 10.0 Gbit/s), disk (sda 3% busy, 0.4 ms), \
         memory (host 25% of 8.0 GiB)"
    );
    frame.nics[0].capacity_mbps = Known::None;
    frame.disks.clear();
    assert_eq!(
        line(&frame, &open),
        "has headroom: disk (no disk), memory (host 25% of 8.0 GiB); unknown: NIC (link capacity unknown)"
    );
    assert_eq!(line(&frame, &finding("BEAM-01", Severity::Info, Subject::Cpu(0))), "");
    assert_eq!(line(&frame, &finding("META-01", Severity::Warning, Subject::Host)), "");
}

#[test]
fn a_whole_test_is_summed_up() {
    let mut tally = Tally::default();
    let mut early = healthy();
    early.interval_seconds = None;
    early.cpus.clear();
    tally.take(&of(&early), false);
    assert_eq!(tally.resources().get(ResourceKind::Core).map(|resource| resource.verdict), Some(Verdict::Unknown));
    for busy in [0.3, 0.97, 0.98, 0.99] {
        let mut frame = healthy();
        frame.cpus[1] = cpu(3, busy, 0.0);
        tally.take(&of(&frame), true);
    }
    assert_eq!(tally.limiting_in(ResourceKind::Core), (3, 4));
    assert_eq!(tally.resources().bottleneck().map(Resource::summary), Some("core 3 99%".to_owned()));
    // One peak in a long calm is no bottleneck; a finding is.
    (0..9).for_each(|_| tally.take(&of(&healthy()), true));
    assert_eq!(tally.resources().bottleneck(), None);
    let open = [finding("CPU-01", Severity::Warning, Subject::Cpu(3))];
    tally.take(&Resources::of(&healthy(), &open, &Settings::default()), true);
    assert_eq!(tally.resources().bottleneck().map(|resource| resource.kind), Some(ResourceKind::Core));
}

proptest! {
    #[test]
    fn no_number_panics(
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
        let resources = of(&frame);
        for resource in resources.iter() {
            let _ = (resource.summary(), resource.headroom());
        }
        let _ = (resources.bottleneck(), resources.next());
    }
}
