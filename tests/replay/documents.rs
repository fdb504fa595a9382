//! One document per recorded sample.

use super::{damage, recorded};
use crate::common::pty::TOPOTOP;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use topotop::export::{Options, json};
use topotop::recording::open;
use topotop_model::Window;
use topotop_model::derive::Deriver;

fn replay(path: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(TOPOTOP);
    command.arg("replay").arg(path).args(["--format", "jsonl"]).args(arguments);
    command.stdin(Stdio::null()).output().expect("it runs")
}

fn lines(output: &Output) -> Vec<String> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(facts).collect()
}

/// A document without what was judged, which depends on what came before it.
fn facts(document: &str) -> String {
    let mut document: serde_json::Value = serde_json::from_str(document).expect("a document");
    let keys = document.as_object_mut().expect("an object");
    keys.retain(|key, _| !["rules", "findings", "bottleneck", "resources"].contains(&key.as_str()));
    document.to_string()
}

/// What frames derived one after the other give.
fn derived(path: &Path) -> Vec<String> {
    let (mut reader, mut window, mut deriver) =
        (open(path).expect("a recording"), Window::default(), Deriver::default());
    let mut documents = Vec::new();
    while let Some(next) = reader.next_sample() {
        window.push(next.expect("whole").1);
        let mut out = Vec::new();
        json::write(&deriver.frame(&window), &Options::default(), &mut out).expect("memory takes it");
        documents.push(facts(&String::from_utf8(out).expect("text")));
    }
    documents
}

#[test]
fn each_sample_is_a_document_as_it_was_live() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = recorded(dir.path(), 150);
    let documents = lines(&replay(&path, &[]));
    assert_eq!(documents.len(), 150);
    assert!(documents == derived(&path));
}

#[test]
fn a_span_is_cut_by_time_and_has_its_rates() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = recorded(dir.path(), 150);
    let all = derived(&path);
    let part = lines(&replay(&path, &["--from", "10:01:10", "--to", "10:01:19"]));
    assert!(part == all[70..80]);
    let part = lines(&replay(&path, &["--from", "2m", "--to", "100%"]));
    assert!(part == all[120..]);
    assert!(lines(&replay(&path, &["--from", "2026-01-03"])).is_empty());
    assert_eq!(lines(&replay(&path, &["--to", "0s"])).len(), 1);
}

#[test]
fn who_has_read_enough_may_go() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = recorded(dir.path(), 300);
    let script = format!("{TOPOTOP} replay {} --format jsonl | head -1; echo ${{PIPESTATUS[0]}}", path.display());
    let output = Command::new("bash").args(["-c", &script]).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.trim_end().ends_with("\n0") && output.stderr.is_empty(), "{text}{output:?}");
}

#[test]
fn damage_is_reported_and_the_rest_is_read() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = recorded(dir.path(), 400);
    damage(&path, 0.5, 200);
    let output = replay(&path, &[]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("damaged at byte"), "{said}");
    let documents = lines(&output);
    assert!((270..400).contains(&documents.len()), "{}", documents.len());
    assert!(documents.last().is_some_and(|last| last.contains("10:06:39")));
}

#[test]
fn a_stream_gives_the_same_documents() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = recorded(dir.path(), 150);
    let script = format!("cat {} | {TOPOTOP} replay - --format jsonl", path.display());
    let output = Command::new("bash").args(["-c", &script]).output().expect("it runs");
    assert!(lines(&output) == derived(&path));
}

#[test]
fn what_makes_no_sense_is_refused_in_a_line() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = recorded(dir.path(), 10);
    let file = path.to_str().expect("a path");
    for (arguments, why) in [
        (&["replay", file, "--root", "/"][..], "--root: only for a live machine"),
        (&["replay", file, "--interval", "1s"], "--interval: only for a live machine"),
        (&["replay", file, "--format", "svg"], "--format svg"),
        (&["replay", file, "--from", "soon"], "soon"),
        (&["replay", file, "--speed", "5000"], "invalid speed"),
        (&["replay", "/etc/hostname", "--format", "jsonl"], "not a topotop recording"),
        (&["replay", "/no/such.rec", "--format", "jsonl"], "/no/such.rec"),
        (&["replay", file, file, "--format", "jsonl"], "takes one recording"),
        (&["replay", file], "not a terminal"),
    ] {
        let output = Command::new(TOPOTOP).args(arguments).stdin(Stdio::null()).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(said.contains(why) && said.lines().count() == 1, "{arguments:?}: {said}");
    }
}
