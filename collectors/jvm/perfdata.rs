//! The binary form of hsperfdata (perfMemory.hpp, perfData.hpp of HotSpot): a head, then entries with a name and a value.

use std::collections::BTreeMap;

/// The largest file that is read; 32 KiB is what a virtual machine has by default.
pub(super) const MOST_BYTES: usize = 1 << 20;
/// The most entries.
const MOST_ENTRIES: usize = 16_384;
/// The longest text that is kept.
const MOST_TEXT: usize = 128;
/// What a file begins with, whatever its byte order.
const MAGIC: [u8; 4] = [0xca, 0xfe, 0xc0, 0xc0];

/// What is taken of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Jvm {
    pub(super) gc_time_ns: Option<u64>,
    pub(super) gc_count: Option<u64>,
    pub(super) safepoint_time_ns: Option<u64>,
    pub(super) safepoints: Option<u64>,
    pub(super) contended_locks: Option<u64>,
    pub(super) heap_used: Option<u64>,
    pub(super) heap_capacity: Option<u64>,
    pub(super) heap_max: Option<u64>,
    pub(super) collectors: String,
    pub(super) version: String,
}

/// Reads numbers in the file's byte order.
#[derive(Clone, Copy)]
struct Bytes<'a> {
    bytes: &'a [u8],
    little: bool,
}

impl<'a> Bytes<'a> {
    fn u32_at(self, at: usize) -> Option<usize> {
        let four = <[u8; 4]>::try_from(self.bytes.get(at..at.checked_add(4)?)?).ok()?;
        Some((if self.little { u32::from_le_bytes(four) } else { u32::from_be_bytes(four) }) as usize)
    }

    fn u64_at(self, at: usize) -> Option<u64> {
        let eight = <[u8; 8]>::try_from(self.bytes.get(at..at.checked_add(8)?)?).ok()?;
        Some(if self.little { u64::from_le_bytes(eight) } else { u64::from_be_bytes(eight) })
    }

    fn from(self, from: usize, most: usize) -> Option<&'a [u8]> {
        self.bytes.get(from..)?.get(..most).or_else(|| self.bytes.get(from..))
    }
}

/// The contents of a file; none where it is not of a JVM, is not complete yet, or is damaged.
pub(super) fn parse(bytes: &[u8]) -> Option<Jvm> {
    if bytes.get(..4)? != MAGIC {
        return None;
    }
    // Major 2 is what every HotSpot since 2003 writes; `accessible` is set when all entries are there.
    let (order, major, accessible) = (*bytes.get(4)?, *bytes.get(5)?, *bytes.get(7)?);
    if order > 1 || major != 2 || accessible == 0 {
        return None;
    }
    let data = Bytes { bytes, little: order == 1 };
    let (mut at, count) = (data.u32_at(24)?, data.u32_at(28)?);
    let used = data.u32_at(8)?;
    // A file that is shorter than what is used of it is cut.
    let data =
        Bytes { bytes: bytes.get(..used.checked_add(32).filter(|end| *end <= bytes.len()).unwrap_or(used))?, ..data };
    let mut found = Found::default();
    for _ in 0..count.min(MOST_ENTRIES) {
        at = entry(data, at, &mut found)?;
    }
    found.jvm()
}

/// Takes an entry in; gives where the next one is.
fn entry(data: Bytes<'_>, at: usize, found: &mut Found) -> Option<usize> {
    let length = data.u32_at(at).filter(|length| *length >= 20)?;
    let next = at.checked_add(length)?;
    let entry = Bytes { bytes: data.bytes.get(at..next)?, ..data };
    let name = entry.from(entry.u32_at(4)?, 256)?;
    let name = std::str::from_utf8(name.split(|&byte| byte == 0).next()?).ok()?;
    let (elements, kind, value) = (entry.u32_at(8)?, *entry.bytes.get(12)?, entry.u32_at(16)?);
    match (kind, elements) {
        (b'J', 0) => found.number(name, entry.u64_at(value)?),
        (b'B', elements) if elements > 0 => {
            let bytes = entry.from(value, elements.min(MOST_TEXT))?;
            let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
            found.text(name, &topotop_model::text::from_bytes(text));
        }
        _ => {}
    }
    Some(next)
}

