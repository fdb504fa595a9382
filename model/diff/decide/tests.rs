//! The method against series of real load generators, and against a seeded subset of its tables.

use super::super::check::Noise;
use super::super::window::{Ends, level_explains, steady};
use super::{Answer, Decision, Question, Reason, decide};

const TWO_CPUS: [f64; 19] = [
    63579.0, 67362.8, 75402.5, 76214.0, 76315.5, 75484.9, 76434.5, 75960.8, 75085.6, 74613.2, 74971.7, 74736.5,
    73816.4, 74868.1, 74276.5, 75782.2, 75111.3, 74149.8, 74911.5,
];
const ONE_CPU: [f64; 19] = [
    33210.7, 23015.5, 21393.0, 21402.5, 24081.1, 21149.9, 21751.0, 24615.4, 27600.2, 31446.8, 23847.4, 23552.1,
    20898.8, 28259.8, 37441.5, 41788.5, 41525.3, 43203.9, 42948.8,
];
const EIGHT_CLIENTS: [f64; 21] = [
    68025.9, 91089.4, 92058.3, 92346.8, 92573.3, 92803.6, 86353.9, 57939.6, 58304.3, 57890.7, 58410.4, 59020.0,
    69068.5, 55328.6, 58175.8, 57556.6, 57486.0, 53880.6, 50694.9, 54421.1, 56890.0,
];
const ONE_CLIENT: [f64; 21] = [
    11451.9, 10090.0, 10403.1, 9772.8, 9979.2, 9168.6, 10451.0, 10043.2, 9932.7, 10731.5, 10262.9, 9769.0, 10263.1,
    10474.0, 9988.9, 10131.7, 10474.5, 10014.0, 10537.8, 10744.6, 9836.6,
];
const DISK_HELD: [f64; 17] = [10.0, 6.0, 7.0, 6.0, 15.0, 15.0, 7.0, 11.0, 9.0, 8.0, 7.0, 10.0, 5.0, 4.0, 9.0, 6.0, 9.0];
const DISK_FREED: [f64; 29] = [
    2057.1, 1815.0, 1833.0, 1732.0, 1133.0, 1265.0, 1718.0, 2023.4, 2346.6, 2055.2, 1997.0, 2054.9, 2080.2, 1942.9,
    1954.4, 2012.7, 2163.1, 2092.9, 2327.0, 2234.0, 2068.9, 1476.1, 2003.0, 2204.1, 2211.6, 2199.3, 2348.0, 2519.9,
    2394.1,
];

fn cut(values: &[f64]) -> Vec<f64> {
    let load: Vec<Option<f64>> = values.iter().copied().map(Some).collect();
    let part = steady(&load, Ends::with_load(load.len(), 1.0, 5));
    values[part.first..part.last].to_vec()
}

/// A floor of a twentieth, one-second samples, one side right after the other.
fn asked(before: &[f64], after: &[f64]) -> Decision {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let distance = f64::midpoint(before.len() as f64, after.len() as f64);
    let (one, other) = (cut(before), cut(after));
    let floor = 0.05 * mean(&one).abs().max(mean(&other).abs());
    let line = Some(([1.0, 1.0], distance));
    decide(Question { before: &one, after: &other, floor, chance: super::ALONE, alike: None, line }).expect("enough")
}

#[test]
fn what_real_programs_printed() {
    let fell = asked(&TWO_CPUS, &ONE_CPU);
    assert_eq!(fell.answer, Answer::Changed, "{fell:?}");
    assert!((0.0005..0.005).contains(&fell.p), "{fell:?}");
    let fewer = asked(&EIGHT_CLIENTS, &ONE_CLIENT);
    assert!(fewer.disjoint && (0.002..0.01).contains(&fewer.p), "{fewer:?}");
    assert_eq!(asked(&ONE_CLIENT, &EIGHT_CLIENTS).answer, Answer::Changed);
    let freed = asked(&DISK_HELD, &DISK_FREED);
    assert!(freed.answer == Answer::Changed && freed.disjoint && freed.interval[0] > 1000.0, "{freed:?}");
    assert_eq!(asked(&ONE_CLIENT, &ONE_CLIENT).answer, Answer::Same);
    // Both switch between levels by themselves: nothing can be said of a small difference.
    let plateaus = asked(&EIGHT_CLIENTS, &EIGHT_CLIENTS.map(|value| value * 0.95));
    assert!(matches!(plateaus.reason, Some(Reason::Noise { samples: 50.., .. })), "{plateaus:?}");
}

#[test]
fn constants_and_too_few() {
    assert_eq!(asked(&[4.0; 20], &[4.0; 20]).answer, Answer::Same);
    let doubled = asked(&[4.0; 20], &[8.0; 20]);
    assert_eq!((doubled.answer, doubled.ratio), (Answer::Changed, Some([2.0, 2.0, 2.0])));
    let few = Question { before: &[1.0; 7], after: &[1.0; 30], floor: 0.1, chance: 0.01, alike: None, line: None };
    assert!(decide(few).is_none());
}

#[test]
fn what_explains_a_shift_leaves_it_open() {
    let mut noise = Noise(5);
    let mut side =
        |from: f64| -> Vec<f64> { (0..20).map(|at| 100.0 + from + 0.8 * f64::from(at) + noise.normal()).collect() };
    let (one, other) = (side(0.0), side(16.0));
    assert_eq!(asked(&one, &other).reason, Some(Reason::Trend));
    let stepped: Vec<f64> = (0..20).map(|at| if at < 13 { 100.0 } else { 130.0 } + noise.normal()).collect();
    let flat: Vec<f64> = (0..20).map(|_| 100.0 + noise.normal()).collect();
    assert!(level_explains(&flat, &stepped, 10.5) && !level_explains(&flat, &stepped, 60.0));
}

/// Shares of windows called changed and the same, and of intervals that hold the truth.
fn rates(samples: usize, alike: f64, effect: f64, runs: u64) -> [f64; 3] {
    let mut counts = [0.0; 3];
    for seed in 1..=runs {
        let mut noise = Noise(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let series = noise.series(2 * samples, alike);
        let level = |at: usize| if at < samples { 1.0 } else { 1.0 + effect };
        let all: Vec<f64> = series.iter().enumerate().map(|(at, value)| (1.0 + 0.05 * value) * level(at)).collect();
        let decision = asked(&all[..samples], &all[samples..]);
        counts[0] += f64::from(u8::from(decision.answer == Answer::Changed));
        counts[1] += f64::from(u8::from(decision.answer == Answer::Same));
        counts[2] += f64::from(u8::from((decision.interval[0]..=decision.interval[1]).contains(&effect)));
    }
    counts.map(|count| 100.0 * count / runs as f64)
}

#[test]
fn rarely_wrong_and_rarely_undecided() {
    for (samples, false_least) in [(20, 2.0), (60, 1.0)] {
        for alike in [0.0, 0.3, 0.6] {
            let [changed, _, held] = rates(samples, alike, 0.0, 1000);
            assert!(changed <= false_least, "{samples} {alike}: {changed} % false");
            assert!((92.0..=98.0).contains(&held), "{samples} {alike}: {held} % held");
            let [found, same, _] = rates(samples, alike, 0.2, 2000);
            assert!(found >= 87.0 && same <= 0.5, "{samples} {alike}: {found} % found, {same} % called the same");
            assert!(rates(samples, alike, 9.0, 100)[0] > 99.9, "{samples} {alike}");
        }
    }
    assert!(rates(60, 0.3, 0.0, 200)[1] > 90.0, "no difference is said where there is none");
}
