//! What each process of the program may still do as root, and what it opens for writing.

use super::{recording, text};
use crate::common::pty::{Session, TOPOTOP};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        crate::common::not_tested("only root has capabilities to give away");
    }
    root
}

/// The names of capabilities in a line of `/proc/PID/status`, sorted; the bits have the names that the README uses.
fn names(line: &str) -> String {
    const NAMES: [(u32, &str); 3] = [(2, "CAP_DAC_READ_SEARCH"), (19, "CAP_SYS_PTRACE"), (21, "CAP_SYS_ADMIN")];
    let bits = u64::from_str_radix(line, 16).expect("a mask");
    let named: Vec<&str> = NAMES.iter().filter(|(bit, _)| bits & 1 << bit != 0).map(|(_, name)| *name).collect();
    assert_eq!(bits.count_ones() as usize, named.len(), "more than is named in {line}");
    named.join(", ")
}

/// A fix of an interface that there is not.
const NO_FIX: &str = "NIC-01/nic%3Aabsent/F-CHAN";

/// Fields of `/proc/PID/status` by name.
fn status(path: &str) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(path).expect("a process");
    let fields = text.lines().filter_map(|line| line.split_once(":\t"));
    fields.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect()
}

/// Waits until the main thread of a process has given its rights away; all of its threads, and what it started.
fn rights(pid: u32) -> Vec<(String, String)> {
    let begun = Instant::now();
    while status(&format!("/proc/{pid}/status"))["NoNewPrivs"] == "0" {
        assert!(begun.elapsed() < PATIENCE, "rights are kept");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(700));
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("threads");
    let mut found: Vec<(String, String)> = tasks
        .map(|task| {
            let fields = status(&format!("{}/status", task.expect("a thread").path().display()));
            assert_eq!(fields["CapEff"], fields["CapPrm"]);
            assert_eq!(fields["CapBnd"], fields["CapPrm"], "{fields:?}");
            assert_eq!(
                (fields["CapInh"].as_str(), fields["CapAmb"].as_str()),
                ("0000000000000000", "0000000000000000")
            );
            assert_eq!((fields["NoNewPrivs"].as_str(), fields["Seccomp"].as_str()), ("1", "2"));
            (fields["Name"].clone(), names(&fields["CapPrm"]))
        })
        .collect();
    found.sort();
    found
}

/// The table of the README: verbs, and the capabilities that they keep.
pub(super) fn documented() -> BTreeMap<String, String> {
    let readme = std::fs::read_to_string("README.md").expect("a README");
    let (_, table) = readme.split_once("| process | capabilities it keeps |").expect("the table");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>());
    cells.map(|cells| (cells[0].replace('`', ""), cells[1].replace('`', ""))).collect()
}

/// The children of a process that write fixes for it.
fn writers(pid: i32) -> Vec<String> {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).expect("children");
    let is_one = |child: &&str| {
        std::fs::read_to_string(format!("/proc/{child}/cmdline")).is_ok_and(|words| words.contains("__apply-fixes"))
    };
    children.split_whitespace().filter(is_one).map(str::to_owned).collect()
}

/// The capabilities of the child of a process that writes its output; none where it has no such child.
fn of_output_broker(pid: u32) -> Option<String> {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).expect("children");
    let children = children.split_whitespace().map(|child| status(&format!("/proc/{child}/status")));
    let mut brokers = children.filter(|fields| fields["Name"] == "topotop-output");
    let fields = brokers.next()?;
    assert!(brokers.next().is_none());
    assert_eq!((&fields["CapEff"], &fields["CapBnd"]), (&fields["CapPrm"], &fields["CapPrm"]));
    assert_eq!((&*fields["NoNewPrivs"], &*fields["Seccomp"], &*fields["Threads"]), ("1", "2", "2"));
    Some(names(&fields["CapPrm"]))
}

fn start(arguments: &[&str]) -> Child {
    let mut command = Command::new(TOPOTOP);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("it runs")
}

