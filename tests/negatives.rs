//! Machines on which nothing is wrong, however it looks: two minutes each, and no finding at warning or above.
//!
//! The cases have the numbers of the catalogue: what other monitors cry about.

use crate::common::edit::{Cell, Edit, Nic, put};
use crate::common::series::chance;
use topotop_model::derive::Deriver;
use topotop_model::judge::{Judge, Judgement};
use topotop_model::rules::{Finding, Severity};
use topotop_model::{IdSet, Snapshot, Stamp, Window};

/// Samples that have rates.
const VALID: u64 = 120;
const SECOND_NS: u64 = 1_000_000_000;
const GIB: u64 = 1 << 30;
/// Device number of the disk.
const SDA: u64 = 8 << 20;

struct Negative {
    id: &'static str,
    what: &'static str,
    /// Rules of which not even a word is wanted: the beginning of their ids.
    silent: &'static [&'static str],
    live: fn(&mut Edit<'_>),
}

const NEGATIVES: &[Negative] = &[
    Negative { id: "N1", what: "an idle machine", silent: &[""], live: |_| () },
    Negative {
        id: "N2",
        what: "every CPU full of work that waits a little",
        silent: &["CPU-01", "CPU-03", "BEAM", "IRQ", "NIC"],
        live: |edit| {
            edit.every_cpu(&[("user", 97.0), ("system", 3.0)]);
            for number in 0..8 {
                edit.process(500 + number, "stress", (0.98, 0.1), &[("last_cpu", number.into())]);
            }
            edit.pressure("cpu", 0.3, 0.0);
        },
    },
    Negative {
        id: "N3",
        what: "one thread that computes",
        silent: &["CPU-01", "CPU-03"],
        live: |edit| {
            edit.cpu(3, &[("user", 99.0)]);
            edit.process(500, "burner", (0.99, 0.001), &[("last_cpu", 3u64.into())]);
        },
    },
    Negative {
        id: "N4",
        what: "one Erlang VM, bound, without a quota",
        silent: &["BEAM-01", "CPU-03"],
        live: |edit| {
            edit.every_cpu(&[("user", 70.0)]);
            beam(edit, 500, &[0, 1, 2, 3, 4, 5, 6, 7], true, (0.7, 0.02));
        },
    },
    Negative {
        id: "N5",
        what: "two Erlang VMs bound to CPUs of their own",
        silent: &["BEAM-01", "CPU-03"],
        live: |edit| {
            edit.every_cpu(&[("user", 80.0)]);
            beam(edit, 500, &[0, 1, 2, 3], true, (0.8, 0.02));
            beam(edit, 600, &[4, 5, 6, 7], true, (0.8, 0.02));
        },
    },
    Negative {
        id: "N6",
        what: "Erlang VMs that are not bound",
        silent: &["BEAM-01", "CPU-03"],
        live: |edit| {
            edit.every_cpu(&[("user", 60.0)]);
            beam(edit, 500, &[0, 1], false, (0.9, 0.2));
            beam(edit, 600, &[0, 1], false, (0.9, 0.2));
        },
    },
    Negative {
        id: "N7",
        what: "an interface that can have one channel only, idle",
        silent: &["NIC-01", "NIC-05"],
        live: |edit| edit.nic(&Nic { name: "net8", index: 8, most: 1, cpus: &[0], ..Nic::QUIET }),
    },
    Negative {
        id: "N8",
        what: "no irqbalance on an idle machine",
        silent: &[],
        live: |edit| edit.irqbalance("absent"),
    },
    Negative {
        id: "N9",
        what: "page cache at a limit that nobody feels",
        silent: &["MEM-01", "MEM-02", "MEM-03"],
        live: |edit| full_of_cache(edit, &[("events_max", 3.0), ("pgscan_direct", 40.0), ("pgsteal_direct", 40.0)]),
    },
    Negative {
        id: "N10",
        what: "a backup that reads for seven seconds a minute, and streams for the rest",
        silent: &["IO-01", "IO-02"],
        live: |edit| {
            // Time that passed in bursts and between them, so that what is summed up grows at two rates.
            let (full, part) = (edit.second / 60 * 7 + (edit.second % 60).min(7), edit.second);
            let burst = |rate: u64, else_rate: u64| Cell::Number(1_000_000 + rate * full + else_rate * (part - full));
            let cells = [
                ("reads", burst(2_000, 400)),
                ("read_bytes", burst(400 << 20, 200 << 20)),
                ("read_ms", burst(64_000, 1_200)),
                ("io_ms", burst(1_000, 650)),
                ("weighted_io_ms", burst(32_000, 1_200)),
            ];
            put(&mut edit.now.disks, edit.now.stamp.mono_ns, &[("dev", SDA.into())], &cells);
        },
    },
    Negative {
        id: "N11",
        what: "an instance bound to each node, CPUs and memory, all of them full",
        silent: &["NUMA", "CPU-03", "CPU-07"],
        live: |edit| {
            edit.every_cpu(&[("user", 97.0), ("system", 2.0)]);
            for (node, cpus) in edit.nodes() {
                let load: Vec<(u32, f64)> = cpus.iter().map(|cpu| (cpu, 0.98)).collect();
                large(edit, 500 + 100 * node, &load, &cpus, &[(node, 8 * GIB)], &format!("bind:{node}"));
            }
        },
    },
    Negative {
        id: "N12",
        what: "a database that interleaves its memory on purpose",
        silent: &["NUMA"],
        live: |edit| {
            edit.every_cpu(&[("user", 50.0)]);
            let all = IdSet::from_ids(edit.cpus());
            let load: Vec<(u32, f64)> = all.iter().map(|cpu| (cpu, 0.5)).collect();
            large(edit, 500, &load, &all, &[(0, 8 * GIB), (1, 8 * GIB)], "interleave:0-1");
        },
    },
    Negative {
        id: "N13",
        what: "a machine with one node",
        silent: &["NUMA"],
        live: |edit| {
            edit.every_cpu(&[("user", 55.0)]);
            let all = IdSet::from_ids(edit.cpus());
            let load: Vec<(u32, f64)> = all.iter().map(|cpu| (cpu, 0.5)).collect();
            large(edit, 500, &load, &all, &[(0, 16 * GIB)], "default");
            one_node(edit);
        },
    },
    Negative {
        id: "N14",
        what: "kernel threads and workers, one pinned to each CPU",
        silent: &["CPU-01", "CPU-03", "CPU-07"],
        live: |edit| {
            edit.every_cpu(&[("user", 30.0), ("system", 20.0)]);
            for cpu in 0..8u32 {
                let (kernel, worker) = (700 + cpu, 800 + cpu);
                let own = cpu.to_string();
                // PF_KTHREAD and PF_NO_SETAFFINITY.
                let flags = ("flags", Cell::Number(0x0420_0000));
                let cells = [flags.clone(), ("last_cpu", cpu.into()), ("affinity", own.as_str().into())];
                edit.process(kernel, "kworker/0:1H", (0.2, 0.3), &cells);
                let pinned = [flags, ("affinity", own.as_str().into())];
                edit.thread((kernel, kernel), "kworker/0:1H", cpu, (0.2, 0.3), &pinned);
                let cells = [("last_cpu", cpu.into()), ("affinity", own.as_str().into())];
                edit.process(worker, "haproxy", (0.25, 0.05), &cells);
                edit.thread((worker, worker), "haproxy", cpu, (0.25, 0.05), &cells[1..]);
            }
        },
    },
    Negative {
        id: "N16",
        what: "soft interrupts for two seconds now and then",
        silent: &["IRQ-01", "IRQ-03"],
        live: |edit| {
            let full = edit.second / 20 * 2 + (edit.second % 20).min(2);
            let rest = edit.second - full;
            let cells = [("softirq", (95 * full + rest).into()), ("idle", (5 * full + 94 * rest).into())];
            put(&mut edit.now.cpu_times, edit.now.stamp.mono_ns, &[("cpu", 2u64.into())], &cells);
        },
    },
    Negative {
        id: "N17",
        what: "a poller pinned to an isolated CPU, full",
        silent: &["CPU-01", "CPU-03"],
        live: |edit| {
            let keys = [("cpu", 7u64.into())];
            put(&mut edit.now.cpu_topology, 1, &keys, &[("isolated", 1u64.into())]);
            edit.cpu(7, &[("user", 100.0)]);
            let cells = [("last_cpu", 7u64.into()), ("affinity", "7".into()), ("policy", 1u64.into())];
            edit.process(500, "dpdk-testpmd", (1.0, 0.0), &cells);
            edit.thread((500, 500), "lcore-worker-7", 7, (1.0, 0.0), &cells[1..]);
        },
    },
    Negative {
        id: "N18",
        what: "little free memory, much available, no swap",
        silent: &["MEM", "NUMA"],
        live: |edit| {
            machine_memory(edit, 2 * GIB, 90 * GIB, 0);
            for node in 0..2 {
                node_memory(edit, node, GIB, 0.0);
            }
        },
    },
    Negative {
        id: "N19",
        what: "a fast disk, busy all the time, that answers at once",
        silent: &["IO-01", "IO-02"],
        live: |edit| {
            let rates = [("writes", 60_000.0), ("write_bytes", 9e8), ("write_ms", 12_000.0), ("flushes", 10.0)];
            edit.disk("nvme0n1", 259 << 20, &[&rates[..], &[("io_ms", 1_000.0), ("weighted_io_ms", 3_000.0)]].concat());
            for (path, share) in [("/mq", 5e8), ("/search", 4e8)] {
                edit.group(path, &[], &[]);
                edit.writes(path, 259 << 20, share, 20_000.0);
            }
        },
    },
    Negative {
        id: "N20",
        what: "an interface of which nobody knows the node",
        silent: &["IRQ", "NUMA"],
        live: |edit| {
            edit.nic(&Nic { name: "ens3", index: 9, cpus: &[4, 5, 6, 7], packets: 60_000.0, bytes: 6e7, ..Nic::QUIET });
        },
    },
    Negative {
        id: "N21",
        what: "the monitor's own load",
        silent: &["CPU"],
        live: |edit| {
            let cells = [("last_cpu", 1u64.into()), ("cmdline", "topotop".into())];
            edit.process(std::process::id(), "topotop", (0.02, 0.001), &cells);
            edit.cpu(1, &[("user", 3.0), ("system", 2.0)]);
        },
    },
    Negative {
        id: "N22",
        what: "100 MB/s appended at the limit and read by nobody, version 2",
        silent: &["MEM-01", "MEM-02", "MEM-03"],
        live: |edit| appended(edit, 2),
    },
    Negative {
        id: "N22",
        what: "100 MB/s appended at the limit and read by nobody, version 1",
        silent: &["MEM-01", "MEM-02", "MEM-03"],
        live: |edit| appended(edit, 1),
    },
];

