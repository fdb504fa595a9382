//! Windows as slow and busy machines give them: few samples, much noise that remembers. An effect has to be distinguished from
//! chance.

use super::{FEWEST, Verification};
use crate::diff::check::Noise;
use crate::diff::{Subject, Watch};
use crate::fix::Verify;
use crate::frame::{Cgroup, Cpu, CpuShares, Frame, Nic, NicRates, Pressure, PressureStall};

/// What carries the load in a sample, and what it costs.
type Sample = (f64, f64);

/// Packets of an interface, and softirq of the hotter of two CPUs.
fn packets(second: u64, (load, cost): Sample) -> Frame {
    let shares = |softirq| Some(CpuShares { softirq, busy: softirq, ..CpuShares::default() });
    let cpu = |id, softirq| Cpu { id, online: true, shares: shares(softirq), ..Cpu::default() };
    let rx = NicRates { packets_per_second: Some(load), errors_per_second: Some(0.0), ..NicRates::default() };
    let nics = vec![Nic { name: "eth0".into(), rx, ..Nic::default() }];
    at(second, Frame { cpus: vec![cpu(0, cost), cpu(1, cost / 8.0)], nics, ..Frame::default() })
}

/// CPU time of a group, and the periods in which it had to stop.
fn group(second: u64, (load, cost): Sample) -> Frame {
    let mut group = Cgroup { path: "/work".into(), ..Cgroup::default() };
    (group.cpu.usage_cores, group.cpu.throttled_ratio) = (Some(load), Some(cost));
    let stall = PressureStall { some_ratio: Some(0.3), ..PressureStall::default() };
    let pressure = vec![Pressure { resource: "cpu".into(), stall }];
    let cpu = |id: u32| {
        let busy = 0.5 + 0.4 * ((second * 7919 + u64::from(id) * 104_729) % 41) as f64 / 41.0;
        let shares = Some(CpuShares { busy, user: busy * 0.7, system: busy * 0.3, ..CpuShares::default() });
        Cpu { id, online: true, shares, ..Cpu::default() }
    };
    let cpus = (0..8).map(cpu).collect();
    at(second, Frame { cgroups: vec![group], pressure, cpus, ..Frame::default() })
}

fn at(second: u64, mut frame: Frame) -> Frame {
    frame.interval_seconds = Some(1.0);
    frame.stamp.seq = second;
    frame.stamp.mono_ns = second * 1_000_000_000;
    frame
}

fn of_nic() -> Verify {
    let nic = |metric| Watch { subject: Subject::Nic("eth0".into()), metric };
    Verify {
        load: Some(nic("nic.rx_packets")),
        cost: Some(Watch { subject: Subject::Host, metric: "host.busiest_softirq" }),
        guards: vec![nic("nic.rx_errors")],
        before_seconds: 60,
        settle_seconds: 2,
        after_seconds: 5,
        ..Verify::default()
    }
}

fn of_group() -> Verify {
    let own = |metric| Some(Watch { subject: Subject::Cgroup("/work".into()), metric });
    let guards = vec![Watch { subject: Subject::Pressure("cpu".into()), metric: "pressure.some" }];
    Verify { load: own("cgroup.cores"), cost: own("cgroup.throttled"), guards, ..of_nic() }
}

fn verdict(verify: &Verify, frame: fn(u64, Sample) -> Frame, before: &[Sample], after: &[Sample]) -> &'static str {
    let verify = Verify { after_seconds: after.len() as u32, ..verify.clone() };
    let mut verification = Verification::new(&verify, None);
    let applied = before.len() as u64;
    (1..).zip(before).for_each(|(second, sample)| _ = verification.push(&frame(second, *sample)));
    verification.applied(applied * 1_000_000_000);
    let settled = applied + u64::from(verify.settle_seconds) + 1;
    (settled..).zip(after).for_each(|(second, sample)| _ = verification.push(&frame(second, *sample)));
    verification.so_far().name
}

/// One queue of an emulated card and then four: the machine is so slow that watching it takes packets from it.
#[test]
fn a_slow_machine_that_was_helped() {
    let before = [
        (3_880.0, 0.15),
        (6_330.0, 0.57),
        (4_230.0, 0.31),
        (11_470.0, 0.95),
        (5_190.0, 0.58),
        (11_380.0, 0.97),
        (9_010.0, 0.82),
        (11_510.0, 0.95),
        (5_220.0, 0.62),
        (11_980.0, 0.98),
        (10_940.0, 0.94),
        (11_530.0, 0.95),
        (6_400.0, 0.40),
        (8_100.0, 0.56),
    ];
    let after = [
        (11_110.0, 0.41),
        (12_170.0, 0.20),
        (12_020.0, 0.35),
        (12_510.0, 0.12),
        (11_050.0, 0.30),
        (12_160.0, 0.15),
        (11_930.0, 0.52),
        (12_190.0, 0.22),
        (11_090.0, 0.44),
        (12_300.0, 0.14),
        (11_970.0, 0.27),
        (12_340.0, 0.38),
    ];
    assert_eq!(verdict(&of_nic(), packets, &before, &after), "improved");
}

