//! The small parts of a recording: header, head, event, index, key frame, the judge's state.
#![no_main]

use libfuzzer_sys::fuzz_target;
use topotop_model::frame::Frame;
use topotop_model::judge::{Judge, Settings};
use topotop_model::recording::{Event, Head, Header, Index, RecordedFindings, What, index_at, split_key};

fuzz_target!(|data: &[u8]| {
    let Some((&which, data)) = data.split_first() else { return };
    match which % 7 {
        0 => drop(Header::parse(data)),
        1 => {
            if let Some(head) = Head::parse(data) {
                let _ = (head.bytes(), head.proves(data));
            }
        }
        2 => {
            if let Some(what) = What::parse(data) {
                let _ = what.text();
                let recorded = RecordedFindings::of(&[(1, Event { wall_ns: 0, mono_ns: 0, what })]);
                let _ = recorded.at(1).all().iter().map(|finding| finding.title()).count();
            }
        }
        3 => drop(Index::parse(data)),
        4 => drop(index_at(data, 0)),
        5 => {
            if let Some(mut judge) = Judge::unpack(&Settings::default(), data) {
                judge.step(&Frame::default());
            }
        }
        _ => {
            let _ = split_key(data);
        }
    }
});
