//! Numbers as short texts that need more than [`super::number`]: a decimal, a sign, a list.

use super::number;
pub use super::number::{Short, bytes, cores, count, percent, seconds};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use topotop_model::IdSet;
use topotop_model::locale::screen::shared as text;

/// A number of the kernel in full, as long as it is short.
pub fn full(value: u64) -> Short {
    if value < 100_000 { Short::from_display(format_args!("{value}")) } else { number::whole(value) }
}

/// How long something has lasted, in whole units: what lasts does not flicker.
pub fn lasted(seconds: f64) -> Short {
    if (0.0..99.5).contains(&seconds) {
        Short::from_display(format_args!("{seconds:.0}s"))
    } else {
        number::seconds(seconds)
    }
}

/// CPU time as top prints it: `1:02.34`, `128:15`, `52h07`.
pub fn cpu_time(seconds: f64) -> Short {
    let whole = seconds as u64;
    let (minutes, rest) = (whole / 60, whole % 60);
    match minutes {
        0..100 => Short::from_display(format_args!("{minutes}:{rest:02}.{:02}", (seconds.fract() * 100.0) as u64)),
        100..6000 => Short::from_display(format_args!("{minutes}:{rest:02}")),
        _ => Short::from_display(format_args!("{}h{:02}", minutes / 60, minutes % 60)),
    }
}

/// Time of day of ns since 1970: `14:05:30`.
pub fn time_of_day(wall_ns: i64, zone: &TimeZone) -> Short {
    let time = Timestamp::from_nanosecond(wall_ns.into()).unwrap_or_default().to_zoned(zone.clone());
    Short::from_display(format_args!("{}", time.strftime("%H:%M:%S")))
}

/// A zone at a time by its distance from UTC, unlike `CST` the same everywhere: `UTC`, `UTC+2`, `UTC+5:30`.
pub fn zone_name(wall_ns: i64, zone: &TimeZone) -> String {
    let seconds = zone.to_offset(Timestamp::from_nanosecond(wall_ns.into()).unwrap_or_default()).seconds();
    let (sign, minutes) = (if seconds < 0 { '-' } else { '+' }, seconds.unsigned_abs() / 60);
    match (minutes / 60, minutes % 60) {
        (0, 0) => "UTC".to_owned(),
        (hours, 0) => format!("UTC{sign}{hours}"),
        (hours, minutes) => format!("UTC{sign}{hours}:{minutes:02}"),
    }
}

/// A CPU: `c17`.
pub fn cpu(id: u32) -> Short {
    Short::from_display(format_args!("c{id}"))
}

/// What `format` makes of a value, or `?` where there is none.
pub fn or_unknown<T>(value: Option<T>, format: impl FnOnce(T) -> Short) -> Short {
    value.map_or_else(|| Short::from_display(format_args!("?")), format)
}

/// A fraction 0..1 in percent with a decimal below ten: `98%`, `1.6%`, `0%`.
pub fn fine_percent(share: f64) -> Short {
    if (0.0005..0.0995).contains(&share) {
        Short::from_display(format_args!("{:.1}%", share * 100.0))
    } else {
        number::percent(share)
    }
}

/// Cores in percent of one, as top has it: `3.4`, `387`.
pub fn hundredths(cores: f64) -> Short {
    let percent = cores * 100.0;
    if percent < 99.95 {
        Short::from_display(format_args!("{:.1}%", percent.max(0.0)))
    } else {
        Short::from_display(format_args!("{percent:.0}%"))
    }
}

/// Bytes with their sign: growth goes both ways.
pub fn signed_bytes(value: f64) -> Short {
    let sign = if value > 0.0 { "+" } else { "-" };
    if value.abs() < 0.5 {
        Short::from_display(format_args!("0"))
    } else {
        Short::from_display(format_args!("{sign}{}", number::bytes(value.abs())))
    }
}

/// Cores with their unit: `3.9 cores`.
pub fn cores_in_text(value: f64) -> String {
    text::Cores { count: &number::cores(value) }.to_string()
}

