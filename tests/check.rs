//! `topotop check` and `topotop rules`: what they write and the status they leave.

use crate::common::hostile_names;
use crate::common::pty::TOPOTOP;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(TOPOTOP);
    command.args(arguments).env_clear().env("LANG", "C.UTF-8").env("TZ", "UTC").stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command(arguments).output().expect("it runs");
    (status.code(), String::from_utf8(stdout).expect("text"), String::from_utf8(stderr).expect("text"))
}

fn json(line: &str) -> serde_json::Value {
    serde_json::from_str(line).expect("JSON")
}

#[test]
fn what_could_not_be_judged_is_reported_and_fails_when_strict() {
    let watch = ["check", "--for", "700ms", "--interval", "100ms", "--fail-on", "critical"];
    let (_, text, _) = run(&watch);
    let early =
        (text.contains("too few samples: ") && text.contains(" of 8")) || text.contains("rates require two samples");
    assert!(text.contains("not checked:") && early, "{text}");
    let (status, _, _) = run(&[&watch[..], &["--strict"]].concat());
    assert!(matches!(status, Some(1 | 2)), "{status:?}");
}

#[test]
fn every_sample_is_a_document_and_the_last_line_sums_up() {
    let (status, text, _) = run(&["check", "--for", "500ms", "--interval", "100ms", "--format", "jsonl"]);
    let lines: Vec<serde_json::Value> = text.lines().map(json).collect();
    let (last, documents) = lines.split_last().expect("lines");
    let summary = &last["summary"];
    assert_eq!(summary["samples"].as_u64(), Some(documents.len() as u64));
    assert_eq!(summary["complete"], true);
    let worst = summary["worst"].as_str().unwrap_or("none");
    assert_eq!(status == Some(1), ["warning", "critical"].contains(&worst), "{status:?} {worst}");
    for document in documents {
        let rules = document["rules"].as_array().expect("rules");
        assert_eq!(rules.len(), topotop_model::rules::ALL.len());
        assert!(document["findings"].is_array());
    }
}

#[test]
fn a_reader_that_has_read_enough_may_go() {
    let mut child = command(&["check", "--for", "20s", "--interval", "100ms", "--format", "jsonl"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    assert!(lines.next().is_some());
    drop(lines);
    assert!(child.wait().expect("an end").code().is_some_and(|code| code < 2));
}

/// Five seconds are too few for slow rules: strictly that is no all-clear.
#[test]
fn a_short_watch_is_no_all_clear() {
    let (status, text, _) = run(&["check", "--for", "5s", "--interval", "1s", "--strict", "--format", "json"]);
    let document = json(&text);
    let unjudged = document["summary"]["not_checked"].as_array().map_or(0, Vec::len);
    let worst = document["summary"]["worst"].as_str().unwrap_or("none");
    assert!(unjudged > 0, "{text}");
    let expected = if ["warning", "critical"].contains(&worst) { 1 } else { 2 };
    assert_eq!(status, Some(expected), "{text}");
    let reasons = document["rules"].as_array().expect("rules").iter().filter(|rule| rule["state"] == "not_checked");
    assert!(reasons.clone().all(|rule| rule["reason"].as_str().is_some_and(|reason| !reason.is_empty())), "{text}");
    assert!(reasons.count() >= unjudged, "{text}");
}

/// The status is by what was found at any time, and by nothing else.
#[test]
fn the_status_is_what_was_found() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name).display().to_string();
    let (well, sick, nothing) = (at("well.ttrec"), at("sick.ttrec"), at("nothing.ttrec"));
    crate::negatives::record(&well, 20, |_| ());
    // It is over long before the end.
    crate::negatives::record(&sick, 60, |edit| {
        let full = edit.second.min(20);
        let cells = [("softirq", (95 * full).into()), ("idle", (5 * full + 95 * (edit.second - full)).into())];
        crate::common::edit::put(&mut edit.now.cpu_times, edit.now.stamp.mono_ns, &[("cpu", 2u64.into())], &cells);
    });
    std::fs::write(&nothing, "no recording").expect("a file");
    let status = |arguments: &[&str]| run(&[&["check"], arguments].concat()).0;
    assert_eq!(status(&["--from", &well]), Some(0));
    assert_eq!(status(&["--from", &sick]), Some(1));
    assert_eq!(status(&["--from", &nothing]), Some(2));
    assert_eq!(status(&["--from", &at("none")]), Some(2));
    let (_, text, _) = run(&["check", "--from", &sick]);
    assert!(text.contains("IRQ-01  CPU 2 is") && text.contains("since "), "{text}");
    assert_eq!(status(&["--from", &well, "--strict"]), Some(2), "what could not be read was not judged");
}

