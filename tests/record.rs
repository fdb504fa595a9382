//! `topotop record`: what is in the file, what status it leaves, and that nothing it meets costs more than a sample.

mod command;
mod faults;
mod links;
mod machine;
mod screen;

use crate::common::pty::{TOPOTOP, kill};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use topotop::recording::open;
use topotop_model::Snapshot;
use topotop_model::recording::{Event, ReadAt, Reader, What};

/// How long anything may take: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(30);

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(TOPOTOP);
    command.args(["record", "--no-hwloc"]).args(arguments).env("LANG", "C.UTF-8").env("TZ", "UTC").stdin(Stdio::null());
    command
}

/// Runs to the end.
fn run(arguments: &[&str]) -> Output {
    command(arguments).output().expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A recording in the background, ended when dropped.
struct Background(Child);

impl Background {
    fn start(arguments: &[&str]) -> Self {
        Self(command(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts"))
    }

    fn signal(&self, signal: &str) {
        kill(signal, self.0.id() as i32);
    }

    /// Waits for its end: its status, or none when a signal ended it.
    fn ends(&mut self) -> Option<i32> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().expect("a status") {
                return status.code();
            }
            assert!(start.elapsed() < PATIENCE, "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Waits until a recording has something in it.
fn begun(path: &Path) {
    let start = Instant::now();
    while std::fs::metadata(path).map_or(0, |metadata| metadata.len()) <= 4096 {
        assert!(start.elapsed() < PATIENCE, "nothing is written");
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A recording that was read: every sample and event of it.
struct Read {
    samples: Vec<(u64, Snapshot)>,
    events: Vec<(u64, Event)>,
    closed: bool,
}

impl Read {
    /// What happened, in words.
    fn said(&self) -> Vec<String> {
        self.events.iter().map(|(_, event)| event.what.text()).collect()
    }

    /// Samples that it says are missing.
    fn skipped(&self) -> u64 {
        let skipped = |event: &Event| match &event.what {
            What::Skipped { samples, .. } => *samples,
            _ => 0,
        };
        self.events.iter().map(|(_, event)| skipped(event)).sum()
    }

    /// Seconds from each sample to the next.
    fn steps(&self) -> Vec<f64> {
        let mono = |pair: &(u64, Snapshot)| pair.1.stamp.mono_ns;
        self.samples.windows(2).map(|pair| (mono(&pair[1]) - mono(&pair[0])) as f64 / 1e9).collect()
    }
}

/// Reads all of a recording, in which nothing may be damaged.
fn read_all<S: ReadAt>(mut reader: Reader<S>) -> Read {
    let mut samples = Vec::new();
    while let Some(sample) = reader.next_sample() {
        samples.push(sample.expect("an undamaged sample"));
    }
    assert!(reader.damage().is_empty(), "{:?}", reader.damage());
    assert_eq!(samples.len() as u64, reader.len(), "samples are missing between others");
    let numbers: Vec<u64> = samples.iter().map(|sample| sample.0).collect();
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
    // What was judged depends on the machine.
    let events = reader.events().into_iter().filter(|event| !event.1.what.is_finding()).collect();
    Read { samples, events, closed: reader.is_closed() }
}

fn read(path: &Path) -> Read {
    read_all(open(path).expect("a recording"))
}

fn place(name: &str) -> (tempfile::TempDir, PathBuf, String) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join(name);
    let shown = path.to_str().expect("a path").to_owned();
    (dir, path, shown)
}

#[test]
fn a_time_is_recorded_on_the_grid_of_the_interval() {
    let (_dir, path, shown) = place("a.rec");
    let output = run(&["-o", &shown, "--for", "1s", "--interval", "200ms", "-v"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(output.stdout.is_empty());
    assert!(text(&output.stderr).contains("samples"), "{}", text(&output.stderr));
    assert_eq!(std::fs::metadata(&path).expect("a file").permissions().mode() & 0o7777, 0o600);
    let read = read(&path);
    assert!(read.closed);
    // At 0 s, 0.2 s … 1 s, where the machine was not too busy.
    assert_eq!(read.samples.len() as u64 + read.skipped(), 6, "{:?} {:?}", read.steps(), read.said());
    let reader = open(&path).expect("a recording");
    let about = reader.about();
    assert!(!about.host.is_empty() && !about.boot_id.is_empty() && about.interval_ns == 200_000_000, "{about:?}");
}

#[test]
fn quiet_where_nobody_asked() {
    let (_dir, _, shown) = place("a.rec");
    let output = run(&["-o", &shown, "--for", "0s"]);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
}

#[test]
fn nothing_is_overwritten() {
    let (dir, path, shown) = place("a.rec");
    std::fs::write(&path, "precious").expect("written");
    let link = dir.path().join("link.rec");
    std::os::unix::fs::symlink("nowhere", &link).expect("a link");
    for (output, status) in [
        (run(&["-o", &shown]), 2),
        (run(&["-o", &shown, "--", "true"]), 125),
        (run(&["-o", link.to_str().expect("a path"), "--for", "0s"]), 2),
    ] {
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{said}");
        assert!(said.lines().count() == 1 && said.contains("file exists: choose another name"), "{said}");
    }
    assert_eq!(std::fs::read(&path).expect("read"), b"precious");
    assert!(!dir.path().join("nowhere").exists());
}

#[test]
fn a_size_that_holds_no_sample_is_refused() {
    let (_dir, path, shown) = place("a.rec");
    let output = run(&["-o", &shown, "--max-size", "8K"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.lines().count() == 1 && said.contains("increase --max-size") && !path.exists(), "{said}");
}

#[test]
fn signals_close_it_well() {
    for signal in ["TERM", "HUP", "INT"] {
        let (_dir, path, shown) = place("a.rec");
        let mut recording = Background::start(&["-o", &shown, "--interval", "100ms"]);
        begun(&path);
        recording.signal(signal);
        assert_eq!(recording.ends(), Some(0), "SIG{signal}");
        let read = read(&path);
        assert!(read.closed && !read.samples.is_empty(), "SIG{signal}");
    }
}

#[test]
fn a_stop_is_a_hole_with_its_reason() {
    let (_dir, path, shown) = place("a.rec");
    let mut recording = Background::start(&["-o", &shown, "--interval", "100ms"]);
    begun(&path);
    recording.signal("STOP");
    std::thread::sleep(Duration::from_millis(1200));
    recording.signal("CONT");
    std::thread::sleep(Duration::from_millis(500));
    recording.signal("TERM");
    assert_eq!(recording.ends(), Some(0));
    let read = read(&path);
    let hole = read.said().into_iter().find(|said| said.contains("was stopped"));
    assert!(hole.is_some(), "{:?} {:?}", read.said(), read.steps());
    assert!(read.skipped() >= 10, "{:?}", read.said());
}

#[test]
fn a_captured_machine_is_recorded_as_far_as_it_goes() {
    let (dir, path, shown) = place("a.rec");
    crate::common::synthetic::Machine::SMALL.write(&dir.path().join("machine"), 0);
    let root = dir.path().join("machine");
    let output = run(&["--root", root.to_str().expect("a path"), "-o", &shown]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(read(&path).samples.len(), 1);
}
