//! The bottleneck of a whole recording, and the limiting machine of two recordings of one test.

use crate::common::pty::TOPOTOP;
use crate::common::synthetic_recording::{SyntheticRecording, quiet};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A third everywhere but on CPU 3, which is full.
fn one_core(second: u64, cpu: u32) -> u64 {
    if cpu == 3 { 98 } else { quiet(second, cpu) }
}

fn check(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(TOPOTOP).arg("check").args(arguments).output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// A server that has time and a client with one full core.
fn pair(dir: &Path, from: u64) -> [PathBuf; 2] {
    let server = SyntheticRecording {
        boot_id: "22222222-2222-4333-8444-555555555555",
        seconds: 21,
        ..SyntheticRecording::default()
    };
    let client =
        SyntheticRecording { host: "load-3", busy: one_core, seconds: 21, from, ..SyntheticRecording::default() };
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
    assert_eq!(last, "bottleneck: client load-3: core 3 98%, in 20 of 20 samples");
    assert!(text.contains("== server db-17 ==") && text.contains("== client load-3 =="), "{text}");
    // Nobody knows how much its link carries: that is not has headroom.
    assert!(text.lines().any(|line| line.starts_with("  NIC in         unknown    eth0")), "{text}");
    let (_, text, _) = check(&["--from", client, "--from", server, "--format", "jsonl"]);
    let lines: Vec<Value> = text.lines().map(json).collect();
    let short = &lines.last().expect("lines")["bottleneck"];
    assert_eq!((&short["recording"], &short["resource"]["subject"]), (&"client load-3".into(), &"cpu:3".into()));
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
    assert_eq!(document["summary"]["bottleneck"], "core 3 98%");
    assert!(document["summary"].get("recording").is_none());
    let resources = document["resources"].as_array().expect("a list");
    let verdict = |name: &str| {
        resources.iter().find(|resource| resource["resource"] == name).map(|resource| &resource["verdict"])
    };
    assert_eq!(verdict("core"), Some(&"limiting".into()));
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
