//! `/proc/PID/numa_maps` (numa(7)): every page of a process by node, and its memory policies.

use super::vmas::is_shared_memory;
use super::{Found, NodeBytes};
use crate::parse::{fields, hex, lines, number, text, whole_lines};
use std::collections::BTreeMap;

/// Sizes that lines do not say themselves, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageSizes {
    /// An ordinary page.
    pub(super) base: u64,
    /// A huge page (`Hugepagesize` of meminfo): kernels before 2.6.33 print no `kernelpagesize_kB`.
    pub(super) huge: u64,
}

/// Adds up the file; none when it is cut or has lines of another form, since sums that lack something are wrong.
/// Every page counts once, in `N…=`; `anon=`, `mapped=` and the like count the same pages again.
pub(super) fn parse(bytes: &[u8], sizes: PageSizes) -> Option<Found> {
    let (whole, cut) = whole_lines(bytes);
    if cut {
        return None;
    }
    let mut found = Found::default();
    let mut policies: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    for row in lines(whole) {
        let line = Line::parse(row, sizes)?;
        let sum = line.add(&mut found)?;
        let bytes = policies.entry(line.policy).or_default();
        *bytes = bytes.saturating_add(sum);
    }
    let most = policies.into_iter().max_by_key(|policy| policy.1);
    found.policy = most.map(|(name, _)| text(&name).into_owned());
    Some(found)
}

/// The policy of the first mapping, which is the program's own text: the policy of the process itself unless it asked
/// for another one there. None when the beginning of the file ends before the policy does.
pub(super) fn first_policy(start: &[u8]) -> Option<String> {
    // The last word may be cut.
    let end = start.iter().rposition(u8::is_ascii_whitespace)?;
    let row = lines(start.get(..end)?).next()?;
    let whole = row.len() < end;
    let mut parts = fields(row);
    hex(parts.next()?)?;
    let first = parts.next()?;
    match (is_half(first), parts.next()) {
        (true, Some(second)) if is_other_half(second) => Some(format!("{} {}", text(first), text(second))),
        (true, None) if !whole => None,
        _ => Some(text(first).into_owned()),
    }
}

/// `prefer (many):0-1` and `weighted interleave:0-3` are the only policies of two words.
fn is_half(word: &[u8]) -> bool {
    matches!(word, b"prefer" | b"weighted")
}

fn is_other_half(word: &[u8]) -> bool {
    word.starts_with(b"(many)") || word.starts_with(b"interleave")
}

#[derive(Debug, Default)]
struct Line<'a> {
    policy: Vec<u8>,
    file: Option<&'a [u8]>,
    anon: u64,
    huge: bool,
    page: u64,
    nodes: Vec<(u32, u64)>,
}

impl<'a> Line<'a> {
    fn parse(row: &'a [u8], sizes: PageSizes) -> Option<Self> {
        let mut parts = fields(row);
        hex(parts.next()?)?;
        let mut policy = parts.next()?.to_vec();
        let mut parts = parts.peekable();
        if is_half(&policy)
            && let Some(second) = parts.next_if(|part| is_other_half(part))
        {
            policy.push(b' ');
            policy.extend_from_slice(second);
        }
        let mut line = Self { policy, page: sizes.base, ..Self::default() };
        let mut said = false;
        for part in parts {
            let Some(equals) = part.iter().position(|&byte| byte == b'=') else {
                line.huge |= part == b"huge";
                continue;
            };
            let (key, value) = (part.get(..equals)?, part.get(equals + 1..)?);
            match key {
                b"file" => line.file = Some(value),
                b"anon" => line.anon = number(value)?,
                b"kernelpagesize_kB" => {
                    line.page = number(value)?.checked_mul(1024)?;
                    said = true;
                }
                [b'N', id @ ..] => line.nodes.push((u32::try_from(number(id)?).ok()?, number(value)?)),
                _ => {}
            }
        }
        if line.huge && !said {
            line.page = sizes.huge;
        }
        Some(line)
    }

    /// Adds the pages to what was found and gives their bytes. Of a private file mapping the copied pages are
    /// anonymous: they are taken to lie on the nodes as all of its pages do.
    fn add(&self, found: &mut Found) -> Option<u64> {
        let pages = self.nodes.iter().try_fold(0u64, |sum, node| sum.checked_add(node.1))?;
        let shared = self.huge || self.file.is_none_or(is_shared_memory);
        let anon_share = if shared { 1.0 } else { self.anon.min(pages) as f64 / pages.max(1) as f64 };
        for &(node, count) in &self.nodes {
            let bytes = count.checked_mul(self.page)?;
            let anon = if shared { bytes } else { (bytes as f64 * anon_share) as u64 };
            add(&mut found.anon, node, anon);
            add(&mut found.file, node, bytes.saturating_sub(anon));
        }
        pages.checked_mul(self.page)
    }
}

