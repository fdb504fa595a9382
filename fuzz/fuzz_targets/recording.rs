//! A recording, as a file of four slots and as a stream. Input: a byte that says which, then pieces: a slot and kind,
//! a 16-bit length and so many bytes, which become a record with a right checksum, or stand there as they are.
#![no_main]

use libfuzzer_sys::fuzz_target;
use topotop_model::recording::{About, Head, Header, Kind, Reader, Stream};

const SLOT: usize = 32 << 10;

fn image(data: &[u8], segment_bytes: usize) -> Vec<u8> {
    let header = Header { segment_bytes: segment_bytes as u64, about: About::default() }.encode();
    let mut slots = vec![Vec::new(); if segment_bytes == 0 { 1 } else { 4 }];
    let (mut rest, mut number) = (data, 0u32);
    while let Some((&[what, segment, low, high], tail)) = rest.split_first_chunk::<4>() {
        let (body, tail) = tail.split_at(usize::from(u16::from_le_bytes([low, high])).min(tail.len()));
        rest = tail;
        let at = usize::from(what >> 6) % slots.len();
        let kind = [Kind::Key, Kind::Delta, Kind::Event, Kind::Index, Kind::End][usize::from(what & 7) % 5];
        let when = (i64::from(number) * 1_000_000_000, u64::from(number) * 1_000_000_000);
        match what >> 3 & 7 {
            0 => slots[at].extend_from_slice(body),
            step => {
                slots[at].extend(Head::record(kind, u32::from(segment), number, when, body));
                number = number.wrapping_add(u32::from(step) * 2 - 1 & 3);
            }
        }
    }
    let mut out = header;
    for mut slot in slots {
        if segment_bytes > 0 {
            slot.resize(segment_bytes, 0);
        }
        out.extend(slot);
    }
    out
}

fuzz_target!(|data: &[u8]| {
    let Some((&form, rest)) = data.split_first() else { return };
    let bytes = image(rest, if form & 1 == 0 { 0 } else { SLOT });
    if form & 2 == 0 {
        let Ok(mut stream) = Stream::open(bytes.as_slice()) else { return };
        while let Ok(Some(_)) = stream.next_item() {}
        return;
    }
    let Ok(mut reader) = Reader::open(bytes) else { return };
    let _ = (reader.events(), reader.timeline(), reader.span(), reader.is_closed(), reader.cut_short());
    if let Some(numbers) = reader.numbers() {
        for number in [*numbers.start(), numbers.start() / 2 + numbers.end() / 2, *numbers.end()] {
            let _ = reader.window_at(number);
        }
        let _ = reader.locate(1_000_000_000);
    }
    let mut steps = 0;
    while let Some(step) = reader.next_sample() {
        let _ = step;
        steps += 1;
        assert!(steps < 100_000, "it goes on for ever");
    }
    let _ = reader.damage();
});
