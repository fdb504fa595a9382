//! Whatever stands in a record, decoding it takes no more memory and time than is stated.

use proptest::prelude::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use topotop_model::codec::{Record, decode, encode};
use topotop_model::{ColumnMut, Draft, IdSet, Snapshot, Stamp, Table};

/// Counts what a thread has allocated, and the most there was; other tests run in other threads.
struct Counting;

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    // A thread that ends still frees.
    let _ = NOW.try_with(|now| {
        now.set(now.get() + bytes);
        MOST.try_with(|most| most.set(most.get().max(now.get())))
    });
}

mod counting {
    #![expect(unsafe_code, reason = "an allocator is unsafe by its trait; it hands everything to the system's")]
    use super::{Counting, GlobalAlloc, Layout, System, count};

    unsafe impl GlobalAlloc for Counting {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            count(layout.size() as isize);
            unsafe { System.alloc(layout) }
        }

        unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
            count(-(layout.size() as isize));
            unsafe { System.dealloc(pointer, layout) }
        }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Asserts that a record takes what it may; what it decodes to does not matter.
fn assert_bounded(base: Option<&Snapshot>, record: &Record) {
    let (before, start) = (NOW.get(), cpu_seconds());
    MOST.set(before);
    let decoded = decode(base, record);
    let most = usize::try_from(MOST.get() - before).unwrap_or_default();
    drop(decoded);
    let bound = (64 << 20) + 8192 * record.bytes.len();
    assert!(most <= bound, "{most} bytes for a record of {}", record.bytes.len());
    let used = cpu_seconds() - start;
    assert!(used < 20, "{used} s of CPU time for {} bytes", record.bytes.len());
}

/// CPU time of this thread.
fn cpu_seconds() -> i64 {
    rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime).tv_sec
}

fn fill<T: Table>(table: &mut T, rows: usize, seed: u64) {
    for at in 0..rows {
        let slot = table.insert();
        for index in 0..T::COLUMNS.len() {
            let value = (seed + at as u64 * 7 + index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            match table.column_mut(index) {
                Some(ColumnMut::Num(column)) => column.set(slot, value),
                Some(ColumnMut::Text(column)) => column.set(slot, &format!("text {value}")),
                Some(ColumnMut::Sets(column)) => column.set(slot, IdSet::from_ids([value as u32 % 64])),
                Some(ColumnMut::Sparse(column)) => column.set(slot, [(value as u32 % 9, value)]),
                None => {}
            }
        }
    }
}

/// A machine with many rows in wide tables.
fn greedy(seed: u64) -> Record {
    let mut draft = Draft::default();
    draft.cgroups.begin(1);
    draft.processes.begin(1);
    fill(draft.cgroups.data_mut(), 1500, seed);
    fill(draft.processes.data_mut(), 3000, seed);
    encode(None, &draft.publish(Stamp::default(), &Snapshot::default())).expect("encoded")
}

/// A record of a content that is not packed.
fn plain(content: &[u8]) -> Record {
    let mut bytes = vec![2, 1];
    let mut length = content.len();
    while length >= 0x80 {
        bytes.push(length as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes.extend(content);
    Record { stamp: Stamp::default(), key: true, bytes }
}

/// The content of a packed record.
fn content(record: &Record) -> Vec<u8> {
    assert_eq!(record.bytes[..2], [2, 2]);
    let length = record.bytes[2..].iter().take_while(|byte| **byte >= 0x80).count() + 1;
    zstd::bulk::decompress(&record.bytes[2 + length..], 32 << 20).expect("unpacked")
}

#[test]
fn large_ones_with_other_bytes_take_what_they_may() {
    let whole = greedy(3);
    assert!(decode(None, &whole).is_ok());
    let content = content(&whole);
    assert_eq!(decode(None, &plain(&content)), decode(None, &whole));
    for part in 0..40 {
        // From some place on everything is one byte, packed or not.
        let mut content = content.clone();
        let from = content.len() * part / 40 + 64;
        for byte in content.iter_mut().skip(from) {
            *byte = part as u8;
        }
        assert_bounded(None, &plain(&content));
        let mut record = whole.clone();
        for byte in record.bytes.iter_mut().skip(4096 * part / 4) {
            *byte = part as u8;
        }
        assert_bounded(None, &record);
    }
}

/// A machine's sample and the one after it.
fn two(seed: u64) -> (Snapshot, Snapshot) {
    let mut draft = Draft::default();
    draft.processes.begin(1);
    draft.irqs.begin(1);
    fill(draft.processes.data_mut(), 40, seed);
    fill(draft.irqs.data_mut(), 9, seed);
    let first = draft.publish(Stamp { seq: 1, ..Stamp::default() }, &Snapshot::default());
    draft.processes.begin(2);
    fill(draft.processes.data_mut(), 3, seed + 1);
    draft.processes.data_mut().remove(4);
    let second = draft.publish(Stamp { seq: 2, ..Stamp::default() }, &first);
    (first, second)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn records_take_what_they_may(
        seed in 0u64..1000,
        bytes in prop::collection::vec(any::<u8>(), 0..2000),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        // Nothing but noise behind what every record of a version begins with.
        for version in [1, 2] {
            let mut noise = vec![version, 1, bytes.len() as u8 | 0x80, (bytes.len() >> 7) as u8];
            noise.extend(&bytes);
            assert_bounded(None, &Record { stamp: Stamp::default(), key: true, bytes: noise });
        }
        assert_bounded(None, &plain(&[&[0xff, 0x7f][..], &bytes].concat()));
        // Real ones with bytes that are others.
        let (first, second) = two(seed);
        for base in [None, Some(&first)] {
            let mut record = encode(base, &second).expect("encoded");
            for (at, byte) in &flips {
                let at = at.index(record.bytes.len());
                record.bytes[at] = *byte;
            }
            assert_bounded(base, &record);
        }
    }
}
