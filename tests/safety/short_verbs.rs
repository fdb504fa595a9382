//! What verbs that end at once give away before they read anything, by their system calls: nobody could look at them in time.

use super::rights::documented;
use super::{recording, text};
use crate::common::pty::TOPOTOP;
use crate::common::synthetic::Machine;
use std::process::{Command, Stdio};

/// Verbs, by the row of the README that is theirs.
const VERBS: &[(&str, &[&str])] = &[
    (
        "commands with --from",
        &[
            "report REC",
            "diff REC REC",
            "export REC -s cpu_times",
            "record info REC",
            "record cut REC@0s-1s -o OWN/cut.rec",
            "record merge REC REC -o OWN/merged.rec",
            "check --from REC",
            "preflight --from REC",
            "snapshot --from REC --format json",
            "replay REC --format jsonl",
        ],
    ),
    ("any command with --root", &["check --root ROOT", "snapshot --root ROOT --format json", "preflight --root ROOT"]),
    ("fix list", &["fix undo --dry-run", "fix list --from REC", "fix show NIC-01/nic%3Aabsent/F-CHAN --from REC"]),
];

/// Verbs that may go on to write, which they do after a yes only.
const WRITING: &[&str] = &["fix undo", "fix confirm 1", "fix apply NIC-01/nic%3Aabsent/F-CHAN --yes --from REC"];

/// The capabilities that are left after a line of a trace, sorted as the README has them.
fn kept(line: &str) -> Option<String> {
    let (_, sets) = line.split_once("capset(")?;
    let (_, permitted) = sets.split_once("permitted=")?;
    let (permitted, _) = permitted.split_once(", inheritable=0")?;
    let names: Vec<&str> = permitted.split('|').filter_map(|bit| bit.strip_prefix("1<<")).collect();
    Some(names.join(", "))
}

/// What each thread or process keeps, in the order of their calls; panics where one opened the recording with more than
/// reading one takes.
fn traced(line: &str, words: &[String], log: &str) -> Vec<String> {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", "trace=capset,openat", "-o", log, TOPOTOP]).args(words);
    let output = command.stdin(Stdio::null()).output().expect("strace runs");
    assert!(output.status.code().is_some_and(|code| code <= 2), "{line}: {}", text(&output.stderr));
    let log = std::fs::read_to_string(log).expect("a log");
    let thread = |line: &str| line.split_whitespace().next().map(str::to_owned);
    let sets: Vec<(Option<String>, String)> =
        log.lines().filter_map(|line| Some((thread(line), kept(line)?))).collect();
    for opened in log.lines().filter(|line| line.contains("/a.rec\"") && line.contains("O_RDONLY")) {
        let own = sets.iter().find(|(whose, _)| *whose == thread(opened)).map(|(_, kept)| kept.as_str());
        assert_eq!(own, Some("CAP_DAC_READ_SEARCH"), "{line}: {opened}");
    }
    sets.into_iter().map(|(_, kept)| kept).collect()
}

#[test]
fn verbs_that_end_at_once_keep_what_the_readme_says() {
    if !super::rights::is_root() || !crate::fixes::everywhere::can_trace() {
        return;
    }
    let documented = documented();
    let (dir, recording) = recording();
    let root = dir.path().join("root");
    Machine::SMALL.write(&root, 0);
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (log, own, state) = (path("strace"), path(""), path("state"));
    let words = |line: &str| -> Vec<String> {
        let word = |word: &str| {
            word.replace("REC", &recording).replace("ROOT", &root.display().to_string()).replace("OWN/", &own)
        };
        line.split(' ').map(word).chain(["--state-dir".to_owned(), state.clone()]).collect()
    };
    for (row, lines) in VERBS {
        let found = documented.iter().find(|(names, _)| names.split(", ").any(|name| name == *row));
        let (_, expected) = found.unwrap_or_else(|| panic!("{row} is not in the README"));
        for line in *lines {
            let sets = traced(line, &words(line), &log);
            // Its own are the last that are set, but for a thread that decodes, and a process that writes its output.
            let is_its_own = |kept: &&String| *kept != "CAP_DAC_READ_SEARCH" || *expected == "CAP_DAC_READ_SEARCH";
            let own: Vec<&String> = sets.iter().filter(is_its_own).collect();
            assert!(!own.is_empty() && own.iter().all(|kept| *kept == expected), "{line}: {sets:?}");
        }
    }
    for line in WRITING {
        let sets = traced(line, &words(line), &log);
        assert!(sets.iter().all(|kept| kept == "CAP_DAC_READ_SEARCH"), "{line}: {sets:?}");
    }
}