/// What was read so far.
#[derive(Debug, Default)]
struct Found {
    frequency: Option<u64>,
    gc_ticks: Option<u64>,
    safepoint_ticks: Option<u64>,
    names: BTreeMap<u32, String>,
    jvm: Jvm,
}

fn add(sum: &mut Option<u64>, value: u64) {
    *sum = Some(sum.unwrap_or(0).saturating_add(value));
}

impl Found {
    fn number(&mut self, name: &str, value: u64) {
        let parts: Vec<&str> = name.split('.').collect();
        let jvm = &mut self.jvm;
        match parts.as_slice() {
            ["sun", "os", "hrt", "frequency"] => self.frequency = Some(value),
            ["sun", "gc", "collector", _, "time"] => add(&mut self.gc_ticks, value),
            ["sun", "gc", "collector", _, "invocations"] => add(&mut jvm.gc_count, value),
            ["sun", "rt", "safepointTime"] => self.safepoint_ticks = Some(value),
            ["sun", "rt", "safepoints"] => jvm.safepoints = Some(value),
            ["sun", "rt", "_sync_ContendedLockAttempts"] => jvm.contended_locks = Some(value),
            ["sun", "gc", "generation", _, "space", _, "used"] => add(&mut jvm.heap_used, value),
            ["sun", "gc", "generation", _, "capacity"] => add(&mut jvm.heap_capacity, value),
            // Generations that share one heap each name all of it as their most.
            ["sun", "gc", "generation", _, "maxCapacity"] => jvm.heap_max = Some(jvm.heap_max.unwrap_or(0).max(value)),
            _ => {}
        }
    }

    fn text(&mut self, name: &str, value: &str) {
        let parts: Vec<&str> = name.split('.').collect();
        match parts.as_slice() {
            ["sun", "gc", "collector", number, "name"] => {
                if let Some(number) = number.parse().ok().filter(|_| self.names.len() < 16) {
                    self.names.insert(number, value.to_owned());
                }
            }
            ["java", "property", "java", "vm", "version"] => value.clone_into(&mut self.jvm.version),
            _ => {}
        }
    }

