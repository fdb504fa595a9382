//! How far a journal went, as a short file beside it has it: a journal that was cut at the end of a line looks like one that
//! ended there.

use super::line::MAX_NUMBER;
use super::{Journal, Line, checksum, fold};

/// The last line that was on the disk before this was written. Lines may follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Its checksum.
    pub last: u32,
    /// The application that it belongs to.
    pub number: u64,
}

/// Characters of the file: always the same, so that writing it again leaves nothing of the one before.
pub const LENGTH: usize = 25;

impl End {
    /// The file.
    pub fn encode(&self) -> String {
        format!("{:08x} {:015}\n", self.last, self.number.min(MAX_NUMBER))
    }

    /// What a file says; nothing where it is none, or was not written to its end.
    pub fn decode(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok().filter(|text| text.len() == LENGTH)?;
        let (last, number) = text.strip_suffix('\n')?.split_once(' ')?;
        let end = Self { last: u32::from_str_radix(last, 16).ok()?, number: number.parse().ok()? };
        (end.encode() == text).then_some(end)
    }
}

/// Reads a journal and misses its end where it was cut off; without an `end` nothing tells.
pub fn fold_to(bytes: &[u8], end: Option<End>) -> Journal {
    let mut journal = fold(bytes);
    let Some(end) = end else { return journal };
    let is_there = |text: &[u8]| checksum(text) == Some(end.last);
    if journal.last != end.last && !bytes.split(|&byte| byte == b'\n').any(is_there) {
        journal.cut = Some(end);
        journal.missing += 1;
        journal.incomplete.insert(end.number);
        journal.next = journal.next.max(end.number.saturating_add(1)).min(MAX_NUMBER);
    }
    journal
}

/// True where the line that a note names is there all the same, linked to another one than in the `old` journal: a version
/// that knew of no notes shortened that one and left the note.
pub fn is_relinked(bytes: &[u8], old: &[u8], end: End) -> bool {
    let unlinked = |text: &[u8]| Line::decode(text).ok().map(|line| Line { after: None, ..line });
    let lines = |bytes| <[u8]>::split(bytes, |&byte| byte == b'\n');
    let Some(named) = lines(old).find(|text| checksum(text) == Some(end.last)).and_then(unlinked) else { return false };
    lines(bytes).filter_map(unlinked).any(|line| line == named)
}

#[cfg(test)]
mod tests {
    use super::{End, LENGTH, fold_to, is_relinked};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_reads_as_it_was_written(last: u32, number in 0u64..=1 << 48, cut in 0usize..LENGTH, bytes: Vec<u8>) {
            let end = End { last, number };
            let text = end.encode();
            prop_assert_eq!((text.len(), End::decode(text.as_bytes())), (LENGTH, Some(end)));
            prop_assert_eq!(End::decode(&text.as_bytes()[..cut]), None);
            let _ = (End::decode(&bytes), fold_to(&bytes, Some(end)), is_relinked(&bytes, &bytes, end));
        }
    }
}
