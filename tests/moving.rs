//! Moving machines: made-up roots whose counters advance, read by the real binary with `check --root`.
//!
//! A case is data: a machine with what each counter gains a second, and what `check --format jsonl` must say of it and
//! must not. The tree holds a sample for each second (`topotop/samples`, `t1`, `t2`, …), so a case of half a minute
//! takes no longer than reading it.

mod answers;
mod cards;
mod demo;
mod devices;
mod disks;
mod file_systems;
mod limits;
mod machine;
mod memory;
mod network;
mod numa;
mod phases;
mod plain;
mod schedulers;
mod shown;
mod text;
mod throttles;
mod version_1;
mod work;

use crate::common::pty::TOPOTOP;
use machine::Machine;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A machine, and what is said of it.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    /// What the machine does.
    pub(crate) name: &'static str,
    /// The machine.
    pub(crate) machine: fn() -> Machine,
    /// Seconds; a sample each.
    pub(crate) seconds: u64,
    /// Rules that fire, with their severity at least, and a part of the title.
    pub(crate) finds: &'static [(&'static str, &'static str, &'static str)],
    /// Beginnings of rule ids that say nothing at all; `""` is every rule.
    pub(crate) silent: &'static [&'static str],
    /// True where other rules may fire at warning and above.
    pub(crate) others: bool,
    /// JSON pointers into the last sample, and a part of what is there.
    pub(crate) says: &'static [(&'static str, &'static str)],
    /// JSON pointers into the last sample, and what is not there.
    pub(crate) lacks: &'static [(&'static str, &'static str)],
}

impl Case {
    /// Half a minute in which nothing fires at warning or above.
    pub(crate) const QUIET: Self = Self {
        name: "",
        machine: Machine::small,
        seconds: 30,
        finds: &[],
        silent: &[],
        others: false,
        says: &[],
        lacks: &[],
    };
}

const SEVERITIES: [&str; 3] = ["info", "warning", "critical"];

fn rank(severity: &str) -> usize {
    SEVERITIES.iter().position(|known| *known == severity).unwrap_or_else(|| panic!("{severity} is no severity"))
}

/// A finding of some sample: rule, severity, title.
type Found = (String, usize, String);

/// Tries each case; says all that is wrong.
fn hold(cases: &[Case]) {
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let started: Vec<_> = cases.iter().map(|case| scope.spawn(move || wrong(case))).collect();
        started.into_iter().flat_map(|case| case.join().expect("a case ends")).collect()
    });
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// What a case says that it must not, and what it does not say.
fn wrong(case: &Case) -> Vec<String> {
    let lines = checked(case);
    let found = found(&lines);
    let mut wrong = Vec::new();
    for (rule, severity, part) in case.finds {
        let fits = |(id, rank_of, title): &&Found| id == rule && *rank_of >= rank(severity) && title.contains(part);
        if !found.iter().any(|finding| fits(&finding)) {
            let titles: Vec<&str> = found.iter().map(|(_, _, title)| title.as_str()).collect();
            wrong.push(format!("{rule} {severity} …{part}… is missing; found: {titles:?}"));
        }
    }
    for (rule, severity, title) in &found {
        let expected = case.finds.iter().any(|(id, ..)| id == rule);
        let silent = case.silent.iter().any(|beginning| rule.starts_with(beginning));
        if !expected && (silent || *severity > 0 && !case.others) {
            wrong.push(format!("{rule} {}: {title}", SEVERITIES[*severity]));
        }
    }
    wrong.extend(misses(last(&lines), case.says, case.lacks));
    wrong.into_iter().map(|text| format!("{}: {text}", case.name)).collect()
}

/// The last sample.
fn last(lines: &[Value]) -> &Value {
    lines.iter().rev().find(|line| line.get("findings").is_some()).expect("a sample")
}

/// What a document does not say at a JSON pointer that it should, and what it says there that it should not.
fn misses(document: &Value, says: &[(&str, &str)], lacks: &[(&str, &str)]) -> Vec<String> {
    let there = |pointer: &str| document.pointer(pointer).map_or_else(|| "nothing".to_owned(), plain);
    let said = says.iter().map(|(pointer, part)| (pointer, part, there(pointer)));
    let missing = said.filter(|(_, part, there)| !there.contains(**part));
    let missing = missing.map(|(pointer, part, there)| format!("{pointer} is {there}, not {part}"));
    let kept = lacks.iter().map(|(pointer, part)| (pointer, part, there(pointer)));
    let kept = kept.filter(|(_, part, there)| there.contains(**part));
    let kept = kept.map(|(pointer, part, there)| format!("{pointer} is {there}, which has {part}"));
    missing.chain(kept).collect()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Each finding of any sample once; of those grouped below another only the rule.
fn found(lines: &[Value]) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for finding in lines.iter().filter_map(|line| line["findings"].as_array()).flatten() {
        let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
        // What the program costs is of now, and half a minute of the machine passes within a second.
        if text("rule") == "META-02" {
            continue;
        }
        let children = finding["children"].as_array().into_iter().flatten();
        let children = children.map(|child| (child.as_str().unwrap_or_default().to_owned(), 0, String::new()));
        for (rule, severity, title) in children.chain([(text("rule"), rank(&text("severity")), text("title"))]) {
            // Titles carry numbers: one of each severity is enough.
            if !found.iter().any(|known| known.0 == rule && known.1 >= severity) {
                found.push((rule, severity, title));
            }
        }
    }
    found
}

/// A tree of a machine with a sample for each second.
fn tree(name: &str, machine: Machine, seconds: u64) -> tempfile::TempDir {
    let dir = directory();
    machine.write(dir.path(), seconds);
    if let Some(keep) = std::env::var_os("TOPOTOP_MOVING_KEEP") {
        let to = Path::new(&keep).join(name.replace(' ', "-"));
        let copied = Command::new("cp").arg("-a").arg(dir.path()).arg(to).status();
        assert!(copied.is_ok_and(|status| status.success()), "kept");
    }
    dir
}

/// A directory in memory where that is one.
fn directory() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.expect("a directory")
}

/// What the program prints of a tree.
fn run(arguments: &[&str], root: &Path) -> Output {
    let mut command = Command::new(TOPOTOP);
    command.args(arguments).args(["--no-hwloc", "--root"]).arg(root);
    command.env_clear().env("LANG", "C.UTF-8").stdin(Stdio::null()).output().expect("it runs")
}

/// The documents that `check` writes of a machine.
fn checked(case: &Case) -> Vec<Value> {
    let dir = tree(case.name, (case.machine)(), case.seconds);
    documents(case.name, dir.path(), case.seconds)
}

/// The documents that `check` writes of a tree.
fn documents(name: &str, root: &Path, seconds: u64) -> Vec<Value> {
    let output = run(&["check", "--format", "jsonl"], root);
    let text = String::from_utf8(output.stdout).expect("text");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let samples = lines.iter().filter(|line| line.get("findings").is_some()).count() as u64;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(samples >= seconds, "{name}: {samples} samples of {seconds}\n{errors}");
    lines
}
