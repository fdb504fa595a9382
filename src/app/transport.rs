//! Where in a recording one is and how it moves on: pure, given the time, asking the recording for nothing but times.

use super::time::no_finding;
use crate::moment::Moment;
use topotop_model::judge::Timeline;
use topotop_model::locale::chrome;
use topotop_model::recording::When;

/// What the transport must know of a recording. Samples have numbers that stay theirs.
pub trait RecordingIndex {
    /// The oldest and the newest sample; none while there is none.
    fn range(&self) -> Option<(u64, u64)>;

    /// When a sample was taken.
    fn when(&mut self, sample: u64) -> Option<When>;

    /// The sample nearest to a wall time.
    fn nearest(&mut self, wall_ns: i64) -> Option<u64>;

    /// The samples that marks stand before, ascending, and what they say.
    fn marks(&self) -> &[(u64, String)];

    /// Findings that appeared and cleared, by the numbers of samples.
    fn timeline(&self) -> &Timeline;

    /// True where that is all of it: nothing is left to be judged.
    fn is_judged(&self) -> bool {
        true
    }

    /// True while more may come.
    fn grows(&self) -> bool;

    /// The time between samples as it was meant to be, in ns.
    fn interval_ns(&self) -> u64;
}

/// Speeds that keys go through.
pub const SPEEDS: [f64; 13] = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0];
/// As it was.
const AS_IT_WAS: usize = 3;
/// Pictures while playing, at most one in so many ns.
const PICTURE_NS: u64 = 33_000_000;
/// Time that one look makes up for, in ns: after a stall of the viewer the recording goes on where it was.
const MOST_NS: u64 = 1_000_000_000;
/// Samples that one look goes on by.
const MOST_SAMPLES: u64 = 20_000;
/// How many times the usual distance makes a hole.
const HOLE_TIMES: u64 = 5;
/// The shortest hole, in ns.
const HOLE_NS: u64 = 3_000_000_000;
/// How long a hole takes to play, in ns.
const OVER_HOLE_NS: u64 = 1_000_000_000;
/// Up to this way, in ns, time is the machine's own, which no clock step bends; beyond it is what the clock said.
const NEAR_NS: u64 = 300_000_000_000;

/// What a key asks of the transport.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// Play or pause.
    Toggle,
    /// So many samples on, or back when negative; and pause.
    Step(i64),
    /// So much later, or earlier when negative, in ns.
    Shift(i64),
    /// To the first sample.
    Start,
    /// To the last sample, and stay at the end while it grows.
    End,
    /// To a place in words.
    Go(Moment),
    /// To a sample.
    Sample(u64),
    /// To the next mark, or the one before.
    Mark {
        /// True for the next one.
        next: bool,
    },
    /// To where the next finding comes or goes, or to where one did before.
    Finding {
        /// True for the next one.
        next: bool,
    },
    /// Play faster.
    Faster,
    /// Play slower.
    Slower,
    /// Loop from here.
    LoopStart,
    /// Loop to here.
    LoopEnd,
    /// No loop.
    LoopOff,
    /// Show the other machine.
    Machine,
}

/// The state of play.
#[derive(Clone, Debug)]
pub struct Transport {
    /// True while it goes on by itself.
    pub playing: bool,
    /// True while the newest sample is shown whenever it comes.
    pub following: bool,
    /// The sample that is shown.
    pub sample: u64,
    /// Start and end of the loop.
    pub span: (Option<u64>, Option<u64>),
    speed: usize,
    /// Time of the recording that has passed since the sample, in ns.
    passed_ns: f64,
    /// When that was, on the viewer's clock.
    looked_ns: Option<u64>,
}

impl Default for Transport {
    fn default() -> Self {
        Self {
            playing: true,
            following: false,
            sample: 0,
            span: (None, None),
            speed: AS_IT_WAS,
            passed_ns: 0.0,
            looked_ns: None,
        }
    }
}

impl Transport {
    /// How many times as fast as it was.
    pub fn speed(&self) -> f64 {
        SPEEDS.get(self.speed).copied().unwrap_or(1.0)
    }

    /// Plays at the speed nearest to one.
    pub fn set_speed(&mut self, wanted: f64) {
        let distance = |speed: f64| (speed.ln() - wanted.max(1e-9).ln()).abs();
        let nearest = (0..SPEEDS.len()).min_by(|&a, &b| {
            distance(SPEEDS.get(a).map_or(f64::MAX, |s| *s))
                .total_cmp(&distance(SPEEDS.get(b).map_or(f64::MAX, |s| *s)))
        });
        self.speed = nearest.unwrap_or(AS_IT_WAS);
    }

