//! Numbers of bounded width, without allocation: columns never jump.

use std::fmt::Write as _;

/// A short text on the stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Short {
    bytes: [u8; 12],
    len: u8,
}

impl Short {
    /// The text.
    pub fn as_str(&self) -> &str {
        self.bytes.get(..usize::from(self.len)).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or("?")
    }

    /// Its columns: all of its characters take one.
    pub fn width(&self) -> u16 {
        self.as_str().chars().count() as u16
    }

    /// Formats something short; what is longer than 12 bytes is cut off.
    pub fn from_display(args: std::fmt::Arguments<'_>) -> Self {
        let mut short = Self::default();
        // It takes what fits and never fails.
        let _ = short.write_fmt(args);
        short
    }
}

impl std::fmt::Write for Short {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for c in text.chars() {
            let (start, end) = (usize::from(self.len), usize::from(self.len) + c.len_utf8());
            let Some(room) = self.bytes.get_mut(start..end) else { break };
            c.encode_utf8(room);
            self.len = end as u8;
        }
        Ok(())
    }
}

impl std::fmt::Display for Short {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

macro_rules! short {
    ($($arg:tt)*) => { Short::from_display(format_args!($($arg)*)) };
}

const UNITS: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
const BYTE_UNITS: [&str; 7] = ["B", "K", "M", "G", "T", "P", "E"];

/// A share as a percentage, at most 4 columns; what is not zero is not shown as zero: `0%`, `<1%`, `98%`, `100%`.
pub fn percent(share: f64) -> Short {
    match share * 100.0 {
        value if !value.is_finite() => short!("?"),
        value if value > 0.0 && value < 0.5 => short!("<1%"),
        value if value >= 999.5 => short!(">9x"),
        value => short!("{:.0}%", value.max(0.0)),
    }
}

/// A count or rate, at most 4 columns: `0`, `0.3`, `312`, `1.2k`, `94k`, `1.2M`.
pub fn count(value: f64) -> Short {
    scaled(value, 1000.0, &UNITS, false)
}

/// A number that may be far below one, at most 5 columns: `0`, `2e-5`, `0.012`, `0.30`, `1.2k`.
pub fn small(value: f64) -> Short {
    match value {
        value if value > 0.0 && value < 1e-99 => short!("0"),
        value if value > 0.0 && value < 0.000_95 => short!("{value:.0e}"),
        value if value > 0.0 && value < 0.099_5 => short!("{value:.3}"),
        value if value > 0.0 && value < 0.95 => short!("{value:.2}"),
        value => count(value),
    }
}

/// A count of the kernel, at most 4 columns.
pub fn whole(value: u64) -> Short {
    count(value as f64)
}

/// Bytes in binary units, at most 5 columns: `0B`, `512B`, `4.0K`, `12.1G`, `412G`.
pub fn bytes(value: f64) -> Short {
    scaled(value, 1024.0, &BYTE_UNITS, true)
}

/// Bytes of the kernel, at most 5 columns.
pub fn whole_bytes(value: u64) -> Short {
    bytes(value as f64)
}

/// Cores, at most 4 columns: `0`, `0.05`, `3.9`, `128`; their heading or text names the unit.
pub fn cores(value: f64) -> Short {
    match value {
        value if !value.is_finite() => short!("?"),
        value if value <= 0.0 => short!("0"),
        value if value < 0.005 => short!("<.01"),
        value if value < 0.995 => short!("{value:.2}"),
        value if value < 99.95 => short!("{value:.1}"),
        value if value < 9_999.5 => short!("{value:.0}"),
        _ => short!(">9k"),
    }
}

/// A time span, at most 4 columns: `0.4s`, `14s`, `14m`, `3h`, `12d`, `>1y`.
pub fn seconds(value: f64) -> Short {
    match value {
        value if !value.is_finite() || value < 0.0 => short!("?"),
        value if value < 9.95 => short!("{value:.1}s"),
        value if value < 99.5 => short!("{value:.0}s"),
        value if value < 100.0 * 60.0 => short!("{:.0}m", value / 60.0),
        value if value < 72.0 * 3600.0 => short!("{:.0}h", value / 3600.0),
        value if value < 366.0 * 86_400.0 => short!("{:.0}d", value / 86_400.0),
        _ => short!(">1y"),
    }
}

/// Milliseconds, at most 6 columns: `0.02ms`, `0.4ms`, `11ms`, `1.2s`.
pub fn millis(value: f64) -> Short {
    match value {
        value if !value.is_finite() || value < 0.0 => short!("?"),
        value if value < 0.0995 => short!("{value:.2}ms"),
        value if value < 9.95 => short!("{value:.1}ms"),
        value if value < 999.5 => short!("{value:.0}ms"),
        value => seconds(value / 1000.0),
    }
}

/// A clock, at most 4 columns: `800M`, `3.4G`.
pub fn mhz(value: f64) -> Short {
    match value {
        value if !value.is_finite() || value < 0.0 => short!("?"),
        value if value < 999.5 => short!("{value:.0}M"),
        value => short!("{:.1}G", (value / 1000.0).min(99.9)),
    }
}

/// A small number as it is.
pub fn id(value: u32) -> Short {
    short!("{value}")
}

fn scaled(value: f64, step: f64, units: &[&str; 7], bytes: bool) -> Short {
    if !value.is_finite() || value < 0.0 {
        return short!("?");
    }
    // An empty sum of floats is minus zero.
    let mut value = value + 0.0;
    let mut unit = 0;
    // Also three digits of the next lower unit are the widest that fits: 1000 K is 1.0 M whatever the step.
    while value >= 999.5 && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let name = units.get(unit).copied().unwrap_or_default();
    match (unit, bytes) {
        (0, true) => short!("{value:.0}{name}"),
        (0, false) if value < 9.95 && value.fract().abs() >= 0.05 => short!("{value:.1}"),
        (0, false) if value > 0.0 && value < 0.05 => short!("<.1"),
        (0, false) => short!("{value:.0}"),
        (_, true) if value < 99.95 => short!("{value:.1}{name}"),
        (_, false) if value < 9.95 => short!("{value:.1}{name}"),
        _ if value >= 999.5 => short!(">999{name}"),
        _ => short!("{value:.0}{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_people_write_them() {
        let all = |format: fn(f64) -> Short, values: &[f64]| {
            values.iter().map(|&value| format(value).as_str().to_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(all(percent, &[0.0, 0.001, 0.006, 0.98, 1.0, 4.2, 1e9]), "0% <1% 1% 98% 100% 420% >9x");
        assert_eq!(
            all(count, &[0.0, 0.02, 0.3, 3.0, 312.0, 999.6, 1240.0, 94e3, 1.2e6, 18e18]),
            "0 <.1 0.3 3 312 1.0k 1.2k 94k 1.2M 18E"
        );
        assert_eq!(all(small, &[0.0, 2e-5, 0.0123, 0.3, 3.0, 1240.0]), "0 2e-5 0.012 0.30 3 1.2k");
        assert_eq!(all(bytes, &[0.0, 512.0, 4096.0, 1020.0, 1.3e10, 4.4e11]), "0B 512B 4.0K 1.0K 12.1G 410G");
        assert_eq!(all(count, &[-0.0]), "0");
        assert_eq!(all(cores, &[0.0, 3.94, 128.0]), "0 3.9 128");
        assert_eq!(all(seconds, &[0.4, 14.0, 840.0, 90e3, 9e5, 1e12]), "0.4s 14s 14m 25h 10d >1y");
        assert_eq!(all(millis, &[0.02, 0.4, 11.4, 1200.0]), "0.02ms 0.4ms 11ms 1.2s");
        assert_eq!(all(mhz, &[800.0, 3412.0]), "800M 3.4G");
    }

    #[test]
    fn widths_are_bounded() {
        let mut value = 1e-120;
        while value < 1e30 {
            for (format, width) in
                [(percent as fn(f64) -> Short, 4), (count, 5), (small, 5), (bytes, 5), (seconds, 4), (millis, 6)]
            {
                assert!(format(value).width() <= width, "{value} {}", format(value));
            }
            value *= 1.037;
        }
        for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0] {
            for format in [percent, count, small, bytes, cores, seconds, millis, mhz] {
                assert!(format(odd).width() <= 6, "{odd}");
            }
        }
    }
}