/// A good machine with next to nothing to do: two nodes of four CPUs, an interface of four queues, a disk, a group with a
/// limit and a quota.
fn well(edit: &mut Edit<'_>) {
    let clock = edit.clock();
    for cpu in 0..8u32 {
        let cells = [
            ("node", (cpu / 4).into()),
            ("package", (cpu / 4).into()),
            ("core", cpu.into()),
            ("online", 1u64.into()),
            ("present", 1u64.into()),
            ("isolated", 0u64.into()),
            ("smt_siblings", cpu.to_string().into()),
        ];
        put(&mut edit.now.cpu_topology, 1, &[("cpu", cpu.into())], &cells);
    }
    for node in 0..2u32 {
        let cells = [
            ("cpus", (if node == 0 { "0-3" } else { "4-7" }).into()),
            ("memory_total_bytes", (64 * GIB).into()),
            ("distances", vec![(node, 10), (1 - node, 21)].into()),
            ("has_cpus", 1u64.into()),
            ("has_memory", 1u64.into()),
        ];
        put(&mut edit.now.node_topology, 1, &[("node", node.into())], &cells);
        node_memory(edit, node, 30 * GIB, 0.0);
    }
    edit.every_cpu(&[("user", 2.0), ("system", 1.0)]);
    machine_memory(edit, 60 * GIB, 100 * GIB, 0);
    edit.nic(&Nic { cpus: &[0, 1, 2, 3], node: Some(0), ..Nic::QUIET });
    edit.irqbalance("running");
    let rates = [("writes", 12.0), ("write_bytes", 90_000.0), ("write_ms", 20.0), ("flushes", 2.0), ("io_ms", 15.0)];
    edit.disk("sda", SDA, &[&rates[..], &[("weighted_io_ms", 20.0)]].concat());
    for resource in ["cpu", "memory", "io"] {
        edit.pressure(resource, 0.002, 0.001);
    }
    for cpu in 0..8 {
        edit.softnet(cpu, &[("processed", 120.0)]);
    }
    edit.sysctl("vm.zone_reclaim_mode", "0");
    let limits = [("cpu_quota_us", 400_000u64.into()), ("cpu_period_us", 100_000u64.into())];
    edit.group(
        "/app",
        &[&memory(4 * GIB, 0.4, 0.5)[..], &limits].concat(),
        &[("cpu_periods", 10.0), ("cpu_usage_us", 3e4)],
    );
    edit.process(100, "app", (0.03, 0.001), &[("cgroup", "/app".into()), ("affinity", "0-7".into())]);
    let host = [("uptime_seconds", (90_000 + edit.second).into())];
    put(&mut edit.now.host, clock, &[("name", "well".into())], &host);
}

