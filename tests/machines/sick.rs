//! One fault at a time injected into captured machines: the rule for it fires.

use crate::common::captured::{self, Captured};
use crate::common::edit::{Cell, Edit, Nic, put};
use std::collections::BTreeMap;
use topotop_model::derive::Deriver;
use topotop_model::judge::Judge;
use topotop_model::rules::{ALL, Finding};
use topotop_model::{Reason, Snapshot, Table as _, Window};

/// Samples within which a fault has to be found, unless the rule needs more.
const WITHIN: u64 = 12;
/// Captured machines that each fault is injected into.
const SEVERAL: usize = 4;
/// A tidy sample has no more rows than this: others only take time.
const SMALL: usize = 200;

/// Injects a fault into a sample; false where the machine cannot have it.
pub(crate) type Fault = fn(&mut Edit<'_>) -> bool;

pub(crate) const FAULTS: &[(&str, Fault)] = &[
    ("CPU-01", |edit| {
        let Some(cpu) = full_cpu(edit, &[("user", 99.0)]) else { return false };
        edit.process(9_001, "worker", (0.5, 0.4), &[("last_cpu", cpu.into())]);
        true
    }),
    ("CPU-03", |edit| {
        let Some(cpu) = full_cpu(edit, &[("user", 99.0)]) else { return false };
        edit.process(9_001, "pinned", (1.0, 1.0), &[("threads", 2u64.into())]);
        for tid in [9_001, 9_002] {
            edit.thread((9_001, tid), "pinned", cpu, (0.5, 0.5), &[("affinity", cpu.to_string().into())]);
        }
        true
    }),
    ("CPU-05", |edit| {
        group(
            edit,
            &[("cpu_quota_us", 200_000u64.into()), ("cpu_period_us", 100_000u64.into())],
            &[("cpu_usage_us", 2e6), ("cpu_periods", 10.0), ("cpu_throttled", 9.0)],
        );
        true
    }),
    ("CPU-11", |edit| {
        edit.every_cpu(&[("user", 30.0), ("system", 50.0)]);
        edit.clock_sources("hpet", "tsc hpet acpi_pm");
        true
    }),
    ("BEAM-01", |edit| {
        let Some(cpu) = full_cpu(edit, &[("user", 99.0)]) else { return false };
        for pid in [9_100, 9_200] {
            beam(edit, pid, 1, "/", Some(cpu), (0.5, 0.5));
        }
        true
    }),
    ("BEAM-03", |edit| {
        group(
            edit,
            &[("cpu_quota_us", 200_000u64.into()), ("cpu_period_us", 100_000u64.into())],
            &[("cpu_periods", 10.0), ("cpu_throttled", 2.0)],
        );
        beam(edit, 9_100, 8, "/sick", None, (0.2, 0.0));
        true
    }),
    ("IRQ-01", |edit| full_cpu(edit, &[("softirq", 95.0)]).is_some()),
    ("IRQ-02", |edit| {
        let Some(cpu) = full_cpu(edit, &[("softirq", 95.0)]) else { return false };
        edit.irqbalance("absent");
        edit.nic(&Nic { cpus: &[cpu; 4], packets: 90_000.0, bytes: 9e6, ..Nic::QUIET });
        true
    }),
    ("IRQ-03", |edit| {
        let Some(cpu) = full_cpu(edit, &[("softirq", 95.0)]) else { return false };
        edit.irqbalance("running");
        edit.nic(&Nic { cpus: &[cpu; 4], packets: 90_000.0, bytes: 9e6, ..Nic::QUIET });
        true
    }),
    ("NIC-01", |edit| {
        let Some(cpu) = full_cpu(edit, &[("softirq", 95.0)]) else { return false };
        edit.nic(&Nic { cpus: &[cpu], most: 8, packets: 90_000.0, bytes: 9e6, ..Nic::QUIET });
        true
    }),
    ("NIC-02", |edit| {
        let cpu = edit.cpus()[0];
        edit.softnet(cpu, &[("processed", 90_000.0), ("dropped", 500.0)]);
        true
    }),
    ("NIC-03", |edit| {
        let cpu = edit.cpus()[0];
        edit.softnet(cpu, &[("processed", 90_000.0), ("time_squeeze", 500.0)]);
        true
    }),
    ("NIC-05", |edit| {
        let Some(cpu) = full_cpu(edit, &[("softirq", 95.0)]) else { return false };
        edit.nic(&Nic { cpus: &[cpu], most: 1, packets: 90_000.0, bytes: 9e6, ..Nic::QUIET });
        true
    }),
    ("NIC-07", |edit| {
        edit.nic(&Nic { cpus: &[], packets: 800_000.0, bytes: 1.2e9, ..Nic::QUIET });
        true
    }),
    ("NUMA-01", |edit| {
        let [(near, cpus), (far, _), ..] = &edit.nodes()[..] else { return false };
        big(edit, &[(cpus.first().expect("a CPU"), 1.0)], &[(*far, 2 << 30)], "default");
        near != far
    }),
    ("NUMA-02", |edit| {
        let nodes = edit.nodes();
        let [(one, here), (other, there), ..] = &nodes[..] else { return false };
        let least = nodes.iter().map(|(_, cpus)| cpus.len()).min().unwrap_or(1);
        let threads = (least / 2).max(4) as u32;
        let cpus: Vec<(u32, f64)> = [here, there]
            .iter()
            .flat_map(|cpus| std::iter::repeat_n((cpus.first().expect("a CPU"), 0.9), threads as usize))
            .collect();
        big(edit, &cpus, &[(*one, 1 << 30), (*other, 1 << 30)], "default");
        true
    }),
    ("NUMA-04", |edit| {
        let [(full, _), (roomy, _), ..] = &edit.nodes()[..] else { return false };
        node(edit, *full, 1 << 28, 5_000.0);
        node(edit, *roomy, 40 << 30, 0.0);
        true
    }),
    ("NUMA-06", |edit| {
        let [(_, cpus), (far, _), ..] = &edit.nodes()[..] else { return false };
        let affinity = cpus.to_string();
        big(edit, &[(cpus.first().expect("a CPU"), 0.1)], &[(*far, 2 << 30)], &format!("bind:{far}"));
        edit.process(9_001, "java", (0.1, 0.0), &[("affinity", affinity.into()), ("rss_bytes", (2u64 << 30).into())]);
        true
    }),
    ("NUMA-07", |edit| {
        edit.sysctl("vm.zone_reclaim_mode", "1");
        edit.nodes().len() > 1
    }),
    ("MEM-01", |edit| {
        memory(edit, 0.97, 0.01, &[]);
        edit.no_swap();
        true
    }),
    ("MEM-02", |edit| {
        memory(edit, 0.99, 0.8, &[("refault_file", 3_000.0), ("pgscan_direct", 9_000.0), ("pgsteal_direct", 3_000.0)]);
        true
    }),
    ("MEM-03", |edit| {
        memory(edit, 0.2 + edit.second as f64 * 0.01, 0.05, &[]);
        true
    }),
    ("MEM-04", |edit| {
        memory(edit, 0.5, 0.3, &[]);
        let kills = 3 + u64::from(edit.second >= 2);
        edit.group("/sick", &[("events_oom_kill", kills.into())], &[]);
        true
    }),
    ("MEM-07", |edit| {
        edit.sysctl("vm.cache_reclaim_enable", "1");
        edit.sysctl("vm.cache_reclaim_s", "0");
        edit.sysctl("vm.cache_reclaim_weight", "1");
        true
    }),
    ("IO-01", |edit| {
        slow_disk(edit);
        true
    }),
    ("IO-02", |edit| {
        slow_disk(edit);
        for path in ["/mq", "/search"] {
            edit.group(path, &[], &[]);
            edit.writes(path, DEV, 400_000.0, 50.0);
        }
        true
    }),
    ("IO-03", |edit| {
        edit.every_cpu(&[("iowait", 60.0)]);
        edit.disk("sickdisk", DEV, &[]);
        edit.pressure("io", 0.5, 0.3);
        true
    }),
    ("IO-04", |edit| {
        let rates = [("writes", 126.0), ("write_bytes", 126.0 * 9_600.0), ("write_ms", 900.0), ("flushes", 83.0)];
        edit.disk("sickdisk", DEV, &[&rates[..], &[("io_ms", 800.0), ("weighted_io_ms", 900.0)]].concat());
        edit.pressure("io", 0.5, 0.3);
        true
    }),
    ("META-01", |edit| {
        let section = std::sync::Arc::make_mut(&mut edit.now.processes);
        section.gaps.add("proc/*/io", Reason::PermissionDenied, "CAP_SYS_PTRACE or root");
        true
    }),
];

/// Device number of the disk that is made slow.
pub(crate) const DEV: u64 = 250 << 20;

/// Fills one of several CPUs that idle otherwise.
fn full_cpu(edit: &mut Edit<'_>, ticks: &[(&str, f64)]) -> Option<u32> {
    let cpus = edit.cpus();
    if cpus.len() < 4 {
        return None;
    }
    edit.every_cpu(&[("user", 5.0)]);
    edit.cpu(cpus[1], ticks);
    Some(cpus[1])
}

fn group(edit: &mut Edit<'_>, cells: &[(&str, Cell)], rates: &[(&str, f64)]) {
    edit.group("/sick", cells, rates);
}

/// A group with a limit of 4 GiB that uses so much of it, of which so much could be given back.
fn memory(edit: &mut Edit<'_>, full: f64, cache: f64, rates: &[(&str, f64)]) {
    let limit = (4u64 << 30) as f64;
    let bytes = |share: f64| Cell::Number((limit * share) as u64);
    let cells = [
        ("memory_current_bytes", bytes(full)),
        ("memory_limit_bytes", bytes(1.0)),
        ("anon_bytes", bytes(full * (1.0 - cache))),
        ("file_bytes", bytes(full * cache)),
        ("active_file_bytes", bytes(full * cache / 2.0)),
        ("inactive_file_bytes", bytes(full * cache / 2.0)),
        ("shmem_bytes", 0u64.into()),
        ("dirty_bytes", 0u64.into()),
        ("writeback_bytes", 0u64.into()),
        ("slab_reclaimable_bytes", 0u64.into()),
    ];
    group(edit, &cells, rates);
}

fn beam(edit: &mut Edit<'_>, pid: u32, schedulers: u32, cgroup: &str, pinned: Option<u32>, load: (f64, f64)) {
    let all = topotop_model::IdSet::from_ids(edit.cpus()).to_string();
    let cells = [
        ("beam_bind_type", "db".into()),
        ("cgroup", cgroup.into()),
        ("affinity", all.as_str().into()),
        ("threads", schedulers.into()),
    ];
    edit.process(pid, "beam.smp", (load.0 * f64::from(schedulers), load.1), &cells);
    for number in 1..=schedulers {
        let affinity = pinned.map_or(all.clone(), |cpu| cpu.to_string());
        let cpu = pinned.unwrap_or(0);
        let comm = format!("{number}_scheduler");
        edit.thread((pid, pid + number), &comm, cpu, load, &[("affinity", affinity.into())]);
    }
}

/// A large process whose threads run on these CPUs and whose memory is on these nodes.
fn big(edit: &mut Edit<'_>, cpus: &[(u32, f64)], memory: &[(u32, u64)], policy: &str) {
    let cores = cpus.iter().map(|pair| pair.1).sum();
    let all = topotop_model::IdSet::from_ids(edit.cpus()).to_string();
    let cells = [
        ("rss_bytes", (2u64 << 30).into()),
        ("threads", (cpus.len() as u64).into()),
        ("last_cpu", cpus[0].0.into()),
        ("affinity", all.as_str().into()),
    ];
    edit.process(9_001, "java", (cores, 0.0), &cells);
    for (at, (cpu, cores)) in cpus.iter().enumerate() {
        edit.thread((9_001, 9_001 + at as u32), "java", *cpu, (*cores, 0.0), &[("affinity", all.as_str().into())]);
    }
    let clock = edit.clock();
    let keys = [("pid", 9_001u64.into()), ("starttime", 77u64.into())];
    let cells = [
        ("read_at_ns", clock.into()),
        ("source", "sampled".into()),
        ("error", 200u64.into()),
        ("anon_by_node", memory.to_vec().into()),
        ("policy", policy.into()),
    ];
    put(&mut edit.now.process_memory, clock, &keys, &cells);
}

fn node(edit: &mut Edit<'_>, node: u32, free: u64, foreign: f64) {
    let clock = edit.clock();
    let cells = [
        ("total_bytes", (64u64 << 30).into()),
        ("free_bytes", free.into()),
        ("numa_foreign", edit.grown(foreign)),
        ("low_watermark_bytes", (1u64 << 27).into()),
    ];
    put(&mut edit.now.node_memory, clock, &[("node", node.into())], &cells);
}

/// Writes wait for each other.
fn slow_disk(edit: &mut Edit<'_>) {
    let rates = [("writes", 100.0), ("write_bytes", 800_000.0), ("write_ms", 6_000.0), ("io_ms", 990.0)];
    edit.disk("sickdisk", DEV, &[&rates[..], &[("weighted_io_ms", 6_000.0)]].concat());
}

fn find<'a>(findings: &'a [Finding], rule: &str) -> Option<&'a Finding> {
    findings.iter().find_map(|found| if found.rule.id == rule { Some(found) } else { find(&found.children, rule) })
}

