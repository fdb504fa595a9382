//! What a unit of work costs: CPU time, packets, bytes and waiting per unit of the load's metric.

use super::decide::{ALONE, Answer, Decision, Question, decide};
use super::outcome::Watch;
use super::part::Part;
use super::reason::Reason;
use super::row::Verdict;
use super::subject::Subject;
use crate::locale::Text;
use crate::locale::diff::cost as text;

/// A difference of a cost that is worth a word: a tenth of the larger.
const FLOOR: f64 = 0.1;
/// Work that differs by more leaves costs open: a machine costs something when it does nothing.
const WORK: f64 = 0.25;

/// A kind of cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// CPU time of the machine.
    Cpu,
    /// Packets of all interfaces.
    Packets,
    /// Bytes of all interfaces.
    NetworkBytes,
    /// Bytes of all disks.
    DiskBytes,
    /// Time in which a task waited for a CPU, memory or I/O.
    Waiting,
}

/// Metrics whose sum over all subjects is a cost, and the least of it per second that says anything.
type Made = (&'static [&'static str], f64);

impl Cost {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Cpu, Self::Packets, Self::NetworkBytes, Self::DiskBytes, Self::Waiting];

    /// Its name in documents; per unit of work.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu_seconds",
            Self::Packets => "packets",
            Self::NetworkBytes => "network_bytes",
            Self::DiskBytes => "disk_bytes",
            Self::Waiting => "waiting_seconds",
        }
    }

    /// Its name on screens.
    pub fn label(self) -> Text {
        match self {
            Self::Cpu => text::CPU,
            Self::Packets => text::PACKETS,
            Self::NetworkBytes => text::NETWORK_BYTES,
            Self::DiskBytes => text::DISK_BYTES,
            Self::Waiting => text::WAITING,
        }
    }

    fn made(self) -> Made {
        match self {
            Self::Cpu => (&["host.busy"], 0.05),
            Self::Packets => (&["nic.rx_packets", "nic.tx_packets"], 100.0),
            Self::NetworkBytes => (&["nic.rx_bytes", "nic.tx_bytes"], 10e3),
            Self::DiskBytes => (&["disk.read_bytes", "disk.write_bytes"], 100e3),
            Self::Waiting => (&["pressure.some"], 0.02),
        }
    }

    /// The cost of each block of a side.
    fn series(self, part: &Part<'_>) -> Vec<Option<f64>> {
        let (metrics, _) = self.made();
        let scale = if self == Self::Cpu { part.side.topology().cpus_online.len() as f64 } else { 1.0 };
        part.sum(metrics).into_iter().map(|value| value.map(|value| value * scale)).collect()
    }
}

/// What a unit of work costs on both sides.
#[derive(Clone, Debug)]
pub struct CostChange {
    /// Subject of the metric.
    pub cost: Cost,
    /// Per unit, before.
    pub before: f64,
    /// Per unit, after.
    pub after: f64,
    /// Samples of each side.
    pub samples: [u64; 2],
    /// Whether it changed.
    pub decision: Decision,
    /// Why it is not decided.
    pub reason: Option<Reason>,
}

impl CostChange {
    /// What is said of it: less is better.
    pub fn verdict(&self) -> Verdict {
        match self.decision.answer {
            _ if self.reason.is_some() => Verdict::Inconclusive,
            Answer::Changed if self.after < self.before => Verdict::Improved,
            Answer::Changed => Verdict::Worse,
            Answer::Same => Verdict::NoChange,
            Answer::Open => Verdict::Inconclusive,
        }
    }
}

/// All costs per unit of a load that both sides measured.
pub(super) fn costs(parts: &[Part<'_>; 2], load: &Watch) -> Vec<CostChange> {
    Cost::ALL.into_iter().filter_map(|cost| change(cost, parts, load)).collect()
}

fn change(cost: Cost, parts: &[Part<'_>; 2], load: &Watch) -> Option<CostChange> {
    let pairs = |part: &Part<'_>| pairs(&cost.series(part), &part.by_block(load));
    let (before, after) = (pairs(&parts[0]), pairs(&parts[1]));
    if mean_cost(&before).max(mean_cost(&after)) < cost.made().1 {
        return None;
    }
    let (decision, reason) = per_unit(&before, &after, FLOOR)?;
    let [one, other] = [rate(&before)?, rate(&after)?];
    let samples = [before.len() as u64 * parts[0].side.block(), after.len() as u64 * parts[1].side.block()];
    Some(CostChange { cost, before: one, after: other, samples, decision, reason })
}

fn mean_cost(pairs: &[(f64, f64)]) -> f64 {
    pairs.iter().map(|pair| pair.0).sum::<f64>() / pairs.len().max(1) as f64
}

/// Cost and work of the blocks that have both.
pub(super) fn pairs(cost: &[Option<f64>], work: &[Option<f64>]) -> Vec<(f64, f64)> {
    cost.iter().zip(work).filter_map(|(cost, work)| (*cost).zip(*work)).collect()
}

/// Cost of a unit.
pub(super) fn rate(pairs: &[(f64, f64)]) -> Option<f64> {
    let (cost, work) = pairs.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
    (work > 0.0).then(|| cost / work)
}

/// Whether the cost of a unit changed by a part of the larger one, and why that is open. Ratios of single
/// moments would be ruled by those with hardly any work: what is tested is how far each moment's cost is beside its due.
pub(super) fn per_unit(before: &[(f64, f64)], after: &[(f64, f64)], part: f64) -> Option<(Decision, Option<Reason>)> {
    let beside = |pairs: &[(f64, f64)]| {
        let rate = rate(pairs)?;
        let work = pairs.iter().map(|pair| pair.1).sum::<f64>() / pairs.len().max(1) as f64;
        Some(pairs.iter().map(|pair| rate + (pair.0 - rate * pair.1) / work).collect::<Vec<f64>>())
    };
    let (one, other) = (beside(before)?, beside(after)?);
    let floor = part * rate(before)?.max(rate(after)?);
    let decision = decide(Question { before: &one, after: &other, floor, chance: ALONE, alike: None, line: None })?;
    let work = |pairs: &[(f64, f64)]| pairs.iter().map(|pair| pair.1).sum::<f64>() / pairs.len().max(1) as f64;
    let ratio = work(after) / work(before);
    let paid = mean_cost(after) / mean_cost(before);
    // What a machine costs when it does nothing explains no cost that goes the other way than the work.
    let despite = (ratio > 1.0 && paid <= 1.0 - part) || (ratio < 1.0 && paid >= 1.0 + part);
    let differs = !((1.0 - WORK)..=(1.0 + WORK)).contains(&ratio) && !despite;
    let reason = if differs { Some(Reason::Work { ratio }) } else { decision.reason.clone() };
    Some((decision, reason))
}

/// The subject of what the application itself measures.
pub(super) fn is_own(subject: &Subject) -> bool {
    matches!(subject, Subject::Metric(_))
}
