//! A binary arithmetic coder with adaptive probabilities: a bit that was expected takes next to nothing.
//!
//! Writing and reading are one description: [`Coder::bit`] takes the bit to be written and returns the one that stands
//! there, so that what is read cannot differ from what was written.

use super::Error;

/// What one bit in one place has been so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bit {
    /// Probability of a zero, out of 65,536.
    zero: u16,
    /// How often it was seen, up to the slowest rate.
    seen: u8,
}

impl Bit {
    /// Nothing is known of it.
    pub(super) const EVEN: Self = Self::new(1 << 15, 0);

    /// A bit with a probability of being zero, as sure as if seen so many times.
    pub(super) const fn new(zero: u16, seen: u8) -> Self {
        Self { zero, seen }
    }

    fn learn(&mut self, bit: bool) {
        let rate = RATES[usize::from(self.seen) % RATES.len()];
        let zero = u32::from(self.zero);
        let next = if bit { zero - ((zero * rate) >> 16) } else { zero + (((65_536 - zero) * rate) >> 16) };
        self.zero = next.clamp(48, 65_536 - 48) as u16;
        if usize::from(self.seen) + 1 < RATES.len() {
            self.seen += 1;
        }
    }
}

/// How far a probability moves at its first, second, … sight: quickly, then slowly.
const RATES: [u32; 32] = {
    let mut rates = [0; 32];
    let mut seen = 0;
    while seen < 32 {
        rates[seen] = 65_536 * 10 / (16 + 10 * seen as u32);
        seen += 1;
    }
    rates
};

/// Below this the range is widened.
const LOW: u32 = 1 << 24;

/// How many zeros at the end are left out at most.
const MOST_LEFT_OUT: u32 = 5;
/// How many zeros behind the end a whole record makes one read: those, and what a reader is ahead.
const MOST_BEHIND: u32 = MOST_LEFT_OUT + 4;

/// Writes bits, or reads them.
pub(super) trait Coder {
    /// A bit that is expected to be like others in its place.
    fn bit(&mut self, place: &mut Bit, bit: bool) -> bool;

    /// The lowest `count` bits of a number of which nothing is expected; at most 16.
    fn even(&mut self, value: u32, count: u32) -> u32;

    /// An error once more was read than there is.
    fn check(&self) -> Result<(), Error>;
}

/// Appends to bytes.
#[derive(Debug)]
pub(super) struct Encoder<'a> {
    out: &'a mut Vec<u8>,
    low: u64,
    range: u32,
    /// The last byte, which a carry may still raise, and how many 0xff after it.
    held: u8,
    full: usize,
    /// False until the byte that stands before the first one is left out: nothing carries into it.
    started: bool,
}

impl<'a> Encoder<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, low: 0, range: u32::MAX, held: 0, full: 0, started: false }
    }

    fn shift(&mut self) {
        if self.low < 0xff00_0000 || self.low > u64::from(u32::MAX) {
            let carry = (self.low >> 32) as u8;
            if self.started {
                self.out.push(self.held.wrapping_add(carry));
            }
            self.started = true;
            self.out.extend(std::iter::repeat_n(0xffu8.wrapping_add(carry), self.full));
            self.full = 0;
            self.held = (self.low >> 24) as u8;
        } else {
            self.full += 1;
        }
        self.low = (self.low & 0x00ff_ffff) << 8;
    }

    fn narrow(&mut self) {
        while self.range < LOW {
            self.range <<= 8;
            self.shift();
        }
    }

    /// Ends with the fewest bytes that say it: the reader takes what is missing for zeros.
    pub(super) fn finish(mut self) {
        let end = self.low + u64::from(self.range) - 1;
        let kept = (0..=32).rev().map(|bits| end >> bits << bits).find(|&value| value >= self.low);
        self.low = kept.unwrap_or(self.low);
        let start = self.out.len();
        for _ in 0..5 {
            self.shift();
        }
        // A carry may have made any number of zeros of what was held back: no more are left out than a reader allows.
        for _ in 0..MOST_LEFT_OUT {
            if self.out.len() > start && self.out.last() == Some(&0) {
                self.out.pop();
            }
        }
    }
}

impl Coder for Encoder<'_> {
    fn bit(&mut self, place: &mut Bit, bit: bool) -> bool {
        let bound = (self.range >> 16) * u32::from(place.zero);
        if bit {
            self.low += u64::from(bound);
            self.range -= bound;
        } else {
            self.range = bound;
        }
        place.learn(bit);
        self.narrow();
        bit
    }

    fn even(&mut self, value: u32, count: u32) -> u32 {
        self.range >>= count;
        self.low += u64::from(value) * u64::from(self.range);
        self.narrow();
        value
    }

    fn check(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// Reads what an [`Encoder`] wrote; behind the end stand zeros.
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
}

impl Coder for Decoder<'_> {
    fn bit(&mut self, place: &mut Bit, _: bool) -> bool {
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

    fn even(&mut self, _: u32, count: u32) -> u32 {
        self.range >>= count;
        let value = (self.code / self.range).min((1 << count) - 1);
        self.code -= value * self.range;
        self.narrow();
        value
    }

    fn check(&self) -> Result<(), Error> {
        // The writer leaves out zeros at the end: four of them are read ahead.
        if self.behind > MOST_BEHIND { Err(Error::Short) } else { Ok(()) }
    }
}
