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
/// The highest slot that a table may use.
const MAX_ROWS: u64 = 1 << 18;
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
pub fn decode(base: Option<&Snapshot>, record: &Record) -> Result<Snapshot, Error> {
    if !record.key && base.is_none() {
        return Err(Error::NoBase);
    }
    let base = if record.key { None } else { base };
    let payload = zstd::bulk::decompress(&record.bytes, MAX_PAYLOAD).map_err(|_| Error::Compression)?;
    read::snapshot(base, &payload)
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
