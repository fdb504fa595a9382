//! Stepping back shows what was shown: frames decoded from the log equal those that came live.

use std::sync::mpsc::sync_channel;
use std::time::Duration;
use topotop::export::{Options, json};
use topotop::source::live::{Live, Plan};
use topotop::source::{Sample, Source, Target};
use topotop_collectors::Root;
use topotop_model::derive::Settings;

fn document(sample: &Sample) -> String {
    let mut out = Vec::new();
    let options = Options { judgement: Some(&sample.judgement), ..Options::default() };
    json::write(&sample.frame, &options, &mut out).expect("memory takes it");
    String::from_utf8(out).expect("text")
}

#[test]
fn what_is_stepped_back_to_is_what_was_shown() {
    let plan = Plan {
        interval: Duration::from_millis(100),
        options: topotop_collectors::Options::default(),
        settings: Settings::default(),
        judge: topotop_model::judge::Settings::default(),
    };
    let (wake, woken) = sync_channel(64);
    let root = Root::live().expect("this machine");
    let mut source = Live::start(root, plan, move || {
        let _ = wake.try_send(());
    })
    .expect("a thread");
    let mut seen: Vec<Sample> = Vec::new();
    while seen.len() < 8 {
        woken.recv_timeout(Duration::from_secs(20)).expect("a sample");
        seen.extend(source.take());
    }
    let newest = seen.last().expect("samples").frame.stamp;
    for (index, sample) in seen.iter().enumerate().rev() {
        let back = sample.frame.stamp.seq as i64 - newest.seq as i64;
        let found = source.seek(newest, Target::Samples(back)).expect("a past");
        assert_eq!(found.frame.stamp, sample.frame.stamp);
        assert_eq!(document(&found), document(sample), "{} samples back", seen.len() - 1 - index);
        assert_eq!(found.history.len(), sample.history.len());
    }
    let oldest = source.seek(newest, Target::Nanoseconds(-3_600_000_000_000)).expect("a past");
    assert_eq!(oldest.frame.stamp, seen.first().expect("samples").frame.stamp);
    assert!(source.seek(newest, Target::Samples(1)).expect("a past").frame.stamp.seq >= newest.seq);
}
