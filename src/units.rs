//! Durations, rates and times as people read and write them.

use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;
use topotop_model::locale::error as errors;
use topotop_model::text::printable;

/// `500ms`, `1s`, `1.5s`, `2m`, `1h`; a bare number is seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split(text);
    let scale = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(errors::InvalidDuration { text: &printable(text) }.to_string()),
    };
    let seconds = number.map(|number| number * scale).filter(|seconds| (0.0..=1e9).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| errors::InvalidDuration { text: &printable(text) }.to_string())
}

/// The same with several units, as the program writes it: `3m29s`.
pub fn joined_duration(text: &str) -> Result<Duration, String> {
    let invalid = || errors::InvalidDuration { text: &printable(text) }.to_string();
    let parts = text.split_inclusive(|c: char| !c.is_ascii_digit() && c != '.').collect::<Vec<_>>();
    let several = parts.len() > 1 && parts.iter().all(|part| part.len() > 1);
    if !several {
        return duration(text);
    }
    let sum = parts.into_iter().map(duration).try_fold(Duration::ZERO, |sum, part| sum.checked_add(part.ok()?));
    sum.filter(|sum| sum.as_secs() <= 1_000_000_000).ok_or_else(invalid)
}

/// The shortest interval: below it the monitor would be the load.
pub const SHORTEST: Duration = Duration::from_millis(100);
/// The longest interval.
pub const LONGEST: Duration = Duration::from_hours(1);

/// A duration that sampling can keep.
pub fn interval(text: &str) -> Result<Duration, String> {
    let interval = duration(text)?;
    if (SHORTEST..=LONGEST).contains(&interval) {
        Ok(interval)
    } else {
        Err(errors::InvalidInterval { text: &printable(text) }.to_string())
    }
}

/// `64M`, `512MiB`, `2G` in bytes, by powers of 1024; a bare number is bytes.
pub fn bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let power = match unit.trim_end_matches('B').trim_end_matches('i') {
        "" => 0,
        "k" | "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        _ => return Err(errors::InvalidSize { text: &printable(text) }.to_string()),
    };
    let bytes = number.map(|number| number * 1024f64.powi(power)).filter(|bytes| (0.0..=1e18).contains(bytes));
    bytes.map(|bytes| bytes as u64).ok_or_else(|| errors::InvalidSize { text: &printable(text) }.to_string())
}

/// `24Gbit`, `100M`, `2500Mbit/s` in Mbit/s; a bare number is Mbit/s.
pub fn megabits(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let scale = match unit.trim_end_matches("/s").trim_end_matches("bit") {
        "k" | "K" => 0.001,
        "" | "M" => 1.0,
        "G" => 1000.0,
        "T" => 1_000_000.0,
        _ => return Err(errors::InvalidRate { text: &printable(text) }.to_string()),
    };
    let megabits = number.map(|number| number * scale).filter(|megabits| (1.0..=1e9).contains(megabits));
    megabits.map(|megabits| megabits as u64).ok_or_else(|| errors::InvalidRate { text: &printable(text) }.to_string())
}

/// How many times as fast: `10`, `10x`, `0.5`.
pub fn times(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches(['x', '×']).parse().ok();
    let times = number.filter(|times| (0.1..=1000.0).contains(times));
    times.ok_or_else(|| errors::InvalidSpeed { text: &printable(text) }.to_string())
}

/// A short duration: `500ms`, `1s`, `1.5s`, `2m`.
pub fn short(duration: Duration) -> String {
    let ms = duration.as_millis();
    match ms {
        0..1000 => format!("{ms}ms"),
        _ if ms.is_multiple_of(3_600_000) => format!("{}h", ms / 3_600_000),
        _ if ms.is_multiple_of(60_000) => format!("{}m", ms / 60_000),
        _ if ms.is_multiple_of(1000) => format!("{}s", ms / 1000),
        _ => format!("{:.1}s", duration.as_secs_f64()),
    }
}

/// How long ago or ahead: `12s`, `3m05s`, `2h07m`, `5d03h`.
pub fn span(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3600..86400 => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{}d{:02}h", seconds / 86400, seconds / 3600 % 24),
    }
}

static ZONE: OnceLock<TimeZone> = OnceLock::new();

/// From now on people read and write times in this machine's zone (TZ, else /etc/localtime); documents keep UTC.
pub fn use_local_zone() {
    ZONE.get_or_init(|| if names_a_file(std::env::var_os("TZ")) { TimeZone::system() } else { TimeZone::UTC });
}

/// The largest description of a zone.
const MOST_ZONE_BYTES: u64 = 1 << 20;

/// False where TZ leads to a FIFO or a device, which would be read without end.
fn names_a_file(variable: Option<OsString>) -> bool {
    let name = variable.unwrap_or_default();
    let name = name.to_string_lossy();
    let name = name.strip_prefix(':').unwrap_or(&name);
    let own = std::env::var_os("TZDIR").map(PathBuf::from);
    let folders = own.into_iter().chain([PathBuf::from("/usr/share/zoneinfo")]);
    let mut known = folders.filter_map(|folder| folder.join(name).metadata().ok());
    known.all(|facts| facts.is_dir() || (facts.is_file() && facts.len() <= MOST_ZONE_BYTES))
}