/// Bytes with a full unit, for text: `512 B`, `1.5 GiB`, `412 GiB`.
pub fn bytes_in_text(value: f64) -> String {
    let short = number::bytes(value);
    let text = short.as_str();
    match text.char_indices().next_back() {
        Some((at, 'B')) => format!("{} B", text.get(..at).unwrap_or_default()),
        Some((at, unit)) if unit.is_ascii_uppercase() => format!("{} {unit}iB", text.get(..at).unwrap_or_default()),
        _ => text.to_owned(),
    }
}

/// Milliseconds without their unit: `0.12`, `3.4`, `120`.
pub fn millis(value: f64) -> Short {
    match value {
        value if !value.is_finite() || value < 0.0 => Short::from_display(format_args!("?")),
        0.0 => Short::from_display(format_args!("0")),
        value if value < 0.005 => Short::from_display(format_args!("<.01")),
        value if value < 0.995 => Short::from_display(format_args!("{value:.2}")),
        value if value < 9.95 => Short::from_display(format_args!("{value:.1}")),
        value if value < 99_999.5 => Short::from_display(format_args!("{value:.0}")),
        value => number::count(value),
    }
}

/// A set as a kernel list of at most `room` characters; a set that is longer ends in its number of ids.
pub fn id_list(set: &IdSet, room: usize) -> String {
    let mut out = String::new();
    if set.is_empty() {
        return text::NONE.to_string();
    }
    for (index, &(first, last)) in set.ranges().iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let part = if first == last { format!("{comma}{first}") } else { format!("{comma}{first}-{last}") };
        if out.len() + part.len() > room {
            return if index == 0 { text::Ids { count: &set.len() }.to_string() } else { cut_list(&out, set, room) };
        }
        out.push_str(&part);
    }
    out
}

fn cut_list(head: &str, set: &IdSet, room: usize) -> String {
    let tail = format!("…({})", set.len());
    let keep = room.saturating_sub(tail.chars().count());
    let head = match head.get(..keep) {
        // Whole parts only: half a number would be another number.
        Some(cut) if !head.get(keep..).is_some_and(|rest| rest.starts_with(',')) => {
            cut.rfind(',').and_then(|at| cut.get(..at)).unwrap_or("")
        }
        Some(cut) => cut,
        None => head,
    };
    format!("{head}{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_that_need_more() {
        assert_eq!(fine_percent(0.016).as_str(), "1.6%");
        assert_eq!(fine_percent(0.98).as_str(), "98%");
        assert_eq!(fine_percent(0.0).as_str(), "0%");
        assert_eq!(cores_in_text(3.94), "3.9 cores");
        assert_eq!(cores(0.05).as_str(), "0.05");
        assert_eq!(cores(f64::NAN).as_str(), "?");
        assert_eq!(bytes_in_text(1.5 * 1024f64.powi(3)), "1.5 GiB");
        assert_eq!(bytes_in_text(512.0), "512 B");
        assert_eq!(bytes_in_text(f64::NAN), "?");
        assert_eq!(millis(0.123).as_str(), "0.12");
        assert_eq!(signed_bytes(-4096.0).as_str(), "-4.0K");
        assert_eq!(signed_bytes(4096.0).as_str(), "+4.0K");
    }

    #[test]
    fn times_are_in_a_zone_that_has_a_name() {
        let hours = |hours| TimeZone::fixed(jiff::tz::offset(hours));
        let half = TimeZone::fixed(jiff::tz::Offset::from_seconds(-12_600).expect("an offset"));
        assert_eq!([hours(0), hours(2), half].map(|zone| zone_name(0, &zone)), ["UTC", "UTC+2", "UTC-3:30"]);
        assert_eq!(time_of_day(-1, &hours(0)).as_str(), "23:59:59");
        assert_eq!(time_of_day(0, &hours(8)).as_str(), "08:00:00");
    }

    #[test]
    fn lists_end_in_their_number() {
        let set = IdSet::from_ids((0..64).map(|id| id * 2));
        assert_eq!(id_list(&set, 12), "0,2,4,6…(64)");
        assert_eq!(id_list(&set, 3), "…(64)");
        assert_eq!(id_list(&IdSet::from_ids(0..64), 12), "0-63");
        assert_eq!(id_list(&IdSet::new(), 12), "none");
    }
}
