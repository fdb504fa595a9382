//! The engine as a whole, over frames made of numbers: a change is found and nothing else is.

use super::{Comparison, Reason, Row, Side, Subject, Tried, Verdict, Watch, compare, outcome};
use crate::frame::{Cpu, CpuPlace, CpuShares, Disk, Frame, NodePlace, Process, Topology};
use crate::{IdSet, Known};
use proptest::prelude::*;
use std::sync::Arc;

/// Noise that is the same each time.
pub(crate) struct Noise(pub(crate) u64);

impl Noise {
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn normal(&mut self) -> f64 {
        let (u, v) = (self.uniform().max(1e-12), self.uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// So many values about zero, neighbours of which are as alike as that.
    pub(crate) fn series(&mut self, count: usize, alike: f64) -> Vec<f64> {
        let mut state = self.normal();
        let mut next = || {
            state = alike * state + (1.0 - alike * alike).sqrt() * self.normal();
            state
        };
        (0..count).map(|_| next()).collect()
    }
}

/// A machine of two nodes whose CPUs are busy with noise that remembers.
struct Machine {
    noise: Noise,
    level: Vec<f64>,
    state: Vec<f64>,
    sd: f64,
    memory: f64,
    second: u64,
    disks: usize,
}

impl Machine {
    fn new(cpus: usize, seed: u64, sd: f64, memory: f64) -> Self {
        let noise = Noise(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        Self { noise, level: vec![0.3; cpus], state: vec![0.0; cpus], sd, memory, second: 0, disks: 0 }
    }

    fn topology(&self) -> Arc<Topology> {
        let count = self.level.len() as u32;
        let place = |id| CpuPlace { id, node: Known::Value(id * 2 / count), online: true, ..CpuPlace::default() };
        let node = |id| NodePlace { id, has_cpus: true, ..NodePlace::default() };
        Arc::new(Topology {
            cpus_online: IdSet::from_ids(0..count),
            cpus: (0..count).map(place).collect(),
            nodes: vec![node(0), node(1)],
            ..Topology::default()
        })
    }

    fn frame(&mut self) -> Frame {
        self.second += 1;
        let count = self.level.len();
        let mut frame = Frame { interval_seconds: Some(1.0), topology: self.topology(), ..Frame::default() };
        frame.stamp.mono_ns = self.second * 1_000_000_000;
        for id in 0..count {
            let fresh = (1.0 - self.memory * self.memory).sqrt() * self.noise.normal();
            self.state[id] = self.memory * self.state[id] + fresh;
            let busy = (self.level[id] + self.sd * self.state[id]).clamp(0.0, 1.0);
            let shares =
                CpuShares { busy, user: busy * 0.7, system: busy * 0.3, idle: 1.0 - busy, ..CpuShares::default() };
            let node = (id * 2 / count) as u32;
            let cpu =
                Cpu { id: id as u32, node: Known::Value(node), online: true, shares: Some(shares), ..Cpu::default() };
            frame.cpus.push(cpu);
        }
        for node in 0..2 {
            let of_node = || frame.cpus.iter().filter(|cpu| cpu.node == Known::Value(node)).filter_map(Cpu::busy);
            let busy = of_node().sum::<f64>() / of_node().count() as f64;
            frame.nodes.push(crate::frame::Node { id: node, busy: Some(busy), ..crate::frame::Node::default() });
        }
        for disk in 0..self.disks {
            let rate = 1e6 * (1.0 + 2.0 * self.noise.normal()).exp();
            frame.disks.push(Disk {
                name: format!("sd{disk}").into(),
                utilisation: Some(self.noise.uniform().powi(8)),
                write_bytes_per_second: Some(rate),
                writes_per_second: Some(rate / 1e4),
                await_ms: if disk % 2 == 0 { Known::None } else { Known::Value(3.0 * self.noise.normal().exp()) },
                ..Disk::default()
            });
        }
        frame
    }

    fn side(&mut self, samples: usize) -> Side {
        let mut side = Side::new();
        (0..samples).for_each(|_| side.push(&self.frame()));
        side
    }
}

fn changes(comparison: &Comparison) -> Vec<String> {
    let line = |row: &Row| format!("{} {} {:+.3}", row.subject, row.metric.id, row.shift);
    comparison.rows.iter().filter(|row| row.verdict.is_change()).map(line).collect()
}

fn heads(comparison: &Comparison) -> Vec<(String, &'static str)> {
    comparison
        .heads()
        .into_iter()
        .map(|at| &comparison.rows[at])
        .map(|row| (row.subject.to_string(), row.metric.id))
        .collect()
}

#[test]
fn a_side_against_itself_is_no_change() {
    for samples in [1, 7, 8, 60, 300] {
        let mut machine = Machine::new(16, 5, 0.2, 0.9);
        machine.disks = 4;
        let side = machine.side(samples);
        let comparison = compare(&side, &side);
        assert!(!comparison.is_change(), "{:?}", changes(&comparison));
        let few = |row: &Row| matches!(row.reason, Some(Reason::TooFew { .. }));
        assert_eq!(comparison.rows.iter().any(few), samples < 8);
        // The same is said to be the same wherever the noise allows it.
        let noisy = |row: &&Row| row.verdict == Verdict::Inconclusive && !few(row);
        let bound = |row: &Row| row.decision.as_ref().map_or(0.0, |decision| decision.bound / row.floor);
        assert!(comparison.rows.iter().filter(noisy).all(|row| bound(row) > 2.0), "{samples}");
    }
}

#[test]
fn ten_points_in_one_core_over_sixty_samples_are_found_and_nothing_else() {
    for (seed, sd, memory) in (0..40).flat_map(|seed| [(seed, 0.03, 0.0), (seed, 0.03, 0.5), (seed, 0.02, 0.7)]) {
        for cpus in [4, 64] {
            let mut machine = Machine::new(cpus, 77 + seed, sd, memory);
            let before = machine.side(60);
            machine.level[3] += 0.10;
            let after = machine.side(60);
            let comparison = compare(&before, &after);
            let found = heads(&comparison);
            assert_eq!(found, [("cpu:3".to_owned(), "cpu.busy")], "{seed} {sd} {memory} {:?}", changes(&comparison));
        }
    }
}

#[test]
fn a_whole_node_stands_for_its_cpus() {
    let mut machine = Machine::new(16, 9, 0.05, 0.3);
    let before = machine.side(60);
    machine.level.iter_mut().skip(8).for_each(|level| *level += 0.5);
    let comparison = compare(&before, &machine.side(60));
    assert_eq!(heads(&comparison), [("node:1".to_owned(), "node.busy")], "{:?}", changes(&comparison));
    let head = comparison.heads()[0];
    let below = comparison.under(head);
    assert_eq!(below.iter().filter(|&&at| comparison.rows[at].metric.id == "cpu.busy").count(), 8);
}

#[test]
fn noise_is_silent() {
    let (mut tested, mut found) = (0, Vec::new());
    for seed in 0..20 {
        for memory in [0.0, 0.5, 0.8] {
            let mut machine = Machine::new(128, 1000 + seed, 0.15, memory);
            machine.disks = 64;
            let (before, after) = (machine.side(60), machine.side(60));
            let comparison = compare(&before, &after);
            tested += comparison.tested;
            found.extend(changes(&comparison).into_iter().map(|change| format!("{memory}: {change}")));
        }
    }
    assert!(tested > 30_000, "{tested}");
    assert!(found.is_empty(), "{} of {tested}: {found:?}", found.len());
}

#[test]
fn a_burst_is_no_change() {
    let mut machine = Machine::new(8, 3, 0.02, 0.0);
    let before = machine.side(60);
    let mut after = Side::new();
    for second in 0..60 {
        machine.level[0] = if (20..30).contains(&second) { 1.0 } else { 0.3 };
        after.push(&machine.frame());
    }
    let comparison = compare(&before, &after);
    assert!(!comparison.is_change(), "{:?}", changes(&comparison));
}

#[test]
fn what_appears_is_told_when_it_matters() {
    let process = |comm: &str, cores: f64| Process {
        comm: comm.into(),
        cgroup: "/x.service".into(),
        cpu_cores: Some(cores),
        ..Process::default()
    };
    let mut machine = Machine::new(8, 11, 0.02, 0.0);
    let mut side = |extra: &[Process]| {
        let mut side = Side::new();
        for _ in 0..30 {
            side.push(&Frame { processes: [&[process("always", 0.5)], extra].concat(), ..machine.frame() });
        }
        side
    };
    let before = side(&[process("gone", 0.8)]);
    let after = side(&[process("new", 1.5), process("tiny", 0.02)]);
    let comparison = compare(&before, &after);
    let found: Vec<(String, Verdict)> = comparison
        .rows
        .iter()
        .filter(|row| row.verdict.is_change())
        .map(|row| (row.subject.to_string(), row.verdict))
        .collect();
    let named = |comm: &str, verdict| (format!("process:{comm}@/x.service"), verdict);
    assert_eq!(found, [named("gone", Verdict::OnlyBefore), named("new", Verdict::OnlyAfter)]);
}

#[test]
fn other_shapes_are_compared_as_a_whole() {
    let (before, after) = (Machine::new(8, 1, 0.02, 0.0).side(30), Machine::new(16, 2, 0.02, 0.0).side(30));
    let comparison = compare(&before, &after);
    assert_eq!(comparison.alignment.name(), "aggregated");
    assert!(comparison.rows.iter().all(|row| !matches!(row.subject, Subject::Cpu(_) | Subject::Node(_))));
    assert!(comparison.row(&Subject::Host, "host.busy").is_some());
}

#[test]
fn a_day_is_no_larger_than_an_hour() {
    let mut machine = Machine::new(4, 8, 0.1, 0.5);
    let before = machine.side(3600);
    machine.level[1] += 0.1;
    let after = machine.side(20_000);
    assert!(after.block() >= 256);
    assert_eq!(heads(&compare(&before, &after)), [("cpu:1".to_owned(), "cpu.busy")]);
}

#[test]
fn a_fix_is_judged_by_its_load() {
    let disk = |rate: f64, wait: f64| Disk {
        name: "sda".into(),
        write_bytes_per_second: Some(rate),
        await_ms: Known::Value(wait),
        ..Disk::default()
    };
    let mut noise = Noise(99);
    let mut side = |rate: f64, wait: f64| {
        let mut side = Side::new();
        for _ in 0..15 {
            let disks = vec![disk(rate * (1.0 + 0.02 * noise.normal()), wait * (1.0 + 0.05 * noise.normal()))];
            side.push(&Frame { disks, interval_seconds: Some(1.0), ..Frame::default() });
        }
        side
    };
    let watch = |metric| Watch { subject: Subject::Disk("sda".into()), metric };
    let (load, cost) = (watch("disk.write_bytes"), watch("disk.await"));
    let before = side(50e6, 20.0);
    let mut judge = |rate, wait, guards: &[Watch]| {
        let after = side(rate, wait);
        let tried = Tried { before: &before, after: &after, comparison: &compare(&before, &after) };
        format!("{:?}", outcome(tried, Some(&load), Some(&cost), guards))
    };
    assert_eq!(judge(80e6, 20.0, &[]), "Improved { cheaper: false }");
    assert_eq!(judge(50e6, 8.0, &[]), "Improved { cheaper: true }");
    assert!(judge(50e6, 20.0, &[]).starts_with("NoChange { bound: 0.0"));
    assert!(judge(80e6, 60.0, std::slice::from_ref(&cost)).starts_with("Worse"));
    assert!(judge(20e6, 20.0, &[]).starts_with("Worse"));
    let same = Tried { before: &before, after: &before, comparison: &compare(&before, &before) };
    assert!(format!("{:?}", outcome(same, None, None, &[])).contains("NoLoad"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_series_differs_from_itself(values in prop::collection::vec(prop::option::of(-1e12..1e12f64), 1..200)) {
        let mut side = Side::new();
        for value in values {
            let host = crate::frame::Host { context_switches_per_second: value, ..crate::frame::Host::default() };
            side.push(&Frame { host, interval_seconds: Some(1.0), ..Frame::default() });
        }
        prop_assert!(!compare(&side, &side).is_change());
    }

    #[test]
    fn turning_the_sides_around_turns_the_verdict_around(seed in 1u64..1_000_000, shift in 0.0..0.6f64) {
        let mut machine = Machine::new(4, seed, 0.05, 0.3);
        let before = machine.side(40);
        machine.level[2] += shift;
        let after = machine.side(40);
        let (there, back) = (compare(&before, &after), compare(&after, &before));
        for (one, other) in there.rows.iter().zip(&back.rows) {
            prop_assert!((one.shift + other.shift).abs() < 1e-9);
            prop_assert_eq!(one.verdict.is_change(), other.verdict.is_change());
        }
    }
}
