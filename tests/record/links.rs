//! Recordings that go through slow pipes: the sampler keeps its grid, and what is missing is reported.

use super::{PATIENCE, Read, command, read_all, text};
use crate::common::pty::kill;
use std::io::Read as _;
use std::process::{Child, ChildStdout, Stdio};
use std::time::{Duration, Instant};
use topotop_model::recording::Reader;

const INTERVAL: f64 = 0.1;

fn stream() -> (Child, ChildStdout) {
    let mut child = command(&["-o", "-", "--interval", "100ms"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let out = child.stdout.take().expect("a pipe");
    (child, out)
}

/// Takes at most `rate` bytes per second for a time.
fn take(out: &mut ChildStdout, into: &mut Vec<u8>, rate: usize, time: Duration) {
    let (start, mut taken, mut piece) = (Instant::now(), 0usize, [0; 512]);
    while start.elapsed() < time {
        let allowed = (start.elapsed().as_secs_f64() * rate as f64) as usize;
        if taken >= allowed {
            std::thread::sleep(Duration::from_millis(5));
            continue;
        }
        let count = out.read(&mut piece).expect("a stream");
        into.extend_from_slice(&piece[..count]);
        taken += count;
    }
}

/// Ends the recording and reads what is left of the stream.
fn end(mut child: Child, mut out: ChildStdout, mut bytes: Vec<u8>) -> Read {
    kill("TERM", child.id() as i32);
    out.read_to_end(&mut bytes).expect("a stream");
    let start = Instant::now();
    while child.try_wait().expect("a status").is_none() {
        assert!(start.elapsed() < PATIENCE, "it does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().expect("it ended");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    read_all(Reader::open(bytes).expect("a stream"))
}

/// Every sample that was due is there or said to be missing.
fn grid_is_kept(read: &Read) {
    let whole = read.steps().iter().sum::<f64>() / INTERVAL;
    let known = (read.samples.len() - 1) as u64 + read.skipped();
    // What the link swallowed at the very end could not be reported.
    let lost = whole - known as f64;
    // A late sample is counted as the one that was nearest.
    let most = 1.5 + 0.5 * read.events.len() as f64;
    assert!(lost.abs() <= most, "{whole:.1} intervals, {known} samples: {:?} {:?}", read.steps(), read.said());
    for (at, step) in read.steps().into_iter().enumerate() {
        let number = read.samples[at + 1].0;
        let missing: u64 = read
            .events
            .iter()
            .filter(|(before, _)| *before == number)
            .map(|(_, event)| match &event.what {
                topotop_model::recording::What::Skipped { samples, .. } => *samples,
                _ => 0,
            })
            .sum();
        let due = (missing + 1) as f64 * INTERVAL;
        // The last sample comes when it was asked to end.
        let last = at + 2 == read.samples.len();
        let most = INTERVAL * (1.0 + 0.5 * read.events.iter().filter(|(before, _)| *before == number).count() as f64);
        assert!(last || (step - due).abs() < most, "sample {number}: {step:.3} s, {missing} said to be missing");
    }
}

#[test]
fn a_slow_link_gets_thinned_samples() {
    let (child, mut out) = stream();
    let mut bytes = Vec::new();
    take(&mut out, &mut bytes, 10 << 10, Duration::from_secs(6));
    let read = end(child, out, bytes);
    grid_is_kept(&read);
    assert!(read.samples.len() >= 4, "{:?}", read.steps());
}

#[test]
fn a_stalled_link_holds_up_nothing() {
    let (child, mut out) = stream();
    let mut bytes = Vec::new();
    take(&mut out, &mut bytes, 1 << 20, Duration::from_secs(1));
    // Longer than what a pipe holds of a small machine's samples.
    std::thread::sleep(Duration::from_secs(6));
    take(&mut out, &mut bytes, 1 << 20, Duration::from_secs(2));
    let read = end(child, out, bytes);
    grid_is_kept(&read);
    let longest = read.steps().into_iter().fold(0.0, f64::max);
    assert!(longest > 1.0, "the pipe held all of it: {:?}", read.steps());
    assert!(read.said().iter().any(|said| said.contains("the link was too slow")), "{:?}", read.said());
    assert!(read.skipped() >= 10, "{:?}", read.said());
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let (mut child, mut out) = stream();
    out.read_exact(&mut [0; 5000]).expect("a stream");
    drop(out);
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a status") {
            break status;
        }
        assert!(start.elapsed() < PATIENCE, "it goes on for nobody");
        std::thread::sleep(Duration::from_millis(10));
    };
    let mut said = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
    assert_eq!((status.code(), said.as_str()), (Some(0), ""));
}

#[test]
fn a_terminal_is_no_place_for_it() {
    let mut session = crate::common::pty::Session::topotop(&["record", "-o", "-"], (100, 24));
    session.shows("pipe it to");
    assert_eq!(session.ends(), 2);
}
