//! Snapshots as bytes: column-wise deltas against a base, each record compressed for itself.
//!
//! A payload is the stamp and then, per section that changed: table id, length, and a body of state, gaps, row changes
//! and column changes. Tables and columns go by their numeric ids; unknown ones are skipped, absent ones keep the base.

mod read;
mod wire;
mod write;

pub use wire::Error;

use crate::{Snapshot, Stamp};

/// Version of the payload's form.
const VERSION: u64 = 1;
/// The largest payload that is decoded, in bytes: a 1,024-CPU machine with 5,000 processes stays below 8 MiB.
const MAX_PAYLOAD: usize = 64 << 20;
/// How many times its own size a record may decompress to, beside [`FREE_PAYLOAD`]: real ones stay below 50.
const MAX_RATIO: usize = 512;
/// What any record may decompress to, in bytes.
const FREE_PAYLOAD: usize = 1 << 20;
/// The highest slot that a table may use.
const MAX_ROWS: u64 = 1 << 18;
/// The cells that any record may make room for, in bytes, and those for each byte of its payload: rows of which most are
/// free take little to write and much to hold.
const FREE_CELLS: usize = 64 << 20;
const MAX_CELLS_RATIO: usize = 64;
/// The most sections of a record and gaps of a section.
const MAX_LIST: usize = 1 << 12;
/// zstd level: 3 gains little over 1 on deltas and costs twice.
const LEVEL: i32 = 1;

/// One encoded sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// When the sample was taken.
    pub stamp: Stamp,
    /// True if it needs no base.
    pub key: bool,
    /// Compressed payload.
    pub bytes: Vec<u8>,
}

/// Encodes a snapshot: as a difference to `base`, or whole. Pure: the same arguments give the same bytes.
pub fn encode(base: Option<&Snapshot>, new: &Snapshot) -> Result<Record, Error> {
    let payload = write::payload(base, new);
    let bytes = zstd::bulk::compress(&payload, LEVEL).map_err(|_| Error::Compression)?;
    Ok(Record { stamp: new.stamp, key: base.is_none(), bytes })
}

/// Decodes a record; a difference needs the snapshot that it was made against.
///
/// Whatever stands in a record of N bytes, beside its base it takes at most 64 MiB, and 80 bytes for each byte of its
/// payload, of which there are at most 1 MiB and 512 times N.
pub fn decode(base: Option<&Snapshot>, record: &Record) -> Result<Snapshot, Error> {
    if !record.key && base.is_none() {
        return Err(Error::NoBase);
    }
    let base = if record.key { None } else { base };
    let size = payload_size(&record.bytes)?;
    let payload = zstd::bulk::decompress(&record.bytes, size).map_err(|_| Error::Compression)?;
    read::snapshot(base, &payload)
}

/// The size that a compressed payload says that it has, if that is believable: so much memory is taken for it.
fn payload_size(bytes: &[u8]) -> Result<usize, Error> {
    let told = zstd::zstd_safe::get_frame_content_size(bytes).ok().flatten().ok_or(Error::Compression)?;
    let most = bytes.len().saturating_mul(MAX_RATIO).saturating_add(FREE_PAYLOAD).min(MAX_PAYLOAD);
    usize::try_from(told).ok().filter(|&size| size <= most).ok_or(Error::TooLarge)
}

#[cfg(test)]
mod tests {
    use super::{Record, decode, encode};
    use crate::{Draft, IdSet, Reason, Snapshot, Stamp, Table};
    use proptest::prelude::*;

    /// One step of a machine's life: rows come, change and go, values vanish.
    #[derive(Clone, Debug)]
    struct Step {
        inserts: u8,
        removes: Vec<u8>,
        cells: Vec<(u8, u8, Option<u64>)>,
    }

    fn step() -> impl Strategy<Value = Step> {
        let cell =
            (any::<u8>(), any::<u8>(), prop_oneof![Just(None), Just(Some(u64::MAX)), any::<u64>().prop_map(Some)]);
        (0u8..4, prop::collection::vec(any::<u8>(), 0..3), prop::collection::vec(cell, 0..12))
            .prop_map(|(inserts, removes, cells)| Step { inserts, removes, cells })
    }

    fn live(draft: &Draft) -> Vec<usize> {
        draft.irqs.data().rows().iter().collect()
    }

