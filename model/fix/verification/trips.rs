//! Limits that do not wait for a verdict: a violation for some seconds rolls a fix back at once.

use crate::diff::{Watch, reading};
use crate::frame::Frame;
use crate::locale::fix::verification as text;

/// A limit that rolls a fix back when exceeded for some seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trip {
    /// What is watched.
    pub watch: Watch,
    /// The limit, in hundredths of the metric's unit: 10 is 10 % of a share.
    pub above_hundredths: u32,
    /// Consecutive seconds of violation.
    pub seconds: u32,
}

/// A limit that was exceeded.
#[derive(Clone, Debug, PartialEq)]
pub struct Tripped {
    /// Which.
    pub trip: Trip,
    /// The value that exceeded it.
    pub value: f64,
}

impl Tripped {
    /// A line; names in it are hostile.
    pub fn text(&self) -> String {
        let Trip { watch, above_hundredths, seconds } = &self.trip;
        let limit = f64::from(*above_hundredths) / 100.0;
        text::Tripped {
            metric: &watch.metric,
            subject: &watch.subject,
            value: &format!("{:.3}", self.value),
            limit: &limit,
            seconds: &seconds,
        }
        .to_string()
    }
}

/// A limit and since when it has been exceeded.
#[derive(Clone, Debug)]
pub(super) struct Wire {
    trip: Trip,
    since_ns: Option<u64>,
}

impl Wire {
    pub(super) fn new(trip: Trip) -> Self {
        Self { trip, since_ns: None }
    }

    /// Checks a frame after the fix was applied.
    pub(super) fn push(&mut self, frame: &Frame, applied_ns: u64) -> Option<Tripped> {
        let now_ns = frame.stamp.mono_ns;
        let value = reading(frame, &self.trip.watch);
        // An unreadable value neither exceeds nor clears it.
        let value = value?;
        if value <= f64::from(self.trip.above_hundredths) / 100.0 {
            self.since_ns = None;
            return None;
        }
        let interval_ns = frame.interval_seconds.unwrap_or_default().max(0.0) * 1e9;
        // The value covers the interval before the sample.
        let from_ns = now_ns.saturating_sub(interval_ns as u64).max(applied_ns);
        let since_ns = *self.since_ns.get_or_insert(from_ns);
        let lasted = now_ns.saturating_sub(since_ns) as f64 / 1e9 + 0.05;
        (lasted >= f64::from(self.trip.seconds)).then(|| Tripped { trip: self.trip.clone(), value })
    }
}
