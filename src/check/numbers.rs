//! The application's own numbers of a watch.

use crate::diff::number::own;
use serde::Serialize;
use std::sync::Arc;
use topotop_model::frame::Frame;
use topotop_model::locale::check as text;
use topotop_model::text::printable;

/// Readings of a number that are kept at most.
const MOST: usize = 100_000;

/// A number with all its readings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Number {
    pub(super) name: String,
    unit: Arc<str>,
    values: Vec<f64>,
}

/// What a document says of it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Summary {
    name: String,
    unit: String,
    samples: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    median: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    low_quartile: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high_quartile: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<f64>,
}

/// Takes the readings of a frame; one that is shown again is no new one.
pub(super) fn take(numbers: &mut Vec<Number>, frame: &Frame) {
    let interval = frame.interval_seconds.unwrap_or(f64::INFINITY);
    for metric in &frame.metrics {
        let at = numbers.iter().position(|number| *number.name == *metric.name).unwrap_or_else(|| {
            numbers.push(Number { name: metric.name.to_string(), ..Number::default() });
            numbers.len() - 1
        });
        let Some(number) = numbers.get_mut(at) else { continue };
        number.unit = Arc::clone(&metric.unit);
        let fresh = metric.value.filter(|_| metric.age_seconds.is_none_or(|age| age < interval));
        number.values.extend(fresh.filter(|_| number.values.len() < MOST));
    }
}

impl Number {
    /// Low quartile, median, high quartile.
    fn quartiles(&self) -> Option<[f64; 3]> {
        let mut sorted = self.values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        let at = |part: f64| {
            let place = part * last as f64;
            let low = sorted.get(place.floor() as usize).copied().unwrap_or_default();
            let high = sorted.get(place.ceil() as usize).copied().unwrap_or_default();
            low + (high - low) * place.fract()
        };
        Some([at(0.25), at(0.5), at(0.75)])
    }

    /// `1.20k tx/s (median of 28 samples, quartiles 1.10k tx/s to 1.30k tx/s, last 1.25k tx/s)`.
    pub(super) fn text(&self) -> String {
        let unit = printable(&self.unit);
        let (Some([low, median, high]), Some(last)) = (self.quartiles(), self.values.last()) else {
            return text::NO_NUMBER.to_string();
        };
        let [low, median, high, last] = [low, median, high, *last].map(|value| own(value, &unit));
        let count = self.values.len() as u64;
        text::Number { count, median: &median, low: &low, high: &high, last: &last }.to_string()
    }

    pub(super) fn summary(&self) -> Summary {
        let quartiles = self.quartiles();
        Summary {
            name: printable(&self.name).into_owned(),
            unit: printable(&self.unit).into_owned(),
            samples: self.values.len(),
            median: quartiles.map(|quartiles| quartiles[1]),
            low_quartile: quartiles.map(|quartiles| quartiles[0]),
            high_quartile: quartiles.map(|quartiles| quartiles[2]),
            last: self.values.last().copied(),
        }
    }
}
