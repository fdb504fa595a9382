//! Scales of charts: round tops, and labels with their unit.

use crate::parts::number::{self, Short};

/// What a chart counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A fraction of one whole: its scale is always 0 to 100 %.
    Share,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    ByteRate,
    /// Milliseconds.
    Millis,
    /// Something per second.
    Rate,
    /// A number of things.
    Count,
    /// Cores.
    Cores,
}

impl Unit {
    /// A value for the axis: at most 6 columns.
    pub fn label(self, value: f64) -> Short {
        match self {
            Self::Share => number::percent(value),
            Self::Bytes | Self::ByteRate => number::bytes(value),
            Self::Millis => number::millis(value),
            Self::Rate => number::count(value),
            Self::Count => number::small(value),
            Self::Cores => number::cores(value),
        }
    }

    /// What stands behind a value in text.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::ByteRate | Self::Rate => "/s",
            Self::Share | Self::Bytes | Self::Millis | Self::Count | Self::Cores => "",
        }
    }

    /// The smallest round number that is not below a value: 1, 2, 5, 10, … or for bytes powers of two.
    pub fn top(self, most: f64) -> f64 {
        let (steps, base, least): (&[f64], f64, f64) = match self {
            Self::Share => return 1.0,
            Self::Bytes | Self::ByteRate => (&BINARY, 1024.0, 1024.0),
            Self::Millis | Self::Cores => (&DECIMAL, 1000.0, 0.1),
            Self::Rate | Self::Count => (&DECIMAL, 1000.0, 1.0),
        };
        // A metric may be a time in seconds, or a share: its scale goes down with it.
        let lowest = if self == Self::Count && most > 0.0 { -3 } else { 0 };
        for unit in (lowest..8).map(|power| least * base.powi(power)) {
            if let Some(step) = steps.iter().find(|step| *step * unit >= most) {
                return step * unit;
            }
        }
        if most.is_finite() { most } else { least * base.powi(8) }
    }
}

const BINARY: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];
const DECIMAL: [f64; 9] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0];

#[cfg(test)]
mod tests {
    use super::Unit;

    #[test]
    fn tops_are_round_and_not_below_the_value() {
        let tops = |unit: Unit, values: &[f64]| {
            values.iter().map(|&value| unit.label(unit.top(value)).to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(tops(Unit::Share, &[0.0, 0.3, 7.0]), "100% 100% 100%");
        assert_eq!(tops(Unit::ByteRate, &[0.0, 700.0, 1025.0, 4.8e7, 1e12]), "1.0K 1.0K 2.0K 64.0M 1.0T");
        assert_eq!(tops(Unit::Millis, &[0.0, 0.3, 11.4, 1200.0]), "0.1ms 0.5ms 20ms 2.0s");
        assert_eq!(tops(Unit::Rate, &[0.0, 3.0, 94e3, 1.2e6]), "1 5 100k 2.0M");
        assert_eq!(tops(Unit::Count, &[0.0, 3e-5, 0.012, 0.3, 1.0, 94e3]), "1 5e-5 0.020 0.50 1 100k");
        assert_eq!(tops(Unit::Cores, &[0.0, 0.3, 3.9, 64.0]), "0.10 0.50 5.0 100");
        for unit in [Unit::Bytes, Unit::Millis, Unit::Rate, Unit::Count, Unit::Cores] {
            let mut value = 1e-6;
            while value < 1e18 {
                let top = unit.top(value);
                assert!(top >= value && unit.label(top).width() <= 6, "{unit:?} {value} {top}");
                value *= 1.7;
            }
        }
    }
}
