//! The standard error of a difference of means of autocorrelated series, and two levels that need none.
//!
//! Two estimates are blended: one takes the noise for AR(1), the other looks only at slow swings (equal-weighted
//! cosines). The first is too small for other noise and too large after a change of level, the second has few degrees of
//! freedom.

use super::student::quantile;
use super::{mean, squares};

/// The fewest degrees of freedom: with one, a tenfold change would be chance.
const FEWEST_FREEDOM: f64 = 3.0;
/// Of the larger mean: the gap from which two levels are disjoint.
const GAP: f64 = 0.2;

/// The standard error of a difference of means.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Error {
    /// Variance of the mean of each side.
    pub parts: [f64; 2],
    /// Degrees of freedom.
    pub freedom: f64,
}

impl Error {
    /// The error itself.
    pub fn size(&self) -> f64 {
        (self.parts[0] + self.parts[1]).sqrt()
    }

    /// Half the width of the 95 % interval.
    pub fn half(&self) -> f64 {
        self.size() * quantile(0.05, self.freedom)
    }
}

/// The mean of both variances, and the degrees of freedom of the estimate that has more.
pub fn blended(a: &[f64], b: &[f64], alike: Option<f64>) -> Error {
    let alike = alike.unwrap_or_else(|| autocorrelation(a, b)).clamp(0.0, highest(a, b));
    let (one, other) = (side_pair(a, b, |values| ar1(values, alike)), side_pair(a, b, cosines));
    let parts = [0, 1].map(|side| f64::midpoint(one.parts[side], other.parts[side]));
    Error { parts, freedom: one.freedom.max(other.freedom).max(FEWEST_FREEDOM) }
}

fn side_pair(a: &[f64], b: &[f64], estimate: impl Fn(&[f64]) -> (f64, f64)) -> Error {
    let ((one, v), (other, w)) = (estimate(a), estimate(b));
    // Welch and Satterthwaite.
    let freedom = (one + other).powi(2) / (one * one / v + other * other / w).max(1e-300);
    Error { parts: [one, other], freedom }
}

/// The highest autocorrelation that so many samples can tell from a change of level.
fn highest(a: &[f64], b: &[f64]) -> f64 {
    (1.0 - 6.0 / count(a, b)).clamp(0.7, 0.9)
}

fn count(a: &[f64], b: &[f64]) -> f64 {
    a.len().min(b.len()).max(4) as f64
}

/// Autocorrelation of neighbours about each side's own mean; short series show too little of it.
fn autocorrelation(a: &[f64], b: &[f64]) -> f64 {
    let ((all_a, next_a), (all_b, next_b)) = (squares(a), squares(b));
    let n = count(a, b);
    ((next_a + next_b) / (all_a + all_b).max(1e-300) + 1.0 / n) / (1.0 - 3.0 / n)
}

/// How many times the variance of a mean of n values is what it would be if they were independent.
fn inflation(n: usize, alike: f64) -> f64 {
    let (mut power, mut sum) = (1.0, 0.0);
    for lag in 1..n {
        power *= alike;
        sum += (1.0 - lag as f64 / n as f64) * power;
    }
    1.0 + 2.0 * sum
}

/// Variance of the mean of AR(1) noise, and its degrees of freedom: half of the effective sample size, since the
/// autocorrelation is an estimate, too.
fn ar1(values: &[f64], alike: f64) -> (f64, f64) {
    let n = values.len() as f64;
    let variance = squares(values).0 / (n - 1.0).max(1.0);
    let factor = inflation(values.len(), alike);
    // A short correlated series hides a part of its variance.
    let seen = (1.0 - (factor - 1.0) / (n - 1.0).max(1.0)).max(0.05);
    (variance * factor / n / seen, n / factor / 2.0)
}

/// Variance of the mean by equal-weighted cosines (Lazarus, Lewis, Stock and Watson 2018), and their number.
fn cosines(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let terms = (0.4 * n.powf(2.0 / 3.0)).round().max(2.0);
    let middle = mean(values);
    let term = |j: f64| {
        let step = std::f64::consts::PI * j / n;
        let sum: f64 =
            values.iter().enumerate().map(|(at, value)| (value - middle) * (step * (at as f64 + 0.5)).cos()).sum();
        2.0 / n * sum * sum
    };
    let sum: f64 = (1..=terms as u32).map(|j| term(f64::from(j))).sum();
    (sum / terms / n, terms)
}

/// Two levels, whatever the autocorrelation: the gap between the sides is at least the mean of what each spans and a
/// fifth of the larger mean, or the higher side is all above twice the lower one. One extreme value in sixteen is left
/// out at each end.
pub fn disjoint(a: &[f64], b: &[f64]) -> bool {
    let (Some(one), Some(other)) = (span(a), span(b)) else { return false };
    let (low, high) = if one.0 <= other.0 { (one, other) } else { (other, one) };
    let (gap, larger) = (high.0 - low.1, mean(a).abs().max(mean(b).abs()));
    let spans = f64::midpoint(low.1 - low.0, high.1 - high.0);
    (gap > 0.0 && gap >= spans && gap >= GAP * larger) || (low.0 >= 0.0 && low.1 > 0.0 && high.0 >= 2.0 * low.1)
}

fn span(values: &[f64]) -> Option<(f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let cut = sorted.len() / 16;
    Some((*sorted.get(cut)?, *sorted.get(sorted.len().checked_sub(1 + cut)?)?))
}
