//! What must not wait for a verdict: beyond a limit for some seconds, a fix is undone at once.

use crate::diff::{Watch, reading};
use crate::frame::Frame;

/// A limit that undoes a fix when it is exceeded for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trip {
    /// What is watched.
    pub watch: Watch,
    /// The limit, in hundredths of the metric's unit: 10 is 10 % of a share.
    pub above_hundredths: u32,
    /// For so many seconds on end.
    pub seconds: u32,
}

/// A limit that was exceeded.
#[derive(Clone, Debug, PartialEq)]
pub struct Tripped {
    /// Which.
    pub trip: Trip,
    /// The value that was too much.
    pub value: f64,
}

impl Tripped {
    /// It in a line; names as they are, hostile.
    pub fn text(&self) -> String {
        let Trip { watch, above_hundredths, seconds } = &self.trip;
        let limit = f64::from(*above_hundredths) / 100.0;
        format!("{} of {} was {:.3}, above {limit} for {seconds} s", watch.metric, watch.subject, self.value)
    }
}

/// A limit and since when it is exceeded.
#[derive(Clone, Debug)]
pub(super) struct Wire {
    trip: Trip,
    since_ns: Option<u64>,
}

impl Wire {
    pub(super) fn new(trip: Trip) -> Self {
        Self { trip, since_ns: None }
    }

    /// Looks at a frame after the fix was applied.
    pub(super) fn push(&mut self, frame: &Frame, applied_ns: u64) -> Option<Tripped> {
        let now_ns = frame.stamp.mono_ns;
        let value = reading(frame, &self.trip.watch);
        // What cannot be read just now neither exceeds it nor clears it.
        let value = value?;
        if value <= f64::from(self.trip.above_hundredths) / 100.0 {
            self.since_ns = None;
            return None;
        }
        let interval_ns = frame.interval_seconds.unwrap_or_default().max(0.0) * 1e9;
        // The value is of the time before the sample.
        let from_ns = now_ns.saturating_sub(interval_ns as u64).max(applied_ns);
        let since_ns = *self.since_ns.get_or_insert(from_ns);
        let lasted = now_ns.saturating_sub(since_ns) as f64 / 1e9 + 0.05;
        (lasted >= f64::from(self.trip.seconds)).then(|| Tripped { trip: self.trip.clone(), value })
    }
}