fn machine_memory(edit: &mut Edit<'_>, free: u64, available: u64, swap: u64) {
    let swing = 1.0 - 0.02 * chance([3, edit.second]);
    let some = |bytes: u64| Cell::Number((bytes as f64 * swing) as u64);
    let mut cells = vec![
        ("free_bytes", some(free)),
        ("available_bytes", some(available)),
        ("cached_bytes", some(available - free)),
        ("swap_total_bytes", swap.into()),
        ("swap_free_bytes", swap.into()),
        ("dirty_bytes", some(1 << 20)),
        ("writeback_bytes", 0u64.into()),
        ("dirty_threshold_bytes", (10 * GIB).into()),
    ];
    for counter in ["allocstall", "pgscan_direct", "pgsteal_direct", "pswpin", "pswpout", "oom_kill"] {
        cells.push((counter, edit.grown(0.0)));
    }
    put(&mut edit.now.memory, edit.now.stamp.mono_ns, &[("total_bytes", (128 * GIB).into())], &cells);
}

fn node_memory(edit: &mut Edit<'_>, node: u32, free: u64, foreign: f64) {
    let cells = [
        ("total_bytes", (64 * GIB).into()),
        ("free_bytes", free.into()),
        ("low_watermark_bytes", (GIB / 16).into()),
        ("numa_hit", edit.grown(50_000.0)),
        ("numa_miss", edit.grown(0.0)),
        ("numa_foreign", edit.grown(foreign)),
        ("pgscan_direct", edit.grown(0.0)),
    ];
    put(&mut edit.now.node_memory, edit.now.stamp.mono_ns, &[("node", node.into())], &cells);
}