#[test]
fn processes_keep_what_the_readme_says() {
    if !is_root() {
        return;
    }
    let documented = documented();
    let dir = tempfile::tempdir().expect("a directory");
    let output = dir.path().join("b.rec").display().to_string();
    let live = [
        ("record", vec!["record", "--no-hwloc", "-o", &output, "--for", "20s"]),
        ("check", vec!["check", "--no-hwloc", "--for", "20s"]),
        ("snapshot", vec!["snapshot", "--no-hwloc", "--interval", "20s"]),
        ("preflight", vec!["preflight", "--no-hwloc", "--for", "20s"]),
        ("serve", vec!["serve", "--no-hwloc", "--listen", "127.0.0.1:0"]),
        ("doctor", vec!["doctor", "--no-hwloc", "--for", "20s", "--interval", "20s"]),
        ("capture", vec!["capture", "-", "--no-hwloc", "--interval", "20s"]),
        ("plan", vec!["plan", "numa", "--pid", "1", "--instances", "2", "--no-hwloc", "--interval", "20s"]),
        ("fix list", vec!["fix", "list", "--no-hwloc", "--for", "20s"]),
        ("fix show", vec!["fix", "show", NO_FIX, "--no-hwloc", "--for", "20s"]),
        ("fix apply", vec!["fix", "apply", NO_FIX, "--yes", "--no-hwloc", "--for", "20s"]),
    ];
    for (verb, arguments) in live {
        let mut child = start(&arguments);
        let found = rights(child.id());
        // What samples, judges and plans does not write: something beside it does.
        assert_eq!(writers(child.id().cast_signed()).len(), usize::from(verb == "fix apply"), "{verb}");
        let broker = of_output_broker(child.id());
        let is_over = child.try_wait().expect("a child").is_some();
        assert!(is_over || broker.as_ref() == Some(&documented["the process that writes output"]), "{verb}");
        let _ = child.kill();
        let _ = child.wait();
        let row = documented.iter().find(|(names, _)| names.split(", ").any(|name| name == verb));
        let (_, expected) = row.unwrap_or_else(|| panic!("{verb} is not in the README"));
        for (thread, capabilities) in found {
            assert_eq!(capabilities, *expected, "{verb}, thread {thread}");
        }
    }
}

#[test]
fn screens_keep_what_the_readme_says() {
    if !is_root() {
        return;
    }
    let documented = documented();
    let (_dir, recording) = recording();
    for (row, arguments) in [
        ("interactive mode", vec!["--read-only", "--no-hwloc"]),
        ("interactive mode", vec!["--no-hwloc"]),
        ("replay", vec!["replay", recording.as_str()]),
        ("demo", vec!["demo"]),
    ] {
        let mut session = Session::topotop(&arguments, (120, 40));
        session.entered();
        let found = rights(session.pid().cast_unsigned());
        let (_, kept) =
            documented.iter().find(|(names, _)| names.split(", ").any(|name| name == row)).expect("in the README");
        for (thread, capabilities) in found {
            assert_eq!(capabilities, *kept, "{arguments:?}, thread {thread}");
        }
        // What writes for the screen is there where something may be written, and ends with it.
        let writers = writers(session.pid());
        assert_eq!(writers.len(), usize::from(arguments == ["--no-hwloc"]), "{arguments:?}");
        for writer in &writers {
            let fields = status(&format!("/proc/{writer}/status"));
            assert_eq!(fields["CapPrm"], status("/proc/self/status")["CapPrm"]);
            assert_eq!(fields["Threads"], "1");
        }
        let broker = of_output_broker(session.pid().cast_unsigned());
        assert_eq!(broker.as_ref(), Some(&documented["the process that writes output"]), "{arguments:?}");
        session.keys("q");
        assert_eq!(session.ends(), 0);
    }
}

#[test]
fn a_strangers_directory_takes_no_right_to_write_everywhere() {
    if !is_root() {
        return;
    }
    let (dir, state) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    std::os::unix::fs::chown(dir.path(), Some(54_321), Some(54_321)).expect("given away");
    let line =
        format!("cd {} && exec {TOPOTOP} --no-hwloc --state-dir {}", dir.path().display(), state.path().display());
    let mut session = Session::start("/bin/sh", &["-c", &line], (120, 40), &[]);
    session.entered();
    let kept: Vec<String> = rights(session.pid().cast_unsigned()).into_iter().map(|(_, kept)| kept).collect();
    assert!(kept.iter().all(|kept| kept == "CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_SYS_ADMIN"), "{kept:?}");
    session.keys("R");
    session
        .until("a recording", |_| std::fs::read_dir(state.path().join("recordings")).is_ok_and(|all| all.count() == 1));
    session.keys("q");
    session.ends();
    assert_eq!(std::fs::read_dir(dir.path()).expect("read").count(), 0);
}

#[test]
fn everything_is_seen_with_what_is_kept() {
    if !is_root() {
        return;
    }
    let mut command = Command::new(TOPOTOP);
    let output = command.args(["snapshot", "--format", "json", "--interval", "300ms"]).output().expect("it runs");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let gaps = json["gaps"].as_array().cloned().unwrap_or_default();
    // What every right cannot read either is no loss.
    let is_beyond = |needs: &str| needs.starts_with("an LSM policy");
    let beyond = |gap: &&serde_json::Value| gap["needs"].as_str().is_some_and(is_beyond);
    let denied = gaps.iter().filter(|gap| gap["reason"] == "permission_denied" && !beyond(gap));
    let denied: Vec<_> = denied.collect();
    assert!(denied.is_empty(), "{denied:?}");
    // Other users' processes too.
    assert!(json["processes"].as_array().is_some_and(|processes| processes.len() > 1));
}

