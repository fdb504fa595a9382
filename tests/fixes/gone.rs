//! What a fix is about ends while it is asked about, and another one comes with its name: nothing is written.

use super::everywhere::{offered, subject};
use super::made::{self, On};
use crate::common::pty::Session;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Begins to apply a fix about something, and waits for the question. `inside` is what comes before the program.
fn asked(fix: &str, on: &On, dir: &Path, inside: &[&str]) -> Session {
    let made = made::ALL.iter().find(|made| made.fix == fix).expect("a fix");
    let recording = dir.join("it.ttr");
    made.record(on, &recording);
    let recording = recording.display().to_string();
    let state = dir.join("state").display().to_string();
    let id = offered(made, &recording, &dir.join("other")).expect("an offer");
    assert!(!subject(&id).is_empty());
    let topotop = env!("CARGO_BIN_EXE_topotop");
    let apply = [topotop, "fix", "apply", &id, "--from", &recording, "--no-wait", "--state-dir", &state];
    let arguments = [inside, &apply[..]].concat();
    let (program, arguments) = arguments.split_first().expect("a program");
    let session = Session::start(program, arguments, (160, 60), &[]).patient(Duration::from_secs(40));
    session
        .until("the question", |screen| screen.contains("Apply? Type yes") || screen.contains("Dangerous fix. Type"));
    session
}

/// A yes, which is refused with these words.
fn refused(mut session: Session, words: &str, dir: &Path) {
    session.keys("yes\r");
    assert_eq!(session.ends(), 1, "{}", session.text());
    session.shows(words);
    let journal = topotop::fix::journal::read(&dir.join("state")).expect("a journal");
    assert!(journal.applications.is_empty(), "{:?}", journal.applications);
}

/// A control group of memory of version 1, gone with this.
struct Group(PathBuf);

/// Where such groups are.
const ABOVE: &str = "/sys/fs/cgroup/memory";

impl Group {
    /// One of our own; none where that cannot be made.
    fn new(name: &str) -> Option<Self> {
        let group = Self(PathBuf::from(format!("{ABOVE}/topotop-{name}-{}", std::process::id())));
        if std::fs::create_dir(&group.0).is_ok() {
            return Some(group);
        }
        crate::common::not_tested("no control group of version 1 can be made here");
        None
    }

    /// A machine that is sick of the group that is there now.
    fn on(&self) -> On {
        let name = self.0.file_name().expect("a name").to_string_lossy();
        let inode = std::fs::metadata(&self.0).expect("a group").ino();
        On { group: (format!("/{name}"), inode), mounts: vec![(ABOVE.to_owned(), 1, "memory")], ..On::default() }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn a_group_that_was_removed_and_one_of_its_name_are_missed() {
    let Some(group) = Group::new("gone") else { return };
    let limit = || std::fs::read_to_string(group.0.join("memory.limit_in_bytes")).expect("a limit");
    let before = limit();
    let dir = tempfile::tempdir().expect("a directory");
    let session = asked("F-LIMIT", &group.on(), dir.path(), &[]);
    std::fs::remove_dir(&group.0).expect("removed");
    std::fs::create_dir(&group.0).expect("another");
    refused(session, &format!("{} was removed and created again", group.0.display()), dir.path());
    assert_eq!(limit(), before);
    let session = asked("F-LIMIT", &group.on(), dir.path(), &[]);
    std::fs::remove_dir(&group.0).expect("removed");
    refused(session, &format!("{} is gone", group.0.display()), dir.path());
}

#[test]
fn a_recording_that_goes_on_beside_tells_of_it() {
    let Some(group) = Group::new("beside") else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let (state, file) = (dir.path().join("state"), dir.path().join("beside.ttr"));
    let mut record = Command::new(env!("CARGO_BIN_EXE_topotop"));
    record.args(["record", "--interval", "300ms", "--state-dir"]).arg(&state).arg("-o").arg(&file);
    let mut record = record.args(["--", "sleep", "20"]).stdin(Stdio::null()).spawn().expect("it runs");
    std::thread::sleep(Duration::from_secs(4));
    let mut session = asked("F-LIMIT", &group.on(), dir.path(), &["env"]);
    session.keys("yes\r");
    assert_eq!(session.ends(), 0, "{}", session.text());
    std::thread::sleep(Duration::from_secs(4));
    let undone = super::everywhere::fix(&["undo"], &state);
    assert!(undone.status.success(), "{}", String::from_utf8_lossy(&undone.stderr));
    assert!(record.wait().expect("its end").success());
    let info =
        Command::new(env!("CARGO_BIN_EXE_topotop")).args(["record", "info"]).arg(&file).output().expect("it runs");
    let info = String::from_utf8_lossy(&info.stdout).into_owned();
    for said in ["\u{2713} fix applied: ", "\u{2713} fix undone: "] {
        assert!(info.contains(said), "{said:?} is not in\n{info}");
    }
}

/// A namespace of process numbers; everything in it ends with this.
struct Numbers(Child, u32);

impl Numbers {
    fn new() -> Option<Self> {
        let mut command = Command::new("unshare");
        // A shell waits for whoever has no parent left.
        command.args(["-p", "-f", "-m", "--kill-child", "--mount-proc", "sh", "-c", "while :; do sleep 0.2; done"]);
        let child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
        let id = child.id();
        let mut numbers = Self(child, 0);
        for _ in 0..200 {
            let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
            numbers.1 = children.split_whitespace().next().and_then(|pid| pid.parse().ok()).unwrap_or(0);
            if numbers.1 > 0 && numbers.said("echo $$").parse::<u32>().is_ok() {
                return Some(numbers);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        crate::common::not_tested("no PID namespace can be made here");
        None
    }

    fn inside(&self) -> Vec<String> {
        ["nsenter", "-t", &self.1.to_string(), "-p", "-m"].map(str::to_owned).to_vec()
    }

    /// Runs a script there.
    fn said(&self, script: &str) -> String {
        let inside = self.inside();
        let mut command = Command::new("nsenter");
        command.args(&inside[1..]).args(["sh", "-c", script]).stdin(Stdio::null()).stderr(Stdio::null());
        String::from_utf8_lossy(&command.output().expect("nsenter runs").stdout).trim().to_owned()
    }
}

impl Drop for Numbers {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_process_that_ended_and_another_one_with_its_number_are_missed() {
    let Some(numbers) = Numbers::new() else { return };
    let inside = numbers.inside();
    let inside: Vec<&str> = inside.iter().map(String::as_str).collect();
    for comes_back in [true, false] {
        let pid = numbers.said("sleep 600 >/dev/null & echo $!");
        let started = numbers.said(&format!("sed 's/.*)//' /proc/{pid}/stat | cut -d' ' -f21"));
        let process = (pid.parse().expect("a pid"), started.parse().expect("a time"));
        let dir = tempfile::tempdir().expect("a directory");
        let session = asked("F-AFF", &On { process, ..On::default() }, dir.path(), &inside);
        numbers.said(&format!("kill -KILL {pid}; while [ -e /proc/{pid} ]; do sleep 0.05; done"));
        if comes_back {
            let again = format!(
                "for n in $(seq 500); do echo $(({pid} - 1)) > /proc/sys/kernel/ns_last_pid; sleep 600 >/dev/null & \
                 [ $! = {pid} ] && echo there && exit; kill -KILL $!; done"
            );
            assert_eq!(numbers.said(&again), "there");
        }
        let before = numbers.said(&format!("taskset -pc {pid} 2>&1"));
        refused(session, "has exited", dir.path());
        assert_eq!(numbers.said(&format!("taskset -pc {pid} 2>&1")), before);
    }
}
