//! Which part of a recording is measured: the steady part of the load, without its ramp-up, its tail and what came
//! after its end; and what inside of a window explains a difference by itself.

use super::stat::FEWEST;

/// A part of the load's level by which a sample at an end is below it.
const BELOW: f64 = 0.1;
/// Deviations by which it is.
const DEVIATIONS: f64 = 3.0;
/// Below this part of its level a load that does not come back has ended.
const ENDED: f64 = 0.1;
/// Samples of that at least.
const ENDED_FOR: usize = 3;
/// A load that is not even such a part of its level any more is nothing but who looks at it.
const NOTHING: f64 = 0.01;
/// Of the shift: a change of level inside of a window that may be all that there is to it.
const VETO: f64 = 0.8;
/// A level that falls to such a part of what it was has collapsed.
const COLLAPSED: f64 = 0.5;
/// The longest time in which a load that ends becomes less, except in long windows.
const TAIL_SECONDS: f64 = 5.0;
/// Standard errors from which a slope is one.
const SLOPE: f64 = 2.0;

/// Why a part of a window is not measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The load went on to the end.
    Steady,
    /// It became less towards the end.
    Tail,
    /// It ended.
    Ended,
    /// Hardly anything of it was left for a long time: it ended, or what serves it collapsed.
    Collapsed,
}

/// How a window may end.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// So many samples without a value are the end of the load.
    pub patience: usize,
    /// So many samples below the level at the end are its tail, at most: what lasts longer is a lower level.
    pub tail: usize,
    /// So many samples with hardly any load are its end, at most, unless there is none at all.
    pub idle: usize,
    /// So many samples above the level at the beginning are what had waited for a fix, at most.
    pub burst: usize,
}

impl Ends {
    /// Of a window that ends with its load, in samples of so many seconds.
    pub fn with_load(samples: usize, seconds: f64, patience: usize) -> Self {
        let tail = (TAIL_SECONDS / seconds.max(1e-3)).ceil() as usize;
        Self { patience, tail: tail.max(samples / 20), idle: samples / 3, burst: 0 }
    }

    /// Of a window that ends while its load runs on.
    pub fn within_load(patience: usize) -> Self {
        Self { patience, tail: 0, idle: 0, burst: 0 }
    }

    /// Of a window of so many samples that begins with a fix: what could not be done before comes first, all at once.
    pub fn after_fix(samples: usize, patience: usize) -> Self {
        Self { burst: samples / 4, ..Self::within_load(patience) }
    }
}

/// The part of a window that is measured, in samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steady {
    /// The first.
    pub first: usize,
    /// One past the last.
    pub last: usize,
    /// How the window ends.
    pub end: End,
}

impl Steady {
    /// All of a window.
    pub fn all(samples: usize) -> Self {
        Self { first: 0, last: samples, end: End::Steady }
    }

    /// Samples in it.
    pub fn len(&self) -> usize {
        self.last.saturating_sub(self.first)
    }

    /// True without any.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The steady part of a load, sample by sample; none where a sample has no value.
pub fn steady(load: &[Option<f64>], may: Ends) -> Steady {
    let measured: Vec<(usize, f64)> = load.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?))).collect();
    let (Some(first), Some(last)) = (measured.first(), measured.last()) else {
        return Steady { first: 0, last: 0, end: End::Steady };
    };
    let silent = load.len() - 1 - last.0;
    let mut end = if silent >= may.patience.max(1) { End::Ended } else { End::Steady };
    let values: Vec<f64> = measured.iter().map(|sample| sample.1).collect();
    let high = high(&values);
    let idle = values.iter().rev().take_while(|value| **value < ENDED * high).count();
    let kept = if idle >= ENDED_FOR { values.len() - idle } else { values.len() };
    let (part, rest) = values.split_at_checked(kept).unwrap_or_default();
    if !rest.is_empty() {
        let is_left = rest.iter().sum::<f64>() >= NOTHING * high * rest.len() as f64;
        end = if is_left && rest.len() > may.idle { End::Collapsed } else { End::Ended };
    }
    let (ramp, to) = ends(part, may.tail);
    let from = if ramp == 0 { burst(part, may.burst) } else { ramp };
    if to < kept && end == End::Steady {
        end = End::Tail;
    }
    let place = |at: usize| measured.get(at).map(|sample| sample.0);
    // Where nothing is cut, samples without a value at the end stay: other metrics have them.
    let whole = end == End::Steady && to == values.len();
    let last = if whole { load.len() } else { place(to.saturating_sub(1)).map_or(load.len(), |at| at + 1) };
    Steady { first: place(from).unwrap_or(first.0), last, end }
}

