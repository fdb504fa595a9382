//! What was encoded is what is decoded, and whatever else comes is an error.

use super::arithmetic::Arithmetic;
use super::rows::{Event, PART, Row};
use super::source::{ColumnHead, Kind, Mode, SectionHead};
use super::varint::{Input, Output};
use super::{ARITHMETIC, CONTENT, Error, PACKED_CONTENT, Record, VERSION, block, decode, decode_into, encode, length};
use crate::{Draft, IdSet, Reason, Snapshot, Stamp, Table, Window};
use proptest::prelude::*;

/// One step of a machine's life: rows come, change and go, values vanish.
#[derive(Clone, Debug)]
struct Step {
    inserts: u8,
    removes: Vec<u8>,
    cells: Vec<(u8, u8, Option<u64>)>,
}

fn step() -> impl Strategy<Value = Step> {
    let cell = (any::<u8>(), any::<u8>(), prop_oneof![Just(None), Just(Some(u64::MAX)), any::<u64>().prop_map(Some)]);
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
    fn no_bytes_panic(bytes: Vec<u8>, texts: Vec<u8>, key: bool) {
        let mut blank = Snapshot::default();
        let _ = super::read::snapshot(&mut blank, Input::new(&bytes, 9999), &texts, bytes.len());
        let _ = super::read::snapshot(&mut blank, Arithmetic::new(&bytes, 9999), &texts, bytes.len());
        for version in [ARITHMETIC, VERSION] {
            let bytes = [&[version], &bytes[..]].concat();
            let _ = decode(None, &Record { stamp: Stamp::default(), key, bytes });
        }
    }

    #[test]
    fn damage_is_an_error_or_another_value_never_a_panic(steps in prop::collection::vec(step(), 1..4), at: usize, bit in 0u8..8) {
        let mut draft = Draft::default();
        let (mut base, mut last) = (Snapshot::default(), Snapshot::default());
        for (seq, step) in (1u64..).zip(&steps) {
            apply(&mut draft, step, seq);
            base = std::mem::take(&mut last);
            last = draft.publish(Stamp::default(), &base);
        }
        for base in [None, Some(&base)] {
            let whole = encode(base, &last)?;
            let at = at % whole.bytes.len();
            let mut flipped = whole.clone();
            flipped.bytes[at] ^= 1 << bit;
            let _ = decode(base, &flipped);
            let cut = Record { bytes: whole.bytes[..at].to_vec(), ..whole };
            let _ = decode(base, &cut);
        }
    }

    #[test]
    fn a_window_decoded_in_place_is_the_one_that_was_pushed(steps in prop::collection::vec((step(), 0u8..5), 1..24)) {
        let mut draft = Draft::default();
        let (mut last, mut window, mut records) = (Snapshot::default(), Window::default(), Vec::new());
        for (seq, (step, rest)) in (1u64..).zip(&steps) {
            // Some sections are read each time, some now and then, some every time until they no longer are.
            draft.load.begin(seq);
            if seq % 4 == 1 {
                draft.host.begin(seq);
            }
            if seq + u64::from(*rest) < steps.len() as u64 {
                apply(&mut draft, step, seq);
            }
            let next = draft.publish(Stamp { seq, ..Stamp::default() }, &last);
            records.push(encode((seq % 9 != 1).then_some(&last), &next)?);
            window.push(next.clone());
            let sought = super::window(&records)?;
            prop_assert_eq!(&sought.now, &window.now);
            prop_assert_eq!(&sought.before, &window.before);
            last = next;
        }
    }

    #[test]
    fn changes_in_place_leave_shared_sections_alone(steps in prop::collection::vec(step(), 2..8), hold: bool) {
        let mut draft = Draft::default();
        let (mut last, mut held) = (Snapshot::default(), Vec::new());
        let mut place = Snapshot::default();
        for (seq, step) in (1u64..).zip(&steps) {
            apply(&mut draft, step, seq);
            let next = draft.publish(Stamp { seq, ..Stamp::default() }, &last);
            decode_into(&mut place, &encode((seq > 1).then_some(&last), &next)?)?;
            prop_assert_eq!(&place, &next);
            if hold {
                held.push((place.clone(), next.clone()));
            }
            last = next;
        }
        for (decoded, live) in &held {
            prop_assert_eq!(decoded, live);
        }
    }
}

