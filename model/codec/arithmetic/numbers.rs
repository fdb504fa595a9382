//! Numbers of the arithmetic coding: a size class that is learned, then the bits below it.

use super::range::{Bit, Decoder};

/// How so many choices went so far: a tree of bits.
#[derive(Clone, Debug)]
pub(super) struct Choice<const LEAVES: usize> {
    tree: [Bit; LEAVES],
}

impl<const LEAVES: usize> Choice<LEAVES> {
    pub(super) const NEW: Self = Self { tree: [Bit::EVEN; LEAVES] };

    /// One of `LEAVES` (a power of two) choices.
    pub(super) fn decode(&mut self, decoder: &mut Decoder<'_>) -> usize {
        let mut node = 1;
        while node < LEAVES {
            let bit = self.tree.get_mut(node).is_some_and(|place| decoder.bit(place));
            node = node << 1 | usize::from(bit);
        }
        node - LEAVES
    }
}

/// How the numbers of one place went so far.
#[derive(Clone, Debug)]
pub(super) struct Number {
    zero: Bit,
    negative: Bit,
    /// How many bits it has, less one.
    size: Choice<64>,
    /// The two bits below the highest one, by size.
    high: [[Bit; 3]; 64],
}

impl Number {
    pub(super) const NEW: Self =
        Self { zero: Bit::EVEN, negative: Bit::new(48_000, 1), size: Choice::NEW, high: [[Bit::EVEN; 3]; 64] };

    /// A number of which small ones are likelier.
    pub(super) fn decode(&mut self, decoder: &mut Decoder<'_>) -> u64 {
        if decoder.bit(&mut self.zero) { 0 } else { self.positive(decoder) }
    }

    /// A difference.
    pub(super) fn signed(&mut self, decoder: &mut Decoder<'_>) -> i64 {
        if decoder.bit(&mut self.zero) {
            return 0;
        }
        let negative = decoder.bit(&mut self.negative);
        let size = self.positive(decoder) as i64;
        if negative { size.wrapping_neg() } else { size }
    }

    /// A number that is not zero.
    fn positive(&mut self, decoder: &mut Decoder<'_>) -> u64 {
        let below = self.size.decode(decoder);
        let Some(high) = self.high.get_mut(below) else { return 0 };
        let mut left = below as u32;
        let mut out = 1u64;
        let mut place = 0;
        while left > 0 && place < 3 {
            left -= 1;
            let bit = decoder.bit(&mut high[place]);
            out = out << 1 | u64::from(bit);
            place = if place == 0 { 1 + usize::from(bit) } else { 3 };
        }
        while left > 0 {
            let count = left.min(16);
            left -= count;
            out = out << count | u64::from(decoder.even(count));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::{Choice, Decoder, Number};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let mut decoder = Decoder::new(&bytes);
            let (mut number, mut choice) = (Number::NEW, Choice::<16>::NEW);
            for _ in 0..bytes.len() * 8 {
                number.signed(&mut decoder);
                prop_assert!(choice.decode(&mut decoder) < 16);
            }
        }
    }
}
