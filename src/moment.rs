//! Times in a recording as people write them: `10m`, `-30s`, `+2h`, `14:05`, `2026-11-21 14:05`, `50%`.

use crate::units;
use jiff::civil::Time;
use jiff::{Span, Zoned};
use topotop_model::locale::{Text, error as errors};
use topotop_model::text::printable;

/// A time in a recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Moment {
    /// Nanoseconds after the start.
    FromStart(i64),
    /// Nanoseconds after the sample on screen; before it when negative.
    FromHere(i64),
    /// A time of day.
    TimeOfDay(Time),
    /// Nanoseconds since 1970, UTC.
    Wall(i64),
    /// A fraction of the recording, 0..1.
    Share(f64),
}

/// The accepted forms, for prompts and errors.
pub const FORMS: Text = errors::TIME_FORMS;

impl Moment {
    /// Parses one of [`FORMS`].
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let ns = |text: &str| units::joined_duration(text).ok().map(|duration| duration.as_nanos() as i64);
        let share = |text: &str| text.trim().parse().ok().filter(|share| (0.0..=100.0).contains(share));
        let moment = match text.chars().next() {
            Some('-') => text.strip_prefix('-').and_then(ns).map(|ns| Self::FromHere(-ns)),
            Some('+') => text.strip_prefix('+').and_then(ns).map(Self::FromHere),
            _ => match text.strip_suffix('%') {
                Some(rest) => share(rest).map(|share: f64| Self::Share(share / 100.0)),
                None => units::parse_time_of_day(text)
                    .map(Self::TimeOfDay)
                    .or_else(|| units::parse_date_time(text).map(Self::Wall))
                    .or_else(|| ns(text).map(Self::FromStart)),
            },
        };
        moment.ok_or_else(|| errors::InvalidTime { text: &printable(text), forms: &FORMS }.to_string())
    }

    /// The wall time in a recording from `first` to `last` with the sample at `here` on screen; none for a fraction, which
    /// counts samples.
    pub fn wall(self, first: i64, last: i64, here: i64) -> Option<i64> {
        match self {
            Self::FromStart(ns) => Some(first.saturating_add(ns)),
            Self::FromHere(ns) => Some(here.saturating_add(ns)),
            Self::TimeOfDay(time) => Some(time_of_day(time, first, last, here)),
            Self::Wall(wall_ns) => Some(wall_ns),
            Self::Share(_) => None,
        }
    }
}

/// The day is the one that puts the time into the recording, and among those the nearest to `here`.
fn time_of_day(time: Time, first: i64, last: i64, here: i64) -> i64 {
    let outside = |wall: i64| (first.saturating_sub(wall)).max(wall.saturating_sub(last)).max(0);
    let days = [first, here, last].into_iter().flat_map(|wall| [-1, 0, 1].map(|day| (wall, day)));
    let walls = days.filter_map(|(wall, day)| on_day(&units::zoned(wall), day, time));
    walls.min_by_key(|&wall| (outside(wall), here.saturating_sub(wall).unsigned_abs())).unwrap_or(here)
}

/// A time of day so many days after the day of `at`; none beyond what nanoseconds can count.
fn on_day(at: &Zoned, days: i64, time: Time) -> Option<i64> {
    let date = at.date().checked_add(Span::new().days(days)).ok()?;
    let time = date.to_datetime(time).to_zoned(at.time_zone().clone()).ok()?;
    i64::try_from(time.timestamp().as_nanosecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::Moment;
    use jiff::civil::time;
    use proptest::prelude::*;

    const SECOND_NS: i64 = 1_000_000_000;
    const DAY_NS: i64 = 86_400 * SECOND_NS;
    const MINUTE: i64 = 60 * SECOND_NS;

    #[test]
    fn what_people_write() {
        let parse = |text| Moment::parse(text).unwrap();
        assert_eq!(parse("10m"), Moment::FromStart(10 * MINUTE));
        assert_eq!(parse("1h2m30s"), Moment::FromStart(62 * MINUTE + 30 * SECOND_NS));
        assert_eq!(parse(" -30s "), Moment::FromHere(-30 * SECOND_NS));
        assert_eq!(parse("+2h"), Moment::FromHere(120 * MINUTE));
        assert_eq!(parse("14:05"), Moment::TimeOfDay(time(14, 5, 0, 0)));
        assert_eq!(parse("14:05:30"), Moment::TimeOfDay(time(14, 5, 30, 0)));
        assert_eq!(parse("1970-01-02 00:01"), Moment::Wall(DAY_NS + MINUTE));
        assert_eq!(parse("1970-01-02T00:00:01Z"), Moment::Wall(DAY_NS + SECOND_NS));
        assert_eq!(parse("1970-01-02"), Moment::Wall(DAY_NS));
        assert_eq!(parse("1970-01-02T02:00:00+02:00"), Moment::Wall(DAY_NS));
        assert_eq!(parse("50%"), Moment::Share(0.5));
        for wrong in ["", "soon", "101%", "-", "+x", "25:00", "2026-13-01", "2026-02-29", "--3s", "%"] {
            assert!(Moment::parse(wrong).unwrap_err().contains("invalid time"), "{wrong}");
        }
    }

    #[test]
    fn a_time_of_day_falls_into_the_recording() {
        let day = 20_000 * DAY_NS;
        let at = |hours: i64| day + hours * 60 * MINUTE;
        let wall = |text: &str, first, last, here| Moment::parse(text).unwrap().wall(first, last, here).unwrap();
        assert_eq!(wall("14:00", at(13), at(15), at(13)), at(14));
        // Over midnight: the day that is in it.
        assert_eq!(wall("01:00", at(22), at(26), at(23)), at(25));
        assert_eq!(wall("23:00", at(22), at(26), at(25)), at(23));
        // Over three days: the one next to what is shown.
        assert_eq!(wall("12:00", at(0), at(72), at(40)), at(36));
        // Not in it at all: the nearest end will do.
        assert_eq!(wall("16:00", at(13), at(15), at(13)), at(16));
    }

    proptest! {
        #[test]
        fn no_text_panics(text: String, first: i64, last: i64, here: i64) {
            if let Ok(moment) = Moment::parse(&text) {
                let _ = moment.wall(first, last, here);
            }
        }

        #[test]
        fn times_are_read_back(seconds in 0i64..4_000_000_000, first: i64, last: i64, here: i64) {
            let text = crate::units::date_time(seconds * SECOND_NS);
            prop_assert_eq!(Moment::parse(&text), Ok(Moment::Wall(seconds * SECOND_NS)));
            let time = crate::units::time_of_day(seconds * SECOND_NS);
            let _ = Moment::parse(&time).unwrap().wall(first, last, here);
        }
    }
}
