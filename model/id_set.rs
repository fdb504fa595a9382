//! Sets of kernel ids (CPUs, nodes) as the ranges that cpulists print.

use std::fmt;

/// A sorted set of ids, kept as disjoint inclusive ranges: a hostile list costs its text, not its numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IdSet {
    ranges: Vec<(u32, u32)>,
}

/// The most ranges that a list may spell out: twice as many as 65,536 ids can have.
const MAX_RANGES: usize = 1 << 16;
/// The most words of a map.
const MAX_WORDS: usize = 1 << 12;

impl IdSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// True if every id of it is in another set.
    pub fn is_within(&self, other: &Self) -> bool {
        self.ranges.iter().all(|&(first, last)| {
            let at = other.ranges.partition_point(|range| range.1 < first);
            other.ranges.get(at).is_some_and(|range| range.0 <= first && last <= range.1)
        })
    }

    /// Parses a kernel cpulist: `0-3,8`, `0-31:2/4`, or the empty string.
    pub fn parse_list(text: &str) -> Option<Self> {
        let mut ranges = Vec::new();
        for part in text.trim().split(',').map(str::trim).filter(|part| !part.is_empty()) {
            parse_part(part, &mut ranges)?;
            if ranges.len() > MAX_RANGES {
                return None;
            }
        }
        Some(Self::from_ranges(ranges))
    }

    /// Parses a kernel cpumap: hex words of 32 bits, most significant first, separated by commas.
    pub fn parse_map(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.trim().split(',').take(MAX_WORDS + 1).collect();
        if words.len() > MAX_WORDS {
            return None;
        }
        let mut ranges = Vec::new();
        for (index, word) in words.iter().rev().enumerate() {
            let digits = word.trim().trim_start_matches("0x");
            if digits.is_empty() || digits.len() > 16 {
                return None;
            }
            let bits = u64::from_str_radix(digits, 16).ok()?;
            let base = u32::try_from(index).ok()?.checked_mul(32)?;
            for bit in (0..64).filter(|bit| bits >> bit & 1 == 1) {
                let id = base.checked_add(bit)?;
                ranges.push((id, id));
            }
        }
        Some(Self::from_ranges(ranges))
    }

    /// Joins ranges in any order. Sorted once: adding them one by one would take the square of their number.
    fn from_ranges(mut ranges: Vec<(u32, u32)>) -> Self {
        if !ranges.is_sorted() {
            ranges.sort_unstable();
        }
        let mut set = Self::new();
        for (first, last) in ranges {
            match set.ranges.last_mut() {
                Some(range) if first <= range.1.saturating_add(1) => range.1 = range.1.max(last),
                _ => set.ranges.push((first, last)),
            }
        }
        set
    }

    /// The ids of an iterator, in any order.
    pub fn from_ids(ids: impl IntoIterator<Item = u32>) -> Self {
        let mut ids: Vec<u32> = ids.into_iter().collect();
        ids.sort_unstable();
        let mut set = Self::new();
        for id in ids {
            set.insert(id);
        }
        set
    }

    /// Adds one id.
    pub fn insert(&mut self, id: u32) {
        match self.ranges.last_mut() {
            Some(last) if id > last.1 && id - last.1 == 1 => last.1 = id,
            Some(last) if (last.0..=last.1).contains(&id) => {}
            Some(last) if id > last.1 => self.ranges.push((id, id)),
            None => self.ranges.push((id, id)),
            Some(_) => self.insert_range(id, id),
        }
    }

    /// Adds the ids from `first` to `last`, both included.
    pub fn insert_range(&mut self, first: u32, last: u32) {
        if first > last {
            return;
        }
        let (mut low, mut high) = (first, last);
        let mut out = Vec::with_capacity(self.ranges.len() + 1);
        let mut rest = Vec::new();
        for &(a, b) in &self.ranges {
            if b < low && low - b > 1 {
                out.push((a, b));
            } else if a > high && a - high > 1 {
                rest.push((a, b));
            } else {
                low = low.min(a);
                high = high.max(b);
            }
        }
        out.push((low, high));
        out.extend(rest);
        self.ranges = out;
    }

    /// Appends a range above all others; a decoder's way in. Ranges that touch are joined.
    pub(crate) fn push_range(&mut self, first: u32, last: u32) {
        match self.ranges.last_mut() {
            Some(range) if first > range.1 && first - range.1 == 1 => range.1 = last,
            _ => self.ranges.push((first, last)),
        }
    }

    /// True if `id` is in the set.
    pub fn contains(&self, id: u32) -> bool {
        let index = self.ranges.partition_point(|range| range.1 < id);
        self.ranges.get(index).is_some_and(|range| range.0 <= id)
    }

    /// How many ids it holds.
    pub fn len(&self) -> u64 {
        self.ranges.iter().map(|(a, b)| u64::from(b - a) + 1).sum()
    }

    /// True if it holds none.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The only id, if there is just one.
    pub fn single(&self) -> Option<u32> {
        match self.ranges.as_slice() {
            [(a, b)] if a == b => Some(*a),
            _ => None,
        }
    }

    /// The lowest id.
    pub fn first(&self) -> Option<u32> {
        self.ranges.first().map(|range| range.0)
    }

    /// The highest id.
    pub fn last(&self) -> Option<u32> {
        self.ranges.last().map(|range| range.1)
    }

    /// The ids in ascending order; a hostile set may hold 2^32 of them: intersect first.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.ranges.iter().flat_map(|&(a, b)| a..=b)
    }

    /// The ranges, ascending and disjoint.
    pub fn ranges(&self) -> &[(u32, u32)] {
        &self.ranges
    }

    /// The ranges that both hold, ascending.
    fn shared<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = (u32, u32)> + 'a {
        let (mut left, mut right) = (self.ranges.iter().peekable(), other.ranges.iter().peekable());
        std::iter::from_fn(move || {
            while let (Some(&&(a, b)), Some(&&(c, d))) = (left.peek(), right.peek()) {
                if b < d {
                    left.next();
                } else {
                    right.next();
                }
                if a.max(c) <= b.min(d) {
                    return Some((a.max(c), b.min(d)));
                }
            }
            None
        })
    }

    /// What both hold.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self { ranges: self.shared(other).collect() }
    }

    /// The only id that both hold; none where there is none, or more than one.
    pub fn single_of(&self, other: &Self) -> Option<u32> {
        let mut shared = self.shared(other);
        let (first, last) = shared.next()?;
        (first == last && shared.next().is_none()).then_some(first)
    }

    /// What either holds.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self::from_ranges(self.ranges.iter().chain(&other.ranges).copied().collect())
    }

    /// True if both hold a common id.
    pub fn intersects(&self, other: &Self) -> bool {
        self.shared(other).next().is_some()
    }

    /// True if every id of this set is in `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.shared(other).eq(self.ranges.iter().copied())
    }
}