/// The zone of times that people read and write: UTC until [`use_local_zone`].
pub fn zone() -> &'static TimeZone {
    static UTC: TimeZone = TimeZone::UTC;
    ZONE.get().unwrap_or(&UTC)
}

/// Nanoseconds since 1970 as date and time in the zone of people.
pub fn zoned(wall_ns: i64) -> Zoned {
    Timestamp::from_nanosecond(wall_ns.into()).unwrap_or_default().to_zoned(zone().clone())
}

/// The time of day: `14:05:30`.
pub fn time_of_day(wall_ns: i64) -> String {
    zoned(wall_ns).strftime("%H:%M:%S").to_string()
}

/// Date and time: `2026-11-21 14:05:30`.
pub fn date_time(wall_ns: i64) -> String {
    zoned(wall_ns).strftime("%F %H:%M:%S").to_string()
}

/// Day and time of day without year and seconds: `11-21 14:05`.
pub fn day_and_minute(wall_ns: i64) -> String {
    zoned(wall_ns).strftime("%m-%d %H:%M").to_string()
}

/// The zone that the other times here are in, at that time: `UTC`, `UTC+2`.
pub fn zone_name(wall_ns: i64) -> String {
    topotop_widgets::parts::units::zone_name(wall_ns, zone())
}

/// A time in ns since 1970 as RFC 3339 in UTC, to the millisecond: for documents.
pub fn rfc3339(wall_ns: i64) -> String {
    format!("{:.3}", Timestamp::from_nanosecond(wall_ns.into()).unwrap_or_default())
}

/// `14:05` or `14:05:30`.
pub fn parse_time_of_day(text: &str) -> Option<Time> {
    Time::strptime("%H:%M", text).or_else(|_| Time::strptime("%H:%M:%S", text)).ok()
}

/// `2026-11-21`, `2026-11-21 14:05`, or `2026-11-21T14:05:30Z` in a zone of its own, as ns since 1970.
pub fn parse_date_time(text: &str) -> Option<i64> {
    let civil = || Some(text.parse::<DateTime>().ok()?.to_zoned(zone().clone()).ok()?.timestamp());
    let time = text.contains('-').then(|| text.parse().ok().or_else(civil))??;
    i64::try_from(Timestamp::as_nanosecond(time)).ok()
}

fn split(text: &str) -> (Option<f64>, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number.parse().ok(), unit.trim())
}

#[cfg(test)]
mod tests {
    use super::{
        bytes, date_time, day_and_minute, duration, interval, megabits, parse_time_of_day, rfc3339, short, span,
        time_of_day,
    };
    use jiff::civil::time;
    use proptest::prelude::*;
    use std::time::Duration;

    #[test]
    fn units() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("2 m"), Ok(Duration::from_mins(2)));
        assert_eq!(duration("3"), Ok(Duration::from_secs(3)));
        assert!(duration("fast").is_err() && duration("1y").is_err() && duration("").is_err());
        assert!(interval("1ms").is_err() && interval("2h").is_err());
        assert_eq!(megabits("24Gbit"), Ok(24_000));
        assert_eq!(megabits("2.5Gbit/s"), Ok(2_500));
        assert_eq!(megabits("800"), Ok(800));
        assert!(megabits("0").is_err() && megabits("24 parsecs").is_err());
        assert_eq!(["512M", "1.5GiB", "64 KB", "7"].map(bytes), [Ok(512 << 20), Ok(3 << 29), Ok(64 << 10), Ok(7)]);
        assert!(["", "M", "-1M", "1X", "1e9G"].iter().all(|text| bytes(text).is_err()));
        assert_eq!((short(Duration::from_millis(1500)), span(3725)), ("1.5s".into(), "1h02m".into()));
        assert_eq!(date_time(0), "1970-01-01 00:00:00");
        assert_eq!(date_time(951_782_400_000_000_000), "2000-02-29 00:00:00");
        assert_eq!(date_time(1_767_225_599_000_000_000), "2025-12-31 23:59:59");
        assert_eq!(day_and_minute(951_782_400_000_000_000), "02-29 00:00");
        assert_eq!(time_of_day(-1), "23:59:59");
        assert_eq!(parse_time_of_day("9:05"), Some(time(9, 5, 0, 0)));
        assert_eq!(parse_time_of_day("14:05:07"), Some(time(14, 5, 7, 0)));
        assert!(["24:00", "1", "1:2:3:4", "-1:00", ""].iter().all(|text| parse_time_of_day(text).is_none()));
    }

    #[test]
    fn times_as_json_has_them() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(951_782_400_123_000_000), "2000-02-29T00:00:00.123Z");
        assert_eq!(rfc3339(1_790_000_000_999_999_999), "2026-09-21T14:13:20.999Z");
        assert_eq!(rfc3339(-1_000_000), "1969-12-31T23:59:59.999Z");
    }

    proptest! {
        #[test]
        fn no_text_panics(text: String) {
            let _ = (duration(&text), interval(&text), megabits(&text), bytes(&text), parse_time_of_day(&text));
        }

        #[test]
        fn short_is_read_back(ms in 100u64..3_600_000) {
            let whole = Duration::from_millis(ms / 1000 * 1000 + if ms > 1000 { 0 } else { ms % 1000 });
            prop_assert_eq!(interval(&short(whole)).unwrap_or(whole), whole);
        }
    }
}
