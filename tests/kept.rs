//! Recordings of every version of the form, as they were written then: later versions must read them.

use crate::common::synthetic::Machine;
use crate::common::synthetic_recording::SyntheticRecording;
use std::path::PathBuf;
use topotop::recording::{Target, Writer, open};
use topotop_collectors::{Options, Root, Sampler};
use topotop_model::Window;
use topotop_model::derive::Deriver;
use topotop_model::recording::{About, Event, Limits, What};

fn kept(version: u32) -> PathBuf {
    data(&format!("recording-{version}.rec"))
}

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

#[test]
fn version_1_is_read() {
    insta::assert_debug_snapshot!("kept-1", read(1));
}

#[test]
fn version_2_is_read() {
    insta::assert_debug_snapshot!("kept-2", read(2));
}

/// A recording whose cells were written by an arithmetic coder, with the judge's state of that time.
#[test]
fn every_sample_of_version_1_is_what_was_recorded() {
    let mut reader = open(&data("recording-1-judged.rec")).expect("a recording");
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("a.rec");
    let softirq = |second: u64, cpu: u32| {
        let noise = second * 7 % 5;
        if cpu == 3 && (20..140).contains(&second) { 90 + noise } else { noise }
    };
    let busy = |second: u64, cpu: u32| {
        let noise = second * 7 % 5;
        2 + if cpu == 3 && (20..140).contains(&second) { 90 + noise } else { noise }
    };
    SyntheticRecording { seconds: 130, busy, softirq, ..SyntheticRecording::default() }.write(&path);
    let mut again = open(&path).expect("a recording");
    let mut count = 0;
    while let Some(sample) = reader.next_sample() {
        assert_eq!(sample, again.next_sample().expect("as many"), "sample {count}");
        count += 1;
    }
    assert_eq!((count, reader.damage().len()), (130, 0));
    let came = |event: &Event| matches!(&event.what, What::FindingOpened(told) if told.rule == "IRQ-01");
    assert!(reader.events().iter().any(|(_, event)| came(event)));
}

fn read(version: u32) -> impl std::fmt::Debug {
    let mut reader = open(&kept(version)).expect("a recording");
    assert_eq!((reader.len(), reader.is_closed(), reader.damage().len()), (4, true, 0));
    assert_eq!(reader.about().host, "synthetic");
    let events = reader.events();
    assert_eq!(events.iter().map(|event| event.1.what.text()).collect::<Vec<_>>(), ["half of it"]);
    let (mut window, mut deriver) = (Window::default(), Deriver::default());
    while let Some(sample) = reader.next_sample() {
        window.push(sample.expect("whole").1);
    }
    let frame = deriver.frame(&window);
    let rows = (frame.cpus.len(), frame.nodes.len(), frame.irqs.len(), frame.cgroups.len(), frame.processes.len());
    (rows, frame.interval_seconds, frame.cpus.first().copied(), frame.nics.first().cloned())
}

/// Writes the file of the newest version again: only while that version is not out.
#[test]
#[ignore = "it writes what other tests keep"]
fn writes_the_newest() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = kept(topotop_model::recording::VERSION);
    let _ = std::fs::remove_file(&path);
    let target = Target::File { path, limits: Limits { cap_bytes: 64 << 20, max_age_ns: 0 } };
    let about = About { host: "synthetic".to_owned(), program: "topotop".to_owned(), ..About::default() };
    let mut writer = Writer::start(&target, about).expect("a new file");
    Machine::SMALL.write(dir.path(), 0);
    let mut sampler = Sampler::new(Root::at(dir.path()).expect("a root"), &Options::default());
    for second in 0..4u64 {
        Machine::SMALL.write(dir.path(), second);
        let mut sample = sampler.sample();
        (sample.stamp.wall_ns, sample.stamp.mono_ns) = (second as i64 * 1_000_000_000, (second + 1) * 1_000_000_000);
        if second == 2 {
            let what = What::Mark { text: "half of it".to_owned() };
            writer.event(Event { wall_ns: sample.stamp.wall_ns, mono_ns: sample.stamp.mono_ns, what });
        }
        writer.append(&sample);
    }
    assert_eq!(writer.close().trouble, None);
}