/// One part of a cpulist: an id, a range, or a range of which the first `used` ids of each `group` count.
fn parse_part(part: &str, ranges: &mut Vec<(u32, u32)>) -> Option<()> {
    let (range, stride) = match part.split_once(':') {
        Some((range, stride)) => (range, Some(stride)),
        None => (part, None),
    };
    let (first, last) = match range.split_once('-') {
        Some((a, b)) => (a.trim().parse().ok()?, b.trim().parse().ok()?),
        None => (range.parse().ok()?, range.parse().ok()?),
    };
    if first > last {
        return None;
    }
    let Some(stride) = stride else {
        ranges.push((first, last));
        return Some(());
    };
    let (used, group) = stride.split_once('/')?;
    let (used, group): (u32, u32) = (used.parse().ok()?, group.parse().ok()?);
    if used == 0 || group < used || (last - first) as usize / group as usize > MAX_RANGES {
        return None;
    }
    for start in (first..=last).step_by(group as usize) {
        ranges.push((start, last.min(start.saturating_add(used - 1))));
    }
    Some(())
}

/// The kernel's cpulist form: `0-3,8`.
impl fmt::Display for IdSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, &(a, b)) in self.ranges.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            if a == b {
                write!(f, "{comma}{a}")?;
            } else {
                write!(f, "{comma}{a}-{b}")?;
            }
        }
        Ok(())
    }
}

