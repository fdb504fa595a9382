//! One record after another: a key frame, then differences. Input: pieces of a 16-bit length and so many bytes.
//!
//! Whatever decodes must also come through encoding again unchanged, whole and as a difference.
#![no_main]

use libfuzzer_sys::fuzz_target;
use topotop_model::codec::{Error, Record, decode, decode_into, encode};
use topotop_model::{Snapshot, Stamp};

fuzz_target!(|data: &[u8]| {
    let mut base: Option<Snapshot> = None;
    let mut rest = data;
    for _ in 0..4 {
        let Some((length, tail)) = rest.split_first_chunk::<2>() else { return };
        let (bytes, tail) = tail.split_at(usize::from(u16::from_le_bytes(*length)).min(tail.len()));
        rest = tail;
        let record = Record { stamp: Stamp::default(), key: base.is_none(), bytes: bytes.to_vec() };
        let decoded = decode(base.as_ref(), &record);
        if let Some(mut place) = base.clone() {
            let again = decode_into(&mut place, &record).map(|()| place);
            assert_eq!(again.is_ok(), decoded.is_ok());
        }
        let Ok(next) = decoded else { continue };
        for base in [None, base.as_ref()] {
            // Sections that were read before are not taken back by a record of this program's own.
            if base.is_some() || record.key {
                let record = encode(base, &next).expect("what was decoded is encoded");
                match decode(base, &record) {
                    Ok(back) => assert_eq!(back, next),
                    // Made by several records, each within its bounds, it may be more than one may ask for.
                    Err(error) => assert_eq!(error, Error::TooLarge),
                }
            }
        }
        base = Some(next);
    }
});
