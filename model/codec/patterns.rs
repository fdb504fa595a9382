//! Which columns change together.

use super::numbers::Choice;
use super::range::{Bit, Coder};
use super::rows::PART;

/// Patterns of changed columns that are remembered within a part.
const PATTERNS: usize = 15;

/// Which columns change together: most rows do as others did.
pub(super) struct Patterns {
    columns: usize,
    rows: usize,
    known: Vec<u64>,
    last: usize,
    run: usize,
    /// Flags that were spelled out.
    pub(super) flags: usize,
    bits: [[Bit; 2]; PART],
    before: u64,
}

impl Patterns {
    pub(super) fn new(columns: usize, rows: usize) -> Self {
        let bits = [[Bit::EVEN; 2]; PART];
        Self { columns, rows, known: Vec::new(), last: 0, run: 0, flags: 0, bits, before: 0 }
    }

    pub(super) fn code<C: Coder>(&mut self, coder: &mut C, seen: &mut [[Choice<16>; 16]], mask: u64) -> u64 {
        // A part names the columns that change in it: with one row these are its.
        if self.rows == 1 {
            return if self.columns == 0 { 0 } else { u64::MAX >> (PART - self.columns.min(PART)) };
        }
        if !self.known.is_empty() {
            let choice = self.known.iter().position(|&known| known == mask).unwrap_or(PATTERNS);
            let mut few = Choice::NEW;
            let place = seen.get_mut(self.last).and_then(|runs| runs.get_mut(self.run)).unwrap_or(&mut few);
            let choice = place.code(coder, choice);
            self.run = if choice == self.last { (self.run + 1).min(15) } else { 0 };
            self.last = choice;
            if let Some(&known) = self.known.get(choice) {
                return known;
            }
        }
        let mask = self.spell(coder, mask);
        if self.known.len() < PATTERNS {
            self.known.push(mask);
        }
        mask
    }

    fn spell<C: Coder>(&mut self, coder: &mut C, mask: u64) -> u64 {
        let mut out = 0;
        for (column, places) in self.bits.iter_mut().enumerate().take(self.columns) {
            let place = &mut places[(self.before >> column & 1) as usize];
            out |= u64::from(coder.bit(place, mask >> column & 1 == 1)) << column;
        }
        self.flags += self.columns;
        self.before = out;
        out
    }
}
