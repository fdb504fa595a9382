use super::*;
use jiff::civil::time;
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

impl RecordingIndex for Fake {
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
fn play(transport: &mut Transport, index: &mut Fake, from_ns: u64, for_ns: u64) -> u64 {
    let mut now = from_ns;
    while now <= from_ns + for_ns {
        transport.advance(now, index);
        now += 50_000_000;
    }
    transport.sample
}

#[test]
fn it_plays_as_fast_as_told() {
    for (speed, after_ten) in [(0.1, 1), (1.0, 10), (10.0, 100), (100.0, 1000), (1000.0, 10_000)] {
        let (mut transport, mut index) = (Transport::default(), Fake::seconds(20_000));
        transport.set_speed(speed);
        assert!((transport.speed() - speed).abs() < 1e-9);
        assert_eq!(play(&mut transport, &mut index, 77, 10 * SECOND), after_ten, "{speed}");
    }
}

#[test]
fn it_stops_at_the_end_and_starts_again() {
    let (mut transport, mut index) = (Transport::default(), Fake::seconds(5));
    play(&mut transport, &mut index, 0, 20 * SECOND);
    assert_eq!((transport.sample, transport.playing), (4, false));
    assert_eq!(transport.due_ns(&mut index), None);
    transport.order(&Order::Toggle, &mut index);
    assert_eq!((transport.sample, transport.playing), (0, true));
}

#[test]
fn what_grows_is_followed_until_one_steps_back() {
    let (mut transport, mut index) = (Transport::default(), Fake::seconds(5));
    index.grows = true;
    play(&mut transport, &mut index, 0, 10 * SECOND);
    assert!(transport.following && transport.playing && transport.sample == 4);
    index.whens.extend(Fake::seconds(9).whens.drain(5..));
    transport.advance(11 * SECOND, &mut index);
    assert_eq!(transport.sample, 8, "new samples are shown at once");
    transport.order(&Order::Step(-1), &mut index);
    assert!(!transport.following && !transport.playing && transport.sample == 7);
    transport.order(&Order::End, &mut index);
    assert!(transport.following && transport.playing && transport.sample == 8);
    // What a ring no longer keeps cannot be shown.
    transport.order(&Order::Start, &mut index);
    index.first = 3;
    transport.advance(11 * SECOND, &mut index);
    assert_eq!(transport.sample, 3);
}

#[test]
fn holes_and_clock_steps_are_played_over() {
    // An hour without samples; a suspend (own time stands still); the clock set back; another boot.
    let times = [(0, 0), (1, 1), (3601, 3601), (3602, 3602), (3603, 7203), (3604, 4), (0, 5), (1, 6)];
    let (mut transport, mut index) = (Transport::default(), Fake::new(times));
    assert_eq!(play(&mut transport, &mut index, 0, 7 * SECOND), 7);
    // Slow pipes give a sample every ten seconds: these are no holes once that is usual.
    let mut slow = Fake::new((0..10).map(|at| (at * 10, at as i64 * 10)));
    let mut transport = Transport { sample: 1, ..Transport::default() };
    assert_eq!(play(&mut transport, &mut slow, 0, 20 * SECOND), 3);
}

#[test]
fn steps_minutes_and_ends() {
    let (mut transport, mut index) = (Transport::default(), Fake::seconds(600));
    let mut go = |order: Order| {
        let said = transport.order(&order, &mut index);
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
    assert_eq!(go(Order::Go(Moment::TimeOfDay(time(10, 1, 40, 0)))).0, 100);
    assert!(go(Order::Go(Moment::TimeOfDay(time(0, 0, 1, 0)))).1.unwrap().contains("start"));
    assert!(go(Order::Go(Moment::FromHere(7200 * SECOND as i64))).1.is_none());
    assert_eq!(go(Order::Start), (0, None));
}

#[test]
fn a_step_of_the_clock_does_not_hold_the_minute_keys() {
    // After five minutes the clock is set back by an hour.
    let mut index = Fake::new((0..600).map(|at| (at, if at < 300 { 7200 + at as i64 } else { 3600 + at as i64 })));
    let mut transport = Transport { sample: 290, ..Transport::default() };
    transport.order(&Order::Shift(60 * SECOND as i64), &mut index);
    assert_eq!(transport.sample, 350);
    transport.order(&Order::Shift(-60 * SECOND as i64), &mut index);
    assert_eq!(transport.sample, 290);
}

#[test]
fn a_span_is_looped_until_told_otherwise() {
    let (mut transport, mut index) = (Transport::default(), Fake::seconds(100));
    assert!(transport.order(&Order::LoopEnd, &mut index).unwrap().contains("after its start"));
    assert_eq!(transport.order(&Order::LoopOff, &mut index), Some("no loop to stop".to_owned()));
    transport.go(10);
    assert!(transport.order(&Order::LoopStart, &mut index).unwrap().starts_with("loop starts at "));
    transport.go(13);
    transport.order(&Order::LoopEnd, &mut index);
    assert_eq!(transport.span, (Some(10), Some(13)));
    let mut seen = Vec::new();
    for second in 0..8 {
        transport.advance(second * SECOND, &mut index);
        seen.push(transport.sample);
    }
    assert_eq!(seen, [13, 10, 11, 12, 13, 10, 11, 12]);
    // Beyond the span it plays on.
    transport.go(50);
    assert_eq!(play(&mut transport, &mut index, 7 * SECOND, 5 * SECOND), 55);
    transport.order(&Order::LoopOff, &mut index);
    assert_eq!(transport.span, (None, None));
}

#[test]
fn marks_are_gone_to_and_told() {
    let (mut transport, mut index) = (Transport { playing: false, ..Transport::default() }, Fake::seconds(100));
    assert_eq!(transport.order(&Order::Mark { next: true }, &mut index), Some("no marks".to_owned()));
    index.marks = vec![(20, "load up".to_owned()), (60, "load down".to_owned())];
    assert_eq!(transport.order(&Order::Mark { next: true }, &mut index), Some("mark 1 of 2: load up".to_owned()));
    transport.order(&Order::Mark { next: true }, &mut index);
    assert_eq!(transport.sample, 60);
    assert_eq!(transport.order(&Order::Mark { next: true }, &mut index), Some("no later mark".to_owned()));
    // While it plays, the mark that was just gone to is left behind.
    transport.playing = true;
    transport.sample = 61;
    transport.order(&Order::Mark { next: false }, &mut index);
    assert_eq!(transport.sample, 20);
}

#[test]
fn findings_are_gone_to_and_told() {
    use topotop_model::judge::Change;
    use topotop_model::rules::{Severity, Subject};
    let (mut transport, mut index) = (Transport { playing: false, ..Transport::default() }, Fake::seconds(100));
    let to = |next| Order::Finding { next };
    assert_eq!(transport.order(&to(true), &mut index), Some("no finding opened or cleared".to_owned()));
    let change = |sample, came| {
        let (rule, title, subject) = ("IO-01".into(), "sda".into(), Subject::Host);
        let severity = Severity::Warning;
        Change { sample, wall_ns: 0, mono_ns: 0, came, rule, subject, severity, title }
    };
    index.timeline = Timeline::of(vec![change(20, true), change(60, false), change(500, true)]);
    assert_eq!(transport.order(&to(true), &mut index), Some("change 1 of 3: IO-01 opened: sda".to_owned()));
    transport.order(&to(true), &mut index);
    assert_eq!(transport.sample, 60);
    transport.order(&to(true), &mut index);
    assert_eq!(transport.sample, 99, "no further than the recording goes");
    transport.playing = true;
    transport.sample = 61;
    transport.order(&to(false), &mut index);
    assert_eq!(transport.sample, 20);
    assert_eq!(transport.order(&to(false), &mut index), Some("no earlier change of a finding".to_owned()));
}

proptest! {
    #[test]
    fn it_is_always_somewhere(
        times in prop::collection::vec((any::<u32>(), any::<i32>()), 1..40),
        orders in prop::collection::vec((0usize..17, any::<i64>()), 0..60),
        grows: bool,
    ) {
        let mut index = Fake::new(times.iter().map(|&(mono, wall)| (u64::from(mono), i64::from(wall))));
        index.grows = grows;
        index.marks = vec![(1, String::new()), (u64::MAX, String::new())];
        let (mut transport, mut now) = (Transport::default(), 0);
        for (kind, value) in orders {
            let order = match kind {
                0 => Order::Toggle,
                1 => Order::Step(value),
                2 => Order::Shift(value),
                3 => Order::Start,
                4 => Order::End,
                5 => Order::Go(Moment::Wall(value)),
                6 => Order::Go(Moment::TimeOfDay(time(value.rem_euclid(24) as i8, 5, 0, 0))),
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
            transport.order(&order, &mut index);
            now += value.unsigned_abs() % (10 * SECOND);
            transport.advance(now, &mut index);
            prop_assert!(transport.sample < times.len() as u64);
            if let Some(due) = transport.due_ns(&mut index) {
                prop_assert!(due > now);
            }
        }
    }
}
