//! Whether a metric that was named beforehand changed: an answer, its interval, or why it is open.

use super::reason::Reason;
use super::stat::{self, FEWEST, disjoint, two_sided};
use super::window::{level_explains, levelled, trend_explains};

/// A metric that is asked about by itself is that unlikely to have changed by chance.
pub const ALONE: f64 = 0.01;
/// "No change" says that none is larger than so many floors.
const SAME: f64 = 2.0;
/// Window lengths over which a slope is followed at most.
const FARTHEST: f64 = 4.0;

/// What is to be decided.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Values before, in order of time.
    pub before: &'a [f64],
    /// Values after.
    pub after: &'a [f64],
    /// The smallest change worth a word, in the metric's own unit.
    pub floor: f64,
    /// The chance of a false change that is accepted.
    pub chance: f64,
    /// The autocorrelation where it is known from elsewhere.
    pub alike: Option<f64>,
    /// Where a slope may be followed from one side to the other: seconds between two values of each side, and between
    /// the middles of both.
    pub line: Option<([f64; 2], f64)>,
}

/// The answer about a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It changed.
    Changed,
    /// No difference larger than the bound.
    Same,
    /// Not decided.
    Open,
}

/// An answer with what it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The answer.
    pub answer: Answer,
    /// Difference of the means, after − before.
    pub shift: f64,
    /// Its standard error.
    pub error: f64,
    /// Chance of such a shift without a change.
    pub p: f64,
    /// The 95 % interval of the shift.
    pub interval: [f64; 2],
    /// After as a multiple of before, and its 95 % interval; none where before is not above zero.
    pub ratio: Option<[f64; 3]>,
    /// No difference is larger than this: the farther end of the interval.
    pub bound: f64,
    /// Two levels, whatever the autocorrelation.
    pub disjoint: bool,
    /// Why it is open.
    pub reason: Option<Reason>,
    /// The smallest change worth a word.
    pub floor: f64,
    /// What explains the shift otherwise.
    veto: Option<Reason>,
    /// What noise leaves open, should the shift be none.
    noise: Reason,
}

impl Decision {
    /// The answer where another chance of a false change is accepted, and why it is open.
    pub fn at(&self, chance: f64) -> (Answer, Option<Reason>) {
        if (self.p <= chance || self.disjoint) && self.shift.abs() >= self.floor {
            return self.veto.clone().map_or((Answer::Changed, None), |veto| (Answer::Open, Some(veto)));
        }
        if self.bound <= SAME * self.floor {
            return (Answer::Same, None);
        }
        (Answer::Open, Some(self.noise.clone()))
    }

    /// What noise leaves open.
    pub(super) fn noise(&self) -> Reason {
        self.noise.clone()
    }

    /// One of a metric whose error and chance come from elsewhere: a drift.
    pub(super) fn drifting(shift: f64, error: f64, p: f64, floor: f64) -> Self {
        let half = 2.0 * error;
        let interval = [shift - half, shift + half];
        let bound = interval[0].abs().max(interval[1].abs());
        let noise = Reason::Noise { half, samples: u64::MAX };
        let base = Self {
            answer: Answer::Open,
            shift,
            error,
            p,
            interval,
            ratio: None,
            bound,
            disjoint: false,
            reason: None,
            floor,
            veto: None,
            noise,
        };
        base.answered(ALONE)
    }

    fn answered(mut self, chance: f64) -> Self {
        (self.answer, self.reason) = self.at(chance);
        self
    }
}

/// Decides; none with too few values.
pub fn decide(question: Question<'_>) -> Option<Decision> {
    let Question { before, after, floor, .. } = question;
    let fell = levelled(before, after);
    let after = fell.as_deref().unwrap_or(after);
    let question = Question { after, ..question };
    if before.len().min(after.len()) < FEWEST {
        return None;
    }
    let (one, other) = (stat::mean(before), stat::mean(after));
    let shift = other - one;
    let error = stat::blended(before, after, question.alike);
    let (size, half) = (error.size(), error.half());
    let scale = one.abs().max(other.abs());
    let disjoint = disjoint(before, after);
    let p = match shift.abs() {
        _ if size > scale * 1e-12 => two_sided(shift / size, error.freedom),
        shift if shift > scale * 1e-9 => 0.0,
        _ => 1.0,
    };
    let interval = [shift - half, shift + half];
    let bound = interval[0].abs().max(interval[1].abs());
    let samples = before.len().min(after.len());
    let noise = Reason::Noise { half, samples: samples_needed(samples, half, floor) };
    let veto = if disjoint || shift.abs() < floor { None } else { question.veto(shift) };
    let ratio = (one > 0.0).then(|| ratio(one, other, error));
    let (answer, reason) = (Answer::Open, None);
    let open = Decision { answer, shift, error: size, p, interval, ratio, bound, disjoint, reason, floor, veto, noise };
    Some(open.answered(question.chance))
}

impl Question<'_> {
    /// What explains the shift without a change between the sides.
    fn veto(&self, shift: f64) -> Option<Reason> {
        let followed = self.line.is_some_and(|(steps, distance)| {
            let length = (self.before.len() as f64 * steps[0]).max(self.after.len() as f64 * steps[1]);
            trend_explains(self.before, self.after, steps, distance.min(FARTHEST * length))
        });
        if followed {
            return Some(Reason::Trend);
        }
        level_explains(self.before, self.after, shift).then_some(Reason::LevelShift)
    }
}

/// After as a multiple of before with its 95 % interval: both means are estimates.
fn ratio(one: f64, other: f64, error: stat::Error) -> [f64; 3] {
    let ratio = other / one;
    let spread = (error.parts[1] + ratio * ratio * error.parts[0]).sqrt() / one;
    let half = spread * stat::quantile(0.05, error.freedom);
    // What is never negative is not less than nothing.
    let least = if other < 0.0 { f64::MIN } else { 0.0 };
    [ratio, (ratio - half).max(least), ratio + half]
}

/// About how many samples of a side decide, where so many leave an interval of such a half-width.
fn samples_needed(samples: usize, half: f64, floor: f64) -> u64 {
    let needed = samples as f64 * (half / floor.max(1e-300)).powi(2);
    // More than a day of samples is no advice, nor is what there was already.
    if needed > samples as f64 && needed < 86_400.0 { needed.ceil() as u64 } else { u64::MAX }
}

#[cfg(test)]
mod tests;
