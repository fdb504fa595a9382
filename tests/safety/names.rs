//! Names that others chose, through every verb: devices, mounts, groups, processes and files.

use super::{recording, run, text};

/// Nothing that steers a terminal or turns text around, and few, bounded lines of errors.
fn harmless(what: &str, output: &std::process::Output) {
    let (shown, said) = (text(&output.stdout), text(&output.stderr));
    let is_hostile =
        |c: char| (c.is_control() && !matches!(c, '\n' | '\t' | '\r')) || ('\u{202a}'..='\u{202e}').contains(&c);
    for (stream, text) in [("output", &shown), ("error", &said)] {
        let line = text.lines().find(|line| line.contains(is_hostile));
        assert_eq!(line, None, "{what}: {stream}");
    }
    assert!(output.status.code().is_some_and(|code| code <= 2), "{what}: {} {said}", output.status);
    assert!(said.len() < 32 << 10, "{what}: {} bytes of errors", said.len());
}

#[test]
fn names_of_a_machine_reach_no_output_as_they_are() {
    let dir = tempfile::tempdir().expect("a directory");
    let root = dir.path().join("root");
    crate::common::hostile_names(&root);
    let recorded = dir.path().join("a.rec").display().to_string();
    let place = |words: &str| -> Vec<String> {
        let word = |word: &str| {
            word.replace("ROOT", &root.display().to_string()).replace("REC", &recorded).replace("EVIL", NIC)
        };
        words.split(' ').map(word).collect()
    };
    let lines = [
        "record --root ROOT --for 700ms --interval 100ms -o REC --verbose",
        "doctor --root ROOT --for 300ms",
        "doctor --root ROOT --for 300ms --format json",
        "check --root ROOT --for 500ms --interval 100ms --verbose",
        "check --root ROOT --for 500ms --interval 100ms --format junit",
        "preflight --root ROOT --for 300ms",
        "preflight --root ROOT --for 300ms --format json",
        "snapshot --root ROOT --format json --verbose",
        "plan numa --root ROOT --pid 1 --instances 2",
        "fix list --root ROOT --for 500ms --interval 100ms",
        "fix list --root ROOT --for 500ms --interval 100ms --format json",
        "fix show NIC-01/nic%3AEVIL/F-CHAN --root ROOT --for 300ms",
        "fix apply ROW/process%3A1%40500/F-NICE --root ROOT --for 300ms --dry-run",
        "check --from REC",
        "preflight --from REC",
        "report REC",
        "diff REC REC",
        "diff REC REC --format html",
        "diff REC REC --format json",
        "export REC -s nics",
        "export REC -s disks",
        "export REC -s cgroups",
        "export REC -s processes",
        "record info REC",
        "record info --json REC",
        "replay REC --format jsonl",
        "snapshot --from REC --format html",
        "snapshot --from REC --format text",
        "fix list --from REC",
    ];
    for line in lines {
        let arguments = place(line);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        harmless(line, &run(&arguments, &[]));
    }
    assert!(text(&run(&["report", &recorded], &[]).stdout).contains("evil"), "no name was recorded at all");
}

const NIC: &str = "e\u{1b}[31;5m\u{7}\u{202e}";

#[test]
fn names_of_files_and_words_come_back_spelled_and_cut() {
    let (dir, recorded) = recording();
    let evil = dir.path().join("evil\u{1b}]0;t\u{7}\n\u{202e}.rec");
    std::fs::copy(&recorded, &evil).expect("copied");
    let (evil, word) = (evil.display().to_string(), "\u{1b}[2J\u{202e}".repeat(10_000));
    for arguments in [
        &["report", evil.as_str()][..],
        &["diff", &evil, &recorded],
        &["record", "info", &evil],
        &["check", "--from", &evil],
        &["replay", &evil, "--format", "jsonl"],
        &["snapshot", "--from", &evil, "--format", "svg"],
        &["export", &evil, "-s", &word],
        &["report", &word],
        &["rules", &word],
        &["mark", &word],
        &["check", "--metric", &word],
        &["--config", &word, "rules"],
        &["--theme", &word, "snapshot", "--from", &evil, "--format", "text"],
        &["fix", "show", &word, "--from", &evil],
        &["fix", "undo", &word],
        &["--state-dir", &evil, "fix", "journal"],
    ] {
        harmless(&format!("{arguments:.40?}"), &run(arguments, &[]));
    }
}

#[test]
fn a_state_directory_that_is_none_is_an_error() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("file");
    std::fs::write(&file, "").expect("written");
    let below = file.join("below");
    for state in [file.as_path(), &below, "/dev/null".as_ref()] {
        for verb in
            [&["fix", "journal"][..], &["fix", "undo", "--dry-run"], &["fix", "list", "--for", "300ms"], &["check"]]
        {
            let output = run(&[&["--state-dir", state.to_str().expect("a path")], verb].concat(), &[]);
            let said = text(&output.stderr);
            assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{state:?} {verb:?}: {said}");
            assert!(said.contains("not a directory"), "{said}");
        }
    }
    // One that is made later is a journal without entries.
    let none = dir.path().join("none");
    assert!(run(&["fix", "journal", "--state-dir", none.to_str().expect("a path")], &[]).status.success());
}
