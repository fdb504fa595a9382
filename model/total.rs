//! Sums of numbers that somebody else wrote.

/// Adds up.
pub trait Total {
    /// The sum, or the largest number where that is too small for it.
    fn total(self) -> u64;
}

impl<I: Iterator<Item = u64>> Total for I {
    fn total(self) -> u64 {
        self.fold(0, u64::saturating_add)
    }
}
