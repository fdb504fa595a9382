//! How far apart the clocks of two machines were, from what went on at both ends at the same time.

/// A value over time: wall time in ns, ascending, and how much went on.
pub type Series = [(i64, f64)];

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offset {
    /// The second clock minus the first one, in ns.
    pub ns: i64,
    /// How alike the two are once shifted: the correlation, 0..1.
    pub confidence: f64,
}

/// The largest offset that is looked for, in ns: clocks that are further apart are not kept by anybody.
pub const FURTHEST_NS: i64 = 300_000_000_000;
/// Steps of the common grid in one distance between samples.
const FINER: i64 = 4;
/// The shortest step, in ns: a quarter of the shortest interval that is sampled at.
const SHORTEST_NS: i64 = 25_000_000;
/// The longest distance between samples, in ns.
const LONGEST_NS: i64 = 3_600_000_000_000;
/// The most steps of the grid.
const MOST_STEPS: usize = 16_384;
/// The fewest steps that two shifted series must share.
const FEWEST_STEPS: usize = 40;
/// The correlation that is believed.
const LIKENESS: f64 = 0.6;
/// How much of the peak any other place may reach.
const SECOND_BEST: f64 = 0.8;

/// The offset of the clock of `b` against that of `a`; none where nothing shows it clearly: too short, too calm, too
/// regular, or two machines that have nothing to do with each other.
pub fn offset(a: &Series, b: &Series) -> Option<Offset> {
    let distance = usual_distance(a)?.max(usual_distance(b)?);
    let step = (distance / FINER).max(SHORTEST_NS);
    let (start_a, start_b) = (a.first()?.0, b.first()?.0);
    let (a, b) = (grid(a, start_a, step, distance), grid(b, start_b, step, distance));
    // Lag k puts b[i + k] beside a[i]; equal clocks mean the lag at which both starts fall together.
    let apart = start_a.checked_sub(start_b).filter(|ns| ns.abs() < 24 * LONGEST_NS)?;
    let equal = apart / step;
    let reach = FURTHEST_NS / step;
    let lags: Vec<(i64, f64)> =
        (equal - reach..=equal + reach).filter_map(|lag| Some((lag, correlation(&a, &b, lag)?))).collect();
    let best = (0..lags.len()).max_by(|&x, &y| score(&lags, x).total_cmp(&score(&lags, y)))?;
    let (lag, peak) = *lags.get(best)?;
    // A peak at the edge may be the slope of one beyond; beside it the correlation falls slowly.
    let inside = best > 0 && best + 1 < lags.len();
    let near = FINER * 4;
    let rival = lags.iter().filter(|(at, _)| (at - lag).abs() > near).map(|(_, value)| *value).fold(0.0, f64::max);
    if !inside || peak < LIKENESS || rival > peak * SECOND_BEST {
        return None;
    }
    let between = vertex(score(&lags, best - 1), peak, score(&lags, best + 1));
    let lag_ns = lag * step + (between * step as f64) as i64;
    Some(Offset { ns: lag_ns - apart, confidence: peak.min(1.0) })
}

fn score(lags: &[(i64, f64)], at: usize) -> f64 {
    lags.get(at).map_or(f64::NEG_INFINITY, |lag| lag.1)
}

/// Where between three equidistant values the top of a parabola through them lies, in steps from the middle one.
fn vertex(before: f64, top: f64, after: f64) -> f64 {
    let curve = before - 2.0 * top + after;
    let found = (before - after) / (2.0 * curve);
    if curve < 0.0 && found.is_finite() { found.clamp(-0.5, 0.5) } else { 0.0 }
}

/// The median distance between samples, in ns.
fn usual_distance(series: &Series) -> Option<i64> {
    let pairs = series.iter().zip(series.iter().skip(1));
    let mut distances: Vec<i64> =
        pairs.filter_map(|(from, to)| to.0.checked_sub(from.0)).filter(|&ns| (1..LONGEST_NS).contains(&ns)).collect();
    distances.sort_unstable();
    distances.get(distances.len() / 2).copied()
}

/// The series at equal distances, straight lines between its samples; none where it has a hole.
fn grid(series: &Series, start: i64, step: i64, distance: i64) -> Vec<Option<f64>> {
    let mut values = Vec::new();
    let mut at = 0;
    for index in 0..MOST_STEPS as i64 {
        let time = start.saturating_add(index * step);
        while series.get(at + 1).is_some_and(|next| next.0 < time) {
            at += 1;
        }
        let (Some(&(from, low)), Some(&(to, high))) = (series.get(at), series.get(at + 1)) else { break };
        let gap = to.saturating_sub(from);
        let known = (from..=to).contains(&time) && gap > 0 && gap <= distance.saturating_mul(3);
        let share = time.saturating_sub(from) as f64 / gap as f64;
        values.push(known.then_some(low + (high - low) * share));
    }
    values
}