    fn jvm(mut self) -> Option<Jvm> {
        // Ticks without their frequency say nothing.
        let frequency = self.frequency.filter(|frequency| *frequency > 0);
        let ns = |ticks: u64| {
            let ns = u128::from(ticks) * 1_000_000_000 / u128::from(frequency?);
            u64::try_from(ns).ok()
        };
        self.jvm.gc_time_ns = self.gc_ticks.and_then(ns);
        self.jvm.safepoint_time_ns = self.safepoint_ticks.and_then(ns);
        self.jvm.collectors = self.names.into_values().collect::<Vec<_>>().join(", ");
        let anything = self.jvm.gc_count.is_some() || self.jvm.safepoints.is_some() || self.jvm.heap_capacity.is_some();
        anything.then_some(self.jvm)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::parse;
    use proptest::prelude::*;

    /// A file with numbers and texts, in one byte order.
    pub(in crate::jvm) fn file(numbers: &[(&str, u64)], texts: &[(&str, &str)], little: bool) -> Vec<u8> {
        let four = |value: usize| if little { (value as u32).to_le_bytes() } else { (value as u32).to_be_bytes() };
        let mut entries = Vec::new();
        let mut put = |name: &str, elements: usize, kind: u8, value: &[u8]| {
            let at = (20 + name.len() + 1).next_multiple_of(8);
            let length = (at + value.len()).next_multiple_of(8);
            let mut entry = vec![0; length];
            for (place, number) in [(0, length), (4, 20), (8, elements), (16, at)] {
                entry[place..place + 4].copy_from_slice(&four(number));
            }
            entry[12] = kind;
            entry[20..20 + name.len()].copy_from_slice(name.as_bytes());
            entry[at..at + value.len()].copy_from_slice(value);
            entries.extend(entry);
        };
        for (name, value) in numbers {
            put(name, 0, b'J', &if little { value.to_le_bytes() } else { value.to_be_bytes() });
        }
        for (name, value) in texts {
            put(name, value.len() + 1, b'B', &[value.as_bytes(), &[0]].concat());
        }
        let mut bytes = vec![0xca, 0xfe, 0xc0, 0xc0, u8::from(little), 2, 0, 1];
        bytes.extend(four(entries.len()));
        bytes.extend([0; 12]);
        bytes.extend(four(32));
        bytes.extend(four(numbers.len() + texts.len()));
        bytes.extend(entries);
        // The rest of its 32 KiB is not used.
        bytes.resize(bytes.len() + 64, 0);
        bytes
    }

    pub(in crate::jvm) const NUMBERS: [(&str, u64); 10] = [
        ("sun.os.hrt.frequency", 1_000_000_000),
        ("sun.gc.collector.0.time", 300_000_000),
        ("sun.gc.collector.0.invocations", 12),
        ("sun.gc.collector.1.time", 700_000_000),
        ("sun.gc.collector.1.invocations", 3),
        ("sun.rt.safepointTime", 1_200_000_000),
        ("sun.rt.safepoints", 40),
        ("sun.rt._sync_ContendedLockAttempts", 41),
        ("sun.gc.generation.0.capacity", 64 << 20),
        ("sun.gc.generation.0.space.0.used", 5 << 20),
    ];
    const TEXTS: [(&str, &str); 3] = [
        ("sun.gc.collector.1.name", "full"),
        ("sun.gc.collector.0.name", "young"),
        ("java.property.java.vm.version", "17.0.9"),
    ];

    #[test]
    fn both_byte_orders_are_read() {
        for little in [true, false] {
            let jvm = parse(&file(&NUMBERS, &TEXTS, little)).expect("a virtual machine");
            assert_eq!((jvm.gc_time_ns, jvm.gc_count), (Some(1_000_000_000), Some(15)));
            assert_eq!((jvm.safepoint_time_ns, jvm.safepoints), (Some(1_200_000_000), Some(40)));
            assert_eq!(jvm.contended_locks, Some(41));
            assert_eq!((jvm.heap_used, jvm.heap_capacity, jvm.heap_max), (Some(5 << 20), Some(64 << 20), None));
            assert_eq!((jvm.collectors.as_str(), jvm.version.as_str()), ("young, full", "17.0.9"));
        }
    }

    #[test]
    fn ticks_need_their_frequency() {
        let jvm = parse(&file(&NUMBERS[1..], &[], true)).expect("a virtual machine");
        assert_eq!((jvm.gc_time_ns, jvm.gc_count), (None, Some(15)));
        let jvm = parse(&file(&[("sun.os.hrt.frequency", 0), NUMBERS[1], NUMBERS[2]], &[], true)).expect("one");
        assert_eq!(jvm.gc_time_ns, None);
    }

    #[test]
    fn what_is_none_is_none() {
        let whole = file(&NUMBERS, &TEXTS, true);
        for (at, byte) in [(0, 0), (4, 2), (5, 1), (7, 0)] {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            assert_eq!(parse(&bytes), None, "{at}");
        }
        assert_eq!(parse(&[]), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, at in 0usize..400, byte: u8) {
            let _ = parse(&bytes);
            let mut whole = file(&NUMBERS, &TEXTS, true);
            let at = at % whole.len();
            whole[at] = byte;
            let _ = parse(&whole);
            let _ = parse(&[&whole[..32], &bytes].concat());
        }

        #[test]
        fn a_cut_file_gives_no_wrong_number(cut in 0usize..1000, little: bool) {
            let whole = file(&NUMBERS, &TEXTS, little);
            let cut = cut.min(whole.len());
            let read = parse(&whole[..cut]);
            prop_assert!(read.is_none() || read == parse(&whole), "{read:?}");
        }
    }
}
