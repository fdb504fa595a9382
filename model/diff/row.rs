//! One metric of one subject on two sides, and its verdict.

use super::compare::Line;
use super::cost::is_own;
use super::decide::{ALONE, Answer, Decision, Question, decide};
use super::metric::{Better, Metric};
use super::reason::Reason;
use super::stat::{Family, Groups, Noise};
use super::subject::Subject;
use serde::Serialize;
use std::sync::Arc;

/// Tested, however likely it is by chance.
const UNLIKELY_LEAST: f64 = 0.999_999;
/// The weight of a change that could hardly be larger.
const HEAVIEST: f64 = 1000.0;
/// Two disjoint levels are no chance, whatever their autocorrelation.
const DISJOINT: f64 = 0.001;

/// Verdict on one metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, schemars(rename = "DiffVerdict"))]
pub enum Verdict {
    /// Improved.
    Improved,
    /// Worse.
    Worse,
    /// It changed; neither direction is better.
    Changed,
    /// No difference larger than a small bound.
    NoChange,
    /// Inconclusive: too few valid samples, or too much noise.
    Inconclusive,
    /// The subject exists only before.
    OnlyBefore,
    /// The subject exists only after.
    OnlyAfter,
}

impl Verdict {
    /// Its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Improved => "improved",
            Self::Worse => "worse",
            Self::Changed => "changed",
            Self::NoChange => "no_change",
            Self::Inconclusive => "inconclusive",
            Self::OnlyBefore => "only_before",
            Self::OnlyAfter => "only_after",
        }
    }

    /// True if something is different.
    pub fn is_change(self) -> bool {
        !matches!(self, Self::NoChange | Self::Inconclusive)
    }
}

/// Distribution of the values of a side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Spread {
    /// Half of the values are below.
    pub median: f64,
    /// A quarter of the values are below.
    #[serde(rename = "low_quartile")]
    pub low: f64,
    /// A quarter of the values are above.
    #[serde(rename = "high_quartile")]
    pub high: f64,
    /// Their mean.
    pub mean: f64,
    /// Valid samples.
    pub samples: u64,
}

/// One metric of one subject.
#[derive(Clone, Debug)]
pub struct Row {
    /// Of what, as it is called before.
    pub subject: Subject,
    /// As it is called after, where that is something else.
    pub subject_after: Option<Subject>,
    /// What.
    pub metric: &'static Metric,
    /// The unit of the application's own metric, as its user gave it; hostile.
    pub unit: Arc<str>,
    /// Before; none without valid samples.
    pub before: Option<Spread>,
    /// After.
    pub after: Option<Spread>,
    /// Difference of the means.
    pub shift: f64,
    /// Standard error of that.
    pub error: f64,
    /// Chance of such a shift without a change; 1 where none was worth testing.
    pub p: f64,
    /// The shift in floors of the metric: how much it matters.
    pub weight: f64,
    /// The smallest change of it that is worth a word, in its own unit.
    pub floor: f64,
    /// What is said of it.
    pub verdict: Verdict,
    /// Why it is not decided.
    pub reason: Option<Reason>,
    /// What the verdict rests on; none with too few samples, or where nothing varied by a floor.
    pub decision: Option<Decision>,
    /// The row that it follows from.
    pub under: Option<usize>,
    pub(super) owner: Option<Subject>,
    /// True of kernel threads.
    pub(super) kernel: bool,
    pub(super) separated: bool,
    pub(super) one_sided: Option<Verdict>,
    pub(super) groups: Option<Groups>,
    pub(super) values: [Vec<f64>; 2],
}

impl Row {
    /// What the test needs of the values of the two sides; none where they never left a floor's width: such a metric
    /// cannot have changed by as much, and costs the others nothing.
    pub(super) fn prepare(&mut self, values: [Vec<f64>; 2], memory: f64) {
        self.verdict = Verdict::NoChange;
        let (Some(one), Some(other)) = (self.before, self.after) else { return };
        self.floor = self.metric.floor.between(one.mean, other.mean, memory);
        let all = || values.iter().flatten().copied();
        let range = all().fold(f64::MIN, f64::max) - all().fold(f64::MAX, f64::min);
        self.shift = other.mean - one.mean;
        self.weight = (self.shift.abs() / self.floor).min(HEAVIEST);
        if range >= self.floor || self.is_own() {
            self.groups = Some(Groups::new(&values[0], &values[1]));
            self.values = values;
        }
    }

