//! The bottleneck of a whole recording, and the limiting machine of two recordings of one test.

use crate::common::pty::TOPOTOP;
use crate::common::synthetic_recording::{SyntheticRecording, quiet};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every CPU is full.
fn full(_: u64, _: u32) -> u64 {
    98
}

/// A third everywhere but on CPU 3, which is full.
fn one_core(second: u64, cpu: u32) -> u64 {
    if cpu == 3 { 98 } else { quiet(second, cpu) }
}

fn check(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(TOPOTOP).arg("check").args(arguments).output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// A server that has time and a client whose CPUs are full.
fn pair(dir: &Path, from: u64) -> [PathBuf; 2] {
    let server = SyntheticRecording {
        boot_id: "22222222-2222-4333-8444-555555555555",
        seconds: 21,
        ..SyntheticRecording::default()
    };
    let client = SyntheticRecording { host: "load-3", busy: full, seconds: 21, from, ..SyntheticRecording::default() };
    let paths = [dir.join("server.rec"), dir.join("client.rec")];
    server.write(&paths[0]);
    client.write(&paths[1]);
    paths
}

fn json(line: &str) -> Value {
    serde_json::from_str(line).expect("JSON")
}

#[test]
fn the_machine_with_the_bottleneck_is_named() {
    let dir = tempfile::tempdir().expect("a directory");
    let [server, client] = pair(dir.path(), 0);
    let (server, client) = (server.to_str().expect("a path"), client.to_str().expect("a path"));
    let (status, text, error) = check(&["--from", server, "--from", client]);
    assert_eq!((status, error.as_str()), (Some(0), ""), "{text}");
    let last = text.lines().last().unwrap_or_default();
    assert_eq!(last, "client load-3: limited by the machine's CPUs at 98%");
    assert!(text.contains("== server db-17 ==") && text.contains("== client load-3 =="), "{text}");
    // Nobody knows how much its link carries: that is not has headroom.
    assert!(text.lines().any(|line| line.starts_with("  NIC in           unknown       eth0")), "{text}");
    let (_, text, _) = check(&["--from", client, "--from", server, "--format", "jsonl"]);
    let lines: Vec<Value> = text.lines().map(json).collect();
    let short = &lines.last().expect("lines")["bottleneck"];
    assert_eq!((&short["recording"], &short["resource"]), (&"client load-3".into(), &"cpus".into()));
    let summaries: Vec<&Value> =
        lines.iter().map(|line| &line["summary"]["recording"]).filter(|name| !name.is_null()).collect();
    assert_eq!(summaries, ["client load-3", "server db-17"]);
}

#[test]
fn one_recording_tells_its_own_resources() {
    let dir = tempfile::tempdir().expect("a directory");
    let [_, client] = pair(dir.path(), 0);
    let (_, text, _) = check(&["--from", client.to_str().expect("a path"), "--format", "json"]);
    let document = json(&text);
    let answer = &document["summary"]["bottleneck"];
    assert_eq!((&answer["verdict"], &answer["resource"]), (&"limited".into(), &"cpus".into()));
    assert_eq!(answer["headline"], "limited by the machine's CPUs at 98%");
    assert_eq!(answer["next"], Value::Null, "a full machine has no room");
    assert!(document["summary"].get("recording").is_none());
    let resources = document["resources"].as_array().expect("a list");
    let verdict = |name: &str| {
        resources.iter().find(|resource| resource["resource"] == name).map(|resource| &resource["verdict"])
    };
    assert_eq!(verdict("cpus"), Some(&"limiting".into()));
    assert_eq!(verdict("nic_out"), Some(&"unknown".into()));
    assert_eq!(verdict("disk"), Some(&"unknown".into()), "not recorded");
}

#[test]
fn recordings_of_other_times_are_warned_of() {
    let dir = tempfile::tempdir().expect("a directory");
    let [server, client] = pair(dir.path(), 1000);
    let (status, text, error) =
        check(&["--from", server.to_str().expect("a path"), "--from", client.to_str().expect("a path")]);
    assert_eq!(status, Some(0), "{text}");
    assert_eq!(error, "topotop: server db-17 and client load-3 were not recorded at the same time\n");
    let (status, _, error) = check(&["--from", "/nonexistent", "--from", server.to_str().expect("a path")]);
    assert!(status == Some(2) && error.contains("/nonexistent"), "{error}");
}

#[test]
fn the_answer_comes_first_and_limits_fail_where_they_are_asked_to() {
    let dir = tempfile::tempdir().expect("a directory");
    let [server, client] = pair(dir.path(), 0);
    let (server, client) = (server.to_str().expect("a path"), client.to_str().expect("a path"));
    // A load test is meant to fill something: exit follows findings.
    let (status, text, _) = check(&["--from", client]);
    assert_eq!((status, text.lines().next()), (Some(0), Some("limited by the machine's CPUs at 98%")), "{text}");
    assert_eq!(check(&["--from", client, "--fail-on", "limited"]).0, Some(1));
    let (status, text, _) = check(&["--from", server, "--fail-on", "limited"]);
    // Disks, groups and processes were not recorded; nothing says that anybody waits for them.
    assert!(text.starts_with("inconclusive: "), "{text}");
    assert_eq!(status, Some(0));
    assert_eq!(check(&["--from", server, "--strict"]).0, Some(2));
    // Too few samples for an answer.
    let short = dir.path().join("short.rec");
    SyntheticRecording { busy: full, seconds: 5, ..SyntheticRecording::default() }.write(&short);
    let (status, text, _) = check(&["--from", short.to_str().expect("a path")]);
    assert!(status == Some(2) && text.contains("too short: 4 of 8 samples: use --for 10s or longer"), "{text}");
    // One full core with nobody known on it.
    let core = dir.path().join("core.rec");
    SyntheticRecording { busy: one_core, seconds: 21, ..SyntheticRecording::default() }.write(&core);
    let (_, text, _) = check(&["--from", core.to_str().expect("a path")]);
    assert!(text.starts_with("inconclusive: ") && text.contains("core"), "{text}");
}
