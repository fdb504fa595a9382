//! The command line: what it says, what it writes, and the status it leaves.

use crate::common::hostile_names;
use crate::common::pty::TOPOTOP;
use crate::common::synthetic::Machine;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(TOPOTOP);
    command
        .args(arguments)
        .env_clear()
        .env("LANG", "C.UTF-8")
        .env("TZ", "UTC")
        .env("TERM", "xterm-256color")
        .stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    command(arguments).output().expect("it runs")
}

/// A run that fails: status 2 and one line of error.
fn complaint(arguments: &[&str]) -> String {
    let output = run(arguments);
    let error = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
    assert_eq!(error.trim_end().lines().count(), 1, "{arguments:?}: {error}");
    assert!(output.stdout.is_empty());
    error.trim_end().to_owned()
}

fn written(arguments: &[&str]) -> String {
    let output = run(arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).expect("text")
}

fn small() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    Machine::SMALL.write(dir.path(), 0);
    dir
}

fn path(dir: &Path) -> &str {
    dir.to_str().expect("a path")
}

#[test]
fn help_is_as_agreed() {
    insta::assert_snapshot!("help", written(&["--help"]));
    insta::assert_snapshot!("help-snapshot", written(&["snapshot", "--help"]));
}

#[test]
fn completions_and_the_manual_page_are_written() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(written(&["completions", shell]).contains("topotop"), "{shell}");
    }
    let page = written(&["man"]);
    assert!(page.contains(".TH topotop") && page.contains(".SH KEYS"), "{page}");
}

#[test]
fn the_defaults_are_a_configuration() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("config.toml");
    std::fs::write(&file, written(&["--print-config"])).expect("a file");
    let root = small();
    written(&["snapshot", "--config", path(&file), "--root", path(root.path())]);
}

#[test]
fn complaints_say_what_where_and_what_to_do() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("config.toml");
    std::fs::write(&file, "mouse = true\ncolour = 'red'\n").expect("a file");
    let config = complaint(&["snapshot", "--config", path(&file)]);
    assert!(config.contains("config.toml: line 2: unknown field `colour`"), "{config}");
    let missing = complaint(&["snapshot", "--root", "/nowhere/at/all"]);
    assert!(missing.contains("--root /nowhere/at/all") && missing.contains("use a directory"), "{missing}");
    let empty = complaint(&["snapshot", "--root", path(dir.path())]);
    assert!(empty.contains("proc"), "{empty}");
    assert!(complaint(&[]).contains("topotop snapshot"));
    assert!(complaint(&["snapshot", "--format", "png"]).contains("use one of json, text, ansi, svg, html"));
    assert!(complaint(&["snapshot", "-o", "picture.png"]).contains("add --format"));
    assert!(complaint(&["snapshot", "--screen", "kitchen", "--format", "text"]).contains("use one of"));
    assert!(complaint(&["snapshot", "--theme", "/no/such/theme"]).contains("one of default"));
    let root = small();
    let unwritable = complaint(&["snapshot", "--root", path(root.path()), "-o", "/nowhere/at/all.json"]);
    assert!(unwritable.contains("/nowhere/at/all.json"), "{unwritable}");
}

#[test]
fn wrong_arguments_have_status_two_and_an_error_that_says_what_to_use() {
    let cases: &[(&[&str], &str)] = &[
        (&["--interval", "fast"], "--interval <TIME>: invalid duration `fast`: use 500ms, 1s, 2m or 1h"),
        (&["--interval", "1ms"], "--interval <TIME>: invalid interval `1ms`: use a time from 100ms to 1h"),
        (&["check", "--fail-on", "big"], "invalid value big for --fail-on <SEVERITY>: use info, warning"),
        (&["plan", "numa", "--pid", "abc"], "invalid value abc for --pid <PID>: use a whole number"),
        (&["completions", "nosuch"], "invalid value nosuch for <SHELL>: use one of bash, elvish, fish"),
        (&["xyz"], "unknown command xyz: try --help"),
        (&["chek"], "unknown command chek; did you mean check?"),
        (&["plan"], "missing command: try --help"),
        (&["replay"], "missing argument <FILE>...: try --help"),
    ];
    for (arguments, error) in cases {
        let complaint = complaint(arguments);
        assert!(complaint.contains(*error), "{arguments:?}: {complaint}");
    }
}

#[test]
fn errors_are_in_the_language_of_the_reader_and_documents_in_english() {
    let root = small();
    let root = path(root.path());
    let han = |text: &str| text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c));
    let cases: &[&[&str]] = &[
        &["replay", "x", "--format", "foo"],
        &["export", "x", "--format", "parquet"],
        &["snapshot", "--screen", "foo", "--root", root],
        &["snapshot", "--root", "/nope"],
        &["check", "--format", "json", "--root", "/nope"],
        &["--root", "/nope"],
    ];
    for arguments in cases {
        let flag = command(arguments).args(["--lang", "zh-CN"]).output().expect("it runs");
        let environment = command(arguments).env("LANG", "zh_CN.UTF-8").output().expect("it runs");
        for output in [flag, environment] {
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(han(&error) && output.stdout.is_empty() && !output.status.success(), "{arguments:?}: {error}");
        }
    }
    let documents: &[&[&str]] = &[
        &["snapshot", "--root", root],
        &["check", "--format", "json", "--root", root],
        &["check", "--format", "jsonl", "--root", root],
        &["check", "--format", "junit", "--root", root],
        &["preflight", "--format", "json", "--root", root],
        &["doctor", "--format", "json", "--root", root],
        &["fix", "list", "--format", "json", "--root", root],
        &["export", "--list"],
        &["completions", "bash"],
    ];
    for arguments in documents {
        let output = command(arguments).args(["--lang", "zh-CN"]).output().expect("it runs");
        let document = String::from_utf8_lossy(&output.stdout);
        assert!(!document.is_empty() && !han(&document), "{arguments:?}: {document}");
    }
}

