//! A share in one byte: history has one of each CPU for each sample.

use std::num::NonZeroU8;

/// Steps from nothing to the whole; with the value that stands for none they fill a byte.
const STEPS: f64 = 254.0;

/// A share of one whole. An optional one takes one byte as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(NonZeroU8);

impl Share {
    /// The step next to a fraction.
    pub fn of(fraction: f64) -> Self {
        Self(NonZeroU8::MIN.saturating_add((fraction.clamp(0.0, 1.0) * STEPS).round() as u8))
    }

    /// The fraction.
    pub fn value(self) -> f64 {
        f64::from(self.0.get() - 1) / STEPS
    }
}

#[cfg(test)]
mod tests {
    use super::Share;

    #[test]
    fn it_comes_back_and_none_takes_no_room() {
        assert_eq!(size_of::<Option<Share>>(), 1);
        for fraction in [0.0, 0.004, 0.33, 0.5, 0.98, 1.0] {
            assert!((Share::of(fraction).value() - fraction).abs() <= 0.5 / 254.0, "{fraction}");
        }
        assert_eq!(format!("{:?}", [-1.0, 7.0, f64::NAN].map(|odd| Share::of(odd).value())), "[0.0, 1.0, 0.0]");
        assert!(Share::of(0.2) < Share::of(0.3));
    }
}