#[test]
fn an_interrupted_watch_says_so() {
    let child = command(&["check", "--for", "60s", "--interval", "100ms", "--format", "json"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    std::thread::sleep(Duration::from_millis(700));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
    let output = child.wait_with_output().expect("an end");
    let summary = json(&String::from_utf8(output.stdout).expect("text"))["summary"].clone();
    assert_eq!(summary["complete"], false);
    assert!(matches!(output.status.code(), Some(1 | 2)));
}

#[test]
fn hostile_names_do_not_get_through() {
    let dir = tempfile::tempdir().expect("a directory");
    hostile_names(dir.path());
    for format in ["text", "json", "jsonl", "junit"] {
        let (_, text, _) = run(&["check", "--root", dir.path().to_str().expect("a path"), "--format", format]);
        assert!(!text.contains('\x1b') && !text.contains('\u{202e}'), "{format}: {text}");
        if format == "junit" {
            assert_eq!(well_formed(&text), Ok(()), "{text}");
        }
    }
}

/// Whether tags are closed in order and text has no markup of its own.
fn well_formed(xml: &str) -> Result<(), String> {
    let mut open = Vec::new();
    for part in xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>").ok_or("no prologue")?.split('<').skip(1)
    {
        let (tag, text) = part.split_once('>').ok_or_else(|| format!("open tag: {part}"))?;
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
        let quotes = tag.matches('"').count();
        match (tag.starts_with('/'), tag.ends_with('/')) {
            (true, _) if open.pop() != Some(name) => return Err(format!("closed: {name}")),
            (false, false) => open.push(name),
            _ => {}
        }
        if quotes % 2 > 0 || text.contains('>') {
            return Err(format!("markup in: {part}"));
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("left open: {open:?}")) }
}

#[test]
fn the_applications_own_number_follows_the_answer() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("tps");
    std::fs::write(&file, "1234.5678\n").expect("written");
    let metric = format!("tps=file:{}", file.display());
    let watch = ["check", "--for", "700ms", "--interval", "100ms", "--metric", &metric];
    let (_, text, _) = run(&watch);
    assert!(text.lines().take(3).any(|line| line.starts_with("tps: 1.23k")), "{text}");
    let (_, text, _) = run(&[&watch[..], &["--format", "json"]].concat());
    let number = json(&text)["summary"]["metrics"][0].clone();
    assert_eq!((&number["name"], &number["median"]), (&"tps".into(), &1234.5678.into()), "{number}");
    let (_, xml, _) = run(&[&watch[..], &["--format", "junit"]].concat());
    assert_eq!(well_formed(&xml), Ok(()), "{xml}");
    assert!(xml.contains("<property name=\"tps\" value=\"1.23k"), "{xml}");
}

#[test]
fn rules_have_their_pages() {
    let (status, list, _) = run(&["rules"]);
    assert_eq!(status, Some(0));
    for rule in topotop_model::rules::ALL {
        assert!(list.contains(rule.id.as_str()), "{} is not listed", rule.id);
        let (status, page, _) = run(&["rules", &rule.id.to_lowercase()]);
        assert!(status == Some(0) && page.contains(rule.name.as_str()) && page.contains(rule.why.as_str()), "{page}");
        assert!(rule.thresholds.iter().all(|threshold| page.contains(threshold.name())), "{page}");
    }
    let (status, _, error) = run(&["rules", "NIC-99"]);
    assert_eq!(
        (status, error.as_str()),
        (Some(2), "topotop: rules NIC-99: no such rule: `topotop rules` lists them\n")
    );
}

#[test]
fn limits_are_configured_by_name() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("config.toml");
    let config = file.to_str().expect("a path");
    std::fs::write(&file, "[rules.NIC-01]\npackets = 20000\n").expect("a file");
    let (status, page, _) = run(&["rules", "NIC-01", "--config", config]);
    assert!(status == Some(0) && page.contains("20000/s") && page.contains("(configured)"), "{page}");
    std::fs::write(&file, "[rules.NIC-01]\npackages = 20000\n").expect("a file");
    let (status, _, error) = run(&["rules", "NIC-01", "--config", config]);
    assert!(
        status == Some(2) && error.contains("rules.NIC-01.packages: no such threshold; did you mean packets?"),
        "{error}"
    );
}
