//! Values over the samples of a recording, in a bounded number of bins.

/// Maximum number of bins.
pub(super) const MOST: u64 = 240;

/// The samples of a recording.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Axis {
    first: u64,
    count: u64,
}

impl Axis {
    /// First and last sample.
    pub(super) fn new((first, last): (u64, u64)) -> Self {
        Self { first, count: last.saturating_sub(first) + 1 }
    }

    /// The number of bins.
    pub(super) fn bins(self) -> usize {
        usize::try_from(self.count.min(MOST)).unwrap_or(1)
    }

    /// The bin of a sample.
    pub(super) fn bin(self, sample: u64) -> usize {
        let (at, bins) = (u128::from(sample.saturating_sub(self.first)), self.bins() as u128);
        usize::try_from(at * bins / u128::from(self.count.max(1))).unwrap_or(0).min(self.bins() - 1)
    }

    /// The place of a sample between the first and the last, 0 to 1.
    pub(super) fn share(self, sample: u64) -> f64 {
        (sample.saturating_sub(self.first) as f64 / self.count.max(1) as f64).min(1.0)
    }
}

/// The mean of each bin.
#[derive(Clone, Debug, Default)]
pub(super) struct Series {
    bins: Vec<(f64, u32)>,
    sum: f64,
    count: u64,
    /// The largest value.
    pub(super) peak: f64,
}

impl Series {
    /// Adds the value of a sample.
    pub(super) fn add(&mut self, axis: Axis, sample: u64, value: f64) {
        if !value.is_finite() {
            return;
        }
        self.bins.resize(axis.bins(), (0.0, 0));
        if let Some(bin) = self.bins.get_mut(axis.bin(sample)) {
            *bin = (bin.0 + value, bin.1 + 1);
        }
        self.peak = if self.count == 0 { value } else { self.peak.max(value) };
        (self.sum, self.count) = (self.sum + value, self.count + 1);
    }

    /// The means, none where a bin has no value.
    pub(super) fn means(&self) -> impl Iterator<Item = Option<f64>> {
        self.bins.iter().map(|(sum, count)| (*count > 0).then(|| sum / f64::from(*count)))
    }

    /// The mean of all values; none without any.
    pub(super) fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::{Axis, MOST, Series};

    #[test]
    fn any_length_has_a_bounded_number_of_bins() {
        for count in [1, 2, MOST - 1, MOST, MOST + 1, 86_400] {
            let axis = Axis::new((7, 6 + count));
            let mut series = Series::default();
            (7..7 + count).for_each(|sample| series.add(axis, sample, 3.0));
            assert_eq!(series.means().flatten().count(), usize::try_from(count.min(MOST)).unwrap(), "{count}");
            assert_eq!((series.mean(), series.peak), (Some(3.0), 3.0));
        }
    }
}
