//! What numbers look like in records: a size class that is learned, then the bits below it.

use super::range::{Bit, Coder};

/// How so many choices went so far: a tree of bits.
#[derive(Clone, Debug)]
pub(super) struct Choice<const LEAVES: usize> {
    tree: [Bit; LEAVES],
}

impl<const LEAVES: usize> Choice<LEAVES> {
    pub(super) const NEW: Self = Self { tree: [Bit::EVEN; LEAVES] };

    /// One of `LEAVES` (a power of two) choices.
    pub(super) fn code(&mut self, coder: &mut impl Coder, choice: usize) -> usize {
        let mut node = 1;
        let mut mask = LEAVES >> 1;
        while mask > 0 {
            let bit = match self.tree.get_mut(node) {
                Some(place) => coder.bit(place, choice & mask != 0),
                None => false,
            };
            node = node << 1 | usize::from(bit);
            mask >>= 1;
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
    pub(super) fn code(&mut self, coder: &mut impl Coder, value: u64) -> u64 {
        if coder.bit(&mut self.zero, value == 0) {
            return 0;
        }
        self.positive(coder, value)
    }

    /// A difference.
    pub(super) fn signed(&mut self, coder: &mut impl Coder, value: i64) -> i64 {
        if coder.bit(&mut self.zero, value == 0) {
            return 0;
        }
        let negative = coder.bit(&mut self.negative, value < 0);
        let size = self.positive(coder, value.unsigned_abs()) as i64;
        if negative { size.wrapping_neg() } else { size }
    }

    /// A number that is not zero.
    fn positive(&mut self, coder: &mut impl Coder, value: u64) -> u64 {
        let below = self.size.code(coder, (value | 1).ilog2() as usize);
        let Some(high) = self.high.get_mut(below) else { return 0 };
        let mut left = below as u32;
        let mut out = 1u64;
        let mut place = 0;
        while left > 0 && place < 3 {
            left -= 1;
            let bit = coder.bit(&mut high[place], value >> left & 1 == 1);
            out = out << 1 | u64::from(bit);
            place = if place == 0 { 1 + usize::from(bit) } else { 3 };
        }
        while left > 0 {
            let count = left.min(16);
            left -= count;
            let part = coder.even((value >> left) as u32 & ((1 << count) - 1), count);
            out = out << count | u64::from(part);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::{Choice, Number};
    use crate::codec::range::{Bit, Coder, Decoder, Encoder};
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Item {
        Bit(bool),
        Choice(usize),
        Number(u64),
        Signed(i64),
    }

    fn item() -> impl Strategy<Value = Item> {
        prop_oneof![
            any::<bool>().prop_map(Item::Bit),
            (0usize..16).prop_map(Item::Choice),
            prop_oneof![0u64..9, any::<u64>()].prop_map(Item::Number),
            prop_oneof![-9i64..9, any::<i64>()].prop_map(Item::Signed),
        ]
    }

    struct Places(Bit, Choice<16>, Number);

    impl Places {
        fn code(&mut self, coder: &mut impl Coder, item: &Item) -> String {
            match item {
                Item::Bit(bit) => format!("{}", coder.bit(&mut self.0, *bit)),
                Item::Choice(choice) => format!("{}", self.1.code(coder, *choice)),
                Item::Number(value) => format!("{}", self.2.code(coder, *value)),
                Item::Signed(value) => format!("{}", self.2.signed(coder, *value)),
            }
        }
    }

    fn places() -> Places {
        Places(Bit::EVEN, Choice::NEW, Number::NEW)
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(items in prop::collection::vec(item(), 0..400)) {
            let mut bytes = Vec::new();
            let mut encoder = Encoder::new(&mut bytes);
            let mut learned = places();
            let written: Vec<String> = items.iter().map(|item| learned.code(&mut encoder, item)).collect();
            encoder.finish();
            let mut decoder = Decoder::new(&bytes);
            let mut learned = places();
            let blank = |item: &Item| match item {
                Item::Bit(_) => Item::Bit(false),
                Item::Choice(_) => Item::Choice(0),
                Item::Number(_) => Item::Number(0),
                Item::Signed(_) => Item::Signed(0),
            };
            let read: Vec<String> = items.iter().map(|item| learned.code(&mut decoder, &blank(item))).collect();
            prop_assert_eq!(written, read);
            prop_assert!(decoder.check().is_ok());
        }

        #[test]
        fn long_runs_of_ones_and_zeros_are_read_to_their_end(parts in prop::collection::vec((0u32..4, 0usize..24), 0..8)) {
            let parts = parts.iter().flat_map(|&(kind, times)| std::iter::repeat_n([0, 0xffff, 0x8000, 0x7fff][kind as usize], times));
            let parts: Vec<u32> = parts.collect();
            let mut bytes = Vec::new();
            let mut encoder = Encoder::new(&mut bytes);
            for &part in &parts {
                encoder.even(part, 16);
            }
            encoder.finish();
            let mut decoder = Decoder::new(&bytes);
            for &part in &parts {
                prop_assert_eq!(decoder.even(0, 16), part);
                prop_assert!(decoder.check().is_ok());
            }
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let mut decoder = Decoder::new(&bytes);
            let mut learned = places();
            for _ in 0..bytes.len() * 8 {
                learned.code(&mut decoder, &Item::Signed(0));
                learned.code(&mut decoder, &Item::Choice(0));
            }
        }
    }

    #[test]
    fn what_is_expected_takes_nothing() {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes);
        let mut place = Bit::EVEN;
        for _ in 0..4000 {
            encoder.bit(&mut place, true);
        }
        encoder.finish();
        assert!(bytes.len() < 12, "{}", bytes.len());
    }
}
