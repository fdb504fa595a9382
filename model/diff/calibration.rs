//! The method against recorded noise with known effects: how often it is wrong, what it finds, what its intervals hold.
//!
//! `make calibrate` writes the tables into docs/diff.md; a fixed subset is asserted with the other tests (the bars for 5 % noise with those of `decide`).

use super::check::Noise;
use super::decide::{ALONE, Answer, Question, decide};
use super::window::{Ends, steady};
use std::fmt::Write as _;

/// Series of real load generators, one value a second, as (name, values).
fn recorded() -> Vec<(String, Source)> {
    let text = include_str!("../../tests/data/noise.json");
    let series: std::collections::BTreeMap<String, Vec<f64>> = serde_json::from_str(text).expect("the recorded noise");
    series.into_iter().map(|(name, values)| (name, Source::Recorded(relative(&values)))).collect()
}

/// The steady part as multiples of its mean.
fn relative(values: &[f64]) -> Vec<f64> {
    let load: Vec<Option<f64>> = values.iter().copied().map(Some).collect();
    let part = steady(&load, Ends::with_load(load.len(), 1.0, 5));
    let values = &values[part.first..part.last];
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| value / mean).collect()
}

/// A window drawn from a series in runs of about five values, so that neighbours stay alike.
fn window(series: &[f64], samples: usize, noise: &mut Noise) -> Vec<f64> {
    let mut at = 0;
    (0..samples)
        .map(|sample| {
            let jump = sample == 0 || noise.uniform() < 0.2;
            at = if jump { (noise.uniform() * series.len() as f64) as usize } else { at + 1 } % series.len();
            series[at]
        })
        .collect()
}

/// What windows are drawn from.
enum Source {
    /// The values of a recording, as multiples of their mean.
    Recorded(Vec<f64>),
    /// 5 % noise, neighbours of which are as alike as that.
    Made(f64),
}

impl Source {
    /// Two windows, one after the other.
    fn pair(&self, samples: usize, noise: &mut Noise) -> [Vec<f64>; 2] {
        match self {
            Self::Recorded(series) => [(); 2].map(|()| window(series, samples, noise)),
            Self::Made(alike) => {
                let mut before: Vec<f64> =
                    noise.series(2 * samples, *alike).into_iter().map(|value| 1.0 + 0.05 * value).collect();
                let after = before.split_off(samples);
                [before, after]
            }
        }
    }
}

/// Intervals of 95 % that contain the effect, at least, in percent. The noise of nginx is slower than a window of 60 samples
/// shows.
fn least_held(name: &str) -> f64 {
    if name.starts_with("nginx") { 88.0 } else { 92.0 }
}

/// Of a hundred pairs: changed, no difference, and intervals that hold the effect.
fn rates(source: &Source, samples: usize, effect: f64, pairs: u64) -> [f64; 3] {
    let mut counts = [0.0; 3];
    for seed in 1..=pairs {
        let mut noise = Noise(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let [before, after] = source.pair(samples, &mut noise);
        let after: Vec<f64> = after.into_iter().map(|value| value * (1.0 + effect)).collect();
        let floor = 0.05 * (1.0 + effect);
        let line = Some(([1.0, 1.0], samples as f64));
        let question = Question { before: &before, after: &after, floor, chance: ALONE, alike: None, line };
        let decision = decide(question).expect("enough samples");
        let hits = [
            decision.answer == Answer::Changed,
            decision.answer == Answer::Same,
            (decision.interval[0]..=decision.interval[1]).contains(&effect),
        ];
        counts.iter_mut().zip(hits).for_each(|(count, hit)| *count += f64::from(u8::from(hit)));
    }
    counts.map(|count| 100.0 * count / pairs as f64)
}

#[test]
fn recorded_noise_is_rarely_called_a_change() {
    for (name, series) in recorded() {
        for (samples, most) in [(20, 2.0), (60, 1.0)] {
            let [changed, _, held] = rates(&series, samples, 0.0, 400);
            assert!(changed <= most, "{name}, {samples} samples: {changed} % false");
            assert!(held >= least_held(&name), "{name}, {samples} samples: {held} % held");
            let held = rates(&series, samples, 0.2, 400)[2];
            assert!(held >= least_held(&name), "{name}, {samples} samples: {held} % held with an effect of 20 %");
            assert!(rates(&series, samples, 9.0, 50)[0] > 99.9, "{name}, {samples} samples: a step of ten times");
        }
    }
}

/// The tables in docs/diff.md between the marks.
#[test]
#[expect(clippy::disallowed_methods, reason = "the tables ship as a file")]
#[ignore = "writes docs/diff.md: make calibrate"]
fn writes_the_tables() {
    let mut table = String::from(
        "| noise | samples | false, % | +10 % found, % | +20 % found, % | ten times, % | interval contains 0, % | contains +20 %, % |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    let made = [0.0, 0.3, 0.6].map(|alike| (format!("5 %, autocorrelation {alike}"), Source::Made(alike)));
    for (name, series) in made.into_iter().chain(recorded()) {
        for samples in [10, 20, 60] {
            let [changed, _, held] = rates(&series, samples, 0.0, 2000);
            let found = [0.1, 0.2, 9.0].map(|effect| rates(&series, samples, effect, 1000)[0]);
            let [ten, twenty, tenfold] = found;
            let effect = rates(&series, samples, 0.2, 2000)[2];
            let _ = writeln!(
                table,
                "| {name} | {samples} | {changed:.1} | {ten:.0} | {twenty:.0} | {tenfold:.0} | {held:.0} | {effect:.0} |"
            );
        }
    }
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/diff.md");
    let text = std::fs::read_to_string(&file).expect("docs/diff.md");
    let (begin, end) = ("<!-- calibration -->\n", "<!-- end of calibration -->");
    let (head, rest) = text.split_once(begin).expect("the mark where the tables begin");
    let (_, tail) = rest.split_once(end).expect("the mark where they end");
    std::fs::write(&file, format!("{head}{begin}{table}{end}{tail}")).expect("written");
}
