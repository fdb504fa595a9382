//! `topotop diff`: what it finds, what it says, what it leaves as status.

use crate::common::pty::TOPOTOP;
use crate::common::schema::violations;
use crate::common::synthetic_recording::{SyntheticRecording, quiet};
use serde_json::Value;
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

/// Ten points more on CPU 2.
fn louder(second: u64, cpu: u32) -> u64 {
    quiet(second + 1000, cpu) + if cpu == 2 { 10 } else { 0 }
}

fn recordings() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    SyntheticRecording::default().write(&dir.path().join("a.rec"));
    let busy = |second, cpu| quiet(second + 500, cpu);
    SyntheticRecording { from: 100, busy, ..SyntheticRecording::default() }.write(&dir.path().join("idle.rec"));
    SyntheticRecording { from: 200, busy: louder, channels: 8, ..SyntheticRecording::default() }
        .write(&dir.path().join("b.rec"));
    dir
}

#[test]
fn a_recording_and_itself_are_the_same() {
    let dir = recordings();
    let text = written(dir.path(), &["diff", "a.rec", "a.rec", "--exit-code"]);
    assert!(text.contains("nothing changed beyond noise"), "{text}");
    let idle = written(dir.path(), &["diff", "a.rec", "idle.rec", "--exit-code"]);
    assert!(idle.contains("nothing changed beyond noise"), "{idle}");
}

#[test]
fn fixes_in_between_are_named() {
    use topotop_model::recording::{FixState, RecordedFix};
    let dir = tempfile::tempdir().expect("a directory");
    let fix = |second: u64, state| {
        let (id, title) = ("NIC-01/nic%3Aeth0/F-CHAN".to_owned(), "eth0: combined 1 -> \u{1b}[2J8".to_owned());
        (second, What::Fix(Box::new(RecordedFix { id, title, state, ..RecordedFix::default() })))
    };
    let events = vec![fix(10, FixState::Applied), fix(30, FixState::Verdict), fix(55, FixState::Undone)];
    SyntheticRecording { events, ..SyntheticRecording::default() }.write(&dir.path().join("a.rec"));
    let text = written(dir.path(), &["diff", "a.rec@0s-20s", "a.rec@35s-50s"]);
    assert!(text.contains("fix applied: eth0: combined 1 -> \\x1b[2J8 [NIC-01/nic%3Aeth0/F-CHAN]"), "{text}");
    assert_eq!(text.matches("fix applied").count(), 1, "{text}");
    assert!(!text.contains("fix undone"), "that was later: {text}");
    let json = written(dir.path(), &["diff", "a.rec@0s-20s", "a.rec@35s-60s", "--format", "json"]);
    let document: Value = serde_json::from_str(&json).expect("JSON");
    let states: Vec<_> = document["fixes"].as_array().into_iter().flatten().map(|fix| fix["state"].clone()).collect();
    assert_eq!(states, ["applied", "undone"], "{document}");
    let schema = serde_json::from_str(include_str!("../docs/schema/topotop.diff-1.json")).expect("a schema");
    assert!(violations(&schema, &document).is_empty(), "{:?}", violations(&schema, &document));
}

#[test]
fn a_known_change_is_found_and_nothing_else() {
    let dir = recordings();
    let output = run(dir.path(), &["diff", "a.rec", "b.rec", "--exit-code"]);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!("diff-text", String::from_utf8_lossy(&output.stdout));
    let document: Value =
        serde_json::from_str(&written(dir.path(), &["diff", "a.rec", "b.rec", "--format", "json"])).expect("JSON");
    let changes = document["changes"].as_array().expect("changes");
    assert_eq!(
        (changes.len(), &changes[0]["subject"], &changes[0]["metric"]),
        (1, &"cpu:2".into(), &"cpu.busy".into())
    );
    let settings = document["settings"].as_array().expect("settings");
    assert_eq!((settings.len(), &settings[0]["name"]), (1, &"combined channels".into()), "{settings:?}");
}

