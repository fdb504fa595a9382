//! The terminal interface inside a guest, used by keys: a finding, its fix, the confirmation, the undo.
//!
//! What happened is read from the journal; of the screen only signs are used that no wording changes: the id of a rule,
//! of a fix, the mark of what is selected.

#[expect(dead_code, reason = "the other tests use the rest")]
#[path = "../common/pty.rs"]
mod pty;

use pty::Session;
use serde_json::Value;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a single reaction may take on an emulated machine that shares its host.
const PATIENCE: Duration = Duration::from_secs(150);
const TOPOTOP: &str = "/test/topotop";
const STATE: [&str; 2] = ["--state-dir", "/tmp/by-keys"];
/// A login over the interface of the guest, as `SSH_CONNECTION` has it.
const CONNECTION: &str = "10.77.0.1 4711 10.77.0.2 22";

/// What is to be applied.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    pub(crate) rule: &'a str,
    pub(crate) fix: &'a str,
    /// Parameters as they are typed.
    pub(crate) set: &'a str,
    /// The interface that this login came in by; empty for none.
    pub(crate) login: &'a str,
}

/// Applies a fix and undoes it; prints the screens.
pub(crate) fn apply_and_undo(task: &Task<'_>) {
    let flags = [&["--config", "/test/config.toml", "--interval", "700ms"][..], &STATE].concat();
    let login = (!task.login.is_empty()).then_some(("SSH_CONNECTION", CONNECTION));
    let environment: Vec<_> = login.into_iter().collect();
    let mut session = Session::start(TOPOTOP, &flags, (120, 40), &environment).patient(PATIENCE);
    session.shows("LIVE");
    select(&mut session, task);
    plan(&mut session, task);
    apply(&mut session, task);
    session.keys("U");
    journal(&session, "the undo", |row| row["state"] == "undone");
    print("undone", &session);
    leave(&mut session);
}

/// Selects the finding on its screen.
fn select(session: &mut Session, Task { rule, .. }: &Task<'_>) {
    session.keys("7");
    session.keys(&format!("/{rule}\r"));
    let is_finding =
        |line: &str| line.contains(rule) && ["critical", "warning", "info"].iter().any(|word| line.contains(word));
    session.until("the finding", |screen| screen.lines().any(is_finding));
    print("finding", session);
}

/// Opens the fix and sets its parameters.
fn plan(session: &mut Session, Task { fix, set, .. }: &Task<'_>) {
    session.keys("f");
    session.until("the dialog", |screen| screen.contains("▶ F-") || screen.contains("▶["));
    let is_list = session.text().contains("▶ F-");
    if is_list {
        choose(session, fix);
    }
    if !set.is_empty() {
        session.keys("e");
        session.hides("▶[");
        session.keys(&format!("{set}\r"));
    } else if is_list {
        session.keys("\r");
    }
    session.shows("▶[");
    print("plan", session);
}

/// Goes down the list of fixes to one.
fn choose(session: &mut Session, fix: &str) {
    let selected = |screen: &str| Some(screen.split_once("▶ F-")?.1.split_whitespace().next()?.to_owned());
    for _ in 0..16 {
        let now = selected(&session.text());
        if now.as_ref().is_some_and(|id| format!("F-{id}") == fix) {
            return;
        }
        session.keys("\x1b[B");
        session.until("the next fix", |screen| selected(screen) != now);
    }
    unreachable!("{fix} is not offered:\n{}", session.text());
}

/// Presses the last button, confirms, and waits until the journal says so.
fn apply(session: &mut Session, task: &Task<'_>) {
    let button = |screen: &str| Some(screen.split_once("▶[")?.1.split(']').next()?.to_owned());
    let first = button(&session.text());
    session.keys("\x1b[D");
    session.until("the last button", |screen| button(screen).is_some_and(|name| Some(name) != first));
    session.keys("\r");
    if !task.login.is_empty() {
        session.keys(&format!("{}\r", task.login));
    }
    journal(session, "the application", |row| row["state"] == "applied");
    if !task.login.is_empty() {
        journal(session, "the dead-man switch", |row| row["waits_for_confirmation"] == true);
        session.keys("K");
        journal(session, "the confirmation", |row| row["waits_for_confirmation"] == false);
    }
    print("applied", session);
}

/// Waits until the newest row of the journal is as wanted.
fn journal(session: &Session, what: &str, wanted: impl Fn(&Value) -> bool) {
    let start = Instant::now();
    loop {
        let output = Command::new(TOPOTOP).args(STATE).args(["fix", "journal", "--format", "json"]).output();
        let rows: Value = serde_json::from_slice(&output.expect("topotop runs").stdout).unwrap_or_default();
        let newest = rows.as_array().and_then(|rows| rows.last());
        if newest.is_some_and(&wanted) {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "{what} is not in the journal: {newest:?}\n{}", session.text());
        sleep(Duration::from_millis(500));
    }
}

/// Closes the dialog and ends the program, which leaves the terminal as it was.
fn leave(session: &mut Session) {
    // The screen follows the journal.
    sleep(Duration::from_secs(2));
    session.keys("\x1b");
    sleep(Duration::from_secs(2));
    session.keys("q");
    assert_eq!(session.ends(), 0, "the exit status");
    session.restored();
}

fn print(what: &str, session: &Session) {
    println!("== {what}\n{}", session.text());
}
