//! A binary arithmetic decoder with adaptive probabilities.

use crate::codec::Error;

/// What one bit in one place has been so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bit {
    /// Probability of a zero, out of 65,536.
    zero: u16,
    /// How often it was decoded, up to the slowest rate.
    count: u8,
}

impl Bit {
    /// Nothing is known of it.
    pub(super) const EVEN: Self = Self::new(1 << 15, 0);

    /// A bit with a probability of being zero, as sure as after so many times.
    pub(super) const fn new(zero: u16, count: u8) -> Self {
        Self { zero, count }
    }

    fn learn(&mut self, bit: bool) {
        let rate = RATES[usize::from(self.count) % RATES.len()];
        let zero = u32::from(self.zero);
        let next = if bit { zero - ((zero * rate) >> 16) } else { zero + (((65_536 - zero) * rate) >> 16) };
        self.zero = next.clamp(48, 65_536 - 48) as u16;
        if usize::from(self.count) + 1 < RATES.len() {
            self.count += 1;
        }
    }
}

/// How far a probability moves the first, second, … time: quickly, then slowly.
const RATES: [u32; 32] = {
    let mut rates = [0; 32];
    let mut count = 0;
    while count < 32 {
        rates[count] = 65_536 * 10 / (16 + 10 * count as u32);
        count += 1;
    }
    rates
};

/// Below this the range is widened.
const LOW: u32 = 1 << 24;

/// How many zeros behind the end may be read: those at the end that were not written, and four that are read ahead.
const MOST_BEHIND: u32 = 9;

/// Decodes bits; behind the end stand zeros.
#[derive(Debug)]
pub(super) struct Decoder<'a> {
    rest: &'a [u8],
    code: u32,
    range: u32,
    /// How many bytes behind the end were read.
    behind: u32,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let mut decoder = Self { rest: bytes, code: 0, range: u32::MAX, behind: 0 };
        for _ in 0..4 {
            decoder.take();
        }
        decoder
    }

    fn take(&mut self) {
        let byte = if let Some((&byte, rest)) = self.rest.split_first() {
            self.rest = rest;
            byte
        } else {
            self.behind = self.behind.saturating_add(1);
            0
        };
        self.code = self.code << 8 | u32::from(byte);
    }

    fn narrow(&mut self) {
        while self.range < LOW {
            self.range <<= 8;
            self.take();
        }
    }

    /// A bit that is likely to be as others in its place.
    pub(super) fn bit(&mut self, place: &mut Bit) -> bool {
        let bound = (self.range >> 16) * u32::from(place.zero);
        let bit = self.code >= bound;
        if bit {
            self.code -= bound;
            self.range -= bound;
        } else {
            self.range = bound;
        }
        place.learn(bit);
        self.narrow();
        bit
    }

    /// `count` bits of a number of which nothing is known; at most 16.
    pub(super) fn even(&mut self, count: u32) -> u32 {
        self.range >>= count;
        let value = (self.code / self.range).min((1 << count) - 1);
        self.code -= value * self.range;
        self.narrow();
        value
    }

    /// An error once more was read than there is.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.behind > MOST_BEHIND { Err(Error::Short) } else { Ok(()) }
    }
}