/// Adds bytes to a node.
pub(super) fn add(nodes: &mut NodeBytes, node: u32, bytes: u64) {
    if bytes > 0 {
        let cell = nodes.entry(node).or_default();
        *cell = cell.saturating_add(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::{Found, PageSizes, first_policy, parse};
    use proptest::prelude::*;

    const SIZES: PageSizes = PageSizes { base: 4096, huge: 2 << 20 };

    fn kilobytes(found: &Found) -> [Vec<(u32, u64)>; 2] {
        let rows = |nodes: &super::NodeBytes| nodes.iter().map(|(&node, &bytes)| (node, bytes >> 10)).collect();
        [rows(&found.anon), rows(&found.file)]
    }

    const TEXT: &[u8] = b"00400000 default file=/usr/bin/my\\040app mapped=3 mapmax=9 N3=3 kernelpagesize_kB=4\n\
        00601000 default file=/usr/bin/my\\040app anon=1 dirty=1 mapped=2 N3=2 kernelpagesize_kB=4\n\
        01a00000 bind:1 heap anon=300 dirty=300 active=0 N0=100 N1=200 kernelpagesize_kB=4\n\
        7f0000000000 bind:1 anon=1000 dirty=1000 N1=1000 kernelpagesize_kB=4\n\
        7f1000000000 prefer (many):0-1 file=/SYSV00000000\\040(deleted) huge dirty=2 N0=2 kernelpagesize_kB=2048\n\
        7f2000000000 default\n\
        7ffc00000000 default stack anon=2 dirty=2 N1=2 kernelpagesize_kB=4\n";

    #[test]
    fn adds_up_pages_of_all_sizes() {
        let found = parse(TEXT, SIZES).expect("parsed");
        let anon = vec![(0, 400 + 4096), (1, 800 + 4000 + 8), (3, 4)];
        assert_eq!(kilobytes(&found), [anon, vec![(3, 12 + 4)]]);
        assert_eq!(found.policy.as_deref(), Some("bind:1"));
    }

    #[test]
    fn old_kernels_say_huge_only() {
        let found = parse(b"2aaaaac00000 interleave=relative:0-1 file=/anon_hugepage huge N0=1 N1=1\n", SIZES);
        let found = found.expect("parsed");
        assert_eq!(kilobytes(&found)[0], [(0, 2048), (1, 2048)]);
        assert_eq!(found.policy.as_deref(), Some("interleave=relative:0-1"));
        let two_words = parse(b"1000 weighted interleave:0-3 anon=1 N0=1\n", SIZES).expect("parsed");
        assert_eq!(two_words.policy.as_deref(), Some("weighted interleave:0-3"));
    }

    #[test]
    fn the_first_mapping_has_the_policy_of_the_process() {
        assert_eq!(first_policy(TEXT).as_deref(), Some("default"));
        for (text, policy) in [
            ("00400000 bind:3 file=/usr/bin/my\\040app mapped=3", "bind:3"),
            ("00400000 interleave=static:0-3,8-11 fi", "interleave=static:0-3,8-11"),
            ("00400000 prefer (many):0-1 file=/a", "prefer (many):0-1"),
            ("00400000 weighted interleave:0-3\n7f00", "weighted interleave:0-3"),
        ] {
            assert_eq!(first_policy(text.as_bytes()).as_deref(), Some(policy));
            for end in 0..text.len() {
                let found = first_policy(&text.as_bytes()[..end]);
                assert!(found.is_none() || found.as_deref() == Some(policy), "{found:?} of {end} bytes of {text}");
            }
        }
        assert_eq!(first_policy(b"\x7fELF bind:1 x\n"), None);
        assert_eq!(first_policy(b""), None);
    }

    #[test]
    fn kernel_threads_have_none() {
        assert_eq!(parse(b"", SIZES), Some(Found::default()));
        assert_eq!(parse(b"00400000 default N0=x\n", SIZES), None);
        assert_eq!(parse(b"00400000 default N0=18446744073709551615\n", SIZES), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = parse(&bytes, SIZES);
        }

        #[test]
        fn cut_files_never_give_wrong_sums(cut in 0usize..620) {
            let part = &TEXT[..cut.min(TEXT.len())];
            // The kernel's own end of file and a cut behind a line look the same; in between it is noticed.
            if let Some(found) = parse(part, SIZES) {
                prop_assert!(part.is_empty() || part.ends_with(b"\n"));
                prop_assert!(found.anon.values().sum::<u64>() <= 10_000 << 10);
            }
        }
    }
}