    fn apply(draft: &mut Draft, step: &Step, seq: u64) {
        draft.irqs.begin(seq);
        draft.irqs.gaps.add("proc/irq/*/node", Reason::NotFound, "");
        for _ in 0..step.inserts {
            draft.irqs.data_mut().insert();
        }
        for pick in &step.removes {
            let rows = live(draft);
            if let Some(&slot) = rows.get(usize::from(*pick) % rows.len().max(1)) {
                draft.irqs.data_mut().remove(slot);
            }
        }
        for (pick, kind, value) in &step.cells {
            let rows = live(draft);
            let Some(&slot) = rows.get(usize::from(*pick) % rows.len().max(1)) else { continue };
            let irqs = draft.irqs.data_mut();
            match (kind % 4, value) {
                (0, value) => irqs.total.set_or_clear(slot, *value),
                (1, Some(value)) => irqs.name.set(slot, &format!("eth{value}")),
                (2, Some(value)) => irqs.affinity.set(slot, IdSet::from_ids([*value as u32, 7])),
                (3, Some(value)) => irqs.per_cpu.set(slot, [(*value as u32 % 9, *value), (9, 1)]),
                (1, None) => irqs.name.clear(slot),
                (2, None) => irqs.affinity.clear(slot),
                (_, None) => irqs.per_cpu.clear(slot),
                _ => {}
            }
        }
    }

    proptest! {
        #[test]
        fn decoding_gives_back_what_was_encoded(steps in prop::collection::vec(step(), 1..8)) {
            let mut draft = Draft::default();
            let (mut last, mut decoded) = (Snapshot::default(), None);
            for (seq, step) in (1u64..).zip(&steps) {
                apply(&mut draft, step, seq);
                let stamp = Stamp { seq, wall_ns: -5, mono_ns: seq * 10, boot_ns: u64::MAX };
                let next = draft.publish(stamp, &last);
                let base = (seq % 4 != 1).then_some(&last);
                let record = encode(base, &next)?;
                let back = decode(decoded.as_ref(), &record)?;
                prop_assert_eq!(&back, &next);
                decoded = Some(back);
                last = next;
            }
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, key: bool) {
            let _ = super::read::snapshot(None, &bytes);
            let _ = decode(None, &Record { stamp: Stamp::default(), key, bytes });
        }

        #[test]
        fn damage_is_an_error_or_another_value_never_a_panic(steps in prop::collection::vec(step(), 1..3), at: usize, bit in 0u8..8) {
            let mut draft = Draft::default();
            for (seq, step) in (1u64..).zip(&steps) {
                apply(&mut draft, step, seq);
            }
            let whole = draft.publish(Stamp::default(), &Snapshot::default());
            let mut payload = super::write::payload(None, &whole);
            let at = at % payload.len();
            payload[at] ^= 1 << bit;
            let _ = super::read::snapshot(None, &payload);
            let _ = super::read::snapshot(None, &payload[..at]);
        }
    }

    /// One row in the highest slot and a cell of each column there, in every table.
    struct Wide(Vec<u8>);
    impl crate::Visit for Wide {
        fn section<T: Table>(&mut self, _: &'static str, _: &std::sync::Arc<crate::Section<T>>) {
            let mut table = T::default();
            table.rows_mut().put(super::MAX_ROWS as usize - 1, 1);
            let mut body = Vec::new();
            for byte in [1, 1, 0, 0, 1] {
                super::wire::put(&mut body, byte);
            }
            let slot = |out: &mut Vec<u8>| super::wire::put(out, u128::from(super::MAX_ROWS) - 1);
            slot(&mut body);
            body.push(1);
            for (index, def) in T::COLUMNS.iter().enumerate() {
                let mut data = vec![1];
                slot(&mut data);
                data.extend([1, 0]);
                super::wire::put(&mut body, u128::from(def.id));
                body.push(super::write::kind(table.column(index).expect("a column")));
                super::wire::put_bytes(&mut body, &data);
            }
            super::wire::put(&mut self.0, u128::from(T::ID));
            super::wire::put_bytes(&mut self.0, &body);
        }
    }

    #[test]
    fn small_records_take_little_memory() {
        let encoded = |payload: &[u8]| {
            let bytes = zstd::bulk::compress(payload, super::LEVEL).expect("compressed");
            decode(None, &Record { stamp: Stamp::default(), key: true, bytes })
        };
        // A few bytes that stand for 48 MiB.
        assert_eq!(encoded(&vec![0; 48 << 20]), Err(super::Error::TooLarge));
        let mut wide = Wide(vec![1, 1, 1, 1, 1]);
        Snapshot::default().visit(&mut wide);
        assert!(wide.0.len() < 8192);
        assert_eq!(encoded(&wide.0), Err(super::Error::TooLarge));
    }

    #[test]
    fn ids_are_unique() {
        struct Ids(Vec<u16>);
        impl crate::Visit for Ids {
            fn section<T: Table>(&mut self, name: &'static str, _: &std::sync::Arc<crate::Section<T>>) {
                assert!(!self.0.contains(&T::ID), "{name} uses the id of another table");
                assert_eq!(name, T::NAME);
                self.0.push(T::ID);
                let mut columns: Vec<u16> = T::COLUMNS.iter().map(|column| column.id).collect();
                columns.sort_unstable();
                columns.dedup();
                assert_eq!(columns.len(), T::COLUMNS.len(), "{name} has a column id twice");
            }
        }
        Snapshot::default().visit(&mut Ids(Vec::new()));
    }
}
