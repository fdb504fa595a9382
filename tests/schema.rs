//! Every document is as the shipped schema says, on this machine and on captured ones.

use crate::common::schema::violations;
use crate::common::{captured, hostile_names, synthetic::Machine};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

fn schema() -> Value {
    serde_json::from_str(topotop::export::json::SCHEMA_TEXT).expect("the schema is JSON")
}

fn document(args: &[&str]) -> Value {
    let run = Command::new(env!("CARGO_BIN_EXE_topotop"))
        .args(["snapshot", "--format", "json"])
        .args(args)
        .output()
        .expect("the program runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    serde_json::from_slice(&run.stdout).expect("the document is JSON")
}

fn of_root(root: &Path) -> Value {
    document(&["--root", root.to_str().expect("a path")])
}

fn assert_valid(what: &str, document: &Value) {
    let found = violations(&schema(), document);
    assert!(found.is_empty(), "{what}: {:#?}", found.iter().take(10).collect::<Vec<_>>());
}

/// Keys that only two samples can give.
fn rates(value: &Value, path: &str, found: &mut Vec<String>) {
    const SHARES: [&str; 16] = [
        "busy",
        "user",
        "system",
        "iowait",
        "idle",
        "steal",
        "utilisation",
        "queue_depth",
        "await_ms",
        "usage_cores",
        "cpu_cores",
        "cpu_by_node",
        "some_ratio",
        "full_ratio",
        "throttled_ratio",
        "bytes_share",
    ];
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let path = format!("{path}/{key}");
                // A sysctl may be called anything, and no other key of it is ours.
                if path.starts_with("/sysctls/") {
                    continue;
                }
                if key.ends_with("_per_second") || key == "per_second" || SHARES.contains(&key.as_str()) {
                    found.push(path.clone());
                }
                rates(value, &path, found);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| rates(value, path, found)),
        _ => {}
    }
}

fn assert_no_rates(what: &str, document: &Value) {
    let mut found = Vec::new();
    rates(document, "", &mut found);
    found.sort();
    found.dedup();
    assert!(found.is_empty(), "{what}: one sample gives no rates, and yet: {found:?}");
    assert!(document["interval_seconds"].is_null());
}

#[test]
fn this_machine() {
    let document = document(&["--interval", "300ms"]);
    assert_valid("this machine", &document);
    let interval = document["interval_seconds"].as_f64().expect("two samples");
    assert!((0.2..5.0).contains(&interval), "{interval}");
    let cpus = document["cpus"].as_array().expect("a list");
    assert!(cpus.iter().any(|cpu| cpu.get("busy").is_some()), "two samples give shares");
    for cpu in cpus {
        let share = |key: &str| cpu[key].as_f64().unwrap_or_default();
        let parts = ["user", "system", "irq", "softirq"].map(share).iter().sum::<f64>();
        if cpu.get("busy").is_some() {
            assert!((share("busy") - parts).abs() < 1e-9, "{cpu}");
            assert!((parts + share("idle") + share("iowait") + share("steal") - 1.0).abs() < 1e-9, "{cpu}");
        }
    }
}

#[test]
fn a_made_up_machine_and_hostile_names() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    Machine::SMALL.write(dir.path(), 0);
    let document = of_root(dir.path());
    assert_valid("a made-up machine", &document);
    assert_no_rates("a made-up machine", &document);
    assert_eq!(document["truncated"], json!(false));
    let dir = tempfile::tempdir().expect("a temporary directory");
    hostile_names(dir.path());
    let document = of_root(dir.path());
    assert_valid("hostile names", &document);
    let text = document.to_string();
    assert!(!text.contains(['\u{1b}', '\u{202e}']) && !text.contains("\\u001b"), "spelled out, not passed on");
}

#[test]
fn an_empty_root() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    std::fs::create_dir(dir.path().join("proc")).expect("made");
    let document = of_root(dir.path());
    assert_valid("an empty root", &document);
    assert_no_rates("an empty root", &document);
    for key in ["irqs", "softnet", "disks", "processes", "nics", "cgroups"] {
        assert!(document.get(key).is_none(), "{key}: nothing was read, which is not the same as none");
    }
    assert!(!document["gaps"].as_array().expect("a list").is_empty());
}

#[test]
fn top_cuts_and_says_so() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    Machine::SMALL.write(dir.path(), 0);
    let root = dir.path().to_str().expect("a path");
    let document = document(&["--root", root, "--top", "2"]);
    assert_valid("the top of a made-up machine", &document);
    assert_eq!(document["truncated"], json!(true));
    for key in ["processes", "cgroups"] {
        assert_eq!(document[key].as_array().map(Vec::len), Some(2), "{key}");
    }
}

#[test]
fn every_captured_machine() {
    for archive in captured::archives() {
        let dir = captured::unpacked(&archive);
        let root = captured::top(dir.path());
        if !root.join("proc").is_dir() && !root.join("sys").is_dir() {
            continue;
        }
        let document = of_root(&root);
        assert_valid(&archive.display().to_string(), &document);
        // A capture of two samples has rates.
        if !root.join("t1").is_dir() {
            assert_no_rates(&archive.display().to_string(), &document);
        }
    }
}

#[test]
fn the_checker_finds_what_is_wrong() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    Machine::SMALL.write(dir.path(), 0);
    let good = of_root(dir.path());
    let wrong: [(&str, Value); 8] = [
        ("/schema", json!("topotop.snapshot/2")),
        ("/topology/cpus_online", json!("0-")),
        ("/taken_at", json!("yesterday")),
        ("/cpus/0/id", json!(-1)),
        ("/cpus/0/id", json!(1.5)),
        ("/memory/total_bytes", json!("1")),
        ("/truncated", json!(null)),
        ("/irqs/0/per_cpu", json!({"x": 1})),
    ];
    for (pointer, value) in wrong {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer} is there")) = value;
        assert_eq!(violations(&schema(), &bad).len(), 1, "{pointer}");
    }
    let mut bad = good.clone();
    bad["nodes"][0]["undescribed"] = json!(1);
    bad["cpus"][0].as_object_mut().expect("a row").remove("id");
    assert_eq!(violations(&schema(), &bad).len(), 2);
}
