//! Time series: slope, steadiness, variation, period.

/// Time and value, oldest first.
pub(in crate::rules) type Point = (f64, f64);

/// The median of the slopes between all pairs; none without two times.
pub(in crate::rules) fn theil_sen(series: &[Point]) -> Option<f64> {
    let mut slopes = Vec::with_capacity(series.len() * series.len() / 2);
    for (at, a) in series.iter().enumerate() {
        for b in series.iter().skip(at + 1).filter(|b| b.0 > a.0) {
            slopes.push((b.1 - a.1) / (b.0 - a.0));
        }
    }
    slopes.sort_by(f64::total_cmp);
    slopes.get(slopes.len() / 2).copied()
}

/// Kendall's tau of time and value: 1 when every later one is larger.
pub(in crate::rules) fn rank_correlation(series: &[Point]) -> f64 {
    let (mut agree, mut pairs) = (0i64, 0i64);
    for (at, a) in series.iter().enumerate() {
        for b in series.iter().skip(at + 1) {
            pairs += 1;
            agree += i64::from(b.1 > a.1) - i64::from(b.1 < a.1);
        }
    }
    if pairs == 0 { 0.0 } else { agree as f64 / pairs as f64 }
}

/// The newest points, at most `most`.
pub(in crate::rules) fn newest(series: &[Point], most: usize) -> &[Point] {
    series.get(series.len().saturating_sub(most)..).unwrap_or(series)
}

/// Its duration in seconds.
pub(in crate::rules) fn span(series: &[Point]) -> f64 {
    series.first().zip(series.last()).map_or(0.0, |(first, last)| last.0 - first.0)
}

/// Mean of the values; zero of none.
pub(in crate::rules) fn mean(series: &[Point]) -> f64 {
    series.iter().map(|point| point.1).sum::<f64>() / series.len().max(1) as f64
}

/// Standard deviation as a share of the mean; none if the mean is zero.
pub(in crate::rules) fn variation(series: &[Point]) -> Option<f64> {
    let mean = mean(series);
    let square = series.iter().map(|point| (point.1 - mean).powi(2)).sum::<f64>() / series.len().max(1) as f64;
    (mean > 0.0 && series.len() > 1).then(|| square.sqrt() / mean)
}

/// One value per second, the newest last, at most `most`; a second without a value repeats the previous one.
pub(in crate::rules) fn by_second(series: &[Point], most: usize) -> Vec<f64> {
    let (Some(first), Some(last)) = (series.first(), series.last()) else { return Vec::new() };
    let start = first.0.max(last.0 - most as f64);
    let mut left = series.iter().peekable();
    let mut value = first.1;
    let seconds = (last.0 - start).round().max(0.0) as usize;
    let mut values = Vec::with_capacity(seconds + 1);
    for second in 0..=seconds {
        let until = start + second as f64 + 0.5;
        while let Some(point) = left.next_if(|point| point.0 < until) {
            value = point.1;
        }
        values.push(value);
    }
    values
}

/// The period in seconds: the first sufficiently high peak of the autocorrelation, over at least three periods. A random
/// walk or a single jump has none.
pub(in crate::rules) fn period(values: &[f64]) -> Option<f64> {
    const HIGH: f64 = 0.4;
    const SHORTEST: usize = 3;
    let first = *values.first()?;
    if values.iter().all(|value| value.total_cmp(&first).is_eq()) {
        return None;
    }
    let longest = values.len() / 3;
    let correlations: Vec<f64> = (0..=longest).map(|lag| correlation(values, values, lag)).collect();
    // Small lags always correlate: a period has a trough before its peak.
    let trough = correlations.iter().position(|correlation| *correlation < 0.1)?;
    let peak = (trough.max(SHORTEST)..=longest)
        .filter(|&lag| {
            let at = |lag: usize| correlations.get(lag).copied().unwrap_or(f64::MIN);
            at(lag) >= HIGH && at(lag) >= at(lag - 1) && at(lag) > at(lag + 1)
        })
        .max_by(|a, b| {
            let of = |lag: &usize| correlations.get(*lag).copied().unwrap_or(0.0);
            // Multiples of a period are nearly as high: the shorter one wins unless the longer is clearly higher.
            (of(a) - *a as f64 * 0.002).total_cmp(&(of(b) - *b as f64 * 0.002))
        })?;
    Some(peak as f64)
}