#[test]
fn a_command_of_a_recording_and_programs_of_metrics_have_the_rights_of_the_caller() {
    if !is_root() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (own, metric) = (status("/proc/self/status")["CapPrm"].clone(), path("metric"));
    let program = format!(
        "x=command:sh -c 'grep -E \"CapPrm|NoNewPrivs\" /proc/self/status > {metric}.new; mv {metric}.new {metric}; echo 1'"
    );
    let script = format!("grep -E 'CapPrm|NoNewPrivs' /proc/self/status > {}; sleep 1", path("command"));
    let recorded = path("a.rec");
    let mut command = Command::new(TOPOTOP);
    command.args([
        "record",
        "--no-hwloc",
        "-o",
        &recorded,
        "--interval",
        "200ms",
        "--metric",
        &program,
        "--",
        "sh",
        "-c",
        &script,
    ]);
    let output = command.stdin(Stdio::null()).output().expect("it runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    for name in ["command", "metric"] {
        let said = std::fs::read_to_string(path(name)).expect(name);
        assert!(said.contains(&own) && said.contains("NoNewPrivs:\t0"), "{name}: {said}");
    }
}

#[test]
fn a_folder_of_somebody_else_is_written_to_by_root() {
    if !is_root() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let home = dir.path().join("home");
    std::fs::create_dir(&home).expect("made");
    assert!(super::give_away(&home));
    for arguments in
        [&["snapshot", "--format", "json", "-o"][..], &["record", "--for", "300ms", "--interval", "100ms", "-o"]]
    {
        let to = home.join(arguments[0]).display().to_string();
        let output = super::run(&[arguments, &[to.as_str(), "--no-hwloc"]].concat(), &[]);
        assert!(output.status.success() && Path::new(&to).is_file(), "{}", text(&output.stderr));
    }
}

const TRACED: [&str; 6] = ["-f", "-y", "-qq", "-e", "trace=%file,%process,write", "-o"];

/// What a run opened for writing, made, renamed or removed, as strace has it.
fn written(arguments: &[&str], log: &Path) -> Vec<String> {
    let mut command = Command::new("strace");
    command.args(TRACED).arg(log).arg(TOPOTOP).args(arguments);
    let output = command.stdin(Stdio::null()).output().expect("strace runs");
    assert!(!output.stderr.starts_with(b"strace:"), "{arguments:?}: {}", text(&output.stderr));
    changes(log)
}

/// The same of a screen that is quitted.
fn written_by_a_screen(arguments: &[&str], log: &Path) -> Vec<String> {
    let log_path = log.display().to_string();
    let arguments = [&TRACED[..], &[log_path.as_str(), TOPOTOP], arguments].concat();
    let mut session = Session::start("strace", &arguments, (120, 40), &[]).patient(Duration::from_mins(1));
    session.shows("CPU");
    session.keys("q");
    assert_eq!(session.ends(), 0);
    changes(log)
}

/// The same of a service that a signal ends after some samples.
fn written_by_a_service(line: &str, log: &Path) -> Vec<String> {
    let mut command = Command::new("strace");
    command.args(TRACED).arg(log).args(["timeout", "-s", "TERM", "6", TOPOTOP]).args(line.split(' '));
    let output = command.stdin(Stdio::null()).output().expect("strace runs");
    assert!(text(&output.stdout).contains("serving"), "{line}: {}", text(&output.stderr));
    changes(log)
}

fn changes(log: &Path) -> Vec<String> {
    let log = std::fs::read_to_string(log).expect("a log");
    assert!(log.contains("openat"), "no trace");
    let changes = [
        "rename", "unlink", "link(", "linkat", "mkdir", "rmdir", "mknod", "chmod", "chown", "truncate", "symlink",
        "mount",
    ];
    let opened = |line: &str| ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"].iter().any(|flag| line.contains(flag));
    let call = |line: &str| line.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let wrote = |line: &&str| {
        let call = call(line);
        let failed = line.contains(" = -1 ");
        !failed && ((call.starts_with("open") && opened(line)) || changes.iter().any(|change| call.starts_with(change)))
    };
    log.lines().filter(wrote).map(str::to_owned).collect()
}