/// A group that stopped in nearly every period, and hardly does now; it shares its CPUs, so that it gets little more.
#[test]
fn a_quota_that_was_raised() {
    let stopped = [1.0, 0.98, 0.96, 1.0, 0.98, 0.96, 0.9, 0.98, 1.0, 1.0, 0.98, 0.96, 1.0];
    let before: Vec<Sample> = (0..).zip(stopped).map(|(at, share)| (0.49 + 0.02 * f64::from(at % 4), share)).collect();
    let shares = [0.62, 0.55, 0.2, 0.41, 0.22, 0.05, 0.3, 0.0, 0.08, 0.12, 0.0, 0.1];
    let after: Vec<Sample> =
        (0..).zip(shares).map(|(at, share)| (0.55 + 0.09 * f64::from(at % 5 - 2), share)).collect();
    assert_eq!(verdict(&of_group(), group, &before, &after), "improved");
}

/// How noise behaves.
#[derive(Clone, Copy, Debug)]
struct Kind {
    /// Samples before and after.
    samples: (usize, usize),
    /// Of neighbours.
    alike: f64,
    /// Standard deviation of the load, as a part of it.
    swing: f64,
    /// With rare high values.
    heavy: bool,
}

const LOAD: f64 = 20_000.0;

impl Kind {
    /// A load and a cost that follows it in part; `settled` is what is multiplied after.
    fn windows(self, seed: u64, settled: Sample) -> [Vec<Sample>; 2] {
        let mut noise = Noise(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let (before, after) = self.samples;
        let count = before + after + 3;
        let (load, cost) = (noise.series(count, self.alike), noise.series(count, self.alike));
        let sample = |(load, cost): (f64, f64)| {
            let load = if self.heavy { (self.swing * load).exp() } else { (1.0 + self.swing * load).max(0.01) };
            let cost = 0.6 * (0.5 + 0.5 * load) * (1.0 + 0.6 * self.swing * cost);
            (LOAD * load, cost.clamp(0.0, 1.0))
        };
        let mut all: Vec<Sample> = load.into_iter().zip(cost).map(sample).collect();
        let after = all.split_off(before + 3).into_iter().map(|(load, cost)| (load * settled.0, cost * settled.1));
        all.truncate(before);
        [all, after.collect()]
    }

    /// The percentage of the verdicts improved and worse.
    fn verdicts(self, settled: Sample) -> [f64; 2] {
        const SEEDS: u64 = 100;
        let verdicts: Vec<&str> = (1..=SEEDS)
            .map(|seed| {
                let [before, after] = self.windows(seed, settled);
                verdict(&of_nic(), packets, &before, &after)
            })
            .collect();
        let share = |name| verdicts.iter().filter(|verdicts| **verdicts == name).count() as f64 * 100.0 / SEEDS as f64;
        [share("improved"), share("worse")]
    }
}

fn kinds() -> impl Iterator<Item = Kind> {
    let samples = [(FEWEST, FEWEST), (14, 30), (30, 30)];
    let noise = [0.0, 0.3, 0.8].into_iter().flat_map(|alike| [(alike, 0.1), (alike, 0.3), (alike, 0.5)]);
    noise.flat_map(move |(alike, swing)| {
        samples.map(|samples| Kind { samples, alike, swing, heavy: samples.1 == 30 || swing > 0.3 })
    })
}

#[test]
fn chance_alone_helps_nobody() {
    let (mut sum, mut count) = (0.0, 0.0);
    for kind in kinds() {
        let [improved, worse] = kind.verdicts((1.0, 1.0));
        // Five of a hundred, and as much as a hundred seeds may be off by.
        assert!(improved <= 8.0 && worse <= 5.0, "{kind:?}: improved {improved:.1} %, worse {worse:.1} %");
        (sum, count) = (sum + improved, count + 1.0);
    }
    assert!(sum / count <= 3.0, "in the mean {:.1} %", sum / count);
}

#[test]
fn what_helps_is_seen() {
    for kind in kinds().filter(|kind| kind.swing <= 0.3 && kind.alike <= 0.3) {
        for (settled, least) in [((1.5, 1.0), 45.0), ((1.0, 0.4), 85.0), ((1.42, 0.41), 90.0)] {
            let [improved, _] = kind.verdicts(settled);
            assert!(improved >= least, "{kind:?}: {settled:?} was seen in {improved:.1} %");
        }
    }
}
