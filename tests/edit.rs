//! `record cut`, `record merge`, `record info`.

use crate::common::pty::TOPOTOP;
use crate::common::synthetic_recording::SyntheticRecording;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use topotop_model::recording::What;

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

fn complaint(dir: &Path, arguments: &[&str]) -> String {
    let output = run(dir, arguments);
    let error = String::from_utf8(output.stderr).expect("text");
    assert_eq!((output.status.code(), error.lines().count()), (Some(2), 1), "{arguments:?}: {error}");
    error
}

fn documents(dir: &Path, file: &str) -> Vec<Value> {
    let text = written(dir, &["replay", file, "--format", "jsonl"]);
    let document = |line: &str| {
        let mut document: Value = serde_json::from_str(line).expect("JSON");
        // What is judged depends on what went before, which a part does not have.
        for key in ["rules", "findings", "bottleneck", "resources"] {
            document.as_object_mut().and_then(|document| document.remove(key));
        }
        document
    };
    text.lines().map(document).collect()
}

fn info(dir: &Path, file: &str) -> Value {
    serde_json::from_str(&written(dir, &["record", "info", file, "--json"])).expect("JSON")
}

fn recording() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    let events = vec![
        (10, What::Start { command: vec!["pgbench".into()] }),
        (30, What::Mark { text: "warm".into() }),
        (50, What::Exit { status: Some(0), signal: None }),
    ];
    SyntheticRecording { seconds: 100, events, ..SyntheticRecording::default() }.write(&dir.path().join("whole.rec"));
    dir
}

#[test]
fn a_part_is_what_the_whole_was() {
    let dir = recording();
    written(dir.path(), &["record", "cut", "whole.rec", "-o", "part.rec", "--from", "20s", "--to", "10:00:40"]);
    let (whole, part) = (documents(dir.path(), "whole.rec"), documents(dir.path(), "part.rec"));
    assert_eq!(part.len(), 21);
    // The first has no sample before it to make rates from.
    assert_eq!(part[1..], whole[21..41]);
    assert_eq!(part[0]["taken_at"], whole[20]["taken_at"]);
    let info = info(dir.path(), "part.rec");
    assert_eq!((&info["samples"], &info["closed"], &info["host"]), (&21.into(), &true.into(), &"db-17".into()));
    assert_eq!(info["events"].as_array().map(Vec::len), Some(1), "{info}");
    let mode = std::fs::metadata(dir.path().join("part.rec")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn the_command_and_its_end_are_cut_out_together() {
    let dir = recording();
    written(dir.path(), &["record", "cut", "whole.rec@command", "-o", "load.rec"]);
    let info = info(dir.path(), "load.rec");
    let kinds: Vec<&str> =
        info["events"].as_array().expect("events").iter().filter_map(|event| event["kind"].as_str()).collect();
    assert_eq!(
        (kinds.as_slice(), &info["samples"]),
        (&["start", "mark", "exit"][..], &41.into()),
        "with the sample that came after its end"
    );
    let text = written(dir.path(), &["diff", "load.rec", "load.rec"]);
    assert!(text.contains("command `pgbench`"), "{text}");
}

#[test]
fn parts_become_one_again() {
    let dir = recording();
    for (part, out) in [("whole.rec@0s-39s", "a.rec"), ("whole.rec@35s-59s", "b.rec"), ("whole.rec@80s-", "c.rec")] {
        written(dir.path(), &["record", "cut", part, "-o", out]);
    }
    written(dir.path(), &["record", "merge", "c.rec", "a.rec", "b.rec", "-o", "merged.rec"]);
    let (whole, merged) = (documents(dir.path(), "whole.rec"), documents(dir.path(), "merged.rec"));
    let times =
        |documents: &[Value]| documents.iter().map(|document| document["taken_at"].clone()).collect::<Vec<Value>>();
    assert_eq!(times(&merged), times(&[&whole[..60], &whole[80..]].concat()));
    for (at, document) in merged.iter().enumerate().filter(|(at, _)| ![40, 60].contains(at)) {
        let same = &whole[if at < 60 { at } else { at + 20 }];
        assert_eq!(document["cpus"], same["cpus"], "{at}");
    }
    // Rows of two recordings are never the same one: no rate across the seam.
    assert!(merged[60]["cpus"][0].get("busy").is_none(), "{}", merged[60]["cpus"][0]);
    let events = info(dir.path(), "merged.rec")["events"].to_string();
    assert!(events.contains("next recording starts here") && events.contains("warm"), "{events}");
}

#[test]
fn what_does_not_belong_together_stays_apart() {
    let dir = recording();
    SyntheticRecording { host: "db-18", ..SyntheticRecording::default() }.write(&dir.path().join("other.rec"));
    SyntheticRecording { boot_id: "another", from: 200, ..SyntheticRecording::default() }
        .write(&dir.path().join("boot.rec"));
    let path = dir.path();
    assert!(
        complaint(path, &["record", "merge", "whole.rec", "other.rec", "-o", "x.rec"]).contains("different machines")
    );
    assert!(complaint(path, &["record", "merge", "whole.rec", "boot.rec", "-o", "x.rec"]).contains("different boots"));
    assert!(
        complaint(path, &["record", "cut", "whole.rec", "-o", "whole.rec", "--from", "1s"]).contains("file exists")
    );
    assert!(complaint(path, &["record", "cut", "whole.rec", "-o", "x.rec"]).contains("specify the span to keep"));
    assert!(
        complaint(path, &["record", "cut", "whole.rec@command", "--to", "1s", "-o", "x.rec"]).contains("either a span")
    );
    assert!(!path.join("x.rec").exists());
}

#[test]
fn damage_and_open_ends_are_told() {
    let dir = recording();
    let file = dir.path().join("whole.rec");
    let mut bytes = std::fs::read(&file).expect("a recording");
    let text = written(dir.path(), &["record", "info", "whole.rec"]);
    assert!(
        text.contains("complete") && text.contains("damage    none") && text.contains("100, one every 1s"),
        "{text}"
    );
    bytes.truncate(bytes.len() * 2 / 3);
    std::fs::write(&file, &bytes).expect("a file");
    let text = written(dir.path(), &["record", "info", "whole.rec"]);
    assert!(text.contains("truncated"), "{text}");
    written(dir.path(), &["record", "cut", "whole.rec@0s-20s", "-o", "rest.rec"]);
    assert_eq!(info(dir.path(), "rest.rec")["samples"], 21);
}
