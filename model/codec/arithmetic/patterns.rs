//! Which columns change together, in the arithmetic coding.

use super::numbers::Choice;
use super::range::{Bit, Decoder};
use crate::codec::rows::{PART, all};

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

    pub(super) fn decode(&mut self, decoder: &mut Decoder<'_>, counts: &mut [[Choice<16>; 16]]) -> u64 {
        // A part names the columns that change in it: with one row these are its.
        if self.rows == 1 {
            return all(self.columns);
        }
        if !self.known.is_empty() {
            let mut few = Choice::NEW;
            let place = counts.get_mut(self.last).and_then(|runs| runs.get_mut(self.run)).unwrap_or(&mut few);
            let choice = place.decode(decoder);
            self.run = if choice == self.last { (self.run + 1).min(15) } else { 0 };
            self.last = choice;
            if let Some(&known) = self.known.get(choice) {
                return known;
            }
        }
        let mask = self.spell(decoder);
        if self.known.len() < PATTERNS {
            self.known.push(mask);
        }
        mask
    }

    fn spell(&mut self, decoder: &mut Decoder<'_>) -> u64 {
        let mut out = 0;
        for (column, places) in self.bits.iter_mut().enumerate().take(self.columns) {
            let place = &mut places[(self.before >> column & 1) as usize];
            out |= u64::from(decoder.bit(place)) << column;
        }
        self.flags += self.columns;
        self.before = out;
        out
    }
}