#[test]
fn the_document_keeps_to_its_schema() {
    let dir = recordings();
    let schema: Value = serde_json::from_str(include_str!("../docs/schema/topotop.diff-1.json")).expect("JSON");
    for (arguments, all) in [(["a.rec", "b.rec"], true), (["a.rec", "a.rec"], false), (["a.rec@0s-3s", "b.rec"], true)]
    {
        let mut words = vec!["diff", arguments[0], arguments[1], "--format", "json"];
        words.extend(all.then_some("--all"));
        let document: Value = serde_json::from_str(&written(dir.path(), &words)).expect("JSON");
        let found = violations(&schema, &document);
        assert!(found.is_empty(), "{arguments:?}: {found:#?}");
        assert_eq!(document["schema"], "topotop.diff/1");
        assert_eq!(document.get("metrics").is_some(), all);
    }
}

#[test]
fn spans_are_compared_and_named() {
    let dir = tempfile::tempdir().expect("a directory");
    let busy = |second, cpu| if second < 60 { quiet(second, cpu) } else { louder(second, cpu) };
    let events = vec![
        (10, What::Start { command: vec!["pgbench".into(), "-c\u{1b}[31m".into()] }),
        (60, What::Mark { text: "fixed".into() }),
        (100, What::Exit { status: Some(0), signal: None }),
    ];
    SyntheticRecording { seconds: 120, busy, events, ..SyntheticRecording::default() }
        .write(&dir.path().join("one.rec"));
    for (a, b) in
        [("one.rec@0s-59s", "@60s-"), ("one.rec@10:00-10:00:59", "one.rec@10:01-"), ("one.rec@all", "one.rec@all")]
    {
        let text = written(dir.path(), &["diff", a, b]);
        assert_eq!(text.contains("cpu:2"), !a.contains("all"), "{a} {b}: {text}");
    }
    let text = written(dir.path(), &["diff", "one.rec@start-mark:fixed", "@mark:fixed-end"]);
    assert!(text.contains("60 samples  start-mark:fixed") && text.contains("cpu:2"), "{text}");
    let command = written(dir.path(), &["diff", "one.rec", "one.rec"]);
    assert!(command.contains("91 samples  command `pgbench -c\\x1b[31m`"), "{command}");
}

#[test]
fn other_machines_are_compared_as_far_as_they_can_be() {
    let dir = recordings();
    let other = SyntheticRecording {
        host: "db-18",
        boot_id: "99999999-2222-4333-8444-555555555555",
        ..SyntheticRecording::default()
    };
    other.write(&dir.path().join("other.rec"));
    let text = written(dir.path(), &["diff", "a.rec", "other.rec"]);
    assert!(text.contains("name") && text.contains("db-17 \u{2192} db-18"), "{text}");
}

#[test]
fn pages_and_files_are_whole() {
    let dir = recordings();
    written(dir.path(), &["diff", "a.rec", "b.rec", "-o", "page.html"]);
    let page = std::fs::read_to_string(dir.path().join("page.html")).expect("a page");
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n") && page.contains("cpu:2"));
    // What a report says about each side stands below the comparison.
    for once in ["A, before: ", "B, after: "] {
        assert!(page.contains(once), "{once}");
    }
    for twice in
        ["What limited the test", "Bottleneck over time", "Topology heat map", "Top processes", "Resources over time"]
    {
        assert_eq!(page.matches(twice).count(), 2, "{twice}");
    }
    assert!(!page.contains("http") && !page.contains("src=") && !page.contains("<script"));
    written(dir.path(), &["diff", "a.rec", "b.rec", "-o", "out.json"]);
    written(dir.path(), &["diff", "a.rec", "b.rec", "-o", "out.txt"]);
    let text = std::fs::read_to_string(dir.path().join("out.txt")).expect("a text");
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    let ascii = Command::new(TOPOTOP)
        .args(["diff", "a.rec", "b.rec"])
        .env_clear()
        .env("LC_ALL", "C")
        .current_dir(dir.path())
        .output()
        .expect("it runs");
    assert!(ascii.stdout.is_ascii());
}

