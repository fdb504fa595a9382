//! Stepping back shows what was shown: frames decoded from the log equal those that came live.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;
use topotop::export::{Options, json};
use topotop::recording::open;
use topotop::source::live::{Live, Plan};
use topotop::source::{Sample, Source, Target};
use topotop_collectors::Root;
use topotop_model::derive::{self, Deriver};
use topotop_model::judge::{Judge, Judgement, Settings};
use topotop_model::recording::RecordedFindings;
use topotop_model::rules::Finding;

fn document(sample: &Sample) -> String {
    let mut out = Vec::new();
    let options = Options { judgement: Some(&sample.judgement), ..Options::default() };
    json::write(&sample.frame, &options, &mut out).expect("memory takes it");
    String::from_utf8(out).expect("text")
}

/// The newest samples of a source as they come.
fn live(count: usize) -> (Live, Receiver<()>, Vec<Sample>) {
    let plan = Plan {
        interval: Duration::from_millis(100),
        options: topotop_collectors::Options::default(),
        settings: derive::Settings::default(),
        judge: Settings::default(),
    };
    let (wake, woken) = sync_channel(64);
    let root = Root::live().expect("this machine");
    let mut source = Live::start(root, plan, move || {
        let _ = wake.try_send(());
    })
    .expect("a thread");
    let mut seen: Vec<Sample> = Vec::new();
    while seen.len() < count {
        woken.recv_timeout(Duration::from_secs(20)).expect("a sample");
        seen.extend(source.take());
    }
    (source, woken, seen)
}

#[test]
fn what_is_stepped_back_to_is_what_was_shown() {
    let (mut source, _woken, seen) = live(8);
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

#[test]
fn what_is_recorded_from_the_screen_is_judged_as_it_was_shown() {
    let (mut source, woken, mut seen) = live(12);
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("a.rec");
    source.record(&path).expect("a recording");
    while seen.len() < 75 {
        woken.recv_timeout(Duration::from_secs(20)).expect("a sample");
        seen.extend(source.take());
    }
    assert!(source.end_recording().expect("an end").contains("samples"));
    let said = |judgement: &Judgement| format!("{judgement:?}");
    let shown =
        |seq: u64| seen.iter().find(|sample| sample.frame.stamp.seq == seq).map(|sample| said(&sample.judgement));
    // From the start, and from the state that it has of the judge: the past and what came after it are one.
    let mut reader = open(&path).expect("a recording");
    let (at, state) = reader.state_before(70).expect("a state");
    assert_eq!(at, 60);
    let restored = Judge::restore(&Settings::default(), &state).expect("of these rules");
    let starts = [(0, Judge::default()), (at, restored)];
    for (start, mut judge) in starts {
        let mut window = reader.window_at(start).expect("whole");
        let (mut deriver, mut compared) = (Deriver::default(), 0);
        loop {
            let judged = said(&judge.step(&deriver.frame(&window)));
            if let Some(shown) = shown(window.now.stamp.seq) {
                assert!(judged == shown, "from {start}: {judged}\nagainst\n{shown}");
                compared += 1;
            }
            let Some(next) = reader.next_sample() else { break };
            window.push(next.expect("whole").1);
        }
        assert!(compared > 10, "{compared} samples");
    }
    // What the recording tells of findings is what was shown.
    let recorded = RecordedFindings::of(&reader.events());
    let names = |findings: Vec<&Finding>| -> BTreeSet<String> {
        findings.iter().map(|finding| format!("{}/{}", finding.rule.id, finding.subject)).collect()
    };
    for sample in &seen {
        let number = sample.frame.stamp.seq - 1;
        assert_eq!(names(recorded.at(number).all()), names(sample.judgement.all()), "sample {number}");
    }
}
