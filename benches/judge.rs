//! Judging one frame of a busy server with 256 CPUs, 2,000 processes and 500 control groups, well and with a few things
//! sick. It may take 2 ms: the bench fails beyond. Where everything is sick, what it takes is only printed.
#![expect(clippy::expect_used, clippy::print_stdout, reason = "a benchmark prints its figures and fails as tests do")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use topotop_collectors::{Demand, Options, Root, Sampler};
use topotop_model::derive::Deriver;
use topotop_model::frame::{Cgroup, CpuShares, Frame, PressureStall};
use topotop_model::judge::Judge;
use topotop_model::rules::ALL;
use topotop_model::{IdSet, Known, Stamp, Window};

#[path = "../tests/common/synthetic.rs"]
#[expect(dead_code, reason = "the tests use other machines too")]
mod synthetic;

const MACHINE: synthetic::Machine =
    synthetic::Machine { cpus: 256, nodes: 8, irqs: 600, queues: 32, cgroups: 500, processes: 2000 };
/// What judging a frame may take.
const MOST: Duration = Duration::from_millis(2);
/// Frames: until what is remembered is as long as it gets.
const FRAMES: u64 = 700;

fn main() {
    let frame = read();
    println!(
        "{} CPUs, {} processes, {} threads, {} control groups, {} rules\n",
        frame.cpus.len(),
        frame.processes.len(),
        frame.threads.len(),
        frame.cgroups.len(),
        ALL.len()
    );
    let mut server = frame.clone();
    works(&mut server);
    let well = time("busy", &server, |_, _| ());
    let sick = time("in trouble", &server, partly);
    // Nobody runs hundreds of Erlang instances that are bound to the same CPUs: only printed.
    time("extreme", &frame, |_, _| ());
    time("all sick", &frame, trouble);
    assert!(well <= MOST && sick <= MOST, "judging a frame took {well:?} and {sick:?}, and may take {MOST:?}");
}

/// A busy server whose groups are far from their limits: a process of eight works, with eight threads, on any CPU; a handful are Erlang instances.
fn works(frame: &mut Frame) {
    for group in &mut frame.cgroups {
        group.cpu.throttled_ratio = group.cpu.throttled_ratio.map(|_| 0.0);
        group.pressure.memory = group.pressure.memory.map(|_| PressureStall::default());
        if let Some(memory) = &mut group.memory {
            (memory.limit_bytes, memory.effective_limit_bytes) = (bytes(1.0), bytes(1.0));
            (memory.current_bytes, memory.unreclaimable_bytes) = (bytes(0.5), bytes(0.25));
            memory.reclaimable_bytes = bytes(0.25);
        }
    }
    let all = Arc::new(frame.topology.cpus_online.clone());
    for (at, process) in frame.processes.iter_mut().enumerate() {
        process.affinity = Some(Arc::clone(&all));
        process.thread_affinities.clear();
        process.cpu_cores = Some(if at % 8 == 0 { 0.3 } else { 0.0 });
        process.wait_share = Some(0.01);
        if at % 350 == 0 {
            process.beam.iter_mut().for_each(|beam| beam.pinned.clear());
        } else {
            process.beam = None;
        }
    }
    let first: Vec<_> = std::mem::take(&mut frame.threads);
    for (at, thread) in first.into_iter().enumerate().filter(|(at, _)| at % 8 == 0) {
        for number in 0..8 {
            let mut thread = thread.clone();
            thread.tid += number * 100_000;
            thread.affinity = Some(Arc::clone(&all));
            thread.last_cpu = Known::Value((at as u32 + number * 31) % 256);
            thread.cpu_cores = Some(0.04);
            (thread.wait_share, thread.demand_cores) = (Some(0.01), Some(0.04));
            frame.threads.push(thread);
        }
    }
    for cpu in &mut frame.cpus {
        let busy = 0.3 + f64::from(cpu.id % 7) / 50.0;
        cpu.shares = Some(CpuShares { busy, user: busy, idle: 1.0 - busy, ..CpuShares::default() });
    }
}

