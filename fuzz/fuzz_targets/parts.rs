//! The small parts of a recording: header, head, event, index, key frame.
#![no_main]

use libfuzzer_sys::fuzz_target;
use topotop_model::recording::{Head, Header, Index, What, index_at, split_key};

fuzz_target!(|data: &[u8]| {
    let Some((&which, data)) = data.split_first() else { return };
    match which % 6 {
        0 => drop(Header::parse(data)),
        1 => {
            if let Some(head) = Head::parse(data) {
                let _ = (head.bytes(), head.proves(data));
            }
        }
        2 => drop(What::parse(data).map(|what| what.text())),
        3 => drop(Index::parse(data)),
        4 => drop(index_at(data, 0)),
        _ => {
            let _ = split_key(data);
        }
    }
});
