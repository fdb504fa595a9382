//! `topotop preflight`: what it tells before a test, and the status it leaves.

use crate::common::hostile_names;
use crate::common::pty::TOPOTOP;
use crate::common::synthetic::Machine;
use crate::common::synthetic_recording::SyntheticRecording;
use serde_json::Value;
use std::process::{Command, Output};

fn preflight(arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(TOPOTOP);
    command.arg("preflight").args(arguments).env_clear().env("LANG", "C.UTF-8").env("TZ", "UTC");
    let Output { status, stdout, stderr } = command.output().expect("it runs");
    (status.code(), String::from_utf8(stdout).expect("text"), String::from_utf8(stderr).expect("text"))
}

/// The checks by rule.
fn state(document: &Value, rule: &str) -> String {
    let checks = document["checks"].as_array().expect("checks");
    let check = checks.iter().find(|check| check["rule"] == rule).expect("a check");
    check["state"].as_str().expect("a state").to_owned()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn a_captured_machine_is_checked_from_one_sample() {
    let dir = tempfile::tempdir().expect("a directory");
    Machine::SMALL.write(dir.path(), 0);
    let root = dir.path().to_str().expect("a path");
    let (status, text, error) = preflight(&["--root", root, "--format", "json"]);
    assert!(matches!(status, Some(0 | 1)), "{status:?} {error}");
    let document = json(&text);
    let summary = &document["summary"];
    let counted = ["would_hurt", "not_checked", "ok"].map(|key| summary[key].as_array().expect("a list").len());
    assert_eq!(counted.iter().sum::<usize>(), document["checks"].as_array().expect("checks").len());
    assert_eq!(status == Some(1), counted[0] > 0, "{summary}");
    let (lines_status, lines, _) = preflight(&["--root", root, "--format", "jsonl"]);
    assert_eq!(lines_status, status);
    assert_eq!(json(lines.lines().last().expect("lines"))["summary"], *summary);
    assert_eq!(lines.lines().count(), document["checks"].as_array().expect("checks").len() + 1);
}

#[test]
fn the_list_says_what_is_well_what_would_hurt_and_what_nobody_saw() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("test.rec");
    SyntheticRecording::default().write(&file);
    let file = file.to_str().expect("a path");
    // It was recorded without most sections: those are not ok.
    let (status, text, _) = preflight(&["--from", file]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.starts_with("preflight db-17: 0 failed, "), "{text}");
    assert!(text.lines().any(|line| line.starts_with("? irqbalance ") && line.contains("not checked: ")), "{text}");
    let (status, text, _) = preflight(&["--from", file, "--strict", "--format", "json"]);
    assert_eq!((status, state(&json(&text), "IRQ-02").as_str()), (Some(2), "not_checked"));
}

#[test]
fn nothing_readable_is_not_ok() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(dir.path().join("proc")).expect("made");
    let root = dir.path().to_str().expect("a path");
    let (status, text, _) = preflight(&["--root", root, "--format", "json"]);
    assert_eq!(status, Some(0), "{text}");
    for rule in ["NIC-01", "IRQ-02", "BEAM-01", "MEM-01", "IO-06"] {
        assert_eq!(state(&json(&text), rule), "not_checked", "{rule}");
    }
    assert_eq!(preflight(&["--root", root, "--strict"]).0, Some(2));
    let dir = tempfile::tempdir().expect("a directory");
    hostile_names(dir.path());
    let (_, text, _) = preflight(&["--root", dir.path().to_str().expect("a path")]);
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
}

#[test]
fn bad_input_is_said_in_one_line() {
    for (arguments, says) in [
        (&["--from", "/nonexistent"][..], "/nonexistent"),
        (&["--from", "/"], "/"),
        (&["--root", "/nonexistent"], "/nonexistent"),
        (&["--fail-on", "often"], "use info, warning or critical"),
        (&["--format", "xml"], "xml"),
        (&["--for", "soon"], "soon"),
        (&["--from", "x", "--for", "5s"], "cannot be used with"),
    ] {
        let (status, text, error) = preflight(arguments);
        assert_eq!((status, text.as_str(), error.lines().count()), (Some(2), "", 1), "{arguments:?} {error}");
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn this_machine_is_looked_at_without_load() {
    let (status, text, error) = preflight(&["--for", "1s", "--fail-on", "critical"]);
    assert!(matches!(status, Some(0 | 1)), "{error}");
    for name in
        ["NIC channels", "irqbalance", "Erlang bind types", "memory limits", "periodic cache reclaim", "free disk"]
    {
        assert!(text.contains(name), "{name}: {text}");
    }
}
