//! Values with three digits and their unit, and differences of values.

use std::borrow::Cow;
use topotop_model::diff::{Cost, Measure};
use topotop_model::locale::diff as text;
use topotop_model::locale::unit;

/// A value of a metric: `93%`, `4.2%`, `12.1k/s`, `1.20 GiB`.
pub(crate) fn value(measure: Measure, value: f64) -> String {
    let (number, unit) = parts(measure, value);
    format!("{number}{unit}")
}

/// Where most values lie: `91–95%`; none where both ends look alike.
pub(super) fn range(measure: Measure, low: f64, high: f64, dash: &str) -> Option<String> {
    let ((from, unit), (to, other)) = (parts(measure, low), parts(measure, high));
    match unit == other {
        true if from == to => None,
        true => Some(format!("{from}{dash}{to}{unit}")),
        false => Some(format!("{from}{unit}{dash}{to}{other}")),
    }
}

/// A difference: in points for shares, else as a percentage of what there was, or in the unit itself where there was
/// nothing.
pub(super) fn change(measure: Measure, before: f64, after: f64, minus: &str) -> String {
    let shift = after - before;
    let sign = if shift < 0.0 { minus } else { "+" };
    if measure == Measure::Share {
        return text::Points { change: &format!("{sign}{}", digits(shift.abs() * 100.0)) }.to_string();
    }
    let ratio = if before.abs() > 0.0 { shift.abs() / before.abs() } else { f64::INFINITY };
    match ratio {
        ratio if ratio < 10.0 => format!("{sign}{}%", digits(ratio * 100.0)),
        _ => format!("{sign}{}", value(measure, shift.abs())),
    }
}

/// A number of the application with three digits and the unit that its user gave it.
pub(crate) fn own(value: f64, unit: &str) -> String {
    let (scaled, prefix) = scaled(value, 1000.0, ["", "k", "M", "G", "T"]);
    let space = if unit.is_empty() || unit.starts_with('/') { "" } else { " " };
    format!("{}{prefix}{space}{unit}", significant(scaled))
}

/// A cost of a unit of work: `26.3 ms`, `1.20 kB`, `4.10`.
pub(super) fn cost(cost: Cost, value: f64) -> String {
    let (scaled, unit) = match cost {
        Cost::Cpu | Cost::Waiting => {
            let units = [(1.0, " s"), (1e3, " ms"), (1e6, " \u{b5}s"), (1e9, " ns")];
            let unit = units.into_iter().find(|(factor, _)| (value * factor).abs() >= 1.0).unwrap_or((1e9, " ns"));
            (value * unit.0, unit.1)
        }
        Cost::NetworkBytes | Cost::DiskBytes => scaled(value, 1000.0, [" B", " kB", " MB", " GB", " TB"]),
        Cost::Packets => (value, ""),
    };
    format!("{}{unit}", significant(scaled))
}

/// A ratio as a change: `−85%`, `+1.2%`, `235×`; in ASCII if the sign is: `-85%`, `235x`.
pub(super) fn ratio(ratio: f64, minus: &str) -> String {
    let change = ratio - 1.0;
    if change >= 10.0 {
        return format!("{}{}", significant(ratio), if minus.is_ascii() { "x" } else { "\u{d7}" });
    }
    format!("{}{}", if change < 0.0 { minus } else { "+" }, part(change.abs()))
}

/// A part of a whole: `4.2%`, `85%`.
pub(crate) fn part(part: f64) -> String {
    let percent = part * 100.0;
    if percent.abs() < 9.95 { format!("{percent:.1}%") } else { format!("{percent:.0}%") }
}

/// Three digits.
fn significant(value: f64) -> String {
    match value.abs() {
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        size if !(1e-12..0.9995).contains(&size) => format!("{value:.2}"),
        size if size >= 0.001 => format!("{value:.4}"),
        _ => format!("{value:.2e}"),
    }
}