impl FromIterator<u32> for IdSet {
    fn from_iter<I: IntoIterator<Item = u32>>(ids: I) -> Self {
        Self::from_ids(ids)
    }
}

#[cfg(test)]
mod tests {
    use super::IdSet;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn list(text: &str) -> String {
        IdSet::parse_list(text).map_or_else(|| "bad".to_owned(), |set| set.to_string())
    }

    #[test]
    fn lists_as_kernels_print_them() {
        assert_eq!(list("0-3,8\n"), "0-3,8");
        assert_eq!(list(""), "");
        assert_eq!(list("\n"), "");
        assert_eq!(list("0-31:2/4"), "0-1,4-5,8-9,12-13,16-17,20-21,24-25,28-29");
        assert_eq!(list("8,0-3,2-5"), "0-5,8");
        assert_eq!(list("0-4294967295"), "0-4294967295");
        for bad in ["3-1", "a", "1-", "0-3:0/4", "0-3:5/4", "0-3:1", "-1"] {
            assert_eq!(list(bad), "bad", "{bad}");
        }
    }

    #[test]
    fn maps_as_kernels_print_them() {
        let map = |text| IdSet::parse_map(text).map(|set| set.to_string());
        assert_eq!(map("00000000,0000000f\n").as_deref(), Some("0-3"));
        assert_eq!(map("1,80000000").as_deref(), Some("31-32"));
        assert_eq!(map("ff").as_deref(), Some("0-7"));
        assert_eq!(map("xyz"), None);
        assert_eq!(map(""), None);
    }

    #[test]
    fn hostile_texts_cost_no_more_than_they_are_long() {
        let falling: Vec<String> = (1..=30_000u32).rev().map(|id| (id * 2).to_string()).collect();
        let set = IdSet::parse_list(&falling.join(",")).expect("a list");
        assert_eq!((set.ranges().len(), set.first(), set.last()), (30_000, Some(2), Some(60_000)));
        assert_eq!(set.union(&set), set);
        assert_eq!(IdSet::parse_list(&vec!["0-65535:1/2"; 1000].join(",")), None);
        assert_eq!(IdSet::parse_list("0-4294967295:1/2"), None);
        assert_eq!(IdSet::parse_list("5-4294967295,0-4294967295").map(|set| set.len()), Some(1 << 32));
        assert_eq!(IdSet::parse_map(&vec!["ffffffffffffffff"; 5000].join(",")), None);
        let overlapping = IdSet::parse_map(&vec!["5555555555555555"; 4096].join(","));
        assert_eq!(overlapping.map(|set| set.ranges().len()), Some(4097 * 16));
    }

    proptest! {
        #[test]
        fn behaves_like_a_set(a: Vec<u16>, b: Vec<u16>) {
            let set = |ids: &[u16]| ids.iter().map(|&id| u32::from(id)).collect::<BTreeSet<u32>>();
            let (x, y) = (set(&a), set(&b));
            let mut one = IdSet::new();
            for &id in &a {
                one.insert(u32::from(id));
            }
            let two = IdSet::from_ids(y.iter().copied());
            prop_assert_eq!(one.iter().collect::<BTreeSet<_>>(), x.clone());
            prop_assert_eq!(one.len(), x.len() as u64);
            prop_assert_eq!(one.intersection(&two).iter().collect::<BTreeSet<_>>(), &x & &y);
            prop_assert_eq!(one.union(&two).iter().collect::<BTreeSet<_>>(), &x | &y);
            prop_assert_eq!(IdSet::parse_list(&one.to_string()), Some(one.clone()));
            prop_assert!(y.iter().all(|&id| two.contains(id)));
            let both = one.intersection(&two);
            prop_assert!(both.is_within(&one) && both.is_within(&two));
            prop_assert_eq!(one.is_within(&two), x.is_subset(&y));
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = IdSet::parse_list(&text);
            let _ = IdSet::parse_map(&text);
        }
    }
}
