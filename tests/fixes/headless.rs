//! `topotop fix` in scripts, on a control group of our own.

use super::everywhere::{can_trace, traced};
use super::{ALONE, Full, LIMIT};
use crate::common::pty::Session;
use crate::common::schema::violations;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::PoisonError;
use std::time::Duration;

fn topotop(arguments: &[&str], state: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_topotop"));
    command.arg("fix").args(arguments).arg("--state-dir").arg(state).stdin(Stdio::null());
    command.output().expect("the program runs")
}

fn document(output: &Output) -> Value {
    let said = || String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", said()))
}

/// A document is as the shipped schema says.
fn valid(kind: &str, document: &Value) {
    let text = include_str!("../../docs/schema/topotop.fix-1.json");
    let mut schema: Value = serde_json::from_str(text).expect("the schema is JSON");
    schema["$ref"] = format!("#/$defs/{kind}").into();
    let found = violations(&schema, document);
    assert!(found.is_empty(), "{kind}: {found:#?}");
}

/// The id of the fix that raises the limit of a group.
fn raise(full: &Full, state: &Path) -> String {
    let listed = topotop(&["list", "--for", "10s", "--interval", "300ms", "--format", "json"], state);
    assert!(listed.status.success());
    let list = document(&listed);
    valid("offers", &list);
    let fixes = list.as_array().expect("one object per fix");
    let own = |fix: &&Value| {
        fix["id"].as_str().is_some_and(|id| id.ends_with("/F-LIMIT"))
            && fix["subject"].as_str().is_some_and(|subject| subject.contains(&full.name()))
    };
    let fix = fixes.iter().find(own).unwrap_or_else(|| panic!("F-LIMIT: {list}"));
    for key in ["id", "rule", "subject", "title", "command", "risk", "executable", "persistent"] {
        assert!(fix.get(key).is_some(), "{key}: {fix}");
    }
    fix["id"].as_str().expect("an id").to_owned()
}

#[test]
fn a_limit_is_raised_in_a_script_and_taken_back() {
    let _alone = ALONE.write().unwrap_or_else(PoisonError::into_inner);
    let Some(full) = Full::new("script") else { return };
    let state = tempfile::tempdir().expect("a directory");
    let state = &state.path().join("state");
    let id = raise(&full, state);
    let quick = ["--for", "10s", "--interval", "300ms"];
    let apply = |more: &[&str]| topotop(&[&["apply", &id], &quick[..], more].concat(), state);
    // What it would do is printed and not done: there is no terminal to confirm on.
    let shown = document(&apply(&["--dry-run", "--format", "json"]));
    valid("plan", &shown);
    assert_eq!(shown["id"], id.as_str());
    assert_eq!(shown["steps"][0]["old"], LIMIT);
    for key in ["what", "target", "old", "new"] {
        assert!(shown["steps"][0].get(key).is_some(), "{key}: {shown}");
    }
    for key in ["risk", "needs", "undo", "verify", "persistent"] {
        assert!(shown.get(key).is_some(), "{key}: {shown}");
    }
    let refused = topotop(&["apply", &id], state);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--yes"));
    let looked = apply(&["--read-only", "--yes"]);
    assert_eq!(looked.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&looked.stderr).contains("--read-only: nothing is applied"));
    assert_eq!(full.limit(), LIMIT);
    assert!(!state.exists(), "nothing was applied, so there is nothing to journal");
    let applied = apply(&["--yes", "--no-wait", "--format", "json"]);
    let done = document(&applied);
    valid("done", &done);
    assert_eq!((applied.status.code(), &done["state"]), (Some(0), &Value::from("applied")), "{done}");
    assert_eq!(done["items"][0]["value"].as_str().map(str::to_owned), Some(full.limit()));
    assert_ne!(full.limit(), LIMIT);
    let journal = document(&topotop(&["journal", "--format", "json"], state));
    valid("applications", &journal);
    assert_eq!(
        (&journal[0]["id"], &journal[0]["state"], &journal[0]["verdict"]),
        (&Value::from(id.as_str()), &Value::from("applied"), &Value::Null)
    );
    taken_back(&full, &id, state);
}

/// An undo overwrites a value that something else has changed only with --force.
fn taken_back(full: &Full, id: &str, state: &Path) {
    // Something else changes it.
    std::fs::write(&full.limit, "80000000").expect("written");
    let other = full.limit();
    let refused = topotop(&["undo", id], state);
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains(&other) && said.contains("changed by something else since"), "{said}");
    assert_eq!(full.limit(), other);
    let undone = topotop(&["undo", id, "--force", "--format", "json"], state);
    assert_eq!((undone.status.code(), &document(&undone)["whole"]), (Some(0), &Value::from(true)));
    assert_eq!(full.limit(), LIMIT);
    let journal = document(&topotop(&["journal", "--format", "json"], state));
    valid("applications", &journal);
    assert_eq!(journal[0]["state"], "undone");
    let again = topotop(&["undo", "1"], state);
    assert_eq!(again.status.code(), Some(1));
}