#[test]
fn a_captured_machine_is_written_at_once_in_every_format() {
    let root = small();
    let out = tempfile::tempdir().expect("a directory");
    for (extension, mark) in
        [("json", "\"schema\""), ("txt", "topotop"), ("ansi", "\u{1b}["), ("svg", "<svg"), ("html", "<pre")]
    {
        let file = out.path().join(format!("picture.{extension}"));
        written(&["snapshot", "--root", path(root.path()), "--interval", "1h", "-o", path(&file)]);
        let text = std::fs::read_to_string(&file).expect("the file");
        assert!(text.contains(mark), "{extension}: {text}");
    }
}

#[test]
fn a_capture_of_two_samples_has_rates() {
    let out = tempfile::tempdir().expect("a directory");
    let archive = out.path().join("machine.tar.zst");
    written(&["capture", path(&archive), "--samples", "2", "--interval", "200ms"]);
    let file = std::fs::File::open(&archive).expect("the archive");
    tar::Archive::new(zstd::Decoder::new(file).expect("zstd")).unpack(out.path()).expect("a tree");
    let root = out.path().join("machine");
    let document: serde_json::Value =
        serde_json::from_str(&written(&["snapshot", "--root", path(&root)])).expect("JSON");
    let interval = document["interval_seconds"].as_f64();
    assert!(interval.is_some_and(|seconds| seconds >= 0.19), "{interval:?}");
    assert!(document["cpus"][0]["busy"].is_number(), "{}", document["cpus"][0]);
}

#[test]
fn a_pipe_gets_json_and_may_close() {
    let root = small();
    let document: serde_json::Value =
        serde_json::from_str(&written(&["snapshot", "--root", path(root.path())])).expect("JSON");
    assert_eq!(document["schema"], "topotop.snapshot/1");
    for format in ["json", "text", "svg"] {
        let mut command = command(&["snapshot", "--root", path(root.path()), "--format", format]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{format}");
    }
}

#[test]
fn the_environment_is_honoured() {
    let root = small();
    let ansi = |name: &str, value: &str| {
        let mut command = command(&["snapshot", "--root", path(root.path()), "--format", "ansi"]);
        let output = command.env(name, value).output().expect("it runs");
        String::from_utf8(output.stdout).expect("text")
    };
    let colours = |text: &str| {
        let sequences = text.split("\u{1b}[").skip(1).filter_map(|rest| rest.split_once('m'));
        sequences.flat_map(|(codes, _)| codes.split(';')).any(|code| code.parse().is_ok_and(|code: u32| code >= 30))
    };
    assert!(colours(&ansi("COLORTERM", "truecolor")));
    assert!(!colours(&ansi("NO_COLOR", "1")));
    assert!(!colours(&ansi("TERM", "dumb")));
    assert!(ansi("LC_ALL", "C").is_ascii());
    assert!(!ansi("LC_ALL", "C.UTF-8").is_ascii());
}

#[test]
fn hostile_names_come_out_spelled() {
    let dir = tempfile::tempdir().expect("a directory");
    hostile_names(dir.path());
    for screen in topotop_widgets::all().iter().map(|panel| panel.id()) {
        for format in ["text", "ansi", "svg", "html"] {
            let text = written(&["snapshot", "--root", path(dir.path()), "--screen", screen, "--format", format]);
            harmless(&text, &format!("{screen} as {format}"));
        }
    }
    let json = written(&["snapshot", "--root", path(dir.path()), "--format", "json"]);
    harmless(&json, "json");
    assert!(json.contains("evil"));
}

/// Nothing that steers a terminal but colours, nothing that turns text around.
fn harmless(text: &str, what: &str) {
    assert!(!text.chars().any(|c| c.is_control() && !['\n', '\u{1b}'].contains(&c)), "{what} has control characters");
    assert!(!text.chars().any(|c| ('\u{202a}'..='\u{202e}').contains(&c)), "{what} has bidi marks");
    assert!(!text.contains("\u{1b}]") && !text.contains("\u{1b}[31;5m"), "{what} has a name's own sequence");
    for sequence in text.split('\u{1b}').skip(1) {
        assert!(what.ends_with("ansi"), "{what} has an escape");
        let end = sequence.find(|c: char| c.is_ascii_alphabetic()).expect("a sequence");
        assert_eq!(sequence.get(end..=end), Some("m"), "{what}");
    }
}

#[test]
fn no_child_stays_behind_over_a_tree_that_never_answers() {
    let dir = small();
    for file in ["sys/devices/system/cpu/online", "sys/devices/system/cpu/possible", "proc/cpuinfo", "proc/meminfo"] {
        let file = dir.path().join(file);
        let _ = std::fs::remove_file(&file);
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &file, kind, rustix::fs::Mode::RUSR, 0).expect("made");
    }
    written(&["--root", path(dir.path()), "snapshot", "--format", "json"]);
    let child_of_ours = |entry: std::io::Result<std::fs::DirEntry>| {
        let line = std::fs::read(entry.ok()?.path().join("cmdline")).ok()?;
        String::from_utf8_lossy(&line).contains(path(dir.path())).then_some(())
    };
    let left = || std::fs::read_dir("/proc").expect("/proc").filter_map(child_of_ours).count();
    let start = std::time::Instant::now();
    let patience = std::time::Duration::from_secs(20);
    while left() > 0 {
        assert!(start.elapsed() < patience, "the child that asks libhwloc hangs");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}