/// Leaves the first of the two nodes, with all CPUs.
fn one_node(edit: &mut Edit<'_>) {
    use topotop_model::Table as _;
    for cpu in 0..8u32 {
        put(&mut edit.now.cpu_topology, 1, &[("cpu", cpu.into())], &[("node", 0u64.into())]);
    }
    put(&mut edit.now.node_topology, 1, &[("node", 0u64.into())], &[("cpus", "0-7".into())]);
    let nodes = std::sync::Arc::make_mut(&mut edit.now.node_topology).data_mut();
    let other = nodes.rows().iter().find(|&slot| nodes.node.value(slot) == Some(1));
    if let Some(slot) = other {
        nodes.remove(slot);
    }
    let nodes = std::sync::Arc::make_mut(&mut edit.now.node_memory).data_mut();
    let other = nodes.rows().iter().find(|&slot| nodes.node.value(slot) == Some(1));
    if let Some(slot) = other {
        nodes.remove(slot);
    }
}

/// Memory of a group: how full it is, and how much of that is page cache.
fn memory(limit: u64, full: f64, cache: f64) -> [(&'static str, Cell); 9] {
    let bytes = |share: f64| Cell::Number((limit as f64 * share) as u64);
    [
        ("memory_limit_bytes", limit.into()),
        ("memory_current_bytes", bytes(full)),
        ("anon_bytes", bytes(full * (1.0 - cache))),
        ("file_bytes", bytes(full * cache)),
        ("active_file_bytes", bytes(full * cache * 0.4)),
        ("inactive_file_bytes", bytes(full * cache * 0.6)),
        ("shmem_bytes", 0u64.into()),
        ("dirty_bytes", 0u64.into()),
        ("writeback_bytes", 0u64.into()),
    ]
}

fn full_of_cache(edit: &mut Edit<'_>, rates: &[(&str, f64)]) {
    let full = 0.995 + 0.005 * chance([5, edit.second]);
    edit.group("/cache", &memory(64 << 20, full, 0.97), rates);
    edit.group("/cache", &[], &[("memory_some_us", 5_000.0), ("memory_full_us", 2_000.0), ("refault_file", 2.0)]);
}

/// A log that grows at its group's limit: every page takes one away, and none is wanted back. 100 MB/s are 25,000 pages.
fn appended(edit: &mut Edit<'_>, version: u64) {
    let full = 0.99 + 0.01 * chance([7, edit.second]);
    let mut cells = memory(256 << 20, full, 0.95).to_vec();
    cells.push(("version", version.into()));
    if version == 1 {
        edit.group("/log", &cells, &[("events_max", 3_000.0)]);
    } else {
        cells.push(("dirty_bytes", (20u64 << 20).into()));
        let scan = [("pgscan_direct", 26_000.0), ("pgsteal_direct", 24_500.0), ("refault_file", 1.0)];
        edit.group("/log", &cells, &scan);
        edit.group("/log", &[], &[("memory_some_us", 25_000.0), ("memory_full_us", 20_000.0), ("events_max", 700.0)]);
    }
    let rates = [("writes", 200.0), ("write_bytes", 1e8), ("write_ms", 1_500.0), ("io_ms", 450.0)];
    edit.disk("sda", SDA, &[&rates[..], &[("weighted_io_ms", 1_500.0)]].concat());
}

fn beam(edit: &mut Edit<'_>, pid: u32, cpus: &[u32], bound: bool, load: (f64, f64)) {
    let reported = if bound { "db" } else { "u" };
    let count = cpus.len() as f64;
    let cells =
        [("beam_bind_type", reported.into()), ("affinity", "0-7".into()), ("threads", (cpus.len() as u64).into())];
    edit.process(pid, "beam.smp", (load.0 * count, load.1 * count), &cells);
    for (number, cpu) in cpus.iter().enumerate() {
        let comm = format!("erts_sched_{}", number + 1);
        let affinity = if bound { cpu.to_string() } else { "0-7".to_owned() };
        edit.thread((pid, pid + 1 + number as u32), &comm, *cpu, load, &[("affinity", affinity.into())]);
    }
}

/// A large process: what its threads use of which CPUs, where it may run and where its memory is.
fn large(edit: &mut Edit<'_>, pid: u32, load: &[(u32, f64)], cpus: &IdSet, memory: &[(u32, u64)], policy: &str) {
    let cores = load.iter().map(|pair| pair.1).sum();
    let affinity = cpus.to_string();
    let cells = [
        ("rss_bytes", (8 * GIB).into()),
        ("affinity", affinity.as_str().into()),
        ("threads", (load.len() as u64).into()),
        ("last_cpu", load[0].0.into()),
    ];
    edit.process(pid, "postgres", (cores, 0.01), &cells);
    for (at, (cpu, cores)) in load.iter().enumerate() {
        edit.thread(
            (pid, pid + at as u32),
            "postgres",
            *cpu,
            (*cores, 0.01),
            &[("affinity", affinity.as_str().into())],
        );
    }
    let clock = edit.clock();
    let cells = [
        ("read_at_ns", clock.into()),
        ("source", "sampled".into()),
        ("error", 200u64.into()),
        ("anon_by_node", memory.to_vec().into()),
        ("policy", policy.into()),
    ];
    put(&mut edit.now.process_memory, clock, &[("pid", pid.into()), ("starttime", 77u64.into())], &cells);
}

/// A sample of a machine at a second: its clocks, then what goes on.
fn sample(second: u64, mono_ns: u64, live: impl Fn(&mut Edit<'_>)) -> Snapshot {
    let stamp = Stamp { seq: second + 1, wall_ns: mono_ns as i64, mono_ns, boot_ns: mono_ns };
    let mut now = Snapshot { stamp, ..Snapshot::default() };
    let mut edit = Edit { now: &mut now, second };
    well(&mut edit);
    live(&mut edit);
    now
}

/// Records so many seconds of a machine on which this goes on.
pub(crate) fn record(path: &str, seconds: u64, live: impl Fn(&mut Edit<'_>)) {
    record_of("", path.as_ref(), seconds, live);
}

/// The same of a boot.
pub(crate) fn record_of(boot_id: &str, path: &std::path::Path, seconds: u64, live: impl Fn(&mut Edit<'_>)) {
    use topotop_model::recording::{About, Chunk, Composer, Limits};
    let about = About { host: "well".into(), boot_id: boot_id.into(), interval_ns: SECOND_NS, ..About::default() };
    let mut composer = Composer::new(about, Some(Limits::default()));
    let mut file = Vec::new();
    let mut put = |chunk: Chunk| {
        for (offset, bytes) in chunk.writes {
            let end = offset as usize + bytes.len();
            file.resize(end.max(file.len()), 0);
            file[offset as usize..end].copy_from_slice(&bytes);
        }
    };
    for second in 0..seconds {
        put(composer.sample(&sample(second, (1_000 + second) * SECOND_NS, &live)).expect("encoded"));
    }
    composer.finish().into_iter().for_each(&mut put);
    std::fs::write(path, file).expect("a file");
}

/// Judges samples and gives every finding that must not be.
fn loud(samples: impl Iterator<Item = Snapshot>, silent: &[&str]) -> Vec<String> {
    let (mut window, mut deriver, mut judge) = (Window::default(), Deriver::default(), Judge::default());
    let mut loud: Vec<String> = Vec::new();
    for (second, snapshot) in samples.enumerate() {
        window.push(snapshot);
        let judgement: Judgement = judge.step(&deriver.frame(&window));
        let unwanted = |finding: &&&Finding| {
            let named =
                silent.iter().any(|rule| finding.rule.id.starts_with(rule)) && !finding.rule.id.starts_with("META");
            finding.severity >= Severity::Warning || named
        };
        for finding in judgement.all().iter().filter(unwanted) {
            let reported = format!("{} {} {}", finding.rule.id, finding.severity.name(), finding.title());
            if !loud.iter().any(|known| known.contains(finding.rule.id.as_str())) {
                loud.push(format!("{second} s: {reported}"));
            }
        }
    }
    loud
}

#[test]
fn healthy_machines_stay_quiet_however_they_look() {
    let mut wrong = Vec::new();
    for Negative { id, what, silent, live } in NEGATIVES {
        let samples = (0..=VALID).map(|second| sample(second, (1_000 + second) * SECOND_NS, live));
        wrong.extend(loud(samples, silent).into_iter().map(|reported| format!("{id}, {what}: {reported}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// N15: a CPU goes and comes back, the machine sleeps, the clock is set, channels change and their counters restart.
#[test]
fn a_machine_that_changes_under_the_hand_stays_quiet() {
    use topotop_model::Table as _;
    let samples = (0..=VALID).map(|second| {
        let slept = if second >= 70 { 3_600 } else { 0 };
        let mono_ns = (1_000 + second) * SECOND_NS + if second >= 40 { 5 * SECOND_NS } else { 0 };
        let mut now = sample(second, mono_ns, |edit| {
            if (20..35).contains(&edit.second) {
                put(&mut edit.now.cpu_topology, 1, &[("cpu", 5u64.into())], &[("online", 0u64.into())]);
                let times = std::sync::Arc::make_mut(&mut edit.now.cpu_times).data_mut();
                let slot = times.rows().iter().find(|&slot| times.cpu.value(slot) == Some(5));
                if let Some(slot) = slot {
                    times.remove(slot);
                }
            }
            if edit.second >= 50 {
                // Two channels instead of four, counted from nothing.
                let counters =
                    [("rx_packets", Cell::Number(edit.second)), ("rx_bytes", Cell::Number(90 * edit.second))];
                put(&mut edit.now.nics, edit.now.stamp.mono_ns, &[("name", "net7".into())], &counters);
                let queues = std::sync::Arc::make_mut(&mut edit.now.nic_queues).data_mut();
                let gone: Vec<usize> = queues
                    .rows()
                    .iter()
                    .filter(|&slot| queues.queue.value(slot).is_some_and(|queue| queue > 1))
                    .collect();
                for slot in gone {
                    queues.remove(slot);
                }
            }
            if edit.second == 90 {
                // Idle time may step back (proc(5)).
                put(&mut edit.now.cpu_times, edit.now.stamp.mono_ns, &[("cpu", 0u64.into())], &[("idle", 5u64.into())]);
            }
        });
        now.stamp.boot_ns += slept * SECOND_NS;
        now.stamp.wall_ns += slept as i64 * SECOND_NS as i64 - if second >= 80 { 86_400 * SECOND_NS as i64 } else { 0 };
        now
    });
    let wrong = loud(samples, &["CPU", "IRQ", "NIC-02", "NIC-03", "IO", "MEM"]);
    assert!(wrong.is_empty(), "N15: {}", wrong.join("\n"));
}