#[test]
fn silence_at_the_question_is_a_no() {
    let _alone = ALONE.write().unwrap_or_else(PoisonError::into_inner);
    let Some(full) = Full::new("asked") else { return };
    let state = tempfile::tempdir().expect("a directory");
    let state = &state.path().join("state");
    let id = raise(&full, state);
    let place = state.display().to_string();
    let quick = ["--for", "10s", "--interval", "300ms", "--no-wait", "--state-dir", &place];
    let arguments = [&["fix", "apply", &id], &quick[..]].concat();
    for (answer, status) in [("\r", 1), ("y\r", 1), ("yes\r", 0)] {
        assert_eq!(full.limit(), LIMIT, "before {answer:?}");
        let mut session = Session::topotop(&arguments, (120, 40)).patient(Duration::from_mins(1));
        session.shows("Apply? Type yes");
        session.keys(answer);
        assert_eq!(session.ends(), status, "{}", session.text());
        assert_eq!(state.exists(), status == 0);
    }
    assert_ne!(full.limit(), LIMIT);
    assert!(topotop(&["undo"], state).status.success());
    assert_eq!(full.limit(), LIMIT);
}

#[test]
fn what_is_in_force_and_changes_is_found() {
    let _alone = ALONE.write().unwrap_or_else(PoisonError::into_inner);
    let Some(full) = Full::new("drift") else { return };
    let state = tempfile::tempdir().expect("a directory");
    let state = &state.path().join("state");
    let id = raise(&full, state);
    let applied = topotop(&["apply", &id, "--for", "10s", "--interval", "300ms", "--yes", "--no-wait"], state);
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    std::fs::write(&full.limit, "70000000").expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_topotop"));
    command.args(["check", "--for", "10s", "--interval", "300ms", "--format", "json"]).arg("--state-dir").arg(state);
    let found = document(&command.output().expect("the program runs"));
    let findings = found["findings"].as_array().cloned().unwrap_or_default();
    let drift =
        findings.iter().find(|finding| finding["rule"] == "META-03").unwrap_or_else(|| panic!("META-03: {findings:?}"));
    assert!(drift["title"].as_str().is_some_and(|title| title.contains("limit")), "{drift}");
    assert!(topotop(&["undo", "--force"], state).status.success());
    assert_eq!(full.limit(), LIMIT);
}

#[test]
fn read_only_changes_nothing_while_it_watches_and_while_something_is_in_force() {
    if !can_trace() {
        return;
    }
    let _alone = ALONE.write().unwrap_or_else(PoisonError::into_inner);
    let Some(full) = Full::new("traced") else { return };
    let state = tempfile::tempdir().expect("a directory");
    let state = &state.path().join("state");
    let id = raise(&full, state);
    let quick = ["--for", "10s", "--interval", "300ms", "--yes", "--no-hwloc"];
    let unchanged = |arguments: &[&str]| {
        let (output, changed) = traced(arguments, state);
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(changed.is_empty(), "{arguments:?}: {changed:#?}");
    };
    unchanged(&[&["apply", &id, "--read-only"], &quick[..]].concat());
    assert!(!state.exists(), "nothing was applied, so there is nothing to journal");
    // What is applied is seen to write, so that what is not seen above was not there.
    let (applied, changed) = traced(&[&["apply", &id, "--no-wait"], &quick[..]].concat(), state);
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    let (limit, journal) = (format!("<{}>", full.limit.display()), state.display().to_string());
    assert!(changed.iter().any(|line| line.contains(&limit)), "{changed:#?}");
    // It is written by the process that is started for it, and by no other.
    let thread = |line: &str| line.split_whitespace().next().map(str::to_owned);
    let is_start = |line: &&String| line.contains("__apply-fixes");
    let writer = changed.iter().find(is_start).and_then(|line| thread(line));
    let is_writers = |line: &String| (line.contains(&limit) || line.contains(&journal)) && thread(line) == writer;
    // What they say to each other changes nothing.
    let is_said = |line: &String| line.contains("sendto(") && line.contains("<socket:[");
    let elsewhere: Vec<_> =
        changed.iter().filter(|line| !is_start(line) && !is_said(line) && !is_writers(line)).collect();
    assert!(elsewhere.is_empty(), "{elsewhere:#?}");
    let (raised, journal) = (full.limit(), std::fs::read(state.join("fixes.journal")).expect("a journal"));
    unchanged(&["undo", "--read-only"]);
    unchanged(&["undo", "--read-only", "--force"]);
    unchanged(&["confirm", "1", "--read-only"]);
    assert_eq!(full.limit(), raised);
    assert_eq!(std::fs::read(state.join("fixes.journal")).expect("a journal"), journal);
    assert!(topotop(&["undo"], state).status.success());
    assert_eq!(full.limit(), LIMIT);
}