    /// Does what a key asks; gives what is to be said about it.
    pub fn order(&mut self, order: &Order, index: &mut dyn RecordingIndex) -> Option<String> {
        let (first, last) = index.range()?;
        self.sample = self.sample.clamp(first, last);
        match *order {
            Order::Toggle => self.toggle(first, last, index.grows()),
            Order::Step(by) => {
                self.playing = false;
                return self.step(by, first, last);
            }
            Order::Shift(ns) => return self.shift(ns, index),
            Order::Start => self.go(first),
            Order::End => {
                self.go(last);
                self.following = index.grows();
                self.playing = self.following;
            }
            Order::Go(moment) => return self.seek_moment(moment, index),
            Order::Sample(sample) => self.go(sample.clamp(first, last)),
            Order::Mark { next } => return self.seek_mark(next, index),
            Order::Finding { next } => return self.seek_finding(next, index),
            Order::Faster => self.speed = (self.speed + 1).min(SPEEDS.len() - 1),
            Order::Slower => self.speed = self.speed.saturating_sub(1),
            Order::LoopStart => {
                self.span = (Some(self.sample), self.span.1.filter(|&end| end > self.sample));
                let time = index.when(self.sample).map(|when| crate::units::time_of_day(when.wall_ns));
                return time.map(|time| chrome::LoopStarts { time: &time }.to_string());
            }
            Order::LoopEnd => {
                let start = self.span.0.unwrap_or(first);
                if start >= self.sample {
                    return Some(chrome::LOOP_ORDER.to_string());
                }
                self.span = (Some(start), Some(self.sample));
            }
            Order::LoopOff if self.span == (None, None) => return Some(chrome::NO_LOOP.to_string()),
            Order::LoopOff => self.span = (None, None),
            Order::Machine => {}
        }
        None
    }

    fn toggle(&mut self, first: u64, last: u64, grows: bool) {
        self.following = false;
        self.playing = !self.playing;
        self.looked_ns = None;
        if self.playing && self.sample == last {
            if grows {
                self.following = true;
            } else {
                // Played to its end: once more.
                self.go(self.span.0.unwrap_or(first));
            }
        }
    }

    /// Shows a sample; what plays goes on from there.
    pub fn go(&mut self, sample: u64) {
        self.sample = sample;
        self.following = false;
        self.passed_ns = 0.0;
    }

    fn step(&mut self, by: i64, first: u64, last: u64) -> Option<String> {
        let wanted = self.sample.saturating_add_signed(by).clamp(first, last);
        let stuck = wanted == self.sample;
        self.go(wanted);
        stuck.then(|| ends(by < 0))
    }

    fn shift(&mut self, ns: i64, index: &mut dyn RecordingIndex) -> Option<String> {
        let (first, last) = index.range()?;
        let here = index.when(self.sample)?;
        let found = if ns.unsigned_abs() <= NEAR_NS {
            let wanted = here.mono_ns.saturating_add_signed(ns);
            by_own_time(wanted, (first, last), index)
        } else {
            index.nearest(here.wall_ns.saturating_add(ns))
        };
        let found = found.unwrap_or(self.sample);
        // Where samples are further apart than the way to go, go one of them.
        let ahead = if ns < 0 { found < self.sample } else { found > self.sample };
        let found = if ahead { found } else { self.sample.saturating_add_signed(ns.signum()).clamp(first, last) };
        let stuck = found == self.sample;
        self.go(found);
        stuck.then(|| ends(ns < 0))
    }

    fn seek_moment(&mut self, moment: Moment, index: &mut dyn RecordingIndex) -> Option<String> {
        let (first, last) = index.range()?;
        if let Moment::Share(share) = moment {
            self.go(first + ((last - first) as f64 * share.clamp(0.0, 1.0)).round() as u64);
            return None;
        }
        if let Moment::FromHere(ns) = moment {
            return self.shift(ns, index);
        }
        let (started, ended) = (index.when(first)?.wall_ns, index.when(last)?.wall_ns);
        let wall = moment.wall(started, ended, index.when(self.sample)?.wall_ns)?;
        self.go(index.nearest(wall)?.clamp(first, last));
        match wall {
            wall if wall < started => Some(chrome::BEFORE_START.to_string()),
            wall if wall > ended => Some(chrome::AFTER_END.to_string()),
            _ => None,
        }
    }

    /// While it plays, what was just gone to is not what is before: so many samples are left out.
    fn slack(&self) -> u64 {
        if self.playing { (self.speed() * 2.0).ceil() as u64 } else { 0 }
    }

    fn seek_finding(&mut self, next: bool, index: &mut dyn RecordingIndex) -> Option<String> {
        let timeline = index.timeline();
        let from = if next { self.sample } else { self.sample.saturating_sub(self.slack()) };
        let Some((place, changes)) = timeline.around(from, next) else {
            let notice = no_finding(timeline, next);
            let complete = index.is_judged();
            return Some(if complete { notice } else { chrome::StillJudging { notice: &notice }.to_string() });
        };
        let (summary, sample) =
            (timeline.summary(place, changes), changes.first().map_or(from, |change| change.sample));
        let (first, last) = index.range()?;
        self.go(sample.clamp(first, last));
        Some(summary)
    }