    /// Tests the two sides; the verdict waits for the other tests.
    pub(super) fn test(&mut self, family: Family, line: Option<Line>, apart: f64) {
        let (Some(groups), Some(one), Some(other)) = (self.groups.take(), self.before, self.after) else { return };
        let test = groups.test(self.metric.noise, apart);
        let [before, after] = std::mem::take(&mut self.values);
        let decision = if self.drifts() {
            Some(Decision::drifting(self.shift, test.error, test.p, self.floor))
        } else {
            let alike = (!self.is_own()).then(|| family.alike(&groups)).flatten();
            let (before, after) = (&before[..], &after[..]);
            decide(Question { before, after, floor: self.floor, chance: ALONE, alike, line })
        };
        let Some(decision) = decision else { return };
        self.error = decision.error;
        self.p = decision.p.min(if decision.disjoint { DISJOINT } else { UNLIKELY_LEAST });
        let median = other.median - one.median;
        // A shift that only a few moments make is none of what happens most of the time.
        let lasts = median.signum() == test.shift.signum() && median.abs() >= self.floor / 2.0;
        self.separated = lasts && test.separated();
        self.decision = Some(decision);
    }

    /// The verdict among all metrics, of which those below a threshold are findings; the application's own are each
    /// asked about by themselves.
    pub(super) fn judge(&mut self, threshold: f64) {
        let Some(decision) = &self.decision else { return };
        let (answer, reason) = decision.at(ALONE);
        let found = self.separated && self.weight >= 1.0 && self.p <= threshold;
        (self.verdict, self.reason) = match answer {
            _ if !self.is_own() && found => (self.way(), None),
            Answer::Changed if self.is_own() => (self.way(), None),
            _ if self.drifts() || answer == Answer::Same => (Verdict::NoChange, None),
            Answer::Changed => (Verdict::Inconclusive, Some(decision.noise())),
            Answer::Open | Answer::Same => (Verdict::Inconclusive, reason),
        };
    }

    /// What is said of it where it is asked about by itself, not found among thousands, with that chance of a false
    /// change: then neither those count, nor has it to be another one nearly all the time, unless that is wanted.
    pub fn alone(&self, chance: f64, throughout: bool) -> (Verdict, Option<Reason>) {
        let Some(decision) = &self.decision else { return (self.verdict, self.reason.clone()) };
        match decision.at(chance) {
            (Answer::Changed, _) if throughout && !self.separated => (Verdict::Inconclusive, Some(decision.noise())),
            (Answer::Changed, _) => (self.way(), None),
            (Answer::Same, _) => (Verdict::NoChange, None),
            (Answer::Open, reason) => (Verdict::Inconclusive, reason),
        }
    }

    /// True if it is the application's own.
    pub fn is_own(&self) -> bool {
        is_own(&self.subject)
    }

    /// Which way a change of it goes.
    fn way(&self) -> Verdict {
        match (self.one_sided, self.metric.better) {
            (Some(verdict), _) => verdict,
            (None, Better::Neither) => Verdict::Changed,
            (None, Better::Higher) if self.shift > 0.0 => Verdict::Improved,
            (None, Better::Lower) if self.shift < 0.0 => Verdict::Improved,
            (None, Better::Higher | Better::Lower) => Verdict::Worse,
        }
    }

    /// True if it drifts: its level is history.
    pub fn drifts(&self) -> bool {
        self.metric.noise == Noise::Drifting
    }
}

pub(super) fn spread(values: &[f64], samples: u64) -> Option<Spread> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let quantile = |share: f64| {
        let place = share * (sorted.len().checked_sub(1)?) as f64;
        let (low, high) = (*sorted.get(place.floor() as usize)?, *sorted.get(place.ceil() as usize)?);
        Some(low + (high - low) * place.fract())
    };
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    Some(Spread { median: quantile(0.5)?, low: quantile(0.25)?, high: quantile(0.75)?, mean, samples })
}