/// One row in the highest slot and a number in each column there, in every table.
struct Wide(Output, i64);
impl crate::Visit for Wide {
    fn section<T: Table>(&mut self, _: &'static str, _: &std::sync::Arc<crate::Section<T>>) {
        let output = &mut self.0;
        output.section(SectionHead { step: i64::from(T::ID) - self.1, state: 1, ..SectionHead::default() });
        self.1 = i64::from(T::ID);
        let columns: Vec<_> = T::COLUMNS.iter().take(PART).collect();
        let row = Row { slot: super::MAX_ROWS - 1, event: Event::Born, mask: u64::MAX, serial: 1 };
        output.part(columns.len(), &[row]);
        let (mut next, table) = (0, T::default());
        for (index, def) in columns.iter().enumerate() {
            let kind = super::cells::kind(table.column(index).expect("a column"));
            output.column(next, ColumnHead { id: u64::from(def.id), kind, shift: 0 });
            next = u64::from(def.id);
            match kind {
                Kind::Num => output.cell(Ok(1)),
                Kind::Text => output.text(Mode::Unread, 0),
                Kind::Sets => output.set(Mode::Unread, 0),
                Kind::Sparse => output.pairs(None),
            }
        }
        output.end();
    }
}

/// A key frame of blocks, or one with these cells and texts.
fn record(blocks: &[(u8, &[u8])]) -> Record {
    let mut bytes = vec![VERSION];
    for (kind, of) in blocks {
        block(&mut bytes, *kind, of);
    }
    Record { stamp: Stamp::default(), key: true, bytes }
}

fn content(cells: &[u8], texts: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    length(&mut out, cells.len());
    [&out, cells, texts].concat()
}

#[test]
fn small_records_take_little_memory() {
    // A few bytes that stand for 30 MiB.
    let zeros = zstd::bulk::compress(&vec![0; 30 << 20], 1).expect("compressed");
    assert_eq!(decode(None, &record(&[(PACKED_CONTENT, &zeros)])), Err(Error::TooLarge));
    let mut output = Output::default();
    for _ in 0..4 {
        output.signed(0);
    }
    let mut wide = Wide(output, 0);
    Snapshot::default().visit(&mut wide);
    wide.0.end();
    let content = content(&wide.0.bytes, &[]);
    assert!(content.len() < 9999);
    assert_eq!(decode(None, &record(&[(CONTENT, &content)])), Err(Error::TooLarge));
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

/// A new row with a value in each of some columns.
fn one_row(output: &mut Output, columns: &[(u64, Kind)]) {
    output.part(columns.len(), &[Row { slot: 0, event: Event::Born, mask: 0b11111, serial: 1 }]);
    let mut next = 0;
    for &(id, kind) in columns {
        output.column(next, ColumnHead { id, kind, shift: 0 });
        next = id;
        match kind {
            Kind::Num => output.cell(Ok(3)),
            Kind::Text => output.text(Mode::New, 2),
            Kind::Sets => {
                output.set(Mode::New, 1);
                output.number(1);
                output.number(0);
            }
            Kind::Sparse => {
                output.pairs(Some(1));
                output.number(4);
                output.signed(1);
            }
        }
    }
}

#[test]
fn what_is_unknown_is_read_past() {
    let mut draft = Draft::default();
    draft.irqs.begin(7);
    let slot = draft.irqs.data_mut().insert();
    draft.irqs.data_mut().irq.set(slot, 3);
    let plain = draft.publish(Stamp { seq: 1, mono_ns: 9, ..Stamp::default() }, &Snapshot::default());
    let mut output = Output::default();
    for step in [1, 9, -9, -9] {
        output.signed(step);
    }
    // Table 30,000 and, in a table that is known, column 200 and column 5 as another kind.
    for (step, ids) in [(40, [1, 5, 200, 201, 202]), (29_960, [1, 2, 3, 4, 5])] {
        let kinds = [Kind::Num, Kind::Text, Kind::Sets, Kind::Sparse, Kind::Num];
        output.section(SectionHead { step, state: 1, read_at: -2, took: 0, gaps: true });
        output.number(1);
        output.number(0);
        output.signed(0);
        one_row(&mut output, &ids.into_iter().zip(kinds).collect::<Vec<_>>());
        output.end();
    }
    output.end();
    let record = record(&[(77, b"later"), (CONTENT, &content(&output.bytes, b"abcd"))]);
    let mut back = decode(None, &Record { stamp: plain.stamp, ..record }).expect("decoded");
    std::sync::Arc::make_mut(&mut back.irqs).gaps.clear();
    assert_eq!(back, plain);
}