/// The lag in seconds, up to `most`, with which the dips of one series follow the peaks of another, and their
/// correlation: near 1 if each peak has its dip.
pub(in crate::rules) fn dips(peaks: &[f64], values: &[f64], most: usize) -> Option<(f64, f64)> {
    let len = peaks.len().min(values.len());
    let tail = |series: &[f64]| series.get(series.len() - len..).map(<[f64]>::to_vec).unwrap_or_default();
    let (peaks, values) = (tail(peaks), tail(values));
    let lags = (0..=most.min(len / 3)).map(|lag| (lag, -correlation(&values, &peaks, lag)));
    lags.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(lag, alike)| (lag as f64, alike))
}

/// Pearson correlation of a series with another one that is `lag` values earlier; zero if either is constant.
fn correlation(late: &[f64], early: &[f64], lag: usize) -> f64 {
    let pairs = || late.iter().skip(lag).zip(early);
    let count = pairs().count().max(1) as f64;
    let (sum_a, sum_b) = pairs().fold((0.0, 0.0), |sum, (a, b)| (sum.0 + a, sum.1 + b));
    let (mean_a, mean_b) = (sum_a / count, sum_b / count);
    let (mut both, mut square_a, mut square_b) = (0.0, 0.0, 0.0);
    for (a, b) in pairs() {
        both += (a - mean_a) * (b - mean_b);
        square_a += (a - mean_a).powi(2);
        square_b += (b - mean_b).powi(2);
    }
    let whole = (square_a * square_b).sqrt();
    if whole > 0.0 { both / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::{by_second, dips, period, rank_correlation, theil_sen, variation};
    use proptest::prelude::*;

    #[test]
    fn a_trend_is_found_through_outliers() {
        let series: Vec<(f64, f64)> =
            (0..30).map(|at| (f64::from(at), f64::from(at * 10 + i32::from(at == 7) * 500))).collect();
        assert!(theil_sen(&series).is_some_and(|slope| (slope - 10.0).abs() < 0.5));
        assert!(rank_correlation(&series) > 0.85);
        let flat: Vec<(f64, f64)> = (0..30).map(|at| (f64::from(at), f64::from(at % 4))).collect();
        assert!(rank_correlation(&flat) < 0.3);
        assert_eq!(theil_sen(&[(1.0, 1.0), (1.0, 2.0)]), None);
    }

    fn bursts(every: usize, len: usize) -> Vec<f64> {
        (0..len).map(|at| if at % every < 2 { 5000.0 + (at * 37 % 11) as f64 * 90.0 } else { 20.0 }).collect()
    }

    #[test]
    fn bursts_have_a_period_and_noise_has_none() {
        for every in [5, 8, 12, 20, 30] {
            assert_eq!(period(&bursts(every, 120)), Some(every as f64), "every {every} s");
        }
        assert_eq!(period(&bursts(60, 120)), None, "seen twice only");
        assert_eq!(period(&vec![7.0; 120]), None);
        let ramp: Vec<f64> = (0..120).map(f64::from).collect();
        assert_eq!(period(&ramp), None);
        let mut state = 7u64;
        let noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64
        });
        let noise: Vec<f64> = noise.take(1200).collect();
        assert!(noise.chunks(120).all(|noise| period(noise).is_none()));
    }

    #[test]
    fn dips_follow_bursts() {
        let peaks = bursts(12, 120);
        let dipping: Vec<f64> = (0..120).map(|at: usize| if (at + 12 - 2) % 12 < 2 { 10.0 } else { 100.0 }).collect();
        let (lag, alike) = dips(&peaks, &dipping, 6).expect("long enough");
        assert!((lag - 2.0).abs() < 0.1 && alike > 0.9, "{lag} {alike}");
        let (_, alike) = dips(&peaks, &vec![5.0; 120], 6).expect("long enough");
        assert!(alike < 0.1);
    }

    #[test]
    fn seconds_without_a_value_have_the_one_before() {
        assert_eq!(by_second(&[(1.0, 5.0), (2.0, 6.0), (4.0, 7.0)], 60), [5.0, 6.0, 6.0, 7.0]);
        assert_eq!(by_second(&[(1.0, 5.0), (2.0, 6.0), (4.0, 7.0)], 2), [6.0, 6.0, 7.0]);
        assert!(by_second(&[], 60).is_empty());
        assert!(variation(&[(0.0, 100.0), (1.0, 102.0)]).is_some_and(|share| share < 0.02));
    }

    proptest! {
        #[test]
        fn no_values_panic(values in proptest::collection::vec(any::<f64>(), 0..80), other in proptest::collection::vec(0.0..1e9f64, 0..80)) {
            let _ = (period(&values), dips(&values, &other, 9), period(&other));
            let series: Vec<(f64, f64)> = other.iter().enumerate().map(|(at, value)| (at as f64 * 1.7, *value)).collect();
            prop_assert!(by_second(&series, 60).len() <= 61);
        }
    }
}
