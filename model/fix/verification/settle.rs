//! When the effect of a fix is there: after the time that it needs at least, once the load no longer moves.

use std::collections::VecDeque;

/// The longest wait, as a multiple of the shortest.
const LONGEST: f64 = 3.0;
/// The newest readings that are looked at.
const LOOK: usize = 6;
/// A load that moves by this part of its level still moves.
const MOVES: f64 = 0.10;
/// Deviations of the load before by which it does.
const DEVIATIONS: f64 = 3.0;
/// A load of this part of what it was is still there.
const THERE: f64 = 0.5;

/// The wait for the effect.
#[derive(Clone, Debug, Default)]
pub(super) struct Settle {
    least: f64,
    seconds: f64,
    recent: VecDeque<f64>,
    /// The level of the load before and its deviation.
    before: Option<(f64, f64)>,
    ran_on: bool,
}

impl Settle {
    pub(super) fn new(least: f64) -> Self {
        Self { least, seconds: least, ..Self::default() }
    }

    /// Seconds from the fix to the first sample that is judged.
    pub(super) fn seconds(&self) -> f64 {
        self.seconds
    }

    /// True where the load was there for a while after the fix.
    pub(super) fn ran_on(&self) -> bool {
        self.ran_on
    }

    /// Takes in a reading of the load so many seconds after the fix.
    pub(super) fn push(&mut self, value: f64, gone: f64, before: impl FnOnce() -> Vec<f64>) {
        let (level, spread) = *self.before.get_or_insert_with(|| level(before()));
        self.ran_on |= level > 0.0 && value >= THERE * level;
        self.recent.push_back(value);
        if self.recent.len() > LOOK {
            self.recent.pop_front();
        }
        let half = self.recent.len() / 2;
        let mean = |values: &mut dyn Iterator<Item = &f64>| values.sum::<f64>() / half.max(1) as f64;
        let (early, late) = (mean(&mut self.recent.iter().take(half)), mean(&mut self.recent.iter().rev().take(half)));
        let limit = (MOVES * early.abs().max(late.abs())).max(DEVIATIONS * spread);
        let moves = self.recent.len() == LOOK && (late - early).abs() > limit;
        if moves && gone > self.seconds && gone <= LONGEST * self.least {
            self.seconds = gone;
        }
    }
}

/// The median and the deviation about it.
fn level(mut values: Vec<f64>) -> (f64, f64) {
    let median = |values: &mut Vec<f64>| {
        values.sort_unstable_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or_default()
    };
    let level = median(&mut values);
    let mut distances: Vec<f64> = values.iter().map(|value| (value - level).abs()).collect();
    (level, 1.4826 * median(&mut distances))
}

#[cfg(test)]
mod tests {
    use super::Settle;

    #[test]
    fn a_load_that_still_rises_is_waited_for() {
        let run = |values: &[f64]| {
            let mut settle = Settle::new(5.0);
            for (second, value) in (1..).zip(values) {
                settle.push(*value, f64::from(second), || vec![100.0, 101.0, 99.0, 100.0]);
            }
            settle.seconds()
        };
        assert!((run(&[100.0; 20]) - 5.0).abs() < 1e-9);
        let rising: Vec<f64> = (0..20).map(|at| 100.0 + 30.0 * f64::from(at.min(8))).collect();
        assert!((8.0..=12.0).contains(&run(&rising)), "{}", run(&rising));
        let endless: Vec<f64> = (0..60).map(|at| 100.0 * 1.2f64.powi(at)).collect();
        assert!((run(&endless) - 15.0).abs() < 1e-9, "not for ever");
    }
}
