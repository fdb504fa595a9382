//! The part of a side that is measured: the steady part of its load, at the same moments for all metrics.

use super::metric::Metric;
use super::outcome::Watch;
use super::series::Series;
use super::side::{Entry, Kind, Side};
use super::stat::FEWEST;
use super::window::{End, Ends, Steady, steady};

/// Seconds without a reading after which a load has ended, and as many intervals.
const SILENT_SECONDS: f64 = 5.0;
const SILENT: f64 = 3.0;

/// A part of a side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part<'a> {
    pub(super) side: &'a Side,
    /// In blocks.
    steady: Steady,
    blocks: usize,
}

/// What of a side was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Samples that were used.
    pub samples: u64,
    /// Samples left out at the beginning: before the load was steady.
    pub ramp: u64,
    /// Samples left out at the end.
    pub tail: u64,
    /// Seconds per sample.
    pub interval_seconds: f64,
    /// How the load ended.
    pub end: End,
}

impl Default for Window {
    fn default() -> Self {
        Self { samples: 0, ramp: 0, tail: 0, interval_seconds: 1.0, end: End::Steady }
    }
}

/// The steady parts of two sides by a load; all of them where nothing measures it. `runs_on` is true where they end while
/// the load does not: around a fix.
pub(super) fn parts<'a>([before, after]: [&'a Side; 2], load: Option<&Watch>, runs_on: bool) -> [Part<'a>; 2] {
    if runs_on {
        [
            part(before, load, |_, _, patience| Ends::within_load(patience)),
            part(after, load, |n, _, patience| Ends::after_fix(n, patience)),
        ]
    } else {
        [before, after].map(|side| part(side, load, Ends::with_load))
    }
}

fn part<'a>(side: &'a Side, load: Option<&Watch>, ends: impl Fn(usize, f64, usize) -> Ends) -> Part<'a> {
    let blocks = usize::try_from(side.samples().div_ceil(side.block().max(1))).unwrap_or(usize::MAX);
    let all = Part { side, steady: Steady::all(blocks), blocks };
    let known = |load: &Watch| Watch { subject: side.called(&load.subject), metric: load.metric };
    let mut values = load.map(|load| side.by_block(&known(load))).unwrap_or_default();
    if values.iter().flatten().next().is_none() {
        return all;
    }
    values.resize(blocks, None);
    let block_seconds = all.block_seconds().unwrap_or(1.0);
    let patience = (SILENT * gap(&values)).max(SILENT_SECONDS / block_seconds).ceil() as usize;
    Part { steady: steady(&values, ends(blocks, block_seconds, patience)), ..all }
}

/// Blocks between two values of a load, mostly.
fn gap(values: &[Option<f64>]) -> f64 {
    let count = values.iter().flatten().count().max(1);
    let first = values.iter().position(Option::is_some).unwrap_or_default();
    let last = values.iter().rposition(Option::is_some).unwrap_or_default();
    ((last - first) as f64 / count as f64).max(1.0)
}

impl Part<'_> {
    /// The means of a metric's blocks and how many samples they are of.
    pub(super) fn values(&self, entry: Option<&Entry>, kind: Kind, at: usize, metric: &Metric) -> (Vec<f64>, u64) {
        let series = self.cut(&self.side.series(entry, kind, at, metric));
        (series.means(), series.samples())
    }

    /// A metric of a subject, block by block; nothing where it is not known.
    pub(super) fn by_block(&self, watch: &Watch) -> Vec<Option<f64>> {
        let known = Watch { subject: self.side.called(&watch.subject), metric: watch.metric };
        let mut blocks = self.side.by_block(&known);
        blocks.truncate(self.steady.last);
        blocks.drain(..self.steady.first.min(blocks.len()));
        blocks
    }

    /// The sum of metrics over all subjects, block by block.
    pub(super) fn sum(&self, metrics: &[&str]) -> Vec<Option<f64>> {
        let mut sum: Vec<Option<f64>> = vec![None; self.steady.len()];
        for entry in &self.side.entries {
            for (at, metric) in entry.kind.table().iter().enumerate().filter(|(_, one)| metrics.contains(&one.id)) {
                let series = self.cut(&self.side.series(Some(entry), entry.kind, at, metric));
                for (cell, value) in sum.iter_mut().zip(series.by_block()) {
                    *cell = value.map_or(*cell, |value| Some(cell.unwrap_or_default() + value));
                }
            }
        }
        sum
    }

    fn cut(&self, series: &Series) -> Series {
        series.part(self.steady.first, self.steady.last)
    }

    /// Seconds between two blocks; none with one sample.
    pub(super) fn block_seconds(&self) -> Option<f64> {
        let (first, last) = self.side.span()?;
        let intervals = self.side.samples().checked_sub(1).filter(|count| *count > 0)?;
        let seconds = last.mono_ns.saturating_sub(first.mono_ns) as f64 / 1e9 / intervals as f64;
        Some(seconds * self.side.block() as f64)
    }

    /// When the middle of it was, by the clock of the boot.
    pub(super) fn middle_seconds(&self) -> Option<f64> {
        let (first, _) = self.side.span()?;
        let blocks = (self.steady.first + self.steady.last) as f64 / 2.0;
        Some(first.mono_ns as f64 / 1e9 + blocks * self.block_seconds()?)
    }

    /// True if too little is left of it because the load ended.
    pub(super) fn ended_early(&self) -> bool {
        self.is_cut_off() && self.steady.len() < FEWEST
    }

    fn is_cut_off(&self) -> bool {
        matches!(self.steady.end, End::Ended | End::Collapsed)
    }

    /// What is reported of it.
    pub(super) fn window(&self) -> Window {
        let block = self.side.block();
        let count = |blocks: usize| blocks as u64 * block;
        let (ramp, tail) = (count(self.steady.first), count(self.blocks.saturating_sub(self.steady.last)));
        let samples = self.side.samples().saturating_sub(ramp + tail);
        let interval_seconds = self.block_seconds().unwrap_or(1.0) / block.max(1) as f64;
        Window { samples, ramp, tail, interval_seconds, end: self.steady.end }
    }
}
