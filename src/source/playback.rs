//! What the screen knows of a recording that is played.

use crate::units;
use std::sync::Arc;
use topotop_model::recording::When;
use topotop_widgets::parts::timebar::Bar;

/// How a recording ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// Nothing will follow.
    #[default]
    Closed,
    /// More may come.
    Open,
    /// It was a stream, and it has ended.
    Over,
}

/// Where playing is and what of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Playback {
    /// The machines that were recorded.
    pub machines: Vec<String>,
    /// The one that is shown.
    pub machine: usize,
    /// How the clocks of two machines stand to each other.
    pub clocks: String,
    /// Of two machines the one whose resource is short at this instant, and that resource; empty where none is.
    pub short: String,
    /// True while it goes on by itself.
    pub playing: bool,
    /// True while the newest sample is shown whenever it comes.
    pub following: bool,
    /// How many times as fast as it was.
    pub speed: f64,
    /// The sample that is shown.
    pub sample: u64,
    /// When that was taken.
    pub at: When,
    /// When the oldest one was.
    pub first: When,
    /// When the newest one was.
    pub last: When,
    /// The loop.
    pub span: (Option<u64>, Option<u64>),
    /// What comes after the newest sample.
    pub end: End,
    /// How long nothing came, in seconds, where something should have.
    pub quiet_seconds: Option<u64>,
    /// The recording as a whole.
    pub bar: Arc<Bar>,
}

impl Playback {
    /// Seconds from the oldest sample to the one that is shown, by the clock.
    pub fn position_seconds(&self) -> u64 {
        between(self.first, self.at)
    }

    /// Seconds from the oldest sample to the newest.
    pub fn length_seconds(&self) -> u64 {
        between(self.first, self.last)
    }

    /// True if it begins and ends on the same day.
    pub fn is_of_one_day(&self) -> bool {
        units::zoned(self.first.wall_ns).date() == units::zoned(self.last.wall_ns).date()
    }

    /// Seconds from what is shown to the newest sample.
    pub fn behind_seconds(&self) -> u64 {
        between(self.at, self.last)
    }
}

fn between(from: When, to: When) -> u64 {
    to.wall_ns.saturating_sub(from.wall_ns).max(0) as u64 / 1_000_000_000
}