/// A few things are sick: every hundredth group, two CPUs, and threads pinned to one of them.
fn partly(frame: &mut Frame, second: u64) {
    for (at, group) in frame.cgroups.iter_mut().enumerate() {
        if at % 100 == 1 {
            sicken(group, at, second);
        } else if let Some(memory) = &mut group.memory {
            memory.limit_bytes = Known::Value(1 << 30);
            memory.current_bytes = Known::Value(1 << 28);
            memory.unreclaimable_bytes = Known::Value((1 << 27) + second % 7 * 4096);
        }
    }
    for cpu in frame.cpus.iter_mut().take(2) {
        cpu.shares = Some(CpuShares { busy: 0.99, user: 0.99, ..CpuShares::default() });
    }
    for thread in frame.threads.iter_mut().take(16) {
        thread.affinity = Some(Arc::new(IdSet::from_ids([0])));
        thread.last_cpu = Known::Value(0);
        (thread.cpu_cores, thread.wait_share, thread.demand_cores) = (Some(0.12), Some(0.3), Some(0.17));
    }
}

/// Judges frames and gives the median time of the last hundred.
fn time(what: &str, frame: &Frame, change: fn(&mut Frame, u64)) -> Duration {
    let mut judge = Judge::default();
    let mut times = Vec::new();
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    for second in 1..=FRAMES {
        let mut frame = frame.clone();
        frame.stamp = Stamp { seq: second, mono_ns: second * 1_000_000_000, ..Stamp::default() };
        change(&mut frame, second);
        let start = Instant::now();
        let judgement = judge.step(&frame);
        times.push(start.elapsed());
        found.clear();
        for finding in judgement.all() {
            *found.entry(finding.rule.id.as_str()).or_default() += 1;
        }
    }
    let last = times.get_mut(FRAMES as usize - 100..).expect("frames");
    last.sort_unstable();
    let found: Vec<String> = found.iter().map(|(rule, count)| format!("{count} {rule}")).collect();
    println!("{what:<12} median {:>9.3?}   least {:>9.3?}   {}", last[50], last[0], found.join(", "));
    last[50]
}

/// Two samples of the machine as one frame.
fn read() -> Frame {
    let dir = tempfile::tempdir().expect("a temporary folder");
    MACHINE.write(dir.path(), 0);
    let mut sampler = Sampler::new(Root::at(dir.path()).expect("a root"), &Options::default());
    sampler.demand(Demand { complete: true, process: None });
    let mut window = Window::default();
    window.push(sampler.sample());
    MACHINE.write(dir.path(), 1);
    std::thread::sleep(Duration::from_millis(300));
    sampler.demand(Demand { complete: true, process: None });
    window.push(sampler.sample());
    Deriver::default().frame(&window)
}

/// Every group has a limit that it nears and a quota that holds it; every process computes, waits and is pinned.
fn trouble(frame: &mut Frame, second: u64) {
    for (at, group) in frame.cgroups.iter_mut().enumerate() {
        sicken(group, at, second);
    }
    for cpu in &mut frame.cpus {
        let busy = if cpu.id % 4 == 0 { 0.99 } else { 0.2 };
        cpu.shares = Some(CpuShares { busy, user: busy, idle: 1.0 - busy, ..CpuShares::default() });
    }
    for process in &mut frame.processes {
        process.cpu_cores = Some(0.12);
        process.wait_share = Some(0.3);
        process.rss_bytes = bytes(1.0);
    }
    for (at, thread) in frame.threads.iter_mut().enumerate() {
        thread.cpu_cores = Some(0.12);
        (thread.wait_share, thread.demand_cores) = (Some(0.3), Some(0.17));
        thread.affinity = Some(Arc::new(IdSet::from_ids([at as u32 % 256])));
        thread.last_cpu = Known::Value(at as u32 % 256);
    }
}

fn bytes(share: f64) -> Known<u64> {
    Known::Value((share * f64::from(1u32 << 30)) as u64)
}

/// Near a limit of its memory, and held by a quota.
fn sicken(group: &mut Cgroup, at: usize, second: u64) {
    let noise = ((second * 7 + at as u64 * 13) % 11) as f64 / 1e4;
    group.cpu.quota_cores = Known::Value(2.0);
    group.cpu.throttled_ratio = Some(if at.is_multiple_of(50) { 0.9 } else { 0.01 });
    group.cpu.periods = Some(10);
    group.pressure.memory = Some(PressureStall { some_ratio: Some(0.01), ..PressureStall::default() });
    if let Some(memory) = &mut group.memory {
        memory.limit_bytes = bytes(1.0);
        memory.effective_limit_bytes = bytes(1.0);
        memory.current_bytes = bytes(0.98);
        let used = if at % 50 == 1 { 0.2 + second as f64 / 1000.0 } else { 0.5 + noise };
        memory.unreclaimable_bytes = bytes(used);
        memory.reclaimable_bytes = bytes(0.98 - used);
        memory.refault_file_per_second = Some(20.0);
    }
}