/// Pearson's correlation of `left[i]` with `right[i + lag]` over what both have, if that is enough.
fn correlation(left: &[Option<f64>], right: &[Option<f64>], lag: i64) -> Option<f64> {
    let skip = |lag: i64| usize::try_from(lag).unwrap_or(0);
    let pairs = left.get(skip(-lag)..)?.iter().zip(right.get(skip(lag)..)?);
    let mut count = 0usize;
    let (mut sums, mut squares, mut products) = ((0.0, 0.0), (0.0, 0.0), 0.0);
    for (one, other) in pairs.filter_map(|(one, other)| Some(((*one)?, (*other)?))) {
        count += 1;
        sums = (sums.0 + one, sums.1 + other);
        squares = (squares.0 + one * one, squares.1 + other * other);
        products += one * other;
    }
    // A short overlap is alike by chance.
    let enough = (left.len().min(right.len()) / 3).max(FEWEST_STEPS);
    let size = count as f64;
    let spreads = (size * squares.0 - sums.0 * sums.0, size * squares.1 - sums.1 * sums.1);
    let found = (size * products - sums.0 * sums.1) / (spreads.0 * spreads.1).sqrt();
    (count >= enough && spreads.0 > 0.0 && spreads.1 > 0.0 && found.is_finite()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::offset;
    use proptest::prelude::*;

    const SECOND: i64 = 1_000_000_000;
    const START: i64 = 1_700_000_000 * SECOND;

    /// Numbers that repeat only after a long time.
    fn noise(seed: u64) -> impl FnMut() -> f64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        }
    }

    /// How much went on at a true time, in seconds: bursts of load.
    fn load(at: f64, bursts: &[(f64, f64, f64)]) -> f64 {
        let inside = |&&(from, length, _): &&(f64, f64, f64)| (from..from + length).contains(&at);
        1e4 + bursts.iter().filter(inside).map(|burst| burst.2).sum::<f64>()
    }

    fn bursts(seed: u64) -> Vec<(f64, f64, f64)> {
        let mut random = noise(seed);
        let mut at = 0.0;
        (0..60)
            .map(|_| {
                at += 3.0 + random() * 12.0;
                (at, 1.0 + random() * 6.0, 1e6 + random() * 9e6)
            })
            .collect()
    }

    /// What a machine sees, a sample a second: the mean over the second before, with some noise, by a clock of its own.
    fn seen(bursts: &[(f64, f64, f64)], from: f64, count: usize, clock_ns: i64, seed: u64) -> Vec<(i64, f64)> {
        let mut random = noise(seed);
        (0..count)
            .map(|index| {
                let at = from + index as f64;
                let mean = (0..20).map(|part| load(at - f64::from(part) / 20.0, bursts)).sum::<f64>() / 20.0;
                (START + (at * 1e9) as i64 + clock_ns, mean * (0.9 + 0.2 * random()))
            })
            .collect()
    }

    #[test]
    fn a_known_shift_is_found_within_half_a_sample() {
        for seed in 1..12u64 {
            let bursts = bursts(seed);
            for shift_ms in [0, 250, -700, 1_500, -12_340, 59_900, 240_000] {
                let a = seen(&bursts, 10.0, 300, 0, seed);
                let b = seen(&bursts, 25.37, 300, shift_ms * 1_000_000, seed + 99);
                let found = offset(&a, &b).unwrap_or_else(|| panic!("seed {seed}, {shift_ms} ms: not found"));
                let error_ms = found.ns / 1_000_000 - shift_ms;
                assert!(error_ms.abs() <= 500, "seed {seed}, {shift_ms} ms: {error_ms} ms off");
                assert!(found.confidence > 0.6);
            }
        }
    }

    #[test]
    fn noise_calm_and_regular_loads_are_refused() {
        for seed in 1..30 {
            let mut random = noise(seed);
            let mut series = || -> Vec<(i64, f64)> { (0..600).map(|at| (START + at * SECOND, random())).collect() };
            assert_eq!(offset(&series(), &series()), None, "noise {seed}");
            let (one, other) = (bursts(seed), bursts(seed + 1000));
            let found = offset(&seen(&one, 0.0, 600, 0, seed), &seen(&other, 0.0, 600, 0, seed + 1));
            assert_eq!(found, None, "two machines that have nothing to do with each other, {seed}");
        }
        let calm: Vec<(i64, f64)> = (0..300).map(|at| (START + at * SECOND, 7.0)).collect();
        assert_eq!(offset(&calm, &calm), None);
        let regular: Vec<(i64, f64)> =
            (0..300).map(|at| (START + at * SECOND, f64::from(u8::from(at % 10 < 3)))).collect();
        assert_eq!(offset(&regular, &regular), None, "a load every ten seconds fits every ten seconds");
        assert_eq!(offset(&[], &calm), None);
    }

    #[test]
    fn what_is_missing_at_one_end_does_not_mislead() {
        let bursts = bursts(5);
        let a = seen(&bursts, 0.0, 300, 0, 1);
        let mut b = seen(&bursts, 3.0, 300, 2 * SECOND, 2);
        b.drain(100..160);
        let found = offset(&a, &b).expect("found");
        assert!((found.ns - 2 * SECOND).abs() < SECOND / 2, "{found:?}");
    }

    proptest! {
        #[test]
        fn no_series_panics(a: Vec<(i64, f64)>, b: Vec<(i64, f64)>) {
            let _ = offset(&a, &b);
        }
    }
}
