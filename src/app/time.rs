//! Holding the picture and going through the past.

use super::{App, Effect};
use crate::source::{Sample, Target};
use crate::units;

const DAY_NS: i64 = 86_400_000_000_000;

impl App {
    pub(super) fn pause(&mut self) {
        if self.held.take().is_none() && self.newest.frame.stamp.seq > 0 {
            self.held = Some(self.newest.clone());
        }
    }

    /// Asks for another sample; forward from live there is none.
    pub(super) fn seek(&mut self, target: Target) -> Vec<Effect> {
        let forward = matches!(target, Target::Samples(1..) | Target::Nanoseconds(1..));
        if self.newest.frame.stamp.seq == 0 || (forward && self.held.is_none()) {
            return Vec::new();
        }
        vec![Effect::Seek(self.shown().frame.stamp, target)]
    }

    pub(super) fn sought(&mut self, sample: Option<Sample>) {
        let Some(sample) = sample else {
            return self.say("there is no earlier sample");
        };
        let (here, there) = (self.shown().frame.stamp.seq, sample.frame.stamp.seq);
        if here == there {
            let newest = there == self.newest.frame.stamp.seq;
            self.say(if newest { "this is the newest sample" } else { "this is the oldest sample that is kept" });
        }
        self.held = Some(sample);
    }

    /// `14:05` (UTC), `10m` before the newest sample, `-30s` and `+30s` from the one on the screen.
    pub(super) fn jump(&mut self, text: &str) -> Vec<Effect> {
        let text = text.trim();
        let (newest, shown) = (self.newest.frame.stamp, self.shown().frame.stamp);
        let nanoseconds = |text: &str| units::duration(text).map(|duration| duration.as_nanos() as i64);
        if let Some(seconds) = units::parse_time_of_day(text) {
            let day = newest.wall_ns.div_euclid(DAY_NS) * DAY_NS;
            let today = day + seconds * 1_000_000_000;
            let wanted = if today > newest.wall_ns { today - DAY_NS } else { today };
            return vec![Effect::Seek(newest, Target::Wall(wanted))];
        }
        let found = match (text.strip_prefix('-'), text.strip_prefix('+')) {
            (Some(back), _) => nanoseconds(back).map(|ns| (shown, -ns)),
            (_, Some(ahead)) => nanoseconds(ahead).map(|ns| (shown, ns)),
            _ => nanoseconds(text).map(|ns| (newest, -ns)),
        };
        if let Ok((from, ns)) = found {
            return vec![Effect::Seek(from, Target::Nanoseconds(ns))];
        }
        self.say(format!("`{text}` is no time: write 14:05, 10m (ago), -30s or +30s"));
        Vec::new()
    }
}