/// The sample in which a fault is found on a machine; none where the machine cannot have it, `Err` where it is not found.
fn found(machine: &Captured, rule: &str, fault: Fault) -> Option<Result<u64, String>> {
    let pace = topotop_model::rules::find(rule).map(|rule| rule.pace).expect("a rule");
    let within = WITHIN.max(u64::from(pace.warm_up + pace.enter));
    let (mut window, mut deriver, mut judge) = (Window::default(), Deriver::default(), Judge::default());
    let mut last = String::new();
    for second in 0..=within {
        let mut now: Snapshot = machine.series.at(second);
        if !fault(&mut Edit { now: &mut now, second }) {
            return None;
        }
        window.push(now);
        let judgement = judge.step(&deriver.frame(&window));
        if find(&judgement.findings, rule).is_some() {
            return Some(Ok(second));
        }
        let standing = judgement.rules.iter().find(|(known, _)| known.id == rule).map(|(_, standing)| standing);
        last = format!("{standing:?}, {:?}", judgement.findings.iter().map(Finding::title).collect::<Vec<_>>());
    }
    Some(Err(last))
}

#[test]
fn every_injected_fault_is_found() {
    let small = |machine: &&Captured| {
        let base = machine.series.base();
        base.cpu_times.data().rows().len().max(base.processes.data().rows().len()) <= SMALL
            && base.irqs.data().rows().len() <= SMALL
    };
    let machines: Vec<&Captured> = captured::all().iter().filter(small).collect();
    let mut wrong = Vec::new();
    let mut tried: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, (rule, fault)) in FAULTS.iter().enumerate() {
        // Another few machines for each rule.
        let order = (0..machines.len()).map(|step| machines[(at * 7 + step * 101) % machines.len()]);
        for machine in order {
            let count = tried.entry(rule).or_default();
            if *count >= SEVERAL {
                break;
            }
            match found(machine, rule, *fault) {
                None => {}
                Some(Ok(_)) => *count += 1,
                Some(Err(last)) => {
                    *count += 1;
                    wrong.push(format!("{rule} on {}: {last}", machine.name));
                }
            }
        }
    }
    wrong
        .extend(tried.iter().filter(|(_, count)| **count < 3).map(|(rule, count)| format!("{rule}: {count} machines")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_rule_that_must_be_has_a_fault() {
    const P0: &str = "CPU-01 CPU-03 CPU-05 BEAM-01 BEAM-03 IRQ-01 IRQ-02 IRQ-03 NIC-01 NIC-02 NIC-03 NIC-05 NIC-07 NUMA-01 \
        NUMA-02 NUMA-04 NUMA-06 NUMA-07 MEM-01 MEM-02 MEM-03 MEM-04 MEM-07 IO-01 IO-02 IO-03 IO-04 META-01";
    for rule in P0.split_whitespace() {
        assert!(ALL.iter().any(|known| known.id == rule), "{rule} is gone");
        assert!(FAULTS.iter().any(|(known, _)| *known == rule), "{rule} has no fault");
    }
}
