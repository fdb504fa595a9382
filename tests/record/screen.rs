//! `R` on the screen: the past goes in first, marks, Ctrl-Z, and a file that is closed however it ends.

use super::{Read, read};
use crate::common::pty::{Session, TOPOTOP};
use std::path::PathBuf;
use std::time::Duration;

const SIZE: (u16, u16) = (140, 40);

/// A directory for recordings, and a configuration that says so.
fn directory() -> (tempfile::TempDir, PathBuf, String) {
    let dir = tempfile::tempdir().expect("a directory");
    let recordings = dir.path().join("recordings");
    std::fs::create_dir(&recordings).expect("a directory");
    let config = dir.path().join("config.toml");
    std::fs::write(&config, format!("[record]\ndirectory = '{}'\n", recordings.display())).expect("written");
    let config = config.to_str().expect("a path").to_owned();
    (dir, recordings, config)
}

/// The only recording.
fn recorded(dir: &std::path::Path) -> Read {
    let files: Vec<_> = std::fs::read_dir(dir).expect("a directory").flatten().map(|entry| entry.path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let name = files[0].file_name().expect("a name").to_string_lossy().into_owned();
    let tail = name.get(name.len().saturating_sub(20)..).unwrap_or_default();
    let form: String = tail.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert!(name.starts_with("topotop-") && form == "-00000000-000000.rec", "{name}");
    read(&files[0])
}

#[test]
fn what_is_kept_goes_in_first_and_marks_follow() {
    let (_dir, recordings, config) = directory();
    let mut session = Session::topotop(&["--interval", "200ms", "--config", &config], SIZE);
    session.shows("self ");
    std::thread::sleep(Duration::from_millis(1500));
    session.keys("x");
    session.shows("not recording");
    session.keys("R");
    session.shows("REC 00:00:0");
    session.shows("recording to ");
    session.keys("x");
    session.shows("mark: _");
    session.keys("before the deploy\r");
    session.shows("marked");
    session.keys("x");
    session.keys("never mind\x1b");
    std::thread::sleep(Duration::from_millis(800));
    session.keys("R");
    session.hides("REC 00:00");
    session.shows("samples");
    session.keys("q");
    assert_eq!(session.ends(), 0);
    session.restored();
    let read = recorded(&recordings);
    assert!(read.closed);
    assert_eq!(read.said().iter().filter(|said| *said == "before the deploy").count(), 1, "{:?}", read.said());
    assert_eq!(read.samples[0].1.stamp.seq, 1, "the first sample there was");
    let (at, _) = &read.events[0];
    assert!(*at >= 2, "the mark stands before sample {at}");
    assert!(read.samples.len() as u64 > *at, "{} samples", read.samples.len());
    // The second sample comes early; no sample is there twice or missing.
    let numbers: Vec<u64> = read.samples.iter().map(|(_, snapshot)| snapshot.stamp.seq).collect();
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
}

#[test]
fn leaving_closes_it_and_says_so() {
    for (keys, signal) in [("q", None), ("", Some("TERM"))] {
        let (_dir, recordings, config) = directory();
        let mut session = Session::topotop(&["--interval", "200ms", "--config", &config], SIZE);
        session.shows("self ");
        session.keys("R");
        session.shows("REC 00:00:0");
        session.keys(keys);
        if let Some(signal) = signal {
            session.signal(signal);
        }
        assert_eq!(session.ends(), 0);
        session.restored();
        session.shows("samples");
        assert!(recorded(&recordings).closed);
    }
}

#[test]
fn a_suspended_recording_says_so_and_holds_the_hole() {
    let (_dir, recordings, config) = directory();
    let environment = [("PS1", "shell> "), ("TERM", "xterm")];
    let mut session = Session::start("bash", &["--norc", "--noprofile", "-i"], SIZE, &environment);
    session.shows("shell> ");
    session.keys(&format!("{TOPOTOP} --interval 200ms --config {config}\r"));
    session.shows("self ");
    session.keys("R");
    session.shows("REC 00:00:0");
    session.keys("\x1a");
    session.shows("recording is paused until `fg`");
    std::thread::sleep(Duration::from_millis(1500));
    session.keys("fg\r");
    session.entered();
    session.shows("no samples were recorded while");
    std::thread::sleep(Duration::from_millis(600));
    session.keys("q");
    session.until("the shell", |screen| screen.trim_end().ends_with("shell>"));
    session.keys("exit\r");
    session.ends();
    let read = recorded(&recordings);
    assert!(read.closed);
    assert!(read.said().iter().any(|said| said.contains("was stopped")), "{:?}", read.said());
}

#[test]
fn a_directory_that_is_not_there_is_said() {
    let (_dir, recordings, config) = directory();
    std::fs::remove_dir(&recordings).expect("removed");
    let mut session = Session::topotop(&["--interval", "200ms", "--config", &config], SIZE);
    session.shows("self ");
    session.keys("R");
    session.shows("No such file or directory");
    session.keys("q");
    assert_eq!(session.ends(), 0);
}

#[test]
fn a_small_terminal_shows_it_too() {
    let (_dir, recordings, config) = directory();
    let mut session = Session::topotop(&["--interval", "200ms", "--config", &config], (80, 24));
    session.shows("self ");
    session.keys("R");
    session.until("the recording beside live", |screen| {
        screen.lines().next().is_some_and(|title| title.contains("LIVE 200ms") && title.contains("▮REC 00:00:0"))
    });
    session.keys("q");
    assert_eq!(session.ends(), 0);
    assert!(recorded(&recordings).closed);
}
