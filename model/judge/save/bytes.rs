//! Numbers and texts one after the other, as little of them as can be.

use std::collections::BTreeMap;

/// The longest text that is written or believed, in bytes.
const MAX_TEXT: usize = 8 << 10;

/// Bytes that are written.
#[derive(Debug, Default)]
pub(super) struct Out {
    pub(super) bytes: Vec<u8>,
    texts: BTreeMap<String, u64>,
}

impl Out {
    pub(super) fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// Small ones of either sign are short.
    pub(super) fn signed(&mut self, value: i64) {
        self.number((value << 1 ^ value >> 63) as u64);
    }

    pub(super) fn float(&mut self, value: f64) {
        self.bytes.extend_from_slice(&value.to_bits().to_le_bytes());
    }

    /// Each text once; again it is its place.
    pub(super) fn text(&mut self, text: &str) {
        if let Some(&place) = self.texts.get(text) {
            return self.number(place + 1);
        }
        let cut = text.get(..MAX_TEXT).unwrap_or(text);
        self.number(0);
        self.number(cut.len() as u64);
        self.bytes.extend_from_slice(cut.as_bytes());
        self.texts.insert(text.to_owned(), self.texts.len() as u64);
    }

    pub(super) fn option(&mut self, value: Option<u64>) {
        self.number(u64::from(value.is_some()));
        if let Some(value) = value {
            self.number(value);
        }
    }
}

/// Bytes that are read; none where they do not go on as they should.
#[derive(Debug)]
pub(super) struct In<'a> {
    rest: &'a [u8],
    texts: Vec<&'a str>,
}

impl<'a> In<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, texts: Vec::new() }
    }

    pub(super) fn is_over(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            let bits = u64::from(byte & 0x7f);
            value |= bits.checked_shl(shift).filter(|shifted| shifted >> shift == bits)?;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    pub(super) fn signed(&mut self) -> Option<i64> {
        let value = self.number()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    pub(super) fn small(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    pub(super) fn float(&mut self) -> Option<f64> {
        let (bytes, rest) = self.rest.split_first_chunk::<8>()?;
        self.rest = rest;
        Some(f64::from_bits(u64::from_le_bytes(*bytes)))
    }

    pub(super) fn flag(&mut self) -> Option<bool> {
        match self.number()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub(super) fn text(&mut self) -> Option<&'a str> {
        let place = self.number()?;
        if let Some(place) = place.checked_sub(1) {
            return self.texts.get(usize::try_from(place).ok()?).copied();
        }
        let length = usize::try_from(self.number()?).ok().filter(|&length| length <= MAX_TEXT)?;
        let (text, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        let text = std::str::from_utf8(text).ok()?;
        self.texts.push(text);
        Some(text)
    }

    /// How many follow, each at least a byte long: no more than there are bytes.
    pub(super) fn count(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok().filter(|&count| count <= self.rest.len())
    }
}
