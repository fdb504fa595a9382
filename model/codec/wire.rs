//! Variable-length integers and texts, bounded on the way in.

/// Why bytes are not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It ends before it should.
    #[error("the record is cut short")]
    Short,
    /// A number, length or text is not possible.
    #[error("the record is damaged")]
    Malformed,
    /// It is larger than any real one.
    #[error("the record asks for more than any machine has")]
    TooLarge,
    /// A difference without the sample before it.
    #[error("the record is a difference and the sample before it is not known")]
    NoBase,
    /// The compressed block does not decompress.
    #[error("the record's compression is damaged")]
    Compression,
    /// Written by a later version in another form.
    #[error("the record is of a later version")]
    Version,
}

/// Appends an integer, 7 bits a byte, lowest first.
pub(super) fn put(out: &mut Vec<u8>, mut value: u128) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a length and bytes.
pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u128);
    out.extend_from_slice(bytes);
}

/// A signed difference as an unsigned number, small ones small.
pub(super) fn zigzag(before: u64, now: u64) -> u64 {
    let delta = now.wrapping_sub(before) as i64;
    ((delta << 1) ^ (delta >> 63)) as u64
}

/// The value after `before` that `zigzag` described.
pub(super) fn unzigzag(before: u64, code: u64) -> u64 {
    let delta = (code >> 1) as i64 ^ -((code & 1) as i64);
    before.wrapping_add(delta as u64)
}

/// Reads what the functions above wrote.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn wide(&mut self) -> Result<u128, Error> {
        let mut value = 0u128;
        for shift in (0..19u32).map(|index| index * 7) {
            let (&byte, rest) = self.rest.split_first().ok_or(Error::Short)?;
            self.rest = rest;
            let part = u128::from(byte & 0x7f);
            if shift >= 126 && part > 3 {
                return Err(Error::Malformed);
            }
            value |= part << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Error::Malformed)
    }

    pub(super) fn number(&mut self) -> Result<u64, Error> {
        u64::try_from(self.wide()?).map_err(|_| Error::Malformed)
    }

    pub(super) fn id(&mut self) -> Result<u32, Error> {
        u32::try_from(self.wide()?).map_err(|_| Error::Malformed)
    }

    /// A count of things of which each takes at least one byte.
    pub(super) fn count(&mut self) -> Result<usize, Error> {
        let count = usize::try_from(self.wide()?).map_err(|_| Error::Malformed)?;
        if count > self.rest.len() { Err(Error::Short) } else { Ok(count) }
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8], Error> {
        let len = self.count()?;
        let (head, rest) = self.rest.split_at_checked(len).ok_or(Error::Short)?;
        self.rest = rest;
        Ok(head)
    }

    pub(super) fn text(&mut self) -> Result<&'a str, Error> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Error::Malformed)
    }

    /// The next slot of an ascending list: the distance to the one before it.
    pub(super) fn slot(&mut self, last: &mut Option<u64>, bound: u64) -> Result<usize, Error> {
        let step = self.number()?;
        let slot = last.map_or(Some(step), |last| last.checked_add(1)?.checked_add(step)).ok_or(Error::Malformed)?;
        if slot >= bound {
            return Err(Error::TooLarge);
        }
        *last = Some(slot);
        Ok(slot as usize)
    }
}