    fn seek_mark(&mut self, next: bool, index: &mut dyn RecordingIndex) -> Option<String> {
        let (slack, marks) = (self.slack(), index.marks());
        let found = if next {
            marks.iter().position(|mark| mark.0 > self.sample)
        } else {
            marks.iter().rposition(|mark| mark.0.saturating_add(slack) < self.sample)
        };
        let Some((number, (sample, text))) = found.and_then(|at| Some((at + 1, marks.get(at)?))) else {
            let notice = match next {
                _ if marks.is_empty() => chrome::NO_MARKS,
                true => chrome::NO_LATER_MARK,
                false => chrome::NO_EARLIER_MARK,
            };
            return Some(notice.to_string());
        };
        let notice = chrome::Mark { number: &number, count: &marks.len(), text }.to_string();
        let sample = *sample;
        self.go(sample.min(index.range()?.1));
        Some(notice)
    }

    /// Goes on as far as time says; gives what is to be said.
    pub fn advance(&mut self, now_ns: u64, index: &mut dyn RecordingIndex) -> Option<String> {
        let (first, last) = index.range()?;
        let since = now_ns.saturating_sub(self.looked_ns.unwrap_or(now_ns)).min(MOST_NS);
        self.looked_ns = Some(now_ns);
        if self.sample < first {
            // What was shown is no longer kept.
            self.go(first);
        }
        if self.following {
            self.sample = last;
            return None;
        }
        if !self.playing {
            return None;
        }
        self.passed_ns += since as f64 * self.speed();
        let (start, end) = (self.span.0.unwrap_or(first), self.span.1);
        for _ in 0..MOST_SAMPLES {
            let inside = end.is_some_and(|end| (start..=end).contains(&self.sample));
            let at_end = inside && end == Some(self.sample);
            if self.sample >= last && !at_end {
                return self.ended(last, index.grows());
            }
            let takes = if at_end { OVER_HOLE_NS } else { self.takes(index) } as f64;
            if self.passed_ns < takes {
                break;
            }
            self.passed_ns -= takes;
            self.sample = if at_end { start } else { self.sample + 1 };
        }
        None
    }

    fn ended(&mut self, last: u64, grows: bool) -> Option<String> {
        self.sample = last;
        self.passed_ns = 0.0;
        self.following = grows;
        self.playing = grows;
        (!grows).then(|| chrome::END_OF_RECORDING.to_string())
    }

    /// How long the next sample is away in playing, in ns.
    fn takes(&self, index: &mut dyn RecordingIndex) -> u64 {
        let usual = index.interval_ns();
        let (Some(here), Some(next)) = (index.when(self.sample), index.when(self.sample + 1)) else { return usual };
        let before = self.sample.checked_sub(1).and_then(|before| index.when(before));
        let before = before.and_then(|before| here.mono_ns.checked_sub(before.mono_ns));
        pace(next.mono_ns.checked_sub(here.mono_ns), usual.max(before.unwrap_or(0))).0
    }

    /// When to look again, on the viewer's clock; none while nothing moves by itself.
    pub fn due_ns(&self, index: &mut dyn RecordingIndex) -> Option<u64> {
        let looked = self.looked_ns.filter(|_| self.playing && !self.following)?;
        index.range()?;
        let left = (self.takes(index) as f64 - self.passed_ns).max(0.0) / self.speed();
        Some(looked.saturating_add((left as u64).max(PICTURE_NS)))
    }
}

fn ends(back: bool) -> String {
    if back { chrome::OLDEST_SAMPLE.to_string() } else { chrome::LAST_SAMPLE.to_string() }
}

/// How long a distance between samples takes to play, and whether it is a hole. Time that runs backwards is one: another
/// boot.
pub fn pace(gap_ns: Option<u64>, usual_ns: u64) -> (u64, bool) {
    match gap_ns {
        Some(gap) if gap <= HOLE_NS.max(usual_ns.saturating_mul(HOLE_TIMES)) => (gap, false),
        _ => (OVER_HOLE_NS, true),
    }
}

/// The sample nearest to a monotonic time.
pub fn by_own_time(mono_ns: u64, (first, last): (u64, u64), index: &mut dyn RecordingIndex) -> Option<u64> {
    let (mut low, mut high) = (first, last);
    while low < high {
        let middle = low + (high - low) / 2;
        if index.when(middle)?.mono_ns < mono_ns { low = middle + 1 } else { high = middle }
    }
    let before = low.saturating_sub(1).max(first);
    let away = |when: When| when.mono_ns.abs_diff(mono_ns);
    Some(if away(index.when(before)?) < away(index.when(low)?) { before } else { low })
}

#[cfg(test)]
mod tests;
