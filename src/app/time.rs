//! Holding the picture and going through the past.

use super::transport::Order;
use super::{App, Effect};
use crate::moment::Moment;
use crate::source::{Sample, Target};
use crate::units;
use std::time::Duration;
use topotop_model::judge::Timeline;
use topotop_model::locale::chrome;

const DAY_NS: i64 = 86_400_000_000_000;

/// Intervals that keys go through.
const INTERVALS_MS: [u64; 9] = [100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000];

/// The notice where there is no such change.
pub(super) fn no_finding(timeline: &Timeline, next: bool) -> String {
    match (timeline.is_empty(), next) {
        (true, _) => chrome::NO_CHANGES.to_string(),
        (false, true) => chrome::NO_LATER_CHANGE.to_string(),
        (false, false) => chrome::NO_EARLIER_CHANGE.to_string(),
    }
}

impl App {
    /// How old the newest sample is when it is overdue, in whole seconds.
    pub fn overdue(&self) -> Option<u64> {
        let stamp = self.newest.frame.stamp;
        let age = self.status.now_ns.checked_sub(stamp.mono_ns)?;
        (stamp.seq > 0 && self.is_live() && age > self.patience()).then_some(age / 1_000_000_000)
    }

    /// Two intervals and some slack, in ns.
    fn patience(&self) -> u64 {
        self.status.interval.as_nanos() as u64 * 2 + 500_000_000
    }

    /// When time itself will change the picture, on CLOCK_MONOTONIC in ns.
    pub fn wakes_at(&self) -> Option<u64> {
        let stamp = self.newest.frame.stamp;
        let notice = self.notice.as_ref().map(|notice| notice.until_ns);
        let late = (stamp.seq > 0 && self.is_live()).then(|| match self.overdue() {
            Some(_) => self.status.now_ns + 1_000_000_000,
            None => stamp.mono_ns + self.patience() + 1,
        });
        notice.into_iter().chain(late).chain(self.fix_wakes_at()).min()
    }

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

    /// Goes to where a finding came or went, and says which.
    pub(super) fn go_to_finding(&mut self, next: bool) -> Vec<Effect> {
        let (timeline, shown) = (&self.newest.timeline, self.shown().frame.stamp);
        let Some((place, changes)) = timeline.around(shown.seq, next) else {
            self.say(no_finding(timeline, next));
            return Vec::new();
        };
        let (summary, seq) =
            (timeline.summary(place, changes), changes.first().map_or(shown.seq, |change| change.sample));
        self.say(summary);
        vec![Effect::Seek(shown, Target::Seq(seq))]
    }

    /// Goes to what was done to the machine before, or next.
    pub(super) fn go_to_mark(&mut self, next: bool) -> Vec<Effect> {
        let shown = self.shown().frame.stamp;
        let found = if next {
            self.marks.iter().find(|mark| mark.mono_ns > shown.mono_ns)
        } else {
            // The sample after a mark is at the mark.
            let slack = self.status.interval.as_nanos() as u64;
            self.marks.iter().rfind(|mark| mark.mono_ns + slack < shown.mono_ns)
        };
        let Some(mark) = found else {
            self.say(chrome::NO_SUCH_MARK);
            return Vec::new();
        };
        let (text, wall_ns) = (format!("{} {}", crate::units::time_of_day(mark.wall_ns), mark.text), mark.wall_ns);
        self.say(text);
        vec![Effect::Seek(shown, Target::Wall(wall_ns))]
    }

    pub(super) fn sought(&mut self, sample: Option<Sample>) {
        let Some(sample) = sample else {
            return self.say(chrome::NO_EARLIER_SAMPLE);
        };
        let (here, there) = (self.shown().frame.stamp.seq, sample.frame.stamp.seq);
        if here == there {
            let newest = there == self.newest.frame.stamp.seq;
            self.say(if newest { chrome::NEWEST_SAMPLE } else { chrome::OLDEST_SAMPLE });
        }
        self.held = Some(sample);
    }

    /// Goes to a time: live, a bare duration is ago; in a recording it is from the start.
    pub(super) fn jump(&mut self, text: &str) -> Vec<Effect> {
        let moment = match Moment::parse(text) {
            Ok(moment) => moment,
            Err(error) => {
                self.say(error);
                return Vec::new();
            }
        };
        if self.playback.is_some() {
            return vec![Effect::Play(Order::Go(moment))];
        }
        let (newest, shown) = (self.newest.frame.stamp, self.shown().frame.stamp);
        let (from, target) = match moment {
            Moment::FromStart(ns) => (newest, Target::Nanoseconds(-ns)),
            Moment::FromHere(ns) => (shown, Target::Nanoseconds(ns)),
            Moment::Wall(wall_ns) => (newest, Target::Wall(wall_ns)),
            Moment::Share(share) => (newest, Target::Share((share * 10_000.0) as u16)),
            // Within the day before the newest sample.
            moment @ Moment::TimeOfDay(_) => {
                let wall = moment.wall(newest.wall_ns.saturating_sub(DAY_NS), newest.wall_ns, newest.wall_ns);
                (newest, Target::Wall(wall.unwrap_or(newest.wall_ns)))
            }
        };
        vec![Effect::Seek(from, target)]
    }

    pub(super) fn change_interval(&mut self, longer: bool) -> Vec<Effect> {
        let now = self.status.interval.as_millis() as u64;
        let next = if longer {
            INTERVALS_MS.iter().find(|&&ms| ms > now)
        } else {
            INTERVALS_MS.iter().rev().find(|&&ms| ms < now)
        };
        if self.status.about.captured.is_some() {
            self.say(chrome::CAPTURED_STILL);
            return Vec::new();
        }
        let Some(&next) = next else { return Vec::new() };
        self.status.interval = Duration::from_millis(next);
        self.say(chrome::Interval { interval: &units::short(self.status.interval) }.to_string());
        vec![Effect::Interval(self.status.interval)]
    }
}
