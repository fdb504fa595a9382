//! What limits, by experiment: a relief that raises the application's number removed the limit.

use crate::number::{Sample, mean, median, number};
use crate::scenario::Scenario;
use std::time::Instant;

/// A relief is one if the number rises by so much,
const GAIN: f64 = 1.10;
/// and by so many standard errors.
const ERRORS: f64 = 3.0;
/// The number without reliefs may have moved by so much between the start and the end; where it moved more, reliefs have to
/// gain as much more.
const DRIFT: f64 = 1.10;
/// Two reliefs are alike if one gains at most so much more than the other.
const ALIKE: f64 = 1.2;

/// What a relief did to the number.
#[derive(Clone, Debug)]
pub(crate) struct Gain {
    pub(crate) name: String,
    /// 1.0 is no change.
    pub(crate) times: f64,
    pub(crate) is_real: bool,
}

/// What the experiment said.
#[derive(Clone, Debug)]
pub(crate) struct Truth {
    pub(crate) baseline: f64,
    pub(crate) gains: Vec<Gain>,
    /// Why the scenario does not show what it was made for.
    pub(crate) broken: Option<String>,
    /// The number moved by itself: to be repeated.
    pub(crate) is_void: bool,
}

/// Numbers of a relief, or of the load as it is.
pub(crate) struct Window {
    pub(crate) samples: Vec<Sample>,
}

impl Window {
    fn values(&self) -> Vec<f64> {
        self.samples.iter().map(|sample| sample.1).collect()
    }

    fn error(&self) -> f64 {
        let values = self.values();
        let mean = mean(&values);
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        (squares / number(values.len().saturating_sub(1).max(1)) / number(values.len().max(1))).sqrt()
    }

    fn middle(&self) -> Option<Instant> {
        self.samples.get(self.samples.len() / 2).map(|sample| sample.0)
    }
}

/// Judges reliefs against the load before and after them.
pub(crate) fn judge(scenario: &Scenario, before: &Window, after: &Window, reliefs: &[Window]) -> Truth {
    let (from, to) = (median(&before.values()), median(&after.values()));
    let mut truth = Truth { baseline: from, gains: Vec::new(), broken: None, is_void: false };
    let (Some(start), Some(end)) = (before.middle(), after.middle()) else {
        truth.broken = Some("the application printed no numbers".to_owned());
        return truth;
    };
    let moved = if from > 0.0 && to > 0.0 { (to / from).max(from / to) } else { f64::INFINITY };
    let drift = if moved > DRIFT { moved } else { 1.0 };
    for (relief, window) in scenario.relief.iter().zip(reliefs) {
        let at = window.middle().map_or(0.5, |time| (time - start).as_secs_f64() / (end - start).as_secs_f64());
        let expected = from + (to - from) * at;
        let now = median(&window.values());
        let error = before.error().hypot(after.error()).hypot(window.error());
        let times = if expected > 0.0 { now / expected } else { 1.0 };
        let is_real = times >= GAIN * drift && now - expected >= ERRORS * error;
        truth.gains.push(Gain { name: relief.name.clone(), times, is_real });
    }
    if drift > 1.0 && !is_clear(scenario.designed(), &truth.gains, drift) {
        truth.is_void = true;
        truth.broken = Some(format!("the number moved by itself, from {from:.1} to {to:.1}"));
        return truth;
    }
    truth.broken = broken(scenario.designed(), &truth.gains);
    truth
}

/// True where the number moved by itself and what helps most is the same all the same.
fn is_clear(designed: Option<usize>, gains: &[Gain], drift: f64) -> bool {
    match designed.and_then(|at| gains.get(at)) {
        Some(own) => own.is_real && gains.iter().all(|gain| gain.times * drift <= own.times * ALIKE),
        None => gains.iter().all(|gain| gain.times < GAIN / drift),
    }
}

/// Why the designed relief is not the limit.
fn broken(designed: Option<usize>, gains: &[Gain]) -> Option<String> {
    let real = gains.iter().filter(|gain| gain.is_real);
    let best = real.max_by(|a, b| a.times.total_cmp(&b.times));
    let Some(own) = designed.and_then(|at| gains.get(at)) else {
        return best.map(|best| format!("no relief was to help, {:?} did", best.name));
    };
    if !own.is_real {
        return Some(format!("{:?} did not help", own.name));
    }
    let best = best.filter(|best| best.times > own.times * ALIKE)?;
    Some(format!("{:?} helped more than {:?}", best.name, own.name))
}
