//! What fuzzing found worth keeping: no panic, and what decodes comes through encoding again unchanged.

use topotop_model::codec::{Error, Record, decode, encode};
use topotop_model::{Snapshot, Stamp};

/// As `fuzz/fuzz_targets/record.rs` reads its input: pieces of a 16-bit length and so many bytes.
fn play(data: &[u8]) -> usize {
    let (mut base, mut rest, mut decoded): (Option<Snapshot>, _, _) = (None, data, 0);
    while let Some((length, tail)) = rest.split_first_chunk::<2>() {
        let (bytes, tail) = tail.split_at(usize::from(u16::from_le_bytes(*length)).min(tail.len()));
        rest = tail;
        let record = Record { stamp: Stamp::default(), key: base.is_none(), bytes: bytes.to_vec() };
        let Ok(next) = decode(base.as_ref(), &record) else { continue };
        for base in [None, base.as_ref()] {
            let record = encode(base, &next).expect("what was decoded is encoded");
            match decode(base, &record) {
                Ok(back) => assert_eq!(back, next),
                Err(error) => assert_eq!(error, Error::TooLarge, "only what several records made"),
            }
        }
        base = Some(next);
        decoded += 1;
    }
    decoded
}

#[test]
fn what_fuzzing_kept_goes_well() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/record");
    let (mut files, mut decoded) = (0, 0);
    for entry in std::fs::read_dir(dir).expect("the corpus") {
        let bytes = std::fs::read(entry.expect("an entry").path()).expect("a file");
        decoded += play(&bytes);
        files += 1;
    }
    assert!(files > 10 && decoded > 10, "{decoded} records of {files} files");
}
