//! `topotop demo`: the sick server that is part of the program.

use crate::common::pty::{Session, TOPOTOP};
use std::process::{Command, Stdio};

#[test]
fn it_is_shown_and_says_that_it_is_a_recording() {
    let mut session = Session::topotop(&["demo"], (120, 40));
    session.until("a first line that explains", |screen| {
        screen.lines().next().is_some_and(|line| line.contains("demo: a recorded load test, not this machine"))
    });
    session.keys("t50%\r");
    session.shows("NIC-01");
    session.shows("softirq CPU 17");
    session.keys("t95%\r");
    session.shows("BEAM-01)");
    session.keys("q");
    assert_eq!(session.ends(), 0);
    session.restored();
}

#[test]
fn it_fits_a_small_terminal() {
    let mut session = Session::topotop(&["demo"], (80, 24));
    session.shows("demo: a recorded load test, not this machine");
    session.keys("q");
    assert_eq!(session.ends(), 0);
}

#[test]
fn as_a_file_it_is_for_every_command() {
    let dir = tempfile::tempdir().expect("a directory");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(TOPOTOP);
        command.args(arguments).env_clear().env("LANG", "C.UTF-8").current_dir(dir.path()).stdin(Stdio::null());
        command.output().expect("it runs")
    };
    let refused = run(&["demo"]);
    let error = String::from_utf8(refused.stderr).expect("text");
    assert_eq!(refused.status.code(), Some(2));
    assert!(error.contains("topotop demo -o FILE") && error.lines().count() == 1, "{error}");
    assert_eq!(run(&["demo", "-o", "demo.rec"]).status.code(), Some(0));
    let checked = run(&["check", "--from", "demo.rec"]);
    let text = String::from_utf8(checked.stdout).expect("text");
    assert_eq!(checked.status.code(), Some(1), "{text}");
    for rule in ["NIC-01", "BEAM-01", "NUMA-01"] {
        assert!(text.contains(rule), "{rule}: {text}");
    }
    assert!(!text.contains("topotop uses"), "the clock of a captured machine is not the recorder's: {text}");
}
