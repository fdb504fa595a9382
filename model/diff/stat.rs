//! The statistics of a comparison: is the difference of two series more than their own noise?
//!
//! Series of a monitor are autocorrelated, heavy-tailed, quantised and often constant, and there are thousands of them.
//! So three independent questions must all be answered with yes: is the shift large against the long-run noise of the
//! means (a t-test whose standard error knows the autocorrelation), is it large against what a group of samples does
//! anyway (probability of superiority), and does it hold all the time (by quarters; a burst does not)?

mod error;
mod student;

pub use error::{Error, blended, disjoint};
pub use student::{quantile, two_sided};

/// Groups that a side is folded to before it is tested, at most.
const GROUPS: usize = 20;
/// Values of a side that a test needs.
pub const FEWEST: usize = 8;

/// What the test of two series says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Test {
    /// Difference of the means, after − before.
    pub shift: f64,
    /// Standard error of that, autocorrelation and drift included.
    pub error: f64,
    /// Chance of such a shift without a change, two-sided.
    pub p: f64,
    /// Chance that a group of the second series is above one of the first; a half for the same.
    pub superiority: f64,
    /// The same for quarters of the series.
    pub persistence: f64,
}

impl Test {
    /// True if the second series is above or below the first nearly always, not in a few bursts.
    pub fn separated(&self) -> bool {
        let apart = |share: f64, least: f64| share.max(1.0 - share) >= least;
        let same_way = (self.superiority > 0.5) == (self.shift > 0.0);
        same_way && apart(self.superiority, 0.9) && apart(self.persistence, 0.97)
    }
}

/// How a series behaves when nothing changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// It swings about a mean.
    Stationary,
    /// It drifts: memory in use, file system space. `gap` groups lie between the middles of the two series, in
    /// lengths of one series.
    Drifting,
}

/// Two series on their way to being tested.
#[derive(Clone, Debug)]
pub struct Groups {
    before: Vec<f64>,
    after: Vec<f64>,
    /// Of both, before they were grouped.
    values: usize,
    /// How much neighbours are alike as far as these two series tell; none where nothing varies.
    alike: Option<f64>,
}

impl Groups {
    /// Two series of at least [`FEWEST`] values each, in order of time.
    pub fn new(before: &[f64], after: &[f64]) -> Self {
        let alike = alike(before, after);
        Self {
            before: grouped(before, GROUPS),
            after: grouped(after, GROUPS),
            values: before.len() + after.len(),
            alike,
        }
    }

    /// How much neighbours are alike; none where nothing varies.
    pub fn alike(&self) -> Option<f64> {
        self.alike
    }

    /// Tests whether they are apart, and drifts against their own steps; `apart` is the time between their middles in
    /// lengths of a series.
    pub fn test(&self, noise: Noise, apart: f64) -> Test {
        let (a, b) = (&self.before, &self.after);
        let shift = mean(b) - mean(a);
        let (mut error, mut freedom) = (blended(a, b, None).size(), blended(a, b, None).freedom);
        let mut beyond = shift.abs();
        if noise == Noise::Drifting {
            let (way, drift) = drift(a, b, apart);
            // What the trend explains is none of a change, should it have gone on.
            beyond -= if way.signum() == shift.signum() { way.abs().min(beyond) } else { 0.0 };
            // Two neighbouring steps may be worth one.
            (error, freedom) = (drift, ((a.len() + b.len()) as f64 / 2.0 - 2.0).max(1.0));
        }
        let scale = mean(a).abs().max(mean(b).abs());
        let p = if error > scale * 1e-12 {
            two_sided(beyond / error, freedom)
        } else if beyond > scale * 1e-9 {
            0.0
        } else {
            1.0
        };
        let quarters = |values: &[f64]| grouped(values, 4);
        let persistence = superiority(&quarters(a), &quarters(b));
        Test { shift, error, p, superiority: superiority(a, b), persistence }
    }
}

/// How alike neighbours are in all series of a metric: sixty samples of one CPU hardly tell, those of its fellows do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Family {
    count: f64,
    mean: f64,
    variance: f64,
}

