//! A series of any length in bounded room: means of blocks that grow as the series does.

/// Blocks that a series is kept in, at most.
const BLOCKS: u32 = 64;

/// Which block a sample belongs to; the same for all series of a side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// Samples so far.
    pub(super) samples: u64,
    /// Samples of a block.
    pub(super) block: u64,
}

impl Default for Clock {
    fn default() -> Self {
        Self { samples: 0, block: 1 }
    }
}

impl Clock {
    /// The block of the next sample, and whether all series have to be folded to half their blocks before.
    pub(super) fn tick(&mut self) -> (usize, bool) {
        let fold = self.samples == self.block * u64::from(BLOCKS);
        if fold {
            self.block *= 2;
        }
        let at = self.samples / self.block;
        self.samples += 1;
        (at as usize, fold)
    }
}

/// Sums and counts of the valid samples of each block.
#[derive(Clone, Debug, Default)]
pub(super) struct Series {
    blocks: Vec<(f64, u32)>,
}

impl Series {
    /// Adds a sample to a block; what is no number is left out.
    pub(super) fn add(&mut self, block: usize, value: f64) {
        if !value.is_finite() {
            return;
        }
        if self.blocks.len() <= block {
            self.blocks.resize(block + 1, (0.0, 0));
        }
        if let Some(cell) = self.blocks.get_mut(block) {
            cell.0 += value;
            cell.1 += 1;
        }
    }

    /// Joins each two blocks.
    pub(super) fn fold(&mut self) {
        let joined = self
            .blocks
            .chunks(2)
            .map(|pair| pair.iter().fold((0.0, 0), |sum, block| (sum.0 + block.0, sum.1 + block.1)));
        self.blocks = joined.collect();
    }

    /// The weighted mean of two series, block by block as far as both go; where one has no value, that of the other.
    pub(super) fn between(&self, other: &Self, weight: f64) -> Self {
        let mean = |block: &(f64, u32)| (block.1 > 0).then(|| block.0 / f64::from(block.1));
        let joined = self.blocks.iter().zip(&other.blocks).map(|(one, two)| match (mean(one), mean(two)) {
            (Some(a), Some(b)) => (a * weight + b * (1.0 - weight), 1),
            (Some(value), None) | (None, Some(value)) => (value, 1),
            (None, None) => (0.0, 0),
        });
        Self { blocks: joined.collect() }
    }

    /// Its blocks from one to before another.
    pub(super) fn part(&self, first: usize, last: usize) -> Self {
        let last = last.min(self.blocks.len());
        Self { blocks: self.blocks.get(first.min(last)..last).unwrap_or_default().to_vec() }
    }

    /// Valid samples.
    pub(super) fn samples(&self) -> u64 {
        self.blocks.iter().map(|block| u64::from(block.1)).sum()
    }

    /// Means of the blocks in order of time; blocks with less than half of the samples of the fullest say too little.
    pub(super) fn means(&self) -> Vec<f64> {
        self.by_block().flatten().collect()
    }

    /// The same with none for those blocks, so that another series can be laid beside.
    pub(super) fn by_block(&self) -> impl Iterator<Item = Option<f64>> + '_ {
        let full = self.blocks.iter().map(|block| block.1).max().unwrap_or_default();
        let enough = move |block: &(f64, u32)| block.1 > 0 && block.1 * 2 >= full;
        self.blocks.iter().map(move |block| enough(block).then(|| block.0 / f64::from(block.1)))
    }

    /// Itself where a sample without a value is zero: `read` counts the samples that could have had one.
    pub(super) fn or_zero(&self, read: &Self) -> Self {
        let zero_filled = |(at, block): (usize, &(f64, u32))| {
            let (sum, count) = self.blocks.get(at).copied().unwrap_or_default();
            (if count > 0 { sum } else { 0.0 }, block.1.max(count))
        };
        Self { blocks: read.blocks.iter().enumerate().map(zero_filled).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCKS, Clock, Series};
    use proptest::prelude::*;

    fn filled(values: impl IntoIterator<Item = Option<f64>>) -> (Series, Clock) {
        let (mut series, mut clock) = (Series::default(), Clock::default());
        for value in values {
            let (block, fold) = clock.tick();
            if fold {
                series.fold();
            }
            if let Some(value) = value {
                series.add(block, value);
            }
        }
        (series, clock)
    }

    #[test]
    fn a_day_takes_as_many_blocks_as_an_hour() {
        let (series, clock) = filled((0..86_400).map(|second| Some(f64::from(second))));
        let means = series.means();
        assert!((32..=BLOCKS as usize).contains(&means.len()), "{}", means.len());
        assert_eq!((series.samples(), clock.block), (86_400, 2048));
        assert!(means.is_sorted() && (means[0] - 1023.5).abs() < 1e-9);
        assert_eq!(filled((0..64).map(|_| Some(1.0))).0.means().len(), 64);
        assert_eq!(filled((0..65).map(|_| Some(1.0))).0.means().len(), 33);
    }

    #[test]
    fn holes_are_no_zeros_unless_absence_is_one() {
        let (series, _) = filled((0..10).map(|second| (second >= 5).then_some(4.0)));
        let (read, _) = filled((0..10).map(|_| Some(0.0)));
        assert_eq!(series.means(), [4.0; 5]);
        assert_eq!(series.or_zero(&read).means(), [0.0, 0.0, 0.0, 0.0, 0.0, 4.0, 4.0, 4.0, 4.0, 4.0]);
    }

    proptest! {
        #[test]
        fn no_sample_is_lost(values in prop::collection::vec(prop::option::of(-1e9..1e9f64), 0..500)) {
            let (series, clock) = filled(values.iter().copied());
            prop_assert_eq!(series.samples(), values.iter().flatten().count() as u64);
            prop_assert_eq!(clock.samples, values.len() as u64);
            let sum: f64 = series.blocks.iter().map(|block| block.0).sum();
            prop_assert!((sum - values.iter().flatten().sum::<f64>()).abs() < 1.0);
            prop_assert!(series.blocks.len() <= BLOCKS as usize);
        }
    }
}