/// What a tenth of the values are above.
fn high(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() * 9 / 10).copied().unwrap_or_default()
}

/// The median of the middle half, and how far its values are from that.
fn level(values: &[f64]) -> (f64, f64) {
    let n = values.len();
    let mut middle = values.get(n / 4..n - n / 4).unwrap_or_default().to_vec();
    let level = median(&mut middle);
    let mut distances: Vec<f64> = middle.iter().map(|value| (value - level).abs()).collect();
    (level, 1.4826 * median(&mut distances))
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len();
    let at = |place: usize| values.get(place).copied().unwrap_or_default();
    f64::midpoint(at(n.saturating_sub(1) / 2), at(n / 2))
}

/// Where the ramp-up ends and the tail begins: samples at either end that are below the level by a tenth and by three
/// deviations, at most a third of the window each and never so many that fewer than eight are left. A tail that is
/// longer than `longest` is none.
fn ends(values: &[f64], longest: usize) -> (usize, usize) {
    let n = values.len();
    let longest = longest.min(n / 3);
    let (level, spread) = level(values);
    let limit = level - (BELOW * level.abs()).max(DEVIATIONS * spread);
    let below = |at: usize| values.get(at).is_some_and(|value| *value < limit);
    let (mut first, mut last) = (0, n);
    while first < n / 3 && last - first > FEWEST && below(first) {
        first += 1;
    }
    while n - last < longest && last - first > FEWEST && below(last - 1) {
        last -= 1;
    }
    if last < n && below(last - 1) {
        last = n;
    }
    // One low sample at an edge may be a dip like others.
    (if first > 1 { first } else { 0 }, if n - last > 1 { last } else { n })
}

/// Samples at the beginning that are above the level by a tenth and by three deviations; none where they are more than
/// `most`: then the level fell.
fn burst(values: &[f64], most: usize) -> usize {
    let (level, spread) = level(values);
    let limit = level + (BELOW * level.abs()).max(DEVIATIONS * spread);
    let above = values.iter().take_while(|value| **value > limit).count();
    // One high sample may be a peak like others.
    if above > 1 && above <= most && values.len() - above >= FEWEST { above } else { 0 }
}

/// The change of level inside of a window: the best split into two parts of four values or more, if their means differ by
/// a tenth and by three times what is left within the parts.
pub fn level_shift(values: &[f64]) -> Option<f64> {
    split(values).map(|(_, [one, other])| other - one)
}

/// Where the level changes, and both levels.
fn split(values: &[f64]) -> Option<(usize, [f64; 2])> {
    let n = values.len();
    let all = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
    let rest = |part: &[f64], mean: f64| part.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    let split = |at: usize| {
        let (left, right) = values.split_at_checked(at)?;
        let (one, other) = (all(left), all(right));
        Some((rest(left, one) + rest(right, other), at, [one, other]))
    };
    let splits = (4..n.saturating_sub(3)).filter_map(split);
    let (inside, at, [one, other]) = splits.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let noise = (inside / (n as f64 - 2.0).max(1.0)).sqrt();
    let size = (other - one).abs();
    let counts = size > 0.0 && size >= 0.1 * one.abs().max(other.abs()) && size >= 3.0 * noise;
    counts.then_some((at, [one, other]))
}