#[test]
fn verbs_that_read_recordings_are_confined() {
    if !Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success()) {
        crate::common::not_tested("no strace");
        return;
    }
    let (dir, recording) = recording();
    let log = dir.path().join("strace");
    let log = log.display().to_string();
    for (line, confined) in [
        ("record info REC", true),
        ("export REC -s cpu_times", true),
        ("diff REC REC", true),
        ("report REC", true),
        ("check --from REC", true),
        ("preflight --from REC", true),
        ("snapshot --from REC --format json", true),
        ("replay REC --format jsonl", true),
        ("fix list --from REC", true),
        ("fix show NIC-01/nic%3Aabsent/F-CHAN --from REC", true),
        ("fix apply NIC-01/nic%3Aabsent/F-CHAN --yes --from REC", true),
        ("check --for 500ms --interval 100ms --no-hwloc --metric x=http://127.0.0.1:9/", true),
        ("demo -o -", true),
        ("rules", false),
        ("snapshot --format json --interval 100ms", false),
    ] {
        let mut command = Command::new("strace");
        command.args(["-f", "-qq", "-e", "trace=landlock_restrict_self,landlock_create_ruleset", "-o", &log, TOPOTOP]);
        command.args(line.replace("REC", &recording).split(' ')).stdin(Stdio::null());
        let output = command.output().expect("strace runs");
        assert!(output.status.code().is_some_and(|code| code <= 2), "{line}: {}", text(&output.stderr));
        let log = std::fs::read_to_string(&log).expect("a log");
        if log.contains("ENOSYS") || log.contains("EOPNOTSUPP") {
            crate::common::not_tested("this kernel has no Landlock");
            return;
        }
        let is_so = log.lines().any(|line| line.contains("landlock_restrict_self") && line.contains("= 0"));
        assert_eq!(is_so, confined, "{line}: {log}");
    }
}

/// Verbs that read.
const READING: &[&str] = &[
    "rules",
    "man",
    "--help",
    "--print-config",
    "completions bash",
    "doctor",
    "mark absent",
    "fix show NIC-01/nic%3Aabsent/F-CHAN --for 500ms",
    "fix undo --dry-run",
    "fix list --from REC",
    "diff REC REC",
    "demo -o OWN/demo.rec",
    "demo -o -",
    "serve --help",
    "plan numa --instances 2 -- /bin/true",
    "fix apply NIC-01/nic%3Aabsent/F-CHAN --for 1s --dry-run",
    "export --list",
    "report REC",
    "report REC -o OWN/report.html",
    "check --for 500ms --interval 100ms --metric x=http://127.0.0.1:9/",
    "export REC -s cpu_times",
    "export REC -s cpu_times -o OWN/a.csv",
    "export REC -o OWN/all",
    "record info REC",
    "record cut REC@0s-1s -o OWN/cut.rec",
    "record merge REC REC -o OWN/merged.rec",
    "snapshot --format json --interval 200ms",
    "snapshot --from REC --format svg -o OWN/a.svg",
    "snapshot --root ROOT --format html -o OWN/a.html",
    "diff REC REC -o OWN/a.html",
    "check --for 1s --interval 200ms",
    "check --from REC",
    "preflight --for 1s",
    "preflight --from REC",
    "replay REC --format jsonl",
    "fix list --for 1s",
    "fix journal",
    "plan numa --pid 1",
    "capture OWN/a.tar.zst",
    "record --for 500ms --interval 100ms -o OWN/b.rec",
];

#[test]
fn verbs_that_read_open_nothing_but_their_own_output_for_writing() {
    if !Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success()) {
        crate::common::not_tested("no strace");
        return;
    }
    let (dir, recording) = recording();
    let root = dir.path().join("root");
    crate::common::synthetic::Machine::SMALL.write(&root, 0);
    let place = tempfile::Builder::new().prefix("topotop-own-output").tempdir().expect("a directory");
    let own = place.path().display().to_string();
    for line in READING {
        let word = |word: &str| {
            word.replace("REC", &recording).replace("ROOT", &root.display().to_string()).replace("OWN", &own)
        };
        let arguments: Vec<String> = line.split(' ').map(word).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        own_only(line, &own, written(&arguments, &dir.path().join("strace")));
    }
    for screen in [&["--read-only", "--no-hwloc"][..], &["replay", recording.as_str()], &["demo"]] {
        own_only(&screen.join(" "), &own, written_by_a_screen(screen, &dir.path().join("strace")));
    }
    for (line, socket) in [("serve --listen 127.0.0.1:0", None), ("serve --from REC --socket OWN/s", Some("s"))] {
        let line = line.replace("REC", &recording).replace("OWN", &own);
        own_only(&line, &own, written_by_a_service(&line, &dir.path().join("strace")));
        assert!(socket.is_none_or(|name| !place.path().join(name).exists()), "{line}");
    }
}

fn own_only(line: &str, own: &str, changes: Vec<String>) {
    for opened in changes {
        // Its own output; a file without a name beside it; a FIFO, device or terminal that cannot keep anything.
        let harmless = opened.contains(own)
            || opened.contains("\".topotop-")
            || opened.contains("/proc/self/fd/")
            || opened.contains("O_TMPFILE")
            || opened.contains("\"/dev/null\"")
            || opened.contains("\"/dev/tty\"");
        assert!(harmless, "{line}: {opened}");
    }
}
