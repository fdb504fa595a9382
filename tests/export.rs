//! `topotop export`: the raw columns of a recording.

use crate::common::pty::TOPOTOP;
use crate::common::synthetic_recording::{CPUS, SyntheticRecording};
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn run(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(TOPOTOP);
    command.args(arguments).env_clear().env("LANG", "C.UTF-8").env("TZ", "UTC").current_dir(dir).stdin(Stdio::null());
    command.output().expect("it runs")
}

fn written(dir: &Path, arguments: &[&str]) -> String {
    let output = run(dir, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn recording() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    SyntheticRecording { seconds: 20, ..SyntheticRecording::default() }.write(&dir.path().join("a.rec"));
    dir
}

#[test]
fn a_section_is_a_row_per_sample_and_entity() {
    let dir = recording();
    let text = written(dir.path(), &["export", "a.rec", "--section", "cpu_times"]);
    let mut lines = text.lines();
    let header = lines.next().expect("names");
    assert!(
        header.starts_with("host,boot,taken_at,read_at_mono_ns,row,cpu,user_ticks,nice_ticks,system_ticks,idle_ticks,"),
        "{header}"
    );
    assert_eq!(text.lines().count(), 1 + 20 * CPUS as usize);
    assert!(
        lines
            .next()
            .expect("a row")
            .starts_with("db-17,11111111-2222-4333-8444-555555555555,2026-01-02T10:00:00.000Z,1000000000000,1,0,"),
        "{text}"
    );
    // Not read: empty, no zero.
    assert!(lines.next().expect("a row").ends_with(",,,"), "{text}");
    let part = written(dir.path(), &["export", "a.rec@5s-9s", "--section", "cpu_times"]);
    assert_eq!(part.lines().count(), 1 + 5 * CPUS as usize);
}

#[test]
fn all_sections_are_a_file_each() {
    let dir = recording();
    written(dir.path(), &["export", "a.rec", "-o", "out"]);
    let list = written(dir.path(), &["export", "--list"]);
    let mut files = 0;
    for entry in std::fs::read_dir(dir.path().join("out")).expect("a directory").flatten() {
        let text = std::fs::read_to_string(entry.path()).expect("a file");
        let name = entry.file_name().to_string_lossy().trim_end_matches(".csv").to_owned();
        let columns = text.lines().next().expect("names").split(',').skip(5).map(str::to_owned);
        for column in columns {
            assert!(list.contains(&format!("\n{name},{column},")), "{name} {column}");
        }
        files += 1;
    }
    assert!(files > 20, "{files}");
    let nics = std::fs::read_to_string(dir.path().join("out/nics.csv")).expect("nics");
    assert!(nics.contains(",2,eth0,") && nics.lines().count() == 21, "{nics}");
}

#[test]
fn rows_of_many_recordings_have_their_host_and_boot() {
    let dir = recording();
    let other = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/recording-2.rec");
    let text = written(dir.path(), &["export", "a.rec@5s-9s", other, "--section", "cpu_times"]);
    let origins: std::collections::BTreeSet<(&str, &str)> = text
        .lines()
        .skip(1)
        .map(|line| {
            let mut cells = line.split(',');
            (cells.next().expect("a host"), cells.next().expect("a boot"))
        })
        .collect();
    assert_eq!(origins.len(), 2, "{origins:?}");
    assert!(origins.iter().any(|(host, _)| *host == "db-17") && origins.iter().all(|(_, boot)| !boot.is_empty()));
    assert_eq!(text.lines().filter(|line| line.starts_with("host,boot,")).count(), 1, "one line of names");
    let refused = run(dir.path(), &["export", "a.rec", "none.rec", "-o", "out"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(!dir.path().join("out").exists(), "nothing is written where one is missing");
}

#[test]
fn a_snapshot_of_any_time_in_every_format() {
    let dir = recording();
    let document = |at: &[&str]| {
        let arguments = [&["snapshot", "--from", "a.rec", "--format", "json"], at].concat();
        serde_json::from_str::<serde_json::Value>(&written(dir.path(), &arguments)).expect("JSON")
    };
    assert_eq!(document(&[])["taken_at"], "2026-01-02T10:00:19.000Z");
    for (at, taken) in [("10:00:05", "05"), ("7s", "07"), ("-4s", "15"), ("start", "00"), ("end", "19")] {
        assert_eq!(document(&["--at", at])["taken_at"], format!("2026-01-02T10:00:{taken}.000Z"), "{at}");
    }
    assert!(document(&["--at", "7s"])["cpus"][0]["busy"].as_f64().is_some_and(|busy| (0.3..0.36).contains(&busy)));
    for (extension, mark) in [("txt", "10:00:07"), ("ansi", "\u{1b}["), ("svg", "<svg"), ("html", "<pre")] {
        let file = format!("now.{extension}");
        written(dir.path(), &["snapshot", "--from", "a.rec", "--at", "7s", "-o", &file]);
        let text = std::fs::read_to_string(dir.path().join(file)).expect("the file");
        assert!(text.contains(mark) && text.contains("db-17"), "{extension}: {text}");
    }
    let wrong = [
        &["snapshot", "--at", "7s"][..],
        &["snapshot", "--from", "a.rec", "--at", "12:00"],
        &["snapshot", "--from", "a.rec", "--root", "/"],
    ];
    for arguments in wrong {
        let output = run(dir.path(), arguments);
        assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).lines().count()), (Some(2), 1));
    }
}

#[test]
fn complaints_and_readers_that_leave() {
    let dir = recording();
    for (arguments, said) in [
        (&["export", "a.rec"][..], "-o DIR"),
        (&["export", "a.rec", "--section", "kitchen"], "use all or one of host,"),
        (&["export", "none.rec", "--section", "host"], "none.rec"),
        (&["export", "a.rec@1h-2h", "--section", "host"], "outside the recording"),
        (&["export", "a.rec", "--section", "host", "-o", "/nowhere/x.csv"], "/nowhere/x.csv"),
        (&["export"], "--help"),
        (&["export", "a.rec", "--format", "parquet", "-o", "out"], "DuckDB"),
    ] {
        let output = run(dir.path(), arguments);
        let error = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{arguments:?} {error}");
        assert!(error.contains(said) && error.lines().count() == 1, "{error}");
    }
    let mut command = Command::new(TOPOTOP);
    command.args(["export", "a.rec", "--section", "cpu_times"]).current_dir(dir.path());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}
