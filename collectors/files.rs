//! Small sysfs files: one value or one list each, read into a shared buffer, with what goes wrong counted as gaps.

use crate::parse::{number, signed, trim};
use crate::root::Kept;
use crate::{Cx, Root};
use topotop_model::{Gaps, IdSet, Known, Reason};

/// The highest id that is taken for a CPU or node: Linux is built for at most 8,192 CPUs and 1,024 nodes.
pub(crate) const MAX_ID: u32 = 65_535;

/// Reads a file into the shared buffer through a descriptor that is kept from the first time on.
pub(crate) fn read(kept: &mut Option<Kept>, path: &str, cx: &mut Cx<'_>) -> Result<(), Reason> {
    if kept.is_none() {
        *kept = Some(cx.root.open(path)?);
    }
    kept.as_ref().map_or(Err(Reason::NotFound), |kept| kept.read(cx.buf))
}

/// Reads small files; what is simply not there is no gap.
#[derive(Debug)]
pub(crate) struct Files<'a> {
    pub(crate) root: &'a Root,
    buf: &'a mut Vec<u8>,
}

impl<'a> Files<'a> {
    /// Reads below the root of a reading, with its buffer.
    pub(crate) fn new<'b: 'a>(cx: &'a mut Cx<'b>) -> Self {
        Self { root: cx.root, buf: cx.buf }
    }

    /// Reads below any root with any buffer: for workers.
    pub(crate) fn over(root: &'a Root, buf: &'a mut Vec<u8>) -> Self {
        Self { root, buf }
    }

    /// The shared buffer.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        self.buf
    }

    /// The trimmed bytes of a file.
    pub(crate) fn bytes(&mut self, path: &str) -> Result<&[u8], Reason> {
        self.root.read(path, self.buf)?;
        Ok(content(self.buf))
    }

    /// What `parse` makes of a file; an empty file has no value.
    pub(crate) fn parsed<T>(
        &mut self,
        path: &str,
        pattern: &str,
        gaps: &mut Gaps,
        parse: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Option<T> {
        match self.root.read(path, self.buf) {
            Ok(()) => {
                let bytes = content(self.buf);
                if bytes.is_empty() {
                    return None;
                }
                let value = parse(bytes);
                if value.is_none() {
                    gaps.add(pattern, Reason::Malformed, "");
                }
                value
            }
            Err(reason) => {
                note(gaps, pattern, reason);
                None
            }
        }
    }

    /// An unsigned number.
    pub(crate) fn number(&mut self, path: &str, pattern: &str, gaps: &mut Gaps) -> Option<u64> {
        self.parsed(path, pattern, gaps, number)
    }

    /// An id; a negative number means none.
    pub(crate) fn id(&mut self, path: &str, pattern: &str, gaps: &mut Gaps) -> Known<u64> {
        let value = self.parsed(path, pattern, gaps, |bytes| {
            let value = signed(bytes)?;
            if value < 0 { Some(Known::None) } else { u32::try_from(value).ok().map(|id| Known::Value(u64::from(id))) }
        });
        value.unwrap_or(Known::Missing)
    }

    /// A set of ids from its list, else from its map of bits.
    pub(crate) fn set(&mut self, list: &str, map: &str, pattern: &str, gaps: &mut Gaps) -> Option<IdSet> {
        match self.root.read(list, self.buf) {
            Ok(()) => return taken(gaps, pattern, parse_list(self.buf)),
            Err(reason) => note(gaps, pattern, reason),
        }
        self.root.read(map, self.buf).ok()?;
        taken(gaps, pattern, parse_map(self.buf))
    }

    /// A set of ids from its list alone; none when it is empty.
    pub(crate) fn list(&mut self, path: &str, gaps: &mut Gaps) -> Option<IdSet> {
        match self.root.read(path, self.buf) {
            // nohz_full prints this where it was never set up.
            Ok(()) if content(self.buf) == b"(null)" => None,
            Ok(()) => taken(gaps, path, parse_list(self.buf)).filter(|set| !set.is_empty()),
            Err(reason) => {
                note(gaps, path, reason);
                None
            }
        }
    }
}

/// The contents of a file without the newline at its end, in some kernels followed by a NUL.
fn content(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    trim(bytes.get(..end).unwrap_or_default())
}

/// The contents of a file of several numbers, if its end is there: a cut one may lack digits.
pub(crate) fn finished(bytes: &[u8]) -> Option<&[u8]> {
    matches!(bytes.last(), None | Some(b'\n' | 0)).then(|| content(bytes))
}

/// Counts a file that could not be read, unless it is simply not there or has just gone.
pub(crate) fn note(gaps: &mut Gaps, pattern: &str, reason: Reason) {
    if !matches!(reason, Reason::NotFound | Reason::Vanished) {
        gaps.add(pattern, reason, "");
    }
}

fn taken(gaps: &mut Gaps, pattern: &str, set: Option<IdSet>) -> Option<IdSet> {
    if set.is_none() {
        gaps.add(pattern, Reason::Malformed, "");
    }
    set
}

/// A kernel cpulist, whole and with believable ids.
pub(crate) fn parse_list(bytes: &[u8]) -> Option<IdSet> {
    IdSet::parse_list(std::str::from_utf8(finished(bytes)?).ok()?).filter(believable)
}

/// A kernel cpumap, whole and with believable ids.
pub(crate) fn parse_map(bytes: &[u8]) -> Option<IdSet> {
    IdSet::parse_map(std::str::from_utf8(finished(bytes)?).ok()?).filter(believable)
}

fn believable(set: &IdSet) -> bool {
    set.last().is_none_or(|last| last <= MAX_ID)
}

/// The number in a name such as `cpu12` or `node3`.
pub(crate) fn numbered(name: &str, prefix: &str) -> Option<u32> {
    let id = number(name.strip_prefix(prefix)?.as_bytes())?;
    u32::try_from(id).ok().filter(|&id| id <= MAX_ID)
}

/// The numbers in the names of a directory's entries, sorted.
pub(crate) fn numbered_entries(root: &Root, path: &str, prefix: &str) -> Result<Vec<u32>, Reason> {
    let names = root.list(path)?;
    let mut ids: Vec<u32> = names.iter().filter_map(|name| numbered(name.to_str()?, prefix)).collect();
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

/// Puts what is known of a number into a row.
pub(crate) fn put(column: &mut topotop_model::Num, slot: usize, value: Known<u64>) {
    match value {
        Known::Value(value) => column.set(slot, value),
        Known::None => column.set_none(slot),
        Known::Missing => column.clear(slot),
    }
}

#[cfg(test)]
mod tests {
    use super::{numbered, parse_list, parse_map};
    use proptest::prelude::*;

    #[test]
    fn takes_believable_ids_only() {
        assert_eq!(parse_list(b"0-3,8\n").map(|set| set.to_string()).as_deref(), Some("0-3,8"));
        assert_eq!(parse_list(b"0-3\n\0").map(|set| set.to_string()).as_deref(), Some("0-3"));
        assert_eq!(parse_list(b"0-1"), None, "cut");
        assert_eq!(parse_list(b"\n").map(|set| set.is_empty()), Some(true));
        assert_eq!(parse_list(b"0-4294967295\n"), None);
        assert_eq!(parse_map(b"00000000,0000000f\n").map(|set| set.to_string()).as_deref(), Some("0-3"));
        assert_eq!(numbered("cpu12", "cpu"), Some(12));
        assert_eq!(numbered("cpufreq", "cpu"), None);
        assert_eq!(numbered("cpu99999999999", "cpu"), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = (parse_list(&bytes), parse_map(&bytes));
        }
    }
}