impl Family {
    /// The family of what its members tell.
    pub fn of(members: impl Iterator<Item = f64> + Clone) -> Self {
        let count = members.clone().count() as f64;
        let mean = members.clone().sum::<f64>() / count.max(1.0);
        let variance = members.map(|alike| (alike - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
        Self { count, mean, variance }
    }

    /// What a member is like, drawn to its family as far as the differences within it are no larger than those of
    /// estimates from so few values; none where the family says nothing.
    pub fn alike(&self, member: &Groups) -> Option<f64> {
        if self.count < 3.0 {
            return None;
        }
        let own = member.alike.unwrap_or_default();
        let chance = 1.0 / member.values.max(1) as f64;
        let family = (chance / self.variance.max(chance)).powi(2);
        Some(own + family * (self.mean - own))
    }
}

/// Means of consecutive values, as many to each as gives at most `most` groups.
fn grouped(values: &[f64], most: usize) -> Vec<f64> {
    let groups = most.min(values.len());
    let bounds = |at: usize| at * values.len() / groups.max(1);
    (0..groups).filter_map(|at| values.get(bounds(at)..bounds(at + 1))).map(mean).collect()
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Sum of squares about the mean, and of products of neighbours.
fn squares(values: &[f64]) -> (f64, f64) {
    let mean = mean(values);
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum();
    let neighbours = values.iter().zip(values.iter().skip(1)).map(|(a, b)| (a - mean) * (b - mean)).sum();
    (squares, neighbours)
}

/// Autocorrelation of neighbours over both series; short series show too little of it, by (1 + 3a) / n, which is
/// corrected. None where nothing varies.
fn alike(a: &[f64], b: &[f64]) -> Option<f64> {
    let ((all_a, next_a), (all_b, next_b)) = (squares(a), squares(b));
    let all = all_a + all_b;
    let scale = mean(a).abs().max(mean(b).abs());
    let seen = (all > (scale * 1e-9).powi(2)).then(|| (next_a + next_b) / all)?;
    let count = a.len().min(b.len()).max(4) as f64;
    // In the shortest ones the correction needs one itself.
    let part = if a.len().min(b.len()) < GROUPS { 3.0 / (count - 3.0) } else { 3.0 / count };
    Some(seen + 1.0 / count + part * (seen + 1.0 / count).max(0.0))
}

/// How far the steps within the series lead over the time between them, and the standard error of that.
fn drift(a: &[f64], b: &[f64], apart: f64) -> (f64, f64) {
    let pairs = |values: &[f64]| values.iter().zip(values.iter().skip(1)).map(|(one, next)| next - one).collect();
    let steps: [Vec<f64>; 2] = [pairs(a), pairs(b)];
    let steps = steps.concat();
    let (count, step) = (steps.len().max(1) as f64, mean(&steps));
    // Spans that lie over each other are no less noisy for it.
    let way = apart.max(0.25) * a.len().max(b.len()) as f64;
    let variance = steps.iter().map(|one| (one - step).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    (step * way, (variance * way * (1.0 + way / count)).sqrt())
}

/// Chance that a value of `b` is above one of `a`, equal ones counting half.
fn superiority(a: &[f64], b: &[f64]) -> f64 {
    if a.is_empty() || b.is_empty() {
        return 0.5;
    }
    let above = |x: &f64, y: &f64| {
        if y > x {
            1.0
        } else if y < x {
            0.0
        } else {
            0.5
        }
    };
    let sum: f64 = a.iter().map(|x| b.iter().map(|y| above(x, y)).sum::<f64>()).sum();
    sum / (a.len() * b.len()) as f64
}

/// The p-value below which differences are findings when all those of `ps` were tested (Benjamini and Hochberg).
pub fn threshold(ps: &mut [f64], rate: f64) -> f64 {
    ps.sort_unstable_by(f64::total_cmp);
    let count = ps.len().max(1) as f64;
    let limit = |rank: usize| rate * (rank + 1) as f64 / count;
    ps.iter().enumerate().rev().find(|(rank, p)| **p <= limit(*rank)).map_or(0.0, |(rank, _)| limit(rank))
}

/// A number without digits that mean nothing.
pub fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let digits = 5.0 - value.abs().log10().floor();
    let scale = 10f64.powf(digits.abs());
    match () {
        () if !scale.is_finite() => value,
        () if digits >= 0.0 => (value * scale).round() / scale,
        () => (value / scale).round() * scale,
    }
}

#[cfg(test)]
mod tests {
    use super::{Groups, Noise, threshold};

    #[test]
    fn findings_share_one_error_rate() {
        assert!((threshold(&mut [0.5, 0.004, 0.9, 0.2], 0.01) - 0.0).abs() < 1e-12);
        assert!((threshold(&mut [0.5, 0.002, 0.9, 0.2], 0.01) - 0.0025).abs() < 1e-12);
        assert!((threshold(&mut [0.004, 0.002, 0.9, 0.2], 0.01) - 0.005).abs() < 1e-12);
        assert!(threshold(&mut [], 0.01).abs() < 1e-12);
    }

    #[test]
    fn constants_differ_or_not() {
        let test = |one: f64, other: f64| Groups::new(&[one; 20], &[other; 20]).test(Noise::Stationary, 1.0);
        assert!(test(4.0, 8.0).p < 1e-12 && test(4.0, 8.0).separated());
        assert!(test(4.0, 4.0).p > 0.999 && !test(4.0, 4.0).separated());
    }

    #[test]
    fn a_drift_goes_on() {
        let wobble = |second: u32| f64::from(second * 7 % 5) / 10.0;
        let line = |from: f64| (0..60).map(|second| from + f64::from(second) + wobble(second)).collect::<Vec<f64>>();
        let test = |from: f64, noise| Groups::new(&line(0.0), &line(from)).test(noise, 1.0);
        assert!(test(60.0, Noise::Drifting).p > 0.05, "{:?}", test(60.0, Noise::Drifting));
        // The other way round it would have had to turn.
        assert!(test(-60.0, Noise::Drifting).p < 1e-6, "{:?}", test(-60.0, Noise::Drifting));
        assert!(test(2000.0, Noise::Drifting).p < 1e-6, "{:?}", test(2000.0, Noise::Drifting));
    }
}