/// The second window as it would be at its mean throughout, where its level fell to half or less while that of the first
/// one stayed: then the fall is what is asked about, and no noise. Loads go up and down by less on their own.
pub fn levelled(before: &[f64], after: &[f64]) -> Option<Vec<f64>> {
    let (at, [one, other]) = split(after).filter(|(_, [one, other])| *other <= COLLAPSED * one)?;
    if split(before).is_some() {
        return None;
    }
    let mean = after.iter().sum::<f64>() / after.len() as f64;
    let level = |place: usize| if place < at { one } else { other };
    Some(after.iter().enumerate().map(|(place, value)| value - level(place) + mean).collect())
}

/// True if a change of level inside of a window is nearly as large as the shift.
pub fn level_explains(a: &[f64], b: &[f64], shift: f64) -> bool {
    [a, b].into_iter().filter_map(level_shift).any(|step| step.abs() >= VETO * shift.abs())
}

/// True if a common slope of both windows, beyond its noise and in the direction of the shift, leads over the time
/// between their middles to half of the shift or more. `steps` are the time between two values of each side, in the
/// unit of `distance`.
pub fn trend_explains(a: &[f64], b: &[f64], steps: [f64; 2], distance: f64) -> bool {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let shift = mean(b) - mean(a);
    let side = |values: &[f64], step: f64| {
        let (middle, mean) = ((values.len() as f64 - 1.0) / 2.0, mean(values));
        values.iter().enumerate().map(|(at, value)| ((at as f64 - middle) * step, value - mean)).collect::<Vec<_>>()
    };
    let pairs = [side(a, steps[0]), side(b, steps[1])].concat();
    let across: f64 = pairs.iter().map(|(time, _)| time * time).sum();
    let slope = pairs.iter().map(|(time, value)| time * value).sum::<f64>() / across.max(1e-300);
    let rest: Vec<f64> = pairs.iter().map(|(time, value)| value - slope * time).collect();
    let squares: f64 = rest.iter().map(|value| value * value).sum();
    let n = rest.len() as f64;
    let neighbours: f64 = rest.iter().zip(rest.iter().skip(1)).map(|(one, next)| one * next).sum();
    let highest = (1.0 - 12.0 / n.max(1.0)).clamp(0.7, 0.9);
    let alike = (neighbours / squares.max(1e-300) + 2.0 / n).clamp(0.0, highest);
    let variance = squares / (n - 3.0).max(1.0) / across.max(1e-300) * (1.0 + alike) / (1.0 - alike);
    slope.abs() > SLOPE * variance.sqrt() && slope * shift > 0.0 && (slope * distance).abs() >= shift.abs() / 2.0
}

#[cfg(test)]
mod tests {
    use super::{End, Ends, Steady, level_shift, trend_explains};

    fn some(values: &[f64]) -> Vec<Option<f64>> {
        values.iter().map(|value| Some(*value)).collect()
    }

    /// Of a recording with a sample a second.
    fn steady(load: &[Option<f64>], patience: usize) -> Steady {
        super::steady(load, Ends::with_load(load.len(), 1.0, patience))
    }

    fn wobble(level: f64, samples: usize) -> Vec<f64> {
        (0..samples).map(|at| level * (1.0 + 0.01 * ((at * 7 % 5) as f64 - 2.0))).collect()
    }

    #[test]
    fn ramp_and_tail_are_cut() {
        let load = [vec![10.0, 40.0, 70.0], wobble(100.0, 20), vec![50.0, 20.0]].concat();
        let part = steady(&some(&load), 5);
        assert_eq!((part.first, part.last, part.end), (3, 23, End::Tail));
        let dip = [vec![50.0], wobble(100.0, 20)].concat();
        assert_eq!((steady(&some(&dip), 5).first, steady(&some(&dip), 5).last), (0, 21));
    }