#[test]
fn complaints_say_which_file_and_what_to_do() {
    let dir = recordings();
    std::fs::write(dir.path().join("text.txt"), "hello\n").expect("a file");
    for (arguments, said) in [
        (["diff", "none.rec", "a.rec"], "none.rec"),
        (["diff", "a.rec", "text.txt"], "text.txt"),
        (["diff", "a.rec@12:00-13:00", "a.rec"], "a.rec: outside the recording, which spans 2026-01-02 10:00:00"),
        (["diff", "a.rec@mark:x-", "a.rec"], "a.rec: no mark `x`: the recording has no marks"),
    ] {
        let output = run(dir.path(), &arguments);
        let error = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(said) && error.lines().count() == 1, "{error}");
    }
    let output = run(dir.path(), &["diff", "a.rec", "b.rec", "--format", "png"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("use one of text, json, html"));
}

#[test]
fn damage_is_played_past_and_told() {
    let dir = recordings();
    let file = dir.path().join("b.rec");
    let mut bytes = std::fs::read(&file).expect("a recording");
    let middle = 4096 + (bytes.len() - 4096) / 3;
    bytes[middle] ^= 0x55;
    std::fs::write(&file, bytes).expect("a file");
    let text = written(dir.path(), &["diff", "a.rec", "b.rec"]);
    assert!(text.contains("is damaged in one place"), "{text}");
}

/// Recorded with pgbench on two CPUs while others compiled, 16 s each, and with three Erlang nodes on one CPU and then on
/// two (`tests/pairs/run.py --only broker`), 40 s each, and with pgbench on two CPUs and on one, 30 s each; the figures are
/// those that the programs printed at their end.
#[test]
fn pairs_of_real_load_tests() {
    let pairs = [
        ("tps", "clients-8", 9568.5, "clients-1", 3300.8, "worse", "improved"),
        ("tps", "throttled", 18.67, "unthrottled", 539.17, "improved", "worse"),
        ("messages", "broker-one", 74_582.0, "broker-all", 154_372.0, "improved", "worse"),
        ("tps", "cpus-all", 111_751.0, "cpus-one", 51_273.0, "worse", "improved"),
    ];
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/pairs");
    let compared = |before: &str, after: &str| {
        let sides = [before, after].map(|side| format!("{side}.rec"));
        let output = run(&dir, &["diff", &sides[0], &sides[1], "--exit-code", "--format", "json"]);
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON")["application"][0].clone()
    };
    for (metric, one, before, other, after, verdict, reversed) in pairs {
        let first = compared(one, other);
        assert_eq!(
            (&first["subject"], &first["verdict"]),
            (&format!("metric:{metric}").into(), &verdict.into()),
            "{first}"
        );
        let ratio: Vec<f64> = serde_json::from_value(first["ratio"].clone()).expect("a ratio with its interval");
        assert!((ratio[1]..=ratio[2]).contains(&(after / before)), "{ratio:?} {}", after / before);
        assert_eq!(compared(other, one)["verdict"], reversed);
        let text = String::from_utf8(run(&dir, &["diff", &format!("{one}.rec"), &format!("{other}.rec")]).stdout);
        let text = text.expect("text");
        let number = text.find(metric).expect("the number");
        assert!(text.find("Metrics, largest").is_some_and(|metrics| number < metrics), "{text}");
    }
}

/// nginx and wrk, 30 s each (`tests/pairs/run.py --only foreign,ended`): with a busy loop for each CPU in the second run, and
/// with a load that ends after 5 s.
#[test]
fn real_load_tests_that_stay_open() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/pairs");
    for (before, after, reason, says) in [
        ("alone", "crowded", "foreign_cpu", "another workload started: sh uses 1.3 more cores"),
        ("whole", "ends", "load_ended", "after the change, the load ended too early"),
    ] {
        let sides = [before, after].map(|side| format!("{side}.rec"));
        let output = run(&dir, &["diff", &sides[0], &sides[1], "--format", "json"]);
        let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let first = &document["application"][0];
        assert_eq!(
            (first["verdict"].as_str(), first["reason"].as_str()),
            (Some("inconclusive"), Some(reason)),
            "{first}"
        );
        let text = String::from_utf8(run(&dir, &["diff", &sides[0], &sides[1]]).stdout).expect("text");
        assert!(text.contains(says), "{text}");
    }
}
