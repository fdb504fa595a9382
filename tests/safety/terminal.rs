//! The terminal comes back whatever ends the program, and no error line steers it.

use super::{run, text};
use crate::common::pty::Session;

const USUAL: (u16, u16) = (120, 40);

#[test]
fn every_catchable_signal_gives_the_terminal_back() {
    for signal in [
        "USR1", "USR2", "ALRM", "QUIT", "VTALRM", "PROF", "IO", "TRAP", "XCPU", "XFSZ", "STKFLT", "PWR", "SEGV", "BUS",
        "ILL", "FPE", "ABRT", "SYS", "34", "64",
    ] {
        let mut session = Session::topotop(&["--interval", "200ms", "--no-hwloc"], USUAL);
        session.shows("LIVE");
        session.signal(signal);
        session.ends();
        session.restored();
    }
    let mut session = Session::topotop(&["--interval", "200ms", "--no-hwloc"], USUAL);
    session.shows("LIVE");
    // Nobody reads the pipe: nothing to end for.
    session.signal("PIPE");
    session.keys("q");
    assert_eq!(session.ends(), 0);
    session.restored();
}

#[test]
fn no_error_line_carries_control_characters() {
    let evil = "x\u{1b}[31m\u{7}\r\u{202e}y";
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join(format!("{evil}.rec"));
    std::fs::write(&path, "no recording").expect("written");
    let there = path.display().to_string();
    let spans = format!("{there}@{evil}");
    let cases: Vec<Vec<&str>> = vec![
        vec![evil],
        vec!["--theme", evil, "snapshot"],
        vec!["--config", evil, "snapshot"],
        vec!["--root", evil, "snapshot"],
        vec!["--interval", evil],
        vec!["--metric", evil, "check"],
        vec!["snapshot", "-o", evil],
        vec!["snapshot", "--format", evil],
        vec!["snapshot", "--screen", evil],
        vec!["snapshot", "--size", evil],
        vec!["snapshot", "--from", evil],
        vec!["snapshot", "--from", &there],
        vec!["check", "--from", &there],
        vec!["preflight", "--from", &there],
        vec!["replay", &there, "--format", "jsonl"],
        vec!["replay", &there, "--format", evil],
        vec!["report", &there],
        vec!["diff", &there, &there],
        vec!["diff", &spans, &spans],
        vec!["export", &there],
        vec!["export", &spans, "-s", "cpu_times"],
        vec!["export", &there, "-s", evil],
        vec!["record", "info", &there],
        vec!["record", "cut", &spans, "-o", evil],
        vec!["record", "merge", &there, &there, "-o", evil],
        vec!["record", "-o", &there],
        vec!["record", "-o", "/dev/null/x", "--", evil],
        vec!["rules", evil],
        vec!["fix", "show", evil, "--from", &there],
        vec!["fix", "undo", evil, "--state-dir", &there],
        vec!["fix", "confirm", evil],
        vec!["capture", evil, "--root", evil],
        vec!["plan", "numa", "--pid", evil],
        vec!["completions", evil],
    ];
    for arguments in cases {
        let output = run(&arguments, &[]);
        let said = text(&output.stderr);
        assert!(!output.status.success(), "{arguments:?}");
        let hostile = |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
        assert!(!said.contains(hostile), "{arguments:?}: {said:?}");
        assert_eq!(said.lines().count(), 1, "{arguments:?}: {said:?}");
    }
}
