//! The texts of a record: each is in it once, in one block, and cells name it by its place.

use super::Error;
use super::source::Mode;
use std::collections::HashMap;
use std::sync::Arc;

/// The texts of a record that is being written.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) bytes: Vec<u8>,
    places: HashMap<Arc<str>, u64>,
}

impl Written {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }

    /// How a text stands behind `last`: with the length of a new one, or the distance to an earlier one.
    pub(super) fn place(&mut self, last: Option<&Arc<str>>, text: &Arc<str>) -> (Mode, u64) {
        if last.is_some_and(|last| Arc::ptr_eq(last, text) || last == text) {
            return (Mode::Again, 0);
        }
        let count = self.places.len() as u64;
        if let Some(place) = self.places.get(text) {
            (Mode::Earlier, count - 1 - place)
        } else {
            self.places.insert(Arc::clone(text), count);
            self.bytes.extend_from_slice(text.as_bytes());
            (Mode::New, text.len() as u64)
        }
    }
}

/// The texts of a record as it is read.
#[derive(Debug)]
pub(super) struct Read<'a> {
    rest: &'a [u8],
    seen: Vec<Arc<str>>,
}

impl<'a> Read<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, seen: Vec::new() }
    }

    /// The text of a new length or an earlier place.
    pub(super) fn text(&mut self, mode: Mode, value: u64) -> Result<Arc<str>, Error> {
        let value = usize::try_from(value).map_err(|_| Error::Malformed)?;
        if mode == Mode::Earlier {
            let place = self.seen.len().checked_sub(value).and_then(|end| end.checked_sub(1));
            return place.and_then(|place| self.seen.get(place)).cloned().ok_or(Error::Malformed);
        }
        let (head, rest) = self.rest.split_at_checked(value).ok_or(Error::Short)?;
        self.rest = rest;
        let text: Arc<str> = std::str::from_utf8(head).map_err(|_| Error::Malformed)?.into();
        self.seen.push(Arc::clone(&text));
        Ok(text)
    }
}
