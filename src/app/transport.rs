//! Where in a recording one is and how it moves on: pure, told the time, asking the recording for nothing but times.

use super::time::no_finding;
use crate::moment::Moment;
use topotop_model::judge::Timeline;
use topotop_model::recording::When;

/// What the transport must know of a recording. Samples have numbers that stay theirs.
pub trait Reel {
    /// The oldest and the newest sample; none while there is none.
    fn range(&self) -> Option<(u64, u64)>;

    /// When a sample was taken.
    fn when(&mut self, sample: u64) -> Option<When>;

    /// The sample nearest to a wall time.
    fn nearest(&mut self, wall_ns: i64) -> Option<u64>;

    /// The samples that marks stand before, ascending, and what they say.
    fn marks(&self) -> &[(u64, String)];

    /// What came and went, by the numbers of samples.
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
    pub fn order(&mut self, order: &Order, reel: &mut dyn Reel) -> Option<String> {
        let (first, last) = reel.range()?;
        self.sample = self.sample.clamp(first, last);
        match *order {
            Order::Toggle => self.toggle(first, last, reel.grows()),
            Order::Step(by) => {
                self.playing = false;
                return self.step(by, first, last);
            }
            Order::Shift(ns) => return self.shift(ns, reel),
            Order::Start => self.go(first),
            Order::End => {
                self.go(last);
                self.following = reel.grows();
                self.playing = self.following;
            }
            Order::Go(moment) => return self.seek_moment(moment, reel),
            Order::Sample(sample) => self.go(sample.clamp(first, last)),
            Order::Mark { next } => return self.seek_mark(next, reel),
            Order::Finding { next } => return self.seek_finding(next, reel),
            Order::Faster => self.speed = (self.speed + 1).min(SPEEDS.len() - 1),
            Order::Slower => self.speed = self.speed.saturating_sub(1),
            Order::LoopStart => {
                self.span = (Some(self.sample), self.span.1.filter(|&end| end > self.sample));
            }
            Order::LoopEnd => {
                let start = self.span.0.unwrap_or(first);
                if start >= self.sample {
                    return Some("a loop ends after its start".to_owned());
                }
                self.span = (Some(start), Some(self.sample));
            }
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

    fn shift(&mut self, ns: i64, reel: &mut dyn Reel) -> Option<String> {
        let (first, last) = reel.range()?;
        let here = reel.when(self.sample)?;
        let found = if ns.unsigned_abs() <= NEAR_NS {
            let wanted = here.mono_ns.saturating_add_signed(ns);
            by_own_time(wanted, (first, last), reel)
        } else {
            reel.nearest(here.wall_ns.saturating_add(ns))
        };
        let found = found.unwrap_or(self.sample);
        // Where samples are further apart than the way to go, go one of them.
        let ahead = if ns < 0 { found < self.sample } else { found > self.sample };
        let found = if ahead { found } else { self.sample.saturating_add_signed(ns.signum()).clamp(first, last) };
        let stuck = found == self.sample;
        self.go(found);
        stuck.then(|| ends(ns < 0))
    }

    fn seek_moment(&mut self, moment: Moment, reel: &mut dyn Reel) -> Option<String> {
        let (first, last) = reel.range()?;
        if let Moment::Share(share) = moment {
            self.go(first + ((last - first) as f64 * share.clamp(0.0, 1.0)).round() as u64);
            return None;
        }
        if let Moment::FromHere(ns) = moment {
            return self.shift(ns, reel);
        }
        let (started, ended) = (reel.when(first)?.wall_ns, reel.when(last)?.wall_ns);
        let wall = moment.wall(started, ended, reel.when(self.sample)?.wall_ns)?;
        self.go(reel.nearest(wall)?.clamp(first, last));
        match wall {
            wall if wall < started => Some("this is the start: the recording begins later".to_owned()),
            wall if wall > ended => Some("this is the end: the recording ends before".to_owned()),
            _ => None,
        }
    }

    /// While it plays, what was just gone to is not what is before: so many samples are left out.
    fn slack(&self) -> u64 {
        if self.playing { (self.speed() * 2.0).ceil() as u64 } else { 0 }
    }

    fn seek_finding(&mut self, next: bool, reel: &mut dyn Reel) -> Option<String> {
        let timeline = reel.timeline();
        let from = if next { self.sample } else { self.sample.saturating_sub(self.slack()) };
        let Some((place, changes)) = timeline.around(from, next) else {
            let so_far = if reel.is_judged() { "" } else { ", as far as it is judged by now" };
            return Some(no_finding(timeline, next) + so_far);
        };
        let (said, sample) = (timeline.said(place, changes), changes.first().map_or(from, |change| change.sample));
        let (first, last) = reel.range()?;
        self.go(sample.clamp(first, last));
        Some(said)
    }

    fn seek_mark(&mut self, next: bool, reel: &mut dyn Reel) -> Option<String> {
        let (slack, marks) = (self.slack(), reel.marks());
        let found = if next {
            marks.iter().position(|mark| mark.0 > self.sample)
        } else {
            marks.iter().rposition(|mark| mark.0.saturating_add(slack) < self.sample)
        };
        let Some((number, (sample, text))) = found.and_then(|at| Some((at + 1, marks.get(at)?))) else {
            let which = if next { "later" } else { "earlier" };
            return Some(if marks.is_empty() { "there are no marks".to_owned() } else { format!("no {which} mark") });
        };
        let said = format!("mark {number} of {}: {text}", marks.len());
        let sample = *sample;
        self.go(sample.min(reel.range()?.1));
        Some(said)
    }

    /// Goes on as far as time says; gives what is to be said.
    pub fn advance(&mut self, now_ns: u64, reel: &mut dyn Reel) -> Option<String> {
        let (first, last) = reel.range()?;
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
                return self.ended(last, reel.grows());
            }
            let takes = if at_end { OVER_HOLE_NS } else { self.takes(reel) } as f64;
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
        (!grows).then(|| "this is the end of the recording".to_owned())
    }

    /// How long the next sample is away in playing, in ns.
    fn takes(&self, reel: &mut dyn Reel) -> u64 {
        let usual = reel.interval_ns();
        let (Some(here), Some(next)) = (reel.when(self.sample), reel.when(self.sample + 1)) else { return usual };
        let before = self.sample.checked_sub(1).and_then(|before| reel.when(before));
        let before = before.and_then(|before| here.mono_ns.checked_sub(before.mono_ns));
        pace(next.mono_ns.checked_sub(here.mono_ns), usual.max(before.unwrap_or(0))).0
    }

    /// When to look again, on the viewer's clock; none while nothing moves by itself.
    pub fn due_ns(&self, reel: &mut dyn Reel) -> Option<u64> {
        let looked = self.looked_ns.filter(|_| self.playing && !self.following)?;
        reel.range()?;
        let left = (self.takes(reel) as f64 - self.passed_ns).max(0.0) / self.speed();
        Some(looked.saturating_add((left as u64).max(PICTURE_NS)))
    }
}

fn ends(back: bool) -> String {
    let end = if back { "the oldest" } else { "the last" };
    format!("this is {end} sample")
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
pub fn by_own_time(mono_ns: u64, (first, last): (u64, u64), reel: &mut dyn Reel) -> Option<u64> {
    let (mut low, mut high) = (first, last);
    while low < high {
        let middle = low + (high - low) / 2;
        if reel.when(middle)?.mono_ns < mono_ns { low = middle + 1 } else { high = middle }
    }
    let before = low.saturating_sub(1).max(first);
    let away = |when: When| when.mono_ns.abs_diff(mono_ns);
    Some(if away(reel.when(before)?) < away(reel.when(low)?) { before } else { low })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000;

    /// Samples at given seconds of the machine's own time and of the wall clock.
    struct Fake {
        whens: Vec<When>,
        marks: Vec<(u64, String)>,
        timeline: Timeline,
        grows: bool,
        first: u64,
    }

    impl Fake {
        fn new(times: impl IntoIterator<Item = (u64, i64)>) -> Self {
            let when = |(mono, wall)| When { wall_ns: wall * SECOND as i64, mono_ns: mono * SECOND };
            Self {
                whens: times.into_iter().map(when).collect(),
                marks: Vec::new(),
                timeline: Timeline::default(),
                grows: false,
                first: 0,
            }
        }

        fn seconds(count: u64) -> Self {
            Self::new((0..count).map(|second| (second, 36_000 + second as i64)))
        }
    }

    impl Reel for Fake {
        fn range(&self) -> Option<(u64, u64)> {
            Some((self.first, (self.whens.len() as u64).checked_sub(1)?))
        }
        fn when(&mut self, sample: u64) -> Option<When> {
            self.whens.get(sample as usize).copied().filter(|_| sample >= self.first)
        }
        fn nearest(&mut self, wall_ns: i64) -> Option<u64> {
            let away = |when: &When| when.wall_ns.saturating_sub(wall_ns).unsigned_abs();
            (0..self.whens.len() as u64).min_by_key(|&at| away(&self.whens[at as usize]))
        }
        fn marks(&self) -> &[(u64, String)] {
            &self.marks
        }
        fn timeline(&self) -> &Timeline {
            &self.timeline
        }
        fn grows(&self) -> bool {
            self.grows
        }
        fn interval_ns(&self) -> u64 {
            SECOND
        }
    }

    /// Plays for so long in looks of 50 ms.
    fn play(transport: &mut Transport, reel: &mut Fake, from_ns: u64, for_ns: u64) -> u64 {
        let mut now = from_ns;
        while now <= from_ns + for_ns {
            transport.advance(now, reel);
            now += 50_000_000;
        }
        transport.sample
    }

    #[test]
    fn it_plays_as_fast_as_told() {
        for (speed, after_ten) in [(0.1, 1), (1.0, 10), (10.0, 100), (100.0, 1000), (1000.0, 10_000)] {
            let (mut transport, mut reel) = (Transport::default(), Fake::seconds(20_000));
            transport.set_speed(speed);
            assert!((transport.speed() - speed).abs() < 1e-9);
            assert_eq!(play(&mut transport, &mut reel, 77, 10 * SECOND), after_ten, "{speed}");
        }
    }

    #[test]
    fn it_stops_at_the_end_and_starts_again() {
        let (mut transport, mut reel) = (Transport::default(), Fake::seconds(5));
        play(&mut transport, &mut reel, 0, 20 * SECOND);
        assert_eq!((transport.sample, transport.playing), (4, false));
        assert_eq!(transport.due_ns(&mut reel), None);
        transport.order(&Order::Toggle, &mut reel);
        assert_eq!((transport.sample, transport.playing), (0, true));
    }

    #[test]
    fn what_grows_is_followed_until_one_steps_back() {
        let (mut transport, mut reel) = (Transport::default(), Fake::seconds(5));
        reel.grows = true;
        play(&mut transport, &mut reel, 0, 10 * SECOND);
        assert!(transport.following && transport.playing && transport.sample == 4);
        reel.whens.extend(Fake::seconds(9).whens.drain(5..));
        transport.advance(11 * SECOND, &mut reel);
        assert_eq!(transport.sample, 8, "new samples are shown at once");
        transport.order(&Order::Step(-1), &mut reel);
        assert!(!transport.following && !transport.playing && transport.sample == 7);
        transport.order(&Order::End, &mut reel);
        assert!(transport.following && transport.playing && transport.sample == 8);
        // What a ring no longer keeps cannot be shown.
        transport.order(&Order::Start, &mut reel);
        reel.first = 3;
        transport.advance(11 * SECOND, &mut reel);
        assert_eq!(transport.sample, 3);
    }

    #[test]
    fn holes_and_clock_steps_are_played_over() {
        // An hour without samples; a suspend (own time stands still); the clock set back; another boot.
        let times = [(0, 0), (1, 1), (3601, 3601), (3602, 3602), (3603, 7203), (3604, 4), (0, 5), (1, 6)];
        let (mut transport, mut reel) = (Transport::default(), Fake::new(times));
        assert_eq!(play(&mut transport, &mut reel, 0, 7 * SECOND), 7);
        // Slow pipes give a sample every ten seconds: these are no holes once that is usual.
        let mut slow = Fake::new((0..10).map(|at| (at * 10, at as i64 * 10)));
        let mut transport = Transport { sample: 1, ..Transport::default() };
        assert_eq!(play(&mut transport, &mut slow, 0, 20 * SECOND), 3);
    }

    #[test]
    fn steps_minutes_and_ends() {
        let (mut transport, mut reel) = (Transport::default(), Fake::seconds(600));
        let mut go = |order: Order| {
            let said = transport.order(&order, &mut reel);
            (transport.sample, said)
        };
        assert_eq!(go(Order::Step(1)), (1, None));
        assert_eq!(go(Order::Shift(60 * SECOND as i64)), (61, None));
        assert_eq!(go(Order::Step(-100)).0, 0);
        assert!(go(Order::Shift(-60 * SECOND as i64)).1.unwrap().contains("oldest"));
        assert_eq!(go(Order::End).0, 599);
        assert!(go(Order::Step(1)).1.unwrap().contains("last"));
        assert_eq!(go(Order::Go(Moment::Share(0.5))).0, 300);
        assert_eq!(go(Order::Go(Moment::FromStart(60 * SECOND as i64))).0, 60);
        assert_eq!(go(Order::Go(Moment::FromHere(-30 * SECOND as i64))).0, 30);
        assert_eq!(go(Order::Go(Moment::TimeOfDay(36_000 + 100))).0, 100);
        assert!(go(Order::Go(Moment::TimeOfDay(1))).1.unwrap().contains("start"));
        assert!(go(Order::Go(Moment::FromHere(7200 * SECOND as i64))).1.is_none());
        assert_eq!(go(Order::Start), (0, None));
    }

    #[test]
    fn a_step_of_the_clock_does_not_hold_the_minute_keys() {
        // After five minutes the clock is set back by an hour.
        let mut reel = Fake::new((0..600).map(|at| (at, if at < 300 { 7200 + at as i64 } else { 3600 + at as i64 })));
        let mut transport = Transport { sample: 290, ..Transport::default() };
        transport.order(&Order::Shift(60 * SECOND as i64), &mut reel);
        assert_eq!(transport.sample, 350);
        transport.order(&Order::Shift(-60 * SECOND as i64), &mut reel);
        assert_eq!(transport.sample, 290);
    }

    #[test]
    fn a_span_is_looped_until_told_otherwise() {
        let (mut transport, mut reel) = (Transport::default(), Fake::seconds(100));
        assert!(transport.order(&Order::LoopEnd, &mut reel).unwrap().contains("after its start"));
        transport.go(10);
        transport.order(&Order::LoopStart, &mut reel);
        transport.go(13);
        transport.order(&Order::LoopEnd, &mut reel);
        assert_eq!(transport.span, (Some(10), Some(13)));
        let mut seen = Vec::new();
        for second in 0..8 {
            transport.advance(second * SECOND, &mut reel);
            seen.push(transport.sample);
        }
        assert_eq!(seen, [13, 10, 11, 12, 13, 10, 11, 12]);
        // Beyond the span it plays on.
        transport.go(50);
        assert_eq!(play(&mut transport, &mut reel, 7 * SECOND, 5 * SECOND), 55);
        transport.order(&Order::LoopOff, &mut reel);
        assert_eq!(transport.span, (None, None));
    }

    #[test]
    fn marks_are_gone_to_and_told() {
        let (mut transport, mut reel) = (Transport { playing: false, ..Transport::default() }, Fake::seconds(100));
        assert_eq!(transport.order(&Order::Mark { next: true }, &mut reel), Some("there are no marks".to_owned()));
        reel.marks = vec![(20, "load up".to_owned()), (60, "load down".to_owned())];
        assert_eq!(transport.order(&Order::Mark { next: true }, &mut reel), Some("mark 1 of 2: load up".to_owned()));
        transport.order(&Order::Mark { next: true }, &mut reel);
        assert_eq!(transport.sample, 60);
        assert_eq!(transport.order(&Order::Mark { next: true }, &mut reel), Some("no later mark".to_owned()));
        // While it plays, the mark that was just gone to is left behind.
        transport.playing = true;
        transport.sample = 61;
        transport.order(&Order::Mark { next: false }, &mut reel);
        assert_eq!(transport.sample, 20);
    }

    #[test]
    fn findings_are_gone_to_and_told() {
        use topotop_model::judge::Change;
        use topotop_model::rules::{Severity, Subject};
        let (mut transport, mut reel) = (Transport { playing: false, ..Transport::default() }, Fake::seconds(100));
        let to = |next| Order::Finding { next };
        assert_eq!(transport.order(&to(true), &mut reel), Some("no finding came or went".to_owned()));
        let change = |sample, came| {
            let (rule, title, subject) = ("IO-01".into(), "sda".into(), Subject::Host);
            let severity = Severity::Warning;
            Change { sample, wall_ns: 0, mono_ns: 0, came, rule, subject, severity, title }
        };
        reel.timeline = Timeline::of(vec![change(20, true), change(60, false), change(500, true)]);
        assert_eq!(transport.order(&to(true), &mut reel), Some("change 1 of 3: IO-01 came: sda".to_owned()));
        transport.order(&to(true), &mut reel);
        assert_eq!(transport.sample, 60);
        transport.order(&to(true), &mut reel);
        assert_eq!(transport.sample, 99, "no further than the recording goes");
        transport.playing = true;
        transport.sample = 61;
        transport.order(&to(false), &mut reel);
        assert_eq!(transport.sample, 20);
        assert_eq!(transport.order(&to(false), &mut reel), Some("no finding came or went earlier".to_owned()));
    }

    proptest! {
        #[test]
        fn it_is_always_somewhere(
            times in prop::collection::vec((any::<u32>(), any::<i32>()), 1..40),
            orders in prop::collection::vec((0usize..17, any::<i64>()), 0..60),
            grows: bool,
        ) {
            let mut reel = Fake::new(times.iter().map(|&(mono, wall)| (u64::from(mono), i64::from(wall))));
            reel.grows = grows;
            reel.marks = vec![(1, String::new()), (u64::MAX, String::new())];
            let (mut transport, mut now) = (Transport::default(), 0);
            for (kind, value) in orders {
                let order = match kind {
                    0 => Order::Toggle,
                    1 => Order::Step(value),
                    2 => Order::Shift(value),
                    3 => Order::Start,
                    4 => Order::End,
                    5 => Order::Go(Moment::Wall(value)),
                    6 => Order::Go(Moment::TimeOfDay(value.rem_euclid(86_400))),
                    7 => Order::Go(Moment::Share(value as f64)),
                    8 => Order::Mark { next: value > 0 },
                    9 => Order::Faster,
                    10 => Order::Slower,
                    11 => Order::LoopStart,
                    12 => Order::LoopEnd,
                    13 => Order::Sample(value as u64),
                    14 => Order::Go(Moment::FromStart(value)),
                    15 => Order::Finding { next: value > 0 },
                    _ => Order::LoopOff,
                };
                transport.order(&order, &mut reel);
                now += value.unsigned_abs() % (10 * SECOND);
                transport.advance(now, &mut reel);
                prop_assert!(transport.sample < times.len() as u64);
                if let Some(due) = transport.due_ns(&mut reel) {
                    prop_assert!(due > now);
                }
            }
        }
    }
}