fn parts(measure: Measure, value: f64) -> (String, Cow<'static, str>) {
    let (value, unit) = match measure {
        Measure::Cores => return (digits(value), unit::Cores { count: &"" }.to_string().into()),
        Measure::Share => (value * 100.0, "%"),
        Measure::PerSecond => scaled(value, 1000.0, ["/s", "k/s", "M/s", "G/s", "T/s"]),
        Measure::BytesPerSecond => scaled(value, 1024.0, [" B/s", " KiB/s", " MiB/s", " GiB/s", " TiB/s"]),
        Measure::Bytes => scaled(value, 1024.0, [" B", " KiB", " MiB", " GiB", " TiB"]),
        Measure::Milliseconds => (value, " ms"),
        Measure::Megahertz => (value, " MHz"),
        Measure::Count => (value, ""),
        Measure::Number => scaled(value, 1000.0, ["", "k", "M", "G", "T"]),
    };
    (digits(value), unit.into())
}

fn scaled(value: f64, step: f64, units: [&'static str; 5]) -> (f64, &'static str) {
    let mut rest = value;
    let mut unit = "";
    for name in units {
        unit = name;
        if rest.abs() < step * 0.9995 {
            break;
        }
        if name != units[4] {
            rest /= step;
        }
    }
    (rest, unit)
}

/// Three digits where there is something behind the point.
fn digits(value: f64) -> String {
    match value.abs() {
        size if size < 0.005 => "0".to_owned(),
        size if size < 0.995 => format!("{value:.2}"),
        size if size < 9.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{change, cost, own, range, ratio, value};
    use topotop_model::diff::{Cost, Measure};

    #[test]
    fn numbers_of_applications_and_their_costs() {
        assert_eq!([own(67_634.2, "tps"), own(10.0, "/s"), own(0.25, "")], ["67.6k tps", "10.0/s", "0.2500"]);
        assert_eq!([cost(Cost::Cpu, 26.3e-6), cost(Cost::DiskBytes, 8192.0)], ["26.3 \u{b5}s", "8.19 kB"]);
        assert_eq!([ratio(0.152, "-"), ratio(1.012, "-"), ratio(235.0, "-")], ["-85%", "+1.2%", "235x"]);
    }

    #[test]
    fn as_people_write_them() {
        assert_eq!(value(Measure::Share, 0.934), "93%");
        assert_eq!(value(Measure::Share, 0.0419), "4.2%");
        assert_eq!(value(Measure::Cores, 0.104), "0.10 cores");
        assert_eq!(value(Measure::PerSecond, 94_300.0), "94k/s");
        assert_eq!(value(Measure::PerSecond, 999.9), "1.0k/s");
        assert_eq!(value(Measure::Bytes, 1.5 * 1024.0 * 1024.0), "1.5 MiB");
        assert_eq!(value(Measure::BytesPerSecond, 0.0), "0 B/s");
        assert_eq!(value(Measure::Bytes, 1e18), "909495 TiB");
        assert_eq!(range(Measure::Share, 0.91, 0.95, "-").as_deref(), Some("91-95%"));
        assert_eq!(range(Measure::PerSecond, 900.0, 1200.0, "-").as_deref(), Some("900/s-1.2k/s"));
        assert_eq!(range(Measure::Cores, 0.0, 0.001, "-"), None);
    }

    #[test]
    fn differences() {
        assert_eq!(change(Measure::Share, 0.93, 0.12, "-"), "-81 points");
        assert_eq!(change(Measure::PerSecond, 100.0, 162.0, "-"), "+62%");
        assert_eq!(change(Measure::PerSecond, 0.0, 162.0, "-"), "+162/s");
        assert_eq!(change(Measure::Cores, 2.0, 0.0, "-"), "-100%");
        assert_eq!(change(Measure::Bytes, 1.0, 1e9, "-"), "+954 MiB");
    }
}
