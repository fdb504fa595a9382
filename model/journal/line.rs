//! A line as text: a JSON object whose last field is the checksum of the object without it.

use super::Line;
use crate::text::escaped;

/// What stands before the eight digits of the checksum.
const FIELD: &str = ",\"crc32\":\"";
/// The field with its digits and what closes the object.
const TAIL: usize = FIELD.len() + 8 + 2;
/// Numbers beyond are none that were counted up to.
pub(super) const MAX_NUMBER: u64 = 1 << 48;

/// The checksum that stands at the end of a line; none in what is no line.
pub fn checksum(text: &[u8]) -> Option<u32> {
    let digits = text.strip_suffix(b"\"}")?.last_chunk::<8>()?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Why a line says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// It is no line of a journal, or its end is missing.
    Foreign,
    /// Its checksum says that it was changed.
    Checksum,
    /// It is whole, but of no kind that is known: a later version wrote it.
    Unknown,
}

impl Line {
    /// The line without a newline. Nothing in it steers a terminal.
    pub fn encode(&self) -> String {
        // Plain data with text keys: it always serialises.
        let body = serde_json::to_string(self).unwrap_or_default();
        let body = escaped(&body);
        let checksum = crc32fast::hash(body.as_bytes());
        let body = body.strip_suffix('}').unwrap_or(&body);
        format!("{body}{FIELD}{checksum:08x}\"}}")
    }

    /// The line that a text is.
    pub fn decode(text: &[u8]) -> Result<Self, Damage> {
        let split = text.len().checked_sub(TAIL).ok_or(Damage::Foreign)?;
        let (body, tail) = text.split_at_checked(split).ok_or(Damage::Foreign)?;
        let digits = tail.strip_prefix(FIELD.as_bytes()).and_then(|tail| tail.strip_suffix(b"\"}"));
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok()).ok_or(Damage::Foreign)?;
        let mut whole = body.to_vec();
        whole.push(b'}');
        if format!("{:08x}", crc32fast::hash(&whole)) != digits {
            return Err(Damage::Checksum);
        }
        let line: Self = serde_json::from_slice(&whole).map_err(|_| Damage::Unknown)?;
        if line.number > MAX_NUMBER { Err(Damage::Unknown) } else { Ok(line) }
    }
}
