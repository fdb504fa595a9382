//! How a value grows, and when it gets somewhere: one estimate for the forecast of screens and documents, and for rules.

/// How far back growth counts, in seconds, and the least that says something.
pub(crate) const SECONDS: f64 = 30.0;
pub(crate) const LEAST_SECONDS: f64 = 5.0;

/// Growth per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Trend {
    /// Its estimate.
    pub(crate) growth: f64,
    /// Its standard error.
    pub(crate) error: f64,
}

impl Trend {
    /// Of points in time (seconds) and value: least squares; none of fewer than three, or of less than five seconds.
    pub(crate) fn of(points: &[(f64, f64)]) -> Option<Self> {
        let times = points.iter().map(|point| point.0);
        let span = times.clone().fold(f64::NEG_INFINITY, f64::max) - times.fold(f64::INFINITY, f64::min);
        if points.len() < 3 || span < LEAST_SECONDS {
            return None;
        }
        let count = points.len() as f64;
        let mean = |part: fn(&(f64, f64)) -> f64| points.iter().map(part).sum::<f64>() / count;
        let (time, used) = (mean(|point| point.0), mean(|point| point.1));
        let spread: f64 = points.iter().map(|point| (point.0 - time).powi(2)).sum();
        let growth = points.iter().map(|point| (point.0 - time) * (point.1 - used)).sum::<f64>() / spread;
        let rest: f64 = points.iter().map(|point| (point.1 - used - growth * (point.0 - time)).powi(2)).sum();
        let error = (rest / (count - 2.0) / spread).sqrt();
        (growth.is_finite() && error.is_finite()).then_some(Self { growth, error })
    }

    /// The 95 % range of the seconds until `left` more is reached; no later end where the growth could as well be none.
    pub(crate) fn range(self, left: f64) -> (f64, Option<f64>) {
        let slowest = self.growth - 2.0 * self.error;
        (left / (self.growth + 2.0 * self.error), (slowest > 0.0).then(|| left / slowest))
    }
}

#[cfg(test)]
mod tests {
    use super::Trend;

    #[test]
    fn growth_has_an_error_and_a_time_to_get_somewhere_a_range() {
        let steady: Vec<(f64, f64)> = (0..20).map(|second| (f64::from(second), 10.0 * f64::from(second))).collect();
        let trend = Trend::of(&steady).expect("20 seconds");
        assert!((trend.growth - 10.0).abs() < 1e-9 && trend.error < 1e-9);
        let jumps: Vec<(f64, f64)> = (0..20)
            .map(|second| (f64::from(second), 10.0 * f64::from(second) + 40.0 * f64::from(second % 2)))
            .collect();
        let trend = Trend::of(&jumps).expect("20 seconds");
        let (low, high) = trend.range(1000.0);
        assert!(low < 100.0 && high.is_some_and(|high| high > 100.0), "{trend:?}: {low} to {high:?}");
        assert_eq!(Trend { growth: 1.0, error: 1.0 }.range(30.0), (10.0, None));
        assert_eq!(Trend::of(&steady[..4]), None);
    }
}