    #[test]
    fn values_that_come_late_and_a_load_that_ends() {
        let mut load = some(&wobble(100.0, 20));
        load.splice(0..0, [None, None]);
        assert_eq!((steady(&load, 5).first, steady(&load, 5).last), (2, 22));
        load.extend([None; 3]);
        assert_eq!((steady(&load, 5).last, steady(&load, 5).end), (25, End::Steady));
        load.extend([None; 3]);
        assert_eq!((steady(&load, 5).last, steady(&load, 5).end), (22, End::Ended));
        let stopped = [wobble(100.0, 20), vec![1.0, 0.0, 0.0, 0.0]].concat();
        assert_eq!((steady(&some(&stopped), 5).last, steady(&some(&stopped), 5).end), (20, End::Ended));
        assert!(steady(&[None, None], 5).is_empty());
    }

    #[test]
    fn a_fall_that_lasts_is_part_of_the_window() {
        let fell = [wobble(100.0, 10), wobble(40.0, 10)].concat();
        assert_eq!((steady(&some(&fell), 5).first, steady(&some(&fell), 5).last), (0, 20));
        assert!((level_shift(&fell).unwrap_or_default() + 60.0).abs() < 3.0);
        assert_eq!(level_shift(&wobble(100.0, 20)), None);
    }

    #[test]
    fn a_lower_level_at_the_end_is_no_tail() {
        for (samples, lower) in [(41, 19), (20, 10), (20, 6)] {
            let fell = some(&[wobble(100.0, samples), wobble(40.0, lower)].concat());
            assert_eq!((steady(&fell, 5).last, steady(&fell, 5).end), (samples + lower, End::Steady), "{samples}");
        }
        let tail = some(&[wobble(100.0, 25), vec![60.0, 50.0, 40.0]].concat());
        assert_eq!((steady(&tail, 5).last, steady(&tail, 5).end), (25, End::Tail));
        // A window of a fix ends while its load runs on.
        assert_eq!(super::steady(&tail, Ends::within_load(5)).last, 28);
    }

    #[test]
    fn a_burst_after_a_fix_is_left_out_and_a_lower_level_is_not() {
        let after_fix = |load: &[f64]| super::steady(&some(load), Ends::after_fix(load.len(), 5)).first;
        let with = |high: usize| [vec![150.0; high], wobble(100.0, 40 - high)].concat();
        assert_eq!(
            (after_fix(&with(1)), after_fix(&with(6)), after_fix(&with(10)), after_fix(&with(14))),
            (0, 6, 10, 0)
        );
        assert_eq!(super::steady(&some(&with(6)), Ends::within_load(5)).first, 0, "before a fix");
        assert_eq!(after_fix(&[vec![20.0, 50.0], wobble(100.0, 30)].concat()), 2, "a ramp");
    }

    #[test]
    fn what_is_left_of_a_load_tells_a_collapse_from_its_end() {
        let with = |left| some(&[wobble(100.0, 20), wobble(left, 40)].concat());
        assert_eq!((steady(&with(5.0), 5).last, steady(&with(5.0), 5).end), (20, End::Collapsed));
        assert_eq!(steady(&with(0.2), 5).end, End::Ended);
        let briefly = some(&[wobble(100.0, 20), wobble(5.0, 5)].concat());
        assert_eq!(steady(&briefly, 5).end, End::Ended);
        assert_eq!(super::steady(&briefly, Ends::within_load(5)).end, End::Collapsed);
    }

    #[test]
    fn a_slope_that_goes_on() {
        let line = |from: f64| (0..20).map(|at| from + f64::from(at) + f64::from(at * 7 % 3)).collect::<Vec<f64>>();
        assert!(trend_explains(&line(0.0), &line(20.0), [1.0, 1.0], 20.0));
        assert!(!trend_explains(&line(0.0), &line(200.0), [1.0, 1.0], 20.0));
        assert!(!trend_explains(&line(0.0), &line(-20.0), [1.0, 1.0], 20.0));
    }
}
